"""The learned shortlist: which papers the LLM is not asked about, and how a random sample measures its recall."""

from datetime import date, timedelta

import pytest

from paperboy.features.learning.shortlist import sampled_of, share_of, shortlist
from paperboy.morning.drafting import Learned

DAY = date(2026, 11, 20)
PAPERS = {
    f"2611.{number:05}": float(number) for number in range(100)
}  # the higher its number, the better


def ago(*days: int) -> list[date]:
    return [DAY - timedelta(days=number) for number in days]


def test_best_share_is_called_and_the_rest_is_not_but_for_a_sample() -> None:
    found = shortlist(PAPERS, 0.5, 0.05, "foundations 2026-11-20")
    assert found.not_called | found.sampled == {*list(PAPERS)[:50]}
    assert not found.not_called & found.sampled


def test_sample_depends_on_the_seed_and_the_paper_alone() -> None:
    """So a second try on the same day samples the same papers, whatever else has come."""
    seeds = [f"foundations {day}" for day in range(40)]
    more = PAPERS | {f"2610.{number:05}": -1.0 - number for number in range(100)}
    one, other = (
        [shortlist(*how, 0.05, seed).sampled for seed in seeds]
        for how in ((PAPERS, 0.4), (more, 0.2))
    )
    assert one == [sampled & PAPERS.keys() for sampled in other]
    assert len(set(one)) > 20


def test_sample_of_auto_is_twice_as_large() -> None:
    many = {f"2611.{number:05}": float(number) for number in range(2_000)}
    drawn = [len(shortlist(many, 0.5, sampled_of(how), "seed").sampled) for how in (0.5, "auto")]
    assert drawn == [pytest.approx(50, abs=15), pytest.approx(100, abs=20)]


def test_of_fewer_than_twenty_papers_none_is_left_out() -> None:
    some = dict(list(PAPERS.items())[:19])
    assert shortlist(some, 0.5, 0.05, "seed") == Learned()
    assert shortlist({}, 0.5, 0.05, "seed") == Learned()


@pytest.mark.parametrize(
    ("setting", "found", "share"),
    [
        (0.5, [], 0.5),
        (0.5, [20, 10], 0.5),
        (0.5, [71, 20, 10], 0.5),  # not within 60 days
        (0.5, [70, 20, 10], 0.6),
        (0.95, [3, 2, 1], 1.0),
        (0.5, [90, 80, 60], 0.6),  # for 60 days after the third
        (0.5, [90, 80, 61], 0.5),
        ("auto", [], 0.6),
        ("auto", [3, 2, 1], 0.6),
        ("auto", [4, 3, 2, 1], 0.7),
        ("auto", [7, 6, 5, 4, 3, 2, 1], 0.7),
        ("auto", [60, 50, 40, 30, 20, 10, 2, 1], 1.0),
        ("auto", [110, 100, 90, 80, 70, 62, 61, 60], 1.0),  # for 60 days after the eighth
        ("auto", [110, 100, 90, 80, 70, 63, 62, 61], 0.6),
        (0.5, [60, 50, 40, 30, 20, 10], 0.6),  # whoever names a share keeps it
    ],
)
def test_what_the_sample_found_raises_the_share_and_switches_auto_off(
    setting: object, found: list[int], share: float
) -> None:
    assert share_of(setting, ago(*found), DAY) == pytest.approx(share)  # type: ignore[arg-type]
