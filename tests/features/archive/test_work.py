"""Papers of public digests are indexed beside the mail."""

from __future__ import annotations

from datetime import date, timedelta

import pytest

from paperboy.features.archive import rows
from paperboy.features.archive.work import work
from paperboy.mail.archive import dump
from paperboy.models import Composed, Day, Outcome
from paperboy.service.tasks import attempt
from paperboy.store import Store
from paperboy.store.tasks import Task
from tests.builders import digest, entries, mailing_list
from tests.cli.conftest import world
from tests.features.conftest import app_of
from tests.service.test_daemon import HOUR, LISTS, Office, home, office
from tests.store.ledger import NOW, TODAY

__all__ = ["home", "office", "world"]  # fixtures


@pytest.mark.long("children in processes of their own")
def test_papers_of_a_public_list_can_be_found_when_its_digest_is_sent(office: Office) -> None:
    office.world.environ["WEB_URL"] = "https://papers.example.org"
    office.world.announce(1)
    office.world.write("subscribers.yaml", f"{LISTS}    archive: public\n")
    assert office.tick() == ["trial", "morning", "sending", "tasks"]
    assert len(rows.find(office.store.database, "foundations", "learning", 9)) == 1
    assert office.tick(HOUR) == []


def frozen(store: Store, day: date) -> None:
    """A digest of three papers."""
    mail = Composed("3 new papers", "papers@example.org", b"mail", "", dump(digest(entries(3))))
    store.days.freeze(Day("foundations", day, Outcome.DIGEST, composed=mail), NOW)


def test_index_that_is_stopped_goes_on_the_next_time(store: Store) -> None:
    """A digest at a time, the newest first."""
    public = mailing_list(archive="public")
    for days_ago in range(3):
        frozen(store, TODAY - timedelta(days=days_ago))
    assert rows.waiting(store.database, "galaxies") is None
    store.tasks.add("index", public.name, NOW)
    for left in (TODAY - timedelta(days=1), TODAY - timedelta(days=2), None):
        stops = iter([False])
        (task,) = store.tasks.due("index", NOW)
        app = app_of(store, lambda: NOW, public)
        attempt(app, task, work, lambda stops=stops: next(stops, True))
        waiting = rows.waiting(store.database, public.name)
        assert (waiting and waiting.date) == left
    assert store.tasks.next_try("index") is None


@pytest.mark.parametrize("archive", ["none", "link"])
def test_list_that_is_not_public_any_more_is_not_indexed(store: Store, archive: str) -> None:
    frozen(store, TODAY)
    for lists in ([mailing_list(archive=archive)], []):
        task = Task("index", "foundations", NOW, 0, "")
        assert work(app_of(store, lambda: NOW, *lists), task, lambda: False) == ""
    assert rows.waiting(store.database, "foundations")
