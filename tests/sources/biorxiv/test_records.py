"""One page of the API's JSON: what becomes of a record, and which replies are no page at all."""

from __future__ import annotations

import json
from dataclasses import asdict, replace
from datetime import UTC, date, datetime
from typing import Any

import pytest

from paperboy.models import Paper
from paperboy.sources.biorxiv.records import RecordsPage, Window, read_page
from paperboy.sources.polite import FaultError
from tests.servers.biorxiv_api import preprint
from tests.servers.biorxiv_faults import MISSING

DAY = date(2026, 11, 18)  # on which records were posted, unless told
WINDOW = Window(date(2026, 11, 2), date(2026, 11, 19))
DOI = "10.64898/2026.11.17.700001"


def record(number: int = 1, **changes: Any) -> dict[str, Any]:
    """A sound record with other values, of any type, or without a field that is MISSING."""
    fields = asdict(preprint(number, DAY)) | changes
    return {name: value for name, value in fields.items() if value is not MISSING}


def reply(*records: Any, **message: Any) -> bytes:
    """A page of these records, with other values in its message."""
    usual = {"status": "ok", "category": "all", "cursor": 0, "total": str(len(records))}
    fields = {name: value for name, value in (usual | message).items() if value is not MISSING}
    return json.dumps({"messages": [fields], "collection": records}).encode()


def read(*records: Any) -> RecordsPage:
    return read_page(reply(*records), "biorxiv", WINDOW)


def paper_of(**changes: Any) -> Paper:
    """The paper that a record with these changes becomes."""
    page = read(record(**changes))
    assert page.bad == ()
    (paper,) = page.papers
    return paper


def fault(body: bytes, cursor: int = 0) -> str:
    """What is wrong with a reply that is no page."""
    with pytest.raises(FaultError) as caught:
        read_page(body, "biorxiv", WINDOW, cursor)
    return str(caught.value)


# records


def test_record_becomes_a_paper() -> None:
    sent = record(
        title="Loss of <i>RXV1</i>\nslows  healing",
        authors="Iversen, M.; Zhang, W. X.; The Lakeside Consortium",
        author_corresponding="Wei Xin  Zhang",
        author_corresponding_institution="Nordhaven University",
        abstract="  We looked.\n\n  It   heals. ",
        category="Cell Biology",
        license="cc_by_nc",
        doi=DOI.upper(),
    )
    posted = datetime(2026, 11, 18, 5, tzinfo=UTC)  # midnight in New York
    assert read(sent).papers == (
        Paper(
            id=f"biorxiv:{DOI}",
            version=1,
            title="Loss of <i>RXV1</i> slows healing",  # the mark-up stays until a mail is made
            authors=("M. Iversen", "Wei Xin Zhang", "The Lakeside Consortium"),
            abstract="We looked.\nIt heals.",
            primary_category="biorxiv/cell biology",
            categories=("biorxiv/cell biology",),
            published=posted,
            updated=posted,
            doi=DOI,
            corresponding="Wei Xin Zhang",
            institution="Nordhaven University",
            license="cc_by_nc",
        ),
    )


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"date": "2026-11-2"}, {"published": datetime(2026, 11, 2, 5, tzinfo=UTC)}),  # unpadded
        ({"date": "2026-011-18"}, "with a bad date"),
        ({"date": "2026-11-01"}, "with a bad date"),
        ({"date": "2026-11-19"}, {"published": datetime(2026, 11, 19, 5, tzinfo=UTC)}),
        ({"date": "2026-11-21"}, "with a bad date"),  # no proof of freshness
        ({"date": "9999-12-31"}, "with a bad date"),
        ({"date": "2026-11-31"}, "with a bad date"),
        ({"date": "yesterday"}, "with a bad date"),
        ({"date": 20261118}, "with a bad date"),
        ({"date": None}, "with a bad date"),
        ({"doi": "10.1101/2026.11.17.26700001"}, {"doi": "10.1101/2026.11.17.26700001"}),
        ({"doi": "10.1038/s41586-026-00001-1"}, "without a DOI of bioRxiv or medRxiv"),
        ({"doi": MISSING}, "without a DOI of bioRxiv or medRxiv"),
        ({"doi": f"{DOI}/../../etc"}, "without a DOI of bioRxiv or medRxiv"),
        ({"server": "medRxiv"}, "of another server"),
        ({"server": MISSING}, {"id": f"biorxiv:{DOI}"}),
        ({"version": 1}, {"version": 1}),  # an integer for text
        ({"version": "one"}, "without a version"),
        ({"version": True}, "without a version"),
        ({"version": -1}, "without a version"),
        ({"title": " \n "}, "without a title"),
        ({"title": ["a", "b"]}, "without a title"),
        ({"category": MISSING}, "without a category"),
        ({"category": "xenobiology"}, {"primary_category": "biorxiv", "categories": ("biorxiv",)}),
        ({"abstract": "NA"}, {"abstract": ""}),
        ({"abstract": MISSING}, {"abstract": ""}),
        ({"license": "CC0"}, {"license": "cc0"}),
        ({"license": "NA"}, {"license": "unknown"}),  # which frees no abstract
        ({"license": MISSING}, {"license": "unknown"}),
        ({"author_corresponding_institution": "NA"}, {"institution": ""}),
        (
            {"author_corresponding": "NA"},
            {"corresponding": "", "authors": ("W. X. Zhang", "T. Oduya-Falk", "Y. Morita")},
        ),
        ({"funder": [{"name": "x"}], "published": "10.1/x", "jatsxml": 7}, {"comment": ""}),
    ],
)
def test_field_is_read_or_makes_a_bad_record(
    changes: dict[str, Any], expected: dict[str, Any] | str
) -> None:
    """Which is left out, and named."""
    page = read(record(1, **changes), record(2))
    if isinstance(expected, str):
        assert [paper.id[-1] for paper in page.papers] == ["2"]
        (bad,) = page.bad
        assert bad.endswith(f" {expected}")
        return
    assert page.bad == ()
    usual = read(record(1)).papers[0]
    changed = replace(usual, **expected)
    if "published" in expected:
        changed = replace(changed, updated=expected["published"])
    if "doi" in expected:
        changed = replace(changed, id=f"biorxiv:{expected['doi']}")
    assert page.papers[0] == changed


@pytest.mark.parametrize(
    "changes", [{"version": "2"}, {"version": 12}, {"date": "2026-11-20"}, {"date": "2026-11-20 "}]
)
def test_revision_or_paper_of_today_counts_as_read_and_is_no_paper(changes: dict[str, Any]) -> None:
    """It shows that the server has that day. Today's papers come tomorrow."""
    page = read(record(1, **changes), record(2, version="2", title=MISSING))
    assert (page.size, page.papers, page.bad) == (2, (), ())
    assert len(page.versions) == 2


# names


@pytest.mark.parametrize(
    ("authors", "corresponding", "expected"),
    [
        ("Iversen, M.", "", ["M. Iversen"]),
        ("Iversen, M.; Zhang, W. X.", "Wei Xin Zhang", ["M. Iversen", "Wei Xin Zhang"]),
        ("Zhang, W. X.; Iversen, M.", "Wei Zhang", ["Wei Zhang", "M. Iversen"]),
        (" Zhang ,W.  X. ;; ; Iversen,M.;", "", ["W. X. Zhang", "M. Iversen"]),
        # of two who might be meant, the last
        ("Zhang, W.; Iversen, M.; Zhang, W.", "Wei Zhang", ["W. Zhang", "M. Iversen", "Wei Zhang"]),
        ("Zhang, X.; Zhang, W.; Zhang, Y.", "Wei Zhang", ["X. Zhang", "Wei Zhang", "Y. Zhang"]),
        # a whole name that is none of them stands nowhere
        ("Iversen, M.", "Wei Zhang", ["M. Iversen"]),
        ("Zhang, X.", "Wei Zhang", ["X. Zhang"]),
        ("Huang, W.", "Wei Zhang-Huang", ["W. Huang"]),
        # surnames of several words, and hyphens
        (
            "van den Berg, J. P.; de la Cruz, M.",
            "",
            ["J. P. van\u00a0den\u00a0Berg", "M. de\u00a0la\u00a0Cruz"],
        ),
        ("van den Berg, J.", "Jan van den Berg", ["Jan van den Berg"]),
        ("Oduya-Falk, T.-A.", "Tobias-Ade Oduya-Falk", ["Tobias-Ade Oduya-Falk"]),
        ("HERRERA, L.", "Lucía Herrera", ["Lucía Herrera"]),
        # after a second comma
        ("Okafor, S. T., Jr.; Desai, R., III", "", ["S. T. Okafor Jr.", "R. Desai III"]),
        ("Okafor, S. T., Jr.", "Samuel T. Okafor Jr.", ["Samuel T. Okafor Jr."]),
        ("Okafor, S. T.; Desai, R.", "Samuel Okafor, Sr.", ["Samuel Okafor Sr.", "R. Desai"]),
        ("Okafor, S. T., III; Desai, R.", "Samuel T. Okafor", ["Samuel T. Okafor", "R. Desai"]),
        # without titles and degrees
        ("Okafor, S.; Md, R.", "Prof. Dr. Samuel Okafor MD PhD", ["Samuel Okafor", "R. Md"]),
        ("Okafor, S.; Desai, R.", "Samuel Okafor, M.D., Ph.D.", ["Samuel Okafor", "R. Desai"]),
        ("Prost, D.; Ma, Y.", "Drew Prost", ["Drew Prost", "Y. Ma"]),
        # accents on one side
        ("Lefevre, E.; Strom, A.", "Émile Lefèvre", ["Émile Lefèvre", "A. Strom"]),
        ("Strom, A.", "Åsa Strøm", ["Åsa Strøm"]),
        # doubled commas
        ("Okafor,, S. T.; Desai, R.,, III", "", ["S. T. Okafor", "R. Desai III"]),
        # a consortium has no comma, and is no person
        ("The RXV Consortium; Iversen, M.", "", ["The RXV Consortium", "M. Iversen"]),
        ("Iversen, M.; RXV Group,", "", ["M. Iversen", "RXV Group"]),
        ("Zhang", "Wei Zhang", ["Zhang"]),
        # none
        ("NA", "NA", []),
        ("", "", []),
        ("-; ., ;123", "", []),
        (None, "", []),
        (["Iversen, M."], "", []),
    ],
)
def test_names_stand_in_their_natural_order_with_the_whole_one_at_its_place(
    authors: Any, corresponding: str, expected: list[str]
) -> None:
    of = paper_of(authors=authors, author_corresponding=corresponding)
    assert list(of.authors) == expected


@pytest.mark.parametrize(
    ("characters", "last", "corresponding", "ending"),
    [
        (600, "Love", "Ada Lovelace", ["M. Iversen", "Ada Lovelace", "et al."]),
        (600, "Lovelace, A.", "Marta Iversen", ["Marta Iversen", "et al."]),
        (598, "Lovelace, A.;", "NA", ["M. Iversen", "A. Lovelace", "et al."]),
        (597, "Lovelace, A.", "Ada Byron", ["M. Iversen", "A. Lovelace"]),
        (601, "Lovelace, A.", "Ada Byron", ["M. Iversen", "A. Lovelace"]),  # no longer cut
    ],
)
def test_list_cut_at_600_characters_ends_in_the_whole_name_and_et_al(
    characters: int, last: str, corresponding: str, ending: list[str]
) -> None:
    """Its last piece may be half a name."""
    authors = f", W.; Iversen, M.; {last}".rjust(characters, "x")
    of = paper_of(authors=authors, author_corresponding=corresponding)
    assert list(of.authors[-len(ending) :]) == ending


# pages


@pytest.mark.parametrize(
    ("bad", "total", "is_page"),
    [(1, 30, True), (3, 30, True), (4, 30, False), (1, 5, True), (2, 5, False)],
)
def test_one_bad_record_costs_no_other_and_more_than_one_in_ten_break_the_page(
    bad: int, total: int, *, is_page: bool
) -> None:
    records = [record(number, title="" if number < bad else "Good") for number in range(total)]
    if is_page:
        page = read(*records)
        assert (page.size, len(page.papers), len(page.bad)) == (total, total - bad, bad)
    else:
        first = "10.64898/2026.11.17.700000 without a title"
        assert fault(reply(*records)).startswith(f"sent {bad} bad records in {total} ({first}, ")


def test_record_that_is_none_is_named_by_its_place() -> None:
    page = read_page(
        reply(record(1), "a record", cursor=30, total=40), "biorxiv", WINDOW, cursor=30
    )
    assert page.bad == ("record 32 without a DOI of bioRxiv or medRxiv",)


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        ({"total": "109"}, 109),
        ({"total": 109}, 109),
        ({"total": "109", "cursor": "0"}, 109),
        ({"total": "109", "cursor": MISSING}, 109),
        ({"total": "109", "status": "OK"}, 109),
        ({"category": "genomics"}, "answered for the category 'genomics', not for all"),
        ({"category": MISSING}, "answered for the category '', not for all"),
        ({"cursor": 30}, "answered from record '30' on, not from 0"),
        ({"cursor": [0]}, "answered from record '' on, not from 0"),
        ({"total": MISSING}, "counts '' records"),
        ({"total": "many"}, "counts 'many' records"),
        ({"total": -1}, "counts '-1' records"),
        ({"total": 1.5}, "counts '' records"),
        ({"total": 10**400}, "counts '' records"),
        ({"total": "٣"}, "counts '٣' records"),
        ({"total": "9" * 500}, f"counts '{'9' * 119}…' records"),
        ({"total": "100001"}, "counts 100001 records"),
        ({"status": "Not available at this time"}, "says 'Not available at this time'"),
        ({"status": [["ok"]]}, "says ''"),
    ],
)
def test_message_must_answer_what_was_asked(message: dict[str, Any], expected: int | str) -> None:
    """A count may be a number, or text."""
    body = reply(record(1), **message)
    if isinstance(expected, int):
        assert read_page(body, "biorxiv", WINDOW).total == expected
    else:
        assert fault(body) == expected


@pytest.mark.parametrize(
    ("status", "cursor", "says"),
    [
        ("ok", 0, ""),
        ("no posts found", 0, ""),
        ("ok", 30, ""),
        ("no posts found", 30, ""),
        ("No posts found", 30, ""),
        ("DOI not recognizable", 30, "says 'DOI not recognizable'"),
        ("(2002) Connection refused", 30, "says '(2002) Connection refused'"),
    ],
)
def test_page_without_records_is_an_answer_but_another_status_is_a_failure(
    status: str, cursor: int, says: str
) -> None:
    body = json.dumps({"messages": [{"status": status}], "collection": []}).encode()
    if says:
        assert fault(body, cursor) == says
    else:
        assert read_page(body, "biorxiv", WINDOW, cursor).size == 0


NO_LIST = "sent no list of records"


DEEP = b"[" * 900 + b"]" * 900
BROKEN: dict[str, tuple[bytes, str | tuple[str, ...]]] = {
    "nothing": (b"", f"{NO_LIST} (an empty body)"),
    "an error": (b"Error : (2002) no", f"{NO_LIST} (Error : (2002) no)"),
    "HTML": (b"<html><title>Just a moment...</title>", f"{NO_LIST} (Just a moment...)"),
    "half of it": (reply(record(1))[:27], f'{NO_LIST} ({{"messages": [{{"status": "o)'),
    "bytes that are no text": (b"\xff\xfe\x00\xd8", NO_LIST),
    "a long number": (b"7" * 9_000, NO_LIST),
    "lists in lists without end": (b"[" * 200_000, NO_LIST),
    "lists in lists": (b'{"messages": [{"status": ' + DEEP + b"}]}", ("says ''", NO_LIST)),
    "a list": (b"[]", NO_LIST),
    "null": (b"null", NO_LIST),
    "no message": (b'{"messages": []}', NO_LIST),
    "text for messages": (b'{"messages": "ok"}', NO_LIST),
    "a list for a message": (b'{"messages": [[]], "collection": []}', NO_LIST),
    "no list of records": (b'{"messages": [{"status": "ok"}], "collection": {"0": 1}}', NO_LIST),
    "no collection": (b'{"messages": [{"status": "ok"}]}', NO_LIST),
    "too many records": (reply(*[record(1)] * 1_001), "sent a page of 1001 records"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_reply_that_is_no_page_says_what_it_is_in_one_line(name: str) -> None:
    body, says = BROKEN[name]
    said = fault(body)
    assert said.startswith(says)
    assert said.isprintable()
    assert len(said) < 200


# bounds

WORD = "word " * 200_000


@pytest.mark.parametrize(
    ("changes", "field", "most"),
    [
        ({"title": WORD}, "title", 1_000),
        ({"title": "\u0958" * 5_000}, "title", 1_000),
        ({"abstract": WORD}, "abstract", 10_000),
        ({"author_corresponding": WORD}, "corresponding", 200),
        ({"author_corresponding_institution": "\u0958" * 500}, "institution", 200),
        ({"license": WORD}, "license", 200),
    ],
)
def test_field_beyond_its_bound_is_cut_with_a_mark(
    changes: dict[str, Any], field: str, most: int
) -> None:
    text = getattr(paper_of(**changes), field)
    assert text.endswith("…")
    assert len(text) <= most


def test_authors_beyond_their_bounds_are_cut() -> None:
    of = paper_of(authors="Iversen, M.;" * 100_000)
    assert of.authors == ("M. Iversen",) * 5_000
    (name,) = paper_of(authors=f"Iversen, {WORD}").authors
    assert name.endswith(" Iversen")
    assert len(name) <= 200


def test_what_nobody_can_see_or_no_disk_can_hold_is_left_out() -> None:
    """Lone surrogates, control characters and marks that turn the writing direction."""
    evil = "a\ud800b\x1b[31m\u202ec\x00"
    fields = ("title", "abstract", "authors", "author_corresponding", "license", "category")
    of = paper_of(**dict.fromkeys(fields, evil), author_corresponding_institution=evil)
    assert of.title == of.abstract == of.institution == of.corresponding == "ab[31mc"
    assert of.authors == ("ab[31mc",)
    page = read(record(1, doi=evil), record(2))
    assert page.bad == (r"a\ud800b\x1b[31m\u202ec\x00 without a DOI of bioRxiv or medRxiv",)
