"""`paperboy suppress`: who must not get mail, whatever `subscribers.yaml` says."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import tzinfo
from urllib.parse import unquote

import click

from paperboy.cli.main import Surroundings
from paperboy.config import values as notation
from paperboy.config.home import LISTS_FILE, Home
from paperboy.errors import UnknownNameError
from paperboy.models import Suppression
from paperboy.store import Store

# What an unsubscribe mail has as its subject, also behind a "Re:", and in the link that opens such a mail.
_WISH = re.compile(r"\bunsubscribe\s+(?P<name>[a-z0-9-]+)\s+(?P<token>[0-9a-f]{32})(?![0-9a-f])", re.IGNORECASE)
_TOKEN = re.compile(r"[0-9a-f]{32}", re.IGNORECASE)


@click.command(name="suppress", short_help="Who must not get mail, whatever the file says.")
@click.argument("who", metavar="ADDRESS_OR_TOKEN", nargs=-1, required=True)
@click.option("--list", "name", metavar="NAME", help="No mail from this list alone.")
@click.pass_obj
def command(around: Surroundings, who: Sequence[str], name: str | None) -> int:
    """Who must not get mail, whatever subscribers.yaml says: from now on, and from any list unless one is named.

    A token is what an unsubscribe mail carries at the end of its subject; the whole subject will do, and so will the
    mailto link behind it. It names an address and a list, and suppresses for that list alone. All this works while the
    daemon runs.
    """
    home = Home.load(around.home, around.environ)
    if name is not None:
        home.list(name)
    whom = named(home, " ".join(who), name)
    reason = "asked to leave the list" if whom.by_token else "by hand"
    with Store.open(home.settings.paperboy_database) as store:
        new = store.suppressions.add(whom.address, whom.list_name, reason, around.clock())
        held = next(one for one in store.suppressions.all() if whom.is_in(one))
    if new:
        click.echo(
            f"{whom.address} gets no more mail from {whom.list_name or 'any list'}.{_odd(home, whom)} {undo(held)}"
        )
    else:
        click.echo(f"Nothing to do: {in_words(held, home.settings.timezone)}.")
    return 0


@dataclass(frozen=True, slots=True)
class Whom:
    """An address, and which list is meant; empty: all of them."""

    address: str
    list_name: str
    by_token: bool

    def is_in(self, suppression: Suppression) -> bool:
        """Whether it is of that address and of what is meant."""
        return (suppression.address, suppression.list_name) == (self.address.casefold(), self.list_name)


def named(home: Home, who: str, name: str | None) -> Whom:
    """Whom a person means by an address, a token, or the subject or the link of an unsubscribe mail; and by `--list`,
    if it is given.

    Raises click.BadParameter for a broken address, and UnknownNameError for a token of no mail or of another list.
    """
    wish = _WISH.search(unquote(who))
    if wish is None and "@" in who:
        try:
            return Whom(notation.mailbox(who).address, name or "", by_token=False)
        except ValueError as error:
            raise click.BadParameter(str(error), param_hint="ADDRESS_OR_TOKEN") from error
    found = _by_token(home, (wish["token"] if wish else who.strip()).lower())
    if found is None:
        raise UnknownNameError(_unknown(who, wish["token"] if wish else who.strip()))
    list_name, address = found
    for said in filter(None, (wish and wish["name"].lower(), name)):
        if said != list_name:
            remedy = "leave --list out" if said == name else "give the token alone, if that is the list that is meant"
            raise UnknownNameError(f"this token is of the list {list_name!r} and not of {said!r}; {remedy}")
    return Whom(address, list_name, by_token=True)


def _by_token(home: Home, token: str) -> tuple[str, str] | None:
    """The list and the address that it names: of a mail in the ledger, or of a test mail to somebody on a list, which
    is in no ledger but carries the same token.
    """
    if not _TOKEN.fullmatch(token) or not home.settings.paperboy_database.exists():
        return None
    from paperboy.mail.mime import unsubscribe_token

    with Store.open(home.settings.paperboy_database) as store:
        if found := store.suppressions.by_token(token):
            return found
        secret = store.secret()
    for entry in home.lists:
        for who in entry.subscribers:
            if token == unsubscribe_token(entry.name, who.address, secret):
                return entry.name, who.address
    return None


def _unknown(who: str, token: str) -> str:
    if _TOKEN.fullmatch(token):
        return (
            f"{token!r} is the token of no mail that was sent from here to a subscriber. (A test mail to an address on "
            "no list carries one, too, and nothing more goes there.) Give the address instead"
        )
    return (
        f"{who!r} is neither an address nor a token; a token is the last word of the subject of an unsubscribe mail, "
        "of 32 letters and digits"
    )


def in_words(suppression: Suppression, zone: tzinfo) -> str:
    """Who, for what, since when and why; without a full stop."""
    lists = f"the list {suppression.list_name}" if suppression.list_name else "all lists"
    day = f"{suppression.at.astimezone(zone):%a %d %b %Y}"
    return f"{suppression.address} is suppressed for {lists} (since {day}: {suppression.reason})"


def undo(suppression: Suppression) -> str:
    """The command that lifts it."""
    only = f" --list {suppression.list_name}" if suppression.list_name else ""
    return f"To undo it: paperboy unsuppress {suppression.address}{only}"


def _odd(home: Home, whom: Whom) -> str:
    """A word on an address that may be misspelt."""
    meant = [entry for entry in home.lists if whom.list_name in {"", entry.name}]
    if any(whom.address.casefold() == of.address.casefold() for entry in meant for of in entry.subscribers):
        return ""
    return f" (In {LISTS_FILE} it is not on {'that' if whom.list_name else 'any'} list.)"
