"""The imperative shell, second half: from frozen digests to receipts.

    each connection, until nothing waits:
        the next delivery, oldest digest first
        still on its list, not suppressed, not three days old? else that is what becomes of it
        wait for a turn     ← the rate, and pauses that grow while the server is busy
        reserve             ← its own commit, before the first word to the server
        send                ← the frozen bytes, with what makes this copy the subscriber's own
        settle              ← its own commit, after the server's last word and before the connection's next message
    a server that refuses us, not a recipient, ends the round; what waits goes on waiting
    addresses that did not exist in three digests running are suppressed

A delivery that a crash left in `sending` waits like a pending one, and goes out with the same bytes and Message-ID. The
connections work side by side; whatever touches the ledger is done by one of them at a time.
"""

from __future__ import annotations

import logging
import re
from collections import Counter, deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from threading import Lock, Thread
from traceback import format_tb
from typing import Protocol

from paperboy import draft
from paperboy.errors import MailServerError
from paperboy.models import Composed, Delivery, DeliveryState, Envelope, Receipt
from paperboy.pace import Pace, next_try

logger = logging.getLogger(__name__)

EXPIRES = timedelta(days=3)  # after its digest was frozen, a delivery is tried no more
LOST_IN_A_ROW = 3  # so many connections lost before a message was handed over, and it is the server's fault
_LOOK_SECONDS = 0.05  # how soon a wait, or the end of the work, is noticed


class Transport(Protocol):
    """Takes one envelope at a time. Raises MailServerError where no recipient is to blame."""

    @property
    def via(self) -> str: ...

    def send(self, envelope: Envelope) -> Receipt: ...

    def abort(self) -> None:
        """Breaks off what is under way. The only thing that another thread may ask for."""
        ...

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
        bounce: bool = False,
    ) -> bool: ...

    def suppress(self, delivery: Delivery, reason: str, at: datetime) -> bool: ...

    def expire(self, delivery: Delivery, reason: str, at: datetime) -> bool: ...

    def bounced_thrice(self) -> tuple[tuple[str, str], ...]:
        """Addresses, with the last reply, that did not exist in the last three digests they were to get."""
        ...


class Suppressions(Protocol):
    """Who must not get mail."""

    def reason(self, list_name: str, address: str) -> str: ...

    def add(self, address: str, list_name: str, reason: str, at: datetime) -> bool: ...


class Digests(Protocol):
    """The frozen bytes."""

    def composed_by_id(self, digest_id: int) -> Composed: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """Everything that sending works with."""

    transports: Sequence[Transport]  # one for each connection
    ledger: Ledger
    suppressions: Suppressions
    digests: Digests
    address: Callable[[Composed, Delivery], Envelope]  # puts what is the subscriber's own into the frozen bytes
    progress: draft.Progress
    clock: Callable[[], datetime]
    timer: Callable[[], float]  # monotonic seconds
    wait: Callable[[float], None]
    jitter: Callable[[], float]  # from 0 to 1
    most_per_minute: int = 0  # 0: no limit
    grace_seconds: float = 20.0  # for what is under way when the round is stopped


@dataclass(frozen=True, slots=True)
class Report:
    """How a round of sending ended. `problem`: the server refused us, and what waits goes on waiting."""

    states: Mapping[DeliveryState, int]
    problem: str = ""
    expired: tuple[Delivery, ...] = ()  # tried for three days, and given up
    suppressed: tuple[tuple[str, str], ...] = ()  # addresses that do not exist, with the server's last reply


def deliver(parts: Parts, audience: Mapping[str, frozenset[str]], *, stopped: Callable[[], bool]) -> Report:
    """Sends what waits. `audience` has the addresses, casefolded, that are on each list now; `stopped` ends the round
    between two messages.
    """
    waiting = parts.ledger.waiting(parts.clock())
    if not waiting:
        return Report({})
    round_ = _Round(parts, audience, stopped, deque(waiting), Pace(parts.most_per_minute))
    with parts.progress.stage("Sending") as progress:
        round_.run(lambda: progress(round_.done, len(waiting)))
    if round_.problem:
        logger.error("%s", round_.problem)
    states = round_.states
    logger.info("sending: %s", ", ".join(f"{count} {state}" for state, count in sorted(states.items())) or "nothing")
    bounced = parts.ledger.bounced_thrice()
    for address, reply in bounced:
        parts.suppressions.add(address, "", f"it did not exist in three digests running: {reply}", parts.clock())
        logger.warning("%s is suppressed: it did not exist in three digests running", masked(address))
    return Report(states, round_.problem, tuple(round_.expired), bounced)


@dataclass(slots=True)
class _Round:
    """What the connections share. Everything but sending itself is done with the lock held."""

    parts: Parts
    audience: Mapping[str, frozenset[str]]
    stopped: Callable[[], bool]
    queue: deque[Delivery]
    pace: Pace
    states: Counter[DeliveryState] = field(default_factory=Counter)
    expired: list[Delivery] = field(default_factory=list)
    problem: str = ""
    done: int = 0
    lost_in_a_row: int = 0
    composed: dict[int, Composed] = field(default_factory=dict)  # of one digest at a time
    crash: BaseException | None = None
    lock: Lock = field(default_factory=Lock)

    def run(self, look: Callable[[], None]) -> None:
        """Returns when nothing is under way any more. Raises what a connection could not make sense of."""
        transports = list(self.parts.transports)
        while self.queue and transports and not self.over():
            threads = {Thread(target=self._work, args=[each, transports], daemon=True) for each in transports}
            for thread in threads:
                thread.start()
            self._attend(threads, look)
        if self.crash is not None:
            raise self.crash

    def over(self) -> bool:
        return bool(self.problem or self.crash or self.stopped())

    def _attend(self, threads: set[Thread], look: Callable[[], None]) -> None:
        """Stays with the connections; breaks off what is still under way some time after they were told to stop."""
        limit: float | None = None
        while alive := [thread for thread in threads if thread.is_alive()]:
            alive[0].join(_LOOK_SECONDS)
            look()
            if self.over():
                now = self.parts.timer()
                limit = now + self.parts.grace_seconds if limit is None else limit
                if now >= limit:
                    for transport in self.parts.transports:
                        transport.abort()

    def _work(self, transport: Transport, transports: list[Transport]) -> None:
        """One connection's work. One that the server will not have now leaves it to the others, where there are any."""
        try:
            while (taken := self._take()) is not None:
                self._one(transport, *taken)
        except MailServerError as error:
            with self.lock:
                transports.remove(transport)
                if error.temporary and transports:
                    logger.info("one connection less: %s", error)
                else:
                    self.problem = self.problem or str(error)
        except BaseException as error:  # noqa: BLE001  # raised again by `run`
            self.crash = self.crash or error
        finally:
            transport.close()

    def _take(self) -> tuple[Delivery, Composed] | None:
        """The next delivery, reserved, when its turn has come; None where there is none, or the round is over."""
        while not self.over():
            with self.lock:
                if not self.queue:
                    return None
                delivery = self.queue.popleft()
                if not self._may_go(delivery):
                    continue
                seconds = self.pace.turn(self.parts.timer())
            self._wait(seconds)
            with self.lock:
                if self.over():
                    self.queue.appendleft(delivery)
                    return None
                if self.parts.ledger.reserve(delivery, self.parts.clock()):
                    return delivery, self._composed(delivery)
                self.done += 1  # somebody else has moved it meanwhile
        return None

    def _wait(self, seconds: float) -> None:
        ends = self.parts.timer() + seconds
        while not self.over() and (left := ends - self.parts.timer()) > 0:
            self.parts.wait(min(left, _LOOK_SECONDS))

    def _may_go(self, delivery: Delivery) -> bool:
        """Whether the address may have it; if not, that is settled here."""
        now, ledger, name = self.parts.clock(), self.parts.ledger, delivery.list_name
        address = delivery.addressed.subscriber.address
        if address.casefold() not in self.audience.get(name, frozenset()):
            reason = "no longer on the list"
        else:
            reason = self.parts.suppressions.reason(name, address)
        if reason:
            self._count(DeliveryState.SUPPRESSED, moved=ledger.suppress(delivery, reason, now))
            return False
        if delivery.frozen_at is not None and now - delivery.frozen_at >= EXPIRES:
            moved = ledger.expire(delivery, f"given up after three days; {delivery.reply or 'it was never tried'}", now)
            self._count(DeliveryState.FAILED, moved=moved)
            self.expired += [delivery] if moved else []
            return False
        return True

    def _composed(self, delivery: Delivery) -> Composed:
        if delivery.digest_id not in self.composed:
            self.composed = {delivery.digest_id: self.parts.digests.composed_by_id(delivery.digest_id)}
        return self.composed[delivery.digest_id]

    def _one(self, transport: Transport, delivery: Delivery, composed: Composed) -> None:
        """One delivery that is reserved, through send and settle."""
        try:
            receipt = transport.send(self.parts.address(composed, delivery))
        except MailServerError as error:
            with self.lock:
                self.parts.ledger.settle(delivery, DeliveryState.PENDING, str(error), self.parts.clock())
                self.queue.appendleft(replace(delivery, state=DeliveryState.PENDING))
            raise
        except Exception as error:  # noqa: BLE001  # logged with its traceback, less the message: it may hold the address
            trace, kind = "".join(format_tb(error.__traceback__)), type(error).__name__
            address = masked(delivery.addressed.subscriber.address)
            logger.error("%s to %s: %s, a bug in Paperboy\n%s", delivery.list_name, address, kind, trace)
            receipt = Receipt(DeliveryState.DEFERRED, f"a bug in Paperboy: {kind}; see the log")
        with self.lock:
            self._settle(delivery, receipt, transport.via)

    def _settle(self, delivery: Delivery, receipt: Receipt, via: str) -> None:
        state, wait = what_follows(delivery, receipt, self.parts.jitter())
        if receipt.state is DeliveryState.PENDING and self.stopped():  # broken off by us, and nothing was handed over
            state, wait = DeliveryState.PENDING, None
        now = self.parts.clock()
        moved = self.parts.ledger.settle(
            delivery,
            state,
            receipt.reply,
            now,
            via=via,
            try_at=now + wait if wait else None,
            uncertain=receipt.state is DeliveryState.AMBIGUOUS,
            bounce=receipt.bounce and state is DeliveryState.FAILED,
        )
        self._count(state, moved=moved)
        self._learn(receipt)
        if state is not DeliveryState.SENT:
            address = delivery.addressed.subscriber.address
            said = re.sub(re.escape(address), masked(address), receipt.reply, flags=re.IGNORECASE)
            logger.warning("%s to %s: %s (%s)", delivery.list_name, masked(address), state, said)

    def _learn(self, receipt: Receipt) -> None:
        """What a receipt tells of the server: that it is well, busy, or gone."""
        lost = receipt.state is DeliveryState.PENDING and not self.stopped()
        self.lost_in_a_row = self.lost_in_a_row + 1 if lost else 0
        if self.lost_in_a_row >= LOST_IN_A_ROW:
            self.problem = self.problem or f"the mail server goes away again and again: {receipt.reply}"
        if receipt.slow_down:
            seconds = self.pace.slow_down(self.parts.timer(), self.parts.jitter())
            if self.pace.hopeless:
                self.problem = self.problem or f"the mail server is too busy with us: {receipt.reply}"
            else:
                logger.warning("the mail server is busy with us, a pause of %.0f s: %s", seconds, receipt.reply)
        elif receipt.state is DeliveryState.SENT:
            self.pace.went_well()

    def _count(self, state: DeliveryState, *, moved: bool) -> None:
        self.done += 1
        if moved:
            self.states[state] += 1


def what_follows(delivery: Delivery, receipt: Receipt, jitter: float) -> tuple[DeliveryState, timedelta | None]:
    """The delivery's next state, and how long it waits before it is tried again, if it is.

    A connection lost after the final dot is tried once more; the second time nobody can know, and it stays ambiguous.
    """
    if receipt.state is DeliveryState.AMBIGUOUS and delivery.uncertain == 0:
        return DeliveryState.DEFERRED, next_try(0, jitter)
    if receipt.state in {DeliveryState.DEFERRED, DeliveryState.PENDING}:
        return DeliveryState.DEFERRED, next_try(delivery.attempts, jitter)
    return receipt.state, None


def masked(address: str) -> str:
    """An address for a log: whose it is stays private, which server it is on does not."""
    local, _, domain = address.rpartition("@")
    return f"{local[:1]}…@{domain}"
