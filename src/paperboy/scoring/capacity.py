"""Capacity of an LLM server as this morning has found it, and what finding it has cost. Pure.

A batch that fails for its size, and is larger than any that was scored, halves all that wait: what
one batch has shown need not be shown by each. A timeout halves the calls at once, too, since a
server with few slots counts its queue as time. Nothing is stored: the next morning begins with the
settings again.
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


@dataclass(slots=True)
class Capacity:
    """What a server takes: so many papers in a call, and so many calls at once."""

    papers: int
    calls: int
    largest: int = 0  # papers that one call has scored

    asked: int = 0  # calls
    lost: Counter[str] = field(default_factory=Counter)  # of these, by why
    lost_tokens: int = 0

    def note(self, answers: Sequence[Answer], papers: int, scored: int, calls: int) -> None:
        """Note what came of a question about so many papers, when so many calls at once were
        allowed.
        """
        *earlier, last = answers
        if scored:
            self.largest = max(self.largest, scored)
            self.papers = max(self.papers, scored)
        elif last.cause in {Cause.SIZE, Cause.TIMEOUT} and papers > self.largest:
            self.papers = min(self.papers, math.ceil(papers / 2))
        if last.cause is Cause.TIMEOUT:
            self.calls = min(self.calls, math.ceil(calls / 2))

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

        fits = min(self.papers, self.largest) if self.lost[_CUT_OFF] else self.papers
        better = []
        if 0 < fits < papers:
            better.append(f"LLM_BATCH_SIZE={fits}")
        if self.calls < calls:
            better.append(f"LLM_CONCURRENCY={self.calls}")

        reasons = ", ".join(f"{number} {why}" for why, number in self.lost.items())
        what = f"{self.lost.total()} of {self.asked} calls gave no score, or not all ({reasons})"
        if self.lost_tokens:
            what += f" and took {self.lost_tokens:,} tokens"
        return what, " and ".join(better)
