"""Did everyone get their mail today, and if not, why? The answer in one line."""

import subprocess
import sys
import unicodedata
from dataclasses import replace
from datetime import date, datetime, time, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from paperboy import fetching
from paperboy.cli.answer import answer, answer_of
from paperboy.cli.sentences import MOST
from paperboy.cli.stand import NO_FACTS, Facts
from paperboy.due import RETRY
from paperboy.models import Attempt, Counts, Day, MailingList, Outcome, Subscriber
from paperboy.store import Store
from paperboy.store.reach import Reach
from tests.store.ledger import NOW, TODAY, morning

SRC = Path(__file__).parents[2] / "src"
UTC = ZoneInfo("UTC")
ADA = Subscriber("ada@example.org")
FOUNDATIONS, GALAXIES, QUARKS = (
    MailingList(name, name, ("cs.LG",), "x", UTC, subscribers=(ADA,)) for name in ("foundations", "galaxies", "quarks")
)
ALL = (FOUNDATIONS, GALAXIES, QUARKS)
YESTERDAY, SATURDAY = TODAY - timedelta(days=1), TODAY + timedelta(days=1)
NOBODY = Reach()


def day(entry: MailingList, outcome: Outcome, when: date = TODAY, reason: str = "", counts: Counts = Counts()) -> Day:
    return Day(entry.name, when, outcome, reason, counts=counts)


def known(
    *days: Day,
    today: Reach = NOBODY,
    before: Reach = NOBODY,
    troubles: dict[str, tuple[str, datetime]] | None = None,
) -> Facts:
    """Each day with an outcome of `digest` was mailed."""
    mailed = {each.list_name: each.date for each in days if each.outcome is Outcome.DIGEST}
    return Facts({each.list_name: each for each in days}, mailed, attempts(troubles or {}), today, before)


def attempts(troubles: dict[str, tuple[str, datetime]]) -> dict[str, Attempt]:
    return {name: Attempt(name, why, at, at, at + RETRY) for name, (why, at) in troubles.items()}


def at(hour: int, minute: int = 0, *, days: int = 0) -> datetime:
    return NOW.replace(hour=hour, minute=minute) + timedelta(days=days)


# --- all is well


def test_everyone_got_it() -> None:
    facts = known(*(day(entry, Outcome.DIGEST) for entry in ALL), today=Reach(120))
    assert answer(ALL, facts, at(9)) == "Everyone got today's mail: 3 lists, 120 subscribers."


def test_a_list_without_subscribers_is_nobodys() -> None:
    facts = known(day(FOUNDATIONS, Outcome.DIGEST), today=Reach(1))
    assert answer((FOUNDATIONS, replace(QUARKS, subscribers=())), facts, at(9)) == (
        "Everyone got today's mail: 1 list, 1 subscriber."
    )
    assert answer([replace(QUARKS, subscribers=())], NO_FACTS, at(9)) == "No list has subscribers, so there is no mail."


def test_the_outbox_is_not_everyone() -> None:
    facts = known(day(FOUNDATIONS, Outcome.DIGEST), today=Reach(2, in_outbox=True))
    assert answer([FOUNDATIONS], facts, at(9)) == "Today's mail lies in the outbox: 1 list, 2 subscribers."


def test_a_digest_for_nobody_who_is_there_now() -> None:
    facts = known(day(FOUNDATIONS, Outcome.DIGEST), today=Reach())
    assert answer([FOUNDATIONS], facts, at(9)) == ("Today's mail of foundations was for nobody who is on the list now.")


def test_none_passed_and_nobody_wants_a_note() -> None:
    facts = known(day(FOUNDATIONS, Outcome.NOTE, counts=Counts(183, below=183)))
    assert answer([FOUNDATIONS], facts, at(9)) == "No mail today: none of 183 papers passed."


# --- who did not get it


@pytest.mark.parametrize(
    ("reach", "said"),
    [
        (
            Reach(120, 2, wait=1, failed=1, replies=("450 later", "550 no"), try_at=at(9, 12)),
            "2 of 120 subscribers did not get today's mail: 1 failed, 1 waits; next try about 09:12 UTC.",
        ),
        (
            Reach(120, 4, wait=1, failed=2, ambiguous=1, replies=("450 later", "550 no", "lost")),
            "4 of 120 subscribers did not get today's mail: 2 failed, 1 may have it, 1 waits.",
        ),
        (
            Reach(2, 1, failed=1, replies=("550 5.1.1 no such user",)),
            "1 of 2 subscribers did not get today's mail: 550 5.1.1 no such user.",
        ),
        (
            Reach(60, 60, wait=60, replies=("refused",), tried=at(8, 59), try_at=at(9, 5)),
            "None of 60 subscribers got today's mail: refused; next try about 09:05 UTC.",
        ),
        (
            Reach(60, 60, wait=60, replies=("refused",), tried=at(8, 30)),
            "None of 60 subscribers got today's mail: refused.",
        ),
        (
            Reach(120, 1, ambiguous=1, replies=("the connection was lost",)),
            "1 of 120 subscribers may not have got today's mail: the connection was lost.",
        ),
        (
            Reach(1, 1, failed=1, replies=("550 no",)),
            "The only subscriber did not get today's mail: 550 no.",
        ),
        (
            Reach(2, 2, ambiguous=2, replies=("lost",)),
            "2 of 2 subscribers may not have got today's mail: lost.",
        ),
        (Reach(120, 50, wait=50), "70 of 120 subscribers got today's mail so far; 50 wait to be sent."),
        (Reach(120, 1, wait=1), "119 of 120 subscribers got today's mail so far; 1 waits to be sent."),
        (
            Reach(120, 3, wait=2, failed=1, replies=("550 no",)),
            "3 of 120 subscribers did not get today's mail: 1 failed, 2 wait.",
        ),
    ],
)
def test_who_did_not(reach: Reach, said: str) -> None:
    assert answer([FOUNDATIONS], known(day(FOUNDATIONS, Outcome.DIGEST), today=reach), at(9)) == said


def test_a_long_reply_leaves_room_for_what_comes_next() -> None:
    reach = Reach(60, 60, wait=60, replies=(f"mail server m.example:587 refuses the login: {'535 bad ' * 40}",))
    said = answer([FOUNDATIONS], known(day(FOUNDATIONS, Outcome.DIGEST), today=replace(reach, tried=at(8, 59))), at(9))
    assert said.startswith("None of 60 subscribers got today's mail: the mail server refuses the login: 535 bad")
    assert said.endswith(" …; next try about 09:14 UTC.")


def test_nobody_who_would_try_and_no_next_try() -> None:
    facts = known(day(FOUNDATIONS, Outcome.DIGEST), today=Reach(9, 9, wait=9, replies=("no",), try_at=at(9, 5)))
    assert "next try" in answer([FOUNDATIONS], facts, at(9))
    assert "next try" not in answer([FOUNDATIONS], facts, at(9), running=False)


def test_the_day_before_counts_until_today_has_its_own() -> None:
    facts = known(day(FOUNDATIONS, Outcome.DIGEST, YESTERDAY), before=Reach(9, 1, failed=1, replies=("550 no",)))
    assert answer([FOUNDATIONS], facts, at(6)) == (
        "1 of 9 subscribers did not get the last digest: 550 no. Today's mail is due at 07:00 UTC."
    )


# --- no digest


def test_it_gave_up() -> None:
    facts = known(
        day(FOUNDATIONS, Outcome.GAVE_UP, reason="the LLM answers 401: no such key."),
        day(GALAXIES, Outcome.GAVE_UP, reason="the LLM answers 401: no such key."),
        day(QUARKS, Outcome.DIGEST),
        today=Reach(20),
    )
    assert answer([FOUNDATIONS], facts, at(14)) == (
        "No digest today for foundations: the LLM answers 401: no such key; next try Sat 07:00 UTC."
    )
    assert answer(ALL, facts, at(14)) == (
        "No digest today for foundations and galaxies: the LLM answers 401: no such key; next try Sat 07:00 UTC."
    )
    assert answer((FOUNDATIONS, QUARKS), replace(facts, today=Reach(2)), at(14)).startswith("No digest today for foun")


def test_what_is_due_says_since_when_why_and_when_it_is_tried_again() -> None:
    late = fetching.late_sentence(at(7, 30))
    facts = known(day(FOUNDATIONS, Outcome.DIGEST, YESTERDAY), troubles={"foundations": (late, at(7, 30))})
    assert answer([FOUNDATIONS], facts, at(7, 32)) == (
        "Not yet: foundations is due since 07:00: arXiv's batch of Thu 19 Nov is not there yet; "
        "next try about 07:45 UTC."
    )
    assert answer([FOUNDATIONS], facts, at(7, 50)) == (
        "Not yet: foundations is due since 07:00 UTC: arXiv's batch of Thu 19 Nov is not there yet."
    )
    assert answer([FOUNDATIONS], facts, at(7, 32), running=False) == (
        "Not yet: foundations is due since 07:00 UTC: arXiv's batch of Thu 19 Nov is not there yet; "
        "no paperboy run is at work."
    )
    assert answer([FOUNDATIONS], facts, at(7, 32), at_work=True) == (
        "A morning is at work: foundations is due since 07:00 UTC."
    )


NO_CREDIT = "answers 429: the account has no credit left"


@pytest.mark.parametrize(
    ("reason", "kept"),
    [
        (f"scored 0 of 2: the LLM at http://127.0.0.1:45177/v1 {NO_CREDIT}; add some there", f"the LLM {NO_CREDIT}"),
        ("the LLM at api.openai.com answers 401: no such key; check .env", "the LLM answers 401: no such key"),
        ("the LLM at [::1]:8000 cannot be reached (refused)", "the LLM cannot be reached (refused)"),
    ],
)
def test_the_reason_itself_has_room(reason: str, kept: str) -> None:
    """Where the server is, is told below the answer. The next try makes way if need be."""
    facts = known(troubles={entry.name: (reason, at(7, 15)) for entry in ALL})
    told = answer([FOUNDATIONS], facts, at(7, 20))
    assert told.startswith(f"Not yet: foundations is due since 07:00: {kept}")
    assert told.endswith("; next try about 07:30 UTC.")
    head = "Not yet: foundations and galaxies are due since 07:00:"
    assert answer(ALL[:2], facts, at(7, 20)).startswith(f"{head} {kept}")


@pytest.mark.parametrize(
    ("reply", "kept"),
    [
        (
            "mail server m.example:587 refuses the sender p@example.org: 550 5.7.1 not allowed. Set MAIL_FROM to one",
            "the mail server refuses the sender: 550 5.7.1 not allowed",
        ),
        (
            "mail server [::1]:25 answers MAIL FROM:<p@example.org> with 451 4.7.1 greylisted",
            "the mail server answers MAIL FROM with 451 4.7.1 greylisted",
        ),
        (
            "cannot reach mail server smtp.example.org:587: Connection refused. Check SMTP_HOST and SMTP_PORT.",
            "cannot reach the mail server: Connection refused",
        ),
    ],
)
def test_what_a_mail_server_says_has_room(reply: str, kept: str) -> None:
    facts = known(day(FOUNDATIONS, Outcome.DIGEST), today=Reach(60, 60, wait=60, replies=(reply,), tried=at(8, 59)))
    assert answer([FOUNDATIONS], facts, at(9)).startswith(f"None of 60 subscribers got today's mail: {kept}")


@pytest.mark.parametrize(
    ("facts", "now", "said"),
    [
        (NO_FACTS, at(6), "Today's mail is due at 07:00 UTC; no paperboy run is at work."),
        (
            known(day(FOUNDATIONS, Outcome.DIGEST, YESTERDAY), before=Reach(9)),
            at(6),
            "Today's mail is due at 07:00 UTC; no paperboy run is at work.",
        ),
        (
            known(day(FOUNDATIONS, Outcome.GAVE_UP, reason="the LLM is dead")),
            at(14),
            "No digest today for foundations: the LLM is dead; no paperboy run is at work.",
        ),
    ],
)
def test_where_mail_comes_and_nobody_is_at_work_that_is_said(facts: Facts, now: datetime, said: str) -> None:
    assert answer([FOUNDATIONS], facts, now, running=False) == said
    assert "at work" not in answer([FOUNDATIONS], facts, now)


def test_also_where_nothing_comes_today() -> None:
    nobody = "the next batch comes Mon 23 Nov 07:00 UTC; no paperboy run is at work."
    assert answer([FOUNDATIONS], known(day(FOUNDATIONS, Outcome.DIGEST)), at(6, days=1), running=False).endswith(nobody)
    entry = replace(FOUNDATIONS, weekdays=frozenset({0}))
    assert answer([entry], NO_FACTS, at(9), running=False).endswith("07:00 UTC; no paperboy run is at work.")


def test_yesterdays_trouble_is_not_todays_reason() -> None:
    facts = known(troubles={"foundations": ("the LLM was dead", at(20, days=-1))})
    assert answer([FOUNDATIONS], facts, at(7)) == "Not yet: foundations is due since 07:00 UTC."
    assert answer([FOUNDATIONS], facts, at(7), running=False) == (
        "Not yet: foundations is due since 07:00 UTC, and no paperboy run is at work."
    )


def test_what_is_well_stands_beside_what_is_not() -> None:
    facts = known(day(FOUNDATIONS, Outcome.DIGEST), today=Reach(9), troubles={"quarks": ("it is dead", at(7))})
    assert answer((FOUNDATIONS, QUARKS), facts, at(8)) == (
        "Not yet: quarks is due since 07:00 UTC: it is dead. Everyone else got today's mail: 1 list, 9 subscribers."
    )


# --- no mail is no mystery


def test_the_weekend() -> None:
    facts = known(*(day(entry, Outcome.QUIET, SATURDAY) for entry in ALL), before=Reach(20))
    assert answer(ALL, facts, at(9, days=1)) == (
        "No mail today: arXiv announced nothing (weekend); the next batch comes Mon 23 Nov 07:00 UTC."
    )


def test_a_quiet_list_beside_others() -> None:
    facts = known(day(FOUNDATIONS, Outcome.DIGEST), day(QUARKS, Outcome.QUIET), today=Reach(9))
    assert answer((FOUNDATIONS, QUARKS), facts, at(9)) == (
        "Everyone got today's mail: 1 list, 9 subscribers. No mail for quarks: arXiv had nothing new in its categories."
    )


def test_before_the_hour() -> None:
    facts = known(day(FOUNDATIONS, Outcome.DIGEST, YESTERDAY), before=Reach(9))
    assert answer([FOUNDATIONS], facts, at(6)) == "Today's mail is due at 07:00 UTC; everyone got that of Thu 19 Nov."
    assert answer([FOUNDATIONS], NO_FACTS, at(6)) == "Today's mail is due at 07:00 UTC."


@pytest.mark.parametrize(("outcome", "before"), [(Outcome.DIGEST, Reach(9)), (Outcome.QUIET, NOBODY)])
def test_before_the_hour_of_a_quiet_day(outcome: Outcome, before: Reach) -> None:
    assert answer([FOUNDATIONS], known(day(FOUNDATIONS, outcome), before=before), at(6, days=1)) == (
        "No mail is expected today (weekend); the next batch comes Mon 23 Nov 07:00 UTC."
    )


@pytest.mark.parametrize(
    ("newest", "before"),
    [
        (day(FOUNDATIONS, Outcome.DIGEST, counts=Counts(9, carried_over=4, selected=5)), Reach(9)),
        (day(FOUNDATIONS, Outcome.DIGEST), Reach(9, 9, wait=9)),
    ],
)
def test_what_is_left_over_is_due_whatever_the_day(newest: Day, before: Reach) -> None:
    assert "Today's mail is due at 07:00 UTC" in answer([FOUNDATIONS], known(newest, before=before), at(6, days=1))


def test_after_a_day_that_gave_up() -> None:
    facts = known(day(FOUNDATIONS, Outcome.GAVE_UP, reason="the LLM was dead"))
    assert answer([FOUNDATIONS], facts, at(6, days=1)) == (
        "Today's mail is due at 07:00 UTC. There was no digest on Fri 20 Nov: the LLM was dead."
    )


def test_a_list_that_has_not_begun_beside_one_that_is_done() -> None:
    later = replace(QUARKS, send_at=time(9), timezone=ZoneInfo("America/New_York"))
    facts = known(day(FOUNDATIONS, Outcome.DIGEST), today=Reach(20))
    assert answer((FOUNDATIONS, later), facts, at(9)) == (
        "Everyone got today's mail: 1 list, 20 subscribers. Today's mail for quarks is due at 09:00 EST."
    )


def test_a_day_on_which_no_list_sends() -> None:
    entry = replace(FOUNDATIONS, weekdays=frozenset({0}))
    assert answer([entry], NO_FACTS, at(9)) == (
        "No mail today, a day on which no list sends; the next comes Mon 23 Nov 07:00 UTC."
    )
    skipped = known(day(entry, Outcome.SKIPPED))
    assert answer([entry], skipped, at(9)) == answer([entry], NO_FACTS, at(9))


# --- the line


def test_many_lists_are_counted_and_not_named() -> None:
    many = [replace(FOUNDATIONS, name=f"mathematics-{number}") for number in range(40)]
    assert answer(many, NO_FACTS, at(8)) == "Not yet: 40 lists are due since 07:00 UTC."


def test_strangers_text_gives_no_orders_and_no_addresses() -> None:
    evil = "550 \x1b[2J<ada@example.org>\r\nno\u202e such user"
    facts = known(day(FOUNDATIONS, Outcome.GAVE_UP, reason=evil))
    assert answer([FOUNDATIONS], facts, at(14)) == (
        "No digest today for foundations: 550 [2J<a…@example.org> no such user; next try Sat 07:00 UTC."
    )


REACHES = st.builds(
    Reach,
    subscribers=st.integers(0, 99_999),
    missed=st.integers(0, 99_999),
    wait=st.integers(0, 99_999),
    failed=st.integers(0, 99_999),
    replies=st.lists(st.text(max_size=400), max_size=3).map(tuple),
    try_at=st.none() | st.just(at(23)),
)


@settings(max_examples=150, deadline=None)
@given(
    names=st.lists(st.text("abc-", min_size=1, max_size=80), min_size=1, max_size=12, unique=True),
    outcomes=st.lists(st.sampled_from([*Outcome, None]), min_size=12, max_size=12),
    reason=st.text(max_size=300),
    today=REACHES,
    before=REACHES,
    hour=st.integers(0, 23),
)
def test_it_is_always_one_short_line(
    names: list[str], outcomes: list[Outcome | None], reason: str, today: Reach, before: Reach, hour: int
) -> None:
    lists = [replace(FOUNDATIONS, name=name) for name in names]
    days = [
        day(entry, outcome, reason=reason)
        for entry, outcome in zip(lists, outcomes, strict=False)
        if outcome is not None
    ]
    troubles = {name: (reason, at(7)) for name in names}
    said = answer(lists, known(*days, today=today, before=before, troubles=troubles), at(hour))
    assert 10 < len(said) <= MOST
    assert not [character for character in said if unicodedata.category(character) in {"Cc", "Cs", "Zl", "Zp"}]


# --- from the ledger


def test_it_is_read_from_the_ledger(tmp_path: Path) -> None:
    """Someone who is on two lists is one subscriber, and one who left the file since is none."""
    both = [replace(FOUNDATIONS, subscribers=(ADA, Subscriber("Grace@example.org"))), GALAXIES]
    with Store.open(tmp_path / "p.db") as store:
        morning(store, {"ada": "sent", "grace": "refused", "gone": "refused"})
        morning(store, {"ada": "sent"}, list_name="galaxies")
        assert answer_of(store, both, at(9)) == ("1 of 2 subscribers did not get today's mail: 550 5.7.1 not today.")
        assert answer_of(store, [both[1]], at(9)) == "Everyone got today's mail: 1 list, 1 subscriber."
        assert answer_of(store, both, at(9, days=10)).startswith("Not yet: foundations and galaxies are due")


def test_it_is_light_to_import() -> None:
    """The daemon says it every few seconds, and is to stay small."""
    program = (
        "import sys, paperboy.cli.answer;"
        "heavy = {'rich', 'openai', 'arxiv', 'pydantic', 'jinja2', 'mjml'} & set(sys.modules);"
        "sys.exit(str(heavy) if heavy else 0)"
    )
    ran = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, env={"PYTHONPATH": str(SRC)}, check=False
    )
    assert ran.returncode == 0, ran.stderr
