"""A name server on loopback: it answers from a table, fails where it is told to, and remembers what it was asked.

    with DnsServer({"example.edu MX": ["10 mx.example.edu."], "mx.example.edu A": ["192.0.2.7"]}) as server:
        Dns([server.host], port=server.port).mail_servers("example.edu")

A name that is in the table with another kind of record exists, and has none of this kind. `says` answers in place of
the table, with anything: it is given the question and whether it came over TCP, and yields datagrams, or pieces of a
stream.
"""

import contextlib
import socketserver
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Self

import dns.flags
import dns.message
import dns.rcode
import dns.rdatatype
import dns.rrset

Says = Callable[[dns.message.Message, bool], Iterable[bytes]]


@dataclass
class DnsServer:
    """Listens on UDP and TCP from `with` to its end. Names have no last dot; records are written as in a zone file."""

    records: Mapping[str, Sequence[str]] = field(default_factory=dict)  # by "name KIND"
    silent: set[str] = field(default_factory=set)  # names, or "*": no answer at all
    failing: set[str] = field(default_factory=set)  # names: SERVFAIL
    asked: list[str] = field(default_factory=list)  # "name KIND", in order of arrival
    says: Says | None = None
    host: str = "127.0.0.1"

    def __enter__(self) -> Self:
        self._tcp = _Tcp((self.host, 0), _Stream)
        self.port: int = self._tcp.server_address[1]
        self._udp = _Udp((self.host, self.port), _Question)
        self._tcp.owner = self._udp.owner = self
        self._threads = []
        for server in (self._udp, self._tcp):
            options = {"poll_interval": 0.02}
            self._threads.append(
                threading.Thread(target=server.serve_forever, kwargs=options, daemon=True)
            )
            self._threads[-1].start()
        return self

    def __exit__(self, *_: object) -> None:
        for server, thread in zip((self._udp, self._tcp), self._threads, strict=True):
            server.shutdown()
            server.server_close()
            thread.join()

    def answer(self, wire: bytes) -> bytes | None:
        """What to say to a question; None: nothing."""
        query = dns.message.from_wire(wire)
        question = query.question[0]
        name = question.name.to_text(omit_final_dot=True)
        kind = dns.rdatatype.to_text(question.rdtype)
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


class _Udp(socketserver.ThreadingUDPServer):
    daemon_threads = True
    block_on_close = False
    owner: DnsServer


class _Tcp(socketserver.ThreadingTCPServer):
    daemon_threads = True
    block_on_close = False
    owner: DnsServer


class _Question(socketserver.BaseRequestHandler):
    server: _Udp
    request: tuple[bytes, Any]

    def handle(self) -> None:
        wire, sock = self.request
        owner = self.server.owner
        if owner.says is None:
            pieces: Iterable[bytes] = filter(None, [owner.answer(wire)])
        else:
            pieces = owner.says(dns.message.from_wire(wire), False)
        with contextlib.suppress(OSError):  # the server has ended
            for piece in pieces:
                sock.sendto(piece, self.client_address)


class _Stream(socketserver.StreamRequestHandler):
    server: _Tcp

    def handle(self) -> None:
        wire = self.rfile.read(int.from_bytes(self.rfile.read(2), "big"))
        owner = self.server.owner
        with contextlib.suppress(OSError):  # the client hung up
            for piece in owner.says(dns.message.from_wire(wire), True) if owner.says else ():
                self.wfile.write(piece)
