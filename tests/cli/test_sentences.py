"""Sentences that share one line."""

from dataclasses import replace

from paperboy.cli.sentences import Clause, fitted


def test_a_reason_has_room_before_another_sentence_does() -> None:
    long, second = Clause("It is broken", "a reason of some length " * 4), Clause("All else is well " * 4)
    assert fitted([long, second]) == fitted([long])
    assert fitted([long]).startswith("It is broken: a reason of some length a reason of some length a reason")
    assert fitted([replace(long, reason="why"), second]).startswith("It is broken: why. All else is well")
    assert fitted([Clause("x" * 200)]) == f"{'x' * 119}…"


def test_what_has_no_room_is_left_out_a_tail_first() -> None:
    first, second = Clause("x" * 80), Clause("It is broken", tail="; next try about 09:14 UTC on some day")
    assert fitted([first, second]) == f"{'x' * 80}. It is broken."
    assert fitted([Clause("x" * 110), second, Clause("ok")]) == f"{'x' * 110}. ok."
    assert fitted([replace(second, head="x" * 100)]) == f"{'x' * 100}."


def test_a_reason_that_was_cut_ends_as_one() -> None:
    long = "word " * 40
    assert fitted([Clause("Broken", long)]).endswith("word …")
    assert fitted([Clause("Broken", long, "; next try soon")]).endswith("word …; next try soon.")
    assert len(fitted([Clause("Broken", long)])) <= 120


def test_a_tail_makes_way_for_a_reason_that_is_whole_without_it() -> None:
    clause = Clause("x" * 60, "the account has no credit left", "; next try about 09:14 UTC on some day")
    assert fitted([clause]) == f"{'x' * 60}: the account has no credit left."
    assert fitted([replace(clause, reason="the account has no credit left; add some there, and try again")]) == (
        f"{'x' * 60}: the account has no credit left."
    )
    assert fitted([replace(clause, reason="word " * 40)]).endswith("; next try about 09:14 UTC on some day.")
