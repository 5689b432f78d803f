"""The LLM scorer against a server that behaves: scores, requests, money."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from paperboy.errors import ScoringError
from paperboy.models import ToScore
from paperboy.scoring.prices import Prices
from paperboy.scoring.prompt import Prompt
from tests.builders import mailing_list
from tests.scoring.asking import KEY, PRICES, PROMPT, jobs, meeting, papers, run, scorer_for
from tests.scoring.test_prompt import template
from tests.servers.llm import LlmServer, invented_score, invented_topic
from tests.servers.llm_faults import Fault


def test_every_paper_gets_the_score_of_its_id() -> None:
    with LlmServer(api_key=KEY) as server, scorer_for(server) as scorer:
        outcome = run(scorer, papers(10))
    assert outcome.scores == {paper.id: invented_score(paper.id) for paper in papers(10)}
    assert (outcome.unscored, outcome.error) == ({}, "")
    assert [len(ids) for ids in server.asked] == [3, 3, 4]  # batches of nearly the same length


def test_usage_and_cost_are_counted_from_the_replies() -> None:
    with LlmServer() as server, scorer_for(server) as scorer:
        spending = run(scorer, papers(8)).spending
    assert spending.usage.calls == 2
    assert spending.usage.prompt_tokens > 1000
    assert spending.usage.reasoning_tokens == 8 * 20
    assert spending.cost == PRICES.cost(spending.usage)


def test_request_matches_the_wire_contract() -> None:
    with (
        LlmServer() as server,
        scorer_for(server, reasoning_effort="low", service_tier="flex") as scorer,
    ):
        run(scorer, papers(1))
    request = server.requests[0]
    assert request["model"] == "gpt-6-luna"
    assert (request["reasoning_effort"], request["service_tier"]) == ("low", "flex")
    schema = request["response_format"]["json_schema"]
    assert schema["strict"] is True
    assert schema["schema"]["properties"]["scores"]["items"]["additionalProperties"] is False
    assert request["temperature"] == 0  # a server that is not OpenAI's: judgements should not vary
    assert not {"prompt_cache_options", "prompt_cache_key"} & request.keys()


def test_concurrent_calls_reach_the_limit() -> None:
    """The first call warms the cache alone."""
    with LlmServer() as server, scorer_for(server, concurrency=3) as scorer:
        server.fault_for = meeting(1, 3)
        assert len(run(scorer, papers(24)).scores) == 24
    assert server.most_at_once == 3


def test_scores_are_yielded_as_they_arrive() -> None:
    """The first part is there while later calls are still to be made."""
    with LlmServer() as server, scorer_for(server) as scorer:
        parts = scorer.score(jobs(papers(40)))
        assert len(next(parts).scores) == 4
        assert len(server.requests) <= 2
        parts.close()  # type: ignore[attr-defined]
        assert len(server.requests) <= 2


def test_empty_key_is_accepted_and_empty_tier_and_effort_are_not_sent() -> None:
    with LlmServer() as server, scorer_for(server, api_key="", reasoning_effort="") as scorer:
        assert len(run(scorer, papers(4)).scores) == 4
    assert not {"reasoning_effort", "service_tier"} & server.requests[0].keys()


# ---- topics

TWO_TOPICS = mailing_list(topics="- Relevant: streams\n- Relevant: dwarfs")


def test_topic_is_asked_for_where_a_comment_is() -> None:
    with LlmServer() as server, scorer_for(server) as scorer:
        (part,) = scorer.score([ToScore(TWO_TOPICS, tuple(papers(4)))])
    for arxiv_id, score in part.scores.items():
        assert score.topic == (invented_topic(arxiv_id, 2) if score.comment else None)
    assert {score.topic for score in part.scores.values()} > {None}


@pytest.mark.parametrize(
    "topics", ["How networks learn.", "- Relevant: streams\n- Relevant: dwarfs"]
)
def test_server_that_knows_no_topic_scores_as_well(topics: str) -> None:
    """Nothing is asked again."""
    job = ToScore(mailing_list(topics=topics), tuple(papers(4)))
    with LlmServer(knows_topics=False) as server, scorer_for(server) as scorer:
        (part,) = scorer.score([job])
    assert part.scores == {paper.id: invented_score(paper.id) for paper in papers(4)}
    assert len(server.requests) == 1


def test_template_of_a_home_that_asks_for_no_topic_goes_on_working(tmp_path: Path) -> None:
    """As those of 1.0 do, which know no `names`."""
    prompt = Prompt([template(tmp_path)])
    job = ToScore(TWO_TOPICS, tuple(papers(4)))
    with LlmServer() as server, scorer_for(server, prompt=prompt) as scorer:
        (part,) = scorer.score([job])
    assert part.scores == {paper.id: invented_score(paper.id) for paper in papers(4)}
    assert "numbers" not in str(server.requests[0]["messages"])


# ---- money


@pytest.mark.parametrize(("prices", "counts"), [(None, True), (PRICES, False)])
def test_cost_is_unknown_without_a_price_or_a_count_of_tokens(
    prices: Prices | None, *, counts: bool
) -> None:
    with LlmServer(counts_tokens=counts) as server, scorer_for(server, prices=prices) as scorer:
        spending = run(scorer, papers(8)).spending
    assert (spending.cost, spending.usage.calls) == (None, 2)
    assert (spending.usage.prompt_tokens > 0) is counts


def test_no_call_begins_once_the_budget_is_used_up() -> None:
    """It may be crossed by the calls under way. What was scored makes a digest."""
    with LlmServer() as server, scorer_for(server, concurrency=3) as scorer:
        whole = run(scorer, papers(80)).spending.cost
        assert whole is not None
        outcome = run(scorer, papers(80), budget=whole.total / 2)
    assert outcome.spending.cost is not None
    assert whole.total / 2 <= outcome.spending.cost.total <= whole.total * (10 + 3) / 20
    assert 40 <= len(outcome.scores) <= 52
    assert (outcome.unscored, outcome.error) == ({}, "LLM_BUDGET_USD is used up for today")
    assert outcome.budget_used_up


def test_spent_budget_makes_no_call() -> None:
    with LlmServer() as server, scorer_for(server) as scorer:
        outcome = run(scorer, papers(5), budget=0.0)
    assert server.requests == []
    assert (outcome.scores, outcome.budget_used_up) == ({}, True)


def test_uncounted_tokens_use_up_the_budget() -> None:
    """Its calls are estimated."""
    with LlmServer(counts_tokens=False) as server, scorer_for(server) as scorer:
        outcome = run(scorer, papers(80), budget=0.05)
    assert 0 < len(outcome.scores) < 80


def test_calls_that_time_out_use_up_the_budget() -> None:
    """The model may have worked on them."""
    with LlmServer() as server, scorer_for(server, timeout_seconds=0.2, concurrency=2) as scorer:
        server.fail_always("hang")
        outcome = run(scorer, papers(80), budget=0.05)
    assert outcome.budget_used_up
    assert outcome.spending.cost is not None
    assert outcome.spending.cost.total >= 0.05


# ---- the rest


def test_probe_reports_model_place_and_format() -> None:
    with LlmServer(rejected=["json_schema"]) as server, scorer_for(server) as scorer:
        described = f"gpt-6-luna at {server.base_url} answers (json_object) and scores"
        assert scorer.probe() == (described, "")


def test_probe_asks_for_one_paper_with_the_real_prompt() -> None:
    with LlmServer() as server, scorer_for(server) as scorer:
        scorer.probe()
    (system, user) = server.requests[0]["messages"]
    (ids,) = server.asked
    assert system["content"] == PROMPT.question("", [], papers_first=False).system
    assert (len(ids), f"[{ids[0]}] " in user["content"]) == (1, True)
    assert {"response_format", "temperature"} <= server.requests[0].keys()


@pytest.mark.parametrize("fault", ["nonsense", "out of range"])
def test_probe_reports_a_model_without_usable_scores(fault: str) -> None:
    with LlmServer() as server, scorer_for(server) as scorer:
        server.fail(fault)
        with pytest.raises(ScoringError) as caught:
            scorer.probe()
        assert len(server.requests) == 1
        assert str(caught.value).startswith(
            f"the LLM at {server.base_url} answers, but with no usable score: check OPENAI_MODEL; "
            "a model that follows instructions is needed. It said: "
        )


def test_probe_reports_a_reply_that_was_cut_off() -> None:
    with LlmServer() as server, scorer_for(server) as scorer:
        server.fail("cut off early")
        with pytest.raises(ScoringError, match="cut off at the server's limit of tokens"):
            scorer.probe()


def test_probe_quotes_the_answer_shortly_and_without_secrets() -> None:
    key = KEY[:5] + "\x00" + KEY[5:]
    for words, quoted in {
        "I have read it.\n\x1b[31mWith \u202einterest.": "I have read it. [31mWith interest.",
        f"Your key is {KEY}.": "Your key is ….",
        f"Your key is {key}.": "Your key is ….",
        "a" * 90 + KEY: "a" * 90 + "…",
        "very " * 50: "very " * 19 + "very…",
    }.items():
        with LlmServer() as server, scorer_for(server) as scorer:
            server.faults.append(Fault(retell=lambda _text, words=words: words))  # type: ignore[misc]
            with pytest.raises(ScoringError) as caught:
                scorer.probe()
        assert str(caught.value).partition(" It said: ")[2] == quoted


def test_closing_early_leaves_no_thread_behind() -> None:
    with LlmServer(latency=0.05) as server, scorer_for(server, concurrency=4) as scorer:
        parts = scorer.score(jobs(papers(80)))
        next(parts)
        parts.close()  # type: ignore[attr-defined]
        assert not [thread for thread in threading.enumerate() if thread.name.startswith("llm")]
        assert len(server.requests) <= 8
