"""Papers as fetched, and which of them a list has not seen."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict
from datetime import date, datetime

from paperboy.models import Became, MailingList, Paper, Text
from paperboy.store.database import Database
from paperboy.store.seen import CODES, LIST_KEY, PAPER_KEYS, day_number


class Papers:
    """The papers of all lists together; TeX stays in titles and abstracts. Each is read once and shared by the lists,
    until `forget`.
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        self._read: dict[str, Paper] = {}

    def forget(self) -> None:
        """Drop the papers that were read."""
        self._read.clear()

    def add(self, papers: Sequence[Paper], categories: Collection[str], at: datetime) -> int:
        """Store a complete fetch of these categories in one transaction, or single papers without any, and return how
        many papers are new here.

        A newer version of a known paper replaces its text.
        """
        execute = self._database.execute
        self.forget()
        with self._database.transaction():
            before = self._count()
            execute(PAPER_KEYS, {"ids": [paper.arxiv_id for paper in papers]})
            for paper in papers:
                execute(_UPSERT, asdict(paper) | {"fetched_at": at})
                for category in {paper.primary_category, *paper.categories}:
                    execute("insert or ignore into paper_categories values (?, ?)", [category, paper.arxiv_id])
            for category in categories:
                execute("insert or replace into fetches values (?, ?)", [category, at])
            return self._count() - before

    def fetched(self) -> dict[str, datetime]:
        """When each category was last fetched completely."""
        return {row["category"]: row["fetched_at"] for row in self._database.rows("select * from fetches")}

    def newest(self, categories: Collection[str]) -> datetime | None:
        """When the newest stored paper of these categories was submitted."""
        query = f"select max(published) as at from papers where published < '2200' and {_IN_CATEGORIES}"
        return self._database.value(query, [list(categories)])

    def unseen(self, mailing_list: MailingList, before: date | None = None) -> tuple[Paper, ...]:
        """The stored papers in the list's categories that it has not seen, or had not `before` a day; by arXiv id."""
        arxiv_ids = self._database.column(
            f"""select distinct arxiv_id from paper_categories join paper_keys using (arxiv_id)
            where category in (select value from json_each(:categories)) and (:crossed or exists (
                select 1 from papers where papers.arxiv_id = paper_keys.arxiv_id
                and primary_category in (select value from json_each(:categories))
            )) and not exists (
                select 1 from seen_rows where list_id = {LIST_KEY} and paper_id = paper_keys.id
                and (day is not :besides or became = {CODES[Became.BEFORE_START]})
            ) order by arxiv_id""",
            {
                "list": mailing_list.name,
                "categories": mailing_list.categories,
                "crossed": mailing_list.cross_lists,
                "besides": day_number(before) if before else None,
            },
        )
        missing = [arxiv_id for arxiv_id in arxiv_ids if arxiv_id not in self._read]
        self._read |= self.by_id(missing)
        return tuple(self._read[arxiv_id] for arxiv_id in arxiv_ids if arxiv_id in self._read)

    def recent(self, mailing_list: MailingList, since: datetime) -> tuple[Text, ...]:
        """The texts of stored papers in the list's categories that were submitted since then, seen or not, by arXiv
        id.
        """
        categories = mailing_list.categories
        query = f"""select arxiv_id, title, abstract from papers
            where {_IN_CATEGORIES} and published >= ? and (? or primary_{_WITHIN}) order by arxiv_id"""
        values = [categories, since, mailing_list.cross_lists, categories]
        return tuple(self._database.rows(query, values, Text))

    def authors(self, categories: Collection[str], since: datetime) -> list[tuple[str, ...]]:
        """The authors of each stored paper in these categories that was submitted since then."""
        query = f"select authors from papers where {_IN_CATEGORIES} and published >= ?"
        return self._database.column(query, [list(categories), since])

    def by_id(self, arxiv_ids: Collection[str]) -> dict[str, Paper]:
        """Those of the papers that are kept, by arXiv id."""
        query = f"select {', '.join(_FIELDS)} from papers where arxiv_id in (select value from json_each(?))"
        found = self._database.rows(query, [list(arxiv_ids)], Paper, without_spoilt=True)  # one costs no morning
        return {paper.arxiv_id: paper for paper in found}

    def lacking(self, categories: Mapping[str, Collection[str]]) -> tuple[str, ...]:
        """Of papers with their categories, by arXiv id, those that are not stored in all of these; the oldest first."""
        query = "select arxiv_id, categories from papers where arxiv_id in (select value from json_each(?))"
        known = {row["arxiv_id"]: row["categories"] for row in self._database.rows(query, [list(categories)])}
        missing = [each for each, its in categories.items() if not set(its) <= set(known.get(each, ()))]
        return tuple(sorted(missing, key=lambda each: ("/" not in each, each)))

    def _count(self) -> int:
        return self._database.value("select count(*) from papers") or 0


_WITHIN = "category in (select value from json_each(?))"
_IN_CATEGORIES = f"arxiv_id in (select arxiv_id from paper_categories where {_WITHIN})"
_FIELDS = Paper.__slots__
_COLUMNS = (*_FIELDS, "fetched_at")
_UPSERT = f"""
insert into papers ({", ".join(_COLUMNS)}) values ({", ".join(f":{name}" for name in _COLUMNS)})
on conflict (arxiv_id) do update set {", ".join(f"{name} = excluded.{name}" for name in _COLUMNS[:-1])}
where excluded.version >= papers.version
"""
