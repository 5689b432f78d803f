"""`paperboy status` says what the last mornings came to, for people and for programs."""

import json
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta

import pytest

from paperboy import delivery
from paperboy.cli import words
from paperboy.models import Cost, Counts, Day, DeliveryState, Outcome, Spending, Usage
from paperboy.morning import ListReport, Report
from paperboy.store import Store
from tests.cli.conftest import World
from tests.servers.smtp import Fault

FRIDAY = date(2026, 11, 20)
TEN = "lists:\n" + "".join(
    f"  - {{name: list-{number}, categories: [cs.LG], topics: learning, subscribers: [ada@example.org]}}\n"
    for number in range(10)
)
NOTHING = {
    "calls": 0,
    "prompt_tokens": 0,
    "cached_tokens": 0,
    "cache_write_tokens": 0,
    "completion_tokens": 0,
    "reasoning_tokens": 0,
}


def spend(world: World, at: str, spending: Spending, list_name: str = "foundations") -> None:
    """As a scorer's request at that instant would."""
    store = Store.open(world.path / "data" / "paperboy.db")
    store.scores.keep(list_name, "criteria", "gpt-6-luna", {}, spending, datetime.fromisoformat(at))
    store.close()


def had(world: World, outcome: Outcome, counts: Counts, *, list_name: str = "foundations", reason: str = "") -> None:
    """Freezes the list's Friday."""
    store = Store.open(world.path / "data" / "paperboy.db")
    store.days.freeze(
        Day(list_name, FRIDAY, outcome, reason, model="gpt-6-luna", counts=counts),
        datetime(2026, 11, 20, 7, tzinfo=UTC),
    )
    store.close()


def under(heading: str, printed: str) -> list[str]:
    """The lines of the table whose first column has that heading."""
    lines = printed.splitlines()
    at = next(number for number, line in enumerate(lines) if line.split()[:1] == [heading])
    return lines[at + 1 : lines.index("", at)]


def test_before_the_first_morning(world: World) -> None:
    ran = world.run("status", "--json")
    assert ran.code == 0
    assert json.loads(ran.out) == {
        "lists": [
            {
                "name": name,
                "outcome": None,
                "date": None,
                "reason": "",
                "trouble": None,
                "counts": None,
                "deliveries": {},
                "cost": None,
                "usage": None,
                "next": "2026-11-20T07:00:00+00:00",
            }
            for name in ("foundations", "galaxies")
        ],
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
    assert "foundations and galaxies: 127.0.0.1" in table
    assert table.count("(last tried Fri 20 Nov 07:00 UTC)") == 1
    for entry in json.loads(world.run("status", "--json").out)["lists"]:
        assert entry["trouble"]["reason"].startswith("127.0.0.1 could not be reached")
        assert entry["trouble"]["at"] == "2026-11-20T07:00:00+00:00"


def test_scored_none_of_them_is_told_from_not_tried(world: World) -> None:
    world.announce(1, 2)
    world.llm.fail_always("out of credit")
    world.run("once", "--list", "foundations")
    tried, untried = json.loads(world.run("status", "--json").out)["lists"]
    assert tried["outcome"] is untried["outcome"] is None
    assert tried["trouble"]["reason"].startswith("scored 0 of 2: the LLM at ")
    assert untried["trouble"] is None


def test_what_troubles_several_lists_is_told_once(world: World) -> None:
    world.announce(1, 2)
    world.announce(3, categories=("astro-ph.GA",))
    world.llm.fail_always("out of credit")
    world.run("once")
    printed = world.run("status").out
    assert "\nfoundations and galaxies: scored 0 of 3: the LLM at " in printed
    assert printed.count("the account has no credit left (last tried Fri 20 Nov 07:00 UTC)\n") == 1
    assert "\nNext for foundations and galaxies: due now\n" in printed


def test_troubles_that_differ_are_told_each(world: World) -> None:
    world.write("subscribers.yaml", TEN)
    at = world.clock()
    with Store.open(world.path / "data" / "paperboy.db") as store:
        for number in range(10):
            reason = "scored 0 of 4: the LLM is down" if number % 2 else "the LLM is down"
            store.days.trouble(f"list-{number}", reason, at - timedelta(days=number == 9))
    lines = world.run("status").out.splitlines()
    assert [line for line in lines if "the LLM is down" in line] == [
        "list-0, list-2, list-4, list-6 and list-8: the LLM is down (last tried Fri 20 Nov 07:00 UTC)",
        "list-1, list-3, list-5 and list-7: scored 0 of 16: the LLM is down (last tried Fri 20 Nov 07:00 UTC)",
        "list-9: scored 0 of 4: the LLM is down (last tried Thu 19 Nov 07:00 UTC)",
    ]


def test_what_was_odd_about_the_newest_days_is_told_once(world: World) -> None:
    for name in ("foundations", "galaxies"):
        had(world, Outcome.GAVE_UP, Counts(), list_name=name, reason="arXiv is late")
    assert "\nfoundations and galaxies, Fri 20 Nov: arXiv is late\n" in world.run("status").out
    told = json.loads(world.run("status", "--json").out)["lists"]
    assert [(entry["reason"], entry["trouble"]) for entry in told] == [("arXiv is late", None)] * 2


def test_lists_with_the_same_next_morning_share_a_line(world: World) -> None:
    had(world, Outcome.QUIET, Counts())
    assert "\nNext for foundations: Sat 21 Nov 07:00 UTC\nNext for galaxies: due now\n" in world.run("status").out
    had(world, Outcome.QUIET, Counts(), list_name="galaxies")
    assert "\nNext for foundations and galaxies: Sat 21 Nov 07:00 UTC\n" in world.run("status").out


def test_a_list_that_lost_its_subscribers_has_no_trouble_any_more(world: World) -> None:
    world.env(ARXIV_API_URL="http://127.0.0.1:9/api/query")
    world.run("once")
    world.write("subscribers.yaml", "lists:\n  - {name: foundations, categories: [cs.LG], topics: learning}\n")
    assert "127.0.0.1" not in world.run("status").out
    assert json.loads(world.run("status", "--json").out)["lists"][0]["trouble"] is None


def test_a_list_without_subscribers_has_no_next(world: World) -> None:
    world.write("subscribers.yaml", "lists:\n  - {name: x, categories: [cs.LG], topics: learning}\n")
    assert json.loads(world.run("status", "--json").out)["lists"][0]["next"] is None
    assert "no subscribers" in world.run("status").out


# --- what is paid


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


# --- a morning in sentences, as `once` says it

DEAD = "the LLM at api.openai.com answers 503: Overloaded"
UNSCORED = ListReport("foundations", None, Counts(considered=8, carried_over=8), problem=DEAD)


def said(*entries: ListReport) -> list[str]:
    return words.a_morning(Report(entries), delivery.Report({DeliveryState.SENT: 3}), []).splitlines()


@pytest.mark.parametrize(
    ("problem", "sentence"),
    [
        (DEAD, "The LLM at api.openai.com answers 503: Overloaded"),
        ("export.arxiv.org could not be reached", "export.arxiv.org could not be reached"),
        ("emails/digest.mjml.j2: too long", "emails/digest.mjml.j2: too long"),
        ("arXiv's batch is not there yet", "arXiv's batch is not there yet"),
        ("LLM_BUDGET_USD is used up", "LLM_BUDGET_USD is used up"),
    ],
)
def test_a_reason_after_a_full_stop_begins_as_a_sentence_does(problem: str, sentence: str) -> None:
    """But for names, which are written as they are."""
    due, served = replace(UNSCORED, problem=problem), ListReport("stars", Outcome.QUIET, problem=problem)
    assert said(due, served) == [
        f"foundations: still due, scored 0 of 8 papers. {sentence}",
        f"stars: quiet. {sentence}",
        "Deliveries: 3 sent",
    ]


def test_lists_that_are_due_for_one_reason_are_told_it_once_at_the_end() -> None:
    one = Counts(considered=1, carried_over=1)
    late = ListReport("stars", None, problem="arXiv's batch is not there yet")
    assert said(
        UNSCORED, late, replace(UNSCORED, list_name="galaxies", counts=one), replace(UNSCORED, list_name="quarks")
    ) == [
        "foundations: still due, scored 0 of 8 papers.",
        "stars: still due. arXiv's batch is not there yet",
        "galaxies: still due, scored 0 of 1 paper.",
        "quarks: still due, scored 0 of 8 papers.",
        "Why foundations, galaxies and quarks are still due: the LLM at api.openai.com answers 503: Overloaded",
        "Deliveries: 3 sent",
    ]


def test_what_a_server_does_not_count_has_no_price_to_know() -> None:
    counts = Counts(considered=2, selected=2)
    uncounted, unpriced = (
        ListReport("foundations", Outcome.DIGEST, counts, Spending(usage, None))
        for usage in (Usage(calls=1), Usage(1, 900, completion_tokens=100))
    )
    assert said(uncounted)[0] == "foundations: digest, 2 of 2 papers, cost not known"
    assert said(unpriced)[0] == "foundations: digest, 2 of 2 papers, price unknown"


# --- no silent zero


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


def test_the_counts_in_a_sentence_name_all_that_was_not_scored() -> None:
    """As `once` and `preview` say them."""
    counts = Counts(considered=20, author_matches=1, selected=2, over_cap=3, below=4, carried_over=5, let_go=5)
    assert words.papers(counts) == "3 of 20 papers (1 author match), 3 over the cap, 5 carried over, 5 let go"
    assert words.papers(Counts(considered=9, below=9)) == "0 of 9 papers"


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
    assert "10 of 1183, 130 unscored" in lines[1]
    assert 70 < max(map(len, lines)) <= 80


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
