"""A mail server on loopback: it takes mail, remembers every message, and fails when and where it is told to.

In a test:

    with SmtpServer() as server:
        server.faults.append(Fault("RCPT", "550 5.1.1 no such user", address="bob@example.org"))
        ...
        assert [message.recipient for message in server.messages] == ["ada@example.org"]

For a person: `python -m tests.servers.smtp --port 8026`, with SMTP_HOST=localhost and SMTP_SECURITY=none.
"""

from __future__ import annotations

import argparse
import asyncio
import base64
import mailbox
import ssl
import tempfile
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from email import message_from_bytes, policy
from pathlib import Path
from typing import Any, Literal, Self

import trustme
from aiosmtpd.smtp import SMTP, AuthResult, LoginPassword

from tests.servers.loopback import until_interrupted

Phase = Literal[
    "connect",
    "EHLO",
    "STARTTLS",
    "AUTH",
    "refusal",
    "MAIL",
    "RCPT",
    "DATA",
    "body",
    "dot",
    "RSET",
    "QUIT",
]


@dataclass
class Fault:
    """What goes wrong: the reply at a phase, or without one a dropped connection. Bytes are sent as they are, and
    `every` so many seconds once more, until the client hangs up or has had 50 MB.

    "DATA" is the command, "body" comes in the midst of the message, "dot" when it is all there; "refusal" is a token's,
    after the client has read why. With `address` it meets that recipient alone (from RCPT on). `times` counts down;
    None is for ever. The first so many are `spared`.
    """

    at: Phase
    reply: str | bytes = ""
    every: float | None = None
    address: str | None = None
    times: int | None = None
    spared: int = 0
    delay: float = 0  # seconds before it happens
    until: Callable[[], object] = lambda: True  # it happens once this is true
    keeps: bool = False  # at EHLO, RCPT or the dot: the client, recipient or message counts as taken all the same


@dataclass(frozen=True)
class Message:
    """A message that the server took. One with several recipients appears once for each."""

    sender: str
    recipient: str
    content: bytes  # as it came, with CRLF
    connection: int  # from 1
    tls: bool
    login: str  # empty where nobody logged in


@dataclass
class SmtpServer:
    """Listens from `with` to its end; `port` is then the real one. A username makes logging in a duty."""

    security: Literal["none", "starttls", "tls"] = "none"
    ssl_context: ssl.SSLContext | None = None
    username: str = ""
    password: str = ""
    token: str = ""  # with it, AUTH XOAUTH2 is offered, beside LOGIN and PLAIN
    challenge: bytes | str = (  # for another one; what is no bytes is not in base64 either
        b'{"status":"401","schemes":"Bearer","scope":"https://mail.example.org/send"}'
    )
    pipelining: bool = True
    smtputf8: bool = False
    port: int = 0
    host: str = "127.0.0.1"
    on_message: Callable[[Message], None] | None = None
    on_fault: Callable[[Fault], None] | None = None  # when it is met, before its delay
    faults: list[Fault] = field(default_factory=list)
    messages: list[Message] = field(default_factory=list)
    dots: int = 0  # messages that were all there, whether or not they were taken
    connections: int = 0
    # Connections that are over: whether by QUIT.
    ended: dict[int, bool] = field(default_factory=dict)
    passwords_in_the_clear: int = 0
    most_per_connection: int = 0  # then MAIL gets a 452; 0: no limit
    logins: int = 0  # how often somebody began to log in
    tokens: list[str] = field(default_factory=list)  # that were offered
    answers: list[bytes] = field(default_factory=list)  # to the challenge
    sessions: list[_Session] = field(default_factory=list, repr=False)

    def __enter__(self) -> Self:
        self._loop = asyncio.new_event_loop()
        implicit = self.ssl_context if self.security == "tls" else None
        listening = self._loop.create_server(
            lambda: _Session(self), self.host, self.port, ssl=implicit
        )
        self._server = self._loop.run_until_complete(listening)
        self.port = self._server.sockets[0].getsockname()[1]
        self._thread = threading.Thread(
            target=self._loop.run_forever, name="smtp server", daemon=True
        )
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        asyncio.run_coroutine_threadsafe(self._stop(), self._loop).result(300)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(300)
        self._loop.close()

    async def _stop(self) -> None:
        self._server.close()
        for session in self.sessions:
            session.end()
        sessions = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
        for task in sessions:
            task.cancel()
        await asyncio.gather(*sessions, return_exceptions=True)
        for _ in range(3):  # aborted transports close their sockets on the loop's next turns
            await asyncio.sleep(0)

    def fault(self, phase: Phase, recipients: list[str]) -> Fault | None:
        """The next fault that applies, counted down."""
        for fault in self.faults:
            meets = fault.address is None or fault.address in recipients
            if fault.at == phase and meets and fault.times != 0:
                if fault.spared:
                    fault.spared -= 1
                    continue
                if fault.times is not None:
                    fault.times -= 1
                return fault
        return None

    def take(self, message: Message) -> None:
        self.messages.append(message)
        if self.on_message is not None:
            self.on_message(message)


class _Handler:
    def __init__(self, *, pipelining: bool) -> None:
        self._pipelining = pipelining

    async def handle_EHLO(  # noqa: N802
        self, _server: Any, session: Any, _envelope: Any, hostname: str, responses: list[str]
    ) -> list[str]:
        session.host_name = hostname
        return (
            responses if not self._pipelining else [responses[0], "250-PIPELINING", *responses[1:]]
        )

    async def handle_DATA(self, session: _Session, *_: Any) -> str | None:  # noqa: N802
        return await session.taken()


class _Session(SMTP):
    """One connection. The faults stand before aiosmtpd's own commands."""

    def __init__(self, server: SmtpServer) -> None:
        self._owner = server
        super().__init__(
            _Handler(pipelining=server.pipelining),
            hostname="localhost",
            tls_context=server.ssl_context if server.security == "starttls" else None,
            auth_require_tls=server.security == "starttls",
            authenticator=self._logs_in,
            auth_exclude_mechanism=[] if server.token else ["XOAUTH2"],
            data_size_limit=64 * 1024 * 1024,
            enable_SMTPUTF8=server.smtputf8,
        )
        self._number = 0
        self._taken = 0
        self._login = ""
        self._quits = False

    @property
    def _encrypted(self) -> bool:
        return (
            self.transport is not None and self.transport.get_extra_info("ssl_object") is not None
        )

    def end(self) -> None:
        """Cuts the connection, if it is still there."""
        for transport in (self.transport, self._original_transport):
            if (
                transport is not None and not transport.is_closing()
            ):  # Python 3.11.2 cannot abort twice
                transport.abort()

    async def _fails(self, phase: Phase, recipients: list[str] | None = None) -> bool:
        """Whether a fault was met here, and has had its way."""
        recipients = (
            recipients
            if recipients is not None
            else list(self.envelope.rcpt_tos if self.envelope else [])
        )
        fault = self._owner.fault(phase, recipients)
        if fault is None:
            return False
        if self._owner.on_fault is not None:
            self._owner.on_fault(fault)
        await asyncio.sleep(fault.delay)
        while not fault.until():  # noqa: ASYNC110  # a file's words or a thread's event, and no event of this loop
            await asyncio.sleep(0.01)
        if phase == "dot" and fault.keeps:
            self._keep()
        if phase == "EHLO" and fault.keeps:
            self.session.host_name = "localhost"
            self.session.extended_smtp = True
        if phase == "RCPT" and fault.keeps:
            self.envelope.rcpt_tos.extend(recipients)
        if isinstance(fault.reply, bytes):
            await self._goes_on(fault.reply, fault.every)
        elif fault.reply:
            await self.push(fault.reply)
            if fault.reply.startswith("421"):
                self.transport.close()
        else:
            self.transport.abort()
            await asyncio.sleep(3600)  # ended by the loss of the connection
        return True

    async def _goes_on(self, piece: bytes, every: float | None) -> None:
        self._writer.write(piece)
        sent = len(piece)
        while every is not None and sent < 50_000_000 and not self.transport.is_closing():
            await asyncio.sleep(every)
            self._writer.write(piece)
            await self._writer.drain()
            sent += len(piece)

    async def _handle_client(self) -> None:
        if not self._number:  # and not once more after STARTTLS
            self._owner.connections += 1
            self._number = self._owner.connections
            self._owner.sessions.append(self)
            if await self._fails("connect"):
                return
        await super()._handle_client()

    def connection_lost(self, error: Exception | None) -> None:
        super().connection_lost(error)
        if self._number:
            self._owner.ended[self._number] = self._quits

    async def smtp_EHLO(self, arg: str) -> None:  # noqa: N802
        if not await self._fails("EHLO"):
            await super().smtp_EHLO(arg)

    async def smtp_STARTTLS(self, arg: str) -> None:  # noqa: N802
        if not await self._fails("STARTTLS"):
            await super().smtp_STARTTLS(arg)

    async def smtp_AUTH(self, arg: str) -> None:  # noqa: N802
        self._owner.logins += 1
        if not self._encrypted:
            self._owner.passwords_in_the_clear += 1
        if not await self._fails("AUTH"):
            await super().smtp_AUTH(arg)

    async def auth_XOAUTH2(self, _server: Any, args: list[str]) -> AuthResult:  # noqa: N802
        """Take the token in a line of its own, which may be longer than other lines."""
        if len(args) == 1:
            await super().push("334 ")
        line = args[1].encode() if len(args) > 1 else await self._line(12_288)
        wanted = f"user={self._owner.username}\x01auth=Bearer {self._owner.token}\x01\x01"
        given = base64.b64decode(line, validate=True).decode()
        self._owner.tokens.append(given.partition("Bearer ")[2].strip("\x01"))
        if given == wanted:
            self._login = self._owner.username
            return AuthResult(success=True)
        why = self._owner.challenge
        await super().push(
            b"334 " + (why.encode() if isinstance(why, str) else base64.b64encode(why))
        )
        self._owner.answers.append(await self._line(1_000))
        if await self._fails("refusal"):
            return AuthResult(success=False, handled=True)
        return AuthResult(
            success=False, handled=False, message="535 5.7.3 Authentication unsuccessful"
        )

    async def _line(self, most: int) -> bytes:
        limit = self._reader._limit
        self._reader._limit = most
        line: bytes = await self._reader.readline()
        self._reader._limit = limit
        return line.rstrip(b"\r\n")

    async def smtp_MAIL(self, arg: str) -> None:  # noqa: N802
        if await self._fails("MAIL"):
            return
        if self._owner.username and not self._login:
            await self.push("530 5.7.0 Authentication required")
            return
        if 0 < self._owner.most_per_connection <= self._taken:
            await self.push("452 4.5.3 too many messages in this connection")
            return
        await super().smtp_MAIL(arg)

    async def smtp_RCPT(self, arg: str) -> None:  # noqa: N802
        if not await self._fails("RCPT", [arg.partition("<")[2].partition(">")[0]]):
            await super().smtp_RCPT(arg)

    async def smtp_DATA(self, arg: str) -> None:  # noqa: N802
        if await self._fails("DATA"):
            return
        if self._owner.fault("body", list(self.envelope.rcpt_tos)):
            await self.push("354 go ahead")
            await self._reader.readline()
            self.transport.abort()
            await asyncio.sleep(3600)
        await super().smtp_DATA(arg)

    async def smtp_RSET(self, arg: str) -> None:  # noqa: N802
        if not await self._fails("RSET"):
            await super().smtp_RSET(arg)

    async def smtp_QUIT(self, arg: str) -> None:  # noqa: N802
        self._quits = True
        if not await self._fails("QUIT"):
            await super().smtp_QUIT(arg)

    async def taken(self) -> str | None:
        self._owner.dots += 1
        if await self._fails("dot"):
            return None
        self._keep()
        return f"250 2.0.0 taken as {len(self._owner.messages)}"

    async def push(self, status: str | bytes | None) -> None:
        if status is not None:  # None: a fault has said what there was to say
            await super().push(status)

    def _keep(self) -> None:
        self._taken += 1
        for recipient in self.envelope.rcpt_tos:
            self._owner.take(
                Message(
                    sender=self.envelope.mail_from,
                    recipient=recipient,
                    content=bytes(self.envelope.original_content),
                    connection=self._number,
                    tls=self._encrypted,
                    login=self._login,
                )
            )

    def _logs_in(
        self, _server: Any, _session: Any, _envelope: Any, _how: str, given: Any
    ) -> AuthResult:
        wanted = LoginPassword(self._owner.username.encode(), self._owner.password.encode())
        good = bool(self._owner.username) and given == wanted
        if good:
            self._login = self._owner.username
        return AuthResult(success=good, handled=good)


def certificates(
    name: str = "localhost", not_after: datetime | None = None
) -> tuple[ssl.SSLContext, ssl.SSLContext]:
    """Contexts for a server of that name, and for a client that trusts it, under an authority made on the spot."""
    authority = trustme.CA()
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert(name, not_after=not_after).configure_cert(server)
    client = ssl.create_default_context()
    authority.configure_trust(client)
    return server, client


def main() -> None:
    """Takes mail until it is interrupted."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.servers.smtp",
        description="A mail server that keeps what it gets in a Maildir.",
    )
    parser.add_argument("--port", type=int, default=8026, help="default: 8026")
    options = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="paperboy-smtp-")) / "Maildir"
    maildir = mailbox.Maildir(str(folder), create=True)

    def keep(message: Message) -> None:
        maildir.add(message.content.replace(b"\r\n", b"\n"))
        subject = message_from_bytes(message.content, policy=policy.default)["subject"]
        print(
            f"# {message.sender} -> {message.recipient}: {subject} ({len(message.content):,} bytes)",
            flush=True,
        )

    with (
        SmtpServer(port=options.port, on_message=keep) as server,
        until_interrupted(),
    ):
        print(
            f"SMTP_HOST={server.host}\nSMTP_PORT={server.port}\nSMTP_SECURITY=none\nMAIL_FROM=papers@example.org"
        )
        print(f"# keeping mail in {folder}; Ctrl-C stops it", flush=True)


if __name__ == "__main__":
    main()
