"""Real days of arXiv as mails: with the scores that their papers really got, and with the comments where we have them.

They lie beside the checkout, in `../shared`, and are not part of the project; `HERE` says whether they are there.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, date, datetime
from functools import cache
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

from paperboy.models import BriefSentence, Digest, MailingList, Paper, Score
from paperboy.tex import name_to_text
from tests.mail.mails import ADA, Mail, as_digest, curated

SHARED = Path(__file__).parents[3] / "shared"
HERE = (SHARED / "data" / "days").is_dir()

DAYS = ("2025-02-18", "2025-06-06")
# The most papers, and the most TeX.
ASTRO = (
    "2025-09-03",
    "2025-10-08",
    "2025-11-12",
    "2025-09-26",
)
FORTY_SIX = "2025-02-21"  # read from a digest that another program made of it; papers that did not pass are not known
ALL_ASTRO = "187 at once"
NAMES = (*DAYS, FORTY_SIX, *ASTRO, ALL_ASTRO)

REMARK = (  # as long as an LLM's comments are
    "Shows that the effect holds in a sample that is twice as large as before and names what sets its strength, "
    "which serves what this list asks for; its main claim can be checked by anybody."
)
ONE = (
    "Two results on the same question agree for once: the cheaper method loses nothing that can be measured, "
    "and a bound says when it must."
)
OTHER = "Further down, a known effect turns out to depend on how its samples were chosen."
FOLLOWED = ("Yoshua Bengio", "Yann LeCun")


@cache
def mail_of(name: str) -> Mail:
    """That digest as its only reader gets it."""
    return as_digest(digest_of(name))


@cache
def digest_of(name: str) -> Digest:
    """The digest of one of `NAMES`."""
    if name in DAYS:
        return _foundations(name)
    if name == FORTY_SIX:
        return _of_reference(name)
    by_date = _astro()
    if name in ASTRO:
        return _galaxies(date.fromisoformat(name), by_date[name])
    best = [row for day in sorted(by_date) for row in by_date[day] if row["relevance"] >= 7]
    return _galaxies(date(2025, 12, 9), best[:187])


def _foundations(day: str) -> Digest:
    """A day of cs.LG and cs.AI. An author match has no score in the data, and gets a middling one here."""
    rows = _rows(f"days/{day}.jsonl")
    reference = _reference(SHARED / "reference" / f"digest-{day}.md")
    comments = {entry["ArXiv ID"]: entry["Comment"] for entry in reference}
    scores = {
        row["arxiv_id"]: Score(
            row["relevance"] or 5, row["novelty"] or 5, comments.get(row["arxiv_id"], REMARK)
        )
        if row["selected"]
        else Score(3, 3)
        for row in rows
    }
    wants = _list("foundations", "Foundations of machine learning", ("cs.LG", "cs.AI"), FOLLOWED)
    return _curated(wants, [_paper(row, day) for row in rows], scores, date.fromisoformat(day))


def _galaxies(day: date, rows: Sequence[Mapping[str, Any]]) -> Digest:
    scores = {row["arxiv_id"]: Score(row["relevance"], row["novelty"], REMARK) for row in rows}
    wants = _list(
        "near-field-cosmology", "Near-field cosmology", ("astro-ph.GA", "astro-ph.CO"), ()
    )
    return _curated(wants, [_paper(row, row["date"]) for row in rows], scores, day)


def _list(
    topics: str, title: str, categories: tuple[str, ...], authors: tuple[str, ...]
) -> MailingList:
    text = (SHARED / "data" / "topics" / f"{topics}.md").read_text("utf-8")
    zone = ZoneInfo("Europe/Berlin")
    return MailingList(
        topics,
        title,
        categories,
        text,
        zone,
        authors=authors,
        min_novelty=1,
        max_papers=200,
        subscribers=(ADA,),
    )


def _topic(text: str, topics: str) -> int:
    """The topic whose lines share the most words with a paper's text, as an LLM may choose it."""
    words = set(re.findall(r"[a-z]{5,}", text.lower()))
    parts = re.split(r"(?m)^\d+\. ", topics.partition("**Keywords")[0])[1:]
    shared = [len(words & set(re.findall(r"[a-z]{5,}", part.lower()))) for part in parts]
    return shared.index(max(shared)) + 1


def _with_topics(
    of: MailingList, papers: Sequence[Paper], scores: Mapping[str, Score]
) -> dict[str, Score]:
    """The scores with a topic where there is a comment."""
    texts = {paper.id: f"{paper.title} {paper.abstract}" for paper in papers}
    return {
        paper_id: replace(
            score, topic=_topic(texts[paper_id], of.topics) if score.comment else None
        )
        for paper_id, score in scores.items()
    }


def _curated(
    of: MailingList, papers: Sequence[Paper], scores: Mapping[str, Score], day: date
) -> Digest:
    digest = curated(of, papers, _with_topics(of, papers, scores), day=day)
    brief = [
        BriefSentence(text, tuple(entry.paper.id for entry in digest.entries[first : first + 2]))
        for first, text in ((2, ONE), (4, OTHER))
    ]
    return replace(digest, brief=tuple(brief))


def _paper(row: Mapping[str, Any], day: str) -> Paper:
    submitted = datetime.fromisoformat(day).replace(hour=12, tzinfo=UTC)
    category = row.get("primary_category", "astro-ph.GA")
    return Paper(
        id=row["arxiv_id"],
        version=1,
        title=row["title"],
        authors=tuple(name_to_text(name) for name in row["authors"]),
        abstract=row["abstract"],
        primary_category=category,
        categories=tuple(row.get("categories", [category])),
        published=submitted,
        updated=submitted,
    )


def _of_reference(day: str) -> Digest:
    """The papers of a reference digest. An author match has no score there, either."""
    entries = _reference(SHARED / "reference" / f"digest-{day}.md")
    rows = [
        {
            "arxiv_id": entry["ArXiv ID"],
            "title": entry["title"],
            "authors": entry["Authors"].split(", "),
            "abstract": entry["Abstract"],
        }
        for entry in entries
    ]
    scores = {
        entry["ArXiv ID"]: Score(
            int(entry.get("Relevance", 5)),
            int(entry.get("Novelty", 5)),
            entry["Comment"] if "Relevance" in entry else REMARK,
        )
        for entry in entries
    }
    wants = _list("foundations", "Foundations of machine learning", ("cs.LG", "cs.AI"), FOLLOWED)
    papers = [_paper({"primary_category": "cs.LG"} | row, day) for row in rows]
    return _curated(wants, papers, scores, date.fromisoformat(day))


def _reference(digest: Path) -> list[dict[str, str]]:
    """The entries of a reference digest: each one's title, and its fields by their labels."""
    if not digest.exists():
        return []
    entries = re.split(r"^## \d+\. ", digest.read_text("utf-8"), flags=re.MULTILINE)[1:]
    return [
        {"title": entry[1 : entry.index("](")]}
        | dict(re.findall(r"^\*\*([^:*]+):\*\* (.*?)$", entry.partition("\n---")[0], re.MULTILINE))
        for entry in entries
    ]


@cache
def _astro() -> Mapping[str, list[dict[str, Any]]]:
    by_date: dict[str, list[dict[str, Any]]] = {}
    for row in _rows("astro_scored.jsonl"):
        by_date.setdefault(row["date"], []).append(row)
    return by_date


def _rows(name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (SHARED / "data" / name).read_text("utf-8").splitlines()]
