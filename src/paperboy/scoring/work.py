"""What is still to be asked for, and what the answers so far say: of the server, of each list, of single papers.

A failure is put down to as little as can be. A batch is asked for again in smaller ones, at last each paper alone.
Where nothing comes of several requests in a row, a question that any server can answer tells whether this one is dead;
if it is not, the texts are to blame, and a list of which nothing could be scored is asked for no more.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from paperboy.models import Paper
from paperboy.scoring.plan import Batch, even_parts

MOST_ASKS = 3  # how often a paper is asked for before it is given up for this morning; the last time alone
BREAKER = 3  # so many requests in a row without a score, and the server is asked whether it is there
MOST_TRUST = 2  # so often it is believed to be there while nothing at all could be scored
REFUSALS = 8  # so many papers refused on their own and none scored of a list, and it is not the papers
MOST_FAILURES = 32  # so many requests of a list, and none scored: likewise


@dataclass(slots=True)
class Standing:
    """What came of one list so far."""

    blamed: dict[str, str] = field(default_factory=dict)  # papers that were refused, or left out, on their own
    scored: bool = False  # at least one
    failures: int = 0  # requests that brought nothing
    problem: str = ""  # why others of its papers have no score
    dropped: bool = False


@dataclass(slots=True)
class Work:
    """The batches that wait, in the order in which they are asked for."""

    waiting: deque[Batch]
    fatal: str = ""  # why there is no use going on
    lists: defaultdict[str, Standing] = field(default_factory=lambda: defaultdict(Standing))
    _warm: set[str] = field(default_factory=set)  # prefixes whose first batch was answered
    _failed_in_a_row: int = 0
    _breaker: int = BREAKER
    _reason: str = ""  # of the last failure
    _any: bool = False  # something was scored
    _trusted: int = 0  # how often

    @classmethod
    def of(cls, batches: Iterable[Batch]) -> Work:
        """All of them wait."""
        return cls(deque(batches))

    # ---- what is asked for next

    def next(self) -> Batch | None:
        """Takes out the first batch that may be asked for now."""
        for place, batch in enumerate(self.waiting):
            if batch.leads or batch.prefix in self._warm:
                del self.waiting[place]
                return batch
        return None

    def put_back(self, batch: Batch) -> None:
        """It is the next one again."""
        self.waiting.appendleft(batch)

    def split(self, batch: Batch, *, in_front: bool) -> bool:
        """Has both halves asked for, before all others or behind them; false where there is only one paper."""
        if len(batch.papers) == 1:
            return False
        halves = [batch.again(half, asks=batch.asks) for half in even_parts(batch.papers, -(-len(batch.papers) // 2))]
        self.waiting.extendleft(reversed(halves)) if in_front else self.waiting.extend(halves)
        self.ended(batch)
        return True

    def ended(self, batch: Batch) -> None:
        """Nothing need wait for it any more: its call has ended, or it will not be asked for as it is."""
        self._warm.add(batch.prefix)

    def drop(self, batch: Batch, problem: str) -> None:
        """Asks for nothing more on behalf of the batch's list, and blames none of its papers."""
        name = batch.mailing_list.name
        self.lists[name] = Standing(problem=problem, dropped=True)
        self.ended(batch)
        for left in [other for other in self.waiting if other.mailing_list.name == name]:
            self.waiting.remove(left)
            self.ended(left)

    # ---- what came of it

    def scored(self, batch: Batch) -> None:
        """A request brought scores: the server is well, and so is the list."""
        self._failed_in_a_row, self._breaker, self._reason, self._any = 0, BREAKER, "", True
        self.lists[batch.mailing_list.name].scored = True

    def failed(self, batch: Batch, reason: str) -> None:
        """A request brought nothing."""
        self._failed_in_a_row += 1
        self._reason = reason
        standing = self.lists[batch.mailing_list.name]
        standing.failures += 1
        if standing.failures >= MOST_FAILURES and not standing.scored:
            self.drop(batch, f"the LLM {reason}")

    @property
    def suspicion(self) -> str:
        """Why the server may be dead; empty while there is no reason to think so."""
        ended = not self.waiting and self._failed_in_a_row > 0
        return self._reason if ended or self._failed_in_a_row >= self._breaker else ""

    @property
    def last_reason(self) -> str:
        """Why the last request brought nothing."""
        return self._reason

    def trusted(self) -> None:
        """The server is there after all; it takes twice as many failures to doubt it again. One that answers nothing
        but that question is as good as dead.
        """
        self._trusted += 1
        if self._trusted > MOST_TRUST and not self._any:
            self.fatal = self._reason
        self._failed_in_a_row, self._breaker = 0, 2 * self._breaker

    @property
    def died(self) -> str:
        """Why nothing at all could be scored, if it could not; empty where nothing was asked."""
        return "" if self._any else self._reason

    def refused(self, batch: Batch, reason: str) -> None:
        """Asks for both halves, after all others; or blames the paper that stands alone."""
        if not self.lists[batch.mailing_list.name].dropped and not self.split(batch, in_front=False):
            self._give_up(batch, batch.papers, reason, blame=True)

    def ask_again(self, papers: Sequence[Paper], batch: Batch, reason: str, *, blame: bool = True) -> None:
        """Asks for them in smaller batches, at last alone; then `blame` says whether it is the papers."""
        if not papers or self.lists[batch.mailing_list.name].dropped:
            return
        asks = batch.asks + 1
        if asks < MOST_ASKS:
            size = max(1, len(batch.papers) // 2) if asks + 1 < MOST_ASKS else 1
            self.waiting.extend(batch.again(part, asks=asks) for part in even_parts(papers, size))
        else:
            self._give_up(batch, papers, reason, blame=blame)

    def _give_up(self, batch: Batch, papers: Sequence[Paper], reason: str, *, blame: bool) -> None:
        standing, problem = self.lists[batch.mailing_list.name], f"the LLM {reason}"
        if blame:
            standing.blamed |= {paper.arxiv_id: problem for paper in papers}
        else:
            standing.problem = problem
        if len(standing.blamed) >= REFUSALS and not standing.scored:
            self.drop(batch, problem)
