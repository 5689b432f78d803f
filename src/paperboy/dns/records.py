"""Questions to the DNS, each with a time limit."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from ipaddress import IPv4Address, IPv6Address, ip_address
from typing import Any, Literal

import dns.exception
import dns.name
import dns.resolver

Address = IPv4Address | IPv6Address

_NO_SUCH = (
    dns.resolver.NXDOMAIN,
    dns.resolver.NoAnswer,
    dns.resolver.YXDOMAIN,
    dns.name.LabelTooLong,
    dns.name.NameTooLong,
    dns.name.EmptyLabel,
    dns.name.BadEscape,
    dns.name.IDNAException,
)


class DnsError(Exception):
    """A question without an answer, in words that go on after "DNS". `silent`: nobody answers at all."""

    def __init__(self, what: str, *, silent: bool) -> None:
        super().__init__(what)
        self.silent = silent


class Dns:
    """Asks this machine's name servers, or those at the addresses `servers`. `timeout` (seconds) is for each question.

    Every question gives an empty tuple where there is no such record, or no such name, and DnsError where that cannot
    be known. Answers are kept as long as the object.
    """

    def __init__(self, servers: Sequence[str] = (), *, port: int = 53, timeout: float = 3.0) -> None:
        self._servers = servers
        self._port = port
        self._timeout = timeout

    def mail_servers(self, domain: str) -> tuple[str, ...]:
        """The names in its MX records, the preferred first. A lone "." says that it takes no mail (RFC 7505)."""
        found = sorted(self._ask(domain, "MX"), key=lambda record: (record.preference, record.exchange))
        return tuple(record.exchange.to_text(omit_final_dot=True) for record in found)

    def addresses(self, name: str, versions: Sequence[Literal[4, 6]] = (4, 6)) -> tuple[Address, ...]:
        """Its IP addresses of these versions."""
        kinds = ["A" if version == 4 else "AAAA" for version in versions]
        return tuple(ip_address(record.address) for kind in kinds for record in self._ask(name, kind))

    def texts(self, name: str) -> tuple[str, ...]:
        """Its TXT records, the strings of each joined."""
        return tuple(b"".join(record.strings).decode("utf-8", "replace") for record in self._ask(name, "TXT"))

    @cached_property
    def _resolver(self) -> dns.resolver.Resolver:
        resolver = dns.resolver.Resolver(configure=not self._servers)
        if self._servers:
            resolver.nameservers = list(self._servers)
            resolver.port = self._port
        resolver.cache = dns.resolver.Cache()
        return resolver

    def _ask(self, name: str, kind: str) -> list[Any]:
        """The records; their fields depend on the kind."""
        try:
            asked = dns.name.from_text(name)  # whole, so that no search domain is tried behind it
            return list(self._resolver.resolve(asked, kind, lifetime=self._timeout))
        except _NO_SUCH:
            return []
        except (dns.exception.Timeout, dns.resolver.NoResolverConfiguration) as error:
            raise DnsError("does not answer", silent=True) from error
        except dns.exception.DNSException as error:
            raise DnsError(f"fails for {name}", silent=False) from error
