"""What the home's files, as they are, make of today's papers; what a morning would do for all
lists; and a digest as it was sent.

Marks nothing as sent. Scores are kept, because they were paid for.
"""

from collections.abc import Callable, Collection, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

from paperboy import due
from paperboy.edges import files
from paperboy.errors import PaperboyError, StoreError, UnknownNameError
from paperboy.mail.message import Composer
from paperboy.models import Composed, Delivery, DeliveryState, MailingList, Subscriber
from paperboy.morning import drafting, fetching
from paperboy.morning.drafting import Draft, Drafter, ScoredList
from paperboy.sending import outbox
from paperboy.sources import sources_of
from paperboy.sources.source import Connect
from paperboy.store import Store

_FETCH_HOLDS = timedelta(minutes=15)  # people who try out topics preview often
_NEVER = datetime.min.replace(tzinfo=UTC)
_SOMEBODY = Subscriber("you@example.org")


@dataclass(frozen=True, slots=True)
class Previews:
    """Shows what a morning would send now."""

    drafter: Drafter
    connect: Connect
    lists: Sequence[MailingList]
    alone: Callable[[], AbstractContextManager[object]]  # held while scores are paid for
    now: datetime

    def of(self, mailing_list: MailingList) -> Draft:
        """Return today's digest by the files as they are: of the papers that the list has not seen,
        and of those that it saw today. Raises PaperboyError where that cannot be known.
        """
        lists = [each for each in self.lists if each.subscribers or each is mailing_list]
        fetched = dict[str, datetime]()
        for source in sources_of(mailing_list.categories):
            fetched |= self.drafter.store.papers.fetched(source.key)
        missing = ""
        if not all(
            fetched.get(name, _NEVER) >= self.now - _FETCH_HOLDS for name in mailing_list.categories
        ):
            results = fetching.fetch(self.drafter, self.connect, [mailing_list], lists, self.now)
            missing = fetching.result_for(results, mailing_list).missing
        (scored,) = self._scored([mailing_list], due.local_date(mailing_list, self.now))
        made = drafting.compose(scored)
        if made.outcome(missing) is None:
            why = "there are no papers yet" if made.leftover else "nothing could be scored"
            raise PaperboyError(
                f"{mailing_list.name}: {why}, so there is nothing to show; the log says more"
            )
        return made

    def all(
        self, names: Collection[str], *, any_day: bool = False
    ) -> dict[str, tuple[Draft | None, str]]:
        """Return what a morning would do for each of these lists: its draft and why papers are
        missing (empty if none are); or None and why there is none.
        """
        chosen = [
            mailing_list
            for mailing_list in self.lists
            if mailing_list.subscribers and mailing_list.name in names
        ]
        outcomes = self.drafter.store.days.outcomes(chosen, self.now)
        found = dict[str, tuple[Draft | None, str]]()
        still_due = list[MailingList]()
        for mailing_list in chosen:
            day, outcome = due.local_date(mailing_list, self.now), outcomes[mailing_list.name]
            why = due.off(mailing_list, day, any_day=any_day)
            if not why and not due.is_open(
                mailing_list, day, outcome, by_hand=True, any_day=any_day
            ):
                why = f"{outcome}, done earlier today"
            found[mailing_list.name] = None, why
            if not why:
                still_due.append(mailing_list)

        active = [mailing_list for mailing_list in self.lists if mailing_list.is_active]
        results = fetching.fetch(self.drafter, self.connect, still_due, active, self.now)
        unread = frozenset(category for result in results.values() for category in result.unread)
        for mailing_list, scored in zip(
            still_due, self._scored(still_due, unread=unread), strict=True
        ):
            found[mailing_list.name] = (
                drafting.draft(scored),
                fetching.result_for(results, mailing_list).missing,
            )
        return found

    def _scored(
        self, lists: Sequence[MailingList], today: date | None = None, unread: Collection[str] = ()
    ) -> Sequence[ScoredList]:
        """Return these lists with all scores that could be had, also of what they saw `today`. See
        `candidates`.
        """
        drafter, now = self.drafter, self.now
        candidates = [
            drafter.candidates(each, now, before=today, unread=unread)[0] for each in lists
        ]

        def gathered() -> list[ScoredList]:
            pairs = zip(lists, candidates, strict=True)
            return [
                drafter.gather(mailing_list, papers, now, spent_on=today)
                for mailing_list, papers in pairs
            ]

        kept = gathered()
        if not any(scored.missing for scored in kept):
            return kept
        with self.alone():  # whoever had the lock may have scored them meanwhile
            return drafter.score(gathered(), aloud=True)


def sent(store: Store, list_name: str, day: date | None) -> tuple[date, Composed]:
    """The newest digest, or that of a local date, as it was sent, and its date. Raises
    UnknownNameError where there is none.
    """
    days = {
        digest.date: digest.id
        for digest in store.ledger.digests(list_name)
        if not digest.superseded
    }
    if not days:
        raise UnknownNameError(
            f"{list_name} has had no digest yet; paperboy preview {list_name} shows what is to come"
        )
    if day and day not in days:
        raise UnknownNameError(
            f"{list_name}: there is no digest of {day}; the newest is that of {max(days)}"
        )
    day = day or next(iter(days))
    return day, store.ledger.message(days[day])


def write(composer: Composer, box: Path, list_name: str, composed: Composed, now: datetime) -> Path:
    """Write a reader's copy to the outbox folder `box`, and return the HTML's path."""
    folder, own = box / "preview", composer.copy_for(list_name, now.date(), _SOMEBODY)
    try:
        for owned in (box, folder):
            owned.mkdir(mode=0o700, parents=True, exist_ok=True)
        copy = composer.envelope(composed, Delivery(0, 0, list_name, own, DeliveryState.PENDING))
        return outbox.show(folder, list_name, copy.message)
    except OSError as error:
        fix = files.denied(folder) or "free some space, or set PAPERBOY_OUTBOX"
        raise StoreError(
            f"{folder}: the preview cannot be written ({error.strerror}); {fix}"
        ) from error
