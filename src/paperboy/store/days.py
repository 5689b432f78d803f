"""Days of lists: their outcomes and digests."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import asdict
from datetime import date, datetime, timedelta

from paperboy.due import Standing, local_date, looked_early, standing
from paperboy.models import Attempt, Day, MailingList, Outcome, PaperOutcome
from paperboy.store.database import Noun
from paperboy.store.ledger import WORTH_SENDING, Ledger, pack
from paperboy.store.readers import Readers
from paperboy.store.seen import CODES, KNOW_LIST, LIST_KEY, PAPER_KEYS, day_number


class Days(Noun):
    """Days of lists, by (list, local date): one outcome and at most one digest each."""

    def outcomes(self, lists: Sequence[MailingList], now: datetime) -> dict[str, Outcome | None]:
        """Return the outcome of each list's current local date, by its name. None: there is none yet,
        or the day is quiet but was looked at too early.
        """
        by_name = {mailing_list.name: mailing_list for mailing_list in lists}
        dates = {name: local_date(by_name[name], now).isoformat() for name in by_name}
        rows = self._rows(
            """select list, date, outcome, at
            from json_each(?) as wanted cross join days on list = wanted.key and date = wanted.value""",
            [dates],
        )
        outcomes = dict[str, Outcome | None].fromkeys(by_name)
        for row in rows:
            name = row["list"]
            is_quiet = row["outcome"] is Outcome.QUIET
            if not (is_quiet and looked_early(by_name[name], row["date"], row["at"])):
                outcomes[name] = row["outcome"]
        return outcomes

    def standings(
        self,
        lists: Sequence[MailingList],
        now: datetime,
        patience: timedelta,
        since: Mapping[str, datetime],
    ) -> dict[str, Standing]:
        """Return each list's standing, by name. `since`: when the service first saw the list."""
        outcomes = self.outcomes(lists, now)
        attempts = self.attempts()
        standings = {}
        for mailing_list in lists:
            name = mailing_list.name
            attempt = attempts.get(name)
            standings[name] = standing(
                mailing_list, outcomes[name], attempt, now, patience, since.get(name)
            )
        return standings

    def last(self, list_name: str, until: date) -> date | None:
        """Return the list's newest day with an outcome; any later one is from a clock that was
        ahead.
        """
        query = "select max(date) as date from days where list = ? and date <= ?"
        return self._value(query, [list_name, until])

    def last_considered(self, list_name: str, before: date) -> datetime | None:
        """Return when the list last considered all papers, on a day earlier than `before`."""
        query = (
            "select max(at) as at from days where list = ? and date < ? and outcome in (?, ?, ?)"
        )
        values = [list_name, before, Outcome.DIGEST, Outcome.NOTE, Outcome.QUIET]
        return self._value(query, values)

    def first_seen(self, list_names: Collection[str], now: datetime) -> dict[str, datetime]:
        """Return when each list was first seen, recording new ones that have not begun."""
        values = {"names": list(list_names), "now": now}
        if self._rows(f"select value {_NEWS}", values):
            self._commit(f"insert into lists select value, :now {_NEWS}", values)
        return self._pairs("select name, since from lists")

    def pause(self, list_name: str) -> None:
        """Forget that the list has begun: when it comes back, it starts with the newest batch."""
        deletions = (
            "delete from started where list = :list",
            "delete from lists where name = :list",
        )
        self._execute_each(deletions, {"list": list_name}, durable=False)

    def begin_again(self, list_name: str, source: str, since: datetime) -> None:
        """Let the list get a source's papers submitted since then, which were too old for it when it
        began.
        """
        self._commit(
            f"""delete from seen_rows where list_key = {LIST_KEY} and became = :became and paper_key in (
                select paper_keys.key from papers join paper_keys using (id)
                where published >= :since and substr(id, 1, instr(id, ':')) = :prefix
            )""",
            {
                "list": list_name,
                "became": CODES[PaperOutcome.BEFORE_START],
                "since": since,
                "prefix": f"{source}:" if source else "",
            },
        )

    def started(self, list_name: str, absence: timedelta) -> frozenset[str]:
        """Return the categories and cross-lists the list has been served from. Empty if it is new,
        or was not served for the `absence` while other lists were: then it begins anew.
        """
        newest = self._value("select max(at) as at from started")
        since = newest - absence if newest else ""
        query = "select way from started where list = ? and at >= ?"
        return frozenset(self._column(query, [list_name, since]))

    def begin(
        self, list_name: str, ways: Collection[str], too_old: Iterable[str], day: date, at: datetime
    ) -> None:
        """Begin the list: `ways` (categories and cross-lists) serve it; `too_old` papers count as seen."""
        with self._transaction(durable=False):
            self._execute("delete from started where list = ?", [list_name])
            for way in ways:
                self._execute("insert into started values (?, ?, ?)", [list_name, way, at])
            self.too_old(list_name, too_old, day)

    def too_old(self, list_name: str, paper_ids: Iterable[str], day: date) -> None:
        """Record these papers as seen by the list, since it began after them."""
        values = {"list": list_name, "ids": list(paper_ids), "day": day_number(day)}
        self._execute_each((KNOW_LIST, PAPER_KEYS, _TOO_OLD), values, durable=False)

    def note_attempt(self, attempt: Attempt) -> None:
        """Record why the list's last try failed, until a day of the list is frozen."""
        self._commit(
            "insert or replace into attempts values (:list_name, :reason, :at, :since, :next_try, :unscored)",
            asdict(attempt),
        )

    def attempts(self) -> dict[str, Attempt]:
        """Return the last failed try of the lists that are still due, by list."""
        query = "select list as list_name, reason, at, since, next_try, unscored from attempts"
        return {attempt.list_name: attempt for attempt in self._rows(query, make=Attempt)}

    def tries(self, list_name: str) -> dict[str, int]:
        """Count the list's mornings on which an unseen paper could not be scored, though others
        were; by id.
        """
        return self._pairs("select paper_id, mornings from unscored where list = ?", [list_name])

    def freeze(
        self, day: Day, at: datetime, also: Callable[[int | None], object] = lambda _: None
    ) -> None:
        """Store everything that a morning decides for a list, and what `also` writes, given the
        digest's id, in one durable transaction.

        A day that was skipped, given up or quiet can still get an outcome. Raises StoreWriteError,
        and sqlite3.IntegrityError if that day has another outcome already.
        """
        # before the transaction, while others may write
        packed = pack(day.composed) if day.composed else None
        key = {"list": day.list_name, "date": day.date}
        values = key | {
            "day": day_number(day.date),
            "ids": list(day.outcomes),
            "codes": {paper_id: CODES[outcome] for paper_id, outcome in day.outcomes.items()},
            "tried": list(day.tried - day.outcomes.keys()),
        }
        with self._transaction():
            self._execute_each(_FREEZE, values)
            digest_id = None
            if packed:
                Readers(self._database).add(day.list_name, day.copies)
                digest_id = Ledger(self._database).freeze(
                    packed,
                    day.copies,
                    at,
                    list_name=day.list_name,
                    day=day.date,
                    expires=at + WORTH_SENDING,
                )
            row = key | {
                "outcome": day.outcome,
                "reason": day.reason,
                "digest_id": digest_id,
                "model": day.model,
                "at": at,
            }
            self._database.insert("days", row | asdict(day.counts))
            also(digest_id)

    def supersede(self, list_name: str, before: date, at: datetime) -> date | None:
        """Give up the list's digests that reached nobody, from before the day `before` back to the
        last that reached somebody. Their papers are unseen again, except those that were too old,
        let go or not called. Return the newest of these days; None if there are none.

        A digest with a try that was cut short, or lost its connection after the final dot, counts
        as having reached somebody. One whose addresses are all suppressed, except at most one that
        does not exist, is not superseded either. If several do not exist, the server is more likely
        at fault.
        """
        values = {"list": list_name, "before": before, "at": at}
        with self._transaction():
            digests = self._rows(_REACHED_NOBODY, values)
            if not digests:
                return None
            values["ids"] = [digest["id"] for digest in digests]
            self._execute_each(_SUPERSEDE, values)
        newest: date = digests[0]["date"]
        return newest


_NEWS = """
from json_each(:names) where value not in (select name from lists) and value not in (select list from started)
"""
_FREEZE = (
    """delete from days
    where list = :list and date = :date and digest_id is null and outcome in ('skipped', 'gave up', 'quiet')""",
    "delete from unscored where list = :list and paper_id in (select value from json_each(:ids))",
    """insert into unscored select :list, value, 1 from json_each(:tried) where true
    on conflict do update set mornings = mornings + 1""",
    "update spending set date = :date where list = :list and date is null",
    "delete from attempts where list = :list",
    KNOW_LIST,
    PAPER_KEYS,
    f"""insert into seen_rows select {LIST_KEY}, paper_keys.key, codes.value, :day
    from json_each(:codes) as codes join paper_keys on paper_keys.id = codes.key""",
)
_TOO_OLD = f"""
insert or ignore into seen_rows select {LIST_KEY}, paper_keys.key, {CODES[PaperOutcome.BEFORE_START]}, :day
from json_each(:ids) as ids join paper_keys on paper_keys.id = ids.value
"""
_REACHED = """exists (
    select 1 from deliveries
    where frozen_id = digests.id and (state in ('sent', 'ambiguous', 'sending') or uncertain)
)"""
_HAS_A_CHANCE = """(
    select sum(bounce) > 1 or max(not (state = 'failed' and bounce) and (state != 'suppressed' or not exists (
        select 1 from suppressions where holds
        and suppressions.address in (lower(deliveries.address), forgotten(lower(deliveries.address)))
        and suppressions.list in ('', digests.list)
    )))
    from deliveries where frozen_id = digests.id
)"""
_REACHED_NOBODY = f"""
select id, date from digests
where list = :list and date < :before and superseded is null and {_HAS_A_CHANCE} and date > coalesce((
    select date from digests where list = :list and date < :before and {_REACHED} order by date desc limit 1
), '')
order by date desc
"""
_STAY_SEEN = (PaperOutcome.BEFORE_START, PaperOutcome.LET_GO, PaperOutcome.NOT_CALLED)
_THESE = "in (select value from json_each(:ids))"
_THEIR_DAYS = f"list = :list and date in (select date from digests where id {_THESE})"
_SUPERSEDE = (
    f"update messages set superseded = :at where id {_THESE}",
    f"""update deliveries set state = 'failed', at = :at
    where frozen_id {_THESE} and state in ('pending', 'deferred')""",
    f"""delete from seen_rows where list_key = {LIST_KEY} and day in (
        select cast(strftime('%s', date) as integer) / 86400 from digests where id {_THESE}
    ) and became not in {tuple(CODES[outcome] for outcome in _STAY_SEEN)}""",
    f"update days set reached_nobody = 1 where {_THEIR_DAYS}",
)
