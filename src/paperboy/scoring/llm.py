"""Papers → scores by an LLM: batches over threads, each paper on its own when its batch fails.

A batch that is answered gives its scores; what is missing is asked again in smaller batches. A batch that is refused
is halved until the offending paper stands alone. When the server is dead, or refuses us, scoring ends with
ScoringError after all that arrived has been given.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field, replace
from functools import reduce
from operator import add
from threading import Event
from typing import Any, Final

from paperboy.errors import ScoringError
from paperboy.models import Cost, MailingList, Model, Paper, Scored, Spending, Usage
from paperboy.scoring.chat import Answer, ChatServer, Verdict
from paperboy.scoring.costs import Prices
from paperboy.scoring.prompt import Message, Prompt
from paperboy.scoring.reply import read_reply

BUDGET_USED_UP: Final = "what is left of LLM_BUDGET_USD for today does not cover another call"
MOST_ASKS = 3  # how often a paper is asked for before it is given up for this morning
BREAKER = 3  # so many batches in a row without a score, and the server counts as dead
REFUSALS = 8  # so many papers refused on their own before any was scored, and it is not the papers

_SCORE: Mapping[str, Any] = {
    "type": "object",
    "properties": {
        "arxiv_id": {"type": "string"},
        "relevance": {"type": "integer", "minimum": 1, "maximum": 10},
        "novelty": {"type": "integer", "minimum": 1, "maximum": 10},
        "comment": {"type": "string"},
    },
    "required": ["arxiv_id", "relevance", "novelty", "comment"],
    "additionalProperties": False,
}
SCHEMA: Mapping[str, Any] = {
    "type": "object",
    "properties": {"scores": {"type": "array", "items": _SCORE}},
    "required": ["scores"],
    "additionalProperties": False,
}


class LlmScorer:
    """Scores by a model behind a Chat Completions server.

    An empty `base_url` is OpenAI's; an empty `api_key` is for servers without keys. `timeout_seconds` holds for a whole
    call. Without `prices`, spending has tokens and no cost. `wait` sleeps between tries.
    """

    recent_days = 0  # how many days of past papers `score` wants to see beside the new ones

    def __init__(
        self,
        *,
        base_url: str,
        api_key: str,
        model: str,
        prompt: Prompt,
        prices: Prices | None,
        reasoning_effort: str = "low",
        service_tier: str = "",
        batch_size: int = 16,
        concurrency: int = 8,
        timeout_seconds: float = 120,
        wait: Callable[[float], None] = time.sleep,
    ) -> None:
        if not (api_key.isascii() and api_key.isprintable()):
            raise ScoringError("OPENAI_API_KEY holds characters that no key has; copy it into .env again")
        from paperboy.scoring.wire import Wire  # noqa: PLC0415 - imports openai: 0.4 s that only scoring needs

        self.model = Model(model, is_llm=True)
        self._prompt = prompt
        self._prices = prices
        self._batch_size = batch_size
        self._concurrency = concurrency
        self._wire = Wire(base_url, api_key, timeout_seconds)
        self._server = ChatServer(
            post=self._wire.post,
            base_url=base_url,
            model=model,
            schema=SCHEMA,
            options={"reasoning_effort": reasoning_effort, "service_tier": service_tier},
            secret=api_key,
            wait=wait,
        )

    def criteria(self, mailing_list: MailingList) -> str:
        """The fingerprint of what papers are judged by for this list."""
        return self._prompt.criteria(mailing_list.topics)

    def score(
        self,
        mailing_list: MailingList,
        papers: Sequence[Paper],
        recent: Sequence[Paper],  # noqa: ARG002 - the embedded scorer's, which shares our port
        budget: float | None = None,
    ) -> Generator[Scored, None, None]:
        """Gives what each call brought as it arrives; every paper is at last in some `scores` or `unscored`.

        `budget` is what may still be spent, in US dollars: before it would be crossed, scoring ends, and the last
        Scored names the rest with BUDGET_USED_UP. Raises ScoringError, after all that arrived, when the server is dead
        or refuses us; papers not named by then were not asked for or not answered. Closing the iterator dispatches no
        more, and waits for the calls under way.
        """
        if budget is not None and self._prices is None:
            raise ScoringError(
                f"LLM_BUDGET_USD is set, but the price of {self.model.name} is unknown; "
                "set LLM_PRICE_INPUT and LLM_PRICE_OUTPUT in .env"
            )
        unique = list({paper.arxiv_id: paper for paper in papers}.values())
        work = _Work(deque(Batch(part) for part in _even_parts(unique, self._batch_size)), budget)
        yield from self._dispatch(mailing_list.topics, work)

    def probe(self) -> str:
        """Asks for one word by the way scores are asked for, and says what answered. Raises ScoringError."""
        question = {"role": "user", "content": 'Reply with this JSON and nothing else: {"scores": []}'}
        answer = self._server.ask([question], tries=1)[-1]
        if answer.verdict is not Verdict.ANSWERED:
            raise self._error(answer.reason)
        how = self._server.manners.response_format
        return f"{self.model.name} at {self._server.place} answers ({how})"

    def close(self) -> None:
        """Closes the connections."""
        self._wire.close()

    def _dispatch(self, topics: str, work: _Work) -> Generator[Scored, None, None]:
        stopped = Event()
        under_way: dict[Future[list[Answer]], Batch] = {}
        executor = ThreadPoolExecutor(self._concurrency, thread_name_prefix="llm")
        try:
            while True:
                while len(under_way) < self._concurrency and (taken := self._take(topics, work)) is not None:
                    batch, messages = taken
                    call = executor.submit(self._server.ask, messages, goes_on=lambda: not stopped.is_set())
                    under_way[call] = batch
                if not under_way:
                    break
                for future in wait(under_way, return_when=FIRST_COMPLETED).done:
                    batch = under_way.pop(future)
                    work.reserved -= batch.estimate
                    yield self._settle(batch, future.result(), work)
                if work.fatal:
                    stopped.set()
        finally:
            stopped.set()
            executor.shutdown(cancel_futures=True)
        if work.fatal:
            raise self._error(work.fatal)
        if left := {paper.arxiv_id: BUDGET_USED_UP for batch in work.waiting for paper in batch.papers}:
            yield Scored(unscored=left)

    def _take(self, topics: str, work: _Work) -> tuple[Batch, list[Message]] | None:
        """The next batch and its messages, its cost reserved; None when nothing more may be dispatched now."""
        if work.fatal or not work.waiting:
            return None
        batch = work.waiting[0]
        messages = self._prompt.messages(topics, batch.papers)
        if work.budget is not None and self._prices is not None:
            batch = replace(batch, estimate=_dearest(messages, len(batch.papers), self._prices))
            if work.spent + work.reserved + batch.estimate > work.budget:
                return None
            work.reserved += batch.estimate
        work.waiting.popleft()
        return batch, messages

    def _settle(self, batch: Batch, answers: Sequence[Answer], work: _Work) -> Scored:
        """What a call brought, with what is to be asked again put back into `work`."""
        spending = reduce(add, (self._spending(answer) for answer in answers), Spending())
        work.spent += batch.estimate if spending.cost is None else spending.cost.total
        ids = [paper.arxiv_id for paper in batch.papers]
        last = answers[-1]
        if last.verdict is Verdict.HOPELESS:
            work.fatal = last.reason
            return Scored(spending=spending)
        if last.verdict is Verdict.REFUSED:
            return Scored(unscored=work.halve(batch, last.reason), spending=spending)
        reply = read_reply(last.text, ids)
        failed = last.verdict is Verdict.FAILED
        # that a paper asked for again gets no score is no sign of a dead server, unless the server fails outright
        counts = failed or batch.asks == 0 or len(batch.papers) > 1
        work.note(len(reply.scores), counts=counts, reason=last.reason or "answers without a usable score")
        if failed and work.fatal:
            return Scored(spending=spending)  # the papers are not to blame
        missing = [paper for paper in batch.papers if paper.arxiv_id in set(reply.missing)]
        unscored = work.ask_again(missing, batch, last.reason or "leaves this paper out of its replies")
        return Scored(reply.scores, unscored, spending)

    def _spending(self, answer: Answer) -> Spending:
        if answer.usage is None:
            return Spending(Usage(calls=1), None) if answer.paid else Spending()
        asked_for = self._server.options["service_tier"]
        tier = answer.tier or ("default" if "service_tier" in self._server.manners.left_out else asked_for)
        return Spending(answer.usage, self._prices.cost(answer.usage, tier) if self._prices else None)

    def _error(self, reason: str) -> ScoringError:
        return ScoringError(f"the LLM at {self._server.place} {reason}")


@dataclass(frozen=True, slots=True)
class Batch:
    """Papers that are asked for together."""

    papers: tuple[Paper, ...]
    asks: int = 0  # how often they were asked for before
    estimate: float = 0.0  # US dollars reserved for the call


@dataclass(slots=True)
class _Work:
    """What is still to be asked for, and what the answers so far say of the server."""

    waiting: deque[Batch]
    budget: float | None
    spent: float = 0.0
    reserved: float = 0.0
    fatal: str = ""  # why there is no use going on
    scored: int = 0
    failed_in_a_row: int = 0
    refused: list[str] = field(default_factory=list)  # reasons for papers refused on their own

    def note(self, scores: int, *, counts: bool, reason: str) -> None:
        """Opens the breaker after a few batches in a row without a score."""
        self.scored += scores
        if scores:
            self.failed_in_a_row = 0
        elif counts:
            self.failed_in_a_row += 1
        if self.failed_in_a_row >= BREAKER:
            self.fatal = self.fatal or reason

    def halve(self, batch: Batch, reason: str) -> dict[str, str]:
        """Puts both halves in front, or gives the reason why a single paper gets no score."""
        if len(batch.papers) > 1:
            middle = len(batch.papers) // 2
            halves = (batch.papers[:middle], batch.papers[middle:])
            self.waiting.extendleft(Batch(half, batch.asks) for half in reversed(halves))
            return {}
        self.refused.append(reason)
        if not self.scored and len(self.refused) >= REFUSALS:
            self.fatal = self.fatal or reason
        return {batch.papers[0].arxiv_id: f"the LLM {reason}"}

    def ask_again(self, papers: Sequence[Paper], batch: Batch, reason: str) -> dict[str, str]:
        """Puts the papers back in smaller batches, or gives the reason why they get no score."""
        if batch.asks + 1 >= MOST_ASKS:
            return {paper.arxiv_id: f"the LLM {reason}" for paper in papers}
        parts = _even_parts(papers, max(1, len(batch.papers) // 2))
        self.waiting.extend(Batch(part, batch.asks + 1) for part in parts)
        return {}


def _even_parts(papers: Sequence[Paper], size: int) -> Iterator[tuple[Paper, ...]]:
    """The papers in order, in as few parts as `size` allows, and those of nearly the same length."""
    number = -(-len(papers) // size)
    for part in range(number):
        yield tuple(papers[part * len(papers) // number : (part + 1) * len(papers) // number])


def _dearest(messages: Sequence[Message], papers: int, prices: Prices) -> float:
    """US dollars that a call can hardly exceed: nothing cached, short tokens, a long comment for every paper."""
    prompt = sum(len(message["content"].encode()) for message in messages) // 3
    rate = max(prices.input, prices.cached_input, prices.cache_write)
    dearest = Cost(prompt * rate / 1e6, (1000 + 150 * papers) * prices.output / 1e6)
    return dearest.total
