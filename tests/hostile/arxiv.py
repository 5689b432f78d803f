"""Hostile replies of arXiv: one page, or one field of one entry, among good ones."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from random import Random
from socket import socket
from typing import Self
from urllib.parse import parse_qsl, urlsplit
from xml.sax.saxutils import escape

from paperboy.arxiv_feed import ArxivFeed
from paperboy.errors import FeedError
from paperboy.models import Paper
from tests.builders import paper
from tests.fakes import Clock
from tests.hostile.http import ENDS, EVIL, TRANSPORT, read_request, reply
from tests.hostile.talk import Reply, Talker, broken
from tests.servers.arxiv_api import _respond

ATOM = "application/atom+xml; charset=utf-8"
SINCE, UNTIL = datetime(2026, 11, 16, tzinfo=UTC), datetime(2026, 11, 20, tzinfo=UTC)
PAGE, TRIES, SECONDS = 8, 3, 0.3
GOOD = [
    paper(f"2611.{n:05}", published=SINCE + timedelta(hours=n), updated=SINCE + timedelta(hours=n))
    for n in range(1, 24)
]
_SPOILT = 4  # the entry of a page whose field is hostile
_FIELDS = {
    "id": r"(<id>)[^<]*(</id>)", "title": r"(<title>)[^<]*(</title>)", "abstract": r"(<summary>)[^<]*(</summary>)",
    "date": r"(<published>)[^<]*(</published>)", "update": r"(<updated>)[^<]*(</updated>)",
    "author": r"(<name>)[^<]*(</name>)", "category": r'(<category term=")[^"]*(")',
    "primary": r'(<arxiv:primary_category term=")[^"]*(")',
}  # fmt: skip


def fetch(port: int) -> list[list[Paper] | str]:
    """Fetch more often than there are hostile replies; what each fetch gave."""
    url = f"http://127.0.0.1:{port}/api/query"
    feed = ArxivFeed(
        url,
        delay_seconds=0,
        page_size=PAGE,
        tries=TRIES,
        seconds=SECONDS,
        clock=Clock(UNTIL),
        wait=lambda _seconds: None,
    )
    came: list[list[Paper] | str] = []
    for _ in range(TRIES + 1):
        try:
            came.append(feed.fetch(("cs.LG", "stat.ML"), SINCE, UNTIL))
        except FeedError as error:
            came.append(str(error))
    return came


class Arxiv:
    """Answers well, but for one page: its first request, or as many as a fetch may try."""

    client = staticmethod(fetch)

    def __enter__(self) -> Self:
        self._talker = Talker(self._talk).__enter__()
        return self

    def __exit__(self, *_: object) -> None:
        self._talker.__exit__()

    def prepare(self, dice: Random) -> tuple[int]:
        """Draw the next case; what the client is told."""
        self._dice, self._start = dice, PAGE * dice.randrange(3)
        way = dice.choice(["transport", "field", "field", "page"])
        self._left = 1 if way == "field" else dice.choice([1, 1, TRIES])
        self.kind = dice.choice(
            [*TRANSPORT] if way == "transport" else [*_FIELDS, *_MORE] if way == "field" else [*_PAGES]
        )
        self._strict = way == "field" or (way == "transport" and self.kind != "broken bytes")
        self.kind = f"{way}: {self.kind}"
        return (self._talker.port,)

    def judge(self, came: Sequence[list[Paper] | str]) -> str:
        """Assert that no other paper was lost; how it went."""
        for each in came:
            if isinstance(each, str):
                assert len(each) < 1_000, f"an error of {len(each)} characters"
                assert each.isprintable(), each
                continue
            known, strange = {one.arxiv_id: one for one in each}, [one for one in each if one not in GOOD]
            if self._strict:
                spoilt = GOOD[self._start + _SPOILT].arxiv_id if self.kind.startswith("field") else ""
                assert {one.arxiv_id for one in GOOD} - {spoilt} <= known.keys(), "papers are lost"
                assert len(strange) <= bool(spoilt), "other papers are not as they were"
            for one in strange:
                _assert_bounded(one)
        assert came[-1] == GOOD, "the clean fetch after it is not whole"
        if self.kind.startswith("field"):
            assert isinstance(came[0], list), f"one field cost all papers: {came[0]}"
        return "retried" if came[0] == GOOD else "next run" if isinstance(came[0], str) else "bad entry"

    def _talk(self, talker: Talker, sock: socket) -> None:
        while request := read_request(sock):
            query = dict(parse_qsl(urlsplit(request.path).query))
            body = _respond(GOOD, query).body
            if self._left and int(query.get("start", 0)) == self._start:
                self._left -= 1
                if self.kind.partition(": ")[2] in ENDS:
                    return talker.say_last(sock, self._hostile(body))
                talker.say(sock, self._hostile(body))
                continue
            sock.sendall(reply(body, ATOM))
        return None

    def _hostile(self, body: bytes) -> Reply:
        way, _, kind = self.kind.partition(": ")
        if way == "transport":
            return TRANSPORT[kind](self._dice, body, ATOM)
        text = body.decode()
        if way == "page":
            changed = _PAGES[kind](self._dice, text)
        else:
            head, *entries = re.split(r"(?=  <entry>)", text)
            entry = entries[_SPOILT]
            if kind in _MORE:
                entries[_SPOILT] = _MORE[kind](self._dice, entry)
            else:
                value = escape(_value(self._dice, kind), {'"': "&quot;"})
                entries[_SPOILT] = re.sub(_FIELDS[kind], lambda match: match[1] + value + match[2], entry, count=1)
            changed = "".join([head, *entries])
        return [reply(changed.encode("utf-8", "surrogatepass"), ATOM)]


def _assert_bounded(one: Paper) -> None:
    assert len(one.arxiv_id) < 60, one.arxiv_id
    assert len(one.title) <= 1_010, f"a title of {len(one.title)}"
    assert len(one.abstract) <= 10_010, f"an abstract of {len(one.abstract)}"
    assert len(one.authors) <= 5_001, f"{len(one.authors)} authors"
    assert all(len(name) <= 210 for name in one.authors), "a long name"
    assert len(one.categories) <= 51, f"{len(one.categories)} categories"
    assert all(len(name) <= 60 for name in (*one.categories, one.primary_category)), "a long category"
    assert max(len(one.comment), len(one.doi)) <= 2_010, "a long comment"
    assert SINCE - timedelta(minutes=2) <= one.published <= UNTIL + timedelta(minutes=2), one.published
    assert one.version < 100_000


def _value(dice: Random, kind: str) -> str:
    """What a field may hold that is still XML."""
    text = [
        "", " ", "\t\r\n", "x" * dice.choice([300, 20_000, 3_000_000, 12_000_000]), "word " * 200_000, "{" * 50_000,
        "\\(" * 60_000, "$" * 50_001, "\\frac{" * 20_000, "\\begin{x}" * 9_000, "^{" * 30_000, "\\" * 50_000,
        "é̂" * 30_000, "\u202e\u2066evil\ufeff", "\U000e0041" * 500, "%\n" * 9_000, "<b>" * 9_000, "&amp;" * 9_000,
        "a\x85b", "\u2028\x7f", "\\href{javascript:alert(1)}{x}", "\\input{/etc/passwd}", "\\def\\x{\\x\\x}\\x",
        "\\newcommand{\\a}{\\a\\a}\\a" * 99,
        EVIL.translate({0: None, 7: None, 27: None}),
    ]  # fmt: skip
    own = {
        "id": ["http://arxiv.org/abs/", "http://arxiv.org/abs/2611.00001v1",
               "http://arxiv.org/abs/2611.00001v" + "9" * 5_000,
               "http://arxiv.org/abs/" + "9" * 1_000_000, "http://evil.example.org/abs/2611.99999", "٢٦١١.٠٠٠٠١",
               "http://arxiv.org/abs/" + "a" * 500_000 + "/0601001", "arxiv.org/abs/2611.12345v0"],
        "date": ["0001-01-01T00:00:00Z", "9999-12-31T23:59:59Z", "2026-11-18T00:00:00+99:99", "2099-01-01T00:00:00Z",
                 "99999-01-01T00:00:00Z", "-1-01-01T00:00:00Z", "2026-02-30T00:00:00Z", "2026-11-18", "1e9", "now",
                 "2026-11-18T24:00:00Z", "2026-11-18T00:00:60Z", "0001-01-01T00:00:00+14:00",
                 "2026-11-18T00:00:00Z" * 9_000],
        "category": ["cs." + "X" * 1_000_000,
                     "cs.LG cs.AI", "../../etc", "-" * 60_000, "cs.\u202eLG", "CS.LG", "x" * 300],
    }  # fmt: skip
    own["update"], own["primary"] = own["date"], own["category"]
    return dice.choice([*text, *own.get(kind, [])] if dice.random() < 0.5 or kind not in own else own[kind])


def _many(what: str, one: str, most: int) -> Callable[[Random, str], str]:
    """So many of them before the entry's end."""
    del what
    return lambda dice, entry: entry.replace("  </entry>", one * dice.randint(most // 10, most) + "  </entry>")


_MORE: dict[str, Callable[[Random, str], str]] = {  # what else can be wrong with an entry
    "many authors": _many("author", "<author><name>A. B.</name></author>", 60_000),
    "many categories": _many("category", '<category term="cs.AI"/>', 60_000),
    "many titles": _many("title", "<title>Another</title>", 10_000),
    "many ids": _many("id", "<id>http://arxiv.org/abs/2611.77777v1</id>", 10),
    "many links": _many("link", '<link href="x" rel="related" title="pdf"/>', 60_000),
    "deep": _many("element", f"{'<x>' * 200}{'</x>' * 200}", 20),
    "many dois": _many("doi", "<arxiv:doi>10.1/x</arxiv:doi>", 9_000),
    "long doi": _many("doi", f"<arxiv:doi>{'1' * 99_000}</arxiv:doi>", 10),
    "long comment": _many("comment", f"<arxiv:comment>{'x ' * 99_000}</arxiv:comment>", 10),
    "without a field": lambda dice, entry: re.sub(rf"<{dice.choice(_NAMES)}>.*?</\w+>", "", entry, flags=re.DOTALL),
    "empty": lambda dice, entry: "  <entry>\n  </entry>\n" + entry[entry.index("</entry>") + 9 :],
    "field as elements": lambda dice, entry: re.sub(
        rf"(<{dice.choice(_NAMES)}>)", r"\1<b>x</b><!-- c --><?pi?><![CDATA[<i>]]>", entry
    ),
}
_NAMES = ["title", "summary", "published", "updated", "id", "author"]


def _deep(dice: Random, page: str) -> str:
    depth = dice.choice([300, 5_000, 200_000])
    return page.replace("<entry>", f"<entry>{'<x>' * depth}{'</x>' * depth}", 1)


def _total(dice: Random, page: str) -> str:
    totals = [
        "0",
        "-1",
        "8",
        "999999999",
        "9" * 30,
        "9" * 5_000,
        "1e9",
        "٢٤",
        "NaN",
        "",
        " 24\n\n",
        "24\x85forged log line",
        "x",
    ]
    return re.sub(r"(totalResults>)\d+", lambda match: match[1] + dice.choice(totals), page)


def _doctype(dice: Random, page: str) -> str:
    laughs = "".join(f'<!ENTITY l{n} "{f"&l{n - 1};" * 10}">' for n in range(1, 10))
    head = dice.choice(
        [
            f'<!DOCTYPE feed [<!ENTITY l0 "ha">{laughs}]>',
            '<!DOCTYPE feed [<!ENTITY l9 SYSTEM "file:///etc/passwd">]>',
            '<!DOCTYPE feed SYSTEM "http://127.0.0.1:9/x.dtd">',
            f'<!DOCTYPE feed [<!ENTITY l9 "{"x" * 1_000_000}">]>',
        ]
    )
    page = page.replace("?>", f"?>{head}", 1)
    return re.sub(r"<summary>[^<]*", f"<summary>{'&l9;' * dice.choice([1, 300])}", page) if "l9" in head else page


def _controls(dice: Random, page: str) -> str:
    place = dice.randrange(len(page))
    return (
        page[:place]
        + dice.choice(["\0", "\x1b", "&#0;", "&#x1b;", "&#xD800;", "\ud800", "&#99999999999;"])
        + page[place:]
    )


def _repeated(dice: Random, page: str) -> str:
    entry = page[page.index("  <entry>") : page.index("</entry>") + 9]
    return page.replace("</feed>", entry * dice.choice([1, 3, 2_000, 20_000]) + "</feed>")


_PAGES: dict[str, Callable[[Random, str], str]] = {
    "broken": lambda dice, page: broken(dice, page.encode()).decode("utf-8", "replace"),
    "deep": _deep,
    "total": _total,
    "doctype": _doctype,
    "controls": _controls,
    "repeated": _repeated,
    "truncated": lambda dice, page: page[: dice.randrange(len(page))],
    "encoding": lambda dice, page: page.replace(
        "UTF-8", dice.choice(["UTF-16", "UTF-7", "rot13", "x" * 999, "EBCDIC-US"])
    ),
    "namespace": lambda dice, page: page.replace("http://www.w3.org/2005/Atom", dice.choice(["", "x", "x" * 100_000])),
    "no entries": lambda dice, page: re.sub(r"<entry>.*</entry>", "", page, flags=re.DOTALL),
    "hostile entries": lambda dice, page: re.sub(
        r"(<title>)[^<]*", lambda match: match[1] + escape(_value(dice, "title"))[:500_000], page
    ),
    "padded": lambda dice, page: page.replace(
        "<entry>", " " * dice.choice([1_000_000, 20_000_000, 60_000_000]) + "<entry>", 1
    ),
    "comments": lambda dice, page: page.replace("<entry>", "<!-- x -->" * 2_000_000 + "<entry>", 1),
    "other": lambda dice, page: dice.choice(
        ["", "null", "<html>" * 9_000, "<feed/>", '<feed xmlns="http://www.w3.org/2005/Atom"/>']
    ),
}
