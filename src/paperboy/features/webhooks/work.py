"""A webhook's call: one digest, posted to another program after it was frozen.

    the digest was superseded, the list has no webhook, or three days have passed? end it without a request
    request   ← the frozen digest and its papers, in the list's format (formats.py)
    post      ← to the URL that the list has now; redirects are refused
    record    ← sent, failed for good, or why it is retried

A call that a crash cut short is repeated. The URL is often a secret: only its host is ever named.
"""

import logging
from datetime import timedelta
from urllib.parse import urlsplit

from paperboy.edges.text import one_line, shortened, without_url
from paperboy.edges.wire import TRANSIENT, Http, NoReplyError
from paperboy.features.webhooks import formats, rows
from paperboy.features.webhooks.formats import Post
from paperboy.mail import archive
from paperboy.mail.page import Copy, page_of
from paperboy.models import DeliveryState
from paperboy.service.app import App
from paperboy.service.feature import Stopped
from paperboy.store.tasks import Task

logger = logging.getLogger(__name__)

GIVEN_UP = timedelta(days=3)  # after the digest was frozen

_MOST_BYTES = 1_000_000  # of a reply, which is a few words
_LONGEST_REPLY = 80  # characters


def work(app: App, task: Task, _: Stopped, *, seconds: float = 10.0) -> str:
    """Make a call and record its result; return why to retry (empty: no retry). The whole reply may
    take `seconds`.
    """
    now = app.clock()
    database = app.store.database
    call = rows.get(database, int(task.subject))
    if call is None or call.superseded or call.state is not DeliveryState.PENDING:
        return ""

    mailing_list = app.home.find(call.list_name)
    if mailing_list is None or not mailing_list.webhook:
        rows.delete(database, call)
        return ""
    url = mailing_list.webhook

    if now >= call.frozen_at + GIVEN_UP:
        state = DeliveryState.FAILED
        reply = f"given up after three days; {call.reply or 'it was never tried'}"
    else:
        digest = archive.load(call.shown, app.store.papers.by_id)
        web_url = app.settings.web_url
        link = call.link if web_url else ""
        shown = page_of(digest, copy=Copy(), unsubscribe_address="", web_url=web_url, link=link)
        form = mailing_list.webhook_format
        request = formats.request(call, shown, form)
        http = Http(most=_MOST_BYTES, proxy=app.proxy(url))
        state, reply = _post(http, url, request, form, seconds)

    rows.record(database, call, state, reply, app.clock())
    if state is DeliveryState.SENT:
        host = urlsplit(url).hostname
        logger.info(
            "%s: posted the digest of %s to the webhook at %s", call.list_name, call.date, host
        )
    else:
        logger.warning("%s", rows.line(call, mailing_list, reply))
    return reply if state is DeliveryState.PENDING else ""


def _post(
    http: Http, url: str, request: Post, form: str, seconds: float
) -> tuple[DeliveryState, str]:
    """Make one request. Return the call's new state (SENT, FAILED for good, or PENDING: to be
    retried), and the reply in a line for people, without the URL.
    """
    state = DeliveryState.PENDING
    headers = {**request.headers, "User-Agent": "Paperboy"}
    try:
        reply = http.request("POST", url, headers, request.body, seconds=seconds)
    except NoReplyError as error:
        line = f"no reply: {one_line(str(error)) or 'what came is not HTTP'}"
    else:
        status = reply.status
        refusal = formats.refusal(form, reply.body)
        line = f"HTTP {status}"
        if 200 <= status < 300 and not refusal:
            state = DeliveryState.SENT
        else:
            words = one_line(
                refusal.words if refusal else reply.body[:1000].decode(errors="replace")
            )
            if words and not words.startswith("<"):
                line += f" ({words})"
            is_transient = status in TRANSIENT or (refusal and refusal.is_transient)
            if not is_transient:
                state = DeliveryState.FAILED
    finally:
        http.close()
    return state, shortened(one_line(without_url(line, url)), _LONGEST_REPLY)
