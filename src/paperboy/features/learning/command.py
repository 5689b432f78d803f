"""`paperboy learn`: refresh the titles of a list's library."""

import os
from functools import partial
from pathlib import Path

import click

from paperboy.console.lines import say
from paperboy.edges import files
from paperboy.edges.text import counted
from paperboy.errors import ConfigError, UnknownNameError
from paperboy.features.learning.likes import likes_of
from paperboy.home import settings
from paperboy.home.home import Home, load_lists, require_folder
from paperboy.home.library import MOST_ITEMS, newest_titles
from paperboy.home.lists import LISTS_FILE, titles_file
from paperboy.service.app import App


@click.command()
@click.option(
    "--library",
    "name",
    metavar="LIST",
    required=True,
    help="The list whose library is read.",
)
@click.pass_obj
def learn(app: App, name: str) -> None:
    """Refresh the titles of a list's library, for a list without topics.

    The newest titles are written to prompts/library/LIST.txt; an LLM and the embedded scorer see
    only these. You may edit them; this command replaces them, and keeps your file as LIST.txt~.

    New titles are new criteria: the next morning scores papers by them, and a shortlist starts
    learning afresh.
    """
    require_folder(app.path)
    loaded = settings.load(app.path, app.environ)
    lists = load_lists(app.path, loaded, titled=False)
    app.home = Home(app.path, loaded, lists, app.path)
    mailing_list = app.home.list(name)
    if not mailing_list.library:
        raise UnknownNameError(f"{LISTS_FILE}: {name} has no library; give it one with `library:`")

    now = app.clock()
    likes = likes_of(app, app.store_to_ask.database, app.say)
    read = likes.read(mailing_list.library, now)
    titles = newest_titles(likes.with_titles(read.items, now))
    if not titles:
        raise ConfigError.at(mailing_list.library, "has no paper with a title")

    file = app.path / "prompts" / titles_file(name)
    text = "".join(f"{title}\n" for title in titles)
    before = _text(file)
    if before not in {"", text}:
        _write(file.with_name(f"{file.name}~"), before)
    _write(file, text)

    known = before.splitlines()
    new = sum(title not in known for title in titles)
    papers = counted(len(read.items), "paper")
    if len(read.items) == MOST_ITEMS:
        papers = f"the newest {papers}"
    changes = f", {new} of them new" if known else ""
    if before not in {"", text}:
        changes += f"; the previous ones are in {file.name}~"
    say(
        f"The {counted(len(titles), 'newest title')} of {papers} in {mailing_list.library} "
        f"{'is' if len(titles) == 1 else 'are'} in {file}{changes}."
    )
    if mailing_list.topics:
        say(f"{name} has topics, so its titles are not used.")
    if read.unread:
        unread = counted(len(read.unread), "entry", "entries")
        say(f"{unread} could not be read; paperboy check says which.")


def _text(file: Path) -> str:
    try:
        return files.read_text(file)
    except (FileNotFoundError, ValueError):  # it is replaced
        return ""


def _write(file: Path, text: str) -> None:
    """Replace the file by one rename. Raises ConfigError."""
    draft = file.with_name(f".{file.name}.draft")
    try:
        file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        draft.unlink(missing_ok=True)
        with open(draft, "x", encoding="utf-8", opener=partial(os.open, mode=0o600)) as new:
            new.write(text)
        draft.replace(file)
    except OSError as error:
        message = f"cannot be written ({error.strerror}); let this user write there"
        raise ConfigError.at(file, message) from error
