"""`paperboy status` answers, and says what the last mornings came to, for people and for programs."""

import json
from dataclasses import replace
from datetime import timedelta

import pytest
from rich.console import Console

from paperboy.cli import picture, status_tables
from paperboy.config.home import Home
from paperboy.models import Cost, Counts, DeliveryState, Outcome, Spending, Usage
from paperboy.store import Store
from tests.cli.conftest import World
from tests.cli.statuses import had, spend, under
from tests.servers.smtp import Fault

NOTHING = {
    "calls": 0,
    "prompt_tokens": 0,
    "cached_tokens": 0,
    "cache_write_tokens": 0,
    "completion_tokens": 0,
    "reasoning_tokens": 0,
}


def test_before_the_first_morning(world: World) -> None:
    ran = world.run("status", "--json")
    assert ran.code == 0
    assert json.loads(ran.out) == {
        "answer": "Not yet: foundations and galaxies are due since 07:00 UTC, and no paperboy run is at work.",
        "running": None,
        "alerts": [],
        "lists": [
            {
                "name": name,
                "outcome": None,
                "date": None,
                "reason": "",
                "quiet": None,
                "trouble": None,
                "counts": None,
                "deliveries": {},
                "cost": None,
                "usage": None,
                "next": "2026-11-20T07:00:00+00:00",
                "next_batch": "2026-11-23T07:00:00+00:00",
            }
            for name in ("foundations", "galaxies")
        ],
        "undelivered": [],
        "month": {"cost": 0.0, "usage": NOTHING},
        "months": [{"month": "2026-11", "cost": 0.0, "usage": NOTHING}],
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
    assert foundations["usage"]["calls"] == 1
    assert told["month"]["usage"]["prompt_tokens"] > foundations["usage"]["prompt_tokens"] > 500
    assert told["months"] == [{"month": "2026-11", **told["month"]}]


def test_the_answer_comes_first(world: World) -> None:
    world.announce(1)
    world.announce(4, categories=("astro-ph.GA",))
    world.run("once")
    answer = "Everyone got today's mail: 2 lists, 3 subscribers."
    assert world.run("status").out.splitlines()[:3] == [
        answer,
        "",
        "List         Date        Outcome  Papers  Cost     Deliveries",
    ]
    assert json.loads(world.run("status", "--json").out)["answer"] == answer


def test_an_unknown_price_is_null_and_never_zero(world: World) -> None:
    world.announce(1)
    world.run("once", "--list", "foundations")
    told = json.loads(world.run("status", "--json").out)
    assert told["lists"][0]["cost"] is None
    assert told["month"]["cost"] is None
    assert "unknown" in world.run("status").out


# --- the last mornings


def test_the_table_has_the_last_mornings_of_each_list(world: World) -> None:
    world.announce(1)
    world.run("once", "--list", "foundations")
    world.clock.now += timedelta(days=1)
    world.run("once", "--list", "foundations")
    table = under("List", world.run("status").out)
    assert [line.split()[-5:] for line in table[:2]] == [
        ["foundations", "Sat", "21", "Nov", "quiet"],
        ["1", "of", "1", "unknown", "2", "sent"][-5:],
    ]
    assert "Fri 20 Nov" not in world.run("status", "--mornings", "1").out


def test_the_table_fits_eighty_columns_and_is_easy_to_cut(world: World) -> None:
    world.announce(1)
    world.run("once", "--list", "foundations")
    lines = world.run("status").out.splitlines()
    assert all(line == line.rstrip() for line in lines)
    table = under("List", "\n".join(lines))
    assert max(map(len, table)) <= 80
    assert table[0].split()[:6] == ["foundations", "Fri", "20", "Nov", "digest", "1"]


def test_crowded_tables_fit_eighty_columns_too(world: World) -> None:
    """With names of a dozen letters, up to a million tokens and ten letters of model."""
    world.write(
        "subscribers.yaml",
        "lists:\n  - {name: quantum-info, categories: [quant-ph], topics: qubits, subscribers: [ada@example.org]}\n",
    )
    spend(world, "2026-11-20T07:00Z", Spending(Usage(1_234, 999_999, 99_999, 99_999, 99_999, 9_999)), "quantum-info")
    counts = Counts(considered=1_183, selected=10, below=1_043, carried_over=130)
    had(world, Outcome.DIGEST, counts, list_name="quantum-info")
    lines = world.run("status").out.splitlines()
    assert "10 of 1183, 130 unscored" in under("List", "\n".join(lines))[0]
    assert 70 < max(map(len, lines)) <= 80


def test_at_eighty_columns_long_names_of_lists_go_on_below_and_cut_no_other_column(world: World) -> None:
    name = "foundations-of-machine-learning-theory"
    world.write(
        "subscribers.yaml",
        f"lists:\n  - {{name: {name}, categories: [cs.LG], topics: learning, subscribers: [ada@example.org]}}\n",
    )
    used = Usage(1_234, 999_999, 99_998, 99_997, 99_996, 99_995)
    spend(world, "2026-11-20T07:00Z", Spending(used, Cost(0.01, 0.0034)), name)
    counts = Counts(considered=1_183, selected=10, below=1_043, carried_over=130)
    had(world, Outcome.DIGEST, counts, list_name=name, model="a-rather-long-name/of-a-model-70b")
    console = Console(width=80)
    with Store.open(world.path / "data" / "paperboy.db") as store:
        day = replace(store.days.newest([name], world.clock())[0], deliveries={DeliveryState.SENT: 1_200})
    seen = replace(picture.look(Home.load(world.path, {}), world.clock(), 1), days={name: [day]})
    for table, whole in [
        (status_tables.mornings(seen), ["Fri 20 Nov", "digest", "10 of 1183, 130 unscored", "$0.0134", "1200 sent"]),
        (status_tables.tokens(seen), ["1,234", "999,999", "99,998", "99,997", "99,996", "99,995", "a-rather-l…"]),
    ]:
        with console.capture() as printed:
            console.print(table)
        head, first, *below = printed.get().splitlines()
        assert max(map(len, [head, first, *below])) <= 80
        assert [cell for cell in whole if cell not in first] == []
        assert "".join(line.split()[0] for line in [first, *below]) == name
        assert [column.header for column in table.columns if str(column.header) not in head] == []


@pytest.mark.parametrize(
    ("outcome", "counts", "shown"),
    [
        (Outcome.DIGEST, Counts(considered=183, selected=3, below=180), "3 of 183"),
        (Outcome.DIGEST, Counts(considered=183, selected=3, below=140, carried_over=40), "3 of 183, 40 unscored"),
        (Outcome.DIGEST, Counts(considered=183, selected=3, below=179, let_go=1), "3 of 183, 1 unscored"),
        (Outcome.NOTE, Counts(considered=183, below=183), "0 of 183"),
        (Outcome.NOTE, Counts(considered=183, below=143, carried_over=40), "0 of 183, 40 unscored"),
        (Outcome.GAVE_UP, Counts(considered=183, carried_over=183), "0 of 183 scored"),
        (Outcome.GAVE_UP, Counts(), ""),
        (Outcome.QUIET, Counts(), ""),
    ],
)
def test_what_was_scored_is_told_from_what_was_relevant(
    world: World, outcome: Outcome, counts: Counts, shown: str
) -> None:
    had(world, outcome, counts)
    before, _, papers = under("List", world.run("status").out)[0].partition(outcome.value)
    assert before == "foundations  Fri 20 Nov  "
    assert papers.strip() == shown


# --- who is suppressed


def test_who_is_suppressed_is_a_table_of_its_own(world: World) -> None:
    assert world.run("status", "--suppressed").out == "Nobody is suppressed.\n"
    assert not (world.path / "data").exists()
    world.run("suppress", "vera@example.org")
    world.clock.now += timedelta(days=1)
    world.run("suppress", "ada@example.org", "--list", "foundations")
    ran = world.run("status", "--suppressed")
    assert ran.code == 0
    assert ran.out.splitlines() == [
        "Address           List         Since            Why",
        "ada@example.org   foundations  Sat 21 Nov 2026  by hand",
        "vera@example.org  all          Fri 20 Nov 2026  by hand",
        "",
    ]
    assert "ada@example.org" not in world.run("status").out


def test_who_is_suppressed_for_programs(world: World) -> None:
    assert json.loads(world.run("status", "--suppressed", "--json").out) == {"suppressed": []}
    world.run("suppress", "vera@example.org")
    assert json.loads(world.run("status", "--json", "--suppressed").out) == {
        "suppressed": [
            {
                "address": "vera@example.org",
                "list": None,
                "since": "2026-11-20T07:00:00+00:00",
                "reason": "by hand",
            }
        ]
    }


def test_a_servers_last_word_is_shown_as_it_is(world: World) -> None:
    """And not as the markup of our table."""
    with Store.open(world.path / "data" / "paperboy.db") as store:
        store.suppressions.add("ada@example.org", "", "550 5.1.1 [red]no[/red] such [user]", world.clock())
    assert world.run("status", "--suppressed").out.splitlines()[1].endswith("  550 5.1.1 [red]no[/red] such [user]")
