"""The random sample of what a shortlist leaves out, and what it found."""

from __future__ import annotations

from dataclasses import replace
from datetime import date, timedelta

from paperboy.features.learning.lessons import Lessons
from paperboy.features.learning.shortlist import Recall
from paperboy.models import (
    Composed,
    Cost,
    Counts,
    Day,
    MessageCopy,
    Outcome,
    PaperOutcome,
    Spending,
    Subscriber,
    Usage,
)
from paperboy.store import Store
from tests.builders import added
from tests.store.ledger import TODAY, at

SPENT = Spending(Usage(1, 1000, 0, 0, 50, 0), Cost(0.01, 0.002))
ADA = MessageCopy(Subscriber("ada@example.org"), "<1@example.org>", "token")
COMPOSED = Composed("3 papers", "papers@example.org", b"mail")
COUNTS = Counts(considered=40, selected=3, over_cap=1, below=16, not_called=20)


def froze(
    store: Store,
    day: date,
    sampled: dict[str, PaperOutcome],
    counts: Counts = COUNTS,
    name: str = "foundations",
) -> None:
    """A day of the list that cost something, with a sample that became so."""
    store.scores.keep(name, "abc", "luna", {}, SPENT, at(day))
    frozen = Day(
        name, day, Outcome.NOTE, counts=counts, outcomes=sampled, sampled=frozenset(sampled)
    )
    store.days.freeze(frozen, at(day), lambda _: Lessons(store.database).add_sample(frozen))


def test_days_on_which_a_sampled_paper_passed_are_found_in_order(
    store: Store, lessons: Lessons
) -> None:
    yesterday = TODAY - timedelta(days=1)
    long_ago = TODAY - timedelta(days=90)
    froze(
        store,
        TODAY,
        {
            "2611.00001": PaperOutcome.SELECTED,
            "2611.00002": PaperOutcome.BELOW,
            "2611.00003": PaperOutcome.OVER_CAP,
        },
    )
    froze(store, yesterday, {"2611.00004": PaperOutcome.SELECTED})
    froze(store, long_ago, {"2608.00001": PaperOutcome.SELECTED})
    froze(store, TODAY, {"2611.00005": PaperOutcome.SELECTED}, name="galaxies")
    assert lessons.misses("foundations", TODAY + timedelta(days=60)) == [yesterday, TODAY, TODAY]
    assert lessons.misses("foundations", TODAY) == [long_ago, yesterday, TODAY, TODAY]
    assert lessons.misses("nobody", TODAY) == []


def test_recall_counts_the_days_on_which_something_was_left_out(
    store: Store, lessons: Lessons
) -> None:
    froze(store, TODAY, {"2611.00001": PaperOutcome.SELECTED, "2611.00002": PaperOutcome.BELOW})
    froze(store, TODAY - timedelta(days=1), {"2611.00003": PaperOutcome.BELOW})
    froze(
        store, TODAY - timedelta(days=2), {}, Counts(considered=40, selected=4, below=36)
    )  # all were called
    gave_up = Day("foundations", TODAY - timedelta(days=3), Outcome.GAVE_UP, counts=COUNTS)
    store.days.freeze(gave_up, at(gave_up.date))  # all of its papers come again
    nobody = replace(
        gave_up,
        date=TODAY - timedelta(days=4),
        outcome=Outcome.DIGEST,
        composed=COMPOSED,
        copies=(ADA,),
    )
    store.days.freeze(
        nobody, at(nobody.date)
    )  # its digest reached nobody, so its papers come again, too
    store.days.supersede("foundations", nobody.date + timedelta(days=1), at(TODAY))
    froze(store, TODAY - timedelta(days=61), {"2609.00001": PaperOutcome.SELECTED})
    found = lessons.recalls(["foundations", "galaxies"], TODAY)
    assert found == {
        "foundations": (Recall(40, 40, passed=8, sampled=3, found=1), added(SPENT, SPENT))
    }
