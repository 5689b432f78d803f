"""Which papers are asked for together, and in what order."""

from __future__ import annotations

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from paperboy.models import ToScore
from paperboy.scoring.plan import Batch, even_parts, plan
from tests.builders import mailing_list, paper

PAPERS = [paper(f"2611.{n:05}") for n in range(60)]


def job(name: str, *numbers: int) -> ToScore:
    return ToScore(mailing_list(name=name), tuple(PAPERS[number] for number in numbers))


def ids(batch: Batch) -> list[int]:
    return [int(each.arxiv_id[-5:]) for each in batch.papers]


def test_a_list_alone_shares_its_topics_and_begins_with_one_batch() -> None:
    batches = plan([job("one", *range(10))], 4, warm_up=True)
    assert [ids(batch) for batch in batches] == [[0, 1, 2], [3, 4, 5], [6, 7, 8, 9]]
    assert [batch.leads for batch in batches] == [True, False, False]
    assert not any(batch.papers_first for batch in batches)
    assert len({batch.prefix for batch in batches}) == 1
    assert all(batch.shares for batch in batches)


def test_where_there_is_no_cache_to_warm_nothing_waits() -> None:
    assert all(batch.leads for batch in plan([job("one", *range(10))], 4, warm_up=False))


def test_a_single_batch_shares_nothing_with_anybody() -> None:
    (batch,) = plan([job("one", 1, 2)], 4, warm_up=True)
    assert not batch.shares
    assert batch.leads


def test_lists_that_want_the_same_papers_share_them_batch_by_batch() -> None:
    """The first list asks for all batches; the others wait for the first's, each batch for its own."""
    batches = plan([job(name, *range(8)) for name in ("one", "two", "three")], 4, warm_up=True)
    order = [(batch.mailing_list.name, ids(batch)[0], batch.leads) for batch in batches]
    assert order == [
        ("one", 0, True),
        ("one", 4, True),
        ("two", 0, False),
        ("three", 0, False),
        ("two", 4, False),
        ("three", 4, False),
    ]
    assert all(batch.papers_first and batch.shares for batch in batches)
    assert len({batch.prefix for batch in batches}) == 2


def test_what_only_some_lists_want_is_shared_among_those() -> None:
    batches = plan([job("one", *range(8)), job("two", *range(4, 12)), job("three", *range(4, 8))], 4, warm_up=True)
    asked = [(batch.mailing_list.name, ids(batch), batch.papers_first) for batch in batches]
    assert ("three", [4, 5, 6, 7], True) in asked
    assert ("one", [0, 1, 2, 3], False) in asked
    assert ("two", [8, 9, 10, 11], False) in asked


def test_a_few_papers_in_common_are_not_worth_sharing() -> None:
    batches = plan([job("one", 0, 1, 2, 3), job("two", 3, 4, 5, 6)], 4, warm_up=True)
    assert [ids(batch) for batch in batches] == [[0, 1, 2, 3], [3, 4, 5, 6]]
    assert not any(batch.papers_first for batch in batches)


def test_a_batch_that_is_asked_again_shares_no_more_than_topics() -> None:
    shared = plan([job("one", *range(4)), job("two", *range(4))], 4, warm_up=True)[0].again(tuple(PAPERS[:1]), asks=1)
    assert (shared.papers_first, shared.shares, shared.leads, shared.asks) == (False, False, True, 1)
    alone = plan([job("one", *range(8))], 4, warm_up=True)[1].again(tuple(PAPERS[:1]), asks=1)
    assert (alone.shares, alone.leads) == (True, True)


@given(
    st.lists(st.lists(st.integers(0, 59), max_size=60), min_size=1, max_size=6),
    st.integers(1, 20),
    st.booleans(),
)
def test_every_list_is_asked_for_each_of_its_papers_once(wanted: list[list[int]], size: int, warm_up: bool) -> None:
    """And every batch that waits has one before it to wait for."""
    jobs = [job(f"list{number}", *numbers) for number, numbers in enumerate(wanted)]
    batches = plan(jobs, size, warm_up=warm_up)
    for each in jobs:
        asked = Counter(
            one.arxiv_id for batch in batches if batch.mailing_list == each.mailing_list for one in batch.papers
        )
        assert asked == Counter({one.arxiv_id for one in each.papers})
    assert all(0 < len(batch.papers) <= size for batch in batches)
    for place, batch in enumerate(batches):
        assert batch.leads or any(other.leads and other.prefix == batch.prefix for other in batches[:place])


def test_parts_are_as_few_as_the_size_allows_and_nearly_even() -> None:
    assert [len(part) for part in even_parts(PAPERS[:17], 8)] == [5, 6, 6]
    assert list(even_parts([], 8)) == []
