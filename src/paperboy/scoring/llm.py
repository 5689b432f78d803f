"""Papers → scores by an LLM: batches over threads, each paper on its own when its batch fails.

A batch that is answered gives its scores; what is missing is asked again in smaller batches. A batch that is refused
is halved until the offending paper stands alone. When the server is dead, or refuses us, scoring ends with
ScoringError after all that arrived has been given. `work.py` tells the one from the other.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field, replace
from functools import reduce
from operator import add
from threading import Event
from typing import Any, Final

from paperboy.errors import BudgetUsedUpError, ConfigError, ScoringError
from paperboy.models import Cost, MailingList, Model, Scored, Spending, ToScore, Usage
from paperboy.scoring import caching
from paperboy.scoring.caching import PromptCache
from paperboy.scoring.chat import ChatServer
from paperboy.scoring.costs import Prices
from paperboy.scoring.plan import Batch, plan
from paperboy.scoring.prompt import Prompt, Question
from paperboy.scoring.purse import Hold, Purse, Reserve
from paperboy.scoring.reply import read_reply
from paperboy.scoring.verdicts import Answer, Verdict
from paperboy.scoring.work import Work

BUDGET_USED_UP: Final = "what is left of LLM_BUDGET_USD for today does not cover another call"

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


_PROBE: Mapping[str, str] = {
    "role": "user",
    "content": 'Reply with this JSON and nothing else: {"scores": []}',
}


@dataclass(frozen=True, slots=True)
class _Call:
    """A request that is under way."""

    batch: Batch
    hold: Hold | None  # of the budget, where there is one


@dataclass(slots=True)
class _Run:
    """One use of the scorer."""

    work: Work
    purse: Purse | None  # None: no budget
    stopped: Event = field(default_factory=Event)
    under_way: dict[Future[list[Answer]], _Call] = field(default_factory=dict)
    last_list: str = ""  # the one that was asked for last
    hopeless: bool = False  # it said that there is no use asking; perhaps only to one text
    too_dear: list[Batch] = field(default_factory=list)  # what the budget does not cover even paper by paper

    def goes_on(self, answer: Answer) -> bool:
        """Whether a call may try again: where each has to be covered, not after one that may have been paid for."""
        return not self.stopped.is_set() and not (self.purse and (answer.paid or answer.timed_out))


class LlmScorer:
    """Scores by a model behind a Chat Completions server.

    An empty `base_url` is OpenAI's; an empty `api_key` is for servers without keys. `timeout_seconds` holds for a whole
    call. Without `prices`, spending has tokens and no cost. `cache` is what the server does with prompts that begin
    alike. `wait` sleeps between tries.
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
        cache: PromptCache = PromptCache.NONE,
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
        self._cache = cache
        self._wire = Wire(base_url, api_key, timeout_seconds)
        options: dict[str, Any] = {"reasoning_effort": reasoning_effort, "service_tier": service_tier}
        if caching.is_openai(base_url):
            self._cap = "max_completion_tokens"  # its models do not know the older name
        else:
            self._cap = "max_tokens"
            options["temperature"] = 0  # others would judge a paper differently each time; OpenAI's models refuse it
        self._server = ChatServer(
            post=self._wire.post,
            base_url=base_url,
            model=model,
            schema=SCHEMA,
            options=options,
            secret=api_key,
            wait=wait,
        )

    def criteria(self, mailing_list: MailingList) -> str:
        """The fingerprint of what papers are judged by for this list."""
        return self._prompt.criteria(mailing_list.topics)

    def score(self, jobs: Sequence[ToScore], budget: Reserve | None = None) -> Generator[Scored, None, None]:
        """Gives what each call brought as it arrives; every paper is at last in some `scores` or `unscored`.

        `budget` sets aside what a call may cost, in US dollars; what came of the call says which entry that was. When
        it covers no other call, scoring ends with BudgetUsedUpError. Raises ScoringError, after all that arrived, when
        the server is dead or refuses us; papers not named by then were not asked for or not answered. Closing the
        iterator dispatches no more, and waits for the calls under way.
        """
        purse: Purse | None = None
        if budget is not None:
            if self._prices is None:
                raise ScoringError(
                    f"LLM_BUDGET_USD is set, but the price of {self.model.name} is unknown; "
                    "set LLM_PRICE_INPUT and LLM_PRICE_OUTPUT in .env"
                )
            purse = Purse(budget, self._prices)
        warm_up = self._cache is not PromptCache.NONE
        batches = plan(jobs, self._batch_size, warm_up=warm_up, ahead=self._concurrency)
        run = _Run(Work.of(batches), purse)
        executor = ThreadPoolExecutor(self._concurrency, thread_name_prefix="llm")
        try:
            yield from self._dispatch(run, executor)
        finally:
            run.stopped.set()
            executor.shutdown(cancel_futures=True)
        if run.work.fatal:  # which is to blame, and no paper
            raise self._error(run.work.fatal)
        for name, standing in run.work.lists.items():
            if standing.blamed or standing.problem:
                yield Scored(name, unscored=standing.blamed, problem=standing.problem)
        if run.purse and (run.work.waiting or run.too_dear):
            if run.work.died:
                raise self._error(run.work.died)
            raise BudgetUsedUpError(BUDGET_USED_UP)

    def probe(self) -> str:
        """Asks once for the score of one invented paper, and says what answered. Raises ScoringError."""
        question, arxiv_id = self._prompt.example()
        answer = self._server.ask(caching.messages(question), tries=1)[-1]
        if answer.verdict is not Verdict.ANSWERED:
            raise self._error(answer.reason)
        if not read_reply(answer.text, [arxiv_id]).scores:
            said = "".join(char for char in " ".join(answer.text.split()) if char.isprintable())
            if self._server.secret:
                said = said.replace(self._server.secret, "…")
            raise self._error(
                "answers, but with no usable score: check OPENAI_MODEL; a model that follows instructions is needed. "
                f"It said: {said if len(said) <= 100 else said[:99] + '…'}"
            )
        how = self._server.manners.response_format
        return f"{self.model.name} at {self._server.place} answers ({how}) and scores"

    def close(self) -> None:
        """Closes the connections."""
        self._wire.close()

    def _dispatch(self, run: _Run, executor: ThreadPoolExecutor) -> Generator[Scored, None, None]:
        while True:
            self._fill(run, executor)
            if not run.under_way:
                return
            for future in wait(run.under_way, return_when=FIRST_COMPLETED).done:
                yield self._settle(run, run.under_way.pop(future), future.result())
            idle = not run.under_way
            doubtful = run.hopeless or (run.work.suspicion and (idle or run.work.waiting))
            if doubtful and not run.work.fatal:
                run.hopeless = False
                yield self._doubt(run)
            if run.work.fatal:
                run.stopped.set()

    def _doubt(self, run: _Run) -> Scored:
        """Asks a dying server a question that any can answer, to tell it from texts that it cannot take."""
        hold = run.purse.hold(len(_PROBE["content"]), 1) if run.purse else None
        if run.purse and hold is None:
            run.work.fatal = run.work.last_reason
            return Scored(run.last_list)
        answers = self._server.ask([_PROBE], self._capped(hold.most_output) if hold else {}, tries=1)
        if answers[-1].verdict is Verdict.ANSWERED and "scores" in answers[-1].text:
            run.work.trusted()
        else:
            run.work.fatal = run.work.last_reason
        spending = reduce(add, (self._spending(answer, hold) for answer in answers), Spending())
        return Scored(run.last_list, spending=spending, hold=hold.number if hold else None)

    def _fill(self, run: _Run, executor: ThreadPoolExecutor) -> None:
        """Begins as many calls as may be under way; with a budget one, until its answer tells what a call costs."""
        most = self._concurrency if run.purse is None or self._server.proven else 1
        while len(run.under_way) < most and not run.work.fatal and (batch := run.work.next()):
            try:
                question = self._prompt.question(
                    batch.mailing_list.topics, batch.papers, papers_first=batch.papers_first
                )
            except ConfigError as error:
                run.work.drop(batch, str(error))
                continue
            capped = self._cap not in self._server.manners.left_out
            hold = run.purse.hold(question.size, len(batch.papers), capped=capped) if run.purse else None
            if run.purse and hold is None:
                if run.under_way:
                    run.work.put_back(batch)
                    return
                if not run.work.split(batch, in_front=True):
                    run.work.ended(batch)
                    run.too_dear.append(batch)
                continue
            messages, extras = self._request(question, batch, hold)
            call = executor.submit(self._server.ask, messages, extras, goes_on=run.goes_on)
            run.under_way[call] = _Call(batch, hold)
            run.last_list = batch.mailing_list.name

    def _capped(self, tokens: int) -> dict[str, Any]:
        return {self._cap: tokens}

    def _request(
        self, question: Question, batch: Batch, hold: Hold | None
    ) -> tuple[list[caching.Message], dict[str, Any]]:
        """The messages, and the options that are this question's own."""
        shares = batch.shares and caching.worth_caching(question)
        extras = caching.options(question, self._cache, shares=shares)
        if hold is not None:
            extras |= self._capped(hold.most_output)
        return caching.messages(question, mark=shares and self._cache is PromptCache.BREAKPOINTS), extras

    def _settle(self, run: _Run, call: _Call, answers: Sequence[Answer]) -> Scored:
        """What a call brought, with what is to be asked again put back."""
        batch, work, last = call.batch, run.work, answers[-1]
        spending = reduce(add, (self._spending(answer, call.hold) for answer in answers), Spending())
        brought = Scored(batch.mailing_list.name, spending=spending, hold=call.hold.number if call.hold else None)
        if run.purse and call.hold:
            run.purse.learn(call.hold, spending.usage)
        work.ended(batch)
        if last.verdict is Verdict.HOPELESS and last.certain:
            work.fatal = last.reason
            return brought
        if last.verdict in {Verdict.REFUSED, Verdict.HOPELESS}:
            work.failed(batch, last.reason)
            run.hopeless = run.hopeless or last.verdict is Verdict.HOPELESS
            if last.cut_short and call.hold:  # by the limit that we set; the next one is higher
                work.ask_again(batch.papers, batch, last.reason, blame=False)
            else:
                work.refused(batch, last.reason)
            return brought
        reply = read_reply(last.text, [paper.arxiv_id for paper in batch.papers])
        if reply.scores:
            work.scored(batch)
        else:
            work.failed(batch, last.reason or "answers without a usable score")
        missing = [paper for paper in batch.papers if paper.arxiv_id in set(reply.missing)]
        reason = last.reason or "leaves this paper out of its replies"
        work.ask_again(missing, batch, reason)
        return replace(brought, scores=reply.scores)

    def _spending(self, answer: Answer, hold: Hold | None = None) -> Spending:
        """What an answer cost; what nobody counted has cost, where there is a budget, what was set aside for it."""
        if answer.usage is not None:
            asked_for = self._server.options["service_tier"]
            tier = answer.tier or ("default" if "service_tier" in self._server.manners.left_out else asked_for)
            return Spending(answer.usage, self._prices.cost(answer.usage, tier) if self._prices else None)
        if hold and (answer.paid or (answer.timed_out and not answer.unsent)):
            return Spending(Usage(calls=1), Cost(hold.dollars))
        return Spending(Usage(calls=1), None) if answer.paid else Spending()

    def _error(self, reason: str) -> ScoringError:
        return ScoringError(f"the LLM at {self._server.place} {reason}")
