"""When a list's morning comes, over clock changes, weekdays and outages."""

from datetime import UTC, date, datetime, time, timedelta
from zoneinfo import ZoneInfo

import pytest

from paperboy.due import begins, due, local_date, next_morning, window
from paperboy.models import Outcome, Subscriber
from tests.builders import mailing_list

BERLIN, NEW_YORK, KOLKATA = ZoneInfo("Europe/Berlin"), ZoneInfo("America/New_York"), ZoneInfo("Asia/Kolkata")
ADA = (Subscriber("ada@example.org"),)


@pytest.mark.parametrize(
    ("zone", "at", "day", "utc"),
    [
        (BERLIN, time(7), date(2026, 11, 20), "2026-11-20T06:00"),
        (BERLIN, time(7), date(2026, 7, 1), "2026-07-01T05:00"),
        (BERLIN, time(2, 30), date(2026, 3, 29), "2026-03-29T01:30"),  # leapt over: 02:30 is 03:30 that day
        (BERLIN, time(2, 30), date(2026, 10, 25), "2026-10-25T00:30"),  # comes twice: the first
        (NEW_YORK, time(2, 30), date(2026, 3, 8), "2026-03-08T07:30"),
        (KOLKATA, time(7), date(2028, 2, 29), "2028-02-29T01:30"),
    ],
)
def test_a_morning_begins_at_the_lists_own_hour(zone: ZoneInfo, at: time, day: date, utc: str) -> None:
    begin = begins(mailing_list(timezone=zone, send_at=at), day)
    assert begin == datetime.fromisoformat(utc).replace(tzinfo=UTC)


def test_a_list_is_due_from_its_hour_until_it_has_an_outcome() -> None:
    entry = mailing_list(timezone=BERLIN, send_at=time(7), subscribers=ADA)
    outcomes: dict[tuple[str, date], Outcome] = {}

    def find(name: str, day: date) -> Outcome | None:
        return outcomes.get((name, day))

    before, after = datetime(2026, 11, 20, 5, 59, tzinfo=UTC), datetime(2026, 11, 20, 6, 0, tzinfo=UTC)
    assert due([entry], find, before) == ()
    assert due([entry], find, after) == (entry,)
    outcomes[entry.name, date(2026, 11, 20)] = Outcome.QUIET
    assert due([entry], find, after) == ()


def test_a_list_without_subscribers_is_never_due() -> None:
    entry = mailing_list(subscribers=())
    assert due([entry], lambda _name, _day: None, datetime(2026, 11, 20, 23, tzinfo=UTC)) == ()


def test_each_list_has_its_own_date() -> None:
    now = datetime(2026, 11, 20, 23, 30, tzinfo=UTC)
    assert local_date(mailing_list(timezone=KOLKATA), now) == date(2026, 11, 21)
    assert local_date(mailing_list(timezone=NEW_YORK), now) == date(2026, 11, 20)


def test_the_next_morning_is_the_next_of_the_lists_weekdays() -> None:
    """2026-11-20 is a Friday."""
    entry = mailing_list(timezone=BERLIN, send_at=time(7), weekdays=frozenset({0, 4}))
    friday_early = datetime(2026, 11, 20, 5, tzinfo=UTC)
    assert next_morning(entry, friday_early) == datetime(2026, 11, 20, 6, tzinfo=UTC)
    assert next_morning(entry, friday_early + timedelta(hours=1)) == datetime(2026, 11, 23, 6, tzinfo=UTC)


@pytest.mark.parametrize(
    ("hours_since_fetch", "days"), [(None, 7), (24, 7), (72, 7), (5 * 24, 9), (20 * 24, 24), (300 * 24, 30)]
)
def test_a_fetch_looks_back_over_an_outage_and_four_days_more(hours_since_fetch: int | None, days: int) -> None:
    now = datetime(2026, 11, 20, 7, tzinfo=UTC)
    last = now - timedelta(hours=hours_since_fetch) if hours_since_fetch else None
    assert window(now, timedelta(days=7), last) == timedelta(days=days)
