"""The embedded scorer: which words count, and what a place among the recent papers is worth."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import pytest

from paperboy.models import SHARES, Paper, Score, Text, ToScore
from paperboy.scoring.local import LocalScorer, closeness, wanted_and_unwanted
from tests.benchmarks import learning
from tests.builders import mailing_list, paper

TOPICS = """Papers for people who work on small galaxies.

1. Dwarfs
   - Relevant: star formation in dwarf galaxies, quenching
     by reionisation.
   - Irrelevant: planets, massive galaxies.
"""


def on(number: int, title: str) -> Paper:
    return paper(f"2611.{number:05}", title=title, abstract="Nothing else is said.")


def off_topic(number: int) -> list[Paper]:
    return [on(50_000 + n, f"Sorting networks of width {n}") for n in range(number)]


def scores(
    papers: list[Paper], recent: list[Paper] | None = None, topics: str = TOPICS
) -> dict[str, Score]:
    [scored] = LocalScorer().score(
        [ToScore(mailing_list(topics=topics), tuple(papers), tuple(recent or ()))]
    )
    assert not scored.unscored
    assert scored.spending.usage.calls == 0
    return dict(scored.scores)


def test_labels_separate_wanted_from_unwanted_terms() -> None:
    """An item goes on over its lines; what is wanted once is unwanted nowhere; no pair reaches over a clause's end."""
    wanted, unwanted = wanted_and_unwanted(TOPICS)
    words = "star,formation,dwarf,galaxies,star formation,dwarf galaxies,quenching,reionisation"
    assert Counter(wanted) == Counter(words.split(","))
    assert unwanted == ["planets", "massive", "massive galaxies"]


def test_unlabelled_prose_is_wanted_whole() -> None:
    wanted, unwanted = wanted_and_unwanted(
        "I would like to read about tensor networks, and\nrelevant spin glasses."
    )
    words = "tensor,networks,tensor networks,spin,glasses,spin glasses,read"
    assert set(wanted) == set(words.split(","))
    assert unwanted == []


@pytest.mark.parametrize("heading", ["Relevant:", "## Relevant", "**Relevant:**"])
def test_label_on_its_own_line_applies_to_the_items_below(heading: str) -> None:
    wanted, unwanted = wanted_and_unwanted(
        f"{heading}\n\n- spin glasses\n- tensors\n\nNot relevant:\n- hardware\n"
    )
    assert wanted == ["spin", "glasses", "spin glasses", "tensors"]
    assert unwanted == ["hardware"]


def test_tex_macros_are_no_search_terms() -> None:
    wanted, _ = wanted_and_unwanted(r"Dwarfs at $M_V \approx -5$, \textit{faint} ones.")
    assert wanted == ["Dwarfs", "faint", "ones", "faint ones"]


def test_shared_words_raise_and_unwanted_words_lower_the_rank() -> None:
    papers = [
        on(1, "Quenching of dwarf galaxies and their star formation"),
        on(2, "Star formation in massive galaxies with planets"),
        on(3, "A formation of geese"),
    ]
    found = scores(papers, off_topic(37))
    assert [found[wanted.id].relevance for wanted in papers] == [9, 7, 8]
    assert all(score.novelty is None for score in found.values())


def test_top_tenth_of_the_recent_papers_gets_seven_or_more() -> None:
    """Of 200 papers that all match, 20 pass, graded; without a match it is 1."""
    papers = [on(number, "galaxies " + "and so on " * number) for number in range(200)]
    counts = Counter(score.relevance for score in scores(papers).values())
    assert sum(counts[relevance] for relevance in (7, 8, 9, 10)) == 20
    assert all(counts[relevance] for relevance in range(2, 11))
    assert scores(off_topic(3), papers)["2611.50000"] == Score(
        relevance=1, novelty=None, comment=""
    )


def test_rank_is_among_the_recent_papers_not_the_days() -> None:
    """A weak day sends little: its best paper is not in the top tenth of the month."""
    month = [
        on(number, "Quenching of dwarf galaxies by reionisation") for number in range(100, 200)
    ]
    assert scores([on(1, "Galaxies"), on(2, "Sorting")], month)["2611.00001"].relevance < 7


def test_identical_papers_are_average() -> None:
    """Otherwise a digest would hold all of them."""
    alike = [
        paper(f"2611.{n:05}", title="Why networks generalise", abstract="We learn why.")
        for n in range(40)
    ]
    (answer,) = LocalScorer().score(
        [
            ToScore(
                mailing_list(topics="Relevant: why networks generalise"), tuple(alike), tuple(alike)
            )
        ]
    )
    assert {score.relevance for score in answer.scores.values()} == {4}


def test_comment_names_the_shared_terms_from_relevance_six() -> None:
    found = scores(
        [on(1, "Quenching in a dwarf galaxy"), on(2, "A formation of geese")], off_topic(8)
    )
    assert found["2611.00001"] == Score(
        relevance=8, novelty=None, comment="Shares with the topics: dwarf galaxies, quenching"
    )
    assert found["2611.00002"] == Score(
        relevance=6, novelty=None, comment="Shares with the topics: formation"
    )
    assert scores(off_topic(10))["2611.50000"].comment == ""


@pytest.mark.parametrize(
    ("topics", "named"),
    [
        ("networks, training", "training, networks"),  # the rarer one first
        ("Rare training of dense networks", "dense networks, training"),  # a pair before a word
        ("Theoretical work: explain training", "explain, training"),
        ("Training, dense training, train", "dense training"),  # a word in one form alone
        ("Training. We want training", "training"),
        ("Low-mass galaxies in the Milky Way", "Low mass, Milky Way, galaxies"),
        ("Width, explain, training, galaxies", "explain, galaxies, training"),  # three at most
    ],
)  # fmt: skip
def test_comment_names_pairs_of_words_then_the_rarest(topics: str, named: str) -> None:
    told = (
        "How dense training may explain dense networks of low mass galaxies of the Milky Way: width"
    )
    comment = scores([on(1, told)], off_topic(20), topics)["2611.00001"].comment
    assert comment == f"Shares with the topics: {named}"


@pytest.mark.parametrize(
    "topics", ["", "All papers, please", 'Relevant: " OR ( * ^', "Relevant:", "银河系\u0301 §"]
)
def test_topics_without_usable_words_score_everything_one(topics: str) -> None:
    assert {score.relevance for score in scores(off_topic(5), topics=topics).values()} == {1}


def test_topics_are_never_parsed_as_a_query() -> None:
    """Words of FTS5's language are words; thousands of them are no error."""
    assert (
        scores([on(1, "NEAR misses")], off_topic(20), "NEAR(misses, 3) NOT title:^*")[
            "2611.00001"
        ].relevance
        == 9
    )
    assert scores(off_topic(3), topics=" ".join(f"word{number}" for number in range(10_000)))


def test_scorer_does_not_mix_the_papers_of_two_lists() -> None:
    scorer = LocalScorer()
    wants = mailing_list(topics=TOPICS)
    first = [on(1, "Dwarf galaxies"), *off_topic(30)]
    second = [on(2, "Quenching"), *off_topic(12)]
    for papers in (first, second, second, first):
        assert list(scorer.score([ToScore(wants, tuple(papers))])) == list(
            LocalScorer().score([ToScore(wants, tuple(papers))])
        )


def test_criteria_change_with_the_topics_and_no_other_option() -> None:
    scorer = LocalScorer()
    criteria = scorer.criteria(mailing_list(topics=TOPICS))
    assert criteria == LocalScorer().criteria(
        mailing_list(topics=TOPICS, min_relevance=9, title="Other")
    )
    assert criteria != scorer.criteria(mailing_list(topics=TOPICS + "x"))
    assert scorer.criteria(mailing_list(topics="how papers are learned")) == "5473f1248036872b", (
        "scores are kept by it"
    )


@pytest.mark.data
@pytest.mark.long("real days")
def test_ranking_of_real_days_agrees_with_an_llm() -> None:
    """Every sixth day of the benchmark, `python -m tests.benchmarks.learning`."""
    days = learning.astro_days()
    assert learning.Embedded(days).areas(days[::6], [()])[0] >= 0.85


# ---- with what a list has learned


@dataclass
class Wants:
    """Has learned, with this weight, that the one is wanted and the other is not."""

    weight: float
    wanted: str = "Sorting networks"
    other: str = "Dwarf galaxies"

    def strengths(self, texts: Sequence[Text]) -> list[float]:
        return [float(self.wanted in text.title) - (self.other in text.title) for text in texts]


MONTH = [on(n, f"A formation of geese, seen {n} times") for n in range(100, 200)]


def ranked(papers: list[Paper], *rankers: Wants) -> dict[str, int]:
    """The papers' relevances among a month's."""
    job = ToScore(mailing_list(topics=TOPICS), tuple(papers), tuple(MONTH), rankers=rankers)
    [scored] = LocalScorer().score([job])
    return {arxiv_id: score.relevance for arxiv_id, score in scored.scores.items()}


def test_learned_model_counts_as_much_as_it_weighs() -> None:
    papers = [on(1, "Dwarf galaxies"), on(2, "Sorting networks")]
    by_words, by_few, by_many = (
        list(ranked(papers, *rankers).values()) for rankers in ((), (Wants(0.02),), (Wants(4),))
    )
    assert by_words == [10, 1]
    assert by_few[0] > by_few[1]
    assert by_many[0] < by_many[1]


def test_two_models_add_up() -> None:
    """Two that are opposed leave the order to the words, if they weigh the same."""
    papers = [on(1, "Dwarf galaxies"), on(2, "Sorting networks")]
    sorting = Wants(4)
    galaxies = Wants(4, "Dwarf galaxies", "Sorting networks")
    [of_galaxies, of_sorting] = ranked(papers, sorting, galaxies).values()
    assert of_galaxies > of_sorting
    assert ranked(papers, sorting, sorting) == ranked(papers, sorting)


def test_lists_share_papers_but_not_what_they_learned() -> None:
    """Each gets what it would get alone."""
    papers = (on(1, "Dwarf galaxies"), on(2, "Sorting networks"))
    jobs = [
        ToScore(mailing_list(name=name, topics=TOPICS), papers, tuple(MONTH), rankers=rankers)
        for name, rankers in (("one", (Wants(4),)), ("two", ()), ("three", (Wants(0.05),)))
    ]
    assert [dict(scored.scores) for scored in LocalScorer().score(jobs)] == [
        dict(next(LocalScorer().score([job])).scores) for job in jobs
    ]


# ---- closeness


def test_closeness_is_higher_with_wanted_words_and_lower_with_unwanted_ones() -> None:
    """Papers without a wanted word are not close at all."""
    close = on(1, "Quenching of dwarf galaxies and their star formation")
    mixed = on(2, "Star formation in massive galaxies with planets")
    far = on(3, "Sorting networks")
    found = closeness(TOPICS, [close, mixed, far, *off_topic(20)])
    assert found.keys() == {close.id, mixed.id}
    assert found[close.id] > found[mixed.id]


def test_closeness_depends_on_the_days_papers_and_not_on_their_order() -> None:
    day = [on(1, "Dwarf galaxies"), on(2, "Star formation"), *off_topic(20)]
    assert closeness(TOPICS, day) == closeness(TOPICS, day[::-1])
    assert closeness(TOPICS, day) != closeness(TOPICS, day[:10])
    assert closeness(TOPICS, []) == closeness("", day) == {}


def test_closeness_counts_what_was_learned() -> None:
    """Also of papers that share no word with the topics."""
    day = [on(1, "Dwarf galaxies"), on(2, "Sorting networks"), on(3, "Geese")]
    found = closeness(TOPICS, day, [Wants(4)])
    assert found[day[1].id] > found[day[2].id] > found[day[0].id]


def test_titles_of_a_library_rank_as_topics_do_and_no_word_of_theirs_is_named() -> None:
    titles = ("Quenching of dwarf galaxies by reionisation", "Star formation in dwarfs")
    liked = mailing_list(topics="", titles=titles, library_size=len(titles))
    papers = [on(1, "Quenching of dwarf galaxies and their star formation"), *off_topic(39)]
    [scored] = LocalScorer().score([ToScore(liked, tuple(papers))])
    best = scored.scores[papers[0].id]
    assert best == Score(9, novelty=None, comment="")
    assert {score.comment for score in scored.scores.values()} == {""}
    by_topics = scores(papers, topics="\n\n".join(titles))[papers[0].id]
    assert by_topics.relevance == best.relevance
    assert by_topics.comment == f"{SHARES}Star formation, dwarf galaxies, Quenching"
