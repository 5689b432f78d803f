"""Mornings of lists with journals: what is new of a feed, when it is read, and what comes of one that cannot be."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from paperboy.models import Outcome, Paper
from paperboy.store.incidents import Kind
from tests.cli.conftest import FRIDAY, text_of, world
from tests.cli.journals_world import ABSTRACT, ARXIV, BOTH, KEY, MIXED, TEA, Journals, home, path_of
from tests.fakes import app_at
from tests.mail.reading import flat
from tests.servers.arxiv_faults import unavailable
from tests.servers.journals import changing, item, refused
from tests.servers.smtp import Fault

__all__ = ["home", "world"]  # fixtures

PATIENCE = timedelta(hours=6)


def stored(home: Journals, paper_id: str) -> Paper:
    with home.world.store() as store:
        return store.papers.by_id([paper_id])[paper_id]


def mail_of(home: Journals, recipient: str = "grace@example.org") -> str:
    """Return the text of the newest mail to a reader."""
    return flat(text_of(home.world.messages(recipient)[-1]))


def problems(home: Journals) -> list[str]:
    """Return the reasons of the lasting incidents of sources."""
    with home.world.store() as store:
        return [one.reason for one in store.incidents.all() if one.kind == Kind.SOURCE]


# ---- what is new


@pytest.mark.quick
def test_new_list_begins_with_what_is_dated_within_two_days(home: Journals) -> None:
    """If that is more than ten papers."""
    older = [home.publish("Tea", number, ago=2.1) for number in range(5)]
    new = [home.publish("Tea", number, ago=1.9) for number in range(5, 17)]
    home.once("tea")
    assert home.sent("tea") == sorted(new)
    assert home.seen("tea").items() >= dict.fromkeys(older, "before start").items()


def test_new_list_begins_with_the_ten_newest_of_all_its_journals(home: Journals) -> None:
    papers = [
        home.publish(journal, number, ago=30 - number)
        for number, journal in enumerate(["Tea", "Rain"] * 8)
    ]
    home.once("both")
    assert home.sent("both") == sorted(papers[-10:])
    assert home.outcome("both")[0] is Outcome.DIGEST


def test_first_reading_dates_an_entry_as_the_feed_does(home: Journals) -> None:
    paper_id = home.publish("Tea", 1, ago=1)
    future = home.publish("Tea", 2, ago=-30)
    home.once("tea")
    assert stored(home, paper_id).published == home.world.clock() - timedelta(days=1)
    assert stored(home, future).published == home.world.clock()


def test_later_reading_takes_a_new_entry_for_new_whatever_its_date(home: Journals) -> None:
    """And never changes a date again."""
    first = home.publish("Tea", 1)
    home.once("tea")
    dates = {first: stored(home, first).published}
    old = home.publish("Tea", 2, ago=400)
    future = home.publish("Tea", 3, ago=-400)
    undated = home.publish("Tea", 4, dc_date="")
    home.once("tea", days=1)
    assert home.sent("tea", 21) == sorted([old, future, undated])
    dates |= dict.fromkeys([old, future, undated], home.world.clock())
    home.server.faults_of[path_of("Tea")] = changing("link")
    for _ in range(3):
        home.once("tea", days=1)
        assert home.outcome("tea") == (Outcome.QUIET, "Tea had nothing new in its categories")
    assert {paper_id: stored(home, paper_id).published for paper_id in dates} == dates


def test_abstract_that_came_once_is_kept(home: Journals) -> None:
    title_only = home.publish("Tea", 1, text="")
    home.once("tea")
    assert stored(home, title_only).abstract == ""
    home.items["Tea"].clear()
    home.publish("Tea", 1, dc_creator="Ada Lovelace")
    home.once("tea", days=1)
    assert stored(home, title_only).abstract == ABSTRACT
    home.items["Tea"].clear()
    home.publish("Tea", 1, text="")
    home.once("tea", days=1)
    kept = stored(home, title_only)
    assert (kept.abstract, kept.authors) == (ABSTRACT, ("Ada Lovelace",))
    assert home.sent("tea") == [title_only]


def test_paper_of_two_feeds_comes_once(home: Journals) -> None:
    """On the same morning, and from the second on a later one; then lists of either have it."""
    same = home.publish("Tea", 1)
    home.publish("Rain", 1)
    home.once()
    assert home.sent("tea") == home.sent("both") == [same]
    later = home.publish("Rain", 2)
    home.once(days=1)
    home.publish("Tea", 2)
    home.once(days=1)
    assert home.sent("both") == [same, later]
    assert home.sent("tea", 22) == [later]
    assert stored(home, later).categories == ("journal/Rain", "journal/Tea")
    assert "Rain" not in mail_of(home), "its list takes Tea"


def test_list_without_cross_lists_has_what_another_feed_has_too(home: Journals) -> None:
    """No feed is the primary one."""
    home.write(TEA + "    cross_lists: false\n", BOTH)
    same = home.publish("Tea", 1)
    home.publish("Rain", 1)
    home.once()
    assert stored(home, same).primary_category == "journal/Rain"
    assert home.sent("tea") == [same]
    assert "tea: selected" in home.world.run("why", same).out


def test_excluded_journal_costs_papers_that_it_has_too(home: Journals) -> None:
    home.write(TEA + "    exclude: [journal/rain]\n", BOTH)
    shared, own = home.publish("Tea", 1), home.publish("Tea", 2)
    home.publish("Rain", 1)
    home.once()
    assert home.sent("tea") == [own]
    assert home.seen("tea")[shared] == "filtered"


def test_journal_that_is_added_to_an_old_list_begins_as_of_a_new_one(home: Journals) -> None:
    """What the list has of others goes on."""
    home.write(TEA, journals=("Tea", "Rain"))
    first = home.publish("Tea", 1)
    home.once()
    home.write(TEA.replace("[journal/Tea]", "[journal/Tea, journal/Rain]"))
    old = [home.publish("Rain", number, ago=100 - number) for number in range(10, 30)]
    new = home.publish("Tea", 2, ago=300)
    home.once(days=1)
    sent = home.sent("tea", 21)
    assert sent == sorted([new, *old[-9:]]), "ten newest papers of all that it has not seen"
    assert home.seen("tea")[old[0]] == "before start"
    home.once(days=1)
    assert home.sent("tea") == sorted([first, *sent])


def test_new_list_on_a_journal_that_others_take_begins_by_its_first_readings(
    home: Journals,
) -> None:
    home.write(TEA)
    for number in range(20):
        home.publish("Tea", number, ago=50)
        home.once(days=1)
    home.write(TEA, TEA.replace("name: tea", "name: cups"))
    home.once(days=1)
    assert home.sent("cups") == sorted(f"journal:10.5555/{number}" for number in range(10, 20))


@pytest.mark.parametrize("begun", [False, True])
def test_since_goes_back_by_the_dates_of_papers(home: Journals, *, begun: bool) -> None:
    papers = [home.publish("Tea", number, ago=7.5 - number / 4) for number in range(30)]
    if begun:
        home.once("tea")
        assert len(home.sent("tea")) == 10
        home.world.later(days=1)
    ran = home.world.run("once", "--list", "tea", "--since", "2026-11-16")
    assert ran.code == 0, ran.err
    since = FRIDAY.replace(hour=0) - timedelta(days=4)
    expected = {paper_id for paper_id in papers if stored(home, paper_id).published >= since}
    assert set(home.sent("tea")) == expected
    assert 10 < len(expected) < 30


# ---- when it is read


def test_feed_rests_for_three_hours_after_a_whole_reading(
    home: Journals, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO", "paperboy")
    home.publish("Tea", 1)
    home.publish("Rain", 2)
    home.once("tea")
    assert sorted(home.server.paths) == [path_of("Rain"), path_of("Tea")], "one serves all lists"
    home.world.later(hours=2, minutes=59)
    home.once("both")
    assert len(home.server.requests) == 2
    assert len(home.sent("both")) == 2
    assert "papers in ;" not in caplog.text
    home.world.later(minutes=1)
    home.world.run("once", "--dry-run")
    assert len(home.server.requests) == 2, "both lists are done"
    home.world.run("preview", "tea")
    assert len(home.server.requests) == 4


def test_feed_that_failed_does_not_rest(home: Journals) -> None:
    home.publish("Tea", 1)
    home.server.faults_of[path_of("Rain")] = refused
    home.once("tea")
    home.server.faults_of.clear()
    rain = home.publish("Rain", 2)
    home.world.later(minutes=15)
    home.once("both")
    assert home.server.paths.count(path_of("Rain")) == 2
    assert home.server.paths.count(path_of("Tea")) == 1
    assert rain in home.sent("both")


def test_feed_that_no_active_list_takes_is_not_asked(home: Journals) -> None:
    home.write(TEA, BOTH + "    paused: true\n", ARXIV)
    home.world.announce(1)
    home.once()
    home.write(ARXIV)
    home.once(days=1)
    assert home.server.paths == [path_of("Tea")]


# ---- a feed that cannot be read


@pytest.mark.quick
def test_feed_that_fails_is_late_and_holds_no_list(
    home: Journals, caplog: pytest.LogCaptureFixture
) -> None:
    home.write(TEA, MIXED, ARXIV)
    home.publish("Tea", 1)
    home.publish("Rain", 2)
    home.once()
    home.world.later(days=3)
    home.server.faults_of[path_of("Rain")] = unavailable()
    tea = home.publish("Tea", 3)
    home.world.announce(7)
    with app_at(home.world.path, home.world.clock, home.world.environ) as app:
        app.morning(["both", "tea"], PATIENCE)
        app.deliver(lambda: False)
    assert home.sent("both", 23) == sorted(["2611.00007", tea])
    outcome, reason = home.outcome("both")
    assert outcome is Outcome.DIGEST
    assert reason == "Rain: 127.0.0.1 answered HTTP 503 (first byte timeout)"
    late = "Rain was late; its newest papers will come with the next digest."
    assert late in mail_of(home, "ada@example.org")
    assert "late" not in mail_of(home), "that list takes Tea alone"
    assert home.outcome("tea") == (Outcome.DIGEST, "")
    assert KEY not in caplog.text


def test_two_feeds_that_fail_are_both_named(home: Journals) -> None:
    home.write(TEA, MIXED, ARXIV)
    home.publish("Tea", 1)
    home.once()
    home.world.later(days=3)
    home.server.lasting_fault = unavailable()
    home.world.announce(7)
    home.once("both")
    late = "were late; their newest papers will come with the next digest."
    said = mail_of(home, "ada@example.org")
    assert f"Rain and Tea {late}" in said or f"Tea and Rain {late}" in said


def test_day_on_which_nothing_else_came_is_quiet_with_the_reason(home: Journals) -> None:
    """No list waits for a feed."""
    home.publish("Tea", 1)
    home.once()
    home.world.later(days=1)
    home.server.lasting_fault = refused
    with app_at(home.world.path, home.world.clock, home.world.environ) as app:
        app.morning(["tea"], PATIENCE)
    outcome, reason = home.outcome("tea")
    assert outcome is Outcome.QUIET
    assert reason.startswith("Tea: 127.0.0.1 answered HTTP 403 (Just a moment...); the publisher")
    assert "Tea: 127.0.0.1 answered HTTP 403" in flat(home.world.run("status").out)
    assert len(home.world.messages("grace@example.org")) == 1


def test_feed_is_a_problem_after_three_days_until_it_is_read(home: Journals) -> None:
    """Also where other journals bring papers meanwhile, and on quiet days."""
    home.world.env(ALERT_TO="ops@example.org")
    home.publish("Tea", 1)
    home.publish("Rain", 2)
    home.once("both")
    home.server.faults_of[path_of("Rain")] = refused
    for day in (1, 2):
        home.publish("Tea", 10 + day)
        home.once("both", days=1)
        assert problems(home) == [], day
    assert home.world.messages("ops@example.org") == []
    for day in (3, 4):
        if day == 3:
            home.publish("Tea", 13)
        home.once("both", days=1)
        (problem,) = problems(home)
        assert problem.startswith("Rain: 127.0.0.1 answered HTTP 403"), day
    home.server.faults_of.clear()
    rain = home.publish("Rain", 20)
    home.once("both", days=1)
    assert problems(home) == []
    assert home.sent("both", 25) == [rain]


def test_alert_names_the_host_alone(home: Journals) -> None:
    home.world.env(ALERT_TO="ops@example.org")
    home.server.lasting_fault = refused
    assert home.world.once("tea").code == 0
    (alert,) = home.world.messages("ops@example.org")
    said = flat(text_of(alert))
    assert "A source of tea could not be read" in said
    assert "Tea: 127.0.0.1 answered HTTP 403" in said
    assert KEY not in said
    assert "feeds/" not in said
    home.server.lasting_fault = None
    home.publish("Tea", 1)
    home.world.later(days=1)
    assert home.world.once("tea").code == 0
    assert "Resolved" in flat(text_of(home.world.messages("ops@example.org")[-1]))


def test_feed_that_was_never_read_is_a_problem_at_once(home: Journals) -> None:
    """Nobody but the operator can have mistyped it. Other lists are none of it."""
    home.publish("Tea", 1)
    home.server.faults_of[path_of("Rain")] = refused
    home.once()
    (problem,) = problems(home)
    assert problem.startswith("Rain: 127.0.0.1 answered HTTP 403")
    with home.world.store() as store:
        (incident,) = [one for one in store.incidents.all() if one.kind == Kind.SOURCE]
    assert incident.subject == "both"


def test_list_begins_with_a_feed_on_the_first_day_that_it_can_be_read(home: Journals) -> None:
    home.publish("Tea", 1)
    home.server.faults_of[path_of("Rain")] = refused
    home.once("both")
    home.server.faults_of.clear()
    older = [home.publish("Rain", number, ago=90 - number) for number in range(10, 30)]
    home.once("both", days=1)
    assert home.sent("both", 21) == older[-10:]


def test_outage_of_a_week_costs_nothing_that_the_feed_still_has(home: Journals) -> None:
    home.write(TEA)
    first = home.publish("Tea", 1)
    home.once()
    home.server.lasting_fault = unavailable()
    missed = []
    for number in range(2, 9):
        missed.append(home.publish("Tea", number, ago=30))
        home.once(days=1)
    home.server.lasting_fault = None
    home.once(days=1)
    assert home.sent("tea") == sorted([first, *missed])


def test_failing_feed_does_not_cost_the_papers_of_a_late_source(home: Journals) -> None:
    """A list that waits for another source says of both why."""
    home.write(TEA, MIXED, ARXIV)
    home.publish("Tea", 1)
    home.once("both")
    home.world.later(days=3)
    home.server.lasting_fault = refused
    home.world.arxiv.lasting_fault = unavailable()
    with app_at(home.world.path, home.world.clock, home.world.environ) as app:
        (report,) = app.morning(["both"], PATIENCE).lists
    assert report.outcome is None
    assert "503" in report.problem


# ---- previews


def test_preview_says_what_is_late_and_marks_nothing(home: Journals) -> None:
    tea = home.publish("Tea", 1)
    home.server.faults_of[path_of("Rain")] = refused
    assert home.world.run("preview", "both").code == 0
    folder = home.world.path / "outbox" / "preview"
    text = flat((folder / "both.txt").read_text("utf-8"))
    assert "On cup 1" in text
    assert "Rain was late; its newest papers will come with the next digest." in text
    assert "preprint" not in text
    assert KEY not in (folder / "both.html").read_text("utf-8")
    assert home.seen("both") == {}
    home.once("both")
    assert home.sent("both") == [tea]


def test_dry_run_sends_nothing(home: Journals) -> None:
    home.publish("Tea", 1)
    assert "tea: digest, 1 of 1 papers" in home.world.run("once", "--dry-run").out
    assert home.world.mails() == []
    assert home.seen("tea") == {}


# ---- a paper at arXiv and in a journal


def name_doi(home: Journals, number: int, paper_id: str) -> str:
    """Let arXiv announce a paper that names the DOI of a journal's."""
    (paper,) = home.world.announce(number)
    doi = paper_id.removeprefix("journal:")
    home.world.arxiv.papers[-1] = replace(paper, doi=doi.upper())
    return paper.id


def test_arxivs_paper_after_the_journals_is_left_out(home: Journals) -> None:
    home.write(TEA, MIXED, ARXIV)
    first = home.publish("Rain", 1)
    home.once()
    home.world.later(days=3)
    second = name_doi(home, 1, first)
    home.once()
    assert home.sent("both") == [first]
    assert home.sent("networks") == [second]
    said = home.world.run("why", second).out
    assert f"both: the same paper as {first}, which it has seen on Fri 20 Nov 2026" in said


def test_journals_paper_after_arxivs_is_left_out(home: Journals) -> None:
    home.write(TEA, MIXED, ARXIV)
    first = name_doi(home, 1, "journal:10.5555/1")
    home.once()
    second = home.publish("Tea", 1)
    home.once(days=1)
    assert home.sent("tea") == [second]
    assert set(home.sent("both")) == {first, second}
    mails = [text_of(mail) for mail in home.world.messages("ada@example.org")]
    assert len(mails) == 1, "what is sent under one id counts as seen under the other"
    assert first in mails[0]


def test_both_on_one_morning_come_once(home: Journals) -> None:
    home.write(TEA, MIXED, ARXIV)
    first = name_doi(home, 1, "journal:10.5555/1")
    home.publish("Tea", 1)
    home.once("both")
    (mail,) = home.world.messages("ada@example.org")
    assert first in text_of(mail)
    assert "10.5555" not in text_of(mail)


def test_digest_that_reached_nobody_gives_a_journals_papers_back(home: Journals) -> None:
    paper_id = home.publish("Tea", 1)
    home.world.smtp.faults.append(Fault("RCPT", "450 try later", times=None))
    home.once("tea")
    home.world.smtp.faults.clear()
    home.once("tea", days=1)
    assert home.sent("tea", 21) == [paper_id]


# ---- after months


def test_entry_that_stays_in_its_feed_for_years_comes_once(home: Journals) -> None:
    """Retention drops the paper, and the next reading brings it again."""
    home.world.env(KEEP_DAYS=40)
    home.write(TEA)
    home.items["Tea"].append(item("On the oldest cup", link="https://journal.example/0"))
    papers = [home.publish("Tea", number) for number in range(1, 4)]
    for _ in range(30):
        home.once(days=4)
    assert [paper_id for paper_id in home.sent("tea") if "10.5555" in paper_id] == papers
    assert len(home.sent("tea")) == 4
    assert len(home.world.messages("grace@example.org")) == 1
