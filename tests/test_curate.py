"""Choosing: who is in a digest, in what order, and how the counts add up."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, date, datetime
from functools import partial

import pytest

from paperboy.curate import (
    before_start,
    curate,
    matched_authors,
    name_key,
    other_spellings,
    outcome_of,
    passes,
    possible_authors,
    sections,
    why_filtered,
)
from paperboy.models import Counts, Digest, Entry, Keywords, Outcome, PaperOutcome, Score
from tests.builders import LLM, entry, mailing_list, paper

TODAY = date(2026, 11, 20)
DIGEST, NOTE, QUIET, GAVE_UP = map(Outcome, ("digest", "note", "quiet", "gave up"))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Félix Muñoz", "felix munoz"),
        ("Bjørn Łukasz", "BJORN LUKASZ"),
        ("Emre Kıcıman", "emre kiciman"),
        ("Weiß", "weiss"),
        ("Yann  LeCun", "yann lecun"),
        ("Felix", "Félix"),
        ("O’Brien", "o'brien"),
        ("Noémie Okonkwo-Lindahl", "Noemie Okonkwo Lindahl"),
        ("J. -L. Puget", "J.-L. Puget"),  # as arXiv writes it, and as its authors do
        ("Jean‑Loup Puget", "Jean–Loup Puget"),
        ("Vera C Rubin", "Vera C. Rubin"),
        ("V.C.Rubin", "V. C. Rubin"),
    ],
)
def test_names_compare_without_case_accents_and_hyphens(one: str, other: str) -> None:
    assert name_key(one) == name_key(other)


@pytest.mark.parametrize(
    ("author", "followed", "matched"),
    [
        ("YOSHUA BENGIÓ", "Yoshua Bengio", True),
        ("Y. Bengio", "Yoshua Bengio", False),  # an initial is no first name
        ("Yann LeCunningham", "Yann LeCun", False),
    ],
)
def test_followed_author_matches_by_the_whole_name(
    author: str, followed: str, *, matched: bool
) -> None:
    """And is named as the list spells them."""
    found = matched_authors(paper(authors=("A. Nobody", author)), [followed])
    assert found == ((followed,) if matched else ())


@pytest.mark.parametrize(
    ("author", "followed", "possible"),
    [
        ("W. Zhang", "Wei Zhang", True),
        ("W. X. Zhang", "Wei Zhang", True),  # all that both give agrees
        ("W. Zhang", "Wei Xin Zhang", True),
        ("W. X. Zhang", "Wei Yu Zhang", False),
        ("X. W. Zhang", "Wei Zhang", False),
        ("Y. Zhang", "Wei Zhang", False),
        ("W. Zhang", "Wei Zhan", False),
        ("W. Zhang", "W. Zhang", True),  # followed as such, too
        ("W. Zhang", "Zhang", False),
        ("Zhang", "Wei Zhang", False),
        ("L. HERRERA", "Lucía Herrera", True),
        ("Ł. Ørsted", "Lukasz Orsted", True),
        ("T.-A. Oduya-Falk", "Tobias-Ade Oduya Falk", True),
        ("T.-B. Oduya-Falk", "Tobias-Ade Oduya-Falk", False),
        ("J. P. van den Berg", "Jan van den Berg", False),  # nobody knows where a surname begins
        ("J. van den Berg", "Jan van den Berg", True),
        ("J. de Vries", "Jan Vries", True),
        ("S. T. Okafor Jr.", "Samuel Okafor", True),
        ("The RXV Consortium", "The RXV Consortium", True),
        ("The RXV Consortium", "Wei Zhang", False),
        ("The Zhang", "Tom Zhang", False),
        ("...", "Wei Zhang", False),
    ],
)
def test_initials_may_be_a_followed_authors_and_never_let_a_paper_in(
    author: str, followed: str, *, possible: bool
) -> None:
    """Even where the list follows them as such: they are those of many."""
    of = paper(
        "biorxiv:10.1101/000001", authors=("A. Nobody", author), corresponding="Ada Lovelace"
    )
    wants = mailing_list(topics="", authors=(followed,))
    assert possible_authors(of, [followed, "Vera Rubin"]) == ((author,) if possible else ())
    assert matched_authors(of, [followed]) == ()
    assert (
        why_filtered(wants, of)
        == "it has no followed author, and the list has neither topics nor a library"
    )
    whole = replace(of, corresponding=None)  # as arXiv's
    assert possible_authors(whole, [followed]) == ()
    assert bool(matched_authors(whole, [followed])) is (author == followed)


@pytest.mark.parametrize(
    ("corresponding", "followed", "matched", "possible"),
    [
        ("Wei Zhang", ["wei zhang"], ["wei zhang"], []),  # and the other W. Zhang is not meant
        ("Wei Zhang", ["Wei Xin Zhang"], [], ["W. Zhang", "Wei Zhang"]),
        ("Wei Zhang", ["Wei X. Zhang"], [], ["W. Zhang", "Wei Zhang"]),
        ("Wei Zhang", ["Xin Zhang"], [], []),
        ("Wei Zhang", ["W. Zhang"], [], ["W. Zhang", "Wei Zhang"]),
        ("Wei Zhang", ["Wen Zhang", "Wei Zhang"], ["Wei Zhang"], ["W. Zhang"]),
        ("", ["Wei Zhang"], [], ["W. Zhang", "Wei Zhang"]),  # nobody says which one is whole
        ("Ada Lovelace", ["Ada Lovelace"], ["Ada Lovelace"], []),  # though she stands nowhere
        ("Ada Lovelace", ["Ada B. Lovelace"], [], ["Ada Lovelace"]),
    ],
)
def test_corresponding_author_is_certain_possible_or_not_meant(
    corresponding: str, followed: list[str], matched: list[str], possible: list[str]
) -> None:
    of = paper(authors=("W. Zhang", "Wei Zhang", "Y. Li"), corresponding=corresponding)
    assert list(matched_authors(of, followed)) == matched
    assert list(possible_authors(of, followed)) == possible
    assert bool(why_filtered(mailing_list(topics="", authors=tuple(followed)), of)) is not matched


@pytest.mark.parametrize(
    ("corresponding", "followed", "certain", "possible"),
    [
        ("Vera C Rubin", "Vera C. Rubin", True, False),
        ("Vera C Rubin", "Vera Rubin", False, True),
        ("Vera C. Rubin", "Vera Rubin", False, True),
        ("Vera Rubin", "Vera C. Rubin", False, True),
        ("Vera Rubin Jr.", "Vera Rubin", False, True),
        ("Vera C Rubin", "Vera T. Rubin", False, False),
        ("Vera C Rubin", "Karl Rubin", False, False),
    ],
)
def test_middle_initial_makes_the_corresponding_author_possible(
    corresponding: str, followed: str, *, certain: bool, possible: bool
) -> None:
    """Its point makes no difference."""
    of = paper(authors=("A. Nobody", corresponding), corresponding=corresponding)
    assert matched_authors(of, [followed]) == ((followed,) if certain else ())
    assert possible_authors(of, [followed]) == ((corresponding,) if possible else ())


@pytest.mark.parametrize(
    ("followed", "author", "alike"),
    [
        ("Vera Rubin", "V. Rubin", True),
        ("Vera Rubin", "Vera C. Rubin", True),
        ("V. C. Rubin", "Vera Rubin", True),
        ("Vera Rubin Jr.", "V.C. Rubin", True),
        ("Frank van den Bosch", "Frank C. van den Bosch", True),
        ("Jean-Loup Puget", "J. -L. Puget", True),
        ("Vera Rubin", "Karl C. Rubin", False),
        ("Vera Rubin", "Vera Rubinstein", False),
        ("Vera C. Rubin", "Vera T. Rubin", False),
        ("Vera Rubin", "C. Vera Rubin", False),
        ("Vera Rubin", "Verena Rubin", False),  # a beginning is no initial
        ("Rubin", "Vera Rubin", False),  # anybody of that name
        ("Vera Rubin", "...", False),
    ],
)
def test_other_spellings_differ_by_initials_and_middle_names(
    followed: str, author: str, *, alike: bool
) -> None:
    authors = {name_key(name): name for name in (author, "Albert Einstein")}
    assert other_spellings([followed], authors) == ({followed: [author]} if alike else {})
    assert other_spellings([followed], authors | {name_key(followed): followed}) == {}


@pytest.mark.parametrize(
    ("word", "text", "found"),
    [
        ("Survey", "A survey.", True),
        ("survey", "Surveys, surveyed, resurvey", False),
        ("state space", "State--space\nmodels", True),
        ("state-space", "a state  space", True),
        ("Schrodinger", r"The Schr\"{o}dinger equation", True),
        ("théorie", "THEORIE", True),
        ("CO₂", "CO$_2$ capture", True),
        ("c++", "in C++, fast", True),
        ("c", "in C++, fast", True),
        ("one two", "one", False),  # not over the end of the title
    ],
)
def test_keyword_is_found_as_whole_words_in_what_a_reader_sees(
    word: str, text: str, *, found: bool
) -> None:
    never = mailing_list(authors=(), keywords=Keywords(never=(word,)))
    must = mailing_list(authors=(), keywords=Keywords(must=("nowhere", word)))
    for of in (paper(title=text, abstract="two"), paper(title="Nothing", abstract=text)):
        assert bool(why_filtered(never, of)) is found
        assert bool(why_filtered(must, of)) is not found


def test_exclude_holds_for_cross_lists_but_for_no_followed_author() -> None:
    listed = paper(categories=("cs.LG", "cs.CV"))
    assert why_filtered(mailing_list(exclude=("cs.CV",)), listed) == "it is in cs.CV (exclude)"
    assert why_filtered(mailing_list(exclude=("cs.CV",), authors=("ada lovelace",)), listed) == ""
    of_animals = paper(primary_category="biorxiv/zoology", categories=("biorxiv/zoology",))
    without_animals = mailing_list(categories=("biorxiv",), exclude=("biorxiv/zoology",))
    assert why_filtered(without_animals, of_animals) == "it is in biorxiv/zoology (exclude)"


def test_followed_authors_come_first_those_on_topic_before_others_then_the_rest() -> None:
    """Each by the sum, then by relevance, then by id. Relevance alone decides whether a followed author's paper is on
    topic; one without a score counts as such.
    """
    followed = mailing_list(authors=("Ada Byron",))
    papers = [
        paper("2611.00007", authors=("Ada Byron",)),
        *(paper(f"2611.0000{number}") for number in range(1, 5)),
        paper("2611.00006", authors=("Ada Byron", "Somebody Else")),
        *(paper(f"2611.0000{number}", authors=("Ada Byron",)) for number in (5, 8, 9)),
    ]
    scores = {
        "2611.00005": Score(6, 10),
        "2611.00007": Score(7, 1),
        "2611.00008": Score(10, 10),
        "2611.00001": Score(8, 9),
        "2611.00002": Score(9, 8),
        "2611.00003": Score(9, 8),
        "2611.00004": Score(10, 10),
        "2611.00006": Score(1, 1),
    }
    chosen = curate(Digest(followed, TODAY, LLM), papers, scores, {})
    assert [int(entry.paper.id[-1]) for entry in chosen.entries] == [8, 7, 9, 5, 6, 4, 2, 3, 1]
    assert [entry.rank for entry in chosen.entries] == [*range(1, 10)]
    assert chosen.entries[0].matched_authors == ("Ada Byron",)
    assert chosen.entries[5].matched_authors == ()


@pytest.mark.parametrize(
    ("score", "expected"),
    [
        (Score(7, 6), True),
        (Score(6, 10), False),
        (Score(10, 5), False),
        (Score(7, None), True),
        (Score(6, None), False),
    ],
)
def test_both_thresholds_hold_and_a_novelty_that_nobody_judged_holds_nothing_back(
    score: Score, *, expected: bool
) -> None:
    assert passes(mailing_list(min_relevance=7, min_novelty=6), score) is expected


def test_cap_counts_no_followed_authors_and_loses_nothing() -> None:
    """What passes beyond max_papers is over the cap, best first, with its rank going on after the entries."""
    capped = mailing_list(max_papers=1, authors=("Ada Byron",))
    papers = [paper("2611.00001", authors=("Ada Byron",)), paper("2611.00002"), paper("2611.00003")]
    scores = {"2611.00001": Score(2, 2), "2611.00002": Score(8, 8), "2611.00003": Score(9, 9)}
    chosen = curate(Digest(capped, TODAY, LLM), papers, scores, {})
    assert [entry.paper.id for entry in chosen.entries] == ["2611.00001", "2611.00003"]
    assert [(entry.rank, entry.paper.id) for entry in chosen.over_cap] == [(3, "2611.00002")]


def parts(of: Sequence[Entry], names: Sequence[str] = ()) -> list[tuple[str, str, list[int]]]:
    """The sections, each with its kind, its topic and the ranks of its papers."""
    return [
        (str(part.group), part.topic, [entry.rank for entry in part.entries])
        for part in sections(of, names)
    ]


def test_five_papers_or_fewer_are_all_to_be_read_first() -> None:
    of = [entry(1, matched_author="Ada Lovelace"), *(entry(n, topic=1) for n in range(2, 6))]
    names = ("Streams", "Dwarfs")
    assert parts(of, names) == [("followed", "", [1]), ("closest", "", [2, 3, 4, 5])]
    assert parts([*of, entry(6, topic=1)], names) == [
        ("followed", "", [1]),
        ("closest", "", [2, 3, 4]),
        ("also", "Streams", [5, 6]),
    ]


def test_rest_stands_under_its_topics_in_the_order_of_their_best_papers() -> None:
    """A topic that the list does not have counts as none."""
    topics = [1, 1, 1, 2, 1, None, 2, 9, 1]
    of = [entry(rank, topic=topic) for rank, topic in enumerate(topics, start=1)]
    rest = [("also", "Dwarfs", [4, 7]), ("also", "Streams", [5, 9]), ("also", "", [6, 8])]
    assert parts(of, ("Streams", "Dwarfs"))[1:] == rest
    assert parts(of, ("Streams",))[1:] == [("also", "", [4, 5, 6, 7, 8, 9])]


def test_entries_are_ranked_in_the_order_of_their_sections() -> None:
    topics = "- Relevant: streams\n- Relevant: dwarfs"
    papers = [paper(f"2611.{n:05}") for n in range(1, 8)]
    scores = {of.id: Score(8, 7, topic=1 + n % 2) for n, of in enumerate(papers)}
    of = curate(Digest(mailing_list(topics=topics), TODAY, LLM), papers, scores, {})
    assert [(entry.rank, entry.paper.id[-1]) for entry in of.entries] == [
        (1, "1"), (2, "2"), (3, "3"), (4, "4"), (5, "6"), (6, "5"), (7, "7"),
    ]  # fmt: skip


def test_equals_are_ordered_by_liking_then_by_closeness_and_the_cap_by_closeness() -> None:
    papers = [paper(f"2611.{n:05}") for n in range(1, 5)]
    ids = [of.id for of in papers]
    scores = dict.fromkeys(ids, Score(8, 7))
    closeness = dict(zip(ids, (1.0, 2.0, 3.0, 4.0), strict=True))
    empty = Digest(mailing_list(max_papers=3), TODAY, LLM)
    of = curate(empty, papers, scores, {}, liked={ids[1]: 1.0}, closeness=closeness)
    assert [entry.paper.id for entry in of.entries] == [ids[1], ids[3], ids[2]]
    assert [entry.paper.id for entry in of.over_cap] == [ids[0]]


def test_best_ten_below_the_thresholds_are_kept_in_sight() -> None:
    papers = [paper(f"2611.{n:05}") for n in range(1, 21)]
    scores = {of.id: Score(6 if n < 12 else 9, 1 + n % 9) for n, of in enumerate(papers)}
    of = curate(Digest(mailing_list(min_novelty=10), TODAY, LLM), papers, scores, {})
    best = sorted((s.relevance + (s.novelty or 0) for s in scores.values()), reverse=True)
    assert [
        s.relevance + (s.novelty or 0) for s in (near.score for near in of.nearest) if s
    ] == best[:10]
    assert {of.outcomes[near.paper.id] for near in of.nearest} == {PaperOutcome.BELOW}


def test_every_paper_is_accounted_for() -> None:
    """A paper without a score is carried over, but a followed author's stands without one; all others have been seen,
    the filtered ones among them.
    """
    followed = mailing_list(max_papers=1, authors=("Ada Byron",))
    papers = [
        *(paper(f"2611.0000{number}", authors=("Ada Byron",)) for number in (1, 2)),
        *(paper(f"2611.0000{number}") for number in range(3, 7)),
    ]
    scores = {
        "2611.00001": Score(3, 3),
        "2611.00003": Score(9, 9),
        "2611.00004": Score(8, 9),
        "2611.00005": Score(2, 2),
    }
    chosen = curate(Digest(followed, TODAY, LLM), papers, scores, {"2611.00002": 9}, ["2611.00009"])
    assert chosen.counts == Counts(
        considered=7,
        carried_over=1,
        let_go=0,
        author_matches=2,
        selected=1,
        over_cap=1,
        below=1,
        filtered=1,
    )
    assert chosen.outcomes == {
        "2611.00001": PaperOutcome.AUTHOR_MATCH,
        "2611.00002": PaperOutcome.AUTHOR_MATCH,
        "2611.00009": PaperOutcome.FILTERED,
        "2611.00003": PaperOutcome.SELECTED,
        "2611.00004": PaperOutcome.OVER_CAP,
        "2611.00005": PaperOutcome.BELOW,
    }
    assert [entry.score for entry in chosen.entries] == [None, Score(3, 3), Score(9, 9)]
    assert [entry.id for entry in chosen.carried_over] == ["2611.00006"]


def test_counts_that_do_not_add_up_cannot_be_made() -> None:
    with pytest.raises(ValueError, match="add up"):
        Counts(considered=3, selected=1, below=1)


def test_new_category_brings_no_old_papers_but_an_old_one_still_does() -> None:
    """What moderation held comes in late by an old category; a category that is new today starts today."""
    start = datetime(2026, 11, 18, 19, tzinfo=UTC)
    early = datetime(2026, 11, 12, tzinfo=UTC)
    both = mailing_list(categories=("cs.LG", "stat.ML"))
    held = paper("2611.00001", published=early, categories=("cs.LG", "stat.ML"))
    only_new = paper(
        "2611.00002", published=early, categories=("stat.ML",), primary_category="stat.ML"
    )
    started = {"cs.LG", "cross-list cs.LG"}
    assert before_start(both, [held, only_new], started, start) == {"2611.00002"}


def test_paper_that_cannot_be_scored_comes_back_twice_and_is_then_let_go() -> None:
    papers = [paper("2611.00001"), paper("2611.00002")]
    scores = {"2611.00001": Score(3, 3)}
    empty = Digest(mailing_list(), TODAY, LLM)
    for mornings, counts in ((1, (1, 0)), (2, (1, 0)), (3, (0, 1))):
        chosen = curate(empty, papers, scores, {"2611.00002": mornings})
        assert (chosen.counts.carried_over, chosen.counts.let_go) == counts
    assert chosen.let_go == (papers[1],)
    assert chosen.outcomes == {"2611.00001": PaperOutcome.BELOW, "2611.00002": PaperOutcome.LET_GO}


def test_where_nothing_could_be_scored_no_paper_is_to_blame() -> None:
    chosen = curate(
        Digest(mailing_list(), TODAY, LLM), [paper("2611.00002")], {}, {"2611.00002": 9}
    )
    assert (chosen.carried_over, chosen.let_go) == ((paper("2611.00002"),), ())


@pytest.mark.parametrize(
    ("counts", "missing", "scoring_done", "leftover", "in_time", "in_the_end"),
    [
        (Counts(considered=2, selected=1, below=1), "", True, False, DIGEST, DIGEST),
        (
            Counts(considered=2, author_matches=1, carried_over=1),
            "late",
            True,
            False,
            DIGEST,
            DIGEST,
        ),
        (Counts(considered=2, author_matches=1, carried_over=1), "", False, False, None, DIGEST),
        (Counts(considered=2, below=2), "late", True, False, NOTE, NOTE),
        (Counts(considered=2, filtered=2), "", True, True, NOTE, NOTE),
        (Counts(considered=3, filtered=2, carried_over=1), "", False, False, None, GAVE_UP),
        (Counts(), "", True, True, QUIET, QUIET),
        (Counts(considered=1, carried_over=1), "", True, True, QUIET, QUIET),
        (Counts(), "late", True, True, None, GAVE_UP),
        (Counts(considered=2, carried_over=2), "", False, False, None, GAVE_UP),
    ],
)
def test_outcome_follows_the_scores_or_waits_for_arxiv_or_the_llm(
    counts: Counts,
    missing: str,
    *,
    scoring_done: bool,
    leftover: bool,
    in_time: Outcome | None,
    in_the_end: Outcome,
) -> None:
    """While it may be tried again, and when not. No day is quiet while papers are missing."""
    decide = partial(outcome_of, counts, missing, scoring_done=scoring_done, leftover=leftover)
    assert decide(waits=True) is in_time
    assert decide(waits=False) is in_the_end
