"""What a server takes, as a morning finds it out, and what that has cost."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from paperboy.models import Usage
from paperboy.scoring.answer import Answer, Cause
from paperboy.scoring.capacity import PATIENCE, Capacity, Limit

GOOD = Answer(text="scores")
TOO_LARGE = Answer(failure="answers 413", cause=Cause.SIZE)
LATE = Answer(failure="does not answer", cause=Cause.TIMEOUT)
USELESS = Answer(text="nonsense", usage=Usage(calls=1, prompt_tokens=90, completion_tokens=10))
DEAD = Answer(failure="answers 503", cause=Cause.SERVER, pause=0)

Call = tuple[Answer, int, int]  # its papers, and how many of them were scored


def batch(papers: int, number: int = 0) -> list[str]:
    """Ids of papers that no other batch has."""
    return [f"{number}/{paper}" for paper in range(papers)]


def after(*calls: Call, at_once: int = 8) -> Capacity:
    capacity = Capacity(Limit(16), Limit(8))
    for number, (answer, papers, scored) in enumerate(calls):
        capacity.note([answer], batch(papers, number), scored, at_once)
    return capacity


@pytest.mark.parametrize(
    ("calls", "papers"),
    [
        ([], 16),
        ([(GOOD, 16, 16)], 16),
        ([(TOO_LARGE, 16, 0)], 8),
        ([(TOO_LARGE, 15, 0)], 8),
        ([(TOO_LARGE, 16, 0), (TOO_LARGE, 8, 0)], 4),
        ([(TOO_LARGE, 16, 0)] * 8, 8),  # all were under way when the first failed
        ([(GOOD, 16, 16), (TOO_LARGE, 16, 0)], 16),  # this one is split alone
        ([(GOOD, 8, 8), (TOO_LARGE, 16, 0)], 8),
        ([(TOO_LARGE, 16, 0), (GOOD, 16, 16)], 16),  # it was not the size after all
        ([(GOOD, 16, 5), (TOO_LARGE, 16, 0)], 8),  # a reply that was cut off shows what fits
        ([(LATE, 16, 0)], 8),
        ([(USELESS, 16, 0)], 16),
        ([(DEAD, 16, 0)], 16),
    ],
)
def test_failure_for_size_halves_all_that_wait_unless_a_larger_batch_was_scored(
    calls: Sequence[Call], papers: int
) -> None:
    assert after(*calls).papers.value == papers


def test_timeouts_of_one_round_halve_the_calls_at_once_only_once() -> None:
    capacity = after(*[(LATE, 16, 0)] * 8)
    assert capacity.calls.value == 4
    capacity.note([LATE], batch(8, 9), 0, 8)  # it began when eight were allowed
    assert capacity.calls.value == 4
    capacity.note([LATE], batch(8, 10), 0, 4)
    assert capacity.calls.value == 2


def test_nothing_is_said_of_a_morning_without_waste_or_without_a_score() -> None:
    """A server that scores nothing has an error of its own."""
    assert after((GOOD, 16, 16)).waste(16, 8) == ("", "")
    assert after((TOO_LARGE, 16, 0), (LATE, 8, 0)).waste(16, 8) == ("", "")


def test_waste_names_each_reason_the_tokens_and_the_settings_that_save_it() -> None:
    capacity = after((TOO_LARGE, 16, 0), (LATE, 8, 0), (USELESS, 4, 0), (GOOD, 4, 4))
    capacity.note([Answer(failure="answers 400"), DEAD, GOOD], batch(4), 4, 8)
    what, better = capacity.waste(16, 8)
    assert what == (
        "5 of 7 calls gave no score, or not all (1 too large, 1 timed out, 1 without a usable score, "
        "1 refused for an option or the format, 1 repeated later) and took 100 tokens"
    )
    assert better == "LLM_BATCH_SIZE=4 and LLM_CONCURRENCY=4"


def test_replies_that_are_cut_off_advise_what_they_had_room_for() -> None:
    capacity = after((GOOD._replace(cut_off="cut off"), 16, 5), (GOOD, 11, 6))
    assert capacity.waste(16, 8) == (
        "1 of 2 calls gave no score, or not all (1 cut off)",
        "LLM_BATCH_SIZE=6",
    )


def test_reasons_that_no_setting_cures_have_no_advice() -> None:
    what, better = after((USELESS, 16, 0), (GOOD, 8, 8)).waste(16, 8)
    assert (bool(what), better) == (True, "")


# ── Growing again ────────────────────────────────────────────────────────────────────────────────


def test_limit_is_tried_at_twice_its_value_after_some_successes() -> None:
    limit = Limit(16)
    limit.fail(16, "one batch")
    assert limit.next() == 8
    limit.streak = PATIENCE
    assert limit.next() == 16
    assert limit.next() == 8  # one try at a time


def test_limit_stays_below_what_failed_for_two_different_batches() -> None:
    limit = Limit(16)
    for name in ("one batch", "one batch", "another"):
        assert limit.failed.keys() <= {"one batch"}
        limit.fail(16, name)
    limit.streak = 99
    assert limit.next() == 8


def test_failure_of_a_single_paper_says_nothing_of_size() -> None:
    assert after((TOO_LARGE, 1, 0)).papers.value == 16


def test_calls_at_once_grow_again_after_a_stray_timeout() -> None:
    capacity = after((LATE, 16, 0))
    assert capacity.calls.value == 4
    for number in range(4 * PATIENCE):
        capacity.note([GOOD], batch(8, number), 8, 4)
    assert capacity.calls.value == 8
