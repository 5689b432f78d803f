"""Small makers of the words, for tests that care about one or two of their fields.

Each gives a sensible value and takes the fields that the test is about. Nothing is random; numbers and names differ
where a test needs several: `[paper(f"2611.{n:05}") for n in range(3)]`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import astuple, replace
from datetime import UTC, date, datetime
from typing import Any
from zoneinfo import ZoneInfo

from paperboy.features import FEATURES
from paperboy.models import (
    Cost,
    Counts,
    Digest,
    Entry,
    MailingList,
    Model,
    Paper,
    Score,
    Spending,
    Subscriber,
    Usage,
)

LLM = Model(name="gpt-6-luna", is_llm=True)
EMBEDDED = Model(name="embedded scorer", is_llm=False)
TABLES = [feature.tables for feature in FEATURES if feature.tables]
"""All features' tables, for a `Store`."""


def paper(paper_id: str = "2611.00001", **changes: Any) -> Paper:
    """A paper on cs.LG by two authors; its title names its id. It was updated when it was published, unless told."""
    if "published" in changes:
        changes.setdefault("updated", changes["published"])
    default = Paper(
        id=paper_id,
        version=1,
        title=f"On the Learning of Paper {paper_id}",
        authors=("Ada Lovelace", "Grace Hopper"),
        abstract="We study how papers are learned. The method is simple. It works on three benchmarks.",
        primary_category="cs.LG",
        categories=("cs.LG", "stat.ML"),
        published=datetime(2026, 11, 18, 15, 30, tzinfo=UTC),
        updated=datetime(2026, 11, 18, 15, 30, tzinfo=UTC),
    )
    return replace(default, **changes)


def mailing_list(**changes: Any) -> MailingList:
    """The list `foundations` on cs.LG and stat.ML in Berlin, with one subscriber."""
    default = MailingList(
        name="foundations",
        title="Foundations of machine learning",
        categories=("cs.LG", "stat.ML"),
        topics="Theory of deep learning: why networks generalise, and what they cannot learn.",
        timezone=ZoneInfo("Europe/Berlin"),
        authors=("Yoshua Bengio",),
        subscribers=(Subscriber("ada@example.org"),),
    )
    return replace(default, **changes)


def entry(
    rank: int = 1,
    of: Paper | None = None,
    *,
    relevance: int = 8,
    novelty: int | None = 7,
    comment: str = "It explains why wide networks generalise.",
    topic: int | None = None,
    matched_author: str = "",
) -> Entry:
    """The paper at that rank; without one, a paper of its own for each rank."""
    score = Score(relevance=relevance, novelty=novelty, comment=comment, topic=topic)
    authors = (matched_author,) if matched_author else ()
    return Entry(rank, of or paper(f"2611.{rank:05}"), score, authors)


def entries(number: int, **changes: Any) -> tuple[Entry, ...]:
    """That many entries with ranks from 1, each with a paper of its own."""
    return tuple(entry(rank, **changes) for rank in range(1, number + 1))


def digest(
    of: Sequence[Entry] | None = None,
    *,
    below: int = 10,
    over_cap: Sequence[Entry] = (),
    let_go: Sequence[Paper] = (),
    carried_over: Sequence[Paper] = (),
    **changes: Any,
) -> Digest:
    """A digest of 20 November 2026 with those entries (without any given: three), scored by an LLM for two cents.

    The counts follow from what is in it and from `below`.
    """
    of = entries(3) if of is None else of
    matches = sum(1 for entry in of if entry.matched_authors)
    scored = len(of) + len(over_cap) + below
    counts = Counts(
        considered=scored + len(let_go) + len(carried_over),
        carried_over=len(carried_over),
        let_go=len(let_go),
        author_matches=matches,
        selected=len(of) - matches,
        over_cap=len(over_cap),
        below=below,
    )
    default = Digest(
        mailing_list=mailing_list(),
        date=date(2026, 11, 20),
        entries=tuple(of),
        counts=counts,
        model=LLM,
        spending=Spending(
            Usage(
                2,
                15_992,
                4_096,
                cache_write_tokens=1_152,
                completion_tokens=1_287,
                reasoning_tokens=300,
            ),
            Cost(prompt=0.016, completion=0.0103),
        ),
        over_cap=tuple(over_cap),
        let_go=tuple(let_go),
        carried_over=tuple(carried_over),
    )
    return replace(default, **changes)


def added(one: Spending, other: Spending) -> Spending:
    """What both used and cost; of an unknown price, an unknown cost."""
    usage = Usage(
        *(sum(pair) for pair in zip(astuple(one.usage), astuple(other.usage), strict=True))
    )
    if one.cost is None or other.cost is None:
        return Spending(usage, None)
    return Spending(
        usage,
        Cost(one.cost.prompt + other.cost.prompt, one.cost.completion + other.cost.completion),
    )
