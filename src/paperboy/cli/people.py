"""`subscribers`, `subscribe`, `unsubscribe`, `suppress`, `unsuppress`: who gets mail, and who must not."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from datetime import tzinfo
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import unquote

import click

from paperboy.cli.main import Surroundings, with_app
from paperboy.cli.output import counted, together
from paperboy.config import edits, values
from paperboy.config.home import LISTS_FILE, Home
from paperboy.config.lists import WEEKDAYS
from paperboy.config.values import Mailbox, did_you_mean
from paperboy.errors import UnknownNameError
from paperboy.models import EVERY_DAY, MailingList, Subscriber, Suppression

if TYPE_CHECKING:
    from paperboy.app import App

_WIDEST = 40  # columns for addresses; names after longer ones stand further right
_NEAR = 0.85  # two strangers at one domain are alike already

# The subject of an unsubscribe mail, also after a "Re:", and in the link that opens such a mail.
_REQUEST = re.compile(r"\bunsubscribe\s+(?P<name>[a-z0-9-]+)\s+(?P<token>[0-9a-f]{32})(?![0-9a-f])", re.IGNORECASE)
_TOKEN = re.compile(r"[0-9a-f]{32}", re.IGNORECASE)


# --- subscribers


@click.command(short_help="Who gets what, list by list.")
@click.option("--list", "names", multiple=True, metavar="NAME", help="Only this list; may be given more than once.")
@click.option("--json", "as_json", is_flag=True, help="For programs.")
@with_app
def subscribers(app: App, names: tuple[str, ...], *, as_json: bool) -> int:
    """Who gets what, list by list: when each list sends, to whom, and who of them is suppressed and why."""
    wanted = app.home.named(names)
    lists = [mailing_list for mailing_list in app.home.lists if mailing_list.name in wanted]
    found = app.existing_store.suppressions.all() if app.existing_store else ()
    held = {(suppression.address, suppression.list_name): suppression for suppression in found}
    addresses = {who.address.casefold() for mailing_list in lists for who in mailing_list.subscribers}
    if as_json:
        data = {"lists": [_as_json(each, _suppressed(each, held)) for each in lists], "addresses": len(addresses)}
        click.echo(json.dumps(data, indent=2))
        return 0
    kept_away: set[str] = set()
    for each in lists:
        suppressed = _suppressed(each, held)
        kept_away |= suppressed.keys()
        click.echo(click.style(each.name, bold=True) + (f": {each.title}" if each.title != each.name else ""))
        click.echo("\n".join([*_lines(each, suppressed, app.settings.timezone), ""]))
    total = f"{counted(len(addresses), 'address', 'addresses')} on {counted(len(lists), 'list', 'lists')}"
    click.echo(f"{total}, {len(kept_away)} of them suppressed" if kept_away else total)
    return 0


def _suppressed(mailing_list: MailingList, held: dict[tuple[str, str], Suppression]) -> dict[str, Suppression]:
    """What keeps mail of the list away from its subscribers, by address, casefolded; one for all lists wins."""
    folded = [who.address.casefold() for who in mailing_list.subscribers]
    found = {address: held.get((address, "")) or held.get((address, mailing_list.name)) for address in folded}
    return {address: suppression for address, suppression in found.items() if suppression}


def _lines(mailing_list: MailingList, suppressed: dict[str, Suppression], zone: tzinfo) -> Iterator[str]:
    people = mailing_list.subscribers
    if not people:
        yield "no subscribers, so it is never due"
        return
    days = "every day" if mailing_list.weekdays == EVERY_DAY else ", ".join(_weekdays(mailing_list))
    when = f"{days} at {mailing_list.send_at:%H:%M} {mailing_list.timezone.key}"
    yield f"{when}, to {counted(len(people), 'address', 'addresses')}"
    width = min(max(len(who.address) for who in people), _WIDEST)
    for who in people:
        yield f"  {who.address:{width}}  {who.name}".rstrip()
        if suppression := suppressed.get(who.address.casefold()):
            yield click.style(f"    {_held(suppression, zone)}: {suppression.reason}", fg="yellow")


def _as_json(mailing_list: MailingList, suppressed: dict[str, Suppression]) -> dict[str, Any]:
    def as_json(who: Subscriber) -> dict[str, Any]:
        found = suppressed.get(who.address.casefold())
        why = found and {"list": found.list_name or None, "since": found.at.isoformat(), "reason": found.reason}
        return {"address": who.address, "name": who.name, "suppressed": why}

    return {
        "name": mailing_list.name,
        "title": mailing_list.title,
        "send_at": f"{mailing_list.send_at:%H:%M}",
        "timezone": mailing_list.timezone.key,
        "weekdays": _weekdays(mailing_list),
        "subscribers": [as_json(who) for who in mailing_list.subscribers],
        "addresses": len(mailing_list.subscribers),
    }


def _weekdays(mailing_list: MailingList) -> list[str]:
    return [WEEKDAYS[day] for day in sorted(mailing_list.weekdays)]


# --- subscribe, unsubscribe


@click.command(short_help="Adds somebody to a list, in subscribers.yaml.")
@click.argument("name", metavar="LIST")
@click.argument("who", metavar="ADDRESS")
@click.pass_obj
def subscribe(around: Surroundings, name: str, who: str) -> int:
    """Adds somebody to a list, at the end of its subscribers in subscribers.yaml; all else in the file stays as it is.

    ADDRESS is ada@example.org or, in quotes, 'Ada Lovelace <ada@example.org>'. This works while the daemon runs, and
    counts from the list's next digest on.
    """
    mailbox = _mailbox(who, "ADDRESS")
    with edits.locked(around.home), around.app() as app:
        mailing_list = app.home.list(name)
        suppression = app.existing_store.suppressions.find(name, mailbox.address) if app.existing_store else None
        there = _on(mailing_list, mailbox.address)
        if there is not None:
            click.echo(f"Nothing to do: {_written(there)} is on {name} already.")
        else:
            line = edits.subscribe(app.home, mailing_list, mailbox)
            click.echo(f"{mailbox} is on {name} now ({LISTS_FILE}:{line}), and in from its next digest on.")
        if suppression is not None:
            click.echo(f"But {in_words(suppression, app.settings.timezone)} and gets nothing. {undo(suppression)}")
    return 0


@click.command(short_help="Takes somebody off a list, in subscribers.yaml.")
@click.argument("name", metavar="LIST")
@click.argument("who", metavar="ADDRESS")
@click.pass_obj
def unsubscribe(around: Surroundings, name: str, who: str) -> int:
    """Takes somebody off a list, with their line in subscribers.yaml; all else in the file stays as it is.

    This works while the daemon runs, and holds at once: not even a digest that is composed already goes there. To keep
    mail away from an address whatever the file says, use suppress.
    """
    address = _mailbox(who, "ADDRESS").address
    with edits.locked(around.home), around.app() as app:
        mailing_list = app.home.list(name)
        others = together([each.name for each in app.home.lists if each is not mailing_list and _on(each, address)])
        there = _on(mailing_list, address)
        if there is None:
            hint = did_you_mean(address, (each.address for each in mailing_list.subscribers), cutoff=_NEAR)
            on_others = f"; it is on {others}" if others else ""
            raise UnknownNameError(f"{LISTS_FILE}: {address} is not on {name}{hint}{on_others}")
        waiting = app.waiting_for(name, address)
        line = edits.unsubscribe(app.home, mailing_list, there)
    click.echo(f"{_written(there)} is no longer on {name} (until now in {LISTS_FILE}:{line}).")
    if waiting:
        click.echo(f"{counted(waiting, 'delivery that waits', 'deliveries that wait')} for {address} will not be sent.")
    if mailing_list.subscribers == (there,):
        click.echo(f"{name} has no subscribers now, so it is never due.")
    if others:
        click.echo(f"{address} is still on {others}.")
    return 0


def _mailbox(who: str, hint: str) -> Mailbox:
    try:
        return values.mailbox(who)
    except ValueError as error:
        raise click.BadParameter(str(error), param_hint=hint) from error


def _on(mailing_list: MailingList, address: str) -> Subscriber | None:
    """Who on the list has the address, whatever its case."""
    return next((who for who in mailing_list.subscribers if who.address.casefold() == address.casefold()), None)


def _written(who: Subscriber) -> str:
    return str(Mailbox(who.address, who.name))


# --- suppress, unsuppress


@click.command(short_help="Who must not get mail, whatever the file says.")
@click.argument("who", metavar="ADDRESS_OR_TOKEN", nargs=-1, required=True)
@click.option("--list", "name", metavar="NAME", help="No mail from this list alone.")
@with_app
def suppress(app: App, who: Sequence[str], name: str | None) -> int:
    """Who must not get mail, whatever subscribers.yaml says: from now on, and from any list unless one is named.

    A token is what an unsubscribe mail carries at the end of its subject; the whole subject will do, and so will the
    mailto link of the mail. It names an address and a list, and suppresses for that list alone. All this works while
    the daemon runs.
    """
    if name is not None:
        app.home.list(name)
    whom = _whom(app, " ".join(who), name)
    reason = "asked to leave the list" if whom.by_token else "by hand"
    new = app.store.suppressions.add(whom.address, whom.list_name, reason, app.clock())
    key = (whom.address.casefold(), whom.list_name)
    held = next(one for one in app.store.suppressions.all() if (one.address, one.list_name) == key)
    if new:
        stopped = f"{whom.address} gets no more mail from {whom.list_name or 'any list'}."
        click.echo(f"{stopped}{_perhaps_misspelt(app.home, whom)} {undo(held)}")
    else:
        click.echo(f"Nothing to do: {in_words(held, app.settings.timezone)}.")
    return 0


@click.command(short_help="Who may get mail again.")
@click.argument("who", metavar="ADDRESS_OR_TOKEN", nargs=-1, required=True)
@click.option("--list", "name", metavar="NAME", help="Lifts the suppression for this list alone.")
@with_app
def unsuppress(app: App, who: Sequence[str], name: str | None) -> int:
    """Lifts what `suppress`, or three bounces running, brought about; status --suppressed shows all that holds.

    A suppression for one list and one for all lists are lifted one by one: who asked to leave a list stays away from
    it when a bounce is forgiven. This works while the daemon runs.
    """
    whom = _whom(app, " ".join(who), name)
    store = app.existing_store
    lifted = store is not None and store.suppressions.lift(whom.address, whom.list_name, app.clock())
    if name is not None and not lifted:
        app.home.list(name)  # it may have left the file since it was suppressed
    if lifted:
        lists = whom.list_name or "its lists"
        click.echo(f"{whom.address} may get mail from {lists} again, if {LISTS_FILE} has it there.")
        for list_name, day in app.missed(whom.address, whom.list_name).items():
            what = f"The newest digest of {list_name}, of {day:%a %d %b}, did not reach it."
            click.echo(f"{what} To send it now: paperboy resend {list_name} --to {whom.address}")
    else:
        lists = f"the list {whom.list_name}" if whom.list_name else "all lists"
        click.echo(f"Nothing to do: {whom.address} is not suppressed for {lists}.")
    left = [one for one in store.suppressions.all() if one.address == whom.address.casefold()] if store else []
    for suppression in left:
        if not (suppression.list_name and whom.list_name):  # it keeps mail away from what was meant
            click.echo(f"But {in_words(suppression, app.settings.timezone)}. {undo(suppression)}")
    return 0


class _Whom(NamedTuple):
    address: str
    list_name: str  # empty: all of them
    by_token: bool


def _whom(app: App, who: str, name: str | None) -> _Whom:
    """Whom a person means by an address, a token, or the subject or the link of an unsubscribe mail, and `--list`.

    Raises click.BadParameter for a broken address, and UnknownNameError for a token of no mail or of another list.
    """
    request = _REQUEST.search(unquote(who))
    if request is None and "@" in who:
        return _Whom(_mailbox(who, "ADDRESS_OR_TOKEN").address, name or "", by_token=False)
    token = request["token"] if request else who.strip()
    if not _TOKEN.fullmatch(token):
        what = "the last word of the subject of an unsubscribe mail, of 32 letters and digits"
        raise UnknownNameError(f"{who!r} is neither an address nor a token; a token is {what}")
    found = app.named_by(token.lower())
    if found is None:
        raise UnknownNameError(
            f"{token!r} is the token of no mail that was sent from here to a subscriber. (A test mail to an address on "
            "no list carries one, too, and nothing more goes there.) Give the address instead"
        )
    list_name, address = found
    for said in filter(None, (request and request["name"].lower(), name)):
        if said != list_name:
            fix = "leave --list out" if said == name else "give the token alone, if that is the list that is meant"
            raise UnknownNameError(f"this token is of the list {list_name!r} and not of {said!r}; {fix}")
    return _Whom(address, list_name, by_token=True)


def in_words(suppression: Suppression, zone: tzinfo) -> str:
    """Who, for what, since when and why; without a full stop."""
    held, since = _held(suppression, zone).split(" since ")
    return f"{suppression.address} is {held} (since {since}: {suppression.reason})"


def _held(suppression: Suppression, zone: tzinfo) -> str:
    lists = f"the list {suppression.list_name}" if suppression.list_name else "all lists"
    return f"suppressed for {lists} since {suppression.at.astimezone(zone):%a %d %b %Y}"


def undo(suppression: Suppression) -> str:
    """The command that lifts it."""
    only = f" --list {suppression.list_name}" if suppression.list_name else ""
    return f"To undo it: paperboy unsuppress {suppression.address}{only}"


def _perhaps_misspelt(home: Home, whom: _Whom) -> str:
    meant: Iterable[MailingList] = (each for each in home.lists if whom.list_name in {"", each.name})
    if any(_on(each, whom.address) for each in meant):
        return ""
    return f" (In {LISTS_FILE} it is not on {'that' if whom.list_name else 'any'} list.)"
