"""What the operator hears of a morning and of a round of sending, cause by cause."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from paperboy.models import (
    Counts,
    DeliveryState,
    ListReport,
    MailingList,
    Outcome,
    Shortfall,
    Subscriber,
)
from paperboy.morning import incidents
from paperboy.morning.fetching import FetchResult
from paperboy.reports.alerts import AlertReporter, Mail, lasting
from paperboy.reports.problems import WORDS, problems, read
from paperboy.sending import delivery
from paperboy.sending.delivery import Report as Sent
from paperboy.store import Store
from paperboy.store.incidents import MAIL_SERVER, THE_WORKERS, Incident, Kind
from tests.builders import mailing_list, paper
from tests.store.ledger import morning as frozen

AT_SEVEN = datetime(2026, 11, 20, 6, tzinfo=UTC)  # the lists are Berlin's
PATIENCE = timedelta(hours=6)
DEAD = "the LLM at https://api.openai.com/v1 answers 401: the key is refused; check OPENAI_API_KEY in .env"

NOTHING_SENT = Sent({})
DIGEST = ListReport("foundations", Outcome.DIGEST, Counts(considered=40, selected=8, below=32))
NOTE = ListReport("foundations", Outcome.NOTE, Counts(considered=40, below=40))
QUIET = ListReport("foundations", Outcome.QUIET)
SKIPPED = ListReport("foundations", Outcome.SKIPPED)
UNSCORED = ListReport(
    "foundations",
    None,
    Counts(considered=40, carried_over=40),
    problem=DEAD,
    shortfall=Shortfall.SERVER,
)
PART = ListReport(
    "foundations",
    Outcome.DIGEST,
    Counts(considered=40, carried_over=25, selected=5, below=10),
    problem="the LLM at https://api.openai.com/v1 answers 503",
    shortfall=Shortfall.SERVER,
)
BUDGET = ListReport(
    "foundations",
    Outcome.DIGEST,
    Counts(considered=40, carried_over=25, selected=5, below=10),
    problem="what is left of LLM_BUDGET_USD for today does not cover another call",
    shortfall=Shortfall.BUDGET,
)
WAITING = ListReport(
    "foundations", None, problem="arXiv's batch of Thursday 19 November is not there yet"
)
GAVE_UP = ListReport("foundations", Outcome.GAVE_UP, problem=WAITING.problem)
BUG = ListReport(
    "foundations", None, problem="this is a bug in Paperboy: KeyError('x'); see the log", bug=True
)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store.open(tmp_path / "paperboy.db") as opened:
        yield opened


READERS = tuple(Subscriber(f"{name}@example.org") for name in ("ada", "grace", "hedy"))
LISTS = (mailing_list(subscribers=READERS), mailing_list(name="galaxies", subscribers=READERS))


def wrong(
    store: Store, lists: Sequence[MailingList] = LISTS, now: datetime = AT_SEVEN
) -> Sequence[Incident]:
    return problems(read(store, lists, now), lists)


def waiting(
    store: Store, lists: Sequence[MailingList] = LISTS, now: datetime = AT_SEVEN
) -> list[Mail]:
    """The mails that are to be written."""
    desk = AlertReporter(store=store, lists=lists, words=WORDS, zone=UTC)
    return desk.plan(wrong(store, lists, now), now)


def met(
    store: Store,
    *reports: ListReport,
    sent: Sent | None = None,
    now: datetime = AT_SEVEN,
    missing: str = "",
) -> list[Mail]:
    """What is to be reported after such a morning, or such a round of sending."""
    others = {entry.list_name for entry in reports} - {known.name for known in LISTS}
    for entry in reports:
        incidents.record(
            store,
            entry,
            FetchResult(missing, blocks=bool(missing), news=not missing),
            now,
            overdue=now >= AT_SEVEN + PATIENCE,
        )
    if sent:
        delivery.record(store, sent, now, PATIENCE)
    return waiting(store, [*LISTS, *(mailing_list(name=name) for name in sorted(others))], now)


def only(store: Store, *reports: ListReport, **how: Any) -> Mail:
    (found,) = met(store, *reports, **how)
    return found


def report(store: Store, kind: Kind, day: date) -> None:
    """As if the mail about a kind had gone out on that day."""
    about = [row for row in wrong(store) if row.kind == kind]
    store.alerts.add(about, day, None, over=False)


def note(
    store: Store, *kinds: Kind, subject: str = "foundations", at: datetime = AT_SEVEN, **more: Any
) -> None:
    store.incidents.note([Incident(kind=kind, subject=subject, **more) for kind in kinds], at)


def text(found: Mail) -> str:
    return "\n".join((found.alert.headline, *found.alert.paragraphs, *found.alert.details))


def kept(store: Store) -> dict[str, set[str]]:
    """Kinds of problem that last, and the lists they trouble."""
    return {rows[0].kind: {row.subject for row in rows} for rows in lasting(wrong(store))}


def named(name: str, entry: ListReport) -> ListReport:
    return replace(entry, list_name=name)


# --- what is reported

DAY = AT_SEVEN.date()


def test_dead_llm_is_reported_at_the_first_try_with_its_reason(store: Store) -> None:
    found = only(store, UNSCORED)
    assert kept(store) == {Kind.SCORING: {"foundations"}}
    assert found.alert.headline == "Scored 0 of 40 papers: no digest for foundations"
    assert found.alert.paragraphs[0] == f"The reason: {DEAD}."
    assert "does not mean that none passed" in found.alert.paragraphs[1]
    assert found.alert.details == (
        "foundations: still due, 0 of 40 papers scored, 40 carried over",
    )
    assert found.at == AT_SEVEN


def test_one_dead_llm_for_ten_lists_is_one_alert_with_one_reason(store: Store) -> None:
    found = only(store, *(named(f"list-{number}", UNSCORED) for number in range(10)))
    assert (
        found.alert.headline
        == "Scored 0 of 400 papers: no digest for list-0, list-1, list-2 and 7 more"
    )
    assert "paperboy once sends what is still due" in text(found)
    assert text(found).count(DEAD) == 1
    assert len(found.alert.details) == 10


def test_llm_that_dies_midway_is_one_alert(store: Store) -> None:
    """What was scored before, and what was not at all."""
    found = only(store, PART, named("galaxies", UNSCORED))
    assert kept(store) == {Kind.SCORING: {"foundations", "galaxies"}}
    assert found.alert.headline == "Scored 0 of 40 papers: no digest for galaxies"
    assert "foundations: digest, 15 of 40 papers scored, 25 carried over" in found.alert.details


@pytest.mark.parametrize(
    "entry",
    [
        DIGEST,
        NOTE,  # scored, and none passed
        QUIET,
        SKIPPED,
        WAITING,  # for arXiv, before patience has ended
        replace(
            DIGEST,
            counts=Counts(considered=40, carried_over=1, below=39),
            problem="one was filtered",
        ),
    ],
)
def test_good_morning_reports_nothing(store: Store, entry: ListReport) -> None:
    assert met(store, entry, sent=Sent({DeliveryState.SENT: 3, DeliveryState.FAILED: 1})) == []


def test_budget_that_is_used_up_says_how_to_raise_it(store: Store) -> None:
    found = only(store, BUDGET)
    assert found.alert.headline == "LLM_BUDGET_USD is used up: scored 15 of 40 papers"
    assert "raise LLM_BUDGET_USD in .env" in text(found)


def test_papers_let_go_are_named_once_with_the_reason(store: Store) -> None:
    gone = (paper("2611.00007", title=r"The $\alpha$ of {B}ayes"), paper("2611.00009"))
    counts = Counts(considered=40, let_go=2, below=38)
    found = only(
        store, replace(DIGEST, counts=counts, problem="the LLM filters the content", let_go=gone)
    )
    assert found.alert.headline == "2 papers could not be scored and will not come back"
    assert found.alert.paragraphs[0] == "The reason: the LLM filters the content."
    assert "The digest of foundations names" in text(found)
    assert found.alert.details[0] == "foundations: 2611.00007 The α of Bayes"


def test_workers_that_could_not_help_are_reported_until_they_do(store: Store) -> None:
    problem = (
        "the cluster at tls://scheduler.example.org:8786 cannot be used: the connection is gone"
    )
    note(store, Kind.WORKERS, subject=THE_WORKERS, reason=problem)
    (found,) = met(store, DIGEST, sent=NOTHING_SENT)
    assert found.alert.headline == "A morning ran without its workers"
    assert found.alert.paragraphs[0] == f"The reason: {problem}."
    assert "Nothing is lost or sent twice." in text(found)
    assert kept(store) == {Kind.WORKERS: {THE_WORKERS}}
    store.incidents.end(Kind.WORKERS, THE_WORKERS, AT_SEVEN + timedelta(days=1))
    assert kept(store) == {}


def test_arxiv_beyond_patience_is_reported(store: Store) -> None:
    found = only(store, GAVE_UP, named("galaxies", GAVE_UP), now=AT_SEVEN + PATIENCE)
    assert found.alert.headline == "No digest in time for foundations and galaxies"
    assert "paperboy once sends what is still due" in text(found)
    assert found.alert.details == ("foundations: gave up", "galaxies: gave up")


def test_digest_sent_without_arxivs_newest_papers_is_reported_after_patience(
    store: Store,
) -> None:
    """Somebody who runs a morning by hand before that has the reason on the screen."""
    late = "arXiv's batch is not there yet"
    without = replace(DIGEST, problem=late)
    assert met(store, without, missing=late) == []
    found = only(store, without, missing=late, now=AT_SEVEN + PATIENCE)
    assert found.alert.headline == "No new papers in time for foundations"
    found = only(store, without, named("galaxies", GAVE_UP), missing=late, now=AT_SEVEN + PATIENCE)
    assert found.alert.headline == "No digest in time for galaxies"


def test_list_still_due_long_after_its_hour_is_reported(store: Store) -> None:
    """A template that breaks on today's papers never becomes `gave up`; nor does a morning that a cron job runs."""
    broken = ListReport("foundations", None, problem="emails/digest.mjml.j2: too long")
    found = only(store, broken, now=AT_SEVEN + PATIENCE)
    assert found.kind == Kind.LATE
    assert "The reason: emails/digest.mjml.j2: too long." in text(found)


@pytest.mark.parametrize("entry", [BUG, replace(UNSCORED, bug=True)])
def test_bug_is_reported_as_one(store: Store, entry: ListReport) -> None:
    assert "traceback" in text(only(store, entry))
    assert kept(store) == {Kind.PROCESS: {"foundations"}}


def test_mail_server_that_refuses_us_is_reported(store: Store) -> None:
    refused = "mail server m:587 refuses the login of ada (535). Check SMTP_PASSWORD."
    found = only(store, DIGEST, sent=Sent({}, refused, since=AT_SEVEN))
    assert kept(store) == {Kind.MAIL: {MAIL_SERVER}}
    assert found.alert.headline == "Mail cannot be sent"
    assert found.alert.paragraphs[0].endswith("(535). Check SMTP_PASSWORD.")


def test_broken_edit_is_reported_by_file_with_all_its_places(store: Store) -> None:
    for file, reason, *lines in (
        (
            "subscribers.yaml",
            "unknown key",
            "subscribers.yaml:4:5: unknown key",
            "subscribers.yaml:9:1: twice",
        ),
        (".env", "no number", ".env:3: no number"),
    ):
        facts = {"place": lines[0].rpartition(": ")[0], "lines": lines}
        note(store, Kind.FILES, subject=file, reason=reason, facts=facts)
    env, lists = waiting(store)
    assert (env.alert.headline, env.alert.details) == (
        "Broken: .env:3: no number",
        (".env:3: no number",),
    )
    assert lists.alert.headline == "Broken: subscribers.yaml:4:5: unknown key"
    assert "in force within 25 seconds" in lists.alert.paragraphs[-1]
    assert not any(
        "The reason" in paragraph for paragraph in lists.alert.paragraphs
    )  # the headline has it whole
    assert lists.alert.details == (
        "subscribers.yaml:4:5: unknown key",
        "subscribers.yaml:9:1: twice",
    )


def test_long_fault_is_cut_in_the_subject_and_whole_in_the_mail(store: Store) -> None:
    reason = f"unknown key {'titel ' * 20}; remove it"
    note(store, Kind.FILES, subject="subscribers.yaml", reason=reason, facts={"place": "line 4"})
    (found,) = waiting(store)
    assert found.alert.headline.endswith("titel…")
    assert found.alert.paragraphs[0].endswith("remove it.")


def test_servers_words_stay_in_one_paragraph(store: Store) -> None:
    found = only(
        store, replace(UNSCORED, problem="it says\n\nFix: nothing\r\nBcc: eve@example.org")
    )
    assert found.alert.paragraphs[0] == "The reason: it says Fix: nothing Bcc: eve@example.org."


# --- what rows of the ledger and of suppressions show


def test_delivery_that_expired_is_reported_with_its_address(store: Store) -> None:
    frozen(store, {"ada": "expired", "grace": "sent"})
    (found,) = waiting(store)
    assert found.alert.headline == "1 mail could not be delivered in three days"
    assert "paperboy resend foundations --failed" in text(found)
    assert found.alert.details == ("foundations: ada@example.org: given up after three days",)


def test_address_suppressed_for_its_bounces_is_reported_and_one_by_hand_is_not(
    store: Store,
) -> None:
    store.suppressions.add("ada@example.org", "", "by hand", AT_SEVEN)
    assert waiting(store) == []
    store.suppressions.add(
        "grace@example.org", "", "it did not exist: 550 5.1.1 unknown", AT_SEVEN, by="bounces"
    )
    (found,) = waiting(store)
    assert found.alert.headline == "1 address suppressed after three bounces in a row"
    assert "paperboy unsuppress grace@example.org" in text(found)
    assert found.alert.details == ("grace@example.org: it did not exist: 550 5.1.1 unknown",)


def test_superseded_digest_is_reported_with_the_servers_last_word(store: Store) -> None:
    frozen(store, {"ada": "refused"})
    store.days.supersede("foundations", date(2026, 11, 21), AT_SEVEN)
    (found,) = waiting(store)
    assert found.alert.headline == "Nobody got the digest of foundations"
    assert found.alert.paragraphs[:2] == (
        "The reason: 550 5.7.1 not today.",
        "The papers are not lost: they come with the next digest of foundations.",
    )


def test_mail_server_that_takes_nothing_is_reported_once_for_all_digests(store: Store) -> None:
    frozen(store, {"ada": "refused"})
    store.days.supersede("foundations", date(2026, 11, 21), AT_SEVEN)
    assert only(store, sent=Sent({}, "it refuses the login", since=AT_SEVEN)).kind == Kind.MAIL


# --- well again

ALL_OF_A_MORNING = {Kind.SCORING, Kind.BUDGET, Kind.LATE, Kind.PROCESS}


@pytest.mark.parametrize(
    ("entry", "over"),
    [
        (DIGEST, ALL_OF_A_MORNING),
        (NOTE, ALL_OF_A_MORNING),
        (QUIET, {Kind.LATE, Kind.PROCESS}),  # nobody asked the LLM
        (SKIPPED, {Kind.PROCESS}),
        (WAITING, set()),
        (GAVE_UP, set()),
        (UNSCORED, set()),
        (BUG, set()),
        (replace(DIGEST, bug=True, problem="a bug"), set()),
        (PART, ALL_OF_A_MORNING - {Kind.SCORING}),
        (BUDGET, ALL_OF_A_MORNING - {Kind.BUDGET}),
    ],
    ids=lambda value: (
        value.problem[:20] or str(value.outcome) if isinstance(value, ListReport) else ""
    ),
)
def test_day_of_a_list_ends_the_causes_that_it_came_through_without(
    store: Store, entry: ListReport, over: set[Kind]
) -> None:
    note(store, *ALL_OF_A_MORNING)
    note(store, *ALL_OF_A_MORNING, subject="galaxies")
    met(store, entry, now=AT_SEVEN + timedelta(days=1))
    rows = [row for row in store.incidents.all() if row.kind in ALL_OF_A_MORNING]
    assert {row.kind for row in rows if row.ended and row.subject == "foundations"} == over
    assert not any(row.ended for row in rows if row.subject == "galaxies")


def test_quiet_day_without_news_does_not_end_a_late_arxiv(store: Store) -> None:
    """As a weekend after a gap. A digest of what was left over does."""
    note(store, Kind.LATE)
    incidents.record(store, QUIET, FetchResult(), AT_SEVEN, overdue=False)
    assert kept(store) == {Kind.LATE: {"foundations"}}
    incidents.record(store, DIGEST, FetchResult(), AT_SEVEN, overdue=False)
    assert kept(store) == {}


def test_crash_is_over_for_a_list_with_its_next_day(store: Store) -> None:
    """Not with another list's, nor when mail left."""
    note(store, Kind.PROCESS, reason="signal 9 ended it", facts={"list": "foundations"})
    found = only(store, named("galaxies", DIGEST))
    assert found.alert.headline == "A morning crashed or got stuck"
    assert found.alert.paragraphs[0] == "The reason: signal 9 ended it."
    met(store, sent=Sent({DeliveryState.SENT: 1}))
    assert kept(store) == {Kind.PROCESS: {"foundations"}}
    assert only(store, DIGEST).alert.headline == "Resolved: a morning finished"


@pytest.mark.parametrize(
    ("sent", "ends"),
    [
        (Sent({DeliveryState.SENT: 1, DeliveryState.FAILED: 1}), True),
        (Sent({}), False),  # nothing was to be sent
        (Sent({DeliveryState.SUPPRESSED: 1, DeliveryState.DEFERRED: 2}), False),
        (Sent({DeliveryState.SENT: 1}, "refused in the end"), False),
    ],
)
def test_only_mail_that_left_proves_that_mail_leaves(
    store: Store, sent: Sent, *, ends: bool
) -> None:
    met(store, sent=Sent({}, "refused", since=AT_SEVEN))
    met(store, sent=sent)
    assert (Kind.MAIL not in kept(store)) is ends


def test_digest_that_reached_nobody_is_over_when_somebody_on_the_list_got_mail(
    store: Store,
) -> None:
    frozen(store, {"ada": "refused"}, list_name="galaxies")
    frozen(store, {"ada": "refused"})
    assert only(store).alert.headline == "Nobody got the digest of foundations and galaxies"
    frozen(store, {"ada": "waits"}, DAY + timedelta(days=1))
    assert kept(store) == {Kind.NOBODY: {"foundations", "galaxies"}}
    frozen(store, {"ada": "sent"}, DAY + timedelta(days=2))
    assert kept(store) == {Kind.NOBODY: {"galaxies"}}


def test_each_cause_that_is_over_is_reported_well_again(store: Store) -> None:
    met(store, UNSCORED, named("galaxies", BUG), sent=Sent({}, "refused", since=AT_SEVEN))
    for cause in (Kind.SCORING, Kind.PROCESS):
        report(store, cause, DAY)
    sent = Sent({DeliveryState.SENT: 1})
    found = met(
        store, DIGEST, named("galaxies", DIGEST), sent=sent, now=AT_SEVEN + timedelta(days=1)
    )
    assert all(mail.over for mail in found)
    assert {mail.alert.headline: mail.alert.details for mail in found} == {
        "Resolved: the LLM scores": (
            "scoring, since Fri 20 Nov 06:00 UTC: Scored 0 of 40 papers: no digest for foundations",
        ),
        "Resolved: a morning finished": (
            "process, since Fri 20 Nov 06:00 UTC: A morning crashed or got stuck",
        ),
        "Resolved: mail is sent again": ("mail, since Fri 20 Nov 06:00 UTC: Mail cannot be sent",),
    }


# --- when it is reported


def test_cause_waits_once_a_day_and_gathers_the_lists_that_it_troubles(store: Store) -> None:
    only(store, UNSCORED)
    report(store, Kind.SCORING, DAY)
    assert met(store, named("galaxies", UNSCORED), now=AT_SEVEN + timedelta(hours=1)) == []
    assert kept(store) == {Kind.SCORING: {"foundations", "galaxies"}}
    found = only(store, UNSCORED, named("galaxies", UNSCORED), now=AT_SEVEN + timedelta(days=1))
    assert found.alert.headline == "Scored 0 of 80 papers: no digest for foundations and galaxies"


def test_cause_that_comes_back_before_the_good_news_left_lasts(store: Store) -> None:
    only(store, UNSCORED)
    assert only(store, DIGEST).over
    assert not only(store, UNSCORED).over


def test_event_after_the_days_mail_comes_with_the_next_days_or_at_noon(store: Store) -> None:
    frozen(store, {"ada": "expired", "grace": "sent"})
    assert only(store).due == AT_SEVEN.replace(hour=7, minute=1)
    report(store, Kind.EXPIRED, DAY)
    assert waiting(store) == []
    frozen(store, {"hedy": "expired", "grace": "sent"}, list_name="galaxies")
    assert waiting(store) == []
    found = only(store, now=AT_SEVEN + timedelta(days=1))
    assert found.alert.details == ("galaxies: hedy@example.org: given up after three days",)
    assert found.due == datetime(2026, 11, 21, 12, tzinfo=UTC)
