"""Journals' feeds on loopback, served by path, with faults on order (`arxiv_faults.py`).

with JournalServer({"/nature.rss": rss(item(title="…"))}) as server:
    server.faults += [unavailable(), html_page]   # one per request, in this order; then all is well
    ...  # a client reads f"{server.url}/nature.rss"
    assert server.paths == ["/nature.rss"] * 3
"""

from __future__ import annotations

import re
import time
from dataclasses import dataclass, field, replace
from itertools import count
from xml.sax.saxutils import escape

from tests.servers.arxiv_faults import Answer, Fault
from tests.servers.loopback import LoopbackServer

RSS = (("Content-Type", "application/rss+xml; charset=utf-8"),)


@dataclass(frozen=True, slots=True)
class Request:
    """One request, as it came."""

    at: float  # time.monotonic()
    path: str  # with its query
    user_agent: str
    concurrent: int  # requests being served at that moment, this one included


@dataclass
class JournalServer(LoopbackServer):
    """Serves `feeds`, bodies by path, from a thread while its `with` block lasts. `feeds` and the faults may be changed
    at any time.
    """

    feeds: dict[str, bytes] = field(default_factory=dict)
    port: int = 0
    faults: list[Fault] = field(default_factory=list)
    lasting_fault: Fault | None = None  # met by every request when `faults` is empty
    faults_of: dict[str, Fault] = field(default_factory=dict)  # by path; met by all its requests
    requests: list[Request] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.port = self.listen(self.port)
        self.url = f"http://127.0.0.1:{self.port}"

    @property
    def paths(self) -> list[str]:
        """The path of each request."""
        return [request.path for request in self.requests]

    def answer(self, target: str, user_agent: str, concurrent: int) -> Answer:
        """Record the request, find the feed, apply the next fault."""
        self.requests.append(Request(time.monotonic(), target, user_agent, concurrent))
        body = self.feeds.get(target)
        right = Answer(b"not found", 404) if body is None else Answer(body, headers=RSS)
        fault = self.next_fault() or self.faults_of.get(target)
        return fault(right) if fault else right


# ── Feeds ────────────────────────────────────────────────────────────────────────────────────────────────────────────


def item(title: str, **elements: str) -> str:
    """An item of RSS; `dc_creator` stands for dc:creator, and texts are escaped."""
    written = {"title": title, **elements}
    return "".join(
        [
            "<item>",
            *(_element(name.replace("_", ":"), text) for name, text in written.items()),
            "</item>\n",
        ]
    )


def _element(name: str, text: str) -> str:
    return f"<{name}>{escape(text)}</{name}>"


def rss(*items: str, name: str = "Journal of Invented Results") -> bytes:
    """A feed in RSS 2.0 of these items."""
    return f"""<?xml version="1.0" encoding="UTF-8"?>
<rss version="2.0" xmlns:dc="http://purl.org/dc/elements/1.1/" \
xmlns:content="http://purl.org/rss/1.0/modules/content/" xmlns:prism="http://prismstandard.org/namespaces/basic/2.0/">
<channel><title>{escape(name)}</title><link>https://journal.example/</link>
{"".join(items)}</channel></rss>
""".encode()


# ── Faults of journals ───────────────────────────────────────────────────────────────────────────────────────────────


def login_page(answer: Answer) -> Answer:
    body = b"<!DOCTYPE html><html><body><form>Sign in <input name='p' type='password'></form></body></html>"
    return replace(answer, body=body, headers=(("Content-Type", "text/html"),))


def refused(answer: Answer) -> Answer:
    """HTTP 403, as publishers answer programs that they do not know."""
    body = b"<html><head><title>Just a moment...</title></head></html>"
    return replace(answer, body=body, status=403, headers=(("Content-Type", "text/html"),))


def changing(*names: str) -> Fault:
    """Another text at each fetch in every element of these names, such as guid, link and pubDate."""
    fetches = count(1)

    def fault(answer: Answer) -> Answer:
        number = next(fetches)
        body = answer.body
        for name in names:
            body = re.sub(rf"(?=</{name}>)".encode(), b"%d" % number, body)
        return replace(answer, body=body)

    return fault
