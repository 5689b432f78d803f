"""Sign-ups for open lists: a web form, a confirmation mail, and an edit of the list's file."""

from paperboy.models import Tables
from paperboy.service.feature import Feature, lazily

_TABLES = Tables(
    name="signups",
    migrations=(
        """
create table signups (
    token text primary key,     -- of the link in the confirmation mail
    list text not null,
    address text not null,
    state text not null,        -- asked, mailed, confirmed, done or ended
    at text not null            -- when the form was sent
) strict, without rowid;
create index signups_at on signups (at)
""",
    ),
    retain={"sign-ups": ("delete from signups where at < :week and state != 'confirmed'",)},
    erase=("delete from signups where redacted(address) = '…'",),
)

FEATURE = Feature(
    name="signups",
    tables=_TABLES,
    pages=lazily("signups.pages", "rules"),
    samples=lazily("signups.pages", "samples"),
    tasks={"sign-up": lazily("signups.work", "work")},
    problems=lazily("signups.reports", "problems"),
    words=lazily("signups.reports", "words"),
    status=lazily("signups.reports", "status"),
)
