"""All that `status` shows of a home, read once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from paperboy import lock
from paperboy.alerts import WELL_AGAIN
from paperboy.cli.answer import answer
from paperboy.cli.stand import LATELY, NO_FACTS, Facts, facts, standing
from paperboy.cli.undelivered import Lack, lacks
from paperboy.config.home import Home
from paperboy.models import DaySummary, MailingList
from paperboy.store import Store
from paperboy.store.alerts import Standing
from paperboy.store.scores import Month


@dataclass(frozen=True, slots=True)
class Trouble:
    """Why a list is due though it was tried."""

    reason: str
    at: datetime  # when it was last tried
    next_try: datetime  # about; in the past: at any moment


@dataclass(frozen=True, slots=True)
class Picture:
    """A home at an instant."""

    home: Home
    now: datetime
    holder: lock.Holder | None
    facts: Facts = NO_FACTS
    days: Mapping[str, Sequence[DaySummary]] | None = None  # by list, the newest first; None: there is no database
    months: tuple[Month, ...] = ()  # this one first
    alerts: tuple[Standing, ...] = ()
    lacks: tuple[Lack, ...] = ()

    @property
    def answer(self) -> str:
        """The one line."""
        return answer(
            self.home.lists,
            self.facts,
            self.now,
            holidays=self.home.settings.arxiv_holidays,
            at_work=self.holder is not None and self.holder.command != "run",
            running=self.holder is not None,
        )

    def days_of(self, name: str) -> Sequence[DaySummary]:
        """The list's last mornings, newest first."""
        return (self.days or {}).get(name, ())

    def trouble(self, entry: MailingList) -> Trouble | None:
        """What keeps the list due."""
        attempt = self.facts.attempts.get(entry.name)
        if attempt is None or not entry.subscribers:
            return None
        return Trouble(attempt.reason, attempt.at, attempt.next_try)

    def next(self, entry: MailingList) -> datetime | None:
        """When the list's next digest may come, in its zone; in the past: it is due. None: it has nobody to send to."""
        following = standing(entry, self.facts, self.now).next_digest
        return following.astimezone(entry.timezone) if following else None


def look(home: Home, now: datetime, mornings: int) -> Picture:
    """The home as it is; of each list so many mornings. Makes no database where there is none."""
    database = home.settings.paperboy_database
    local = now.astimezone(home.settings.timezone)
    if not database.exists():
        return Picture(home, now, None, months=(Month(local.date().replace(day=1)),))
    names = [entry.name for entry in home.lists]
    with Store.open(database) as store:
        newest = store.days.newest(names, now, mornings)
        return Picture(
            home,
            now,
            lock.holder(database),
            facts(store, home.lists, now),
            {name: [day for day in newest if day.list_name == name] for name in names},
            store.scores.months(local),
            tuple(each for each in store.alerts.standing() if not each.cause.startswith(WELL_AGAIN)),
            lacks(store.deliveries.undelivered(now - LATELY), home.lists, now),
        )
