"""What lists learn, in the database of the test."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from paperboy.features.learning.lessons import Lessons
from paperboy.features.learning.likes import Likes
from paperboy.features.learning.zotero import ZoteroClient
from paperboy.sources.arxiv.client import ArxivClient
from paperboy.sources.arxiv.feed import ArxivFeed
from paperboy.store import Store

VOTES = "select list, paper_id, vote, at from votes"
NOWHERE = "http://127.0.0.1:9"  # nothing listens there


@pytest.fixture
def lessons(store: Store) -> Lessons:
    return Lessons(store.database, VOTES)


def likes_in(
    store: Store,
    folder: Path,
    *,
    zotero: str = NOWHERE,
    source: str = NOWHERE,
    turn: Callable[[], AbstractContextManager[object]] = nullcontext,
) -> Likes:
    """The libraries of a folder, with servers at these URLs."""
    client = ArxivClient(
        source, clock=lambda: datetime.now(UTC), delay_seconds=0, wait=lambda _: None
    )
    return Likes(
        folder=folder,
        database=store.database,
        zotero=ZoteroClient(url=zotero, wait=lambda _: None),
        connect=lambda _: ArxivFeed(client, timedelta(days=7)),
        turn=turn,
    )
