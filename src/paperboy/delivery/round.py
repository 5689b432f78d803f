"""One round of sending: connections that work side by side through what waits."""

from __future__ import annotations

import logging
from collections import Counter, deque
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from threading import Event, Lock, Thread
from traceback import format_tb

from paperboy.delivery.ports import Audience, Membership, Parts, Transport
from paperboy.errors import MailServerError, StoreWriteError
from paperboy.models import Composed, Delivery, DeliveryState, Receipt
from paperboy.pace import MOST_PAUSES, Pace, next_try
from paperboy.privacy import masked, without, without_addresses

logger = logging.getLogger(__name__)

EXPIRES = timedelta(days=3)  # after its digest was frozen, a delivery is tried no more
LOST_IN_A_ROW = 3  # so many connections lost before a message was handed over, and it is the server's fault
AT_ONCE = 200  # deliveries that are read together
LOOK_SECONDS = 0.05  # how soon a wait, or the end of the work, is noticed


@dataclass(slots=True)
class Round:
    """What the connections share. Everything but sending itself is done with the lock held."""

    parts: Parts
    audience: Audience
    stopped: Callable[[], bool]
    hurried: Callable[[], bool]
    began: datetime
    pace: Pace
    queue: deque[Delivery] = field(default_factory=deque)  # what was read of what waits
    last_read: Delivery | None = None
    all_read: bool = False
    states: Counter[tuple[str, DeliveryState]] = field(default_factory=Counter)  # by list
    passed_over: Counter[str] = field(default_factory=Counter)  # by list
    problem: str = ""
    passing: bool = False  # the problem may be gone soon, without anybody's doing
    busy: str = ""  # the last reply that asked us for patience
    done: int = 0
    failed: set[int] = field(default_factory=set)  # digests that the server refused for somebody
    reached_now: set[str] = field(default_factory=set)  # lists of which somebody got mail
    reached_before: dict[int, datetime | None] = field(default_factory=dict)  # by digest: when, before this round
    greeted: Event = field(default_factory=Event)  # the server has let the first connection in
    lost_in_a_row: int = 0
    lost_at: float = 0.0  # on the timer, when that was last counted
    composed: dict[int, Composed] = field(default_factory=dict)  # of one digest at a time
    crash: BaseException | None = None
    lock: Lock = field(default_factory=Lock)

    def run(self, look: Callable[[], None]) -> None:
        """Returns when nothing is under way any more. Raises what a connection could not make sense of."""
        transports = list(self.parts.transports)
        while (self.queue or not self.all_read) and transports and not self.over():
            threads = {Thread(target=self._work, args=[each, transports], daemon=True) for each in transports}
            for thread in threads:
                thread.start()
            self._attend(threads, look)
        if self.crash is not None:
            raise self.crash

    def end(self) -> None:
        """Where nothing went out and the server only asked for patience, that is a problem, too."""
        if self.busy and not self.reached_now and not self.stopped():
            self._give_up(f"the mail server takes nothing: {without_addresses(self.busy)}", passing=True)

    def over(self) -> bool:
        return bool(self.problem or self.crash or self.stopped())

    def _attend(self, threads: set[Thread], look: Callable[[], None]) -> None:
        """Stays with the connections; breaks off what is still under way some time after they were told to stop."""
        limit: float | None = None
        while alive := [thread for thread in threads if thread.is_alive()]:
            alive[0].join(LOOK_SECONDS)
            look()
            if self.hurried():  # nobody else may cut a connection short that waits for the server's last word
                now = self.parts.timer()
                limit = now + self.parts.grace_seconds if limit is None else limit
                if now >= limit:
                    for transport in self.parts.transports:
                        transport.abort()

    def _work(self, transport: Transport, transports: list[Transport]) -> None:
        """One connection's work. One that the server will not have now leaves it to the others; the last one waits, if
        the server is only busy, or was well a moment ago.
        """
        try:
            while not (self.greeted.wait(LOOK_SECONDS) or transport is transports[0] or self.over()):
                pass  # a password that is wrong is refused once, and not once for each connection
            while (taken := self._take()) is not None:
                self._one(transport, *taken)
                self.greeted.set()
        except MailServerError as error:
            with self.lock:
                if (error.temporary or self.reached_now) and len(transports) > 1:
                    transports.remove(transport)
                    logger.info("one connection less: %s", error)
                elif error.busy or (error.temporary and self.reached_now):
                    self._pause(str(error))
                else:
                    self._give_up(str(error), passing=error.temporary)
        except BaseException as error:  # noqa: BLE001  # raised again by `run`
            self.crash = self.crash or error
        finally:
            transport.close()
            self.greeted.set()

    def _take(self) -> tuple[Delivery, Composed] | None:
        """The next delivery, reserved, when its turn has come; None where there is none, or the round is over."""
        while not self.over():
            with self.lock:
                delivery = self._next()
                if delivery is None:
                    return None
                if not self._may_go(delivery):
                    continue
                seconds = self.pace.turn(self.parts.timer())
            self._wait(seconds)
            with self.lock:
                if self.over():
                    self.queue.appendleft(delivery)
                    return None
                if self.pace.rests(self.parts.timer()):  # another connection met a busy server meanwhile
                    self.queue.appendleft(delivery)
                    continue
                if seconds and not self._may_go(delivery):  # somebody may have left meanwhile
                    continue
                if self.parts.ledger.reserve(delivery, self.parts.clock()):
                    return delivery, self._composed(delivery)
                self.done += 1  # somebody else has moved it meanwhile
        return None

    def _next(self) -> Delivery | None:
        """What waits is read in batches: it may be tens of thousands."""
        if not self.queue and not self.all_read:
            self.queue.extend(self.parts.ledger.waiting(self.began, behind=self.last_read, most=AT_ONCE))
            self.all_read = len(self.queue) < AT_ONCE
            self.last_read = self.queue[-1] if self.queue else None
        return self.queue.popleft() if self.queue else None

    def _wait(self, seconds: float) -> None:
        ends = self.parts.timer() + seconds
        while not self.over() and (left := ends - self.parts.timer()) > 0:
            self.parts.wait(min(left, LOOK_SECONDS))

    def _may_go(self, delivery: Delivery) -> bool:
        """Whether the address may have it now; if it never may, that is settled here."""
        now, ledger, name = self.parts.clock(), self.parts.ledger, delivery.list_name
        if delivery.digest_id not in self.reached_before:  # what is sent in this round gives the others their days, too
            self.reached_before[delivery.digest_id] = ledger.reached(delivery.digest_id)
        address = delivery.addressed.subscriber.address
        membership = self.audience(name, address, now)
        is_gone = membership is Membership.GONE
        reason = "no longer on the list" if is_gone else self.parts.suppressions.reason(name, address)
        if reason:
            self._count(name, DeliveryState.SUPPRESSED, moved=ledger.suppress(delivery, reason, now))
            logger.warning("%s to %s: suppressed (%s)", name, masked(address), without(reason, address))
            return False
        if membership is Membership.LEAVING:
            self.passed_over[name] += 1
            self.done += 1
            return False
        reached = self.reached_before[delivery.digest_id]
        old = delivery.frozen_at and reached and now - max(delivery.frozen_at, reached) >= EXPIRES
        # what a crash left on its way is tried once more; what reached nobody is for the next digest to supersede
        if old and delivery.state is not DeliveryState.SENDING:
            moved = ledger.expire(delivery, f"given up after three days; {delivery.reply or 'it was never tried'}", now)
            self._count(name, DeliveryState.FAILED, moved=moved)
            return False
        return True

    def _composed(self, delivery: Delivery) -> Composed:
        if delivery.digest_id not in self.composed:
            self.composed = {delivery.digest_id: self.parts.digests.composed_by_id(delivery.digest_id)}
        return self.composed[delivery.digest_id]

    def _one(self, transport: Transport, delivery: Delivery, composed: Composed) -> None:
        """One delivery that is reserved, through send and settle."""
        began = self.parts.timer()
        try:
            receipt = transport.send(self.parts.address(composed, delivery))
        except MailServerError as error:
            with self.lock:
                # what a crash left on its way may have arrived, and goes on being told apart from what was never sent
                was = DeliveryState.SENDING if delivery.state is DeliveryState.SENDING else DeliveryState.PENDING
                self.parts.ledger.settle(delivery, was, str(error), self.parts.clock(), undone=True)
                self.queue.appendleft(replace(delivery, state=was))
            raise
        except Exception as error:  # noqa: BLE001  # logged with its traceback, less the message: it may hold the address
            trace, kind = "".join(format_tb(error.__traceback__)), type(error).__name__
            address = masked(delivery.addressed.subscriber.address)
            logger.error("%s to %s: %s, a bug in Paperboy\n%s", delivery.list_name, address, kind, trace)
            receipt = Receipt(DeliveryState.DEFERRED, f"a bug in Paperboy: {kind}; see the log")
        with self.lock:
            self._settle(delivery, receipt, transport.via, began)

    def _settle(self, delivery: Delivery, receipt: Receipt, via: str, began: float) -> None:
        state, wait = what_follows(delivery, receipt, self.parts.jitter())
        if receipt.slow_down:  # nothing of this is the address's doing
            self.busy = receipt.reply
        if receipt.state is DeliveryState.PENDING and self.hurried():  # broken off by us, and nothing was handed over
            state, wait = DeliveryState.PENDING, None
        now = self.parts.clock()
        moved = self._patiently(
            lambda: self.parts.ledger.settle(
                delivery,
                state,
                receipt.reply,
                now,
                via=via,
                try_at=now + wait if wait else None,
                uncertain=receipt.state is DeliveryState.AMBIGUOUS or delivery.state is DeliveryState.SENDING,
                bounce=receipt.bounce and state is DeliveryState.FAILED,
                undone=state is DeliveryState.PENDING or receipt.slow_down,
            )
        )
        self._count(delivery.list_name, state, moved=moved)
        if state is DeliveryState.SENT:
            self.reached_now.add(delivery.list_name)
            self.lost_in_a_row = 0
            self.pace.went_well()
            return
        address = delivery.addressed.subscriber.address
        said = without(receipt.reply, address)
        logger.warning("%s to %s: %s (%s)", delivery.list_name, masked(address), state, said)
        if state in {DeliveryState.FAILED, DeliveryState.AMBIGUOUS}:
            self.failed.add(delivery.digest_id)
        self._learn(receipt, said, began)

    def _patiently(self, write: Callable[[], bool]) -> bool:
        """What the server has said is worth a few tries: unwritten, it would be asked again."""
        for _ in range(3):
            try:
                return write()
            except StoreWriteError as error:
                logger.warning("%s", error)
                self.parts.wait(1.0)
        return write()

    def _learn(self, receipt: Receipt, said: str, began: float) -> None:
        """What a receipt tells of the server: that it is busy, or gone. One incident meets several connections at once,
        and counts once.
        """
        lost = receipt.state in {DeliveryState.PENDING, DeliveryState.AMBIGUOUS} and not self.hurried()
        if not lost:
            self.lost_in_a_row = 0
        elif not self.lost_in_a_row or began >= self.lost_at:
            self.lost_in_a_row, self.lost_at = self.lost_in_a_row + 1, self.parts.timer()
            self._pause(said)
        if self.lost_in_a_row >= LOST_IN_A_ROW:
            self._give_up(f"the mail server goes away again and again: {said}", passing=True)
        if receipt.slow_down:
            self._pause(said)

    def _pause(self, why: str) -> None:
        """Longer each time; where there is no end of it, the round ends."""
        seconds = self.pace.slow_down(self.parts.timer(), self.parts.jitter())
        if self.pace.hopeless:
            self._give_up(f"the mail server was given {MOST_PAUSES} pauses, and is not well: {why}", passing=True)
        else:
            logger.warning("the mail server gets a pause of %.0f s: %s", seconds, why)

    def _give_up(self, problem: str, *, passing: bool) -> None:
        if not self.problem:
            self.problem, self.passing = problem, passing

    def _count(self, list_name: str, state: DeliveryState, *, moved: bool) -> None:
        self.done += 1
        if moved:
            self.states[list_name, state] += 1


def what_follows(delivery: Delivery, receipt: Receipt, jitter: float) -> tuple[DeliveryState, timedelta | None]:
    """The delivery's next state, and how long it waits before it is tried again, if it is.

    A connection lost after the final dot is tried once more; the second time nobody can know, and it stays ambiguous.
    """
    if receipt.state is DeliveryState.AMBIGUOUS and delivery.uncertain == 0:
        return DeliveryState.DEFERRED, next_try(0, jitter)
    if receipt.state in {DeliveryState.DEFERRED, DeliveryState.PENDING}:
        return DeliveryState.DEFERRED, next_try(0 if receipt.slow_down else delivery.attempts, jitter)
    return receipt.state, None
