"""`paperboy unsuppress`: who may get mail again."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import date, datetime

import click

from paperboy.cli.main import Surroundings
from paperboy.cli.suppress import Whom, in_words, named, undo
from paperboy.config.home import Home
from paperboy.models import DeliveryState, Subscriber, Suppression
from paperboy.store import Store


@click.command(name="unsuppress", short_help="Who may get mail again.")
@click.argument("who", metavar="ADDRESS_OR_TOKEN", nargs=-1, required=True)
@click.option("--list", "name", metavar="NAME", help="Lifts the suppression for this list alone.")
@click.pass_obj
def command(around: Surroundings, who: Sequence[str], name: str | None) -> int:
    """Lifts what `suppress`, or three bounces running, brought about; status --suppressed shows all that holds.

    A suppression for one list and one for all lists are lifted one by one: who asked to leave a list stays away from
    it when a bounce is forgiven. This works while the daemon runs.
    """
    home = Home.load(around.home, around.environ)
    whom = named(home, " ".join(who), name)
    lifted, left, missed = False, [], {}
    if home.settings.paperboy_database.exists():
        with Store.open(home.settings.paperboy_database) as store:
            lifted = store.suppressions.lift(whom.address, whom.list_name, around.clock())
            left = [one for one in store.suppressions.all() if one.address == whom.address.casefold()]
            missed = _missed(store, home, whom, around.clock()) if lifted else {}
    if name is not None and not lifted:
        home.list(name)  # it may have left the file since it was suppressed
    click.echo(_done(whom) if lifted else f"Nothing to do: {whom.address} is not suppressed for {_lists(whom)}.")
    for list_name, day in missed.items():
        click.echo(
            f"The newest digest of {list_name}, of {day:%a %d %b}, did not reach it. To send it now: "
            f"paperboy resend {list_name} --to {whom.address}"
        )
    for suppression in _in_the_way(whom, left):
        click.echo(f"But {in_words(suppression, home.settings.timezone)}. {undo(suppression)}")
    return 0


def _missed(store: Store, home: Home, whom: Whom, now: datetime) -> dict[str, date]:
    """The lists whose newest digest the address would have had, each with that digest's date."""
    missed = {}
    for entry in home.lists:
        if not _is_on(entry.subscribers, whom.address) or whom.list_name not in {"", entry.name}:
            continue
        digest = store.deliveries.newest(entry.name, now)
        if digest is None or digest.superseded or store.suppressions.find(entry.name, whom.address):
            continue
        had = store.deliveries.find(digest.id, whom.address)
        if had and had.state in {DeliveryState.SUPPRESSED, DeliveryState.FAILED}:
            missed[entry.name] = digest.date
    return missed


def _is_on(subscribers: Iterable[Subscriber], address: str) -> bool:
    return any(who.address.casefold() == address.casefold() for who in subscribers)


def _done(whom: Whom) -> str:
    return f"{whom.address} may get mail from {whom.list_name or 'its lists'} again, if subscribers.yaml has it there."


def _lists(whom: Whom) -> str:
    return f"the list {whom.list_name}" if whom.list_name else "all lists"


def _in_the_way(whom: Whom, left: list[Suppression]) -> list[Suppression]:
    """Those that still keep mail away from what was meant."""
    return [one for one in left if not (one.list_name and whom.list_name)]
