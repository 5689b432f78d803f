"""What a morning means for the operator, kind by kind."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, date, datetime, timedelta

import pytest

from paperboy.alerts import (
    BESIDE_LISTS,
    MAIL_SERVER,
    Cause,
    Ended,
    Kind,
    broken_morning,
    causes,
    well,
    well_again,
    words,
)
from paperboy.delivery import Report as Sent
from paperboy.models import (
    Addressed,
    Counts,
    Delivery,
    DeliveryState,
    ListReport,
    Outcome,
    Shortfall,
    Subscriber,
    Superseded,
)
from paperboy.models import MorningReport as Report
from tests.builders import mailing_list, paper

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


def named(name: str, entry: ListReport) -> ListReport:
    return replace(entry, list_name=name)


def found(*entries: ListReport, sent: Sent = NOTHING_SENT, now: datetime = AT_SEVEN) -> tuple[Cause, ...]:
    lists = [mailing_list(name=entry.list_name) for entry in entries]
    return causes(Report(entries), sent, lists, now, PATIENCE)


def only(*entries: ListReport, sent: Sent = NOTHING_SENT, now: datetime = AT_SEVEN) -> Cause:
    (cause,) = found(*entries, sent=sent, now=now)
    return cause


def text(cause: Cause) -> str:
    return "\n".join((cause.alert.headline, *cause.alert.paragraphs, *cause.alert.details))


# --- scoring


def test_a_dead_llm_is_told_at_the_first_try_with_its_reason() -> None:
    cause = only(UNSCORED)
    assert (cause.key, cause.about) == (Kind.SCORING, {"foundations"})
    assert cause.alert.headline == "Scored 0 of 40 papers: no digest for foundations"
    assert "not a morning on which none passed" in cause.alert.paragraphs[0]
    assert cause.alert.paragraphs[1] == f"The reason: {DEAD}."
    assert cause.alert.details == ("foundations: still due, 0 of 40 papers scored, 40 carried over",)


def test_one_dead_llm_for_ten_lists_is_one_alert_with_one_reason() -> None:
    cause = only(*(named(f"list-{number}", UNSCORED) for number in range(10)))
    assert cause.alert.headline == "Scored 0 of 400 papers: no digest for list-0, list-1, list-2 and 7 more"
    assert text(cause).count(DEAD) == 1
    assert len(cause.about) == len(cause.alert.details) == 10


def test_several_reasons_are_told_once_each_and_three_at_most() -> None:
    entries = [named(f"list-{number}", replace(UNSCORED, problem=f"reason {number // 2}")) for number in range(10)]
    reasons = [paragraph for paragraph in only(*entries).alert.paragraphs if paragraph.startswith("The reason")]
    assert reasons == ["The reason: reason 0.", "The reason: reason 1.", "The reason: reason 2."]


def test_an_llm_that_dies_on_the_way_is_one_alert_too() -> None:
    """What was scored before, and what was not at all."""
    cause = only(PART, named("galaxies", UNSCORED))
    assert cause.key == Kind.SCORING
    assert cause.about == {"foundations", "galaxies"}
    assert cause.alert.headline == "Scored 0 of 40 papers: no digest for galaxies"
    assert "For foundations it gave some scores first" in text(cause)


def test_a_list_that_was_given_up_with_nothing_scored_is_the_same_cause() -> None:
    given_up = replace(UNSCORED, outcome=Outcome.GAVE_UP)
    assert only(given_up).key == Kind.SCORING
    assert only(given_up).alert.details == ("foundations: gave up, 0 of 40 papers scored, 40 carried over",)


def test_every_paper_refused_by_itself_is_a_zero_as_well() -> None:
    refused = ListReport("foundations", None, Counts(considered=1, carried_over=1), problem="the LLM filters it")
    assert only(refused).alert.headline == "Scored 0 of 1 paper: no digest for foundations"


def test_scored_and_none_passed_is_nothing_to_tell() -> None:
    assert found(NOTE) == ()


def test_papers_that_failed_by_themselves_and_come_back_are_nothing_to_tell() -> None:
    some = ListReport(
        "foundations", Outcome.DIGEST, Counts(considered=40, carried_over=1, below=39), problem="filtered"
    )
    assert found(some) == ()


def test_a_part_that_was_scored_says_how_much() -> None:
    cause = only(PART)
    assert cause.key == Kind.PART_SCORED
    assert cause.alert.headline == "Scored only 15 of 40 papers for foundations"
    assert "answers 503." in text(cause)
    assert cause.alert.details == ("foundations: digest, 15 of 40 papers scored, 25 carried over",)


# --- the budget


def test_a_budget_that_is_used_up_says_how_to_raise_it() -> None:
    cause = only(BUDGET)
    assert cause.key == Kind.BUDGET
    assert cause.alert.headline == "LLM_BUDGET_USD is used up: scored 15 of 40 papers"
    assert "raise LLM_BUDGET_USD in .env" in text(cause)
    assert "no digest" not in text(cause)


def test_a_budget_that_covers_nothing_is_no_dead_llm() -> None:
    cause = only(BUDGET, named("galaxies", replace(UNSCORED, shortfall=Shortfall.BUDGET)))
    assert cause.key == Kind.BUDGET
    assert "Nothing could be scored for galaxies, so there is no digest; all comes back next morning." in text(cause)


# --- let go


def test_papers_that_are_let_go_are_named_once_with_the_reason() -> None:
    gone = (paper("2611.00007", title=r"The $\alpha$ of {B}ayes"), paper("2611.00009"))
    entry = ListReport(
        "foundations",
        Outcome.DIGEST,
        Counts(considered=40, let_go=2, below=38),
        problem="the LLM filters the content",
        let_go=gone,
    )
    cause = only(entry)
    assert cause.about == frozenset()  # so it is never over
    assert cause.alert.headline == "2 papers could not be scored and will not come back"
    assert "The reason: the LLM filters the content." in cause.alert.paragraphs
    assert cause.alert.details[0] == "foundations: 2611.00007 The α of Bayes"


def test_what_is_let_go_another_day_is_another_cause() -> None:
    counts = Counts(considered=2, let_go=1, below=1)
    first, second = (
        ListReport("foundations", Outcome.NOTE, counts, let_go=(paper(arxiv_id),))
        for arxiv_id in ("2611.00007", "2611.00008")
    )
    assert only(first).key != only(second).key


def test_a_dead_server_is_not_the_reason_why_papers_are_let_go() -> None:
    counts = Counts(considered=3, carried_over=1, let_go=1, below=1)
    entry = ListReport(
        "foundations", Outcome.NOTE, counts, problem=DEAD, shortfall=Shortfall.SERVER, let_go=(paper("2611.00007"),)
    )
    dead, let_go = found(entry)
    assert DEAD in text(dead)
    assert DEAD not in text(let_go)


# --- arXiv, and lists that are stuck


def test_a_list_that_waits_for_arxiv_is_nothing_to_tell_yet() -> None:
    assert found(WAITING) == ()
    assert found(WAITING, now=AT_SEVEN + PATIENCE - timedelta(seconds=1)) == ()


def test_arxiv_beyond_patience_is_told() -> None:
    cause = only(GAVE_UP, named("galaxies", GAVE_UP), now=AT_SEVEN + PATIENCE)
    assert cause.key == Kind.LATE
    assert cause.alert.headline == "arXiv gave no papers in time: no digest for foundations and galaxies"
    assert f"The reason: {GAVE_UP.problem}." in cause.alert.paragraphs
    assert cause.alert.details == ("foundations: gave up", "galaxies: gave up")


def test_what_is_sent_without_arxivs_newest_papers_is_told_when_patience_has_ended() -> None:
    """Somebody who runs a morning by hand before that has the reason on the screen."""
    late = "arXiv's batch is not there yet"
    without = replace(DIGEST, problem=late)

    def told(*reports: ListReport, now: datetime) -> tuple[Cause, ...]:
        lists = [mailing_list(name=each.list_name) for each in reports]
        return causes(Report(reports, missing=late), NOTHING_SENT, lists, now, PATIENCE)

    assert told(without, now=AT_SEVEN) == ()
    (cause,) = told(without, now=AT_SEVEN + PATIENCE)
    assert (cause.key, cause.about) == (Kind.LATE, {"foundations"})
    assert cause.alert.headline == "arXiv gave no papers in time: foundations got what was there"
    assert f"The reason: {late}." in cause.alert.paragraphs
    (cause,) = told(without, named("galaxies", GAVE_UP), now=AT_SEVEN + PATIENCE)
    assert cause.alert.headline == "arXiv gave no papers in time: no digest for galaxies"
    assert "foundations got what was there from before." in text(cause)


def test_a_list_that_is_still_due_long_after_its_hour_is_told() -> None:
    """A template that breaks on today's papers never becomes `gave up`; nor does a morning that a cron job runs."""
    cause = only(ListReport("foundations", None, problem="emails/digest.mjml.j2: too long"), now=AT_SEVEN + PATIENCE)
    assert cause.key == Kind.STUCK
    assert "The reason: emails/digest.mjml.j2: too long." in text(cause)


# --- bugs, and mail


def test_a_bug_is_told_as_one() -> None:
    cause = only(BUG)
    assert cause.key == Kind.BUG
    assert "KeyError('x')" in text(cause)
    assert "traceback" in text(cause)


def test_a_bug_while_scoring_is_no_dead_llm() -> None:
    assert only(replace(UNSCORED, bug=True)).key == Kind.BUG


def test_a_mail_server_that_refuses_us_is_told() -> None:
    cause = only(DIGEST, sent=Sent({}, "mail server m:587 refuses the login of ada (535). Check SMTP_PASSWORD."))
    assert (cause.key, cause.about) == (Kind.MAIL, {MAIL_SERVER})
    assert (
        "The reason: mail server m:587 refuses the login of ada (535). Check SMTP_PASSWORD." in cause.alert.paragraphs
    )


@pytest.mark.parametrize("entry", [DIGEST, QUIET, SKIPPED])
def test_a_good_morning_is_nothing_to_tell(entry: ListReport) -> None:
    assert found(entry, sent=Sent({DeliveryState.SENT: 3, DeliveryState.FAILED: 1})) == ()


def test_what_an_earlier_run_did_is_nothing_of_this_one() -> None:
    assert found(replace(GAVE_UP, earlier=True)) == ()
    assert proved(replace(DIGEST, earlier=True)) == set()


def test_a_servers_words_stay_on_one_line_in_one_paragraph() -> None:
    entry = replace(UNSCORED, problem="it says\n\nMend: nothing\r\nBcc: eve@example.org")
    assert only(entry).alert.paragraphs[1] == "The reason: it says Mend: nothing Bcc: eve@example.org."


@pytest.mark.parametrize(
    ("problem", "told"),
    [
        ("it answers 503", "it answers 503."),
        ("it answers 503.", "it answers 503."),
        ("it answers (Try again.)", "it answers (Try again.)"),
        ("it says “no!”", "it says “no!”"),
        ("it is down (see the log)", "it is down (see the log)."),
    ],
)
def test_a_reason_ends_in_one_full_stop(problem: str, told: str) -> None:
    assert only(replace(UNSCORED, problem=problem)).alert.paragraphs[1] == f"The reason: {told}"


# --- well again

EVERY = {Kind.SCORING, Kind.PART_SCORED, Kind.BUDGET, Kind.LATE, Kind.STUCK, Kind.BUG}
ARRIVED = {Kind.LATE, Kind.STUCK, Kind.BUG}


@pytest.mark.parametrize(
    ("entry", "proven"),
    [
        (DIGEST, EVERY),
        (NOTE, EVERY),
        (QUIET, ARRIVED),  # nobody asked the LLM
        (SKIPPED, set()),
        (WAITING, set()),
        (GAVE_UP, set()),
        (UNSCORED, set()),
        (BUG, set()),
        (replace(DIGEST, bug=True, problem="a bug"), set()),
        (PART, ARRIVED),
        (BUDGET, {Kind.SCORING, Kind.PART_SCORED, *ARRIVED}),
    ],
    ids=lambda value: value.problem[:20] or str(value.outcome) if isinstance(value, ListReport) else "",
)
def test_what_a_lists_morning_proves(entry: ListReport, proven: set[Kind]) -> None:
    assert proved(entry) == proven


def proved(entry: ListReport) -> set[str]:
    """Beside that the morning's process came to its end, which it proves by asking."""
    return {kind for kind, whom in well(Report((entry,), news=True), NOTHING_SENT).items() if whom} - {Kind.PROCESS}


def test_that_a_process_asks_proves_that_it_came_to_its_end() -> None:
    assert well(Report(()), NOTHING_SENT)[Kind.PROCESS]


def test_a_bad_end_is_over_for_a_list_when_a_run_that_tried_it_came_to_its_end() -> None:
    """Not when one for the mail of others did."""
    assert broken_morning("signal 9 ended it", {"foundations"}).about == {"foundations"}
    assert broken_morning("signal 9 ended it").about <= BESIDE_LISTS
    assert "foundations" not in well(Report(()), NOTHING_SENT)[Kind.PROCESS]
    assert "foundations" in well(Report((WAITING,)), NOTHING_SENT)[Kind.PROCESS]


def test_no_list_proves_what_it_was_troubled_by() -> None:
    """Else a cause would be over in the run that met it."""
    for entry in (UNSCORED, PART, BUDGET, GAVE_UP, BUG, WAITING):
        for cause in found(entry, now=AT_SEVEN + PATIENCE):
            assert not cause.about & well(Report((entry,)), NOTHING_SENT)[cause.key]


@pytest.mark.parametrize(
    ("sent", "proves"),
    [
        (Sent({DeliveryState.SENT: 1, DeliveryState.FAILED: 1}), True),
        (Sent({}), False),  # nothing was to be sent
        (Sent({DeliveryState.SUPPRESSED: 1, DeliveryState.DEFERRED: 2}), False),
        (Sent({DeliveryState.SENT: 1}, "refused in the end"), False),
    ],
)
def test_only_mail_that_left_proves_that_mail_leaves(sent: Sent, *, proves: bool) -> None:
    assert bool(well(Report(()), sent)[Kind.MAIL]) is proves


def test_well_again_is_one_mail_for_all_that_is_over() -> None:
    since = datetime(2026, 11, 20, 7, tzinfo=mailing_list().timezone)
    alert = well_again(
        [
            Ended(Kind.SCORING, since, frozenset({"foundations", "galaxies"})),
            Ended(Kind.PART_SCORED, since, frozenset({"foundations"})),
            Ended(Kind.MAIL, since, frozenset({MAIL_SERVER})),
        ]
    )
    assert alert.headline == "Well again: the LLM scores; mail leaves"
    assert alert.details[0] == "scoring, since Fri 20 Nov 07:00 CET: foundations and galaxies"


def test_a_bug_that_does_not_show_is_not_called_mended() -> None:
    alert = well_again([Ended(Kind.BUG, AT_SEVEN, frozenset({"foundations"}))])
    assert "need not be gone" in alert.paragraphs[1]


def test_every_kind_has_words_for_its_end() -> None:
    for kind in Kind:
        assert well_again([Ended(kind, AT_SEVEN, frozenset({"x"}))]).headline.startswith("Well again: ")


@pytest.mark.parametrize(
    ("lists", "said"),
    [("a", "a"), ("ab", "a and b"), ("cab", "a, b and c"), ("dcba", "a, b, c and 1 more"), ("", "")],
)
def test_names(lists: str, said: str) -> None:
    assert words.names(list(lists)) == said


def test_what_was_sent_while_arxiv_was_late_does_not_prove_that_arxiv_is_well() -> None:
    assert well(Report((DIGEST,)), NOTHING_SENT)[Kind.LATE] == {"foundations"}
    assert well(Report((DIGEST,), missing="arXiv's batch is not there yet"), NOTHING_SENT)[Kind.LATE] == frozenset()


def test_a_quiet_day_without_a_new_batch_does_not_prove_that_arxiv_is_well() -> None:
    """As the weekend after a gap; but papers that came do."""
    assert well(Report((QUIET,), news=True), NOTHING_SENT)[Kind.LATE] == {"foundations"}
    assert well(Report((QUIET,)), NOTHING_SENT)[Kind.LATE] == frozenset()
    assert well(Report((DIGEST, named("galaxies", QUIET))), NOTHING_SENT)[Kind.LATE] == {"foundations"}


def test_a_mail_server_that_is_busy_is_a_cause_when_patience_is_over() -> None:
    busy = Sent({}, problem="the mail server takes no connection: 421 busy", passing=True, since=AT_SEVEN)
    assert found(sent=busy, now=AT_SEVEN + PATIENCE - timedelta(seconds=1)) == ()
    assert only(sent=busy, now=AT_SEVEN + PATIENCE).key == Kind.MAIL
    assert only(sent=replace(busy, passing=False), now=AT_SEVEN).key == Kind.MAIL


def test_a_day_without_an_announcement_that_nobody_knew_of_is_told_once_and_is_quiet() -> None:
    gap = replace(GAVE_UP, outcome=Outcome.QUIET)
    (cause,) = causes(Report((gap,), missing=gap.problem), NOTHING_SENT, [mailing_list()], AT_SEVEN, PATIENCE)
    assert cause.key == Kind.LATE
    assert "ARXIV_HOLIDAYS" in " ".join(cause.alert.paragraphs)
    assert causes(Report((gap,)), NOTHING_SENT, [mailing_list()], AT_SEVEN, PATIENCE) == ()


def test_mails_that_were_given_up_are_told_once_with_the_servers_last_words() -> None:
    own = Addressed(Subscriber("ada@example.org"), "<1@example.org>", "token")
    given_up = Delivery(7, 1, "foundations", own, DeliveryState.DEFERRED, reply="RCPT: 450 mailbox busy")
    cause = only(sent=Sent({DeliveryState.FAILED: 1}, expired=(given_up,)))
    assert (cause.key, cause.about) == ("expired 7", frozenset())
    assert cause.alert.headline == "1 mail could not be delivered in three days"
    assert cause.alert.details == ("foundations: ada@example.org: RCPT: 450 mailbox busy",)
    assert "paperboy resend foundations --failed" in " ".join(cause.alert.paragraphs)


def test_suppressed_addresses_are_told_with_the_way_back() -> None:
    bounced = (("ada@example.org", "RCPT: 550 5.1.1 no such user"), ("grace@example.org", "RCPT: 550 5.1.1 unknown"))
    alert = only(sent=Sent({}, suppressed=bounced)).alert
    assert alert.headline == "2 addresses suppressed: not there in three digests running"
    assert "paperboy unsuppress ada@example.org" in " ".join(alert.paragraphs)
    assert len(alert.details) == 2


# --- digests that reached nobody

BACK = Superseded("foundations", date(2026, 11, 19), "RCPT: 454 4.7.1 relay access denied")


def test_a_digest_that_reached_nobody_is_told_with_the_servers_last_word() -> None:
    (cause,) = causes(Report(()), NOTHING_SENT, [], AT_SEVEN, PATIENCE, [BACK])
    assert (cause.key, cause.about) == (Kind.NOBODY, {"foundations"})
    assert cause.alert.headline == "Nobody got the digest of foundations"
    assert cause.alert.paragraphs[:2] == (
        "The reason: RCPT: 454 4.7.1 relay access denied.",
        "The papers are not lost: they come with the next digest of foundations.",
    )
    assert cause.alert.details == ("foundations: RCPT: 454 4.7.1 relay access denied",)


def test_one_that_was_refused_for_all_today_is_the_same_cause_and_its_papers_are_not_back_yet() -> None:
    sent = Sent({DeliveryState.FAILED: 2}, refused=(("galaxies", "RCPT: 554 5.7.1 relay access denied"),))
    cause = only(sent=sent)
    assert (cause.key, cause.about) == (Kind.NOBODY, {"galaxies"})
    assert "not lost" not in text(cause)
    (both,) = causes(Report(()), sent, [], AT_SEVEN, PATIENCE, [BACK])
    assert both.about == {"foundations", "galaxies"}
    assert "they come with the next digest of foundations." in text(both)


def test_it_is_over_when_somebody_on_the_list_got_mail() -> None:
    sent = Sent({DeliveryState.SENT: 1, DeliveryState.FAILED: 2}, reached=frozenset({"foundations"}))
    assert well(Report(()), sent)[Kind.NOBODY] == {"foundations"}
    assert well(Report(()), NOTHING_SENT)[Kind.NOBODY] == frozenset()
