"""When a list is due, retried and given up: pure functions of instants.

No other place answers this. A morning, also of `once`, asks `is_open`; the daemon and `status` call
`standing`:

    EMPTY    no subscribers: it costs nothing, and is never due
    PAUSED   the operator has paused it; at its hour a morning records that (`skipped`)
    DONE     today has a final outcome
    OFF      today is not one of its weekdays; at its hour a morning records that (`skipped`).
             Or the list is new, and the service first saw it after its hour: then today needs
             no morning
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

RETRY = timedelta(minutes=15)  # retry backoff after a failed morning, sending or trial
LONGEST_WINDOW = timedelta(days=30)
_FIRST_BACKOFF = timedelta(minutes=5)
_LONGEST_BACKOFF = timedelta(hours=4)
_LAST_TRY = timedelta(minutes=20)  # before midnight; longer than RETRY
_DAY = timedelta(days=1)


class ListState(StrEnum):
    """State of a list on its local date; see the module."""

    EMPTY = "empty"
    PAUSED = "paused"
    OFF = "off"
    COMING = "coming"
    DUE = "due"
    DONE = "done"


@dataclass(frozen=True, slots=True)
class Standing:
    """State of a list, and what comes next. Instants are in UTC."""

    state: ListState
    day: date  # the list's local date
    start: datetime  # when that day's work starts
    next_try: datetime | None  # when a morning may serve the day; None: it needs none now
    gives_up: datetime  # end of its patience with a late source or a dead LLM; before midnight
    next_digest: datetime | None  # in the past: it is due; None: nobody would get it

    def ready(self, now: datetime) -> bool:
        """Check whether a morning may serve the day now."""
        return self.next_try is not None and self.next_try <= now


def standing(
    mailing_list: MailingList,
    outcome: Outcome | None,
    attempt: Attempt | None,
    now: datetime,
    patience: timedelta,
    since: datetime | None = None,
) -> Standing:
    """Return the list's standing. `outcome` is that of its local date, `attempt` its last failed
    morning. `since`: when the service first saw the list, which is not due for an earlier hour.
    """
    day = local_date(mailing_list, now)
    start = begins(mailing_list, day)
    is_new = since is not None and start < since
    state = ListState.DUE if now >= start else ListState.COMING
    if not mailing_list.subscribers:
        state = ListState.EMPTY
    elif mailing_list.paused:
        state = ListState.PAUSED
    elif outcome not in {None, Outcome.SKIPPED}:
        state = ListState.DONE
    elif is_new or not sends_on(mailing_list, day):
        state = ListState.OFF

    if attempt and local_date(mailing_list, attempt.at) != day:
        attempt = None
    skips = state in {ListState.OFF, ListState.PAUSED} and outcome is None
    next_try = None
    if state is ListState.DUE or (skips and now >= start and not is_new):
        next_try = max(start, attempt.next_try) if attempt else start

    next_digest = None
    if state in {ListState.DUE, ListState.COMING}:
        next_digest = start
    elif state in {ListState.DONE, ListState.OFF}:
        next_digest = next_morning(mailing_list, max(now, start))

    first_try = now if state is ListState.DUE else start
    if attempt:
        first_try = max(start, attempt.since)
    last_try = _midnight(mailing_list, day + _DAY) - _LAST_TRY
    return Standing(
        state=state,
        day=day,
        start=start,
        next_try=next_try,
        gives_up=min(first_try + patience, last_try),
        next_digest=next_digest,
    )


def failed(
    mailing_list: MailingList,
    reason: str,
    before: Attempt | None,
    began: datetime,
    now: datetime,
    *,
    unscored: int = 0,
) -> Attempt:
    """Return the attempt of a morning that `began` and failed by `now`, after attempt `before`."""
    since = began
    if before and before.since <= began:
        day = local_date(mailing_list, began)
        since = before.since if local_date(mailing_list, before.since) == day else began

    return Attempt(
        list_name=mailing_list.name,
        reason=reason,
        at=began,
        since=since,
        next_try=now + RETRY,
        unscored=unscored,
    )


def backoff(tries: int) -> timedelta:
    """Return the retry backoff of an address or a task after so many earlier tries."""
    return min(_FIRST_BACKOFF * (1 << min(tries, 10)), _LONGEST_BACKOFF)


def local_date(mailing_list: MailingList, now: datetime) -> date:
    """Return the list's local date at an instant."""
    return now.astimezone(mailing_list.timezone).date()


def begins(mailing_list: MailingList, day: date) -> datetime:
    """Return when the list's work starts on a local date, in UTC.

    A nonexistent local time is shifted by the DST gap; an ambiguous one is its first occurrence.
    """
    return datetime.combine(day, mailing_list.send_at, mailing_list.timezone).astimezone(UTC)


def _midnight(mailing_list: MailingList, day: date) -> datetime:
    return datetime.combine(day, time(), mailing_list.timezone).astimezone(UTC)


def sends_on(mailing_list: MailingList, day: date) -> bool:
    """Check whether a local date is one of the list's weekdays."""
    return day.weekday() in mailing_list.weekdays


def off(mailing_list: MailingList, day: date, *, any_day: bool = False) -> str:
    """Return why the list sends nothing on a local date; empty if it may. `any_day`: the operator
    named the list, so its weekdays do not count.
    """
    if mailing_list.paused:
        return "paused"
    if any_day or sends_on(mailing_list, day):
        return ""
    return f"it does not send on {day:%A}s"


def is_open(
    mailing_list: MailingList,
    day: date,
    outcome: Outcome | None,
    *,
    by_hand: bool = False,
    any_day: bool = False,
) -> bool:
    """Check whether the list's day can still get an outcome: it has none, or was skipped and the
    list now sends on it. `by_hand` also reopens a day that was given up, `any_day` also a quiet
    one.
    """
    if outcome is None:
        return True
    replaceable = {Outcome.SKIPPED}
    if by_hand:
        replaceable.add(Outcome.GAVE_UP)
    if any_day:
        replaceable.add(Outcome.QUIET)
    return outcome in replaceable and not off(mailing_list, day, any_day=any_day)


def cannot_begin(
    mailing_list: MailingList,
    since: date,
    outcome: Outcome | None,
    now: datetime,
    lookback: timedelta,
) -> str:
    """Return why the list cannot begin with the papers since a local date; empty if it can."""
    today = local_date(mailing_list, now)
    if not today - lookback <= since <= today:
        return f"--since must be from {today - lookback} (ARXIV_LOOKBACK_DAYS) to {today}"
    if outcome and outcome.is_served:
        return f"has had today's {outcome} already; --since works again tomorrow"
    return ""


def beginning(mailing_list: MailingList, since: date) -> Mapping[str, datetime]:
    """Return when submission began to the first batch visible from a local date on, by the keys of
    the list's sources.
    """
    midnight = _midnight(mailing_list, since)
    starts = dict[str, datetime]()
    for source in sources_of(mailing_list.categories):
        days = (midnight + ahead * _DAY for ahead in count())
        batches = (source.calendar.newest_batch(day, mailing_list.holidays) for day in days)
        first = next(batch for batch in batches if batch.visible >= midnight)
        starts[source.key] = first.submitted_from

    return starts


def looked_early(mailing_list: MailingList, day: date, at: datetime) -> bool:
    """Check whether a fetch came before a batch that is visible at the list's hour of the day. If
    it found nothing, the day need not be quiet.
    """
    start = begins(mailing_list, day)
    sources = sources_of(mailing_list.categories)
    batches = (source.calendar.newest_batch(start, mailing_list.holidays) for source in sources)
    return any(batch.visible > at for batch in batches)


def no_batch(mailing_list: MailingList, start: datetime) -> str:
    """Return why no source of the list showed a batch since its last morning before `start`, such
    as "weekend"; empty if one did.
    """
    day = local_date(mailing_list, start) - _DAY
    while not sends_on(mailing_list, day):
        day -= _DAY
    since = begins(mailing_list, day)
    reasons = [
        source.calendar.why_none(since, start, mailing_list.holidays)
        for source in sources_of(mailing_list.categories)
    ]
    return ", ".join(dict.fromkeys(reasons)) if all(reasons) else ""


def next_morning(mailing_list: MailingList, now: datetime) -> datetime:
    """Return when the list's next digest may come, in UTC: its hour on its next weekday after this
    instant.
    """
    day = local_date(mailing_list, now)
    while not (sends_on(mailing_list, day) and begins(mailing_list, day) > now):
        day += _DAY
    return begins(mailing_list, day)
