"""What sending works with: floor 2 as sending sees it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import Enum, auto
from typing import Protocol

from paperboy import drafting
from paperboy.models import Composed, Delivery, DeliveryState, Envelope, Receipt


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

    def queue(self, now: datetime) -> tuple[int, datetime | None]:
        """How many may be sent now, and since when nothing has left."""
        ...

    def waiting(self, now: datetime, *, behind: Delivery | None, most: int) -> tuple[Delivery, ...]:
        """So many of them, oldest digest first, behind one that was given before."""
        ...

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
        undone: bool = False,
    ) -> bool: ...

    def suppress(self, delivery: Delivery, reason: str, at: datetime) -> bool: ...

    def expire(self, delivery: Delivery, reason: str, at: datetime) -> bool: ...

    def refused_by_all(self, digest_ids: Collection[int]) -> tuple[tuple[str, str], ...]:
        """Lists whose digest was refused for good for all that were to get it, with the last reply."""
        ...

    def untold(self) -> tuple[Delivery, ...]:
        """What was given up, and the operator was not told."""
        ...

    def reached(self, digest_id: int) -> datetime | None:
        """When the digest was first delivered to somebody."""
        ...

    def bounced_thrice(self) -> tuple[tuple[str, str], ...]:
        """Addresses, with the last reply, that did not exist in the last three digests they were to get."""
        ...


class Suppressions(Protocol):
    """Who must not get mail."""

    def reason(self, list_name: str, address: str) -> str: ...

    def add(self, address: str, list_name: str, reason: str, at: datetime, *, tell: str = "") -> bool: ...

    def untold(self) -> tuple[tuple[str, str], ...]:
        """Addresses whose suppression the operator is to be told, each with what to tell."""
        ...


class Digests(Protocol):
    """The frozen bytes."""

    def composed_by_id(self, digest_id: int) -> Composed: ...


class Membership(Enum):
    """How an address stands to a list."""

    ON = auto()
    LEAVING = auto()  # it is not on it, and that may be half an edit
    GONE = auto()


Audience = Callable[[str, str, datetime], Membership]  # of a list's name and an address, at that time


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """Everything that sending works with."""

    transports: Sequence[Transport]  # one for each connection
    ledger: Ledger
    suppressions: Suppressions
    digests: Digests
    address: Callable[[Composed, Delivery], Envelope]  # puts what is the subscriber's own into the frozen bytes
    progress: drafting.Progress
    clock: Callable[[], datetime]
    timer: Callable[[], float]  # monotonic seconds
    wait: Callable[[float], None]
    jitter: Callable[[], float]  # from 0 to 1
    most_per_minute: int = 0  # 0: no limit
    grace_seconds: float = 20.0  # for what is under way when the round is stopped
