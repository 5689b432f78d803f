"""The table of sign-ups."""

from paperboy.models import Tables

TABLES = Tables(
    name="signups",
    schema="""
create table signups (
    token text primary key,     -- of the link in the confirmation mail
    list text not null,
    address text not null,
    state text not null,        -- asked, mailed, confirmed, done or ended
    at text not null            -- when the form was sent
) strict, without rowid;
create index signups_at on signups (at)
""",
    retain={"sign-ups": ("delete from signups where at < :week and state != 'confirmed'",)},
    erase=("delete from signups where redacted(address) = '…'",),
)
