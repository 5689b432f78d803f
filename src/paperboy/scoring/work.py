"""What is still to be asked for, and what the answers so far say of the server."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from paperboy.models import Paper
from paperboy.scoring.plan import Batch, even_parts

MOST_ASKS = 3  # how often a paper is asked for before it is given up for this morning
BREAKER = 3  # so many batches in a row without a score, and the server counts as dead
REFUSALS = 8  # so many papers refused on their own before any was scored, and it is not the papers


@dataclass(slots=True)
class Work:
    """The batches that wait, in the order in which they are asked for."""

    waiting: deque[Batch]
    fatal: str = ""  # why there is no use going on
    _warm: set[str] = field(default_factory=set)  # prefixes whose first batch was answered
    _scored: int = 0
    _failed_in_a_row: int = 0
    _refused: int = 0  # papers refused on their own

    @classmethod
    def of(cls, batches: Iterable[Batch]) -> Work:
        return cls(deque(batches))

    def next(self) -> Batch | None:
        """Takes out the first batch that may be asked for now."""
        for place, batch in enumerate(self.waiting):
            if batch.leads or batch.prefix in self._warm:
                del self.waiting[place]
                return batch
        return None

    def put_back(self, batch: Batch) -> None:
        self.waiting.appendleft(batch)

    def drop(self, batch: Batch) -> None:
        """Asks for nothing more on behalf of the batch's list."""
        self.ended(batch)
        name = batch.mailing_list.name
        for left in [other for other in self.waiting if other.mailing_list.name == name]:
            self.waiting.remove(left)
            self.ended(left)

    def split(self, batch: Batch) -> bool:
        """Puts both halves in front of all others; false where there is only one paper."""
        if len(batch.papers) == 1:
            return False
        halves = even_parts(batch.papers, -(-len(batch.papers) // 2))
        self.waiting.extendleft(reversed([batch.again(half, asks=batch.asks) for half in halves]))
        self.ended(batch)
        return True

    def ended(self, batch: Batch) -> None:
        """Nothing need wait for it any more: its call has ended, or it will not be asked for as it is."""
        self._warm.add(batch.prefix)

    def note(self, scores: int, *, counts: bool, reason: str) -> None:
        """Opens the breaker after a few batches in a row without a score."""
        self._scored += scores
        if scores:
            self._failed_in_a_row = 0
        elif counts:
            self._failed_in_a_row += 1
        if self._failed_in_a_row >= BREAKER:
            self.fatal = self.fatal or reason

    def halve(self, batch: Batch, reason: str) -> dict[str, str]:
        """Puts both halves in front, or gives the reason why a single paper gets no score."""
        if self.split(batch):
            return {}
        self._refused += 1
        if not self._scored and self._refused >= REFUSALS:
            self.fatal = self.fatal or reason
        return {batch.papers[0].arxiv_id: f"the LLM {reason}"}

    def ask_again(self, papers: Sequence[Paper], batch: Batch, reason: str) -> dict[str, str]:
        """Puts the papers back in smaller batches, or gives the reason why they get no score."""
        if batch.asks + 1 >= MOST_ASKS:
            return {paper.arxiv_id: f"the LLM {reason}" for paper in papers}
        parts = even_parts(papers, max(1, len(batch.papers) // 2))
        self.waiting.extend(batch.again(part, asks=batch.asks + 1) for part in parts)
        return {}
