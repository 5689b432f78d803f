"""The LLM scorer against servers that take less than they are asked: small contexts, few slots, silent cuts."""

from __future__ import annotations

import logging
import math

import pytest

from paperboy.models import Paper, ToScore
from tests.builders import mailing_list, paper
from tests.scoring.asking import Outcome, collect, jobs, papers, run, scorer_for
from tests.servers.llm import LlmServer, ids_in, invented_score

MOST = 8  # papers a call, of a server that takes no more


@pytest.mark.parametrize("at_once", [1, 8])
@pytest.mark.parametrize(
    "fault", ["request too large", "small context", "cut off before a word", "hang"]
)
@pytest.mark.parametrize(
    "number",
    [
        96,
        *[pytest.param(n, marks=pytest.mark.long("hundreds of calls")) for n in (160, 200, 240)],
        *[pytest.param(n, marks=pytest.mark.long("hundreds of calls")) for n in (272, 320, 1000)],
    ],
)
def test_every_paper_is_scored_with_at_most_twice_the_calls_of_the_right_batch_size(
    number: int, fault: str, at_once: int
) -> None:
    seconds = 1.0 if fault == "hang" else 60
    with (
        LlmServer() as server,
        scorer_for(server, batch_size=16, concurrency=at_once, timeout_seconds=seconds) as scorer,
    ):
        server.take_at_most(MOST, fault)
        outcome = run(scorer, papers(number))
    assert (outcome.error, outcome.problem, outcome.unscored) == ("", "", {})
    assert len(outcome.scores) == number
    assert len(server.requests) <= 2 * math.ceil(number / MOST)


def test_lists_that_share_papers_still_share_them_in_smaller_batches() -> None:
    """Each half stands first in the prompts of all lists, where a cache finds it."""
    jobs = [
        ToScore(mailing_list(name=f"list{n}", topics=f"Topic {n}"), tuple(papers(32)))
        for n in range(3)
    ]
    with LlmServer() as server, scorer_for(server, batch_size=16) as scorer:
        server.take_at_most(MOST, "request too large")
        outcome = collect_all(scorer.score(jobs))
    assert outcome == {f"list{n}": 32 for n in range(3)}
    taken = [ids for ids in server.asked if len(ids) <= MOST]
    assert len(taken) == 3 * 32 / MOST
    assert len({tuple(ids) for ids in taken}) == 32 / MOST


def collect_all(parts: object) -> dict[str, int]:
    scored: dict[str, int] = {}
    for part in parts:  # type: ignore[attr-defined]
        scored[part.list_name] = scored.get(part.list_name, 0) + len(part.scores)
    return scored


@pytest.mark.quick
def test_later_lists_of_a_morning_begin_with_what_the_server_takes() -> None:
    """And the next morning, another scorer, with the settings again."""
    with LlmServer() as server:
        server.take_at_most(MOST, "request too large")
        with scorer_for(server, batch_size=16) as scorer:
            run(scorer, papers(16))
            before = len(server.requests)
            run(scorer, papers(16))
            assert [len(ids) for ids in server.asked[before:]] == [8, 8]
        with scorer_for(server, batch_size=16) as scorer:
            before = len(server.requests)
            run(scorer, papers(16))
            assert len(server.asked[before]) == 16


@pytest.mark.quick
def test_one_large_batch_is_split_alone() -> None:
    """Where others of its size were scored, all that wait stay whole."""
    with LlmServer() as server, scorer_for(server, batch_size=16) as scorer:
        server.fault_for = lambda body: (
            "request too large" if "2611.00020" in str(body) and "2611.00025" in str(body) else ""
        )
        outcome = run(scorer, papers(64))
    assert len(outcome.scores) == 64
    assert sorted(len(ids) for ids in server.asked) == [8, 8, 16, 16, 16, 16, 16]


def test_paper_that_is_too_large_alone_is_blamed_with_the_reason() -> None:
    with LlmServer() as server, scorer_for(server, batch_size=16) as scorer:
        server.fault_for = lambda body: "request too large" if "[2611.00003]" in str(body) else ""
        outcome = run(scorer, papers(32))
    assert outcome.unscored.keys() == {"2611.00003"}
    assert "lower LLM_BATCH_SIZE" in outcome.unscored["2611.00003"]


# ── Slots ────────────────────────────────────────────────────────────────────────────────────────


def test_slow_server_with_one_slot_scores_all_with_fewer_calls_at_once(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Its queue counts as time, and a call that was given up keeps its slot."""
    with (
        LlmServer(slots=1, seconds_per_paper=0.02) as server,
        scorer_for(server, batch_size=16, concurrency=8, timeout_seconds=0.5) as scorer,
        caplog.at_level(logging.INFO),
    ):
        outcome = run(scorer, papers(64))
        assert scorer.capacity.calls.value < 8
    assert (len(outcome.scores), outcome.error, outcome.unscored) == (64, "", {})
    (line,) = (record.message for record in caplog.records if "timed out" in record.message)
    assert "LLM_CONCURRENCY=" in line


def test_one_slot_scores_many_lists_of_one_paper() -> None:
    """A paper that waited for its slot is asked for again, with fewer calls at once."""
    jobs = [
        ToScore(mailing_list(name=f"list{n}", topics=f"Topic {n}"), tuple(papers(1)))
        for n in range(12)
    ]
    with (
        LlmServer(slots=1, seconds_per_paper=0.1) as server,
        scorer_for(server, batch_size=16, concurrency=8, timeout_seconds=0.45) as scorer,
    ):
        assert collect_all(scorer.score(jobs)) == {f"list{n}": 1 for n in range(12)}


def test_server_that_never_answers_is_dead_and_says_what_would_help() -> None:
    with (
        LlmServer() as server,
        scorer_for(server, batch_size=16, concurrency=8, timeout_seconds=0.2) as scorer,
    ):
        server.fail_always("hang")
        outcome = run(scorer, papers(12))
    assert (outcome.scores, outcome.unscored) == ({}, {})
    assert outcome.error == (
        f"the LLM at {server.base_url} does not answer within 0.2 s; set LLM_CONCURRENCY to the server's slots "
        "(now 8), raise LLM_TIMEOUT_SECONDS or lower LLM_BATCH_SIZE"
    )
    assert len(server.requests) < 12


def test_server_that_hangs_in_the_middle_of_a_day_is_dead_and_blames_no_paper() -> None:
    with LlmServer() as server, scorer_for(server, timeout_seconds=0.2) as scorer:
        server.fail("fenced")
        server.fail_always("hang")
        outcome = run(scorer, papers(40))
    assert (len(outcome.scores), outcome.unscored) == (4, {})
    assert (
        "does not answer within 0.2 s; raise LLM_TIMEOUT_SECONDS or lower LLM_BATCH_SIZE"
        in outcome.error
    )
    assert len(server.requests) < 12


# ── Silent cuts ──────────────────────────────────────────────────────────────────────────────────


def long_papers(number: int) -> list[Paper]:
    """Papers whose abstracts are as long as real ones."""
    return [paper(f"2611.{n:05}", abstract="Robins find their way. " * 65) for n in range(number)]


def test_prompt_that_was_cut_gives_no_score() -> None:
    """The model saw neither rubric nor topics. Smaller batches are seen whole."""
    with (
        LlmServer(context=1_500) as server,
        scorer_for(server, batch_size=16) as scorer,
    ):
        scored = [len(part.scores) for part in scorer.score(jobs(long_papers(40)))]
    assert sum(scored) == 40
    assert max(scored) <= 4
    assert [len(ids_in(request)) for request in server.requests[:3]] == [13, 6, 2]


def test_failure_of_a_cut_prompt_names_the_servers_setting() -> None:
    with LlmServer(context=100) as server, scorer_for(server, batch_size=2) as scorer:
        answer = scorer.server.ask(scorer.prompt.question("", papers(2), papers_first=False))[-1]
    assert answer.failure.startswith("answers, but cut the prompt: it counted only 100 tokens for ")
    assert "Ollama's num_ctx" in answer.failure


@pytest.mark.parametrize("uncounted", ["counts_cached", "counts_tokens"])
def test_server_that_does_not_count_what_it_had_cached_or_anything_cuts_nothing(
    uncounted: str,
) -> None:
    with LlmServer() as server, scorer_for(server) as scorer:
        setattr(server, uncounted, False)
        outcome = run(scorer, long_papers(40))
    assert len(outcome.scores) == 40
    assert {len(ids) for ids in server.asked} == {4}


# ── What is logged ───────────────────────────────────────────────────────────────────────────────


def test_waste_is_logged_once_a_morning_with_the_setting_that_saves_it(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.INFO)
    with LlmServer() as server, scorer_for(server, batch_size=16) as scorer:
        server.take_at_most(MOST, "request too large")
        for _ in range(3):
            run(scorer, papers(32))
    (record,) = [record for record in caplog.records if record.name == "paperboy.scoring.llm"]
    assert record.levelname == "WARNING"
    assert record.message == (
        f"the LLM at {server.base_url}: 2 of 6 calls gave no score, or not all "
        "(1 refused for an option or the format, 1 too large); LLM_BATCH_SIZE=8 in .env would save that"
    )


def test_advice_follows_though_a_refused_option_was_logged_before(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.INFO)
    with (
        LlmServer(rejected=["reasoning_effort"]) as server,
        scorer_for(server, batch_size=16) as scorer,
    ):
        run(scorer, papers(8))
        server.take_at_most(4, "request too large")
        run(scorer, papers(32))
        run(scorer, papers(32))
    levels = [record.levelname for record in caplog.records if "gave no score" in record.message]
    assert levels == ["INFO", "WARNING"]


def test_refused_options_are_logged_as_no_warning(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    with LlmServer(rejected=["reasoning_effort"]) as server, scorer_for(server) as scorer:
        assert len(run(scorer, papers(4)).scores) == 4
    (record,) = [record for record in caplog.records if record.name == "paperboy.scoring.llm"]
    assert record.levelname == "INFO"
    assert "1 of 2 calls" in record.message


def test_well_behaved_server_is_not_talked_about(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    with LlmServer() as server, scorer_for(server) as scorer:
        outcome: Outcome = collect(scorer.score([ToScore(mailing_list(), tuple(papers(8)))]))
    assert outcome.scores["2611.00000"] == invented_score("2611.00000")
    assert not [record for record in caplog.records if record.name == "paperboy.scoring.llm"]
