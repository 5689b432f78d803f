"""`paperboy resend`: a list's newest digest again, to those whom it did not reach, or to one address."""

from __future__ import annotations

from contextlib import closing
from dataclasses import replace
from datetime import datetime

import click
from rich.console import Console

from paperboy import delivery, morning, notation
from paperboy.cli import logs, operator, parts, words
from paperboy.cli.audience import Audience
from paperboy.cli.home import Home
from paperboy.cli.main import Surroundings
from paperboy.cli.once import Stop
from paperboy.cli.progress import Bars
from paperboy.cli.suppress import in_words, undo
from paperboy.errors import PaperboyError
from paperboy.mail.compose import LOCAL_SENDER
from paperboy.mail.mime import addr_spec
from paperboy.models import Delivery, DeliveryState, MailingList, Subscriber
from paperboy.store.deliveries import Frozen

_WAITING = frozenset({DeliveryState.PENDING, DeliveryState.SENDING, DeliveryState.DEFERRED})


@click.command(name="resend", short_help="A list's newest digest again, to those whom it did not reach.")
@click.argument("name", metavar="LIST")
@click.option("--failed", is_flag=True, help="Only to those for whom it failed or whom it may not have reached.")
@click.option("--to", "address", metavar="ADDRESS", help="Only to this address, also if it has had it.")
@click.pass_obj
def command(around: Surroundings, name: str, *, failed: bool, address: str | None) -> int:
    """A list's newest digest again, now: to those on the list whom it did not reach, and who joined since.

    The digest goes out as it was composed, and nobody who has it gets it twice, but for whom --to names. What went to
    the outbox counts as not reached once a mail server is set up.
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
        digest = _newest(work, home, name)
        if reader is not None:
            return _to_one(work, home, mailing_list, digest, reader, around)
        return _to_all(work, home, mailing_list, digest, around, failed_only=failed)


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


def _newest(work: parts.Work, home: Home, name: str) -> Frozen:
    """The digest that can be sent again; PaperboyError, and why, where there is none."""
    digest = work.store.deliveries.newest(name)
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


def _to_all(
    work: parts.Work,
    home: Home,
    mailing_list: MailingList,
    digest: Frozen,
    around: Surroundings,
    *,
    failed_only: bool,
) -> int:
    name = mailing_list.name
    number = work.store.deliveries.again(
        name,
        failed_only=failed_only,
        addressed=[work.composer.addressed(name, digest.date, who) for who in mailing_list.subscribers],
        by_mail=not home.settings.uses_outbox,
        at=around.clock(),
    )
    click.echo(f"{name}, the digest of {digest.date:%a %d %b}: {_again(number)}")
    sent = _deliver(work, work.delivery, home, around)
    if sent.states:
        click.echo(f"Deliveries: {words.in_words(sent.states)}")
    unfinished = work.store.deliveries.unfinished()
    if unfinished:
        click.echo(words.unfinished(unfinished, sent), err=True)
    return 1 if unfinished else 0


def _again(number: int) -> str:
    return f"again to {number} subscriber{'' if number == 1 else 's'}" if number else "nobody to send it to again"


def _deliver(work: parts.Work, sending: delivery.Parts, home: Home, around: Surroundings) -> delivery.Report:
    with Stop() as stop:
        stop.gently = True
        sent = delivery.deliver(sending, Audience(home), stopped=lambda: stop.asked)
    operator.tell(work, home, morning.Report(()), sent, around.clock())
    return sent


def _to_one(
    work: parts.Work, home: Home, mailing_list: MailingList, digest: Frozen, reader: Subscriber, around: Surroundings
) -> int:
    """Through the ledger, where it did not reach this subscriber yet; else beside it."""
    name, ledger, now = mailing_list.name, work.store.deliveries, around.clock()
    if suppressed := work.store.suppressions.find(name, reader.address):
        raise PaperboyError(f"{in_words(suppressed, home.settings.timezone)}. {undo(suppressed)}")
    waiting = None
    if reader in mailing_list.subscribers:
        addressed = work.composer.addressed(name, digest.date, reader)
        ledger.again(name, failed_only=False, addressed=[addressed], by_mail=not home.settings.uses_outbox, at=now)
        waiting = ledger.find(digest.id, reader.address)
    if waiting is None or waiting.state not in _WAITING:
        return _beside(work, mailing_list, digest, reader, now)
    sent = _deliver(work, replace(work.delivery, ledger=ledger.only(waiting)), home, around)
    came = ledger.find(digest.id, reader.address) or waiting
    click.echo(f"{reader.address}: {came.state}, {came.reply}")
    if came.state in _WAITING:
        click.echo(words.unfinished(1, sent), err=True)
    return 0 if came.state is DeliveryState.SENT else 1


def _beside(work: parts.Work, mailing_list: MailingList, digest: Frozen, reader: Subscriber, now: datetime) -> int:
    """Outside the ledger. Another Message-ID, or a server that knows the first one drops it; who is not on the list is
    told that it is a test, since nothing else in it would be true of them.
    """
    name, composer = mailing_list.name, work.composer
    on_list = reader in mailing_list.subscribers
    other = composer.addressed(f"{name}-again-{now:%Y%m%d%H%M%S}", digest.date, reader)
    own = replace(composer.addressed(name, digest.date, reader), message_id=other.message_id)
    apart = Delivery(0, 0, name, own, DeliveryState.PENDING)
    composed = work.store.days.composed_by_id(digest.id)
    with closing(work.delivery.transports[0]) as transport:
        envelope = (composer.envelope if on_list else composer.test)(composed, apart)
        receipt = transport.send(envelope if on_list else replace(envelope, list_name=f"{name}-preview"))
    click.echo(f"{reader.address}: {receipt.state}, {receipt.reply}")
    return 0 if receipt.state is DeliveryState.SENT else 1
