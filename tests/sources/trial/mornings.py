"""Whole mornings of a home whose lists take papers of arXiv and of the trial source. `test_trial.py` runs this with a
package that has it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from datetime import timedelta

import lxml.html
import pytest

from paperboy.curate import ways_in
from paperboy.features.learning.learning import of as learned
from paperboy.models import Day, MorningReport, Outcome, PaperOutcome, Score, Spending, Usage
from paperboy.service import soundness
from paperboy.service.app import App
from paperboy.sources import trial  # type: ignore[attr-defined]
from tests.cli.conftest import World, world
from tests.fakes import app_at
from tests.mail.reading import flat
from tests.web.conftest import WEB_URL, Web

__all__ = ["world"]  # a fixture

DAY = timedelta(days=1)
PATIENCE = timedelta(hours=6)
LISTS = """\
lists:
  - name: both
    categories: [cs.LG, Trial/robins]
    topics: what birds and networks learn
    archive: public
    subscribers: [ada@example.org]
  - name: birds
    categories: [trial/robins, trial/wrens]
    topics: what birds learn
    subscribers: [grace@example.org]
  - name: networks
    categories: [cs.LG]
    topics: what networks learn
    subscribers: [emmy@example.org]
"""
ROBINS = ["trial:10.9/11-19.1", "trial:10.9/11-19.2"]  # of the first morning


@pytest.fixture
def home(world: World) -> Iterator[World]:
    trial.SERVER.update(late=0, down=0, asked=0)
    world.llm.scores = lambda _: Score(9, 8, "It matters.")
    world.env(WEB_URL=WEB_URL)
    world.write("subscribers.yaml", LISTS)
    yield world
    trial.SERVER.update(late=0, down=0, asked=0)


def service(home: World) -> App:
    return app_at(home.path, home.clock, home.environ)


def scheduled(home: World) -> MorningReport:
    """A morning of the daemon, which may wait; its mail is delivered."""
    with service(home) as app:
        soundness.require(app)
        report = app.morning([mailing_list.name for mailing_list in app.home.lists], PATIENCE)
        app.deliver(lambda: False)
        return report


def outcomes(report: MorningReport) -> list[Outcome | None]:
    """What the day came to for both, birds and networks."""
    assert [day.list_name for day in report.lists] == ["both", "birds", "networks"]
    return [day.outcome for day in report.lists]


def reasons(report: MorningReport) -> dict[str, str]:
    return {day.list_name: day.problem for day in report.lists}


def seen(home: World, list_name: str) -> list[str]:
    """The ids that the list's digests had, one for each time."""
    with home.store() as store:
        rows = store.database.rows("select paper_id, became from seen where list = ?", [list_name])
    return sorted(row["paper_id"] for row in rows if row["became"] == "selected")


def test_papers_of_both_come_in_one_mail(home: World) -> None:
    home.announce(1)
    assert home.run("once").code == 0
    assert seen(home, "both") == ["2611.00001", *ROBINS]
    assert seen(home, "birds") == [*ROBINS, "trial:10.9/11-19.3"]
    assert seen(home, "networks") == ["2611.00001"]
    mail = Web(home).mail("ada@example.org")
    assert "How CO₂ changes song 1 of 19 November" in mail
    assert 'href="https://trial.example.org/10.9/11-19.1v1"' in mail
    assert 'href="https://arxiv.org/abs/2611.00001' in mail
    assert 'href=""' not in mail, "the trial has no PDF"
    assert "· doi:10.9/11-19.1" in mail
    assert "arXiv:trial" not in mail
    assert not {"*", "~"} & set(mail[mail.index("How CO") : mail.index("19 November")])


def test_each_paper_comes_once_and_no_day_is_silent(home: World) -> None:
    """Ten mornings, on some of which the trial is late or down; the last has all that was held back."""
    numbers = iter(range(1, 100))
    for morning in range(10):
        home.clock.now += DAY
        if home.clock.now.weekday() < 5:
            home.announce(next(numbers))
        trial.SERVER.update(late=morning in {2, 5}, down=morning == 4)
        home.run("once")
        home.run("once")
    for name, per_day in (("both", 2), ("birds", 3)):
        found = Counter(paper_id for paper_id in seen(home, name) if paper_id.startswith("trial:"))
        assert set(found.values()) == {1}
        days = {(home.clock.now - number * DAY) for number in range(1, 11)}
        assert len(found) == per_day * sum(day.weekday() != 5 for day in days)
    assert len(seen(home, "networks")) == len(set(seen(home, "networks"))) > 5


def test_late_source_holds_no_list_that_has_papers_of_another(home: World) -> None:
    home.announce(1)
    scheduled(home)
    home.clock.now += DAY
    scheduled(home)
    home.clock.now += 2 * DAY  # a Monday
    home.announce(2)
    trial.SERVER["late"] = 1
    report = scheduled(home)
    assert outcomes(report) == [Outcome.DIGEST, None, Outcome.DIGEST]
    assert "the trial's papers of Sunday have not come yet" in reasons(report)["both"]
    assert "the trial's papers of Sunday have not come yet" in reasons(report)["birds"]
    assert reasons(report)["networks"] == ""
    home.clock.now += PATIENCE
    report = scheduled(home)
    assert outcomes(report)[1] is Outcome.GAVE_UP
    trial.SERVER["late"] = 0
    home.clock.now += DAY - PATIENCE
    home.announce(3)
    scheduled(home)
    sunday = {"trial:10.9/11-22.1", "trial:10.9/11-22.2"}
    assert sunday < set(seen(home, "both"))
    assert sunday < set(seen(home, "birds"))


def test_older_papers_of_a_late_source_alone_are_no_reason_to_go(home: World) -> None:
    """The list goes without what is missing when its patience ends."""
    home.announce(1)
    scheduled(home)
    home.clock.now += 3 * DAY  # a Monday; those of Friday are there, those of Sunday are not
    home.announce(2)
    trial.SERVER["late"] = 1
    assert outcomes(scheduled(home)) == [Outcome.DIGEST, None, Outcome.DIGEST]
    home.clock.now += PATIENCE
    assert outcomes(scheduled(home))[1] is Outcome.DIGEST
    assert "trial:10.9/11-20.1" in seen(home, "birds")


def test_late_arxiv_holds_its_lists_and_no_others(home: World) -> None:
    home.announce(1)
    scheduled(home)
    home.clock.now += 3 * DAY
    assert outcomes(scheduled(home)) == [None, Outcome.DIGEST, None]
    home.clock.now += PATIENCE
    assert outcomes(scheduled(home)) == [Outcome.DIGEST, Outcome.DIGEST, Outcome.GAVE_UP]


def test_no_day_is_quiet_while_a_source_is_late(home: World) -> None:
    """On a Sunday neither has papers: arXiv because of the weekend, the trial because it rests."""
    home.announce(1)
    scheduled(home)
    home.clock.now += DAY
    assert outcomes(scheduled(home)) == [Outcome.DIGEST, Outcome.DIGEST, Outcome.QUIET]
    home.clock.now += DAY
    trial.SERVER["down"] = 1
    report = scheduled(home)
    assert outcomes(report) == [None, None, Outcome.QUIET]
    assert reasons(report)["birds"] == "the trial server is down"
    trial.SERVER["down"] = 0
    report = scheduled(home)
    assert outcomes(report) == [Outcome.QUIET] * 3
    assert reasons(report)["both"] == "arXiv and the trial announced nothing (weekend, day of rest)"


def test_source_that_is_down_is_reported_although_the_digests_leave(home: World) -> None:
    """And once it is back. One that is late is in the day's reason alone."""
    home.env(ALERT_TO="ops@example.org")
    trial.SERVER["down"] = 1
    home.announce(1)
    assert home.run("once", "--list", "both").code == 0
    assert "both had to do without a source" in flat(Web(home).mail("ops@example.org"))
    assert "the trial server is down" in Web(home).mail("ops@example.org")
    assert "the trial server is down" in home.run("status").out
    trial.SERVER["down"] = 0
    home.clock.now += 3 * DAY
    home.run("once", "--list", "both")
    assert "Resolved: all sources of both can be read" in Web(home).mail("ops@example.org")
    trial.SERVER["late"] = 1
    home.clock.now += DAY
    home.announce(2)
    home.run("once", "--list", "both")
    assert home.mails().count("ops@example.org") == 2
    assert "have not come yet" in home.run("status").out


def test_new_list_begins_with_a_source_on_the_first_day_that_it_can_be_read(home: World) -> None:
    """Although another list has fetched older papers of it."""
    home.run("once", "--list", "birds")
    trial.SERVER["down"] = 1
    home.clock.now += 3 * DAY
    home.announce(1)
    assert "both: digest, 1 of 1 papers" in home.run("once", "--list", "both", "--dry-run").out
    home.run("once", "--list", "both")
    assert seen(home, "both") == ["2611.00001"]
    trial.SERVER["down"] = 0
    home.clock.now += DAY
    home.run("once", "--list", "both")
    assert seen(home, "both") == ["2611.00001", "trial:10.9/11-23.1", "trial:10.9/11-23.2"]


def test_list_keeps_what_it_began_with_while_a_source_is_down(home: World) -> None:
    """No paper of the day on which it was down is taken for one from before the start."""
    home.announce(1)
    home.run("once", "--list", "both")
    trial.SERVER["down"] = 1
    home.clock.now += DAY
    home.run("once", "--list", "both")
    trial.SERVER["down"] = 0
    home.clock.now += 2 * DAY
    home.run("once", "--list", "both")
    assert {"trial:10.9/11-20.1", "trial:10.9/11-20.2"} < set(seen(home, "both"))


@pytest.mark.parametrize("begun", [False, True])
def test_since_begins_each_source_with_its_own_first_batch(home: World, *, begun: bool) -> None:
    """That which is shown on the date, also of a list that has begun with less."""
    if begun:
        home.clock.now -= DAY
        home.run("once", "--list", "both")
        home.clock.now += DAY
    home.run("once", "--list", "both", "--since", "2026-11-16")
    days = sorted({paper_id[-4:-2] for paper_id in seen(home, "both")})
    assert days == ["15", "16", "17", "18", "19"]


def test_new_list_whose_only_source_is_down_begins_on_another_day(home: World) -> None:
    """It gets none of the papers that another list has fetched: it would miss what comes in between."""
    home.run("once", "--list", "both")
    trial.SERVER["down"] = 1
    home.clock.now += DAY
    assert "birds: still due" in home.run("once", "--list", "birds").out
    trial.SERVER["down"] = 0
    home.run("once", "--list", "birds")
    assert seen(home, "birds") == [f"trial:10.9/11-20.{number}" for number in (1, 2, 3)]


def test_source_is_asked_for_the_days_on_which_nothing_ran(home: World) -> None:
    home.run("once", "--list", "birds")
    home.clock.now += 10 * DAY
    home.run("once", "--list", "birds")
    assert "trial:10.9/11-20.1" in seen(home, "birds")


def test_only_the_sources_of_the_lists_that_are_due_are_asked(home: World) -> None:
    home.announce(1)
    home.run("once", "--list", "networks")
    home.run("preview", "networks")
    assert trial.SERVER["asked"] == 0
    trial.SERVER["down"] = 1
    home.run("once", "--list", "birds")
    assert len(home.arxiv.requests) == 1


def test_quiet_look_before_any_source_had_the_days_batch_leaves_the_day_open(home: World) -> None:
    """That of the trial is shown at midnight, that of arXiv five hours later."""
    home.write("subscribers.yaml", LISTS.replace("trial/robins, trial/wrens", "cs.CV, trial/owls"))
    home.announce(1, categories=("cs.CV",))
    home.run("once", "--list", "birds")
    home.clock.now += 3 * DAY - timedelta(hours=5)  # two on Monday morning
    assert "birds: quiet" in home.run("once", "--list", "birds").out
    home.announce(2, categories=("cs.CV",))
    home.clock.now += timedelta(hours=5)
    home.announce(3, categories=("cs.CV",))
    home.run("once")
    assert "2611.00003" in seen(home, "birds")


def test_dry_run_says_of_each_list_what_its_own_sources_miss(home: World) -> None:
    home.announce(1)
    home.run("once")
    home.clock.now += 2 * DAY  # a Sunday
    trial.SERVER["down"] = 1
    said = home.run("once", "--list", "networks", "--list", "birds", "--dry-run").out
    assert "networks: quiet, no mail" in said
    assert "birds: would stay due; the trial server is down" in said


def test_archive_feed_and_bibtex_have_them(home: World) -> None:
    home.announce(1)
    home.run("once")
    web = Web(home)
    page = web.get("/list/both/2026-11-20").text
    assert 'href="https://trial.example.org/10.9/11-19.1v1"' in page
    assert "How CO2 changes song 1" in flat(lxml.html.document_fromstring(page).text_content())
    assert "https://trial.example.org/10.9/11-19.1v1" in web.get("/list/both/feed.atom").text
    assert "song 1 of 19 November" in web.get("/list/both/search?q=song").text
    bib = web.get("/list/both/2026-11-20.bib").text
    assert "  title = {How CO₂ changes song 1 of 19 November},\n" in bib
    assert "  howpublished = {Trial \\& error},\n" in bib
    assert "  url = {https://trial.example.org/10.9/11-19.1v1},\n" in bib
    assert bib.count("eprint") == 1


@pytest.mark.parametrize("written", [ROBINS[0], "https://trial.example.org/10.9/11-19.1v2"])
def test_why_knows_them_by_id_and_link(home: World, written: str) -> None:
    home.run("once")
    said = home.run("why", written).out
    assert said.startswith(
        "How CO₂ changes song 1 of 19 November\nhttps://trial.example.org/10.9/11-19.1v1\n"
    )
    assert "networks: not in its categories (cs.LG)" in said
    assert "birds: selected" in said


def test_readers_vote_on_them(home: World) -> None:
    home.run("once")
    web = Web(home)
    page = web.link("vote/")
    assert f'href="{page}/up/{ROBINS[0]}"' in web.mail()
    chosen = web.get(f"{page}/up/{ROBINS[0]}").text
    assert "How CO2 changes song 1" in flat(lxml.html.document_fromstring(chosen).text_content())
    assert "Saved" in web.post(page, data={ROBINS[0]: "up"}).text
    assert "1 up" in home.run("why", ROBINS[0]).out


def test_preview_has_them_and_sends_nothing(home: World) -> None:
    home.announce(1)
    assert home.run("preview", "both").code == 0
    (page,) = (home.path / "outbox" / "preview").glob("both.html")
    assert "https://trial.example.org/10.9/11-19.1v1" in page.read_text("utf-8")
    asked = [paper_id for call in home.llm.asked for paper_id in call]
    assert sorted(asked) == ["2611.00001", *ROBINS]
    home.run("once", "--dry-run", "--list", "both")
    assert [paper_id for call in home.llm.asked for paper_id in call] == asked
    assert home.mails() == []


def test_shortlist_leaves_some_of_them_out(home: World) -> None:
    """After two months of scores the LLM is asked about a third of the day's, of either source."""
    home.env(LLM_SHORTLIST=0.34)
    days = [trial.midnight(home.clock.now) - number * DAY for number in range(10, 120)]
    old = [trial.new(day, number) for day in days for number in (1, 2, 3)]
    with service(home) as app:
        both = app.home.find("both")
        assert both
        scores = {paper.id: Score(9 if paper.id.endswith("2") else 2, 8) for paper in old}
        app.store.papers.add(old, both.categories, days[0], "trial")
        learning = learned(app)
        app.store.scores.keep(
            "both", learning.criteria(both), "gpt-6-luna", scores, Spending(Usage(1)), days[50]
        )
        app.store.days.begin("both", ways_in(both), (), days[0].date(), days[0])
        below = dict.fromkeys(scores, PaperOutcome.BELOW)
        seen_all = Day("both", days[0].date(), Outcome.NOTE, outcomes=below)
        app.store.days.freeze(seen_all, days[0])
        learning.work(both, home.clock())
    home.announce(*range(1, 12))
    home.run("once", "--list", "both")
    with home.store() as store:
        rows = store.database.rows("select paper_id, became from seen where date = '2026-11-20'")
    left_out = [row["paper_id"] for row in rows if row["became"] is PaperOutcome.NOT_CALLED]
    of_trial = [paper_id for paper_id in left_out if paper_id.startswith("trial:")]
    assert 3 < len(of_trial) < len(left_out)


def test_check_asks_it_and_a_wrong_category_is_an_error(home: World) -> None:
    home.announce(1)
    assert "the trial has trial/robins" in flat(home.run("check").out)
    home.write("subscribers.yaml", LISTS.replace("Trial/robins", "trial/robbins"))
    ran = home.run("check", "--offline")
    assert ran.code == 78
    assert "subscribers.yaml:3:25: categories: 'trial/robbins' is no category of the trial" in flat(
        ran.out + ran.err
    )
