"""Batches: which papers are asked for together, and in what order."""

from __future__ import annotations

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from paperboy.models import ToScore
from paperboy.scoring.llm import RequestBatch, even_parts, plan
from tests.builders import mailing_list, paper

PAPERS = [paper(f"2611.{n:05}") for n in range(60)]


def job(name: str, *numbers: int) -> ToScore:
    return ToScore(mailing_list(name=name), tuple(PAPERS[number] for number in numbers))


def ids(batch: RequestBatch) -> list[int]:
    return [int(of.id[-5:]) for of in batch.papers]


def test_batches_of_a_single_list_share_its_topics() -> None:
    (group,) = plan([job("one", *range(10))], 4)
    assert [(ids(batch), batch.shares) for batch in group] == [
        ([0, 1, 2], "topics"),
        ([3, 4, 5], "topics"),
        ([6, 7, 8, 9], "topics"),
    ]


def test_single_batch_shares_nothing() -> None:
    ((batch,),) = plan([job("one", 1, 2)], 4)
    assert not batch.shares


def test_lists_of_the_same_papers_share_them_batch_by_batch() -> None:
    groups = list(plan([job(name, *range(8)) for name in ("one", "two", "three")], 4))
    assert [
        [(batch.mailing_list.name, ids(batch), batch.shares) for batch in group] for group in groups
    ] == [
        [(name, papers, "papers") for name in ("one", "two", "three")]
        for papers in ([0, 1, 2, 3], [4, 5, 6, 7])
    ]


def test_papers_of_some_lists_are_shared_among_those() -> None:
    groups = plan([job("one", *range(8)), job("two", *range(4, 12)), job("three", *range(4, 8))], 4)
    asked = [
        ([batch.mailing_list.name for batch in group], ids(group[0]), group[0].shares)
        for group in groups
    ]
    assert asked == [
        (["one", "two", "three"], [4, 5, 6, 7], "papers"),
        (["one"], [0, 1, 2, 3], ""),
        (["two"], [8, 9, 10, 11], ""),
    ]


def test_few_common_papers_are_not_shared() -> None:
    groups = list(plan([job("one", 0, 1, 2, 3), job("two", 3, 4, 5, 6)], 4))
    assert [[(sorted(ids(batch)), batch.shares) for batch in group] for group in groups] == [
        [([0, 1, 2, 3], "")],
        [([3, 4, 5, 6], "")],
    ]


@given(
    st.lists(st.lists(st.integers(0, 59), max_size=60, unique=True), min_size=1, max_size=6),
    st.integers(1, 20),
)
def test_plan_asks_for_each_paper_of_each_list_once(wanted: list[list[int]], size: int) -> None:
    jobs = [job(f"list{number}", *numbers) for number, numbers in enumerate(wanted)]
    batches = [batch for group in plan(jobs, size) for batch in group]
    for wanted_job in jobs:
        asked = Counter(
            one.id
            for batch in batches
            if batch.mailing_list == wanted_job.mailing_list
            for one in batch.papers
        )
        assert asked == Counter({one.id for one in wanted_job.papers})
    assert all(0 < len(batch.papers) <= size for batch in batches)


def test_parts_are_as_few_as_possible_and_nearly_even() -> None:
    assert [len(part) for part in even_parts(PAPERS[:17], 8)] == [5, 6, 6]
    assert list(even_parts([], 8)) == []
