"""Why a list has no mail: what it waits for and for how long, and the days that nobody closed."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from datetime import date, datetime, timedelta
from typing import Protocol

from paperboy.due import LONGEST_WINDOW, local_date, patience_ends
from paperboy.models import Day, MailingList, Outcome

logger = logging.getLogger(__name__)

NOTHING_WAS_DONE = "no morning of this list came to its end: Paperboy was not at work, or the list had no subscribers"


class Days(Protocol):
    """What each list's days came to, and why some are still open."""

    def last(self, list_name: str, now: datetime) -> date | None:
        """The newest of the list's days that has an outcome."""
        ...

    def troubles(self) -> Mapping[str, tuple[str, datetime]]:
        """Why lists have no outcome though they were tried, and when that was."""
        ...

    def tried_since(self) -> Mapping[str, datetime]:
        """When they were first tried."""
        ...

    def trouble(self, list_name: str, reason: str, at: datetime, since: datetime) -> None: ...

    def freeze(self, day: Day, at: datetime) -> None: ...


def waits(days: Days, mailing_list: MailingList, now: datetime, patience: timedelta) -> bool:
    """Whether a list that has nothing to say yet is tried again today."""
    day = local_date(mailing_list, now)
    return now < patience_ends(mailing_list, day, patience, _first_try(days, mailing_list, now))


def note(days: Days, mailing_list: MailingList, reason: str, now: datetime) -> None:
    """A try came to nothing."""
    days.trouble(mailing_list.name, reason, now, _first_try(days, mailing_list, now))


def _first_try(days: Days, mailing_list: MailingList, now: datetime) -> datetime:
    """When the list was first tried on its local date."""
    since = days.tried_since().get(mailing_list.name, now)
    return since if since <= now and local_date(mailing_list, since) == local_date(mailing_list, now) else now


def explain(days: Days, mailing_list: MailingList, now: datetime) -> None:
    """No day is left without a word: one that ended before its list could be served, or while nobody was at work."""
    name = mailing_list.name
    last, today = days.last(name, now), local_date(mailing_list, now)
    if last is None or today - last > LONGEST_WINDOW:  # it is new, or back after a long absence
        return
    reason, at = days.troubles().get(name, ("", now))
    for day in (last + timedelta(days=ahead) for ahead in range(1, (today - last).days)):
        why = reason if local_date(mailing_list, at) == day else NOTHING_WAS_DONE
        skipped = day.weekday() not in mailing_list.weekdays
        outcome = Outcome.SKIPPED if skipped else Outcome.GAVE_UP
        days.freeze(Day(name, day, outcome, "" if skipped else why), now)
        logger.warning("%s: %s ended as %s%s", name, day, outcome, "" if skipped else f"; {why}")
