"""Papers → scores by an LLM: batches over threads, and no paper that spoils another.

batches ← papers wanted by several lists come first in their prompts, so that the server's prompt cache finds them again
a batch has scores  → yield them; ask again for the papers that the reply left out
a batch has none    → ask for both halves, until a paper that spoils its batch is alone and is blamed
circuit breaker     → after three failures in a row, ask a trivial question: a server that fails it is dead
"""

from __future__ import annotations

from collections import Counter, defaultdict, deque
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from functools import reduce
from operator import add, itemgetter
from typing import ClassVar

from paperboy.errors import BudgetUsedUpError, ConfigError, ScoringError
from paperboy.models import MailingList, Model, Paper, Scored, Spending, ToScore, Usage
from paperboy.scoring.prices import Prices
from paperboy.scoring.prompt import Prompt, Question
from paperboy.scoring.reply import read_reply
from paperboy.scoring.server import Answer, Server, format_of

BREAKER = 3  # failures in a row after which the server is probed
AHEAD = 8  # batches by which the list that fills the cache is ahead of those that read it
MOST_FAILURES = 16  # in a row for one list: its topics are to blame
UNCOUNTED = Usage(calls=1, prompt_tokens=8_000, completion_tokens=4_000)  # a budget's guess for a call without usage
_PROBE = Question("Reply with JSON.", "Reply with this JSON and nothing else:", '{"scores": []}')


@dataclass(frozen=True, slots=True, eq=False)
class Batch:
    """Papers to ask for together, for one list."""

    mailing_list: MailingList
    papers: tuple[Paper, ...]
    prefix: str = ""  # batches of the same prefix begin with the same words; empty: shares them with no other
    papers_first: bool = False  # it shares its papers; otherwise the list's topics


def plan(jobs: Sequence[ToScore], size: int) -> list[Batch]:
    """Return all batches, of at most `size` papers, in the order to ask for them.

    Papers that lists have in common are not shared if they fill less than half a batch: repeating the topics after
    them would cost more.
    """
    askers: dict[Paper, list[int]] = defaultdict(list)
    for number, job in enumerate(jobs):
        for paper in job.papers:
            askers[paper].append(number)
    groups: dict[tuple[int, ...], list[Paper]] = defaultdict(list)
    for paper, numbers in askers.items():
        groups[tuple(numbers)].append(paper)
    unshared: list[list[Paper]] = [[] for _ in jobs]
    shared: list[tuple[tuple[int, ...], tuple[Paper, ...]]] = []
    for sharers, group in groups.items():
        if len(sharers) > 1 and 2 * len(group) >= size:
            shared += [(sharers, part) for part in even_parts(group, size)]
        else:
            for number in sharers:
                unshared[number] += group
    turns = [
        (turn + AHEAD * bool(place), Batch(jobs[number].mailing_list, part, part[0].arxiv_id, True))
        for turn, (sharers, part) in enumerate(shared)
        for place, number in enumerate(sharers)
    ]
    batches = [batch for _, batch in sorted(turns, key=itemgetter(0))]
    for job, papers in zip(jobs, unshared, strict=True):
        prefix = job.mailing_list.name if len(papers) > size else ""
        batches += [Batch(job.mailing_list, part, prefix) for part in even_parts(papers, size)]
    return batches


def even_parts(papers: Sequence[Paper], size: int) -> Iterator[tuple[Paper, ...]]:
    """Split papers into as few parts as `size` allows, in order and of nearly the same length."""
    number = -(-len(papers) // size)
    for part in range(number):
        yield tuple(papers[part * len(papers) // number : (part + 1) * len(papers) // number])


@dataclass(slots=True)
class _Run:
    """The state of one `score`: what to ask for, and what the answers so far say of server, lists and papers."""

    waiting: deque[Batch]
    may_spend: Callable[[], bool]
    under_way: dict[Future[list[Answer]], Batch] = field(default_factory=dict)
    begun: set[str] = field(default_factory=set)  # prefixes whose first batch was asked for
    warm: set[str] = field(default_factory=lambda: {""})  # prefixes whose first batch was answered
    failures: Counter[str] = field(default_factory=Counter)  # in a row, by list
    problems: dict[str, str] = field(default_factory=dict)  # by list: why nothing more is asked for it
    blamed: dict[str, dict[str, str]] = field(default_factory=dict)  # by list: papers that failed alone, and why
    in_a_row: int = 0  # failures of any list
    reason: str = ""  # of the last failure
    dead: bool = False

    @property
    def doubtful(self) -> bool:
        ended = not self.waiting and not self.under_way
        return self.in_a_row >= (1 if ended else BREAKER)

    def next(self) -> Batch | None:
        """Take the first batch whose prefix is warm, or was not asked for yet."""
        for batch in self.waiting:
            if batch.prefix in self.warm or batch.prefix not in self.begun:
                self.waiting.remove(batch)
                self.begun.add(batch.prefix)
                return batch
        return None

    def succeeded(self, batch: Batch, missing: Sequence[Paper]) -> None:
        """Note that papers of a batch were scored; ask again for the missing ones."""
        self.in_a_row = self.failures[batch.mailing_list.name] = 0
        if missing and batch.mailing_list.name not in self.problems:
            self.waiting.append(Batch(batch.mailing_list, tuple(missing)))

    def failed(self, batch: Batch, answer: Answer) -> None:
        """Ask for the halves of a batch without scores, or blame its only paper."""
        name = batch.mailing_list.name
        self.reason = answer.failure or "answers without a usable score"
        self.in_a_row += 1
        self.failures[name] += 1
        if name in self.problems:
            return
        if self.failures[name] >= MOST_FAILURES:
            self.drop(name, f"the LLM {self.reason}")
        elif len(batch.papers) > 1:
            halves = even_parts(batch.papers, -(-len(batch.papers) // 2))
            self.waiting.extend(Batch(batch.mailing_list, half) for half in halves)
        else:
            reason = answer.failure or "leaves this paper out of its replies"
            self.blamed.setdefault(name, {})[batch.papers[0].arxiv_id] = f"the LLM {reason}"

    def drop(self, name: str, problem: str) -> None:
        """Ask for nothing more on behalf of a list, and blame none of its papers."""
        self.problems[name] = problem
        self.blamed.pop(name, None)
        self.waiting = deque(batch for batch in self.waiting if batch.mailing_list.name != name)


@dataclass(frozen=True, slots=True, eq=False)
class LlmScorer:
    """Scores by a model behind a Chat Completions server. Without `prices`, spending has tokens and no cost."""

    server: Server
    prompt: Prompt
    prices: Prices | None
    batch_size: int = 16
    concurrency: int = 8
    recent_days: ClassVar[int] = 0  # days of past papers that `score` wants to compare with

    @property
    def model(self) -> Model:
        return Model(self.server.model, is_llm=True)

    def criteria(self, mailing_list: MailingList) -> str:
        """Fingerprint what papers are judged by for this list."""
        return self.prompt.criteria(mailing_list.topics)

    def score(self, jobs: Sequence[ToScore], may_spend: Callable[[], bool] | None = None) -> Generator[Scored]:
        """Yield the result of each call as it arrives; every paper ends in some `scores` or `unscored`.

        No new call begins once `may_spend` is false; then BudgetUsedUpError is raised. Raises ScoringError, after all
        that arrived, if the server is dead; papers not named by then were not asked for or not answered. Closing the
        iterator begins no more calls, and waits for those under way.
        """
        if may_spend and self.prices is None:
            fix = "set LLM_PRICE_INPUT and LLM_PRICE_OUTPUT in .env"
            raise ScoringError(f"LLM_BUDGET_USD is set, but the price of {self.model.name} is unknown; {fix}")
        run = _Run(deque(plan(jobs, self.batch_size)), may_spend or (lambda: True))
        executor = ThreadPoolExecutor(self.concurrency, thread_name_prefix="llm")
        try:
            yield from self._dispatch(run, executor, uncounted=UNCOUNTED if may_spend else None)
        finally:
            run.dead = True
            executor.shutdown(cancel_futures=True)

    def _dispatch(self, run: _Run, executor: ThreadPoolExecutor, *, uncounted: Usage | None) -> Generator[Scored]:
        while True:
            self._fill(run, executor)
            if not run.under_way:
                break
            for future in wait(run.under_way, return_when=FIRST_COMPLETED).done:
                batch, answers = run.under_way.pop(future), future.result()
                run.warm.add(batch.prefix)
                reply = read_reply(answers[-1].text, [paper.arxiv_id for paper in batch.papers])
                if reply.scores:
                    run.succeeded(batch, [paper for paper in batch.papers if paper.arxiv_id in reply.missing])
                else:
                    run.failed(batch, answers[-1])
                spending = reduce(add, (self._spending(answer, uncounted) for answer in answers))
                yield Scored(batch.mailing_list.name, reply.scores, spending=spending)
            if run.doubtful:
                yield self._trip(run, batch.mailing_list.name)
        if run.dead:
            raise self._error(run.reason)
        for name in run.problems.keys() | run.blamed.keys():
            yield Scored(name, unscored=run.blamed.get(name, {}), problem=run.problems.get(name, ""))
        if run.waiting:
            raise BudgetUsedUpError("LLM_BUDGET_USD is used up for today")

    def _fill(self, run: _Run, executor: ThreadPoolExecutor) -> None:
        """Begin as many calls as may be under way."""
        while len(run.under_way) < self.concurrency and not run.dead and run.waiting and run.may_spend():
            if (batch := run.next()) is None:
                return
            topics, name = batch.mailing_list.topics, batch.mailing_list.name
            try:
                question = self.prompt.question(topics, batch.papers, papers_first=batch.papers_first)
            except ConfigError as error:
                run.warm.add(batch.prefix)
                run.drop(name, str(error))
                continue
            call = executor.submit(self.server.ask, question, shared=bool(batch.prefix), stopped=lambda: run.dead)
            run.under_way[call] = batch

    def _trip(self, run: _Run, name: str) -> Scored:
        """Probe a doubtful server by a question that any can answer; one that fails it is dead."""
        if not run.may_spend():
            run.dead = True
            return Scored(name)
        (answer,) = self.server.ask(_PROBE, tries=1)
        run.dead, run.in_a_row = "scores" not in answer.text, 0
        return Scored(name, spending=self._spending(answer))

    def _spending(self, answer: Answer, uncounted: Usage | None = None) -> Spending:
        """Return the tokens and cost of an answer; `uncounted` prices one whose tokens nobody counted."""
        if not answer.paid:
            return Spending()
        if answer.usage is None:
            return Spending(Usage(calls=1), self.prices.cost(uncounted) if uncounted and self.prices else None)
        tier = answer.tier or ("default" if "service_tier" in self.server.refused else self.server.service_tier)
        return Spending(answer.usage, self.prices.cost(answer.usage, tier) if self.prices else None)

    def probe(self) -> str:
        """Ask once for the score of one invented paper, and describe who answered. Raises ScoringError."""
        question, arxiv_id = self.prompt.example()
        (answer,) = self.server.ask(question, tries=1)
        if answer.failure:
            retried = "; a morning retries every quarter of an hour" if answer.transient else ""
            raise self._error(answer.failure + ("; choose another OPENAI_MODEL" if answer.paid else retried))
        if not read_reply(answer.text, [arxiv_id]).scores:
            raise self._error(
                "answers, but with no usable score: check OPENAI_MODEL; a model that follows instructions is needed. "
                f"It said: {self.server.quote(answer.text, 100)}"
            )
        return f"{self.model.name} at {self.server.place} answers ({format_of(self.server.refused)}) and scores"

    def close(self) -> None:
        """Close the connections."""
        self.server.close()

    def _error(self, reason: str) -> ScoringError:
        return ScoringError(f"the LLM at {self.server.place} {reason}")
