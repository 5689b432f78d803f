"""Webhook calls: a row for each digest of a list with a webhook, written when it is frozen."""

from collections.abc import Collection
from dataclasses import dataclass, field
from datetime import date, datetime
from urllib.parse import urlsplit

from paperboy.models import Day, DeliveryState, MailingList
from paperboy.service.app import App
from paperboy.store.database import Database

KIND = "webhook"


@dataclass(frozen=True, slots=True)
class Call:
    """Call of a list's webhook, for one digest."""

    digest_id: int
    list_name: str
    date: date  # local to the list
    subject: str
    link: str  # the token of the digest's page; empty: it has none
    frozen_at: datetime
    superseded: bool
    state: DeliveryState  # PENDING, SENT or FAILED
    attempts: int
    reply: str  # the last one
    at: datetime  # when that came
    try_at: datetime | None = None  # of the next try; None: never again
    shown: bytes = field(default=b"", repr=False)  # the digest; see mail/archive.py


def get(database: Database, digest_id: int) -> Call | None:
    """Return the call of a digest, in any state, or None if the digest is gone."""
    query = f"select own.*, shown from ({_SELECT} where digest_id = ?) as own join messages on id = digest_id"
    return database.first(query, [digest_id], Call)


def newest(
    database: Database, list_names: Collection[str], *, ended: bool = False
) -> dict[str, Call]:
    """Return, by list, the newest call whose digest is not superseded; with `ended`, the newest
    call that has ended, whether or not its digest is superseded.
    """
    values = {"names": list(list_names), "ended": ended}
    calls = database.rows(f"{_SELECT} where digest_id in {_NEWEST}", values, Call)
    return {call.list_name: call for call in calls}


def record(database: Database, call: Call, state: DeliveryState, reply: str, at: datetime) -> None:
    """Record the result of a call."""
    database.commit(
        "update webhooks set state = ?, reply = ?, attempts = ?, at = ? where digest_id = ?",
        [state, reply, call.attempts, at, call.digest_id],
    )


def since(database: Database, list_name: str) -> datetime | None:
    """Return the time of the first failed call since the last success; None if there is none."""
    return database.value(_SINCE, {"list": list_name})


def delete(database: Database, call: Call) -> None:
    """Delete a call that is no longer wanted."""
    database.commit("delete from webhooks where digest_id = ?", [call.digest_id])


def frozen(
    app: App, mailing_list: MailingList, _: Day, digest_id: int | None, at: datetime
) -> None:
    """Add the call of a digest whose list has a webhook, and its task."""
    if mailing_list.webhook and digest_id:
        insert = "insert into webhooks (digest_id, state, at) values (?, 'pending', ?)"
        app.store.database.execute(insert, [digest_id, at])
        app.store.tasks.add(KIND, str(digest_id), at)


def line(call: Call, mailing_list: MailingList, reply: str) -> str:
    """Say that a call failed, without the URL's path, which is often a secret."""
    host = urlsplit(mailing_list.webhook).hostname
    return f"{call.list_name}: posting the digest of {call.date} to the webhook at {host} failed: {reply}"


_FROM = "from webhooks join digests on digests.id = digest_id"
_SELECT = f"""
select digest_id, list as list_name, date, digests.subject, link, digests.at as frozen_at,
    superseded is not null as superseded, state, coalesce(tries, attempts) as attempts, webhooks.reply, webhooks.at,
    due as try_at
{_FROM} left join tasks on kind = '{KIND}' and tasks.subject = cast(digest_id as text)
"""
_NEWEST = f"""(
    select max(digest_id) {_FROM} where list in (select value from json_each(:names))
    and iif(:ended, state != 'pending', superseded is null) group by list
)"""
_SINCE = f"""
select min(webhooks.at) as since {_FROM} where list = :list and state = 'failed'
    and digest_id > coalesce((select max(digest_id) {_FROM} where list = :list and state = 'sent'), 0)
"""
