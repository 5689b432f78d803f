"""Tasks: small work beside the mail, in a child of the daemon's or at the end of `once`."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from paperboy.features.votes.rows import cast
from paperboy.service import tasks
from paperboy.store import Store
from paperboy.store.readers import Reader
from tests.cli.conftest import World, world
from tests.servers.hook import Hook
from tests.service.test_daemon import HOUR, LISTS, MINUTE, SKY, Child, Office, home, office

__all__ = ["home", "office", "world"]  # fixtures


@pytest.fixture
def hook() -> Iterator[Hook]:
    with Hook() as serving:
        yield serving


@pytest.fixture
def waiting(office: Office, hook: Hook) -> Office:
    """A day's digest waits for its morning, and its list has a webhook."""
    office.announce(1)
    office.lists(f"{LISTS}    webhook: {hook.url}\n")
    return office


def test_daemon_starts_a_child_when_a_task_waits_and_none_when_all_are_done(
    waiting: Office, hook: Hook
) -> None:
    assert waiting.tick() == ["trial", "morning", "sending", "tasks"]
    assert len(hook.told) == 1
    assert waiting.tick(HOUR) == []
    assert waiting.readers() == ["ada@example.org"]


def test_tasks_are_done_while_a_sending_is_stuck(waiting: Office, hook: Hook) -> None:
    waiting.instead["sending"] = [Child(None)]
    assert waiting.tick() == ["trial", "morning", "sending", "tasks"]
    assert len(hook.told) == 1


def test_failed_task_is_retried_after_its_backoff_and_at_once_after_an_edit(
    waiting: Office, hook: Hook
) -> None:
    hook.statuses = [500]
    assert waiting.tick() == ["trial", "morning", "sending", "tasks"]
    assert waiting.tick(4 * MINUTE) == []
    assert waiting.tick(2 * MINUTE) == ["tasks"]
    assert waiting.tick(9 * MINUTE) == []
    hook.statuses = [200]
    waiting.lists(f"{LISTS}    webhook: {hook.url}\n\n")
    assert waiting.settle() == ["trial", "tasks"]
    assert len(hook.told) == 3
    assert waiting.tick(HOUR) == []


def test_child_that_crashes_is_retried_after_a_quarter_of_an_hour_and_reported(
    waiting: Office, hook: Hook
) -> None:
    """The alert says that mail is not concerned, and its end is reported, too."""
    waiting.instead["tasks"] = [Child(-9)]
    assert waiting.tick() == [
        "trial",
        "morning",
        "sending",
        "tasks",
        "sending",
    ]  # the second one sends the alert
    assert waiting.alerts() == ["Paperboy: Background work crashed or got stuck"]
    assert "signal 9 ended it" in waiting.last_alert()
    assert "Mail is not affected" in waiting.last_alert()
    assert waiting.tick(14 * MINUTE) == []
    assert waiting.tick(2 * MINUTE) == ["tasks", "sending"]
    assert len(hook.told) == 1
    assert waiting.alerts()[1:] == ["Paperboy: Resolved: background work is done again"]


def test_kind_that_takes_long_goes_on_in_the_next_round(waiting: Office, hook: Hook) -> None:
    """So that other kinds have their turn in between."""
    sky = SKY.format("07:00").replace("subscribers", f"webhook: {hook.url}, subscribers")
    waiting.lists(f"{LISTS}    webhook: {hook.url}\n{sky}")
    # On the timer of the children.
    hook.on_request = lambda: waiting.world.waits.append(tasks.SECONDS)
    assert waiting.tick() == ["trial", "morning", "sending", "tasks", "tasks"]
    assert sorted(request.json["list"] for request in hook.told) == ["foundations", "sky"]


@pytest.mark.quick
def test_once_does_the_tasks_of_a_home_without_a_daemon(home: World, hook: Hook) -> None:
    home.announce(1)
    home.write("subscribers.yaml", f"{LISTS}    webhook: {hook.url}\n")
    assert home.once().code == 0
    assert len(hook.told) == 1
    assert home.once().code == 0
    assert len(hook.told) == 1


def test_votes_are_learned_from_within_an_hour(office: Office) -> None:
    office.announce(1)
    assert office.tick() == ["trial", "morning", "sending"]
    ada = Reader("foundations", "ada@example.org")
    for wait, vote, started in ((MINUTE, 1, []), (MINUTE, -1, []), (HOUR, 0, ["tasks"])):
        if vote:
            with Store.open(office.app.settings.paperboy_database) as store:
                cast(store.database, ada, {"2611.00001": vote}, office.world.clock())
        assert office.tick(wait) == started
        assert office.tick() == []
