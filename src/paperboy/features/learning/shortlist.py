"""The learned shortlist: which of a day's papers the LLM is called for, and its recall. Pure.

A threshold that learns only from what it let through deceives itself. So the share of papers is the
same each day, and the LLM also scores a random sample of the rest, which gives the recall.
"""

import math
import random
from collections.abc import Mapping, Sequence
from datetime import date, timedelta
from typing import NamedTuple

from paperboy.home.settings import Share
from paperboy.morning.drafting import Learned

LEAST_EXAMPLES = 300  # a list needs this many before LLM calls depend on them
LEAST_AGE = timedelta(days=30)  # of the oldest example
MISS_WINDOW = timedelta(days=60)  # counting window of misses, and how long they take effect
_AUTO = 0.6  # the share of `auto`
_TOO_FEW = 20  # with fewer papers a day none is left out: little would be saved
_STEP = 0.1  # by which misses raise the share
_MISSES_TO_DISABLE = 8  # that switch `auto` off


def sampled_of(setting: Share) -> float:
    """Return the chance that a paper left out is scored for the sample. `auto` needs more samples,
    to notice its misses sooner.
    """
    return 0.1 if setting == "auto" else 0.05


def shortlist(
    strengths: Mapping[str, float],
    share: float,
    sampled_share: float,
    seed: str,
) -> Learned:
    """Leave out all but the best share of a day's papers and a random sample of the rest.

    `strengths` are by id, without the papers that are called in any case. Whether a paper is
    drawn depends on `seed` and its id alone.
    """
    if len(strengths) < _TOO_FEW:
        return Learned()

    ordered = sorted(strengths, key=lambda paper_id: (-strengths[paper_id], paper_id))
    rest = ordered[math.ceil(share * len(ordered)) :]
    sampled = frozenset(
        paper_id
        for paper_id in rest
        if random.Random(f"{seed} {paper_id}").random() < sampled_share  # noqa: S311 - no secret
    )
    return Learned(not_called=frozenset(rest) - sampled, sampled=sampled)


def off_until(misses: Sequence[date], day: date) -> date | None:
    """Return the last day on which `auto` is off; None if it is on. Eight misses within 60 days
    switch it off for 60 days. `misses` are the sorted dates of sampled papers that passed.
    """
    return _until(misses, day, _MISSES_TO_DISABLE)


def share_of(setting: Share, misses: Sequence[date], day: date) -> float:
    """Return the share of a day's papers that the LLM is asked about. Misses within 60 days raise it
    for the next 60: four misses of `auto`, else three, since the sample is half as large.
    """
    if setting == "auto" and off_until(misses, day):
        return 1.0
    share = _AUTO if setting == "auto" else setting
    if _until(misses, day, 4 if setting == "auto" else 3):
        return min(1.0, share + _STEP)
    return share


def _until(misses: Sequence[date], day: date, number: int) -> date | None:
    """Return when the effect of `number` misses within 60 days ends; None without an effect."""
    until = None
    for first, last in zip(misses, misses[number - 1 :], strict=False):
        end = last + MISS_WINDOW
        if last - first <= MISS_WINDOW and last <= day <= end:
            until = end
    return until


class Recall(NamedTuple):
    """Counts of how well a list's shortlist did."""

    called: int = 0  # papers that were scored, or should have been
    not_called: int = 0
    passed: int = 0  # of the called ones
    sampled: int = 0  # called by chance
    found: int = 0  # of the sampled ones, those that passed: misses

    @property
    def share(self) -> float:
        """Return the share of the list's papers that were called."""
        return self.called / max(1, self.called + self.not_called)

    @property
    def estimate(self) -> float | None:
        """Return the estimated recall; None if nothing was sampled, or nothing would pass."""
        return self._recall(self.found / self.sampled) if self.sampled else None

    @property
    def interval(self) -> tuple[float, float] | None:
        """Return the recall's bounds with 95 % confidence (Wilson's interval of the sample)."""
        if not self.sampled or not self.passed:
            return None
        n = self.sampled
        share = self.found / n
        z = 1.96
        scale = 1 + z * z / n
        middle = share + z * z / (2 * n)
        width = z * math.sqrt(share * (1 - share) / n + z * z / (4 * n * n))
        least_missed = max(0.0, (middle - width) / scale)
        most_missed = (middle + width) / scale
        return self._recall(most_missed) or 0.0, self._recall(least_missed) or 0.0

    def _recall(self, missed: float) -> float | None:
        """Return the recall if that share of the papers not called would have passed."""
        would_pass = self.passed + self.not_called * missed
        return self.passed / would_pass if would_pass else None
