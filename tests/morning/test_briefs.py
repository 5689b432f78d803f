"""The morning in brief: for which digests it is asked, what it costs, and that it never costs a mail."""

from __future__ import annotations

import logging
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from paperboy.errors import BudgetUsedUpError, ConfigError
from paperboy.models import (
    Briefed,
    BriefSentence,
    Cost,
    Digest,
    MailingList,
    Outcome,
    Score,
    Spending,
    Usage,
)
from paperboy.morning.drafter import Drafter
from paperboy.morning.preview import Previews
from paperboy.scoring.brief import BriefPrompt
from paperboy.store import Store
from tests.morning.test_morning import World, foundations, new
from tests.scoring.asking import DEAD, PROMPTS, meeting, scorer_for
from tests.servers.llm import LlmServer, brief_on

FOUR = [new(number) for number in range(1, 5)]
BRIEF = (
    BriefSentence(brief_on(["2611.00001"] * 4), ("2611.00001", "2611.00002"), ("first two", "")),
)
SPENT = Spending(Usage(1, 300, completion_tokens=60), Cost(0.0003, 0.0002))


@dataclass
class FakeWriter:
    """Writes a sentence on the first paper of each digest, or raises; remembers what it was asked."""

    broken: Exception | None = None
    broken_key: Exception | None = None
    asked: list[Digest] = field(default_factory=list)

    def brief_key(self, digest: Digest, criteria: str) -> str:
        if self.broken_key:
            self.asked.append(digest)
            raise self.broken_key
        return " ".join(entry.paper.id for entry in digest.entries)

    def briefs(
        self, digests: Sequence[Digest], may_spend: Any, seconds: float
    ) -> Generator[Briefed]:
        for digest in digests:
            self.asked.append(digest)
            if self.broken:
                raise self.broken
            sentence = BriefSentence("Networks learn.", (digest.entries[0].paper.id,))
            yield Briefed(digest.mailing_list.name, (sentence,), SPENT)


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    with Store.open(tmp_path / "paperboy.db") as store:
        made = World(store)
        made.announce(*FOUR)
        yield made


def galaxies(**changes: Any) -> MailingList:
    return foundations(**{"name": "galaxies", "topics": "galaxies", **changes})


def briefs(world: World) -> list[tuple[BriefSentence, ...]]:
    """Of the digests that were composed."""
    return [digest.brief for digest in world.composer.made]


def preview(world: World, drafter: Drafter, locked: list[str] | None = None) -> Digest:
    """The digest that a preview shows; `locked` notes how often it takes the lock."""

    @contextmanager
    def alone() -> Iterator[None]:
        if locked is not None:
            locked.append("locked")
        yield

    subscribed = foundations()
    return (
        Previews(drafter, world.connect, [subscribed], alone, world.clock()).of(subscribed).digest
    )


def warnings(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.getMessage() for record in caplog.records if record.levelno >= logging.WARNING]


# ---- what it is


def test_brief_is_in_the_digest_and_asked_for_once_for_preview_and_morning(world: World) -> None:
    """Its tokens are in the digest's numbers, and in the morning's."""
    locked = list[str]()
    with LlmServer() as server, scorer_for(server) as writer:
        shown = preview(world, world.drafter(brief_writer=writer), locked)
        report = world.run(brief_writer=writer)
        again = preview(world, world.drafter(brief_writer=writer), locked)
        (used,) = server.brief_counted
    assert briefs(world) == [BRIEF, BRIEF, BRIEF]
    assert (shown.brief, again.brief) == (BRIEF, BRIEF)
    assert locked == ["locked"] * 2  # for scores, and for the brief
    tokens = 400 + used["prompt_tokens"], 40 + used["completion_tokens"]
    for spending in (shown.spending, report.lists[0].spending, again.spending):
        assert (spending.usage.prompt_tokens, spending.usage.completion_tokens) == tokens
        assert spending.usage.calls == 5
        assert spending.cost is not None
        assert spending.cost.prompt > 0.004


def test_lists_are_asked_for_side_by_side(world: World) -> None:
    """The first answer waits for the second request."""
    with LlmServer() as server, scorer_for(server, concurrency=2) as writer:
        server.fault_for = meeting(2)
        world.run(foundations(), galaxies(), brief_writer=writer)
        assert (len(server.briefs), server.most_at_once) == (2, 2)
    assert briefs(world) == [BRIEF, BRIEF]


def test_server_that_refuses_a_format_for_briefs_gets_another(world: World) -> None:
    with LlmServer(rejected=["json_schema"]) as server, scorer_for(server) as writer:
        world.run(brief_writer=writer)
        assert writer.server.refused == frozenset()
    assert briefs(world) == [BRIEF]
    assert len(server.briefs) == 2


# ---- for which digests


NO_BRIEF: dict[str, dict[str, Any]] = {
    "fewer than four papers": {"max_papers": 3},
    "turned off": {"brief": False},
    "without topics": {"topics": "", "authors": ("Ada Lovelace",)},
    "a note": {"min_relevance": 10},
}


@pytest.mark.parametrize("name", NO_BRIEF)
def test_no_brief_is_asked_for(world: World, name: str) -> None:
    writer = FakeWriter()
    report = world.run(foundations(**NO_BRIEF[name]), brief_writer=writer)
    assert report.lists[0].outcome is (Outcome.NOTE if name == "a note" else Outcome.DIGEST)
    assert (writer.asked, briefs(world)) == ([], [()])


def test_no_brief_is_asked_for_while_the_list_stays_due(world: World) -> None:
    writer = FakeWriter()
    world.scorer.dies_after = 0
    assert world.run(brief_writer=writer).due == ("foundations",)
    assert writer.asked == []


@pytest.mark.parametrize("death", [None, BudgetUsedUpError("LLM_BUDGET_USD is used up for today")])
def test_no_brief_is_asked_for_where_scoring_could_not_continue(
    world: World, death: Exception | None
) -> None:
    """A dead server, or the budget."""
    world.announce(*FOUR, new(5))
    world.scorer.dies_after = 4
    world.scorer.death = death or world.scorer.death
    writer = FakeWriter()
    report = world.run(brief_writer=writer)
    assert report.lists[0].outcome is Outcome.DIGEST
    assert (writer.asked, briefs(world)) == ([], [()])


@pytest.mark.parametrize(("budget", "asked"), [(0.012, 0), (0.01201, 1), (1, 2)])
def test_budget_is_for_briefs_too(world: World, budget: float, asked: int) -> None:
    """Scoring took 0.012 dollars; what one brief costs is missing for the next."""
    world.budget = budget
    with LlmServer() as server, scorer_for(server) as writer:
        world.run(foundations(), galaxies(), brief_writer=writer)
        assert len(server.briefs) == asked
    assert briefs(world) == [*[BRIEF] * asked, *[()] * (2 - asked)]


def test_embedded_scorer_writes_none(world: World) -> None:
    world.run(brief_writer=None)
    assert briefs(world) == [()]


def test_dry_run_asks_for_no_brief(world: World) -> None:
    writer = FakeWriter()
    subscribed = foundations()
    drafter = world.drafter(brief_writer=writer)
    previews = Previews(
        drafter, world.connect, [subscribed], contextmanager(lambda: iter([None])), world.clock()
    )
    (draft, _), *_ = previews.all([subscribed.name]).values()
    assert draft is not None
    assert (draft.digest.counts.selected, writer.asked) == (4, [])


# ---- when it fails


def test_hanging_brief_ends_the_morning_as_it_would_have_without(
    world: World, caplog: pytest.LogCaptureFixture
) -> None:
    """Within the time limit; no other list is asked for after it, also in later groups."""
    lists = foundations(), galaxies(), galaxies(name="others", title="Others")
    with LlmServer() as server, scorer_for(server) as writer:
        server.fail_briefs("hang")
        report = world.run(*lists, group=2, brief_writer=writer, brief_seconds=0.2)
        assert len(server.briefs) == 1
    assert [each.outcome for each in report.lists] == [Outcome.DIGEST] * 3
    assert briefs(world) == [(), (), ()]
    assert warnings(caplog) == [
        f"foundations: no morning in brief: the LLM at {writer.server.place} does not answer within 0.2 s"
    ]


def test_brief_that_names_nothing_usable_is_paid_for_once(world: World) -> None:
    """By a server that knows no briefs, and answers with scores."""
    with LlmServer() as server, scorer_for(server) as writer:
        server.knows_briefs = False
        report = world.run(brief_writer=writer)
        preview(world, world.drafter(brief_writer=writer))
        assert len(server.briefs) == 1
    assert report.lists[0].spending.usage.calls == 5
    assert briefs(world) == [(), ()]


@pytest.mark.parametrize(
    ("fault", "why"),
    [
        ("error 503", "answers 503: Overloaded"),
        ("drop", "cannot be reached"),
        ("small context", "its context is too small"),
        ("web page", "answers with something that is not JSON"),
        ("empty", "answers with no text"),
    ],
)
def test_failed_brief_is_logged_and_asked_for_again_another_time(
    world: World, caplog: pytest.LogCaptureFixture, fault: str, why: str
) -> None:
    """It has no retry; an answer that was paid for is counted."""
    with LlmServer() as server, scorer_for(server) as writer:
        server.fail_briefs(fault)
        report = world.run(brief_writer=writer)
        # A limit of tokens of ours may be what does not fit.
        assert len(server.briefs) == (2 if fault == "small context" else 1)
        server.fail_briefs("")
        preview(world, world.drafter(brief_writer=writer))
    assert report.lists[0].outcome is Outcome.DIGEST
    assert report.lists[0].spending.usage.calls == (5 if fault == "empty" else 4)
    (line,) = warnings(caplog)
    assert line.startswith("foundations: no morning in brief: the LLM at ")
    assert why in line
    assert briefs(world) == [(), BRIEF]


def test_server_that_is_gone_is_reported_once(
    world: World, caplog: pytest.LogCaptureFixture
) -> None:
    with scorer_for(DEAD) as writer:
        world.run(foundations(), galaxies(), brief_writer=writer)
    assert briefs(world) == [(), ()]
    assert len(warnings(caplog)) == 1


@pytest.mark.parametrize(
    ("broken", "why"),
    [
        (ZeroDivisionError("by zero"), "ZeroDivisionError('by zero')"),
        (ConfigError.at("prompts/brief.md.j2:3", "is wrong"), "prompts/brief.md.j2:3: is wrong"),
    ],
    ids=["bug", "template"],
)
@pytest.mark.parametrize("is_key", [False, True])
def test_what_breaks_while_briefs_are_written_costs_no_mail(
    world: World, caplog: pytest.LogCaptureFixture, broken: Exception, why: str, *, is_key: bool
) -> None:
    """And is not met again in later groups."""
    writer = FakeWriter(broken_key=broken) if is_key else FakeWriter(broken)
    report = world.run(foundations(), galaxies(), group=1, brief_writer=writer)
    assert [each.outcome for each in report.lists] == [Outcome.DIGEST] * 2
    assert (briefs(world), len(writer.asked)) == ([(), ()], 1)
    assert warnings(caplog) == [f"digests go without the morning in brief: {why}"]


def test_template_that_fails_on_a_lists_papers_costs_that_lists_brief(
    world: World, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    text = (PROMPTS / "brief.md.j2").read_text("utf-8")
    edited = text.replace("<papers>\n{%", "<papers>{{ 1 // (papers | length - 4) }}\n{%")
    (tmp_path / "brief.md.j2").write_text(edited, "utf-8")
    prompt = BriefPrompt([tmp_path])
    world.scorer.known |= {"2611.00005": Score(9, 8)}
    world.feed.papers.append(new(5))
    lists = foundations(max_papers=4), galaxies(max_papers=5)
    with LlmServer() as server, scorer_for(server, brief_prompt=prompt) as writer:
        world.run(*lists, brief_writer=writer)
    assert [bool(brief) for brief in briefs(world)] == [False, True]
    assert ["ZeroDivisionError" in line for line in warnings(caplog)] == [True]
