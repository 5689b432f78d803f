"""A name server on loopback: it answers from a table, fails where it is told to, and remembers what it was asked.

    with DnsServer({"example.edu MX": ["10 mx.example.edu."], "mx.example.edu A": ["192.0.2.7"]}) as server:
        Dns([server.host], port=server.port).mail_servers("example.edu")

A name that is in the table with another kind of record exists, and has none of this kind.
"""

from __future__ import annotations

import socketserver
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Self

import dns.flags
import dns.message
import dns.rcode
import dns.rdatatype
import dns.rrset


@dataclass
class DnsServer:
    """Listens on UDP from `with` to its end. Names are written without their last dot, records as in a zone file."""

    records: Mapping[str, Sequence[str]] = field(default_factory=dict)  # by "name KIND"
    silent: set[str] = field(default_factory=set)  # names, or "*": no answer at all
    failing: set[str] = field(default_factory=set)  # names: SERVFAIL
    asked: list[str] = field(default_factory=list)  # "name KIND", in order of arrival
    host: str = "127.0.0.1"

    def __enter__(self) -> Self:
        self._udp = _Udp((self.host, 0), _Question)
        self._udp.owner = self
        self.port: int = self._udp.server_address[1]
        self._thread = threading.Thread(target=self._udp.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._udp.shutdown()
        self._udp.server_close()
        self._thread.join()

    def answer(self, wire: bytes) -> bytes | None:
        """What to say to a question; None: nothing."""
        query = dns.message.from_wire(wire)
        question = query.question[0]
        name, kind = question.name.to_text(omit_final_dot=True), dns.rdatatype.to_text(question.rdtype)
        self.asked.append(f"{name} {kind}")
        if not self.silent.isdisjoint({name, "*"}):
            return None
        answer = dns.message.make_response(query, recursion_available=True)
        found = self.records.get(f"{name} {kind}")
        if name in self.failing:
            answer.set_rcode(dns.rcode.SERVFAIL)
        elif found:
            answer.answer.append(dns.rrset.from_text(question.name, 60, "IN", kind, *found))
        elif not any(known.split()[0] == name for known in self.records):
            answer.set_rcode(dns.rcode.NXDOMAIN)
        return answer.to_wire()


class _Udp(socketserver.UDPServer):
    owner: DnsServer


class _Question(socketserver.BaseRequestHandler):
    server: _Udp
    request: tuple[bytes, Any]

    def handle(self) -> None:
        wire, sock = self.request
        answer = self.server.owner.answer(wire)
        if answer is not None:
            sock.sendto(answer, self.client_address)
