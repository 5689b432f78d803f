"""Hostile replies of a mail server: to one command, or to every one about one recipient."""

from __future__ import annotations

import base64
import contextlib
import functools
import itertools
import sqlite3
import ssl
import tempfile
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random
from socket import socket
from typing import Self

import trustme

from paperboy.delivery import Round
from paperboy.mail.smtp import SmtpTransport
from paperboy.models import Addressed, Composed, Day, Delivery, Envelope, Outcome, Subscriber
from paperboy.store import Store
from tests.fakes import Clock, NoProgress
from tests.hostile.http import EVIL
from tests.hostile.talk import RESET, Reply, Talker, broken, dripped, endless

SECONDS = 0.3
PASSWORD = "s3cret-not-for-the-log"
ROUNDS = 5
READERS = ("ada", "grace", "hedy", "joan")
NOW = datetime(2026, 11, 20, 7, tzinfo=UTC)
DROPPED_OUT = timedelta(days=4)  # so long nothing is retried
_DIGEST = b"Subject: x\r\n\r\nshared bytes\r\n"


class _Copies:
    def envelope(self, composed: Composed, one: Delivery) -> Envelope:
        return Envelope(composed.sender, one.addressed.subscriber.address, composed.message, one.list_name)


@dataclass
class Mailroom:
    """A ledger in a folder of its own, for as long as the process lives."""

    clock: Clock = field(default_factory=lambda: Clock(NOW))
    waits: list[float] = field(default_factory=list)
    folder: tempfile.TemporaryDirectory[str] = field(default_factory=tempfile.TemporaryDirectory)

    def __post_init__(self) -> None:
        self.database = Path(self.folder.name) / "paperboy.db"
        self.store = Store.open(self.database).__enter__()

    def send(self, port: int, name: str, security: str, authority: bytes) -> dict[str, tuple[str, str]]:
        """Send one digest to all readers until none waits; how each delivery ended."""
        people = tuple(
            Addressed(Subscriber(f"{reader}.{name}@example.org"), f"<{reader}.{name}@example.org>", reader)
            for reader in READERS
        )
        composed = Composed("subject", "papers@example.org", _DIGEST)
        day = Day(name, self.clock.now.date(), Outcome.DIGEST, composed=composed, addressed=people)
        self.store.days.freeze(day, self.clock.now)
        context = ssl.create_default_context(cadata=authority.decode())
        for _ in range(ROUNDS):
            transport = SmtpTransport(
                host="localhost", port=port, security=security, username="paperboy" if security != "none" else "",
                password=PASSWORD if security != "none" else "", timeout=SECONDS, dot_timeout=SECONDS,
                ssl_context=context, local_hostname="paperboy.test",
            )  # fmt: skip
            Round(
                store=self.store, transports=[transport], composer=_Copies(), on_list=lambda _list, _address: True,
                clock=self.clock, timer=lambda: sum(self.waits), wait=self.waits.append, jitter=lambda: 0.5,
                progress=NoProgress(), stopped=lambda: False,
            ).deliver(by_hand=True)  # fmt: skip
            self.waits.clear()
            self.clock.now += timedelta(hours=6)
        self.clock.now += DROPPED_OUT
        with sqlite3.connect(self.database) as connection:  # as another program would read it
            rows = connection.execute(
                "select address, state, reply from deliveries join digests on digests.id = digest_id where list = ?",
                [name],
            ).fetchall()
        connection.close()
        return {address: (state, reply or "") for address, state, reply in rows}


@functools.cache
def _mailroom() -> Mailroom:
    return Mailroom()


def send(port: int, name: str, security: str, authority: bytes) -> dict[str, tuple[str, str]]:
    """Send one digest; how each delivery ended."""
    return _mailroom().send(port, name, security, authority)


@dataclass
class _Session:
    """One connection: what it has said so far of one message."""

    sock: socket
    buffer: bytes = b""
    recipient: str = ""
    encrypted: bool = False

    def until(self, end: bytes) -> bytes:
        """What the client says, up to that end. Raises ConnectionResetError once it has gone."""
        while end not in self.buffer:
            piece = self.sock.recv(65_536)
            if not piece:
                raise ConnectionResetError
            self.buffer += piece
        said, _, self.buffer = self.buffer.partition(end)
        return said


class Smtp:
    """Takes mail, but for one phase: once, or whenever it is about the victim."""

    client = staticmethod(send)

    def __enter__(self) -> Self:
        authority = trustme.CA()
        self._authority, self._number = authority.cert_pem.bytes(), 0
        self._context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        authority.issue_cert("localhost").configure_cert(self._context)
        self._talker = Talker(self._talk).__enter__()
        return self

    def __exit__(self, *_: object) -> None:
        self._talker.__exit__()

    def prepare(self, dice: Random) -> tuple[int, str, str, bytes]:
        """Draw the next case; what the client is told."""
        self._dice, self._number = dice, self._number + 1
        self._taken: list[tuple[str, bytes]] = []
        self._security = dice.choice(["none", "none", "starttls", "tls"])
        phases = ["connect", "EHLO", "MAIL", *["RCPT", "DATA", "dot"] * 2, "RSET", "QUIT"]
        self._phase = dice.choice(
            [*phases, *["AUTH"] * (self._security != "none"), *["STARTTLS"] * (self._security == "starttls")]
        )
        about = self._phase in {"RCPT", "DATA", "dot", "RSET"}
        name = f"list-{self._number}"
        self._victim = f"{dice.choice(READERS)}.{name}@example.org" if about else ""
        self._left = dice.choice([1, 1_000]) if about else 1
        self._skipped = dice.randrange(3) if self._phase == "MAIL" else 0
        self._takes, self._pipelines = dice.random() < 0.5, dice.random() < 0.5
        self._way = dice.choice([*_REPLIES])
        self.kind = f"{self._phase}: {self._way}"
        return self._talker.port, name, self._security, self._authority

    def judge(self, came: Mapping[str, tuple[str, str]]) -> str:
        """Assert that every other reader got the mail, once; how it went."""
        times = Counter(recipient for recipient, _ in self._taken)
        victims = {each for each in came if each == self._victim or (self._phase == "MAIL" and times[each] != 1)}
        assert len(victims) <= 1, f"{self._taken}"
        for each, (state, said) in came.items():
            assert len(said) <= 1_000, f"a reply of {len(said)}"
            assert said.isprintable(), ascii(said)
            assert PASSWORD not in said or self._security == "none", said  # where it is no secret
            if each not in victims:
                assert times[each] == 1, f"{each} got it {times[each]} times: {state}, {said}"
                assert state == "sent", f"{each}: {state}, {said}"
        assert {content for _, content in self._taken} <= {_DIGEST}
        return next((came[each][0] for each in victims), "sent")

    def _talk(self, talker: Talker, sock: socket) -> None:
        session = _Session(sock)
        if self._security == "tls":
            session.sock, session.encrypted = self._context.wrap_socket(sock, server_side=True), True
        try:
            self._answer(talker, session, "connect", b"220 ready\r\n")
            while True:
                self._obey(talker, session, session.until(b"\r\n").decode("latin-1"))
        finally:
            if session.sock is not sock:
                with contextlib.suppress(OSError):
                    session.sock.close()

    def _obey(self, talker: Talker, session: _Session, line: str) -> None:
        command = line[:4].upper()
        if command in {"EHLO", "HELO"}:
            extensions = ["SIZE 1000000", "8BITMIME", *["PIPELINING"] * self._pipelines]
            extensions += ["AUTH PLAIN LOGIN"] * session.encrypted
            extensions += ["STARTTLS"] * (self._security == "starttls" and not session.encrypted)
            lines = "".join(f"250-{each}\r\n" for each in extensions)
            self._answer(talker, session, "EHLO", f"250-hello\r\n{lines}250 HELP\r\n".encode())
        elif command == "STAR":
            self._answer(talker, session, "STARTTLS", b"220 go ahead\r\n")
            session.sock, session.encrypted = self._context.wrap_socket(session.sock, server_side=True), True
        elif command == "AUTH":
            assert session.encrypted, "a password in the clear"
            self._answer(talker, session, "AUTH", b"235 welcome\r\n")
        elif command == "MAIL":
            self._answer(talker, session, "MAIL", b"250 ok\r\n")
        elif command == "RCPT":
            session.recipient = line.partition("<")[2].partition(">")[0]
            refused = self._phase == "RSET" and session.recipient == self._victim
            self._answer(talker, session, "RCPT", b"450 later\r\n" if refused else b"250 ok\r\n")
        elif command == "DATA":
            self._answer(talker, session, "DATA", b"354 go ahead\r\n")
            content = session.until(b"\r\n.\r\n") + b"\r\n"
            if self._takes or not self._is_hostile(session, "dot"):
                self._taken.append((session.recipient, content))
            self._answer(talker, session, "dot", b"250 taken\r\n")
        elif command in {"RSET", "QUIT"}:
            self._answer(talker, session, command, b"250 ok\r\n" if command == "RSET" else b"221 bye\r\n")
            if command == "QUIT":
                raise ConnectionResetError
        else:
            session.sock.sendall(b"500 what?\r\n")

    def _is_hostile(self, session: _Session, phase: str) -> bool:
        return phase == self._phase and self._left > 0 and self._victim in {"", session.recipient}

    def _answer(self, talker: Talker, session: _Session, phase: str, good: bytes) -> None:
        if not self._is_hostile(session, phase):
            session.sock.sendall(good)
        elif self._skipped:
            self._skipped -= 1
            session.sock.sendall(good)
        else:
            self._left -= 1
            talker.say(session.sock, _REPLIES[self._way](self._dice, good))
            if self._way == "cut":
                raise ConnectionResetError


def _stalled(dice: Random, good: bytes) -> Reply:
    yield good[: dice.randrange(len(good))] or b"2"
    yield 60.0


def _endless(dice: Random, good: bytes) -> Reply:
    code = good[:3]
    line = dice.choice([code + b"-x\r\n", code + b"-" + b"x" * 400 + b"\r\n", b"\r\n", b"x\r\n", code + b"-\n"])
    begun = dice.choice([b"", code + b"-", code + b" "])
    return itertools.chain([begun], endless(dice.choice([b"x", b"\0", b"-"]))) if dice.random() < 0.4 else endless(line)


def _dripped(dice: Random, good: bytes) -> Reply:
    code = good[:3]
    many = b"".join(b"%b-%d\r\n" % (code, n) for n in range(2_000))
    return dripped(dice, dice.choice([good, many + good, code + b"-" + b"x" * 9_000]))


def _many_lines(dice: Random, good: bytes) -> Reply:
    line = good[:3] + b"-" + dice.choice([b"", b"x" * 70, b"x" * 500]) + b"\r\n"
    return [line * dice.choice([50, 99, 100, 101, 5_000, 200_000]), good]


def _odd_code(dice: Random, good: bytes) -> Reply:
    codes = [
        "000",
        "001",
        "099",
        "100",
        "199",
        "222",
        "251",
        "299",
        "300",
        "334",
        "354",
        "399",
        "600",
        "999",
        "abc",
        "25",
    ]
    code = dice.choice([*codes, "2500", "-50", "٢٥٠", "", "2_0", "+25", " 25", "25 0", "9" * 5_000])
    return [f"{code}{dice.choice([' ', '-', '', chr(9)])}ok\r\n".encode(), dice.choice([b"", b"", good])]


def _no_smtp(dice: Random, good: bytes) -> Reply:
    foreign = [b"HTTP/1.1 400 Bad\r\n\r\n", b"\x15\x03\x01\x00\x02\x02\x28", b"\n" * 500, dice.randbytes(200) + b"\r\n"]
    changed = [good.replace(b"\r\n", b"\n"), good.replace(b"\r\n", b"\r"), b"\0" + good, b"\xef\xbb\xbf" + good]
    return [dice.choice(foreign + changed)]


def _refusal(dice: Random, good: bytes) -> Reply:
    code = dice.choice([421, 450, 451, 452, 454, 500, 501, 502, 503, 521, 530, 534, 535, 550, 551, 552, 553, 554, 571])
    told = base64.b64encode(f"\0paperboy\0{PASSWORD}".encode()).decode()
    words = ["no", "5.1.1 no such user", "4.3.2 later", "5.7.1 no", "4.7.28 rate limit", "daily sending limit"]
    words += ["a" * 60_000, "a@" * 30_000, "(" * 60_000, "too many " * 6_000, EVIL.replace("\r\n", " ")]
    words += [f"bad password {PASSWORD}", f"AUTH PLAIN {told}"]
    return [f"{code} {dice.choice(words)}\r\n".encode()]


def _mixed(dice: Random, good: bytes) -> Reply:
    """One reply of several codes."""
    return [b"%d-x\r\n" % dice.choice([250, 354, 550, 421, 999]), good]


def _extra(dice: Random, good: bytes) -> Reply:
    """More replies than commands."""
    more = [
        dice.choice([b"250 ok\r\n", b"354 go ahead\r\n", b"550 no\r\n", b"451 later\r\n", good])
        for _ in range(dice.randint(1, 8))
    ]
    return [b"".join([good, *more])]


def _capabilities(dice: Random, good: bytes) -> Reply:
    odd = [
        "SIZE", "SIZE 1", "SIZE abc", "SIZE " + "9" * 6_000, "AUTH", "AUTH=PLAIN", "AUTH X" + "Y" * 60_000, "STARTTLS",
        "PIPELINING", "SMTPUTF8", "\0", "X" * 60_000, "auth gssapi", "AUTH CRAM-MD5", "8BITMIME x=y",
    ]  # fmt: skip
    lines = "".join(f"250-{each}\r\n" for each in dice.sample(odd, dice.randint(1, 6)))
    return [f"250-hello\r\n{lines}250 HELP\r\n".encode()]


_REPLIES: Mapping[str, Callable[[Random, bytes], Reply]] = {
    "cut": lambda dice, good: [good[: dice.randrange(len(good))], *([RESET] if dice.random() < 0.5 else [])],
    "stalled": _stalled,
    "endless": _endless,
    "dripped": _dripped,
    "many lines": _many_lines,
    "odd code": _odd_code,
    "no SMTP": _no_smtp,
    "broken": lambda dice, good: [broken(dice, good)],
    "refusal": _refusal,
    "mixed": _mixed,
    "extra": _extra,
    "capabilities": _capabilities,
}
