"""A list made from a library: its categories, and the titles that stand in for topics."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import click

from paperboy.edges import files
from paperboy.edges.text import counted, together
from paperboy.errors import ConfigError, FeedError
from paperboy.home import library, settings
from paperboy.home.library import LibraryItem, newest_titles
from paperboy.models import Paper
from paperboy.service.app import App
from paperboy.sources import source_of, title_of

_MOST_CATEGORIES = 4
_LEAST_SHARE = 0.1  # of the papers whose primary category is known
_MOST_ASKED = 100  # papers, in one request


@dataclass(frozen=True, slots=True)
class Start:
    """What a new home takes from a library."""

    name: str  # of the file in the home
    content: bytes = field(repr=False)
    categories: tuple[str, ...]
    titles: tuple[str, ...] = field(repr=False)  # the newest first
    said: str  # about the file, for people


def start_from(app: App, file: Path, categories: Sequence[str]) -> Start:
    """Read a library. Sources are asked once, where the file has no categories or no titles, and
    `categories` names none. Raises ConfigError, FeedError or UsageError.
    """
    if str(file).startswith("zotero:"):
        fix = "init the home without --library, and write that as the list's library in subscribers.yaml"
        raise click.UsageError(f"A Zotero collection is no file: {fix}. Nothing was done.")
    try:
        content = files.read(file, library.MOST_BYTES)
    except FileNotFoundError:
        raise ConfigError.at(file, "there is no such file") from None
    except ValueError as error:
        raise ConfigError.at(file, str(error)) from None
    read = library.read(file.name, content)
    items = read.items
    if not items:
        why = f" ({read.unread[0]})" if read.unread else ""
        raise ConfigError.at(file, f"has no paper that can be read{why}")

    has_titles = any(item.title for item in items)
    if not has_titles or not (categories or any(item.category for item in items)):
        items = _asked(app, items)
    titles = newest_titles(items)
    found = tuple(categories) or _main_categories(items)
    if not found or not titles:
        lack = "and none names its category; name those that the list should read, such as"
        lack += " --category cs.LG --category stat.ML"
        if not titles:
            lack = "but their source knows none of these ids; use a .bib file with titles"
        papers = counted(len(items), "paper")
        raise click.UsageError(f"{file.name} has {papers}, {lack}. Nothing was done.")

    suffix = file.suffix.lower()
    is_plain = library.files_named(f"library: {file.name}") == [file.name]
    name = file.name if is_plain else f"library{suffix}"
    said = f"The home's copy {name} has {counted(len(items), 'paper')}"
    if read.unread:
        unread = counted(len(read.unread), "entry", "entries")
        said += f" ({unread} could not be read: see paperboy check)"
    said += ". Add papers to that copy, or export over it."
    said += f" The list looks for papers like them in {together(found)}."
    return Start(name, content, found, titles, said)


def _asked(app: App, items: Sequence[LibraryItem]) -> tuple[LibraryItem, ...]:
    """Return the items with the titles and primary categories of the newest at their sources."""
    ids = [item.paper_id for item in items if item.paper_id][-_MOST_ASKED:]
    papers = dict[str, Paper]()
    given = settings.load(app.path, app.environ)
    for source in {source_of(paper_id).key: source_of(paper_id) for paper_id in ids}.values():
        of_source = [paper_id for paper_id in ids if source_of(paper_id) is source]
        feed = source.connect(given, contact="", proxy=app.proxy, clock=app.clock)
        try:
            found = feed.by_ids(of_source)
        except FeedError as error:
            fix = "try again later, or name the categories (--category cs.LG) of a .bib file"
            raise FeedError(f"{error}; {fix}. Nothing was done.") from error
        papers |= {paper.id: paper for paper in found or ()}

    return tuple(_filled(item, papers.get(item.paper_id)) for item in items)


def _filled(item: LibraryItem, paper: Paper | None) -> LibraryItem:
    if paper is None:
        return item
    return replace(item, title=item.title or title_of(paper), category=paper.primary_category)


def _main_categories(items: Sequence[LibraryItem]) -> tuple[str, ...]:
    """Return the primary categories of at least a tenth of the papers, at most four."""
    numbers = Counter(item.category for item in items if item.category)
    least = _LEAST_SHARE * numbers.total()
    common = (name for name, number in numbers.most_common(_MOST_CATEGORIES) if number >= least)
    return tuple(common)
