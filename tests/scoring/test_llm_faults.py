"""The LLM scorer against all the ways in which servers do not behave."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

import pytest

from paperboy.errors import ScoringError
from paperboy.models import Score, Scored, ToScore
from paperboy.scoring.llm import LlmScorer
from tests.builders import mailing_list
from tests.scoring.asking import DEAD, Outcome, collect, jobs, papers, run, scorer_for
from tests.servers.llm import LlmServer, ids_in, invented_score
from tests.servers.llm_faults import FAULTS, Fault, error, listed

# ---- one failed call, after which all papers are scored: fault, calls for 8 papers, waits

RECOVERED = [
    ("rate limited", 3, [1.0]),
    ("rate limited for 7 s", 3, [7.0]),
    ("rate limited for an hour", 4, []),  # asked again later instead, in smaller batches
    ("error 500", 3, [1.0]),
    ("drop", 3, [1.0]),
    ("error with 200", 3, [1.0]),
    ("empty", 3, [1.0]),
    ("refusal", 4, []),  # halved
    ("small context", 3, []),  # without our limit of tokens, it is large enough
    ("cut off", 3, []),
    ("cut off early", 5, []),  # what waits is halved, too
    ("nonsense", 4, []),
    ("cut off before a word", 5, []),
    ("bad request", 3, []),
    ("fenced", 2, []),
    ("unknown id", 2, []),
    ("first missing", 3, []),
    ("duplicate", 3, []),  # the paper is asked again
    ("all duplicate", 4, []),  # in halves, without a duplicate
]


@pytest.mark.parametrize(("fault", "calls", "waits"), RECOVERED, ids=[row[0] for row in RECOVERED])
def test_every_paper_is_scored_after_one_fault(fault: str, calls: int, waits: list[float]) -> None:
    waited: list[float] = []
    with LlmServer() as server, scorer_for(server, waited) as scorer:
        server.fail(fault)
        outcome = run(scorer, papers(8))
    assert (outcome.unscored, outcome.error) == ({}, "")
    assert outcome.scores.keys() == {paper.id for paper in papers(8)}
    assert "9912.99999" not in outcome.scores
    assert outcome.scores["2611.00000"] == invented_score("2611.00000")
    assert (len(server.requests), waited) == (calls, waits)


MANNERS = [
    *["streamed", "in thoughts", "in a tool's call", "as an object", "keyed by id"],
    *["beside an empty error", "unescaped"],
]


@pytest.mark.parametrize("manner", MANNERS)
def test_every_paper_is_scored_by_a_server_with_manners_of_its_own(manner: str) -> None:
    """At once: nothing is asked again, and the format stays."""
    with LlmServer() as server, scorer_for(server) as scorer:
        server.fail_always(manner)
        outcome = run(scorer, papers(8))
    assert outcome.scores.keys() == {paper.id for paper in papers(8)}
    assert len(server.requests) == 2
    assert server.requests[-1]["response_format"]["type"] == "json_schema"
    assert outcome.spending.usage.prompt_tokens > 1000
    macros = r"Of $\ell_2$, $\tau \times \nu$: " if manner == "unescaped" else ""
    given = invented_score("2611.00001")
    comment = macros + given.comment
    assert outcome.scores["2611.00001"] == replace(given, comment=comment)


@pytest.mark.parametrize("fault", ["refusal", "empty", "nonsense"])
def test_useless_reply_is_paid_for(fault: str) -> None:
    with LlmServer() as server, scorer_for(server) as scorer:
        server.fail(fault)
        outcome = run(scorer, papers(8))
    assert outcome.spending.usage.calls == len(server.requests)


# ---- a dead server: fault, what the error says, most calls for 40 papers; the last ones ask
# whether the server is there at all

HOPELESS = [
    ("out of credit", "answers 429: the account has no credit left", 4),
    ("no such model", "it knows no model 'gpt-6-luna' at this address; check OPENAI_MODEL", 4),
    ("rate limited", "answers 429: Rate limit reached", 14),
    ("web page", "answers with something that is not JSON; check OPENAI_BASE_URL", 14),
    ("error with 200", "answers 502: Provider returned error", 14),
    ("drop", "cannot be reached", 14),
    ("nonsense", "answers without a usable score", 8),
    ("bad request", "answers 400: Something about this request is wrong", 60),
    ("refusal", "refuses to answer", 20),
    (
        "cut off before a word",
        "answers, but the reply was cut off at the server's limit of tokens; lower LLM_BATC",
        20,
    ),
    (
        "small context",
        "answers 400: its context is too small for the prompt; lower LLM_BATCH_SIZE",
        20,
    ),
    ("error 503", "answers 503: Overloaded", 14),
]


@pytest.mark.parametrize(("fault", "message", "calls"), HOPELESS, ids=[row[0] for row in HOPELESS])
def test_dead_server_ends_scoring_with_one_reason(fault: str, message: str, calls: int) -> None:
    with LlmServer() as server, scorer_for(server) as scorer:
        server.fail_always(fault)
        outcome = run(scorer, papers(40))
    assert outcome.error.startswith(f"the LLM at {server.base_url} ")
    assert message in outcome.error
    assert outcome.scores == {}
    assert len(server.requests) <= calls


@pytest.mark.parametrize("number", [1, 5])
def test_dead_server_is_reported_for_few_papers_and_blames_none(number: int) -> None:
    with scorer_for(DEAD) as scorer:
        outcome = run(scorer, papers(number))
    assert f"the LLM at {DEAD} cannot be reached" in outcome.error
    assert (outcome.scores, outcome.unscored) == ({}, {})


@pytest.mark.quick
def test_refused_key_is_reported_and_not_quoted() -> None:
    """Also where the server quotes the key in its answer."""
    with LlmServer(api_key="another") as server, scorer_for(server) as scorer:
        outcome = run(scorer, papers(8))
    hint = "answers 401: the key is refused; check OPENAI_API_KEY in .env"
    said = "It says: Incorrect API key provided: Bearer …"
    assert outcome.error == f"the LLM at {server.base_url} {hint}. {said}"


def test_secrets_in_the_address_are_not_reported() -> None:
    with (
        scorer_for("http://user:hidden@127.0.0.1:9/v1?token=hidden") as scorer,
        pytest.raises(ScoringError, match=r"^the LLM at http://127\.0\.0\.1:9/v1 cannot"),
    ):
        scorer.probe()


@pytest.mark.quick
def test_scores_before_the_servers_death_are_kept() -> None:
    with LlmServer() as server, scorer_for(server, concurrency=2) as scorer:
        parts = scorer.score(jobs(papers(40)))
        scored = dict(next(parts).scores)
        server.fail_always("error 503")
        rest = collect(parts)
    assert "answers 503" in rest.error
    assert rest.unscored == {}
    assert 4 <= len(scored | rest.scores) < 40


# ---- fallbacks and secrets


@pytest.mark.parametrize(
    ("rejected", "used"),
    [
        (["json_schema"], "json_object"),
        (["reasoning_effort"], "json_schema"),
        (["service_tier", "json_schema", "reasoning_effort", "json_object"], "text"),
    ],
)
def test_refused_option_is_left_out_from_then_on(rejected: list[str], used: str) -> None:
    with LlmServer(rejected=rejected) as server, scorer_for(server, service_tier="flex") as scorer:
        outcome = run(scorer, papers(12))
    assert len(outcome.scores) == 12
    assert len(server.requests) == 3 + len(rejected)  # each lesson costs one call, once
    last = server.requests[-1]
    assert last.get("response_format", {"type": "text"})["type"] == used
    assert not set(rejected) & last.keys()


THINKS = 'think value "low" is not supported for this model'
UNKNOWN = 'Invalid JSON payload received. Unknown name "reasoning_effort": Cannot find field.'


@pytest.mark.parametrize(
    "refusal",
    [error(400, THINKS), listed(error(400, UNKNOWN))],
    ids=["Ollama", "Gemini"],
)
def test_refusal_of_one_option_costs_no_other_and_no_format(refusal: Fault) -> None:
    with (
        LlmServer(reasoning_tokens_per_paper=0) as server,
        scorer_for(server) as scorer,
    ):
        server.fault_for = lambda body: refusal if "reasoning_effort" in body else ""
        assert len(run(scorer, papers(8)).scores) == 8
    assert len(server.requests) == 3
    assert server.requests[-1]["temperature"] == 0
    assert server.requests[-1]["response_format"]["type"] == "json_schema"


@pytest.mark.quick
def test_template_without_a_system_role_gets_one_message_from_then_on() -> None:
    with LlmServer(rejected=["system"]) as server, scorer_for(server) as scorer:
        assert len(run(scorer, papers(12)).scores) == 12
    assert [len(request["messages"]) for request in server.requests] == [2, 1, 1, 1]
    (message,) = server.requests[-1]["messages"]
    assert message["role"] == "user"
    assert message["content"].startswith("You select")


@pytest.mark.parametrize("manner", ["in thoughts", "thinks aloud"])
def test_model_that_thinks_gets_no_temperature_of_ours(manner: str) -> None:
    """It would always take the likeliest token, and repeat itself."""
    aloud = Fault(retell=lambda text: f"<think>Hm.</think>{text}")
    with LlmServer(reasoning_tokens_per_paper=0) as server, scorer_for(server) as scorer:
        server.lasting_fault = aloud if manner == "thinks aloud" else FAULTS[manner]
        assert len(run(scorer, papers(12)).scores) == 12
    assert [request.get("temperature") for request in server.requests] == [0, None, None]


def test_key_that_geminis_server_refuses_ends_scoring_at_once() -> None:
    refused = listed(error(400, "API key not valid. Please pass a valid API key.", code=400))
    with LlmServer() as server, scorer_for(server) as scorer:
        server.lasting_fault = refused
        outcome = run(scorer, papers(40))
    assert (
        "the key is refused; check OPENAI_API_KEY in .env. It says: API key not valid."
        in outcome.error
    )
    assert len(server.requests) <= 4


@pytest.mark.parametrize(
    "refusal",
    [
        Fault(status=501, error={"message": "response_format is not implemented"}),
        Fault(status=415, body=b"unsupported response_format"),
        Fault(status=400, body=b"response_format: unknown variant json_schema"),
        Fault(retell=lambda _text: ""),
    ],
    ids=["501", "415 in plain text", "400 in plain text", "200 without a word"],
)
def test_refused_format_falls_back_however_it_is_refused(refusal: Fault) -> None:
    with LlmServer() as server, scorer_for(server) as scorer:
        server.faults.append(refusal)
        assert len(run(scorer, papers(4)).scores) == 4
    assert server.requests[-1]["response_format"]["type"] == "json_object"


# ---- one paper at a time


def test_refused_batch_is_halved_until_one_paper_is_blamed() -> None:
    with (
        LlmServer(unspeakable=["2611.00005"]) as server,
        scorer_for(server, batch_size=8) as scorer,
    ):
        outcome = run(scorer, papers(16))
    assert outcome.unscored.keys() == {"2611.00005"}
    assert "content filter" in outcome.unscored["2611.00005"]
    assert len(outcome.scores) == 15
    assert len(server.requests) == 8  # no probe: the server has answered


@pytest.mark.quick
def test_paper_left_out_of_every_reply_is_blamed_alone() -> None:
    """Everybody else is scored, and the server is not taken for dead."""
    with LlmServer() as server, scorer_for(server) as scorer:
        stubborn = [f"2611.{n:05}" for n in (1, 2, 3, 6, 9, 12)]
        server.scores = lambda arxiv_id: Stubborn() if arxiv_id in stubborn else Score(5, 5)  # type: ignore[assignment,return-value]
        outcome = run(scorer, papers(16))
    assert outcome.error == ""
    assert sorted(outcome.unscored) == stubborn
    reason = "answers without a usable score (relevance is not a whole number from 1 to 10)"
    assert outcome.unscored["2611.00001"] == f"the LLM at {server.base_url} {reason}"
    assert len(outcome.scores) == 10
    assert all([arxiv_id] in server.asked for arxiv_id in stubborn)
    assert max(sum(arxiv_id in ids for ids in server.asked) for arxiv_id in stubborn) <= 4


TWICE = {"arxiv_id": "2611.00001", "relevance": 1, "novelty": 1, "comment": ""}


@pytest.mark.parametrize(
    ("more", "asked"),
    [
        ([TWICE], [4, 1]),
        ([{**TWICE, "relevance": 9, "novelty": 9}], [4]),
        ([{**TWICE, "relevance": 99}], [4]),
        ([TWICE, {**TWICE, "arxiv_id": "2611.00002"}], [4, 2, 1, 1]),
    ],
    ids=["differ", "equal", "one unusable", "two papers"],
)
def test_paper_scored_twice_in_one_reply_is_asked_again_until_alone(
    more: list[dict[str, object]], asked: list[int]
) -> None:
    """The last of its entries counts if it then gets two again."""
    ids = {str(entry["arxiv_id"]) for entry in more}

    def twice(entries: list[dict[str, object]]) -> list[dict[str, object]]:
        given = {entry["arxiv_id"] for entry in entries}
        return [*entries, *(entry for entry in more if entry["arxiv_id"] in given)]

    scores = dict.fromkeys(("2611.00000", *ids, "2611.00003"), Score(9, 9))
    with LlmServer(scores) as server, scorer_for(server) as scorer:
        server.lasting_fault = Fault(rewrite=twice)
        outcome = run(scorer, papers(4))
        assert [len(ids) for ids in server.asked if ids] == asked
    assert {arxiv_id for arxiv_id, score in outcome.scores.items() if score.relevance == 1} == (
        ids if len(asked) > 1 else set()
    )
    assert (len(outcome.scores), outcome.unscored) == (4, {})


class Stubborn:
    """A score that no reader accepts."""

    relevance = 0
    novelty = 0
    comment = ""


# ---- a poisonous paper or list


@pytest.mark.parametrize("lists", [1, 10])
@pytest.mark.parametrize("fault", ["nonsense", "error 500", "refusal"])
def test_poisonous_paper_spoils_no_other(fault: str, lists: int) -> None:
    """Not in its batch, not for other lists, whatever the answer is: the server is asked, and is there."""
    asked = tuple(papers(32))
    jobs = [
        ToScore(mailing_list(name=f"list{n}", topics=f"Topic {n}"), asked) for n in range(lists)
    ]
    with LlmServer() as server, scorer_for(server, concurrency=8, batch_size=16) as scorer:
        server.fault_for = lambda body: fault if "2611.00003" in ids_in(body) else ""
        outcomes = by_list(scorer, jobs)
    for outcome in outcomes.values():
        assert outcome.scores.keys() == {paper.id for paper in asked} - {"2611.00003"}
        assert outcome.unscored.keys() == {"2611.00003"}


def by_list(scorer: LlmScorer, jobs: Sequence[ToScore]) -> dict[str, Outcome]:
    """What came of each list; none may end with an error."""
    parts = list(scorer.score(jobs))
    return {
        name: collect(part for part in parts if part.list_name == name)
        for name in (job.mailing_list.name for job in jobs)
    }


@pytest.mark.parametrize("fault", ["content refused", "nonsense", "error 500"])
def test_poisonous_topics_stop_no_other_list(fault: str) -> None:
    asked = tuple(papers(64))
    jobs = [
        ToScore(mailing_list(name=name, topics=f"Topics of {name}"), asked)
        for name in ("one", "two")
    ]
    jobs.insert(0, ToScore(mailing_list(name="poison", topics="Poison."), asked))
    with LlmServer() as server, scorer_for(server, concurrency=4, batch_size=16) as scorer:
        server.fault_for = lambda body: fault if "Poison." in str(body["messages"]) else ""
        outcomes = by_list(scorer, jobs)
    assert {name: len(outcome.scores) for name, outcome in outcomes.items()} == {
        "one": 64,
        "two": 64,
        "poison": 0,
    }
    assert outcomes["poison"].unscored == {}
    assert outcomes["poison"].problem
    assert len(server.requests) < 150


def test_poisonous_topics_that_are_asked_for_last_are_no_used_up_budget() -> None:
    """Nothing is left to ask for once the list is given up, though its last failure stands in doubt."""
    last = mailing_list(name="poison", topics="Poison.")
    jobs = [ToScore(mailing_list(), tuple(papers(8))), ToScore(last, tuple(papers(72)[8:]))]
    with LlmServer() as server, scorer_for(server, concurrency=1, batch_size=16) as scorer:
        server.fault_for = lambda body: "error 500" if "Poison." in str(body["messages"]) else ""
        outcomes = by_list(scorer, jobs)
    assert len(outcomes[mailing_list().name].scores) == 8
    assert outcomes["poison"].problem


@pytest.mark.parametrize("size", [10, 48])
@pytest.mark.parametrize("at_once", [1, 8])
@pytest.mark.parametrize("fault", ["bad request", "refusal", "nonsense", "small context"])
def test_model_that_becomes_useless_is_not_asked_for_each_list(
    fault: str, at_once: int, size: int
) -> None:
    """After sixteen failures in a row an invented paper tells the model from papers and topics."""
    jobs = [ToScore(mailing_list(name=f"list{n}"), tuple(papers(size))) for n in range(20)]
    with LlmServer() as server, scorer_for(server, batch_size=16, concurrency=at_once) as scorer:
        server.fail("fenced")
        server.fail_always(fault)
        outcome = collect_lists(scorer.score(jobs))
    assert outcome.unscored == {}
    assert outcome.error
    assert len(server.requests) < 40 * at_once


def collect_lists(parts: Iterable[Scored]) -> Outcome:
    """What came of several lists on the same papers."""
    outcome = Outcome()
    try:
        for part in parts:
            outcome.scores |= part.scores
            outcome.unscored |= part.unscored
    except ScoringError as error:
        outcome.error = str(error)
    return outcome


@pytest.mark.parametrize("fault", ["bad request", "refusal", "nonsense", "error 503"])
def test_server_that_dies_after_a_good_answer_blames_no_paper(fault: str) -> None:
    """And is not asked for each of them."""
    with LlmServer() as server, scorer_for(server, batch_size=16, concurrency=4) as scorer:
        server.fail("fenced")
        server.fail_always(fault)
        outcome = run(scorer, papers(423))
    assert len(outcome.scores) in {15, 16}
    assert outcome.unscored == {}
    assert outcome.error
    assert len(server.requests) < 60
