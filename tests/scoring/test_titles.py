"""Titles of a library are private: which sentences of a comment go, and which stay."""

from __future__ import annotations

import pytest

from paperboy.models import Score, ToScore
from paperboy.scoring.titles import without_titles
from tests.builders import mailing_list
from tests.scoring.asking import collect, papers, scorer_for
from tests.servers.llm import LlmServer
from tests.servers.llm_cache import text_of

TITLES = (
    "Zugzwang among quokkas: a field study of marsupial chess",
    "On $\\alpha$-decay in half-forgotten Gödel machines",
    "Attention sinks",
)


@pytest.mark.parametrize(
    "told",
    [
        "Like Zugzwang among quokkas: a field study of marsupial chess, it counts moves.",
        "It repeats the field study of marsupial chess at scale.",
        "It repeats THE FIELD-STUDY OF MARSUPIAL chess.",
        "It repeats “a field study, of marsupial chess”.",
        "As in zugzwang — among quokkas — a result that holds.",
        "Follows half forgotten Goedel machines, or half-forgotten Gödel machines in α-decay.",
        "After decay in half-forgotten Godel.",
        "A field\N{ZERO WIDTH SPACE} study of mar\N{SOFT HYPHEN}supial chess, again.",
        "A field study of $\\mathrm{marsupial}$ \\emph{chess}, again.",
    ],
)
def test_sentence_with_four_words_of_a_title_in_a_row_goes(told: str) -> None:
    assert without_titles(told, TITLES) == ""
    assert without_titles(f"It matters. {told} Its proof is short.", TITLES) == (
        "It matters. Its proof is short."
    )


@pytest.mark.parametrize(
    "told",
    [
        "It counts moves.",
        "A study of chess, of marsupial brains, and of a field.",
        "Quokkas among zugzwang: study field a of chess marsupial.",
        "Another field study of marsupials.",  # three in a row, and another word
        "Attention sinks, again: attention sinks.",  # a title of fewer words than four tells nothing
        "",
    ],
)
def test_comment_without_four_words_of_a_title_in_a_row_stays_as_it_is(told: str) -> None:
    assert without_titles(told, TITLES) == told
    assert without_titles(f"  {told}  ", TITLES) == f"  {told}  "


def test_words_of_two_titles_are_not_in_a_row() -> None:
    told = "It has attention sinks half a field wide."
    assert without_titles(told, ["All attention sinks", "Half a field"]) == told


def test_without_titles_every_comment_stays() -> None:
    assert without_titles("A field study of marsupial chess.", ()) == (
        "A field study of marsupial chess."
    )


def test_llm_gets_the_titles_and_no_comment_repeats_one() -> None:
    """What the LLM says of a list with topics stays, whatever it says."""
    told = f"It matters. It extends {TITLES[0]}."
    liked = mailing_list(topics="", titles=TITLES, library_size=len(TITLES))
    asked = tuple(papers(3))
    with LlmServer(lambda _: Score(8, 7, told)) as server, scorer_for(server) as scorer:
        of_library = collect(scorer.score([ToScore(liked, asked)]))
        of_topics = collect(scorer.score([ToScore(mailing_list(), asked)]))

    assert {score.comment for score in of_library.scores.values()} == {"It matters."}
    assert {score.comment for score in of_topics.scores.values()} == {told}
    assert TITLES[0] in text_of(server.requests[0])
    assert TITLES[0] not in text_of(server.requests[-1])
