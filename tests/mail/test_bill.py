"""What scoring was paid for, and what it left undone, as a digest and a note tell their readers."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from paperboy.curate import MOST_MORNINGS
from paperboy.models import Cost, Digest, Entry, Shortfall, Spending, Usage
from tests.builders import EMBEDDED, digest, entry, paper
from tests.mail.reading import flat, note, page_of, render, visible

WAITING = [paper(f"2611.2000{n}", title=f"Waits {n}") for n in range(4)]


def both(of: Digest) -> tuple[str, str]:
    """The words of both parts of the digest's mail, or of the note's."""
    mail = render(of) if of.entries else note(of)
    return visible(mail.html), flat(mail.text)


PRICE = Cost(0.01, 0.02)


def paid(usage: Usage, cost: Cost | None = PRICE) -> Digest:
    return digest(spending=Spending(usage, cost))


# --- tokens and money


def test_a_bill_says_what_the_tokens_were() -> None:
    for part in both(paid(Usage(27, 148_232, 31_232, 1_216, 9_120, 320))):
        for words in (
            "Tokens 148,232 9,120 157,352",
            "Cost $0.0100 $0.0200 $0.0300",
            "Asked in 27 calls. Of the prompt, 31,232 tokens came from the provider's cache and 1,216 went into it;",
            "; of the completion, 320 tokens went into reasoning.",
        ):
            assert words in part


@pytest.mark.parametrize(
    ("usage", "words"),
    [
        (Usage(2, 900, completion_tokens=80), "Asked in 2 calls."),
        (
            Usage(1, 900, 1, completion_tokens=80),
            "Asked in 1 call. Of the prompt, 1 token came from the provider's cache.",
        ),
        (
            Usage(1, 900, cache_write_tokens=768, completion_tokens=80),
            "Asked in 1 call. Of the prompt, 768 tokens went into the provider's cache.",
        ),
        (
            Usage(1, 900, completion_tokens=80, reasoning_tokens=64),
            "Asked in 1 call. Of the completion, 64 tokens went into reasoning.",
        ),
    ],
)
def test_what_there_was_none_of_is_not_named(usage: Usage, words: str) -> None:
    bill = page_of(digest(spending=Spending(usage))).bill
    assert bill is not None
    assert bill.details == words


def test_a_server_that_counts_no_tokens_is_not_said_to_have_used_none() -> None:
    """Its calls are all that is known of it; not even that it was free."""
    for part in both(paid(Usage(calls=3))):
        assert "Tokens not counted by the server" in part
        assert "Cost not known" in part
        assert "price unknown" not in part
        assert "Asked in 3 calls." in part
        assert "$" not in part


def test_tokens_without_a_price_are_told_all_the_same() -> None:
    for part in both(paid(Usage(1, 900, completion_tokens=100), cost=None)):
        assert "Tokens 900 100 1,000" in part
        assert "Cost price unknown" in part


def test_a_morning_of_kept_scores_says_why_it_cost_nothing() -> None:
    for part in both(digest(spending=Spending())):
        assert "Cost $0.00 $0.00 $0.00" in part
        assert "No calls for this list: its scores were paid for earlier, or by another list." in part


def test_a_note_has_its_bill_too() -> None:
    for part in both(digest([], below=20)):
        assert "Of the prompt, 4,096 tokens came from the provider's cache and 1,152 went into it" in part


def test_the_embedded_scorer_sends_no_bill() -> None:
    of = digest([entry(novelty=None)], model=EMBEDDED, spending=Spending())
    assert page_of(of).bill is None
    for part in both(of):
        assert "Tokens" not in part
        assert "calls" not in part


# --- why papers wait


@pytest.mark.parametrize(
    ("shortfall", "because"),
    [
        (Shortfall.BUDGET, "today's budget for the LLM was used up"),
        (Shortfall.SERVER, "the LLM stopped answering"),
        (None, "the LLM gave no usable score"),
    ],
)
@pytest.mark.parametrize("of", [[entry()], []], ids=["digest", "note"])
def test_why_papers_were_carried_over_stands_where_they_are_counted_and_where_they_are_named(
    of: Sequence[Entry], shortfall: Shortfall | None, because: str
) -> None:
    html, text = both(digest(of, carried_over=WAITING, shortfall=shortfall))
    for part in (html, text):
        assert f"Not scored yet, and back on the next morning: 4, because {because}." in part
    assert f"Not scored this morning, and back on the next, because {because}: Waits 0" in html
    assert f"NOT SCORED THIS MORNING, AND BACK ON THE NEXT Why: {because}. - Waits 0" in text


@pytest.mark.parametrize(("number", "opening"), [(1, "1 paper could not be"), (4, "4 papers could not be")])
@pytest.mark.parametrize("of", [[entry()], []], ids=["digest", "note"])
def test_what_is_let_go_is_told_in_the_first_paragraph_and_where_it_is_named(
    of: Sequence[Entry], number: int, opening: str
) -> None:
    assert MOST_MORNINGS == 3  # else the templates need another word
    is_named = "and is named at the end." if number == 1 else "and are named at the end."
    html, text = both(digest(of, let_go=WAITING[:number]))
    for part, chosen in ((html, "How these papers" if of else "What this list"), (text, "PAPERS" if of else "WHAT")):
        assert f"{opening} scored on three mornings {is_named}" in part.partition(chosen)[0]
    assert "Could not be scored on three mornings, and will not come back: Waits 0" in html
    assert "COULD NOT BE SCORED ON THREE MORNINGS, AND WILL NOT COME BACK - Waits 0" in text


def test_where_no_paper_is_let_go_nothing_is_said_of_it() -> None:
    for of in (digest(), digest([], below=3)):
        for part in both(of):
            assert "could not be scored" not in part.lower()


def test_where_no_paper_waits_there_is_nothing_to_explain() -> None:
    of = digest(shortfall=Shortfall.BUDGET)
    assert page_of(of).carried_over_because == ""
    for part in both(of):
        assert "because" not in part
        assert "budget" not in part


# --- no silent zero


def first_words(of: Digest) -> tuple[str, str, str]:
    """What an inbox shows of a note, subject and preheader, and what stands first in it."""
    mail, page = note(of), page_of(of)
    lead = flat(mail.text.partition("2026")[2].partition("WHAT THIS LIST")[0])
    assert lead in visible(mail.html)
    return mail.subject.partition(": ")[2], page.preheader, lead


def test_all_scanned_and_none_passed() -> None:
    assert first_words(digest([], below=183)) == (
        "no relevant papers today",
        "None of 183 scanned papers passed.",
        (
            "No relevant papers today. 183 new papers came in cs.LG, stat.ML; all were scanned, and none passed the "
            "thresholds of this list."
        ),
    )


def test_some_were_not_scanned_and_none_of_the_others_passed() -> None:
    """It claims no more than it knows: a relevant paper may be among those that wait."""
    assert first_words(digest([], below=14, carried_over=WAITING, shortfall=Shortfall.SERVER)) == (
        "none of 14 scanned papers passed",
        "4 of 18 new papers not scored.",
        (
            "None of the 14 scanned papers passed. 18 new papers came in cs.LG, stat.ML. Not scored yet, and back on "
            "the next morning: 4, because the LLM stopped answering."
        ),
    )


def test_a_paper_that_was_let_go_was_not_scanned_either() -> None:
    assert first_words(digest([], below=14, let_go=WAITING[:1])) == (
        "none of 14 scanned papers passed",
        "1 of 15 new papers not scored.",
        (
            "None of the 14 scanned papers passed. 15 new papers came in cs.LG, stat.ML. 1 paper could not be scored "
            "on three mornings and is named at the end."
        ),
    )


def test_a_single_paper_is_no_crowd() -> None:
    assert first_words(digest([], below=1)) == (
        "no relevant papers today",
        "The one scanned paper did not pass.",
        (
            "No relevant papers today. 1 new paper came in cs.LG, stat.ML; it was scanned, and did not pass the "
            "thresholds of this list."
        ),
    )
    assert first_words(digest([], below=1, let_go=WAITING)) == (
        "the one scanned paper did not pass",
        "4 of 5 new papers not scored.",
        (
            "The one scanned paper did not pass. 5 new papers came in cs.LG, stat.ML. 4 papers could not be scored on "
            "three mornings and are named at the end."
        ),
    )
