"""Previews: a list's digest according to the current files, and a dry run of a morning for all lists.

Marks nothing as sent. Scores and briefs are kept, because they were paid for; a dry run asks for no
brief.
"""

from collections.abc import Callable, Collection, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from functools import partial

from paperboy import due
from paperboy.errors import PaperboyError
from paperboy.models import (
    MailingList,
    Outcome,
    Paper,
)
from paperboy.morning import drafting, fetching
from paperboy.morning.drafter import Drafter
from paperboy.morning.drafting import Draft, ScoredList
from paperboy.sources import sources_of
from paperboy.sources.source import Connect

_FETCH_HOLDS = timedelta(minutes=15)  # a fetch is reused: people who try out topics preview often
_NEVER = datetime.min.replace(tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Previews:
    """Previews of the digests that a morning would send now."""

    drafter: Drafter
    connect: Connect
    lists: Sequence[MailingList]
    alone: Callable[[], AbstractContextManager[object]]  # held while an LLM is paid for
    now: datetime

    def of(self, mailing_list: MailingList) -> Draft:
        """Return today's digest according to the current files, from the papers that the list has not
        seen before today. Raises PaperboyError while there are no papers or scores to show.
        """
        fetches = dict[str, datetime]()
        for source in sources_of(mailing_list.categories):
            fetches |= self.drafter.store.papers.fetched(source.key)
        oldest = min(fetches.get(category, _NEVER) for category in mailing_list.categories)
        fetched = fetching.FetchResult()
        if oldest < self.now - _FETCH_HOLDS:
            lists = [other for other in self.lists if other.subscribers or other is mailing_list]
            results = fetching.fetch(self.drafter, self.connect, [mailing_list], lists, self.now)
            fetched = fetching.result_for(results, mailing_list)

        def outcome(draft: Draft) -> Outcome | None:
            return draft.outcome(fetched.missing)

        today = due.local_date(mailing_list, self.now)
        scored_lists = self._scored([mailing_list], today, late=fetched.absent)
        (scored,) = self.drafter.brief(scored_lists, outcome, alone=self.alone)
        draft = drafting.compose(scored)
        if outcome(draft) is None:
            why = "there are no papers yet" if draft.leftover else "nothing could be scored"
            raise PaperboyError(
                f"{mailing_list.name}: {why}, so there is nothing to show; the log says more"
            )

        return draft

    def all(
        self,
        names: Collection[str],
        *,
        any_day: bool = False,
    ) -> dict[str, tuple[Draft | None, str]]:
        """Return the draft of each of these lists and why papers are missing (empty if none are);
        or None and why there is no draft.
        """
        chosen = [
            mailing_list
            for mailing_list in self.lists
            if mailing_list.subscribers and mailing_list.name in names
        ]
        outcomes = self.drafter.store.days.outcomes(chosen, self.now)
        drafts = dict[str, tuple[Draft | None, str]]()
        still_due = list[MailingList]()
        for mailing_list in chosen:
            day = due.local_date(mailing_list, self.now)
            outcome = outcomes[mailing_list.name]
            is_open = due.is_open(mailing_list, day, outcome, by_hand=True, any_day=any_day)
            why = due.off(mailing_list, day, any_day=any_day)
            if not why and not is_open:
                why = f"{outcome}, done earlier today"
            if not why:
                still_due.append(mailing_list)
            drafts[mailing_list.name] = None, why

        active = [mailing_list for mailing_list in self.lists if mailing_list.is_active]
        results = fetching.fetch(self.drafter, self.connect, still_due, active, self.now)
        unread = frozenset(
            category
            for result in results.values()
            for category in (*result.unread, *result.failures)
        )
        scored_lists = self._scored(still_due, unread=unread)
        for mailing_list, scored in zip(still_due, scored_lists, strict=True):
            missing = fetching.result_for(results, mailing_list).missing
            drafts[mailing_list.name] = drafting.draft(scored), missing
        return drafts

    def _scored(
        self,
        lists: Sequence[MailingList],
        today: date | None = None,
        unread: Collection[str] = (),
        late: Collection[str] = (),
    ) -> Sequence[ScoredList]:
        """Return these lists with all available scores, also for papers that they saw `today`. See
        `candidates` and `gather`.
        """
        candidates = list[Sequence[Paper]]()
        for mailing_list in lists:
            papers, _, _ = self.drafter.candidates(
                mailing_list,
                self.now,
                before=today,
                unread=unread,
            )
            candidates.append(papers)

        def gathered() -> list[ScoredList]:
            gather = partial(self.drafter.gather, now=self.now, late=late, spent_on=today)
            return list(map(gather, lists, candidates))

        kept = gathered()
        if not any(scored.missing for scored in kept):
            return kept

        with self.alone():  # whoever had the lock may have scored them meanwhile
            return self.drafter.score(gathered(), show_cost=True)
