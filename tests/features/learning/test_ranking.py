"""What a list learns: an order of papers by their words, in a state that is small, sound and the same everywhere."""

from __future__ import annotations

import random
from itertools import pairwise

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from paperboy.features.learning import ranking
from paperboy.features.learning.ranking import (
    Example,
    LearnedRanker,
    features,
    target,
    train,
    train_likes,
)
from paperboy.models import Text
from tests.benchmarks import learning

WANTED = [
    "dwarf galaxies",
    "tidal streams",
    "dark matter haloes",
    "stellar kinematics",
    "satellite planes",
]
OTHER = [
    "solar flares",
    "exoplanet atmospheres",
    "pulsar timing",
    "cosmic rays",
    "protoplanetary discs",
]
FILLER = [
    "we",
    "present",
    "new",
    "deep",
    "observations",
    "of",
    "a",
    "large",
    "sample",
    "and",
    "discuss",
    "the",
    "implications",
    "for",
    "future",
    "surveys",
]

texts = st.text(max_size=60)
examples = st.builds(Example, texts, texts, st.floats(0, 1))
few = settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])


def written(subject: str, seed: int) -> tuple[str, str]:
    """A title and an abstract on the subject."""
    rng = random.Random(f"{subject} {seed}")  # noqa: S311 - the same at every run
    return f"{subject} {rng.choice(FILLER)}", " ".join(
        [*rng.sample(FILLER, 9), subject, *rng.sample(FILLER, 5)]
    )


def judged(number: int) -> list[Example]:
    """Papers with a subject each: relevance 9 for wanted ones, 2 for others, alternating."""
    found = []
    for n in range(number):
        among, relevance = (WANTED, 9) if n % 2 else (OTHER, 2)
        found.append(Example(*written(among[n // 2 % 5], n), target(relevance, 7)))
    return found


def strength(state: bytes, subject: str, seed: int = -1) -> float:
    (found,) = LearnedRanker(state).strengths([Text("", *written(subject, seed))])
    return found


def strengths(state: bytes, *titles: str) -> list[float]:
    return LearnedRanker(state).strengths([Text("", title, "") for title in titles])


# ---- what is learned


def test_wanted_papers_rank_above_the_others() -> None:
    state = train(b"", judged(60))
    least = min(strength(state, subject) for subject in WANTED)
    assert least > 0 > max(strength(state, subject) for subject in OTHER)


def test_adjacent_words_tell_what_single_words_cannot() -> None:
    """ "black holes" are wanted, "black bodies" and "coronal holes" are not, nor are both."""
    rows = [("black holes merge", 9), ("black bodies and coronal holes", 2)] * 20
    state = train(b"", [Example(title, "", target(relevance, 7)) for title, relevance in rows])
    good, bad = strengths(state, "black holes", "holes, black")
    assert good > bad


def test_case_and_compatibility_forms_are_one_word() -> None:
    state = train(b"", [Example("fine flows", "", 1.0)])
    plain, other, neither = strengths(state, "fine flows", "\uff26ine \ufb02OWS", "coarse clumps")
    assert plain == other > neither


def test_target_is_surer_the_farther_a_score_is_from_the_threshold() -> None:
    """Just passing and just failing are equally unsure; the threshold itself passes."""
    found = [target(relevance, 7) for relevance in range(1, 11)]
    assert all(one < other for one, other in pairwise(found))
    assert found[6 - 1] < 0.5 < found[7 - 1]
    assert found[6 - 1] + found[7 - 1] == pytest.approx(1)
    assert found[1 - 1] < 0.05
    assert target(9, 9) == target(7, 7)


# ---- the state


@few
@given(st.lists(examples, max_size=8), st.integers(0, 8))
def test_learning_in_pieces_gives_the_same_bytes(rows: list[Example], cut: int) -> None:
    assert train(train(b"", rows[:cut]), rows[cut:]) == train(b"", rows)


def test_state_is_the_same_on_every_machine_and_in_every_process() -> None:
    """Hashes do not depend on the process, bytes not on the machine. FEATURES must change where these numbers do."""
    state = train(b"", [Example("Dwarf galaxies", "", 1.0)])
    assert ranking.FEATURES == "words and pairs, 1"
    occupied = [bucket for bucket in range(1 << 15) if state[-(1 << 16) :][2 * bucket]]
    assert occupied == [1663, 16571, 26622]
    assert strength(train(b"", judged(60)), "dwarf galaxies") == pytest.approx(0.9784750, rel=1e-6)


# ---- papers are untrusted


@pytest.mark.parametrize(
    "abstract",
    [
        "word " * 200_000,
        "\ufdfa" * 200_000,
        "a" * 1_000_000,
        "\ud800 \udfff" * 10_000,
        r"$\frac{x_{1}}$" * 9999,
    ],
)
def test_endless_and_broken_text_is_learned_up_to_a_length(abstract: str) -> None:
    longer = abstract + " dwarf galaxies" * 1000
    assert features("", longer) == features("", abstract)


def test_learning_one_paper_a_thousand_times_stays_within_bounds() -> None:
    state = train(b"", [Example("dwarf galaxies", "", 1.0)] * 1000)
    assert 3 < strengths(state, "dwarf galaxies")[0] < 30


# ---- votes


def votes(number: int, share: float, among: list[str]) -> list[Example]:
    return [Example(*written(among[n % 5], n), share) for n in range(number)]


def unvoted(number: int) -> list[Example]:
    return [Example(*written("quiet stars", n), None) for n in range(number)]


def test_liked_papers_rank_above_disliked_ones() -> None:
    state = train_likes([*votes(10, 1.0, WANTED), *votes(10, 0.0, OTHER), *unvoted(100)])
    assert min(strength(state, subject) for subject in WANTED) > max(
        strength(state, subject) for subject in OTHER
    )


def test_up_votes_alone_tell_liked_papers_from_the_unvoted() -> None:
    """Without the unvoted ones to compare with, every word of the liked ones would be a good one."""
    state = train_likes([*votes(10, 1.0, WANTED), *unvoted(100)])
    assert min(strength(state, subject) for subject in WANTED) > strength(state, "quiet stars")
    assert (
        strength(state, "quiet stars")
        < 0
        < strength(train_likes(votes(10, 1.0, WANTED)), "quiet stars")
    )


def test_votes_in_any_order_give_the_same_bytes() -> None:
    rows = [
        Example(f"{number} {example.title}", *example[1:])
        for number, example in enumerate([*votes(12, 1.0, WANTED), *unvoted(50)])
    ]
    state = train_likes(rows)
    assert train_likes(reversed(rows)) == state


@pytest.mark.long("fifty real days")
@pytest.mark.data
def test_half_of_the_calls_find_nearly_all_that_passes_on_real_days() -> None:
    """The first 50 days of the benchmark, `python -m tests.benchmarks.learning`."""
    life = learning.live(learning.astro_days()[:50], learning.relevances(), share=0.5)
    assert life.estimated.share <= learning.MOST_CALLED
    assert life.recall >= learning.LEAST_RECALL
    assert life.size <= 256 * 1024
