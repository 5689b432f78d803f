"""What a real day costs to score, and how long it takes: `python -m tests.benchmarks.scoring`.

One list and ten lists on the same categories ask for the 423 papers of 2025-02-18 from the test LLM server, which runs
in an interpreter of its own, counts a token per 4.6 bytes and keeps a prompt cache as OpenAI's, at the prices of
gpt-6-luna. Then one list asks for the whole day and for 30 papers of it, without and with topics, and the brief about
the 51 that the day's digest chose is added. The day lies beside the checkout, in `../shared/data`, and is not part of
the project.
"""

import argparse
import json
import re
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import reduce
from math import ceil
from operator import add
from pathlib import Path
from typing import Any

from paperboy.models import Entry, MailingList, Paper, Score, Scored, Spending, ToScore, Usage
from paperboy.scoring.brief import BriefPrompt
from paperboy.scoring.llm import LlmScorer
from paperboy.scoring.prices import Prices
from paperboy.scoring.prompt import Prompt
from paperboy.scoring.server import Server
from tests.builders import digest, mailing_list
from tests.servers.llm import UNKNOWN, read_scores
from tests.servers.llm_cache import tokens

CHECKOUT = Path(__file__).parents[2]
DATA = CHECKOUT.parent / "shared" / "data"
DAY = DATA / "days" / "2025-02-18.jsonl"
TOPICS = DATA / "topics" / "foundations.md"

MODEL = "gpt-6-luna"
MANY = 10  # lists, unless told
COMMENT = (  # 28 words, 190 bytes: as long as those of the reference digests
    "The paper analyses how the internal representations of transformers change during training, and derives a bound "
    "that explains which attention heads can be pruned without losing any measurable accuracy."
)

FEW = 30  # papers of a small list
SENTENCES = [  # of a brief, each nearly as long as the prompt allows
    {
        "text": "A bound on the rank of attention ties the heads that can be pruned to the spectrum of the data, and "
        "three experiments on language models agree with it.",
        "papers": [
            {"arxiv_id": f"2502.{place}{number:04}", "words": "the spectrum of the data"}
            for number in range(3)
        ],
    }
    for place in range(3)
]

AIM_FIRST = 0.0206  # US dollars; half of that with flex prices
AIM_FURTHER = 0.5  # of the first list's cost
AIM_WALL = 1.15  # of the least possible time
AIM_MORE = 1.08  # of the cost without topics and brief


@dataclass(frozen=True, slots=True)
class Setting:
    """How a day is scored."""

    lists: int
    batch: int
    concurrency: int
    latency: float  # seconds, of every call
    reasoning: int  # tokens for each paper
    papers: int = sys.maxsize  # of the day, spread over it
    topics: bool = True  # whether the prompt asks for them


@dataclass(frozen=True, slots=True)
class Measured:
    """What came of it."""

    setting: Setting
    spent: Sequence[Usage]  # by list, by our own accounting
    counted: Sequence[Mapping[str, Any]]  # usage by call, as the server counted it
    seconds: float
    processor: float  # seconds, of the scorer's process
    papers: Sequence[Paper]
    scores: Mapping[str, Score]  # of the first list

    @property
    def usage(self) -> Usage:
        return reduce(add, map(Spending, self.spent)).usage

    @property
    def chosen(self) -> set[str]:
        """The ids of those that the day's digest selected."""
        return {row["arxiv_id"] for row in _rows() if row["selected"]} & self.scores.keys()

    @property
    def waves(self) -> int:
        """The least: as many calls at once as may be, but no more in the first wave than found nothing in the cache,
        since all others had to wait for one that wrote what they found.
        """
        calls = len(self.counted)
        at_once = self.setting.concurrency
        first = min(
            at_once,
            sum(not used["prompt_tokens_details"]["cached_tokens"] for used in self.counted),
        )
        return 1 + ceil((calls - first) / at_once)

    @property
    def least_seconds(self) -> float:
        return self.waves * self.setting.latency

    def dollars(self, prices: Prices) -> list[float]:
        """By list."""
        return [prices.cost(usage).total for usage in self.spent]


def papers_of(file: Path = DAY, most: int = sys.maxsize) -> tuple[Paper, ...]:
    """The papers of a real day, or so many of them, spread over it."""
    papers = [_paper(row) for row in _rows(file)]
    return tuple(papers[:: max(1, len(papers) // most)][:most])


def prompts(setting: Setting, folder: Path) -> Prompt:
    """The shipped prompt; without topics, as it was before they had numbers."""
    shipped = CHECKOUT / "prompts"
    if setting.topics:
        return Prompt([shipped])
    added = r',"topic":\d|\ntopic: [^\n]*|\{% if names %\}.*?\{% endif %\}\n'
    text = (shipped / "score.md.j2").read_text("utf-8")
    before, removed = re.subn(added, "", text, flags=re.DOTALL)
    assert removed == 4, "the prompt asks for topics in other words"
    (folder / "score.md.j2").write_text(before, "utf-8")
    return Prompt([folder])


def lists(number: int) -> list[MailingList]:
    """Lists that want the same categories, each with criteria of its own."""
    topics = TOPICS.read_text("utf-8")
    return [
        mailing_list(
            name=f"reader-{each}", topics=f"These are the wishes of reader {each:02}.\n\n{topics}"
        )
        for each in range(1, number + 1)
    ]


def write_scores(file: Path) -> None:
    """The scores of the papers that the day's digest selected, with comments."""
    rows = [{**row, "comment": COMMENT} for row in _rows() if row["selected"]]
    file.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")


@contextmanager
def server(setting: Setting, scores: Path) -> Iterator[str]:
    """The base URL of a test LLM server in a process of its own: in ours, its threads would take time from the
    scorer's.
    """
    options = {
        "port": 0,
        "scores": scores,
        "latency": setting.latency,
        "reasoning": setting.reasoning,
        "cache": "breakpoints",
    }
    command = [
        sys.executable,
        "-m",
        "tests.servers.llm",
        *(f"--{name}={value}" for name, value in options.items()),
    ]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=CHECKOUT) as process:
        try:
            assert process.stdout is not None
            yield process.stdout.readline().strip().removeprefix("OPENAI_BASE_URL=")
        finally:
            process.terminate()


def measure(setting: Setting, prices: Prices) -> Measured:
    """Scores the day once, with a cache that knows nothing yet. Fails where a score is lost or the accounts differ."""
    papers = papers_of(most=setting.papers)
    wanted = lists(setting.lists)
    with tempfile.TemporaryDirectory() as folder:
        scores = Path(folder) / "scores.jsonl"
        write_scores(scores)
        with server(setting, scores) as base_url:
            parts, seconds, processor = _timed(
                setting,
                prices,
                base_url,
                prompts(setting, Path(folder)),
                [ToScore(each, papers) for each in wanted],
            )
            with urllib.request.urlopen(f"{base_url.removesuffix('/v1')}/counted") as answer:  # noqa: S310 - ours
                counted = [used for used in json.load(answer) if used]
        given = read_scores(scores)
    spending = {each.name: Spending() for each in wanted}
    found: dict[str, dict[str, Score]] = {each.name: {} for each in wanted}
    for part in parts:
        spending[part.list_name] += part.spending
        found[part.list_name] |= part.scores
    expected = {paper.id: given.get(paper.id, UNKNOWN) for paper in papers}
    for name, scored in found.items():
        without = {paper_id: replace(score, topic=None) for paper_id, score in scored.items()}
        has_topics = all(
            (score.topic is not None) == bool(score.comment) for score in scored.values()
        )
        if without != expected or (setting.topics and not has_topics):
            raise SystemExit(f"Not the scores that the server gave: {name}")
    _compare(reduce(add, spending.values()), counted, prices)
    return Measured(
        setting=setting,
        spent=[each.usage for each in spending.values()],
        counted=counted,
        seconds=seconds,
        processor=processor,
        papers=papers,
        scores=found[wanted[0].name],
    )


def _timed(
    setting: Setting, prices: Prices, base_url: str, prompt: Prompt, jobs: Sequence[ToScore]
) -> tuple[list[Scored], float, float]:
    """All that a scorer gives, and the seconds that it took, by the clock and of the processor."""
    at_once = setting.concurrency
    server = Server(
        base_url, "", MODEL, reasoning_effort="low", breakpoints=True, connections=at_once
    )
    brief_prompt = BriefPrompt([CHECKOUT / "prompts"])
    scorer = LlmScorer(server, prompt, prices, setting.batch, at_once, brief_prompt=brief_prompt)
    try:
        begun = time.perf_counter()
        used = time.process_time()
        parts = list(scorer.score(jobs))
        return parts, time.perf_counter() - begun, time.process_time() - used
    finally:
        scorer.server.close()


def _compare(ours: Spending, counted: Sequence[Mapping[str, Any]], prices: Prices) -> None:
    """Fails where the scorer's account is not the server's, token by token and in dollars."""
    theirs = Spending()
    dollars = 0.0
    for used in counted:
        prompt = used["prompt_tokens_details"]
        completion = used["completion_tokens_details"]
        cached = prompt["cached_tokens"]
        written = prompt["cache_write_tokens"]
        theirs += Spending(
            Usage(
                1,
                used["prompt_tokens"],
                cached,
                written,
                used["completion_tokens"],
                completion["reasoning_tokens"],
            )
        )
        plain = used["prompt_tokens"] - cached - written
        dollars += (
            plain * prices.input + cached * prices.cached_input + written * prices.cache_write
        )
        dollars += used["completion_tokens"] * prices.output
    total = None if ours.cost is None else ours.cost.total
    if ours.usage != theirs.usage or total is None or abs(total - dollars / 1e6) > 1e-9:
        raise SystemExit(
            f"The accounts differ. The scorer's: {ours}. The server's: {theirs.usage}, ${dollars / 1e6:.6f}"
        )


def brief(run: Measured) -> Usage:
    """What the brief about the chosen papers of a list takes: a call that no other shares anything with. It reasons as
    long about each of them as scoring did.
    """
    ids = run.chosen
    papers = [paper for paper in run.papers if paper.id in ids]
    chosen = [Entry(rank, of, run.scores[of.id]) for rank, of in enumerate(papers, start=1)]
    question = BriefPrompt([CHECKOUT / "prompts"]).question(
        digest(chosen, mailing_list=lists(1)[0])
    )
    asked = f"{question.system}\n{question.shared}\n{question.own}"
    reply = json.dumps({"sentences": SENTENCES})
    reasoning = run.setting.reasoning * len(chosen)
    return Usage(
        calls=1,
        prompt_tokens=tokens(len(asked.encode())),
        completion_tokens=tokens(len(reply.encode())) + reasoning,
        reasoning_tokens=reasoning,
    )


def _rows(file: Path = DAY) -> list[dict[str, Any]]:
    return [json.loads(line) for line in file.read_text("utf-8").splitlines()]


def _paper(row: Mapping[str, Any]) -> Paper:
    published = datetime(2025, 2, 17, 12, tzinfo=UTC)
    categories = tuple(row["categories"])
    return Paper(
        id=row["arxiv_id"],
        version=1,
        title=row["title"],
        authors=tuple(row["authors"]),
        abstract=row["abstract"],
        primary_category=row["primary_category"],
        categories=categories,
        published=published,
        updated=published,
    )


# ---- what is printed


def report(measured: Sequence[Measured], prices: Prices) -> None:
    """The table of all runs."""
    print(
        f"{'lists':>5}{'reasoning':>10}{'batch':>6}{'calls':>6}{'prompt':>11}{'cached':>11}{'written':>9}"
        f"{'completion':>11}{'per paper':>10}{'$ total':>9}{'$ first':>9}{'$ further':>10}"
        f"{'seconds':>8}{'least':>6}{'ratio':>6}{'ms CPU/call':>12}"
    )
    for run in measured:
        used = run.usage
        dollars = run.dollars(prices)
        further = f"{sum(dollars[1:]) / len(dollars[1:]):>10.5f}" if dollars[1:] else f"{'':>10}"
        per_paper = used.total_tokens / len(run.papers) / run.setting.lists
        ratio = f"{run.seconds / run.least_seconds:>6.2f}" if run.setting.latency else f"{'':>6}"
        print(
            f"{run.setting.lists:>5}{run.setting.reasoning:>10}{run.setting.batch:>6}{used.calls:>6}"
            f"{used.prompt_tokens:>11,}{used.cached_tokens:>11,}{used.cache_write_tokens:>9,}"
            f"{used.completion_tokens:>11,}{per_paper:>10.1f}{sum(dollars):>9.5f}{dollars[0]:>9.5f}{further}"
            f"{run.seconds:>8.2f}{run.least_seconds:>6.1f}{ratio}{run.processor / used.calls * 1000:>12.2f}"
        )


def aims(measured: Sequence[Measured], prices: Prices, flex: Prices) -> None:
    """Which of the aims were reached."""
    for run in measured:
        dollars = run.dollars(prices)
        print(f"\nlists: {run.setting.lists}, reasoning tokens a paper: {run.setting.reasoning}")
        if run.setting.lists == 1:
            _aim("dollars for the list", dollars[0], AIM_FIRST)
            _aim("... with flex prices", run.dollars(flex)[0], AIM_FIRST / 2)
        else:
            _aim(
                "a further list, of the first's cost",
                sum(dollars[1:]) / len(dollars[1:]) / dollars[0],
                AIM_FURTHER,
            )
        if run.setting.latency:
            _aim("seconds, of the least possible", run.seconds / run.least_seconds, AIM_WALL)


def topics_and_brief(setting: Setting, prices: Prices) -> None:
    """What topics and a brief add to one list's cost."""
    before, after = (measure(replace(setting, topics=topics), prices) for topics in (False, True))
    whole = Spending(after.usage) + Spending(brief(after))
    print(
        f"\none list, {len(after.papers)} papers, {len(after.chosen)} chosen"
        f", reasoning tokens a paper: {setting.reasoning}"
        f"\n{'':<20}{'calls':>6}{'prompt':>11}{'completion':>11}{'$':>10}{'more':>8}"
    )
    least = prices.cost(before.usage).total
    for name, used in {
        "as before": before.usage,
        "with topics": after.usage,
        "and a brief": whole.usage,
    }.items():
        dollars = prices.cost(used).total
        print(
            f"{name:<20}{used.calls:>6}{used.prompt_tokens:>11,}{used.completion_tokens:>11,}{dollars:>10.5f}"
            f"{dollars / least - 1:>8.1%}"
        )
    if setting.papers > FEW:
        _aim(
            "topics and brief, of the cost before", prices.cost(whole.usage).total / least, AIM_MORE
        )


def _aim(what: str, value: float, most: float) -> None:
    print(
        f"  {what:<38}{value:>8.4f}   at most {most:<7}{'reached' if value <= most else 'MISSED'}"
    )


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m tests.benchmarks.scoring", description=__doc__.splitlines()[0]
    )
    parser.add_argument("--batch", type=int, default=16, help="papers in a call")
    parser.add_argument("--concurrency", type=int, default=8, help="calls at once")
    parser.add_argument("--latency", type=float, default=1.0, help="seconds that each call takes")
    parser.add_argument(
        "--reasoning", type=int, nargs="+", default=[0, 20], help="reasoning tokens for each paper"
    )
    parser.add_argument(
        "--lists", type=int, default=MANY, help="how many lists are compared with one"
    )
    options = parser.parse_args()
    if not DAY.is_file():
        raise SystemExit(
            f"Nothing to measure: {DAY} is absent. The real days are not part of the project."
        )
    prices = Prices.find(MODEL)
    flex = Prices.find(MODEL, service_tier="flex")
    if prices is None or flex is None:
        raise SystemExit(f"Nothing to measure: the price of {MODEL} is unknown.")
    setting = Setting(1, options.batch, options.concurrency, options.latency, options.reasoning[-1])
    cases = [
        replace(setting, lists=lists, reasoning=each)
        for each in options.reasoning
        for lists in (1, options.lists)
    ]
    measured = [measure(case, prices) for case in cases]
    report(measured, prices)
    aims(measured, prices, flex)
    for papers in (setting.papers, FEW):
        for each in options.reasoning:
            topics_and_brief(replace(setting, papers=papers, reasoning=each, latency=0), prices)


if __name__ == "__main__":
    main()
