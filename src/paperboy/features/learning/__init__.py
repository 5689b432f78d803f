"""Learning: which papers are worth an LLM call, which readers may like, and a ranking for the
embedded scorer.

Each list learns from an LLM's scores, readers' votes and its library, outside the morning. A
random sample measures what the shortlist misses.
"""

from paperboy.models import Tables
from paperboy.service.feature import Feature, lazily

_TABLES = Tables(
    name="learning",
    migrations=(
        """
create table samples (
    list text not null,
    paper_id text not null,     -- that the shortlist left out, and that was scored all the same: chosen by chance
    date text not null,
    primary key (list, date, paper_id)
) strict, without rowid;

create table learned (
    list text not null,
    kind text not null,         -- what from: scores, votes or library
    at text not null,           -- when it was last looked for something to learn
    key text not null,          -- what the weights depend on, beside the examples
    oldest text,                -- of the examples
    until text,                 -- the last one: its instant
    until_id text,              -- and its paper
    examples integer,
    weights blob,               -- null: there was nothing to learn from
    primary key (list, kind)
) strict;

-- An erased reader may have voted: drop the state, so that it is trained again without their votes.
create trigger learned_from_reader after delete on readers
begin delete from learned where kind = 'votes' and list = old.list; end
""",
        """
-- SQLite 3.40 calls a table damaged whose columns do not begin with its key, in the key's order.
create table ordered (
    list text not null,
    date text not null,
    paper_id text not null,     -- that the shortlist left out, and that was scored all the same: chosen by chance
    primary key (list, date, paper_id)
) strict, without rowid;
insert into ordered select list, date, paper_id from samples;
drop table samples;
alter table ordered rename to samples;

create table library_texts (    -- of papers of libraries, as their source has them
    paper_id text primary key,
    title text not null,        -- plain text, as below; empty: the source does not know the paper
    abstract text not null,
    at text not null            -- when a list last learned from it
) strict, without rowid;

create table collections (      -- of Zotero
    name text primary key,      -- as a list's `library`
    version integer not null,   -- of the library there
    items text not null,        -- as JSON
    at text not null            -- when they were fetched
) strict, without rowid;
""",
    ),
    retain={
        "samples": ["delete from samples where date < :old"],
        "libraries": [
            "delete from library_texts where at < :old",
            "delete from collections where at < :old",
        ],
        "states": [
            "delete from learned where at < :settled and list not in (select value from json_each(:lists))"
        ],
    },
)

_HELP = "Refresh the titles of a list's library, for a list without topics."
_learning = lazily("learning.learning", "learning_of")

FEATURE = Feature(
    name="learning",
    tables=_TABLES,
    commands={"learn": ("paperboy.features.learning.command", _HELP)},
    learned=lambda app: _learning(app).learned,
    frozen=lambda app, *given: _learning(app).freeze(*given),
    tasks={
        "learning": lambda app, task, _: _learning(app).work(
            app.home.find(task.subject), app.clock()
        )
    },
    words=lazily("learning.learning", "words"),
    check=lazily("learning.likes", "check"),
    status=lazily("learning.learning", "status"),
)
