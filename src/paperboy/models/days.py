"""What each list's days came to."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date
from enum import StrEnum

from paperboy.models.deliveries import Addressed, DeliveryState
from paperboy.models.digests import Became, Composed, Counts
from paperboy.models.scores import Spending


class Outcome(StrEnum):
    """What a list's day came to."""

    DIGEST = "digest"
    NOTE = "note"  # papers came, none passed
    QUIET = "quiet"  # arXiv announced nothing
    GAVE_UP = "gave up"  # late arXiv, dead LLM
    SKIPPED = "skipped"  # not one of the list's weekdays


@dataclass(frozen=True, slots=True)
class Day:
    """What one list's day came to, ready to be frozen in one transaction."""

    list_name: str
    date: date  # local
    outcome: Outcome
    reason: str = ""  # for people; empty where the outcome says it all
    model: str = ""
    counts: Counts = Counts()
    became: Mapping[str, Became] = field(default_factory=dict)  # by arXiv id: what the list has now seen
    tried: frozenset[str] = frozenset()  # arXiv ids that could not be scored, though others were
    composed: Composed | None = None  # None: there is nothing to send
    addressed: tuple[Addressed, ...] = ()


@dataclass(frozen=True, slots=True)
class Superseded:
    """A digest that reached nobody; its papers come with a later one."""

    list_name: str
    date: date
    reply: str  # the last word of a mail server, or why there was none


@dataclass(frozen=True, slots=True)
class DaySummary:
    """A frozen day, as `status` shows it."""

    list_name: str
    date: date
    outcome: Outcome
    reason: str
    model: str
    counts: Counts
    spending: Spending
    deliveries: Mapping[DeliveryState, int]
