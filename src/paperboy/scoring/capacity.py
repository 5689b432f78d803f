"""Capacity of an LLM server as this morning has found it, and what finding it has cost. Pure.

A batch that fails for its size, and is larger than any that was scored, halves all that wait: what
one batch has shown need not be shown by each. A timeout halves the calls at once, too, since a
server with few slots counts its queue as time. Both limits double again after some successes, since
a poisonous paper or a cold start can look the same, but not to where two different batches failed.
Nothing is stored: the next morning begins with the settings again.
"""

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from paperboy.scoring.answer import Answer, Cause

_LOST = {  # calls that gave no score, by why
    Cause.SIZE: "too large",
    Cause.TIMEOUT: "timed out",
    Cause.CONTENT: "without a usable score",
    Cause.SERVER: "failed",
}
_CUT_OFF = "cut off"
_REPEATED = "repeated later"
_OPTION = "refused for an option or the format"


PATIENCE = 4  # successes before a limit is tried at twice its value


@dataclass(slots=True)
class Limit:
    """Number that failures halve, and successes double again, up to its first value and below what
    failed for two different batches.
    """

    value: int
    most: int = field(init=False)
    streak: int = 0  # successes since it changed, or failed
    failed: dict[str, int] = field(default_factory=dict)  # by batch: the least value

    def __post_init__(self) -> None:
        self.most = self.value

    def fail(self, at: int, batch: str) -> None:
        self.failed[batch] = min(at, self.failed.get(batch, at))
        self.value = min(self.value, math.ceil(at / 2))
        self.streak = 0

    def next(self, patience: int = PATIENCE) -> int:
        """Return what to try next: its value or, after so many successes, twice that."""
        twice = min(self.most, 2 * self.value)
        failed = sum(at <= twice for at in self.failed.values())
        if twice == self.value or self.streak < patience or failed > 1:
            return self.value
        self.streak = 0
        return twice


@dataclass(slots=True)
class Capacity:
    """What a server takes: so many papers in a call, and so many calls at once."""

    papers: Limit
    calls: Limit
    largest: int = 0  # papers that one call has scored

    asked: int = 0  # calls
    lost: Counter[str] = field(default_factory=Counter)  # of these, by why
    lost_tokens: int = 0

    def note(
        self, answers: Sequence[Answer], papers: Sequence[str], scored: int, calls: int
    ) -> None:
        """Note what came of a question about papers, by id, of which so many were scored, when so
        many calls at once were allowed.
        """
        *earlier, last = answers
        number = len(papers)
        if scored:
            self.largest = max(self.largest, scored)
            self.papers.value = max(self.papers.value, scored)
            self.papers.streak += scored == number
            self.calls.streak += 1
            self.calls.value = self.calls.next(PATIENCE * self.calls.value)
        elif last.cause in {Cause.SIZE, Cause.TIMEOUT} and number > max(1, self.largest):
            self.papers.fail(number, papers[0])
        if last.cause is Cause.TIMEOUT:
            self.calls.fail(calls, papers[0])

        self.asked += len(answers)
        for answer in earlier:
            self._lose(answer, _OPTION if answer.pause is None else _REPEATED)
        if last.cut_off:
            self._lose(last, _CUT_OFF)
        elif not scored:
            self._lose(last, _LOST[last.cause])

    def _lose(self, answer: Answer, why: str) -> None:
        self.lost[why] += 1
        self.lost_tokens += answer.usage.total_tokens if answer.usage else 0

    def waste(self, papers: int, calls: int) -> tuple[str, str]:
        """Return why calls were lost, and the settings that would have saved them, where `papers`
        and `calls` are set; both empty if there is nothing to say, as of a server that scored none.
        """
        if not self.lost or not self.largest:
            return "", ""

        fits = self.papers.value
        if self.lost[_CUT_OFF]:
            fits = min(fits, self.largest)
        better = []
        if 0 < fits < papers:
            better.append(f"LLM_BATCH_SIZE={fits}")
        if self.calls.value < calls:
            better.append(f"LLM_CONCURRENCY={self.calls.value}")

        reasons = ", ".join(f"{number} {why}" for why, number in self.lost.items())
        what = f"{self.lost.total()} of {self.asked} calls gave no score, or not all ({reasons})"
        if self.lost_tokens:
            what += f" and took {self.lost_tokens:,} tokens"
        return what, " and ".join(better)
