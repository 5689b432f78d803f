"""Webhooks: other programs are told of a digest, after it was frozen.

    for each call that waits, the least lately tried first:
        the list or its key is gone, or three days have passed? settle it without a request
        reserve   ← its own commit, before the request
        payload   ← the frozen digest and its papers, as the list's format wants them
        post      ← to the URL that the list has now; no redirect is followed
        settle    ← its own commit: sent, failed for good, or when it is tried again

A crash between the two commits repeats that one call. The URL is often a secret: only its host is ever named.
"""

import json
import logging
import re
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from typing import Any
from urllib.parse import urlsplit

from paperboy.errors import StoreError, StoreWriteError
from paperboy.foreign import one_line, shortened, without_url
from paperboy.mail import archive
from paperboy.mail.page import Copy, Item, Page, page
from paperboy.mail.text import JOINER
from paperboy.models import DeliveryState, MailingList
from paperboy.store import Store
from paperboy.store.alerts import Cause, Note
from paperboy.store.webhooks import Call
from paperboy.wire import Http, NoReplyError, Reply

logger = logging.getLogger(__name__)

FIRST_BACKOFF, LONGEST_BACKOFF = timedelta(minutes=5), timedelta(hours=4)
GIVEN_UP = timedelta(days=3)  # after the digest was frozen
TOP = 10  # papers
MOST = 4_000  # characters of a text for Slack

_MOST_BYTES = 1_000_000  # of a reply, which nobody needs
_AUTHORS = 12
_TITLE, _COMMENT, _REPLY = 200, 200, 80  # characters
_MAY_PASS = frozenset({408, 425, 429})
_HEADERS = {"Content-Type": "application/json", "User-Agent": "Paperboy"}
# What Slack, Mattermost or Discord would obey: marks become letters that look alike, and nobody is called by an @.
_MARKS = str.maketrans(
    {"&": "&amp;", "<": "&lt;", ">": "&gt;", "`": "ˋ", "*": "∗", "~": "∼", "|": "∣", "@": f"@{JOINER}"}
)


# --- the payload


def payload(call: Call, shown: Page, form: str) -> bytes:
    """The body of the request, in one of the formats "json" and "slack". Pure."""
    made = {"text": _slack(call, shown)} if form == "slack" else _json(call, shown)
    return json.dumps(made, ensure_ascii=False).encode()


def _json(call: Call, shown: Page) -> dict[str, Any]:
    return {
        "list": call.list_name,
        "title": shown.title,
        "date": call.date.isoformat(),
        "subject": call.subject,
        "url": shown.view_url or None,
        "counts": {**asdict(shown.counts), "scored": shown.counts.scored},
        "papers": [
            {
                "rank": each.rank,
                "arxiv_id": each.arxiv_id,
                "url": each.url,
                "title": str(each.title),
                "authors": [author.name for author in each.authors[:_AUTHORS]],
                "relevance": each.relevance,
                "novelty": each.novelty,
                "comment": each.comment.replace(JOINER, ""),
            }
            for each in _top(shown)
        ],
    }


def _slack(call: Call, shown: Page) -> str:
    """The list's title, linked to the digest, its subject, and a line for each of the top papers."""
    title = _mrkdwn(shortened(shown.title, _TITLE))
    title = f"<{shown.view_url}|{title}>" if shown.view_url else title
    text = f"{title}, {call.date:%a %d %b %Y}: {_mrkdwn(shortened(call.subject, _TITLE))}"
    for each in _top(shown):
        line = f"\n{each.rank}. <{each.url}|{_mrkdwn(shortened(each.title, _TITLE))}>{_judged(each)}"
        if len(text) + len(line) > MOST:
            break
        text += line
    return text


def _judged(item: Item) -> str:
    scores = {"relevance": item.relevance, "novelty": item.novelty}
    said = [f"{name} {score}" for name, score in scores.items() if score is not None]
    comment = [_mrkdwn(shortened(item.comment, _COMMENT))] if item.comment else []
    return "".join(f" – {each}" for each in filter(None, [", ".join(said), *comment]))


def _top(shown: Page) -> tuple[Item, ...]:
    return tuple(sorted(shown.items, key=lambda item: item.rank)[:TOP])


def _mrkdwn(text: str) -> str:
    return text.translate(_MARKS).replace("](", f"]{JOINER}(")


# --- the call


@dataclass(frozen=True, slots=True, kw_only=True)
class Round:
    """One round of calls."""

    store: Store
    lists: Mapping[str, MailingList]  # as they are now
    web_url: str
    proxy: Callable[[str], str]  # for a URL
    clock: Callable[[], datetime]
    stopped: Callable[[], bool]  # asked before each call
    seconds: float = 10.0  # for the whole reply to one

    def call(self, show: Callable[[int, int], None]) -> bool:
        """Make the calls that wait; returns whether all went well. Raises the first StoreError when all were tried, and
        StoreWriteError and ConfigError at once.
        """
        well, spoilt = True, None
        waiting = self.store.webhooks.waiting(self.clock())
        for number, digest_id in enumerate(waiting):
            if self.stopped():
                break
            show(number, len(waiting))
            try:
                call = self.store.webhooks.get(digest_id)
                well = (call is None or self._one(call)) and well
            except StoreWriteError:
                raise
            except StoreError as error:
                spoilt = spoilt or error
        if spoilt:
            raise spoilt
        return well

    def _one(self, call: Call) -> bool:
        """Make one call; returns whether that went well."""
        now, of = self.clock(), self.lists.get(call.list_name)
        if of is None or not of.webhook:
            return self.store.webhooks.settle(call, DeliveryState.FAILED, "no longer set", now)
        host = urlsplit(of.webhook).hostname
        if now >= call.frozen_at + GIVEN_UP:
            reply = f"given up after three days; {call.reply or 'it was never tried'}"
            return self._failed(call, host, reply, now)
        http = Http(most=_MOST_BYTES, proxy=self.proxy(of.webhook))
        backoff = min(FIRST_BACKOFF * (1 << min(call.attempts, 10)), LONGEST_BACKOFF)
        if not self.store.webhooks.reserve(call, now, now + backoff):
            return True
        answer = _post(http, of.webhook, self._payload(call, of), self.seconds)
        now = self.clock()
        if answer.state is DeliveryState.SENT:
            self.store.webhooks.settle(call, answer.state, answer.reply, now)
            self.store.alerts.end(Cause.WEBHOOK, call.list_name, now)
            logger.info("%s: the webhook at %s was told of %s", call.list_name, host, call.date)
            return True
        wait = max(backoff, min(timedelta(seconds=answer.wait), LONGEST_BACKOFF))
        again = now + wait if answer.state is DeliveryState.PENDING else None
        return self._failed(call, host, answer.reply, now, again)

    def _payload(self, call: Call, of: MailingList) -> bytes:
        papers = self.store.papers.by_id(archive.ids(call.shown))
        link = call.link if self.web_url else ""
        digest = archive.load(call.shown, papers)
        shown = page(digest, copy=Copy(*[""] * 5), unsubscribe_address="", web_url=self.web_url, link=link)
        return payload(call, shown, of.webhook_format)

    def _failed(self, call: Call, host: str | None, reply: str, now: datetime, again: datetime | None = None) -> bool:
        """Settle a call that failed: for good, unless it is tried `again`."""
        line = f"{call.list_name}: the webhook at {host} was not told of {call.date}: {reply}"
        with self.store.transaction():
            if again is None:
                self.store.alerts.note([Note(Cause.WEBHOOK, call.list_name, reply, line)], now)
            state = DeliveryState.FAILED if again is None else DeliveryState.PENDING
            self.store.webhooks.settle(call, state, reply, now, again)
        logger.warning("%s", line)
        return False


@dataclass(frozen=True, slots=True)
class Answer:
    """How a request ended."""

    state: DeliveryState  # SENT, FAILED for good, or PENDING: it is tried again
    reply: str  # for people
    wait: float = 0.0  # seconds that the server asked for


def _post(http: Http, url: str, body: bytes, seconds: float) -> Answer:
    """Make one request, and judge its reply."""
    try:
        answer = _judge(http.request("POST", url, _HEADERS, body, seconds=seconds))
    except NoReplyError as error:
        answer = Answer(DeliveryState.PENDING, f"no reply: {one_line(str(error)) or 'what came is no HTTP'}")
    finally:
        http.close()
    return Answer(answer.state, _without(url, answer.reply), answer.wait)


def _judge(reply: Reply) -> Answer:
    said = one_line(reply.body[:1000].decode(errors="replace"))
    words = f"HTTP {reply.status}" + (f" ({said})" if said and not said.startswith("<") else "")
    if 200 <= reply.status < 300:
        return Answer(DeliveryState.SENT, f"HTTP {reply.status}")
    if 300 <= reply.status < 400:
        return Answer(
            DeliveryState.PENDING, f"HTTP {reply.status}: a redirect, which is not followed; set the URL it names"
        )
    seconds = re.fullmatch(r"\d{1,9}(?:\.\d+)?", reply.headers.get("Retry-After", "").strip(), re.ASCII)
    for_good = 400 <= reply.status < 500 and reply.status not in _MAY_PASS
    state = DeliveryState.FAILED if for_good else DeliveryState.PENDING
    return Answer(state, words, float(seconds[0]) if seconds else 0.0)


def _without(url: str, text: str) -> str:
    """The text on one line and without the URL, which is often a secret."""
    return shortened(one_line(without_url(text, url)), _REPLY)
