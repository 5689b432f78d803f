"""A list whose library stands in for topics: what its mails and pages say, and that no title is among it."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from paperboy.mail import archive
from paperboy.mail.templates import Templates
from paperboy.models import Digest, MailingList, Spending
from tests.builders import EMBEDDED, digest, entry, mailing_list
from tests.mail.reading import EMAILS, OF_1_0, TEMPLATES, flat, online, render, visible

TITLES = ("Zugzwang among quokkas", "Marsupial chess")
SECRETS = ("zugzwang", "quokkas", "marsupial", "private-folder")
LIST = mailing_list(
    topics="", library="private-folder.bib", titles=TITLES, library_size=len(TITLES)
)
OFF_TOPIC = entry(1, relevance=3, matched_author="Yoshua Bengio")
JUDGED = digest([OFF_TOPIC, *(entry(n) for n in range(2, 9))], mailing_list=LIST)
RANKED = digest(
    [
        replace(OFF_TOPIC, score=replace(OFF_TOPIC.score, novelty=None, comment="")),
        *(entry(n, novelty=None, comment="") for n in range(2, 9)),
    ],
    mailing_list=LIST,
    model=EMBEDDED,
    spending=Spending(),
)
NOTE = digest([], nearest=(entry(0, relevance=5),), mailing_list=LIST)
KINDS = {"judged": JUDGED, "ranked": RANKED, "note": NOTE}

SAYS = {  # of a list in that language: how its papers were chosen, and ranked without an LLM
    "en": (
        "Wanted: papers like 2 in this list's library.",
        "Ranked by similarity to this list's library, not by an LLM.",
        "The embedded scorer ranked them by their similarity to papers in this list's library: relevance is a rank",
        "not like this list's library",
    ),
    "de": (
        "Gesucht: Arbeiten, die 2 anderen aus der Bibliothek dieser Liste ähneln.",
        "Geordnet nach der Ähnlichkeit mit der Bibliothek dieser Liste, nicht von einem LLM.",
        "Verfahren hat sie nach der Ähnlichkeit mit Arbeiten aus der Bibliothek dieser Liste geordnet: Die Relevanz",
        "passt nicht zur Bibliothek dieser Liste",
    ),
}


def of(kind: str, language: str = "en", **changes: object) -> Digest:
    made = KINDS[kind]
    return replace(made, mailing_list=replace(made.mailing_list, language=language, **changes))


def parts(made: Digest, by: Templates = TEMPLATES) -> Iterator[str]:
    """What readers see: both parts of the mail, without and with a site, and the page."""
    for web in (False, True):
        mail = render(made, by, web=web)
        yield visible(mail.html)
        yield flat(mail.text)
    yield visible(online(made, by))


@pytest.mark.parametrize("language", SAYS)
@pytest.mark.parametrize("kind", KINDS)
def test_mails_and_pages_say_what_stands_in_for_topics(kind: str, language: str) -> None:
    wanted, ranked, scored_by, outside = SAYS[language]
    for part in parts(of(kind, language)):
        assert part.count(wanted) == 1
        assert (ranked in part) == (kind == "ranked")
        assert (scored_by in part) == (kind == "ranked")
        assert (outside[1:] in part) == (kind != "note")
        for word in ("topic", "Themen", "shared words", "Words in common", "gemeinsame"):
            assert word not in part


@pytest.mark.parametrize(
    ("size", "language", "wanted"),
    [
        (1, "en", "papers like one in this list's library."),
        (30, "en", "papers like 30 in this list's library."),
        (1, "de", "die einer anderen aus der Bibliothek dieser Liste ähneln."),
        (30, "de", "die 30 anderen aus der Bibliothek dieser Liste ähneln."),
    ],
)
def test_number_of_titles_is_said_in_words_that_fit(size: int, language: str, wanted: str) -> None:
    assert all(wanted in part for part in parts(of("note", language, library_size=size)))


def test_paper_without_a_comment_has_its_abstract_or_a_sentence_of_it() -> None:
    html = visible(render(RANKED).html)
    assert "8 · cs.LG · 2611.00002 · PDF · HTML We study how papers are learned." in html
    rows = html.partition("More papers")[2]
    assert (
        "2611.00005 We study how papers are learned. The method is simple. 8 · 2611.00005" in rows
    )


@pytest.mark.parametrize("kind", KINDS)
def test_no_title_reaches_a_template_or_what_is_stored(kind: str, tmp_path: Path) -> None:
    """Whatever the operator prints."""
    prints = (
        "[{{ page.titles }} {{ page.library }} {{ page.mailing_list.titles }} "
        "{{ page.mailing_list.library }} {{ page.mailing_list }} {{ page }}]\n"
    )
    for name in ("_masthead.txt.j2", "inbox.txt.j2"):
        shipped = (EMAILS / name).read_text("utf-8")
        (tmp_path / name).write_text(shipped + prints, "utf-8")
    masthead = (EMAILS / "_masthead.mjml.j2").read_text("utf-8")
    (tmp_path / "_masthead.mjml.j2").write_text(masthead + prints, "utf-8")
    made = of(kind)
    templates = Templates.load([tmp_path, EMAILS])
    shown = [*parts(made, templates), archive.dump(made).decode(), repr(made.mailing_list.titles)]
    *shown, unseen = (part.lower() for part in shown)
    assert all("[() () " in part for part in shown[:-1])
    assert {secret for secret in SECRETS for part in shown if secret in part} == set()
    assert "quokkas" in unseen


def test_stored_digest_keeps_how_many_titles_stood_in_for_topics() -> None:
    papers = {entry.paper.id: entry.paper for entry in JUDGED.entries}
    dumped = archive.dump(JUDGED)
    thawed = archive.load(dumped, lambda _: papers)
    stored: MailingList = thawed.mailing_list
    assert (stored.library_size, stored.titles, stored.library, stored.topics) == (2, (), "", "")
    assert visible(online(thawed)) == visible(online(JUDGED))

    before = json.loads(dumped)  # of a Paperboy without libraries
    del before["list"]["library_size"]
    old = archive.load(json.dumps(before).encode(), lambda _: papers)
    assert old.mailing_list.library_size == 0


@pytest.mark.parametrize("kind", ["judged", "ranked"])
def test_templates_of_1_0_say_it_too(kind: str, tmp_path: Path) -> None:
    """With words of today: those of 1.0 know no libraries."""
    for name in ("digest.mjml.j2", "_entry.mjml.j2"):
        shutil.copy(OF_1_0 / name, tmp_path)
    html = visible(render(of(kind), Templates.load([tmp_path, EMAILS])).html)
    assert "Closest to this list's library" in html
    assert "Not like this list's library." in html
    assert "Wanted: papers like 2 in this list's library." in html
    assert "topic" not in html
