"""Hostile answers of a name server: to one question of those that `check` asks about a sender's domain."""

from __future__ import annotations

import socket
import struct
import threading
from collections.abc import Callable, Sequence
from random import Random
from typing import Self

import dns.flags
import dns.message
import dns.rdatatype
import dns.resolver
import dns.rrset

from paperboy.check import Finding, _sender
from tests.hostile.talk import Reply, Talker, broken, dripped, endless
from tests.servers.dns import DnsServer

SECONDS = 0.2
DOMAIN = "wren.edu"
RECORDS = {
    f"{DOMAIN} MX": ["10 mx.wren.edu."],
    f"{DOMAIN} TXT": ['"v=spf1 mx -all"'],
    f"_dmarc.{DOMAIN} TXT": ['"v=DMARC1; p=none"'],
}
SOUND = [(kind, f"{DOMAIN} has a record") for kind in ("MX", "SPF", "DMARC")]


def look(port: int) -> list[list[tuple[str, str]]]:
    """What the check finds twice, kind and message."""
    resolver = dns.resolver.Resolver(configure=False)
    resolver.nameservers, resolver.port, resolver.timeout = ["127.0.0.1"], port, SECONDS
    dns.resolver.default_resolver = resolver
    return [[(found.what, found.message) for found in _found(DOMAIN)] for _ in range(2)]


def _found(domain: str) -> Sequence[Finding]:
    return _sender(domain)


class Dns:
    """Answers well over UDP and TCP, but to one question: once, or as often as a client may ask it in one look."""

    client = staticmethod(look)

    def __enter__(self) -> Self:
        self._good = DnsServer(RECORDS)
        self._talker = Talker(self._talk).__enter__()
        self._udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._udp.bind(("127.0.0.1", self._talker.port))
        self._thread = threading.Thread(target=self._listen, daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._talker.__exit__()
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as last:
            last.sendto(b"", self._udp.getsockname())
        self._thread.join()
        self._udp.close()

    def prepare(self, dice: Random) -> tuple[int]:
        """Draw the next case; what the client is told."""
        self._dice, self._question = dice, dice.choice([*RECORDS])
        self._left = 1
        way = dice.choice(["packet", "packet", "record", "record", "TCP"])
        self.kind = dice.choice([*{"packet": _PACKETS, "record": _RECORDS, "TCP": _STREAMS}[way]])
        self.kind = f"{way}: {self.kind}"
        return (self._talker.port,)

    def judge(self, came: list[list[tuple[str, str]]]) -> str:
        """Assert that the other records were found; how it went."""
        first, second = came
        assert second == SOUND, second
        assert all(len(message) < 1_000 and message.isprintable() for _, message in first), first
        if len(first) == 1:  # DNS does not answer, or says that the domain takes no mail
            return first[0][0]
        spoilt = {"MX": "MX", "TXT": "SPF"}[self._question.split()[1]] if "_dmarc" not in self._question else "DMARC"
        assert set(SOUND) - set(first) <= {(spoilt, f"{DOMAIN} has a record")}, first
        return "found" if first == SOUND else "as it said"

    def _listen(self) -> None:
        while True:
            wire, client = self._udp.recvfrom(65_535)
            if not wire:
                return
            for packet in self._answers(wire):
                self._udp.sendto(packet, client)

    def _answers(self, wire: bytes) -> list[bytes]:
        good = self._good.answer(wire) or b""
        way, _, kind = self.kind.partition(": ")
        if not self._is_hostile():
            return [good]
        if way == "TCP":  # too long for UDP, it says
            asked = dns.message.make_response(dns.message.from_wire(wire), recursion_available=True)
            asked.flags |= dns.flags.TC
            return [asked.to_wire()]
        self._left -= 1
        if way == "packet":
            return _PACKETS[kind](self._dice, good)
        answer = dns.message.from_wire(good)
        name, rdtype = answer.question[0].name, answer.question[0].rdtype
        answer.answer.clear()
        return [_RECORDS[kind](self._dice, answer, name.to_text(), dns.rdatatype.to_text(rdtype))]

    def _is_hostile(self) -> bool:
        return self._left > 0 and self._good.asked[-1] == self._question

    def _talk(self, talker: Talker, sock: socket.socket) -> None:
        while size := sock.recv(2, socket.MSG_WAITALL):
            good = self._good.answer(sock.recv(int.from_bytes(size), socket.MSG_WAITALL)) or b""
            if self._is_hostile() and self.kind.startswith("TCP"):
                self._left -= 1
                talker.say(
                    sock, _STREAMS[self.kind.partition(": ")[2]](self._dice, struct.pack("!H", len(good)) + good)
                )
                return
            sock.sendall(struct.pack("!H", len(good)) + good)


def _counts(dice: Random, good: bytes) -> list[bytes]:
    return [good[:4] + struct.pack("!4H", *(dice.choice([0, 1, 2, 65_535]) for _ in range(4))) + good[12:]]


def _pointers(dice: Random, good: bytes) -> list[bytes]:
    """Names that point at themselves, ahead, or on and on."""
    loop = b"\xc0\x0c" * dice.choice([1, 100]) + struct.pack("!2HIH", 16, 1, 60, 0)
    return [
        dice.choice([good[:12] + b"\xc0\x0c" + good[14:], good[:12] + loop, good + loop, good[:12] + b"\x3f" * 900])
    ]


def _flags(dice: Random, good: bytes) -> list[bytes]:
    return [good[:2] + dice.randbytes(2) + good[4:]]


_PACKETS: dict[str, Callable[[Random, bytes], list[bytes]]] = {
    "broken": lambda dice, good: [broken(dice, good)[:60_000]],
    "truncated": lambda dice, good: [good[: dice.randrange(1, len(good))]],
    "nothing": lambda dice, good: [],
    "random": lambda dice, good: [good[:2] + dice.randbytes(dice.choice([1, 10, 500, 60_000]))],
    "other id": lambda dice, good: [dice.randbytes(2) + good[2:]] * dice.choice([1, 200]),
    "other question": lambda dice, good: [good.replace(b"\x04wren", b"\x04wret")],
    "counts": _counts,
    "pointers": _pointers,
    "flags": _flags,
    "twice": lambda dice, good: [good] * 50,
    "longer": lambda dice, good: [good + dice.randbytes(dice.choice([1, 60_000]))],
    "short": lambda dice, good: [good[: dice.choice([1, 2, 3, 11])]],
}


def _record(dice: Random, answer: dns.message.Message, name: str, kind: str, *texts: str) -> bytes:
    answer.answer.append(dns.rrset.from_text(name, dice.choice([0, 60, 2**31 - 1]), "IN", kind, *texts))
    return answer.to_wire(max_size=65_535)


def _strings(dice: Random, answer: dns.message.Message, name: str, _kind: str) -> bytes:
    bad = [r"\027[31m\010\013forged: ok", r"\226\128\174evil", "v=spf1 " + r"\255" * 200, r"\000" * 255, "x" * 255]
    texts = [f'"{dice.choice(bad)}"' for _ in range(dice.choice([1, 3, 150]))]
    return _record(
        dice, answer, name, "TXT", *dict.fromkeys(texts), " ".join(f'"{"v=spf1 x" * 30}"' for _ in range(60))
    )


def _exchanges(dice: Random, answer: dns.message.Message, name: str, _kind: str) -> bytes:
    hosts = [".", name, r"\027\091evil.example.", "x" * 63 + ".", ".".join(["x" * 60] * 4) + ".", "127.0.0.1."]
    texts = {f"{n} {dice.choice(hosts)}" for n in range(dice.choice([1, 900]))}
    return _record(dice, answer, name, "MX", *texts)


def _alias(dice: Random, answer: dns.message.Message, name: str, _kind: str) -> bytes:
    targets = [name, "a." * dice.choice([1, 100]) + name, ".", "evil.example."]
    return _record(dice, answer, name, "CNAME", dice.choice(targets))


def _aliases(dice: Random, answer: dns.message.Message, name: str, kind: str) -> bytes:
    for number in range(dice.choice([3, 17, 500])):
        answer.answer.append(dns.rrset.from_text(name, 60, "IN", "CNAME", f"a{number}.{DOMAIN}."))
        name = f"a{number}.{DOMAIN}."
    return _record(dice, answer, name, "A", "192.0.2.1") if kind == "MX" else answer.to_wire(max_size=65_535)


def _code(dice: Random, answer: dns.message.Message, _name: str, _kind: str) -> bytes:
    answer.set_rcode(dice.choice([1, 2, 3, 4, 5, 9, 16, 23]))
    return answer.to_wire()


_RECORDS: dict[str, Callable[[Random, dns.message.Message, str, str], bytes]] = {
    "strings": _strings,
    "exchanges": _exchanges,
    "alias": _alias,
    "aliases": _aliases,
    "code": _code,
    "empty": lambda dice, answer, name, kind: answer.to_wire(),
}

_STREAMS: dict[str, Callable[[Random, bytes], Reply]] = {
    "dripped": dripped,
    "endless": lambda dice, good: endless(dice.choice([good, b"\0", b"\xff" * 100])),
    "stalled": lambda dice, good: [good[: dice.randrange(len(good))], 60.0],
    "cut": lambda dice, good: [good[: dice.randrange(len(good))]],
    "long": lambda dice, good: [b"\xff\xff" + good[2:] + b"\0" * 70_000],
    "short": lambda dice, good: [b"\0\x05" + good[2:]],
    "broken": lambda dice, good: [broken(dice, good)],
}
