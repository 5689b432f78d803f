"""One connection to a mail server, reused for every message.

`smtplib` speaks the protocol, but its `sendmail` cannot tell a connection lost before the final dot from one lost
after it. In the first case the server took nothing; in the second nobody knows. So the phases are separate here:

    connect, TLS, login     MailServerError: no recipient is to blame
    MAIL, RCPT, DATA        refused: failed or deferred · lost: pending, since nothing was handed over
    the message, its dot    lost: pending, since the final CRLF.CRLF was not sent
    the reply to the dot    taken: sent · refused: failed or deferred · lost: ambiguous

An OSError means that the connection is gone; smtplib's own exceptions are OSErrors, too.
"""

from __future__ import annotations

import contextlib
import functools
import re
import smtplib
import socket
import ssl
import time
from collections.abc import Container
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import ClassVar, Literal

from paperboy.errors import MailServerError
from paperboy.mail.text import one_line, shorten
from paperboy.models import DeliveryState, Envelope, Receipt

Security = Literal["starttls", "tls", "none"]

_GOOD: dict[str, Container[int]] = {"MAIL": range(200, 300), "RCPT": range(200, 300), "DATA": {354}}
_CONNECT, _GREET, _LOG_IN = "connection", "greeting or STARTTLS", "login"  # the steps of opening a connection
_NOT_OFFERED = {
    _GREET: "does not offer STARTTLS, and nothing is sent without it: set SMTP_SECURITY to tls (often port 465), or to "
    "none for a server on this machine.",
    _LOG_IN: "offers no login that Paperboy supports: leave SMTP_USERNAME empty, or check SMTP_PORT and SMTP_SECURITY.",
}
_LOGIN_WANTED = {530, 534, 535, 538}
_LONGEST_REPLY = 65_536  # bytes
_CERTIFICATE_ADVICE = {  # by OpenSSL's X509_V_ERR
    **dict.fromkeys((9, 10), "Renew it, or check this machine's clock."),
    **dict.fromkeys((62, 64), "Set SMTP_HOST to the name in the certificate."),
}


@dataclass(frozen=True, slots=True)
class Probed:
    """How a probe went, in words, and when the server's certificate expires; None without TLS."""

    words: str
    certificate_until: datetime | None


@dataclass(kw_only=True, repr=False, eq=False)
class SmtpTransport:
    """Sends through `host:port`. Certificates are verified, and a password is never sent without TLS.

    Only `abort` may be called from another thread.
    """

    host: str
    port: int
    security: Security
    username: str
    password: str
    timeout: float = 60  # seconds for connecting, for each send, and for each whole reply
    dot_timeout: float = 600  # seconds for the reply to the final dot
    ssl_context: ssl.SSLContext | None = None
    local_hostname: str | None = None
    via: ClassVar[str] = "smtp"
    _connection: _Connection | None = field(default=None, init=False)
    _handle: socket.socket | None = field(default=None, init=False)  # a duplicate for `abort`: TLS replaces the socket
    _pipelining: bool = field(default=True, init=False)
    _aborted: bool = field(default=False, init=False)

    def __str__(self) -> str:
        return f"mail server {self.host}:{self.port}"

    def send(self, envelope: Envelope) -> Receipt:
        """Hand over one message. Raises MailServerError if the server refuses us, not the recipient."""
        try:
            return self._hand_over(self._announced(envelope), envelope.message)
        except RefusedError as refused:
            return self._receipt(refused, envelope.sender)
        except (MailServerError, OSError) as error:
            if isinstance(error, MailServerError) and not self._aborted:
                raise
            self._drop()
            why = "told to stop" if self._aborted else f"connection lost: {_complaint(error)}"
            return Receipt(DeliveryState.PENDING, f"the message was not handed over: {why}")
        except BaseException:
            self._drop()  # or the next message would meet half a transaction
            raise

    def abort(self) -> None:
        """End what is under way, from another thread. From now on `send` returns everything as PENDING."""
        self._aborted = True
        if (handle := self._handle) is not None:
            with contextlib.suppress(OSError):  # the server hung up first
                handle.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        """Quit. Accepted messages stay sent, whatever the server answers."""
        if self._connection is not None and not self._aborted:
            with contextlib.suppress(OSError):
                self._connection.quit()
        self._drop()

    def probe(self, sender: str) -> Probed:
        """Connect, log in and name the envelope's sender; send nothing. Raises MailServerError if any of it fails."""
        connection = self._opened()
        try:
            _expect(connection.docmd(f"MAIL FROM:<{sender}>"), "MAIL", _GOOD["MAIL"])
        except RefusedError as refused:
            text, later = f"{self} answers MAIL FROM:<{sender}> with {refused}", not refused.permanent
            raise self._about_us(refused, sender) or MailServerError(text, temporary=later) from refused
        except OSError as error:
            self._drop()
            raise MailServerError(f"{self} hung up after the login: {_complaint(error)}", temporary=True) from error
        else:
            login = f"logged in as {self.username}" if self.username else "no login"
            secured, ends = "no encryption", None
            if isinstance(connection.sock, ssl.SSLSocket):
                secured = f"{'STARTTLS' if self.security == 'starttls' else 'TLS'} ({connection.sock.version()})"
                certificate = connection.sock.getpeercert() or {}
                ends = datetime.fromtimestamp(ssl.cert_time_to_seconds(str(certificate["notAfter"])), UTC)
            return Probed(f"{self}, {secured}, {login}", ends)
        finally:
            self.close()

    # --- one message

    def _announced(self, envelope: Envelope) -> _Connection:
        """The connection, once the server waits for the message. A used connection may have reached the server's limit
        of time or messages: nothing was handed over yet, so it is replaced by a new one.
        """
        while True:
            used = self._connection is not None
            connection = self._connection or self._opened()
            try:
                self._announce(connection, envelope)
            except RefusedError as refused:
                if refused.code == 503 and connection.pipelines:
                    self._pipelining = False  # something between us and the server mixes the commands up
                elif not (used and refused.command == "MAIL" and refused.too_much):
                    raise
            except OSError:
                if not used:
                    raise
            else:
                return connection
            self._drop()

    def _announce(self, connection: _Connection, envelope: Envelope) -> None:
        """Send MAIL, RCPT and DATA, in one packet if the server allows it (RFC 2920): each reply of a far server costs
        a round trip. The first refusal is raised, after all replies are read.
        """
        size = f" SIZE={len(envelope.message)}" if connection.has_extn("size") else ""
        commands = [f"MAIL FROM:<{envelope.sender}>{size}", f"RCPT TO:<{envelope.recipient}>", "DATA"]
        if any(end in line for line in commands for end in "\r\n"):
            raise ValueError("a line end in an address")
        refused: RefusedError | None = None
        at_once = connection.pipelines = self._pipelining and connection.has_extn("pipelining")
        for number, (command, good) in enumerate(_GOOD.items()):
            if number == 0 or not at_once:
                connection.send("\r\n".join(commands if at_once else [commands[number]]) + "\r\n")
            try:
                _expect(connection.getreply(), command, good)
                if refused and command == "DATA":
                    connection.docmd(".")  # the server waits for a message to nobody
            except RefusedError as error:
                refused = refused or error
                if not at_once:
                    raise
            except OSError:
                if refused is None:
                    raise
                self._drop()
                break
        if refused:
            raise refused

    def _hand_over(self, connection: _Connection, message: bytes) -> Receipt:
        """Send the message with its final dot, and read the reply. If sending fails, the final CRLF.CRLF was not sent,
        so the message was not accepted; only a lost reply leaves that open.
        """
        dotted = message.replace(b"\r\n.", b"\r\n..")  # RFC 5321, 4.5.2; the first line is a header
        connection.send(dotted + (b".\r\n" if dotted.endswith(b"\r\n") else b"\r\n.\r\n"))
        try:
            code, reply = connection.getreply(self.dot_timeout)
        except OSError as error:
            self._drop()
            return Receipt(DeliveryState.AMBIGUOUS, f"connection lost after the message: {_complaint(error)}")
        if not 200 <= code <= 299 and not 400 <= code <= 599:
            self._drop()
            return Receipt(DeliveryState.AMBIGUOUS, f"meaningless reply to the message: {_said(code, reply)}")
        _expect((code, reply), "end of message", range(200, 300))
        return Receipt(DeliveryState.SENT, _said(code, reply))

    def _receipt(self, refused: RefusedError, sender: str) -> Receipt:
        """What a refusal means for the message. The connection is ready for the next one afterwards, or dropped."""
        slow_down = refused.slows_down or (refused.command == "MAIL" and not refused.permanent)
        if slow_down or not self._reset():
            self._drop()  # a new connection may be welcome
        if error := self._about_us(refused, sender):
            raise error from refused
        return Receipt(
            DeliveryState.FAILED if refused.permanent else DeliveryState.DEFERRED,
            f"{refused.command}: {refused}",
            bounce=refused.bounces,
            slow_down=slow_down,
        )

    def _reset(self) -> bool:
        try:
            return self._connection is not None and self._connection.rset()[0] == 250
        except OSError:
            return False

    def _about_us(self, refused: RefusedError, sender: str) -> MailServerError | None:
        """The error if every other message would be refused, too: we sent too much, the sender is not allowed, or a
        login is required, which some say only at RCPT. 552 is about the size of this message.
        """
        if refused.limits_us:
            return MailServerError(f"{self} takes no more from us for now: {refused}", busy=True)
        refuses_sender = refused.command == "MAIL" and refused.permanent and refused.code != 552
        if refuses_sender or (refused.code in _LOGIN_WANTED and not self.username):
            return MailServerError(
                f"{self} refuses the sender {sender}: {refused}. If that is not about how much you send, set MAIL_FROM "
                "to an address that it lets you send from, and SMTP_USERNAME and SMTP_PASSWORD for a login."
            )
        return None

    # --- the connection

    def _opened(self) -> _Connection:
        """A new connection: greeted, secured and logged in. Raises MailServerError."""
        if self.password and self.security == "none":
            raise MailServerError(
                "SMTP_SECURITY is none, and a password is never sent in the clear: set it to starttls or tls, or leave "
                "SMTP_USERNAME and SMTP_PASSWORD empty."
            )
        self._connection = connection = _Connection(local_hostname=self.local_hostname, timeout=self.timeout)
        step = _CONNECT
        try:
            self._connect(connection)
            step = _GREET
            if self.security == "starttls":
                connection._host = self.host  # type: ignore[attr-defined]  # the name the certificate must have
                connection.starttls(context=self.ssl_context or _usual_context())
                connection.buffer = b""  # anyone may have injected unread bytes before TLS
            connection.ehlo_or_helo_if_needed()
            step = _LOG_IN
            if self.username:  # one mechanism alone: `login` tries all, and several refusals may lock the account
                offered = connection.esmtp_features.pop("auth", "").upper().split()
                if ways := [way for way in ("PLAIN", "LOGIN") if way in offered]:
                    connection.esmtp_features["auth"] = ways[0]
                connection.login(self.username, self.password)
        except (OSError, UnicodeError) as error:
            self._drop()
            later = is_temporary(error)
            busy = later and isinstance(error, smtplib.SMTPResponseException)
            cause = None if step == _LOG_IN else error  # it may hold the password
            raise MailServerError(self._explained(step, error), temporary=later, busy=busy) from cause
        return connection

    def _connect(self, connection: _Connection) -> None:
        if self._aborted:
            raise ConnectionAbortedError
        sock = socket.create_connection((self.host, self.port), self.timeout)
        connection.sock, self._handle = sock, sock.dup()
        if self._aborted:  # checked last: `abort` sets it before it looks for the handle
            raise ConnectionAbortedError
        # Otherwise Nagle's algorithm delays the end of each TLS message by 40 ms. The option outlives STARTTLS.
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if self.security == "tls":
            context = self.ssl_context or _usual_context()
            connection.sock = context.wrap_socket(sock, server_hostname=self.host)
        code, reply = connection.getreply()
        if code != 220:
            raise smtplib.SMTPConnectError(code, reply)

    def _explained(self, step: str, error: OSError | UnicodeError) -> str:
        """Why there is no connection, and the fix."""
        said = _complaint(error)
        if isinstance(error, ssl.SSLCertVerificationError):
            advice = _CERTIFICATE_ADVICE.get(error.verify_code, "Install the authority that signed it.")
            text = f"the certificate of {self} cannot be trusted: {error.verify_message.rstrip('.')}. {advice}"
        elif isinstance(error, ssl.SSLError):
            text = f"no TLS with {self}: {said}. Port 587 usually wants SMTP_SECURITY=starttls, port 465 tls."
        elif isinstance(error, smtplib.SMTPAuthenticationError):  # its reply is not quoted: it may repeat the password
            advice = "It may be temporary." if is_temporary(error) else "Check SMTP_USERNAME and SMTP_PASSWORD."
            text = f"{self} refuses the login of {self.username} ({error.smtp_code}). {advice}"
        elif isinstance(error, UnicodeError) and step == _LOG_IN:
            text = "SMTP_USERNAME or SMTP_PASSWORD contains non-ASCII letters: choose others."
        elif isinstance(error, smtplib.SMTPNotSupportedError):
            text = f"{self} {_NOT_OFFERED[step]}"
        elif isinstance(error, smtplib.SMTPResponseException):
            text = f"{self} answers the {step} with {said}. Ask those who run it, or check SMTP_HOST and SMTP_PORT."
        elif step != _CONNECT:
            text = f"{self} hung up during the {step}: {said}. Check SMTP_HOST, SMTP_PORT and SMTP_SECURITY."
        else:
            mute = self.security != "tls" and not isinstance(error, socket.gaierror | ConnectionRefusedError)
            hint = " If the port speaks TLS from the start, set SMTP_SECURITY=tls." if mute else ""
            text = f"cannot reach {self}: {said}. Check SMTP_HOST and SMTP_PORT.{hint}"
        return text

    def _drop(self) -> None:
        for each in (self._connection, self._handle):
            if each is not None:
                each.close()
        self._connection = self._handle = None


class _Connection(smtplib.SMTP):
    """smtplib's client, with one time limit for each whole reply, however slowly it trickles in."""

    buffer = b""
    pipelines = False

    def send(self, s: bytes | str) -> None:  # type: ignore[override]
        if self.sock is not None:
            self.sock.settimeout(self.timeout)
        super().send(s)

    def getreply(self, timeout: float = 0) -> tuple[int, bytes]:
        """The code, -1 if there is none, and the text without it."""
        ends = time.monotonic() + (timeout or self.timeout)
        while not (whole := _REPLY.match(self.buffer)) and len(self.buffer) < _LONGEST_REPLY:
            if self.sock is None:
                raise smtplib.SMTPServerDisconnected("connection closed")
            self.sock.settimeout(max(ends - time.monotonic(), 1e-6))
            if not (got := self.sock.recv(8192)):
                raise smtplib.SMTPServerDisconnected("Connection unexpectedly closed")
            self.buffer += got
        reply = whole[0] if whole else self.buffer
        self.buffer = self.buffer[len(reply) :]
        lines = reply.splitlines()
        code = lines[-1][:3] if whole else b""
        return int(code) if code.isdigit() else -1, b"\n".join(line[4:].strip() for line in lines)

    def ehlo(self, name: str = "") -> tuple[int, bytes]:
        """Raises SMTPHeloError for a refusal; smtplib would try HELO, which is only for a server that knows no EHLO."""
        code, reply = super().ehlo(name)
        if not 200 <= code <= 299 and not 500 <= code <= 504:
            raise smtplib.SMTPHeloError(code, reply)
        return code, reply


# --- what replies and errors mean: pure

_REPLY = re.compile(rb"(?:\d{3}-[^\n]*\n)*+(?!\d{3}-)[^\n]*\n")
_ENHANCED = re.compile(r"#?([245])\.(\d{1,3})\.(\d{1,3})(?!\d)")  # RFC 3463; some servers put a "#" before it
_VOLUME = re.compile(
    r"too (?:many|much|fast|frequent)|throttl|\brate(?:s|d|-?limit\w*)?\b|\bfrequency\b|\bvolume\b|congest|exceed"
    r"|limit reached|per connection|concurren",
    re.IGNORECASE,
)
_ONE_MAILBOX = re.compile(
    r"\b(?:mailbox|inbox|storage|size)\b|\b(?:over|user|recipient|account|disk)\W+(?:is\W+)?(?:over\W+)?quota",
    re.IGNORECASE,
)
_LIMIT = re.compile(r"\b(?:daily|hourly|sending|outgoing)\W+(?:\w+\W+){0,3}?(?:limit|quota)\b", re.IGNORECASE)


class RefusedError(Exception):
    """A reply that refuses a command of one message, and what it says."""

    def __init__(self, command: str, code: int, reply: bytes) -> None:
        super().__init__(_said(code, reply))
        self.command, self.code, self.text = command, code, _text(reply)
        self.permanent = 500 <= code <= 599
        found = _ENHANCED.match(self.text)
        self.status = (int(found[2]), int(found[3])) if found and found[1] == str(code)[0] else (0, 0)

    @property
    def bounces(self) -> bool:
        """Whether the address does not exist: only the enhanced status code of a reply to RCPT can say so."""
        if self.command != "RCPT" or not self.permanent:
            return False
        if self.status[0] == 1:  # 5.1.7 and 5.1.8 are about the sender's address, as is Postfix's "5.1.0 Sender …"
            return self.status[1] not in {7, 8} and not re.search(r"\bsender\b", self.text, re.IGNORECASE)
        return self.status == (2, 1)

    @property
    def slows_down(self) -> bool:
        """Whether the server is overloaded, by us or by itself (4.3.x: its disk is full, for example)."""
        return self.too_much or (not self.permanent and self.status[0] == 3)

    @property
    def limits_us(self) -> bool:
        """Whether we have used up a quota of our own, such as a provider's daily limit."""
        return self.permanent and (self.status == (4, 5) or bool(_LIMIT.search(self.text)))

    @property
    def too_much(self) -> bool:
        """Whether we send too much, or too fast. Full mailboxes (4.2.x) and greylisting are not about our rate."""
        if self.code == 421 or not 400 <= self.code <= 499:
            return self.code == 421
        about_rate = bool(_VOLUME.search(self.text)) and not _ONE_MAILBOX.search(self.text)
        return self.status in {(7, 28), (4, 5)} or (self.status[0] != 2 and about_rate)


def is_temporary(error: Exception) -> bool:
    """Whether opening a connection may succeed later, or with fewer connections."""
    if isinstance(error, smtplib.SMTPResponseException):
        return 400 <= error.smtp_code <= 499
    if isinstance(error, socket.gaierror):
        return error.errno == socket.EAI_AGAIN
    if isinstance(error, ssl.SSLError):
        return isinstance(error, ssl.SSLEOFError | ssl.SSLZeroReturnError)
    return not isinstance(error, UnicodeError | smtplib.SMTPNotSupportedError)


def _expect(answer: tuple[int, bytes], command: str, good: Container[int]) -> None:
    if answer[0] not in good:
        raise RefusedError(command, *answer)


def _said(code: int, reply: bytes) -> str:
    return shorten(f"{code} {_text(reply)}", 300)


def _complaint(error: Exception) -> str:
    if isinstance(error, smtplib.SMTPResponseException) and isinstance(error.smtp_error, bytes):
        return _said(error.smtp_code, error.smtp_error)
    return shorten(one_line(getattr(error, "strerror", "") or str(error) or type(error).__name__), 200)


def _text(reply: bytes) -> str:
    return one_line(reply.decode("utf-8", "replace"))


@functools.cache
def _usual_context() -> ssl.SSLContext:  # cached: reading the authorities takes as long as sending 50 messages
    return ssl.create_default_context()
