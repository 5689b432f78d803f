"""A digest sent again: to everyone it did not reach, or to one reader.

A delivery that did not reach its reader waits again, and the next sending takes it. Whoever has the digest already gets
a copy outside the ledger.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from datetime import date, datetime

from paperboy import due
from paperboy.delivery import Transport
from paperboy.errors import PaperboyError
from paperboy.mail.message import LOCAL_SENDER, Composer, addr_spec
from paperboy.models import Delivery, DeliveryState, MailingList, Receipt, Subscriber
from paperboy.status import RESENT_FOR
from paperboy.store import Store
from paperboy.store.deliveries import Frozen, Missed
from paperboy.store.history import WAITING


@dataclass(frozen=True, slots=True)
class PutBack:
    """The deliveries that wait again."""

    numbers: dict[date, int]  # by the digest's date
    others: int  # deliveries that waited anyway, and go out with them
    why_not_newest: str = ""  # why the newest digest cannot be sent again


@dataclass(frozen=True, slots=True)
class Resend:
    """One list's digests. `by_mail`: what is only in the outbox did not reach its reader."""

    store: Store
    composer: Composer
    mailing_list: MailingList
    now: datetime
    by_mail: bool

    def newest(self) -> Frozen:
        """The newest digest. Raises PaperboyError if it cannot be sent again."""
        name = self.mailing_list.name
        digest = self.store.deliveries.newest(name)
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
                "and no mail server accepts that sender; the next one goes by mail"
            )
        return digest

    def put_back(self, *, failed_only: bool) -> PutBack:
        """Make the newest digest's deliveries wait again. `failed_only`: only those that failed, and those of the last
        two weeks that were given up. Raises PaperboyError if there is no digest to send again.
        """
        numbers, ledger, why_not_newest = dict[date, int](), self.store.deliveries, None
        try:
            newest = self.newest()
            numbers[newest.date] = self._again(newest, Missed.FAILED if failed_only else Missed.ANY)
        except PaperboyError as error:
            why_not_newest = error
        if failed_only:
            since = due.local_date(self.mailing_list, self.now) - RESENT_FOR
            for digest in ledger.digests(self.mailing_list.name, since):
                if number := self._again(digest, Missed.EXPIRED):
                    numbers[digest.date] = number
        if why_not_newest and not numbers:
            raise why_not_newest
        waiting, _since = ledger.queue(self.now, by_hand=True)
        return PutBack(numbers, waiting - sum(numbers.values()), str(why_not_newest or ""))

    def put_back_for(self, reader: Subscriber) -> Delivery | None:
        """The reader's delivery of the newest digest, if it did not reach them: it waits again."""
        digest = self.newest()
        if reader not in self.mailing_list.subscribers:
            return None
        self._again(digest, Missed.ANY, reader)
        found = self.store.deliveries.find(digest.id, reader.address)
        return found if found and found.state in WAITING else None

    def beside(self, transport: Transport, reader: Subscriber) -> Receipt:
        """Send the newest digest to one reader outside the ledger. Its Message-ID is new, since a server would drop one
        that it knows. Who is not on the list gets a test mail.
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

    def _again(self, digest: Frozen, missed: Missed, *readers: Subscriber) -> int:
        """To these readers, or to all on the list who are not suppressed."""
        name, suppressed = self.mailing_list.name, self.store.suppressions.reason
        people = readers or [who for who in self.mailing_list.subscribers if not suppressed(name, who.address)]
        addressed = [self.composer.addressed(name, digest.date, who) for who in people]
        return self.store.deliveries.again(digest, addressed, missed, self.now, by_mail=self.by_mail)


def missed(store: Store, lists: Sequence[MailingList], address: str, list_name: str) -> dict[str, date]:
    """The lists (all, or that one) whose newest digest the address would have had, with the digest's date."""
    found = {}
    for each in lists if not list_name else [each for each in lists if each.name == list_name]:
        if not each.subscriber(address) or store.suppressions.find(each.name, address):
            continue
        digest = store.deliveries.newest(each.name)
        delivery = store.deliveries.find(digest.id, address) if digest and not digest.superseded else None
        if digest and delivery and delivery.state in {DeliveryState.SUPPRESSED, DeliveryState.FAILED}:
            found[each.name] = digest.date
    return found
