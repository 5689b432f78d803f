"""One digest to one subscriber."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from paperboy.models.lists import Subscriber


class DeliveryState(StrEnum):
    """Where one digest to one subscriber stands."""

    PENDING = "pending"
    SENDING = "sending"
    SENT = "sent"
    DEFERRED = "deferred"
    AMBIGUOUS = "ambiguous"
    FAILED = "failed"
    SUPPRESSED = "suppressed"


@dataclass(frozen=True, slots=True)
class Addressed:
    """What makes one subscriber's copy of a digest theirs."""

    subscriber: Subscriber
    message_id: str  # with its angle brackets; the same at every attempt
    token: str  # names list and subscriber in an unsubscribe mail


@dataclass(frozen=True, slots=True)
class Delivery:
    """One digest to one subscriber."""

    id: int
    digest_id: int
    list_name: str
    addressed: Addressed
    state: DeliveryState
    attempts: int = 0
    uncertain: int = 0  # how often the connection was lost after the final dot
    frozen_at: datetime | None = None  # when its digest was; None: outside the ledger
    reply: str = ""  # the last one


@dataclass(frozen=True, slots=True)
class Envelope:
    """One message on its way to one recipient."""

    sender: str
    recipient: str
    message: bytes
    list_name: str


@dataclass(frozen=True, slots=True)
class Receipt:
    """What a mail server, or the outbox, said of one envelope."""

    state: DeliveryState  # SENT, DEFERRED, FAILED or AMBIGUOUS; PENDING: it was never handed over
    reply: str  # one line, for people
    bounce: bool = False  # the address does not exist
    slow_down: bool = False  # the server is busy with us: 421, or "too many"


@dataclass(frozen=True, slots=True)
class Suppression:
    """An address that must not get mail, whatever `subscribers.yaml` says."""

    address: str
    list_name: str  # empty: from any list
    reason: str  # one line, for people
    at: datetime
