"""Did everyone get their mail today, and if not, why? The answer in one line, and what comes next."""

import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date, datetime, time, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from paperboy import due
from paperboy.models import (
    Attempt,
    Counts,
    DeliveryState,
    MailingList,
    Outcome,
    Spending,
    Subscriber,
)
from paperboy.reports import status
from paperboy.reports.status import ListStatus, Status
from paperboy.store import Store
from paperboy.store.history import DaySummary, DeliveryRecord, NewestDigest
from tests.store.ledger import NOW, TODAY, morning

PATIENCE = timedelta(hours=6)
ADA = Subscriber("ada@example.org")
FOUNDATIONS, GALAXIES, QUARKS = (
    MailingList(name, name, ("cs.LG",), "x", ZoneInfo("UTC"), subscribers=(ADA,))
    for name in ("foundations", "galaxies", "quarks")
)
ALL = (FOUNDATIONS, GALAXIES, QUARKS)
YESTERDAY = TODAY - timedelta(days=1)
SATURDAY = TODAY + timedelta(days=1)
SENT = {DeliveryState.SENT: 1}


WEEKEND = "arXiv announced nothing (weekend)"


def at(hour: int, minute: int = 0, *, days: int = 0) -> datetime:
    return NOW.replace(hour=hour, minute=minute) + timedelta(days=days)


def day(
    outcome: Outcome,
    when: date = TODAY,
    reason: str = "",
    counts: Counts = Counts(),
    deliveries: Mapping[DeliveryState, int] = SENT,
    *,
    of: MailingList = FOUNDATIONS,
) -> DaySummary:
    return DaySummary(
        of.name,
        when,
        outcome,
        reason,
        "luna",
        counts,
        spending=Spending(),
        deliveries=deliveries,
    )


def tried(reason: str, when: datetime, name: str = "foundations") -> Attempt:
    return Attempt(name, reason, when, when, when + due.RETRY)


def missed(
    state: DeliveryState, reason: str = "", try_at: datetime | None = None, who: str = "ada"
) -> DeliveryRecord:
    who = f"{who}@example.org"
    return DeliveryRecord(
        digest_id=1,
        list_name="foundations",
        date=TODAY,
        address=who,
        state=state,
        reply=reason,
        reason=reason,
        at=NOW,
        try_at=try_at,
        given_up=False,
        newest=True,
    )


def crowd(
    number: int, state: DeliveryState, reason: str = "", try_at: datetime | None = None
) -> list[DeliveryRecord]:
    """As many people who missed their mail for one reason."""
    return [missed(state, reason, try_at, f"{state}{place}") for place in range(number)]


@dataclass
class Known:
    """What the store would say. Each day with an outcome of `digest` was mailed."""

    days: Sequence[DaySummary] = ()
    subscribers: int = 0
    missed: Sequence[DeliveryRecord] = ()
    attempts: Sequence[Attempt] = ()
    # How many of a list's mails are in the outbox.
    boxed: Mapping[str, int] = field(default_factory=dict)
    at_work: bool = False

    def status(self, lists: Sequence[MailingList], now: datetime) -> Status:
        attempts = {attempt.list_name: attempt for attempt in self.attempts}
        found = []
        for entry in lists:
            mine = tuple(summary for summary in self.days if summary.list_name == entry.name)
            today = due.local_date(entry, now)
            outcome = next((summary.outcome for summary in mine if summary.date == today), None)
            standing = due.standing(entry, outcome, attempts.get(entry.name), now, PATIENCE)
            digest = next((summary for summary in mine if summary.outcome is Outcome.DIGEST), None)
            boxed = self.boxed.get(entry.name, 0)
            mailed = (
                NewestDigest(entry.name, 1, digest.date, digest.deliveries, boxed)
                if digest
                else None
            )
            found.append(ListStatus(entry, standing, now, attempts.get(entry.name), mine, mailed))
        return Status(
            now,
            tuple(found),
            tuple(self.missed),
            tuple(self.missed),
            self.subscribers,
            self.at_work,
        )


def known(*days: DaySummary, **more: object) -> Known:
    return Known(days, **more)  # type: ignore[arg-type]


def answer(
    of: Known,
    now: datetime,
    lists: Sequence[MailingList] = (FOUNDATIONS,),
    *,
    running: bool = True,
    **how: bool,
) -> str:
    return status.answer(replace(of.status(lists, now), running=running), **how)


# --- all is well


def test_list_without_subscribers_is_left_out() -> None:
    facts = known(day(Outcome.DIGEST), subscribers=1)
    nobody = replace(QUARKS, subscribers=())
    assert (
        answer(facts, at(9), (FOUNDATIONS, nobody))
        == "Everyone got today's mail: 1 list, 1 subscriber."
    )
    assert answer(known(), at(9), [nobody]) == "No list has subscribers, so there is no mail."


ELSE = "Everyone else got today's mail"


@pytest.mark.parametrize(
    ("boxed", "said"),
    [
        (
            {"foundations": 2, "galaxies": 1},
            "Today's mail is in the outbox: 2 lists, 3 subscribers.",
        ),
        (
            {"foundations": 2},
            f"Today's mail for foundations is in the outbox: 1 list. {ELSE}: 1 list.",
        ),
        ({"foundations": 1}, "Everyone got today's mail: 2 lists, 3 subscribers."),
    ],
)
def test_mail_in_the_outbox_reached_nobody(boxed: dict[str, int], said: str) -> None:
    """But a list that has reached somebody by mail, as after a resend, has it by mail."""
    of_foundations = day(Outcome.DIGEST, deliveries={DeliveryState.SENT: 2})
    facts = known(of_foundations, day(Outcome.DIGEST, of=GALAXIES), subscribers=3, boxed=boxed)
    assert answer(facts, at(9), ALL[:2]) == said


# --- in one word

PAUSED = replace(FOUNDATIONS, paused=True)
GOT = day(Outcome.DIGEST)
NOT_GOT = day(Outcome.DIGEST, deliveries={DeliveryState.FAILED: 2, DeliveryState.SUPPRESSED: 1})
LATER_ALL = day(Outcome.DIGEST, deliveries={DeliveryState.DEFERRED: 2})
FULL = day(Outcome.DIGEST, deliveries={DeliveryState.SENT: 1, DeliveryState.DEFERRED: 1})
OUT = day(Outcome.DIGEST, deliveries={DeliveryState.SUPPRESSED: 1})


@pytest.mark.parametrize(
    ("facts", "now", "found"),
    [
        (known(), at(6), "waiting"),
        (known(), at(8), "waiting"),
        (known(), at(8, 1), "late"),
        (known(at_work=True), at(9), "waiting"),
        (known(attempts=[tried("late", at(7))]), at(7, 10), "late"),
        (known(attempts=[tried("late", at(7))], at_work=True), at(7, 16), "late"),
        (known(attempts=[tried("late", at(23, days=-1))]), at(7, 10), "waiting"),
        (known(day(Outcome.GAVE_UP)), at(14), "failed"),
        (known(day(Outcome.GAVE_UP, YESTERDAY)), at(6), "waiting"),
        (known(day(Outcome.QUIET)), at(9), "ok"),
        (known(day(Outcome.NOTE)), at(9), "ok"),
        (known(GOT), at(9), "ok"),
        (known(OUT), at(9), "ok"),
        (known(FULL, missed=[missed(DeliveryState.DEFERRED, "450 full")]), at(9), "ok"),
        (known(NOT_GOT), at(9), "failed"),
        (known(LATER_ALL), at(9), "late"),
        (known(GOT, missed=[missed(DeliveryState.PENDING)]), at(7, 59), "waiting"),
        (known(GOT, missed=[missed(DeliveryState.PENDING)]), at(8, 1), "late"),
        (known(GOT, missed=[missed(DeliveryState.PENDING)], at_work=True), at(12), "waiting"),
        (known(GOT, missed=[missed(DeliveryState.SENDING)]), at(7, 1), "waiting"),
        (known(GOT, missed=[missed(DeliveryState.PENDING, "refused")]), at(7, 1), "late"),
    ],
)
def test_state_of_a_list_is_one_word(facts: Known, now: datetime, found: str) -> None:
    seen = facts.status([FOUNDATIONS], now)
    assert seen.health_of(seen.lists[0]) == seen.health == found
    assert facts.status([PAUSED], now).health == "paused"


@pytest.mark.parametrize(
    ("lists", "days", "found"),
    [
        ([PAUSED, GALAXIES], [], "waiting"),
        ([PAUSED, GALAXIES], [day(Outcome.QUIET, of=GALAXIES)], "ok"),
        ([PAUSED, replace(GALAXIES, paused=True)], [], "paused"),
        (
            [FOUNDATIONS, replace(GALAXIES, subscribers=())],
            [GOT, replace(NOT_GOT, list_name="galaxies")],
            "ok",
        ),
        (ALL, [GOT], "waiting"),
        (ALL, [GOT, day(Outcome.GAVE_UP, of=QUARKS)], "failed"),
    ],
)
def test_state_of_all_is_the_worst_of_those_not_paused(
    lists: list[MailingList], days: list[DaySummary], found: str
) -> None:
    assert known(*days).status(lists, at(7, 1)).health == found


def test_paused_list_is_told_and_not_awaited() -> None:
    assert answer(known(), at(9), [PAUSED]) == "All lists are paused, so there is no mail."
    assert answer(known(), at(6), [PAUSED, GALAXIES]) == "Today's mail is due at 07:00 UTC."
    assert known().status([PAUSED], at(9)).lists[0].next is None


def test_day_without_a_note_says_that_no_paper_passed() -> None:
    facts = known(day(Outcome.NOTE, counts=Counts(183, below=183)))
    assert answer(facts, at(9)) == "No mail today: none of 183 papers passed."


# --- who did not get it

WAITS = DeliveryState.PENDING
LATER = DeliveryState.DEFERRED
FAILED = DeliveryState.FAILED
UNSURE = DeliveryState.AMBIGUOUS


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        (
            [
                *crowd(1, LATER, "450 later", at(9, 12)),
                *crowd(2, FAILED, "550 no"),
                *crowd(1, UNSURE, "lost"),
            ],
            "4 of 120 subscribers did not get today's mail; next try 09:12 UTC: 550 no.",
        ),
        (
            [*crowd(1, WAITS), *crowd(1, FAILED)],
            "2 of 120 subscribers did not get today's mail.",
        ),
        (
            crowd(1, FAILED, "550 5.1.1 no such user."),
            "1 of 120 subscribers did not get today's mail: 550 5.1.1 no such user.",
        ),
        (
            crowd(60, WAITS, "refused", at(9, 5)),
            "60 of 120 subscribers did not get today's mail; next try 09:05 UTC: refused.",
        ),
        (
            crowd(60, WAITS, "refused", at(8, 30)),
            "60 of 120 subscribers did not get today's mail: refused.",
        ),
        (crowd(50, WAITS), "70 of 120 subscribers got today's mail so far; 50 to be sent."),
    ],
)
def test_answer_counts_who_did_not_get_it_and_says_why(
    rows: list[DeliveryRecord], said: str
) -> None:
    assert answer(known(day(Outcome.DIGEST), subscribers=120, missed=rows), at(9)) == said


def test_last_digest_counts_until_today_has_its_own() -> None:
    facts = known(
        day(Outcome.DIGEST, YESTERDAY),
        subscribers=9,
        missed=crowd(1, FAILED, "550 no"),
    )
    assert answer(facts, at(6)) == (
        "1 of 9 subscribers did not get the last digest: 550 no. Today's mail is due at 07:00 UTC."
    )


# --- no digest


def test_day_that_was_given_up_says_why_and_when_the_next_try_comes() -> None:
    reason = "the LLM answers 401: no such key."
    facts = known(
        day(Outcome.GAVE_UP, reason=reason),
        day(Outcome.GAVE_UP, reason=reason, of=GALAXIES),
        day(Outcome.DIGEST, of=QUARKS),
        subscribers=20,
    )
    assert answer(facts, at(14)) == (
        "No digest today for foundations; next try Sat 21 Nov 07:00 UTC: the LLM answers 401: no such key."
    )
    assert answer(facts, at(14), ALL).startswith(
        "No digest today for foundations and galaxies; next try Sat 21 Nov"
    )


def test_list_that_is_due_says_since_when_why_and_when_it_is_tried_again() -> None:
    late = "arXiv's batch of Thursday 19 November was due at 05:15 UTC and has not arrived yet"
    facts = known(day(Outcome.DIGEST, YESTERDAY), attempts=[tried(late, at(7, 30))])
    assert answer(facts, at(7, 32)).startswith(
        "Not yet: foundations, due since 07:00 UTC; next try 07:45 UTC: arXiv's batch of Thu"
    )
    assert answer(facts, at(7, 50)).startswith(
        "Not yet: foundations, due since 07:00 UTC: arXiv's batch of Thu"
    )
    assert answer(facts, at(7, 32), running=False).startswith(
        "Not yet: foundations, due since 07:00 UTC; paperboy run is not active: arXiv's batch of"
    )
    assert answer(facts, at(7, 32), at_work=True) == (
        "A morning is running: foundations, due since 07:00 UTC."
    )


@pytest.mark.parametrize(
    ("reason", "kept"),
    [
        (
            "the LLM at http://127.0.0.1:45177/v1 answers 429: no credit left",
            "the LLM answers 429: no",
        ),
        (
            "the LLM at [::1]:8000 cannot be reached (refused)",
            "the LLM cannot be reached (refused)",
        ),
        (
            "cannot reach mail server smtp.example.org:587: refused",
            "cannot reach mail server: refused",
        ),
    ],
)
def test_reason_leaves_out_where_the_server_is(reason: str, kept: str) -> None:
    facts = known(attempts=[tried(reason, at(7, 15))])
    assert f"; next try 07:30 UTC: {kept}" in answer(facts, at(7, 20))


@pytest.mark.parametrize(
    ("facts", "now", "said"),
    [
        (known(), at(6), "Today's mail is due at 07:00 UTC; paperboy run is not active."),
        (known(), at(8), "Not yet: foundations, due since 07:00 UTC; paperboy run is not active."),
        (
            known(day(Outcome.GAVE_UP, reason="the LLM is dead")),
            at(14),
            "No digest today for foundations; paperboy run is not active: the LLM is dead.",
        ),
        (
            known(GOT, subscribers=9, missed=crowd(9, DeliveryState.PENDING, "no", at(9, 5))),
            at(9),
            "9 of 9 subscribers did not get today's mail: no.",
        ),
    ],
)
def test_answer_says_that_no_run_is_at_work(facts: Known, now: datetime, said: str) -> None:
    assert answer(facts, now, running=False) == said
    assert "not active" not in answer(facts, now)


def test_yesterdays_failure_is_not_todays_reason() -> None:
    facts = known(attempts=[tried("the LLM was dead", at(20, days=-1))])
    assert answer(facts, at(7)) == "Not yet: foundations, due since 07:00 UTC."


def test_answer_says_what_is_wrong_before_what_is_well() -> None:
    facts = known(
        day(Outcome.DIGEST),
        subscribers=9,
        attempts=[tried("it is dead", at(7), "quarks")],
    )
    assert answer(facts, at(8), (FOUNDATIONS, QUARKS)) == (
        "Not yet: quarks, due since 07:00 UTC: it is dead. Everyone else got today's mail: 1 list, 9 subscribers."
    )


# --- days without mail


def test_quiet_weekend_names_the_next_batch() -> None:
    facts = known(
        *(day(Outcome.QUIET, SATURDAY, WEEKEND, of=entry) for entry in ALL), subscribers=20
    )
    assert answer(facts, at(9, days=1), ALL) == (
        "No mail today: arXiv announced nothing (weekend); the next batch comes Mon 23 Nov 07:00 UTC."
    )


def test_quiet_list_is_named_beside_others() -> None:
    quiet = day(Outcome.QUIET, reason="arXiv had nothing new in its categories", of=QUARKS)
    facts = known(day(Outcome.DIGEST), quiet, subscribers=9)
    assert answer(facts, at(9), (FOUNDATIONS, QUARKS)).startswith(
        "Everyone got today's mail: 1 list, 9 subscribers. No mail today for quarks: arXiv had nothing new in its"
    )


@pytest.mark.parametrize("outcome", [Outcome.DIGEST, Outcome.QUIET])
def test_before_the_hour_of_a_quiet_day_no_mail_is_expected(outcome: Outcome) -> None:
    assert answer(known(day(outcome)), at(6, days=1)) == (
        "No mail is expected today (weekend); the next batch comes Mon 23 Nov 07:00 UTC."
    )


@pytest.mark.parametrize(
    "newest",
    [
        day(Outcome.DIGEST, counts=Counts(9, carried_over=4, selected=5)),
        day(Outcome.DIGEST, deliveries={DeliveryState.PENDING: 9}),
        day(Outcome.GAVE_UP, deliveries={}),
    ],
)
def test_leftover_papers_are_due_on_a_day_without_a_batch(newest: DaySummary) -> None:
    assert "Today's mail is due at 07:00 UTC" in answer(known(newest), at(6, days=1))


def test_list_whose_hour_comes_later_is_named_beside_one_that_is_done() -> None:
    later = replace(QUARKS, send_at=time(9), timezone=ZoneInfo("America/New_York"))
    facts = known(day(Outcome.DIGEST), subscribers=20)
    assert answer(facts, at(9), (FOUNDATIONS, later)) == (
        "Everyone got today's mail: 1 list, 20 subscribers. Today's mail for quarks is due at 09:00 EST."
    )


def test_day_on_which_no_list_sends_names_the_next() -> None:
    entry = replace(FOUNDATIONS, weekdays=frozenset({0}))
    said = "No list sends on Fridays; the next mail comes Mon 23 Nov 07:00 UTC."
    assert (
        answer(known(), at(9), [entry])
        == answer(known(day(Outcome.SKIPPED, of=entry)), at(9), [entry])
        == said
    )


# --- the line


def test_of_many_lists_two_are_named() -> None:
    many = [replace(FOUNDATIONS, name=f"mathematics-{number}") for number in range(40)]
    assert answer(known(), at(8), many) == (
        "Not yet: mathematics-0, mathematics-1 and 38 more, due since 07:00 UTC."
    )


def test_text_from_elsewhere_is_shown_without_control_characters_and_addresses() -> None:
    evil = "550 \x1b[2J<ada@example.org>\r\nno\u202e such user"
    facts = known(day(Outcome.GAVE_UP, reason=evil))
    assert answer(facts, at(14)).endswith(": 550 [2J<a…@example.org> no such user.")


ROWS = st.lists(
    st.builds(
        missed,
        st.sampled_from([WAITS, LATER, FAILED, UNSURE]),
        st.text(max_size=400),
        st.just(at(23)),
    ),
    max_size=3,
)


@settings(max_examples=100, deadline=None)
@given(
    names=st.lists(st.text("abc-", min_size=1, max_size=80), min_size=1, max_size=12, unique=True),
    outcomes=st.lists(st.sampled_from([*Outcome, None]), min_size=12, max_size=12),
    reason=st.text(max_size=300),
    rows=ROWS,
    hour=st.integers(0, 23),
)
def test_answer_is_always_one_short_line(
    names: list[str],
    outcomes: list[Outcome | None],
    reason: str,
    rows: list[DeliveryRecord],
    hour: int,
) -> None:
    lists = [replace(FOUNDATIONS, name=name) for name in names]
    days = [
        day(outcome, reason=reason, of=entry)
        for entry, outcome in zip(lists, outcomes, strict=False)
        if outcome
    ]
    attempts = [tried(reason, at(7), name) for name in names]
    facts = known(*days, subscribers=99_999, missed=rows, attempts=attempts)
    said = answer(facts, at(hour), lists)
    assert 10 < len(said) <= status.MOST
    assert not [
        character
        for character in said
        if unicodedata.category(character) in {"Cc", "Cs", "Zl", "Zp"}
    ]


# --- what comes next

DAILY = FOUNDATIONS
TOKYO = replace(DAILY, timezone=ZoneInfo("Asia/Tokyo"))
SUNDAYS = replace(DAILY, weekdays=frozenset({6}))
WORKDAYS = replace(DAILY, weekdays=frozenset({0, 2, 4}))


def at_once(entry: MailingList, now: datetime) -> ListStatus:
    """The list, of which the newest day left nothing over."""
    newest = day(Outcome.QUIET, due.local_date(entry, now) - timedelta(days=1), of=entry)
    standing = due.standing(entry, None, None, now, PATIENCE)
    return ListStatus(entry, standing, now, None, (newest,))


@pytest.mark.parametrize(
    ("entry", "morning", "why"),
    [
        (DAILY, "2026-11-20", ""),  # a Friday
        (DAILY, "2026-11-21", "weekend"),
        (DAILY, "2026-11-27", "holiday"),
        (TOKYO, "2026-11-21", ""),  # still Friday in New York
        (SUNDAYS, "2026-11-22", ""),  # a week's batches
        (WORKDAYS, "2026-11-27", ""),  # Wednesday's, visible on Thursday
    ],
)
def test_morning_without_a_batch_says_why(entry: MailingList, morning: str, why: str) -> None:
    start = due.begins(entry, date.fromisoformat(morning))
    assert at_once(entry, start).no_batch == why


def test_holiday_that_the_operator_names_counts() -> None:
    thursday = at(6, days=-1)
    assert at_once(DAILY, thursday).no_batch == ""
    assert (
        at_once(replace(DAILY, holidays=frozenset({date(2026, 11, 18)})), thursday).no_batch
        == "holiday"
    )


@pytest.mark.parametrize(
    ("entry", "now", "comes"),
    [
        (DAILY, "2026-11-20T06:00Z", "2026-11-20"),
        (DAILY, "2026-11-20T07:00Z", "2026-11-23"),
        (DAILY, "2026-11-26T07:00Z", "2026-11-30"),  # over Thanksgiving and the weekend
        (WORKDAYS, "2026-11-20T08:00Z", "2026-11-23"),
    ],
)
def test_next_batch_comes_with_the_lists_next_morning_that_has_one(
    entry: MailingList, now: str, comes: str
) -> None:
    at_that = at_once(entry, datetime.fromisoformat(now))
    assert at_that.next_batch == due.begins(entry, date.fromisoformat(comes))


# --- from the store


def test_answer_is_read_from_the_store(tmp_path: Path) -> None:
    """Somebody who left the file since is not missing."""
    both = [replace(FOUNDATIONS, subscribers=(ADA, Subscriber("Grace@example.org"))), GALAXIES]
    with Store.open(tmp_path / "p.db") as store:

        def said(lists: Sequence[MailingList], now: datetime) -> str:
            return status.answer(status.read(store, lists, now, PATIENCE))

        morning(store, {"ada": "sent", "grace": "refused", "gone": "refused"})
        morning(store, {"ada": "sent"}, list_name="galaxies")
        assert (
            said(both, at(9)) == "1 of 2 subscribers did not get today's mail: 550 5.7.1 not today."
        )
        assert said([both[1]], at(9)) == "Everyone got today's mail: 1 list, 1 subscriber."


@pytest.mark.parametrize(
    ("galaxies", "said"),
    [
        ({"ada": "sent", "Grace": "sent"}, "Everyone got today's mail: 2 lists, 2 subscribers."),
        ({"ada": "sent", "vera": "sent"}, "Everyone got today's mail: 2 lists, 3 subscribers."),
        ({"grace": "refused"}, "1 of 2 subscribers did not get today's mail: 550 5.7.1 not today."),
        ({"ada": "in the outbox"}, "Today's mail for galaxies is in the outbox: 1 list."),
    ],
)
def test_person_on_several_lists_is_one_subscriber(
    tmp_path: Path, galaxies: Mapping[str, str], said: str
) -> None:
    people = (ADA, Subscriber("grace@example.org"), Subscriber("vera@example.org"))
    both = [replace(entry, subscribers=people) for entry in (FOUNDATIONS, GALAXIES)]
    with Store.open(tmp_path / "p.db") as store:
        morning(store, {"ada": "sent", "grace": "sent"})
        morning(store, galaxies, list_name="galaxies")
        assert status.answer(status.read(store, both, at(9), PATIENCE)).startswith(said)


@pytest.mark.parametrize(
    ("reasons", "said"),
    [
        (["the disk is full", "the LLM is dead", "the LLM is dead"], ": the LLM is dead."),
        (["the disk is full", "the LLM is dead", "arXiv is late"], ": the disk is full."),
    ],
)
def test_reason_is_that_of_most_lists_or_the_first(reasons: list[str], said: str) -> None:
    days = [
        day(Outcome.GAVE_UP, reason=reason, of=entry)
        for entry, reason in zip(ALL, reasons, strict=True)
    ]
    assert answer(known(*days), at(14), ALL).endswith(f"next try Sat 21 Nov 07:00 UTC{said}")


def test_only_lists_that_the_service_has_known_for_a_day_are_due() -> None:
    """A new one owes nothing yet, however late it is made."""
    with Store.in_memory() as store:
        found = status.read(store, ALL, at(9), PATIENCE)
        assert found.health == "waiting"
        assert status.answer(found) == (
            "No mail today: set up after today's hour; "
            "the first comes Sat 21 Nov 07:00 UTC, or now with paperboy once."
        )
        store.days.first_seen(["foundations"], NOW - timedelta(days=9))
        assert status.answer(status.read(store, ALL[:2], at(9), PATIENCE)) == (
            "Not yet: foundations, due since 07:00 UTC."
        )


def test_list_that_lost_its_subscribers_has_no_attempt() -> None:
    with Store.in_memory() as store:
        store.days.note_attempt(tried("the LLM is down", at(8)))
        lists = [FOUNDATIONS, replace(FOUNDATIONS, subscribers=())]
        found = [status.read(store, [entry], at(9), PATIENCE).lists[0] for entry in lists]
        assert [bool(entry.attempt) for entry in found] == [True, False]
