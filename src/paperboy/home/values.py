"""How people write values in Paperboy's files: addresses, times of day, timezones, numbers, URLs.

Each parser takes text and raises `ValueError` with one sentence for the person who wrote it.
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

Parser = Callable[[str], Any]  # of one value as people write it

# Domains that do not exist on the internet, but may name a mail server on this machine or network.
_AT_HOME = re.compile(r"(?ai)[@.](localhost|local|test)$")
_CONTROL = re.compile(
    "[\0-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]"
)  # also line ends and lone surrogates

_NAME_AND_ADDRESS = re.compile(r"(?P<name>.*?)\s*<(?P<address>[^<>]*)>")
_PLAIN = (
    re.compile(  # of at most 254 characters, 64 of them before the @; xn-- is longer in Unicode
        r"(?=.{1,254}$)(?=.{1,64}@)([A-Za-z0-9]+(?:[._+-][A-Za-z0-9]+)*)@((?!.*--)[A-Za-z0-9.-]+)"
    )
)
_SUFFIX = re.compile(
    r"(jr|sr|ii|iii|iv|ph\.? ?d)\.?", re.IGNORECASE
)  # of a name: Robert C. Kennicutt, Jr.
_COLLABORATION = re.compile(
    r"\b(collaboration|consortium|consortia|team|group|survey|project|network)s?\b", re.IGNORECASE
)
_LANGUAGE = re.compile(  # language, script, region and variants of a BCP 47 tag
    r"[a-z]{2,3}(-[a-z]{4})?(-([a-z]{2}|[0-9]{3}))?(-([a-z0-9]{5,8}|[0-9][a-z0-9]{3}))*",
    re.ASCII | re.IGNORECASE,
)
_HOST = re.compile(
    r"[\w-]{1,63}(\.[\w-]{1,63})*\.?|([0-9A-Fa-f]*:){2}[0-9A-Fa-f:.]*"
)  # a DNS name, or IPv6


def one_line(text: str) -> str:
    """Return the text without space around it. Refused: an empty or long one, control characters
    and line ends.
    """
    text = text.strip()
    if len(text) > 2000:
        raise ValueError("must have at most 2000 characters")
    if not text:
        raise ValueError("is empty")
    if not text.isprintable() and (found := _CONTROL.search(text)):
        raise ValueError(
            f"contains a control character (U+{ord(found[0]):04X}); write one line of plain text"
        )
    return text


def author(text: str) -> str:
    """Read an author's name as papers spell it: `Rubin, Vera` (BibTeX, ADS) is Vera Rubin. A
    collaboration's stays.
    """
    name = one_line(text)
    surname, _, given = map(str.strip, name.partition(","))
    if not surname or not given or "," in given or _COLLABORATION.search(name):
        return name
    return f"{surname} {given}" if _SUFFIX.fullmatch(given) else f"{given} {surname}"


def mailbox(text: str) -> Subscriber:
    """Read `ada@example.org` or `Ada Lovelace <ada@example.org>`; no question is put to the DNS.

    Domains for use at home (`localhost`, `*.local`, `*.test`) are taken, so that a local mail
    server can be tried. A local part beyond ASCII is in lower case (RFC 6531).
    """
    text = one_line(text)
    match = _NAME_AND_ADDRESS.fullmatch(text) if text.endswith(">") else None
    if match is None:
        return Subscriber(_address(text))
    name = unquote(match["name"]).strip()
    if re.search("[@<>]", name):
        aligned = (
            ", with the dashes aligned" if " - " in name else ""
        )  # in YAML, others join two lines
        raise ValueError(f"{text!r} has more than one address; write each on its own line{aligned}")
    return Subscriber(_address(match["address"].strip()), name)


def _address(text: str) -> str:
    """Normalise an address. Plain ones, of which a list may have a hundred thousand, take a
    fiftieth of the time.
    """
    plain = _PLAIN.fullmatch(text)
    if plain:
        with suppress(ValueError):  # which names the whole address where the validator sees it
            return f"{plain[1]}@{_domain(plain[2])}"
    return _validated(text)


@lru_cache(maxsize=100_000)
def _domain(text: str) -> str:
    """Normalise a domain. Many subscribers share few, whose validation takes most of the time."""
    return _validated(f"x@{text}").removeprefix("x@")


def _validated(text: str) -> str:
    stand_in = ".example" if _AT_HOME.search(text) else ""
    try:
        valid = validate_email(text + stand_in, check_deliverability=False)
    except EmailNotValidError as error:
        raise ValueError(f"{text!r} is not an address: {error}") from None
    address = valid.ascii_email or f"{valid.local_part.lower()}@{valid.ascii_domain}"
    return address.removesuffix(stand_in)


def time_of_day(text: str) -> time:
    """Read `07:00` or `7:00`, on a 24-hour clock."""
    match = re.fullmatch(r"([01]?[0-9]|2[0-3]):([0-5][0-9])", text.strip())
    if match is None:
        raise ValueError("must be a time of day, such as 07:00 or 18:30")
    return time(int(match[1]), int(match[2]))


def dates(text: str) -> frozenset[date]:
    """Read dates with commas or spaces between, as `2026-12-29, 2026-12-31`."""
    try:
        return frozenset(map(date.fromisoformat, text.replace(",", " ").split()))
    except ValueError:
        raise ValueError("must be dates, such as 2026-12-29, 2026-12-31") from None


def timezone(text: str) -> ZoneInfo:
    """Read a name of the IANA database, as `Europe/Berlin`."""
    name = text.strip()
    try:
        return ZoneInfo(name)
    except (
        LookupError,
        ValueError,
        OSError,
    ):  # no such zone; not a name at all; the name of a folder
        # Etc/GMT+2 is two hours behind UTC, and of abbreviations one that looks alike is hours
        # away.
        places = (
            zone for zone in available_timezones() if "/" in zone and not zone.startswith("Etc/")
        )
        hint = did_you_mean(name, ["UTC", *places], cutoff=0.55)  # a city alone is half of a name
        raise ValueError(
            f"unknown timezone{hint or '; use a name such as Europe/Berlin'}"
        ) from None


def language(text: str) -> str:
    """Read a BCP 47 tag into canonical case, as `de`, `pt-BR` or `zh-Hant`; such a language need
    not exist.
    """
    if not _LANGUAGE.fullmatch(text.strip()):
        raise ValueError("must be a BCP 47 tag, such as de, pt-BR or zh-Hant")
    first, *rest = text.strip().lower().split("-")
    form = {2: str.upper, 4: str.capitalize}  # a region, a script
    return "-".join([first, *(form.get(len(part), str)(part) for part in rest)])


def number(least: float, most: float, kind: Parser = float) -> Parser:
    """Return a parser of numbers in plain digits, whole ones if `kind` is int; both ends belong to
    the range.
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


whole = partial(number, kind=int)


def one_of(*choices: str) -> Parser:
    """Return a parser of one word out of several, whatever its case; it gives the word as it stands
    in `choices`.
    """
    by_folded = {choice.casefold(): choice for choice in choices}

    def read(text: str) -> str:
        word = text.strip().casefold()
        if word in by_folded:
            return by_folded[word]
        raise ValueError(f"must be one of {', '.join(choices)}{did_you_mean(word, choices)}")

    return read


def host(text: str) -> str:
    """Read the name or IP address of a server, without a port."""
    name = one_line(text)
    if not _HOST.fullmatch(name):
        raise ValueError(
            "must be the server's name alone, such as smtp.example.org; the port is a separate setting"
        )
    return name


def url(text: str, example: str = "https://server.example.org") -> str:
    """Read an http or https URL; its last slashes are left out. `example`: one of the kind that is
    wanted.
    """
    address = one_line(text).rstrip("/")
    try:
        parts = urlsplit(address)
        is_whole = (
            parts.scheme in {"http", "https"}
            and parts.port != 0
            and _HOST.fullmatch(parts.hostname or "")
        )
    except ValueError:  # a port that is none, half an IPv6 address
        is_whole = None
    if not is_whole or re.search(r"\s", address):
        raise ValueError(f"must be a full URL, such as {example}")
    if parts.username is not None or parts.query or parts.fragment:
        raise ValueError("must not contain a user, a password, ? or #")
    return address


def is_loopback(name: str) -> bool:
    """Check whether a host's name or IP address can only mean this machine."""
    try:
        return ip_address(name).is_loopback
    except ValueError:
        return name == "localhost" or name.endswith(".localhost")
