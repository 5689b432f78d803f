"""Each fault of a server says what to do, or that it passes."""

import re
from collections.abc import Callable
from typing import Any

import pytest

from paperboy.cli.check_fixes import with_fix
from tests.cli.conftest import World
from tests.servers import arxiv_faults
from tests.servers.smtp import Fault

PASSES = "as a rule that passes by itself, and a morning tries again every quarter of an hour; if it lasts, "


def fault(world: World, what: str) -> str:
    """What the check says of it, without the address."""
    ran = world.run("check")
    assert ran.code == 1
    (line,) = (line for line in ran.out.splitlines() if line.startswith(f"fault  {what}: "))
    return re.sub(r"(?:the LLM at|mail server|arXiv:) \S+", "it", line.removeprefix(f"fault  {what}: "))


@pytest.mark.parametrize(
    ("failing", "said"),
    [
        ("error 500", f"it answers 500: The server had an error; {PASSES}see to the server"),
        ("error 503", f"it answers 503: Overloaded; {PASSES}see to the server"),
        ("error with 200", f"it answers 502: Provider returned error; {PASSES}see to the server"),
        (
            "rate limited for an hour",
            f"it answers 429: Rate limit reached; {PASSES}lower LLM_CONCURRENCY, or have the limit raised there",
        ),
        ("out of credit", "it answers 429: the account has no credit left; add some there"),
        ("refusal", "it refuses to answer; check OPENAI_MODEL, which was asked for the score of one harmless paper"),
        (
            "content filter",
            "it filters the content; check OPENAI_MODEL, which was asked for the score of one harmless paper",
        ),
        (
            "cut off before a word",
            "it runs out of tokens before it answers; lower OPENAI_REASONING_EFFORT, or let it answer at length",
        ),
    ],
)
def test_an_llm(world: World, failing: str, said: str) -> None:
    world.announce(1)
    world.llm.fail_always(failing)
    assert fault(world, "scoring") == said


def test_an_llm_that_is_not_there(world: World) -> None:
    world.announce(1)
    world.env(OPENAI_BASE_URL="http://127.0.0.1:9/v1")
    said = fault(world, "scoring")
    assert said.startswith("it cannot be reached (")
    assert said.endswith("); see whether the server is up, and check OPENAI_BASE_URL and the network")


@pytest.mark.parametrize(
    ("failing", "said"),
    [
        (
            Fault("connect", "554 5.7.1 go away"),
            "it takes no connection: 554 5.7.1 go away; ask those who run the server, or check SMTP_HOST and SMTP_PORT",
        ),
        (
            Fault("connect", "421 4.3.2 busy"),
            f"it takes no connection: 421 4.3.2 busy; {PASSES}ask those who run the server",
        ),
        (
            Fault("EHLO", "421 4.3.2 busy"),
            f"it answers the greeting or STARTTLS with 421 4.3.2 busy; {PASSES}ask those who run the server",
        ),
        (
            Fault("MAIL", "451 4.7.1 later"),
            f"it answers MAIL FROM:<papers@example.org> with 451 4.7.1 later; {PASSES}ask those who run the server",
        ),
    ],
)
def test_a_mail_server(world: World, failing: Fault, said: str) -> None:
    world.announce(1)
    world.smtp.faults.append(failing)
    assert fault(world, "mail") == said


@pytest.mark.parametrize("failing", [arxiv_faults.unavailable(), arxiv_faults.html_page, arxiv_faults.truncated])
def test_arxiv(world: World, failing: Callable[..., Any]) -> None:
    world.announce(1)
    world.arxiv.lasting_fault = failing
    assert fault(world, "arXiv").endswith(
        ". A morning would ask up to 5 times, with growing waits. If it stays so, see status.arxiv.org."
    )


@pytest.mark.parametrize(
    ("what", "message"),
    [
        ("mail", "mail server m:25 refuses the login of ada (535). Check SMTP_USERNAME and SMTP_PASSWORD."),
        ("scoring", "the LLM at m answers 401: the key is refused; check OPENAI_API_KEY in .env"),
        ("scoring", "gpt-6-luna at m answers (json_schema) and scores"),
        ("arXiv", "https://m/api answers; 9 papers in cs.LG"),
        ("disk", "9.0 GB free at /srv"),
    ],
)
def test_what_says_it_by_itself_is_left_alone(what: str, message: str) -> None:
    assert with_fix(what, message) == message
