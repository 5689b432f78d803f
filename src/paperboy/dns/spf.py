"""Does a domain's SPF record let an address send for it? RFC 7208, without what depends on a single mail.

for each term of the record, in order:
    all, ip4, ip6           compare
    a, mx, include, exists  ask the DNS; together with redirect ten times at most
    macros, ptr             cannot be told; that matters only where no other term decides
    the first that matches decides
none does: redirect decides, if there is one
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum, auto
from ipaddress import ip_network
from typing import Literal, Protocol

from paperboy.dns.records import Address

MOST_LOOKUPS = 10
MOST_VAIN = 2  # lookups that find nothing
MOST_MAIL_SERVERS = 10

_MODIFIER = re.compile(r"(?P<name>[a-z][a-z0-9_.-]*)=(?P<value>.*)", re.IGNORECASE)
_MECHANISM = re.compile(r"(?P<qualifier>[+?~-]?)(?P<kind>[a-z0-9]+)(?P<rest>(?:[:/].*)?)", re.IGNORECASE)
_PLACE = re.compile(r"(?::(?P<domain>[^/]+))?(?:/(?P<v4>\d{1,2}))?(?://(?P<v6>\d{1,3}))?")


class Records(Protocol):
    """What is asked of the DNS."""

    def mail_servers(self, domain: str, /) -> tuple[str, ...]: ...
    def addresses(self, name: str, versions: Sequence[Literal[4, 6]] = ..., /) -> tuple[Address, ...]: ...
    def texts(self, name: str, /) -> tuple[str, ...]: ...


class Verdict(Enum):
    """What a receiver makes of an address."""

    PASS = auto()
    NOT_NAMED = auto()  # fail, softfail or neutral: the record's last word differs, the address is not in it
    BROKEN = auto()  # nobody can evaluate the record: "permerror"
    UNCLEAR = auto()  # it depends on the mail


@dataclass(frozen=True, slots=True)
class Judgement:
    """A verdict, and what in the record it is due to, where it is BROKEN or UNCLEAR."""

    verdict: Verdict
    why: str = ""


def spf_records(texts: Iterable[str]) -> tuple[str, ...]:
    """Those of a domain's TXT records that are about SPF. More than one is an error."""
    return tuple(text for text in texts if text.lower() == "v=spf1" or text.lower().startswith("v=spf1 "))


def judge(domain: str, address: Address, records: Records) -> Judgement:
    """What the SPF record of a domain that has one says of an address. DnsError where the DNS does not answer."""
    evaluation = _Evaluation(address, records)
    try:
        verdict = evaluation.of(domain)
    except _BrokenError as error:
        return Judgement(Verdict.BROKEN, str(error))
    return Judgement(verdict, evaluation.unclear if verdict is Verdict.UNCLEAR else "")


class _BrokenError(Exception):
    """What makes the record unusable to every receiver."""


@dataclass(frozen=True, slots=True)
class _Term:
    text: str
    qualifier: str
    kind: str
    rest: str


class _Evaluation:
    """One address against one record, and all that it includes: they share the limits."""

    def __init__(self, address: Address, records: Records) -> None:
        self.unclear = ""  # the first term that cannot be told
        self._address = address
        self._records = records
        self._lookups = 0
        self._vain = 0
        self._matchers: Mapping[str, Callable[[_Term, str], bool | None]] = {
            "all": lambda _term, _domain: True,
            "ip4": self._ip,
            "ip6": self._ip,
            "a": self._a,
            "mx": self._mx,
            "include": self._include,
            "exists": self._exists,
            "ptr": lambda _term, _domain: None,
        }

    def of(self, domain: str) -> Verdict:
        found = spf_records(self._records.texts(domain))
        if len(found) != 1:
            raise _BrokenError(f"{domain} has {len(found) or 'no'} SPF record{'s' if found else ''}")
        terms, redirect = self._parsed(found[0])
        unclear = set()  # what terms that cannot be told would say: whether the address passes
        for term in terms:
            matches = self._matches(term, domain)
            if matches is None:
                unclear.add(term.qualifier == "+")
                self.unclear = self.unclear or term.text
            elif matches:
                return _unless(unclear, Verdict.PASS if term.qualifier == "+" else Verdict.NOT_NAMED)
        if redirect:
            self._count()
            if "%" in redirect:
                self.unclear = self.unclear or f"redirect={redirect}"
                return Verdict.UNCLEAR
            return _unless(unclear, self.of(redirect))
        return _unless(unclear, Verdict.NOT_NAMED)

    def _parsed(self, record: str) -> tuple[list[_Term], str]:
        """The mechanisms, and where it redirects to."""
        terms, redirect = [], ""
        for text in record.split()[1:]:
            if modifier := _MODIFIER.fullmatch(text):
                redirect = modifier["value"] if modifier["name"].lower() == "redirect" else redirect
                continue
            found = _MECHANISM.fullmatch(text)
            if found is None or found["kind"].lower() not in self._matchers:
                raise _BrokenError(f"nobody knows the term {text}")
            terms.append(_Term(text, found["qualifier"] or "+", found["kind"].lower(), found["rest"]))
        return terms, redirect

    def _matches(self, term: _Term, domain: str) -> bool | None:
        if term.kind not in {"all", "ip4", "ip6"}:
            self._count()
            if "%" in term.rest:
                return None
        return self._matchers[term.kind](term, domain)

    def _count(self) -> None:
        self._lookups += 1
        if self._lookups > MOST_LOOKUPS:
            raise _BrokenError(f"it takes more than {MOST_LOOKUPS} lookups")

    def _ip(self, term: _Term, _domain: str) -> bool:
        try:
            network = ip_network(term.rest[1:], strict=False)
        except ValueError:
            raise _BrokenError(f"there is no network in {term.text}") from None
        if f"ip{network.version}" != term.kind:
            raise _BrokenError(f"there is no network in {term.text}")
        return self._address in network

    def _a(self, term: _Term, domain: str) -> bool:
        name, length = self._place(term, domain)
        found = self._addresses(name)
        self._was_in_vain(not found)
        return self._near(found, length)

    def _mx(self, term: _Term, domain: str) -> bool:
        name, length = self._place(term, domain)
        servers = self._records.mail_servers(name)
        self._was_in_vain(not servers)
        if len(servers) > MOST_MAIL_SERVERS:
            raise _BrokenError(f"{name} has more than {MOST_MAIL_SERVERS} mail servers")
        return any(self._near(self._addresses(server), length) for server in servers if server != ".")

    def _include(self, term: _Term, _domain: str) -> bool | None:
        verdict = self.of(self._target(term))
        return None if verdict is Verdict.UNCLEAR else verdict is Verdict.PASS

    def _exists(self, term: _Term, _domain: str) -> bool:
        found = self._records.addresses(self._target(term), (4,))
        self._was_in_vain(not found)
        return bool(found)

    def _target(self, term: _Term) -> str:
        if not term.rest.startswith(":") or not term.rest[1:]:
            raise _BrokenError(f"there is no domain in {term.text}")
        return term.rest[1:]

    def _place(self, term: _Term, domain: str) -> tuple[str, int]:
        """The name that it is about, and how many bits of an address have to agree."""
        found = _PLACE.fullmatch(term.rest)
        length = found and found[f"v{self._address.version}"]
        if found is None or int(length or 0) > self._address.max_prefixlen:
            raise _BrokenError(f"there is no network in {term.text}")
        return found["domain"] or domain, self._address.max_prefixlen if length is None else int(length)

    def _addresses(self, name: str) -> tuple[Address, ...]:
        return self._records.addresses(name, (self._address.version,))

    def _near(self, found: Iterable[Address], length: int) -> bool:
        return any(self._address in ip_network((each, length), strict=False) for each in found)

    def _was_in_vain(self, vain: bool) -> None:
        self._vain += vain
        if self._vain > MOST_VAIN:
            raise _BrokenError(f"more than {MOST_VAIN} of its lookups find nothing")


def _unless(unclear: set[bool], verdict: Verdict) -> Verdict:
    """The verdict, unless an earlier term could have said the contrary."""
    return Verdict.UNCLEAR if (verdict is not Verdict.PASS) in unclear else verdict
