"""Who asked to be put on a list, until the list's file has them.

asked      the form was sent; a confirmation mail is to go out
mailed     it went out; for seven days its link confirms
confirmed  the address is to be written into the file
done       the file has it; the link says so for the rest of its seven days
ended      nothing follows; kept, since it counts for the limits
"""

from datetime import datetime, timedelta
from enum import StrEnum
from typing import NamedTuple

from paperboy.store.database import Database, is_token
from paperboy.store.tasks import Tasks

KIND = "sign-up"  # of task, and of the problem that the list's file cannot be edited

HOLDS = timedelta(days=7)
WINDOW = timedelta(hours=1)  # in which requests are counted
_LIST_HOLDS = 100  # requests in an hour: a lecture hall may sign up at once
_ALL_HOLD = 300  # three lists' worth, so that a flood of one list leaves the others open
_DAY = timedelta(days=1)  # a mailbox gets one confirmation mail in it
_GMAIL = {"gmail.com", "googlemail.com"}


class Stage(StrEnum):
    """How far somebody has come."""

    ASKED = "asked"
    MAILED = "mailed"
    CONFIRMED = "confirmed"
    DONE = "done"
    ENDED = "ended"


class Signup(NamedTuple):
    """One request."""

    token: str
    list_name: str
    address: str
    stage: str  # a Stage
    at: datetime  # when the form was sent
    problem: str = ""  # why the last attempt failed


_ASKED = (
    "select count(*) as of_all, total(list = :list) as of_list from signups where at > :hour_ago"
)
_SELECT = f"""
select token, list as list_name, address, state as stage, at, coalesce(reply, '') as problem
from signups left join tasks on kind = '{KIND}' and subject = token
"""


def ask(database: Database, token: str, list_name: str, address: str, now: datetime) -> bool:
    """Note a request. Return False, whatever the address, while a rate limit is reached.

    For a mailbox that had a request within a day nothing is noted, and True returned, so that the
    page tells no stranger who has asked. (Whoever has filled the rate to its last request can still
    see whether one was noted.)
    """
    values = {
        "token": token,
        "list": list_name,
        "address": address,
        "now": now,
        "hour_ago": now - WINDOW,
        "day_ago": now - _DAY,
    }
    database.define("mailbox", _mailbox)
    with database.transaction():
        (asked,) = database.rows(_ASKED, values)
        if asked["of_all"] >= _ALL_HOLD or asked["of_list"] >= _LIST_HOLDS:
            return False
        if database.execute(_ASK, values):
            Tasks(database).add(KIND, token, now)
    return True


def find(database: Database, token: str, now: datetime) -> Signup | None:
    """Return the request of a confirmation mail's link, while that holds."""
    query = f"{_SELECT} where {is_token('token')} and at > :old and state != 'ended'"
    return database.first(query, {"token": token, "old": now - HOLDS}, Signup)


def get(database: Database, token: str) -> Signup | None:
    """Return a request."""
    return database.first(f"{_SELECT} where token = ?", [token], Signup)


def waiting(database: Database) -> list[Signup]:
    """Return the confirmed ones that are not in the file yet, oldest first."""
    return database.rows(f"{_SELECT} where state = 'confirmed' order by at, token", make=Signup)


def move(database: Database, signup: Signup, stage: Stage) -> None:
    """Record its new stage, unless it has come further meanwhile, as when somebody confirms while
    the mail is being recorded.
    """
    database.commit(
        "update signups set state = ? where token = ? and state = ?",
        [stage, signup.token, signup.stage],
        durable=True,
    )


# Where a mail server knows no "+", "ada+x" is not Ada's: a request for it does not use up hers for
# "ada".
_ASK = """
insert or ignore into signups select :token, :list, :address, 'asked', :now
where not exists (
    select 1 from signups where at > :day_ago and mailbox(address) = mailbox(:address)
    and (instr(:address, '+') or not instr(address, '+'))
)
"""


def _mailbox(address: str) -> str:
    """Return what all addresses of a mailbox have in common, as far as their spelling shows it."""
    local, _, domain = address.lower().rpartition("@")
    local = local.partition("+")[0]
    if domain in _GMAIL:
        return f"{local.replace('.', '')}@gmail.com"
    return f"{local}@{domain}"
