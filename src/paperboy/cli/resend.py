"""`paperboy resend`: a list's newest digest again, to those whom it did not reach, or to one address; and what was
given up lately.
"""

from __future__ import annotations

from datetime import date

import click
from rich.console import Console

from paperboy import delivery
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
from paperboy.models import Delivery, DeliveryState, MailingList, MorningReport, Subscriber
from paperboy.store.deliveries import Missed
from paperboy.store.history import WAITING


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
        raise PaperboyError(f"{name} has had no digest yet; paperboy once makes what is due")
    console = Console(stderr=True)
    logs.set_up(home.settings.log_level, around.environ, console)
    with parts.working(home, around, Bars(console)) as work:
        if reader is not None:
            return _to_one(work, mailing_list, reader, around)
        return _to_all(work, mailing_list, around, failed_only=failed)


def _reader(address: str, mailing_list: MailingList) -> Subscriber:
    """The subscriber of that address; somebody who is none, where there is none."""
    try:
        found = notation.mailbox(address)
    except ValueError as error:
        raise click.BadParameter(str(error), param_hint="--to") from error
    on_list = {who.address.casefold(): who for who in mailing_list.subscribers}
    return on_list.get(found.address.casefold(), Subscriber(found.address, found.name))


def _to_all(work: App, mailing_list: MailingList, around: Surroundings, *, failed_only: bool) -> int:
    name, ledger = mailing_list.name, work.store.deliveries
    expired = work.expired(mailing_list)
    back: dict[date, int] = {}
    try:
        newest = work.resendable(name)
    except PaperboyError as error:
        if not (failed_only and expired):
            raise
        click.echo(str(error), err=True)
    else:
        back[newest.date] = work.put_back(mailing_list, newest, Missed.FAILED if failed_only else Missed.ANY)
        expired.pop(newest, None)
    if failed_only:
        back |= {digest.date: work.put_back(mailing_list, digest, Missed.EXPIRED) for digest in expired}
    _say(name, back, ledger.queue(around.clock(), by_hand=True)[0] - sum(back.values()))
    sent = _deliver(work, around)
    if sent.states:
        click.echo(f"Deliveries: {words.in_words(sent.states)}")
    if expired and not failed_only:
        what = words.counted(sum(expired.values()), "delivery", "deliveries")
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


def _deliver(work: App, around: Surroundings, only: Delivery | None = None) -> delivery.Report:
    with Stop() as stop:
        stop.gently = True
        on_list = Audience(work.home, around.clock).has
        sent = work.deliver(on_list, stopped=lambda: stop.asked, by_hand=True, only=only)
    operator.tell(work, work.home, MorningReport(()), sent, around.clock())
    return sent


def _to_one(work: App, mailing_list: MailingList, reader: Subscriber, around: Surroundings) -> int:
    """Through the ledger, if it did not reach this subscriber yet; else beside it."""
    digest = work.resendable(mailing_list.name)
    if suppressed := work.store.suppressions.find(mailing_list.name, reader.address):
        raise PaperboyError(f"{in_words(suppressed, work.settings.timezone)}. {undo(suppressed)}")
    waiting = work.put_back_for(mailing_list, digest, reader)
    if waiting is None:
        receipt = work.send_beside(mailing_list, digest, reader)
        click.echo(f"{reader.address}: {receipt.state}, {receipt.reply}")
        return 0 if receipt.state is DeliveryState.SENT else 1
    sent = _deliver(work, around, waiting)
    came = work.store.deliveries.find(digest.id, reader.address) or waiting
    click.echo(f"{reader.address}: {came.state}, {came.reply}")
    if came.state in WAITING:
        click.echo(words.unfinished(1, sent), err=True)
    return 0 if came.state is DeliveryState.SENT else 1
