"""Resending a digest: to everyone it did not reach, or to one subscriber.

A delivery that did not reach its subscriber becomes pending again, for the next sending. A
subscriber who has the digest gets a copy outside the ledger.
"""

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta

from paperboy import due
from paperboy.errors import NotTodayError, PaperboyError, UnknownNameError
from paperboy.mail.message import Composer
from paperboy.models import LOCAL_SENDER, Composed, Delivery, MailingList, Receipt, Subscriber
from paperboy.sending.delivery import Transport, send_outside
from paperboy.store import Store
from paperboy.store.history import WAITING
from paperboy.store.ledger import FrozenDigest, Missed

logger = logging.getLogger(__name__)

_RESENT_FOR = timedelta(days=14)  # how far back `--failed` retries expired deliveries


@dataclass(frozen=True, slots=True)
class Resend:
    """Resending for one list. `by_mail`: mail that is only in the outbox counts as missed."""

    store: Store
    composer: Composer
    mailing_list: MailingList
    now: datetime
    by_mail: bool

    def newest(self) -> FrozenDigest:
        """Return the newest digest. Raises PaperboyError if it cannot be sent again."""
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
        if self.by_mail and sender == LOCAL_SENDER.address:
            raise PaperboyError(
                f"{what} was composed for the outbox, from {sender}, before MAIL_FROM was set, and no mail server "
                "accepts that sender; the next one goes by mail"
            )
        return digest

    def put_back(self, *, failed_only: bool) -> dict[date, int]:
        """Make the newest digest's deliveries pending again, and return their number by the
        digest's date. `failed_only`: only failed ones, and expired ones of all digests of the last
        two weeks. Raises PaperboyError if there is nothing to send again.
        """
        earlier = dict[date, int]()
        if failed_only and not self.mailing_list.paused:
            since = due.local_date(self.mailing_list, self.now) - _RESENT_FOR
            for digest in self.store.ledger.digests(self.mailing_list.name):
                if digest.date < since:
                    continue
                number = self._again(digest, Missed.EXPIRED)
                if number:
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

    def put_back_for(self, subscriber: Subscriber) -> Delivery | None:
        """Make the subscriber's delivery of the newest digest pending again, and return it. None:
        they are not on the list, or have the digest.
        """
        digest = self.newest()
        if subscriber not in self.mailing_list.subscribers:
            return None
        self._again(digest, Missed.ANY, [subscriber])
        delivery = self.store.ledger.find(digest.id, subscriber.address)
        return delivery if delivery and delivery.state in WAITING else None

    def outside(self, transport: Transport, to: Subscriber) -> Receipt:
        """Send the newest digest outside the ledger, as a test mail if they are not on the list."""
        composed = self.store.ledger.message(self.newest().id)
        name = self.mailing_list.name
        test = to not in self.mailing_list.subscribers
        return send_outside(transport, self.composer, composed, name, to, self.now, test=test)

    def _again(
        self, digest: FrozenDigest, missed: Missed, recipients: Sequence[Subscriber] | None = None
    ) -> int:
        """Reset missed deliveries of these recipients, or of all who are not suppressed."""
        name = self.mailing_list.name
        if recipients is None:
            suppressed = self.store.suppressions.find
            recipients = [
                subscriber
                for subscriber in self.mailing_list.subscribers
                if not suppressed(name, subscriber.address)
            ]
        copies = [self.composer.copy_for(name, digest.date, to) for to in recipients]
        self.store.readers.add(name, copies)
        return self.store.ledger.reset(digest, copies, missed, self.now, by_mail=self.by_mail)


def sent(store: Store, list_name: str, day: date | None) -> tuple[date, Composed]:
    """Return the date and the mail, as sent, of the newest digest, or of the local date `day`.
    Raises UnknownNameError if there is none.
    """
    digests = store.ledger.digests(list_name)
    days = {digest.date: digest.id for digest in digests if not digest.superseded}
    if not days:
        raise UnknownNameError(
            f"{list_name} has had no digest yet; paperboy preview {list_name} shows what is to come"
        )

    if day and day not in days:
        raise UnknownNameError(
            f"{list_name}: there is no digest of {day}; the newest is from {max(days)}"
        )

    day = day or next(iter(days))
    return day, store.ledger.message(days[day])
