"""Three weeks of mornings over stand-ins of arXiv, bioRxiv and medRxiv, with every trouble that a source has.

    First week   the mirror of bioRxiv is stale on Wednesday and on Sunday until ten; arXiv is late on Friday
    Second week  every body of bioRxiv and medRxiv is empty; arXiv has a holiday on Friday
    Third week   arXiv has a holiday on Tuesday; the mirror is stale on Wednesday; arXiv is late on Thursday until ten,
                 while bioRxiv and medRxiv count more records than they have; all are late on Friday

Saturdays bring nothing about cells or genomes, and nothing but neurology to medRxiv. What the servers have, and since
when, is written down here; nothing of it asks Paperboy.
"""

from __future__ import annotations

import email
import email.policy
import re
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime, time, timedelta
from email.message import EmailMessage
from pathlib import Path
from typing import NamedTuple

from paperboy.models import Outcome, Paper, Score
from tests.builders import paper
from tests.cli.conftest import text_of
from tests.fakes import Clock, app_at
from tests.servers.arxiv_api import ArxivServer
from tests.servers.biorxiv_api import BiorxivServer, Preprint, preprint
from tests.servers.biorxiv_faults import Fault, no_body, only, stale, total_plus, unavailable
from tests.servers.llm import LlmServer
from tests.servers.smtp import SmtpServer

DAY = timedelta(days=1)
PATIENCE = timedelta(hours=6)
HOURS = (7, 10, 13)  # of a morning, as long as a list is due
FIRST = date(2026, 11, 16)  # a Monday
MORNINGS = [FIRST + number * DAY for number in range(22)]  # the last Monday brings what still waits

LISTS = """\
lists:
  - name: theory
    categories: [q-bio.GN, q-bio.NC]
    topics: genomes and neurons
    brief: false
    subscribers: [theory@example.org]
  - name: cells
    categories: [biorxiv/cell biology, biorxiv/genomics]
    topics: cells
    brief: false
    subscribers: [cells@example.org]
  - name: mixed
    categories: [bioRxiv/Genomics, biorxiv/cell_biology, medrxiv/oncology, q-bio.GN]
    topics: genomes
    brief: false
    subscribers: [mixed@example.org]
  - name: thrice
    categories: [biorxiv/neuroscience, biorxiv/microbiology]
    topics: neurons
    weekdays: [mon, wed, fri]
    brief: false
    subscribers: [thrice@example.org]
  - name: clinics
    categories: [medrxiv]
    topics: patients
    brief: false
    subscribers: [clinics@example.org]
"""
WANTED = {
    "theory": r"arXiv/q-bio\.(GN|NC)",
    "cells": "bioRxiv/(cell biology|genomics)",
    "mixed": r"bioRxiv/(cell biology|genomics)|medRxiv/oncology|arXiv/q-bio\.GN",
    "thrice": "bioRxiv/(neuroscience|microbiology)",
    "clinics": "medRxiv/.*",
}
"""The categories of each list, after their servers' names."""

SOURCES = {
    name: {source for source in ("arXiv", "bioRxiv", "medRxiv") if source in wanted}
    for name, wanted in WANTED.items()
}


def november(day: int, hour: int = 0) -> datetime:
    """Return an instant in UTC; day 31 is the first of December."""
    return datetime(2026, 11, 1, hour, tzinfo=UTC) + (day - 1) * DAY


class Trouble(NamedTuple):
    """What befalls the API of bioRxiv and medRxiv, and whose papers are late then."""

    begins: datetime
    ends: datetime
    fault: Fault
    late: frozenset[str]


BOTH = frozenset({"bioRxiv", "medRxiv"})
BIORXIV = frozenset({"bioRxiv"})
STALE = only("biorxiv", stale())
TROUBLES = (
    Trouble(november(18), november(18, 10), STALE, BIORXIV),
    Trouble(november(22), november(22, 10), STALE, BIORXIV),
    Trouble(november(23), november(30), no_body, BOTH),
    Trouble(november(32), november(33), STALE, BIORXIV),
    Trouble(november(33), november(34), total_plus(7), frozenset()),
    Trouble(november(34), november(35), unavailable(), BOTH),
)
ARXIV_IS_LATE = {  # from when until when
    november(20): november(21),
    november(33): november(33, 10),
    november(34): november(35),
}
WITHOUT_BATCH = {november(27).date(), november(31).date()}  # weekdays after arXiv's holidays


def trouble_at(now: datetime) -> Trouble | None:
    """Return what befalls the API of bioRxiv and medRxiv then."""
    return next((trouble for trouble in TROUBLES if trouble.begins <= now < trouble.ends), None)


def late_at(now: datetime) -> set[str]:
    """Return the sources of which papers are missing then."""
    trouble = trouble_at(now)
    late = set(trouble.late) if trouble else set[str]()
    if any(begins <= now < ends for begins, ends in ARXIV_IS_LATE.items()):
        late.add("arXiv")
    return late


class Shown(NamedTuple):
    """A new paper, and since when its server has it."""

    id: str
    server: str
    category: str  # after its server's name
    posted: date
    since: datetime

    def can_be_read(self, now: datetime) -> bool:
        """Check whether the server has it then, and all before it."""
        trouble = trouble_at(now)
        return self.since <= now and (trouble is None or self.server not in trouble.late)


@dataclass
class Servers:
    """All that the servers have in these weeks, each since an instant."""

    arxiv: list[tuple[datetime, Paper]] = field(default_factory=list)
    biorxiv: list[tuple[datetime, Preprint]] = field(default_factory=list)

    def announce(self, morning: date, number: int, category: str, doi: str = "") -> str:
        """Let arXiv announce a paper for a morning, and return its id."""
        submitted = morning - DAY
        while submitted.weekday() > 4:
            submitted -= DAY
        new = paper(
            f"2611.{number:05}",
            published=datetime.combine(submitted, time(15), UTC),
            primary_category=category,
            categories=(category,),
            doi=doi,
        )
        since = datetime.combine(morning, time(), UTC)
        self.arxiv.append((ARXIV_IS_LATE.get(since, since), new))
        return new.id

    def post(self, record: Preprint, seen: date | None = None) -> str:
        """Post a record, which the API has from the next day on, or from a later one. Return the paper's id."""
        since = seen or date.fromisoformat(record.date) + DAY
        self.biorxiv.append((datetime.combine(since, time(), UTC), record))
        return f"{record.server.lower()}:{record.doi}"

    def papers(self) -> Iterator[Shown]:
        """Yield all new papers."""
        for since, new in self.arxiv:
            category = f"arXiv/{new.primary_category}"
            yield Shown(new.id, "arXiv", category, new.published.date(), since)
        for since, record in self.biorxiv:
            if record.version == "1":
                paper_id = f"{record.server.lower()}:{record.doi}"
                category = f"{record.server}/{record.category}"
                posted = date.fromisoformat(record.date)
                yield Shown(paper_id, record.server, category, posted, since)


WEEKDAY = {
    "bioRxiv": [
        "genomics",
        "genomics",
        "cell biology",
        "cell biology",
        "neuroscience",
        "microbiology",
        "ecology",
    ],
    "medRxiv": ["oncology", "neurology", "infectious diseases"],
}
SATURDAY = {"bioRxiv": ["neuroscience", "ecology"], "medRxiv": ["neurology"]}
SUNDAY = {"bioRxiv": ["cell biology", "neuroscience"], "medRxiv": ["oncology"]}


def usual() -> Servers:
    """Return servers with nothing strange."""
    servers = Servers()
    number = 0
    for place in range(-12, len(MORNINGS) - 1):
        day = FIRST + place * DAY
        for server, categories in {5: SATURDAY, 6: SUNDAY}.get(day.weekday(), WEEKDAY).items():
            for category in categories:
                number += 1
                servers.post(preprint(number, day, server, category=category))

    for place, morning in enumerate(MORNINGS):
        if morning.weekday() < 5 and morning not in WITHOUT_BATCH:
            for step, category in enumerate(("q-bio.GN", "q-bio.GN", "q-bio.NC")):
                servers.announce(morning, place * 10 + step, category)
    return servers


class CrossPost(NamedTuple):
    """A preprint at arXiv, which names its DOI, and at bioRxiv or medRxiv."""

    announced: int  # by arXiv, for the morning of that day of November
    posted: int
    server: str
    comes: str  # from there to a list that takes both
    doi: str = "{}"  # as arXiv has it
    prefix: str = "10.64898"


CROSS_POSTS = {
    "arXiv first": CrossPost(17, 18, "bioRxiv", "arXiv"),
    "bioRxiv first": CrossPost(19, 16, "bioRxiv", "bioRxiv", prefix="10.1101"),
    "arXiv first, then medRxiv": CrossPost(18, 19, "medRxiv", "arXiv"),
    "medRxiv first": CrossPost(32, 18, "medRxiv", "medRxiv", "DOI:{}V2", "10.1101"),
    "same morning, submitted to arXiv before": CrossPost(
        30, 28, "bioRxiv", "arXiv", "HTTPS://DOI.ORG/{}"
    ),
    "same morning, posted at bioRxiv before": CrossPost(30, 26, "bioRxiv", "arXiv"),
    "arXiv is late": CrossPost(20, 19, "bioRxiv", "bioRxiv"),
    "bioRxiv is down": CrossPost(24, 23, "bioRxiv", "arXiv"),
}

BELATED = {16: 19, 25: 31, 27: 36}  # days of November: what was posted then is shown only later


@dataclass
class Story:
    """The servers with all that is strange, and the ids of that."""

    servers: Servers = field(default_factory=usual)

    def __post_init__(self) -> None:
        self.twins = {
            what: self._cross_post(number, cross_post)
            for number, (what, cross_post) in enumerate(CROSS_POSTS.items(), 900)
        }

        self.old = preprint(950, november(10).date(), category="genomics")
        of_the_week = preprint(951, november(16).date(), category="genomics")
        of_the_empty_week = preprint(952, november(24).date(), category="genomics")
        unknown = preprint(953, date(2026, 6, 1), category="genomics")
        self.revised = [
            self.servers.post(record) for record in (self.old, of_the_week, of_the_empty_week)
        ]
        revisions = [
            replace(self.old, version="2", date="2026-11-18", category="cell biology"),
            replace(of_the_week, version="2", date="2026-11-18"),
            replace(of_the_week, version="3", date="2026-11-20"),
            replace(of_the_empty_week, version="2", date="2026-11-26"),
            replace(unknown, version="2", date="2026-12-01"),
        ]
        for revision in revisions:
            self.servers.post(revision)

        self.belated = {
            self.servers.post(
                preprint(960 + posted, november(posted).date(), category="cell biology"),
                seen=november(seen).date(),
            ): november(seen, 7)
            for posted, seen in BELATED.items()
        }

    def _cross_post(self, number: int, what: CrossPost) -> dict[str, str]:
        """Post a preprint twice, and return its ids by the names of the servers."""
        category = "oncology" if what.server == "medRxiv" else "genomics"
        record = preprint(number, november(what.posted).date(), what.server, category=category)
        record = replace(record, doi=record.doi.replace("10.64898", what.prefix))
        written = what.doi.format(record.doi)
        return {
            "arXiv": self.servers.announce(
                november(what.announced).date(), number, "q-bio.GN", written
            ),
            what.server: self.servers.post(record),
        }


PAGE = re.compile(r"https://www\.(biorxiv|medrxiv)\.org/content/(10\.[\d./]+)v(\d+)")


@dataclass(frozen=True)
class Tried:
    """A list after one try of a morning."""

    at: datetime
    name: str
    outcome: Outcome | None
    reason: str
    mail: str  # its text; empty: there was none

    @property
    def ids(self) -> set[str]:
        """The papers of the mail, by the links to their pages."""
        of_arxiv = re.findall(r"https://arxiv\.org/abs/(\d{4}\.\d{5})", self.mail)
        return set(of_arxiv) | {f"{key}:{doi}" for key, doi, _ in PAGE.findall(self.mail)}

    @property
    def versions(self) -> set[str]:
        """The versions of papers of bioRxiv and medRxiv to which it links."""
        return {version for _, _, version in PAGE.findall(self.mail)}


@dataclass
class Weeks:
    """The weeks as they were lived."""

    story: Story
    home: Path
    tried: list[Tried] = field(default_factory=list)

    def ends(self, name: str) -> list[Tried]:
        """Return the tries that ended the list's days."""
        return [one for one in self.tried if one.name == name and one.outcome]

    def mailed(self, name: str) -> list[tuple[str, datetime]]:
        """Return the papers of the list's mails, and when they came."""
        return [(paper_id, one.at) for one in self.ends(name) for paper_id in one.ids]

    def wanted(self, name: str) -> dict[str, datetime]:
        """Return the papers that the list is to get, each once, and when: in its first digest after its server gave
        them. Its first morning takes what was posted the day before.
        """
        left_out = set[str]()
        if name == "mixed":
            for what, twins in self.story.twins.items():
                left_out |= set(twins.values()) - {twins[CROSS_POSTS[what].comes]}

        tries = sorted({one.at for one in self.tried})
        digests = [one.at for one in self.ends(name) if one.outcome is Outcome.DIGEST]
        wanted = dict[str, datetime]()
        for shown in self.story.servers.papers():
            is_too_old = shown.server != "arXiv" and shown.posted < FIRST - DAY
            is_its = re.fullmatch(WANTED[name], shown.category)
            if is_its and not is_too_old and shown.id not in left_out:
                read = next(now for now in tries if shown.can_be_read(now))
                wanted[shown.id] = next(now for now in digests if now >= read)
        return wanted


def live(home: Path, story: Story) -> Weeks:
    """Live through all mornings. A list that is due is tried again, as the daemon does."""
    weeks = Weeks(story, home)
    servers = story.servers
    clock = Clock(november(16))
    with ExitStack() as stack:
        arxiv = stack.enter_context(ArxivServer())
        biorxiv = stack.enter_context(BiorxivServer())
        llm = stack.enter_context(LlmServer(lambda _: Score(9, 8, "It matters.")))
        smtp = stack.enter_context(SmtpServer())
        settings = f"""\
ARXIV_API_URL={arxiv.url}
ARXIV_DELAY_SECONDS=0
ARXIV_HOLIDAYS=2026-11-30
BIORXIV_API_URL={biorxiv.url}
OPENAI_BASE_URL={llm.base_url}
SMTP_HOST=127.0.0.1
SMTP_PORT={smtp.port}
SMTP_SECURITY=none
MAIL_FROM=Paperboy <papers@example.org>
"""
        (home / ".env").write_text(settings, "utf-8")
        (home / "subscribers.yaml").write_text(LISTS, "utf-8")
        for now in (datetime.combine(day, time(hour), UTC) for day in MORNINGS for hour in HOURS):
            due = {name for name in WANTED if now.hour == HOURS[0] or _is_due(weeks, name)}
            if not due:
                continue
            clock.now = now
            arxiv.papers = [new for since, new in servers.arxiv if since <= now]
            biorxiv.records = [record for since, record in servers.biorxiv if since <= now]
            trouble = trouble_at(now)
            biorxiv.lasting_fault = trouble.fault if trouble else None
            with app_at(home, clock) as app:
                report = app.morning(due, PATIENCE)
                app.deliver(lambda: False)

            mails = dict(_taken(smtp))
            weeks.tried += [
                Tried(
                    at=now,
                    name=day.list_name,
                    outcome=day.outcome,
                    reason=day.problem,
                    mail=mails.get(f"{day.list_name}@example.org", ""),
                )
                for day in report.lists
            ]
    return weeks


def _is_due(weeks: Weeks, name: str) -> bool:
    """Check whether the list's last try left its day open."""
    return [one.outcome for one in weeks.tried if one.name == name][-1:] == [None]


def _taken(smtp: SmtpServer) -> Iterator[tuple[str, str]]:
    """Yield the mails that have come, their recipients and texts, and forget them."""
    messages = list(smtp.messages)
    smtp.messages.clear()
    for sent in messages:
        mail = email.message_from_bytes(
            sent.content, _class=EmailMessage, policy=email.policy.default
        )
        yield sent.recipient, text_of(mail)
