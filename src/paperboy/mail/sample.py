"""Small invented digests that touch every branch of the templates, so that these can be checked before a morning."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, date, datetime
from zoneinfo import ZoneInfo

from paperboy.mail.copies import marks
from paperboy.models import (
    Alert,
    Cost,
    Counts,
    Digest,
    Entry,
    MailingList,
    Model,
    Paper,
    Score,
    Shortfall,
    Spending,
    Usage,
)

SAMPLE_COPY = marks(b"sample", "sample")  # as at every morning: values come in their place later


def sample_alert() -> Alert:
    """An alert with details."""
    return Alert("Something needs a hand", ("It happened.", "This mends it."), ("a/file:1: it", "another line"))


def sample_digests() -> tuple[Digest, ...]:
    """Scored by an LLM, with a price, without, and where the server counts no tokens; by the embedded scorer; and
    mornings on which no paper passed, of all that came and of those that could be scored.
    """
    full = _full()
    bare = replace(
        full,
        mailing_list=replace(full.mailing_list, authors=()),
        entries=(Entry(1, replace(full.entries[0].paper, authors=(), abstract=""), Score(7, None)),),
        over_cap=(),
        let_go=(),
        carried_over=(),
        counts=Counts(considered=1, selected=1),
        model=Model("embedded", is_llm=False),
        spending=Spending(),
    )
    unpriced = replace(full, spending=Spending(Usage(1, 900, completion_tokens=100), cost=None))
    uncounted = replace(full, spending=Spending(Usage(calls=2), cost=None), shortfall=None)
    note = replace(bare, entries=(), counts=Counts(considered=4, below=4))
    return (
        full,
        unpriced,
        uncounted,
        bare,
        note,
        replace(full, entries=(), counts=replace(full.counts, considered=26, author_matches=0, selected=0)),
    )


def _full() -> Digest:
    papers = tuple(_paper(number) for number in range(10, 40))
    match = Entry(1, papers[0], Score(4, 5), matched_author="Ada Lovelace")
    chosen = Entry(2, papers[1], Score(9, 8, "It says so & more."))
    return Digest(
        mailing_list=MailingList(
            name="sample",
            title="A sample",
            categories=("cs.LG", "stat.ML"),
            topics="# Samples\n\nOf all kinds:\n\n1. small\n   - and smaller\n2. large\n\nNothing else.",
            timezone=ZoneInfo("UTC"),
            authors=("Ada Lovelace",),
            max_papers=1,
        ),
        date=date(2026, 1, 5),
        entries=(match, chosen),
        counts=Counts(considered=28, carried_over=12, let_go=12, author_matches=1, selected=1, over_cap=1, below=1),
        model=Model("sample-model", is_llm=True),
        spending=Spending(Usage(2, 1_000, 400, 300, completion_tokens=200, reasoning_tokens=50), Cost(0.012, 0.003)),
        over_cap=(Entry(3, papers[2], Score(8, 7)),),
        let_go=papers[3:15],
        carried_over=papers[15:27],
        shortfall=Shortfall.BUDGET,
    )


def _paper(number: int) -> Paper:
    submitted = datetime(2026, 1, 2, 12, tzinfo=UTC)
    return Paper(
        arxiv_id=f"2601.000{number}",
        version=1,
        title=f"Sample {number}: where $a < b$ & $M_{{a,b}}$, " + "a long title " * 20,
        authors=("Ada Lovelace", *(f"Grace Hopper {n}" for n in range(20))),
        abstract="One sentence stands here. Another one follows it. " * 30,
        primary_category="cs.LG",
        categories=("cs.LG",),
        published=submitted,
        updated=submitted,
    )
