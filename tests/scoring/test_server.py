"""One question to a server: the request, its fallbacks, what a reply means, and limits of time and size."""

from __future__ import annotations

import gzip
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import openai
import pytest

from paperboy.models import Usage
from paperboy.scoring.answer import Answer
from paperboy.scoring.prompt import Question
from paperboy.scoring.server import MAX_BYTES, Server, fallback
from tests.scoring.asking import DEAD, PATIENCE
from tests.servers.llm import LlmServer
from tests.servers.llm_faults import Fault

QUESTION = Question("Judge.", "Papers: 2611.00001", "Own words.")


def test_long_words_of_a_server_are_cut_after_a_sentence() -> None:
    said = "No endpoint matches your data policy. " * 4 + "Details follow, " * 40
    failure = answers_to(Fault(404, {"message": said})).failure
    assert failure.endswith(". It says: " + ("No endpoint matches your data policy. " * 4).strip())


def test_server_error_is_quoted_in_one_short_line_without_the_key() -> None:
    error = Fault(500, {"message": "Bad\n\x1b[31m key sk-\x00secret! " + "long " * 100})
    failure = answers_to(error, key="sk-secret").failure
    assert failure.startswith("answers 500: Bad [31m key …! long")
    assert len(failure) < 230


# ---- the request


@pytest.mark.parametrize(
    ("model", "base_url", "expected"),
    [
        ("gpt-6-luna", "", True),
        ("gpt-6-luna", "https://eu.api.openai.com/v1/", True),
        ("ft:gpt-6-luna:us:9", "", True),
        ("gpt-5", "", False),
        ("gpt-6-luna", "https://gateway.example.org/v1", False),
        ("gpt-6-luna", "https://api.openai.com.example.org/v1", False),
    ],
)
def test_breakpoints_are_for_openais_own_servers_and_newer_models(
    model: str, base_url: str, expected: bool
) -> None:
    request = Server(base_url, "", model).request(QUESTION, shared=True)
    assert ("prompt_cache_options" in request) is expected
    assert ("temperature" in request) is ("example" in base_url)


THREE = Question("Judge.", "Topics", "Papers", papers=3)


def array(body: dict[str, Any]) -> dict[str, Any]:
    """The array of scores, as a request's schema has it."""
    schema: dict[str, Any] = body["response_format"]["json_schema"]["schema"]
    return schema["properties"]["scores"]  # type: ignore[no-any-return]


def test_reply_is_bounded_off_openai() -> None:
    """By as many tokens and scores as the papers need. A thinking model has room."""
    body = Server("https://gateway.example.org/v1", "", "m").request(THREE, shared=False)
    assert body["max_tokens"] == 8_000 + 3 * 300
    assert (array(body)["minItems"], array(body)["maxItems"]) == (1, 3)
    openai_body = Server("", "", "gpt-6-luna").request(THREE, shared=False)
    assert not {"max_tokens", "temperature"} & openai_body.keys()
    assert array(openai_body).keys() == {"type", "items"}


def test_bounds_that_were_refused_are_left_out() -> None:
    server = Server("https://gateway.example.org/v1", "", "m")
    body = server.request(THREE, shared=False, refused={"bounds", "max_tokens"})
    assert array(body).keys() == {"type", "items"}
    assert "max_tokens" not in body


def test_chat_without_a_system_role_has_all_in_one_message() -> None:
    server = Server("https://gateway.example.org/v1", "", "m")
    body = server.request(THREE, shared=False, refused={"system"})
    assert body["messages"] == [{"role": "user", "content": "Judge.\n\nTopics\n\nPapers"}]


def request(shared: str, own: str = "Own words.", *, is_shared: bool = True) -> dict[str, Any]:
    return Server("", "", "gpt-6-luna").request(Question("Judge.", shared, own), shared=is_shared)


def test_breakpoint_follows_the_shared_text_and_changes_no_word() -> None:
    shared = "Shared words. " * 300
    parts = request(shared)["messages"][1]["content"]
    assert request(shared, is_shared=False)["messages"][1]["content"] == "".join(
        part["text"] for part in parts
    )
    assert [part.get("prompt_cache_breakpoint") for part in parts] == [{"mode": "explicit"}, None]


@pytest.mark.parametrize(
    ("words", "is_shared"), [(300, False), (3, True)], ids=["not shared", "too short"]
)
def test_prompt_that_nobody_reads_again_stays_out_of_a_cache_that_charges(
    words: int, is_shared: bool
) -> None:
    sent = request("Shared words. " * words, is_shared=is_shared)
    assert isinstance(sent["messages"][1]["content"], str)
    assert sent["prompt_cache_options"] == {"mode": "explicit"}
    assert "prompt_cache_key" not in sent


def test_questions_of_one_prefix_have_one_cache_key() -> None:
    one = "One text. " * 500
    other = "Another text. " * 500
    keys = [request(*words)["prompt_cache_key"] for words in ((one, "A"), (one, "B"), (other, "A"))]
    assert keys[0] == keys[1] != keys[2]


# ---- fallbacks: the words of a refusal, and what the next request leaves out

OPTIONS = ["reasoning_effort", "service_tier"]


@pytest.mark.parametrize(
    ("said", "proven", "form", "expected"),
    [
        ("unsupported: reasoning_effort", True, "json_schema", ["reasoning_effort"]),
        ("no thinking", True, "json_schema", ["reasoning_effort"]),
        ("No service_tier, reasoning_effort", True, "json_schema", OPTIONS),
        ("Structured outputs are not supported", True, "json_schema", ["json_schema"]),
        ("This grammar cannot be compiled", True, "json_object", ["json_object"]),
        ("This grammar cannot be compiled", False, "words", []),
        ("The prompt is too long", False, "json_schema", []),
        ("content_filter Rejected", False, "json_schema", []),
        ("Bad request", False, "json_schema", OPTIONS),
        ("Bad request", False, "words", OPTIONS),
        ("json_validate_failed | Failed to validate JSON: jsonschema", True, "json_schema", []),
        (
            'think value "low" is not supported for this model',
            True,
            "json_schema",
            ["reasoning_effort"],
        ),
        (
            "Argument not supported on this model: reasoningEffort",
            True,
            "json_schema",
            ["reasoning_effort"],
        ),
        ("Reasoning effort is only for o-series", False, "json_schema", ["reasoning_effort"]),
        ("Unknown thinking level", False, "json_schema", ["reasoning_effort"]),
        ("kimi-k2-thinking is overloaded", True, "json_schema", []),
        ("Bad request", True, "json_schema", []),
    ],
)
def test_refusal_decides_what_is_left_out(
    said: str, proven: bool, form: str, expected: list[str]
) -> None:
    assert list(fallback(said, OPTIONS, form, proven=proven)) == expected


OFF_OPENAI = ["temperature", "max_tokens", "bounds", "system"]


@pytest.mark.parametrize(
    ("said", "proven", "expected"),
    [
        (
            "'max_tokens' is too large: 8300. Maximum context length is 4096 tokens",
            True,
            {"max_tokens"},
        ),
        (
            "You requested 9000 tokens (1000 in the messages, 8000 in the completion)",
            True,
            {"max_tokens"},
        ),
        ("Request body too large. Maximum context size is 4096", False, {"max_tokens"}),
        ("Request body too large. Maximum context size is 4096", True, {"max_tokens"}),
        (
            "You requested 9000 tokens (1000 of text input, 8000 in the output)",
            True,
            {"max_tokens"},
        ),
        ("Invalid schema: 'minItems' is not permitted", True, {"bounds"}),
        ("maxItems: unsupported keyword", True, {"bounds"}),
        ("temperature must be 1 for this model", True, {"temperature"}),
        ("System role not supported", True, {"system"}),
        ("Conversation roles must alternate user/assistant/user/assistant/...", False, {"system"}),
        ("Developer instruction is not enabled for models/gemma-3-27b-it", False, {"system"}),
        ("This model does not support system messages", False, {"system"}),
        ("Unexpected role 'system', only user and assistant are supported", False, {"system"}),
        ("Bad request", False, {"temperature", "max_tokens", "bounds"}),
    ],
)
def test_refusal_off_openai_decides_what_is_left_out(
    said: str, proven: bool, expected: set[str]
) -> None:
    """The message of its own for the rubric is left out only where its role is refused."""
    assert set(fallback(said, OFF_OPENAI, "json_schema", proven=proven)) == expected


# ---- over HTTP


@contextmanager
def asking(
    server: LlmServer, waits: list[float] | None = None, seconds: float = PATIENCE, key: str = ""
) -> Iterator[Server]:
    wait = (waits if waits is not None else []).append
    asked = Server(server.base_url, key, "m", timeout_seconds=seconds, wait=wait)
    try:
        yield asked
    finally:
        asked.close()


def answers_to(fault: Fault, **settings: Any) -> Answer:
    with LlmServer() as server, asking(server, **settings) as asked:
        server.faults.append(fault)
        (answer,) = asked.ask(QUESTION, tries=1)
        return answer


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        ("0.5", 0.5),
        ("-1", 0),
        ("soon", 0),
        ("1e309", 0),
        ("9" * 9_000, 1e9),
        ("²", 0),
        (None, 0),
    ],
)
def test_retry_after_is_read_in_seconds(value: str | None, seconds: float | None) -> None:
    headers = {} if value is None else {"Retry-After": value}
    assert answers_to(Fault(429, {"message": "Slow"}, headers)).pause == seconds


def test_retry_after_may_be_a_date_and_a_wait_may_stand_in_the_body() -> None:
    """A date is compared with the server's own clock. The longer wait counts."""
    date = {"Date": "Fri, 20 Nov 2026 07:00:00 GMT", "Retry-After": "Fri, 20 Nov 2026 07:01:10 GMT"}
    slow = {"message": "Please try again in 34s"}
    assert answers_to(Fault(429, {"message": "Slow"}, date)).pause == 70
    assert answers_to(Fault(429, slow)).pause == 34
    assert answers_to(Fault(429, slow, {"Retry-After": "7"})).pause == 34
    assert answers_to(Fault(429, slow, date)).pause == 70


def test_backoff_doubles_and_ends() -> None:
    waits: list[float] = []
    with LlmServer() as server, asking(server, waits) as asked:
        server.fail_always("error 503")
        assert len(asked.ask(QUESTION)) == 4
    assert waits == [1.0, 2.0, 4.0]


def test_no_further_try_begins_once_scoring_has_stopped() -> None:
    waits: list[float] = []
    with LlmServer() as server, asking(server, waits) as asked:
        server.fail_always("error 503")
        assert len(asked.ask(QUESTION, stopped=lambda: bool(waits))) == 1
    assert waits == [1.0]


def test_compressed_reply_is_read() -> None:
    body = b'{"choices": [{"message": {"content": "Text"}}]}'
    assert (
        answers_to(Fault(headers={"Content-Encoding": "gzip"}, body=gzip.compress(body))).text
        == "Text"
    )


LETTERS = "a" * 600_000
LATE = (
    "does not answer within 0.3 s; set LLM_CONCURRENCY to the server's slots (now 8), "
    "raise LLM_TIMEOUT_SECONDS or lower LLM_BATCH_SIZE"
)
CREDENTIAL = "With systemd credentials, use the wrapper in paperboy manual service"
REFUSED_KEY = "answers 401: the key is refused; check OPENAI_API_KEY in .env"
NO_JSON = "answers with something that is not JSON; check OPENAI_BASE_URL"
REDIRECTS = "answers 307: it redirects; set OPENAI_BASE_URL in .env to the new address"


@pytest.mark.parametrize(
    ("fault", "failure"),
    [
        (Fault(500, {"message": LETTERS}), f"answers 500: {LETTERS[:199]}…"),
        (Fault(429, {"code": LETTERS, "type": LETTERS, "param": LETTERS}), "answers 429"),
        (Fault(401, body=LETTERS.encode()), f"{REFUSED_KEY}. It says: {LETTERS[:199]}…. {CREDENTIAL}"),
        (Fault(503, body=b"[" * 1_900_000),  f"answers 503: {'[' * 199}…"),
        (Fault(body=b"[" * 1_900_000), NO_JSON),
        (Fault(body=b"[" + b"[]," * 600_000 + b"1]"), NO_JSON),
        (Fault(body=b" " * (MAX_BYTES + 1)), "cannot be reached (the reply is too large)"),
        (
            Fault(headers={"Content-Encoding": "gzip"}, body=gzip.compress(b" " * 300_000_000, 1)),
            "cannot be reached (the reply is too large)",
        ),
        (Fault(500, headers={"Content-Type": "text/plain; charset=zlib_codec"}, body=b"Sorry"), "answers 500: Sorry"),
        (Fault(307, headers={"Location": "https://evil.example.org:81/v1?a=b"}), REDIRECTS),
        (Fault(307, headers={"Location": "http://[" + LETTERS[:9_000]}), REDIRECTS),
        (Fault(stall="hang"), LATE),
        (Fault(stall="trickle"), LATE),
    ],
    ids=lambda value: "" if isinstance(value, Fault) else value[:50],
)  # fmt: skip
def test_hostile_reply_is_one_short_sentence(fault: Fault, failure: str) -> None:
    fault = replace(fault, body=b"" if fault.status == 307 else fault.body)
    assert answers_to(fault, seconds=0.3 if fault.stall else PATIENCE).failure == failure


def test_number_of_any_length_in_a_reply_costs_nothing_else() -> None:
    usage = f'{{"prompt_tokens": {"9" * 10_000}, "completion_tokens": -{"9" * 10_000}}}'
    body = f'{{"choices": [{{"message": {{"content": "Text"}}}}], "usage": {usage}}}'
    answer = answers_to(Fault(body=body.encode()))
    assert (answer.text, answer.usage) == ("Text", Usage(calls=1))


@pytest.mark.parametrize("status", [202, 300, 401, 409, 418, 503, 999])
def test_reply_of_any_status_is_an_answer(status: int) -> None:
    assert answers_to(Fault(status, {"message": "Flagged."})).failure.startswith(
        f"answers {status}: "
    )


def kinds(exception: type[Exception]) -> set[type[Exception]]:
    return {exception}.union(*map(kinds, exception.__subclasses__()))


def test_every_exception_of_a_request_by_openai_is_mapped() -> None:
    """A new one in their package fails here, and ends no morning."""
    # A timeout is one of these.
    mapped = kinds(openai.APIStatusError) | kinds(openai.APIConnectionError)
    # The base class, and one of parsing, which nothing is when a raw response is asked for.
    assert kinds(openai.APIError) - mapped == {openai.APIError, openai.APIResponseValidationError}


def test_redirect_takes_the_prompt_nowhere() -> None:
    with LlmServer() as other:
        answers_to(Fault(307, headers={"Location": f"{other.base_url}/chat/completions"}, body=b""))
    assert other.requests == []


def test_timeout_is_not_retried() -> None:
    waits: list[float] = []
    with LlmServer() as server, asking(server, waits, seconds=0.2) as asked:
        server.fail_always("hang")
        assert (len(asked.ask(QUESTION)), waits) == (1, [])


HEADERS = "host accept-encoding content-length user-agent content-type authorization"
ENVIRONMENT = {
    "OPENAI_BASE_URL": DEAD,
    "OPENAI_API_KEY": "of somebody else",
    "OPENAI_ADMIN_KEY": "of somebody else",
    "OPENAI_ORG_ID": "org",
    "OPENAI_PROJECT_ID": "project",
    "OPENAI_CUSTOM_HEADERS": "X-Theirs: theirs\nAuthorization: Bearer theirs\nHost: evil.example.org",
    **dict.fromkeys(["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "all_proxy"], DEAD),
}


@pytest.mark.parametrize(
    ("key", "sent"), [("", None), ("none", "Bearer none"), ("sk-ours", "Bearer sk-ours")]
)
def test_environment_adds_nothing_to_a_request(
    key: str, sent: str | None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Nor does a .netrc."""
    (tmp_path / ".netrc").write_text("default login ada password theirs")
    own = {"NETRC": str(tmp_path / ".netrc"), "HOME": str(tmp_path)}
    for name, value in (ENVIRONMENT | own).items():
        monkeypatch.setenv(name, value)
    with LlmServer() as server, asking(server, key=key) as asked:
        assert not asked.ask(QUESTION, tries=1)[-1].failure
    (headers,) = server.headers
    ours = set(HEADERS.split())
    assert (headers.keys() - ours, headers.get("authorization")) == (set(), sent)
    assert headers["host"] in server.base_url


GATEWAY = {"x-team": "papers-team", "X-Portkey-Api-Key": "Bearer pk-0123456789"}


def test_headers_of_a_gateway_are_sent_and_never_quoted() -> None:
    said = {"message": "Bad pk-0123456789, Bearer pk-0123456789 of papers-team"}
    with LlmServer() as server:
        asked = Server(server.base_url, "sk-ours", "m", headers=GATEWAY)
        assert not asked.ask(QUESTION, tries=1)[-1].failure
        server.faults.append(Fault(500, said))
        (answer,) = asked.ask(QUESTION, tries=1)
        asked.close()
    assert server.headers[0] == server.headers[0] | {
        name.lower(): GATEWAY[name] for name in GATEWAY
    }
    assert server.headers[0]["authorization"] == "Bearer sk-ours"
    assert answer.failure == "answers 500: Bad …, … of …"


def test_ordinary_words_of_headers_are_not_hidden_in_comments() -> None:
    server = Server("http://127.0.0.1:9/v1", "", "m", headers={"X-Title": "Astrophysics of dwarfs"})
    assert server.hidden("Astrophysics of stars") == "Astrophysics of stars"
    assert server.hidden("for Astrophysics of dwarfs") == "for …"


def test_timeout_of_a_gateway_is_tried_once_more() -> None:
    """A stray one is not the model's; a lasting one asks for fewer papers."""
    with LlmServer() as server, asking(server) as asked:
        server.faults.append(Fault(504, {"message": "upstream request timeout"}))
        assert [bool(answer.failure) for answer in asked.ask(QUESTION)] == [True, False]
        server.lasting_fault = Fault(504, {"message": "upstream request timeout"})
        assert len(asked.ask(QUESTION)) == 2


def test_operators_authorization_replaces_that_of_the_key() -> None:
    with LlmServer() as server:
        asked = Server(server.base_url, "sk-ours", "m", headers={"authorization": "Basic abc"})
        asked.ask(QUESTION, tries=1)
        asked.close()
    assert server.headers[0]["authorization"] == "Basic abc"


def test_prompts_are_not_logged_by_the_openai_client(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    caplog.set_level(logging.DEBUG, "openai")  # as OPENAI_LOG=debug has it
    with LlmServer() as server, asking(server) as asked:
        asked.ask(QUESTION)
    assert "Judge." not in caplog.text
