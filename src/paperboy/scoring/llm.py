"""Papers → scores by an LLM: batches over threads, in which no paper can spoil another.

groups              ← batches whose prompts begin alike: once the first is answered, the others
                      find it in a cache
a batch has scores  → yield them; ask again for the papers that the reply left out
a batch is too large → halve it, and all that wait if no larger one was scored; see `capacity`
a batch has none    → ask for both halves, until a paper that spoils its batch is alone and blamed
circuit breaker     → after failures in a row that no size could cure (three of the server's, or
                      sixteen of papers), ask about an invented paper: a server that fails it is dead

Chosen papers → the morning in brief: one request for each list, until one takes too long.
"""

import logging
import math
from collections import Counter, defaultdict, deque
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field, replace
from itertools import chain
from types import MappingProxyType

from paperboy.errors import BudgetUsedUpError, ConfigError, ScoringError
from paperboy.models import (
    Briefed,
    Cost,
    Digest,
    MailingList,
    Model,
    Paper,
    Score,
    Scored,
    Spending,
    Text,
    ToScore,
    Usage,
)
from paperboy.scoring.answer import Answer, Cause
from paperboy.scoring.brief import BriefPrompt, read_brief
from paperboy.scoring.capacity import Capacity, Limit
from paperboy.scoring.prices import Prices
from paperboy.scoring.prompt import EXAMPLE_TOPICS, Prompt, Question
from paperboy.scoring.reply import Reply, read_reply
from paperboy.scoring.server import Server, format_of
from paperboy.scoring.titles import without_titles

BREAKER = 3  # failures in a row after which the server is probed
MOST_FAILURES = 16  # in a row for one list: its topics are to blame

# A batch's tokens, as a share of what one paper's lead to expect: fewer, and the prompt was cut.
LEAST_COUNTED = 0.8

# A budget's guess for a call without usage.
UNCOUNTED = Usage(calls=1, prompt_tokens=8_000, completion_tokens=4_000)

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, eq=False)
class RequestBatch:
    """Papers to ask for together, for one list."""

    mailing_list: MailingList
    papers: tuple[Paper, ...]
    shares: str  # what its prompt begins with, as those of its group do: "topics" or "papers"


BatchGroup = Sequence[RequestBatch]


def plan(jobs: Sequence[ToScore], size: int) -> Iterator[BatchGroup]:
    """Yield all batches, of at most `size` papers, in groups that share the beginning of their
    prompts.

    Papers that lists have in common are not shared if they fill less than half a batch: repeating
    the topics after them would cost more.
    """
    askers: dict[Paper, list[int]] = defaultdict(list)
    for number, job in enumerate(jobs):
        for paper in job.papers:
            askers[paper].append(number)
    common: dict[tuple[int, ...], list[Paper]] = defaultdict(list)
    for paper, numbers in askers.items():
        common[tuple(numbers)].append(paper)

    unshared: list[list[Paper]] = [[] for _ in jobs]
    for sharers, papers in common.items():
        if len(sharers) == 1 or 2 * len(papers) < size:
            for number in sharers:
                unshared[number] += papers
            continue

        lists = [jobs[number].mailing_list for number in sharers]
        for part in even_parts(papers, size):
            yield [RequestBatch(mailing_list, part, "papers") for mailing_list in lists]

    for job, papers in zip(jobs, unshared, strict=True):
        shares = "topics" if len(papers) > size else ""
        if papers:
            parts = even_parts(papers, size)
            yield [RequestBatch(job.mailing_list, part, shares) for part in parts]


def even_parts(papers: Sequence[Paper], size: int) -> Iterator[tuple[Paper, ...]]:
    """Split papers into as few parts as `size` allows, in order and of nearly the same length."""
    total = len(papers)
    number = math.ceil(total / size)
    for part in range(number):
        yield tuple(papers[part * total // number : (part + 1) * total // number])


def split(group: BatchGroup, size: int) -> Sequence[BatchGroup]:
    """Split the batches of a group, into groups that still share the beginning of their prompts."""
    parts = [
        [
            RequestBatch(batch.mailing_list, part, batch.shares)
            for part in even_parts(batch.papers, size)
        ]
        for batch in group
    ]
    if group[0].shares == "papers":
        return list(zip(*parts, strict=True))
    return [list(chain.from_iterable(parts))]


@dataclass(slots=True)
class _Run:
    """State of one `score`: what to ask for, and the failures so far of server, lists and papers."""

    llm: str  # who and where, to begin a sentence
    waiting: deque[BatchGroup]  # of each, the first batch is asked for before the others
    may_spend: Callable[[], bool] | None

    # With the number of calls that were allowed at once.
    under_way: dict[Future[list[Answer]], tuple[BatchGroup, int]] = field(default_factory=dict)

    in_a_row: int = 0  # failures of any list that may be the server's
    failures: Counter[str] = field(default_factory=Counter)  # in a row, by list
    failure: str = ""  # the last batch's
    has_scored: bool = False  # the server has given a score
    fruitless: int = 0  # failures of any list since the last score

    # By list: why nothing more is asked for it.
    problems: dict[str, str] = field(default_factory=dict)

    # By list: papers that failed alone, and why.
    blamed: dict[str, dict[str, str]] = field(default_factory=dict)

    stopped: str = ""  # why no more calls begin: the server's problem

    @property
    def may_begin(self) -> bool:
        return not self.stopped and (self.may_spend is None or self.may_spend())

    @property
    def needs_probe(self) -> bool:
        """Check whether the circuit breaker has tripped; at the end one failure is enough."""
        goes_on = self.waiting or self.under_way
        return self.is_in_doubt or self.in_a_row >= (BREAKER if goes_on else 1)

    @property
    def is_in_doubt(self) -> bool:
        """Check whether so many papers failed since the last score that the model may be to blame."""
        return self.fruitless >= MOST_FAILURES

    def note(self, batch: RequestBatch, reply: Reply, answer: Answer, calls: int) -> None:
        """Ask again for papers without a score, in halves if none has one. A paper that fails alone
        is blamed, unless it timed out where others of so many `calls` may have kept it waiting.
        """
        name = batch.mailing_list.name
        missing = [paper for paper in batch.papers if paper.id not in reply.scores]
        is_alone = len(batch.papers) == 1
        may_have_waited = answer.cause is Cause.TIMEOUT and calls > 1
        most = len(batch.papers)
        if reply.scores:
            self.has_scored = True
            self.in_a_row = 0
            self.fruitless = 0
            self.failures[name] = 0
        else:
            most = math.ceil(most / 2)
            defect = reply.defects[missing[0].id]
            unusable = f"answers without a usable score ({defect})"
            self.failure = answer.failure or answer.cut_off or unusable
            if not may_have_waited:
                self._count(name, answer.cause, is_alone=is_alone)

        if self.failures[name] >= MOST_FAILURES:
            self.problems.setdefault(name, f"{self.llm} {self.failure}")
        elif not is_alone or (missing and may_have_waited):
            shares = batch.shares if batch.shares == "topics" else ""
            parts = [
                [RequestBatch(batch.mailing_list, part, shares)]
                for part in (even_parts(missing, most) if missing else ())
            ]
            self.waiting.extendleft(reversed(parts))
        elif missing:
            self.blamed.setdefault(name, {})[missing[0].id] = f"{self.llm} {self.failure}"

    def _count(self, name: str, cause: Cause, *, is_alone: bool) -> None:
        """Count a failure that fewer papers would not cure: against the list and, unless the server
        replied and has scored before, against the server.
        """
        if not is_alone and cause is not Cause.SERVER:
            return
        self.failures[name] += 1
        self.fruitless += 1
        if cause in {Cause.SERVER, Cause.TIMEOUT} or not self.has_scored:
            self.in_a_row += 1
        else:
            self.in_a_row = 0

    def probed(self, answer: Answer, *, scored: bool) -> None:
        """Note what the server made of the invented paper. It has to score it if it is in doubt, or
        has scored no other; else any reply shows that it lives.
        """
        has_to_score = self.is_in_doubt or not self.has_scored
        self.in_a_row = 0
        self.fruitless = 0
        self.has_scored = self.has_scored or scored
        if not scored and (has_to_score or answer.cause in {Cause.SERVER, Cause.TIMEOUT}):
            self.stopped = answer.failure or answer.cut_off or self.failure

    def unscored(self) -> Iterator[Scored]:
        """Yield the problems of lists, and the papers that are to blame themselves."""
        for name, problem in self.problems.items():
            yield Scored(name, problem=problem)
        for name, papers in self.blamed.items():
            if name not in self.problems:
                yield Scored(name, unscored=papers)


@dataclass(slots=True, eq=False)
class LlmScorer:
    """Scorer that asks a model behind a Chat Completions server. Without `prices`, spending has
    tokens and no cost. The server's capacity, once found, is kept for the scorer's lifetime.
    """

    server: Server
    prompt: Prompt
    prices: Prices | None
    batch_size: int
    concurrency: int
    brief_prompt: BriefPrompt
    capacity: Capacity = field(init=False)
    _has_said: bool = field(default=False, init=False)  # what refusals and timeouts cost
    _has_advised: bool = field(default=False, init=False)  # and which setting would save it

    def __post_init__(self) -> None:
        self.capacity = Capacity(Limit(self.batch_size), Limit(self.concurrency))

    @property
    def model(self) -> Model:
        return Model(self.server.model, is_llm=True)

    def criteria(self, mailing_list: MailingList) -> str:
        return self.prompt.criteria(mailing_list.topics, mailing_list.language, mailing_list.titles)

    def estimate(self, papers: Sequence[Paper | Text]) -> Cost | None:
        """Return what scoring these papers may cost; None: the price is unknown."""
        if self.prices is None:
            return None
        calls = math.ceil(len(papers) / self.batch_size)
        characters = sum(len(paper.title + paper.abstract) for paper in papers)
        prompt = characters // 4 + 1_000 * calls  # as measured, without a cache
        return self.prices.cost(Usage(prompt_tokens=prompt, completion_tokens=60 * len(papers)))

    def score(
        self,
        jobs: Sequence[ToScore],
        may_spend: Callable[[], bool] | None = None,
    ) -> Generator[Scored]:
        """Yield the result of each call as it arrives; every paper ends in some `scores` or
        `unscored`.

        No new call begins once `may_spend` is false; then BudgetUsedUpError is raised. Raises
        ScoringError, after all that arrived, if the server is dead; papers not named by then were
        not asked for or not answered. Closing the iterator begins no more calls, and waits for
        those under way.
        """
        run = _Run(
            llm=self._llm,
            waiting=deque(plan(jobs, self.batch_size)),
            may_spend=may_spend,
        )
        executor = ThreadPoolExecutor(self.concurrency, thread_name_prefix="llm")
        try:
            # A probe may still be due where what waited was of lists that were given up.
            while self._fill(run, executor) or (run.needs_probe and run.may_begin):
                done, _ = wait(run.under_way, return_when=FIRST_COMPLETED)
                for future in done:
                    answers = future.result()
                    (batch, *others), calls = run.under_way.pop(future)
                    asked = [paper.id for paper in batch.papers]
                    reply = self._read(answers[-1], asked)
                    self.capacity.note(answers, asked, len(reply.scores), calls)
                    run.note(batch, reply, answers[-1], calls)
                    # The others go first, while a cache has what they share.
                    run.waiting.extendleft([other] for other in reversed(others))
                    yield self._scored(batch, answers, run, reply.scores)

                if run.needs_probe and run.may_begin:
                    question, paper_id = self.prompt.example()
                    # Twice, since a server may just close an idle connection.
                    answers = self.server.ask(question, tries=2)
                    scored = self._read(answers[-1], [paper_id]).scores
                    run.probed(answers[-1], scored=bool(scored))
                    yield self._scored(batch, answers, run)

            self._say_waste()
            if run.stopped:
                raise ScoringError(f"{run.llm} {run.stopped}")
            if not run.in_a_row:
                yield from run.unscored()
            if run.waiting or run.in_a_row:  # in a row: the budget allowed no probe of the server
                raise BudgetUsedUpError("LLM_BUDGET_USD is used up for today")
        finally:
            run.stopped = run.stopped or "was left"
            executor.shutdown()

    def _read(self, answer: Answer, asked: Sequence[str]) -> Reply:
        return read_reply(answer.text, asked, self.server.hidden, self.prompt.examples)

    def _scored(
        self,
        batch: RequestBatch,
        answers: Sequence[Answer],
        run: _Run,
        scores: Mapping[str, Score] = MappingProxyType({}),
    ) -> Scored:
        spending = self._spending(answers, has_budget=bool(run.may_spend))
        mailing_list = batch.mailing_list
        if titles := mailing_list.titles:
            scores = {
                paper_id: replace(score, comment=without_titles(score.comment, titles))
                for paper_id, score in scores.items()
            }
        return Scored(mailing_list.name, scores, spending=spending)

    def _say_waste(self) -> None:
        """Log once a morning what refusals, cut replies and timeouts cost, and what would save it."""
        what, better = self.capacity.waste(self.batch_size, self.concurrency)
        if not what or self._has_advised or (self._has_said and not better):
            return
        self._has_said = True
        self._has_advised = bool(better)
        if better:
            logger.warning("%s: %s; %s in .env would save that", self._llm, what, better)
        else:
            logger.info("%s: %s", self._llm, what)

    def _fill(self, run: _Run, executor: ThreadPoolExecutor) -> bool:
        """Begin as many calls as may be under way; false if there are none."""
        limits = self.capacity
        while len(run.under_way) < limits.calls.value and run.waiting and run.may_begin:
            group = run.waiting.popleft()
            batch, *others = group
            most = limits.papers.value
            if len(batch.papers) > most:
                most = limits.papers.next()
            if len(batch.papers) > most:
                run.waiting.extendleft(reversed(split(group, most)))
                group = run.waiting.popleft()
                batch, *others = group

            mailing_list = batch.mailing_list
            try:
                question = self.prompt.question(
                    mailing_list.topics,
                    batch.papers,
                    papers_first=batch.shares == "papers",
                    language=mailing_list.language,
                    titles=mailing_list.titles,
                )
            except ConfigError as error:
                run.problems.setdefault(mailing_list.name, str(error))

            if mailing_list.name not in run.problems:
                future = executor.submit(
                    self.server.ask,
                    question,
                    shared=bool(batch.shares),
                    stopped=lambda: run.stopped,
                )
                run.under_way[future] = group, limits.calls.value
            elif others:
                run.waiting.appendleft(others)

        return bool(run.under_way)

    def brief_key(self, digest: Digest, criteria: str) -> str:
        """Fingerprint what the brief of a digest depends on."""
        return self.brief_prompt.key(digest, criteria)

    def briefs(
        self,
        digests: Sequence[Digest],
        may_spend: Callable[[], bool] | None,
        seconds: float,
    ) -> Generator[Briefed]:
        """Ask once for the morning in brief of each digest, and yield the answers as they arrive.

        No request begins after one has taken longer than so many seconds, nor once `may_spend` is
        false: digests not asked about yield nothing.
        """
        waiting = deque(digests)
        under_way = dict[Future[Answer], Digest]()
        timed_out = False

        def may_begin() -> bool:
            return not timed_out and (not may_spend or may_spend())

        with ThreadPoolExecutor(self.concurrency, thread_name_prefix="brief") as executor:
            while waiting or under_way:
                while len(under_way) < self.concurrency and waiting and may_begin():
                    digest = waiting.popleft()
                    try:
                        question = self.brief_prompt.question(digest)
                    except ConfigError as error:
                        yield Briefed(digest.mailing_list.name, None, problem=str(error))
                        continue

                    future = executor.submit(self.server.ask_once, question, seconds)
                    under_way[future] = digest

                if not under_way:
                    break

                done, _ = wait(under_way, return_when=FIRST_COMPLETED)
                for future in done:
                    answer = future.result()
                    digest = under_way.pop(future)
                    is_late = answer.cause is Cause.TIMEOUT
                    timed_out = timed_out or is_late
                    sentences = None
                    failure = answer.failure
                    if not failure:
                        sentences = read_brief(answer.text, digest, self.server.hidden)
                    if sentences == ():
                        said = self.server.quote(answer.text, 100)
                        failure = f"answers without a usable sentence. It said: {said}"
                    yield Briefed(
                        digest.mailing_list.name,
                        sentences,
                        self._spending([answer], has_budget=bool(may_spend)),
                        problem=failure and f"{self._llm} {failure}",
                        timed_out=is_late,
                    )

    def _spending(self, answers: Sequence[Answer], *, has_budget: bool) -> Spending:
        """Sum the tokens and cost of answers; a budget counts a guess where nobody counted tokens,
        or in time.
        """
        spending = Spending()
        for answer in answers:
            usage = answer.usage
            if (
                has_budget and not usage and answer.cause is Cause.TIMEOUT
            ):  # it may have worked on it
                usage = Usage(calls=1)
            if usage is None:
                continue

            counted = UNCOUNTED if has_budget and not usage.total_tokens else usage
            cost = None
            if self.prices and counted.total_tokens:
                cost = self.prices.cost(counted)
            spending += Spending(usage, cost)

        return spending

    def probe(self, papers: Sequence[Paper] = ()) -> tuple[str, str]:
        """Ask for the score of one invented paper and, off OpenAI, for those of a whole batch of
        `papers`, which a small server may refuse. Return who answered, and the problem with the
        batch, empty if there is none. Raises ScoringError.
        """
        question, paper_id = self.prompt.example()
        answer = self.server.ask(question, tries=1)[-1]
        if answer.failure:
            loading = ""
            if answer.cause is Cause.TIMEOUT:
                loading = ". If its model was still loading, run this again"
            raise ScoringError(f"{self._llm} {answer.failure}{loading}")

        if not self._read(answer, [paper_id]).scores:
            useless = (
                "answers, but with no usable score: check OPENAI_MODEL; a model that follows instructions is needed. "
                f"It said: {self.server.quote(answer.text, 100)}"
            )
            raise ScoringError(f"{self._llm} {answer.cut_off or useless}")

        form = format_of(self.server.refused)
        described = f"{self.model.name} at {self.server.place} answers ({form}) and scores"
        batch = papers[: self.batch_size]
        lack = ""
        if len(batch) > 1 and not self.server.at_openai:
            lack = self._lack(batch, question, answer)
        return described, lack

    def _lack(self, batch: Sequence[Paper], one: Question, answer_to_one: Answer) -> str:
        # With the papers first, only the system message repeats: a server may have cached it, and
        # leave it out of the count.
        question = self.prompt.question(EXAMPLE_TOPICS, batch, papers_first=True)
        answer = self.server.ask(question, tries=1)[-1]
        asked = f"asked about a batch of {len(batch)} papers (LLM_BATCH_SIZE), {self._llm}"
        if answer.failure:
            failure = answer.failure.removesuffix(".")
            if answer.cause in {Cause.SIZE, Cause.TIMEOUT}:
                failure += ". A morning goes on with smaller batches"
            return f"{asked} {failure}"

        per_character = answer_to_one.prompt_tokens / len(one.system + one.shared + one.own)
        expected = round(per_character * len(question.shared + question.own))
        if 0 < answer.prompt_tokens < LEAST_COUNTED * expected:
            fix = "give it a larger context (Ollama's num_ctx), or lower LLM_BATCH_SIZE"
            counts = f"counted {answer.prompt_tokens:,} tokens instead of {expected:,} or more"
            return f"{asked} {counts}: it may have cut the prompt; {fix}"

        scored = len(self._read(answer, [paper.id for paper in batch]).scores)
        if scored < len(batch):
            lower = "a morning asks again for the others; lower LLM_BATCH_SIZE"
            return f"{asked} scored {scored}; {lower}"
        return ""

    @property
    def _llm(self) -> str:
        return f"the LLM at {self.server.place}"
