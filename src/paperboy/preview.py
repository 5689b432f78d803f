"""A list's digest as this morning composed it, or as it would be now; and what a morning would do for all lists.

Marks nothing as sent. Scores are kept, because they were paid for.
"""

from collections.abc import Callable, Collection, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path

from paperboy import drafting, due, fetching
from paperboy.drafting import Draft, Drafter, Material
from paperboy.errors import PaperboyError
from paperboy.mail import outbox
from paperboy.mail.message import Composer
from paperboy.models import Composed, Delivery, DeliveryState, MailingList, Subscriber

_FETCH_HOLDS = timedelta(minutes=15)  # people who try out topics preview often; arXiv need not be asked each time
_SOMEBODY = Subscriber("you@example.org")


@dataclass(frozen=True, slots=True)
class Previews:
    """Shows what a morning would send now."""

    drafter: Drafter
    composer: Composer
    feed: fetching.Feed
    lists: Sequence[MailingList]
    lookback: timedelta
    alone: Callable[[], AbstractContextManager[object]]  # held while scores are paid for
    now: datetime

    def of(self, mailing_list: MailingList) -> Composed | Draft:
        """Today's digest, else what it would be now. Raises PaperboyError where that cannot be known."""
        name, now = mailing_list.name, self.now
        if composed := self.drafter.store.days.composed(name, due.local_date(mailing_list, now)):
            return composed
        missing = self._look([each for each in self.lists if each.subscribers or each is mailing_list], _FETCH_HOLDS)
        (material,) = self._materials([mailing_list])
        made = drafting.compose(material)
        if made.outcome(missing) is None:
            why = "arXiv has given no papers yet" if made.leftover else "nothing could be scored"
            raise PaperboyError(f"{name}: {why}, so there is nothing to show; the log says more")
        return made

    def all(self, names: Collection[str], *, any_day: bool = False) -> tuple[str, dict[str, Draft | str]]:
        """What a morning would do for these lists: why arXiv's papers are missing (empty if they are not), and each
        list's draft, or why there is none.
        """
        now, outcomes = self.now, self.drafter.store.days.outcomes
        missing = self._look([each for each in self.lists if each.subscribers])
        lists = [each for each in self.lists if each.subscribers and each.name in names]
        came, found, still_due = outcomes(lists, now), dict[str, Draft | str](), list[MailingList]()
        for each in lists:
            day, outcome = due.local_date(each, now), came[each.name]
            found[each.name] = why = due.off(each, day, any_day=any_day)
            if not due.is_open(each, day, outcome, by_hand=True, any_day=any_day):
                found[each.name] = why or f"{outcome}, done earlier today"
            elif not why:
                still_due.append(each)
        return missing, found | {each.mailing_list.name: drafting.draft(each) for each in self._materials(still_due)}

    def _materials(self, lists: Sequence[MailingList]) -> list[Material]:
        """The material of these lists' digests, all of it scored."""
        drafter, now = self.drafter, self.now
        papers = [drafter.candidates(each, now)[0] for each in lists]
        materials = [drafter.gather(*each, now) for each in zip(lists, papers, strict=True)]
        if any(material.missing for material in materials):
            with self.alone():  # whoever had the lock may have scored them meanwhile
                materials = [drafter.gather(*each, now) for each in zip(lists, papers, strict=True)]
                drafter.score(materials)
        return materials

    def _look(self, lists: Sequence[MailingList], fetch_holds: timedelta = timedelta()) -> str:
        """Fetch what a morning would, unless the last fetch is recent; return why papers are missing."""
        fetched, since = self.drafter.store.papers.fetched(), self.now - fetch_holds
        if fetch_holds and all(c in fetched and fetched[c] >= since for each in lists for c in each.categories):
            return ""
        return fetching.look(self.drafter, self.feed, lists, self.now, self.lookback).missing

    def write(self, box: Path, list_name: str, composed: Composed) -> Path:
        """Write a reader's copy to the outbox folder `box`; gives the HTML's path."""
        folder, own = box / "preview", self.composer.addressed(list_name, self.now.date(), _SOMEBODY)
        try:
            for owned in (box, folder):
                owned.mkdir(mode=0o700, parents=True, exist_ok=True)
            copy = self.composer.envelope(composed, Delivery(0, 0, list_name, own, DeliveryState.PENDING))
            return outbox.show(folder, list_name, copy.message)
        except OSError as error:
            fix = "free some space, or set PAPERBOY_OUTBOX"
            raise PaperboyError(f"{folder}: the preview cannot be written ({error.strerror}); {fix}") from error
