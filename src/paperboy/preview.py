"""A list's digest as this morning composed it, or as it would be now; and what a morning would make of all lists.

Marks nothing. Scores are kept, because they were paid for.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from contextlib import AbstractContextManager, closing
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path

from paperboy import drafting, due, fetching
from paperboy.delivery import Transport
from paperboy.drafting import Draft, Drafter
from paperboy.errors import PaperboyError
from paperboy.mail import outbox
from paperboy.mail.message import Composer
from paperboy.models import Composed, Delivery, DeliveryState, MailingList, Outcome, Receipt, Subscriber

_FETCH_HOLDS = timedelta(minutes=15)  # people who try out topics preview often, and arXiv need not notice
_SOMEBODY = Subscriber("you@example.org")


@dataclass(frozen=True, slots=True)
class Preview:
    """A digest, if there would be a mail at all; and about it, for people."""

    composed: Composed | None
    made: Draft | None = None  # None: composed earlier today
    about: str = ""


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

    def of(self, mailing_list: MailingList) -> Preview:
        """Today's digest, else what it would be now. Raises PaperboyError where that cannot be known."""
        drafter, now = self.drafter, self.now
        if composed := drafter.store.days.composed(mailing_list.name, due.local_date(mailing_list, now)):
            return Preview(composed, about="today's digest, as it was composed; edits made since show from tomorrow on")
        lists = [each for each in self.lists if each.subscribers or each is mailing_list]
        missing = self._look(lists, _FETCH_HOLDS)
        papers, _ = drafter.candidates(mailing_list, now)
        material = drafter.gather(mailing_list, papers, now)
        if material.missing:
            with self.alone():
                drafter.score([material])
        made = drafting.compose(material)
        if (outcome := made.outcome(missing)) is None:
            unscored = f"{mailing_list.name}: nothing could be scored, so there is no digest. {made.problem}"
            raise PaperboyError(missing if made.leftover else unscored)
        if outcome is Outcome.QUIET:
            return Preview(None, made, "arXiv has nothing that this list has not seen; no mail")
        return Preview(made.composed, made, "" if made.composed else "none passed, and send_empty is false; no mail")

    def all(self, names: Collection[str]) -> tuple[str, dict[str, Draft | PaperboyError | None]]:
        """What a morning would make of these lists: why arXiv's papers are missing (empty: they are not), and each
        list's draft, its error, or None where today is done.
        """
        drafter, now, materials = self.drafter, self.now, []
        made: dict[str, Draft | PaperboyError | None] = {}
        lists = [each for each in self.lists if each.subscribers]
        with self.alone():
            missing = self._look(lists)
            for each in [each for each in lists if each.name in names]:
                made[each.name], day = None, due.local_date(each, now)
                if due.is_open(each, day, drafter.store.days.outcome(each.name, day), by_hand=True):
                    try:
                        papers, _ = drafter.candidates(each, now)
                        materials.append(drafter.gather(each, papers, now))
                    except PaperboyError as error:
                        made[each.name] = error
            drafter.score(materials)
        for material in materials:
            made[material.mailing_list.name] = drafting.draft(material)
        return missing, made

    def _look(self, lists: Sequence[MailingList], fetch_holds: timedelta = timedelta()) -> str:
        """Fetch what a morning would, unless a fetch still holds; why something is missing."""
        drafter, categories = self.drafter, {category for each in lists for category in each.categories}
        if fetch_holds and drafter.store.papers.fetched_since(categories, self.now - fetch_holds):
            return ""
        look = partial(fetching.look, lookback=self.lookback, progress=drafter.progress, holidays=drafter.holidays)
        return look(drafter.store, self.feed, lists, self.now).missing

    def write(self, box: Path, list_name: str, composed: Composed) -> Path:
        """Writes a reader's copy to the outbox folder `box`, and gives the HTML's path."""
        folder = box / "preview"
        try:
            for owned in (box, folder):
                owned.mkdir(mode=0o700, parents=True, exist_ok=True)
            copy = self.composer.envelope(composed, self._delivery(list_name, _SOMEBODY))
            return outbox.show(folder, list_name, copy.message)
        except OSError as error:
            fix = "make room, or set PAPERBOY_OUTBOX"
            raise PaperboyError(f"{folder}: the preview cannot be written ({error.strerror}); {fix}") from error

    def send(self, transport: Transport, list_name: str, composed: Composed, reader: Subscriber) -> Receipt:
        """Sends it to one address as a test mail, beside the ledger."""
        with closing(transport):
            envelope = self.composer.test(composed, self._delivery(list_name, reader))
            return transport.send(replace(envelope, list_name=f"{list_name}-preview"))

    def _delivery(self, list_name: str, reader: Subscriber) -> Delivery:
        """A delivery with a Message-ID of its own: a server that knew it would drop the real mail as a duplicate."""
        day, other_name = self.now.date(), f"{list_name}-preview-{self.now:%H%M%S}"
        own, other = (self.composer.addressed(name, day, reader) for name in (list_name, other_name))
        return Delivery(0, 0, list_name, replace(own, message_id=other.message_id), DeliveryState.PENDING)
