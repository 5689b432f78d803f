"""The API of bioRxiv and medRxiv on loopback: `/details/SERVER/FROM/TO/CURSOR/json`, over records that a test can
change, with faults on order (`biorxiv_faults.py`).

    records = [preprint(number, date(2026, 11, 18)) for number in range(70)]
    with BiorxivServer(records) as server:
        server.faults += [rate_limited(retry_after=60), no_body]   # one per request, in this order; then all is well
        ...  # a client reads server.url
        assert [request.cursor for request in server.requests] == [0, 0, 0, 30, 60]

By hand: `python -m tests.servers.biorxiv_api --port 8004` serves invented records of the last nine days.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, date, datetime, timedelta
from typing import Any, Self
from urllib.parse import parse_qsl, urlsplit
from zoneinfo import ZoneInfo

from tests.servers.arxiv_faults import Answer, Fault
from tests.servers.loopback import LoopbackServer, until_interrupted

PAGE_SIZE = 30
EASTERN = ZoneInfo("America/New_York")  # the servers' days
JSON = (("Content-Type", "application/json"),)


@dataclass(frozen=True, slots=True)
class Preprint:
    """A record of one version, with the API's fields as it writes them: all are text, and "NA" is none."""

    title: str
    authors: str  # "Iversen, M.; Zhang, W. X."
    author_corresponding: str  # the whole name
    author_corresponding_institution: str
    doi: str  # of all versions
    date: str  # when this version was posted
    version: str
    type: str
    license: str
    category: str
    jatsxml: str
    abstract: str
    funder: str
    published: str  # the DOI of the journal's article
    server: str  # bioRxiv or medRxiv


def day_of(record: Preprint) -> date:
    year, month, day = map(int, record.date.split("-"))  # need not be padded
    return date(year, month, day)


_NAMES = (
    "Marta Iversen",
    "Wei Xin Zhang",
    "Tobias Oduya-Falk",
    "Ines Carvalho",
    "Rohan K. Desai",
    "Yuki Morita",
    "Elena Petrova",
    "Samuel Okafor",
    "Lucía Herrera",
)
_INSTITUTIONS = (
    "Nordhaven University",
    "Institute of Cell Physics, Lakeside",
    "Kestrel Medical School",
    "University of Port Amsel",
)
_FINDINGS = {  # title and category
    "bioRxiv": (
        ("Loss of {gene} slows wound closure in {whom}", "cell biology"),
        ("A map of {gene} binding sites in {whom}", "genomics"),
        ("{gene} links sleep and memory in {whom}", "neuroscience"),
        ("Gut bacteria silence {gene} in {whom}", "microbiology"),
        ("Cold springs favour a short {gene} in {whom}", "evolutionary biology"),
        ("Play and {gene} rise together in {whom}", "animal behavior and cognition"),
    ),
    "medRxiv": (
        ("{gene} predicts recovery from stroke in {whom}", "neurology"),
        ("Screening for {gene} in {whom}: a randomised trial", "oncology"),
        ("Antibodies against {gene} after influenza in {whom}", "infectious diseases"),
        ("Night shifts, {gene} and blood pressure in {whom}", "public and global health"),
        ("Inherited {gene} and early deafness in {whom}", "genetic and genomic medicine"),
    ),
}
_SUBJECTS = {
    "bioRxiv": (
        "zebrafish",
        "fruit flies",
        "baker's yeast",
        "thale cress",
        "house mice",
        "roundworms",
        "reed warblers",
    ),
    "medRxiv": ("older adults", "young mothers", "rowers", "rural clinics"),
}


def preprint(number: int, day: date, server: str = "bioRxiv", **changes: str) -> Preprint:
    """A new paper that was submitted on the day before. Each number has its own DOI, and its title has a gene of its
    own, such as RXV17.
    """
    submitted = day - timedelta(days=1)
    serial = f"{700_000 + number}" if server == "bioRxiv" else f"{submitted:%y}{700_000 + number}"
    suffix = f"{submitted:%Y.%m.%d}.{serial}"
    people = [_NAMES[(number + step) % len(_NAMES)] for step in (0, 1, 4)]
    findings = _FINDINGS[server]
    subjects = _SUBJECTS[server]
    title, category = findings[number % len(findings)]
    whom = subjects[number % len(subjects)]
    gene = f"RXV{number}"
    default = Preprint(
        title=title.format(gene=gene, whom=whom),
        authors="; ".join(_by_initials(name) for name in people),
        author_corresponding=people[-1],
        author_corresponding_institution=_INSTITUTIONS[number % len(_INSTITUTIONS)],
        doi=f"10.64898/{suffix}",
        date=f"{day}",
        version="1",
        type="new results" if server == "bioRxiv" else "PUBLISHAHEADOFPRINT",
        license="cc_by",
        category=category,
        jatsxml=f"https://www.{server.lower()}.org/content/early/{day:%Y/%m/%d}/{suffix}.source.xml",
        abstract=(
            f"What {gene} does in {whom} is not known. We followed {12 + number % 40} groups over two"
            f" seasons and compared them with controls. Where {gene} was low, the effect was half as"
            " large. A simple model explains most of the difference."
        ),
        funder="NA",
        published="NA",
        server=server,
    )
    return replace(default, **changes)


def _by_initials(name: str) -> str:
    """Write "Wei Xin Zhang" as the API does: "Zhang, W. X."."""
    *given, surname = name.split()
    return f"{surname}, {' '.join(f'{part[0]}.' for part in given)}"


@dataclass(frozen=True, slots=True)
class Request:
    """One request, as it came."""

    at: float  # time.monotonic()
    path: str
    query: Mapping[str, str]
    user_agent: str
    concurrent: int  # requests being served at that moment, this one included
    server: str = ""  # "biorxiv" or "medrxiv"; this and the next are empty for a wrong path
    since: str = ""  # FROM in the path
    until: str = ""  # TO in the path, inclusive
    cursor: int = 0


_PATH = re.compile(
    r"/details/(?P<server>biorxiv|medrxiv)/(?P<since>\d{4}-\d\d-\d\d)/(?P<until>\d{4}-\d\d-\d\d)"
    r"/(?P<cursor>\d{1,9})/json"
)


def _parts(path: str) -> dict[str, Any]:
    """Return what the path asks for, empty if it is wrong."""
    match = _PATH.fullmatch(path)
    if match is None:
        return {}
    try:
        date.fromisoformat(match["since"])
        date.fromisoformat(match["until"])
    except ValueError:
        return {}
    return {**match.groupdict(), "cursor": int(match["cursor"])}


@dataclass(frozen=True, slots=True)
class Page(Answer):
    """A right answer that knows what it was made of, so that a fault can make it of something else."""

    server: str = ""  # that was asked
    since: str = ""
    until: str = ""
    category: str = "all"
    cursor: int = 0  # that was asked
    size: int = PAGE_SIZE
    beyond: str = "no posts found"
    found: Sequence[Preprint] = ()  # all of the window, oldest first

    def of(self, found: Iterable[Preprint], start: int | None = None) -> Self:
        """Return the page again, made of these records, from another place than its cursor if that is given."""
        found = sorted(found, key=day_of)
        first = self.cursor if start is None else start
        collection = [asdict(record) for record in found[first : first + self.size]]
        message: dict[str, Any] = {
            "status": "ok",
            "category": self.category,
            "interval": f"{self.since}:{self.until}",
            "cursor": self.cursor,
            "count": len(collection),
            "count_new_papers": str(sum(record.version == "1" for record in found)),
            "total": str(len(found)),
        }
        if not found:
            message = {"status": "no posts found"}
        elif not collection and self.beyond != "ok":
            message = {"status": self.beyond}
        content = {"messages": [message], "collection": collection}
        return replace(self, body=json.dumps(content).encode(), found=tuple(found))


@dataclass
class BiorxivServer(LoopbackServer):
    """Serves `records` of both servers from a thread while its `with` block lasts. `records` and `faults` may be
    changed at any time.
    """

    records: list[Preprint] = field(default_factory=list)
    port: int = 0
    faults: list[Fault] = field(default_factory=list)
    lasting_fault: Fault | None = None  # met by every request when `faults` is empty
    requests: list[Request] = field(default_factory=list)
    page_size: int = PAGE_SIZE
    beyond: str = "no posts found"  # status for a cursor beyond the last record; may be "ok", too

    def __post_init__(self) -> None:
        self.port = self.listen(self.port)
        self.url = f"http://127.0.0.1:{self.port}"

    def answer(self, target: str, user_agent: str, concurrent: int) -> Answer:
        """Record the request, find the records, apply the next fault."""
        address = urlsplit(target)
        query = dict(parse_qsl(address.query, keep_blank_values=True))
        request = Request(
            time.monotonic(), address.path, query, user_agent, concurrent, **_parts(address.path)
        )
        self.requests.append(request)
        fault = self.next_fault()
        right = self._page(request) if request.server else Answer(b"not found", 404)
        return fault(right) if fault else right

    def _page(self, request: Request) -> Page:
        records = [
            record for record in list(self.records) if record.server.lower() == request.server
        ]
        wanted = request.query.get("category", "").replace("_", " ").lower()
        if wanted not in {record.category.lower() for record in records}:
            wanted = "all"  # a category that the server does not know is ignored without a word
        since = date.fromisoformat(request.since)
        until = date.fromisoformat(request.until)
        page = Page(
            body=b"",
            headers=JSON,
            server=request.server,
            since=request.since,
            until=request.until,
            category=wanted,
            cursor=request.cursor,
            size=self.page_size,
            beyond=self.beyond,
        )
        return page.of(
            record
            for record in records
            if since <= day_of(record) <= until and wanted in {"all", record.category.lower()}
        )


_LICENSES = ("cc_by", "cc_by_nc_nd", "cc_no")


def invented(today: date) -> list[Preprint]:
    """Nine days of both servers, today included. Some abstracts have Highwire's tokens, some papers are second
    versions.
    """
    records = []
    for number in range(9 * 60):
        day = today - timedelta(days=number % 9)
        if day.weekday() >= 5 and number // 9 % 3:
            continue  # fewer papers on a weekend, not none
        server = "medRxiv" if number % 4 == 3 else "bioRxiv"
        record = preprint(number, day, server, license=_LICENSES[number // 9 % len(_LICENSES)])
        if number % 5 == 0:
            text = f"AO_SCPLOWBSTRACTC_SCPLOW{record.abstract} The slope was {{beta}} = 0.4 {{+/-}} 0.1."
            record = replace(record, abstract=text)
        if number % 7 == 0:
            record = replace(record, version="2")
        records.append(record)
    return records


def main(arguments: Sequence[str]) -> int:
    """Serve invented records of the last nine days until interrupted."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.servers.biorxiv_api",
        description="The API of bioRxiv and medRxiv on loopback.",
    )
    parser.add_argument("--port", type=int, default=8004, help="default: 8004")
    chosen = parser.parse_args(arguments)
    records = invented(datetime.now(UTC).astimezone(EASTERN).date())
    with (
        BiorxivServer(records, port=chosen.port) as server,
        until_interrupted(),
    ):
        print(f"# serving {len(records)} records; Ctrl-C stops it", file=sys.stderr)
        print(f"BIORXIV_API_URL={server.url}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
