"""`paperboy unsubscribe`: somebody less on a list, in `subscribers.yaml` itself."""

from __future__ import annotations

from datetime import UTC, datetime

import click

from paperboy.cli.main import Surroundings
from paperboy.cli.subscribe import change, editing, on, parsed, written
from paperboy.cli.words import counted, together
from paperboy.config import list_edits
from paperboy.config.home import LISTS_FILE, Home
from paperboy.config.values import did_you_mean
from paperboy.errors import UnknownNameError
from paperboy.models import MailingList
from paperboy.store import Store

_NEAR = 0.85  # two strangers at one domain are alike already


@click.command(name="unsubscribe", short_help="Takes somebody off a list, in subscribers.yaml.")
@click.argument("name", metavar="LIST")
@click.argument("who", metavar="ADDRESS")
@click.pass_obj
def command(around: Surroundings, name: str, who: str) -> int:
    """Takes somebody off a list, with their line in subscribers.yaml; all else in the file stays as it is.

    This works while the daemon runs, and holds at once: not even a digest that is composed already goes there. To keep
    mail away from an address whatever the file says, use suppress.
    """
    address = parsed(who).address
    with editing(around) as home:
        mailing_list = home.list(name)
        there = on(mailing_list, address)
        if there is None:
            raise UnknownNameError(_not_there(home, mailing_list, address))
        waiting = _waiting(home, name, address)
        left = tuple(each for each in mailing_list.subscribers if each is not there)
        line = change(home, name, left, lambda text: list_edits.unsubscribe(text, name, address))
    click.echo(f"{written(there)} is no longer on {name} (until now in {LISTS_FILE}:{line}).")
    if waiting:
        click.echo(f"{counted(waiting, 'delivery that waits', 'deliveries that wait')} for {address} will not be sent.")
    if not left:
        click.echo(f"{name} has no subscribers now, so it is never due.")
    others = _others(home, mailing_list, address)
    if others:
        click.echo(f"{address} is still on {others}.")
    return 0


def _not_there(home: Home, mailing_list: MailingList, address: str) -> str:
    meant = did_you_mean(address, (who.address for who in mailing_list.subscribers), cutoff=_NEAR)
    others = _others(home, mailing_list, address)
    return (
        f"{LISTS_FILE}: {address} is not on {mailing_list.name}{meant or ''}{'; it is on ' + others if others else ''}"
    )


def _others(home: Home, mailing_list: MailingList, address: str) -> str:
    """The other lists that have the address, in words."""
    return together([entry.name for entry in home.lists if entry is not mailing_list and on(entry, address)])


def _waiting(home: Home, name: str, address: str) -> int:
    """How many deliveries of the list wait for the address, for however long."""
    if not home.settings.paperboy_database.exists():
        return 0
    with Store.open(home.settings.paperboy_database) as store:
        waiting = store.deliveries.waiting(datetime.max.replace(tzinfo=UTC))
    who = (name, address.casefold())
    return sum((each.list_name, each.addressed.subscriber.address.casefold()) == who for each in waiting)
