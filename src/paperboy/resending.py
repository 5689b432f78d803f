"""A digest again: to those whom it did not reach, to those for whom it was given up, or to one reader.

Through the ledger where a delivery of it did not reach its reader: that one waits again, and the next sending takes it.
Beside the ledger for whoever has had it.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from datetime import date, datetime

from paperboy import due
from paperboy.delivery import Transport
from paperboy.errors import PaperboyError
from paperboy.mail.message import LOCAL_SENDER, Composer, addr_spec
from paperboy.models import Addressed, Delivery, DeliveryState, MailingList, Receipt, Subscriber
from paperboy.status import RESENT_FOR
from paperboy.store import Store
from paperboy.store.deliveries import Frozen, Missed
from paperboy.store.history import WAITING


@dataclass(slots=True)
class PutBack:
    """The deliveries that wait again."""

    numbers: dict[date, int] = field(default_factory=dict)  # by the digest's date
    others: int = 0  # deliveries that waited anyway, and go out with them
    given_up: int = 0  # deliveries of earlier digests that were given up and stay so
    why_not_newest: str = ""  # why the newest digest cannot be sent again


@dataclass(frozen=True, slots=True)
class Resending:
    """One list's digests. `by_mail`: what went to the outbox counts as not reached."""

    store: Store
    composer: Composer
    mailing_list: MailingList
    now: datetime
    by_mail: bool

    def newest(self) -> Frozen:
        """The newest digest. Raises PaperboyError, which says why, if it cannot be sent again."""
        name = self.mailing_list.name
        digest = self.store.deliveries.newest(name, self.now)
        if digest is None:
            raise PaperboyError(f"{name} has had no digest yet; paperboy once makes what is due")
        day = f"{digest.date:%a %d %b}"
        if digest.superseded:
            raise PaperboyError(
                f"{name}: the digest of {day} reached nobody and was superseded; its papers come with the next one. "
                f"paperboy once --list {name} makes it, if it is due"
            )
        sender = self.store.days.composed_by_id(digest.id).sender
        if self.by_mail and sender == addr_spec(LOCAL_SENDER):
            raise PaperboyError(
                f"{name}: the digest of {day} was composed for the outbox, from {sender}, before MAIL_FROM was set, "
                "and no mail server takes it so; the next one goes by mail"
            )
        return digest

    def put_back(self, *, failed_only: bool) -> PutBack:
        """Make the newest digest's deliveries wait again; `failed_only`: those that failed, and those that were given
        up of the digests of the last two weeks. Raises PaperboyError if there is no digest to send again.
        """
        found, expired = PutBack(), self._expired()
        try:
            newest = self.newest()
        except PaperboyError as error:
            if not (failed_only and expired):
                raise
            found.why_not_newest = str(error)
        else:
            found.numbers[newest.date] = self._again(newest, Missed.FAILED if failed_only else Missed.ANY)
            expired.pop(newest, None)
        if failed_only:
            found.numbers |= {digest.date: self._again(digest, Missed.EXPIRED) for digest in expired}
        else:
            found.given_up = sum(expired.values())
        waiting, _since = self.store.deliveries.queue(self.now, by_hand=True)
        found.others = waiting - sum(found.numbers.values())
        return found

    def put_back_for(self, reader: Subscriber) -> Delivery | None:
        """The reader's delivery of the newest digest, if it did not reach them: it waits again."""
        digest = self.newest()
        if reader not in self.mailing_list.subscribers:
            return None
        replace(self, mailing_list=replace(self.mailing_list, subscribers=(reader,)))._again(digest, Missed.ANY)
        found = self.store.deliveries.find(digest.id, reader.address)
        return found if found and found.state in WAITING else None

    def beside(self, transport: Transport, reader: Subscriber) -> Receipt:
        """Send the newest digest to one reader beside the ledger, with a Message-ID of its own: a server that knew it
        would drop the mail. Who is not on the list gets a test mail, since nothing else in it would be true of them.
        """
        name, digest = self.mailing_list.name, self.newest()
        other = self.composer.addressed(f"{name}-again-{self.now:%Y%m%d%H%M%S}", digest.date, reader)
        own = replace(self.composer.addressed(name, digest.date, reader), message_id=other.message_id)
        copy = Delivery(0, 0, name, own, DeliveryState.PENDING)
        composed = self.store.days.composed_by_id(digest.id)
        with closing(transport):
            if reader in self.mailing_list.subscribers:
                return transport.send(self.composer.envelope(composed, copy))
            return transport.send(replace(self.composer.test(composed, copy), list_name=f"{name}-preview"))

    def _expired(self) -> dict[Frozen, int]:
        """The digests of the last two weeks that were given up for somebody, and for how many."""
        since, ledger = due.local_date(self.mailing_list, self.now) - RESENT_FOR, self.store.deliveries
        numbers = {}
        for digest in ledger.digests_since(self.mailing_list.name, since):
            given_up, _ = ledger.lacking(digest, self._addressed(digest.date), Missed.EXPIRED, by_mail=True)
            numbers[digest] = len(given_up)
        return {digest: number for digest, number in numbers.items() if number}

    def _again(self, digest: Frozen, missed: Missed) -> int:
        people = self._addressed(digest.date)
        return self.store.deliveries.again(digest, people, missed, self.now, by_mail=self.by_mail)

    def _addressed(self, day: date) -> list[Addressed]:
        name, suppressed = self.mailing_list.name, self.store.suppressions.reason
        people = [who for who in self.mailing_list.subscribers if not suppressed(name, who.address)]
        return [self.composer.addressed(name, day, who) for who in people]


def missed(store: Store, lists: Sequence[MailingList], address: str, list_name: str, now: datetime) -> dict[str, date]:
    """The lists (all, or that one) whose newest digest the address would have had, with the digest's date."""
    found = {}
    for each in lists:
        on_list = any(who.address.casefold() == address.casefold() for who in each.subscribers)
        if not on_list or list_name not in {"", each.name} or store.suppressions.find(each.name, address):
            continue
        digest = store.deliveries.newest(each.name, now)
        delivery = store.deliveries.find(digest.id, address) if digest and not digest.superseded else None
        if digest and delivery and delivery.state in {DeliveryState.SUPPRESSED, DeliveryState.FAILED}:
            found[each.name] = digest.date
    return found
