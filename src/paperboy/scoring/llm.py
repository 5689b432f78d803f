"""Papers → scores by an LLM: batches over threads, and no paper that spoils another.

batches ← lists that want the same papers share them, in front, where the server's prompt cache finds them again
a batch is scored   → keep its scores; ask again for what it left out
nothing came of it  → ask for both halves, until a paper that spoils them stands alone and is blamed
three fail in a row → ask what any server can answer, to tell a dead one from texts that it cannot take
"""

from __future__ import annotations

import hashlib
import re
import time
from collections import Counter, deque
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from functools import reduce
from operator import add, itemgetter
from typing import Any
from urllib.parse import urlsplit

from paperboy.errors import BudgetUsedUpError, ConfigError, ScoringError
from paperboy.models import MailingList, Model, Paper, Scored, Spending, ToScore, Usage
from paperboy.scoring.prices import Prices
from paperboy.scoring.prompt import Prompt, Question
from paperboy.scoring.reply import read_reply
from paperboy.scoring.server import Answer, Message, Server, Verdict, one_line

BREAKER = 3  # this many failures in a row make a server doubtful; twice as many each time that it proves to be there
AHEAD = 8  # batches by which the list that asks first is in front of those that find its papers in the cache
MOST_FAILURES = 16  # of a list without a single score: its topics are to blame
MIN_CACHED_BYTES = 4_000  # caches take 1,024 tokens or more, and fewer bytes of English are fewer tokens
_PROBE: Message = {"role": "user", "content": 'Reply with this JSON and nothing else: {"scores": []}'}


def takes_breakpoints(model: str, base_url: str) -> bool:
    """Check whether the prompt cache works up to marks in the prompt, and charges for writing, as OpenAI's does from
    5.6 on (developers.openai.com, "Prompt caching"). Others cache by themselves, or not at all.
    """
    version = re.match(r"(?:ft:)?gpt-(\d+)(?:\.(\d+))?", model)
    return bool(version and is_openai(base_url) and (int(version[1]), int(version[2] or 0)) >= (5, 6))


def is_openai(base_url: str) -> bool:
    """Check whether a server (empty: the default one) is OpenAI's own."""
    host = urlsplit(base_url).hostname or ""
    return not base_url or host == "api.openai.com" or host.endswith(".api.openai.com")


@dataclass(frozen=True, slots=True, eq=False)
class Batch:
    """Papers that are asked for together, for one list."""

    mailing_list: MailingList
    papers: tuple[Paper, ...]
    prefix: str = ""  # the same prefix, the same first words: the first is asked for alone; empty: shares nothing
    papers_first: bool = False  # shares its papers; otherwise its topics


def plan(jobs: Sequence[ToScore], size: int) -> list[Batch]:
    """All batches in the order to ask for them.

    Papers that lists have in common are not shared if they fill less than half a batch of `size`: the topics, said
    again after them, would cost more.
    """
    papers = {paper.arxiv_id: paper for job in jobs for paper in job.papers}
    askers: dict[str, dict[int, None]] = {arxiv_id: {} for arxiv_id in papers}
    for number, job in enumerate(jobs):
        for paper in job.papers:
            askers[paper.arxiv_id][number] = None
    groups: dict[tuple[int, ...], list[Paper]] = {}
    for arxiv_id, numbers in askers.items():
        groups.setdefault(tuple(numbers), []).append(papers[arxiv_id])
    alone: list[list[Paper]] = [[] for _ in jobs]
    parts: list[tuple[tuple[int, ...], tuple[Paper, ...]]] = []
    for sharers, group in groups.items():
        if len(sharers) == 1 or 2 * len(group) < size:
            for number in sharers:
                alone[number] += group
        else:
            parts += [(sharers, part) for part in even_parts(group, size)]
    turns = [
        (turn + AHEAD * bool(place), Batch(jobs[number].mailing_list, part, part[0].arxiv_id, True))
        for turn, (sharers, part) in enumerate(parts)
        for place, number in enumerate(sharers)
    ]
    batches = [batch for _, batch in sorted(turns, key=itemgetter(0))]
    for job, own in zip(jobs, alone, strict=True):
        prefix = job.mailing_list.name if len(own) > size else ""
        batches += [Batch(job.mailing_list, part, prefix) for part in even_parts(own, size)]
    return batches


def even_parts(papers: Sequence[Paper], size: int) -> Iterator[tuple[Paper, ...]]:
    """The papers in order, in as few parts as `size` allows, and those of nearly the same length."""
    number = -(-len(papers) // size)
    for part in range(number):
        yield tuple(papers[part * len(papers) // number : (part + 1) * len(papers) // number])


@dataclass(slots=True)
class _Run:
    """One use of the scorer: what is left to ask, and what the answers so far say of server, lists and papers."""

    waiting: deque[Batch]
    may_spend: Callable[[], bool]
    under_way: dict[Future[list[Answer]], tuple[Batch, int]] = field(default_factory=dict)  # with the prompt's bytes
    begun: set[str] = field(default_factory=set)  # prefixes whose first batch was asked for
    warm: set[str] = field(default_factory=lambda: {""})  # prefixes whose first batch was answered
    scored: set[str] = field(default_factory=set)  # lists with at least one score
    failures: Counter[str] = field(default_factory=Counter)  # by list, of requests
    problems: dict[str, str] = field(default_factory=dict)  # by list: why nothing more is asked for it
    blamed: dict[str, dict[str, str]] = field(default_factory=dict)  # by list: papers that failed alone
    in_a_row: int = 0  # failures of any list
    breaker: int = BREAKER
    reason: str = ""  # for the last failure
    fatal: bool = False

    @property
    def doubtful(self) -> bool:
        ended = not self.waiting and not self.under_way
        return not self.fatal and self.in_a_row >= (1 if ended else self.breaker)

    def next(self) -> Batch | None:
        """Take the first batch that may be asked for now."""
        for batch in self.waiting:
            if batch.prefix in self.warm or batch.prefix not in self.begun:
                self.waiting.remove(batch)
                self.begun.add(batch.prefix)
                return batch
        return None

    def succeeded(self, batch: Batch, missing: Sequence[Paper]) -> None:
        """Some papers were scored; ask again for the others."""
        self.in_a_row, self.breaker = 0, BREAKER
        self.scored.add(batch.mailing_list.name)
        if missing and batch.mailing_list.name not in self.problems:
            self.waiting.append(Batch(batch.mailing_list, tuple(missing)))

    def failed(self, batch: Batch, answer: Answer) -> None:
        """Nothing came of a batch: ask for its halves, or blame the paper that stands alone."""
        name = batch.mailing_list.name
        self.reason = answer.reason or "answers without a usable score"
        self.fatal |= answer.verdict is Verdict.HOPELESS
        self.in_a_row = max(self.in_a_row + 1, self.breaker if answer.verdict is Verdict.DOUBTFUL else 0)
        self.failures[name] += 1
        if self.failures[name] >= MOST_FAILURES and name not in self.scored:
            self.drop(name, f"the LLM {self.reason}")
        elif len(batch.papers) > 1 and name not in self.problems:
            halves = even_parts(batch.papers, -(-len(batch.papers) // 2))
            self.waiting.extend(Batch(batch.mailing_list, half) for half in halves)
        elif name not in self.problems:
            reason = answer.reason or "leaves this paper out of its replies"
            self.blamed.setdefault(name, {})[batch.papers[0].arxiv_id] = f"the LLM {reason}"

    def drop(self, name: str, problem: str) -> None:
        """Ask for nothing more on behalf of a list, and blame none of its papers."""
        self.problems[name] = problem
        self.blamed.pop(name, None)
        self.waiting = deque(batch for batch in self.waiting if batch.mailing_list.name != name)


class LlmScorer:
    """Scores by a model behind a Chat Completions server.

    An empty `base_url` is OpenAI's; an empty `api_key` is for servers without keys. `timeout_seconds` holds for a whole
    call. Without `prices`, spending has tokens and no cost. `breakpoints` are for a server that `takes_breakpoints`,
    unless given. `wait` sleeps between tries.
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
        breakpoints: bool | None = None,
        wait: Callable[[float], None] = time.sleep,
    ) -> None:
        if not (api_key.isascii() and api_key.isprintable()):
            raise ScoringError("OPENAI_API_KEY holds characters that no key has; copy it into .env again")
        self.model = Model(model, is_llm=True)
        self.prices = prices
        self._key, self._prompt, self._tier = api_key, prompt, service_tier
        self._batch_size, self._concurrency = batch_size, concurrency
        self._breakpoints = takes_breakpoints(model, base_url) if breakpoints is None else breakpoints
        options: dict[str, Any] = {"reasoning_effort": reasoning_effort, "service_tier": service_tier}
        if not is_openai(base_url):
            options["temperature"] = 0  # others would judge a paper differently each time; OpenAI's models refuse it
        self._server = Server(base_url, api_key, model, options=options, timeout_seconds=timeout_seconds, wait=wait)

    def criteria(self, mailing_list: MailingList) -> str:
        """Return the fingerprint of what papers are judged by for this list."""
        return self._prompt.criteria(mailing_list.topics)

    def score(self, jobs: Sequence[ToScore], may_spend: Callable[[], bool] | None = None) -> Generator[Scored]:
        """Yield what each call brought as it arrives; every paper is at last in some `scores` or `unscored`.

        No new call begins once `may_spend` is false; then BudgetUsedUpError is raised. Raises ScoringError, after all
        that arrived, if the server is dead or refuses us; papers not named by then were not asked for or not answered.
        Closing the iterator begins no more calls, and waits for those under way.
        """
        if may_spend and self.prices is None:
            fix = "set LLM_PRICE_INPUT and LLM_PRICE_OUTPUT in .env"
            raise ScoringError(f"LLM_BUDGET_USD is set, but the price of {self.model.name} is unknown; {fix}")
        run = _Run(deque(plan(jobs, self._batch_size)), may_spend or (lambda: True))
        executor = ThreadPoolExecutor(self._concurrency, thread_name_prefix="llm")
        try:
            yield from self._dispatch(run, executor, estimated=may_spend is not None)
        finally:
            run.fatal = True
            executor.shutdown(cancel_futures=True)

    def _dispatch(self, run: _Run, executor: ThreadPoolExecutor, *, estimated: bool) -> Generator[Scored]:
        while True:
            self._fill(run, executor)
            if not run.under_way:
                break
            for future in wait(run.under_way, return_when=FIRST_COMPLETED).done:
                batch, size = run.under_way.pop(future)
                answers = future.result()
                spending = reduce(add, (self._spending(answer, size * estimated) for answer in answers))
                run.warm.add(batch.prefix)
                reply = read_reply(answers[-1].text, [paper.arxiv_id for paper in batch.papers])
                if reply.scores:
                    run.succeeded(batch, [paper for paper in batch.papers if paper.arxiv_id in reply.missing])
                else:
                    run.failed(batch, answers[-1])
                yield Scored(batch.mailing_list.name, reply.scores, spending=spending)
            if run.doubtful:
                yield self._probe(run, batch.mailing_list.name)
        if run.fatal:
            raise self._error(run.reason)
        for name in run.problems.keys() | run.blamed.keys():
            yield Scored(name, unscored=run.blamed.get(name, {}), problem=run.problems.get(name, ""))
        if run.waiting:
            raise BudgetUsedUpError("LLM_BUDGET_USD is used up for today")

    def _fill(self, run: _Run, executor: ThreadPoolExecutor) -> None:
        """Begin as many calls as may be under way."""
        while len(run.under_way) < self._concurrency and not run.fatal and run.waiting and run.may_spend():
            if (batch := run.next()) is None:
                return
            try:
                question = self._prompt.question(
                    batch.mailing_list.topics, batch.papers, papers_first=batch.papers_first
                )
            except ConfigError as error:
                run.warm.add(batch.prefix)
                run.drop(batch.mailing_list.name, str(error))
                continue
            shares = bool(batch.prefix) and len(question.prefix.encode()) >= MIN_CACHED_BYTES
            messages, extras = request(question, breakpoints=self._breakpoints, shares=shares)
            call = executor.submit(self._server.ask, messages, extras, stopped=lambda: run.fatal)
            run.under_way[call] = batch, question.size

    def _probe(self, run: _Run, name: str) -> Scored:
        """Ask a doubtful server what any can answer; one that cannot is dead."""
        if not run.may_spend():
            run.fatal = True
            return Scored(name)
        answer = self._server.ask([_PROBE], tries=1)[-1]
        run.fatal = answer.verdict is not Verdict.ANSWERED or "scores" not in answer.text
        run.in_a_row, run.breaker = 0, 2 * run.breaker
        return Scored(name, spending=self._spending(answer))

    def _spending(self, answer: Answer, prompt_bytes: int = 0) -> Spending:
        """What an answer cost. `prompt_bytes` are for an estimate where nobody counts: a budget has to end, too."""
        usage = answer.usage
        if usage is None and answer.paid and prompt_bytes and self.prices:
            guess = Usage(1, prompt_tokens=prompt_bytes // 3, completion_tokens=1000 + len(answer.text) // 3)
            return Spending(Usage(calls=1), self.prices.cost(guess))
        if usage is None:
            return Spending(Usage(calls=1), None) if answer.paid else Spending()
        tier = answer.tier or ("default" if "service_tier" in self._server.dialect.left_out else self._tier)
        return Spending(usage, self.prices.cost(usage, tier) if self.prices else None)

    def probe(self) -> str:
        """Ask once for the score of one invented paper, and say what answered. Raises ScoringError."""
        question, arxiv_id = self._prompt.example()
        answer = self._server.ask(request(question, breakpoints=False, shares=False)[0], tries=1)[-1]
        if answer.verdict is not Verdict.ANSWERED:
            raise self._error(answer.reason)
        if not read_reply(answer.text, [arxiv_id]).scores:
            raise self._error(
                "answers, but with no usable score: check OPENAI_MODEL; a model that follows instructions is needed. "
                f"It said: {one_line(answer.text, self._key, 100)}"
            )
        return f"{self.model.name} at {self._server.place} answers ({self._server.dialect.format}) and scores"

    def close(self) -> None:
        """Close the connections."""
        self._server.close()

    def _error(self, reason: str) -> ScoringError:
        return ScoringError(f"the LLM at {self._server.place} {reason}")


def request(question: Question, *, breakpoints: bool, shares: bool) -> tuple[list[Message], dict[str, Any]]:
    """The messages, and what a cache with breakpoints is told. `shares`: other questions begin with the same words.

    The key brings them to the same machine. Without a breakpoint, "explicit" keeps a prompt that nobody will read again
    out of a cache that charges for writing.
    """
    content: object = f"{question.shared}\n\n{question.own}"
    options: dict[str, Any] = {"prompt_cache_options": {"mode": "explicit"}} if breakpoints else {}
    if breakpoints and shares:
        mark = {"type": "text", "text": f"{question.shared}\n\n", "prompt_cache_breakpoint": {"mode": "explicit"}}
        content = [mark, {"type": "text", "text": question.own}]
        options["prompt_cache_key"] = hashlib.sha256(question.prefix.encode()).hexdigest()[:16]
    return [{"role": "system", "content": question.system}, {"role": "user", "content": content}], options
