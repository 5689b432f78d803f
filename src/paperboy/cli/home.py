"""`paperboy init` and `backup`: a new home, and a copy of its database."""

import json
import os
import re
import shlex
import sys
import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import NamedTuple

import click

from paperboy import sample
from paperboy.cli.library import Start, start_from
from paperboy.cli.main import ENTER
from paperboy.console import lines
from paperboy.console.lines import say
from paperboy.edges.text import together, visible
from paperboy.errors import ConfigError, PaperboyError
from paperboy.home import lists, nodes, values
from paperboy.home.home import folders
from paperboy.home.lists import LISTS_FILE
from paperboy.home.settings import SETTINGS, Settings
from paperboy.home.values import host, is_loopback
from paperboy.models import MailingList
from paperboy.service.app import App
from paperboy.sources import categories as category_names

_TITLE = "Foundations of machine learning"
_LIKED_TITLE = "Papers like ours"
_NAME = "foundations"
_CATEGORIES = "cs.LG, stat.ML"
_ADDRESSES = "you@example.org"


@click.command()
@click.argument("folder", metavar="[DIR]", required=False, type=click.Path(path_type=Path))
@click.option(
    "--library",
    metavar="FILE",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Papers that the list likes (.bib, or .txt of ids), in place of topics.",
)
@click.option(
    "--category",
    "categories",
    multiple=True,
    metavar="NAME",
    help="With --library: a category, if the library's own are not wanted. May be repeated.",
)
@click.pass_obj
def init(app: App, folder: Path | None, library: Path | None, categories: tuple[str, ...]) -> None:
    """Make a new home in DIR, the folder that holds your files.

    These are .env (the settings), subscribers.yaml (the lists), prompts/topics/ (what the lists
    want to read), and a .gitignore that keeps secrets and addresses out of git. On a terminal you
    are asked what the first list is about. The timezone is this machine's. No file is overwritten.
    Without DIR, the home is the folder given by --home or PAPERBOY_HOME, else the current one.

    With --library, the list needs no topics: it looks for papers like those of the file, which is
    copied into the home, in up to four categories that at least a tenth of them have.
    """
    if categories and not library:
        raise click.UsageError("--category needs --library.")
    home = folder.absolute() if folder else app.path
    click.get_current_context().meta[ENTER](home)
    _refuse(home, (".env", LISTS_FILE, ".gitignore"))
    for category in categories:
        try:
            category_names(category)
        except ValueError as error:
            raise click.UsageError(f"--category: {error}") from None
    start = start_from(app, library, categories) if library else None
    defaults = (_LIKED_TITLE, ", ".join(start.categories)) if start else (_TITLE, _CATEGORIES)
    title, named, addresses, server = _answers(*defaults)
    first = _list(title, named, addresses)
    wanted = _from_library(start, first.name) if start else _from_topics(first.title, first.name)

    timezone = machine_timezone(app.environ.get("TZ", ""))
    subscribers = [nodes.as_scalar(str(subscriber)) for subscriber in first.subscribers]
    texts = {
        ".env": _settings(server, first.subscribers[0].address, timezone),
        LISTS_FILE: _new("subscribers.yaml").format(
            name=first.name,
            title=nodes.as_scalar(first.title),
            categories=", ".join(_words(named)),
            wanted=wanted.line,
            addresses="\n      - ".join(subscribers),
            timezone=timezone,
        ),
        wanted.file: wanted.text,
        ".gitignore": _new("gitignore"),
    }
    contents = {name: text.encode() for name, text in texts.items()}
    if start and library and library.resolve() != (home / start.name).resolve():
        contents[start.name] = start.content
    _refuse(home, contents)
    _write(home, contents)
    # For the database: the pages' unit may write nowhere else.
    (home / "data").mkdir(mode=0o700, exist_ok=True)

    say(f"A new home is in {home}: {together(list(contents))}.", "")
    say(*wanted.said)
    until = "" if server else "Mail goes to the folder outbox/ until .env names a mail server. "
    say(f"{until}Then:", "")
    program = lines.program()
    if home != Path.cwd():
        program += f" --home {shlex.quote(str(home))}"

    say(f"  {program} check", f"  {program} preview {first.name}")


class _Wanted(NamedTuple):
    """What a new list wants to read."""

    line: str  # in subscribers.yaml
    file: str
    text: str  # of that file
    said: Sequence[str]  # what to do with it


def _from_topics(title: str, name: str) -> _Wanted:
    file = f"prompts/topics/{name}.md"
    is_sample = title == _TITLE
    return _Wanted(
        line=f"topics: topics/{name}.md  # what the list wants to read: a file under prompts/, or the text itself",
        file=file,
        text=_shipped(f"prompts/topics/{_NAME}.md")
        if is_sample
        else _new("topics.md").format(title=title),
        said=[
            f"Describe what the list wants to read in {file}, and add its readers to {LISTS_FILE}."
        ],
    )


def _from_library(start: Start, name: str) -> _Wanted:
    file = f"prompts/{lists.titles_file(name)}"
    is_one = len(start.titles) == 1
    titles = "title is" if is_one else f"{len(start.titles)} titles are"
    them = "it" if is_one else "them"
    return _Wanted(
        line=f"library: {start.name}  # papers that the list likes; titles for the LLM: {file}",
        file=file,
        text="".join(f"{title}\n" for title in start.titles),
        said=[
            f"{start.said} Its newest {titles} in {file}: edit {them} as you like.",
            f"Add the list's readers to {LISTS_FILE}.",
        ],
    )


def _refuse(home: Path, names: Iterable[str]) -> None:
    if existing := [name for name in names if os.path.lexists(home / name)]:
        raise click.UsageError(
            f"{home} has {together(existing)} already. Nothing was done; name another folder."
        )


def machine_timezone(tz: str, localtime: str = "/etc/localtime") -> str:
    """Return the IANA name that `TZ` or the link to a file of the system's database has, else the
    default.
    """
    for place in (tz.removeprefix(":"), os.path.realpath(localtime)):
        with suppress(ValueError):
            name = values.timezone(place.rpartition("zoneinfo/")[2]).key
            return "UTC" if name == "Etc/UTC" else name
    return SETTINGS["TIMEZONE"]


def _settings(server: str, address: str, timezone: str) -> str:
    """Return the text of .env. With a mail server, the first reader is sender and operator."""
    text = _shipped(".env.example")
    given = {"TIMEZONE": timezone}
    if server:
        given |= {"SMTP_HOST": server, "MAIL_FROM": address, "ALERT_TO": address}
    if is_loopback(server):
        given |= {"SMTP_PORT": "25", "SMTP_SECURITY": "none"}
    for name, value in given.items():
        line = f"{name}={value}".replace("\\", r"\\")
        text = re.sub(rf"(?m)^{name}=.*$", line, text)

    return text


def _answers(default_title: str, default_categories: str) -> tuple[str, str, str, str]:
    """Return the list's title, categories and subscribers, and the mail server.

    They are asked for on a terminal.
    """
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        return default_title, default_categories, _ADDRESSES, ""

    title = _ask(
        "What is the list about? Its title",
        default_title,
        lambda text: _list(title=text),
    )
    categories = _ask(
        "Categories, separated by commas (biorxiv/genomics, medrxiv/oncology, … too)",
        default_categories,
        lambda text: _list(categories=text),
    )
    addresses = _ask(
        "Who reads it? Addresses, separated by commas",
        _ADDRESSES,
        lambda text: _list(addresses=text),
    )
    server = _ask(
        "Mail server (empty: mail goes to a folder)",
        "",
        lambda text: text and host(text),
    )
    return title, categories, addresses, server


def _ask(question: str, default: str, read: Callable[[str], object]) -> str:
    def value(text: str) -> str:
        try:
            read(text.strip())
        except (ConfigError, ValueError) as error:
            message = error.problems[0].message if isinstance(error, ConfigError) else str(error)
            raise click.UsageError(visible(message)) from error
        return text.strip()

    answer: str = click.prompt(question, default, show_default=bool(default), value_proc=value)
    return answer


def _list(
    title: str = _TITLE, categories: str = _CATEGORIES, addresses: str = _ADDRESSES
) -> MailingList:
    """Parse the list as subscribers.yaml is parsed, still without topics. Raises ConfigError."""
    name = _NAME
    if title != _TITLE:
        ascii_title = unicodedata.normalize("NFKD", title).encode("ascii", "ignore").decode()
        slug = re.sub("[^a-z0-9]+", "-", ascii_title.lower())
        name = slug[:60].strip("-") or "papers"

    subscribers = [address.strip() for address in re.split("[,;]", addresses)]
    keys = {
        "name": name,
        "title": title,
        "categories": _words(categories),
        "topics": "-",
        "subscribers": list(filter(None, subscribers)),
    }
    text = json.dumps({"lists": [keys]}, ensure_ascii=False)  # which is YAML, too
    return lists.parse(text, (), Settings())[0]


def _words(text: str) -> list[str]:
    parts = re.split("[,;]", text.strip(" ,;[]"))
    # The name of a category after a slash may have several words.
    return [word for part in parts for word in ([part.strip()] if "/" in part else part.split())]


def _new(name: str) -> str:
    return (sample.HOME / name).read_text("utf-8")


def _shipped(name: str) -> str:
    """Return a file that is shipped beside the prompts, in the package or the checkout."""
    prompts = folders(Path(os.devnull), "prompts")[0]
    return (prompts.parent / name).read_text("utf-8")


def _write(home: Path, contents: Mapping[str, bytes]) -> None:
    """Write all files or none, readable by their owner alone."""
    written: list[Path] = []
    opener = partial(os.open, mode=0o600)
    try:
        for name, content in contents.items():
            path = home / name
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            with open(path, "xb", opener=opener) as file:
                written.append(path)
                file.write(content)
    except OSError as error:
        for path in written:
            path.unlink()
        message = f"cannot be made: {error.strerror}; name another folder"
        raise ConfigError.at(str(error.filename or home), message) from error


@click.command()
@click.argument("file", metavar="[FILE]", required=False, type=click.Path(path_type=Path))
@click.pass_obj
def backup(app: App, file: Path | None) -> None:
    """Copy the database to the new file FILE, also while it is in use.

    If FILE is a folder, the copy in it is called backup-DATE-TIME.db. The default is the folder of
    the database. Only you can read the copy, since it holds addresses. The other files of a home
    can be copied as they are: .env, subscribers.yaml, prompts/ and emails/.

    `paperboy manual service` explains how to restore a copy.
    """
    from paperboy.store.database import backup

    if file == Path("-"):
        raise click.UsageError("A copy of the database cannot go to stdout (-); name a new file.")
    app.take_own_or_in_force()
    database = app.settings.paperboy_database
    file = (file or database.parent).absolute()
    if os.path.isdir(file):  # noqa: PTH112 - which is False for a name that is too long
        now = app.clock().astimezone(app.settings.timezone)
        file /= f"backup-{now:%Y-%m-%d-%H%M%S}.db"

    if os.path.lexists(file):
        raise click.UsageError(f"{file} exists already. Nothing was done; name a new file.")
    if not app.require_store():
        raise PaperboyError(f"{database}: there is no database yet; the first morning makes it")

    backup(database, file)
    say(f"{database} is copied to {file}. Keep it private.")
