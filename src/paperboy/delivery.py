"""The imperative shell, second half: from frozen digests to receipts.

    for each delivery that waits, oldest digest first, over the next idle connection:
        wait                ← the rate limit, and pauses while the server has trouble
        no longer on its list, suppressed, or expired? settle it without sending
        reserve             ← one commit with what the connection sent before, and before the message leaves
        send                ← the frozen bytes, with the subscriber's own headers and links
        settle              ← after the server's last reply and before the connection's next message
    where the server pipelines, the connection's next is chosen before that: its envelope leaves with the message before
    it, which saves a round trip; from then on it is under way, and goes out also after a stop, if the server is quick
    a refusal that may be about us is held back until one recipient is accepted: then it was the recipient's own;
    three without one (or all, if there are fewer), of different domains where possible, are the server's problem
    with us, and the next round begins with other recipients
    where their number is ours to choose, connections begin with one; each ten messages taken make it one more, while
    all have ten to send, and the server's first complaint halves their number, for the rest of the round
    server errors in a row are counted: each pause is twice as long as the last, and the fifth error ends the round
    a server that refuses us, rather than a recipient, ends the round at once
    after either end the server's retry backoff is a quarter of an hour
    addresses that did not exist in three digests in a row are suppressed

A delivery that a crash left in `sending` waits like a pending one, and goes out with the same bytes and Message-ID.
Each connection has a thread of its own, which takes, sends and settles one delivery after another. A lock guards
everything except the sending.
"""

from __future__ import annotations

import logging
from collections import Counter, deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from itertools import islice
from threading import Condition, Thread
from traceback import format_tb
from typing import TYPE_CHECKING, Protocol

from paperboy import bounces
from paperboy.due import RETRY
from paperboy.errors import MailServerError, StoreError, StoreWriteError
from paperboy.mail.text import counted
from paperboy.models import Composed, Delivery, DeliveryState, Envelope, Receipt, Subscriber
from paperboy.store import Store

if TYPE_CHECKING:
    from paperboy.drafting import Progress
    from paperboy.mail.message import Composer

logger = logging.getLogger(__name__)

REFUSES_US = (  # rather than a recipient
    "It seems to refuse this machine, its name or the sender: ask those who run it, or set SMTP_USERNAME and "
    "SMTP_PASSWORD for a login."
)
_MOST_ERRORS = 5  # of the server, in a row
_FIRST_PAUSE = 5.0  # seconds
_FIRST_BACKOFF, _LONGEST_BACKOFF = timedelta(minutes=5), timedelta(hours=4)  # retry backoff of one address
_GRACE = 20.0  # seconds for messages under way when the round is stopped
_SLOW = _GRACE / 4  # seconds for a message: then after a stop not even the announced one goes out
_MOST_HELD = 3  # refusals that may be about us
_READ_AHEAD = 100  # deliveries that are read together
_STEP = 10  # messages taken for each more connection
_POLL = 0.05  # seconds between two looks at a stop, or at the end of the work
_POLLS = 20  # of these between two looks at the lists, which may have a file each


class Transport(Protocol):
    """One connection for one envelope at a time. Raises MailServerError if no recipient is to blame."""

    @property
    def via(self) -> str: ...

    @property
    def pipelines(self) -> bool: ...  # whether `send` would announce the message that follows

    @property
    def announced(self) -> Envelope | None: ...  # by the last `send`, whose message the server waits for

    def send(self, envelope: Envelope, following: Envelope | None = None) -> Receipt: ...

    def abort(self) -> None: ...  # cancel what is under way, from another thread

    def close(self) -> None: ...


@dataclass(frozen=True, slots=True)
class Report:
    """How a round of sending ended."""

    states: Mapping[DeliveryState, int]
    problem: str = ""  # why the server accepts nothing; deliveries keep waiting
    passing: bool = False  # the problem may pass without anybody's help
    turned_away: bool = False  # the problem is that recipients are refused; an alert may get through
    since: datetime | None = None  # since when no delivery was sent
    refused: tuple[tuple[str, str], ...] = ()  # lists whose digest nobody could get, with the server's last reply
    reached: frozenset[str] = frozenset()  # lists of which somebody got mail
    failed: tuple[Delivery, ...] = ()  # refused for good, with the server's reply


@dataclass(slots=True)
class _Task:
    composed: Composed
    delivery: Delivery
    began: float  # on the timer
    envelope: Envelope | None = None  # made when it is needed


@dataclass(slots=True, kw_only=True)
class Round:
    """One round of sending. `wait` and `stopped` are called by the threads of all connections."""

    store: Store
    transports: Sequence[Transport]  # one for each connection
    composer: Composer
    on_list: Callable[[str, str], bool]  # list and address, asked just before each message
    clock: Callable[[], datetime]
    timer: Callable[[], float]  # monotonic seconds
    wait: Callable[[float], None]
    jitter: Callable[[], float]  # from 0 to 1
    progress: Progress
    stopped: Callable[[], bool]  # once it is, messages under way have 20 seconds to finish
    most_per_minute: int = 0
    grows: bool = False  # the number of connections, as the server's answers are; else all of them are used
    paused: Callable[[str], bool] = lambda _list: False
    look: Callable[[], None] = lambda: None  # has the lists been edited? called while connections go on sending

    _waiting: deque[int] = field(default_factory=deque)  # deliveries
    _lock: Condition = field(default_factory=Condition)  # for the store and all that follows; told of `_begun`
    _begun: int = 1  # connections; the first goes ahead, so that a wrong password is offered only once
    _connections: int = 1  # of these, still at work
    _most: int = 1  # that may be, from now on
    _under_way: int = 0  # connections with a message that may yet be put back: until then, the idle ones stay
    _well: int = 0  # messages taken
    _grows_to: int = 1
    _complained_at: float = float("-inf")  # on the timer: the server, last
    _accepted: bool = False  # the server has settled a delivery
    _taken: bool = False  # the server has accepted a recipient
    _held: list[tuple[_Task, Receipt]] = field(default_factory=list)  # refusals until then, their deliveries put back
    _read_ahead: dict[int, Delivery] = field(default_factory=dict)  # of the waiting ones
    _clear: frozenset[int] = frozenset()  # of these and the one in hand, those without any suppression
    _composed: tuple[int, Composed] | None = None  # the digest in hand
    _not_before: float = 0.0  # on the timer: when the next message may begin
    _errors: int = 0  # of the server, in a row
    _error: str = ""  # the last one
    _failed_at: float = float("-inf")  # on the timer: the last one
    _problem: str = ""
    _passing: bool = False
    _crash: BaseException | None = None
    _spoilt: StoreError | None = None  # of one delivery, raised when the others were sent
    _states: Counter[tuple[str, DeliveryState]] = field(default_factory=Counter)  # by list
    _turned_away: bool = False
    _failed: list[Delivery] = field(default_factory=list)  # for good, or perhaps
    _reached: set[str] = field(default_factory=set)  # lists of which somebody got mail

    def deliver(self, *, by_hand: bool = False, only: int = 0) -> Report:
        """Send what waits, or `only` the delivery of that id. `by_hand` ignores retry backoffs."""
        store, began = self.store, self.timer()
        waiting = store.deliveries.waiting(self.clock(), by_hand=by_hand, only=only)
        if not waiting:
            return Report({})
        self._waiting, self._grows_to = deque(waiting), len(self.transports)
        with self.progress.stage("Sending") as show:
            self._run(lambda: show(self._states.total(), len(waiting)))
        with self._lock:
            self._decide_held()
        now = self.clock()
        since = list(filter(None, (store.deliveries.get(waiting[0]).frozen_at, store.deliveries.last_sent())))
        if self._problem:
            store.deliveries.postpone(now + RETRY, now)
            logger.error("%s", self._problem)
        for address in bounces.suppress_bounced(store, now):
            logger.warning("%s is suppressed: %s", address, bounces.THRICE)
        states = Counter(state for _, state in self._states.elements())
        for name in sorted({name for name, _ in self._states}):
            counts = ", ".join(f"{n} {state}" for state in DeliveryState if (n := self._states[name, state]))
            logger.info("%s: %s, in %.1f s", name, counts, self.timer() - began)
        return Report(
            states,
            self._problem,
            self._passing,
            self._turned_away,
            since=max(since),
            refused=store.deliveries.refused_by_all({each.digest_id for each in self._failed}),
            reached=frozenset(self._reached),
            failed=tuple(each for each in self._failed if each.state is DeliveryState.FAILED),
        )

    def _run(self, show: Callable[[], None]) -> None:
        """Watch for a stop until all connections have ended. Raises any error that is a bug outside one message."""
        numbers = range(len(self.transports))
        threads = [Thread(target=self._connect, args=[each], daemon=True) for each in numbers]
        aborts_at, polls = None, 0
        for thread in threads:
            thread.start()
        while alive := [thread for thread in threads if thread.is_alive()]:
            alive[0].join(_POLL)
            show()
            if polls % _POLLS == 0:
                self.look()
            polls += 1
            if self.stopped():
                with self._lock:
                    self._lock.notify_all()
                aborts_at = self.timer() + _GRACE if aborts_at is None else aborts_at
                for transport in self.transports if self.timer() >= aborts_at else ():
                    transport.abort()
        show()  # also where all was sent before the first poll
        if crash := self._crash or self._spoilt:
            raise crash
        if self._errors and not (self._problem or self._reached or self._failed or self.stopped()):
            self._problem, self._passing = f"the mail server accepts nothing: {self._error}", True

    def _connect(self, number: int) -> None:
        """Send over one connection, once it is its turn to begin."""
        with closing(self.transports[number]) as transport:
            try:
                with self._lock:
                    self._lock.wait_for(lambda: number < self._begun or self._is_over())
                    if number >= self._begun:
                        return
                task, ahead = self._next(), None
                while task:
                    came = self._sent(transport, task, ahead)
                    with self._lock:
                        goes_on, task = self._after(transport, task, came, ahead)
                        ahead = self._at_once() if task and transport.pipelines else None
                        if task is None:
                            self._under_way -= 1
                            self._lock.notify_all()
                    if goes_on and task is None:
                        task = self._next()
            except BaseException as error:  # noqa: BLE001  # raised again by `_run`, when nothing is under way
                self._crash = self._crash or error
            finally:
                with self._lock:
                    self._lock.notify_all()

    def _after(
        self, transport: Transport, task: _Task, came: Receipt | MailServerError, ahead: _Task | None
    ) -> tuple[bool, _Task | None]:
        """Settle a delivery, and in the same commit reserve the connection's next, if it may begin now: the one
        announced, or any. False: the connection ends.
        """
        slow = self.timer() - task.began > _SLOW and self.stopped()
        if ahead and (slow or ahead.envelope is None or transport.announced is not ahead.envelope):
            self._waiting.appendleft(ahead.delivery.id)
            ahead = None
        if not isinstance(came, Receipt):
            return self._refused(task.delivery, came, task.began), None
        following = ahead or (self._at_once() if came.state is DeliveryState.SENT else None)
        if not self._answered(task, came, transport.via, following) or following is None:
            return True, None
        self._begins(following)
        return True, following

    def _next(self) -> _Task | None:
        """The next delivery, reserved as soon as a message may begin. None: this connection has no more to do."""
        while True:
            with self._lock:
                if self._is_over() or self._connections > self._most:
                    self._connections -= 1
                    return None
                if not self._waiting:
                    self._lock.wait(_POLL)
                    continue
                pause = self._not_before - self.timer()
                if pause <= 0 and (task := self._read(self._popped())) and self._reserved(task):
                    self._under_way += 1
                    return task
            if pause > 0:
                self.wait(min(pause, _POLL))

    def _is_over(self) -> bool:
        full = len(self._held) >= _MOST_HELD
        done = not self._waiting and not self._under_way
        return done or full or bool(self._problem) or self._crash is not None or self.stopped()

    def _at_once(self) -> _Task | None:
        """A delivery whose message may begin now, not reserved yet; None as long as the server has accepted nobody."""
        if not self._taken or self._connections > self._most:
            return None
        while self._waiting and not self._is_over() and self._not_before <= self.timer():
            if task := self._read(self._waiting.popleft()):
                return task
        return None

    def _popped(self) -> int:
        """The next delivery; while refusals are held back, one of a domain that was not tried, if there is one."""
        domains = {_domain(task.delivery) for task, _ in self._held}
        other = self.store.deliveries.elsewhere(self._waiting, domains) if domains else None
        if other is None:
            return self._waiting.popleft()
        self._waiting.remove(other)
        return other

    def _read(self, delivery_id: int) -> _Task | None:
        """The delivery with its digest; None if its address must not have it, or it is spoilt."""
        try:
            delivery = self._fetched(delivery_id)
            if not self._may_go(delivery):
                return None
            if self._composed is None or self._composed[0] != delivery.digest_id:
                self._composed = delivery.digest_id, self.store.days.composed_by_id(delivery.digest_id)
        except StoreWriteError:
            raise
        except StoreError as error:
            self._spoilt = error
            return None
        return _Task(self._composed[1], delivery, self.timer())

    def _fetched(self, delivery_id: int) -> Delivery:
        """The delivery, read together with those that follow it. What takes one out meanwhile (a suppression, an
        erasure, another process) changes its state, so that it cannot be reserved.
        """
        if delivery_id not in self._read_ahead:
            self._read_ahead, self._clear = {}, frozenset()
            with suppress(StoreError):  # one of them is spoilt, perhaps another one
                found = self.store.deliveries.read([delivery_id, *islice(self._waiting, _READ_AHEAD - 1)])
                held = self.store.suppressions.among(map(_address, found.values()))
                # of one that a crash left in `sending`, a suppression does not change the state
                clear = (each for each in found.values() if each.state is not DeliveryState.SENDING)
                self._clear = frozenset(each.id for each in clear if _address(each).lower() not in held)
                self._read_ahead = found
        return self._read_ahead.pop(delivery_id, None) or self.store.deliveries.get(delivery_id)

    def _reserved(self, task: _Task) -> bool:
        """Reserve the delivery. False: another process took it."""
        if not self.store.deliveries.reserve(task.delivery, self.clock()):
            return False
        self._begins(task)
        return True

    def _begins(self, task: _Task) -> None:
        """Keep the rate limit."""
        self._not_before = max(
            self._not_before, task.began + (60 / self.most_per_minute if self.most_per_minute else 0)
        )

    def _sent(self, transport: Transport, task: _Task, ahead: _Task | None) -> Receipt | MailServerError:
        try:
            envelope = task.envelope or self.composer.envelope(task.composed, task.delivery)
            if ahead is None:
                return transport.send(envelope)
            with suppress(Exception):  # a bug is told when it is the task
                ahead.envelope = self.composer.envelope(ahead.composed, ahead.delivery)
            return transport.send(envelope, ahead.envelope)
        except MailServerError as error:
            return error
        except Exception as error:  # noqa: BLE001  # logged without its text, which may hold anything
            delivery, kind, trace = task.delivery, type(error).__name__, "".join(format_tb(error.__traceback__))
            address = delivery.addressed.subscriber.address
            logger.error("%s to %s: %s, a bug in Paperboy\n%s", delivery.list_name, address, kind, trace)
            return Receipt(DeliveryState.DEFERRED, f"a bug in Paperboy: {kind}; see the log")

    def _may_go(self, delivery: Delivery) -> bool:
        """Whether the address may have it now. If not, the delivery is settled."""
        now, name, address = self.clock(), delivery.list_name, delivery.addressed.subscriber.address
        state, reason = DeliveryState.SUPPRESSED, "no longer on the list"
        if self.on_list(name, address):
            held = delivery.id not in self._clear
            suppression = self.store.suppressions.find(name, address) if held else None
            reason = suppression.reason if suppression else "the list is paused" if self.paused(name) else ""
        if not reason and self.store.deliveries.is_expired(delivery, now):
            state, reason = DeliveryState.FAILED, f"given up after three days; {delivery.reply or 'it was never tried'}"
        if reason:
            self._states[name, state] += self.store.deliveries.end(delivery, state, reason, now)
            logger.warning("%s to %s: %s (%s)", name, address, state, reason)
        return not reason

    def _refused(self, delivery: Delivery, error: MailServerError, began: float) -> bool:
        """Put the delivery back. False: other connections work, so this one ends; the server may limit their number."""
        self.store.deliveries.settle(delivery, delivery.state, str(error), self.clock(), undone=True)
        self._waiting.appendleft(delivery.id)
        if self._accepted and self._connections > 1 and (error.temporary or self._reached):
            logger.info("closing one connection: %s", error)
            self._complained(began)
            self._connections -= 1
            return False
        if error.busy or (error.temporary and self._reached):
            self._server_error(str(error), began)
        else:
            self._problem, self._passing = str(error), error.temporary
        return True

    def _answered(self, task: _Task, receipt: Receipt, via: str, following: _Task | None) -> bool:
        """Settle the delivery and reserve the `following` one. False: it was not reserved, or there is none. Put the
        delivery back if the refusal may be about us and nobody was accepted yet.
        """
        delivery = task.delivery
        if receipt.unclear and not self._taken:
            self.store.deliveries.settle(delivery, delivery.state, receipt.reply, self.clock(), undone=True)
            self._held.append((task, receipt))
            return False
        reserved = self._settle(delivery, receipt, via, task.began, following)
        if receipt.state in {DeliveryState.SENT, DeliveryState.AMBIGUOUS}:
            self._taken = True
            while self._held:
                self._settle_held(*self._held.pop(0))
        return reserved

    def _settle_held(self, task: _Task, receipt: Receipt) -> None:
        if self.store.deliveries.reserve(task.delivery, self.clock()):
            self._settle(task.delivery, receipt, "", task.began)

    def _decide_held(self) -> None:
        """Decide whom the held refusals were about, now that nobody was accepted. If they are few, they are the
        recipients' own where others got the digest before; and they may pass where the server deferred others.
        """
        if not self._held or self._problem or self.stopped():
            return
        few, ours = len(self._held) < _MOST_HELD, list[Receipt]()
        reached = self.store.deliveries.reached({task.delivery.digest_id for task, _ in self._held})
        deferred = any(state is DeliveryState.DEFERRED for _, state in self._states)
        for task, receipt in self._held:
            if few and task.delivery.digest_id in reached:
                self._settle_held(task, receipt)
            elif few and deferred:
                self._settle_held(task, replace(receipt, state=DeliveryState.DEFERRED))
            else:
                ours.append(receipt)
        if ours:
            tried = counted(len(self._held), "recipient")
            self._problem = f"the mail server refused all of {tried} tried: {ours[-1].reply}. {REFUSES_US}"
            self._turned_away = True

    def _settle(
        self, delivery: Delivery, receipt: Receipt, via: str, began: float, following: _Task | None = None
    ) -> bool:
        """Settle the delivery and reserve the `following` one. False: it was not reserved, or there is none."""
        state, wait = what_follows(delivery, receipt, self.jitter())
        if receipt.state is DeliveryState.PENDING and self.stopped():  # we aborted it before anything was handed over
            state, wait = DeliveryState.PENDING, None
        now = self.clock()
        if not self._accepted:
            self._accepted = True
            self._begin(0 if self.grows else len(self.transports) - 1)
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
            following=following.delivery if following else None,
        )
        self._states[delivery.list_name, state] += delivery.id in moved
        self._count(delivery, state, receipt, began)
        return following is not None and following.delivery.id in moved

    def _count(self, delivery: Delivery, state: DeliveryState, receipt: Receipt, began: float) -> None:
        """What a settled delivery says of the server."""
        name, address = delivery.list_name, delivery.addressed.subscriber.address
        if state is DeliveryState.SENT:
            self._reached.add(name)
            self._errors = 0
            self._grow()
            return
        logger.warning("%s to %s: %s (%s)", name, address, state, receipt.reply)
        if state in {DeliveryState.FAILED, DeliveryState.AMBIGUOUS}:
            self._failed.append(replace(delivery, state=state, reply=receipt.reply))
        lost = receipt.state in {DeliveryState.PENDING, DeliveryState.AMBIGUOUS} and not self.stopped()
        if lost or receipt.slow_down:
            self._server_error(receipt.reply, began)
        else:
            self._errors = 0

    def _begin(self, more: int) -> None:
        self._begun, self._connections, self._most = self._begun + more, self._connections + more, self._most + more
        self._lock.notify_all()

    def _grow(self) -> None:
        """One more connection, if the server takes mail well, it is not the rate limit that holds it up, and there is
        enough to do.
        """
        self._well += 1
        held_up = self._not_before > self.timer() or len(self._waiting) <= _STEP * self._most
        if self.grows and self._well % _STEP == 0 and self._most < self._grows_to and not held_up:
            self._begin(1)

    def _complained(self, began: float) -> None:
        """Halve the number of connections, for the rest of the round; one alone cannot be too many."""
        if not self.grows or began <= self._complained_at:
            return
        self._complained_at, self._well = self.timer(), 0
        if self._most > 1:
            self._most = self._grows_to = max(1, min(self._most, self._connections) // 2)
            logger.info("the mail server complains: %s from now on", counted(self._most, "connection"))

    def _server_error(self, why: str, began: float) -> None:
        """Pause all connections. An error of a message that began before the last error is the same incident."""
        if began <= self._failed_at:
            return
        self._complained(began)
        self._failed_at, self._errors, self._error = self.timer(), self._errors + 1, why
        if self._errors >= _MOST_ERRORS:
            self._problem, self._passing = f"the mail server failed {self._errors} times in a row: {self._error}", True
            return
        seconds = _FIRST_PAUSE * 2 ** (self._errors - 1) * (0.75 + 0.5 * self.jitter())
        self._not_before = max(self._not_before, self._failed_at + seconds)
        logger.warning("pausing for %.0f s: %s", seconds, self._error)


def _address(delivery: Delivery) -> str:
    return delivery.addressed.subscriber.address


def _domain(delivery: Delivery) -> str:
    return _address(delivery).rpartition("@")[2].lower()


def send_outside(
    transport: Transport, composer: Composer, mail: Composed, name: str, to: Subscriber, now: datetime, *, test: bool
) -> Receipt:
    """Send one copy outside the ledger. Its Message-ID is new: a server would drop a second mail with one it knows."""
    own, other = (composer.addressed(each, now.date(), to) for each in (name, f"{name}-{now:%H%M%S}"))
    copy = Delivery(0, 0, name, replace(own, message_id=other.message_id), DeliveryState.PENDING)
    envelope = composer.test(mail, copy) if test else composer.envelope(mail, copy)
    with closing(transport):
        return transport.send(replace(envelope, list_name=f"{name}-preview"))


def what_follows(delivery: Delivery, receipt: Receipt, jitter: float) -> tuple[DeliveryState, timedelta | None]:
    """The delivery's next state, and the retry backoff of its address.

    A connection lost after the final dot is retried once; after that the delivery stays ambiguous.
    """
    ambiguous = receipt.state is DeliveryState.AMBIGUOUS
    if receipt.state not in {DeliveryState.DEFERRED, DeliveryState.PENDING} and (not ambiguous or delivery.uncertain):
        return receipt.state, None
    attempts = 0 if ambiguous or receipt.slow_down else min(delivery.attempts, 10)
    return DeliveryState.DEFERRED, min(_FIRST_BACKOFF * (1 << attempts), _LONGEST_BACKOFF) * (0.75 + 0.5 * jitter)
