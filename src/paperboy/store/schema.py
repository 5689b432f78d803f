"""The database's tables: one schema, and the migrations to it from the versions before."""

import secrets

from sqlite_utils import Database, Migrations

from paperboy.tokens import vote_token

migrations = Migrations("paperboy")

_MADE, _REPAIRED, _FILTERS = "m009_the_second_house", "m010_papers_from_the_future", "m011_lists_and_filters"
_READERS = "m012_readers_answer"
_LEARN = "m013_lists_learn"
NOW = "m014_rows_are_short"
KNOWN = frozenset({"", "m008_when_a_trouble_began", _MADE, _REPAIRED, _FILTERS, _READERS, _LEARN, NOW})
"""The last steps from which a database can be migrated: none, that of the version before, and those of this one."""

_SCHEMA = """
create table if not exists papers (
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

create table if not exists paper_categories (
    category text not null,
    arxiv_id text not null,
    primary key (category, arxiv_id)
) strict, without rowid;

create table if not exists fetches (
    category text primary key,
    fetched_at text not null    -- the last complete fetch of it
) strict, without rowid;

create table if not exists lists (
    name text primary key,
    since text not null         -- when the daemon first knew it: hours before that were not its own
) strict, without rowid;

create table if not exists started (
    list text not null,
    way text not null,          -- by which papers come to it: a primary category, or "cross-list" and a category
    at text not null,
    primary key (list, way)
) strict, without rowid;
create index if not exists started_at on started (at);

create table if not exists scores (
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

create table if not exists spending (
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
create index if not exists spending_day on spending (list, date);
create index if not exists spending_at on spending (at);

create table if not exists digests (
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

create table if not exists days (
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
    filtered integer not null default 0,
    at text not null,
    primary key (list, date)
) strict;

create table if not exists attempts (
    list text primary key,      -- it is still due
    reason text not null,       -- for people: why its last try failed
    at text not null,
    since text not null,        -- the day's first try
    next_try text not null      -- retry backoff: not before
) strict, without rowid;

create table if not exists tries (
    list text not null,
    arxiv_id text not null,
    mornings integer not null,  -- on which it could not be scored, though others were
    primary key (list, arxiv_id)
) strict, without rowid;

create table if not exists seen (
    list text not null,
    arxiv_id text not null,
    became text not null,
    date text not null,         -- the list's day on which it became so
    primary key (list, arxiv_id)
) strict, without rowid;

create table if not exists deliveries (
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
create index if not exists deliveries_waiting on deliveries (digest_id, id)
    where state in ('pending', 'sending', 'deferred');
create index if not exists deliveries_address on deliveries (address collate nocase, digest_id);
create index if not exists deliveries_bounced on deliveries (address collate nocase) where bounce = 1;

create table if not exists server_backoff (
    id integer primary key,     -- one row
    at text not null,
    until text not null         -- retry backoff of the mail server: no delivery before
) strict;

create table if not exists suppressions (
    address text not null,      -- casefolded
    list text not null,         -- empty: from any list
    reason text not null,       -- for people
    at text not null,           -- since when it holds, or last held
    holds integer not null,
    lifted text,                -- when it last was; bounces before that do not count again
    primary key (address, list)
) strict, without rowid;

create table if not exists alerts (
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

create table if not exists secrets (
    name text primary key,
    value blob not null
) strict
"""

_FROM_BEFORE = """
drop index deliveries_waiting;
drop index deliveries_given_up;
drop index spending_open;
alter table digests drop column tell;
alter table suppressions drop column tell;
alter table scores rename to before_scores;
alter table alerts rename to before_alerts
"""

_INTO_THIS = """
insert into scores select criteria, model, arxiv_id, list, relevance, novelty, comment, at from before_scores;
insert into alerts
    select cause, value, coalesce(json_extract(alert, '$.headline'), ''), '', '{}', since, noted, null, told, null
    from before_alerts, json_each(about);
insert into attempts select list, reason, at, case since when '' then at else since end, at from troubles;
drop table before_scores;
drop table before_alerts;
drop table troubles;
drop table holds
"""


_IMPOSSIBLE = """
published not between '1991' and '2200' or published > strftime('%Y-%m-%dT%H:%M:%S+00:00', fetched_at, '+1 day')
"""


@migrations(name=_MADE)
def _make(db: Database) -> None:
    """All tables of a new home; or those of the version before, changed to them."""
    scripts = [_FROM_BEFORE, _SCHEMA, _INTO_THIS] if db["troubles"].exists() else [_SCHEMA]
    for statement in ";\n".join(scripts).split(";\n"):  # not as a script, which would commit half a migration
        db.execute(statement)
    db.execute("insert into secrets values ('mail', ?) on conflict do nothing", [secrets.token_bytes(32)])


@migrations(name=_REPAIRED)
def _repair(db: Database) -> None:
    """Without papers that arXiv dated in the future: one of them hid every late batch."""
    db.execute(f"delete from paper_categories where arxiv_id in (select arxiv_id from papers where {_IMPOSSIBLE})")
    db.execute(f"delete from papers where {_IMPOSSIBLE}")


@migrations(name=_FILTERS)
def _know_lists(db: Database) -> None:
    """The lists that are no news, and a day's papers that a filter left out."""
    if "filtered" not in db["days"].columns_dict:
        db.execute("alter table days add column filtered integer not null default 0")
    db.execute("create table if not exists lists (name text primary key, since text not null) strict, without rowid")
    db.execute("create index if not exists started_at on started (at)")
    db.execute("insert or ignore into lists select list, min(at) from days group by list")


_COLUMNS = {
    "digests": (
        "link text not null default ''",  # the token of its page; empty: it has none
        "shown blob",  # what that page is made of, compressed; null: it has none
        "indexed integer not null default 0",  # its papers are in the search index of the public archive
    ),
    "suppressions": ("own integer not null default 0",),  # the person's own wish, which signing up again undoes
}
_ANSWERS = """
create index if not exists digests_unindexed on digests (list, date)
    where indexed = 0 and shown is not null and superseded is null;
create index if not exists digests_link on digests (link) where link != '';

create table if not exists readers (
    leave text primary key,     -- the token of the way out, which a mail carries; it never ends
    vote text not null,         -- the token of the votes
    list text not null,
    address text not null
) strict, without rowid;
create index if not exists readers_vote on readers (vote);

create table if not exists votes (
    list text not null,
    arxiv_id text not null,
    address text not null,
    vote integer not null,      -- 1 or -1
    at text not null,
    primary key (list, arxiv_id, address)
) strict, without rowid;

create table if not exists signups (
    token text primary key,     -- of the link in the confirmation mail
    list text not null,
    address text not null,
    state text not null,        -- asked, mailed, confirmed, done or ended; see signups.py
    at text not null,           -- when the form was sent
    attempts integer not null default 0,    -- in this state
    try_at text,                -- retry backoff: not before; null: at once
    problem text not null default ''        -- for people: why the last attempt failed
) strict, without rowid;
create index if not exists signups_at on signups (at);

create table if not exists webhooks (
    digest_id integer primary key references digests (id),
    state text not null,        -- pending, sending, sent or failed
    attempts integer not null default 0,
    try_at text,                -- retry backoff: not before; null: at once
    reply text not null default '',
    at text not null
) strict;
create index if not exists webhooks_waiting on webhooks (digest_id) where state in ('pending', 'sending');

insert or ignore into readers
    select token, voting(token), list, address from deliveries join digests on digests.id = digest_id
    where token != '' group by token
"""


@migrations(name=_READERS)
def _hear_readers(db: Database) -> None:
    """What readers answer, and the pages on which they do."""
    for table, columns in _COLUMNS.items():
        for column in columns:
            if column.split()[0] not in db[table].columns_dict:
                db.execute(f"alter table {table} add column {column}")
    db.conn.create_function("voting", 1, vote_token, deterministic=True)
    for statement in _ANSWERS.split(";\n"):
        db.execute(statement)


_LEARNING = """
create table if not exists samples (
    list text not null,
    arxiv_id text not null,     -- that the shortlist left out, and that was scored all the same: chosen by chance
    date text not null,         -- the list's day
    primary key (list, date, arxiv_id)
) strict, without rowid;

create table if not exists learned (
    list text not null,
    kind text not null,         -- what from: scores or votes
    at text not null,           -- when it was last looked for something to learn
    key text not null,          -- what the weights depend on, beside the examples
    since text,                 -- examples from before are not learned
    oldest text,                -- of the examples
    until text,                 -- the last one: its instant
    until_id text,              -- and its paper
    examples integer,
    weights blob,               -- null: there was nothing to learn from
    primary key (list, kind)
) strict
"""


@migrations(name=_LEARN)
def _learn(db: Database) -> None:
    """What a list has learned, and what its shortlist leaves out."""
    if "not_called" not in db["days"].columns_dict:
        db.execute("alter table days add column not_called integer not null default 0")
    for statement in _LEARNING.split(";\n"):
        db.execute(statement)


_SHORT = """
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
    novelty integer,
    comment text,               -- null: none
    given integer not null,     -- Unix time
    primary key (judge_id, paper_id, list_id)   -- in this order, since lists share scores
) strict, without rowid;

insert into list_keys (list) select list from seen union select list from scores;
insert into paper_keys (arxiv_id) select arxiv_id from (
    select arxiv_id, fetched_at from papers
    union select arxiv_id, '' from seen where arxiv_id not in (select arxiv_id from papers)
    union select arxiv_id, '' from scores where arxiv_id not in (select arxiv_id from papers)
) order by fetched_at, arxiv_id;
insert into judges (criteria, model) select distinct criteria, model from scores;
insert into seen_rows select list_keys.id, paper_keys.id, case became
    when 'below' then 0 when 'filtered' then 1 when 'not called' then 2 when 'selected' then 3
    when 'author match' then 4 when 'over the cap' then 5 when 'let go' then 6 when 'before start' then 7 else -1 end,
    coalesce(cast(strftime('%s', date) as integer) / 86400, 0)
    from seen join list_keys using (list) join paper_keys using (arxiv_id);
insert into score_rows select judges.id, paper_keys.id, list_keys.id, relevance, novelty, nullif(comment, ''),
    coalesce(cast(strftime('%s', at) as integer), 0)
    from scores join judges using (criteria, model) join paper_keys using (arxiv_id) join list_keys using (list);
drop table seen;
drop table scores;

create view seen as select list, arxiv_id, case became
    when 0 then 'below' when 1 then 'filtered' when 2 then 'not called' when 3 then 'selected'
    when 4 then 'author match' when 5 then 'over the cap' when 6 then 'let go' when 7 then 'before start'
    else became end as became, date(day * 86400, 'unixepoch') as date
    from seen_rows join list_keys on list_keys.id = list_id join paper_keys on paper_keys.id = paper_id;

create view scores as select criteria, model, arxiv_id, list, relevance, novelty, coalesce(comment, '') as comment,
    strftime('%Y-%m-%dT%H:%M:%S+00:00', given, 'unixepoch') as at
    from score_rows join judges on judges.id = judge_id join paper_keys on paper_keys.id = paper_id
    join list_keys on list_keys.id = list_id
"""


@migrations(name=NOW)
def _shorten(db: Database) -> None:
    """What lists have seen, and scores: most of the rows, in a third of the room."""
    if db["seen_rows"].exists():
        return
    for statement in _SHORT.split(";\n"):
        db.execute(statement)
