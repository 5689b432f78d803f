"""The database's tables, as migrations: a step is added, never changed."""

from __future__ import annotations

from sqlite_utils import Database, Migrations

migrations = Migrations("paperboy")


@migrations()
def m001_the_first_morning(db: Database) -> None:
    """Papers, what lists saw of them, scores and spending, days and digests, deliveries."""
    for statement in _TABLES.split(";\n"):
        db.execute(statement)  # not as one script: executescript would commit half a migration


@migrations()
def m002_what_the_operator_is_told(db: Database) -> None:
    """Alerts."""
    db.execute(_ALERTS)


_TABLES = """
create table papers (
    arxiv_id text primary key,
    version integer not null,
    title text not null,
    authors text not null,      -- JSON
    abstract text not null,
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
    arxiv_id text not null references papers (arxiv_id) on delete cascade,
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
    list text not null,
    arxiv_id text not null,
    criteria text not null,     -- fingerprint of rubric and topics
    model text not null,
    relevance integer not null,
    novelty integer,
    comment text not null,
    at text not null,
    primary key (list, arxiv_id, criteria, model)
) strict;

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

create table troubles (
    list text primary key,      -- it is still due
    reason text not null,       -- for people: why its last try came to nothing
    at text not null
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
    unique (digest_id, address)
) strict;

create index deliveries_waiting on deliveries (state) where state in ('pending', 'sending', 'deferred');

create table secrets (
    name text primary key,
    value blob not null
) strict
"""

_ALERTS = """
create table alerts (
    cause text primary key,
    since text not null,        -- when it was first met
    about text not null,        -- JSON: the lists that it still troubles; none: it goes when it is told
    told text,                  -- the operator's day on which it was last told
    noted text not null,        -- when what is to be told was found
    alert text                  -- JSON; null: nothing is to be told
) strict, without rowid
"""


@migrations()
def m003_papers_that_cannot_be_scored(db: Database) -> None:
    """On how many mornings a list could score others and not this paper."""
    db.execute(
        "create table tries (list text not null, arxiv_id text not null, mornings integer not null, "
        "primary key (list, arxiv_id)) strict, without rowid"
    )


@migrations()
def m004_who_must_not_get_mail(db: Database) -> None:
    """Suppressions; bounces, and when `resend` put a delivery back; digests that reached nobody and were superseded."""
    for statement in _SUPPRESSIONS.split(";\n"):
        db.execute(statement)


_SUPPRESSIONS = """
create table suppressions (
    address text not null,      -- casefolded
    list text not null,         -- empty: from any list
    reason text not null,       -- for people
    at text not null,           -- since when it holds, or last held
    holds integer not null,
    lifted text,                -- when it last was; bounces before that do not count again
    primary key (address, list)
) strict, without rowid;

alter table deliveries add column bounce integer not null default 0;

-- when `resend` last put it back: from then on it has its three days
alter table deliveries add column again text;

create index deliveries_address on deliveries (address collate nocase, digest_id);

create index deliveries_bounced on deliveries (address collate nocase) where bounce = 1;

-- when: it reached nobody, and its papers came back
alter table digests add column superseded text
"""


@migrations()
def m005_what_calls_have_set_aside(db: Database) -> None:
    """Of a budget, while they are under way, and for good where a crash cut them off."""
    db.execute("create table holds (id integer primary key, at text not null, dollars real not null) strict")


@migrations()
def m006_what_the_operator_is_to_be_told(db: Database) -> None:
    """Of what was given up, superseded and suppressed: noted with the move itself."""
    # of deliveries that were given up after three days: 1, and 2 when the operator knows
    db.execute("alter table deliveries add column given_up integer not null default 0")
    db.execute("create index deliveries_given_up on deliveries (given_up) where given_up = 1")
    db.execute("alter table suppressions add column tell text not null default ''")
    # of digests that were superseded: why they reached nobody, as long as the operator does not know
    db.execute("alter table digests add column tell text")


@migrations()
def m007_what_grows(db: Database) -> None:
    """Scores without a second copy of their long key; categories without a reference to their papers, for which SQLite
    would look through all of them whenever a paper goes.
    """
    for statement in _GROWTH.split(";\n"):
        db.execute(statement)


@migrations()
def m008_when_a_trouble_began(db: Database) -> None:
    """With which try of the day: patience lasts from then on."""
    db.execute("alter table troubles add column since text not null default ''")


@migrations()
def m009_when_a_list_is_tried_again(db: Database) -> None:
    """What was kept in memory: a morning that came to nothing rests until `next_try`."""
    db.execute("alter table troubles rename to attempts")
    db.execute("update attempts set since = at where since = ''")
    db.execute("alter table attempts add column next_try text not null default ''")
    db.execute("update attempts set next_try = at")


_GROWTH = """
create table scores_by_key (
    list text not null,
    arxiv_id text not null,
    criteria text not null,     -- fingerprint of rubric and topics
    model text not null,
    relevance integer not null,
    novelty integer,
    comment text not null,
    at text not null,
    primary key (list, arxiv_id, criteria, model)
) strict, without rowid;

insert into scores_by_key select * from scores order by list, arxiv_id, criteria, model;

drop table scores;

alter table scores_by_key rename to scores;

create table categories_of_papers (
    category text not null,
    arxiv_id text not null,
    primary key (category, arxiv_id)
) strict, without rowid;

insert into categories_of_papers select * from paper_categories order by category, arxiv_id;

drop table paper_categories;

alter table categories_of_papers rename to paper_categories
"""
