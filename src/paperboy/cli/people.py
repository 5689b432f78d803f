"""Who gets mail, and who must not: `subscribers`, `subscribe`, `unsubscribe`, `suppress`,
`unsuppress` and `forget`.
"""

from collections.abc import Mapping, Sequence
from datetime import tzinfo
from typing import Any

import click

from paperboy.console.lines import say, show_page
from paperboy.edges.text import counted, did_you_mean, together
from paperboy.errors import UnknownNameError
from paperboy.home import edits, values
from paperboy.home.lists import LISTS_FILE, WEEKDAYS
from paperboy.models import EVERY_DAY, MailingList, Subscriber, Suppression
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
_ADDRESS = click.argument("text", metavar="ADDRESS")
_ADDRESS_OR_TOKEN = click.argument("words", metavar="ADDRESS_OR_TOKEN", nargs=-1, required=True)
_REASONS = {"operator": "by hand", "reader": "asked to leave the list"}  # by who asked for it


@click.command()
@LISTS
@AS_JSON
@click.pass_obj
def subscribers(app: App, names: tuple[str, ...], *, as_json: bool) -> None:
    """Show who gets what: when each list sends, to whom, and which addresses are suppressed."""
    app.take_own_or_in_force()
    app.set_up_log()
    wanted = app.home.named(names)
    lists = [mailing_list for mailing_list in app.home.lists if mailing_list.name in wanted]
    find = app.store_to_ask.suppressions.find
    suppressions = {
        (mailing_list.name, subscriber): find(mailing_list.name, subscriber.address)
        for mailing_list in lists
        for subscriber in mailing_list.subscribers
    }
    addresses = {subscriber.address.lower() for _, subscriber in suppressions}
    if as_json:
        rows = [_as_json(mailing_list, suppressions) for mailing_list in lists]
        show_page({"lists": rows, "addresses": len(addresses)})
        return

    for mailing_list in lists:
        name = mailing_list.name
        title = mailing_list.title
        say(f": {title}" if title != name else "", mark=name, bold=True)
        if not mailing_list.subscribers:
            say("no subscribers, so it is never due", "")
            continue

        days = ", ".join(_weekdays(mailing_list))
        if mailing_list.weekdays == EVERY_DAY:
            days = "every day"
        paused = "paused, otherwise " * mailing_list.paused
        when = f"{paused}{days} at {mailing_list.send_at:%H:%M} {mailing_list.timezone.key}"
        number = counted(len(mailing_list.subscribers), "address", "addresses")
        say(f"{when}, to {number}")

        width = max(len(subscriber.address) for subscriber in mailing_list.subscribers)
        for subscriber in mailing_list.subscribers:
            say(f"  {subscriber.address:{width}}  {subscriber.name}".rstrip())
            if suppression := suppressions[name, subscriber]:
                reason = _suppressed(suppression, app.settings.timezone)
                say("", mark=f"    {reason}", fg="yellow")
        say("")

    total = counted(len(addresses), "address", "addresses")
    say(f"{total} on {counted(len(lists), 'list')}")


def _as_json(
    mailing_list: MailingList, suppressions: Mapping[tuple[str, Subscriber], Suppression | None]
) -> dict[str, Any]:
    subscribers = []
    for subscriber in mailing_list.subscribers:
        suppression = suppressions[mailing_list.name, subscriber]
        suppressed = suppression and suppression_json(suppression)
        row = {"address": subscriber.address, "name": subscriber.name, "suppressed": suppressed}
        subscribers.append(row)

    return {
        "name": mailing_list.name,
        "title": mailing_list.title,
        "send_at": f"{mailing_list.send_at:%H:%M}",
        "timezone": mailing_list.timezone.key,
        "weekdays": _weekdays(mailing_list),
        "paused": mailing_list.paused,
        "subscribers": subscribers,
        "addresses": len(subscribers),
    }


def suppression_json(suppression: Suppression) -> dict[str, Any]:
    """Return what programs get of a suppression, without its address."""
    return {
        "list": suppression.list_name or None,
        "since": suppression.at,
        "reason": suppression.reason,
    }


def _weekdays(mailing_list: MailingList) -> list[str]:
    return [WEEKDAYS[day] for day in sorted(mailing_list.weekdays)]


@click.command()
@_LIST
@_ADDRESS
@click.pass_obj
def subscribe(app: App, name: str, text: str) -> None:
    """Add somebody to a list, after the last subscriber in its file.

    The rest of the file stays as it is. ADDRESS is ada@example.org or, in quotes, 'Ada Lovelace
    <ada@example.org>'. You can use this while the daemon runs; the list's next digest also
    goes to the new address.
    """
    new = mailbox_from(text, "ADDRESS")
    mailing_list = app.home.list(name)
    suppression = app.store_to_ask.suppressions.find(name, new.address)
    if subscriber := mailing_list.subscriber(new.address):
        say(f"Nothing to do: {subscriber} is already on {name}.")
    else:
        line = edits.subscribe(app.home, mailing_list, new)
        then = "" if suppression else " and gets its next digest"
        say(f"{new} is now on {name} ({line}){then}.")

    if suppression:
        say(f"But {refusal(suppression, app.settings.timezone)}")


@click.command()
@_LIST
@_ADDRESS
@click.pass_obj
def unsubscribe(app: App, name: str, text: str) -> None:
    """Remove somebody from a list, with their line in its file.

    The rest of the file stays as it is. You can use this while the daemon runs; it takes effect
    within 25 seconds, even for a digest already composed. To stop mail to an address whatever the
    file says, use suppress.
    """
    address = mailbox_from(text, "ADDRESS").address
    mailing_list = app.home.list(name)
    subscriber = mailing_list.subscriber(address)
    if subscriber is None:
        hint = did_you_mean(address, mailing_list.addresses(), cutoff=0.85)
        file = mailing_list.subscribers_file or LISTS_FILE
        raise UnknownNameError(f"{file}: {address} is not on {name}{hint}")

    line = edits.unsubscribe(app.home, mailing_list, subscriber)
    say(f"{subscriber} is no longer on {name} (removed from {line}).")
    others = [
        other.name for other in app.home.lists if other.name != name and other.subscriber(address)
    ]
    if others:
        say(f"{address} is still on {together(others)}.")


def mailbox_from(text: str, hint: str) -> Subscriber:
    """Return the mailbox given as the argument `hint`. Raises click.BadParameter."""
    try:
        return values.mailbox(text)
    except ValueError as error:
        raise click.BadParameter(str(error), param_hint=hint) from error


@click.command()
@_ADDRESS_OR_TOKEN
@click.option("--list", "name", metavar="NAME", default="", help="Stop mail from this list only.")
@click.pass_obj
def suppress(app: App, words: Sequence[str], name: str) -> None:
    """Stop all mail to an address at once, whatever the lists' files say.

    A token is the last word of an unsubscribe mail's subject; the whole subject works, too, and so
    does the mailto link in a digest. The token stands for an address and a list, and stops mail
    from that list only. You can use this while the daemon runs.
    """
    app.take_own_or_in_force()
    app.set_up_log()
    if name:
        app.home.list(name)

    with app.store_to_ask.transaction():  # a person who is forgotten meanwhile stays forgotten
        address, only, by = _read_request(app, " ".join(words), name)
        suppressions = app.store.suppressions
        is_new = suppressions.add(address, only, _REASONS[by], app.clock(), by=by)

    if is_new:
        said = f"{address} gets no more mail from {only or 'any list'}."
        lists = [mailing_list for mailing_list in app.home.lists if only in {"", mailing_list.name}]
        if not any(mailing_list.subscriber(address) for mailing_list in lists):
            said += f" (The address is not on {'that' if only else 'any'} list.)"
        say(f"{said} {_undo(address, only)}")
    elif suppression := suppressions.find(only, address):
        say(f"Nothing to do: {refusal(suppression, app.settings.timezone)}")


@click.command()
@_ADDRESS_OR_TOKEN
@click.option(
    "--list", "name", metavar="NAME", default="", help="Lift the suppression for this list only."
)
@click.pass_obj
def unsuppress(app: App, words: Sequence[str], name: str) -> None:
    """Allow mail to a suppressed address again.

    An address is suppressed by `paperboy suppress`, by its reader or by three bounces in a row;
    `paperboy status --suppressed` shows all of them. A suppression for one list and one for all
    lists are lifted separately, so that forgiving a bounce does not put a reader back on a list
    they left. Missed digests are not sent automatically; `paperboy resend LIST --to ADDRESS` sends
    the newest. You can use this while the daemon runs.
    """
    app.take_own_or_in_force()
    app.set_up_log()
    address, only, _ = _read_request(app, " ".join(words), name)

    suppressions = app.store_to_ask.suppressions
    if suppressions.lift(address, only, app.clock()):
        where = only or "its lists"
        say(f"{address} may get mail from {where} again, if it is subscribed.")
    else:
        if name:
            app.home.list(name)  # checked only now: the list may have left the file since then
        where = f"the list {only}" if only else "all lists"
        say(f"Nothing to do: {address} is not suppressed for {where}.")

    for suppression in suppressions.of(address):
        # Some still stop mail: one for all lists or, if that one was lifted, those for single lists.
        if not (suppression.list_name and only):
            say(f"But {refusal(suppression, app.settings.timezone)}")


def _read_request(app: App, text: str, name: str) -> tuple[str, str, str]:
    """Return the address, the list (empty: all lists), and who asked: a token stands for the
    reader's own wish.

    `text` is an address, a token, or the subject or the link of an unsubscribe mail; `name` is the
    value of `--list`. Raises click.BadParameter for a broken address, and UnknownNameError for a
    token that no mail has, or that belongs to another list.
    """
    from paperboy.mail.message import unsubscribe_request

    request = unsubscribe_request(text)
    if request is None:
        if "@" in text:
            return mailbox_from(text, "ADDRESS_OR_TOKEN").address, name, "operator"
        what = "the 32 letters and digits that end the subject of an unsubscribe mail"
        raise UnknownNameError(f"{text!r} is neither an address nor a token; a token is {what}")

    named, token = request
    reader = app.store_to_ask.readers.by_leave_token(token)
    if reader is None:
        test_mail = "A test mail to an address on no list has a token, too; it gets no other mail."
        what = f"is not a token from any mail to a subscriber. ({test_mail})"
        raise UnknownNameError(f"{token!r} {what} Give the address instead")

    if others := {named, name} - {reader.list_name, ""}:
        fix = "if you mean the first, give the token alone"
        raise UnknownNameError(
            f"this token belongs to the list {reader.list_name!r}, not to {others.pop()!r}; {fix}"
        )

    return reader.address, reader.list_name, "reader"


@click.command()
@_ADDRESS
@click.pass_obj
def forget(app: App, text: str) -> None:
    """Erase a person: remove an address from all lists' files and from the database.

    The database keeps that a digest went to somebody, but not to whom. If the address was
    suppressed, a keyed hash of it stays, so that it gets no mail even if somebody adds it again. If
    Paperboy cannot edit a file, it names the lines and erases nothing. Backups, logs and the outbox
    are left alone. You can use this while the daemon runs; it waits for a morning or a sending that
    is under way.
    """
    address = mailbox_from(text, "ADDRESS").address
    app.take_own_or_in_force()
    app.set_up_log()
    lines, rows = app.forget(address)
    suppressions = app.store_to_ask.suppressions.of(address)
    if not (lines or rows or suppressions):
        raise UnknownNameError(f"{address} is in neither the lists' files nor the database")

    for file, numbers in lines.items():
        where = f"line{'s' if numbers[1:] else ''} {together([str(line) for line in numbers])}"
        say(f"Removed {address} from {file} ({where}).")

    say(f"Erased {address} from {counted(rows, 'row')} of the database.")
    for suppression in suppressions:
        stays = "A keyed hash of it stays, so that it gets no mail even if somebody adds it again"
        say(f"{stays}: {refusal(suppression, app.settings.timezone)}")

    say("Backups, logs and mail in the outbox are left alone: delete the address there.")


def refusal(suppression: Suppression, zone: tzinfo) -> str:
    """Return a sentence with address, lists, date and reason, and the command that lifts it."""
    undo = _undo(suppression.address, suppression.list_name)
    return f"{suppression.address} is {_suppressed(suppression, zone)}. {undo}"


def _suppressed(suppression: Suppression, zone: tzinfo) -> str:
    lists = f"the list {suppression.list_name}" if suppression.list_name else "all lists"
    since = f"{suppression.at.astimezone(zone):%a %d %b %Y}"
    return f"suppressed for {lists} (since {since}: {suppression.reason})"


def _undo(address: str, list_name: str) -> str:
    only = f" --list {list_name}" if list_name else ""
    return f"To undo this: paperboy unsuppress {address.lower()}{only}"
