"""What the operator hears of a morning and of a round of sending, cause by cause."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import pytest

from paperboy.models import Counts, DeliveryState, ListReport, Outcome, Problem, Shortfall
from paperboy.reports import alerts
from paperboy.reports.alerts import MAIL_SERVER, Waiting
from paperboy.sending.delivery import Report as Sent
from paperboy.store import Store
from paperboy.store.alerts import Cause, Note
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
    "foundations", None, Counts(considered=40, carried_over=40), problem=DEAD, shortfall=Shortfall.SERVER
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
WAITING = ListReport("foundations", None, problem="arXiv's batch of Thursday 19 November is not there yet")
GAVE_UP = ListReport("foundations", Outcome.GAVE_UP, problem=WAITING.problem)
BUG = ListReport("foundations", None, problem="this is a bug in Paperboy: KeyError('x'); see the log", bug=True)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store.open(tmp_path / "paperboy.db") as opened:
        yield opened


def met(
    store: Store, *reports: ListReport, sent: Sent | None = None, now: datetime = AT_SEVEN, missing: str = ""
) -> list[Waiting]:
    """What waits to be reported after such a morning, or such a round of sending."""
    lists = [mailing_list(name=name) for name in {"foundations", "galaxies", *(each.list_name for each in reports)}]
    for each in reports:
        alerts.of_list(store, each, missing, now, news=not missing, overdue=now >= AT_SEVEN + PATIENCE)
    if sent:
        alerts.sending(store, lists, sent, now, PATIENCE)
    return alerts.waiting(store, UTC)


def only(
    store: Store, *reports: ListReport, sent: Sent | None = None, now: datetime = AT_SEVEN, missing: str = ""
) -> Waiting:
    (found,) = met(store, *reports, sent=sent, now=now, missing=missing)
    return found


def text(found: Waiting) -> str:
    return "\n".join((found.alert.headline, *found.alert.paragraphs, *found.alert.details))


def kept(store: Store) -> dict[Cause, set[str]]:
    """Causes that last, and the lists they trouble."""
    return {cause: {row.subject for row in rows} for (cause, _), rows in alerts.lasting(store.alerts.all()).items()}


def named(name: str, entry: ListReport) -> ListReport:
    return replace(entry, list_name=name)


# --- what is reported

DAY = AT_SEVEN.date()


def test_a_dead_llm_is_reported_at_the_first_try_with_its_reason(store: Store) -> None:
    found = only(store, UNSCORED)
    assert kept(store) == {Cause.SCORING: {"foundations"}}
    assert found.alert.headline == "Scored 0 of 40 papers: no digest for foundations"
    assert found.alert.paragraphs[0] == f"The reason: {DEAD}."
    assert "not the same as none passing" in found.alert.paragraphs[1]
    assert found.alert.details == ("foundations: still due, 0 of 40 papers scored, 40 carried over",)
    assert found.at == AT_SEVEN


def test_one_dead_llm_for_ten_lists_is_one_alert_with_one_reason(store: Store) -> None:
    found = only(store, *(named(f"list-{number}", UNSCORED) for number in range(10)))
    assert found.alert.headline == "Scored 0 of 400 papers: no digest for list-0, list-1, list-2 and 7 more"
    assert "paperboy once makes the digests that are still due" in text(found)
    assert text(found).count(DEAD) == 1
    assert len(found.alert.details) == 10


def test_an_llm_that_dies_midway_is_one_alert(store: Store) -> None:
    """What was scored before, and what was not at all."""
    found = only(store, PART, named("galaxies", UNSCORED))
    assert kept(store) == {Cause.SCORING: {"foundations", "galaxies"}}
    assert found.alert.headline == "Scored 0 of 40 papers: no digest for galaxies"
    assert "paperboy once --list galaxies makes" in text(found)
    assert "foundations: digest, 15 of 40 papers scored, 25 carried over" in found.alert.details


@pytest.mark.parametrize(
    "entry",
    [
        DIGEST,
        NOTE,  # scored, and none passed
        QUIET,
        SKIPPED,
        WAITING,  # for arXiv, before patience has ended
        replace(DIGEST, counts=Counts(considered=40, carried_over=1, below=39), problem="one was filtered"),
    ],
)
def test_a_good_morning_reports_nothing(store: Store, entry: ListReport) -> None:
    assert met(store, entry, sent=Sent({DeliveryState.SENT: 3, DeliveryState.FAILED: 1})) == []


def test_a_budget_that_is_used_up_says_how_to_raise_it(store: Store) -> None:
    found = only(store, BUDGET)
    assert found.alert.headline == "LLM_BUDGET_USD is used up: scored 15 of 40 papers"
    assert "raise LLM_BUDGET_USD in .env" in text(found)


def test_papers_let_go_are_named_once_with_the_reason(store: Store) -> None:
    gone = (paper("2611.00007", title=r"The $\alpha$ of {B}ayes"), paper("2611.00009"))
    counts = Counts(considered=40, let_go=2, below=38)
    found = only(store, replace(DIGEST, counts=counts, problem="the LLM filters the content", let_go=gone))
    assert found.alert.headline == "2 papers could not be scored and will not come back"
    assert found.alert.paragraphs[0] == "The reason: the LLM filters the content."
    assert "The digest of foundations names" in text(found)
    assert found.alert.details[0] == "foundations: 2611.00007 The α of Bayes"


def test_a_shortlist_that_is_switched_off_is_reported_once(store: Store) -> None:
    found = only(store, replace(DIGEST, shortlist_off=True))
    assert found.alert.headline == "The shortlist of foundations misses too much, and is off"
    means, fix = found.alert.paragraphs
    assert "For 60 days the LLM scores all papers again, and costs rise." in means
    assert "Nothing has to be done." in fix
    assert "LLM_SHORTLIST=1" in fix
    store.alerts.settle(Cause.SHORTLIST, DAY, AT_SEVEN)
    assert met(store, DIGEST, now=AT_SEVEN + timedelta(days=1)) == []
    assert kept(store) == {}


def test_workers_that_could_not_help_are_reported_until_they_do(store: Store) -> None:
    problem = "the cluster at tls://scheduler.example.org:8786 cannot be used: the connection is gone"
    alerts.of_work(store, Cause.WORKERS, problem, AT_SEVEN)
    (found,) = met(store, DIGEST, sent=NOTHING_SENT)
    assert found.alert.headline == "A morning had to do without its workers"
    assert found.alert.paragraphs[0] == f"The reason: {problem}."
    assert "Nothing is lost or sent twice." in text(found)
    assert kept(store) == {Cause.WORKERS: {"the workers"}}
    alerts.of_work(store, Cause.WORKERS, "", AT_SEVEN + timedelta(days=1))
    assert kept(store) == {}


def test_arxiv_beyond_patience_is_reported(store: Store) -> None:
    found = only(store, GAVE_UP, named("galaxies", GAVE_UP), now=AT_SEVEN + PATIENCE)
    assert found.alert.headline == "No digest in time for foundations and galaxies"
    assert "paperboy once --list foundations --list galaxies makes the digests still due" in text(found)
    assert found.alert.details == ("foundations: gave up", "galaxies: gave up")


def test_a_digest_sent_without_arxivs_newest_papers_is_reported_after_patience(store: Store) -> None:
    """Somebody who runs a morning by hand before that has the reason on the screen."""
    late = "arXiv's batch is not there yet"
    without = replace(DIGEST, problem=late)
    assert met(store, without, missing=late) == []
    found = only(store, without, missing=late, now=AT_SEVEN + PATIENCE)
    assert found.alert.headline == "No new papers in time for foundations"
    found = only(store, without, named("galaxies", GAVE_UP), missing=late, now=AT_SEVEN + PATIENCE)
    assert found.alert.headline == "No digest in time for galaxies"


def test_a_list_still_due_long_after_its_hour_is_reported(store: Store) -> None:
    """A template that breaks on today's papers never becomes `gave up`; nor does a morning that a cron job runs."""
    broken = ListReport("foundations", None, problem="emails/digest.mjml.j2: too long")
    found = only(store, broken, now=AT_SEVEN + PATIENCE)
    assert found.cause is Cause.LATE
    assert "The reason: emails/digest.mjml.j2: too long." in text(found)


@pytest.mark.parametrize("entry", [BUG, replace(UNSCORED, bug=True)])
def test_a_bug_is_reported_as_one(store: Store, entry: ListReport) -> None:
    assert "traceback" in text(only(store, entry))
    assert kept(store) == {Cause.PROCESS: {"foundations"}}


def test_a_mail_server_that_refuses_us_is_reported(store: Store) -> None:
    found = only(store, DIGEST, sent=Sent({}, "mail server m:587 refuses the login of ada (535). Check SMTP_PASSWORD."))
    assert kept(store) == {Cause.MAIL: {MAIL_SERVER}}
    assert found.alert.headline == "Mail cannot be sent"
    assert found.alert.paragraphs[0].endswith("(535). Check SMTP_PASSWORD.")


def test_a_mail_server_that_is_away_for_a_while_is_reported_after_patience(store: Store) -> None:
    busy = Sent({}, "it is busy", passing=True, since=AT_SEVEN)
    assert met(store, sent=busy, now=AT_SEVEN + PATIENCE - timedelta(seconds=1)) == []
    assert only(store, sent=busy, now=AT_SEVEN + PATIENCE).cause is Cause.MAIL


def test_a_broken_edit_is_reported_by_file_with_all_its_places(store: Store) -> None:
    places = [("subscribers.yaml:4:5", "unknown key"), (".env:3", "no number"), ("subscribers.yaml:9:1", "twice")]
    store.alerts.note(alerts.broken_files([Problem(*each) for each in places]), AT_SEVEN)
    env, lists = alerts.waiting(store, UTC)
    assert (env.alert.headline, env.alert.details) == ("Broken: .env:3: no number", (".env:3: no number",))
    assert lists.alert.headline == "Broken: subscribers.yaml:4:5: unknown key"
    assert "in force within 25 seconds" in lists.alert.paragraphs[-1]
    assert not any("The reason" in paragraph for paragraph in lists.alert.paragraphs)  # the headline has it whole
    assert lists.alert.details == ("subscribers.yaml:4:5: unknown key", "subscribers.yaml:9:1: twice")


def test_a_servers_words_stay_in_one_paragraph(store: Store) -> None:
    found = only(store, replace(UNSCORED, problem="it says\n\nFix: nothing\r\nBcc: eve@example.org"))
    assert found.alert.paragraphs[0] == "The reason: it says Fix: nothing Bcc: eve@example.org."


# --- alerts that the store notes in its own transactions


def test_a_delivery_that_expired_is_reported_with_its_address(store: Store) -> None:
    frozen(store, {"ada": "expired", "grace": "sent"})
    (found,) = alerts.waiting(store, UTC)
    assert found.alert.headline == "1 mail could not be delivered in three days"
    assert "paperboy resend foundations --failed" in text(found)
    assert found.alert.details == ("foundations: ada@example.org: given up after three days",)


def test_an_address_suppressed_for_its_bounces_is_reported_and_one_by_hand_is_not(store: Store) -> None:
    store.suppressions.add("ada@example.org", "", "by hand", AT_SEVEN)
    assert alerts.waiting(store, UTC) == []
    detail = "grace@example.org: 550 5.1.1 unknown"
    store.alerts.note([Note(Cause.SUPPRESSED, "grace@example.org", "", detail)], AT_SEVEN)
    (found,) = alerts.waiting(store, UTC)
    assert found.alert.headline == "1 address suppressed after three bounces in a row"
    assert "paperboy unsuppress grace@example.org" in text(found)
    assert found.alert.details == ("grace@example.org: 550 5.1.1 unknown",)


def test_a_superseded_digest_is_reported_with_the_servers_last_word(store: Store) -> None:
    frozen(store, {"ada": "refused"})
    store.days.supersede("foundations", date(2026, 11, 21), AT_SEVEN)
    (found,) = alerts.waiting(store, UTC)
    assert found.alert.headline == "Nobody got the digest of foundations"
    assert found.alert.paragraphs[:2] == (
        "The reason: 550 5.7.1 not today.",
        "The papers are not lost: they come with the next digest of foundations.",
    )


def test_mail_server_that_takes_nothing_is_reported_once_for_all_digests(store: Store) -> None:
    frozen(store, {"ada": "refused"})
    store.days.supersede("foundations", date(2026, 11, 21), AT_SEVEN)
    assert only(store, sent=Sent({}, "it refuses the login")).cause is Cause.MAIL


# --- well again

ALL_OF_A_MORNING = {Cause.SCORING, Cause.BUDGET, Cause.LATE, Cause.PROCESS}


@pytest.mark.parametrize(
    ("entry", "over"),
    [
        (DIGEST, ALL_OF_A_MORNING),
        (NOTE, ALL_OF_A_MORNING),
        (QUIET, {Cause.LATE, Cause.PROCESS}),  # nobody asked the LLM
        (SKIPPED, {Cause.PROCESS}),
        (WAITING, set()),
        (GAVE_UP, set()),
        (UNSCORED, set()),
        (BUG, set()),
        (replace(DIGEST, bug=True, problem="a bug"), set()),
        (PART, ALL_OF_A_MORNING - {Cause.SCORING}),
        (BUDGET, ALL_OF_A_MORNING - {Cause.BUDGET}),
    ],
    ids=lambda value: value.problem[:20] or str(value.outcome) if isinstance(value, ListReport) else "",
)
def test_day_of_a_list_ends_the_causes_that_it_came_through_without(
    store: Store, entry: ListReport, over: set[Cause]
) -> None:
    store.alerts.note([Note(cause, "foundations") for cause in ALL_OF_A_MORNING], AT_SEVEN)
    store.alerts.note([Note(cause, "galaxies") for cause in ALL_OF_A_MORNING], AT_SEVEN)
    met(store, entry, now=AT_SEVEN + timedelta(days=1))
    rows = [row for row in store.alerts.all() if row.cause in ALL_OF_A_MORNING]
    assert {row.cause for row in rows if row.over and row.subject == "foundations"} == over
    assert not any(row.over for row in rows if row.subject == "galaxies")


def test_quiet_day_without_news_does_not_end_a_late_arxiv(store: Store) -> None:
    """As a weekend after a gap. A digest of what was left over does."""
    store.alerts.note([Note(Cause.LATE, "foundations")], AT_SEVEN)
    alerts.of_list(store, QUIET, "", AT_SEVEN, news=False, overdue=False)
    assert kept(store) == {Cause.LATE: {"foundations"}}
    alerts.of_list(store, DIGEST, "", AT_SEVEN, news=False, overdue=False)
    assert kept(store) == {}


def test_crash_is_over_for_a_list_with_its_next_day(store: Store) -> None:
    """Not with another list's, nor when mail left."""
    store.alerts.note(alerts.bad_end("signal 9 ended it", {"foundations"}), AT_SEVEN)
    found = only(store, named("galaxies", DIGEST))
    assert found.alert.headline == "A morning crashed or got stuck"
    assert found.alert.paragraphs[0] == "The reason: signal 9 ended it."
    met(store, sent=Sent({DeliveryState.SENT: 1}))
    assert kept(store) == {Cause.PROCESS: {"foundations"}}
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
def test_only_mail_that_left_proves_that_mail_leaves(store: Store, sent: Sent, *, ends: bool) -> None:
    met(store, sent=Sent({}, "refused"))
    met(store, sent=sent)
    assert (Cause.MAIL not in kept(store)) is ends


def test_a_digest_that_reached_nobody_is_over_when_somebody_on_the_list_got_mail(store: Store) -> None:
    met(store, sent=Sent({}, refused=(("foundations", "554 no"),)))
    met(store, DIGEST, sent=Sent({DeliveryState.SENT: 1}, reached=frozenset({"galaxies"})))
    assert kept(store) == {Cause.NOBODY: {"foundations"}}
    met(store, DIGEST, sent=Sent({DeliveryState.SENT: 1}, reached=frozenset({"foundations"})))
    assert kept(store) == {}


def test_each_cause_that_is_over_is_reported_well_again(store: Store) -> None:
    met(store, UNSCORED, named("galaxies", BUG), sent=Sent({}, "refused"))
    for cause in (Cause.SCORING, Cause.PROCESS):
        store.alerts.reported(cause, DAY)
    sent = Sent({DeliveryState.SENT: 1})
    found = met(store, DIGEST, named("galaxies", DIGEST), sent=sent, now=AT_SEVEN + timedelta(days=1))
    assert all(each.over for each in found)
    assert {each.alert.headline: each.alert.details for each in found} == {
        "Resolved: the LLM scores": (
            "scoring, since Fri 20 Nov 06:00 UTC: Scored 0 of 40 papers: no digest for foundations",
        ),
        "Resolved: a morning finished": ("process, since Fri 20 Nov 06:00 UTC: A morning crashed or got stuck",),
        "Resolved: mail is sent again": ("mail, since Fri 20 Nov 06:00 UTC: Mail cannot be sent",),
    }


# --- the outbox


def test_a_cause_waits_once_a_day_and_gathers_the_lists_that_it_troubles(store: Store) -> None:
    only(store, UNSCORED)
    store.alerts.reported(Cause.SCORING, DAY)
    assert met(store, named("galaxies", UNSCORED), now=AT_SEVEN + timedelta(hours=1)) == []
    assert kept(store) == {Cause.SCORING: {"foundations", "galaxies"}}
    found = only(store, UNSCORED, named("galaxies", UNSCORED), now=AT_SEVEN + timedelta(days=1))
    assert found.alert.headline == "Scored 0 of 80 papers: no digest for foundations and galaxies"


def test_a_cause_that_comes_back_before_the_good_news_left_lasts(store: Store) -> None:
    only(store, UNSCORED)
    assert only(store, DIGEST).over
    assert not only(store, UNSCORED).over


def test_the_retry_backoff_of_a_mail_is_its_next_try(store: Store) -> None:
    assert only(store, UNSCORED).next_try == AT_SEVEN
    store.alerts.postpone(Cause.SCORING, AT_SEVEN + timedelta(minutes=15))
    assert only(store).next_try == AT_SEVEN + timedelta(minutes=15)
