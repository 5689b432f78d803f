"""Whether a list is due, until when it waits, when it is retried: pure functions of instants.

The only place that answers. The daemon, `once` and `status` ask `standing`:

    EMPTY    no subscribers: it costs nothing, and is never due
    PAUSED   the operator has paused it; at its hour a morning records that (`skipped`)
    DONE     today has an outcome that stands
    OFF      today is not one of its weekdays; at its hour a morning records that (`skipped`). Or the list is new, and
             the service did not know it yet at its hour: then today needs no morning
    COMING   its hour has not come
    DUE      its hour has come, and today has no outcome yet
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from enum import StrEnum
from itertools import count

from paperboy.models import Attempt, MailingList, Outcome
from paperboy.sources import sources_of

RETRY = timedelta(minutes=15)  # retry backoff after a failed morning
_FIRST_BACKOFF, _LONGEST_BACKOFF = timedelta(minutes=5), timedelta(hours=4)
LONGEST_WINDOW = timedelta(days=30)
_LAST_TRY = timedelta(minutes=20)  # before midnight, longer than a retry takes to come
_DAY = timedelta(days=1)


class ListState(StrEnum):
    """Where a list stands on its local date."""

    EMPTY = "empty"
    PAUSED = "paused"
    OFF = "off"
    COMING = "coming"
    DUE = "due"
    DONE = "done"


@dataclass(frozen=True, slots=True)
class Standing:
    """Where a list stands, and what comes next. Instants are in UTC."""

    state: ListState
    day: date  # the list's local date
    start: datetime  # the hour at which that day's work starts
    next_try: (
        datetime | None
    )  # when a morning may serve the day, DUE, OFF or PAUSED; None: the day needs none now
    gives_up: datetime  # until when it waits for a late source or a dead LLM, from its first try on; before midnight
    next_digest: (
        datetime | None
    )  # when one may come next; in the past: it is due. None: nobody would get it

    def ready(self, now: datetime) -> bool:
        """Whether a morning may serve the day now."""
        return self.next_try is not None and self.next_try <= now


def standing(
    mailing_list: MailingList,
    outcome: Outcome | None,
    attempt: Attempt | None,
    now: datetime,
    patience: timedelta,
    since: datetime | None = None,
) -> Standing:
    """Where the list stands. `outcome` is that of its local date, `attempt` its last failed one.
    `since`: when the service first knew the list, which is not due for an hour before that.
    """
    day = local_date(mailing_list, now)
    start = begins(mailing_list, day)
    is_new = since is not None and start < since
    if not mailing_list.subscribers:
        state = ListState.EMPTY
    elif mailing_list.paused:
        state = ListState.PAUSED
    elif outcome not in {None, Outcome.SKIPPED}:
        state = ListState.DONE
    elif is_new or not sends_on(mailing_list, day):
        state = ListState.OFF
    else:
        state = ListState.DUE if now >= start else ListState.COMING

    of_today = attempt if attempt and local_date(mailing_list, attempt.at) == day else None
    next_try = next_digest = None
    off = (
        state in {ListState.OFF, ListState.PAUSED}
        and outcome is None
        and now >= start
        and not is_new
    )
    if state is ListState.DUE or off:
        next_try = max(start, of_today.next_try) if of_today else start
    if state in {ListState.DUE, ListState.COMING}:
        next_digest = start
    elif state not in {ListState.EMPTY, ListState.PAUSED}:
        next_digest = next_morning(mailing_list, max(now, start))

    first_try = of_today.since if of_today else now if state is ListState.DUE else start
    midnight = datetime.combine(day + _DAY, time(), mailing_list.timezone).astimezone(UTC)
    gives_up = min(max(start, first_try) + patience, midnight - _LAST_TRY)
    return Standing(state, day, start, next_try, gives_up, next_digest)


def failed(
    mailing_list: MailingList,
    reason: str,
    before: Attempt | None,
    began: datetime,
    now: datetime,
    *,
    unscored: int = 0,
) -> Attempt:
    """Return the attempt of a morning that `began` then and has failed by `now`, after the attempt
    `before`.
    """
    since = began
    if (
        before
        and before.since <= began
        and local_date(mailing_list, before.since) == local_date(mailing_list, began)
    ):
        since = before.since
    return Attempt(
        mailing_list.name, reason, at=began, since=since, next_try=now + RETRY, unscored=unscored
    )


def backoff(tries: int) -> timedelta:
    """Return the retry backoff of an address or a task that was tried so often before."""
    return min(_FIRST_BACKOFF * (1 << min(tries, 10)), _LONGEST_BACKOFF)


def local_date(mailing_list: MailingList, now: datetime) -> date:
    """The list's own date at an instant."""
    return now.astimezone(mailing_list.timezone).date()


def begins(mailing_list: MailingList, day: date) -> datetime:
    """When the list's work starts on one of its local dates, in UTC.

    An hour that the clock skips in spring is that much later; one that comes twice in autumn is the
    first of the two.
    """
    return datetime.combine(day, mailing_list.send_at, mailing_list.timezone).astimezone(UTC)


def sends_on(mailing_list: MailingList, day: date) -> bool:
    """Whether that of the list's local dates is one of its weekdays."""
    return day.weekday() in mailing_list.weekdays


def off(mailing_list: MailingList, day: date, *, any_day: bool = False) -> str:
    """Why the list sends nothing on that of its local dates; empty if it may. `any_day`: a person
    asked for the list itself, whatever its weekdays.
    """
    if mailing_list.paused:
        return "paused"
    return "" if any_day or sends_on(mailing_list, day) else f"it does not send on {day:%A}s"


def is_open(
    mailing_list: MailingList,
    day: date,
    outcome: Outcome | None,
    *,
    by_hand: bool = False,
    any_day: bool = False,
) -> bool:
    """Whether that day of the list can still get an outcome: it has none, or was skipped and the
    list now sends on it. A person may also ask for a day that was given up, and by the list's name
    for a quiet one.
    """
    if outcome is None:
        return True
    may = {Outcome.SKIPPED}
    if by_hand:
        may.add(Outcome.GAVE_UP)
    if any_day:
        may.add(Outcome.QUIET)
    return outcome in may and not off(mailing_list, day, any_day=any_day)


def cannot_begin(
    mailing_list: MailingList,
    since: date,
    outcome: Outcome | None,
    now: datetime,
    lookback: timedelta,
) -> str:
    """Why the list cannot begin with the papers since that local date; empty if it can."""
    today = local_date(mailing_list, now)
    if not today - lookback <= since <= today:
        return f"--since must be from {today - lookback} (ARXIV_LOOKBACK_DAYS) to {today}"
    return (
        f"has had today's {outcome} already; --since works again tomorrow"
        if outcome and outcome.is_served
        else ""
    )


def beginning(mailing_list: MailingList, since: date) -> Mapping[str, datetime]:
    """When submission began to the first batch that became visible from that of the list's local
    dates on, by the keys of its sources.
    """
    midnight = datetime.combine(since, time(), mailing_list.timezone).astimezone(UTC)
    found = dict[str, datetime]()
    for source in sources_of(mailing_list.categories):
        days = (midnight + ahead * _DAY for ahead in count())
        batches = (source.calendar.newest_batch(day, mailing_list.holidays) for day in days)
        found[source.key] = next(
            batch.submitted_from for batch in batches if batch.visible >= midnight
        )
    return found


def looked_early(mailing_list: MailingList, day: date, at: datetime) -> bool:
    """Whether a look on that day was before a batch that the list's hour has: if it found nothing,
    it says nothing of the day.
    """
    start, holidays = begins(mailing_list, day), mailing_list.holidays
    sources = sources_of(mailing_list.categories)
    return any(source.calendar.newest_batch(start, holidays).visible > at for source in sources)


def no_batch(mailing_list: MailingList, start: datetime) -> str:
    """Why no source of the list showed a batch between its morning that begins then and the one
    before, such as "weekend"; empty if one did.
    """
    days = (local_date(mailing_list, start) - timedelta(days=ago) for ago in range(1, 9))
    before = next(day for day in days if sends_on(mailing_list, day))
    since, holidays = begins(mailing_list, before), mailing_list.holidays
    sources = sources_of(mailing_list.categories)
    reasons = [source.calendar.why_none(since, start, holidays) for source in sources]
    return ", ".join(dict.fromkeys(reasons)) if all(reasons) else ""


def next_morning(mailing_list: MailingList, now: datetime) -> datetime:
    """When the list's next digest may come: its hour on the next of its weekdays after this
    instant, in UTC.
    """
    today = local_date(mailing_list, now)
    days = (today + timedelta(days=ahead) for ahead in range(9))
    starts = (begins(mailing_list, day) for day in days if sends_on(mailing_list, day))
    return next(start for start in starts if start > now)
