"""Papers as fetched, and which of them a list has not seen."""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from datetime import datetime
from typing import Any

from paperboy.models import MailingList, Paper
from paperboy.store.database import Database, instant, iso


class Papers:
    """The papers of all lists together; TeX stays in titles and abstracts."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def add(self, papers: Sequence[Paper], categories: Collection[str], at: datetime) -> int:
        """Stores a whole fetch of these categories in one transaction; gives how many papers are new here.

        A newer version of a known paper replaces its text.
        """
        stamp = iso(at)
        with self._database.transaction():
            before = self._count()
            for paper in papers:
                self._database.execute(_UPSERT, _row(paper, stamp))
                for category in {paper.primary_category, *paper.categories}:
                    self._database.execute(
                        "insert into paper_categories values (?, ?) on conflict do nothing", [category, paper.arxiv_id]
                    )
            for category in categories:
                self._database.execute("insert or replace into fetches values (?, ?)", [category, stamp])
            return self._count() - before

    def last_fetch(self, categories: Collection[str]) -> datetime | None:
        """When the least recent of these categories came whole; None where none ever did.

        A category that was never fetched has nothing to catch up on and does not count.
        """
        row = self._database.rows(
            f"select min(fetched_at) as at from fetches where category in ({_marks(categories)})",
            [*categories],
        )[0]
        return instant(row["at"]) if row["at"] else None

    def fetched_between(self, categories: Collection[str], since: datetime, now: datetime) -> bool:
        """Whether all of these categories came whole since an instant, up to `now`."""
        row = self._database.rows(
            "select count(*) as n from fetches "
            f"where category in ({_marks(categories)}) and fetched_at between ? and ?",
            [*categories, iso(since), iso(now)],
        )[0]
        return int(row["n"]) == len(categories)

    def unseen(self, mailing_list: MailingList, known: dict[str, Paper] | None = None) -> tuple[Paper, ...]:
        """The stored papers in the list's categories that it has not seen, by arXiv id.

        `known` are papers that were read already, by id, and takes up what is read: lists share them.
        """
        condition = "not exists (select 1 from seen where list = ? and arxiv_id = papers.arxiv_id)"
        return self._in_categories(mailing_list, condition, mailing_list.name, known)

    def recent(
        self, mailing_list: MailingList, since: datetime, known: dict[str, Paper] | None = None
    ) -> tuple[Paper, ...]:
        """The stored papers in the list's categories that were submitted since then, seen or not, by arXiv id."""
        return self._in_categories(mailing_list, "published >= ?", iso(since), known)

    def newest(self, categories: Collection[str]) -> datetime | None:
        """When the newest stored paper of these categories was submitted."""
        row = self._database.rows(
            "select max(published) as at from papers where arxiv_id in "
            f"(select arxiv_id from paper_categories where category in ({_marks(categories)}))",
            [*categories],
        )[0]
        return instant(row["at"]) if row["at"] else None

    def _in_categories(
        self, mailing_list: MailingList, condition: str, value: str, known: dict[str, Paper] | None
    ) -> tuple[Paper, ...]:
        """Papers that retention has taken out of their categories are settled, and looked through no more."""
        marks, papers = _marks(mailing_list.categories), {} if known is None else known
        if not mailing_list.cross_lists:
            condition = f"primary_category in ({marks}) and {condition}"
        rows = self._database.rows(
            f"select arxiv_id from papers where {condition} and arxiv_id in "
            f"(select arxiv_id from paper_categories where category in ({marks})) order by arxiv_id",
            [*(() if mailing_list.cross_lists else mailing_list.categories), value, *mailing_list.categories],
        )
        ids = [row["arxiv_id"] for row in rows]
        if missing := [arxiv_id for arxiv_id in ids if arxiv_id not in papers]:
            for row in self._database.rows(
                "select * from papers where arxiv_id in (select value from json_each(?))", [json.dumps(missing)]
            ):
                papers[row["arxiv_id"]] = paper_of(row)
        return tuple(papers[arxiv_id] for arxiv_id in ids)

    def _count(self) -> int:
        return int(self._database.rows("select count(*) as n from papers")[0]["n"])


_UPSERT = """
insert into papers values (
    :arxiv_id, :version, :title, :authors, :abstract, :primary_category, :categories, :published, :updated,
    :comment, :doi, :fetched_at
) on conflict (arxiv_id) do update set
    version = excluded.version, title = excluded.title, authors = excluded.authors, abstract = excluded.abstract,
    primary_category = excluded.primary_category, categories = excluded.categories, updated = excluded.updated,
    comment = excluded.comment, doi = excluded.doi
where excluded.version >= papers.version
"""


def _marks(values: Collection[str]) -> str:
    return ", ".join("?" * len(values))


def _row(paper: Paper, stamp: str) -> dict[str, Any]:
    return {
        "arxiv_id": paper.arxiv_id,
        "version": paper.version,
        "title": paper.title,
        "authors": json.dumps(paper.authors, ensure_ascii=False),
        "abstract": paper.abstract,
        "primary_category": paper.primary_category,
        "categories": json.dumps(paper.categories),
        "published": iso(paper.published),
        "updated": iso(paper.updated),
        "comment": paper.comment,
        "doi": paper.doi,
        "fetched_at": stamp,
    }


def paper_of(row: dict[str, Any]) -> Paper:
    """The paper of a row of `papers`."""
    return Paper(
        arxiv_id=row["arxiv_id"],
        version=row["version"],
        title=row["title"],
        authors=tuple(json.loads(row["authors"])),
        abstract=row["abstract"],
        primary_category=row["primary_category"],
        categories=tuple(json.loads(row["categories"])),
        published=instant(row["published"]),
        updated=instant(row["updated"]),
        comment=row["comment"],
        doi=row["doi"],
    )
