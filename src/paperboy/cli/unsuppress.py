"""`paperboy unsuppress`: who may get mail again."""

from __future__ import annotations

import click

from paperboy.cli.home import Home
from paperboy.cli.main import Surroundings
from paperboy.cli.suppress import Whom, in_words, named, undo
from paperboy.models import Suppression
from paperboy.store import Store


@click.command(name="unsuppress", short_help="Who may get mail again.")
@click.argument("who", metavar="ADDRESS_OR_TOKEN")
@click.option("--list", "name", metavar="NAME", help="Lifts the suppression for this list alone.")
@click.pass_obj
def command(around: Surroundings, who: str, name: str | None) -> int:
    """Lifts what `suppress`, or three bounces running, brought about; status --suppressed shows all that holds.

    A suppression for one list and one for all lists are lifted one by one: who asked to leave a list stays away from
    it when a bounce is forgiven. This works while the daemon runs.
    """
    home = Home.load(around.home, around.environ)
    whom = named(home, who, name)
    lifted, left = False, []
    if home.settings.paperboy_database.exists():
        with Store.open(home.settings.paperboy_database) as store:
            lifted = store.suppressions.lift(whom.address, whom.list_name, around.clock())
            left = [one for one in store.suppressions.all() if one.address == whom.address.casefold()]
    if name is not None and not lifted:
        home.list(name)  # it may have left the file since it was suppressed
    click.echo(_done(whom) if lifted else f"Nothing to do: {whom.address} is not suppressed for {_lists(whom)}.")
    for suppression in _in_the_way(whom, left):
        click.echo(f"But {in_words(suppression, home.settings.timezone)}. {undo(suppression)}")
    return 0


def _done(whom: Whom) -> str:
    return f"{whom.address} may get mail from {whom.list_name or 'its lists'} again, if subscribers.yaml has it there."


def _lists(whom: Whom) -> str:
    return f"the list {whom.list_name}" if whom.list_name else "all lists"


def _in_the_way(whom: Whom, left: list[Suppression]) -> list[Suppression]:
    """Those that still keep mail away from what was meant."""
    return [one for one in left if not (one.list_name and whom.list_name)]
