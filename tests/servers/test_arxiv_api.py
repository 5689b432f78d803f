"""The arXiv server of the tests answers as arXiv does: compared with what arXiv really sent, where that is at hand."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from urllib.parse import urlencode
from xml.etree import ElementTree as ET

import pytest

from paperboy.announcements import newest_batch
from tests.builders import paper
from tests.servers.arxiv_api import ArxivServer, papers_from_day

CHECKOUT = Path(__file__).resolve().parents[2]
RAW = CHECKOUT.parent / "shared" / "data" / "raw"
NOON = datetime(2026, 11, 18, 12, 0, tzinfo=UTC)
ATOM = "{http://www.w3.org/2005/Atom}"


@pytest.fixture
def server() -> Iterator[ArxivServer]:
    papers = [
        paper("2611.00001", categories=("cs.LG",), published=NOON, updated=NOON + timedelta(days=2)),
        paper("2611.00002", categories=("cs.AI", "cs.LG"), published=NOON + timedelta(minutes=1), version=2),
        paper("2611.00003", categories=("cs.AI",), published=NOON + timedelta(minutes=2)),
        paper("2611.00004", categories=("cs.AI.X",), published=NOON + timedelta(minutes=3)),
    ]
    with ArxivServer(papers) as running:
        yield running


def get(server: ArxivServer, **query: object) -> str:
    with urllib.request.urlopen(f"{server.url}?{urlencode(query)}", timeout=60) as response:  # noqa: S310  # loopback
        return response.read().decode()


def ids(feed: str) -> list[str]:
    return [identifier[-7:] for identifier in re.findall(r"<id>http://arxiv.org/abs/(.*?)</id>", feed)]


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("cat:cs.LG", ["00001v1", "00002v2"]),
        ("(cat:cs.LG OR cat:cs.AI)", ["00001v1", "00002v2", "00003v1"]),
        ("cat:cs.AI AND submittedDate:[202611181201 TO 202611181202]", ["00002v2", "00003v1"]),
        ("(cat:cs.AI OR cat:cs.LG) AND submittedDate:[202611181159 TO 202611181200]", ["00001v1"]),
        ("cat:math.OC", []),
    ],
)
def test_search_finds_papers_by_category_and_date(server: ArxivServer, query: str, expected: list[str]) -> None:
    feed = get(server, search_query=query)
    assert ids(feed) == expected
    assert f"<opensearch:totalResults>{len(expected)}<" in feed


def test_pages_follow_the_order_and_ids_asked_for(server: ArxivServer) -> None:
    every = {"search_query": "cat:cs.AI OR cat:cs.LG", "sortBy": "submittedDate"}
    newest = get(server, **every, max_results=2)
    assert ids(newest) == ["00003v1", "00002v2"]
    assert "<opensearch:totalResults>3<" in newest
    assert ids(get(server, **every, start=2)) == ["00001v1"]
    assert ids(get(server, **every, sortOrder="ascending")) == ["00001v1", "00002v2", "00003v1"]
    assert ids(get(server, **{**every, "sortBy": "lastUpdatedDate"}, max_results=1)) == ["00001v1"]
    assert ids(get(server, id_list="2611.00003,2611.00002v2,2611.99999")) == ["00002v2", "00003v1"]
    server.papers.pop(0)
    assert ids(get(server, search_query="cat:cs.LG")) == ["00002v2"]


@pytest.mark.parametrize(
    ("query", "says"),
    [
        ({"search_query": "cat:cs.LG", "max_results": 2001}, "max_results"),
        ({"search_query": "cat:cs.LG", "start": 30_000}, "start"),
        ({"search_query": "cat:cs.LG AND submittedDate:[20261118 TO 20261119]"}, "malformed query"),
        ({"search_query": "cat:cs.LG AND submittedDate:[202611180000 TO *]"}, "malformed query"),
        ({"id_list": "abc"}, "incorrect id format for abc"),
    ],
)
def test_bad_query_gets_400_and_one_error_entry(server: ArxivServer, query: dict[str, object], says: str) -> None:
    with pytest.raises(urllib.error.HTTPError) as caught:
        get(server, **query)
    feed = ET.fromstring(caught.value.read())  # noqa: S314  # our own
    assert caught.value.code == 400
    (entry,) = feed.findall(f"{ATOM}entry")
    assert says in (entry.findtext(f"{ATOM}summary") or "")


def test_entries_have_arxivs_elements(server: ArxivServer) -> None:
    """Each element and attribute of ours occurs in a captured answer under the same name and parent."""
    capture = RAW / "api_atom_search_10.xml"
    if not capture.exists():
        pytest.skip("needs captured answers of arXiv, which this repository does not hold")
    server.papers[0] = replace(server.papers[0], comment="12 pages", doi="10.1000/x", title="<&> \"quoted\" 'α'")
    ours = ET.fromstring(get(server, search_query="cat:cs.LG").encode())  # noqa: S314
    theirs = ET.fromstring(capture.read_bytes())  # noqa: S314

    def shape(root: ET.Element) -> set[tuple[str, str, tuple[str, ...]]]:
        return {(parent.tag, child.tag, tuple(sorted(child.attrib))) for parent in root.iter() for child in parent}

    assert shape(ours) <= shape(theirs)
    missing = {child for _, child, _ in shape(theirs)} - {child for _, child, _ in shape(ours)}
    assert {tag.split("}")[1] for tag in missing} <= {"journal_ref", "affiliation"}
    assert ours.findtext(f"{ATOM}entry/{ATOM}title") == "<&> \"quoted\" 'α'"


def day(folder: Path, count: int) -> Path:
    fields = {"title": "T", "authors": ["Ada Lovelace"], "abstract": "A.", "primary_category": "cs.LG"}
    rows = [{"arxiv_id": f"2611.{n:05}", **fields, "categories": ["cs.LG"], "selected": False} for n in range(count)]
    path = folder / "day.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def test_papers_of_a_day_are_spread_within_its_batch(tmp_path: Path) -> None:
    batch = newest_batch(datetime(2026, 11, 20, 7, tzinfo=UTC))
    papers = papers_from_day(day(tmp_path, 300), batch)
    instants = [paper.published for paper in papers]
    assert batch.submitted_from < min(instants)
    assert max(instants) < batch.submitted_until - timedelta(minutes=1)
    assert len(set(instants)) == 300
    assert all(instant.microsecond == 0 for instant in instants), "Atom has whole seconds"


def test_arxiv_server_runs_by_itself(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "tests.servers.arxiv_api", "--port", "0", "--papers", str(day(tmp_path, 3))]
    with subprocess.Popen([*command, "--date-into-newest", "--fault", "503"], cwd=CHECKOUT, stdout=-1) as process:
        try:
            assert process.stdout is not None
            url = process.stdout.readline().decode().strip().removeprefix("ARXIV_API_URL=")
            with pytest.raises(urllib.error.HTTPError, match="503"):
                urllib.request.urlopen(url, timeout=60)  # noqa: S310
            with urllib.request.urlopen(f"{url}?search_query=cat:cs.LG", timeout=60) as answer:  # noqa: S310
                assert ids(answer.read().decode()) == ["00002v1", "00001v1", "00000v1"][::-1]
        finally:
            process.terminate()


def test_papers_without_dates_need_the_option(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "tests.servers.arxiv_api", "--port", "0", "--papers", str(day(tmp_path, 3))]
    result = subprocess.run(command, cwd=CHECKOUT, capture_output=True, text=True, check=False, timeout=300)
    assert result.returncode == 2
    assert "--date-into-newest" in result.stderr
