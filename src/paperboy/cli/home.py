"""`paperboy init` and `backup`: a new home, and a copy of its database."""

import json
import os
import re
import shlex
import sys
import unicodedata
from collections.abc import Callable, Iterable, Mapping
from errno import EACCES, EPERM, EROFS
from pathlib import Path

import click

from paperboy import sample
from paperboy.cli.main import ENTER
from paperboy.edges.text import visible
from paperboy.errors import ConfigError, PaperboyError
from paperboy.home import lists, nodes
from paperboy.home.settings import Settings
from paperboy.home.values import host, is_loopback
from paperboy.home.versions import LISTS_FILE, folders
from paperboy.mail.text import together
from paperboy.models import MailingList
from paperboy.service import output
from paperboy.service.app import App

_TITLE = "Foundations of machine learning"
_NAME = "foundations"
_CATEGORIES = "cs.LG, stat.ML"
_ADDRESSES = "you@example.org"


@click.command()
@click.argument("folder", metavar="[DIR]", required=False, type=click.Path(path_type=Path))
@click.pass_obj
def init(app: App, folder: Path | None) -> None:
    """Make a new home in DIR; by default in the one that --home or PAPERBOY_HOME names, else in the
    current folder.

    A home holds .env (the settings), subscribers.yaml (the lists), prompts/topics/ (what they want
    to read), and a .gitignore that keeps secrets and addresses out of git. On a terminal this asks
    what the first list is about; elsewhere it asks nothing. No file is overwritten.
    """
    home = folder.absolute() if folder else app.path
    click.get_current_context().meta[ENTER](home)
    _refuse(home, (".env", LISTS_FILE, ".gitignore"))
    title, categories, addresses, server = _answers()
    first = _listed(title, categories, addresses)

    # With a mail server, the first reader is the sender and the operator.
    settings = _shipped(".env.example")
    address = first.subscribers[0].address
    given = {"SMTP_HOST": server, "MAIL_FROM": address, "ALERT_TO": address} if server else {}
    if is_loopback(server):
        given |= {"SMTP_PORT": "25", "SMTP_SECURITY": "none"}
    for name, value in given.items():
        settings = re.sub(rf"(?m)^{name}=.*$", f"{name}={value}".replace("\\", r"\\"), settings)

    topics = (
        _shipped(f"prompts/topics/{_NAME}.md")
        if title == _TITLE
        else _new("topics.md").format(title=first.title)
    )
    texts = {
        ".env": settings,
        LISTS_FILE: _new("subscribers.yaml").format(
            name=first.name,
            title=nodes.written(first.title),
            categories=", ".join(_words(categories)),
            addresses="\n      - ".join(nodes.written(str(who)) for who in first.subscribers),
        ),
        f"prompts/topics/{first.name}.md": topics,
        ".gitignore": _new("gitignore"),
    }
    _refuse(home, texts)
    _write(home, texts)
    (home / "data").mkdir(
        mode=0o700, exist_ok=True
    )  # for the database: the unit of the pages may write there alone
    output.say(f"A new home is in {home}: {together(list(texts))}.", "")
    output.say(
        f"Say what the list wants to read in prompts/topics/{first.name}.md, and who reads it in {LISTS_FILE}."
    )
    output.say(
        "Mail goes to the folder outbox/ until .env names a mail server. Then:"
        if not server
        else "Then:",
        "",
    )
    program = output.program() + ("" if home == Path.cwd() else f" --home {shlex.quote(str(home))}")
    output.say(f"  {program} check", f"  {program} preview {first.name}", verbatim=True)


def _refuse(home: Path, names: Iterable[str]) -> None:
    if there := [name for name in names if os.path.lexists(home / name)]:
        raise click.UsageError(
            f"{home} has {together(there)} already. Nothing was done; name another folder."
        )


def _answers() -> tuple[str, str, str, str]:
    """Return the list's title, categories and subscribers, and the mail server: asked for on a
    terminal.
    """
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        return _TITLE, _CATEGORIES, _ADDRESSES, ""
    return (
        _ask("What is the list about? Its title", _TITLE, lambda text: _listed(title=text)),
        _ask("arXiv categories", _CATEGORIES, lambda text: _listed(categories=text)),
        _ask(
            "Who reads it? Addresses, with commas between",
            _ADDRESSES,
            lambda text: _listed(addresses=text),
        ),
        _ask("Mail server (empty: mail goes to a folder)", "", lambda text: text and host(text)),
    )


def _ask(question: str, default: str, read: Callable[[str], object]) -> str:
    """Ask until `read` takes the answer, and return that."""

    def value(text: str) -> str:
        try:
            read(text.strip())
        except (ConfigError, ValueError) as error:
            message = error.problems[0].message if isinstance(error, ConfigError) else str(error)
            raise click.UsageError(visible(message)) from error
        return text.strip()

    answer: str = click.prompt(question, default, show_default=bool(default), value_proc=value)
    return answer


def _listed(
    title: str = _TITLE, categories: str = _CATEGORIES, addresses: str = _ADDRESSES
) -> MailingList:
    """Return the list, read as subscribers.yaml is; what `topics` holds comes later. Raises
    ConfigError.
    """
    ascii_title = unicodedata.normalize("NFKD", title).encode("ascii", "ignore").decode().lower()
    slug = re.sub("[^a-z0-9]+", "-", ascii_title)[:60].strip("-") or "papers"
    keys = {
        "name": _NAME if title == _TITLE else slug,
        "title": title,
        "categories": _words(categories),
        "topics": "-",
        "subscribers": [address for each in addresses.split(",") if (address := each.strip())],
    }
    text = json.dumps({"lists": [keys]}, ensure_ascii=False)  # which is YAML, too
    return lists.parse(text, (), Settings())[0]


def _words(text: str) -> list[str]:
    return re.split(r"[\s,]+", text.strip(" ,[]"))


def _new(name: str) -> str:
    """Return a file of a new home, whose gaps are in braces."""
    return (sample.HOME / name).read_text("utf-8")


def _shipped(name: str) -> str:
    """Return a file that comes with Paperboy: beside its prompts, in the package or in the
    checkout.
    """
    return (folders(Path(os.devnull), "prompts")[0].parent / name).read_text("utf-8")


def _write(home: Path, texts: Mapping[str, str]) -> None:
    """Write all, or nothing: for the eyes of their owner alone."""
    made: list[Path] = []
    try:
        for name, text in texts.items():
            path = home / name
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            with open(
                path, "x", encoding="utf-8", opener=lambda name, flags: os.open(name, flags, 0o600)
            ) as file:
                made.append(path)
                file.write(text)
    except OSError as error:
        for path in made:
            path.unlink()
        fix = (
            "a folder in which this user may write"
            if error.errno in {EACCES, EPERM, EROFS}
            else "another folder"
        )
        message = f"cannot be made: {error.strerror}; name {fix}"
        raise ConfigError.at(str(error.filename or home), message) from error


@click.command()
@click.argument("file", metavar="[FILE]", required=False, type=click.Path(path_type=Path))
@click.pass_obj
def backup(app: App, file: Path | None) -> None:
    """Copy the database to FILE, a new one, while Paperboy works: readable by its owner alone, for
    it holds addresses.

    By default, and in FILE if that is a folder, the copy is called backup-DATE-TIME.db; the default
    folder is that of the database. The other files of a home are plain ones: .env,
    subscribers.yaml, prompts/ and emails/.

    To restore a copy, stop the services, that of the web pages too, remove the database with the
    two files beside it that end in -wal and -shm (one left behind spoils the copy), put the copy in
    its place, and start the services. It does not know what was sent since: today's digest may go
    out again.
    """
    from paperboy.store.database import backup

    app.take_own_or_in_force()
    database = app.settings.paperboy_database
    file = (file or database.parent).absolute()
    if os.path.isdir(file):  # noqa: PTH112 - which is False for a name that is too long
        file /= f"backup-{app.clock().astimezone(app.settings.timezone):%Y-%m-%d-%H%M%S}.db"
    if os.path.lexists(file):
        raise click.UsageError(f"{file} exists already. Nothing was done; name a new file.")
    if not app.require_store():
        raise PaperboyError(f"{database}: there is no database yet; the first morning makes it")
    backup(database, file)
    output.say(
        f"{database} is copied to {file} ({file.stat().st_size / 1e6:,.1f} MB). Keep it private."
    )
