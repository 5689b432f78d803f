"""The part of `paperboy check` that asks servers. They are asked side by side, so that silence costs its time once."""

from __future__ import annotations

import socket
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, wait
from contextlib import closing
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from paperboy.app import App
from paperboy.cli import check_sender
from paperboy.cli.check_findings import Finding, later, tried
from paperboy.cli.check_fixes import with_fix
from paperboy.cli.check_home import free_bytes
from paperboy.cli.main import Surroundings
from paperboy.config.home import Home
from paperboy.config.settings import SETTINGS
from paperboy.config.values import is_loopback
from paperboy.dns import Dns
from paperboy.errors import BudgetUsedUpError, ScoringError
from paperboy.models import Paper, ToScore

if TYPE_CHECKING:
    from paperboy.scoring.llm import LlmScorer

SMTP_SECONDS = 15.0  # for each reply
CERTIFICATE_DAYS = timedelta(days=21)


def _look_up(host: str) -> object:
    return socket.getaddrinfo(host, None)


@dataclass(frozen=True, slots=True)
class Outside:
    """What the check asks beside the home's own servers, and for how long it waits for all of them together."""

    dns: Dns = field(default_factory=Dns)
    look_up: Callable[[str], object] = _look_up  # a host's addresses, as every program gets them; socket.gaierror
    free: Callable[[Path], int] = free_bytes
    patience: float = 45.0  # seconds


@dataclass(frozen=True, slots=True)
class Asked:
    """A server that is being asked."""

    what: str
    found: Future[list[Finding]]
    silence: Finding  # what to say if there is no end of it
    host: str = ""
    unnamed: Future[str] | None = None  # why the DNS does not know the host; empty if it does

    def findings(self, end: float) -> list[Finding]:
        """What came of it until `end`, of the monotonic clock."""
        wait([self.found], max(0.0, end - time.monotonic()))
        findings = self.found.result() if self.found.done() else [self.silence]
        findings = [replace(each, message=with_fix(each.what, each.message)) for each in findings]
        unreached = findings == [self.silence] or any(
            each.exit_code == 1 and " reach" in each.message for each in findings
        )
        if self.unnamed is None or not unreached:
            return findings
        wait([self.unnamed], max(0.0, end - time.monotonic()))
        why = self.unnamed.result() if self.unnamed.done() else _mute(self.host)
        return [Finding(self.what, why, exit_code=1)] if why else findings


def ask(home: Home, around: Surroundings, outside: Outside) -> list[Asked]:
    """Begins to ask every server that the settings name, in the order in which they should be told of."""
    settings = home.settings
    asked = []
    if not settings.uses_outbox:
        asked.append(_ask_mail(home, around.clock(), outside))
    if domain := check_sender.domain_of(settings):
        silence = check_sender.not_looked_at(f"does not answer within {outside.patience:g} s", domain)
        asked.append(Asked("sender", later(lambda: check_sender.look(settings, outside.dns)), silence))
    return [*asked, _ask_scorer(home, around.wait, outside), _ask_arxiv(home, outside)]


def _ask_mail(home: Home, now: datetime, outside: Outside) -> Asked:
    host, port = home.settings.smtp_host, home.settings.smtp_port
    silence = (
        f"mail server {host}:{port} did not come to the end of greeting, TLS and login within {outside.patience:g} s: "
        "check SMTP_HOST and SMTP_PORT, or see to the server"
    )
    return _asked("mail", lambda: _mail(home, now), silence, host, "SMTP_HOST", outside)


def _mail(home: Home, now: datetime) -> list[Finding]:
    findings: list[Finding] = []

    def probe() -> str:
        sender = home.settings.mail_from
        probed = _app(home).smtp(timeout=SMTP_SECONDS).probe(sender.address if sender else "")
        findings.extend(_certificate(home.settings.smtp_host, probed.certificate_until, now))
        return probed.words

    return [*tried("mail", probe), *findings]


def _app(home: Home, pause: Callable[[float], None] = time.sleep) -> App:
    return App.of(home, {}, lambda: datetime.now(UTC), pause, time.monotonic)


def _certificate(host: str, until: datetime | None, now: datetime) -> Iterator[Finding]:
    """One that ends soon. Servers renew theirs a month before, so three weeks say that it was forgotten."""
    if until is not None and until - now < CERTIFICATE_DAYS:
        days = (until - now).days
        left = f"in {days} day{'' if days == 1 else 's'}" if days else "within a day"
        yield Finding(
            "mail", f"the certificate of {host} ends on {until:%a %d %b %Y}, {left}; have it renewed", note=True
        )


def _ask_scorer(home: Home, pause: Callable[[float], None], outside: Outside) -> Asked:
    settings = home.settings
    if not settings.has_llm:
        words = "no OPENAI_API_KEY and no OPENAI_BASE_URL, so the embedded scorer ranks by words; no LLM judges"
        finding = Finding("scoring", words)
        return Asked("scoring", later(lambda: [finding]), finding)
    host = _host(settings.openai_base_url) or "api.openai.com"
    silence = (
        f"the LLM at {host} did not answer within {outside.patience:g} s, asked for the score of one paper. A model "
        "that is only being loaded will: check again. A morning waits "
        f"{settings.llm_timeout_seconds:g} s for each call (LLM_TIMEOUT_SECONDS)"
    )
    setting = "OPENAI_BASE_URL" if settings.openai_base_url else ""
    return _asked("scoring", lambda: _scoring(home, pause), silence, host, setting, outside)


def _scoring(home: Home, pause: Callable[[float], None]) -> list[Finding]:
    findings: list[Finding] = []

    def probe() -> str:
        with closing(_app(home, pause).llm()) as scorer:
            findings.extend(_money(home, scorer))
            return scorer.probe()

    return [*tried("scoring", probe), *findings]


def _money(home: Home, scorer: LlmScorer) -> Iterator[Finding]:
    """A budget that covers nothing, and a price that nobody knows."""
    settings, least = home.settings, _least_cost(home, scorer)
    if least is None:
        is_paid_for = settings.openai_api_key.get_secret_value() and not is_loopback(_host(settings.openai_base_url))
        if is_paid_for:
            message = (
                f"the price of {settings.openai_model} is unknown, so digests and status tell tokens and no cost; set "
                "LLM_PRICE_INPUT and LLM_PRICE_OUTPUT"
            )
            yield Finding("scoring", message, note=True)
    elif 0 < settings.llm_budget_usd < least:
        message = (
            f"LLM_BUDGET_USD={settings.llm_budget_usd:g} does not cover one call: for a single paper ${least:.4f} is "
            "set aside. No paper would be scored; raise it, or set it to 0 for no limit"
        )
        yield Finding("scoring", message, exit_code=1)


def _least_cost(home: Home, scorer: LlmScorer) -> float | None:
    """US dollars that the smallest call sets aside; None where no price is known. Nothing is asked: the budget that is
    offered here covers nothing.
    """
    set_aside: list[float] = []
    jobs = [ToScore(entry, (_SMALL,)) for entry in home.lists[:1]]
    try:
        for _ in scorer.score(jobs, set_aside.append):
            pass
    except BudgetUsedUpError:
        return min(set_aside)
    except ScoringError:
        return None
    return 0.0  # without a list there is no call


def _ask_arxiv(home: Home, outside: Outside) -> Asked:
    url = home.settings.arxiv_api_url
    host = _host(url)
    silence = (
        f"{host} did not answer within {outside.patience:g} s; a morning is more patient, and asks again. If it stays "
        "so, see status.arxiv.org, and check the network and ARXIV_API_URL"
    )
    setting = "" if url == SETTINGS["ARXIV_API_URL"] else "ARXIV_API_URL"
    return _asked("arXiv", lambda: tried("arXiv", lambda: _arxiv(home)), silence, host, setting, outside)


def _arxiv(home: Home) -> str:
    category = next((category for entry in home.lists for category in entry.categories), "cs.LG")
    total = _app(home).arxiv().probe(category)
    return f"{home.settings.arxiv_api_url} answers; {total:,} paper{'s' if total > 1 else ''} in {category}"


def _asked(
    what: str, look: Callable[[], list[Finding]], silence: str, host: str, setting: str, outside: Outside
) -> Asked:
    """Begins. `setting` is the one to blame for the host's name, empty where the name is our own."""
    silent = Finding(what, silence, exit_code=1)
    return Asked(what, later(look), silent, host, later(lambda: _unnamed(host, setting, outside.look_up)))


def _unnamed(host: str, setting: str, look_up: Callable[[str], object]) -> str:
    try:
        look_up(host)
    except socket.gaierror as error:
        if error.errno == socket.EAI_AGAIN:
            return _mute(host)
        return f"DNS does not know {host}; check {f'{setting} and ' if setting else ''}this machine's DNS"
    return ""


def _mute(host: str) -> str:
    return f"DNS does not answer when asked for {host}; check this machine's network and its DNS"


def _host(url: str) -> str:
    return urlsplit(url).hostname or ""


_SMALL = Paper(
    arxiv_id="2611.00001",
    version=1,
    title="How robins find their way",
    authors=(),
    abstract="",
    primary_category="q-bio.NC",
    categories=("q-bio.NC",),
    published=datetime(2026, 11, 20, tzinfo=UTC),
    updated=datetime(2026, 11, 20, tzinfo=UTC),
)
