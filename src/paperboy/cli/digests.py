"""`paperboy preview`: a list's digest in a file, a browser or a test mail."""

from __future__ import annotations

import webbrowser

import click

from paperboy.app import App
from paperboy.cli.main import with_app
from paperboy.cli.output import papers
from paperboy.config import values
from paperboy.models import DeliveryState, Receipt, Subscriber


@click.command(name="preview", short_help="A list's digest of today, or what it would be now.")
@click.argument("name", metavar="LIST")
@click.option("--open", "open_it", is_flag=True, help="Show it in the browser.")
@click.option("--to", "address", metavar="ADDRESS", help="Send it to this address alone, as a test mail.")
@with_app
def preview(app: App, name: str, *, open_it: bool, address: str | None) -> int:
    """A list's digest of today, or what it would be now, marking nothing.

    It goes into a file, to the browser, or to one address as a test mail. Scores are kept: they were paid for. Works
    beside `run`; where papers have no score yet, it waits for a morning that is under way.
    """
    app.home.list(name)
    reader = None if address is None else _reader(address)
    found = app.preview(name)
    if found.composed is None:
        click.echo(f"{name}: {found.about}", err=True)
        return 0
    about = f"{found.made.outcome}, {papers(found.made.digest.counts)}" if found.made else found.about
    click.echo(f"{name}: {about}", err=True)
    if reader:
        return _said(reader, app.send_test(name, found.composed, reader))
    page = app.write_preview(name, found.composed)
    click.echo(page)
    if open_it and not webbrowser.open(page.as_uri()):
        click.echo("No browser could be opened.", err=True)
    return 0


def _reader(address: str) -> Subscriber:
    try:
        found = values.mailbox(address)
    except ValueError as error:
        raise click.BadParameter(str(error), param_hint="--to") from error
    return Subscriber(found.address, found.name)


def _said(reader: Subscriber, receipt: Receipt) -> int:
    click.echo(f"{reader.address}: {receipt.state}, {receipt.reply}")
    return 0 if receipt.state is DeliveryState.SENT else 1
