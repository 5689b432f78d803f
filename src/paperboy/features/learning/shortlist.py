"""The learned shortlist: for which of a day's papers the LLM is called, and how well that finds
what passes. Pure.

A threshold that learns only from what it let through deceives itself, so each day has the same
share; and a random sample of the rest is called, too, from which the recall is estimated.
"""

import math
import random
from collections.abc import Mapping, Sequence
from datetime import date, timedelta
from typing import NamedTuple

from paperboy.home.settings import Share
from paperboy.morning.drafting import Learned

SAMPLED = 0.05  # the chance that a paper left out is scored all the same: that measures the recall
LEAST_EXAMPLES = 300  # that a list has learned, before an LLM's calls depend on it
LEAST_AGE = timedelta(days=30)  # of the oldest of them
LOOKED_BACK = timedelta(days=60)  # at what the sample found
_AUTO = 0.5  # the share of `auto`
_TOO_FEW = 20  # papers of a day, of which none is left out: little is saved
_RAISES = 3  # papers of the sample that passed
_STEP = 0.1  # by which they raise the share
_SWITCHES_OFF = 6  # papers of the sample that passed


def shortlist(papers: Mapping[str, float], share: float, seed: str) -> Learned:
    """Leave out all but the best share of a day's papers and a random sample of the rest. `papers`
    are their strengths by id, without those that are called in any case. The same `seed` draws the
    same papers, whatever the others.
    """
    if len(papers) < _TOO_FEW:
        return Learned()
    ordered = sorted(papers, key=lambda paper_id: (-papers[paper_id], paper_id))
    rest = ordered[math.ceil(share * len(ordered)) :]
    sampled = frozenset(each for each in rest if random.Random(f"{seed} {each}").random() < SAMPLED)  # noqa: S311 - no secret
    return Learned(not_called=frozenset(rest) - sampled, sampled=sampled)


def off_until(found: Sequence[date], day: date) -> date | None:
    """Return the last day on which `auto` is off: from the sixth paper of the sample that passed
    within 60 days, for 60 days. None: it is not. `found` are the days of those that passed, in
    order.
    """
    return _until(found, day, _SWITCHES_OFF)


def share_of(setting: Share, found: Sequence[date], day: date) -> float:
    """Return the share of a day's papers that the LLM is asked about. Three papers of the sample
    that passed within 60 days raise it for the 60 days after the third.
    """
    if setting == "auto" and off_until(found, day):
        return 1.0
    share = _AUTO if setting == "auto" else setting
    return min(1.0, share + _STEP) if _until(found, day, _RAISES) else share


def _until(found: Sequence[date], day: date, number: int) -> date | None:
    spans = zip(found, found[number - 1 :], strict=False)
    ends = [
        last + LOOKED_BACK for first, last in spans if last - first <= LOOKED_BACK and last <= day
    ]
    return max((end for end in ends if day <= end), default=None)


class Recall(NamedTuple):
    """Counts of how well a list's shortlist did."""

    called: int = 0  # papers that were scored, or should have been
    not_called: int = 0
    passed: int = 0  # of the called ones
    sampled: int = 0  # called by chance
    found: int = 0  # of the sampled ones, those that passed

    @property
    def share(self) -> float:
        """Return the share of its papers that were called."""
        return self.called / max(1, self.called + self.not_called)

    @property
    def estimate(self) -> float | None:
        """Return the share of the papers that would pass that were called. None: nothing was
        sampled, or would pass.
        """
        return self._with(self.found / self.sampled) if self.sampled else None

    @property
    def interval(self) -> tuple[float, float] | None:
        """Return the bounds of that with 95 % confidence (Wilson's interval of the sample)."""
        if not self.sampled or not self.passed:
            return None
        n = self.sampled
        share = self.found / n
        z = 1.96
        middle = share + z * z / (2 * n)
        width = z * math.sqrt(share * (1 - share) / n + z * z / (4 * n * n))
        least, most = (max(0.0, (middle + sign * width) / (1 + z * z / n)) for sign in (-1, 1))
        return self._with(most) or 0.0, self._with(least) or 0.0

    def _with(self, missed: float) -> float | None:
        """Return the recall if that share of what was not called would have passed."""
        would = self.passed + self.not_called * missed
        return self.passed / would if would else None
