"""The imperative shell, first half: from papers to frozen digests.

    lists ← the caller
    fetch the union of all lists' categories into the store; announcements says fresh | quiet | late
    for each group of lists that are due, those on the same categories together:
        for each list:
            open: explain    ← the days that ended without an outcome
                  superseded ← digests that reached nobody: their papers are unseen again
                  start      ← once: what is too old for a new list, or for a new way into it
                  candidates ← stored papers in its categories that it has not seen, less those from before its start
        score: kept scores, else the scorer's, for the whole group at once, kept as they arrive
        for each list:
            compose: curate and render; what could not be scored is carried over, and let go after three mornings
            close:   curate decides the day's outcome, or that the list waits: then the attempt is noted
                     freeze outcome, digest, what the list has seen, a delivery per subscriber, and
                     alerts: one transaction
    a paused list's day is skipped, and it will begin anew
    once a day: retention

Papers of a group are read once and shared, so memory does not grow with the number of lists. Where there are many, a
crew of other processes ranks and composes while the next group is opened; see `cluster.py`. Sending is in
`delivery.py`.
"""

import logging
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from functools import partial
from typing import TypeVar

from paperboy import alerts, curate, drafting, due, fetching
from paperboy.cluster import BATCH, Crew
from paperboy.drafting import Batch, Draft, Drafter, Material
from paperboy.due import LONGEST_WINDOW, begins, is_open, local_date
from paperboy.errors import NotTodayError, PaperboyError, StoreWriteError
from paperboy.models import Attempt, Counts, Day, ListReport, MailingList, MorningReport, Outcome
from paperboy.store import Store

logger = logging.getLogger(__name__)

GROUP = 60  # lists that go through a morning together; of an LLM that answers many calls at once, more
NOTHING_WAS_DONE = "no morning of this list finished: Paperboy was not running, or the list had no subscribers"

_T = TypeVar("_T")


def run(
    drafter: Drafter,
    feed: fetching.Feed,
    lists: Sequence[MailingList],
    chosen: Collection[str],
    *,
    patience: timedelta | None = None,
    any_day: bool = False,
    since: date | None = None,
    overdue_after: timedelta = timedelta(hours=6),
    lookback: timedelta = timedelta(days=7),
    keep: timedelta = timedelta(days=365),
    crew: Callable[[int], Crew | None] = lambda _: None,
    group: int = GROUP,
) -> MorningReport:
    """This morning's work for the chosen lists whose local date is open.

    `lists` are all the home's lists, since one fetch serves them all; those without subscribers cost nothing. A list
    that does not send on this weekday is skipped, except where a person asked for `any_day`.
    With `patience` the daemon runs it: a list that waits for a late arXiv or a dead LLM is given up that long after its
    first try. Without, a person asked: what is there is sent, even if the day was given up, and what fails stays due.
    With `since` the lists begin anew with the first batch that became visible from that local date on; raises
    NotTodayError where one of them cannot.
    A problem that lasts until `overdue_after` a list's hour is reported, whoever runs the morning. `crew` gives those
    who compose for so many lists, if it is not this process alone; `group` lists go through it together.
    """
    now, store, lists = drafter.clock(), drafter.store, [each for each in lists if each.subscribers]
    chosen = frozenset(chosen)
    wanted = [each for each in lists if each.name in chosen]
    outcomes, attempts = store.days.outcomes(wanted, now), store.days.attempts()
    may = partial(is_open, by_hand=patience is None, any_day=any_day)
    by_name = {each.name: each for each in wanted if may(each, local_date(each, now), outcomes[each.name])}
    reports = {each.name: _earlier(each, outcomes[each.name], now) for each in wanted if each.name not in by_name}
    if since:
        lookback = _far_enough([each for each in wanted if not each.paused], since, outcomes, now, lookback)
    if not by_name:
        return MorningReport(tuple(reports.values()))
    first = store.retention.is_due(now)
    served = [each for each in lists if not each.paused]
    looked = fetching.look(drafter, feed, served, now, lookback) if served else fetching.Look()
    morning = _Morning(store, drafter, looked, now, patience, any_day, since, overdue_after, attempts, by_name)
    reports |= morning.all(group, crew(len(by_name)))
    if first:
        learns = drafter.learning.from_scores
        store.retention.thin(keep, [each.name for each in lists], now, learns=learns)
    return MorningReport(tuple(reports[each.name] for each in wanted), looked.missing)


def _far_enough(
    lists: Sequence[MailingList],
    since: date,
    outcomes: Mapping[str, Outcome | None],
    now: datetime,
    lookback: timedelta,
) -> timedelta:
    """How far back a fetch has to look for the papers since that date. Raises NotTodayError."""
    for each in lists:
        if why := due.cannot_begin(each, since, outcomes[each.name], now, lookback):
            raise NotTodayError(f"{each.name}: {why}")
    return max([lookback, *(now - due.beginning(each, since) for each in lists)])


def _earlier(mailing_list: MailingList, outcome: Outcome | None, now: datetime) -> ListReport:
    if outcome is Outcome.SKIPPED:
        return _skipped(mailing_list, due.off(mailing_list, local_date(mailing_list, now)))
    return ListReport(mailing_list.name, outcome, earlier=True)


def _skipped(mailing_list: MailingList, why: str = "") -> ListReport:
    name = mailing_list.name
    words = "it is paused" if mailing_list.paused else f"{why}; paperboy once --list {name} sends it today"
    return ListReport(name, Outcome.SKIPPED, problem=words)


def _off(mailing_list: MailingList, day: date) -> Day:
    return Day(mailing_list.name, day, Outcome.SKIPPED, "paused" if mailing_list.paused else "")


def _groups(lists: Sequence[MailingList], size: int) -> Iterator[Sequence[MailingList]]:
    """Lists on the same categories stand where the first of them is: they share papers, and a prompt's cache."""
    places: dict[frozenset[str], int] = {}
    for each in lists:
        places.setdefault(frozenset(each.categories), len(places))
    ordered = sorted(lists, key=lambda each: places[frozenset(each.categories)])
    return (ordered[start : start + size] for start in range(0, len(ordered), size))


@dataclass(slots=True)
class _Morning:
    """One run."""

    store: Store
    drafter: Drafter
    looked: fetching.Look
    now: datetime
    patience: timedelta | None  # None: by hand
    any_day: bool  # by hand, whatever the weekday
    since: date | None  # with which the lists begin anew
    overdue_after: timedelta
    attempts: dict[str, Attempt]  # as they were before it
    lists: Mapping[str, MailingList]  # to be served, by their names

    def all(self, group: int, crew: Crew | None) -> dict[str, ListReport]:
        """The reports of all lists, by their names."""
        groups, reports = _groups(list(self.lists.values()), group), dict[str, ListReport]()
        if crew is None:
            for each in groups:
                reports |= self.serve(each)
        else:
            reports |= self.share(groups, crew)
        alerts.of_crew(self.store, crew.problem if crew else "", self.now)
        return reports

    def serve(self, lists: Sequence[MailingList]) -> dict[str, ListReport]:
        """From open lists to frozen days, or to failed attempts; by the lists' names."""
        materials, reports = self.opened(lists)
        self.drafter.score(materials, aloud=self.since is not None)
        reports |= {each.mailing_list.name: self.closed(each) for each in materials}
        self.store.papers.forget()
        return reports

    def share(self, groups: Iterator[Sequence[MailingList]], crew: Crew) -> dict[str, ListReport]:
        """The same with others, who rank and compose while this process opens the next lists and closes the last."""
        llm, reports = self.drafter.scorer.model.is_llm, dict[str, ListReport]()

        def batches() -> Iterator[Batch]:
            for group in groups:
                materials, done = self.opened(group)
                reports.update(done)
                if llm:
                    self.drafter.score(materials, aloud=self.since is not None)
                for start in range(0, len(materials), BATCH):
                    yield self.drafter.batch(materials[start : start + BATCH])
                self.store.papers.forget()

        with closing(crew.map(drafting.work, batches())) as results:
            for batch, done in results:
                if done and done.scored:
                    self.drafter.take(batch.materials, done.scored)
                elif not done and not llm:
                    self.drafter.score(batch.materials, aloud=self.since is not None)
                drafts = done.drafts if done else [None] * len(batch.materials)
                for each, made in zip(batch.materials, drafts, strict=True):
                    reports[each.mailing_list.name] = self.closed(each, made)
        return reports

    def opened(self, lists: Sequence[MailingList]) -> tuple[list[Material], dict[str, ListReport]]:
        """What is to be scored and composed; and the reports of the other lists, by their names."""
        materials, reports = list[Material](), dict[str, ListReport]()
        for each in lists:
            found = self.guarded(self.open, each)
            if isinstance(found, Material):
                materials.append(found)
            else:
                reports[each.name] = self.ended(each, found)
        return materials, reports

    def closed(self, material: Material, made: Draft | None = None) -> ListReport:
        """From scores to a frozen day, or to a failed attempt."""
        each = self.lists[material.mailing_list.name]
        return self.ended(each, self.guarded(self.close, each, material, made))

    def ended(self, mailing_list: MailingList, report: ListReport) -> ListReport:
        if report.outcome is None:
            self.guarded(self.stays_due, mailing_list, report)
        return report

    def guarded(self, work: Callable[..., _T], mailing_list: MailingList, *more: object) -> _T | ListReport:
        """One list's failure stops no other: an expected one is a sentence in the report, a bug also a traceback."""
        try:
            return work(mailing_list, *more)
        except StoreWriteError:
            raise  # no other list could be frozen either
        except PaperboyError as error:
            logger.error("%s: %s", mailing_list.name, error)
            return ListReport(mailing_list.name, None, problem=str(error))
        except Exception as error:
            logger.exception("%s: this is a bug in Paperboy", mailing_list.name)
            problem = f"this is a bug in Paperboy: {error!r}; see the log"
            return ListReport(mailing_list.name, None, problem=problem, bug=True)

    def explain(self, mailing_list: MailingList) -> None:
        """Give each past day an outcome: days that ended before the list was served, or while nothing was running."""
        name, today = mailing_list.name, local_date(mailing_list, self.now)
        last, attempt = self.store.days.last(name, today), self.attempts.get(name)
        if last is None or today - last > LONGEST_WINDOW:  # it is new, or back after a long absence
            return
        for day in (last + timedelta(days=ahead) for ahead in range(1, (today - last).days)):
            tried = attempt is not None and local_date(mailing_list, attempt.at) == day
            why = attempt.why if attempt and tried else NOTHING_WAS_DONE
            if due.off(mailing_list, day):
                self.freeze(_off(mailing_list, day))
            else:
                self.freeze(Day(name, day, Outcome.GAVE_UP, why))

    def open(self, mailing_list: MailingList) -> ListReport | Material:
        """What is to be scored; or the report of a list that has nothing to do, or has to wait."""
        name, day, scheduled = mailing_list.name, local_date(mailing_list, self.now), self.patience is not None
        report = None
        self.explain(mailing_list)
        if mailing_list.paused:
            self.freeze(_off(mailing_list, day), partial(self.store.days.pause, name))
            return _skipped(mailing_list)
        began = self.store.days.started(name, LONGEST_WINDOW)
        if why := due.off(mailing_list, day, any_day=self.any_day):
            report = _skipped(mailing_list, why)
        elif scheduled and self.looked.missing and self.waits(mailing_list):
            report = ListReport(name, None, problem=self.looked.missing)
        elif began and (superseded := self.store.days.supersede(name, day, self.now)):
            logger.warning("%s: the digest of %s reached nobody; its papers come with today's", name, superseded)
        begins_at = due.beginning(mailing_list, self.since, self.drafter.holidays) if self.since else None
        if begins_at:
            self.store.days.begin_again(name, begins_at)
        papers, too_old = self.drafter.candidates(mailing_list, self.now, since=begins_at)
        if self.looked.whole and (papers or too_old or began):
            # before the first digest: if that has to wait, today's papers are not too old tomorrow
            self.store.days.begin(name, curate.ways_in(mailing_list), too_old, day, self.now)
        if report is not None and report.outcome:
            self.freeze(_off(mailing_list, day), partial(self.alert, mailing_list, report))
        if report:
            return report
        found = self.drafter.gather(mailing_list, papers, self.now)
        last = self.store.days.last(name, day)
        if began and last and day - last > LONGEST_WINDOW:
            found.only_days = LONGEST_WINDOW.days
        return found

    def waits(self, mailing_list: MailingList) -> bool:
        """Whether a list that has no outcome yet is retried."""
        if self.patience is None:
            return True
        attempt = self.attempts.get(mailing_list.name)
        return self.now < due.standing(mailing_list, None, attempt, self.now, self.patience).gives_up

    def close(self, mailing_list: MailingList, material: Material, made: Draft | None) -> ListReport:
        """From scores to a frozen day. `made`: by another process."""
        name, missing = mailing_list.name, self.looked.missing
        made = made or drafting.compose(material)
        digest, day = made.digest, made.digest.date
        waits, whole = self.waits(mailing_list), self.looked.whole
        outcome = made.outcome_if(missing, waits=waits, answered=whole)
        reason = missing if made.leftover and missing else made.problem or missing
        if days := material.only_days:
            away = f"Paperboy was away: papers submitted before {day - timedelta(days):%a %d %b} were not looked at"
            reason = "; ".join(filter(None, [reason, away]))
        waits_for_arxiv = made.leftover and outcome in {None, Outcome.GAVE_UP}  # whatever is left over
        sampled = material.shortlist.sampled & material.scores.keys()
        report = ListReport(
            name,
            outcome,
            Counts() if waits_for_arxiv else digest.counts,
            digest.spending,
            reason or (self.quiet(mailing_list, day) if outcome is Outcome.QUIET else ""),
            shortfall=digest.shortfall,
            let_go=digest.let_go,
            bug=material.bug,
            shortlist_off=self.drafter.learning.switches_off(mailing_list, digest.became, sampled, day),
        )
        if outcome is not None:
            readers = mailing_list.subscribers if made.composed else ()
            addressed = tuple(self.drafter.composer.addressed(name, day, reader) for reader in readers)
            model, counts, webhook = digest.model.name, digest.counts, bool(mailing_list.webhook)
            became = {} if outcome is Outcome.GAVE_UP else digest.became  # then all of its papers come again
            kept = (reason, model, counts, became, made.tried, sampled, made.composed, addressed, webhook)
            frozen = Day(name, day, outcome, *kept)
            self.freeze(frozen, partial(self.alert, mailing_list, report))
        return report

    def quiet(self, mailing_list: MailingList, day: date) -> str:
        """Why a day without papers is no wonder."""
        why = due.no_batch(mailing_list, begins(mailing_list, day), self.drafter.holidays)
        return f"arXiv announced nothing ({why})" if why else "arXiv had nothing new in its categories"

    def stays_due(self, mailing_list: MailingList, report: ListReport) -> None:
        """Note the attempt."""
        unscored, before = report.counts.to_score, self.attempts.get(mailing_list.name)
        attempt = due.failed(mailing_list, report.problem, before, self.now, self.drafter.clock(), unscored=unscored)
        with self.store.transaction():
            self.store.days.note_attempt(attempt)
            self.alert(mailing_list, report)

    def alert(self, mailing_list: MailingList, report: ListReport) -> None:
        """Note the list's alerts, in the transaction of its outcome or attempt."""
        overdue = self.now >= begins(mailing_list, local_date(mailing_list, self.now)) + self.overdue_after
        missing, news = self.looked.missing, self.looked.news
        alerts.of_list(self.store, report, missing, self.now, news=news, overdue=overdue)

    def freeze(self, day: Day, also: Callable[[], object] = lambda: None) -> None:
        """One durable transaction, of which `also` is part."""
        self.store.days.freeze(day, self.now, also)
        because = f"; {day.reason}" if day.outcome is Outcome.GAVE_UP else ""
        counts = f"; {_in_words(day.counts)}" if day.counts.considered else ""
        logger.info("%s: %s %s%s%s", day.list_name, day.date, day.outcome, because, counts)


def _in_words(counts: Counts) -> str:
    """The counts as one sentence that adds up."""
    filtered = f" + {counts.filtered} filtered" if counts.filtered else ""
    filtered += f" + {counts.not_called} not called" if counts.not_called else ""
    return (
        f"{counts.considered} considered = {counts.scored} scored + {counts.carried_over} carried over"
        f" + {counts.let_go} let go{filtered}; {counts.scored} scored = {counts.author_matches} author matches"
        f" + {counts.selected} selected + {counts.over_cap} over the cap + {counts.below} below"
    )
