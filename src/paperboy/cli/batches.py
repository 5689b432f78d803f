"""What arXiv's calendar means for a list's mornings. Pure. `holidays` are evenings (US Eastern) without an
announcement, beyond those that the calendar knows.
"""

from __future__ import annotations

from collections.abc import Collection
from datetime import date, datetime, timedelta

from paperboy import announcements, due
from paperboy.models import Day, DaySummary, MailingList, Outcome

_A_MOMENT = timedelta(seconds=1)
_FRIDAY, _SATURDAY = 4, 5


def no_batch(entry: MailingList, start: datetime, holidays: Collection[date] = ()) -> str:
    """Why a morning of the list has no batch that the one before it had not; empty: it has one."""
    if announcements.newest_batch(start, holidays).visible > _last_look(entry, start - _A_MOMENT):
        return ""
    midnight = timedelta(hours=announcements.VISIBLE.hour, minutes=announcements.VISIBLE.minute)
    evening = (start.astimezone(announcements.EASTERN) - midnight).date() - timedelta(days=1)
    return "weekend" if evening.weekday() in {_FRIDAY, _SATURDAY} else "holiday"


def next_batch(entry: MailingList, now: datetime, holidays: Collection[date] = ()) -> datetime:
    """When the list's next morning comes that has a batch to bring, in its zone."""
    visible = announcements.next_batch(_last_look(entry, now), holidays).visible
    return due.next_morning(entry, visible - _A_MOMENT).astimezone(entry.timezone)


def leaves_papers(day: Day | DaySummary | None) -> bool:
    """Whether a list's newest day leaves papers over, so that the next morning has some, batch or not. A list that had
    no day yet begins with the newest batch.
    """
    return day is None or day.outcome is Outcome.GAVE_UP or day.counts.carried_over > 0


def why_quiet(entry: MailingList, day: Day, holidays: Collection[date] = ()) -> str:
    """Why there was no mail on a quiet day, for people."""
    if day.reason:
        return day.reason
    why = no_batch(entry, due.begins(entry, day.date), holidays)
    return f"arXiv announced nothing ({why})" if why else "arXiv had nothing new in its categories"


def _last_look(entry: MailingList, now: datetime) -> datetime:
    """The newest of the list's mornings that has begun."""
    today = due.local_date(entry, now)
    days = (today - timedelta(days=ago) for ago in range(9))
    return next(start for day in days if day.weekday() in entry.weekdays and (start := due.begins(entry, day)) <= now)
