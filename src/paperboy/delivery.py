"""The imperative shell, second half: from frozen digests to receipts.

    each connection, until nothing waits:
        wait for its turn   ← the rate limit, and pauses while the server has trouble
        the next delivery, oldest digest first
        no longer on its list, suppressed, or expired? settle it as that
        reserve             ← its own commit, before the first command to the server
        send                ← the frozen bytes, with the subscriber's own headers and links
        settle              ← its own commit, after the server's last reply and before the connection's next message
    server errors in a row are counted: each pause is twice as long as the last, and the fifth error ends the round
    a server that refuses us, not a recipient, ends the round at once
    after either end the server's retry backoff is a quarter of an hour
    addresses that did not exist in three digests in a row are suppressed

A delivery that a crash left in `sending` waits like a pending one, and goes out with the same bytes and Message-ID.
Connections work side by side; only one at a time touches the store or the round's own state.
"""

from __future__ import annotations

import logging
from collections import Counter, deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from functools import partial
from threading import Condition, Event, Thread
from traceback import format_tb
from typing import TYPE_CHECKING, Protocol

from paperboy.due import RETRY
from paperboy.errors import MailServerError
from paperboy.models import Composed, Delivery, DeliveryState, Envelope, Receipt, Subscriber
from paperboy.privacy import masked, without, without_addresses
from paperboy.store import Store

if TYPE_CHECKING:
    from paperboy.drafting import Progress
    from paperboy.mail.message import Composer

logger = logging.getLogger(__name__)

_EXPIRES = timedelta(days=3)  # since its digest was frozen, or first reached somebody
_MOST_ERRORS = 5  # of the server, in a row
_FIRST_PAUSE = 5.0  # seconds
_FIRST_BACKOFF, _LONGEST_BACKOFF = timedelta(minutes=5), timedelta(hours=4)  # retry backoff of one address
_GRACE = 20.0  # seconds for messages under way when the round is stopped
_BATCH = 200  # deliveries that are read at once
_POLL = 0.05  # seconds between two looks at a stop, or at the end of the work


class Transport(Protocol):
    """One connection for one envelope at a time. Raises MailServerError if no recipient is to blame."""

    @property
    def via(self) -> str: ...

    def send(self, envelope: Envelope) -> Receipt: ...

    def abort(self) -> None:
        """Break off what is under way, from another thread."""
        ...

    def close(self) -> None: ...


@dataclass(frozen=True, slots=True)
class Report:
    """How a round of sending ended."""

    states: Mapping[DeliveryState, int]
    problem: str = ""  # why the server accepts nothing; deliveries keep waiting
    passing: bool = False  # the problem may pass without anybody's help
    since: datetime | None = None  # no waiting delivery was sent since then
    refused: tuple[tuple[str, str], ...] = ()  # lists whose digest nobody could get, with the server's last reply
    reached: frozenset[str] = frozenset()  # lists of which somebody got mail


def deliver(
    store: Store,
    transports: Sequence[Transport],
    composer: Composer,
    on_list: Callable[[str, str], bool],
    *,
    clock: Callable[[], datetime],
    timer: Callable[[], float],
    wait: Callable[[float], None],
    jitter: Callable[[], float],
    progress: Progress,
    stopped: Callable[[], bool],
    most_per_minute: int = 0,
    by_hand: bool = False,
    only: Delivery | None = None,
) -> Report:
    """Send waiting deliveries, or `only` one, over all `transports` at once.

    `on_list(list_name, address)` is asked just before each message. `timer` gives monotonic seconds, `jitter` a number
    from 0 to 1. Once `stopped`, messages under way have 20 seconds to finish. `by_hand` ignores the server's retry
    backoff.
    """
    now, began = clock(), timer()
    number, since = store.deliveries.queue(now, by_hand=by_hand, only=only)
    if not number:
        return Report({})
    read = partial(store.deliveries.waiting, now, by_hand=by_hand, only=only, most=_BATCH)
    gap = 60.0 / most_per_minute if most_per_minute else 0.0
    sending = _Round(store, composer, on_list, clock, timer, wait, jitter, stopped, read, gap, len(transports))
    with progress.stage("Sending") as show:
        sending.run(transports, lambda: show(sending.done, number))
    if sending.problem:
        store.deliveries.postpone(clock() + RETRY, clock())
        logger.error("%s", without_addresses(sending.problem))
    _suppress_bounced(store, clock())
    sending.log_counts(timer() - began)
    states: Counter[DeliveryState] = Counter()
    for (_, state), count in sending.states.items():
        states[state] += count
    refused = store.deliveries.refused_by_all(sending.failed)
    return Report(states, sending.problem, sending.passing, since, refused, frozenset(sending.reached))


def send_outside(
    transport: Transport,
    composer: Composer,
    composed: Composed,
    list_name: str,
    to: Subscriber,
    now: datetime,
    *,
    test: bool,
) -> Receipt:
    """Send one copy outside the ledger. Its Message-ID is new: a server would drop a second mail with one it knows."""
    own, other = (composer.addressed(name, now.date(), to) for name in (list_name, f"{list_name}-{now:%H%M%S}"))
    copy = Delivery(0, 0, list_name, replace(own, message_id=other.message_id), DeliveryState.PENDING)
    envelope = composer.test(composed, copy) if test else composer.envelope(composed, copy)
    with closing(transport):
        return transport.send(replace(envelope, list_name=f"{list_name}-preview"))


def _suppress_bounced(store: Store, now: datetime) -> None:
    for address, reply in store.deliveries.bounced_thrice():
        reason = "it did not exist in three digests running"
        store.suppressions.add(address, "", f"{reason}: {reply}", now, bounced=reply)
        logger.warning("%s is suppressed: %s", masked(address), reason)


@dataclass(slots=True)
class _Round:
    """What the connections share. All of it but sending itself happens with the lock held."""

    store: Store
    composer: Composer
    on_list: Callable[[str, str], bool]
    clock: Callable[[], datetime]
    timer: Callable[[], float]
    wait: Callable[[float], None]
    jitter: Callable[[], float]
    stopped: Callable[[], bool]
    read: Callable[..., Sequence[Delivery]]  # what waits `after` a delivery
    gap: float  # seconds between two messages
    working: int  # connections
    in_hand: int = 0  # messages under way: a connection that is refused puts its own back
    next_turn: float = 0.0  # on the timer: nobody begins before
    errors: int = 0  # of the server, in a row
    incidents: int = 0  # errors of the server in all: those that meet several connections at once are one
    error: str = ""  # the last one
    problem: str = ""
    passing: bool = False
    crash: BaseException | None = None
    done: int = 0
    states: Counter[tuple[str, DeliveryState]] = field(default_factory=Counter)  # by list
    failed: set[int] = field(default_factory=set)  # digests that failed for somebody
    reached: set[str] = field(default_factory=set)  # lists of which somebody got mail
    composed: tuple[int, Composed] | None = None  # the digest in hand
    queue: deque[Delivery] = field(default_factory=deque)
    last_read: Delivery | None = None
    all_read: bool = False
    greeted: Event = field(default_factory=Event)  # the server has accepted the first connection
    lock: Condition = field(default_factory=Condition)

    def run(self, transports: Sequence[Transport], show: Callable[[], None]) -> None:
        """Return when all connections have finished. Raises any error that is a bug outside one message."""
        threads = [Thread(target=self._work, args=[n, each], daemon=True) for n, each in enumerate(transports)]
        for thread in threads:
            thread.start()
        aborts_at = None
        while alive := [thread for thread in threads if thread.is_alive()]:
            alive[0].join(_POLL)
            show()
            if self.stopped():
                aborts_at = self.timer() + _GRACE if aborts_at is None else aborts_at
                if self.timer() >= aborts_at:
                    for transport in transports:
                        transport.abort()
        if self.crash is not None:
            raise self.crash
        if self.errors and not (self.reached or self.failed or self.stopped()):
            self._give_up(f"the mail server takes nothing: {self.error}", passing=True)

    def log_counts(self, seconds: float) -> None:
        for name in sorted({name for name, _ in self.states}):
            counts = ", ".join(f"{n} {state}" for state in DeliveryState if (n := self.states[name, state]))
            logger.info("%s: %s, in %.1f s", name, counts, seconds)

    def _over(self) -> bool:
        return bool(self.problem or self.crash or self.stopped())

    def _work(self, number: int, transport: Transport) -> None:
        """One connection's work. The first one goes ahead, so that a wrong password is offered only once."""
        try:
            while number and not self.greeted.wait(_POLL) and not self._over():
                pass
            while (taken := self._take()) is not None and self._one(transport, *taken):
                pass
        except BaseException as error:  # noqa: BLE001  # raised again by `run`
            self.crash = self.crash or error
        finally:
            transport.close()
            self.greeted.set()

    def _take(self) -> tuple[Delivery, Composed, int] | None:
        """The next delivery, reserved, with its digest and the incidents so far; None if there is none."""
        while not self._over():
            with self.lock:
                if not self._waits():
                    if not self.in_hand:
                        self.working -= 1
                        return None
                    self.lock.wait(_POLL)
                    continue
                if (seconds := self.next_turn - self.timer()) <= 0:
                    delivery = self.queue.popleft()
                    if self._may_go(delivery):
                        if self.store.deliveries.reserve(delivery, self.clock()):
                            self.next_turn, self.in_hand = self.timer() + self.gap, self.in_hand + 1
                            return delivery, self._composed(delivery.digest_id), self.incidents
                        self.done += 1  # somebody else moved it
                    continue
            self.wait(min(seconds, _POLL))
        return None

    def _waits(self) -> bool:
        """Whether there is a next delivery. They are read in batches: tens of thousands may wait."""
        if not self.queue and not self.all_read:
            self.queue.extend(self.read(after=self.last_read))
            self.all_read = len(self.queue) < _BATCH
            self.last_read = self.queue[-1] if self.queue else None
        return bool(self.queue)

    def _may_go(self, delivery: Delivery) -> bool:
        """Whether the address may have it now; if not, the delivery is settled."""
        now, name, address = self.clock(), delivery.list_name, delivery.addressed.subscriber.address
        ledger, reason = self.store.deliveries, "" if self.on_list(name, address) else "no longer on the list"
        if not reason and (suppression := self.store.suppressions.find(name, address)):
            reason = suppression.reason
        if reason:
            self._count(name, DeliveryState.SUPPRESSED, ledger.end(delivery, DeliveryState.SUPPRESSED, reason, now))
            logger.warning("%s to %s: suppressed (%s)", name, masked(address), without(reason, address))
        elif self._expired(delivery, now):
            reason = f"given up after three days; {delivery.reply or 'it was never tried'}"
            self._count(name, DeliveryState.FAILED, ledger.end(delivery, DeliveryState.FAILED, reason, now))
        return not reason

    def _expired(self, delivery: Delivery, now: datetime) -> bool:
        """Whether a delivery has waited too long. Its three days begin when its digest first reached somebody: one that
        reached nobody is superseded instead. What a crash left in `sending` is tried once more.
        """
        frozen_at, until = delivery.frozen_at, now - _EXPIRES
        if frozen_at is None or frozen_at > until or delivery.state is DeliveryState.SENDING:
            return False
        reached = self.store.deliveries.reached(delivery.digest_id)
        return reached is not None and reached <= until

    def _composed(self, digest_id: int) -> Composed:
        if self.composed is None or self.composed[0] != digest_id:
            self.composed = digest_id, self.store.days.composed_by_id(digest_id)
        return self.composed[1]

    def _one(self, transport: Transport, delivery: Delivery, composed: Composed, incidents: int) -> bool:
        """Send and settle a reserved delivery. False: this connection ends, and the others go on."""
        try:
            receipt = transport.send(self.composer.envelope(composed, delivery))
        except MailServerError as error:
            with self._landed():
                return self._refused(delivery, error, incidents)
        except Exception as error:  # noqa: BLE001  # logged without its text, which may hold the address
            kind, trace = type(error).__name__, "".join(format_tb(error.__traceback__))
            address = masked(delivery.addressed.subscriber.address)
            logger.error("%s to %s: %s, a bug in Paperboy\n%s", delivery.list_name, address, kind, trace)
            receipt = Receipt(DeliveryState.DEFERRED, f"a bug in Paperboy: {kind}; see the log")
        with self._landed():
            self._settle(delivery, receipt, transport.via, incidents)
        self.greeted.set()
        return True

    @contextmanager
    def _landed(self) -> Iterator[None]:
        """A message is under way no longer."""
        with self.lock:
            self.in_hand -= 1
            yield
            self.lock.notify_all()

    def _refused(self, delivery: Delivery, error: MailServerError, incidents: int) -> bool:
        """Put the delivery back. If other connections work, the server may only limit their number."""
        # what a crash left in `sending` stays so: it may have arrived, and its digest must not be superseded
        was = DeliveryState.SENDING if delivery.state is DeliveryState.SENDING else DeliveryState.PENDING
        self.store.deliveries.settle(delivery, was, str(error), self.clock(), undone=True)
        self.queue.appendleft(replace(delivery, state=was))
        was_well = bool(self.reached)
        if self.working > 1 and self.greeted.is_set() and (error.temporary or was_well):
            self.working -= 1
            logger.info("one connection less: %s", without_addresses(str(error)))
            return False
        if error.busy or (error.temporary and was_well):
            self._server_error(str(error), incidents)
        else:
            self._give_up(str(error), passing=error.temporary)
        return True

    def _settle(self, delivery: Delivery, receipt: Receipt, via: str, incidents: int) -> None:
        state, wait = what_follows(delivery, receipt, self.jitter())
        if receipt.state is DeliveryState.PENDING and self.stopped():  # we aborted it, and nothing was handed over
            state, wait = DeliveryState.PENDING, None
        now, name, address = self.clock(), delivery.list_name, delivery.addressed.subscriber.address
        moved = self.store.deliveries.settle(
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
        self._count(name, state, moved)
        if state is DeliveryState.SENT:
            self.reached.add(name)
            self.errors = 0
            return
        said = without(receipt.reply, address)
        logger.warning("%s to %s: %s (%s)", name, masked(address), state, said)
        if state in {DeliveryState.FAILED, DeliveryState.AMBIGUOUS}:
            self.failed.add(delivery.digest_id)
        lost = receipt.state in {DeliveryState.PENDING, DeliveryState.AMBIGUOUS} and not self.stopped()
        if lost or receipt.slow_down:
            self._server_error(said, incidents)
        else:
            self.errors = 0

    def _server_error(self, why: str, incidents: int) -> None:
        """Pause all connections. An error of a message that was under way at the last error is the same incident."""
        if incidents != self.incidents:
            return
        self.incidents, self.errors, self.error = self.incidents + 1, self.errors + 1, without_addresses(why)
        if self.errors >= _MOST_ERRORS:
            self._give_up(f"the mail server failed {_MOST_ERRORS} times in a row: {self.error}", passing=True)
            return
        seconds = _FIRST_PAUSE * 2 ** (self.errors - 1) * (0.75 + 0.5 * self.jitter())
        self.next_turn = max(self.next_turn, self.timer() + seconds)
        logger.warning("pausing for %.0f s: %s", seconds, self.error)

    def _give_up(self, problem: str, *, passing: bool) -> None:
        if not self.problem:
            self.problem, self.passing = problem, passing

    def _count(self, list_name: str, state: DeliveryState, moved: bool) -> None:
        self.done += 1
        self.states[list_name, state] += moved


def what_follows(delivery: Delivery, receipt: Receipt, jitter: float) -> tuple[DeliveryState, timedelta | None]:
    """The delivery's next state, and the retry backoff of its address.

    A connection lost after the final dot is tried once more; the second time the delivery stays ambiguous.
    """
    ambiguous = receipt.state is DeliveryState.AMBIGUOUS
    if receipt.state not in {DeliveryState.DEFERRED, DeliveryState.PENDING} and (not ambiguous or delivery.uncertain):
        return receipt.state, None
    attempts = 0 if ambiguous or receipt.slow_down else min(delivery.attempts, 10)
    return DeliveryState.DEFERRED, min(_FIRST_BACKOFF * (1 << attempts), _LONGEST_BACKOFF) * (0.75 + 0.5 * jitter)
