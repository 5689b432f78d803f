"""Parsers of values as people write them: addresses, times of day, timezones, numbers, URLs.

Each takes text and raises `ValueError` with one sentence for the person who wrote it.
"""

import re
from collections.abc import Callable
from contextlib import suppress
from datetime import date, time
from email.utils import unquote
from functools import lru_cache, partial
from ipaddress import ip_address
from typing import Any
from urllib.parse import urlsplit
from zoneinfo import ZoneInfo, available_timezones

from email_validator import EmailNotValidError, validate_email

from paperboy.edges.text import did_you_mean
from paperboy.models import Subscriber

Parser = Callable[[str], Any]

# Domains that do not exist on the internet, but may name a mail server on this machine or network.
_LOCAL_DOMAIN = re.compile(r"(?ai)[@.](localhost|local|test)$")

# Also line ends and lone surrogates.
_CONTROL = re.compile("[\0-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")

_NAME_AND_ADDRESS = re.compile(r"(?P<name>.*?)\s*<(?P<address>[^<>]*)>")

# At most 254 characters, 64 of them before the @. An xn-- domain may be longer in Unicode.
_PLAIN = re.compile(
    r"(?=.{1,254}$)(?=.{1,64}@)([A-Za-z0-9]+(?:[._+-][A-Za-z0-9]+)*)@((?!.*--)[A-Za-z0-9.-]+)"
)

# As in Robert C. Kennicutt, Jr.
_SUFFIX = re.compile(r"(jr|sr|ii|iii|iv|ph\.? ?d)\.?", re.IGNORECASE)

# Language, script, region and variants of a BCP 47 tag.
_LANGUAGE = re.compile(
    r"[a-z]{2,3}(-[a-z]{4})?(-([a-z]{2}|[0-9]{3}))?(-([a-z0-9]{5,8}|[0-9][a-z0-9]{3}))*",
    re.ASCII | re.IGNORECASE,
)

# Of whole hours from UTC, as UTC+1 or GMT -05:00.
_OFFSET = re.compile(r"(?:UTC|GMT)? ?([+-])([0-9]{1,2})(?::?00)?", re.IGNORECASE)

_SEVERAL = re.compile(r"@[^\s,;@]+[\s,;]+[^@]*@")  # addresses in one line

# A DNS name or an IP address.
_HOST = re.compile(r"[\w-]{1,63}(\.[\w-]{1,63})*\.?|([0-9A-Fa-f]*:){2}[0-9A-Fa-f:.]*")


def one_line(text: str) -> str:
    """Return the text without space around it. Raises ValueError for empty or long text, control
    characters and line ends.
    """
    text = text.strip()
    if len(text) > 2000:
        raise ValueError("must have at most 2000 characters")
    if not text:
        raise ValueError("is empty")
    if not text.isprintable() and (match := _CONTROL.search(text)):
        code = f"U+{ord(match[0]):04X}"
        raise ValueError(f"contains a control character ({code}); write one line of plain text")

    return text


def author(text: str) -> str:
    """Read an author's name as papers spell it: `Rubin, Vera` (BibTeX, ADS) becomes Vera Rubin."""
    name = one_line(text)
    surname, _, given = map(str.strip, name.partition(","))
    if not surname or not given or "," in given:
        return name
    return f"{surname} {given}" if _SUFFIX.fullmatch(given) else f"{given} {surname}"


def mailbox(text: str) -> Subscriber:
    """Read `ada@example.org` or `Ada Lovelace <ada@example.org>`, without a DNS query.

    Local domains (`localhost`, `*.local`, `*.test`) are accepted, so that a local mail server can
    be tried. A local part beyond ASCII becomes lower case (RFC 6531).
    """
    text = one_line(text)
    if _SEVERAL.search(text):
        raise ValueError(f"{text!r} has more than one address; write one address per line")
    match = _NAME_AND_ADDRESS.fullmatch(text) if text.endswith(">") else None
    if match is None:
        return Subscriber(_address(text))
    name = unquote(match["name"]).strip()
    if re.search("[@<>]", name):
        raise ValueError(f"{text!r} has more than one address; write one address per line")

    return Subscriber(_address(match["address"].strip()), name)


def _address(text: str) -> str:
    """Fast path: plain addresses skip the validator (50 times faster)."""
    if plain := _PLAIN.fullmatch(text):
        with suppress(ValueError):  # the validator below names the whole address
            return f"{plain[1]}@{_domain(plain[2])}"
    return _validated(text)


@lru_cache(maxsize=100_000)
def _domain(text: str) -> str:
    """Subscribers share few domains, and validation takes most of the time."""
    return _validated(f"x@{text}").removeprefix("x@")


def _validated(text: str) -> str:
    suffix = ".example" if _LOCAL_DOMAIN.search(text) else ""
    try:
        email = validate_email(text + suffix, check_deliverability=False)
    except EmailNotValidError as error:
        raise ValueError(f"{text!r} is not an address: {error}") from None
    address = email.ascii_email or f"{email.local_part.lower()}@{email.ascii_domain}"
    return address.removesuffix(suffix)


def time_of_day(text: str) -> time:
    """Read `07:00` or `7:00`, on a 24-hour clock."""
    match = re.fullmatch(r"([01]?[0-9]|2[0-3]):([0-5][0-9])", text.strip())
    if match is None:
        raise ValueError("must be a time of day, such as 07:00 or 18:30")
    return time(int(match[1]), int(match[2]))


def dates(text: str) -> frozenset[date]:
    """Read dates, separated by commas or spaces, as `2026-12-29, 2026-12-31`."""
    try:
        return frozenset(map(date.fromisoformat, text.replace(",", " ").split()))
    except ValueError:
        raise ValueError("must be dates, such as 2026-12-29, 2026-12-31") from None


def timezone(text: str) -> ZoneInfo:
    """Read a name of the IANA database, as `Europe/Berlin`."""
    try:
        return ZoneInfo(text.strip())
    except (LookupError, ValueError, OSError):  # an unknown name, no name, or that of a folder
        raise ValueError(f"unknown timezone{_timezone_meant(text.strip())}") from None


def _timezone_meant(text: str) -> str:
    names = available_timezones()
    if match := _OFFSET.fullmatch(text):
        sign = "-" if match[1] == "+" else "+"  # POSIX counts them the other way
        if (fixed := f"Etc/GMT{sign}{int(match[2])}") in names:
            city = "for summer time a city, such as Europe/Berlin"
            return f", did you mean {fixed!r} (its sign is reversed), or {city}?"

    wanted = f"/{text.replace(' ', '_')}".casefold()
    for name in sorted(names, key=lambda name: (not name.startswith("US/"), name)):
        if f"/{name}".casefold().endswith(wanted):
            return f", did you mean {name!r}?"
    near = did_you_mean(text, names, cutoff=0.8) if "/" in text else ""  # CEST is not EST
    return near or "; use a name such as Europe/Berlin"


def language(text: str) -> str:
    """Read a BCP 47 tag into canonical case, as `de`, `pt-BR` or `zh-Hant`. The language need not
    exist.
    """
    if not _LANGUAGE.fullmatch(text.strip()):
        raise ValueError("must be a BCP 47 tag, such as de, pt-BR or zh-Hant")
    first, *rest = text.strip().lower().split("-")
    form = {2: str.upper, 4: str.capitalize}  # a region, a script
    return "-".join([first, *(form.get(len(part), str)(part) for part in rest)])


def number(least: float, most: float, kind: Parser = float) -> Parser:
    """Return a parser of numbers in plain digits from `least` to `most`; whole ones if `kind` is
    int.
    """
    form = r"[0-9]{1,9}(\.[0-9]{1,9})?"
    wanted = f"a number from {least} to {most}, with a point if it has decimals"
    if kind is int:
        form = r"[0-9]{1,9}"
        wanted = f"a whole number from {least} to {most}"

    def read(text: str) -> Any:
        text = text.strip()
        if re.fullmatch(form, text) and least <= float(text) <= most:
            return kind(text)
        raise ValueError(f"must be {wanted}")

    return read


integer = partial(number, kind=int)


def one_of(*choices: str) -> Parser:
    """Return a parser of one of the words in any case, which returns it as spelled in `choices`."""
    by_folded = {choice.casefold(): choice for choice in choices}

    def read(text: str) -> str:
        word = text.strip().casefold()
        if word in by_folded:
            return by_folded[word]
        raise ValueError(f"must be one of {', '.join(choices)}")

    return read


def host(text: str) -> str:
    """Read the name or IP address of a server, without a port."""
    name = one_line(text)
    if not _HOST.fullmatch(name):
        example = "such as smtp.example.org"
        raise ValueError(
            f"must be the server's name alone, {example}; the port is a separate setting"
        )
    return name


def url(text: str, example: str = "https://server.example.org") -> str:
    """Read an http or https URL, without its trailing slashes. `example` is shown in the error."""
    address = one_line(text).rstrip("/")
    try:
        parts = urlsplit(address)
        is_usable = parts.scheme in {"http", "https"} and parts.port != 0
    except ValueError:  # an invalid port, half an IPv6 address
        is_usable = False

    if not is_usable or not _HOST.fullmatch(parts.hostname or "") or re.search(r"\s", address):
        raise ValueError(f"must be a full URL, such as {example}")
    if parts.username is not None or parts.fragment:
        raise ValueError("must not contain a user, a password or #")
    if parts.query:
        raise ValueError("must not contain a query (?)")
    return address


def secure_url(text: str, example: str) -> str:
    """Read an https URL, or an http URL of this machine. `example` is shown in the error."""
    address = url(text, example)
    if not address.startswith("https://") and not is_loopback(urlsplit(address).hostname or ""):
        raise ValueError("must begin with https://, or name this machine")
    return address


def is_loopback(name: str) -> bool:
    """Check whether a host's name or IP address means this machine."""
    try:
        return ip_address(name).is_loopback
    except ValueError:
        return name == "localhost" or name.endswith(".localhost")
