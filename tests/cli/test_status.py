"""`paperboy status` says what the last mornings came to, for people and for programs."""

import json
from datetime import timedelta

from tests.cli.conftest import World
from tests.servers.smtp import Fault


def test_before_the_first_morning(world: World) -> None:
    ran = world.run("status", "--json")
    assert ran.code == 0
    assert json.loads(ran.out) == {
        "lists": [
            {
                "name": name,
                "outcome": None,
                "date": None,
                "counts": None,
                "deliveries": {},
                "cost": None,
                "next": "2026-11-20T07:00:00+00:00",
            }
            for name in ("foundations", "galaxies")
        ],
        "month": {"cost": 0.0},
    }
    assert not (world.path / "data").exists()
    assert "none yet" in world.run("status").out


def test_after_a_morning(world: World) -> None:
    world.env(LLM_PRICE_INPUT=1, LLM_PRICE_OUTPUT=6)
    world.smtp.faults.append(Fault("RCPT", "450 try later", address="ada@example.org"))
    world.announce(1, 2)
    world.announce(4, categories=("astro-ph.GA",))
    assert world.run("once").code == 1
    told = json.loads(world.run("status", "--json").out)
    foundations = told["lists"][0]
    assert foundations["outcome"] == "digest"
    assert foundations["date"] == "2026-11-20"
    assert foundations["counts"]["considered"] == 2
    assert foundations["counts"]["selected"] == 2
    assert foundations["deliveries"] == {"deferred": 1, "sent": 1}
    assert foundations["cost"] > 0
    assert foundations["next"] == "2026-11-21T07:00:00+00:00"
    assert told["month"]["cost"] > foundations["cost"]


def test_an_unknown_price_is_null_and_never_zero(world: World) -> None:
    world.announce(1)
    world.run("once", "--list", "foundations")
    told = json.loads(world.run("status", "--json").out)
    assert told["lists"][0]["cost"] is None
    assert told["month"]["cost"] is None
    assert "unknown" in world.run("status").out


def test_the_table_has_the_last_mornings_of_each_list(world: World) -> None:
    world.announce(1)
    world.run("once", "--list", "foundations")
    world.clock.now += timedelta(days=1)
    world.run("once", "--list", "foundations")
    table = world.run("status").out
    assert table.index("Sat 21 Nov") < table.index("Fri 20 Nov")
    assert "quiet" in table
    assert "Fri 20 Nov" not in world.run("status", "--mornings", "1").out


def test_the_table_fits_eighty_columns_and_is_easy_to_cut(world: World) -> None:
    world.announce(1)
    world.run("once", "--list", "foundations")
    lines = world.run("status").out.splitlines()
    assert max(map(len, lines)) <= 80
    assert all(line == line.rstrip() for line in lines)
    assert lines[1].split()[:6] == ["foundations", "Fri", "20", "Nov", "digest", "1"]


def test_why_a_list_is_due_is_told(world: World) -> None:
    world.env(ARXIV_API_URL="http://127.0.0.1:9/api/query")
    world.run("once")
    table = world.run("status").out
    assert "foundations: 127.0.0.1" in table
    assert "last tried Fri 20 Nov 07:00 UTC" in table


def test_a_list_that_is_due_says_so(world: World) -> None:
    assert "due now" in world.run("status").out


def test_a_list_without_subscribers_has_no_next(world: World) -> None:
    world.write("subscribers.yaml", "lists:\n  - {name: x, categories: [cs.LG], topics: learning}\n")
    assert json.loads(world.run("status", "--json").out)["lists"][0]["next"] is None
    assert "no subscribers" in world.run("status").out
