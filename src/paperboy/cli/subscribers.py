"""`paperboy subscribers`: who gets what, list by list."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from datetime import tzinfo
from typing import Any

import click

from paperboy.cli.main import Surroundings
from paperboy.cli.words import counted
from paperboy.config.home import Home
from paperboy.models import EVERY_DAY, MailingList, Suppression
from paperboy.store import Store

_WEEKDAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")

_WIDEST = 40  # columns for addresses; names behind longer ones stand further right

# What holds, by the address, casefolded, and the list's name; an empty one stands for all lists.
_Held = Mapping[tuple[str, str], Suppression]


@click.command(name="subscribers", short_help="Who gets what, list by list.")
@click.option("--list", "names", multiple=True, metavar="NAME", help="Only this list; may be given more than once.")
@click.option("--json", "as_json", is_flag=True, help="For programs.")
@click.pass_obj
def command(around: Surroundings, names: tuple[str, ...], *, as_json: bool) -> int:
    """Who gets what, list by list: when each list sends, to whom, and who of them is suppressed and why."""
    home = Home.load(around.home, around.environ)
    wanted = home.named(names)
    lists = [entry for entry in home.lists if entry.name in wanted]
    held = _held(home)
    if as_json:
        addresses = len(_addresses(lists))
        click.echo(json.dumps({"lists": [_as_json(entry, held) for entry in lists], "addresses": addresses}, indent=2))
        return 0
    for entry in lists:
        click.echo(click.style(entry.name, bold=True) + (f": {entry.title}" if entry.title != entry.name else ""))
        click.echo("\n".join([*_in_words(entry, held, home.settings.timezone), ""]))
    click.echo(_total(lists, held))
    return 0


def _held(home: Home) -> _Held:
    if not home.settings.paperboy_database.exists():
        return {}
    with Store.open(home.settings.paperboy_database) as store:
        return {(one.address, one.list_name): one for one in store.suppressions.all()}


def _suppression(held: _Held, list_name: str, address: str) -> Suppression | None:
    """What keeps mail of the list from the address; the one for all lists, where both are there."""
    return held.get((address.casefold(), "")) or held.get((address.casefold(), list_name))


def _addresses(lists: Iterable[MailingList]) -> set[str]:
    return {who.address.casefold() for entry in lists for who in entry.subscribers}


def _in_words(entry: MailingList, held: _Held, zone: tzinfo) -> Iterator[str]:
    """When it sends and to how many, and a line for each of them; what holds one back is on a line below."""
    if not entry.subscribers:
        yield "no subscribers, so it is never due"
        return
    yield f"{_when(entry)}, to {_counted(len(entry.subscribers))}"
    width = min(max(len(who.address) for who in entry.subscribers), _WIDEST)
    for who in entry.subscribers:
        yield f"  {who.address:{width}}  {who.name}".rstrip()
        suppression = _suppression(held, entry.name, who.address)
        if suppression is not None:
            lists = f"the list {suppression.list_name}" if suppression.list_name else "all lists"
            day = f"{suppression.at.astimezone(zone):%a %d %b %Y}"
            yield click.style(f"    suppressed for {lists} since {day}: {suppression.reason}", fg="yellow")


def _when(entry: MailingList) -> str:
    days = "every day" if entry.weekdays == EVERY_DAY else ", ".join(_weekdays(entry))
    return f"{days} at {entry.send_at:%H:%M} {entry.timezone.key}"


def _weekdays(entry: MailingList) -> list[str]:
    return [_WEEKDAYS[day] for day in sorted(entry.weekdays)]


def _counted(number: int) -> str:
    return counted(number, "address", "addresses")


def _total(lists: list[MailingList], held: _Held) -> str:
    """How many people there are, since one may be on several lists; and how many of them get nothing of something."""
    kept_away = {
        who.address.casefold()
        for entry in lists
        for who in entry.subscribers
        if _suppression(held, entry.name, who.address)
    }
    on = f"{_counted(len(_addresses(lists)))} on {counted(len(lists), 'list', 'lists')}"
    return f"{on}, {len(kept_away)} of them suppressed" if kept_away else on


def _as_json(entry: MailingList, held: _Held) -> dict[str, Any]:
    return {
        "name": entry.name,
        "title": entry.title,
        "send_at": f"{entry.send_at:%H:%M}",
        "timezone": entry.timezone.key,
        "weekdays": _weekdays(entry),
        "subscribers": [
            {
                "address": who.address,
                "name": who.name,
                "suppressed": _suppression_as_json(_suppression(held, entry.name, who.address)),
            }
            for who in entry.subscribers
        ],
        "addresses": len(entry.subscribers),
    }


def _suppression_as_json(suppression: Suppression | None) -> dict[str, str | None] | None:
    """A list that is null stands for all lists, as in `status --suppressed --json`."""
    if suppression is None:
        return None
    return {
        "list": suppression.list_name or None,
        "since": suppression.at.isoformat(),
        "reason": suppression.reason,
    }
