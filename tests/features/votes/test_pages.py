"""Votes: a page with thumbs behind the links in the mail, and what it keeps."""

from __future__ import annotations

from dataclasses import replace

import lxml.html
import pytest

from paperboy.features.votes.rows import Tally, on_paper
from tests.builders import paper
from tests.cli.conftest import LISTS
from tests.mail import browser
from tests.mail.test_look import AXE, needs_axe, violations
from tests.web.conftest import SCRIPT, WEB_URL, Web

WAYS = ("up", "down", "none")
ONE, TWO, THREE = (f"2611.0000{n}" for n in (1, 2, 3))


def page_of(web: Web, address: str = "ada@example.org") -> str:
    """The link of the text part, to vote on all papers."""
    return web.link("vote/", address)


def thumb(web: Web, way: str, arxiv_id: str) -> str:
    """The link of a thumb in a mail."""
    link = f"{page_of(web)}/{way}/{arxiv_id}"
    assert f'href="{link}"' in web.mail()
    return link


def thumbs(html: str) -> dict[str, str]:
    """What is chosen on a page, by paper, in its order."""
    fields = lxml.html.document_fromstring(html).findall(".//fieldset")
    radios = [field.findall(".//input") for field in fields]
    return {
        some[0].get("name"): next(
            way for way, radio in zip(WAYS, some, strict=True) if radio.get("checked") is not None
        )
        for some in radios
    }


def sent(html: str) -> dict[str, str]:
    """What the page's form sends as it is."""
    radios = lxml.html.document_fromstring(html).findall(".//fieldset//input")
    return {
        radio.get("name"): radio.get("value")
        for radio in radios
        if radio.get("checked") is not None
    }


def monday(web: Web, lists: str = LISTS) -> None:
    """A morning of another paper, perhaps with other lists."""
    web.world.write("subscribers.yaml", lists)
    web.world.clock.now = web.world.clock.now.replace(day=23)
    web.world.announce(11)
    assert web.run("once", "--list", "foundations").code == 0


def votes(web: Web, arxiv_id: str = ONE) -> Tally:
    with web.store() as store:
        return on_paper(store.database, arxiv_id).get("foundations", Tally())


def test_mail_leads_to_a_page_with_thumbs_for_each_paper(web: Web) -> None:
    page = web.get(page_of(web))
    assert page.status_code == 200
    assert thumbs(page.text) == {ONE: "none", TWO: "none", THREE: "none"}
    words = " ".join(lxml.html.document_fromstring(page.text).text_content().split())
    private = "Your vote is private; it helps to order later digests. How?"
    assert f"Vote · 20 November 2026 Foundations {private}" in words
    assert words.index("You vote as a…@example.org.") > words.index("2611.00003")
    assert "On the Learning of Paper 2611.00001 9/8 · cs.LG · 2611.00001" in words
    assert "never shown by name" in words
    assert "votes order papers that score the same" in words
    assert "Nothing that an LLM passes is left out because of votes." in words
    assert '<a href="https://arxiv.org/abs/2611.00001">' in page.text
    assert "ada@" not in page.text


def test_thumb_in_the_mail_chooses_and_the_button_saves(web: Web) -> None:
    page = web.get(thumb(web, "down", TWO)).text
    assert thumbs(page) == {TWO: "down", ONE: "none", THREE: "none"}
    assert "Not saved yet" in page
    assert votes(web, TWO) == Tally()
    form = lxml.html.document_fromstring(page).forms[0]
    assert (form.method, form.action) == ("POST", page_of(web))
    saved = web.post(form.action, data=sent(page))
    assert "Saved" in saved.text
    assert thumbs(saved.text) == {ONE: "none", TWO: "down", THREE: "none"}
    assert votes(web, TWO) == Tally(down=1)
    again = web.get(thumb(web, "down", TWO)).text
    assert thumbs(again)[TWO] == "down"
    assert "Not saved yet" not in again  # it is


def test_vote_can_be_changed_and_taken_back(web: Web) -> None:
    web.post(page_of(web), data={ONE: "up", TWO: "up"})
    web.post(page_of(web), data={ONE: "down"})
    assert (votes(web, ONE), votes(web, TWO)) == (Tally(0, 1), Tally(1, 0))
    page = web.post(page_of(web), data={ONE: "none", TWO: "up"})
    assert thumbs(page.text) == {ONE: "none", TWO: "up", THREE: "none"}
    assert (votes(web, ONE), votes(web, TWO)) == (Tally(), Tally(1, 0))


def test_page_in_another_tab_takes_back_no_later_vote(web: Web) -> None:
    web.post(page_of(web), data={THREE: "up"})
    first, second = (web.get(thumb(web, "up", paper_id)).text for paper_id in (ONE, TWO))
    web.post(page_of(web), data=sent(second) | {THREE: "down"})
    saved = web.post(page_of(web), data=sent(first))
    assert thumbs(saved.text) == {ONE: "up", TWO: "up", THREE: "down"}
    assert [votes(web, paper_id).up for paper_id in (ONE, TWO, THREE)] == [1, 1, 0]


def test_each_reader_has_votes_of_their_own(web: Web) -> None:
    web.post(page_of(web), data={ONE: "up"})
    assert thumbs(web.get(page_of(web, "grace@example.org")).text)[ONE] == "none"
    web.post(page_of(web, "grace@example.org"), data={ONE: "up"})
    assert votes(web) == Tally(2, 0)


def test_scanner_that_fetches_links_and_submits_forms_votes_on_nothing(web: Web) -> None:
    for way in ("up", "down"):
        web.get(thumb(web, way, ONE))
    page = web.post(page_of(web), data={ONE: "up"}, headers=SCRIPT)
    assert thumbs(page.text)[ONE] == "up"  # for a person whose browser is unusual: once more
    assert "Not saved yet" in page.text
    assert "Saved" not in page.text
    assert votes(web) == Tally()
    assert web.post(f"{page_of(web)}/up/{ONE}").status_code == 405


def test_only_papers_of_the_digest_and_known_votes_count(web: Web) -> None:
    web.post(
        page_of(web),
        data={"2611.99999": "up", ONE: "7", TWO: "UP", THREE: ["down", "up"], "<b>": "up"},
    )
    with web.store() as store:
        kept = store.database.rows("select paper_id, vote from votes")
    assert kept == [{"paper_id": THREE, "vote": -1}]  # the first of two


def test_old_id_has_a_slash(web: Web) -> None:
    world = web.world
    old = "cs/0601001"
    assert world.llm.scores is not None
    world.clock.now = world.clock.now.replace(day=23)
    world.llm.scores[old] = world.llm.scores[ONE]
    late = replace(paper(old), published=world.clock.now.replace(day=20, hour=12))
    world.arxiv.papers = (*world.arxiv.papers, late)
    assert world.run("once", "--list", "foundations").code == 0
    page = web.get(thumb(web, "up", old))
    assert thumbs(page.text) == {old: "up"}
    web.post(page_of(web), data=sent(page.text))
    assert votes(web, old) == Tally(1, 0)


@pytest.mark.parametrize(
    "path",
    [
        "{0}/2026-11-19",
        "{0}/2026-13-45",
        "{0}/today",
        "/vote/{1}/2026-11-20",
        "{0}",
        "{0}/2026-11-20/sideways/2611.00001",
    ],
)
def test_there_is_no_page_for_another_day_or_token(web: Web, path: str) -> None:
    mine = page_of(web).removeprefix(WEB_URL).rpartition("/")[0]
    leave = web.link("leave/").rpartition("/")[2]
    assert web.get(path.format(mine, leave)).status_code == 404


def test_list_whose_digests_have_no_page_has_votes(web: Web) -> None:
    monday(web, LISTS.replace("title: Foundations", "title: Foundations\n    archive: none"))
    assert "View online" not in web.mail()
    assert "/2026-11-23" in page_of(web)
    assert thumbs(web.get(page_of(web)).text) == {"2611.00011": "none"}


def test_forgotten_person_leaves_no_vote(web: Web) -> None:
    link = page_of(web)
    web.post(link, data={ONE: "up"})
    web.post(page_of(web, "grace@example.org"), data={ONE: "down"})
    assert web.run("forget", "ada@example.org").code == 0
    assert votes(web) == Tally(0, 1)
    assert web.get(link).status_code == 404


in_a_browser = pytest.mark.skipif(
    bool(browser.missing()), reason=f"{browser.missing()}; .ci/run installs it"
)


@pytest.mark.long("Chromium")
@in_a_browser
@needs_axe
def test_axe_finds_no_violation(web: Web) -> None:
    pages = [
        web.get(thumb(web, "up", ONE)).text,
        web.post(page_of(web), data={ONE: "up", TWO: "down"}).text,
    ]
    with browser.browser() as window:
        for page in pages:
            for scheme in ("light", "dark"):
                window.show(page, 390, scheme)
                window.run(AXE.read_text("utf-8") + "; window.axe = axe")
                assert violations(window) == []


@pytest.mark.long("Chromium")
@in_a_browser
def test_button_is_in_reach_on_a_phone_and_thumbs_are_large_enough(web: Web) -> None:
    html = web.get(thumb(web, "up", ONE)).text
    form = "<fieldset" + html.partition("<fieldset")[2].partition("</fieldset>")[0] + "</fieldset>"
    html = html.replace(form, form + form.replace(ONE, "{}") * 40)  # a long digest
    with browser.browser() as window:
        for width, height in ((320, 568), (390, 844), (800, 700)):
            window.show(html, width, "light", height=height)
            box = "const box = document.querySelector({}).getBoundingClientRect(); return [box.{}, box.{}]"
            top, bottom = window.run(box.format("'button'", "top", "bottom"))
            assert 0 < top < bottom <= height
            assert window.run(box.format("'.one .v'", "top", "bottom"))[1] < top
            assert min(window.run(box.format("'.one label'", "width", "height"))) >= 44
            assert window.run("return document.documentElement.scrollWidth") == width


def test_token_opens_only_the_digests_that_its_reader_got(web: Web) -> None:
    link = page_of(web)
    monday(web, LISTS.replace("      - ada@example.org\n", ""))
    later = link.replace("2026-11-20", "2026-11-23")
    assert (web.get(link).status_code, web.get(later).status_code) == (200, 404)
    assert web.post(later, data={"2611.00011": "up"}).status_code == 404
