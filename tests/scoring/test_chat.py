"""What one exchange with a server means, whatever dialect of Chat Completions it speaks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from paperboy.models import Usage
from paperboy.scoring.chat import ChatServer, Manners
from paperboy.scoring.verdicts import Exchange, Verdict, judge

USAGE = {"prompt_tokens": 10, "completion_tokens": 2}


def said(content: object = "Text", finish: str | None = "stop", **message: Any) -> dict[str, Any]:
    return {"choices": [{"message": {"content": content, **message}, "finish_reason": finish}], "usage": USAGE}


@pytest.mark.parametrize(
    ("status", "body", "verdict"),
    [
        (200, said(), Verdict.ANSWERED),
        (200, said(finish="length"), Verdict.ANSWERED),
        (200, said(finish="content_filter"), Verdict.ANSWERED),
        (200, said(finish=None), Verdict.ANSWERED),
        (200, {"choices": [{"message": {"content": "Text"}}]}, Verdict.ANSWERED),
        (200, said(None, refusal="No."), Verdict.REFUSED),
        (200, said("", "content_filter"), Verdict.REFUSED),
        (200, said("", "length"), Verdict.REFUSED),
        (200, said("", None), Verdict.FAILED),
        (200, said(["Text"]), Verdict.FAILED),
        (200, {"choices": []}, Verdict.FAILED),
        (200, {"choices": None, "usage": 3}, Verdict.FAILED),
        (200, {"choices": [None]}, Verdict.FAILED),
        (200, {"choices": [{"message": "Text"}]}, Verdict.FAILED),
        (200, {"error": {"code": 429, "message": "Slow down"}}, Verdict.FAILED),
        (200, {"error": {"code": "401", "message": "Who are you?"}}, Verdict.HOPELESS),
        (200, {"error": "Model not loaded"}, Verdict.FAILED),
        (200, {}, Verdict.FAILED),
        (200, None, Verdict.FAILED),
        (200, [1], Verdict.FAILED),
        (400, {"error": {"code": "content_filter"}}, Verdict.REFUSED),
        (400, {"message": "Model does not exist. Please check it."}, Verdict.HOPELESS),
        (400, {"error": {"message": "openai/gpt-9 is not a valid model ID"}}, Verdict.HOPELESS),
        (402, {"error": {"message": "Insufficient Balance"}}, Verdict.HOPELESS),
        (403, {"error": {"message": "Your input was flagged by moderation"}}, Verdict.REFUSED),
        (403, None, Verdict.HOPELESS),
        (404, None, Verdict.HOPELESS),
        (404, {"error": {"message": "model 'x' not found"}}, Verdict.HOPELESS),
        (408, None, Verdict.FAILED),
        (413, None, Verdict.REFUSED),
        (422, {"detail": [{"msg": "Input should be shorter"}]}, Verdict.REFUSED),
        (429, {"error": {"message": "Rate limit"}}, Verdict.FAILED),
        (429, {"error": {"code": "insufficient_quota"}}, Verdict.HOPELESS),
        (529, {"type": "error", "error": {"type": "overloaded_error"}}, Verdict.FAILED),
    ],
)
def test_each_answer_has_its_meaning(status: int, body: object, verdict: Verdict) -> None:
    answer = judge(Exchange(status, body), model="m")
    assert answer.verdict is verdict
    assert bool(answer.reason) == (verdict is not Verdict.ANSWERED)


def test_a_completion_is_paid_for_whatever_it_holds() -> None:
    for body in (said(), said(""), said(None, refusal="No.")):
        answer = judge(Exchange(200, body), model="m")
        assert (answer.paid, answer.usage) == (True, Usage(calls=1, prompt_tokens=10, completion_tokens=2))
    assert not judge(Exchange(503), model="m").paid


def test_a_servers_words_come_short_in_one_line_and_without_the_key() -> None:
    body = {"error": {"message": "Bad\n\x1b[31m key sk-secret! " + "long " * 100}}
    reason = judge(Exchange(500, body), model="m", secret="sk-secret").reason
    assert reason.startswith("answers 500: Bad [31m key …! long")
    assert len(reason) < 230


@pytest.mark.parametrize(
    ("refusal", "better"),
    [
        ({"param": "reasoning_effort"}, Manners(0, frozenset({"reasoning_effort"}))),
        ({"message": "No service_tier, reasoning_effort"}, Manners(0, frozenset({"service_tier", "reasoning_effort"}))),
        ({"message": "'response_format.type' must be 'text'"}, Manners(1)),
        ({"message": "Structured outputs are not supported"}, Manners(1)),
        ({"message": "This grammar cannot be compiled"}, Manners(1)),
        ({"message": "The prompt is too long"}, None),
        ({"code": "content_filter", "message": "Rejected"}, None),
        ({"message": "Bad request"}, None),
    ],
)  # fmt: skip
def test_a_refusal_shows_what_to_leave_out(refusal: Mapping[str, Any], better: Manners | None) -> None:
    assert Manners().after(refusal, ["reasoning_effort", "service_tier"], proven=True) == better


def test_a_refusal_without_a_reason_is_put_down_to_manners_until_something_was_answered() -> None:
    tried: list[Manners] = []
    manners: Manners | None = Manners()
    while manners is not None:
        tried.append(manners)
        sent = [] if manners.left_out else ["reasoning_effort"]
        manners = manners.after({"message": "Bad request"}, sent, proven=False)
    assert tried == [Manners(0), Manners(1), Manners(2), Manners(2, frozenset({"reasoning_effort"}))]


def test_waits_double_and_end() -> None:
    waits: list[float] = []
    server = ChatServer(
        post=lambda _: Exchange(503),
        base_url="",
        model="m",
        schema={},
        options={},
        wait=waits.append,
    )
    assert len(server.ask([])) == 4
    assert waits == [1.0, 2.0, 4.0]
    assert server.place == "https://api.openai.com/v1"


def test_nothing_is_tried_again_once_scoring_has_ended() -> None:
    waits: list[float] = []
    server = ChatServer(
        post=lambda _: Exchange(503), base_url="", model="m", schema={}, options={}, wait=waits.append
    )  # fmt: skip
    assert len(server.ask([], goes_on=lambda _: not waits)) == 1
    assert waits == [1.0]
