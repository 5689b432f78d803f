"""Sign-up requests, until the list's file has the address.

asked      the form was sent; a confirmation mail is to go out
mailed     it went out; for seven days its link confirms
confirmed  the address is to be written into the file
done       the file has it; the link says so for the rest of its seven days
ended      nothing follows; kept because it counts towards the rate limits
"""

from datetime import datetime, timedelta
from enum import StrEnum
from typing import NamedTuple

from paperboy.store.database import Database, is_token
from paperboy.store.tasks import Tasks

KIND = "sign-up"  # of task, and of the problem that the list's file cannot be edited

HOLDS = timedelta(days=7)  # how long the link in a confirmation mail works
WINDOW = timedelta(hours=1)  # in which requests are counted
_MOST = 100  # requests in an hour: a lecture hall may sign up at once
_DAY = timedelta(days=1)  # in which a mailbox gets at most one confirmation mail
_GMAIL = {"gmail.com", "googlemail.com"}


class Stage(StrEnum):
    """Stage of a request."""

    ASKED = "asked"
    MAILED = "mailed"
    CONFIRMED = "confirmed"
    DONE = "done"
    ENDED = "ended"


class Signup(NamedTuple):
    """Request to be put on a list."""

    token: str
    list_name: str
    address: str
    stage: str  # a Stage
    at: datetime  # when the form was sent
    problem: str = ""  # why the last attempt failed
    due: datetime | None = None  # of the next attempt


_SELECT = f"""
select token, list as list_name, address, state as stage, at, coalesce(reply, '') as problem, due
from signups left join tasks on kind = '{KIND}' and subject = token
"""


def ask(database: Database, token: str, list_name: str, address: str, now: datetime) -> bool:
    """Record a request. Return False, whatever the address, while a rate limit is reached.

    A mailbox's second request within a day is not recorded, but also returns True, so that no
    stranger learns who has asked. (A stranger who uses up the rate limit except for one request can
    still find out.)
    """
    database.define("mailbox", _mailbox)
    with database.transaction():
        (count,) = database.column("select count(*) from signups where at > ?", [now - WINDOW])
        if count >= _MOST:
            return False
        is_new = database.execute(_ASK, [token, list_name, address, now, now - _DAY, address])
        if is_new:
            Tasks(database).add(KIND, token, now)
    return True


def find(database: Database, token: str, now: datetime) -> Signup | None:
    """Return the request behind the link in a confirmation mail, while the link works."""
    query = f"{_SELECT} where {is_token('token')} and at > :old and state != 'ended'"
    return database.first(query, {"token": token, "old": now - HOLDS}, Signup)


def get(database: Database, token: str) -> Signup | None:
    """Return a request, however old."""
    return database.first(f"{_SELECT} where token = ?", [token], Signup)


def waiting(database: Database) -> list[Signup]:
    """Return the confirmed requests that are not in the file yet, oldest first."""
    return database.rows(f"{_SELECT} where state = 'confirmed' order by at, token", make=Signup)


def move(database: Database, signup: Signup, stage: Stage) -> None:
    """Record a request's new stage, unless it has moved on meanwhile, as when a reader confirms
    while the mail is being recorded.
    """
    database.commit(
        "update signups set state = ? where token = ? and state = ?",
        [stage, signup.token, signup.stage],
        durable=True,
    )


_ASK = """
insert or ignore into signups select ?, ?, ?, 'asked', ?
where not exists (select 1 from signups where at > ? and mailbox(address) = mailbox(?))
"""


def _mailbox(address: str) -> str:
    """Return a key for the address's mailbox, without the parts that most mail servers ignore."""
    local, _, domain = address.lower().rpartition("@")
    local = local.partition("+")[0]
    if domain in _GMAIL:
        return f"{local.replace('.', '')}@gmail.com"
    return f"{local}@{domain}"
