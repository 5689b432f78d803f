"""`.env`, the environment and systemd's credentials → `Settings`.

The environment wins over `.env`, which wins over a file of the setting's name in `$CREDENTIALS_DIRECTORY`. An empty
value is the default; an empty line in `.env` leaves the word to the credentials. No message holds a line or a secret,
since a mistyped line may be a password.
"""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from datetime import date, time
from decimal import Decimal
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeVar
from urllib.parse import urlsplit
from zoneinfo import ZoneInfo

from dotenv.parser import Binding, parse_stream
from pydantic import SecretStr

from paperboy.config import values as notation
from paperboy.config.values import Mailbox, did_you_mean, one_line
from paperboy.errors import ConfigError
from paperboy.models import Problem

T = TypeVar("T")

_OTHERS_NAMES = frozenset({"PAPERBOY_HOME"})  # read by the command line, and not a misspelling of ours
_IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def _text(text: str) -> str:
    return one_line(text) if text else ""


def _credential(text: str) -> SecretStr:
    if not all(" " <= character <= "~" for character in text):
        raise ValueError("only printable ASCII characters can be sent to a server")
    return SecretStr(text)


def _key(text: str) -> SecretStr:
    if " " in text.strip():
        raise ValueError("a key has no spaces in it")
    return _credential(text.strip())


def _login(text: str) -> str:
    return _credential(text.strip()).get_secret_value()


def _price(text: str) -> Decimal | None:
    if text and not notation.DECIMAL.fullmatch(text.strip()):
        raise ValueError("must be USD per million tokens, as 0.25")
    return Decimal(text.strip()) if text else None


def _api_base(text: str) -> str:
    url = notation.url(text)
    if url.endswith("/chat/completions"):
        raise ValueError("must end before /chat/completions, which is added to it")
    return url


def _mailbox(text: str) -> Mailbox | None:
    return notation.mailbox(text) if text else None


def _path(text: str) -> Path:
    if text.startswith("~"):
        raise ValueError("~ is not understood here; write the whole path, or one inside the home")
    return Path(_text(text))


def _setting(read: Callable[[str], T], default: str = "") -> T:
    """A field whose value is read from text; the default is the text that `.env.example` shows."""
    value: T = field(default=read(default), metadata={"read": read, "default": default})
    return value


@dataclass(frozen=True, slots=True)
class Settings:
    """Every setting, read and checked. An attribute is a setting's name in lower case; `.env.example` explains each."""

    openai_api_key: SecretStr = _setting(_key)
    openai_base_url: str = _setting(_api_base)  # empty: OpenAI's
    openai_model: str = _setting(_text, "gpt-6-luna")
    openai_reasoning_effort: str = _setting(_text, "low")
    openai_service_tier: str = _setting(_text)
    llm_batch_size: int = _setting(notation.whole(1, 200), "16")  # papers in one call
    llm_concurrency: int = _setting(notation.whole(1, 100), "8")
    llm_timeout_seconds: float = _setting(notation.number(0.1, 3600), "120")
    llm_budget_usd: float = _setting(notation.number(0), "0")  # per day; 0: none
    llm_price_input: Decimal | None = _setting(_price)  # prices in USD per million tokens
    llm_price_cached_input: Decimal | None = _setting(_price)
    llm_price_cache_write: Decimal | None = _setting(_price)
    llm_price_output: Decimal | None = _setting(_price)
    smtp_host: str = _setting(notation.host)  # empty: mail goes to the outbox
    smtp_port: int = _setting(notation.whole(1, 65535), "587")
    smtp_security: Literal["starttls", "tls", "none"] = _setting(notation.one_of("starttls", "tls", "none"), "starttls")
    smtp_username: str = _setting(_login)
    smtp_password: SecretStr = _setting(_credential)
    smtp_connections: int = _setting(notation.whole(1, 50), "1")
    smtp_max_per_minute: int = _setting(notation.whole(0), "0")  # 0: no limit
    mail_from: Mailbox | None = _setting(_mailbox)
    mail_reply_to: Mailbox | None = _setting(_mailbox)
    alert_to: Mailbox | None = _setting(_mailbox)
    arxiv_api_url: str = _setting(notation.url, "https://export.arxiv.org/api/query")
    arxiv_delay_seconds: float = _setting(notation.number(0, 3600), "3")
    arxiv_holidays: frozenset[date] = _setting(notation.dates)  # evenings (US Eastern) without an announcement
    arxiv_lookback_days: int = _setting(notation.whole(1, 30), "7")
    send_at: time = _setting(notation.time_of_day, "07:00")  # local
    timezone: ZoneInfo = _setting(notation.timezone, "UTC")
    give_up_after_hours: float = _setting(notation.number(0, 23), "6")
    keep_days: int = _setting(notation.whole(31), "365")
    paperboy_database: Path = _setting(_path, "data/paperboy.db")
    paperboy_outbox: Path = _setting(_path, "outbox")
    log_level: str = _setting(notation.one_of("DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL"), "INFO")

    @property
    def has_llm(self) -> bool:
        """Whether an LLM scores, and not the embedded scorer."""
        return bool(self.openai_api_key.get_secret_value() or self.openai_base_url)

    @property
    def uses_outbox(self) -> bool:
        return not self.smtp_host


# Each setting's name, and its default as a person would write it.
SETTINGS: Mapping[str, str] = {f.name.upper(): f.metadata["default"] for f in fields(Settings)}

_READERS: Mapping[str, Callable[[str], Any]] = {f.name.upper(): f.metadata["read"] for f in fields(Settings)}
_ANOTHER_SETTING = re.compile(rf"\b({'|'.join(SETTINGS)})=")


class _Given(NamedTuple):
    text: str
    place: str


def load(home: Path, environ: Mapping[str, str], files: Path | None = None) -> Settings:
    """The settings of this home, its paths made whole. Raises `ConfigError` with everything that is wrong. `files` is
    the folder of the `.env`, where that is not the home itself.
    """
    problems: list[Problem] = []
    given = _from_credentials(environ, problems)
    given |= _from_dotenv((files or home) / ".env", problems)
    given |= {name: _Given(environ[name], "environment") for name in SETTINGS if name in environ}
    values: dict[str, Any] = {}
    broken = set()
    for name, (text, place) in given.items():
        try:
            if text.strip():
                values[name.lower()] = _read(name, text)
        except ValueError as error:
            problems.append(Problem(place, f"{name}: {error}"))
            broken.add(name)
    settings = Settings(**values)
    for names, message in _conflicts(settings):
        if not broken.intersection(names):
            place = next((given[name].place for name in names if name in given), ".env")
            problems.append(Problem(place, f"{names[0]}: {message}"))
    if problems:
        raise ConfigError(sorted(problems, key=_by_place))
    return replace(
        settings,
        paperboy_database=home / settings.paperboy_database,
        paperboy_outbox=home / settings.paperboy_outbox,
    )


def _by_place(problem: Problem) -> tuple[str, int]:
    file, _, line = problem.place.partition(":")
    return file, int(line or 0)


def _read(name: str, text: str) -> Any:
    if "\n" in text:
        raise ValueError("the value runs over several lines; is a quote left open?")
    if _ANOTHER_SETTING.search(text):
        raise ValueError("another setting stands in its value; give each a line of its own")
    return _READERS[name](text)


def _conflicts(settings: Settings) -> Iterator[tuple[tuple[str, ...], str]]:
    """Settings that are right alone and wrong together: the names, the one to blame first, and what to do."""
    key, password = (secret.get_secret_value() for secret in (settings.openai_api_key, settings.smtp_password))
    if settings.smtp_host and not settings.mail_from:
        yield ("SMTP_HOST", "MAIL_FROM"), "mail needs a sender; set MAIL_FROM too, as Paperboy <papers@example.org>"
    if password and not settings.smtp_username:
        yield ("SMTP_PASSWORD", "SMTP_USERNAME"), "a password needs a user; set SMTP_USERNAME too"
    if settings.smtp_username and not password:
        yield ("SMTP_USERNAME", "SMTP_PASSWORD"), "a user needs a password; set SMTP_PASSWORD too"
    if password and settings.smtp_security == "none":
        fix = "use starttls or tls, or leave out SMTP_USERNAME and SMTP_PASSWORD"
        yield ("SMTP_SECURITY", "SMTP_PASSWORD"), f"a password is never sent in the clear; {fix}"
    url = urlsplit(settings.openai_base_url)
    if key and url.scheme == "http" and not notation.is_loopback(url.hostname or ""):
        fix = "use https, or leave OPENAI_API_KEY empty"
        yield ("OPENAI_BASE_URL", "OPENAI_API_KEY"), f"a key is not sent over plain http to another machine; {fix}"
    host = (urlsplit(settings.arxiv_api_url).hostname or "").rstrip(".")
    if settings.arxiv_delay_seconds < 3 and (host == "arxiv.org" or host.endswith(".arxiv.org")):
        yield ("ARXIV_DELAY_SECONDS", "ARXIV_API_URL"), "arxiv.org asks for 3 seconds between requests; set 3 or more"
    prices = {name: getattr(settings, name.lower()) for name in SETTINGS if name.startswith("LLM_PRICE_")}
    missing = [name for name in ("LLM_PRICE_INPUT", "LLM_PRICE_OUTPUT") if prices[name] is None]
    present = [name for name, price in prices.items() if price is not None]
    if present and missing:
        yield (present[0], *missing), f"a price needs {' and '.join(missing)} beside it"


def _from_credentials(environ: Mapping[str, str], problems: list[Problem]) -> dict[str, _Given]:
    folder = environ.get("CREDENTIALS_DIRECTORY")
    given = {}
    for name in SETTINGS if folder else ():
        try:
            text = (Path(folder or "") / name).read_text("utf-8")
        except FileNotFoundError:
            continue
        except (OSError, UnicodeDecodeError) as error:
            problems.append(Problem("credentials", f"{name}: the file cannot be read: {_reason(error)}"))
        else:
            given[name] = _Given(text.rstrip("\r\n"), "credentials")
    return given


def _from_dotenv(path: Path, problems: list[Problem]) -> dict[str, _Given]:
    try:
        text = path.read_bytes().decode("utf-8")
    except FileNotFoundError:
        if path.is_symlink():
            problems.append(Problem(".env", "is a link to a file that does not exist; fix or remove it"))
        return {}
    except IsADirectoryError:
        problems.append(Problem(".env", "is a folder; put a file in its place, as .env.example"))
        return {}
    except (OSError, UnicodeDecodeError) as error:
        problems.append(Problem(".env", f"cannot be read: {_reason(error)}"))
        return {}
    given = {}
    for binding in parse_stream(io.StringIO(text.replace("\r\n", "\n"))):
        own = binding.original.string
        empty = own[: len(own) - len(own.lstrip())].count("\n")  # lines before it, which the parser counts as its own
        place = f".env:{binding.original.line + empty}"
        fault = _fault(binding)
        if fault:
            problems.append(Problem(place, fault))
        elif binding.key is not None and binding.key in SETTINGS:
            given[binding.key] = _Given(binding.value or "", place)
    return {name: value for name, value in given.items() if value.text.strip()}


def _fault(binding: Binding) -> str:
    """What is wrong with a line of `.env`; nothing if it is ours and sound, or somebody else's."""
    key = binding.key
    if key is None and not binding.error:
        return ""  # a comment, or the end
    if key is None or binding.value is None or not _IDENTIFIER.fullmatch(key):
        return "this line is not NAME=value; fix it, close its quotes, or begin it with #"
    if key in SETTINGS or key in _OTHERS_NAMES:
        return ""
    meant = did_you_mean(key, SETTINGS, cutoff=0.8)
    return f"unknown setting {key!r}{meant}" if meant else ""


def _reason(error: OSError | UnicodeDecodeError) -> str:
    if isinstance(error, UnicodeDecodeError):
        return "it is not UTF-8 text; save it as UTF-8"
    return f"{error.strerror}; it must be a file that Paperboy's user may read"
