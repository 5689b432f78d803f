"""Stand-ins with real state for the ports of floor 3, for tests that are about a morning and not about servers."""

from __future__ import annotations

from collections.abc import Callable, Collection, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import date, datetime
from pathlib import Path
from types import MappingProxyType
from typing import Self

from paperboy.errors import FeedError, MailServerError, ScoringError
from paperboy.features import FEATURES
from paperboy.models import (
    Composed,
    Cost,
    DeliveryState,
    Digest,
    Envelope,
    MailingList,
    MessageCopy,
    Model,
    Paper,
    Receipt,
    Score,
    Scored,
    Spending,
    Subscriber,
    ToScore,
    Usage,
)
from paperboy.service.app import App


@dataclass
class Clock:
    """Stands still until it is moved."""

    now: datetime

    def __call__(self) -> datetime:
        return self.now


@dataclass
class FakeArxiv:
    """Gives the papers of the window, as arXiv would, and remembers what it was asked."""

    papers: list[Paper] = field(default_factory=list)
    broken: str = ""
    no_cross_lists: Exception | None = None
    crossed: list[Paper] = field(default_factory=list)  # today's cross-lists
    asked: list[tuple[tuple[str, ...], datetime, datetime]] = field(default_factory=list)

    def fetch(
        self,
        categories: Sequence[str],
        since: datetime,
        until: datetime,
        progress: Callable[[int, int], None] | None = None,
    ) -> list[Paper]:
        self.asked.append((tuple(categories), since, until))
        if self.broken:
            raise FeedError(self.broken)
        return [
            paper
            for paper in self.papers
            if since <= paper.published <= until
            and not set(categories).isdisjoint(paper.categories)
        ]

    def cross_lists(
        self,
        categories: Sequence[str],
        missing_ids: Callable[[Mapping[str, Collection[str]]], Sequence[str]],
    ) -> list[Paper]:
        if self.no_cross_lists:
            raise self.no_cross_lists
        wanted = missing_ids(
            {paper.id: set(paper.categories) & set(categories) for paper in self.crossed}
        )
        return [paper for paper in self.crossed if paper.id in wanted]

    def has_news(self, since: datetime, until: datetime) -> bool:
        return any(since <= paper.published <= until for paper in self.papers)


@dataclass
class FakeScorer:
    """Knows scores by arXiv id, one request per paper; a paper that it does not know gets 3 and 3."""

    known: Mapping[str, Score] = field(default_factory=dict)
    refuses: Collection[str] = ()
    dies_after: int | None = None
    death: Exception = field(
        default_factory=lambda: ScoringError("the LLM at nowhere does not answer")
    )
    model: Model = Model("luna", is_llm=True)
    asked: list[str] = field(default_factory=list)
    may_spend: list[Callable[[], bool] | None] = field(default_factory=list)

    def criteria(self, mailing_list: MailingList) -> str:
        return mailing_list.topics

    def estimate(self, papers: Sequence[Paper]) -> Cost:
        return Cost(0.0015 * len(papers))

    def score(
        self, jobs: Sequence[ToScore], may_spend: Callable[[], bool] | None = None
    ) -> Generator[Scored, None, None]:
        self.may_spend.append(may_spend)
        number = 0
        for job in jobs:
            for paper in job.papers:
                if self.dies_after is not None and number >= self.dies_after:
                    raise self.death
                number += 1
                self.asked.append(paper.id)
                spending = Spending(Usage(1, 100, completion_tokens=10), Cost(0.001, 0.0005))
                name = job.mailing_list.name
                if paper.id in self.refuses:
                    yield Scored(name, unscored={paper.id: "refused"}, spending=spending)
                else:
                    score = self.known.get(paper.id, Score(3, 3))
                    yield Scored(name, {paper.id: score}, spending=spending)


@dataclass
class FakeComposer:
    """A mail's bytes are a line that says what is in it."""

    made: list[Digest] = field(default_factory=list)
    broken: Exception | None = None

    def for_list(self, mailing_list: MailingList, day: date) -> Self:
        return self

    def digest(self, digest: Digest, now: datetime) -> Composed:
        if self.broken and digest.entries:
            raise self.broken
        self.made.append(digest)
        ids = " ".join(entry.paper.id for entry in digest.entries)
        return Composed(
            f"{'digest' if ids else 'note'} {digest.date}", "papers@example.org", ids.encode()
        )

    def copy_for(self, list_name: str, day: date, subscriber: Subscriber) -> MessageCopy:
        return MessageCopy(subscriber, f"<{day}.{list_name}.{subscriber.address}>", "token")


class NoProgress:
    """Shows nothing."""

    @contextmanager
    def stage(self, what: str) -> Iterator[Callable[[int, int], None]]:
        yield lambda _done, _total: None


def app_at(
    home: Path, clock: Callable[[], datetime], environ: Mapping[str, str] = MappingProxyType({})
) -> App:
    """What Paperboy can do in that home, with all features. It does not wait, and shows no progress."""

    def timer() -> float:
        return clock().timestamp()

    return App(home, environ, clock, lambda _: None, timer, NoProgress(), features=FEATURES)


@dataclass
class FakeTransport:
    """Answers SENT, or what `replies` has for the recipient; `down` refuses everybody from the nth message on, and the
    first so many `refusals` are about everybody, too.
    """

    replies: dict[str, list[DeliveryState | Receipt]] = field(default_factory=dict)
    down: int | None = None
    breaks_at: str = ""
    sent: list[Envelope] = field(default_factory=list)
    closed: int = 0
    aborted: int = 0
    temporary: bool = False
    busy: bool = False
    refusals: int = 0
    via: str = "smtp"

    def send(self, envelope: Envelope) -> Receipt:
        self.refusals -= 1
        if (self.down is not None and len(self.sent) >= self.down) or self.refusals >= 0:
            raise MailServerError(
                "mail.example.org:587 refuses the login; check SMTP_PASSWORD",
                temporary=self.temporary,
                busy=self.busy,
            )
        if envelope.recipient == self.breaks_at:
            raise ZeroDivisionError
        self.sent.append(envelope)
        scripted = self.replies.get(envelope.recipient)
        reply = scripted.pop(0) if scripted else DeliveryState.SENT
        return (
            reply
            if isinstance(reply, Receipt)
            else Receipt(reply, f"{reply}: <{envelope.recipient.title()}>")
        )

    def abort(self) -> None:
        self.aborted += 1

    def close(self) -> None:
        self.closed += 1
