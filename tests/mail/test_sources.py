"""Mails of lists that take papers of other sources than arXiv: they name them, and say what is late."""

from __future__ import annotations

import re
from dataclasses import replace

import lxml.html
import pytest

from paperboy.models import Digest, MailingList
from tests.mail.mails import JUDGED_CELLS, curated, in_categories, sample_lists
from tests.mail.reading import THANKS, flat, online, render, visible

CELLS = sample_lists()["cells"]
BIORXIV = replace(CELLS, categories=("biorxiv/genomics", "biorxiv/cell biology"))
NOT_REVIEWED = "preprints, not peer reviewed"
BACK = "medRxiv was late; its newest papers will come with the next digest."


def of(mailing_list: MailingList = CELLS, late: tuple[str, ...] = ()) -> Digest:
    papers = in_categories(mailing_list)
    return replace(curated(mailing_list, papers, JUDGED_CELLS), late=late)


def note(late: tuple[str, ...] = ()) -> Digest:
    return of(replace(CELLS, min_relevance=10, min_novelty=10, authors=()), late)


def both(made: Digest) -> list[str]:
    """The words of a mail's two parts."""
    mail = render(made)
    return [visible(mail.html), flat(mail.text)]


@pytest.mark.parametrize(
    ("made", "total", "categories", "thanks"),
    [
        (
            of(),
            "Total bioRxiv, medRxiv and arXiv papers 8",
            "New papers in bioRxiv (genomics, cell biology), medRxiv (oncology) and arXiv (q-bio.GN) that",
            True,
        ),
        (
            of(BIORXIV),
            "Total bioRxiv papers 5",
            "New papers in bioRxiv (genomics, cell biology) that",
            False,
        ),
        (
            of(replace(CELLS, categories=("q-bio.GN",))),
            "Total arXiv papers 2",
            "New papers in q-bio.GN that",
            True,
        ),
    ],
)
def test_numbers_criteria_and_thanks_name_the_lists_sources(
    made: Digest, total: str, categories: str, *, thanks: bool
) -> None:
    for words in both(made):
        assert total in words
        assert categories in words
        assert (THANKS in words) is thanks


def test_mail_with_preprints_of_other_servers_says_once_that_nobody_reviewed_them() -> None:
    for made in (of(), of(BIORXIV), note()):
        assert [words.lower().count(NOT_REVIEWED) for words in both(made)] == [1, 1]
    assert visible(online(of())).count(NOT_REVIEWED) == 1
    for words in both(of(replace(CELLS, categories=("q-bio.GN",)))):
        assert NOT_REVIEWED not in words


def test_papers_name_their_server_category_institution_and_doi() -> None:
    html, text = both(of())
    whole = "10/9 · bioRxiv · genomics · Northmoor Genome Centre · 10.64898/2026.11.13.900013 · PDF"
    assert whole in html
    assert whole.replace(" 10.", " doi:10.").removesuffix(" · PDF") in text
    row = "7/6 · medRxiv · 10.64898/2026.11.13.26900016 · E. Marchetti-Osei et al. · Saint Brannoc Hospital · Abstract"
    assert row in html
    assert (
        'href="https://www.medrxiv.org/content/10.64898/2026.11.13.26900016v1"' in render(of()).html
    )
    assert "Optimal transport between single-cell atlases" in html
    assert (
        "8/7 · arXiv · 2611.90065 · Priya Raghunathan-Holm, Tomasz Wierzbowski · Abstract" in html
    )


def test_author_with_initials_who_may_be_followed_is_named_quietly() -> None:
    """The paper stays in its place, also for the reader who follows somebody else of it."""
    for words in both(of()):
        assert words.count("possible author match: W. X. Zhang") == 1
    mail = render(of())
    kickers = lxml.html.document_fromstring(mail.html).xpath("//p[@class='m']")
    assert [flat(p.text_content()) for p in kickers] == ["Clara Whitlock-Ibe"]
    assert re.findall("Author match: (.*?)[.]", flat(mail.text)) == ["Clara Whitlock-Ibe"]


@pytest.mark.parametrize("made", [of(late=("medRxiv",)), note(late=("medRxiv",))])
def test_mail_without_a_late_sources_papers_says_so(made: Digest) -> None:
    assert all(BACK in words for words in both(made))
    assert not any(" late; " in words for words in both(replace(made, late=())))
