"""How fast a round of sending goes, and when it ends and why. Pure: events go in, decisions come
out.

    the rate limit spaces messages; errors of the server in a row pause all connections, each pause twice as long as the
    last, and the fifth error ends the round
    a refusal that may be about us is held until one recipient is accepted: then it was the recipient's own; three
    without one (or all, if there are fewer) are the server's problem with us
    a server that refuses us, rather than a recipient, ends the round at once
    the first connection goes ahead, so that a wrong password is offered only once
    where their number is ours to choose, each ten messages taken make it one more, while all have ten to send, and the
    server's first complaint halves it for the rest of the round

All instants are monotonic seconds, and a `jitter` is a random number from 0 to 1.
"""

from collections.abc import Collection
from dataclasses import dataclass, field, replace

from paperboy.errors import MailServerError
from paperboy.mail.text import counted
from paperboy.models import Delivery, DeliveryState, Receipt

REFUSES_US = (  # rather than a recipient
    "It seems to refuse this machine, its name or the sender: ask those who run it, or set SMTP_USERNAME and "
    "SMTP_PASSWORD for a login."
)
_FIRST_PAUSE = 5.0  # seconds
_MOST_HELD = 3
_STEP = 10  # messages taken for each more connection

Held = list[tuple[Delivery, Receipt]]  # refusals that may be about us


@dataclass(frozen=True, slots=True)
class Decision:
    """What follows from an event."""

    pause: float = 0.0  # seconds, for all connections
    halved_to: int = 0  # connections; 0: their number stays
    closes: bool = False  # the connection that the event came from


_GO_ON = Decision()


@dataclass(slots=True, kw_only=True)
class Pace:
    """The pace of one round."""

    limit: int  # of connections
    grows: bool = False  # the number of connections; else all of them open after the first reply
    interval: float = 0.0  # seconds from the start of one message to the next
    most_errors: int = 5  # of the server, in a row, end the round

    begins_at: float = 0.0  # when the next message may begin
    most: int = 1  # connections that may be open
    opened: int = 0  # that are
    held: Held = field(default_factory=list)
    problem: str = ""  # ends the round
    passing: bool = False  # it may pass without anybody's help
    turned_away: bool = False  # it is that recipients are refused

    _accepted: bool = False  # a recipient was
    _sent: int = 0  # messages since the last complaint
    _reached: bool = False  # somebody got mail
    _failed: bool = False  # a delivery has, for good or perhaps
    _deferred: bool = False  # one has been
    _errors: int = 0  # of the server, in a row
    _error: str = ""  # the last one
    _troubled: bool = False  # one of these errors met a digest
    _trouble_at: float = float("-inf")  # the server's last one

    @property
    def is_over(self) -> bool:
        """Whether no message may begin in this round."""
        return bool(self.problem) or len(self.held) >= _MOST_HELD

    def may_open(self) -> bool:
        """Return whether one more connection opens."""
        if self.opened >= self.most:
            return False
        self.opened += 1
        return True

    def must_close(self) -> bool:
        """Return whether one connection closes, since there are too many."""
        if self.opened <= self.most:
            return False
        self.opened -= 1
        return True

    def begun(self, at: float) -> None:
        """Note that a message has begun."""
        self.begins_at = max(self.begins_at, at + self.interval)

    def holds(self, delivery: Delivery, receipt: Receipt) -> bool:
        """Return whether the refusal is held, since nobody was accepted yet."""
        if receipt.state in {DeliveryState.SENT, DeliveryState.AMBIGUOUS}:
            self._accepted = True
        if self._accepted or not receipt.unclear:
            return False
        self.held.append((delivery, receipt))
        return True

    def released(self) -> Held:
        """Return the refusals that are held no more: they were the recipients' own."""
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
        counts: bool = True,
    ) -> Decision:
        """Note what became of a delivery. `waiting`: how many are left; `counts`: it is of a
        digest.
        """
        if not self.grows:
            self.most = self.limit
        self._failed |= counts and state.is_lost
        self._deferred |= counts and state is DeliveryState.DEFERRED
        if receipt.slow_down or receipt.state in {DeliveryState.PENDING, DeliveryState.AMBIGUOUS}:
            self._troubled |= counts
            return self._server_error(receipt.reply, began, now, jitter)

        self._errors = 0
        self._troubled = False
        if counts and state is DeliveryState.SENT:
            self._reached = True
            self._sent += 1
            idle = self.begins_at > now or waiting <= _STEP * self.most
            if self._sent % _STEP == 0 and self.most < self.limit and not idle:
                self.most += 1
        return _GO_ON

    def refused(
        self, error: MailServerError, *, began: float, now: float, jitter: float, others: int
    ) -> Decision:
        """Note that the server refuses us. Beside `others`, the connection may be one too many, and
        closes.
        """
        if others and (error.temporary or self._reached):
            halved_to = self._complained(began, now)
            self.opened -= 1
            self.most = self.limit = min(self.most, self.opened)
            return Decision(halved_to=halved_to, closes=True)
        if error.busy or (error.temporary and self._reached):
            return self._server_error(str(error), began, now, jitter)
        self.problem = str(error)
        self.passing = error.temporary
        return _GO_ON

    def conclude(self, reached: Collection[int]) -> Held:
        """Decide what it means that nobody was accepted; return the held refusals that are the
        recipients' own: if they are few, and others got the digest before (`reached` has its id).
        """
        if self._errors and self._troubled and not (self.problem or self._reached or self._failed):
            self.problem = f"the mail server accepts nothing: {self._error}"
            self.passing = True
        if self.problem or not self.held:
            return []
        is_few = len(self.held) < _MOST_HELD
        if is_few and self._deferred:  # as a greylist does, which tells nothing of those beside it
            return [
                (each, replace(receipt, state=DeliveryState.DEFERRED))
                for each, receipt in self.held
            ]
        own = [held for held in self.held if is_few and held[0].frozen_id in reached]
        others = [held for held in self.held if held not in own]
        if others:
            tried = counted(len(self.held), "recipient")
            self.problem = (
                f"the mail server refused all of {tried} tried: {others[-1][1].reply}. {REFUSES_US}"
            )
            self.turned_away = True
        return own

    def _server_error(self, why: str, began: float, now: float, jitter: float) -> Decision:
        """Pause. An error of a message that began before the last trouble is the same incident."""
        if began <= self._trouble_at:
            return _GO_ON
        halved_to = self._complained(began, now)
        self._trouble_at = now
        self._errors += 1
        self._error = why
        if self._errors >= self.most_errors:
            self.problem = f"the mail server failed {counted(self._errors, 'time')} in a row: {why}"
            self.passing = True
            return Decision(halved_to=halved_to)
        pause = _FIRST_PAUSE * 2 ** (self._errors - 1) * (0.75 + 0.5 * jitter)
        self.begins_at = max(self.begins_at, now + pause)
        return Decision(pause, halved_to)

    def _complained(self, began: float, now: float) -> int:
        """Halve the number of connections for the rest of the round, and return it; one alone
        cannot be too many.
        """
        if not self.grows or began <= self._trouble_at:
            return 0
        self._trouble_at = now
        self._sent = 0
        if self.most == 1:
            return 0
        self.most = self.limit = max(1, min(self.most, self.opened) // 2)
        return self.most
