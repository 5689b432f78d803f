"""`paperboy status` answers, says what the last mornings came to, who did not get their mail and what comes next."""

import json
from collections.abc import Sequence
from datetime import UTC, date, datetime, timedelta

import pytest

from paperboy.due import RETRY
from paperboy.features.votes.rows import cast
from paperboy.models import Attempt, Cost, Counts, Day, Outcome, Spending, Usage
from paperboy.store.incidents import MAIL_SERVER, Incident, Kind
from paperboy.store.readers import Reader
from tests.cli.conftest import LISTS, World
from tests.servers.smtp import Fault
from tests.store.ledger import morning

FRIDAY = date(2026, 11, 20)
BOTH = ("foundations", "galaxies")


def spend(world: World, at: str, spending: Spending, list_name: str = "foundations") -> None:
    """Record spending as a scorer's request at that instant would."""
    with world.store() as store:
        when = datetime.fromisoformat(at)
        store.scores.keep(list_name, "criteria", "gpt-6-luna", {}, spending, when)


def had(
    world: World,
    outcome: Outcome,
    counts: Counts = Counts(),
    *,
    lists: Sequence[str] = ("foundations",),
    reason: str = "",
    day: date = FRIDAY,
) -> None:
    """Freeze a day of each list."""
    at = datetime(day.year, day.month, day.day, 7, tzinfo=UTC)
    with world.store() as store:
        for name in lists:
            store.days.freeze(Day(name, day, outcome, reason, counts=counts), at)


def under(heading: str, printed: str) -> list[str]:
    """Return the lines of the table whose first column has that heading."""
    lines = printed.splitlines()
    at = next(number for number, line in enumerate(lines) if line.split()[:1] == [heading])
    return lines[at + 1 : lines.index("", at)]


NOTHING = {
    "calls": 0,
    "prompt_tokens": 0,
    "cached_tokens": 0,
    "cache_write_tokens": 0,
    "completion_tokens": 0,
    "reasoning_tokens": 0,
}


def test_before_the_first_morning_every_key_is_there_and_no_database_is_made(world: World) -> None:
    assert world.json("status") == {
        "state": "waiting",
        "answer": "Not yet: foundations and galaxies, due since 07:00 UTC; paperboy run is not active.",
        "running": None,
        "alerts": [],
        "lists": [
            {
                "name": name,
                "state": "waiting",
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
                "days": [],
                "webhook": None,
                "signups": [],
                "votes": {"up": 0, "down": 0},
                "shortlist": None,
            }
            for name in ("foundations", "galaxies")
        ],
        "undelivered": [],
        "month": {"cost": 0.0, "usage": NOTHING},
        "months": [{"month": "2026-11", "cost": 0.0, "usage": NOTHING}],
    }
    printed = world.run("status").out
    assert "none yet" in printed
    assert printed.endswith("Spent in November 2026  $0.00  0 tokens\n")
    assert not (world.path / "data").exists()


def test_status_json_reports_the_newest_day_of_each_list(world: World) -> None:
    world.env(LLM_PRICE_INPUT=1, LLM_PRICE_OUTPUT=6)
    world.smtp.faults.append(Fault("RCPT", "450 try later", address="ada@example.org"))
    world.announce(1, 2)
    world.announce(4, categories=("astro-ph.GA",))
    assert world.once().code == 1
    told = world.json("status")
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


def test_broken_file_is_shown_with_the_whole_fix(world: World) -> None:
    fault = (
        "subscribers.yaml:4:18: categories: unknown category 'cs.LK', among the many of this list"
    )
    fix = "they are listed at arxiv.org/category_taxonomy"
    place, _, reason = f"{fault}; {fix}".partition(": ")
    with world.store() as store:
        facts = {"place": place}
        broken = Incident(kind=Kind.FILES, subject="subscribers.yaml", reason=reason, facts=facts)
        store.incidents.note([broken], world.clock())
    assert f"\nBroken: {fault}; {fix} (since Fri 20 Nov" in world.run("status").out
    assert world.json("status")["alerts"][0]["headline"] == f"Broken: {fault}; {fix}"


def test_reason_too_long_for_the_first_line_is_shown_once_and_whole(world: World) -> None:
    """In the JSON the answer is one line of at most 120 characters, cut, beside the whole reason."""
    reason = "the LLM answers 429: You exceeded your current quota, please check your plan and billing details"
    had(world, Outcome.GAVE_UP, reason=reason)
    printed = world.run("status", "--list", "foundations").out
    assert "…" not in printed
    assert (printed.count(reason), printed.count("You exceeded")) == (1, 1)
    told = world.json("status", "--list", "foundations")["answer"]
    assert "You exceeded" in told
    assert told.endswith("…")
    assert len(told) <= 120


def test_status_counts_votes_of_thirty_days_by_list_and_names_nobody(world: World) -> None:
    world.announce(1, 2)
    world.once()
    with world.store() as store:
        long_ago = world.clock() - timedelta(days=31)
        cast(
            store.database,
            Reader("foundations", "ada@example.org"),
            {"2611.00001": 1, "2611.00002": -1},
            world.clock(),
        )
        cast(
            store.database, Reader("foundations", "grace@example.org"), {"2611.00002": 1}, long_ago
        )
        cast(store.database, Reader("galaxies", "vera@example.org"), {"2611.00002": 1}, long_ago)
    told = world.run("status").out
    assert [line for line in told.splitlines() if "Votes" in line] == [
        "Votes for foundations in 30 days: 1 up, 1 down"
    ]
    assert "ada@" not in told
    assert "Votes" not in world.run("status", "--list", "galaxies").out
    lists = world.json("status")["lists"]
    assert [mailing_list["votes"] for mailing_list in lists] == [
        {"up": 1, "down": 1},
        {"up": 0, "down": 0},
    ]


def test_status_prints_the_answer_first(world: World) -> None:
    world.announce_both(1, 4)
    world.once()
    answer = "Everyone got today's mail: 2 lists, 3 subscribers."
    assert world.run("status").out.splitlines()[:3] == [
        answer,
        "",
        "List         Date        Outcome  Papers  Cost           Deliveries",
    ]
    assert world.json("status")["answer"] == answer


# --- the last mornings


def test_table_has_the_last_mornings_of_each_list(world: World) -> None:
    spend(world, "2026-11-20T07:00Z", Spending(Usage(1, 900), None))
    with world.store() as store:
        morning(store, {"ada": "sent", "grace": "sent"}, FRIDAY)
    had(world, Outcome.QUIET, day=SATURDAY)
    world.later(days=1)
    table = under("List", world.run("status").out)
    assert [line.split() for line in table[:2]] == [
        ["foundations", "Sat", "21", "Nov", "quiet"],
        ["Fri", "20", "Nov", "digest", "price", "unknown", "2", "sent"],
    ]
    assert "Fri 20 Nov" not in world.run("status", "--mornings", "1").out


def test_crowded_tables_fit_eighty_columns(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """Long cells go on below, and cut no other column."""
    monkeypatch.setenv("FORCE_COLOR", "1")  # as on a terminal
    monkeypatch.setenv("COLUMNS", "80")
    name = "foundations-of-machine-learning-theory"
    lists = f"lists:\n  - {{name: {name}, categories: [cs.LG], topics: learning, subscribers: [ada@example.org]}}\n"
    world.write("subscribers.yaml", lists)
    used = Usage(1_234, 999_999, 99_998, 99_997, 99_996, 99_995)
    spend(world, "2026-11-20T07:00Z", Spending(used, Cost(0.01, 0.0034)), name)
    counts = Counts(considered=1_183, selected=10, below=1_043, carried_over=130)
    had(world, Outcome.DIGEST, counts, lists=[name])
    printed = world.run("status").out
    assert max(map(len, printed.splitlines())) <= 80
    first, *below = under("List", printed)
    whole = ["Fri 20 Nov", "digest", "10 of 1183, 130", "$0.0134"]
    assert [cell for cell in whole if cell not in first] == []
    assert "unscored" in below[0]
    assert "".join(line.split()[0] for line in [first, *below] if line[:1] != " ") == name


def test_papers_and_history_of_one_list_are_in_the_table_and_the_json(world: World) -> None:
    history = [
        (Outcome.DIGEST, Counts(considered=183, selected=3, below=180), "3 of 183"),
        (
            Outcome.DIGEST,
            Counts(considered=183, selected=3, below=179, let_go=1),
            "3 of 183, 1 unscored",
        ),
        (Outcome.GAVE_UP, Counts(considered=183, carried_over=183), "0 of 183, 183 unscored"),
        (Outcome.QUIET, Counts(), ""),
        (Outcome.NOTE, Counts(considered=3, below=3), "0 of 3"),
    ]
    for ago, (outcome, counts, _) in enumerate(history):
        day = FRIDAY - timedelta(days=ago)
        had(world, outcome, counts, day=day, reason="late" * (ago == 2))
    spend(world, "2026-11-19T07:00Z", Spending(Usage(1, 900), Cost(0.5, 0)), "galaxies")
    one = ("status", "--list", "foundations", "--mornings")
    rows = under("List", world.run(*one, "9").out)
    papers = [
        row.partition(outcome.value)[2].strip()
        for row, (outcome, *_) in zip(rows, history, strict=True)
    ]
    assert papers == [shown for *_, shown in history]

    told = world.json(*one, "3")
    (foundations,) = told["lists"]
    days = foundations["days"]
    assert [(day["date"][-2:], day["outcome"], day["reason"]) for day in days] == [
        ("20", "digest", ""),
        ("19", "digest", ""),
        ("18", "gave up", "late"),
    ]
    assert (days[1]["counts"]["below"], days[1]["counts"]["scored"]) == (179, 182)
    assert {name: foundations[name] for name in days[0]} == days[0]
    assert (told["month"]["cost"], len(told["months"])) == (0, 1)
    assert world.json("status")["month"]["cost"] == 0.5


def test_one_list_alone_is_shown(world: World) -> None:
    world.announce(4, categories=("astro-ph.GA",))
    world.once("galaxies")
    world.run("suppress", "ada@example.org")
    with world.store() as store:
        late = Incident(kind=Kind.LATE, subject="foundations", facts={"list": "foundations"})
        store.incidents.note([late, Incident(kind=Kind.MAIL, subject=MAIL_SERVER)], world.clock())
    told = world.run("status", "--list", "galaxies").out
    assert told.startswith(
        "Everyone got today's mail: 1 list, 1 subscriber.\n\nMail cannot be sent (since Fri"
    )
    assert "foundations" not in told
    assert "foundations" in world.run("status", "--list", "galaxies", "--list", "foundations").out
    assert world.run("status", "--list", "nope").code == 2


@pytest.mark.parametrize(
    ("lists", "state", "code"),
    [
        ([], "failed", 1),
        (["galaxies"], "waiting", 0),
        (["quarks"], "paused", 0),
    ],
)
def test_exit_code_reports_whether_all_is_well(
    world: World, lists: list[str], state: str, code: int
) -> None:
    quarks = "  - {name: quarks, categories: [hep-ph], topics: x, paused: true, subscribers: [ada@example.org]}\n"
    world.write("subscribers.yaml", LISTS + quarks)
    had(world, Outcome.GAVE_UP, reason="arXiv is late")
    options = [option for name in lists for option in ("--list", name)]
    assert world.run("status", "--exit-code", *options).code == code
    ran = world.run("status", "--exit-code", "--json", *options)
    assert (ran.code, json.loads(ran.out)["state"]) == (code, state)
    assert world.run("status", *options).code == 0


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("[vera@example.org]", "[]", "never, since it has no subscribers"),
        ("    topics: dwarf", "    paused: true\n    topics: dwarf", "nothing while it is paused"),
    ],
)
def test_list_that_is_paused_or_has_no_subscribers_has_no_next_morning(
    world: World, old: str, new: str, said: str
) -> None:
    world.write("subscribers.yaml", LISTS.replace(old, new))
    printed = world.run("status").out
    assert f"\nNext for galaxies: {said}\n" in printed
    assert "galaxies" not in printed.splitlines()[0]
    galaxies = world.json("status")["lists"][1]
    assert (galaxies["next"], galaxies["next_batch"]) == (None, None)


def test_line_that_holds_for_all_of_many_lists_names_none(world: World) -> None:
    world.write("subscribers.yaml", TEN)
    assert "\nNext for all 10 lists: due since Fri 20 Nov 07:00 UTC\n" in world.run("status").out


# --- who is suppressed


def test_suppressed_addresses_have_a_table_of_their_own(world: World) -> None:
    assert world.run("status", "--suppressed").out == "Nobody is suppressed.\n"
    assert not (world.path / "data").exists()
    world.run("suppress", "vera@example.org")
    world.later(days=1)
    world.run("suppress", "ada@example.org", "--list", "foundations")
    ran = world.run("status", "--suppressed")
    assert ran.code == 0
    assert ran.out.splitlines() == [
        "Address           List         Since            Why",
        "ada@example.org   foundations  Sat 21 Nov 2026  by hand",
        "vera@example.org  all          Fri 20 Nov 2026  by hand",
    ]
    assert "ada@example.org" not in world.run("status").out
    told = world.json("status", "--suppressed")["suppressed"]
    by_hand = {"since": "2026-11-21T07:00:00+00:00", "reason": "by hand"}
    assert told[0] == {"address": "ada@example.org", "list": "foundations", **by_hand}
    assert told[1]["list"] is None


SATURDAY = FRIDAY + timedelta(days=1)
TEN = "lists:\n" + "".join(
    f"  - {{name: list-{number}, categories: [cs.LG], topics: learning, subscribers: [ada@example.org]}}\n"
    for number in range(10)
)


# --- why


def test_each_reason_is_shown_once_with_its_lists(world: World) -> None:
    world.write("subscribers.yaml", TEN)
    at = world.clock()
    with world.store() as store:
        for number in range(10):
            tried = at - timedelta(days=number == 9)
            unscored = 4 if number % 2 else 0
            attempt = Attempt(
                f"list-{number}", "the LLM is down", tried, tried, tried + RETRY, unscored
            )
            store.days.note_attempt(attempt)
    assert "next try" not in world.run("status").out
    with world.held():
        lines = world.run("status").out.splitlines()[1:]
        tried, unscored = world.json("status")["lists"][:2]
    assert tried["trouble"] == {
        "reason": "the LLM is down",
        "at": "2026-11-20T07:00:00+00:00",
        "next_try": "2026-11-20T07:15:00+00:00",
    }
    assert unscored["trouble"]["reason"] == "scored 0 of 4: the LLM is down"
    again = "last tried Fri 20 Nov 07:00 UTC, next try about 07:15 UTC"
    assert [line for line in lines if "the LLM is down" in line] == [
        f"list-0, list-2, list-4, list-6 and list-8: the LLM is down ({again})",
        f"list-1, list-3, list-5 and list-7: nothing could be scored: the LLM is down ({again})",
        "list-9: nothing could be scored: the LLM is down (last tried Thu 19 Nov 07:00 UTC, to be tried now)",
    ]


def test_an_alert_that_lasts_is_shown_with_its_headline_and_since_when(world: World) -> None:
    """Also after its mail has gone out."""
    at = world.clock()
    with world.store() as store:
        facts = {
            "list": "galaxies",
            "outcome": None,
            "considered": 40,
            "scored": 0,
            "carried_over": 0,
        }
        scoring = Incident(kind=Kind.SCORING, subject="galaxies", facts=facts)
        process = Incident(kind=Kind.PROCESS, subject="galaxies", facts={"list": "galaxies"})
        store.incidents.note([Incident(kind=Kind.MAIL, subject=MAIL_SERVER), scoring, process], at)
        store.alerts.add(
            [Incident(kind=Kind.SCORING, subject="galaxies", since=at)], FRIDAY, None, over=False
        )
        store.incidents.end(Kind.PROCESS, "galaxies", at)
    printed = world.run("status").out
    headline = "Scored 0 of 40 papers: no digest for galaxies"
    assert "\nMail cannot be sent (since Fri 20 Nov 07:00 UTC)\n" in printed
    assert f"\n{headline} (since Fri 20 Nov 07:00 UTC)\n" in printed
    assert "crashed" not in printed
    since = "2026-11-20T07:00:00+00:00"
    assert world.json("status")["alerts"] == [
        {
            "cause": "mail",
            "headline": "Mail cannot be sent",
            "since": since,
            "about": ["the mail server"],
            "told": None,
        },
        {
            "cause": "scoring",
            "headline": headline,
            "since": since,
            "about": ["galaxies"],
            "told": "2026-11-20",
        },
    ]


# --- what comes next


def test_lists_with_the_same_next_morning_share_a_line(world: World) -> None:
    had(world, Outcome.QUIET)
    weekend = "Sat 21 Nov 07:00 UTC (weekend, no batch); the next batch Mon 23 Nov 07:00 UTC"
    assert (
        f"\nNext for foundations: {weekend}\nNext for galaxies: due since Fri 20 Nov 07:00 UTC\n"
        in world.run("status").out
    )
    had(world, Outcome.QUIET, lists=["galaxies"])
    assert f"\nNext for foundations and galaxies: {weekend}\n" in world.run("status").out


def test_a_quiet_day_says_why_and_when_the_next_batch_comes(world: World) -> None:
    had(world, Outcome.QUIET, day=SATURDAY, reason="arXiv announced nothing (weekend)")
    had(world, Outcome.NOTE, Counts(9, below=9), lists=["galaxies"], day=SATURDAY)
    world.later(days=1, hours=2)
    printed = world.run("status").out
    entry = world.json("status")["lists"][0]
    assert printed.count("arXiv announced nothing") == 1
    assert (entry["quiet"], entry["next_batch"]) == (
        "arXiv announced nothing (weekend)",
        "2026-11-23T07:00:00+00:00",
    )


def test_next_batch_is_no_earlier_than_the_next_digest(world: World) -> None:
    """Where `once` has closed the day before its hour."""
    had(world, Outcome.QUIET, day=SATURDAY + timedelta(days=2), reason="arXiv had nothing new")
    world.later(days=2, hours=22)
    entry = world.json("status")["lists"][0]
    assert entry["next"] == entry["next_batch"] == "2026-11-24T07:00:00+00:00"


def test_status_says_once_whether_a_paperboy_is_at_work(world: World) -> None:
    """In the answer, where that is why there is no mail."""
    idle = "paperboy run is not active"
    answer, _, rest = world.run("status").out.partition("\n")
    assert (idle in answer, idle in rest) == (True, False)
    with world.held():
        assert world.run("status").out.startswith(f"{answer.partition(';')[0]}.\n")
        assert world.json("status")["running"]["command"] == "run"
    with world.held("morning", "once"):
        assert world.run("status").out.startswith("A morning is running: foundations and galaxies")
    had(world, Outcome.QUIET, lists=BOTH)
    answer, _, rest = world.run("status").out.partition("\n")
    assert (idle in answer, rest.count(idle)) == (False, 1)


# --- what it cost


def test_tokens_that_the_server_does_not_count_are_null_and_not_zero(world: World) -> None:
    world.llm.counts_tokens = False
    world.announce(1)
    world.once("foundations")
    told = world.json("status")
    assert told["lists"][0]["usage"] == {**dict.fromkeys(NOTHING), "calls": 1}
    assert told["month"] == {"cost": None, "usage": {**dict.fromkeys(NOTHING), "calls": 1}}


def test_spending_is_summed_by_month(world: World) -> None:
    spend(
        world,
        "2026-11-20T07:00Z",
        Spending(Usage(1, 4_000_000, completion_tokens=120_000), Cost(0.2, 0.21)),
    )
    spend(
        world,
        "2026-10-20T07:00Z",
        Spending(Usage(1, 6_000_000, completion_tokens=32_100), Cost(0.5, 0.12)),
    )
    spend(
        world, "2026-10-21T07:00Z", Spending(Usage(1, 900, completion_tokens=100), None), "galaxies"
    )
    spend(
        world,
        "2026-07-20T07:00Z",
        Spending(Usage(1, 9_000, completion_tokens=100), Cost(0.0101, 0.0001)),
    )
    assert world.run("status").out.splitlines()[-3:] == [
        "Spent in November 2026  $0.41          4,120,000 tokens",
        "Spent in October 2026   price unknown  6,033,100 tokens",
        "Spent in July 2026      $0.0102        9,100 tokens",
    ]
    told = world.json("status")
    assert [(month["month"], month["cost"]) for month in told["months"]] == [
        ("2026-11", 0.41),
        ("2026-10", None),
        ("2026-07", 0.0102),
    ]
    assert told["month"] == {"cost": 0.41, "usage": told["months"][0]["usage"]}


def test_each_day_that_was_given_up_has_its_reason(world: World) -> None:
    """A weekend on which nothing ran, seen on Monday."""
    for ahead in (1, 2):
        had(world, Outcome.GAVE_UP, day=FRIDAY + timedelta(days=ahead), reason="not running")
    had(world, Outcome.DIGEST, day=FRIDAY + timedelta(days=3))
    world.later(days=3)
    both = "foundations, Sun 22 Nov and Sat 21 Nov: not running\n"
    assert both in world.run("status").out
    two = world.run("status", "--mornings", "2").out
    assert "foundations, Sun 22 Nov: not running\n" in two
    assert "not running" not in world.run("status", "--mornings", "1").out
