"""The table of tasks: what is due, what a try leaves behind, and how a task ends."""

from __future__ import annotations

from datetime import timedelta

from paperboy.models import Attempt
from paperboy.store import Store
from paperboy.store.tasks import Task
from tests.store.ledger import NOW

MINUTE = timedelta(minutes=1)
DAY = timedelta(days=1)


def only(store: Store) -> Task:
    (task,) = (
        task for task in store.tasks.due("index", NOW + 9 * DAY) if task.subject == "foundations"
    )
    return task


def subjects(store: Store, kind: str = "index") -> list[str]:
    return [task.subject for task in store.tasks.due(kind, NOW)]


def test_tasks_of_a_kind_come_the_longest_due_first(store: Store) -> None:
    for subject, due in (("b", NOW), ("a", NOW), ("old", NOW - DAY), ("later", NOW + MINUTE)):
        store.tasks.add("index", subject, due)
    store.tasks.add("webhook", "7", NOW - 2 * DAY)
    assert subjects(store) == ["old", "a", "b"]
    assert subjects(store, "webhook") == ["7"]
    assert store.tasks.next_try("index") == NOW - DAY
    assert store.tasks.next_try("unknown") is None


def test_task_that_is_added_twice_is_one_and_due_at_the_earlier_time(store: Store) -> None:
    for due in (NOW + MINUTE, NOW, NOW + DAY):
        store.tasks.add("index", "foundations", due)
    assert subjects(store) == ["foundations"]
    assert only(store) == Task("index", "foundations", NOW, 0, "")


def test_task_that_is_added_anew_forgets_its_tries(store: Store) -> None:
    store.tasks.add("index", "foundations", NOW)
    store.tasks.begin(only(store), NOW + DAY)
    store.tasks.fail(only(store), "no reply")
    store.tasks.add("index", "foundations", NOW + MINUTE)
    assert only(store) == Task("index", "foundations", NOW + MINUTE, 0, "")


def test_try_counts_before_it_is_made_and_leaves_its_reply_when_it_fails(store: Store) -> None:
    """So that a crash is no hot loop."""
    store.tasks.add("index", "foundations", NOW)
    for number in (1, 2):
        task = only(store)
        store.tasks.begin(task, NOW + number * MINUTE)
        assert subjects(store) == []
        assert only(store).tries == number
        store.tasks.fail(task, f"reply {number}")
    assert only(store) == Task("index", "foundations", NOW + 2 * MINUTE, 2, "reply 2")


def test_task_that_is_done_goes_also_after_tries_that_failed(store: Store) -> None:
    store.tasks.add("index", "foundations", NOW)
    store.tasks.add("index", "galaxies", NOW)
    store.tasks.begin(only(store), NOW + MINUTE)
    again = only(store)
    store.tasks.begin(again, NOW + MINUTE)
    store.tasks.end(again)
    assert [task.subject for task in store.tasks.due("index", NOW + 9 * DAY)] == ["galaxies"]


def test_task_that_is_added_anew_while_it_is_done_stays(store: Store) -> None:
    """What it was done for may have changed since it began."""
    store.tasks.add("index", "foundations", NOW)
    task = only(store)
    store.tasks.begin(task, NOW + DAY)
    store.tasks.add("index", "foundations", NOW)
    store.tasks.end(task)
    assert only(store) == Task("index", "foundations", NOW, 0, "")


def test_task_goes_with_the_transaction_of_what_it_follows_from(store: Store) -> None:
    try:
        with store.transaction():
            store.tasks.add("index", "foundations", NOW)
            raise KeyError
    except KeyError:
        pass
    assert subjects(store) == []


def test_edit_of_the_files_ends_the_retry_backoff(store: Store) -> None:
    store.tasks.add("index", "old", NOW - DAY)
    store.tasks.add("index", "foundations", NOW)
    store.tasks.begin(only(store), NOW + DAY)
    store.retry_now(NOW)
    assert only(store).due == NOW
    assert store.tasks.next_try("index") == NOW - DAY


def test_wait_of_a_clock_that_was_ahead_ends(store: Store) -> None:
    ahead = NOW + 400 * DAY
    store.days.note_attempt(Attempt("foundations", "arXiv is late", ahead, ahead, ahead, 0))
    store.tasks.add("index", "foundations", NOW)
    store.tasks.begin(only(store), ahead + MINUTE)
    assert store.settle_clock(NOW)
    assert subjects(store) == ["foundations"]
