"""Pace of a round of sending: its speed, its end, and the reason. Pure: events in, decisions out.

    rate limit       spaces messages
    server errors    pause all connections, each pause twice as long as the last; the fifth in a row ends the round
    held refusals    may be about us: kept until a recipient is accepted, which shows that they were the recipients'
                     own; three without one (or all, if there are fewer) are the server's problem with us
    a refusal of us  rather than of a recipient ends the round at once
    connections      the first goes ahead, so that a wrong password is offered only once; where their number is ours to
                     choose, one more after each ten accepted messages, while each has ten to send; the first complaint
                     of the server halves it for the rest of the round

All instants are monotonic seconds, and a `jitter` is a random number from 0 to 1.
"""

from collections.abc import Collection
from dataclasses import dataclass, field
from typing import NamedTuple

from paperboy.edges.text import counted
from paperboy.errors import MailServerError
from paperboy.models import Delivery, DeliveryState, Receipt

REFUSES_US = (  # rather than a recipient
    "It seems to refuse this machine, its name or the sender: ask whoever runs it, or set SMTP_USERNAME and "
    "SMTP_PASSWORD to log in."
)
_FIRST_PAUSE = 5.0  # seconds
_MOST_ERRORS = 5  # of the server, in a row, end the round
_MOST_HELD = 3
_STEP = 10  # accepted messages until another connection opens

Held = list[tuple[Delivery, Receipt]]  # refusals that may be about us


class Decision(NamedTuple):
    """Consequence of an event."""

    pause: float = 0.0  # seconds, for all connections
    closes: bool = False  # the connection of the event


_GO_ON = Decision()


@dataclass(slots=True, kw_only=True)
class Pace:
    """Pace of one round."""

    limit: int  # of connections
    grows: bool = False  # their number; otherwise all open after the first reply
    interval: float = 0.0  # seconds from the start of one message to the next

    begins_at: float = 0.0  # when the next message may begin
    most: int = 1  # connections that may be open
    opened: int = 0  # connections that are open
    held: Held = field(default_factory=list)
    problem: str = ""  # why the round ends
    transient: bool = False  # the problem may pass by itself
    turned_away: bool = False  # the problem is that recipients are refused

    _accepted: bool = False  # a recipient was accepted
    _sent: int = 0  # messages since the last complaint
    _reached: bool = False  # somebody got mail
    _failed: bool = False  # a delivery failed, or may have
    _errors: int = 0  # of the server, in a row
    _error: str = ""  # the last of them
    _troubled: bool = False  # one of them met a digest
    _trouble_at: float = float("-inf")  # the last complaint of the server

    @property
    def is_over(self) -> bool:
        """Check whether no more messages may begin in this round."""
        return bool(self.problem) or len(self.held) >= _MOST_HELD

    def may_open(self) -> bool:
        """Return whether to open one more connection, which counts as open."""
        if self.opened >= self.most:
            return False
        self.opened += 1
        return True

    def must_close(self) -> bool:
        """Return whether to close a connection, since there are too many."""
        if self.opened <= self.most:
            return False
        self.opened -= 1
        return True

    def begun(self, at: float) -> None:
        """Record that a message has begun."""
        self.begins_at = max(self.begins_at, at + self.interval)

    def withholds(self, delivery: Delivery, receipt: Receipt) -> bool:
        """Return whether the refusal is held, since no recipient was accepted yet."""
        if receipt.state in {DeliveryState.SENT, DeliveryState.AMBIGUOUS}:
            self._accepted = True
        if self._accepted or not receipt.unclear:
            return False
        self.held.append((delivery, receipt))
        return True

    def released(self) -> Held:
        """Return the refusals that are no longer held: they were the recipients' own."""
        if not self._accepted:
            return []
        held = self.held
        self.held = []
        return held

    def settled(
        self,
        state: DeliveryState,
        receipt: Receipt,
        *,
        began: float,
        now: float,
        jitter: float,
        waiting: int,
        is_digest: bool = True,
    ) -> Decision:
        """Record the new state of a delivery. `waiting`: how many are left; `is_digest`: it
        counts for the round.
        """
        if not self.grows:
            self.most = self.limit
        self._failed |= is_digest and state.is_lost

        is_lost = receipt.state in {DeliveryState.PENDING, DeliveryState.AMBIGUOUS}
        if receipt.slow_down or is_lost:
            self._troubled |= is_digest
            return self._server_error(receipt.reply, began, now, jitter)

        self._errors = 0
        self._troubled = False
        if is_digest and state is DeliveryState.SENT:
            self._reached = True
            self._sent += 1
            is_idle = self.begins_at > now or waiting <= _STEP * self.most
            if self._sent % _STEP == 0 and self.most < self.limit and not is_idle:
                self.most += 1
        return _GO_ON

    def refused(
        self, error: MailServerError, *, began: float, now: float, jitter: float, others: int
    ) -> Decision:
        """Record that the server refuses us. Beside `others`, the connection may be one too many,
        and closes.
        """
        if others and (error.temporary or self._reached):
            self._complained(began, now)
            self.opened -= 1
            self.most = self.limit = min(self.most, self.opened)
            return Decision(closes=True)

        if error.busy or (error.temporary and self._reached):
            return self._server_error(str(error), began, now, jitter)

        self.problem = str(error)
        self.transient = error.temporary
        return _GO_ON

    def conclude(self, reached: Collection[int]) -> Held:
        """Decide what the round means in which no recipient was accepted. Return the held refusals
        that are the recipients' own: a few, of digests that reached others before (`reached`).
        """
        if self._errors and self._troubled and not (self.problem or self._reached or self._failed):
            self.problem = f"the mail server accepts nothing: {self._error}"
            self.transient = True
        if self.problem or not self.held:
            return []

        is_few = len(self.held) < _MOST_HELD
        own: Held = []
        reply = ""
        for delivery, receipt in self.held:
            if is_few and delivery.frozen_id in reached:
                own.append((delivery, receipt))
            else:
                reply = receipt.reply
        if len(own) < len(self.held):
            number = len(self.held)
            tried = f"all {number} recipients" if number > 1 else "the only recipient"
            self.problem = f"the mail server refused {tried} tried: {reply}. {REFUSES_US}"
            self.turned_away = True
        return own

    def _server_error(self, why: str, began: float, now: float, jitter: float) -> Decision:
        """Pause. A message that began before the last complaint is part of the same trouble."""
        if began <= self._trouble_at:
            return _GO_ON

        self._complained(began, now)
        self._trouble_at = now
        self._errors += 1
        self._error = why
        if self._errors >= _MOST_ERRORS:
            self.problem = f"the mail server failed {counted(self._errors, 'time')} in a row: {why}"
            self.transient = True
            return _GO_ON

        pause = _FIRST_PAUSE * 2 ** (self._errors - 1) * (0.75 + 0.5 * jitter)
        self.begins_at = max(self.begins_at, now + pause)
        return Decision(pause)

    def _complained(self, began: float, now: float) -> None:
        """Halve the number of connections for the rest of the round."""
        if not self.grows or began <= self._trouble_at:
            return
        self._trouble_at = now
        self._sent = 0
        if self.most > 1:
            self.most = self.limit = max(1, min(self.most, self.opened) // 2)
