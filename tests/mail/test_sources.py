"""Mails of lists that take papers of other sources than arXiv: they name them, and say what is late."""

from __future__ import annotations

import re
import shutil
from dataclasses import replace
from pathlib import Path

import lxml.html
import pytest

from paperboy.features.archive.citations import bibtex
from paperboy.mail import page
from paperboy.mail.templates import Templates
from paperboy.models import Digest, MailingList
from tests.mail.mails import JUDGED_CELLS, curated, in_categories, mixed_digest, sample_lists
from tests.mail.reading import EMAILS, OF_1_0, PAGE, THANKS, flat, online, render, visible

WITH_JOURNAL = sample_lists()["cells"]
CELLS = replace(WITH_JOURNAL, categories=WITH_JOURNAL.categories[:-1])
JOURNAL = replace(WITH_JOURNAL, categories=WITH_JOURNAL.categories[-1:], description="")
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
            of(WITH_JOURNAL),
            "Total papers 10",
            "medRxiv (oncology), arXiv (q-bio.GN) and Tidal Biology Letters that",
            True,
        ),
        (of(JOURNAL), "Total papers 2", "New papers in Tidal Biology Letters that", False),
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


# ── Journals ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_papers_of_a_journal_name_it_and_have_no_other_links_than_their_article() -> None:
    html, text = both(mixed_digest())
    assert "9/8 · Tidal Biology Letters · 10.5555/tbl.2026.0117 Old mitochondria" in html
    assert "9/8 · Tidal Biology Letters · doi:10.5555/tbl.2026.0117 > Old mitochondria" in text
    assert (
        "7/6 · Tidal Biology Letters · 10.5555/tbl.2026.0119 · Piet van Harlingen, Sunniva Okpara"
        " · title only · Article What cells remember" in html
    )
    assert "7/6 · Tidal Biology Letters · doi:10.5555/tbl.2026.0119 · title only > By its" in text


def test_paper_without_a_doi_leads_to_its_link_and_shows_no_number() -> None:
    html, text = both(mixed_digest())
    assert (
        "8/7 · Annals of Cell Counting · Gudrun Sætre, Elif Tanaka-Moss · Abstract A single" in html
    )
    assert "8/7 · Annals of Cell Counting > Counts cells" in text
    mail = render(mixed_digest())
    assert 'href="https://annals.example.org/article/26/11/418"' in mail.html
    assert "0f3c9a7be2d15864" not in mail.html + mail.text


def test_row_without_an_abstract_leads_to_the_article_also_where_others_lead_to_the_page() -> None:
    root = lxml.html.document_fromstring(render(mixed_digest(), web=True).html)
    by_word = {word: root.xpath(f"//a[.='{word}']/@href") for word in ("Abstract", "Article")}
    assert by_word["Article"] == ["https://doi.org/10.5555/tbl.2026.0119"]
    assert len(by_word["Abstract"]) == 7
    assert all(url.startswith(f"{PAGE}#p") for url in by_word["Abstract"])


def test_paper_to_read_first_says_that_its_title_is_all() -> None:
    """Where few papers came, also one without an abstract is shown whole."""
    words = "7/6 · Tidal Biology Letters · 10.5555/tbl.2026.0119 · title only By its title"
    assert words in visible(render(of(JOURNAL)).html)
    assert words in visible(online(of(JOURNAL)))


def test_mail_with_preprints_and_papers_of_journals_says_that_it_includes_preprints() -> None:
    for words in both(mixed_digest()):
        assert words.count(f"includes {NOT_REVIEWED}") == 1


@pytest.mark.parametrize(
    "names",
    [(), *([file.name] for file in OF_1_0.iterdir()), [file.name for file in OF_1_0.iterdir()]],
)
def test_nothing_calls_a_journals_paper_a_preprint(names: list[str], tmp_path: Path) -> None:
    """Neither mail, page nor citation, nor an operator's templates of 1.0."""
    for name in names:
        shutil.copy(OF_1_0 / name, tmp_path)
    templates = Templates.load([tmp_path, EMAILS])
    made = of(JOURNAL)
    for digest in (made, replace(made, mailing_list=replace(JOURNAL, language="de"))):
        mail = render(digest, templates, web=True)
        texts = [mail.subject, mail.html, mail.text, online(digest, templates)]
        assert not [text for text in texts if "preprint" in text.lower()]
        assert all(entry.paper.title in visible(mail.html) for entry in digest.entries)
        assert "https://doi.org/10.5555/tbl.2026.0119" in mail.html
    assert "preprint" not in bibtex(entry.paper for entry in made.entries).lower()


def test_note_of_a_journals_morning_names_its_nearest_papers() -> None:
    made = of(replace(JOURNAL, min_relevance=10, min_novelty=10))
    html, text = both(made)
    for words in (html, text):
        assert "Both new papers in Tidal Biology Letters were scanned" in words
        assert "preprint" not in words
    assert "7/6 · Tidal Biology Letters · 10.5555/tbl.2026.0119" in html
    assert "title only · Article" in html


@pytest.mark.parametrize(
    ("language", "came", "criteria"),
    [
        ("en", "All 10 new papers in arXiv (q-bio.GN) and 4 journals were", "B, C and D that"),
        (
            "de",
            "Alle 10 neuen Arbeiten aus arXiv (q-bio.GN) und 4 Zeitschriften w",
            "B, C und D mit",
        ),
    ],
)
def test_note_counts_many_journals_which_the_criteria_name(
    language: str, came: str, criteria: str
) -> None:
    journals = ("journal/Tidal Biology Letters", "journal/B", "journal/C", "journal/D")
    made = of(replace(WITH_JOURNAL, min_relevance=10, min_novelty=10, authors=()))
    its_list = replace(made.mailing_list, categories=("q-bio.GN", *journals), language=language)
    for words in both(replace(made, mailing_list=its_list)):
        assert came in words
        assert f"Tidal Biology Letters, {criteria}" in words


def test_journals_papers_are_cited_as_articles() -> None:
    cited = bibtex(entry.paper for entry in mixed_digest().entries)
    assert cited.count("@article{") == 3
    assert "  journal = {Tidal Biology Letters},\n  doi = {10.5555/tbl.2026.0119},\n" in cited
    assert (
        "  journal = {Annals of Cell Counting},\n"
        "  url = {https://annals.example.org/article/26/11/418},\n" in cited
    )


def test_indexed_page_has_the_first_sentence_of_a_journals_abstract() -> None:
    made = page.online(of(JOURNAL), url=PAGE, indexed=True)
    assert [item.abstract for item in made.items] == [
        "Stem cells of the gut divide into two cells of which one enters differentiation.",
        "",
    ]


def test_late_journals_are_named_with_late_servers() -> None:
    late = replace(mixed_digest(), late=("medRxiv", "Mellum Society Letters"))
    for words in both(late):
        assert (
            "medRxiv and Mellum Society Letters were late; their newest papers will come" in words
        )
