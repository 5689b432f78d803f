"""`paperboy preview`: a list's digest of today, or what it would be now."""

from __future__ import annotations

import logging
import webbrowser
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path

import click
from rich.console import Console

from paperboy import drafting, due, fetching
from paperboy.app import App
from paperboy.cli import logs, parts, words
from paperboy.cli.main import Surroundings
from paperboy.cli.progress import Bars
from paperboy.config import values as notation
from paperboy.config.home import Home
from paperboy.errors import PaperboyError
from paperboy.mail import outbox
from paperboy.models import Composed, Delivery, DeliveryState, MailingList, Outcome, Subscriber

logger = logging.getLogger(__name__)

_FETCH_HOLDS = timedelta(minutes=15)  # somebody who tries out topics runs this often, and arXiv need not notice


@click.command(name="preview", short_help="A list's digest of today, or what it would be now.")
@click.argument("name", metavar="LIST")
@click.option("--open", "open_it", is_flag=True, help="Show it in the browser.")
@click.option("--to", "address", metavar="ADDRESS", help="Send it to this address alone, as a test mail.")
@click.pass_obj
def command(around: Surroundings, name: str, *, open_it: bool, address: str | None) -> int:
    """A list's digest of today, or what it would be now, marking nothing.

    It goes into a file, to the browser, or to one address as a test mail. Scores are kept: they were paid for.
    """
    home = Home.load(around.home, around.environ)
    mailing_list = home.list(name)
    reader = None if address is None else _reader(address)
    console = Console(stderr=True)
    logs.set_up(home.settings.log_level, around.environ, console)
    with parts.working(home, around, Bars(console), alone=False) as work:
        now = around.clock()
        composed = _todays(work, mailing_list, now) or _now(home, work, mailing_list, now)
        if composed is None:
            return 0
        if reader:
            return _send(work, composed, mailing_list, reader, now)
        shown = work.composer.envelope(composed, _delivery(work, mailing_list, Subscriber("you@example.org"), now))
        page = _file(home.settings.paperboy_outbox, name, shown.message)
        click.echo(page)
        if open_it and not webbrowser.open(page.as_uri()):
            click.echo("No browser could be opened.", err=True)
    return 0


def _file(box: Path, name: str, message: bytes) -> Path:
    folder = box / "preview"
    try:
        for owned in (box, folder):
            owned.mkdir(mode=0o700, parents=True, exist_ok=True)
        return outbox.show(folder, name, message)
    except OSError as error:
        raise PaperboyError(
            f"{folder}: the preview cannot be written ({error.strerror}); make room, or set PAPERBOY_OUTBOX"
        ) from error


def _reader(address: str) -> Subscriber:
    try:
        found = notation.mailbox(address)
    except ValueError as error:
        raise click.BadParameter(str(error), param_hint="--to") from error
    return Subscriber(found.address, found.name)


def _todays(work: App, mailing_list: MailingList, now: datetime) -> Composed | None:
    today = due.local_date(mailing_list, now)
    composed = work.store.days.composed(mailing_list.name, today)
    if composed:
        click.echo(
            f"{mailing_list.name}: today's digest, as it was composed; edits made since show from tomorrow on", err=True
        )
    return composed


def _now(home: Home, work: App, mailing_list: MailingList, now: datetime) -> Composed | None:
    """What the digest would be; None, and a word why, where there would be no mail."""
    missing = _look([entry for entry in home.lists if entry.subscribers or entry is mailing_list], work, now)
    scoring = drafting.gather(work.morning_parts, mailing_list, now)
    drafting.score(work.morning_parts, [scoring], now)
    made = drafting.draft(work.morning_parts, scoring, now)
    if made.outcome is None:
        raise PaperboyError(f"{mailing_list.name}: nothing could be scored, so there is no digest. {made.problem}")
    if made.outcome is Outcome.QUIET and missing:
        raise PaperboyError(missing)
    if made.outcome is Outcome.QUIET:
        click.echo(f"{mailing_list.name}: arXiv has nothing that this list has not seen; no mail", err=True)
        return None
    if made.outcome is Outcome.NOTE and not mailing_list.send_empty:
        click.echo(f"{mailing_list.name}: none passed, and send_empty is false; no mail", err=True)
        return None
    click.echo(f"{mailing_list.name}: {made.outcome}, {words.papers(made.digest.counts)}", err=True)
    composer = work.morning_parts.composer
    return (composer.digest if made.outcome is Outcome.DIGEST else composer.note)(made.digest, now)


def _look(lists: Sequence[MailingList], work: App, now: datetime) -> str:
    """Fetches what a morning would fetch, and this list's categories, unless that was done just now."""
    categories = {category for entry in lists for category in entry.categories}
    if work.store.papers.fetched_between(categories, now - _FETCH_HOLDS, now):
        return ""
    return fetching.look(work.morning_parts, lists, now).missing


def _delivery(work: App, mailing_list: MailingList, reader: Subscriber, now: datetime) -> Delivery:
    """A delivery outside the ledger. Its Message-ID must not be that of the real one, or a server drops the second."""
    own = work.composer.addressed(mailing_list.name, now.date(), reader)
    other = work.composer.addressed(f"{mailing_list.name}-preview-{now:%H%M%S}", now.date(), reader)
    own = replace(own, message_id=other.message_id)
    return Delivery(0, 0, mailing_list.name, own, DeliveryState.PENDING)


def _send(work: App, composed: Composed, mailing_list: MailingList, reader: Subscriber, now: datetime) -> int:
    transport = work.transports[0]
    try:
        envelope = work.composer.test(composed, _delivery(work, mailing_list, reader, now))
        receipt = transport.send(replace(envelope, list_name=f"{mailing_list.name}-preview"))
    finally:
        transport.close()
    click.echo(f"{reader.address}: {receipt.state}, {receipt.reply}")
    return 0 if receipt.state is DeliveryState.SENT else 1
