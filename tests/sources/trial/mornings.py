"""Mornings of a home whose lists take papers of arXiv and of the trial source: what differs from source to source, and
what lists of several have. `test_trial.py` runs this with a package that has it; what befalls a source is in
`tests/morning/weeks.py`.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta

import lxml.html
import pytest

from paperboy.models import Score
from paperboy.sources import trial  # type: ignore[attr-defined]
from tests.cli.conftest import World, world
from tests.mail.reading import flat
from tests.web.conftest import WEB_URL, Web

__all__ = ["world"]  # a fixture

DAY = timedelta(days=1)
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


def test_quiet_day_has_the_reason_of_each_source(home: World) -> None:
    """On a Sunday neither has papers: arXiv because of the weekend, the trial because it rests."""
    home.announce(1)
    home.once("both")
    home.clock.now += DAY
    home.once("both")
    home.clock.now += DAY
    quiet = "both: quiet; arXiv and the trial announced nothing (weekend, day of rest)"
    assert quiet in home.once("both").out


def test_source_that_is_down_is_reported_although_the_digests_leave(home: World) -> None:
    """And once it is back. One that is late is in the day's reason alone."""
    home.env(ALERT_TO="ops@example.org")
    trial.SERVER["down"] = 1
    home.announce(1)
    assert home.run("once", "--list", "both").code == 0
    assert "A source of both could not be read" in flat(Web(home).mail("ops@example.org"))
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


def test_new_list_whose_only_source_is_down_begins_on_another_day(home: World) -> None:
    """It gets none of the papers that another list has fetched: it would miss what comes in between."""
    home.run("once", "--list", "both")
    trial.SERVER["down"] = 1
    home.clock.now += DAY
    assert "birds: still due" in home.run("once", "--list", "birds").out
    trial.SERVER["down"] = 0
    home.run("once", "--list", "birds")
    assert seen(home, "birds") == [f"trial:10.9/11-20.{number}" for number in (1, 2, 3)]


def test_only_the_sources_of_the_lists_that_are_due_are_asked(home: World) -> None:
    home.announce(1)
    home.run("once", "--list", "networks")
    home.run("preview", "networks")
    assert trial.SERVER["asked"] == 0


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


def test_why_knows_them_by_id_and_link(home: World) -> None:
    home.run("once")
    said = home.run("why", ROBINS[0]).out
    assert said.startswith(
        "How CO₂ changes song 1 of 19 November\nhttps://trial.example.org/10.9/11-19.1v1\n"
    )
    assert "networks: not in its categories (cs.LG)" in said
    assert "birds: selected" in said
    assert home.run("why", "https://trial.example.org/10.9/11-19.1v2").out == said


def test_check_asks_it_and_a_wrong_category_is_an_error(home: World) -> None:
    home.announce(1)
    assert "the trial has trial/robins" in flat(home.run("check").out)
    home.write("subscribers.yaml", LISTS.replace("Trial/robins", "trial/robbins"))
    ran = home.run("check", "--offline")
    assert ran.code == 78
    assert "subscribers.yaml:3:25: categories: 'trial/robbins' is no category of the trial" in flat(
        ran.out + ran.err
    )
