"""Results in sentences, as `once` and `preview` say them."""

from dataclasses import replace

import pytest

from paperboy import delivery
from paperboy.cli import words
from paperboy.models import Counts, DeliveryState, ListReport, Outcome, Spending, Usage
from paperboy.models import MorningReport as Report

DEAD = "the LLM at api.openai.com answers 503: Overloaded"
UNSCORED = ListReport("foundations", None, Counts(considered=8, carried_over=8), problem=DEAD)


def said(*entries: ListReport) -> list[str]:
    return words.a_morning(Report(entries), delivery.Report({DeliveryState.SENT: 3}), []).splitlines()


@pytest.mark.parametrize(
    ("problem", "sentence"),
    [
        (DEAD, "The LLM at api.openai.com answers 503: Overloaded"),
        ("export.arxiv.org could not be reached", "export.arxiv.org could not be reached"),
        ("emails/digest.mjml.j2: too long", "emails/digest.mjml.j2: too long"),
        ("arXiv's batch is not there yet", "arXiv's batch is not there yet"),
        ("LLM_BUDGET_USD is used up", "LLM_BUDGET_USD is used up"),
    ],
)
def test_a_reason_after_a_full_stop_begins_as_a_sentence_does(problem: str, sentence: str) -> None:
    """But for names, which are written as they are."""
    due, served = replace(UNSCORED, problem=problem), ListReport("stars", Outcome.QUIET, problem=problem)
    assert said(due, served) == [
        f"foundations: still due, scored 0 of 8 papers. {sentence}",
        f"stars: quiet. {sentence}",
        "Deliveries: 3 sent",
    ]


def test_lists_that_are_due_for_one_reason_are_told_it_once_at_the_end() -> None:
    one = Counts(considered=1, carried_over=1)
    late = ListReport("stars", None, problem="arXiv's batch is not there yet")
    assert said(
        UNSCORED, late, replace(UNSCORED, list_name="galaxies", counts=one), replace(UNSCORED, list_name="quarks")
    ) == [
        "foundations: still due, scored 0 of 8 papers.",
        "stars: still due. arXiv's batch is not there yet",
        "galaxies: still due, scored 0 of 1 paper.",
        "quarks: still due, scored 0 of 8 papers.",
        "Why foundations, galaxies and quarks are still due: the LLM at api.openai.com answers 503: Overloaded",
        "Deliveries: 3 sent",
    ]


def test_what_a_server_does_not_count_has_no_price_to_know() -> None:
    counts = Counts(considered=2, selected=2)
    uncounted, unpriced = (
        ListReport("foundations", Outcome.DIGEST, counts, Spending(usage, None))
        for usage in (Usage(calls=1), Usage(1, 900, completion_tokens=100))
    )
    assert said(uncounted)[0] == "foundations: digest, 2 of 2 papers, cost not known"
    assert said(unpriced)[0] == "foundations: digest, 2 of 2 papers, price unknown"


def test_the_counts_in_a_sentence_name_all_that_was_not_scored() -> None:
    """As `once` and `preview` say them."""
    counts = Counts(considered=20, author_matches=1, selected=2, over_cap=3, below=4, carried_over=5, let_go=5)
    assert words.papers(counts) == "3 of 20 papers (1 author match), 3 over the cap, 5 carried over, 5 let go"
    assert words.papers(Counts(considered=9, below=9)) == "0 of 9 papers"
