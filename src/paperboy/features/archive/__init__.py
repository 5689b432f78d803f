"""The archive: past digests on the web, and of public lists a search over their papers, and a feed."""

from paperboy.features.archive.tables import TABLES
from paperboy.service.feature import Feature, lazily

FEATURE = Feature(
    name="archive",
    tables=TABLES,
    pages=lazily("archive.pages", "rules"),
    links=frozenset({"view"}),
    frozen=lazily("archive.indexing", "frozen"),
    tasks={"index": lazily("archive.indexing", "work")},
)
