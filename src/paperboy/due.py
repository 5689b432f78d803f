"""When a list's morning comes, and how far back it has to look: pure functions of instants."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, date, datetime, time, timedelta

from paperboy.models import MailingList, Outcome

LONGEST_WINDOW = timedelta(days=30)
_LAST_TRY = timedelta(minutes=20)  # before midnight; there is a try in each quarter of an hour
_HELD = timedelta(days=4)  # by moderation, at most
_DAY = timedelta(days=1)


def local_date(mailing_list: MailingList, now: datetime) -> date:
    """The list's own date at an instant."""
    return now.astimezone(mailing_list.timezone).date()


def begins(mailing_list: MailingList, day: date) -> datetime:
    """When the list's work starts on one of its local dates, in UTC.

    An hour that the clock leaps over in spring starts as much later; one that comes twice in autumn, the first time.
    """
    return datetime.combine(day, mailing_list.send_at, mailing_list.timezone).astimezone(UTC)


def due(
    lists: Sequence[MailingList], outcome: Callable[[str, date, datetime], Outcome | None], now: datetime
) -> tuple[MailingList, ...]:
    """The lists whose hour has come and whose local date is open, by what `outcome` tells of list and date at `now`.
    One without subscribers is never due.
    """
    return tuple(
        entry
        for entry in lists
        if entry.subscribers
        and now >= begins(entry, local_date(entry, now))
        and is_open(entry, local_date(entry, now), outcome(entry.name, local_date(entry, now), now))
    )


def is_open(mailing_list: MailingList, day: date, outcome: Outcome | None, *, by_hand: bool = False) -> bool:
    """Whether that day of the list can still come to something: it has no outcome, or was skipped and is one of the
    list's weekdays by now. A person may ask for what was skipped, and for what was given up.
    """
    if outcome is Outcome.SKIPPED:
        return by_hand or day.weekday() in mailing_list.weekdays
    return outcome is None or (by_hand and outcome is Outcome.GAVE_UP)


def patience_ends(mailing_list: MailingList, day: date, patience: timedelta, since: datetime | None = None) -> datetime:
    """Until when a list waits for what is late on one of its local dates, in UTC: so long after its hour, or after its
    first try, `since`, if that came later; never over midnight.
    """
    midnight = datetime.combine(day + _DAY, time(), mailing_list.timezone).astimezone(UTC)
    first = begins(mailing_list, day)
    if since is not None and local_date(mailing_list, since) == day:
        first = max(first, since)
    return min(first + patience, midnight - _LAST_TRY)


def next_start(mailing_list: MailingList, now: datetime) -> datetime:
    """When the list's work starts next after this instant, on whatever weekday, in UTC."""
    today = local_date(mailing_list, now)
    return next(start for ahead in range(3) if (start := begins(mailing_list, today + timedelta(days=ahead))) > now)


def next_morning(mailing_list: MailingList, now: datetime) -> datetime:
    """When the list's next digest may come: its hour on the next of its weekdays after this instant, in UTC."""
    today = local_date(mailing_list, now)
    days = (today + timedelta(days=ahead) for ahead in range(9))
    return next(
        start for day in days if day.weekday() in mailing_list.weekdays and (start := begins(mailing_list, day)) > now
    )


def window(now: datetime, lookback: timedelta, last_fetch: datetime | None) -> timedelta:
    """How far back a fetch looks, 30 days at most: after an outage as far as it would have looked day by day, for what
    surfaced meanwhile was submitted before; and over the days for which moderation can hold a paper.
    """
    outage = now - last_fetch + max(_HELD, lookback - _DAY) if last_fetch else timedelta()
    return min(max(lookback, outage), LONGEST_WINDOW)
