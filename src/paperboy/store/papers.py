"""Papers as fetched, and those that a list has not seen."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict
from datetime import date, datetime

from paperboy.models import MailingList, Paper, PaperOutcome, Text
from paperboy.store.database import Database, Noun
from paperboy.store.seen import CODES, LIST_KEY, PAPER_KEYS, day_number


class Papers(Noun):
    """Papers of all lists, with the mark-up of their sources. A paper is read once and shared by
    the lists, until `clear_cache`.
    """

    def __init__(self, database: Database) -> None:
        super().__init__(database)
        self._read: dict[str, Paper] = {}

    def clear_cache(self) -> None:
        """Drop the papers that were read for a group of lists."""
        self._read.clear()

    def add(
        self, papers: Sequence[Paper], categories: Collection[str], at: datetime, source: str = ""
    ) -> None:
        """Store a complete fetch of these categories of a source, by its key, or single papers
        without categories. A newer version of a known paper replaces its text.
        """
        self.clear_cache()
        values = {
            "ids": [paper.id for paper in papers],
            "within": [
                (paper.id, category)
                for paper in papers
                for category in (paper.primary_category, *paper.categories)
            ],
            "source": source,
            "categories": list(categories),
            "at": at,
        }
        with self._transaction():
            self._execute_all(_UPSERT, (asdict(paper) | {"fetched_at": at} for paper in papers))
            self._execute_each((PAPER_KEYS, _IN_CATEGORY, _FETCHED), values)

    def fetched(self, source: str) -> dict[str, datetime]:
        """Return when each category of a source, by its key, was last fetched completely."""
        return self._pairs("select category, fetched_at from fetches where source = ?", [source])

    def silent_categories(self, source: str, since: datetime) -> list[str]:
        """Return the categories of a source, by its key, that were fetched since then and gave no
        paper; empty if the source itself is new.
        """
        return self._column(
            """select category from fetches where source = :source and fetched_at >= :since and category not in (
                select category from paper_categories join papers on id = paper_id where published >= :since
            ) and exists (select 1 from papers where id glob :source || ':*' and published < :since)""",
            {"source": source, "since": since},
        )

    def newest(self, categories: Collection[str]) -> datetime | None:
        """Return when the newest stored paper of these categories was submitted."""
        query = (
            f"select max(published) as at from papers where published < '2200' and {_IN_CATEGORIES}"
        )
        return self._value(query, [list(categories)])

    def unseen(self, mailing_list: MailingList, before: date | None = None) -> tuple[Paper, ...]:
        """Return the stored papers in the list's categories that it has not seen, or had not seen
        before the day `before`; in order of id.
        """
        paper_ids = self._column(
            f"""select distinct paper_id from paper_categories join paper_keys on paper_keys.id = paper_id
            where category in (select value from json_each(:categories))
            and (category in (select value from json_each(:crossed)) or exists (
                select 1 from papers where papers.id = paper_keys.id
                and primary_category in (select value from json_each(:categories))
            )) and not exists (
                select 1 from seen_rows where list_key = {LIST_KEY} and paper_key = paper_keys.key
                and (day is not :besides or became = {CODES[PaperOutcome.BEFORE_START]})
            ) order by paper_id""",
            {
                "list": mailing_list.name,
                "categories": mailing_list.categories,
                "crossed": mailing_list.cross_listed,
                "besides": day_number(before) if before else None,
            },
        )
        missing = [paper_id for paper_id in paper_ids if paper_id not in self._read]
        self._read |= self.by_id(missing)
        return tuple(self._read[paper_id] for paper_id in paper_ids if paper_id in self._read)

    def recent(self, mailing_list: MailingList, since: datetime) -> list[Text]:
        """Return the texts of stored papers in the list's categories that were submitted since
        then, seen or not, by id.
        """
        categories = mailing_list.categories
        query = f"""select id, title, abstract from papers
            where {_IN_CATEGORIES} and published >= ? and ({_IN_CATEGORIES} or primary_{_WITHIN}) order by id"""
        values = [categories, since, mailing_list.cross_listed, categories]
        return self._rows(query, values, Text)

    def authors(self, categories: Collection[str], since: datetime) -> list[tuple[str, ...]]:
        """Return the authors of the stored papers in these categories submitted since then."""
        query = f"select authors from papers where {_IN_CATEGORIES} and published >= ?"
        return self._column(query, [list(categories), since])

    def by_id(self, paper_ids: Collection[str]) -> dict[str, Paper]:
        """Return the papers that are stored, by id; corrupt rows are left out."""
        query = f"select {', '.join(_FIELDS)} from papers where {_THESE}"
        papers = self._rows(query, [list(paper_ids)], Paper, skip_corrupt=True)
        return {paper.id: paper for paper in papers}

    def with_link(self, link: str) -> str:
        """Return the id of the paper whose page has this link; empty if none has."""
        return self._value("select id from papers where link = ?", [link]) or ""

    def missing_ids(self, categories: Mapping[str, Collection[str]]) -> list[str]:
        """Return the ids of papers that are not stored with all their `categories`, which are by id."""
        stored = self._pairs(
            f"select id, categories from papers where {_THESE}", [list(categories)]
        )
        return [
            paper_id
            for paper_id, needed in categories.items()
            if not set(needed) <= set(stored.get(paper_id, ()))
        ]


_THESE = "id in (select value from json_each(?))"
_WITHIN = "category in (select value from json_each(?))"
_IN_CATEGORIES = f"id in (select paper_id from paper_categories where {_WITHIN})"
_FIELDS = Paper.__slots__
_COLUMNS = (*_FIELDS, "fetched_at")
_UPSERT = f"""
insert into papers ({", ".join(_COLUMNS)}) values ({", ".join(f":{name}" for name in _COLUMNS)})
on conflict (id) do update set {", ".join(f"{name} = excluded.{name}" for name in _COLUMNS[:-1])}
where excluded.version >= papers.version
"""
_IN_CATEGORY = """
insert or ignore into paper_categories
select json_extract(value, '$[1]'), json_extract(value, '$[0]') from json_each(:within)
"""
_FETCHED = "insert or replace into fetches select :source, value, :at from json_each(:categories)"
