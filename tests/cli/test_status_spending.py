"""What `status` says of tokens and money."""

import json

from paperboy.models import Cost, Counts, Outcome, Spending, Usage
from tests.cli.conftest import World
from tests.cli.statuses import had, spend, under

NOTHING = {
    "calls": 0,
    "prompt_tokens": 0,
    "cached_tokens": 0,
    "cache_write_tokens": 0,
    "completion_tokens": 0,
    "reasoning_tokens": 0,
}


LUNAS = Spending(Usage(27, 148_232, 31_232, 1_216, 9_120, 320), Cost(0.01, 0.0074))


def test_the_tokens_of_a_lists_newest_day_are_told(world: World) -> None:
    spend(world, "2026-11-20T07:00Z", LUNAS)
    had(world, Outcome.DIGEST, Counts(considered=183, selected=3, below=180))
    assert under("Tokens", world.run("status").out) == [
        "foundations     27  148,232  31,232    1,216       9,120        320  gpt-6-luna"
    ]
    assert json.loads(world.run("status", "--json").out)["lists"][0]["usage"] == {
        "calls": 27,
        "prompt_tokens": 148_232,
        "cached_tokens": 31_232,
        "cache_write_tokens": 1_216,
        "completion_tokens": 9_120,
        "reasoning_tokens": 320,
    }


def test_they_are_those_that_the_server_counted(world: World) -> None:
    world.announce(1, 2)
    world.run("once", "--list", "foundations")
    told = json.loads(world.run("status", "--json").out)["lists"][0]["usage"]
    [row] = under("Tokens", world.run("status").out)
    assert row.split() == ["foundations", *(f"{number:,}" for number in told.values()), "gpt-6-luna"]
    assert told["reasoning_tokens"] == 2 * world.llm.reasoning_tokens_per_paper


def test_a_server_that_counts_no_tokens_is_not_said_to_have_used_none(world: World) -> None:
    world.llm.counts_tokens = False
    world.announce(1)
    world.run("once", "--list", "foundations")
    printed = world.run("status").out
    assert under("Tokens", printed)[0].split() == ["foundations", "1", "not", "counted", "gpt-6-luna"]
    assert printed.endswith("Spent in November 2026  not known  tokens not counted\n")
    told = json.loads(world.run("status", "--json").out)
    assert told["lists"][0]["usage"] == {**dict.fromkeys(NOTHING), "calls": 1}
    assert told["month"] == {"cost": None, "usage": {**dict.fromkeys(NOTHING), "calls": 1}}


def test_without_an_llm_there_are_no_tokens_to_tell(world: World) -> None:
    world.env(llm=False)
    world.announce(1)
    world.run("once", "--list", "foundations")
    printed = world.run("status").out
    assert "Tokens" not in printed
    assert printed.endswith("Spent in November 2026  $0.00  0 tokens\n")


def test_spending_is_summed_by_month(world: World) -> None:
    spend(world, "2026-11-20T07:00Z", Spending(Usage(1, 4_000_000, completion_tokens=120_000), Cost(0.2, 0.21)))
    spend(world, "2026-10-20T07:00Z", Spending(Usage(1, 6_000_000, completion_tokens=32_100), Cost(0.5, 0.12)))
    spend(world, "2026-10-21T07:00Z", Spending(Usage(1, 900, completion_tokens=100), None), "galaxies")
    spend(world, "2026-08-20T07:00Z", Spending(Usage(1, 900, completion_tokens=100), None))
    spend(world, "2026-07-20T07:00Z", Spending(Usage(1, 9_000, completion_tokens=100), Cost(0.0101, 0.0001)))
    assert world.run("status").out.splitlines()[-4:] == [
        "Spent in November 2026           $0.41  4,120,000 tokens",
        "Spent in October 2026   at least $0.62  6,033,100 tokens, and some calls of unknown price",
        "Spent in August 2026     price unknown      1,000 tokens",
        "Spent in July 2026             $0.0102      9,100 tokens",
    ]
    told = json.loads(world.run("status", "--json").out)
    assert [(month["month"], month["cost"]) for month in told["months"]] == [
        ("2026-11", 0.41),
        ("2026-10", None),
        ("2026-08", None),
        ("2026-07", 0.0102),
    ]
    assert told["month"] == {"cost": 0.41, "usage": told["months"][0]["usage"]}


def test_a_month_is_the_operators(world: World) -> None:
    """On the last evening of October in London it was November in Berlin already."""
    spend(world, "2026-10-31T23:30Z", LUNAS)
    assert "Spent in October 2026 " in world.run("status").out
    world.env(TIMEZONE="Europe/Berlin")
    assert world.run("status").out.splitlines()[-1] == "Spent in November 2026  $0.0174  157,352 tokens"
