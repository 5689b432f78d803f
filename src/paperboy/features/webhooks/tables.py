"""The table of webhooks."""

from paperboy.models import Tables

TABLES = Tables(
    name="webhooks",
    schema="""
create table webhooks (
    digest_id integer primary key references messages (id) on delete cascade,
    state text not null,        -- pending, sent or failed
    attempts integer not null default 0,
    reply text not null default '',     -- the last one
    at text not null            -- when that came
) strict
""",
)
