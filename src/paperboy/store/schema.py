"""The database's tables: one schema, and one migration to it from the version before.

The migration copies each table whose columns differ, by the columns that old and new share; what a column needs
beyond that stands in `_MOVES`. So a change of the schema is made here once.
"""

from __future__ import annotations

import re
from functools import cache

from sqlite_utils import Database, Migrations

migrations = Migrations("paperboy")

BEFORE = frozenset(
    {
        "m001_the_first_morning",
        "m002_what_the_operator_is_told",
        "m003_papers_that_cannot_be_scored",
        "m004_who_must_not_get_mail",
        "m005_what_calls_have_set_aside",
        "m006_what_the_operator_is_to_be_told",
        "m007_what_grows",
        "m008_when_a_trouble_began",
    }
)
"""The steps of the version before; a database that has only some of them is older than we can read."""

_SCHEMA = """
create table papers (
    arxiv_id text primary key,
    version integer not null,
    title text not null,
    authors text not null,      -- JSON
    abstract text not null,     -- empty once it is settled; see retention.py
    primary_category text not null,
    categories text not null,   -- JSON, in arXiv's order
    published text not null,
    updated text not null,
    comment text not null,
    doi text not null,
    fetched_at text not null    -- when it was first seen here
) strict;

create table paper_categories (
    category text not null,
    arxiv_id text not null,
    primary key (category, arxiv_id)
) strict, without rowid;

create table fetches (
    category text primary key,
    fetched_at text not null    -- the last time that all its papers came whole
) strict, without rowid;

create table started (
    list text not null,
    way text not null,          -- by which papers come to it: a primary category, or "cross-list" and a category
    at text not null,
    primary key (list, way)
) strict, without rowid;

create table scores (
    criteria text not null,     -- fingerprint of rubric and topics
    model text not null,
    arxiv_id text not null,
    list text not null,
    relevance integer not null,
    novelty integer,
    comment text not null,
    at text not null,
    primary key (criteria, model, arxiv_id, list)   -- in this order, since lists share scores
) strict, without rowid;

create table spending (
    id integer primary key,
    list text not null,
    date text,                  -- the list's day it counts towards; null until that day is frozen
    model text not null,
    at text not null,
    calls integer not null,
    prompt_tokens integer not null,
    cached_tokens integer not null,
    cache_write_tokens integer not null,
    completion_tokens integer not null,
    reasoning_tokens integer not null,
    prompt_usd real,            -- null: the price is unknown
    completion_usd real
) strict;

create index spending_open on spending (list) where date is null;

create index spending_at on spending (at);

create table digests (
    id integer primary key,
    list text not null,
    date text not null,
    subject text not null,
    sender text not null,       -- of the envelope
    message blob not null,      -- the mail's shared bytes, compressed; see days.py
    at text not null,
    superseded text,            -- when: it reached nobody, and its papers came back
    unique (list, date)
) strict;

create table days (
    list text not null,
    date text not null,         -- local
    outcome text not null,
    reason text not null,       -- for people; empty where the outcome says it all
    digest_id integer references digests (id),
    model text not null,
    considered integer not null,
    carried_over integer not null,
    let_go integer not null,
    author_matches integer not null,
    selected integer not null,
    over_cap integer not null,
    below integer not null,
    at text not null,
    primary key (list, date)
) strict;

create table attempts (
    list text primary key,      -- it is still due
    reason text not null,       -- for people: why its last try came to nothing
    at text not null,
    since text not null,        -- the day's first try
    next_try text not null      -- retry backoff: not before
) strict, without rowid;

create table tries (
    list text not null,
    arxiv_id text not null,
    mornings integer not null,  -- on which it could not be scored, though others were
    primary key (list, arxiv_id)
) strict, without rowid;

create table seen (
    list text not null,
    arxiv_id text not null,
    became text not null,
    date text not null,         -- the list's day on which it became so
    primary key (list, arxiv_id)
) strict, without rowid;

create table deliveries (
    id integer primary key,
    digest_id integer not null references digests (id),
    address text not null,
    name text not null,
    state text not null,
    message_id text not null,
    token text not null,
    attempts integer not null default 0,
    uncertain integer not null default 0,   -- how often the connection was lost after the final dot
    try_at text,                -- not before; null: at once
    reply text not null default '',
    via text not null default '',           -- smtp or outbox, once it is sent
    at text not null,
    bounce integer not null default 0,
    again text,                 -- when `resend` last put it back: from then on it has its three days
    given_up integer not null default 0,    -- after three days
    unique (digest_id, address)
) strict;

create index deliveries_waiting on deliveries (digest_id, id) where state in ('pending', 'sending', 'deferred');

create index deliveries_address on deliveries (address collate nocase, digest_id);

create index deliveries_bounced on deliveries (address collate nocase) where bounce = 1;

create table server_backoff (
    id integer primary key,     -- one row
    at text not null,
    until text not null         -- retry backoff of the mail server: no delivery before
) strict;

create table suppressions (
    address text not null,      -- casefolded
    list text not null,         -- empty: from any list
    reason text not null,       -- for people
    at text not null,           -- since when it holds, or last held
    holds integer not null,
    lifted text,                -- when it last was; bounces before that do not count again
    primary key (address, list)
) strict, without rowid;

create table alerts (
    cause text not null,
    subject text not null,      -- a list, an address, the mail server …
    reason text not null,       -- for people
    detail text not null,       -- lines to show as they are
    facts text not null,        -- JSON: what the headline counts
    since text not null,        -- when it was first met
    noted text not null,        -- when it was last met
    over text,                  -- when it ended; null: it lasts
    reported text,              -- the operator's day of the last mail
    next_try text,              -- retry backoff of that mail
    primary key (cause, subject)
) strict, without rowid;

create table secrets (
    name text primary key,
    value blob not null
) strict
"""

_MOVES = {
    "attempts": (
        "insert into attempts select list, reason, at, case since when '' then at else since end, at from troubles"
    ),
    "alerts": (
        "insert into alerts select cause, value, coalesce(json_extract(alert, '$.headline'), ''), '', '{}', since, "
        "noted, null, told, null from before_alerts, json_each(about)"
    ),
}
"""How tables are filled whose rows the version before kept in another way; what was there is `before_` that name."""

_GONE = {"troubles", "holds"}


@migrations()
def m009_the_second_house(db: Database) -> None:
    """All tables of a new home; or those of the version before, moved into them."""
    old = set(db.table_names()) - {migrations.migrations_table}
    same = {name for name in old if _columns(db, name) == _columns(_new(), name)}
    for (name,) in db.execute("select name from sqlite_master where type = 'index' and sql is not null").fetchall():
        db.execute(f"drop index {name}")
    for statement in _SCHEMA.split(";\n"):  # not as one script: executescript would commit half a migration
        table = re.search(r"create table (\w+)", statement)
        if table is None:
            db.execute(statement)
        elif table[1] not in same:
            _make(db, table[1], statement, old)
    for name in _GONE & old:
        db.execute(f"drop table {name}")


def _make(db: Database, name: str, statement: str, old: set[str]) -> None:
    """Makes the table, and fills it from the one of the version before."""
    if name in old:
        shared = ", ".join(sorted(_columns(db, name).keys() & _columns(_new(), name).keys()))
        db.execute(f"alter table {name} rename to before_{name}")
        db.execute(statement)
        db.execute(_MOVES.get(name, f"insert into {name} ({shared}) select {shared} from before_{name}"))
        db.execute(f"drop table before_{name}")
    else:
        db.execute(statement)
        if old and name in _MOVES:
            db.execute(_MOVES[name])


@cache
def _new() -> Database:
    """An empty database of this schema, to compare with."""
    made = Database(memory=True)
    made.conn.executescript(_SCHEMA)
    return made


def _columns(db: Database, table: str) -> dict[str, tuple[object, ...]]:
    """Each column's type, whether it may be null, its default, and its place in the key."""
    return {row[1]: tuple(row[2:]) for row in db.execute(f"pragma table_info({table})").fetchall()}
