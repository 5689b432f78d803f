"""A digest sent again: to everyone it did not reach, or to one reader.

A delivery that did not reach its reader becomes pending again, for the next sending. A reader who
already has the digest gets a copy outside the ledger.
"""

import logging
from dataclasses import dataclass
from datetime import date, datetime, timedelta

from paperboy import due
from paperboy.errors import NotTodayError, PaperboyError
from paperboy.mail.message import LOCAL_SENDER, Composer, addr_spec
from paperboy.models import Delivery, MailingList, Receipt, Subscriber
from paperboy.sending.delivery import Transport, send_outside
from paperboy.store import Store
from paperboy.store.history import WAITING
from paperboy.store.ledger import Frozen, Missed

logger = logging.getLogger(__name__)

_RESENT_FOR = timedelta(days=14)  # how far back `--failed` retries what was given up


@dataclass(frozen=True, slots=True)
class Resend:
    """One list's digests. `by_mail`: mail that is only in the outbox counts as not delivered."""

    store: Store
    composer: Composer
    mailing_list: MailingList
    now: datetime
    by_mail: bool

    def newest(self) -> Frozen:
        """The newest digest. Raises PaperboyError if it cannot be sent again."""
        name = self.mailing_list.name
        if self.mailing_list.paused:
            raise NotTodayError(
                f"{name} is paused, so nothing is sent; remove paused from it in subscribers.yaml first"
            )
        digest = self.store.ledger.newest(name)
        if digest is None:
            raise PaperboyError(
                f"{name} has had no digest yet; paperboy once --list {name} makes it"
            )
        what = f"{name}: the digest of {digest.date:%a %d %b}"
        if digest.superseded:
            raise PaperboyError(
                f"{what} reached nobody and was superseded; its papers come with the next one. "
                f"paperboy once --list {name} makes it, if it is due"
            )
        sender = self.store.ledger.message(digest.id).sender
        if self.by_mail and sender == addr_spec(LOCAL_SENDER):
            raise PaperboyError(
                f"{what} was composed for the outbox, from {sender}, before MAIL_FROM was set, and no mail server "
                "accepts that sender; the next one goes by mail"
            )
        return digest

    def put_back(self, *, failed_only: bool) -> dict[date, int]:
        """Make the newest digest's deliveries pending again. `failed_only`: only those that failed,
        and those of the last two weeks that were given up. Gives their number by the digest's date.
        Raises PaperboyError if there is nothing to send again.
        """
        earlier = dict[date, int]()
        if failed_only and not self.mailing_list.paused:
            since = due.local_date(self.mailing_list, self.now) - _RESENT_FOR
            for digest in self.store.ledger.digests(self.mailing_list.name):
                if digest.date >= since and (number := self._again(digest, Missed.EXPIRED)):
                    earlier[digest.date] = number
        try:
            newest = self.newest()
        except PaperboyError as error:
            if not earlier:
                raise
            logger.warning("%s", error)
            return earlier
        number = self._again(newest, Missed.FAILED if failed_only else Missed.ANY)
        return {newest.date: number + earlier.pop(newest.date, 0), **earlier}

    def put_back_for(self, reader: Subscriber) -> Delivery | None:
        """The reader's delivery of the newest digest, pending again, if it did not reach them."""
        digest = self.newest()
        if reader not in self.mailing_list.subscribers:
            return None
        self._again(digest, Missed.ANY, reader)
        found = self.store.ledger.find(digest.id, reader.address)
        return found if found and found.state in WAITING else None

    def outside(self, transport: Transport, reader: Subscriber) -> Receipt:
        """Send the newest digest to one reader outside the ledger; a test mail if they are not on
        the list.
        """
        composed = self.store.ledger.message(self.newest().id)
        name = self.mailing_list.name
        test = reader not in self.mailing_list.subscribers
        return send_outside(transport, self.composer, composed, name, reader, self.now, test=test)

    def _again(self, digest: Frozen, missed: Missed, *readers: Subscriber) -> int:
        """To these readers, or to all on the list who are not suppressed."""
        name = self.mailing_list.name
        suppressed = self.store.suppressions.find
        people = readers or [
            who for who in self.mailing_list.subscribers if not suppressed(name, who.address)
        ]
        copies = [self.composer.copy_for(name, digest.date, who) for who in people]
        self.store.readers.know(name, copies)
        return self.store.ledger.again(digest, copies, missed, self.now, by_mail=self.by_mail)
