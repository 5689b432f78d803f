"""The database's tables: the core's and each feature's, which may change without a migration until version 1.0.

Instants are text in UTC to the second, and dates are local to their list. Tables are strict.
"""

import re
import secrets
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from sqlite_utils import Database

_SCHEMA = """
-- Papers, shared by all lists

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
    fetched_at text not null    -- the last complete fetch of it
) strict, without rowid;

-- What a list has seen, and scores: most of the rows, so they name list, paper, judge and day by whole numbers. The
-- views show them in words.

create table list_keys (id integer primary key, list text not null unique) strict;

create table paper_keys (id integer primary key, arxiv_id text not null unique) strict;

create table judges (
    id integer primary key,
    criteria text not null,     -- fingerprint of rubric and topics
    model text not null,
    unique (criteria, model)
) strict;

create table seen_rows (
    list_id integer not null,
    paper_id integer not null,
    became integer not null,    -- see the view
    day integer not null,       -- since 1970: the list's day on which it became so
    primary key (list_id, paper_id)
) strict, without rowid;

create table score_rows (
    judge_id integer not null,
    paper_id integer not null,
    list_id integer not null,
    relevance integer not null,
    novelty integer,            -- null: the embedded scorer gives none
    comment text,               -- null: none
    given integer not null,     -- Unix time
    primary key (judge_id, paper_id, list_id)   -- in this order, since lists share scores
) strict, without rowid;

create view seen as select list, arxiv_id, case became
    when 0 then 'below' when 1 then 'filtered' when 2 then 'not called' when 3 then 'selected'
    when 4 then 'author match' when 5 then 'over the cap' when 6 then 'let go' when 7 then 'before start'
    else became end as became, date(day * 86400, 'unixepoch') as date
    from seen_rows join list_keys on list_keys.id = list_id join paper_keys on paper_keys.id = paper_id;

create view scores as select criteria, model, arxiv_id, list, relevance, novelty, coalesce(comment, '') as comment,
    strftime('%Y-%m-%dT%H:%M:%S+00:00', given, 'unixepoch') as at
    from score_rows join judges on judges.id = judge_id join paper_keys on paper_keys.id = paper_id
    join list_keys on list_keys.id = list_id;

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

create table tries (
    list text not null,
    arxiv_id text not null,
    mornings integer not null,  -- on which it could not be scored, though others were
    primary key (list, arxiv_id)
) strict, without rowid;

create table digests (
    id integer primary key,
    list text not null,
    date text not null,
    subject text not null,
    sender text not null,       -- of the envelope
    message blob not null,      -- the mail's shared bytes, compressed
    at text not null,
    superseded text,            -- when: it reached nobody, and its papers came back
    link text not null default '',  -- the token of its page; empty: it has none
    shown blob,                 -- what that page is made of, compressed; null: it has none
    indexed integer not null default 0,     -- its papers are in the search index of the public archive
    unique (list, date)
) strict;
create index digests_link on digests (link) where link != '';
create index digests_unindexed on digests (list, date)
    where indexed = 0 and shown is not null and superseded is null;

create table days (
    list text not null,
    date text not null,
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
    filtered integer not null default 0,
    not_called integer not null default 0,
    at text not null,
    primary key (list, date)
) strict;

-- Deliveries

create table deliveries (
    id integer primary key,
    digest_id integer not null references digests (id),
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
    again text,                 -- when `resend` last put it back: from then on it has its three days
    given_up integer not null default 0,    -- after three days
    held integer not null default 0,        -- put back, since its refusal may be about us: others go first
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
    own integer not null default 0,         -- the person's own wish, which signing up again undoes
    primary key (address, list)
) strict, without rowid;

create table webhooks (
    digest_id integer primary key references digests (id),
    state text not null,        -- pending, sending, sent or failed
    attempts integer not null default 0,
    try_at text,                -- retry backoff: not before; null: at once
    reply text not null default '',
    at text not null
) strict;
create index webhooks_waiting on webhooks (digest_id) where state in ('pending', 'sending');

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

-- Readers

create table readers (
    leave text primary key,     -- the token of the way out, which a mail carries; it never ends
    vote text not null,         -- the token of the votes
    list text not null,
    address text not null
) strict, without rowid;
create index readers_vote on readers (vote);

create table votes (
    list text not null,
    arxiv_id text not null,
    address text not null,
    vote integer not null,      -- 1 or -1
    at text not null,
    primary key (list, arxiv_id, address)
) strict, without rowid;

create table signups (
    token text primary key,     -- of the link in the confirmation mail
    list text not null,
    address text not null,
    state text not null,        -- asked, mailed, confirmed, done or ended; see signups.py
    at text not null,           -- when the form was sent
    attempts integer not null default 0,    -- in this state
    try_at text,                -- retry backoff: not before; null: at once
    problem text not null default ''        -- for people: why the last attempt failed
) strict, without rowid;
create index signups_at on signups (at);

-- The papers of public lists' digests; see search.py
create virtual table paper_search using fts5 (
    title, authors, abstract, tokenize = 'unicode61 remove_diacritics 2', prefix = '2 3'
);

-- What lists learn

create table samples (
    list text not null,
    arxiv_id text not null,     -- that the shortlist left out, and that was scored all the same: chosen by chance
    date text not null,
    primary key (list, date, arxiv_id)
) strict, without rowid;

create table learned (
    list text not null,
    kind text not null,         -- what from: scores or votes
    at text not null,           -- when it was last looked for something to learn
    key text not null,          -- what the weights depend on, beside the examples
    oldest text,                -- of the examples
    until text,                 -- the last one: its instant
    until_id text,              -- and its paper
    examples integer,
    weights blob,               -- null: there was nothing to learn from
    primary key (list, kind)
) strict;

create table secrets (
    name text primary key,
    value blob not null
) strict;

create table features (
    name text primary key,      -- whose tables are here; one that was left out keeps them
    version integer not null
) strict, without rowid
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tables:
    """A feature's tables. Its statements may use the named values of those of the core beside them."""

    name: str  # the feature's
    schema: str
    retain: Mapping[str, Sequence[str]] = field(default_factory=dict)  # by what they delete; see retention.py
    erase: Sequence[str] = ()  # see erasure.py
    texts: Mapping[str, Sequence[str]] = field(default_factory=dict)  # columns, by table, that may name a person

    @property
    def version(self) -> int:
        """Another one for any other statement."""
        return _fingerprint(_statements(self.schema))

    def create(self, database: Database) -> None:
        """Make the tables, inside a transaction."""
        for statement in _statements(self.schema):
            database.execute(statement)
        database.execute("insert into features values (?, ?)", [self.name, self.version])


def _statements(schema: str) -> list[str]:
    return re.sub(r" *--.*", "", schema).split(";\n")


def _fingerprint(statements: Sequence[str]) -> int:
    return zlib.crc32(";".join(statements).encode()) >> 1


VERSION = _fingerprint(_statements(_SCHEMA))
"""The database's `user_version`, an SQLite integer of 31 bits: another one for any other statement of the core."""


def create(database: Database) -> None:
    """Make the core's tables in a new home, and its secret, inside a transaction."""
    for statement in _statements(_SCHEMA):
        database.execute(statement)
    database.execute("insert into secrets values ('mail', ?)", [secrets.token_bytes(32)])
    database.execute(f"pragma user_version = {VERSION}")
