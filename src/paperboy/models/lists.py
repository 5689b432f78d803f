"""What `subscribers.yaml` says, and what is wrong with it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import time
from zoneinfo import ZoneInfo

EVERY_DAY = frozenset(range(7))


@dataclass(frozen=True, slots=True)
class Subscriber:
    """Somebody on a mailing list."""

    address: str
    name: str = ""


@dataclass(frozen=True, slots=True)
class MailingList:
    """One entry of `subscribers.yaml`, with the defaults of the settings filled in."""

    name: str
    title: str
    categories: tuple[str, ...]
    topics: str  # the text itself, also where the file names another file
    timezone: ZoneInfo
    send_at: time = time(7, 0)  # local
    weekdays: frozenset[int] = EVERY_DAY  # Monday is 0
    authors: tuple[str, ...] = ()
    min_relevance: int = 7
    min_novelty: int = 6
    max_papers: int = 50
    cross_lists: bool = True
    send_empty: bool = True
    subscribers: tuple[Subscriber, ...] = ()


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing wrong in a file or a setting: where, what, and what to do about it."""

    place: str  # "subscribers.yaml:14:9", ".env:3", "environment"
    message: str

    def __str__(self) -> str:
        return f"{self.place}: {self.message}"
