"""Settings from the environment, `.env` and systemd's credentials.

The environment wins over `.env`, which wins over a file of the setting's name in
`$CREDENTIALS_DIRECTORY`. An empty value means the default; in `.env` it gives way to a credential
and to any other line. Of two values in `.env` the last applies.
No message shows what was written, since any line or value may be a misplaced password.
"""

import io
import re
import shlex
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from datetime import date, time
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import Any, Literal
from urllib.parse import urlsplit
from zoneinfo import ZoneInfo

from dotenv.parser import parse_stream

from paperboy.edges import files
from paperboy.edges.text import did_you_mean
from paperboy.errors import ConfigError, Problem
from paperboy.home import values as notation
from paperboy.home.values import Parser, integer, number, one_line
from paperboy.models import BRAND, Subscriber
from paperboy.sources.arxiv import hosts


@dataclass(frozen=True, slots=True)
class Secret:
    """Text that no repr, str or format shows."""

    value: str = field(repr=False)


def _secret(text: str) -> Secret:
    if not (text.isascii() and text.isprintable()):
        raise ValueError("only printable ASCII characters can be sent to a server")
    return Secret(text)


def _key(text: str) -> Secret:
    if " " in text.strip():
        raise ValueError("a key contains no spaces")
    return _secret(text.strip())


def _headers(text: str) -> tuple[tuple[str, str], ...]:
    """Read pairs of `name: value`, separated by semicolons or line ends."""
    headers = list[tuple[str, str]]()
    for pair in filter(str.strip, re.split("[;\n]", text)):
        name, colon, value = (part.strip() for part in pair.partition(":"))
        if not (colon and value and re.fullmatch(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+", name)):
            raise ValueError("must be pairs such as x-api-key: abc; x-team: papers")
        if name.lower() in _OUR_HEADERS:
            raise ValueError(f"{_OUR_HEADERS[name.lower()]} is set by Paperboy; leave it out")
        headers.append((name, _secret(value).value))

    return tuple(headers)


def _login(text: str) -> str:
    """Read a user name, with the characters that a password may have."""
    return _secret(text.strip()).value


def _command(text: str) -> tuple[str, ...]:
    line = one_line(text)
    try:
        return tuple(shlex.split(line))
    except ValueError:
        fault = "a quote is left open, or nothing follows a last backslash"
        raise ValueError(f"{fault}; close it as in a shell") from None


def _heartbeat(text: str) -> Secret:
    """Read a URL that may have a query, all of which is a secret."""
    notation.url(text.partition("?")[0], "https://hc-ping.com/your-uuid")
    return _secret(one_line(text))


def _api_base(text: str) -> str:
    """Read the URL that stands before /chat/completions."""
    url = notation.url(text, "https://server.example.org/v1")
    if suffix := re.search("/(chat/completions|completions|responses|models)$", url):
        raise ValueError(f"leave out {suffix[0]}, which Paperboy adds where it is needed")
    return url


def _listen(text: str) -> tuple[str, int]:
    """Read a host and its port; an IPv6 address is in brackets."""
    host, _, port = one_line(text).rpartition(":")
    try:
        return notation.host(host.strip("[]")), integer(1, 65535)(port)
    except ValueError:
        examples = "such as 127.0.0.1:8025 or [::1]:8025"
        raise ValueError(f"must be an address and a port, {examples}") from None


def _selector(text: str) -> str:
    """Read the name of a DKIM key, which is part of a DNS name."""
    name = text.strip()
    if not re.fullmatch(r"[A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?", name):
        example = "such as s2026, as in s2026._domainkey.example.org"
        raise ValueError(f"must be the selector alone, {example}")
    return name


def _auto_or(read: Parser, automatic: object) -> Parser:
    def value(text: str) -> Any:
        if text.strip().casefold() == "auto":
            return automatic
        try:
            return read(text)
        except ValueError as error:
            raise ValueError(f"{error}, or auto") from None

    return value


def _path(text: str) -> Path:
    """Read a path, which may be relative to the home."""
    if text.startswith("~"):
        raise ValueError("~ is not expanded here; write the full path, or one relative to the home")
    path = Path(one_line(text))
    if len(text.encode()) > 1000 or any(len(name.encode()) > 200 for name in path.parts):
        raise ValueError("is too long for a path: at most 1000 bytes, and 200 for each name in it")
    return path


def _scheduler(text: str) -> str:
    """Read the address of a Dask scheduler, which has TLS unless it is on this machine."""
    address = one_line(text).rstrip("/")
    scheme, _, place = address.partition("://")
    host, _ = _listen(place or address)
    if scheme == "tls" or (scheme == "tcp" and notation.is_loopback(host)):
        return address

    reason = "since whoever reaches a scheduler without TLS can run programs on it"
    raise ValueError(f"must begin with tls://, {reason}; tcp:// is for one on this machine")


def _brand(text: str) -> str:
    """Read a name that fits on a line above a mail's title."""
    name = one_line(text)
    if len(name) > _LONGEST_BRAND:
        raise ValueError(f"must have at most {_LONGEST_BRAND} characters")
    return name


def _mailbox(text: str) -> Subscriber:
    try:
        mailbox = notation.mailbox(text)
    except ValueError:  # its message would show the text
        examples = "such as ada@example.org or Ada Lovelace <ada@example.org>"
        raise ValueError(f"must be one address, {examples}") from None
    if not mailbox.address.isascii():  # subscribers may have other addresses
        raise ValueError("must be an address in ASCII, since not every mail server takes others")
    return mailbox


Share = float | Literal["auto"]  # of a day's papers, scored by the LLM; 1: all

_BIORXIV = "https://api.biorxiv.org"  # serves medRxiv, too

_LONGEST_BRAND = 40

MOST_CONNECTIONS = 20  # to the mail server, if their number is "auto"

_share = _auto_or(number(0, 1), "auto")
_connections = _auto_or(integer(1, 50), 0)
_workers = _auto_or(integer(1, 256), 0)
_price = number(0, 1_000_000, kind=Decimal)
_security = notation.one_of("starttls", "tls", "none")
_log_level = notation.one_of("DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL")

_NO_SECRET = Secret("")

_OUR_HEADERS = {
    name.lower(): name
    for name in ("Accept-Encoding", "Connection", "Content-Length", "Content-Type", "Host")
}


def _setting(read: Parser, default: str = "", *, empty: object = "", shown: bool = True) -> Any:
    """Return a field whose value is read from text. `default` is the text in `.env.example`; if it
    is empty, the value is `empty`. `shown`: in a repr.
    """
    value = read(default) if default else empty
    return field(default=value, repr=shown, metadata={"read": read, "default": default})


@dataclass(frozen=True, slots=True)
class Settings:
    """Settings of a home, read and checked. An attribute is a setting's name in lower case;
    `.env.example` explains them.
    """

    openai_api_key: Secret = _setting(_key, empty=_NO_SECRET)
    openai_base_url: str = _setting(_api_base)  # empty: OpenAI's
    openai_model: str = _setting(one_line, "gpt-6-luna")
    openai_reasoning_effort: str = _setting(one_line, "low")
    openai_service_tier: str = _setting(one_line)
    # For a gateway; the values may be secrets.
    openai_headers: tuple[tuple[str, str], ...] = _setting(_headers, empty=(), shown=False)

    llm_batch_size: int = _setting(integer(1, 200), "16")  # papers in one call
    llm_concurrency: int = _setting(integer(1, 1000), "8")
    llm_timeout_seconds: float = _setting(number(0.1, 3600), "120")
    llm_budget_usd: float = _setting(number(0, 1_000_000), "0")  # per day; 0: no limit
    llm_shortlist: Share = _setting(_share, "1")
    llm_price_input: Decimal | None = _setting(_price, empty=None)  # USD per million tokens
    llm_price_cached_input: Decimal | None = _setting(_price, empty=None)
    llm_price_cache_write: Decimal | None = _setting(_price, empty=None)
    llm_price_output: Decimal | None = _setting(_price, empty=None)

    smtp_host: str = _setting(notation.host)  # empty: mail goes to the outbox
    smtp_port: int = _setting(integer(1, 65535), "587")
    smtp_security: Literal["starttls", "tls", "none"] = _setting(_security, "starttls")
    smtp_username: str = _setting(_login)
    smtp_password: Secret = _setting(_secret, empty=_NO_SECRET)
    # The words of a command, which may contain a secret.
    smtp_token_command: tuple[str, ...] = _setting(_command, empty=(), shown=False)
    smtp_connections: int = _setting(_connections, "auto")  # 0: grows while the server keeps up
    smtp_max_per_minute: int = _setting(integer(0, 1_000_000), "0")  # 0: no limit

    mail_from: Subscriber | None = _setting(_mailbox, empty=None)
    mail_reply_to: Subscriber | None = _setting(_mailbox, empty=None)
    alert_to: Subscriber | None = _setting(_mailbox, empty=None)
    brand: str = _setting(_brand, BRAND)

    dkim_selector: str = _setting(_selector)
    dkim_key: Path | None = _setting(_path, empty=None)  # a file; None: the relay signs

    # Without a trailing slash; empty: there is no site.
    web_url: str = _setting(partial(notation.secure_url, example="https://papers.example.org"))
    web_listen: tuple[str, int] = _setting(_listen, "127.0.0.1:8025")

    arxiv_api_url: str = _setting(partial(notation.url, example=hosts.API), hosts.API)
    arxiv_feed_url: str = _setting(partial(notation.url, example=hosts.FEED), hosts.FEED)
    arxiv_delay_seconds: float = _setting(number(0, 3600), "3")
    # Evenings (US Eastern) without an announcement.
    arxiv_holidays: frozenset[date] = _setting(notation.dates, empty=frozenset())
    arxiv_lookback_days: int = _setting(integer(1, 30), "7")

    zotero_api_key: Secret = _setting(_key, empty=_NO_SECRET)  # of libraries that are not public

    biorxiv_api_url: str = _setting(partial(notation.url, example=_BIORXIV), _BIORXIV)

    send_at: time = _setting(notation.time_of_day, "07:00")  # local
    timezone: ZoneInfo = _setting(notation.timezone, "UTC")
    give_up_after_hours: float = _setting(number(0, 23), "6")
    heartbeat_url: Secret = _setting(_heartbeat, empty=_NO_SECRET)

    keep_days: int = _setting(integer(31, 36_500), "365")

    workers: int = _setting(_workers, "auto")  # processes that compose; 0: as many as help
    cluster: str = _setting(_scheduler)  # a Dask scheduler, whose workers compose; empty: none

    paperboy_database: Path = _setting(_path, "data/paperboy.db")
    paperboy_outbox: Path = _setting(_path, "outbox")
    log_level: str = _setting(_log_level, "INFO")

    @property
    def has_llm(self) -> bool:
        """Check whether an LLM scores, rather than the embedded scorer."""
        return bool(self.openai_api_key.value or self.openai_base_url)

    @property
    def learns_from_scores(self) -> bool:
        """Check whether the shortlist or the embedded scorer learns from an LLM's scores."""
        return self.llm_shortlist != 1 or not self.has_llm

    @property
    def uses_outbox(self) -> bool:
        return not self.smtp_host


# The default of each setting, as a person would write it.
SETTINGS: Mapping[str, str] = {f.name.upper(): f.metadata["default"] for f in fields(Settings)}

_PARSERS = {f.name.upper(): f.metadata["read"] for f in fields(Settings)}

_MOST_BYTES = 100_000  # of a file; each line takes 0.1 ms, for the parser and suggestions

# Other programs' names for a setting, each of which resembles the name of a different one.
_OTHER_NAMES = {"OPENAI_API_BASE": "OPENAI_BASE_URL", "OPENAI_API_HOST": "OPENAI_BASE_URL"}

_NEEDS = {  # settings that have no effect without others
    "SMTP_HOST": ("MAIL_FROM",),
    "DKIM_KEY": ("DKIM_SELECTOR", "MAIL_FROM"),
    **dict.fromkeys(
        (name for name in SETTINGS if "_PRICE_" in name), ("LLM_PRICE_INPUT", "LLM_PRICE_OUTPUT")
    ),
}

_Given = dict[str, tuple[str, str]]  # text and place of each setting that is given


def load(home: Path, environ: Mapping[str, str], folder: Path | None = None) -> Settings:
    """Return the settings of a home, with absolute paths. Raises ConfigError with all problems.

    `folder` contains the `.env`, if that is not the home itself.
    """
    problems = list[Problem]()
    given = _given(folder or home, environ, problems)
    values = dict[str, Any]()
    for name, (text, place) in given.items():
        try:
            values[name.lower()] = _PARSERS[name](text)
        except ValueError as error:
            problems.append(Problem(place, f"{name}: {error}"))

    settings = Settings(**values)
    for name, message in _conflicts(settings, given):
        _, place = given[name]
        problems.append(Problem(place, f"{name}: {message}"))

    if problems:
        raise ConfigError(sorted(problems, key=lambda problem: (len(problem.place), problem.place)))

    return replace(
        settings,
        paperboy_database=home / settings.paperboy_database,
        paperboy_outbox=home / settings.paperboy_outbox,
        dkim_key=settings.dkim_key and home / settings.dkim_key,
    )


def database(home: Path, environ: Mapping[str, str], folder: Path) -> Path:
    """Return the path of the database, even if other settings in the folder are wrong."""
    name = "PAPERBOY_DATABASE"
    text, _ = _given(folder, environ, []).get(name, (SETTINGS[name], ""))
    return home / text.strip()


def ignored(home: Path) -> list[Problem]:
    """Return the lines of `.env` that have no effect, which is no fault."""
    notes = list[Problem]()
    _from_dotenv(home / ".env", [], notes)
    return notes


def _given(folder: Path, environ: Mapping[str, str], problems: list[Problem]) -> _Given:
    given = _Given()
    credentials = environ.get("CREDENTIALS_DIRECTORY", "")
    for name in SETTINGS if credentials else ():
        try:
            text = files.read_text(Path(credentials, name), _MOST_BYTES)
            given[name] = text.rstrip("\n"), "credentials"
        except FileNotFoundError:
            continue
        except ValueError as error:
            problems.append(Problem("credentials", f"{name}: its file {error}"))

    given |= _from_dotenv(folder / ".env", problems, [])
    given |= {name: (environ[name], "environment") for name in SETTINGS if name in environ}
    return {name: (text, place) for name, (text, place) in given.items() if text.strip()}


def _from_dotenv(path: Path, problems: list[Problem], notes: list[Problem]) -> _Given:
    """Return the settings of a `.env`. Its faults are added to the problems, ignored lines to the
    notes.
    """
    text = ""
    given = _Given()
    try:
        text = files.read_text(path, _MOST_BYTES)
    except FileNotFoundError:
        pass
    except ValueError as error:
        problems.append(Problem(".env", str(error)))

    for binding in parse_stream(io.StringIO(text)):
        key = binding.key
        lines = binding.original.string
        blank = lines[: len(lines) - len(lines.lstrip())]  # the parser adds it to the binding
        number = binding.original.line + blank.count("\n")
        place = f".env:{number}"
        if key and key.isidentifier() and binding.value is not None:
            if key in SETTINGS and not binding.value.strip():
                continue  # left from the template, below a recipe that was filled in
            if key in SETTINGS:
                before, first = given.get(key, (binding.value, place))
                if before != binding.value:
                    fix = f"the one in line {number} applies; keep one of them"
                    notes.append(Problem(first, f"{key} has no effect: {fix}"))
                given[key] = binding.value, place
            elif meant := did_you_mean(_OTHER_NAMES.get(key, key), SETTINGS, cutoff=0.8):
                problems.append(Problem(place, f"{key}: unknown setting{meant}"))
            else:
                notes.append(Problem(place, "Paperboy has no setting of this name, and ignores it"))
        elif key is not None or binding.error:  # else a comment, or the end
            message = "this line is not NAME=value; fix it, close its quotes, or begin it with #"
            problems.append(Problem(place, message))

    return given


def _conflicts(settings: Settings, given: Collection[str]) -> Iterator[tuple[str, str]]:
    """Yield each setting that conflicts with others, with a message and the fix."""
    for name, needed in _NEEDS.items():
        missing = [other for other in needed if other not in given]
        if name in given and missing:
            yield name, f"needs {' and '.join(missing)} to be set, too"

    has_secret = "SMTP_PASSWORD" in given or "SMTP_TOKEN_COMMAND" in given
    if has_secret and settings.smtp_security == "none":
        fix = "use starttls or tls, or leave out the login"
        yield "SMTP_SECURITY", f"no password or token is sent in the clear; {fix}"

    url = urlsplit(settings.openai_base_url)
    is_plain = url.scheme == "http" and not notation.is_loopback(url.hostname or "")
    for name in ("OPENAI_API_KEY", "OPENAI_HEADERS"):
        if is_plain and name in given:
            fix = f"use https, or leave {name} empty"
            yield "OPENAI_BASE_URL", f"a key is not sent over plain http to another machine; {fix}"

    feed = hosts.announcements(settings.arxiv_api_url, settings.arxiv_feed_url)
    asks_arxiv = hosts.is_arxiv(settings.arxiv_api_url) or hosts.is_arxiv(feed)
    if asks_arxiv and settings.arxiv_delay_seconds < 3:
        yield "ARXIV_DELAY_SECONDS", "arxiv.org asks for 3 seconds between requests; set 3 or more"
