"""Days of bioRxiv and medRxiv. The clocks of November 2026 went back on Sunday the 1st."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import pairwise
from zoneinfo import ZoneInfo

import pytest

from paperboy.sources.biorxiv.calendar import newest_batch, start_of_newest, why_none
from paperboy.sources.source import Batch

HOUR = timedelta(hours=1)
DAY = timedelta(days=1)


def eastern(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=ZoneInfo("America/New_York"))


@pytest.mark.parametrize(
    ("zone", "morning", "day"),
    [
        ("America/New_York", "2026-11-20T00:00", "2026-11-19"),
        ("America/New_York", "2026-11-19T23:59", "2026-11-18"),
        ("Europe/Berlin", "2026-11-20T07:00", "2026-11-19"),
        ("Europe/Berlin", "2026-11-20T05:59", "2026-11-18"),  # 23:59 in New York
        ("Asia/Tokyo", "2026-11-20T07:00", "2026-11-18"),  # where it is still the 19th
        ("Asia/Tokyo", "2026-11-20T14:00", "2026-11-19"),
        ("Asia/Tokyo", "2026-07-20T13:00", "2026-07-19"),  # an hour earlier in summer
        ("UTC", "2026-11-22T07:00", "2026-11-21"),  # a Saturday
        ("UTC", "2026-12-26T07:00", "2026-12-25"),  # a holiday
    ],
)
def test_newest_batch_is_the_last_day_that_has_ended_in_new_york(
    zone: str, morning: str, day: str
) -> None:
    now = datetime.fromisoformat(morning).replace(tzinfo=ZoneInfo(zone))
    batch = newest_batch(now)
    assert batch.submitted_from == eastern(f"{day}T00:00")
    assert batch.submitted_until == batch.visible <= now
    assert batch.visible.tzinfo is UTC


def test_days_are_contiguous_and_two_of_the_year_are_longer_or_shorter() -> None:
    mornings = [datetime(2026, 1, 2, 12, tzinfo=UTC) + DAY * number for number in range(365)]
    batches = list(map(newest_batch, mornings))
    assert all(one.submitted_until == other.submitted_from for one, other in pairwise(batches))

    def length(batch: Batch) -> timedelta:
        return batch.submitted_until - batch.submitted_from

    odd = {
        f"{batch.submitted_from:%m-%d}": length(batch) for batch in batches if length(batch) != DAY
    }
    assert odd == {"03-08": 23 * HOUR, "11-01": 25 * HOUR}


def test_day_without_a_batch_is_only_one_on_which_no_day_has_ended() -> None:
    """On weekends there is one, too."""
    saturday = datetime(2026, 11, 21, 7, tzinfo=UTC)
    assert why_none(saturday - DAY, saturday) == ""
    assert why_none(saturday, saturday + DAY) == ""
    assert why_none(saturday, saturday + 2 * HOUR) == "no day has ended since"


@pytest.mark.parametrize(
    "published", [["2026-11-12T00:00", "2026-11-19T00:00"], ["2026-11-17T00:00"], []]
)
def test_new_list_starts_with_yesterday_alone(published: list[str]) -> None:
    now = datetime(2026, 11, 20, 7, tzinfo=UTC)
    assert start_of_newest(map(eastern, published), now) == eastern("2026-11-19T00:00")
