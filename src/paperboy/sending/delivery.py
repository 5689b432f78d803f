"""Send frozen messages, and record each result.

    for each waiting delivery, over the next idle connection: alerts and other mail first, looked for again every
    hundred deliveries; then the oldest digest
        wait                ← the rate limit, and pauses while the server has trouble: see pace.py
        no longer on its list, suppressed, or expired? settle it without sending
        reserve             ← its own commit, before the message leaves
        send                ← the frozen bytes, with the subscriber's own headers and links
        settle              ← after the server's last reply and before the connection's next message
    a delivery whose refusal may be about us is put back; the next round begins with other recipients
    a server that refuses us ends the round; a digest that reached nobody is superseded by the list's next morning
    after a problem the server's retry backoff is a quarter of an hour
    addresses that did not exist for three digests in a row are suppressed

A delivery that a crash left in `sending` waits like a pending one, and goes out with the same bytes
and Message-ID. Each connection has its own thread, which takes, sends and settles one delivery
after another. A lock guards everything except sending.
"""

from __future__ import annotations

import logging
from collections import Counter, defaultdict, deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from functools import lru_cache
from itertools import islice
from threading import Condition, Thread
from traceback import format_tb
from typing import TYPE_CHECKING, NamedTuple, Protocol

from paperboy.due import RETRY, backoff
from paperboy.errors import MailServerError, StoreError, StoreWriteError
from paperboy.models import (
    Composed,
    Delivery,
    DeliveryState,
    Envelope,
    Progress,
    Receipt,
    Subscriber,
)
from paperboy.sending.pace import Decision, Held, Pace
from paperboy.store import Store
from paperboy.store.incidents import MAIL_SERVER, THE_MORNING, Incident, Kind
from paperboy.store.suppressions import THRICE

if TYPE_CHECKING:
    from paperboy.mail.message import Composer

logger = logging.getLogger(__name__)

_GRACE = 20.0  # seconds for messages under way when the round is stopped
_LOOK_EVERY = 100  # deliveries between two looks for mail that goes first
_READ_AHEAD = 100  # deliveries: a query for each would take longer than its message
_POLL = 0.05  # seconds between two checks for a stop, or for the end of the work
_LISTS_EVERY = 20  # polls between two reloads of the lists, which may have a file each


class Transport(Protocol):
    """Connection for one envelope at a time. `send` raises MailServerError if no recipient is to blame."""

    via: str  # "smtp" or "outbox"

    def send(self, envelope: Envelope) -> Receipt: ...

    def abort(self) -> None: ...  # cancel what is under way, from another thread

    def close(self) -> None: ...


class Report(NamedTuple):
    """Result of a round of sending."""

    states: Mapping[DeliveryState, int]
    problem: str = ""  # why the server accepts nothing; deliveries keep waiting
    transient: bool = False  # the problem may pass by itself
    turned_away: bool = False  # recipients are refused; an alert may get through
    since: datetime | None = None  # since when no digest was sent; None: none waited
    refused: tuple[str, ...] = ()  # lists whose digest failed for all recipients


class _Task(NamedTuple):
    composed: Composed
    delivery: Delivery
    began: float  # on the timer


@dataclass(slots=True, kw_only=True)
class Round:
    """Round of sending. `wait` and `stopped` are called by the threads of all connections."""

    store: Store
    transports: Sequence[Transport]  # one for each connection
    composer: Composer
    on_list: Callable[[str, str], bool]  # list and address, asked just before each message
    clock: Callable[[], datetime]
    timer: Callable[[], float]  # monotonic seconds
    wait: Callable[[float], None]
    jitter: Callable[[], float]  # from 0 to 1
    progress: Progress
    stopped: Callable[[], bool]  # once true, messages under way have 20 seconds to finish
    most_per_minute: int = 0  # 0: no limit
    grows: bool  # open connections while the server answers well; otherwise all at once
    reload_lists: Callable[[], None] = lambda: None  # rereads edited files during sending

    _lock: Condition = field(default_factory=Condition)  # guards the store and all fields below
    _pace: Pace = field(init=False)
    _threads: list[Thread] = field(default_factory=list)  # of the connections that were opened
    _waiting: deque[int] = field(default_factory=deque)  # ids of deliveries
    _ahead: dict[int, Delivery] = field(default_factory=dict)  # the next ones, read in one query
    _under_way: int = 0  # deliveries that may be put back: idle connections wait for them
    _message: Callable[[int], Composed] = field(init=False)  # by id; caches the last one
    _beside: set[int] = field(default_factory=set)  # queued deliveries other than digests
    _reserved: int = 0  # deliveries
    _states: defaultdict[str, Counter[DeliveryState]] = field(init=False)  # of digests, by list
    _failed: set[int] = field(default_factory=set)  # digests with a failed or ambiguous delivery
    _crash: BaseException | None = None
    _corrupt: StoreError | None = None  # of one delivery, raised after the others were sent

    def deliver(self, *, by_hand: bool = False, only: int = 0, rest: bool = False) -> Report:
        """Send the waiting mail. `only`: just the delivery with this id. `rest`: all mail
        except digests, including mail that waits for the round's end. `by_hand`: ignore retry backoffs.
        """
        began = self.timer()
        ledger = self.store.ledger
        digests = [] if rest else ledger.waiting(self.clock(), by_hand=by_hand, only=only)
        if not only:
            self._queue_beside(late=rest, by_hand=by_hand)
        self._waiting.extend(digests)
        number = len(self._waiting)
        if not number:
            return Report({})

        interval = 60 / self.most_per_minute if self.most_per_minute else 0.0
        pace = Pace(limit=len(self.transports), grows=self.grows, interval=interval)
        self._pace = pace
        self._message = lru_cache(maxsize=1)(ledger.message)
        self._states = defaultdict(Counter)
        with self.progress.stage("Sending") as show:
            self._run(lambda reserved: show(reserved, number))
        if not self.stopped():
            reached = ledger.reached({delivery.frozen_id for delivery, _ in pace.held})
            self._settle_held(pace.conclude(reached))

        now = self.clock()
        if pace.problem:
            ledger.postpone(now + RETRY, now)
            logger.error("%s", pace.problem)
        for address in self.store.suppressions.add_bounced(now):
            logger.warning("%s is suppressed: %s", address, THRICE)

        total = Counter[DeliveryState]()
        for name, states in sorted(self._states.items()):
            counts = [f"{states[state]} {state}" for state in DeliveryState if states[state]]
            logger.info("%s: %s, in %.1f s", name, ", ".join(counts), self.timer() - began)
            total.update(states)

        instants = [ledger.get(digests[0]).frozen_at, ledger.last_sent()] if digests else []
        return Report(
            states=total,
            problem=pace.problem,
            transient=pace.transient,
            turned_away=pace.turned_away,
            since=max(filter(None, instants), default=None),
            refused=ledger.refused_by_all(self._failed),
        )

    # --- threads

    def _run(self, show: Callable[[int], None]) -> None:
        """Watch for a stop, and show progress, until all connections have ended. Raise the error that
        crashed a connection's thread, if any, or else a corrupt row's.
        """
        with self._lock:
            self._open()

        aborts_at = float("inf")
        polls = 0
        shown = 0
        while alive := [thread for thread in self._threads if thread.is_alive()]:
            alive[0].join(_POLL)
            if self._reserved != shown:
                shown = self._reserved
                show(shown)
            if polls % _LISTS_EVERY == 0:
                self.reload_lists()
            polls += 1
            if self.stopped():
                aborts_at = min(aborts_at, self.timer() + _GRACE)
                if self.timer() >= aborts_at:
                    for transport in self.transports:
                        transport.abort()
        show(self._reserved)  # all may have been sent before the first poll

        error = self._crash or self._corrupt
        if error:
            raise error

    def _open(self) -> None:
        while not self._is_over() and self._pace.may_open():
            transport = self.transports[len(self._threads)]
            thread = Thread(target=self._serve_connection, args=[transport], daemon=True)
            self._threads.append(thread)
            thread.start()

    def _serve_connection(self, transport: Transport) -> None:
        with closing(transport):
            try:
                stays_open = True
                while stays_open and (task := self._next()):
                    reply = self._send(transport, task)
                    with self._lock:
                        stays_open = self._record(task, reply)
                        self._lock.notify_all()
            except BaseException as error:  # noqa: BLE001  # raised again by `_run`, when nothing is under way
                with self._lock:
                    self._crash = self._crash or error
                    self._lock.notify_all()

    def _next(self) -> _Task | None:
        """Reserve the next delivery once its message may begin. None: this connection is done."""
        while True:
            with self._lock:
                if self._is_over() or self._pace.must_close():
                    return None
                if not self._waiting:
                    self._lock.wait(_POLL)
                    continue
                pause = self._pace.begins_at - self.timer()
                if pause <= 0:
                    task = self._reserve_next()
                    self._open()
                    if task:
                        return task
                    continue
            self.wait(min(pause, _POLL))

    def _is_over(self) -> bool:
        is_done = not self._waiting and not self._under_way
        return is_done or self._pace.is_over or self._crash is not None or self.stopped()

    def _send(self, transport: Transport, task: _Task) -> Receipt | MailServerError:
        delivery = task.delivery
        try:
            return transport.send(self.composer.envelope(task.composed, delivery))
        except MailServerError as error:
            return error
        except Exception as error:  # noqa: BLE001  # logged without its text, for privacy
            kind = type(error).__name__
            trace = "".join(format_tb(error.__traceback__))
            address = delivery.copy.subscriber.address
            logger.error("%s to %s: %s, a bug in Paperboy\n%s", delivery.what, address, kind, trace)
            return Receipt(DeliveryState.DEFERRED, f"a bug in Paperboy: {kind}; see the log")

    # --- the next delivery

    def _reserve_next(self) -> _Task | None:
        """Reserve the next delivery. None: it was settled without sending, another process took it,
        or its row is corrupt.
        """
        self._reserved += 1
        if self._reserved % _LOOK_EVERY == 0:
            self._queue_beside()

        ledger = self.store.ledger
        try:
            if not self._ahead:
                self._ahead = ledger.read(islice(self._waiting, _READ_AHEAD))
            delivery_id = self._waiting.popleft()
            delivery = self._ahead.pop(delivery_id, None) or ledger.get(delivery_id)
            if self._settle_unsendable(delivery):
                return None
            task = _Task(self._message(delivery.frozen_id), delivery, self.timer())
        except StoreWriteError:
            raise
        except StoreError as error:
            self._corrupt = error
            return None

        if not ledger.reserve(delivery, self.clock()):
            self._settle_unsendable(ledger.get(delivery_id))
            return None
        self._pace.begun(task.began)
        self._under_way += 1
        return task

    def _queue_beside(self, *, late: bool = False, by_hand: bool = False) -> None:
        """Queue alerts and confirmations ahead of digests."""
        ids = self.store.ledger.beside(self.clock(), late=late, by_hand=by_hand)
        new = [delivery_id for delivery_id in ids if delivery_id not in self._beside]
        self._beside.update(new)
        self._waiting.extendleft(reversed(new))

    def _settle_unsendable(self, delivery: Delivery) -> bool:
        """Settle a delivery that must no longer be sent. Return whether it is one."""
        now = self.clock()
        ledger = self.store.ledger
        name = delivery.list_name
        address = delivery.copy.subscriber.address
        state = DeliveryState.SUPPRESSED
        if name and not self.on_list(name, address):
            reason = "no longer on the list, or the list is paused"
        elif delivery.suppressed is not None:
            reason = delivery.suppressed
        elif ledger.is_expired(delivery, now):
            state = DeliveryState.FAILED
            days = "three days" if delivery.is_digest else "a day"
            reason = f"given up after {days}; {delivery.reply or 'it was never tried'}"
        else:
            return False

        is_settled = ledger.end(delivery, state, reason, now)
        if delivery.is_digest:
            self._states[name][state] += is_settled
        logger.warning("%s to %s: %s (%s)", delivery.what, address, state, reason)
        return True

    # --- after sending

    def _record(self, task: _Task, reply: Receipt | MailServerError) -> bool:
        """Settle a delivery, or put it back if the server refused us, or may have. False: the
        connection closes.
        """
        self._under_way -= 1
        delivery = task.delivery
        now = self.clock()
        ledger = self.store.ledger
        if isinstance(reply, MailServerError):
            ledger.settle(delivery, delivery.state, str(reply), now, undone=True)
            self._waiting.appendleft(delivery.id)
            others = sum(thread.is_alive() for thread in self._threads) - 1
            decision = self._pace.refused(
                reply, began=task.began, now=self.timer(), jitter=self.jitter(), others=others
            )
            self._log(decision, str(reply))
            return not decision.closes

        if delivery.is_digest and self._pace.withholds(delivery, reply):
            ledger.settle(delivery, delivery.state, reply.reply, now, undone=True, held=True)
            return True

        self._settle(delivery, reply, task.began)
        self._settle_held(self._pace.released())
        return True

    def _settle_held(self, held: Held) -> None:
        """Settle refusals that were the recipients' own."""
        for delivery, receipt in held:
            if self.store.ledger.reserve(delivery, self.clock()):
                self._settle(delivery, receipt, self.timer())

    def _settle(self, delivery: Delivery, receipt: Receipt, began: float) -> None:
        now = self.clock()
        state, pause = what_follows(delivery, receipt, self.jitter())
        if receipt.state is DeliveryState.PENDING and self.stopped():
            # We aborted it before the message was handed over.
            state = DeliveryState.PENDING
            pause = None
        was_cut_short = delivery.state is DeliveryState.SENDING
        is_settled = self.store.ledger.settle(
            delivery,
            state,
            receipt.reply,
            now,
            via=self.transports[0].via if state is DeliveryState.SENT else "",
            try_at=now + pause if pause else None,
            uncertain=was_cut_short or receipt.state is DeliveryState.AMBIGUOUS,
            bounce=receipt.bounce and delivery.is_digest,
            doubtful=receipt.doubtful,
            undone=state is DeliveryState.PENDING or receipt.slow_down,
        )
        if delivery.is_digest:
            self._states[delivery.list_name][state] += is_settled
            if state.is_lost:
                self._failed.add(delivery.frozen_id)

        address = delivery.copy.subscriber.address
        if state is not DeliveryState.SENT:
            logger.warning("%s to %s: %s (%s)", delivery.what, address, state, receipt.reply)
        elif not delivery.is_digest:
            logger.info("%s to %s: sent", delivery.what, address)

        if not self.stopped():  # an abort says nothing about the server
            decision = self._pace.settled(
                state,
                receipt,
                began=began,
                now=self.timer(),
                jitter=self.jitter(),
                waiting=len(self._waiting),
                is_digest=delivery.is_digest,
            )
            self._log(decision, receipt.reply)

    def _log(self, decision: Decision, why: str) -> None:
        if decision.closes:
            logger.info("closing one connection: %s", why)
        if decision.pause:
            logger.warning("pausing for %.0f s: %s", decision.pause, why)


def record(store: Store, sent: Report, now: datetime, patience: timedelta) -> None:
    """Record whether digests can be sent, if the round had any. A server that is down or busy is an
    incident only after `patience`. An incident that lasts already goes on, even if only new digests
    wait.
    """
    with store.transaction():
        if sent.problem and sent.since:
            is_known = any(
                incident.kind == Kind.MAIL and not incident.ended
                for incident in store.incidents.all()
            )
            if is_known or not sent.transient or now - sent.since >= patience:
                incident = Incident(kind=Kind.MAIL, subject=MAIL_SERVER, reason=sent.problem)
                store.incidents.note([incident], now)
        if sent.states.get(DeliveryState.SENT) and not sent.problem:
            store.incidents.end(Kind.MAIL, MAIL_SERVER, now)
        store.incidents.end(Kind.PROCESS, THE_MORNING, now)


def send_outside(
    transport: Transport,
    composer: Composer,
    mail: Composed,
    name: str,
    to: Subscriber,
    now: datetime,
    *,
    test: bool,
) -> Receipt:
    """Send one copy outside the ledger, with a new Message-ID: servers drop a second mail with
    the same one.
    """
    other = composer.copy_for(f"{name}-{now:%H%M%S}", now.date(), to)
    copy = replace(composer.copy_for(name, now.date(), to), message_id=other.message_id)
    envelope = composer.envelope(mail, Delivery(name, copy), test=test)
    with closing(transport):
        return transport.send(replace(envelope, list_name=f"{name}-preview"))


def what_follows(
    delivery: Delivery, receipt: Receipt, jitter: float
) -> tuple[DeliveryState, timedelta | None]:
    """Return the delivery's next state, and the retry backoff of its address.

    A connection lost after the final dot is retried once; then the delivery stays ambiguous. An
    alert never expires, and is retried until it is replaced, even if it is refused for good.
    """
    retried = {DeliveryState.DEFERRED, DeliveryState.PENDING}
    if not delivery.uncertain:
        retried.add(DeliveryState.AMBIGUOUS)
    if not delivery.is_digest and delivery.expires is None:
        retried.add(DeliveryState.FAILED)
    if receipt.state not in retried:
        return receipt.state, None

    tries = delivery.attempts
    if receipt.state is DeliveryState.AMBIGUOUS or receipt.slow_down:
        tries = 0
    return DeliveryState.DEFERRED, backoff(tries) * (0.75 + 0.5 * jitter)
