"""`subscribers`, `subscribe`, `unsubscribe`, `suppress`, `unsuppress`, `forget`: who gets mail, and
who must not.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import tzinfo
from typing import Any

import click

from paperboy.edges.text import did_you_mean
from paperboy.errors import ConfigError, StoreError, UnknownNameError
from paperboy.home import edits, values
from paperboy.home.lists import WEEKDAYS
from paperboy.home.versions import LISTS_FILE
from paperboy.mail.text import counted, together
from paperboy.models import EVERY_DAY, MailingList, Subscriber, Suppression
from paperboy.service import output
from paperboy.service.app import App

LISTS = click.option(
    "--list",
    "names",
    multiple=True,
    metavar="NAME",
    help="Only this list; may be given more than once.",
)
AS_JSON = click.option("--json", "as_json", is_flag=True, help="Print JSON, for programs.")
_LIST = click.argument("name", metavar="LIST")
_ADDRESS = click.argument("who", metavar="ADDRESS")
_ADDRESS_OR_TOKEN = click.argument("who", metavar="ADDRESS_OR_TOKEN", nargs=-1, required=True)
_ASKED = "asked to leave the list"  # by a token: the person's own wish


@click.command()
@LISTS
@AS_JSON
@click.pass_obj
def subscribers(app: App, names: tuple[str, ...], *, as_json: bool) -> None:
    """Show who gets what, list by list: when each list sends, to whom, and who of them is
    suppressed and why.
    """
    app.take_own_or_in_force()
    output.set_up(app)
    wanted = app.home.named(names)
    find = app.store_to_ask.suppressions.find
    lists = [
        (each, [(who, find(each.name, who.address)) for who in each.subscribers])
        for each in app.home.lists
        if each.name in wanted
    ]
    everybody = [(who.address.lower(), held) for _, people in lists for who, held in people]
    addresses = len(dict(everybody))
    suppressed = len({address for address, held in everybody if held})
    if as_json:
        output.show_page({"lists": [_as_json(*each) for each in lists], "addresses": addresses})
        return

    for mailing_list, people in lists:
        name = mailing_list.name
        title = mailing_list.title
        output.say(f": {title}" if title != name else "", mark=name, bold=True)
        if not people:
            output.say("no subscribers, so it is never due", "")
            continue
        days = (
            "every day"
            if mailing_list.weekdays == EVERY_DAY
            else ", ".join(_weekdays(mailing_list))
        )
        paused = "paused, else " * mailing_list.paused
        when = f"{paused}{days} at {mailing_list.send_at:%H:%M} {mailing_list.timezone.key}"
        output.say(f"{when}, to {counted(len(people), 'address', 'addresses')}")
        width = max(len(who.address) for who, _ in people)
        for who, held in people:
            output.say(f"  {who.address:{width}}  {who.name}".rstrip())
            if held:
                output.say("", mark=f"    {_suppressed(held, app.settings.timezone)}", fg="yellow")
        output.say("")
    also = f", {suppressed} of them suppressed" if suppressed else ""
    output.say(
        f"{counted(addresses, 'address', 'addresses')} on {counted(len(lists), 'list')}{also}"
    )


def _as_json(
    mailing_list: MailingList, people: list[tuple[Subscriber, Suppression | None]]
) -> dict[str, Any]:
    return {
        "name": mailing_list.name,
        "title": mailing_list.title,
        "send_at": f"{mailing_list.send_at:%H:%M}",
        "timezone": mailing_list.timezone.key,
        "weekdays": _weekdays(mailing_list),
        "paused": mailing_list.paused,
        "subscribers": [
            {
                "address": who.address,
                "name": who.name,
                "suppressed": held
                and {"list": held.list_name or None, "since": held.at, "reason": held.reason},
            }
            for who, held in people
        ],
        "addresses": len(people),
    }


def _weekdays(mailing_list: MailingList) -> list[str]:
    return [WEEKDAYS[day] for day in sorted(mailing_list.weekdays)]


@click.command()
@_LIST
@_ADDRESS
@click.pass_obj
def subscribe(app: App, name: str, who: str) -> None:
    """Add somebody to a list, after the last subscriber in its file; the rest of the file stays as
    it is.

    ADDRESS is ada@example.org or, in quotes, 'Ada Lovelace <ada@example.org>'. This works while the
    daemon runs, and applies from the list's next digest.
    """
    new = mailbox_from(who, "ADDRESS")
    with _refused(f"Nobody was added to {name}:"):
        mailing_list = app.home.list(name)
        held = app.store_to_ask.suppressions.find(name, new.address)
        there = mailing_list.subscriber(new.address)
        line = "" if there else edits.subscribe(app.home, mailing_list, new)
    if there:
        output.say(f"Nothing to do: {there} is already on {name}.")
    else:
        output.say(f"{new} is now on {name} ({line}) and gets its next digest.")
    if held:
        output.say(f"But {refusal(held, app.settings.timezone)}")


@click.command()
@_LIST
@_ADDRESS
@click.pass_obj
def unsubscribe(app: App, name: str, who: str) -> None:
    """Remove somebody from a list and their line from its file; the rest of the file stays as it
    is.

    This works while the daemon runs, and takes effect within 25 seconds: not even a digest already
    composed goes there. To stop mail to an address whatever the file says, use suppress.
    """
    address = mailbox_from(who, "ADDRESS").address
    with _refused(f"Nobody was removed from {name}:"):
        mailing_list = app.home.list(name)
        others = together(
            [each.name for each in app.home.lists if each.name != name and each.subscriber(address)]
        )
        there = mailing_list.subscriber(address)
        if there is None:
            hint = did_you_mean(address, mailing_list.addresses(), cutoff=0.85)
            on_others = f"; it is on {others}" if others else ""
            file = mailing_list.subscribers_file or LISTS_FILE
            raise UnknownNameError(f"{file}: {address} is not on {name}{hint}{on_others}")
        line = edits.unsubscribe(app.home, mailing_list, there)
    output.say(f"{there} is no longer on {name} (removed from {line}).")
    if others:
        output.say(f"{address} is still on {others}.")


@contextmanager
def _refused(nobody: str) -> Iterator[None]:
    """Say `nobody` above what is wrong with the files or the database: that may have nothing to do
    with the person.
    """
    try:
        yield
    except (ConfigError, StoreError):
        output.say(nobody, err=True)
        raise


def mailbox_from(who: str, hint: str) -> Subscriber:
    """Return the mailbox given as the argument `hint`. Raises click.BadParameter."""
    try:
        return values.mailbox(who)
    except ValueError as error:
        raise click.BadParameter(str(error), param_hint=hint) from error


@click.command()
@_ADDRESS_OR_TOKEN
@click.option("--list", "name", metavar="NAME", default="", help="Stop mail from this list only.")
@click.pass_obj
def suppress(app: App, who: Sequence[str], name: str) -> None:
    """Stop mail to an address at once, whatever the lists' files say: from all lists, or from one
    with --list.

    A token is the last word of an unsubscribe mail's subject; the whole subject works, too, and so
    does the mailto link in a digest. It names an address and a list, and stops mail from that list
    alone. This works while the daemon runs.
    """
    app.take_own_or_in_force()
    output.set_up(app)
    if name:
        app.home.list(name)
    address, only, reason = _whom(app, " ".join(who), name)
    suppressions = app.store.suppressions
    if suppressions.add(
        address, only, reason, app.clock(), by="reader" if reason == _ASKED else "operator"
    ):
        known = any(each.subscriber(address) for each in app.home.lists if only in {"", each.name})
        misspelt = (
            "" if known else f" (It is not a subscriber of {'that' if only else 'any'} list.)"
        )
        output.say(
            f"{address} gets no more mail from {only or 'any list'}.{misspelt} {_undo(address, only)}"
        )
    elif held := suppressions.find(only, address):
        output.say(f"Nothing to do: {refusal(held, app.settings.timezone)}")


@click.command()
@_ADDRESS_OR_TOKEN
@click.option(
    "--list", "name", metavar="NAME", default="", help="Lift the suppression for this list only."
)
@click.pass_obj
def unsuppress(app: App, who: Sequence[str], name: str) -> None:
    """Lift a suppression made by `suppress` or by three bounces in a row; status --suppressed lists
    them all.

    A suppression for one list and one for all lists are lifted one by one: those who asked to leave
    a list stay off it when a bounce is forgiven. This works while the daemon runs. Missed digests
    are not sent by themselves: resend --to sends the newest one.
    """
    app.take_own_or_in_force()
    output.set_up(app)
    address, only, _ = _whom(app, " ".join(who), name)
    suppressions = app.store_to_ask.suppressions
    if suppressions.lift(address, only, app.clock()):
        output.say(
            f"{address} may get mail from {only or 'its lists'} again, if it is a subscriber there."
        )
    else:
        if name:
            app.home.list(name)  # only now, for it may have left the file since
        output.say(
            f"Nothing to do: {address} is not suppressed for {f'the list {only}' if only else 'all lists'}."
        )
    for held in suppressions.of(address):
        # It still keeps mail away: one for all lists, or, where that was lifted, one for a single
        # list.
        if not (held.list_name and only):
            output.say(f"But {refusal(held, app.settings.timezone)}")


def _whom(app: App, who: str, name: str) -> tuple[str, str, str]:
    """Return the address, the list (empty: all of them), and the reason to suppress it.

    `who` is an address, a token, or the subject or the link of an unsubscribe mail; `name` is what
    `--list` says. Raises click.BadParameter for a broken address, and UnknownNameError for a token
    of no mail or of another list.
    """
    from paperboy.mail.message import unsubscribe_request

    request = unsubscribe_request(who)
    if request is None:
        if "@" in who:
            return mailbox_from(who, "ADDRESS_OR_TOKEN").address, name, "by hand"
        what = "the 32 letters and digits that end the subject of an unsubscribe mail"
        raise UnknownNameError(f"{who!r} is neither an address nor a token; a token is {what}")
    named, token = request
    reader = app.store_to_ask.readers.leaving(token)
    if reader is None:
        test_mail = (
            "A test mail to an address on no list has one, too, but nothing more goes there."
        )
        what = f"is not the token of any mail to a subscriber. ({test_mail})"
        raise UnknownNameError(f"{token!r} {what} Give the address instead")
    if others := {named, name} - {reader.list_name, ""}:
        fix = "if you mean the first, give the token alone"
        raise UnknownNameError(
            f"this token belongs to the list {reader.list_name!r}, not to {others.pop()!r}; {fix}"
        )
    return reader.address, reader.list_name, _ASKED


@click.command()
@_ADDRESS
@click.pass_obj
def forget(app: App, who: str) -> None:
    """Erase a person: take an address out of all lists in their files, and erase it from the
    database.

    The database keeps that a digest went to somebody, but not to whom. Where the address was
    suppressed, a keyed hash of it stays, so that it gets no mail even if somebody adds it again.
    Where Paperboy cannot edit the file, it says where the address stands, and erases nothing. This
    works while the daemon runs, and waits for a morning or a sending that is under way. Backups,
    logs and the outbox are left alone.
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


def refusal(held: Suppression, zone: tzinfo) -> str:
    """Say who gets no mail, from what, since when and why, and name the command that lifts it."""
    return f"{held.address} is {_suppressed(held, zone)}. {_undo(held.address, held.list_name)}"


def _suppressed(held: Suppression, zone: tzinfo) -> str:
    lists = f"the list {held.list_name}" if held.list_name else "all lists"
    return f"suppressed for {lists} (since {held.at.astimezone(zone):%a %d %b %Y}: {held.reason})"


def _undo(address: str, list_name: str) -> str:
    only = f" --list {list_name}" if list_name else ""
    return f"To undo this: paperboy unsuppress {address.lower()}{only}"
