"""Webhook calls: a row for each digest of a list with a webhook, written when it is frozen."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime
from urllib.parse import urlsplit

from paperboy.console.words import again
from paperboy.models import Day, DeliveryState, MailingList
from paperboy.reports.problems import Words
from paperboy.service.app import App
from paperboy.service.feature import Shown
from paperboy.store.database import Database
from paperboy.store.incidents import Incident

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
    """Return, by list, the call of the newest digest that has one and is not superseded; with
    `ended`, of the newest whose call has ended, superseded or not.
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


# What the operator sees


def words() -> Mapping[str, Words]:
    """Return the words of a call that failed for good."""
    return {
        KIND: Words(
            "The webhook of {names} did not receive a digest",
            "Mail is not affected. That digest is not posted again; the next one is.",
            "Correct the list's webhook in subscribers.yaml, or remove it. paperboy status shows the last reply.",
            "the webhook of {names} works",
            concerns=lambda mailing_list: bool(mailing_list.webhook),
        )
    }


def problems(app: App) -> Iterator[Incident]:
    """Yield a problem for each list whose last call failed for good."""
    lists = {
        mailing_list.name: mailing_list for mailing_list in app.home.lists if mailing_list.webhook
    }
    database = app.store_to_ask.database
    for name, call in newest(database, lists, ended=True).items():
        if call.state is DeliveryState.FAILED:
            yield Incident(
                kind=KIND,
                subject=name,
                since=database.value(_SINCE, {"list": name}) or call.at,
                last=call.at,
                reason=call.reply,
                facts={"lines": [line(call, lists[name], call.reply)]},
            )


def status(app: App, lists: Sequence[MailingList], _: datetime) -> Shown:
    """Show the call of each list's newest digest."""
    names = [mailing_list.name for mailing_list in lists if mailing_list.webhook]
    of_lists = {}
    wrong = []
    for name, call in newest(app.store_to_ask.database, names).items():
        of_lists[name] = {
            "date": call.date,
            "state": call.state,
            "reply": call.reply,
            "attempts": call.attempts,
            "at": call.at,
            "next_try": call.try_at,
        }
        if call.reply and call.state is not DeliveryState.SENT:
            failed = "failed, " if call.state is DeliveryState.FAILED else ""
            then = again(app.retry(call.try_at), app.clock(), app.settings.timezone)
            reply = f"{failed}{call.reply}{then}"
            wrong.append((name, f", {call.date:%a %d %b}: webhook: {reply}"))
    return Shown(key="webhook", of_lists=of_lists, wrong=wrong)
