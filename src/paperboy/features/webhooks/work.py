"""A webhook's call: one digest, posted to another program after it was frozen.

    the digest was superseded, the list has no webhook, or three days have passed? end it without a request
    payload   ← the frozen digest and its papers, in the list's format
    post      ← to the URL that the list has now; redirects are refused
    record    ← sent, failed for good, or why it is retried

A call that a crash cut short is repeated. The URL is often a secret: only its host is ever named.
"""

import json
import logging
from collections.abc import Sequence
from dataclasses import asdict
from datetime import timedelta
from typing import Any
from urllib.parse import urlsplit

from paperboy.edges.text import counted, one_line, shortened, without_url
from paperboy.edges.wire import TRANSIENT, Http, NoReplyError
from paperboy.features.webhooks import rows
from paperboy.features.webhooks.rows import Call
from paperboy.mail import archive
from paperboy.mail.page import Copy, Item, Page, page_of
from paperboy.mail.text import JOINER
from paperboy.models import DeliveryState
from paperboy.service.app import App
from paperboy.service.feature import Stopped
from paperboy.store.tasks import Task

logger = logging.getLogger(__name__)

GIVEN_UP = timedelta(days=3)  # after the digest was frozen
TOP = 10  # papers

_MOST_BYTES = 1_000_000  # of a reply, which nobody needs
_AUTHORS = 12
_LONGEST = 200  # characters of a title or a comment
_LONGEST_REPLY = 80  # characters
_HEADERS = {"Content-Type": "application/json", "User-Agent": "Paperboy"}
# Mark-up of Slack, Mattermost and Discord becomes look-alike letters, and an @ notifies nobody.
_MARKS = str.maketrans(
    {
        "&": "&amp;",
        "<": "&lt;",
        ">": "&gt;",
        "`": "ˋ",
        "*": "∗",
        "~": "∼",
        "|": "∣",
        "@": f"@{JOINER}",
    }
)


# --- the payload


def payload(call: Call, shown: Page, form: str) -> bytes:
    """Return the body of the request, in one of the formats "json" and "slack". Pure."""
    top = sorted(shown.items, key=lambda item: item.rank)[:TOP]
    if form == "slack":
        values: dict[str, Any] = {"text": _slack(call, shown, top)}
    else:
        values = {
            "list": call.list_name,
            "title": shown.title,
            "date": call.date.isoformat(),
            "subject": call.subject,
            "url": shown.view_url or None,
            "counts": {**asdict(shown.counts), "scored": shown.counts.scored},
            "papers": [
                {
                    "rank": item.rank,
                    "arxiv_id": item.arxiv_id,
                    "url": item.url,
                    "title": str(item.title),
                    "authors": [author.name for author in item.authors[:_AUTHORS]],
                    "relevance": item.relevance,
                    "novelty": item.novelty,
                    "comment": item.comment.replace(JOINER, ""),
                }
                for item in top
            ],
        }
    return json.dumps(values, ensure_ascii=False).encode()


def _slack(call: Call, shown: Page, top: Sequence[Item]) -> str:
    title = _mrkdwn(shown.title)
    if shown.view_url:
        title = f"<{shown.view_url}|{title}>"

    what = counted(shown.counts.relevant, "paper") if top else _mrkdwn(call.subject)
    text = f"{title}, {call.date:%a %d %b %Y}: {what}"
    for item in top:
        line = f"\n{item.rank}. <{item.url}|{_mrkdwn(item.title)}>"

        scores = {"relevance": item.relevance, "novelty": item.novelty}
        known = [f"{name} {score}" for name, score in scores.items() if score is not None]
        if known:
            line += f" – {', '.join(known)}"

        if item.comment:
            line += f" – {_mrkdwn(item.comment)}"
        text += line
    return text


def _mrkdwn(text: str) -> str:
    return shortened(text, _LONGEST).translate(_MARKS).replace("](", f"]{JOINER}(")


# --- the call


def work(app: App, task: Task, _: Stopped, *, seconds: float = 10.0) -> str:
    """Make a call and record its result; return why it is to be retried, if it is. `seconds`: for
    the whole reply.
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
        http = Http(most=_MOST_BYTES, proxy=app.proxy(url))
        state, reply = _post(http, url, payload(call, shown, mailing_list.webhook_format), seconds)

    rows.record(database, call, state, reply, app.clock())
    if state is DeliveryState.SENT:
        host = urlsplit(url).hostname
        logger.info(
            "%s: posted the digest of %s to the webhook at %s", call.list_name, call.date, host
        )
    else:
        logger.warning("%s", rows.line(call, mailing_list, reply))
    return reply if state is DeliveryState.PENDING else ""


def _post(http: Http, url: str, body: bytes, seconds: float) -> tuple[DeliveryState, str]:
    """Make one request. Return the call's new state (SENT, FAILED for good, or PENDING: to be
    retried), and the reply in a line for people, without the URL.
    """
    state = DeliveryState.PENDING
    try:
        reply = http.request("POST", url, _HEADERS, body, seconds=seconds)
    except NoReplyError as error:
        line = f"no reply: {one_line(str(error)) or 'what came is not HTTP'}"
    else:
        status = reply.status
        line = f"HTTP {status}"
        if 200 <= status < 300:
            state = DeliveryState.SENT
        else:
            words = one_line(reply.body[:1000].decode(errors="replace"))
            if words and not words.startswith("<"):
                line += f" ({words})"
            if status not in TRANSIENT:
                state = DeliveryState.FAILED
    finally:
        http.close()
    return state, shortened(one_line(without_url(line, url)), _LONGEST_REPLY)
