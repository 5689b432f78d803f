"""Webhooks: each digest is posted to another program."""

from paperboy.models import Tables
from paperboy.service.feature import Feature, lazily

_TABLES = Tables(
    name="webhooks",
    migrations=(
        """
create table webhooks (
    digest_id integer primary key references messages (id) on delete cascade,
    state text not null,        -- pending, sent or failed
    attempts integer not null default 0,
    reply text not null default '',     -- the last one
    at text not null            -- when that came
) strict
""",
        # Calls that a list no longer wanted; newer versions delete such rows at once.
        "delete from webhooks where reply = 'no longer set'",
    ),
)

FEATURE = Feature(
    name="webhooks",
    tables=_TABLES,
    frozen=lazily("webhooks.rows", "frozen"),
    tasks={"webhook": lazily("webhooks.work", "work")},
    problems=lazily("webhooks.reports", "problems"),
    words=lazily("webhooks.reports", "words"),
    status=lazily("webhooks.reports", "status"),
)
