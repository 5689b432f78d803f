"""The morning in brief, from a real LLM server to the digest's page: how it is asked for, and what it costs.

For which digests it is asked, and all that it survives, is in tests/morning/test_briefs.py.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from paperboy.mail import archive
from paperboy.models import Archived, BriefSentence, Digest
from paperboy.store.history import ARCHIVED
from tests.cli.conftest import World
from tests.cli.mail_world import ADA, at_home
from tests.servers.llm import brief_on

PROMPTS = Path(__file__).parents[2] / "prompts"
PRICED = {"LLM_PRICE_INPUT": 1, "LLM_PRICE_OUTPUT": 4}


def home(world: World, **settings: object) -> None:
    """A home with pages on the web, and five papers today."""
    at_home(world, ADA, WEB_URL="https://papers.example.org", **settings)
    world.announce(*range(1, 6))


def frozen(world: World) -> Digest:
    """The newest digest, as its page shows it."""
    with world.store() as store:
        *_, archived = store.database.rows(f"{ARCHIVED} order by at", make=Archived)
        return archive.load(archived.shown, store.papers.by_id)


def test_brief_is_asked_for_once_and_is_in_the_mornings_numbers(world: World) -> None:
    home(world, **PRICED)
    ran = world.once()
    assert (ran.code, world.mails()) == (0, [ADA])
    sentence = BriefSentence(
        brief_on(["a paper"] * 5), ("2611.00001", "2611.00002"), ("first two", "")
    )
    assert frozen(world).brief == (sentence,)

    assert world.run("preview", "foundations").code == 0
    assert len(world.llm.briefs) == 1

    counted = [*world.llm.counted, *world.llm.brief_counted]
    told = world.json("status")
    (told_list,) = told["lists"]
    tokens = {
        name: sum(used[name] for used in counted) for name in ("prompt_tokens", "completion_tokens")
    }
    dollars = (tokens["prompt_tokens"] + 4 * tokens["completion_tokens"]) / 1e6
    assert frozen(world).spending.usage.prompt_tokens == tokens["prompt_tokens"]
    for each in (told_list, told["month"]):
        assert {name: each["usage"][name] for name in tokens} == tokens
        assert each["usage"]["calls"] == len(counted) == 2
        assert each["cost"] == pytest.approx(dollars, abs=1e-6)


def test_brief_of_a_preview_is_the_mornings(world: World) -> None:
    home(world)
    assert world.run("preview", "foundations").code == 0
    assert world.once().code == 0
    assert len(world.llm.briefs) == 1
    assert len(frozen(world).brief) == 1


def test_dry_run_asks_for_no_brief(world: World) -> None:
    home(world)
    assert world.run("once", "--dry-run").code == 0
    assert world.llm.briefs == []


@pytest.mark.long("waits for a timeout")
def test_server_that_hangs_costs_the_brief_and_nothing_else(world: World) -> None:
    home(world, LLM_TIMEOUT_SECONDS=2)
    world.llm.fail_briefs("hang")
    ran = world.once()
    assert (ran.code, world.mails(), frozen(world).brief) == (0, [ADA], ())
    assert ran.err.count("no morning in brief: the LLM at ") == 1
    assert world.json("status")["state"] == "ok"


def test_embedded_scorer_writes_no_brief(world: World) -> None:
    home(world)
    world.env(llm=False, WEB_URL="https://papers.example.org")
    assert world.once().code == 0
    assert frozen(world).brief == ()


def test_broken_prompt_is_a_fault_and_nothing_is_touched(world: World) -> None:
    """As with the prompt for scores: a running service keeps to the last good files."""
    home(world)
    world.write("prompts/brief.md.j2", "{% block task %}{{ nonsense }}{% endblock %}")
    problem = "prompts/brief.md.j2:1: 'nonsense' is undefined"
    ran = world.run("check", "--offline")
    assert (ran.code, f"fault  prompts: {problem}\n" in ran.out) == (78, True)
    ran = world.once()
    assert (ran.code, world.mails()) == (78, [])
    assert problem in ran.err


def test_reply_without_a_usable_sentence_is_logged_and_kept(world: World) -> None:
    home(world)
    world.llm.knows_briefs = False
    ran = world.once()
    assert (ran.code, world.mails(), frozen(world).brief) == (0, [ADA], ())
    assert ran.err.count("no morning in brief: the LLM at ") == 1
    assert "answers without a usable sentence. It said: " in ran.err
    assert world.run("preview", "foundations").code == 0
    assert len(world.llm.briefs) == 1


def test_home_may_have_a_prompt_of_its_own(world: World) -> None:
    home(world)
    shipped = (PROMPTS / "brief.md.j2").read_text("utf-8")
    world.write("prompts/brief.md.j2", shipped.replace("ten seconds", "half a minute"))
    assert world.once().code == 0
    (asked,) = world.llm.briefs
    assert "half a minute" in asked["messages"][0]["content"]
