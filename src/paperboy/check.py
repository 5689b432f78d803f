"""Everything that would fail tomorrow, found today: one finding a line, each fault with its fix.

files    settings, lists, templates, prompts: all that is wrong in each
home     database, disk, file modes, where mail and alerts go
servers  mail, the sender's DNS records, LLM, arXiv: asked side by side, so that silence costs its time only once
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, suppress
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, TypeVar
from urllib.parse import urlsplit

from paperboy.config import settings as dotenv
from paperboy.config.home import LISTS_FILE, Home, load_lists
from paperboy.config.settings import Settings
from paperboy.config.values import is_loopback
from paperboy.errors import ConfigError, PaperboyError, StoreError
from paperboy.models import MailingList
from paperboy.store import Store

if TYPE_CHECKING:
    from paperboy.arxiv_feed import ArxivFeed
    from paperboy.mail.smtp import SmtpTransport
    from paperboy.mail.templates import Templates
    from paperboy.scoring.llm import LlmScorer

T = TypeVar("T")

LITTLE, TOO_LITTLE = 500_000_000, 50_000_000  # free bytes; a year of five lists takes less than 200 MB
SMTP_SECONDS = 15.0  # for each reply
PATIENCE = 45.0  # seconds, for all servers together
RENEWED = timedelta(days=21)  # servers renew a certificate a month before it ends

_EXAMPLE = re.compile(r"[@.]example\.(?:org|com|net)$", re.IGNORECASE)
_NOWHERE = re.compile(r"(?:.*\.)?(?:example|test|invalid|localhost|local|internal|example\.(?:com|net|org))|[^.]*")
_SAYS_THE_FIX = re.compile(r"\b(?:[Cc]heck|set|add|choose|lower|leave) ")
_FIXES = {  # for a server's faults whose own words do not say what to do
    "mail": "ask those who run it, or check SMTP_HOST and SMTP_PORT; a morning retries every quarter of an hour",
    "scoring": "check the server, OPENAI_BASE_URL and OPENAI_MODEL; a morning retries every quarter of an hour",
    "arXiv": "a morning retries every quarter of an hour; if it stays so, see status.arxiv.org",
}


@dataclass(frozen=True, slots=True)
class Finding:
    """One line of the check. `exit_code` 0: no fault, though a `note` is something to know."""

    what: str
    message: str
    exit_code: int = 0
    note: bool = False


class Parts(Protocol):
    """Builds what a home's settings name. Each may raise ConfigError."""

    @property
    def templates(self) -> Templates: ...
    @property
    def prompt(self) -> object: ...
    @property
    def prices(self) -> object | None: ...
    def llm(self) -> LlmScorer: ...
    def smtp(self, timeout: float) -> SmtpTransport: ...
    def arxiv(self) -> ArxivFeed: ...


Dns = Callable[[str, str], list[str]]  # a name and a kind → records as in a zone file; none; or OSError: no answer


def dns_records(name: str, kind: str, nameserver: tuple[str, int] | None = None) -> list[str]:
    """Asks this machine's name servers, or the one at that address and port."""
    from dns import exception, resolver  # noqa: PLC0415 - most commands ask no DNS

    asked = resolver.Resolver(configure=nameserver is None)
    if nameserver:
        asked.nameservers, asked.port = [nameserver[0]], nameserver[1]
    try:
        return [record.to_text() for record in asked.resolve(f"{name}.", kind, lifetime=3.0)]
    except (resolver.NXDOMAIN, resolver.NoAnswer):
        return []
    except exception.DNSException as error:
        raise OSError(str(error)) from error


def findings(
    path: Path,
    environ: Mapping[str, str],
    build: Callable[[Home], Parts],
    now: datetime,
    *,
    offline: bool,
    dns: Dns = dns_records,
    free: Callable[[Path], int] = lambda folder: shutil.disk_usage(folder).free,
    patience: float = PATIENCE,
) -> Iterator[Finding]:
    """Every finding as soon as it is known, in an order that never changes."""
    end = time.monotonic() + patience
    if not path.is_dir():
        yield Finding("home", f"{path}: there is no such folder; name it with --home", exit_code=78)
        return
    settings, read = _read("settings", lambda: dotenv.load(path, environ))
    env = path / ".env"
    yield from read or [Finding("settings", f"{env}" if env.exists() else f"no {env}, so the defaults hold")]
    lists, read = _read("lists", lambda: load_lists(path, settings or Settings()))
    yield from read or _of_the_lists(lists or (), settings or Settings())
    home = Home(path, settings or Settings(), lists or ())
    parts = build(home)
    asked = _ask(home, parts, now, dns, patience) if settings and not offline else []
    yield from _tried("emails", lambda: _templates(home, parts))
    prompts = _tried("prompts", lambda: parts.prompt and "the prompt renders")
    yield from prompts
    if settings is None:
        yield Finding("the rest", "not checked: it needs the settings", exit_code=78)
        return
    if offline and settings.has_llm and not prompts[0].exit_code:
        yield from _read("scoring", lambda: parts.llm().close())[1]
    yield from _of_the_home(home, free)
    for server in asked:
        yield from server.until(end)


def _read(what: str, load: Callable[[], T]) -> tuple[T | None, list[Finding]]:
    """What there is, or every fault that makes it unusable."""
    try:
        return load(), []
    except ConfigError as error:
        return None, [Finding(what, str(problem), error.exit_code) for problem in error.problems]
    except PaperboyError as error:
        return None, [Finding(what, str(error), error.exit_code)]


def _tried(what: str, look: Callable[[], object]) -> list[Finding]:
    said, faults = _read(what, look)
    return faults or [Finding(what, str(said))]


# ── Files and home ───────────────────────────────────────────────────────────────────────────────────────────────────


def _of_the_lists(lists: tuple[MailingList, ...], settings: Settings) -> Iterator[Finding]:
    for each in lists:
        number, hour = len(each.subscribers), f"{each.send_at:%H:%M} {each.timezone.key}"
        people = f"{number} subscriber{'s' * (number > 1)}, {hour}" if number else "no subscribers, so it is never due"
        yield Finding("lists", f"{each.name}: {', '.join(each.categories)}; {people}")
    addresses = dict.fromkeys(who.address.casefold() for each in lists for who in each.subscribers)
    examples = [address for address in addresses if _EXAMPLE.search(address)]
    if examples and settings.mail_from:
        more = f" and {len(examples) - 1} more" if len(examples) > 1 else ""
        message = f"mail to {examples[0]}{more} reaches nobody (example addresses); put your readers into {LISTS_FILE}"
        yield Finding("lists", message, note=True)


def _templates(home: Home, parts: Parts) -> str:
    """Names the operator's own that no template of ours asks for: they may be misspelt."""
    parts.templates.check()
    own, *shipped = home.folders("emails")
    ours = {file.name for folder in shipped for file in folder.glob("*.j2")}
    strange = sorted({file.name for file in own.glob("*.j2")} - ours) if shipped else []
    return "the templates render" + (f"; only templates of yours can use {', '.join(strange)}" if strange else "")


def _of_the_home(home: Home, free: Callable[[Path], int]) -> Iterator[Finding]:
    settings = home.settings
    yield from _tried("database", lambda: _database(settings.paperboy_database))
    yield from _disk(settings.paperboy_database, free)
    yield from _modes(home.path, settings)
    if settings.uses_outbox:
        yield from _tried("mail", lambda: _outbox(settings.paperboy_outbox))
    elif settings.alert_to is None:
        yield Finding("alerts", "nobody is alerted when a morning fails; set ALERT_TO", note=True)
    else:
        yield Finding("alerts", f"{settings.alert_to.address} is alerted when a morning fails")


def _database(path: Path) -> str:
    if path.exists():
        with Store.open(path, check=True):
            return f"{path}"
    if not _can_be_made(path):
        raise StoreError(f"{path}: cannot be made; let this user write there, or set PAPERBOY_DATABASE")
    return f"{path} will be made by the first morning"


def _outbox(outbox: Path) -> str:
    if not _can_be_made(outbox / "Maildir"):
        raise PaperboyError(f"{outbox} cannot hold mail; let this user write there, or set PAPERBOY_OUTBOX")
    return f"no SMTP_HOST, so mail goes to the outbox {outbox}"


def _can_be_made(path: Path) -> bool:
    return _nearest(path).is_dir() and os.access(_nearest(path), os.W_OK)


def _nearest(path: Path) -> Path:
    """The nearest parent that is there, whatever it is."""
    return next(parent for parent in path.parents if parent.exists() or parent.is_symlink())


def _disk(database: Path, free_bytes: Callable[[Path], int]) -> Iterator[Finding]:
    folder = _nearest(database)
    with suppress(OSError):  # whoever writes there says so
        free = free_bytes(folder)
        told = f"{free / 1e9:,.1f} GB free at {folder}" if free >= 1e9 else f"{free / 1e6:.0f} MB free at {folder}"
        if free < LITTLE:
            why = "too little for a morning" if free < TOO_LITTLE else "and digests are kept there"
            told = f"only {told}, {why}; make room, or set PAPERBOY_DATABASE to a place on another disk"
        yield Finding("disk", told, exit_code=int(free < TOO_LITTLE), note=free < LITTLE)


def _modes(home: Path, settings: Settings) -> Iterator[Finding]:
    """What others than the owner can do with the home's private files."""
    env, database = home / ".env", settings.paperboy_database
    secret = settings.openai_api_key.get_secret_value() or settings.smtp_password.get_secret_value()
    theirs = {database: 0o077, database.parent: 0o022} | ({env: 0o077} if secret else {})
    for path in filter(Path.exists, theirs):
        mode = path.stat().st_mode & 0o7777
        if mode & theirs[path] and not mode & 0o1000:  # sticky, as /tmp: others replace no file of ours
            fix = f"chmod {'go-w' if path.is_dir() else '600'} {shlex.quote(str(path))}"
            yield Finding("privacy", f"{path} is open to others than its owner (mode {mode:o}); {fix}", note=True)


# ── Servers ──────────────────────────────────────────────────────────────────────────────────────────────────────────


class _Asked(threading.Thread):
    """A server that is being asked. A daemon thread: an executor's would make the program wait for a silent server."""

    def __init__(self, look: Callable[[], list[Finding]], silence: Finding) -> None:
        super().__init__(name="check", daemon=True)
        self._look, self._found = look, [silence]
        self._bug: BaseException | None = None
        self.start()

    def run(self) -> None:
        try:
            self._found = self._look()
        except BaseException as error:  # noqa: BLE001 - raised where the result is asked for
            self._bug = error

    def until(self, end: float) -> Iterator[Finding]:
        """What came of it until `end`, of the monotonic clock."""
        self.join(max(0.0, end - time.monotonic()))
        if self._bug:
            raise self._bug
        for finding in self._found:
            fix = _FIXES.get(finding.what, "") if finding.exit_code == 1 else ""
            said = finding.message.rstrip(".")
            yield replace(finding, message=f"{said}; {fix}") if fix and not _SAYS_THE_FIX.search(said) else finding


def _ask(home: Home, parts: Parts, now: datetime, dns: Dns, patience: float) -> list[_Asked]:
    """Start to ask every server that the settings name, in the order in which they are reported."""
    settings, asked = home.settings, []

    def ask(what: str, server: str, look: Callable[[], list[Finding]], *, note: bool = False) -> None:
        silence = f"{server} did not answer within {patience:g} s"
        asked.append(_Asked(look, Finding(what, silence, exit_code=int(not note), note=note)))

    if not settings.uses_outbox:
        ask("mail", f"{settings.smtp_host}:{settings.smtp_port}", lambda: _mail(settings, parts, now))
        domain = settings.mail_from.address.rpartition("@")[2].lower() if settings.mail_from else ""
        if not _NOWHERE.fullmatch(domain):
            ask("sender", f"DNS, asked about {domain},", lambda: _sender(domain, dns), note=True)
    ask("scoring", _host(settings) or "api.openai.com", lambda: _scoring(settings, parts))
    ask("arXiv", settings.arxiv_api_url, lambda: _tried("arXiv", lambda: _arxiv(home, parts)))
    return asked


def _mail(settings: Settings, parts: Parts, now: datetime) -> list[Finding]:
    sender = settings.mail_from.address if settings.mail_from else ""
    probed, faults = _read("mail", lambda: parts.smtp(timeout=SMTP_SECONDS).probe(sender))
    if probed is None:
        return faults
    found, ends = [Finding("mail", probed.words)], probed.certificate_until
    if ends is not None and ends - now < RENEWED:
        message = f"the certificate of {settings.smtp_host} ends on {ends:%a %d %b %Y}; have it renewed"
        found.append(Finding("mail", message, note=True))
    return found


def _scoring(settings: Settings, parts: Parts) -> list[Finding]:
    if not settings.has_llm:
        words = "no OPENAI_API_KEY and no OPENAI_BASE_URL, so the embedded scorer ranks by words; no LLM judges"
        return [Finding("scoring", words)]
    scorer, found = _read("scoring", parts.llm)
    if scorer:
        with closing(scorer):
            found = _tried("scoring", scorer.probe)
    somebody_pays = settings.openai_api_key.get_secret_value() and not is_loopback(_host(settings))
    if somebody_pays and parts.prices is None:
        message = f"the price of {settings.openai_model} is unknown, so digests and status show tokens and no cost"
        found.append(Finding("scoring", f"{message}; set LLM_PRICE_INPUT and LLM_PRICE_OUTPUT", note=True))
    return found


def _host(settings: Settings) -> str:
    return urlsplit(settings.openai_base_url).hostname or ""


def _arxiv(home: Home, parts: Parts) -> str:
    category = next((category for each in home.lists for category in each.categories), "cs.LG")
    total = parts.arxiv().probe(category)
    return f"{home.settings.arxiv_api_url} answers; {total:,} paper{'s' * (total > 1)} in {category}"


def _sender(domain: str, dns: Dns) -> list[Finding]:
    """Whether the records exist by which replies find the sender's domain, and other servers trust it."""
    parents = [domain.split(".", start)[-1] for start in range(domain.count("."))]
    try:
        mx = dns(domain, "MX") or dns(domain, "A") or dns(domain, "AAAA")
        spf = [record for record in dns(domain, "TXT") if record.lower().startswith('"v=spf1')]
        policies = (record for name in parents for record in dns(f"_dmarc.{name}", "TXT"))
        dmarc = [record for record in policies if record.lower().startswith('"v=dmarc1')]
    except OSError:
        return [Finding("sender", f"DNS does not answer; MX, SPF and DMARC of {domain} not checked", note=True)]
    if any(record.endswith(" .") for record in mx):  # RFC 7505
        message = f"{domain} says that it takes no mail, so bounces and replies get lost"
        return [Finding("MX", f"{message}; fix its MX record or MAIL_FROM", exit_code=1)]
    needed = {
        "MX": (mx, "bounces and replies get lost; add one, or fix MAIL_FROM"),
        "SPF": (spf, "many servers distrust mail without; publish the one that your mail provider names"),
        "DMARC": (dmarc, f'large providers want one; publish the TXT record "v=DMARC1; p=none" at _dmarc.{domain}'),
    }
    return [
        Finding(kind, f"{domain} has a record") if found else Finding(kind, f"{domain} has no record: {why}", note=True)
        for kind, (found, why) in needed.items()
    ]
