"""Single mornings of a home whose lists take papers of bioRxiv and medRxiv. Three weeks of them are in
`tests/morning/test_weeks.py`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from datetime import date, timedelta
from pathlib import Path

import lxml.html
import pytest

from paperboy.curate import ways_in
from paperboy.features.learning.learning import learning_of
from paperboy.models import Day, Outcome, PaperOutcome, Score, Spending, Usage
from tests.builders import paper
from tests.cli.conftest import FRIDAY, World, text_of
from tests.cli.mornings import ByHand
from tests.fakes import app_at
from tests.mail.reading import flat
from tests.servers.biorxiv_api import BiorxivServer, preprint
from tests.servers.biorxiv_faults import no_body, only, stale
from tests.servers.smtp import Fault
from tests.web.conftest import WEB_URL, Web

DAY = timedelta(days=1)
YESTERDAY = 19  # of November; the home's first morning is on a Friday

CELLS = """\
  - name: cells
    categories: [bioRxiv/Cell_Biology, biorxiv/genomics]
    topics: what cells do
    subscribers: [grace@example.org]
"""
MIXED = """\
  - name: mixed
    title: Cells and genomes
    categories: [biorxiv/genomics, biorxiv/cell biology, medrxiv/oncology, q-bio.GN]
    topics: genomes
    archive: public
    subscribers: [ada@example.org]
"""
ARXIV = """\
  - name: networks
    categories: [cs.LG]
    topics: what networks learn
    subscribers: [emmy@example.org]
"""


def lists(*items: str) -> str:
    return "lists:\n" + "".join(items)


@dataclass
class Home(ByHand):
    """A home that is served by hand, and what bioRxiv and medRxiv have."""

    biorxiv: BiorxivServer

    def write(self, *items: str) -> None:
        self.world.write("subscribers.yaml", lists(*items))

    def post(
        self,
        number: int,
        day: int = YESTERDAY,
        category: str = "genomics",
        server: str = "bioRxiv",
        **more: str,
    ) -> str:
        """Post a new paper on a day of November, and return its id."""
        posted = date(2026, 11, 1) + (day - 1) * DAY
        record = preprint(number, posted, server, category=category, **more)
        self.biorxiv.records.append(record)
        return f"{server.lower()}:{record.doi}"

    def others(self, *days: int) -> None:
        """Post a paper for none of the lists on each of these days, so that neither server is late."""
        for day in days:
            self.post(500 + day, day, "zoology")
            self.post(600 + day, day, "urology", "medRxiv")


@pytest.fixture
def home(world: World, biorxiv: BiorxivServer) -> Home:
    world.llm.scores = lambda _: Score(9, 8, "It matters.")
    made = Home(world, biorxiv)
    made.write(MIXED, CELLS, ARXIV)
    made.others(*range(1, 45))
    return made


# ---- where a list begins


@pytest.mark.quick
def test_new_list_begins_with_yesterdays_papers(home: Home) -> None:
    """Today's are not complete, and come tomorrow."""
    of_yesterday = home.post(1)
    home.post(2, YESTERDAY - 1)
    home.post(3, YESTERDAY - 5)
    of_today = home.post(4, YESTERDAY + 1)
    home.once()
    assert home.sent("cells") == home.sent("mixed") == [of_yesterday]
    home.once(days=1)
    assert home.sent("cells") == home.sent("mixed") == [of_yesterday, of_today]


@pytest.mark.parametrize(("hour", "day"), [(4, YESTERDAY - 1), (6, YESTERDAY)])
def test_day_ends_at_midnight_in_the_east_of_the_united_states(
    home: Home, hour: int, day: int
) -> None:
    papers = {YESTERDAY - 1: home.post(1, YESTERDAY - 1), YESTERDAY: home.post(2)}
    home.world.clock.now = FRIDAY.replace(hour=hour)
    home.once("cells")
    assert home.sent("cells") == [papers[day]]


def test_new_source_of_an_old_list_begins_with_yesterdays_papers(home: Home) -> None:
    """What the list has of arXiv goes on."""
    home.write(ARXIV)
    home.world.announce(1)
    home.once()
    home.write(ARXIV.replace("[cs.LG]", "[cs.LG, biorxiv/genomics]"))
    home.post(1, 20)
    of_sunday = home.post(2, 22)
    home.world.clock.now += 3 * DAY
    home.world.announce(2)
    home.once()
    assert home.sent("networks") == ["2611.00001", "2611.00002", of_sunday]


def test_new_category_of_an_old_list_begins_with_yesterdays_papers(home: Home) -> None:
    """What its other categories still get is sent, whatever its day."""
    home.write(CELLS.replace("bioRxiv/Cell_Biology, ", ""))
    first = home.post(1)
    home.once()
    home.write(CELLS)
    belated = home.post(2, YESTERDAY - 1)
    home.post(3, YESTERDAY, "cell biology")
    new = home.post(4, YESTERDAY + 1, "cell biology")
    home.once(days=1)
    assert home.sent("cells") == sorted([first, belated, new])
    assert home.sent("cells", 20) == [first]


@pytest.mark.parametrize("begun", [False, True])
def test_since_begins_with_the_papers_of_earlier_days(home: Home, *, begun: bool) -> None:
    """A date is the morning that shows the papers of the day before."""
    days = [15, 16, 17, 18, 19]
    papers = [home.post(day, day) for day in days]
    older = home.post(14, 14)
    if begun:
        home.once("cells")
        home.world.later(days=1)
        papers.append(home.post(20, 20))
    home.world.run("once", "--list", "cells", "--since", "2026-11-16")
    assert home.sent("cells") == papers
    assert older not in home.sent("cells")


def test_since_is_at_most_a_week_ago(home: Home) -> None:
    ran = home.world.run("once", "--list", "cells", "--since", "2026-10-01")
    assert "--since must be from 2026-11-13" in ran.err


# ---- what is read


@pytest.mark.quick
def test_one_fetch_serves_all_lists(home: Home) -> None:
    """Whatever their categories: the servers are asked for all, page by page."""
    home.world.clock.now = FRIDAY
    for number in range(40):
        home.post(number, category="genomics" if number % 2 else "cell biology")
    home.once()
    asked = [(request.server, request.since, request.cursor) for request in home.biorxiv.requests]
    assert asked == [
        ("biorxiv", "2026-11-19", 0),
        ("biorxiv", "2026-11-12", 0),
        ("biorxiv", "2026-11-12", 30),
        ("medrxiv", "2026-11-19", 0),
        ("medrxiv", "2026-11-12", 0),
    ]
    assert not any(request.query for request in home.biorxiv.requests)
    assert len(home.sent("mixed")) == len(home.sent("cells")) == 40


def test_nothing_asks_biorxiv_where_no_list_takes_it(home: Home) -> None:
    home.write(ARXIV)
    home.world.announce(1)
    for command in (
        ["once"],
        ["preview", "networks"],
        ["check"],
        ["status"],
        ["once", "--dry-run"],
    ):
        home.world.run(*command)
    assert home.sent("networks") == ["2611.00001"]
    assert home.biorxiv.requests == []


def test_only_the_server_that_lists_take_is_asked(home: Home) -> None:
    home.write(CELLS)
    home.once()
    assert {request.server for request in home.biorxiv.requests} == {"biorxiv"}


def test_category_without_papers_for_weeks_is_not_late(home: Home) -> None:
    """It is proof enough that the server has others of each day."""
    home.write(CELLS)
    home.post(1)
    home.once()
    home.once(days=10)
    assert home.outcome("cells") == (
        Outcome.QUIET,
        "bioRxiv had nothing new in its categories",
    )


def test_mirror_that_is_stale_for_two_weeks_loses_nothing(home: Home) -> None:
    home.write(CELLS)
    papers = [home.post(day, day) for day in range(YESTERDAY, YESTERDAY + 14)]
    records = home.biorxiv.records
    home.once()
    for days in (1, 6, 7):
        home.world.later(days=days)
        home.biorxiv.records = [
            record for record in records if record.date <= f"{FRIDAY - DAY:%Y-%m-%d}"
        ]
        home.once()
        assert home.sent("cells") == papers[:1]
    home.biorxiv.records = records
    home.once()
    assert home.sent("cells") == papers


def test_after_an_absence_of_weeks_the_mail_says_what_was_not_looked_at(home: Home) -> None:
    """No server is asked for more than thirty days."""
    home.write(CELLS)
    home.post(1)
    home.once()
    home.post(2, 25)
    papers = [home.post(3, 32), home.post(4, 58)]
    home.others(*range(50, 60))
    home.once(days=40)
    assert home.biorxiv.requests[-1].since == "2026-11-30"
    assert home.sent("cells", 30) == papers
    mail = flat(text_of(home.world.messages("grace@example.org")[-1]))
    assert "papers submitted before 30 November 2026 were not looked at" in mail


# ---- what a list asks for


def test_filters_know_its_categories_and_read_its_markup(home: Home) -> None:
    home.write(
        CELLS.replace("[bioRxiv/Cell_Biology, biorxiv/genomics]", "[biorxiv]")
        + "    exclude: [bioRxiv/Zoology, biorxiv/plant-biology]\n"
        + "    keywords: {must: [wound, β-cell], never: [MUSE]}\n"
    )
    right = [
        home.post(1, title="Wounds and how a wound closes"),
        home.post(2, title="A {beta} cell in the dark"),
    ]
    wrong = [
        home.post(3, title="A wound in a leaf", category="plant biology"),
        home.post(4, title="A wound, and MO_SCPLOWUSEC_SCPLOW reads it"),
        home.post(5, title="Nothing of it"),
    ]
    home.once("cells")
    assert home.sent("cells") == home.asked() == right
    assert {home.seen("cells")[paper_id] for paper_id in wrong} == {"filtered"}
    assert "it is in biorxiv/plant biology (exclude)" in home.world.run("why", wrong[0]).out
    assert "has 'MUSE' (keywords: never)" in home.world.run("why", wrong[1]).out


AUTHORS = "    authors: [Wei Xin Zhang, Ines Carvalho]\n"


def by(home: Home, number: int, corresponding: str, authors: str) -> str:
    return home.post(number, author_corresponding=corresponding, authors=authors)


def test_only_the_corresponding_author_is_certain(home: Home) -> None:
    """One of whom there are initials may be followed: the paper stays by its scores, and the mail says so."""
    home.write(CELLS + AUTHORS)
    certain = by(home, 1, "Wei Xin Zhang", "Morita, Y.; Zhang, W. X.")
    possible = by(home, 2, "Yuki Morita", "Zhang, W.; Morita, Y.")
    below = by(home, 3, "Yuki Morita", "Carvalho, I.; Morita, Y.")
    other = by(home, 4, "Yuki Morita", "Zhang, W. Y.; Carvalho, E.; Morita, Y.")
    scores = {certain: Score(2, 2, ""), below: Score(2, 2, "")}
    home.world.llm.scores = lambda paper_id: scores.get(paper_id, Score(9, 8, "It matters."))
    home.once("cells")
    assert home.seen("cells") == {
        certain: "author match",
        possible: "selected",
        below: "below",
        other: "selected",
    }
    (mail,) = home.world.messages("grace@example.org")
    text = flat(text_of(mail))
    assert "Author match: Wei Xin Zhang" in text
    assert text.count("possible author match:") == 1
    assert "possible author match: W. Zhang " in text
    said = home.world.run("why", possible).out
    assert "  possible author match: W. Zhang; initials alone never bring a paper in\n" in said
    assert "possible author match" not in home.world.run("why", certain).out


def test_list_of_authors_alone_gets_corresponding_authors_papers(home: Home) -> None:
    home.write(CELLS.replace("    topics: what cells do\n", AUTHORS))
    certain = by(home, 1, "Wei Xin Zhang", "Morita, Y.; Zhang, W. X.")
    possible = by(home, 2, "Yuki Morita", "Zhang, W.; Morita, Y.")
    home.once("cells")
    assert home.seen("cells") == {certain: "author match", possible: "filtered"}
    assert home.asked() == []
    said = flat(home.world.run("check", "--offline").out)
    assert "cells: without topics, it gets only corresponding authors' papers of bioRxiv" in said


def test_cross_lists_have_no_effect(home: Home) -> None:
    """Not even for a list of a whole server."""
    whole = CELLS.replace("name: cells", "name: whole").replace(
        "[bioRxiv/Cell_Biology, biorxiv/genomics]", "[biorxiv]"
    )
    without = "    cross_lists: false\n"
    home.write(CELLS + without, whole + without)
    papers = [home.post(1), home.post(2, category="cell biology")]
    unknown = home.post(3, category="astrobiology")
    home.once()
    assert home.sent("cells") == papers
    assert {*papers, unknown} < set(home.sent("whole"))


# ---- a preprint on two servers


def test_arxivs_paper_that_names_the_doi_of_one_that_was_sent_is_left_out(home: Home) -> None:
    """`why` says so. A list of arXiv alone gets it, and has nothing to do with the other."""
    home.write(MIXED, ARXIV.replace("cs.LG", "q-bio.GN"))
    first = home.post(1)
    home.once()
    home.world.clock.now += 3 * DAY
    (second,) = home.world.announce(1, categories=("q-bio.GN",))
    home.world.arxiv.papers[-1] = replace(second, doi=first.partition(":")[2])
    home.once()
    assert home.sent("mixed") == [first]
    assert home.sent("networks") == [second.id]
    said = home.world.run("why", second.id).out
    assert f"mixed: the same paper as {first}, which it has seen on Fri 20 Nov 2026" in said


def test_arxivs_paper_comes_where_its_twin_was_never_sent(home: Home) -> None:
    """It was posted before the list began, or below the thresholds with initials for a followed author."""
    home.write(MIXED.replace("    archive", "    authors: [Malin Iversen]\n    archive"))
    home.world.llm.scores = lambda paper_id: Score(1 if paper_id.startswith("bio") else 9, 8)
    old = home.post(3, 14)  # by M. Iversen
    low = home.post(0)
    home.once()
    assert home.seen("mixed") == {old: "before start", low: "below"}
    home.world.clock.now += 3 * DAY
    for number, twin in enumerate((old, low), 1):
        (paper,) = home.world.announce(number, categories=("q-bio.GN",))
        authors = ("Malin Iversen",) if twin == low else paper.authors
        changed = replace(paper, doi=twin.partition(":")[2], authors=authors)
        home.world.arxiv.papers[-1] = changed
    home.once()
    assert home.sent("mixed") == ["2611.00001", "2611.00002"]
    home.once(days=1)
    assert home.sent("mixed") == ["2611.00001", "2611.00002"]


def test_preview_leaves_the_second_of_a_pair_out_before_and_after_the_morning(home: Home) -> None:
    home.write(MIXED)
    (first,) = home.world.announce(1, categories=("q-bio.GN",))
    second = home.post(1)
    home.world.arxiv.papers[-1] = replace(first, doi=second.partition(":")[2])
    for _ in range(2):
        assert home.world.run("preview", "mixed").code == 0
        file = home.world.path / "outbox" / "preview" / "mixed.html"
        page = file.read_text("utf-8")
        assert f"https://arxiv.org/abs/{first.id}" in page
        assert "biorxiv.org/content" not in page
        file.unlink()
        home.once()
    assert home.asked() == [first.id]
    assert home.seen("mixed") == dict.fromkeys([first.id, second], "selected")


def test_digest_that_reached_nobody_gives_both_of_a_pair_back(home: Home) -> None:
    """And the next one has the first of them."""
    home.write(MIXED)
    (first,) = home.world.announce(1, categories=("q-bio.GN",))
    second = home.post(1, 20)
    home.world.arxiv.papers[-1] = replace(first, doi=second.partition(":")[2])
    home.world.smtp.faults.append(Fault("RCPT", "450 try later", times=None))
    home.once()
    assert set(home.seen("mixed")) >= {first.id, second}
    home.world.smtp.faults.clear()
    home.once(days=1)
    assert home.sent("mixed", 21) == sorted([first.id, second])
    (mail,) = home.world.messages()
    assert f"https://arxiv.org/abs/{first.id}" in text_of(mail)
    assert "biorxiv.org/content" not in text_of(mail)


# ---- previews


def test_preview_and_dry_run_mark_nothing_and_are_paid_for_once(home: Home) -> None:
    home.write(MIXED)
    papers = [home.post(1), home.post(2, category="oncology", server="medRxiv")]
    assert home.world.run("preview", "mixed").code == 0
    (page,) = (home.world.path / "outbox" / "preview").glob("mixed.html")
    assert f"https://www.biorxiv.org/content/{papers[0][8:]}v1" in page.read_text("utf-8")
    assert "mixed: digest, 2 of 2 papers" in home.world.run("once", "--dry-run").out
    assert home.world.mails() == []
    assert home.seen("mixed") == {}
    home.once()
    assert home.sent("mixed") == home.asked() == papers


def test_dry_run_says_what_is_late(home: Home) -> None:
    clinics = CELLS.replace("[bioRxiv/Cell_Biology, biorxiv/genomics]", "[medrxiv]")
    home.write(MIXED, clinics)
    home.world.announce(1, categories=("q-bio.GN",))
    home.biorxiv.lasting_fault = only("medrxiv", no_body)
    said = home.world.run("once", "--dry-run").out
    assert "mixed: digest, 1 of 1 papers" in said
    assert "cells: would stay due; medRxiv: 127.0.0.1 sent no list of records" in said


# ---- what readers see


@pytest.mark.quick
def test_each_server_has_its_own_ids_and_links(home: Home) -> None:
    """Both may have the same categories."""
    home.write(CELLS.replace("biorxiv/genomics", "medrxiv/pathology, biorxiv/pathology"))
    here = home.post(1, category="pathology")
    there = home.post(2, category="pathology", server="medRxiv")
    home.once()
    assert home.sent("cells") == [here, there]
    assert there.startswith("medrxiv:10.64898/")
    (mail,) = home.world.messages()
    links = set(re.findall(r"https://www\.\w+\.org/content/[^\s\"<>]+", text_of(mail, "html")))
    pages = {
        f"https://www.biorxiv.org/content/{here[8:]}v1",
        f"https://www.medrxiv.org/content/{there[8:]}v1",
    }
    assert links == pages | {f"{page}.full.pdf" for page in pages}


@pytest.fixture
def read(home: Home) -> tuple[Home, Web, str, str]:
    """A home with a site, and a paper of each server that is in the mail of `mixed`."""
    home.world.env(WEB_URL=WEB_URL)
    here = home.post(1, title="How {beta} cells <i>see</i>", license="cc_by_nc")
    there = home.post(2, category="oncology", server="medRxiv", license="cc_by")
    home.world.once("mixed")  # which indexes the archive
    return home, Web(home.world), here, there


Read = tuple[Home, Web, str, str]


def test_archive_feed_search_and_bibtex_have_them(read: Read) -> None:
    _, web, here, there = read
    page = web.get("/list/mixed/2026-11-20").text
    assert f'href="https://www.biorxiv.org/content/{here[8:]}v1"' in page
    assert f'href="https://www.medrxiv.org/content/{there[8:]}v1"' in page
    assert "How β cells see" in flat(lxml.html.document_fromstring(page).text_content())
    assert f"https://www.biorxiv.org/content/{here[8:]}v1" in web.get("/list/mixed/feed.atom").text
    search = web.get("/list/mixed/search?q=cells").text
    assert "cells see" in flat(lxml.html.document_fromstring(search).text_content())
    bib = web.get("/list/mixed/2026-11-20.bib").text
    assert "  howpublished = {bioRxiv preprint},\n" in bib
    assert "  howpublished = {medRxiv preprint},\n" in bib
    assert f"  doi = {{{here[8:]}}},\n" in bib
    assert f"  url = {{https://www.biorxiv.org/content/{here[8:]}v1}},\n" in bib
    assert "eprint =" not in bib


def test_archive_for_search_engines_has_whole_abstracts_by_their_licenses(read: Read) -> None:
    """That of the other begins. The feed has none."""
    home, web, _, _ = read
    for archive, whole in (("public", 2), ("indexed", 1)):
        home.write(MIXED.replace("archive: public", f"archive: {archive}"))
        page = flat(web.get("/list/mixed/2026-11-20").text)
        assert page.count("is not known.") == 2
        assert page.count("A simple model explains most of the difference.") == whole
        assert "is not known." not in flat(web.get("/list/mixed/feed.atom").text)


def test_why_knows_them_by_id_doi_and_link(read: Read) -> None:
    """Also where the DOI alone does not say of which server it is."""
    home, _, here, there = read
    for paper_id in (here, there):
        key, _, doi = paper_id.partition(":")
        said = home.world.run("why", paper_id).out
        assert f"https://www.{key}.org/content/{doi}v1\n" in said
        assert "mixed: selected, in the digest of Fri 20 Nov 2026 (1 sent)" in said
        assert "networks: not in its categories (cs.LG)" in said
        for written in (
            f"{paper_id}v2",
            doi,
            f"https://doi.org/{doi}",
            f"https://www.{key}.org/content/{doi}v1.full.pdf",
        ):
            assert home.world.run("why", written).out == said, written


def test_readers_vote_on_them(read: Read) -> None:
    home, web, here, there = read
    page = web.link("vote/")
    assert f'href="{page}/up/{here}"' in web.mail()
    assert f'href="{page}/down/{there}"' in web.mail()
    chosen = web.get(f"{page}/up/{here}").text
    assert "How β cells see" in flat(lxml.html.document_fromstring(chosen).text_content())
    assert "Saved" in web.post(page, data={here: "up", there: "down"}).text
    assert "1 up" in home.world.run("why", here).out
    assert "1 down" in home.world.run("why", there).out


# ---- a server that is late


@pytest.mark.quick
def test_late_server_costs_no_other_papers_and_is_reported(home: Home) -> None:
    """Its papers come the next morning."""
    home.write(MIXED)
    home.post(7)
    home.once("mixed")
    home.world.later(days=3)
    home.world.env(ALERT_TO="ops@example.org")
    (of_arxiv,) = home.world.announce(1, categories=("q-bio.GN",))
    here = home.post(1, 22)
    there = home.post(2, 22, category="oncology", server="medRxiv")
    home.biorxiv.lasting_fault = only("biorxiv", no_body)
    home.world.run("preview", "mixed")
    preview = (home.world.path / "outbox" / "preview" / "mixed.txt").read_text("utf-8")
    assert "bioRxiv was late; its newest papers will come with the next digest." in flat(preview)
    assert home.world.once("mixed").code == 0
    assert home.sent("mixed", 23) == [of_arxiv.id, there]
    reason = "bioRxiv: 127.0.0.1 sent no list of records (an empty body) in 5 attempts"
    assert home.outcome("mixed")[1].startswith(reason)
    assert reason in flat(home.world.run("status").out)
    _, mail = home.world.messages("ada@example.org")
    assert "bioRxiv was late; its newest papers will come with the next digest." in flat(
        text_of(mail)
    )
    (alert,) = home.world.messages("ops@example.org")
    assert "A source of mixed could not be read" in flat(text_of(alert))
    assert reason in flat(text_of(alert))
    home.biorxiv.lasting_fault = None
    home.once("mixed", days=1)
    assert home.sent("mixed", 24) == [here]


@pytest.mark.parametrize("fault", [stale(), no_body])
def test_new_list_begins_with_the_first_day_that_its_server_gives(home: Home, fault: Fault) -> None:
    """What came before is too old, although it had none that day."""
    home.write(CELLS)
    home.post(1)
    home.biorxiv.lasting_fault = fault
    home.once()
    home.biorxiv.lasting_fault = None
    new = home.post(2, 20)
    home.once(days=1)
    assert home.sent("cells") == [new]


# ---- what costs money


def test_shortlist_leaves_some_of_them_out(home: Home) -> None:
    """After months of scores the LLM is asked about a third of the day's papers, of either server."""
    home.write(MIXED)
    home.world.env(LLM_SHORTLIST=0.34)
    long_ago = FRIDAY - 60 * DAY
    old = []
    for number in range(320):
        server, category = (("bioRxiv", "genomics"), ("medRxiv", "oncology"))[number % 2]
        record = preprint(number, long_ago.date(), server)
        key = server.lower()
        old.append(
            paper(
                f"{key}:{record.doi}",
                title=record.title,
                abstract=record.abstract,
                primary_category=f"{key}/{category}",
                categories=(f"{key}/{category}",),
                published=long_ago,
            )
        )
    scores = {each.id: Score(9 if number % 4 < 2 else 2, 8) for number, each in enumerate(old)}
    with app_at(home.world.path, home.world.clock, home.world.environ) as app:
        mixed = app.home.list("mixed")
        app.store.papers.add(old, (), long_ago)
        learning = learning_of(app)
        criteria = learning.criteria(mixed)
        app.store.scores.keep("mixed", criteria, "gpt-6-luna", scores, Spending(Usage(1)), long_ago)
        thursday = FRIDAY - DAY
        app.store.days.begin("mixed", ways_in(mixed), (), thursday.date(), thursday)
        below = dict.fromkeys(scores, PaperOutcome.BELOW)
        note = Day("mixed", thursday.date(), Outcome.NOTE, outcomes=below)
        app.store.days.freeze(note, thursday)
        learning.work(mixed, FRIDAY)
    today = [home.post(1_000 + number) for number in range(15)]
    today += [home.post(2_000 + n, YESTERDAY, "oncology", "medRxiv") for n in range(15)]
    home.once("mixed")
    became = home.seen("mixed")
    left_out = {paper_id for paper_id in today if became[paper_id] == "not called"}
    assert 15 < len(left_out) <= 20, "but for those of the sample"
    assert {paper_id.partition(":")[0] for paper_id in left_out} == {"biorxiv", "medrxiv"}
    assert set(home.asked()) == set(today) - left_out


def test_arxiv_lists_mails_and_criteria_are_the_same_beside_lists_of_biorxiv(
    home: Home, tmp_path: Path
) -> None:
    home.world.announce(1, 2, 3, 4)
    alone = replace(home.world, path=tmp_path / "alone")
    written = []
    for world, text in ((alone, lists(ARXIV)), (home.world, lists(MIXED, CELLS, ARXIV))):
        world.write("subscribers.yaml", text)
        world.env()
        world.llm.requests.clear()
        world.smtp.messages.clear()
        assert world.once().code == 0
        (mail,) = world.messages("emmy@example.org")
        asked = [body for body in world.llm.requests if "networks" in str(body)]
        with world.store() as store:
            kept = store.database.rows(
                "select * from scores where list = 'networks' order by paper_id"
            )
        parts = [
            re.sub("(%20)?[0-9a-f]{32}", "TOKEN", text_of(mail, kind)) for kind in ("plain", "html")
        ]
        written.append((parts, asked, kept))
    assert [len(parts) for parts in written[0]] == [2, 1, 4]
    assert written[0] == written[1]


# ---- what `check` says


def test_check_asks_the_servers_and_names_categories_that_have_gone_silent(home: Home) -> None:
    home.write(MIXED, CELLS.replace("bioRxiv/Cell_Biology, biorxiv/genomics", "biorxiv"))
    home.world.announce(1, categories=("q-bio.GN",))
    home.post(1)
    home.once()
    home.post(2, 34, "cell biology")
    home.once(days=15)
    ran = home.world.run("check")
    said = flat(ran.out)
    assert ran.code == 0, said
    for name in ("bioRxiv", "medRxiv"):
        assert f"{name}: {home.biorxiv.url} answers; it has" in said
    assert "mixed: no paper of biorxiv/genomics came in 14 days" in said
    assert "cells: no paper" not in said, "it takes all of bioRxiv"
    home.biorxiv.lasting_fault = no_body
    ran = home.world.run("check")
    assert ran.code == 1
    assert "127.0.0.1 sent no list of records (an empty body)" in flat(ran.out + ran.err)
