"""What `paperboy status` says of learned shortlists: how much they left out, what they miss, and what that saved."""

from collections.abc import Iterator, Mapping
from datetime import date, datetime
from typing import NamedTuple

from paperboy.features.learning.lessons import Progress
from paperboy.features.learning.shortlist import LEAST_AGE, LEAST_EXAMPLES, LOOKED_BACK, Recall, share_of
from paperboy.home.settings import Share
from paperboy.mail.text import counted, money, together
from paperboy.models import Spending
from paperboy.service.feature import Shown

_SOME = 5  # names of lists in a line
_YOUNG = "{} (learned {papers} of {papers_needed} papers, day {days} of {days_needed})"


class Standing(NamedTuple):
    """Where a list's shortlist stands."""

    share: float  # of a day's papers, those that the LLM is asked about now
    off_until: date | None  # `auto` is off, since the sample found too much
    progress: Progress | None  # None: it has learned nothing yet
    waits: bool  # it leaves nothing out before it has learned more
    recall: Recall  # of the last 60 days
    spending: Spending  # of the days on which something was left out

    @property
    def saved(self) -> float | None:
        """US dollars, by what a paper cost on those days. None: the price is unknown."""
        cost, recall = self.spending.cost, self.recall
        return cost.total / max(1, recall.called) * recall.not_called if cost and cost.total else None


def shown(standings: Mapping[str, Standing], setting: Share, now: datetime) -> Shown:
    """Show where shortlists stand, by list."""
    return Shown(
        key="shortlist",
        of_lists={name: _as_json(standing, now) for name, standing in standings.items()},
        lines=list(_lines(standings, setting, now)),
    )


def _lines(standings: Mapping[str, Standing], setting: Share, now: datetime) -> Iterator[str]:
    """Yield a line for each shortlist that left something out, and one for all that still learn."""
    for name, standing in standings.items():
        head, after = f"Shortlist of {name}", _now(standing, setting, now)
        if (recall := standing.recall).not_called:
            saved = "" if standing.saved is None else f", which saved about {money(standing.saved)}"
            called = f"in {LOOKED_BACK.days} days: {recall.share:.0%} of papers called; {_finds(recall)}"
            yield f"{head} {called}; left out {counted(recall.not_called, 'paper')}{saved}{after}"
        elif standing.off_until:
            yield f"{head}{after}"
    waiting = {name: standing for name, standing in standings.items() if standing.waits}
    young = [_YOUNG.format(name, **_progress(standing, now)) for name, standing in waiting.items()]
    if young:
        yield f"No shortlist yet for {together(young, _SOME)}"


def _finds(recall: Recall) -> str:
    by_chance = f"{counted(recall.sampled, 'paper')} called by chance"
    if recall.estimate is None or recall.interval is None:
        return f"too few to say what it finds ({by_chance}, {recall.passed} passed)"
    least, most = recall.interval
    return f"it finds about {recall.estimate:.0%} of what passes ({100 * least:.0f}–{most:.0%}, from {by_chance})"


def _now(standing: Standing, setting: Share, now: datetime) -> str:
    """Return what has changed since, if anything."""
    if setting == 1:
        return "; off now"
    if standing.off_until:
        return f"; off until {standing.off_until:%a %d %b}, since it missed too much"
    usual = share_of(setting, (), now.date())
    return f"; raised to {standing.share:.0%} of papers, since it missed some" if standing.share > usual else ""


def _progress(standing: Standing, now: datetime) -> dict[str, int]:
    """Return how much was learned, and how much is needed."""
    papers, days = 0, 0
    if standing.progress:
        papers, days = standing.progress.examples, (now - standing.progress.oldest).days
    return {
        "papers": min(papers, LEAST_EXAMPLES),
        "papers_needed": LEAST_EXAMPLES,
        "days": min(days, LEAST_AGE.days),
        "days_needed": LEAST_AGE.days,
    }


def _as_json(standing: Standing, now: datetime) -> dict[str, object]:
    """Return one list's; null where something is unknown."""
    recall = standing.recall
    return {
        "share": standing.share,
        "off_until": standing.off_until,
        "learns": _progress(standing, now) if standing.waits else None,
        **recall._asdict(),
        "recall": recall.estimate and round(recall.estimate, 4),
        "recall_interval": recall.interval and [round(bound, 4) for bound in recall.interval],
        "saved": standing.saved and round(standing.saved, 6),
    }
