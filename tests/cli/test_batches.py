"""When a list has a batch of arXiv's to bring, and why it has none."""

from dataclasses import replace
from datetime import UTC, date, datetime, time
from zoneinfo import ZoneInfo

import pytest

from paperboy import due
from paperboy.cli.batches import leaves_papers, next_batch, no_batch, why_quiet
from paperboy.models import Counts, Day, MailingList, Outcome, Subscriber

DAILY = MailingList(
    "foundations", "Foundations", ("cs.LG",), "x", ZoneInfo("UTC"), subscribers=(Subscriber("a@b.org"),)
)
TOKYO = replace(DAILY, timezone=ZoneInfo("Asia/Tokyo"))
NEW_YORK_AT_MIDNIGHT = replace(DAILY, timezone=ZoneInfo("America/New_York"), send_at=time(0, 5))
SUNDAYS = replace(DAILY, weekdays=frozenset({6}))
WORKDAYS = replace(DAILY, weekdays=frozenset({0, 2, 4}))


def on(entry: MailingList, day: str) -> datetime:
    return due.begins(entry, date.fromisoformat(day))


@pytest.mark.parametrize(
    ("entry", "day", "why"),
    [
        (DAILY, "2026-11-20", ""),  # a Friday
        (DAILY, "2026-11-21", "weekend"),
        (DAILY, "2026-11-22", "weekend"),
        (DAILY, "2026-11-23", ""),
        (DAILY, "2026-11-26", ""),  # Thanksgiving has Wednesday's batch
        (DAILY, "2026-11-27", "holiday"),
        (DAILY, "2026-03-09", ""),  # clocks went forward in the night before it
        (DAILY, "2026-11-02", ""),  # and back
        (TOKYO, "2026-11-21", ""),  # still Friday in New York
        (TOKYO, "2026-11-22", "weekend"),
        (TOKYO, "2026-11-23", "weekend"),
        (TOKYO, "2026-11-24", ""),
        (NEW_YORK_AT_MIDNIGHT, "2026-11-23", "weekend"),  # ten minutes too early
        (NEW_YORK_AT_MIDNIGHT, "2026-11-24", ""),
        (SUNDAYS, "2026-11-22", ""),  # a week's batches
        (WORKDAYS, "2026-11-27", ""),  # Wednesday's, visible on Thursday
    ],
)
def test_why_a_morning_has_no_batch(entry: MailingList, day: str, why: str) -> None:
    assert no_batch(entry, on(entry, day)) == why


def test_an_operators_holiday_is_one() -> None:
    assert no_batch(DAILY, on(DAILY, "2026-11-19")) == ""
    assert no_batch(DAILY, on(DAILY, "2026-11-19"), {date(2026, 11, 18)}) == "holiday"


@pytest.mark.parametrize(
    ("entry", "now", "comes"),
    [
        (DAILY, "2026-11-20T06:00Z", "2026-11-20"),
        (DAILY, "2026-11-20T07:00Z", "2026-11-23"),
        (DAILY, "2026-11-22T12:00Z", "2026-11-23"),
        (DAILY, "2026-11-26T07:00Z", "2026-11-30"),  # over Thanksgiving and the weekend
        (TOKYO, "2026-11-23T06:00Z", "2026-11-24"),  # Monday's batch is there, and its Tuesday morning is to come
        (SUNDAYS, "2026-11-22T06:00Z", "2026-11-22"),
        (SUNDAYS, "2026-11-22T08:00Z", "2026-11-29"),
        (WORKDAYS, "2026-11-20T08:00Z", "2026-11-23"),
    ],
)
def test_when_the_next_batch_comes(entry: MailingList, now: str, comes: str) -> None:
    assert next_batch(entry, datetime.fromisoformat(now)) == on(entry, comes)


def test_over_a_year_the_next_batch_is_the_first_morning_that_has_one() -> None:
    """Both functions tell the same, for every hour that a morning could be asked about."""
    for entry in (DAILY, TOKYO, NEW_YORK_AT_MIDNIGHT, SUNDAYS, WORKDAYS):
        morning = datetime(2026, 1, 5, tzinfo=UTC)
        while morning.year == 2026:
            following = due.next_morning(entry, morning)
            first = following
            while no_batch(entry, first):
                first = due.next_morning(entry, first)
            assert next_batch(entry, following - (following - morning) / 2) == first, (entry, morning)
            morning = following


@pytest.mark.parametrize(
    ("day", "reason", "why"),
    [
        ("2026-11-21", "", "arXiv announced nothing (weekend)"),
        ("2026-11-27", "", "arXiv announced nothing (holiday)"),
        ("2026-11-20", "", "arXiv had nothing new in its categories"),
        ("2026-11-20", "a gap", "a gap"),
    ],
)
def test_why_a_day_was_quiet(day: str, reason: str, why: str) -> None:
    assert why_quiet(DAILY, Day("foundations", date.fromisoformat(day), Outcome.QUIET, reason)) == why


@pytest.mark.parametrize(
    ("outcome", "counts", "leaves"),
    [
        (Outcome.DIGEST, Counts(2, selected=2), False),
        (Outcome.DIGEST, Counts(2, carried_over=1, selected=1), True),
        (Outcome.GAVE_UP, Counts(), True),
        (Outcome.QUIET, Counts(), False),
    ],
)
def test_which_days_leave_papers_over(outcome: Outcome, counts: Counts, *, leaves: bool) -> None:
    assert leaves_papers(Day("foundations", date(2026, 11, 20), outcome, counts=counts)) == leaves
    assert leaves_papers(None)  # it begins with the newest batch
