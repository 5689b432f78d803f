"""What lists learn from, and what they have learned."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from paperboy.features.learning.lessons import LEAST_VOTES, ExampleKind, LearnedState, Lessons
from paperboy.features.learning.ranking import Example
from paperboy.features.votes.rows import cast
from paperboy.models import (
    Day,
    MessageCopy,
    Outcome,
    PaperOutcome,
    Score,
    Spending,
    Subscriber,
    Usage,
)
from paperboy.store import Store
from paperboy.store.readers import Reader
from tests.builders import paper
from tests.store.ledger import NOW

LIST = "foundations"
CRITERIA = "abc"
STATE = LearnedState("key", NOW, NOW, "2611.00001", 1, b"weights")
BEGINNING = datetime(2026, 9, 1, tzinfo=UTC)
TOMORROW = NOW + timedelta(days=1)
HOUR = timedelta(hours=1)
ADA = Reader(LIST, "ada@example.org")
GRACE = Reader(LIST, "grace@example.org")


def fetched(store: Store, *ids: str) -> None:
    store.papers.add([paper(paper_id) for paper_id in ids], ["cs.LG"], NOW)


def judged(
    store: Store,
    scores: dict[str, int],
    at: datetime = NOW,
    name: str = LIST,
    criteria: str = CRITERIA,
) -> None:
    """Scores by an LLM."""
    given = {arxiv_id: Score(relevance, 5) for arxiv_id, relevance in scores.items()}
    store.scores.keep(name, criteria, "luna", given, Spending(Usage(1)), at)


def froze(store: Store, at: datetime = TOMORROW, name: str = LIST, **became: PaperOutcome) -> None:
    papers = {arxiv_id.replace("_", "."): what for arxiv_id, what in became.items()}
    store.days.freeze(Day(name, at.date(), Outcome.NOTE, outcomes=papers), at)


def learned_from(lessons: Lessons, **changes: object) -> list[tuple[str, int]]:
    found = lessons.judged(LIST, CRITERIA, BEGINNING, **changes)  # type: ignore[arg-type]
    return [(example.paper_id, example.relevance) for example in found]


def due(lessons: Lessons, now: datetime, *, scores: bool = True) -> set[ExampleKind]:
    assert not lessons.due("galaxies", now, scores=scores, library=False)
    return set(lessons.due(LIST, now, scores=scores, library=False))


# --- states


def test_state_is_found_by_list_kind_and_key_until_another_takes_its_place(
    lessons: Lessons,
) -> None:
    lessons.keep(LIST, ExampleKind.SCORES, STATE, NOW)
    assert lessons.state(LIST, ExampleKind.SCORES, "key") == STATE
    for other in [
        ("galaxies", ExampleKind.SCORES, "key"),
        (LIST, ExampleKind.VOTES, "key"),
        (LIST, ExampleKind.SCORES, "tomorrow's"),
    ]:
        assert lessons.state(*other) is None
    lessons.keep(LIST, ExampleKind.SCORES, None, NOW)
    assert lessons.state(LIST, ExampleKind.SCORES, "key") is None


# --- scores


def test_only_an_llms_scores_by_the_lists_criteria_of_papers_with_a_text_count(
    store: Store, lessons: Lessons
) -> None:
    ids = [f"2611.{number:05}" for number in range(1, 6)]
    fetched(store, *ids)
    settled = paper("2611.00006", abstract="")
    store.papers.add([settled], ["cs.LG"], NOW)
    store.database.execute("delete from paper_categories where paper_id = ?", [settled.id])
    judged(store, {ids[0]: 9, settled.id: 9, "2611.00007": 9})
    judged(store, {ids[1]: 9}, name="galaxies")
    judged(store, {ids[2]: 9}, criteria="other topics")
    judged(store, {ids[3]: 9}, BEGINNING - HOUR)
    store.scores.keep(LIST, CRITERIA, "embedded ranker", {ids[4]: Score(9, None)}, Spending(), NOW)
    froze(store)
    assert learned_from(lessons) == [(ids[0], 9)]


def test_title_alone_is_learned_from_while_the_paper_is_new(store: Store, lessons: Lessons) -> None:
    """As of a journal whose feed has no abstracts."""
    store.papers.add([paper("journal:10.5555/a", abstract="")], ["journal/Bees"], NOW)
    judged(store, {"journal:10.5555/a": 9})
    froze(store)
    assert learned_from(lessons) == [("journal:10.5555/a", 9)]


# --- votes


def voted(store: Store, number: int) -> list[str]:
    """That many papers with a vote of Ada's."""
    ids = [f"2611.{n:05}" for n in range(number)]
    fetched(store, *ids)
    cast(store.database, ADA, dict.fromkeys(ids, 1), NOW)
    return ids


def id_of(example: Example) -> str:
    return example.title.split()[-1]


def test_votes_count_from_ten_papers_on(store: Store, lessons: Lessons) -> None:
    voted(store, LEAST_VOTES - 1)
    assert lessons.voted(LIST) == []
    voted(store, LEAST_VOTES)
    assert len(lessons.voted(LIST)) == LEAST_VOTES
    assert lessons.voted("galaxies") == []
    assert Lessons(store.database).voted(LIST) == []  # where nobody offers votes


def test_papers_share_of_votes_is_the_mean_over_its_voters(store: Store, lessons: Lessons) -> None:
    first, second, *_ = voted(store, LEAST_VOTES)
    cast(store.database, GRACE, {first: -1, second: 1}, NOW)
    shares = {id_of(example): example.target for example in lessons.voted(LIST)}
    assert (shares[first], shares[second]) == (0.5, 1.0)


def test_papers_that_the_list_had_and_nobody_voted_on_come_with_them(
    store: Store, lessons: Lessons
) -> None:
    ids = voted(store, LEAST_VOTES)
    fetched(store, *(f"2610.{number:05}" for number in range(200)))
    seen = {f"2610_{number:05}": PaperOutcome.BELOW for number in range(150)} | {
        ids[0].replace(".", "_"): PaperOutcome.SELECTED
    }
    froze(store, **seen)
    unvoted, again = (
        [id_of(example) for example in lessons.voted(LIST) if example.target is None] for _ in "12"
    )
    assert len(unvoted) == 10 * LEAST_VOTES
    assert {paper_id.replace(".", "_") for paper_id in unvoted} < seen.keys()
    assert unvoted == again


# --- what is due


def test_scores_are_due_once_after_each_frozen_day(store: Store, lessons: Lessons) -> None:
    judged(store, {"2611.00001": 9})
    assert due(lessons, NOW) == set()
    froze(store, NOW)
    assert due(lessons, NOW + HOUR) == {ExampleKind.SCORES}
    assert due(lessons, NOW + HOUR, scores=False) == set()
    lessons.keep(LIST, ExampleKind.SCORES, None, NOW + HOUR)
    assert due(lessons, NOW + 2 * HOUR) == set()
    froze(store, TOMORROW)
    assert due(lessons, TOMORROW) == {ExampleKind.SCORES}


def test_nothing_is_due_where_no_llm_was_ever_called_and_nobody_votes(
    store: Store, lessons: Lessons
) -> None:
    froze(store, NOW)
    assert due(lessons, TOMORROW) == set()


def test_votes_are_due_at_once_and_then_hourly(store: Store, lessons: Lessons) -> None:
    cast(store.database, ADA, {"2611.00001": 1}, NOW)
    assert due(lessons, NOW) == {ExampleKind.VOTES}
    lessons.keep(LIST, ExampleKind.VOTES, None, NOW)
    cast(store.database, GRACE, {"2611.00001": 1}, NOW + timedelta(minutes=1))
    assert due(lessons, NOW + timedelta(minutes=59)) == set()
    assert due(lessons, NOW + timedelta(minutes=61)) == {ExampleKind.VOTES}
    lessons.keep(LIST, ExampleKind.VOTES, None, NOW + timedelta(minutes=61))
    assert due(lessons, NOW + timedelta(hours=3)) == set()
    froze(store, TOMORROW)  # what nobody voted on has changed
    assert due(lessons, TOMORROW + HOUR) == {ExampleKind.VOTES}


def test_erasing_a_reader_erases_what_was_learned_from_the_votes_of_the_list(
    store: Store, lessons: Lessons
) -> None:
    """Whoever gets a list's mails may have voted."""
    store.readers.add(LIST, [MessageCopy(Subscriber(ADA.address), "<1@example.org>", "token")])
    for kind in ExampleKind:
        lessons.keep(LIST, kind, STATE, NOW)
    store.erasure.erase(GRACE.address, NOW)
    assert lessons.state(LIST, ExampleKind.VOTES, "key") == STATE
    store.erasure.erase(ADA.address, NOW)
    assert lessons.state(LIST, ExampleKind.VOTES, "key") is None
    assert lessons.state(LIST, ExampleKind.SCORES, "key") == STATE


@pytest.mark.parametrize(("lists", "stays"), [([LIST], True), ([], False)])
def test_state_of_a_list_that_is_gone_goes_after_a_month(
    store: Store, lessons: Lessons, lists: list[str], *, stays: bool
) -> None:
    lessons.keep(LIST, ExampleKind.SCORES, STATE, NOW)
    store.retention.thin(timedelta(days=100), lists, NOW + timedelta(days=30))
    assert lessons.state(LIST, ExampleKind.SCORES, "key") == STATE
    store.retention.thin(timedelta(days=100), lists, NOW + timedelta(days=32))
    assert (lessons.state(LIST, ExampleKind.SCORES, "key") is not None) == stays
