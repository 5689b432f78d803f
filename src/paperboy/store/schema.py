"""Schema: the core's tables as migrations, and applying these and the features' migrations.

Instants are text in UTC to the second, and dates are local to their list. Tables are strict.
"""

import re
import secrets

import sqlite_utils

from paperboy.models import Tables

MIGRATIONS: tuple[str, ...] = (
    """
-- Papers, shared by all lists

create table papers (
    id text primary key,
    version integer not null,
    title text not null,
    authors text not null,      -- JSON
    abstract text not null,     -- empty once it is settled; see retention.py
    primary_category text not null,
    categories text not null,   -- JSON, in its source's order
    published text not null,
    updated text not null,
    comment text not null,
    doi text not null,
    fetched_at text not null    -- when it was first seen here
) strict;

create table paper_categories (
    category text not null,
    paper_id text not null,
    primary key (category, paper_id)
) strict, without rowid;

create table fetches (
    source text not null,       -- its key
    category text not null,
    fetched_at text not null,   -- the last complete fetch of it
    primary key (source, category)
) strict, without rowid;

-- What a list has seen, and scores: most of the rows, so they name list, paper, judge and day by whole numbers. The
-- views show them in words.

create table list_keys (key integer primary key, list text not null unique) strict;

create table paper_keys (key integer primary key, id text not null unique) strict;

create table judges (
    key integer primary key,
    criteria text not null,     -- fingerprint of rubric and topics
    model text not null,
    unique (criteria, model)
) strict;

create table seen_rows (
    list_key integer not null,
    paper_key integer not null,
    became integer not null,    -- see the view
    day integer not null,       -- since 1970: the list's day on which it became so
    primary key (list_key, paper_key)
) strict, without rowid;

create table score_rows (
    judge_key integer not null,
    paper_key integer not null,
    list_key integer not null,
    relevance integer not null,
    novelty integer,            -- null: the embedded scorer gives none
    comment text,               -- null: none
    given integer not null,     -- Unix time
    primary key (judge_key, paper_key, list_key)   -- in this order, since lists share scores
) strict, without rowid;

create view seen as select list, paper_keys.id as paper_id, case became
    when 0 then 'below' when 1 then 'filtered' when 2 then 'not called' when 3 then 'selected'
    when 4 then 'author match' when 5 then 'over the cap' when 6 then 'let go' when 7 then 'before start'
    else became end as became, date(day * 86400, 'unixepoch') as date
    from seen_rows join list_keys on list_keys.key = list_key join paper_keys on paper_keys.key = paper_key;

create view scores as select criteria, model, paper_keys.id as paper_id, list, relevance, novelty,
    coalesce(comment, '') as comment,
    strftime('%Y-%m-%dT%H:%M:%S+00:00', given, 'unixepoch') as at
    from score_rows join judges on judges.key = judge_key join paper_keys on paper_keys.key = paper_key
    join list_keys on list_keys.key = list_key;

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
create index spending_day on spending (list, date);
create index spending_at on spending (at);

-- Lists and their days

create table lists (
    name text primary key,
    since text not null         -- when the daemon first knew it: hours before that were not its own
) strict, without rowid;

create table started (
    list text not null,
    way text not null,          -- by which papers come to it: a primary category, or "cross-list" and a category
    at text not null,
    primary key (list, way)
) strict, without rowid;
create index started_at on started (at);

create table attempts (
    list text primary key,      -- it is still due
    reason text not null,       -- for people: why its last try failed
    at text not null,
    since text not null,        -- the day's first try
    next_try text not null,     -- retry backoff: not before
    unscored integer not null default 0     -- papers, where none of them could be scored
) strict, without rowid;

create table unscored (
    list text not null,
    paper_id text not null,
    mornings integer not null,  -- on which it could not be scored, though others were
    primary key (list, paper_id)
) strict, without rowid;

create table messages (
    id integer primary key,
    list text not null,         -- on which its recipients must be; empty: on none
    date text,                  -- of a digest or note: its list's day. Null: its refusals count against nobody
    subject text not null,
    sender text not null,       -- of the envelope
    message blob not null,      -- the mail's shared bytes, compressed
    at text not null,
    expires text,               -- when sending it is given up; null: when it is replaced
    priority integer not null,  -- 0 for digests; the highest goes first, and one below 0 after the round
    superseded text,            -- when: it reached nobody, and its papers came back
    link text not null default '',  -- the token of its page; empty: it has none
    shown blob,                 -- what that page is made of, compressed; null: it has none
    unique (list, date)
) strict;
create index messages_beside on messages (priority) where date is null;
create index digests_link on messages (link) where link != '';

create view digests as select * from messages where date is not null;   -- and notes

create table days (
    list text not null,
    date text not null,
    outcome text not null,
    reason text not null,       -- for people; empty where the outcome says it all
    digest_id integer references messages (id),
    model text not null,
    considered integer not null,
    carried_over integer not null,
    let_go integer not null,
    author_matches integer not null,
    selected integer not null,
    over_cap integer not null,
    below integer not null,
    filtered integer not null default 0,
    not_called integer not null default 0,
    at text not null,
    primary key (list, date)
) strict;
create index days_digest on days (digest_id) where digest_id is not null;

-- Deliveries

create table deliveries (
    id integer primary key,
    frozen_id integer not null references messages (id) on delete cascade,
    address text not null,
    name text not null,
    state text not null,
    message_id text not null,
    token text not null,        -- of the way out, from which that of the votes is made
    attempts integer not null default 0,
    uncertain integer not null default 0,   -- how often the connection was lost after the final dot
    try_at text,                -- not before; null: at once
    reply text not null default '',
    via text not null default '',           -- smtp or outbox, once it is sent
    at text not null,
    bounce integer not null default 0,
    given_up integer not null default 0,    -- after three days
    held integer not null default 0,        -- put back, since its refusal may be about us: others go first
    unique (frozen_id, address)
) strict;
create index deliveries_waiting on deliveries (frozen_id, id) where state in ('pending', 'sending', 'deferred');
create index deliveries_address on deliveries (address collate nocase, frozen_id);
create index deliveries_failed on deliveries (at) where state = 'failed';
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
    by text not null,           -- reader (their own wish, which signing up again undoes), operator, bounces, complaint
    primary key (address, list)
) strict, without rowid;

create table tasks (
    kind text not null,
    subject text not null,      -- a digest's id, a token, a list: what its kind says
    due text not null,          -- retry backoff: not before
    tries integer not null default 0,
    reply text not null default '',     -- why the last one failed
    primary key (kind, subject)
) strict, without rowid;
create index tasks_due on tasks (kind, due);

-- What is wrong, and what was reported of it

create table incidents (
    kind text not null,
    subject text not null,      -- a list, a file, the mail server …
    reason text not null,       -- for people
    facts text not null,        -- JSON
    event integer not null,     -- it does not last: it is reported once
    since text not null,        -- when it was first met
    last text not null,         -- when it was last met
    ended text,                 -- null: it lasts
    primary key (kind, subject)
) strict, without rowid;

create table alerts (
    kind text not null,
    subject text not null,
    since text not null,        -- when the problem was first met
    date text not null,         -- the operator's, of the last mail
    over integer not null,      -- it was about the problem's end
    mail integer references messages (id) on delete set null,  -- null: nobody is alerted by mail
    primary key (kind, subject)
) strict, without rowid;

-- Readers

create table readers (
    leave text primary key,     -- the token of the way out, which a mail carries; it never ends
    vote text not null,         -- the token of the votes
    list text not null,
    address text not null
) strict, without rowid;
create index readers_vote on readers (vote);

create table secrets (
    name text primary key,
    value blob not null
) strict;

create table features (
    name text primary key,      -- whose tables are here; one that was left out keeps them
    version integer not null    -- how many of its migrations were applied
) strict, without rowid
""",
    """
drop view scores;

alter table score_rows add column topic integer;   -- the number of the list's topic; null: not known

create view scores as select criteria, model, paper_keys.id as paper_id, list, relevance, novelty,
    coalesce(comment, '') as comment, topic,
    strftime('%Y-%m-%dT%H:%M:%S+00:00', given, 'unixepoch') as at
    from score_rows join judges on judges.key = judge_key join paper_keys on paper_keys.key = paper_key
    join list_keys on list_keys.key = list_key;

create table briefs (
    list text not null,
    key text not null,          -- a fingerprint of what was asked
    sentences text not null,    -- JSON: the text and the paper ids of each
    at text not null,
    primary key (list, key)
) strict, without rowid
""",
    """
-- Papers of a source that gives initials, and licenses

alter table papers add column corresponding text;  -- null: all names are whole
alter table papers add column institution text not null default '';
alter table papers add column license text not null default ''
""",
    """
-- Of a bounce: its server may say so of all addresses of its domain

alter table deliveries add column doubtful integer not null default 0
""",
    """
-- A day's digest was superseded; until now its reason ended so

alter table days add column reached_nobody integer not null default 0;

update days set reached_nobody = 1, reason = rtrim(replace(reason, 'reached nobody; superseded', ''), '; ')
where reason like '%reached nobody; superseded'
""",
    """
-- Papers of journals, whose ids do not always lead to a page

alter table papers add column link text not null default ''
""",
)
"""A released migration never changes; a change is a new one. `--` begins a comment anywhere;
comments are not stored.

Foreign keys are off. A table that is recreated loses its triggers, also those of features, and a view that names it
has to be dropped first. A feature's migrations come after all of the core's, so they may use only what every later
core keeps.
"""

CORE = Tables(name="", migrations=MIGRATIONS)
"""`user_version` counts its applied migrations; the table `features`, those of features."""


def migrate(tables: Tables, applied: int, utils: sqlite_utils.Database) -> None:
    """Apply all but the first `applied` migrations, inside a transaction. A new home also gets its
    secret.

    Unlike `sqlite3`'s, the `executescript` of sqlite-utils keeps the transaction open. Its
    `Migrations` neither wait for another process, nor roll back a whole upgrade, nor refuse a newer
    database.
    """
    for migration in tables.migrations[applied:]:
        utils.executescript(re.sub(r" *--.*", "", migration))

    number = len(tables.migrations)
    if tables.name:
        utils.execute("insert or replace into features values (?, ?)", [tables.name, number])
        return
    utils.execute(f"pragma user_version = {number}")
    if not applied:
        utils.execute("insert into secrets values ('mail', ?)", [secrets.token_bytes(32)])
