"""`paperboy why ADDRESS` and `forget`: what became of each digest to one person, and their erasure."""

from datetime import timedelta

import click

from paperboy.cli.people import mailbox_from, refusal
from paperboy.edges import lock
from paperboy.errors import UnknownNameError
from paperboy.home.values import did_you_mean
from paperboy.mail.text import counted, together
from paperboy.models import DeliveryState
from paperboy.service import output
from paperboy.service.app import App

NO_REPLY = {DeliveryState.PENDING: "not tried yet", DeliveryState.SENDING: "being sent, or cut off by a crash"}

_WEEKS = 8


def show(app: App, who: str, name: str | None) -> int:
    """Print on which lists an address is, whether it is suppressed, and what became of its digests, newest first."""
    address, store = mailbox_from(who, "ARXIV_ID_OR_ADDRESS").address, app.store_to_ask
    now, zone = app.clock(), app.settings.timezone
    lists = app.home.lists if name is None else [app.home.list(name)]
    since = now - timedelta(weeks=_WEEKS)
    posted = [row for row in store.history.posted(address, since) if not name or row.list_name == name]
    held = [row for row in store.suppressions.of(address) if not name or row.list_name in {"", name}]
    on = [of.name for of in lists if of.subscriber(address)]
    where = f"on {together(on)}" if on else f"not on {name or 'any list'}"
    none = f"no digest went there in the last {_WEEKS} weeks"
    if not (on or posted or held):
        everybody = (known for of in app.home.lists for known in of.addresses())
        raise UnknownNameError(f"{address} is {where}, and {none}{did_you_mean(address, everybody, cutoff=0.85)}")

    running = lock.holder(app.settings.paperboy_database, "run")  # then a next try can be promised
    rows = []
    for row in posted:
        answer = row.reason or NO_REPLY.get(row.state, "no answer is known")
        again = row.next_try(now)
        if again and running:
            answer += f"; {output.next_try(again, now, zone)}"
        at = f"{row.at.astimezone(zone):%d %b %H:%M %Z}"
        rows.append((f"{row.date:%a %d %b}", row.list_name, row.state, at, answer))
    table = output.table(("Digest", "List", "State", "At", "Answer"), rows)
    refusals = (refusal(suppression, zone) for suppression in held)
    output.show_page([[f"{address} is {where}", *refusals], table or [f"{none.capitalize()}."]])
    return 0


@click.command()
@click.argument("who", metavar="ADDRESS")
@click.pass_obj
def forget(app: App, who: str) -> int:
    """Erase a person: take an address out of all lists in their files, and erase it from the database.

    The database keeps that a digest went to somebody, but not to whom. Where the address was suppressed, a keyed hash
    of it stays, so that it gets no mail even if somebody adds it again. Where Paperboy cannot edit the file, it says
    where the address stands, and erases nothing. This works while the daemon runs, and waits for a morning or a sending
    that is under way. Backups, logs and the outbox are left alone.
    """
    address = mailbox_from(who, "ADDRESS").address
    app.take_own_or_in_force()
    output.set_up(app)
    everybody = [each for of in app.home.lists for each in of.addresses()]
    lines, rows = app.forget(address)
    held = app.store_to_ask.suppressions.of(address)
    if not (lines or rows or held):
        hint = did_you_mean(address, everybody, cutoff=0.85)
        raise UnknownNameError(f"{address} is in neither the lists' files nor the database{hint}")
    for file, numbers in lines.items():
        where = f"line{'s' if numbers[1:] else ''} {together([str(line) for line in numbers])}"
        output.say(f"Removed {address} from {file} ({where}).")
    output.say(f"Erased it from {counted(rows, 'row')} of the database.")
    for each in held:
        stays = "A keyed hash of it stays, so that it gets no mail even if somebody adds it again"
        output.say(f"{stays}: {refusal(each, app.settings.timezone)}")
    output.say("Backups, logs and mail in the outbox are left alone: delete there what names it.")
    return 0
