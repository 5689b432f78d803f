"""What the database remembers of one paper."""

from datetime import UTC, date, datetime, timedelta
from pathlib import Path

from paperboy.models import Became, Day, Outcome, Score, Spending
from paperboy.store import Store
from tests.builders import paper

NOW = datetime(2026, 11, 20, 7, tzinfo=UTC)


def test_a_paper_is_remembered_with_its_scores_and_what_became_of_it(tmp_path: Path) -> None:
    with Store.open(tmp_path / "paperboy.db") as store:
        assert store.lives.paper("2611.00001") is None
        store.papers.add([paper()], ["cs.LG"], NOW)
        assert store.lives.paper("2611.00001") == (paper(), NOW)
        assert store.lives.judged("foundations", "2611.00001") == ()
        for days, relevance in ((0, 5), (1, 9)):
            scores = {"2611.00001": Score(relevance, 7, "Why.")}
            store.scores.keep("foundations", f"criteria {days}", "luna", scores, Spending(), NOW + timedelta(days=days))
        newest, oldest = store.lives.judged("foundations", "2611.00001")
        assert (newest.score.relevance, newest.criteria, newest.at) == (9, "criteria 1", NOW + timedelta(days=1))
        assert (oldest.score, oldest.model) == (Score(5, 7, "Why."), "luna")
        assert store.lives.seen("foundations", "2611.00001") is None
        day = Day("foundations", date(2026, 11, 20), Outcome.NOTE, became={"2611.00001": Became.BELOW})
        store.days.freeze(day, NOW)
        seen = store.lives.seen("foundations", "2611.00001")
        assert seen is not None
        assert (seen.became, seen.day, seen.deliveries) == (Became.BELOW, date(2026, 11, 20), {})
        assert store.lives.seen("galaxies", "2611.00001") is None


def test_the_mornings_on_which_a_paper_could_not_be_scored_are_counted_until_the_list_has_seen_it(
    tmp_path: Path,
) -> None:
    refused = frozenset({"2611.00001"})
    with Store.open(tmp_path / "paperboy.db") as store:
        assert store.lives.tries("foundations", "2611.00001") == 0
        for day in (20, 21):
            store.days.freeze(Day("foundations", date(2026, 11, day), Outcome.NOTE, tried=refused), NOW)
        assert store.lives.tries("foundations", "2611.00001") == 2
        assert store.lives.tries("foundations", "2611.00002") == store.lives.tries("galaxies", "2611.00001") == 0
        gone = {"2611.00001": Became.LET_GO}
        store.days.freeze(Day("foundations", date(2026, 11, 22), Outcome.NOTE, became=gone, tried=refused), NOW)
        assert store.lives.tries("foundations", "2611.00001") == 0
