"""Mornings for tests of the ledger: what each subscriber's delivery came to, told by name."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, date, datetime, timedelta

from paperboy.models import (
    Composed,
    Day,
    Delivery,
    DeliveryState,
    MessageCopy,
    Outcome,
    PaperOutcome,
    Score,
    Spending,
    Subscriber,
)
from paperboy.store import Store

NOW = datetime(2026, 11, 20, 7, tzinfo=UTC)
TODAY = date(2026, 11, 20)

WAITS = "waits"
# What the server says of one try: the state, the reply, and what else `settle` is told.
TRIES: dict[str, tuple[DeliveryState, str, dict[str, object]]] = {
    "sent": (DeliveryState.SENT, "250 ok", {"via": "smtp"}),
    "in the outbox": (DeliveryState.SENT, "in outbox/Maildir", {"via": "outbox"}),
    "bounced": (DeliveryState.FAILED, "550 5.1.1 no such user", {"via": "smtp", "bounce": True}),
    "refused": (DeliveryState.FAILED, "550 5.7.1 not today", {"via": "smtp"}),
    "deferred": (
        DeliveryState.DEFERRED,
        "450 later",
        {"via": "smtp", "try_at": NOW + timedelta(days=400)},
    ),
    "lost after the dot": (
        DeliveryState.DEFERRED,
        "connection lost",
        {"via": "smtp", "try_at": NOW + timedelta(days=400), "uncertain": True},
    ),
    "ambiguous": (DeliveryState.AMBIGUOUS, "connection lost", {"via": "smtp", "uncertain": True}),
    "the server refused us": (DeliveryState.PENDING, "530 log in first", {}),
}


def outcome(store: Store, list_name: str, day: date) -> Outcome | None:
    """What the list's day came to; None: nothing yet."""
    days = store.history.days([list_name], 99).get(list_name, ())
    return next((summary.outcome for summary in days if summary.date == day), None)


def copy_for(name: str, list_name: str = "foundations", day: date = TODAY) -> MessageCopy:
    return MessageCopy(
        Subscriber(f"{name}@example.org"),
        f"<{day}.{list_name}.{name.lower()}@example.org>",
        f"{list_name} {name}",
    )


def at(day: date) -> datetime:
    return datetime.combine(day, NOW.timetz())


def morning(
    store: Store,
    came: Mapping[str, str],
    day: date = TODAY,
    list_name: str = "foundations",
    became: Mapping[str, PaperOutcome] | None = None,
    reason: str = "",
    sender: str = "papers@example.org",
) -> int:
    """A digest of that day to these subscribers, and what each delivery came to within its hour; gives its id."""
    store.days.freeze(
        Day(
            list_name,
            day,
            Outcome.DIGEST,
            reason=reason,
            outcomes=became or {},
            composed=Composed("s", sender, b"m"),
            copies=tuple(copy_for(name, list_name, day) for name in came),
        ),
        at(day),
    )
    digest = store.ledger.newest(list_name)
    assert digest is not None
    for name, how in came.items():
        move(store, delivery(store, name, digest.id), how, at(day) + timedelta(minutes=1))
    return digest.id


def move(store: Store, of: Delivery, how: str, when: datetime) -> None:
    """One try, or the end of what was to be tried."""
    if how == "suppressed":
        assert store.ledger.end(of, DeliveryState.SUPPRESSED, "no longer on the list", when)
    elif how == "expired":
        assert store.ledger.end(of, DeliveryState.FAILED, "given up after three days", when)
    elif how != WAITS:
        assert store.ledger.reserve(of, when)
        if how != "a crash":
            state, reply, more = TRIES[how]
            assert store.ledger.settle(of, state, reply, when, **more)  # type: ignore[arg-type]


def keep_scores(
    store: Store,
    scores: Mapping[str, Score] = {},
    at: datetime = NOW,
    *,
    spending: Spending = Spending(),
    list_name: str = "foundations",
    model: str = "luna",
) -> None:
    """Keep what the model said of a list's papers, by the criteria `abc`, and what it cost."""
    store.scores.keep(list_name, "abc", model, scores, spending, at)


def waiting(store: Store, now: datetime = NOW, *, by_hand: bool = False) -> list[Delivery]:
    """What may be sent now, in its order."""
    return [store.ledger.get(one) for one in store.ledger.waiting(now, by_hand=by_hand)]


def delivery(store: Store, name: str, digest_id: int) -> Delivery:
    found = store.ledger.find(digest_id, f"{name}@example.org")
    assert found is not None, name
    return found


def states(store: Store, digest_id: int, *names: str) -> list[str]:
    return [delivery(store, name, digest_id).state.value for name in names]
