"""The archive: past digests on the web; for public lists also a search and a feed."""

from paperboy.models import Tables
from paperboy.service.feature import Feature, lazily

SHIFT = 1 << 16  # more than a digest's papers

# The triggers also run while this folder is left out, so that the index is right once it is back.
_TABLES = Tables(
    name="archive",
    migrations=(
        f"""
create virtual table paper_search using fts5 (
    title, authors, abstract, tokenize = 'unicode61 remove_diacritics 2', prefix = '2 3'
);

create table unindexed (
    digest_id integer primary key references messages (id) on delete cascade,
    list text not null,
    date text not null
) strict;
create index unindexed_day on unindexed (list, date);

insert into unindexed select id, list, date from digests where shown is not null and superseded is null;

create trigger digest_frozen after insert on messages when new.date is not null and new.shown is not null
begin insert into unindexed values (new.id, new.list, new.date); end;

create trigger digest_superseded after update of superseded on messages
begin delete from unindexed where digest_id = new.id; end;

create trigger digest_deleted after delete on messages
begin delete from paper_search where rowid between old.id * {SHIFT} and old.id * {SHIFT} + {SHIFT - 1}; end
""",
    ),
)

FEATURE = Feature(
    name="archive",
    tables=_TABLES,
    pages=lazily("archive.pages", "rules"),
    samples=lazily("archive.pages", "samples"),
    links=frozenset({"view"}),
    frozen=lazily("archive.rows", "frozen"),
    tasks={"index": lazily("archive.work", "work")},
)
