"""Mornings of a home by hand, as `once` does them, and what the store has of them."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import chain

from paperboy.models import Outcome
from tests.cli.conftest import World
from tests.fakes import app_at


@dataclass
class ByHand:
    """A home that is served by hand."""

    world: World

    def once(self, *names: str, days: int = 0) -> None:
        """Run a morning by hand, so many days later, as `once` does."""
        self.world.later(days=days)
        with app_at(self.world.path, self.world.clock, self.world.environ) as app:
            everyone = [mailing_list.name for mailing_list in app.home.lists]
            app.morning(names or everyone, any_day=bool(names))
            app.deliver(lambda: False)

    def seen(self, name: str) -> dict[str, str]:
        """Return what became of the papers that the list has seen."""
        with self.world.store() as store:
            rows = store.database.rows("select paper_id, became from seen where list = ?", [name])
        return {row["paper_id"]: row["became"].value for row in rows}

    def sent(self, name: str, day: int = 0) -> list[str]:
        """Return the papers of the list's digests, or of that on a day of November."""
        with self.world.store() as store:
            query = "select paper_id, date from seen where list = ? and became in ('selected', 'author match')"
            rows = store.database.rows(query, [name])
        return sorted(row["paper_id"] for row in rows if day in {0, row["date"].day})

    def outcome(self, name: str) -> tuple[Outcome, str]:
        """Return what the list's day came to, and why."""
        with self.world.store() as store:
            (day,) = store.history.days([name])[name]
        assert day.date == self.world.clock().date()
        return day.outcome, day.reason

    def asked(self) -> list[str]:
        """Return the papers that the LLM was asked about."""
        return sorted(chain.from_iterable(self.world.llm.asked))
