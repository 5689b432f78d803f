"""What each webhook was told: a row from when its digest is frozen, which goes with the digest."""

from __future__ import annotations

from datetime import timedelta

from paperboy.features.webhooks import reports, rows
from paperboy.features.webhooks.rows import Call
from paperboy.models import Composed, Day, DeliveryState, Outcome
from paperboy.store import Store
from tests.builders import mailing_list
from tests.features.conftest import app_of
from tests.store.ledger import NOW, TODAY, copy_for

DAY = timedelta(days=1)


def frozen(
    store: Store, days_ago: int = 0, list_name: str = "foundations", *, webhook: bool = True
) -> int:
    """The digest of a day, of a list that has a webhook; gives its id."""
    date = TODAY - days_ago * DAY
    at = NOW - days_ago * DAY
    found = list[int]()
    app = app_of(store, lambda: at)
    of = mailing_list(name=list_name, webhook="https://example.org" if webhook else "")
    mail = Composed("3 new papers", "papers@example.org", b"mail", shown=b"{}")
    copies = (copy_for("ada", list_name, date),)
    day = Day(list_name, date, Outcome.DIGEST, composed=mail, copies=copies)

    def also(digest_id: int | None) -> None:
        assert digest_id
        found.append(digest_id)
        rows.frozen(app, of, day, digest_id, at)

    store.days.freeze(day, at, also)
    return found[0]


def call_of(store: Store, digest_id: int) -> Call:
    call = rows.get(store.database, digest_id)
    assert call
    return call


def newest(store: Store, *names: str, ended: bool = False) -> dict[str, int]:
    return {
        name: call.digest_id
        for name, call in rows.newest(store.database, names, ended=ended).items()
    }


def test_call_is_frozen_with_its_digest_and_waits_at_once(store: Store) -> None:
    other = frozen(store, list_name="galaxies", webhook=False)
    assert rows.get(store.database, other) is None
    digest_id = frozen(store)
    call = call_of(store, digest_id)
    assert (call.list_name, call.date, call.frozen_at) == ("foundations", TODAY, NOW)
    assert (call.subject, call.shown, call.superseded) == ("3 new papers", b"{}", False)
    assert (call.state, call.attempts, call.try_at) == (DeliveryState.PENDING, 0, NOW)


def test_newest_call_of_each_list_is_known(store: Store) -> None:
    frozen(store, 1)
    today = frozen(store)
    other = frozen(store, 1, "galaxies")
    assert newest(store, "foundations", "galaxies", "unknown") == {
        "foundations": today,
        "galaxies": other,
    }
    assert newest(store, "unknown") == {}


def test_newest_call_that_ended_is_not_one_that_waits_or_that_was_no_longer_wanted(
    store: Store,
) -> None:
    old = frozen(store, 2)
    unwanted = frozen(store, 1)
    frozen(store)
    rows.record(store.database, call_of(store, old), DeliveryState.FAILED, "HTTP 404", NOW)
    rows.delete(store.database, call_of(store, unwanted))
    assert newest(store, "foundations", ended=True) == {"foundations": old}


def test_problem_lasts_since_the_first_call_that_failed_after_the_last_good_one(
    store: Store,
) -> None:
    ended = [DeliveryState.FAILED, DeliveryState.SENT, DeliveryState.FAILED, DeliveryState.FAILED]
    for days_ago, state in zip((3, 2, 1, 0), ended, strict=True):
        call = call_of(store, frozen(store, days_ago))
        rows.record(store.database, call, state, "HTTP 200 or 404", NOW - days_ago * DAY)
    (problem,) = reports.problems(
        app_of(store, lambda: NOW, mailing_list(webhook="https://example.org"))
    )
    assert (problem.since, problem.last) == (NOW - DAY, NOW)


def test_superseded_digest_has_no_newest_call(store: Store) -> None:
    digest_id = frozen(store, 1)
    assert store.days.supersede("foundations", TODAY, NOW) == TODAY - DAY
    assert call_of(store, digest_id).superseded
    assert newest(store, "foundations") == {}


def test_call_that_failed_before_its_digest_was_superseded_is_still_a_problem(store: Store) -> None:
    digest_id = frozen(store, 1)
    rows.record(
        store.database, call_of(store, digest_id), DeliveryState.FAILED, "HTTP 404", NOW - DAY
    )
    assert store.days.supersede("foundations", TODAY, NOW) == TODAY - DAY
    frozen(store)
    assert newest(store, "foundations", ended=True) == {"foundations": digest_id}


def test_call_goes_with_its_digest(store: Store) -> None:
    digest_id = frozen(store, 40)
    for delivery in store.ledger.waiting(NOW):
        store.ledger.end(store.ledger.get(delivery), DeliveryState.SUPPRESSED, "left", NOW)
    today = frozen(store)
    store.retention.thin(timedelta(days=31), ["foundations"], NOW)
    assert rows.get(store.database, digest_id) is None
    assert newest(store, "foundations") == {"foundations": today}
