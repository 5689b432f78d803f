"""Telegram, Feishu, ntfy and Teams, as far as their documentation says what they take and answer.

Each is a `service` of `Hook`: it reads a request as the service does, refuses what that would refuse,
and answers in its words.
"""

import json
from collections.abc import Mapping
from email.header import decode_header, make_header
from typing import Any
from urllib.parse import parse_qs, urlsplit

from tests.servers.hook import Told

CHAT = "-1001234567890"
TELEGRAM = f"/bot700:ZebraVerySecretToken/sendMessage?chat_id={CHAT}"
FEISHU = "/open-apis/bot/v2/hook/5ec7e700-1234-4321-aaaa-0123456789ab"
NTFY = "/papers_Zk7Lw2Qp?priority=low"
TEAMS = "/workflows/8f3ee3/triggers/manual/paths/invoke?api-version=1&sig=Pq9xVerySecretSig"


def units(text: str) -> int:
    """The length that Telegram counts."""
    return len(text.encode("utf-16-le")) // 2


def telegram(told: Told) -> tuple[int, bytes]:
    """Bot API, sendMessage: parameters come in the URL and in JSON, together."""

    def refuse(status: int, said: str) -> tuple[int, bytes]:
        return status, _json({"ok": False, "error_code": status, "description": said})

    values = {name: found[0] for name, found in parse_qs(urlsplit(told.path).query).items()}
    if told.headers["Content-Type"] == "application/json":
        values |= told.json
    if values.get("chat_id") != CHAT:
        return refuse(400, "Bad Request: chat not found")
    if not values.get("text"):
        return refuse(400, "Bad Request: message text is empty")
    if units(values["text"]) > 4096:
        return refuse(400, "Bad Request: message is too long")
    return 200, _json({"ok": True, "result": {"message_id": 7, "text": values["text"]}})


def feishu(told: Told) -> tuple[int, bytes]:
    """Custom bot: the status is 200 whatever happens, and the code says what did."""

    def answer(code: int, said: str) -> tuple[int, bytes]:
        return 200, _json({"code": code, "msg": said, "data": {}})

    if len(told.body) > 20_000:
        return answer(9499, "Bad Request")
    try:
        post = told.json["content"]["post"]["zh_cn"]
        tags = [span for line in post["content"] for span in line]
        sound = told.json["msg_type"] == "post" and isinstance(post["title"], str)
    except (KeyError, TypeError):
        return answer(9499, "Bad Request")
    for span in tags:
        names = {"text": {"tag", "text"}, "a": {"tag", "text", "href"}}.get(span["tag"])
        sound &= set(span) == names
    if not sound:
        return answer(9499, "Bad Request")
    return answer(0, "success")


def ntfy(told: Told) -> tuple[int, bytes]:
    """Publishing to a topic: a message beyond 4,096 bytes would be a file."""
    title = ntfy_title(told.headers)
    if len(told.body) > 4096:
        return 413, _json({"code": 41301, "http": 413, "error": "attachment too large"})
    topic = urlsplit(told.path).path[1:]
    message = told.body.decode()
    return 200, _json({"event": "message", "topic": topic, "title": title, "message": message})


def ntfy_title(headers: Mapping[str, str]) -> str:
    """The title as ntfy decodes it: all headers by RFC 2047."""
    return str(make_header(decode_header(headers["Title"])))


def teams(told: Told) -> tuple[int, bytes]:
    """Workflows, "When a Teams webhook request is received": 202, and nothing else."""
    if len(told.body) > 28_000:
        return 413, _json({"error": {"code": "RequestEntityTooLarge", "message": "too large"}})
    (attachment,) = told.json["attachments"]
    card = attachment["content"]
    sound = (
        told.json["type"] == "message"
        and attachment["contentType"] == "application/vnd.microsoft.card.adaptive"
        and card["type"] == "AdaptiveCard"
        and all(block["type"] == "RichTextBlock" for block in card["body"])
    )
    return (202, b"") if sound else (400, b"")


def _json(values: Mapping[str, Any]) -> bytes:
    return json.dumps(values, ensure_ascii=False).encode()
