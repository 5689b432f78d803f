"""A list's digest as today's morning composed it, or as it would be now.

Marks nothing. Scores are kept, because they were paid for.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, closing
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from pathlib import Path

from paperboy import drafting, due, fetching
from paperboy.delivery import Transport
from paperboy.drafting import Drafter
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
    made: drafting.Draft | None = None  # None: composed earlier today
    about: str = ""


def preview(
    drafter: Drafter,
    look: Callable[[Sequence[MailingList], datetime], fetching.Look],
    mailing_list: MailingList,
    lists: Sequence[MailingList],
    while_scoring: Callable[[], AbstractContextManager[object]],
    now: datetime,
) -> Preview:
    """Today's digest, else what it would be now. Raises PaperboyError where that cannot be known."""
    if composed := drafter.store.days.composed(mailing_list.name, due.local_date(mailing_list, now)):
        return Preview(composed, about="today's digest, as it was composed; edits made since show from tomorrow on")
    missing = _fetch(drafter, look, [each for each in lists if each.subscribers or each is mailing_list], now)
    papers, _ = drafter.candidates(mailing_list, now)
    scoring = drafter.gather(mailing_list, papers, now)
    if scoring.missing:
        with while_scoring():
            drafter.score([scoring], now)
    made = drafting.draft(drafter.material(scoring, now))
    if made.outcome is None:
        raise PaperboyError(f"{mailing_list.name}: nothing could be scored, so there is no digest. {made.problem}")
    if made.outcome is Outcome.QUIET and missing:
        raise PaperboyError(missing)
    if made.outcome is Outcome.QUIET:
        return Preview(None, made, "arXiv has nothing that this list has not seen; no mail")
    if made.outcome is Outcome.NOTE and not mailing_list.send_empty:
        return Preview(None, made, "none passed, and send_empty is false; no mail")
    compose = drafter.composer.digest if made.outcome is Outcome.DIGEST else drafter.composer.note
    return Preview(compose(made.digest, now), made)


def _fetch(
    drafter: Drafter,
    look: Callable[[Sequence[MailingList], datetime], fetching.Look],
    lists: Sequence[MailingList],
    now: datetime,
) -> str:
    """Fetches what a morning would, unless that was done just now; why something is missing."""
    categories = {category for each in lists for category in each.categories}
    if drafter.store.papers.fetched_since(categories, now - _FETCH_HOLDS):
        return ""
    return look(lists, now).missing


def write(box: Path, composer: Composer, composed: Composed, list_name: str, now: datetime) -> Path:
    """Writes a reader's copy to the outbox folder `box`, and gives the HTML's path."""
    folder = box / "preview"
    try:
        for owned in (box, folder):
            owned.mkdir(mode=0o700, parents=True, exist_ok=True)
        copy = composer.envelope(composed, _delivery(composer, list_name, _SOMEBODY, now))
        return outbox.show(folder, list_name, copy.message)
    except OSError as error:
        raise PaperboyError(
            f"{folder}: the preview cannot be written ({error.strerror}); make room, or set PAPERBOY_OUTBOX"
        ) from error


def send(
    transport: Transport, composer: Composer, composed: Composed, list_name: str, reader: Subscriber, now: datetime
) -> Receipt:
    """Sends it to one address as a test mail, beside the ledger."""
    with closing(transport):
        envelope = composer.test(composed, _delivery(composer, list_name, reader, now))
        return transport.send(replace(envelope, list_name=f"{list_name}-preview"))


def _delivery(composer: Composer, list_name: str, reader: Subscriber, now: datetime) -> Delivery:
    """A delivery with a Message-ID of its own: a server that knew it would drop the real mail as a duplicate."""
    own = composer.addressed(list_name, now.date(), reader)
    other = composer.addressed(f"{list_name}-preview-{now:%H%M%S}", now.date(), reader)
    return Delivery(0, 0, list_name, replace(own, message_id=other.message_id), DeliveryState.PENDING)
