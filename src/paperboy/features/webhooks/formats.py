"""Formats of a webhook: the request for each service, and the error that its reply names. Pure.

Titles, comments and the morning in brief are untrusted: in no format can they notify anyone, or
become links or mark-up. "json" and "slack" have the ten best papers. The others are short messages:
the subject, the list with its number of papers and the digest's page, and the morning in brief or
the three titles to read first.

    telegram  plain text                 https://core.telegram.org/bots/api#sendmessage
    feishu    a post of text and links   https://open.feishu.cn/document/ukTMukTMukTM/ucTM5YjL3ETO24yNxkjN
    ntfy      plain text                 https://docs.ntfy.sh/publish/
    teams     an adaptive card           https://learn.microsoft.com/adaptive-cards/schema-explorer/text-run
"""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict
from email.header import Header
from typing import Any, NamedTuple

from paperboy.edges.text import counted, one_line, shortened
from paperboy.features.webhooks.rows import Call
from paperboy.mail.page import Item, Page
from paperboy.mail.text import JOINER, Prose, unlinked

TOP = 10  # papers

_TOP_TITLES = 3
_AUTHORS = 12
_LONGEST = 200  # characters of a title or a comment
_LONGEST_SENTENCE = 600  # characters, including the titles that follow it

# Bytes of a message, including its links. The services' limits: Telegram 4,096 characters, ntfy
# 4,096 bytes; for the whole body, Feishu 20 KB and Teams 28 KB.
_MOST_BYTES = 4000
_BETWEEN = 3  # bytes: a line end before a link, and an empty line

_IS_JSON = {"Content-Type": "application/json"}
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
# Telegram looks for @names in plain text, and Feishu for <at user_id="all">.
_MENTIONS = str.maketrans({"@": f"@{JOINER}", "<": f"<{JOINER}"})


class Post(NamedTuple):
    """Post to a webhook."""

    body: bytes
    headers: Mapping[str, str]  # of the format, in ASCII


class Refusal(NamedTuple):
    """Error that a reply names."""

    words: str  # the service's, untrusted
    is_transient: bool = False  # a retry may help, whatever the HTTP status


class Line(NamedTuple):
    """Line of a short message, in plain text."""

    text: str
    url: str = ""  # empty: no link


def request(call: Call, shown: Page, form: str) -> Post:
    """Return the request for a digest, in one of the formats of `webhook_format`."""
    return _FORMATS[form](call, shown)


# --- programs and Slack


def _json(call: Call, shown: Page) -> Post:
    return _json_request(
        {
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
                for item in _top(shown, TOP)
            ],
        }
    )


def _slack(call: Call, shown: Page) -> Post:
    title = _mrkdwn(shown.title)
    if shown.view_url:
        title = f"<{shown.view_url}|{title}>"

    top = _top(shown, TOP)
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
    return _json_request({"text": text})


def _mrkdwn(text: str) -> str:
    return shortened(text, _LONGEST).translate(_MARKS).replace("](", f"]{JOINER}(")


# --- short messages


def _telegram(call: Call, shown: Page) -> Post:
    """Return a request without a chat id, which is a parameter of the webhook's URL."""
    text = _text([Line(_plain(call.subject)), *_lines(call, shown)])
    return _json_request({"text": text, "link_preview_options": {"is_disabled": True}})


def _feishu(call: Call, shown: Page) -> Post:
    content = list[list[dict[str, str]]]()
    for line in _lines(call, shown):
        if line.url:
            content.append([{"tag": "a", "text": line.text, "href": line.url}])
        else:
            content.append([{"tag": "text", "text": line.text}])
    post = {"title": _plain(call.subject), "content": content}
    return _json_request({"msg_type": "post", "content": {"post": {"zh_cn": post}}})


def _ntfy(call: Call, shown: Page) -> Post:
    """Return a request whose title is encoded by RFC 2047: ASCII, and unable to end its header."""
    headers = {
        "Content-Type": "text/plain; charset=utf-8",
        "Title": Header(_plain(call.subject), "utf-8").encode(linesep=""),
    }
    if shown.view_url and shown.view_url.isascii():
        headers["Click"] = shown.view_url
    return Post(_text(_lines(call, shown)).encode(), headers)


def _teams(call: Call, shown: Page) -> Post:
    """Return a card of text runs: a `TextBlock` would read its text as Markdown."""
    blocks = [_text_run(Line(_plain(call.subject)), weight="Bolder")]
    blocks += map(_text_run, _lines(call, shown))
    card = {
        "$schema": "http://adaptivecards.io/schemas/adaptive-card.json",
        "type": "AdaptiveCard",
        "version": "1.4",
        "body": blocks,
    }
    attachment = {
        "contentType": "application/vnd.microsoft.card.adaptive",
        "contentUrl": None,
        "content": card,
    }
    return _json_request({"type": "message", "attachments": [attachment]})


def _text_run(line: Line, **style: str) -> dict[str, Any]:
    run: dict[str, Any] = {"type": "TextRun", "text": line.text, **style}
    if line.url:
        run["selectAction"] = {"type": "Action.OpenUrl", "url": line.url}
    return {"type": "RichTextBlock", "inlines": [run]}


def _lines(call: Call, shown: Page) -> list[Line]:
    """Return a message's lines after the subject, with it at most `_MOST_BYTES`."""
    papers = counted(shown.counts.relevant, "paper")
    lines = [Line(f"{_plain(shown.title)}, {call.date:%a %d %b %Y}: {papers}", shown.view_url)]

    for sentence in shown.brief:
        more = ", ".join(piece.text for piece in sentence.more)
        text = f"{sentence.text} ({more})" if more else sentence.text
        lines.append(Line(_plain(text + sentence.end, _LONGEST_SENTENCE)))

    # The brief has no links: without a page, the message would have none.
    if not shown.brief or not shown.view_url:
        lines += [
            Line(f"{item.rank}. {_plain(item.title)}", item.url)
            for item in _top(shown, _TOP_TITLES)
        ]

    size = len(_plain(call.subject).encode())
    for number, line in enumerate(lines):
        size += len(f"{line.text}{line.url}".encode()) + _BETWEEN
        if size > _MOST_BYTES:
            return lines[:number]
    return lines


def _text(lines: Iterable[Line]) -> str:
    """Return plain text, in which each line has its link below it."""
    return "\n\n".join("\n".join(filter(None, line)) for line in lines)


def _plain(text: str, most: int = _LONGEST) -> str:
    """Return text in which no service finds a link or a mention."""
    return shortened(unlinked(Prose(one_line(text))), most).translate(_MENTIONS)


# --- all formats


def _top(shown: Page, number: int) -> Sequence[Item]:
    return sorted(shown.items, key=lambda item: item.rank)[:number]


def _json_request(values: Mapping[str, Any]) -> Post:
    return Post(json.dumps(values, ensure_ascii=False).encode(), _IS_JSON)


_FORMATS: Mapping[str, Callable[[Call, Page], Post]] = {
    "json": _json,
    "slack": _slack,
    "telegram": _telegram,
    "feishu": _feishu,
    "ntfy": _ntfy,
    "teams": _teams,
}


# --- the reply

_BUSY = 11232  # Feishu's code for its rate limit


def refusal(form: str, body: bytes) -> Refusal | None:
    """Return the error that the JSON of a service's reply names, or None if it names none. Feishu
    sends its errors with the status 200.
    """
    try:
        reply = json.loads(body)
    except (ValueError, RecursionError):
        return None
    if not isinstance(reply, dict):
        return None

    if form == "telegram" and reply.get("ok") is False:
        return Refusal(str(reply.get("description", "")))
    if form == "feishu" and reply.get("code", 0) != 0:
        code = reply["code"]
        return Refusal(f"{code}: {reply.get('msg', '')}", is_transient=code == _BUSY)
    if form == "ntfy" and "error" in reply:
        return Refusal(str(reply["error"]))
    return None
