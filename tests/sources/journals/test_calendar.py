"""Days of feeds: each is one, and a list's first morning has two days or ten papers."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest

from paperboy.sources.journals.calendar import newest_batch, start_of_newest, why_none

NOW = datetime(2026, 11, 20, 7, tzinfo=UTC)
DAY = timedelta(days=1)
HOUR = timedelta(hours=1)


@pytest.mark.parametrize("zone", ["UTC", "Asia/Tokyo", "America/New_York"])
def test_batch_is_the_utc_day_also_on_weekends_and_holidays(zone: str) -> None:
    for day in range(40):
        now = NOW + day * DAY
        batch = newest_batch(now.astimezone(ZoneInfo(zone)), [now.date()])
        start = now.replace(hour=0)
        assert (batch.submitted_from, batch.submitted_until) == (start, start + DAY)
        assert batch.visible == start
        assert why_none(now, now + DAY) == ""


@pytest.mark.parametrize(
    ("hours_ago", "start"),
    [
        ([], 48),
        ([1, 2, 3], 48),
        ([1, 2, 3, 900], 900),
        (range(100, 130), 109),  # ten newest
        (range(30), 48),
        ([*range(9), 500, 501], 500),
    ],
)
def test_list_begins_two_days_ago_or_with_the_tenth_newest(
    hours_ago: list[int], start: int
) -> None:
    published = [NOW - hours * HOUR for hours in hours_ago]
    assert start_of_newest(published, NOW) == NOW - start * HOUR
