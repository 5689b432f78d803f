"""The flow of one morning, from papers to frozen digests.

    lists ← the caller
    fetch the union of all lists' categories into the store; each source says fresh | quiet | late
    for each group of due lists, with lists of the same categories side by side:
        for each list:
            open: explain    ← the days that ended without an outcome
                  held back  ← a list that sends nothing today, or waits for a late source
                  superseded ← digests that reached nobody, unless the list is held back: their papers are unseen again
                  start      ← once: papers too old for a new list, a new category or newly enabled cross-lists
                  candidates ← stored papers in its categories, new to the list, and not from before its start
        score: kept scores, else the scorer's, for the whole group at once, kept as they arrive
        brief: for lists whose outcome is already a digest: kept sentences, else the LLM's, asked for in parallel
        for each list:
            compose: curate and render; unscored papers are carried over, and let go after three mornings
            close:   curate decides the day's outcome, or that the list waits: then the attempt is noted
                     freeze outcome, digest, what the list has seen, a delivery per subscriber,
                     incidents, and what features add: one transaction
    a paused list's day is skipped; once resumed, the list begins anew
    once a day: retention

Papers of a group are read once and shared, so memory does not grow with the number of lists. If
there are many lists, worker processes compose while the next group is opened; see `workers.py`.
Sending is in `sending/delivery.py`.
"""

import logging
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from datetime import date, datetime, timedelta
from functools import partial
from itertools import chain
from typing import TypeVar

from paperboy import due
from paperboy.due import LONGEST_WINDOW, begins, local_date
from paperboy.edges.text import together
from paperboy.errors import NotTodayError, PaperboyError, StoreWriteError
from paperboy.models import (
    Attempt,
    Counts,
    Day,
    ListReport,
    MailingList,
    MessageCopy,
    MorningReport,
    Outcome,
    Paper,
)
from paperboy.morning import drafting, fetching, incidents
from paperboy.morning.drafter import Drafter
from paperboy.morning.drafting import Draft, ScoredList
from paperboy.morning.workers import WorkerPool
from paperboy.sources import source_names, source_of
from paperboy.sources.source import Connect
from paperboy.store import Store
from paperboy.store.incidents import THE_WORKERS, Incident, Kind

logger = logging.getLogger(__name__)

# Lists that go through a morning together; more for an LLM that takes many calls at once.
GROUP = 60

NOTHING_WAS_DONE = (
    "no morning of this list finished: Paperboy was not running, or the list had no subscribers"
)

DayWriter = Callable[[MailingList, Day, int | None, datetime], object]
"""Writes rows in the transaction of a day. The third argument: the id of its digest, if any."""

_T = TypeVar("_T")


@dataclass(slots=True, kw_only=True)
class Morning:
    """Run of one morning. `patience`: how long after its first try a list still waits for a late
    source or an LLM that is down. None: the morning is run by hand. Then it sends what there is,
    even if the day was given up, and a list that fails stays due.
    """

    drafter: Drafter
    connect: Connect
    lists: Sequence[MailingList]  # all the home's: one fetch serves them all
    patience: timedelta | None  # None: by hand
    any_day: bool  # by hand: whatever the weekday; otherwise a list is skipped on its days off

    # The lists begin anew with the first batch that became visible from this local date on.
    since: date | None

    overdue_after: timedelta  # how long after a list's hour a lasting problem is reported
    lookback: timedelta
    keep: timedelta
    keeps_scores: bool
    frozen: Sequence[DayWriter]

    # Returns workers for that many lists; None: this process composes alone.
    worker_pool: Callable[[int], WorkerPool | None]

    group: int  # lists that go through it together

    store: Store = field(init=False)
    now: datetime = field(init=False)
    attempts: Mapping[str, Attempt] = field(init=False)  # as they were before it

    # By list name. Paused lists have no result.
    results: Mapping[str, fetching.FetchResult] = field(default_factory=dict, init=False)
    to_serve: dict[str, MailingList] = field(default_factory=dict, init=False)
    reports: dict[str, ListReport] = field(default_factory=dict, init=False)

    def run(self, chosen: Collection[str]) -> MorningReport:
        """Do this morning's work for the chosen lists whose local date is open. Raises
        NotTodayError if one of them cannot begin with the papers of `since`.
        """
        self.now = self.drafter.clock()
        self.store = self.drafter.store
        self.attempts = self.store.days.attempts()

        lists = [mailing_list for mailing_list in self.lists if mailing_list.subscribers]
        wanted = [mailing_list for mailing_list in lists if mailing_list.name in chosen]
        reach = self.choose(wanted)
        if not self.to_serve:
            return MorningReport(tuple(self.reports.values()))

        retention_is_due = self.store.retention.is_due(self.now)
        active = [mailing_list for mailing_list in lists if mailing_list.is_active]
        due_now = [mailing_list for mailing_list in active if mailing_list.name in self.to_serve]
        by_source = fetching.fetch(self.drafter, self.connect, due_now, active, self.now, reach)
        self.results = {
            mailing_list.name: fetching.result_for(by_source, mailing_list)
            for mailing_list in due_now
        }

        self.serve_all()

        if retention_is_due:
            names = [mailing_list.name for mailing_list in lists]
            self.store.retention.thin(self.keep, names, self.now, keeps_scores=self.keeps_scores)
        return MorningReport(tuple(self.reports[mailing_list.name] for mailing_list in wanted))

    def choose(self, wanted: Sequence[MailingList]) -> Mapping[str, datetime]:
        """Choose the lists to serve, and report on the others. Return the instants from which to
        fetch because of `since`, by source key.
        """
        outcomes = self.store.days.outcomes(wanted, self.now)
        by_hand = self.patience is None
        reach = dict[str, datetime]()
        for mailing_list in wanted:
            name = mailing_list.name
            day = local_date(mailing_list, self.now)
            outcome = outcomes[name]

            if self.since and mailing_list.is_active:
                why = due.cannot_begin(mailing_list, self.since, outcome, self.now, self.lookback)
                if why:
                    raise NotTodayError(f"{name}: {why}")
                for key, at in due.beginning(mailing_list, self.since).items():
                    reach[key] = min(at, reach.get(key, at))

            if due.is_open(mailing_list, day, outcome, by_hand=by_hand, any_day=self.any_day):
                self.to_serve[name] = mailing_list
            elif outcome is Outcome.SKIPPED:
                self.reports[name] = _skipped(mailing_list, due.off(mailing_list, day))
            else:
                self.reports[name] = ListReport(name, outcome, earlier=True)

        return reach

    def serve_all(self) -> None:
        """Fill `reports`, a report for each list. Workers compose while this process opens and
        scores the next lists, and closes finished ones.
        """
        worker_pool = self.worker_pool(len(self.to_serve))
        if worker_pool:
            drafts = worker_pool.map(drafting.work, self.open_and_score())
        else:
            drafts = ((scored, None) for scored in self.open_and_score())

        with closing(drafts):
            for scored, draft in drafts:
                mailing_list = self.to_serve[scored.gathered.mailing_list.name]
                close = partial(self.close, mailing_list, scored, draft)
                self.reports[mailing_list.name] = self.serve(mailing_list, close)

        if worker_pool and worker_pool.problem:
            incident = Incident(
                kind=Kind.WORKERS,
                subject=THE_WORKERS,
                reason=worker_pool.problem,
            )
            self.store.incidents.note([incident], self.now)
        else:
            self.store.incidents.end(Kind.WORKERS, THE_WORKERS, self.now)

    def open_and_score(self) -> Iterator[ScoredList]:
        """Open, score and brief the lists in groups. Lists that end here get their reports here.

        Lists with the same categories come one after the other, because they share papers and the
        cache of a prompt.
        """
        by_categories = defaultdict[frozenset[str], list[MailingList]](list)
        for mailing_list in self.to_serve.values():
            by_categories[frozenset(mailing_list.categories)].append(mailing_list)
        ordered = list(chain.from_iterable(by_categories.values()))

        for start in range(0, len(ordered), self.group):
            kept = list[ScoredList]()
            for mailing_list in ordered[start : start + self.group]:
                opened = self.serve(mailing_list, partial(self.open, mailing_list))
                if isinstance(opened, ScoredList):
                    kept.append(opened)
                else:
                    self.reports[mailing_list.name] = opened

            scored = self.drafter.score(kept, show_cost=self.since is not None)
            yield from self.drafter.brief(scored, self.outcome)
            self.store.papers.clear_cache()

    def outcome(self, draft: Draft) -> Outcome | None:
        """Return the outcome of the day for the draft's list; None: the list stays due."""
        mailing_list = self.to_serve[draft.digest.mailing_list.name]
        missing = self.results[mailing_list.name].missing
        return draft.outcome(missing, waits=self.waits(mailing_list))

    def serve(
        self,
        mailing_list: MailingList,
        work: Callable[[], _T | ListReport],
    ) -> _T | ListReport:
        """Do a list's work, and note the attempt if the list stays due."""
        result = self.guarded(mailing_list, work)
        if isinstance(result, ListReport) and result.outcome is None:
            self.guarded(mailing_list, partial(self.note_attempt, mailing_list, result))
        return result

    def guarded(self, mailing_list: MailingList, work: Callable[[], _T]) -> _T | ListReport:
        """Return the work's result, or a report of its failure, so that other lists continue. A bug
        is logged with its traceback.
        """
        try:
            return work()
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
        """Give an outcome to each past day that ended without one: the list was not served in time,
        or nothing was running.
        """
        name = mailing_list.name
        today = local_date(mailing_list, self.now)
        last = self.store.days.last(name, today)
        if last is None or today - last > LONGEST_WINDOW:  # it is new, or back after a long absence
            return

        attempt = self.attempts.get(name)
        for ahead in range(1, (today - last).days):
            day = last + timedelta(days=ahead)
            if due.off(mailing_list, day):
                self.skip(mailing_list, day)
                continue

            why = NOTHING_WAS_DONE
            if attempt and local_date(mailing_list, attempt.at) == day:
                why = attempt.why
            self.freeze(Day(name, day, Outcome.GAVE_UP, why))

    def open(self, mailing_list: MailingList) -> ListReport | ScoredList:
        """Return the papers to score; or the report of a list that has nothing to do, or has to
        wait.
        """
        name = mailing_list.name
        day = local_date(mailing_list, self.now)
        self.explain(mailing_list)
        if mailing_list.paused:
            self.skip(mailing_list, day)
            return _skipped(mailing_list, "")

        self.store.incidents.note(incidents.inactive(mailing_list), self.now)
        fetched = self.results[name]
        began = bool(self.store.days.started(name, LONGEST_WINDOW))
        last = self.store.days.last(name, day)
        decide = partial(
            held_back,
            mailing_list,
            day,
            fetched,
            waits=self.patience is not None and self.waits(mailing_list),
            any_day=self.any_day,
        )

        if began and decide(None) is None:
            self.supersede(name, day)  # before `begin`, since those papers become candidates again
        papers = self.begin(mailing_list, day, began=began)
        report = decide(papers)
        if report is None:
            was_away = began and last and day - last > LONGEST_WINDOW
            return self.drafter.gather(
                mailing_list,
                papers,
                self.now,
                only_days=LONGEST_WINDOW.days if was_away else 0,
                late=fetched.absent,
            )

        if report.outcome:
            self.skip(mailing_list, day, report)
        return report

    def supersede(self, name: str, day: date) -> None:
        """Count the papers of a digest as unseen again if it reached nobody."""
        if superseded := self.store.days.supersede(name, day, self.now):
            logger.warning(
                "%s: the digest of %s reached nobody; its papers come with today's",
                name,
                superseded,
            )

    def begin(self, mailing_list: MailingList, day: date, *, began: bool) -> Sequence[Paper]:
        """Record the papers that are too old for the list, and return its candidates."""
        name = mailing_list.name
        begins_at = due.beginning(mailing_list, self.since) if self.since else {}
        for key, at in begins_at.items():
            self.store.days.begin_again(name, key, at)
        papers, too_old, ways = self.drafter.candidates(
            mailing_list,
            self.now,
            since=begins_at,
            unread=self.results[name].unread,
        )
        if papers or too_old or began:
            # The list begins now, not with its first digest: if that waits, its papers are not too old tomorrow.
            self.store.days.begin(name, ways, too_old, day, self.now)
        return papers

    def waits(self, mailing_list: MailingList) -> bool:
        """Return whether a list that has no outcome yet is retried."""
        if self.patience is None:
            return True
        attempt = self.attempts.get(mailing_list.name)
        standing = due.standing(mailing_list, None, attempt, self.now, self.patience)
        return self.now < standing.gives_up

    def close(
        self,
        mailing_list: MailingList,
        scored: ScoredList,
        draft: Draft | None,
    ) -> ListReport:
        """Freeze the day, unless it stays due. `draft`: a worker's; None: compose it here."""
        draft = draft or drafting.compose(scored)
        digest = draft.digest
        name = mailing_list.name
        outcome = self.outcome(draft)

        report = ListReport(
            list_name=name,
            outcome=outcome,
            counts=digest.counts,
            spending=digest.spending,
            problem=_reason(mailing_list, draft, outcome, self.results[name]),
            shortfall=digest.shortfall,
            let_go=digest.let_go,
            bug=scored.bug,
        )
        if draft.leftover and outcome in {None, Outcome.GAVE_UP}:
            # The list is waiting for new papers, so its leftovers do not count.
            report = replace(report, counts=Counts())
        if outcome is None:
            return report

        outcomes = digest.outcomes
        if outcome is Outcome.GAVE_UP:
            outcomes = {}  # all papers come again
        copies = tuple[MessageCopy, ...]()
        if draft.mail:
            copy_for = partial(self.drafter.composer.copy_for, name, digest.date)
            copies = tuple(map(copy_for, mailing_list.subscribers))
        day = Day(
            list_name=name,
            date=digest.date,
            outcome=outcome,
            reason=report.problem,
            model=digest.model.name,
            counts=digest.counts,
            outcomes=outcomes,
            tried=frozenset(scored.unscored if scored.scores else ()),
            sampled=scored.gathered.learned.sampled & scored.scores.keys() & outcomes.keys(),
            composed=draft.mail,
            copies=copies,
        )
        self.freeze(day, report)
        return report

    def note_attempt(self, mailing_list: MailingList, report: ListReport) -> None:
        """Note the attempt."""
        attempt = due.failed(
            mailing_list,
            report.problem,
            before=self.attempts.get(mailing_list.name),
            began=self.now,
            now=self.drafter.clock(),
            unscored=report.counts.to_score,
        )
        with self.store.transaction():
            self.store.days.note_attempt(attempt)
            self.record(mailing_list, report)

    def record(self, mailing_list: MailingList, report: ListReport) -> None:
        """Note the list's incidents, in the transaction of its outcome or attempt."""
        fetched = self.results.get(mailing_list.name, fetching.FetchResult())
        start = begins(mailing_list, local_date(mailing_list, self.now))
        overdue = self.now >= start + self.overdue_after
        incidents.record(self.store, report, fetched, self.now, overdue=overdue)

    def skip(
        self,
        mailing_list: MailingList,
        day: date,
        report: ListReport | None = None,
    ) -> None:
        """Freeze a day on which the list does not send."""
        reason = "paused" if mailing_list.paused else ""
        self.freeze(Day(mailing_list.name, day, Outcome.SKIPPED, reason), report)

    def freeze(self, day: Day, report: ListReport | None = None) -> None:
        """Freeze the day in one durable transaction, together with the features' rows, a list's
        pause and the incidents of a report.
        """
        mailing_list = self.to_serve[day.list_name]
        # Features need neither addresses nor papers.
        bare_list = replace(mailing_list, subscribers=())
        bare_day = replace(day, copies=(), outcomes={}, composed=None)

        def more(digest_id: int | None) -> None:
            for write in self.frozen:
                write(bare_list, bare_day, digest_id, self.now)
            if mailing_list.paused:
                self.store.days.pause(mailing_list.name)
            if report:
                self.record(mailing_list, report)

        self.store.days.freeze(day, self.now, more)

        because = f"; {day.reason}" if day.outcome is Outcome.GAVE_UP else ""
        counts = f"; {_in_words(day.counts)}" if day.counts.considered else ""
        logger.info("%s: %s %s%s%s", day.list_name, day.date, day.outcome, because, counts)


def held_back(
    mailing_list: MailingList,
    day: date,
    fetched: fetching.FetchResult,
    papers: Sequence[Paper] | None,
    *,
    waits: bool,
    any_day: bool,
) -> ListReport | None:
    """Return the report of a list that does not send on that day, or that `waits` for a late source;
    None: serve it. `papers`: its candidates, None before they are known. Pure.
    """
    if why := due.off(mailing_list, day, any_day=any_day):
        return _skipped(mailing_list, why)

    all_are_late = papers is not None and all(
        source_of(paper.id).key in fetched.late for paper in papers
    )
    if waits and fetched.late and (fetched.blocks or all_are_late):
        return ListReport(mailing_list.name, None, problem=fetched.missing)
    return None


def _skipped(mailing_list: MailingList, why: str) -> ListReport:
    name = mailing_list.name
    problem = f"{why}; paperboy once --list {name} sends it today"
    if mailing_list.paused:
        problem = "it is paused"
    return ListReport(name, Outcome.SKIPPED, problem=problem)


def _reason(
    mailing_list: MailingList,
    draft: Draft,
    outcome: Outcome | None,
    fetched: fetching.FetchResult,
) -> str:
    """Return the reason for the outcome, or for having none; empty if the outcome says it all."""
    missing = fetched.missing
    reason = missing if draft.leftover and missing else draft.problem or missing
    reason = reason or fetched.unreadable
    if reason or outcome is not Outcome.QUIET:
        return reason

    names = together(source_names(mailing_list.categories), 3)
    if why := due.no_batch(mailing_list, begins(mailing_list, draft.digest.date)):
        return f"{names} announced nothing ({why})"
    return f"{names} had nothing new in its categories"


def _in_words(counts: Counts) -> str:
    """Make a sentence that adds up."""
    return (
        f"{counts.considered} considered = {counts.scored} scored + {counts.carried_over} carried over"
        f" + {counts.let_go} let go + {counts.filtered} filtered + {counts.not_called} not called;"
        f" {counts.scored} scored = {counts.author_matches} author matches"
        f" + {counts.selected} selected + {counts.over_cap} over the cap + {counts.below} below"
    )
