"""An arXiv API on loopback: `/api/query` in arXiv's Atom, over papers that a test can change, with faults on order
(`arxiv_faults.py`); and its announcement feed, `/atom/CATEGORIES`, with what a test announces.

    with ArxivServer(papers) as server:
        server.faults += [rate_limited(retry_after=60), html_page]   # one per request, in this order; then all is well
        ArxivClient(server.url, ...).fetch(...)
        assert len(server.requests) == 3

By hand: `python -m tests.servers.arxiv_api --port 8001` serves the demo's sample as today's newest batch.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from urllib.parse import parse_qsl, urlsplit
from xml.sax.saxutils import escape, quoteattr

from paperboy import sample
from paperboy.models import Paper
from paperboy.sources.arxiv.calendar import Announcement, newest_batch
from tests.servers.arxiv_faults import Answer, Fault, refused
from tests.servers.loopback import LoopbackServer, until_interrupted

LARGEST_PAGE = 2_000
LARGEST_RESULT = 30_000


@dataclass(frozen=True, slots=True)
class Request:
    """One request, as it came."""

    at: float  # time.monotonic()
    query: dict[str, str]
    user_agent: str
    concurrent: int  # requests being served at that moment, this one included

    @property
    def ids(self) -> list[str]:
        """The papers that it asks for by their ids."""
        return [each for each in self.query.get("id_list", "").split(",") if each]


@dataclass
class ArxivServer(LoopbackServer):
    """Serves `papers` from a thread while its `with` block lasts. `papers` and `faults` may be changed at any time."""

    papers: list[Paper] = field(default_factory=list)
    port: int = 0
    faults: list[Fault] = field(default_factory=list)
    lasting_fault: Fault | None = None  # met by every request when `faults` is empty
    requests: list[Request] = field(default_factory=list)
    # Today, each with its announce type; none: weekend.
    announced: list[tuple[Paper, str]] = field(default_factory=list)
    feed_fault: Fault | None = None  # met by every request for the feed
    feeds: list[str] = field(default_factory=list)  # the categories of each request for the feed

    def __post_init__(self) -> None:
        self.port = self.listen(self.port)
        self.url = f"http://127.0.0.1:{self.port}/api/query"
        self.feed_url = f"http://127.0.0.1:{self.port}/atom"

    def answer(self, target: str, user_agent: str, concurrent: int) -> Answer:
        """Record the request, find the papers, apply the next fault."""
        parts = urlsplit(target)
        query = dict(parse_qsl(parts.query, keep_blank_values=True))
        self.requests.append(Request(time.monotonic(), query, user_agent, concurrent))
        if parts.path.startswith("/atom/"):
            categories = parts.path.removeprefix("/atom/")
            self.feeds.append(categories)
            right = _announcement(self.announced, categories.split("+"))
            return self.feed_fault(right) if self.feed_fault else right
        fault = self.next_fault()
        right = (
            _respond(self.papers, query)
            if parts.path == "/api/query"
            else Answer(b"not found", 404)
        )
        return fault(right) if fault else right


def _respond(papers: Sequence[Paper], query: dict[str, str]) -> Answer:
    try:
        start = int(query.get("start") or 0)
        count = int(query.get("max_results") or 10)
        if count > LARGEST_PAGE or start < 0 or count < 0:
            raise ValueError(f"max_results must be between 0 and {LARGEST_PAGE}")
        if start + count > LARGEST_RESULT + LARGEST_PAGE or start >= LARGEST_RESULT:
            raise ValueError(f"start must be less than {LARGEST_RESULT}")
        found = _sorted(_found(papers, query), query)
    except ValueError as error:
        return refused(str(error))(Answer(b""))
    return Answer(_feed(found[start : start + count], len(found), start, count).encode())


# In arXiv's order, of which 2,000 are taken, and then turned.
_KINDS = (
    "replace-cross",
    "replace",
    "cross",
    "new",
)


def _announcement(announced: Iterable[tuple[Paper, str]], categories: Sequence[str]) -> Answer:
    """Today's feed, as arXiv serves it: the newest kind first, at most 2,000 entries."""
    if bad := next(
        (each for each in categories if not re.fullmatch(r"[a-z-]+(\.[A-Za-z-]+)?", each)), None
    ):
        title = f"Feed error for query: {bad}"
        return Answer(
            f"<feed xmlns='http://www.w3.org/2005/Atom'><title>{title}</title></feed>".encode(), 400
        )
    found = [(paper, kind) for paper, kind in announced if set(categories) & set(paper.categories)]
    found.sort(key=lambda each: each[0].id, reverse=True)
    found.sort(key=lambda each: _KINDS.index(each[1]))
    entries = "".join(_announced(paper, kind) for paper, kind in reversed(found[:LARGEST_PAGE]))
    return Answer(
        f"""<?xml version='1.0' encoding='UTF-8'?>
<feed xmlns:arxiv="http://arxiv.org/schemas/atom" xmlns:dc="http://purl.org/dc/elements/1.1/" \
xmlns="http://www.w3.org/2005/Atom" xml:lang="en-us">
  <id>http://rss.arxiv.org/atom/{"+".join(categories)}</id>
  <title>{", ".join(categories)} updates on arXiv.org</title>
  <updated>2026-11-20T05:00:02.000000+00:00</updated>
{entries}</feed>
""".encode()
    )


def _announced(paper: Paper, kind: str) -> str:
    name = f"{paper.id}v{paper.version}"
    categories = "".join(
        f"    <category term={quoteattr(category)}/>\n" for category in paper.categories
    )
    return f"""  <entry>
    <id>oai:arXiv.org:{name}</id>
    <title>{escape(paper.title)}</title>
    <link href="https://arxiv.org/abs/{paper.id}" rel="alternate" type="text/html"/>
    <summary>arXiv:{name} Announce Type: {kind} \nAbstract: {escape(paper.abstract)}</summary>
{categories}    <published>2026-11-20T00:00:00-05:00</published>
    <arxiv:announce_type>{kind}</arxiv:announce_type>
    <dc:creator>{escape(", ".join(paper.authors))}</dc:creator>
  </entry>
"""


_TERM = r"cat:[a-zA-Z.-]+"
_SEARCH = re.compile(
    rf"(?:\(?(?P<categories>{_TERM}(?: OR {_TERM})*)\)?)?"
    r"(?:(?: AND )?submittedDate:\[(?P<since>\d{12}) TO (?P<until>\d{12})\])?"
)


def _found(papers: Iterable[Paper], query: dict[str, str]) -> list[Paper]:
    """The papers that match `search_query` and `id_list`. Raises `ValueError` in arXiv's words for a bad one."""
    search = query.get("search_query", "")
    ids = [i for i in query.get("id_list", "").split(",") if i]
    bad = next(
        (i for i in ids if not re.fullmatch(r"(\d{4}\.\d{4,5}|[a-z.A-Z-]+/\d{7})(v\d+)?", i)), None
    )
    if bad:
        raise ValueError(f"incorrect id format for {bad}")
    found = [
        paper for paper in papers if not ids or {paper.id, f"{paper.id}v{paper.version}"} & set(ids)
    ]
    if not search:
        return found if ids else []
    match = _SEARCH.fullmatch(search)
    if match is None:
        raise ValueError(f"malformed query: {search}")
    wanted = set(re.findall(r"cat:(\S+?)(?=[\s)]|$)", match["categories"] or ""))
    found = [paper for paper in found if not wanted or wanted & set(paper.categories)]
    if match["since"] is None:
        return found
    since, until = (_minute(match[end]) for end in ("since", "until"))
    return [paper for paper in found if since <= paper.published <= until]


def _minute(digits: str) -> datetime:
    return datetime.strptime(digits, "%Y%m%d%H%M").replace(tzinfo=UTC)


def _sorted(papers: list[Paper], query: dict[str, str]) -> list[Paper]:
    ascending = query.get("sortOrder") == "ascending"
    if query.get("sortBy") == "submittedDate":
        return sorted(papers, key=lambda paper: (paper.published, paper.id), reverse=not ascending)
    if query.get("sortBy") == "lastUpdatedDate":
        return sorted(papers, key=lambda paper: (paper.updated, paper.id), reverse=not ascending)
    return papers


def _feed(papers: Iterable[Paper], total: int, start: int, count: int) -> str:
    entries = "".join(_entry(paper) for paper in papers)
    return f"""<?xml version='1.0' encoding='UTF-8'?>
<feed xmlns:opensearch="http://a9.com/-/spec/opensearch/1.1/" xmlns:arxiv="http://arxiv.org/schemas/atom" \
xmlns="http://www.w3.org/2005/Atom">
  <id>https://arxiv.org/api/loopback</id>
  <title>arXiv Query</title>
  <updated>2026-11-20T00:00:00Z</updated>
  <opensearch:itemsPerPage>{count}</opensearch:itemsPerPage>
  <opensearch:totalResults>{total}</opensearch:totalResults>
  <opensearch:startIndex>{start}</opensearch:startIndex>
{entries}</feed>
"""


def _entry(paper: Paper) -> str:
    categories = "".join(
        f'    <category term={quoteattr(category)} scheme="http://arxiv.org/schemas/atom"/>\n'
        for category in paper.categories
    )
    authors = "".join(
        f"    <author>\n      <name>{escape(name)}</name>\n    </author>\n"
        for name in paper.authors
    )
    comment = (
        f"    <arxiv:comment>{escape(paper.comment)}</arxiv:comment>\n" if paper.comment else ""
    )
    doi = f"    <arxiv:doi>{escape(paper.doi)}</arxiv:doi>\n" if paper.doi else ""
    name = f"{paper.id}v{paper.version}"
    return f"""  <entry>
    <id>http://arxiv.org/abs/{name}</id>
    <title>{escape(paper.title)}</title>
    <updated>{_stamp(paper.updated)}</updated>
    <link href="https://arxiv.org/abs/{name}" rel="alternate" type="text/html"/>
    <link href="https://arxiv.org/pdf/{name}" rel="related" type="application/pdf" title="pdf"/>
    <summary>{escape(paper.abstract)}</summary>
{categories}    <published>{_stamp(paper.published)}</published>
{comment}    <arxiv:primary_category term={quoteattr(paper.primary_category)}/>
{authors}{doi}  </entry>
"""


def _stamp(instant: datetime) -> str:
    return f"{instant.astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}"


def papers_from_day(path: Path, published: Announcement) -> list[Paper]:
    """The papers of a day's jsonl, submitted at even distances inside the window of that batch."""
    rows = [
        json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.strip()
    ]
    step = (published.submitted_until - published.submitted_from) / (len(rows) + 1)
    start = published.submitted_from.replace(microsecond=0)
    instants = [
        start + timedelta(seconds=int((n * step).total_seconds())) for n in range(1, len(rows) + 1)
    ]
    return [_paper(row, instant) for row, instant in zip(rows, instants, strict=True)]


def _paper(row: dict[str, object], published: datetime) -> Paper:
    return Paper(
        id=str(row["arxiv_id"]),
        version=1,
        title=str(row["title"]),
        authors=tuple(row["authors"]),  # type: ignore[arg-type]
        abstract=str(row["abstract"]),
        primary_category=str(row["primary_category"]),
        categories=tuple(row["categories"]),  # type: ignore[arg-type]
        published=published,
        updated=published,
    )


def main(arguments: Sequence[str]) -> int:
    """Serve the demo's sample as today's newest batch until interrupted."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.servers.arxiv_api", description="An arXiv API on loopback."
    )
    parser.add_argument("--port", type=int, default=8001, help="default: 8001")
    chosen = parser.parse_args(arguments)
    batch = newest_batch(datetime.now(UTC))
    papers = list(sample.papers(batch.submitted_until))
    with ArxivServer(papers, port=chosen.port) as server, until_interrupted():
        print(f"# serving {len(papers)} papers; Ctrl-C stops it", file=sys.stderr)
        print(
            f"ARXIV_API_URL={server.url}\nARXIV_FEED_URL={server.feed_url}\nARXIV_DELAY_SECONDS=0",
            flush=True,
        )
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
