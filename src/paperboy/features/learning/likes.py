"""The papers of a list's library, with titles and abstracts if available.

a file       → read each time
a collection → fetched from Zotero, and cached until its version changes
texts        ← the library's own, else the source's, requested by ids once and cached
"""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import Any

from paperboy.edges import files, lock
from paperboy.edges.text import together
from paperboy.errors import ConfigError, FeedError
from paperboy.features.learning.zotero import URL, ZoteroClient
from paperboy.home import library
from paperboy.home.library import Collection, Library, LibraryItem
from paperboy.models import MailingList, Paper
from paperboy.service.app import App
from paperboy.service.feature import Finding, note
from paperboy.service.libraries import of_library
from paperboy.sources import source_of, title_of
from paperboy.sources.source import Connect
from paperboy.store.database import Database
from paperboy.tex import plain

MOST_LIKES = 500  # papers that are learned from: the newest
_AT_ONCE = 100  # papers, in one request

_AMONG = "paper_id in (select value from json_each(?))"


@dataclass(frozen=True, slots=True)
class Likes:
    """Libraries of a home's lists."""

    folder: Path  # with the home's files
    database: Database
    zotero: ZoteroClient
    connect: Connect
    turn: Callable[[], AbstractContextManager[object]]  # held while a source is asked

    def read(self, name: str, now: datetime) -> Library:
        """Return the contents of a list's `library`, by its name. Raises ConfigError, or FeedError
        if Zotero does not answer.
        """
        named = library.parse(name)
        if isinstance(named, Collection):
            return Library(self._collection(named, now), ())
        try:
            return library.read(named, files.read(self.folder / named, library.MOST_BYTES))
        except FileNotFoundError:
            raise ConfigError.at(named, "is missing; put it back into the home") from None
        except ValueError as error:
            raise ConfigError.at(named, str(error)) from None

    def _collection(self, collection: Collection, now: datetime) -> tuple[LibraryItem, ...]:
        """Return the papers of a collection, from the cache if it has not changed."""
        query = "select version, items from collections where name = ?"
        kept = next(iter(self.database.rows(query, [str(collection)])), None)
        fetched = self.zotero.fetch(collection, kept and kept["version"])
        if fetched is None and kept:
            return tuple(_item(row) for row in json.loads(kept["items"]))

        items = fetched.items if fetched else ()
        row = {
            "name": str(collection),
            "version": fetched.version if fetched else 0,
            "items": json.dumps([asdict(item) for item in items], ensure_ascii=False),
            "at": now,
        }
        with self.database.transaction():
            self.database.insert("collections", row, replace=True)
        return items

    def with_titles(self, items: Sequence[LibraryItem], now: datetime) -> list[LibraryItem]:
        """Return the items; the newest hundred without a title get their source's. Raises as
        `with_texts` does.
        """
        lacking = [item for item in items if item.paper_id and not item.title][-_AT_ONCE:]
        found = {item.paper_id: item for item in self.with_texts(lacking, now)}
        return [found.get(item.paper_id, item) for item in items]

    def with_texts(self, items: Sequence[LibraryItem], now: datetime) -> list[LibraryItem]:
        """Return the items, oldest first, each with its title and, if there is one, its abstract.

        Sources are asked for papers whose text neither the library nor the database has. Items
        without any title are left out. Raises FeedError, or HomeBusyError if `turn` raises it.
        """
        lacking = [item.paper_id for item in items if item.paper_id and not item.abstract]
        known = self._texts(lacking, now)
        to_ask = dict.fromkeys(paper_id for paper_id in lacking if paper_id not in known)
        known |= self._ask([*to_ask], now)
        filled = (_filled(item, *known.get(item.paper_id, ("", ""))) for item in items)
        return [item for item in filled if item.title]

    def has_unknown(self) -> bool:
        """Check whether any library has a paper that its source does not know."""
        return bool(self.database.value("select 1 from library_texts where title = '' limit 1"))

    def not_found(self, items: Sequence[LibraryItem]) -> list[str]:
        """Return the ids of items that their sources do not know."""
        ids = [item.paper_id for item in items if item.paper_id and not item.abstract]
        query = f"select paper_id from library_texts where title = '' and {_AMONG}"
        return self.database.column(query, [ids])

    def _texts(self, ids: Sequence[str], now: datetime) -> dict[str, tuple[str, str]]:
        """Return cached titles and abstracts, by id, and renew their retention."""
        select = f"select paper_id, title, abstract from library_texts where {_AMONG}"
        with self.database.transaction():
            update = f"update library_texts set at = ? where {_AMONG}"
            self.database.execute(update, [now, list(ids)])
            rows = self.database.rows(select, [list(ids)])
        return {row["paper_id"]: (row["title"], row["abstract"]) for row in rows}

    def _ask(self, ids: Sequence[str], now: datetime) -> dict[str, tuple[str, str]]:
        """Return the texts of the sources that can be asked, caching them as they arrive; an empty
        text is cached, too, so that it is not requested again.
        """
        texts = dict[str, tuple[str, str]]()
        by_source = groupby(sorted(ids), key=lambda paper_id: source_of(paper_id).key)
        for _, of_source in by_source:
            waiting = list(of_source)
            source = source_of(waiting[0])
            while waiting:
                asked = waiting[:_AT_ONCE]
                waiting = waiting[_AT_ONCE:]
                with self.turn():
                    papers = self.connect(source).by_ids(asked)
                if papers is None:  # it cannot be asked
                    break
                found = {paper.id: paper for paper in papers}
                answers = {paper_id: _text(found.get(paper_id)) for paper_id in asked}
                insert = "insert or replace into library_texts values (?, ?, ?, ?)"
                rows = [(paper_id, *text, now) for paper_id, text in answers.items()]
                with self.database.transaction():
                    self.database.execute_all(insert, rows)
                texts |= answers
        return texts


def _text(paper: Paper | None) -> tuple[str, str]:
    """Return title and abstract as plain text."""
    if paper is None:
        return "", ""
    return title_of(paper), plain(source_of(paper.id).marked(paper.abstract))


def _item(row: Mapping[str, Any]) -> LibraryItem:
    return LibraryItem(**{**row, "authors": tuple(row["authors"])})


def _filled(item: LibraryItem, title: str, abstract: str) -> LibraryItem:
    return replace(item, title=item.title or title, abstract=item.abstract or abstract)


def check(app: App) -> Iterator[Finding]:
    """Report the collections of Zotero, and papers of libraries that their sources do not know."""
    lists = [mailing_list for mailing_list in app.home.lists if mailing_list.library]
    if not lists:
        return
    with app.open_store() or app.store_in_memory() as store:
        likes = likes_of(app, store.database)
        for mailing_list in lists:
            try:
                yield from _found(app, likes, mailing_list)
            except FeedError as error:
                yield note("library", f"{mailing_list.name}: {error}")


def _found(app: App, likes: Likes, mailing_list: MailingList) -> Iterator[Finding]:
    is_asked = isinstance(library.parse(mailing_list.library), Collection)
    if not is_asked and not likes.has_unknown():
        return
    read = likes.read(mailing_list.library, app.clock())
    if is_asked:
        yield from of_library(app, mailing_list, read)
    if ids := likes.not_found(read.items):
        name = mailing_list.name
        what = f"{name}: no source knows {together(ids, 3)} of {mailing_list.library}"
        yield note("library", f"{what}; correct the id; else only its title counts, if it has one")


def likes_of(app: App, database: Database, say: Callable[[str], None] | None = None) -> Likes:
    """Return the libraries of a home. While a morning asks the sources, requests `say` so and wait
    for its end; without `say` they raise HomeBusyError.
    """
    settings = app.settings
    return Likes(
        folder=app.home.source,
        database=database,
        zotero=ZoteroClient(settings.zotero_api_key.value, proxy=app.proxy(URL), wait=app.wait),
        connect=app.connect,
        turn=partial(lock.held, settings.paperboy_database, "morning", "learn", say),
    )
