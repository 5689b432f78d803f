"""Who asked to be put on a list, until the list's file has them.

asked      the form was sent; a confirmation mail is to go out
mailed     it went out; for seven days its link confirms
confirmed  the address is to be written into the file
done       the file has it; the link says so for the rest of its seven days
ended      nothing follows; kept, since it counts for the limits
"""

from __future__ import annotations

import hmac
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

from paperboy.store.database import Database, iso

HOLDS = timedelta(days=7)
_MOST_A_MINUTE = 10  # confirmation mails to all addresses; to one address it is one a day
_ID = 16  # digits of a token by which it is looked up; the others are compared in constant time


class Stage(StrEnum):
    """How far somebody has come."""

    ASKED = "asked"
    MAILED = "mailed"
    CONFIRMED = "confirmed"
    DONE = "done"
    ENDED = "ended"


@dataclass(frozen=True, slots=True)
class Signup:
    """One request."""

    token: str
    list_name: str
    address: str
    stage: Stage
    at: datetime  # when the form was sent
    attempts: int = 0  # in this stage
    problem: str = ""  # why the last one failed


_SELECT = "select token, list as list_name, address, state as stage, at, attempts, problem from signups"


class Signups:
    """The web process asks and confirms; errands mail and write."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def ask(self, token: str, list_name: str, address: str, now: datetime) -> bool:
        """Note a request. False: a limit was reached, and nothing follows. It takes as long either way."""
        values = {
            "token": token,
            "list": list_name,
            "address": address,
            "now": iso(now),
            "day": iso(now - timedelta(days=1)),
            "minute": iso(now - timedelta(minutes=1)),
        }
        with self._database.transaction():
            added = self._database.execute(
                f"""insert or ignore into signups select :token, :list, :address, 'asked', :now, 0, null, ''
                where not exists (select 1 from signups where address = :address collate nocase and at > :day)
                and (select count(*) from signups where at > :minute) < {_MOST_A_MINUTE}""",
                values,
            )
        return added == 1

    def find(self, token: str, now: datetime) -> Signup | None:
        """The request of a confirmation mail's link, while that holds."""
        rows = self._rows(
            f"{_SELECT} where token between :id and :id || 'g' and at > :old and state != 'ended'",
            {"id": token[:_ID], "old": iso(now - HOLDS)},
        )
        return next((each for each in rows if hmac.compare_digest(each.token.encode(), token.encode())), None)

    def confirm(self, signup: Signup) -> None:
        """Have the address written."""
        self._move(signup, Stage.CONFIRMED)

    def due(self, now: datetime) -> tuple[Signup, ...]:
        """Those for which something is to be done now, oldest first."""
        return tuple(self._rows(f"{_SELECT} where {_DUE} order by at, token", {"now": iso(now)}))

    def is_due(self, now: datetime) -> bool:
        """Whether there is one."""
        return bool(self._database.rows(f"select 1 from signups where {_DUE} limit 1", {"now": iso(now)}))

    def waiting(self) -> tuple[Signup, ...]:
        """The confirmed ones that are not in the file yet, oldest first."""
        return tuple(self._rows(f"{_SELECT} where state = 'confirmed' order by at, token", {}))

    def mailed(self, signup: Signup) -> None:
        self._move(signup, Stage.MAILED)

    def done(self, signup: Signup) -> None:
        self._move(signup, Stage.DONE)

    def end(self, signup: Signup, why: str) -> None:
        """Nothing follows."""
        self._move(signup, Stage.ENDED, why)

    def postpone(self, signup: Signup, problem: str, until: datetime) -> None:
        """Retry backoff."""
        self._change(
            "update signups set attempts = attempts + 1, problem = ?, try_at = ? where token = ? and state = ?",
            [problem, iso(until), signup.token, signup.stage],
        )

    def _move(self, signup: Signup, stage: Stage, problem: str = "") -> None:
        """Unless it has come further meanwhile, as when somebody confirms while the mail is being recorded."""
        self._change(
            "update signups set state = ?, problem = ?, attempts = 0, try_at = null where token = ? and state = ?",
            [stage, problem, signup.token, signup.stage],
        )

    def _change(self, statement: str, values: list[str]) -> None:
        with self._database.transaction():
            self._database.execute(statement, values)

    def _rows(self, query: str, values: dict[str, str]) -> list[Signup]:
        def made(stage: str, **columns: object) -> Signup:
            return Signup(stage=Stage(stage), **columns)  # type: ignore[arg-type]

        return self._database.rows(query, values, made)


_DUE = "state in ('asked', 'confirmed') and coalesce(try_at, '') <= :now"
