"""`paperboy subscribe`: somebody more on a list, in `subscribers.yaml` itself."""

from __future__ import annotations

import codecs
import errno
import fcntl
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path

import click

from paperboy.cli.main import Surroundings
from paperboy.cli.suppress import in_words, undo
from paperboy.config import list_edits
from paperboy.config import lists as mailing_lists
from paperboy.config import values as notation
from paperboy.config.home import LISTS_FILE, Home
from paperboy.config.list_edits import Edit
from paperboy.config.values import Mailbox
from paperboy.config.yaml_document import Fault
from paperboy.errors import ConfigError, PaperboyError
from paperboy.models import MailingList, Problem, Subscriber, Suppression
from paperboy.store import Store


@click.command(name="subscribe", short_help="Adds somebody to a list, in subscribers.yaml.")
@click.argument("name", metavar="LIST")
@click.argument("who", metavar="ADDRESS")
@click.pass_obj
def command(around: Surroundings, name: str, who: str) -> int:
    """Adds somebody to a list, at the end of its subscribers in subscribers.yaml; all else in the file stays as it is.

    ADDRESS is ada@example.org or, in quotes, 'Ada Lovelace <ada@example.org>'. This works while the daemon runs, and
    counts from the list's next digest on.
    """
    mailbox = parsed(who)
    with editing(around) as home:
        mailing_list = home.list(name)
        held = _suppression(home, name, mailbox.address)
        there = on(mailing_list, mailbox.address)
        if there is not None:
            click.echo(f"Nothing to do: {written(there)} is on {name} already.")
        else:
            people = (*mailing_list.subscribers, Subscriber(mailbox.address, mailbox.name))
            line = change(home, name, people, lambda text: list_edits.subscribe(text, name, mailbox))
            click.echo(f"{mailbox} is on {name} now ({LISTS_FILE}:{line}), and in from its next digest on.")
    if held is not None:
        click.echo(f"But {in_words(held, home.settings.timezone)} and gets nothing. {undo(held)}")
    return 0


def parsed(who: str) -> Mailbox:
    """An address as it was given. Raises click.BadParameter."""
    try:
        return notation.mailbox(who)
    except ValueError as error:
        raise click.BadParameter(str(error), param_hint="ADDRESS") from error


def on(mailing_list: MailingList, address: str) -> Subscriber | None:
    """Who on the list has the address, whatever its case."""
    return next((who for who in mailing_list.subscribers if who.address.casefold() == address.casefold()), None)


def written(who: Subscriber) -> str:
    return str(Mailbox(who.address, who.name))


def _suppression(home: Home, name: str, address: str) -> Suppression | None:
    if not home.settings.paperboy_database.exists():
        return None
    with Store.open(home.settings.paperboy_database) as store:
        return store.suppressions.find(name, address)


@contextmanager
def editing(around: Surroundings) -> Iterator[Home]:
    """The home, whose lists no other command edits meanwhile. Raises ConfigError as `Home.load` does."""
    descriptor = _locked(around.home)
    try:
        yield Home.load(around.home, around.environ)
    finally:
        if descriptor is not None:
            os.close(descriptor)


def _locked(folder: Path) -> int | None:
    """The folder itself is what is locked, so that no further file lies about."""
    try:
        descriptor = os.open(folder, os.O_RDONLY)
    except OSError:
        return None  # who reads the home says what is wrong with it
    with suppress(OSError):  # on a disk without locks, comparing before the file is replaced has to do
        fcntl.flock(descriptor, fcntl.LOCK_EX)
    return descriptor


def change(home: Home, name: str, people: tuple[Subscriber, ...], edit: Callable[[str], Edit | Fault]) -> int:
    """Edits the file, and gives the line. After it, `people` are on the list of that name, and all else is as before.

    Raises ConfigError where only a person can make this edit or the file cannot be replaced, and PaperboyError where
    somebody else changed it meanwhile. Either way it stays as it is.
    """
    wanted = tuple(replace(entry, subscribers=people) if entry.name == name else entry for entry in home.lists)
    target = (home.path / LISTS_FILE).resolve()  # a link to the file stays one
    try:
        content = target.read_bytes()
        if _lists(home, target) != home.lists:
            raise _changed()
        made = edit(content.decode("utf-8-sig"))
        if isinstance(made, Fault):
            raise _for_a_person(f"{made.line}:{made.column}", made.message)
        mark = codecs.BOM_UTF8 if content.startswith(codecs.BOM_UTF8) else b""
        with _draft(target, mark + made.text.encode()) as draft:
            if _lists(home, draft) != wanted:
                told = f"an edit here would change more than who is on {name}: an anchor, an alias or << shares it"
                raise _for_a_person(str(made.begins), told)
            if target.read_bytes() != content:
                raise _changed()
            draft.replace(target)
        _keep(target.parent)
    except OSError as error:
        told = f"cannot be replaced: {error.strerror}; it takes {_owner(target)}, who may write to it and its folder"
        raise ConfigError([Problem(str(target), told)]) from error
    return made.line


def _changed() -> PaperboyError:
    return PaperboyError(f"{LISTS_FILE} was changed by somebody else just now; nothing was done, try again")


def _for_a_person(place: str, told: str) -> ConfigError:
    return ConfigError([Problem(f"{LISTS_FILE}:{place}", f"{told}; edit the file by hand, then run paperboy check")])


def _lists(home: Home, file: Path) -> tuple[MailingList, ...]:
    """As any command would read them from that file; none, where anything is wrong with it."""
    settings = home.settings
    try:
        return mailing_lists.load(
            file, prompts=home.folders("prompts"), send_at=settings.send_at, timezone=settings.timezone
        )
    except ConfigError:
        return ()


@contextmanager
def _draft(target: Path, content: bytes) -> Iterator[Path]:
    """A file beside the target, with its owner and rights, which is gone in the end unless it took the target's place.

    All of it is on the disk before that, so that a power cut leaves the old file or the new one.
    """
    if not os.access(target, os.W_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
    descriptor, name = tempfile.mkstemp(prefix=f".{target.name}.", dir=target.parent)
    draft = Path(name)
    try:
        with os.fdopen(descriptor, "wb") as file:
            old, new = target.stat(), os.fstat(descriptor)
            if (old.st_uid, old.st_gid) != (new.st_uid, new.st_gid):
                os.fchown(descriptor, old.st_uid, old.st_gid)
            shutil.copystat(target, draft)
            file.write(content)
            file.flush()
            os.fsync(descriptor)
        yield draft
    finally:
        draft.unlink(missing_ok=True)


def _keep(folder: Path) -> None:
    """Writes down that the folder has the new file."""
    with suppress(OSError):  # not every disk can, and the file is in its place
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def _owner(target: Path) -> str:
    try:
        return f"its owner, {target.owner()}"
    except (OSError, KeyError):  # it is gone, or has an owner without a name
        return "its owner"
