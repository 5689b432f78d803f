"""Deliveries put back as if they had never been tried: what `resend` does to the ledger."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import date, datetime

from paperboy.models import Addressed
from paperboy.store.database import Database, iso


class PuttingBack:
    """For those of a list whom it is `addressed` to and who are not suppressed. The caller holds the transaction."""

    def __init__(self, database: Database, list_name: str, addressed: Sequence[Addressed], at: datetime) -> None:
        self._database = database
        people = [[of.subscriber.address, of.subscriber.name, of.message_id, of.token] for of in addressed]
        self._values: dict[str, object] = {"list": list_name, "at": iso(at), "addressed": json.dumps(people)}

    def missed(self, digest_id: int, *, failed_only: bool, by_mail: bool) -> int:
        """Of a digest, what failed or stayed ambiguous; unless that is all, also what was deferred or suppressed, and
        what reached only the outbox, if mail leaves `by_mail` now. How many.
        """
        more = {"digest": digest_id, "failed_only": failed_only, "by_mail": by_mail}
        return self._database.execute(_PUT_BACK, self._values | more)

    def joined_since(self, digest_id: int) -> int:
        """A delivery of the digest for each who has none. How many."""
        return self._database.execute(_JOINED_SINCE, self._values | {"digest": digest_id})

    def given_up(self, since: date) -> dict[date, int]:
        """What was given up after three days, of the list's digests since a day: how many, by the digest's date."""
        rows = self._database.rows(
            "select id, date from digests where list = :list and date >= :since and superseded is null order by date",
            self._values | {"since": since.isoformat()},
        )
        numbers = {row["date"]: self._database.execute(_GIVEN_UP, self._values | {"digest": row["id"]}) for row in rows}
        return {date.fromisoformat(day): number for day, number in numbers.items() if number}


_WANTED = """
(
    select json_extract(value, '$[0]') as address, json_extract(value, '$[1]') as name,
        json_extract(value, '$[2]') as message_id, json_extract(value, '$[3]') as token
    from json_each(:addressed) where not exists (
        select 1 from suppressions
        where holds and list in ('', :list) and suppressions.address = lower(json_extract(value, '$[0]'))
    )
)
"""

_AS_NEW = f"""
update deliveries
set state = 'pending', attempts = 0, uncertain = 0, try_at = null, via = '', bounce = 0, given_up = 0,
    again = :at, at = :at
where digest_id = :digest and lower(address) in (select lower(address) from {_WANTED})
"""

_PUT_BACK = f"""
{_AS_NEW} and (
    state in ('failed', 'ambiguous') or not :failed_only and (
        state in ('deferred', 'suppressed') or state = 'sent' and via = 'outbox' and :by_mail
    )
)
"""

_GIVEN_UP = f"{_AS_NEW} and state = 'failed' and given_up"

_JOINED_SINCE = f"""
insert into deliveries (digest_id, address, name, state, message_id, token, again, at)
select :digest, address, name, 'pending', message_id, token, :at, :at from {_WANTED} as wanted where not exists (
    select 1 from deliveries as had where had.digest_id = :digest and had.address = wanted.address collate nocase
)
"""
