"""`paperboy resend`: a list's newest digest again, to those whom it did not reach, or to one address; and what was
given up lately.
"""

from __future__ import annotations

from contextlib import closing
from dataclasses import replace
from datetime import date, datetime

import click
from rich.console import Console

from paperboy import delivery, due
from paperboy.app import App
from paperboy.cli import logs, operator, parts, words
from paperboy.cli.audience import Audience
from paperboy.cli.main import Surroundings
from paperboy.cli.once import Stop
from paperboy.cli.people import in_words, undo
from paperboy.cli.progress import Bars
from paperboy.config import values as notation
from paperboy.config.home import Home
from paperboy.errors import PaperboyError
from paperboy.mail.message import LOCAL_SENDER, addr_spec
from paperboy.models import Addressed, Delivery, DeliveryState, MailingList, MorningReport, Subscriber
from paperboy.status import RESENT_FOR, on_lists
from paperboy.store.deliveries import Frozen, Missed

_WAITING = frozenset({DeliveryState.PENDING, DeliveryState.SENDING, DeliveryState.DEFERRED})


@click.command(name="resend", short_help="A list's newest digest again, to those whom it did not reach.")
@click.argument("name", metavar="LIST")
@click.option(
    "--failed",
    is_flag=True,
    help="Only to those for whom it failed or whom it may not have reached; and what was given up of the digests of "
    "the last two weeks.",
)
@click.option("--to", "address", metavar="ADDRESS", help="Only to this address, also if it has had it.")
@click.pass_obj
def command(around: Surroundings, name: str, *, failed: bool, address: str | None) -> int:
    """A list's newest digest again, now: to those on the list whom it did not reach, and who joined since.

    The digest goes out as it was composed, and nobody who has it gets it twice, but for whom --to names. What went to
    the outbox counts as not reached once a mail server is set up. With --failed, the digests of the last two weeks go
    to those for whom they were given up after three days, too.
    """
    if failed and address is not None:
        raise click.UsageError("--failed and --to exclude each other: --to is for one address, whatever became of it.")
    home = Home.load(around.home, around.environ)
    mailing_list = home.list(name)
    reader = None if address is None else _reader(address, mailing_list)
    if not home.settings.paperboy_database.exists():
        raise _nothing_yet(name)
    console = Console(stderr=True)
    logs.set_up(home.settings.log_level, around.environ, console)
    with parts.working(home, around, Bars(console)) as work:
        if reader is not None:
            return _to_one(work, home, mailing_list, _newest(work, home, name), reader, around)
        return _to_all(work, home, mailing_list, around, failed_only=failed)


def _reader(address: str, mailing_list: MailingList) -> Subscriber:
    """The subscriber of that address; somebody who is none, where there is none."""
    try:
        found = notation.mailbox(address)
    except ValueError as error:
        raise click.BadParameter(str(error), param_hint="--to") from error
    on_list = {who.address.casefold(): who for who in mailing_list.subscribers}
    return on_list.get(found.address.casefold(), Subscriber(found.address, found.name))


def _nothing_yet(name: str) -> PaperboyError:
    return PaperboyError(f"{name} has had no digest yet; paperboy once makes what is due")


def _newest(work: App, home: Home, name: str) -> Frozen:
    """The digest that can be sent again; PaperboyError, and why, where there is none."""
    digest = work.store.deliveries.newest(name, work.morning_parts.clock())
    if digest is None:
        raise _nothing_yet(name)
    day = f"{digest.date:%a %d %b}"
    if digest.superseded:
        raise PaperboyError(
            f"{name}: the digest of {day} reached nobody and was superseded; its papers come with the next one. "
            f"paperboy once --list {name} makes it, if it is due"
        )
    composed = work.store.days.composed_by_id(digest.id)
    if not home.settings.uses_outbox and composed.sender == addr_spec(LOCAL_SENDER):
        raise PaperboyError(
            f"{name}: the digest of {day} was composed for the outbox, from {composed.sender}, before MAIL_FROM was "
            "set, and no mail server takes it so; the next one goes by mail"
        )
    return digest


def _to_all(work: App, home: Home, mailing_list: MailingList, around: Surroundings, *, failed_only: bool) -> int:
    now, name, ledger = around.clock(), mailing_list.name, work.store.deliveries
    back: dict[date, int] = {}
    missing: PaperboyError | None = None
    try:
        digest = _newest(work, home, name)
        back[digest.date] = ledger.again(
            digest,
            _addressed(work, mailing_list, digest.date),
            Missed.FAILED if failed_only else Missed.ANY,
            now,
            by_mail=not home.settings.uses_outbox,
        )
    except PaperboyError as error:
        missing = error
    if failed_only:
        back |= _given_up_again(work, mailing_list, now)
    if missing and not back:
        raise missing
    if missing:
        click.echo(str(missing), err=True)
    _say(name, back, ledger.queue(now, by_hand=True)[0] - sum(back.values()))
    sent = _deliver(work, home, around)
    if sent.states:
        click.echo(f"Deliveries: {words.in_words(sent.states)}")
    if not failed_only and (number := _given_up(work, mailing_list, now)):
        what = words.counted(number, "delivery", "deliveries")
        click.echo(f"Given up earlier: {what}. To send those, too: paperboy resend {name} --failed", err=True)
    unfinished = ledger.unfinished()
    if unfinished:
        click.echo(words.unfinished(unfinished, sent), err=True)
    return 1 if unfinished else 0


def _say(name: str, back: dict[date, int], anyway: int) -> None:
    """To how many each digest goes again; and how many deliveries go out with them because they wait anyway."""
    for day, number in back.items():
        again = f"again to {words.counted(number, 'subscriber', 'subscribers')}"
        click.echo(f"{name}, the digest of {day:%a %d %b}: {again if number else 'nobody to send it to again'}")
    if anyway:
        goes = "delivery that waited anyway goes" if anyway == 1 else "deliveries that waited anyway go"
        click.echo(f"{anyway} {goes} out now, too" if any(back.values()) else f"But {anyway} {goes} out now")


def _given_up_again(work: App, mailing_list: MailingList, now: datetime) -> dict[date, int]:
    """Puts back what was given up of earlier digests: how many, by the digest's date."""
    ledger, people = work.store.deliveries, _addressed(work, mailing_list, now.date())
    digests = ledger.digests_since(mailing_list.name, _since(mailing_list, now))
    numbers = {digest.date: ledger.again(digest, people, Missed.EXPIRED, now, by_mail=True) for digest in digests}
    return {day: number for day, number in numbers.items() if number}


def _addressed(work: App, mailing_list: MailingList, day: date) -> list[Addressed]:
    name, suppressed = mailing_list.name, work.store.suppressions.reason
    people = [who for who in mailing_list.subscribers if not suppressed(name, who.address)]
    return [work.composer.addressed(name, day, who) for who in people]


def _given_up(work: App, mailing_list: MailingList, now: datetime) -> int:
    """How many deliveries `--failed` would take up, beyond the newest digest's."""
    since, suppressed = _since(mailing_list, now), work.store.suppressions.reason
    newest = {each.digest_id for each in work.store.history.mailed([mailing_list.name]).values()}
    mine = on_lists(work.store.history.undelivered(newest, now - RESENT_FOR), [mailing_list])
    return sum(
        row.given_up and not row.newest and row.date >= since and not suppressed(mailing_list.name, row.address)
        for row in mine
    )


def _since(mailing_list: MailingList, now: datetime) -> date:
    return due.local_date(mailing_list, now) - RESENT_FOR


def _deliver(work: App, home: Home, around: Surroundings, only: Delivery | None = None) -> delivery.Report:
    with Stop() as stop:
        stop.gently = True
        on_list = Audience(home, around.clock).has
        sent = work.deliver(on_list, stopped=lambda: stop.asked, by_hand=True, only=only)
    operator.tell(work, home, MorningReport(()), sent, around.clock())
    return sent


def _to_one(
    work: App, home: Home, mailing_list: MailingList, digest: Frozen, reader: Subscriber, around: Surroundings
) -> int:
    """Through the ledger, where it did not reach this subscriber yet; else beside it."""
    name, ledger, now = mailing_list.name, work.store.deliveries, around.clock()
    if suppressed := work.store.suppressions.find(name, reader.address):
        raise PaperboyError(f"{in_words(suppressed, home.settings.timezone)}. {undo(suppressed)}")
    waiting = None
    if reader in mailing_list.subscribers:
        addressed = work.composer.addressed(name, digest.date, reader)
        ledger.again(digest, [addressed], Missed.ANY, now, by_mail=not home.settings.uses_outbox)
        waiting = ledger.find(digest.id, reader.address)
    if waiting is None or waiting.state not in _WAITING:
        return _beside(work, mailing_list, digest, reader, now)
    sent = _deliver(work, home, around, waiting)
    came = ledger.find(digest.id, reader.address) or waiting
    click.echo(f"{reader.address}: {came.state}, {came.reply}")
    if came.state in _WAITING:
        click.echo(words.unfinished(1, sent), err=True)
    return 0 if came.state is DeliveryState.SENT else 1


def _beside(work: App, mailing_list: MailingList, digest: Frozen, reader: Subscriber, now: datetime) -> int:
    """Outside the ledger. Another Message-ID, or a server that knows the first one drops it; who is not on the list is
    told that it is a test, since nothing else in it would be true of them.
    """
    name, composer = mailing_list.name, work.composer
    on_list = reader in mailing_list.subscribers
    other = composer.addressed(f"{name}-again-{now:%Y%m%d%H%M%S}", digest.date, reader)
    own = replace(composer.addressed(name, digest.date, reader), message_id=other.message_id)
    apart = Delivery(0, 0, name, own, DeliveryState.PENDING)
    composed = work.store.days.composed_by_id(digest.id)
    with closing(work.transports[0]) as transport:
        envelope = (composer.envelope if on_list else composer.test)(composed, apart)
        receipt = transport.send(envelope if on_list else replace(envelope, list_name=f"{name}-preview"))
    click.echo(f"{reader.address}: {receipt.state}, {receipt.reply}")
    return 0 if receipt.state is DeliveryState.SENT else 1
