"""The imperative shell, second half: from frozen digests to receipts.

    for each delivery that waits, oldest digest first:
        still on its list? else suppress it
        reserve    ← its own commit, before the first word to the server
        send       ← the frozen bytes, with what makes this copy the subscriber's own
        settle     ← its own commit, after the server's last word
    a server that refuses us, not a recipient, ends the round; what waits goes on waiting

A delivery that a crash left in `sending` waits like a pending one, and goes out with the same bytes and Message-ID.
"""

from __future__ import annotations

import logging
import re
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from traceback import format_tb
from typing import Protocol

from paperboy import draft
from paperboy.errors import MailServerError, StoreError
from paperboy.models import Composed, Delivery, DeliveryState, Envelope, Receipt

logger = logging.getLogger(__name__)

_FIRST_WAIT = timedelta(minutes=5)
_LONGEST_WAIT = timedelta(hours=4)


class Transport(Protocol):
    """Takes one envelope at a time. Raises MailServerError where no recipient is to blame."""

    @property
    def via(self) -> str: ...

    def send(self, envelope: Envelope) -> Receipt: ...

    def close(self) -> None: ...


class Ledger(Protocol):
    """The deliveries. Every move says whether it was made."""

    def waiting(self, now: datetime) -> tuple[Delivery, ...]: ...

    def reserve(self, delivery: Delivery, at: datetime) -> bool: ...

    def settle(
        self,
        delivery: Delivery,
        state: DeliveryState,
        reply: str,
        at: datetime,
        *,
        via: str = "",
        try_at: datetime | None = None,
        uncertain: bool = False,
    ) -> bool: ...

    def suppress(self, delivery: Delivery, reason: str, at: datetime) -> bool: ...


class Digests(Protocol):
    """The frozen bytes."""

    def composed_by_id(self, digest_id: int) -> Composed: ...


@dataclass(frozen=True, slots=True)
class Parts:
    """Everything that sending works with."""

    transport: Transport
    ledger: Ledger
    digests: Digests
    address: Callable[[Composed, Delivery], Envelope]  # puts what is the subscriber's own into the frozen bytes
    progress: draft.Progress
    clock: Callable[[], datetime]


@dataclass(frozen=True, slots=True)
class Report:
    """How a round of sending ended. `problem`: the server refused us, and what waits goes on waiting."""

    states: Mapping[DeliveryState, int]
    problem: str = ""


def deliver(parts: Parts, audience: Mapping[str, frozenset[str]], *, stopped: Callable[[], bool]) -> Report:
    """Sends what waits. `audience` has the addresses, casefolded, that are on each list now; `stopped` ends the round
    between two messages.
    """
    waiting = parts.ledger.waiting(parts.clock())
    states: Counter[DeliveryState] = Counter()
    if not waiting:
        return Report(states)
    composed: dict[int, Composed] = {}  # of one digest at a time
    problem = ""
    try:
        with parts.progress.stage("Sending") as progress:
            for done, delivery in enumerate(waiting, start=1):
                if stopped():
                    break
                if state := _one(parts, delivery, composed, audience):
                    states[state] += 1
                progress(done, len(waiting))
    except MailServerError as error:
        problem = str(error)
        logger.error("%s", problem)
    finally:
        parts.transport.close()
    logger.info("sending: %s", ", ".join(f"{count} {state}" for state, count in sorted(states.items())) or "nothing")
    return Report(states, problem)


def _one(
    parts: Parts, delivery: Delivery, composed: dict[int, Composed], audience: Mapping[str, frozenset[str]]
) -> DeliveryState | None:
    """One delivery through reserve, send and settle. None: somebody else has moved it meanwhile."""
    address = delivery.addressed.subscriber.address
    if address.casefold() not in audience.get(delivery.list_name, frozenset()):
        gone = parts.ledger.suppress(delivery, "no longer on the list", parts.clock())
        return DeliveryState.SUPPRESSED if gone else None
    if not parts.ledger.reserve(delivery, parts.clock()):
        return None
    try:
        if delivery.digest_id not in composed:
            composed.clear()
            composed[delivery.digest_id] = parts.digests.composed_by_id(delivery.digest_id)
        receipt = parts.transport.send(parts.address(composed[delivery.digest_id], delivery))
    except MailServerError as error:
        parts.ledger.settle(delivery, DeliveryState.PENDING, str(error), parts.clock())
        raise
    except StoreError:
        raise
    except Exception as error:  # noqa: BLE001  # logged with its traceback, less the message: it may hold the address
        trace = "".join(format_tb(error.__traceback__))
        logger.error(
            "%s to %s: %s, a bug in Paperboy\n%s", delivery.list_name, masked(address), type(error).__name__, trace
        )
        receipt = Receipt(DeliveryState.DEFERRED, f"a bug in Paperboy: {type(error).__name__}; see the log")
    state, wait = what_follows(delivery, receipt)
    now = parts.clock()
    parts.ledger.settle(
        delivery,
        state,
        receipt.reply,
        now,
        via=parts.transport.via,
        try_at=now + wait if wait else None,
        uncertain=receipt.state is DeliveryState.AMBIGUOUS,
    )
    if state is not DeliveryState.SENT:
        said = re.sub(re.escape(address), masked(address), receipt.reply, flags=re.IGNORECASE)
        logger.warning("%s to %s: %s (%s)", delivery.list_name, masked(address), state, said)
    return state


def what_follows(delivery: Delivery, receipt: Receipt) -> tuple[DeliveryState, timedelta | None]:
    """The delivery's next state, and how long it waits before it is tried again, if it is.

    A connection lost after the final dot is tried once more; the second time nobody can know, and it stays ambiguous.
    Waits double from five minutes to four hours.
    """
    if receipt.state is DeliveryState.AMBIGUOUS and delivery.uncertain == 0:
        return DeliveryState.DEFERRED, _FIRST_WAIT
    if receipt.state in {DeliveryState.DEFERRED, DeliveryState.PENDING}:
        return DeliveryState.DEFERRED, min(_FIRST_WAIT * 2**delivery.attempts, _LONGEST_WAIT)
    return receipt.state, None


def masked(address: str) -> str:
    """An address for a log: whose it is stays private, which server it is on does not."""
    local, _, domain = address.rpartition("@")
    return f"{local[:1]}…@{domain}"
