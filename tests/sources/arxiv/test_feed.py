"""arXiv as a home reaches it. Its fetch is tested with whole mornings; see tests/morning."""

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest

from paperboy.sources.arxiv.feed import ArxivFeed
from tests.builders import paper
from tests.fakes import FakeArxiv

EASTERN = ZoneInfo("America/New_York")


@pytest.mark.parametrize(
    ("lookback", "hours_since_fetch", "days"),
    [
        (7, None, 7),
        (7, 24, 7),
        (7, 36, 7.5),
        (7, 5 * 24, 11),
        (7, 20 * 24, 26),
        (2, None, 2),
        (2, 24, 5),
        (2, 5 * 24, 9),
    ],
)
def test_fetch_after_an_outage_looks_as_far_back_as_if_it_had_looked_each_day(
    lookback: int, hours_since_fetch: int | None, days: float
) -> None:
    """A paper that surfaced at the beginning of the outage was submitted up to a look-back before; and at least the
    four days for which moderation can hold one.
    """
    now = datetime(2026, 11, 20, 7, tzinfo=UTC)
    last = now - timedelta(hours=hours_since_fetch) if hours_since_fetch else None
    feed = ArxivFeed(FakeArxiv(), timedelta(days=lookback))
    assert now - feed.window(now, last) == timedelta(days=days)


@pytest.mark.parametrize(
    ("eastern", "waited_for"),
    [
        ("2026-11-20T07:00", True),
        ("2026-11-21T00:10", True),
        ("2026-11-21T00:20", False),
        ("2026-11-22T07:00", False),
        ("2026-11-23T07:00", True),
    ],
)
def test_batch_that_is_a_day_late_is_not_waited_for(eastern: str, *, waited_for: bool) -> None:
    """Thursday's, on the weekend."""
    now = datetime.fromisoformat(eastern).replace(tzinfo=EASTERN)
    feed = ArxivFeed(FakeArxiv(), timedelta(days=7))
    fetched = feed.fetch(["cs.LG"], now - timedelta(days=7), now, None, lambda *_: None)
    assert not fetched.news
    assert ("has not arrived yet" in fetched.missing) is waited_for


@pytest.mark.parametrize(
    ("now", "newest", "news", "late"),
    [
        ("2026-11-18T07:00", "2026-11-16T13:59", False, True),  # still yesterday's batch
        ("2026-11-18T07:00", "2026-11-16T14:00", True, False),
        ("2026-11-18T00:10", "2026-11-16T13:59", True, False),  # nothing more is due yet
        ("2026-11-18T00:10", "2026-11-17T13:00", True, False),  # early is not late
        ("2026-11-21T07:00", "2026-11-18T14:30", False, False),
    ],
)
def test_arxiv_is_late_while_the_newest_batch_has_no_paper(
    now: str, newest: str, *, news: bool, late: bool
) -> None:
    submitted = datetime.fromisoformat(newest).replace(tzinfo=EASTERN)
    at = datetime.fromisoformat(now).replace(tzinfo=EASTERN)
    arxiv = FakeArxiv([paper(published=submitted)])
    fetched = ArxivFeed(arxiv, timedelta(days=7)).fetch(
        ["cs.LG"], at - timedelta(days=7), at, None, lambda *_: None
    )
    assert (fetched.news, bool(fetched.missing)) == (news, late)
