"""One connection to a mail server, kept open from message to message.

`smtplib` does the talking, but its own `sendmail` cannot tell a connection that was lost before the final dot from one
that was lost after it. The first message was never taken; of the second nobody knows. So the phases are walked here:

    connect, TLS, login     MailServerError: no recipient is to blame
    MAIL, RCPT, DATA        refused: failed or deferred · lost: pending, since nothing was handed over
    the message, its dot    lost: pending, since the end of the dot's line has not left
    the reply to the dot    taken: sent · refused: failed or deferred · lost: ambiguous

Where `except OSError` stands, the connection is gone; smtplib's own exceptions are OSErrors, too.
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
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Literal

from paperboy.errors import MailServerError
from paperboy.mail.text import one_line, shorten
from paperboy.models import DeliveryState, Envelope, Receipt

Security = Literal["starttls", "tls", "none"]

_GOOD: dict[str, Container[int]] = {"MAIL": range(200, 300), "RCPT": range(200, 300), "DATA": {354}}
_CONNECT, _GREET, _LOG_IN = "connection", "greeting or STARTTLS", "login"  # the steps on the way to a connection
_LOGIN_WANTED = {530, 534, 535, 538}
_LONGEST_REPLY = 65_536  # bytes
_CERTIFICATE_ADVICE = {  # by OpenSSL's X509_V_ERR
    9: "Its time has not come yet: check this machine's clock.",
    10: "Its time is over: have it renewed, or check this machine's clock.",
    62: "Set SMTP_HOST to the name in the certificate.",
    64: "Set SMTP_HOST to the name in the certificate.",
}


@dataclass(frozen=True, slots=True)
class Probed:
    """How a probe went, in words, and when the server's certificate ends; None without TLS."""

    words: str
    certificate_until: datetime | None


class SmtpTransport:
    """Sends through `host:port`. `timeout` (seconds) is for connecting, for each send and for each whole reply but the
    one to the final dot, which may take `dot_timeout`. Certificates are verified, by `ssl_context` if it is given, and
    a password is never sent without TLS. All but `abort` is for one thread at a time.
    """

    def __init__(
        self,
        *,
        host: str,
        port: int,
        security: Security,
        username: str,
        password: str,
        timeout: float = 60,
        dot_timeout: float = 600,
        ssl_context: ssl.SSLContext | None = None,
        local_hostname: str | None = None,
    ) -> None:
        self._host, self._port, self._security = host, port, security
        self._username, self._password = username, password
        self._timeout, self._dot_timeout = timeout, dot_timeout
        self._ssl_context, self._local_hostname = ssl_context, local_hostname
        self._connection: _Connection | None = None
        self._pipelining = True
        self._handle: socket.socket | None = None  # on the connection; `abort`'s own, since TLS replaces the other one
        self._aborted = False

    def __repr__(self) -> str:
        return f"SmtpTransport({self._host}:{self._port}, {self._security})"

    def __str__(self) -> str:
        return f"mail server {self._host}:{self._port}"

    @property
    def via(self) -> str:
        """How mail leaves."""
        return "smtp"

    def send(self, envelope: Envelope) -> Receipt:
        """Hand one message over; gives what the server said. MailServerError if it refuses us, not the recipient."""
        try:
            return self._hand_over(self._announced(envelope), envelope.message)
        except RefusedError as refused:
            return self._receipt(refused, envelope.sender)
        except MailServerError:
            if not self._aborted:
                raise
            return _not_handed_over("told to stop")
        except OSError as error:
            self._drop()
            return _not_handed_over("told to stop" if self._aborted else f"connection lost: {_complaint(error)}")
        except BaseException:
            self._drop()  # or the next message would meet half a transaction
            raise

    def abort(self) -> None:
        """Break off, from another thread, what is under way. From now on `send` gives everything back as PENDING."""
        self._aborted = True
        if (handle := self._handle) is not None:
            with contextlib.suppress(OSError):  # the other side was faster
                handle.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        """Take leave of the server. What it took stays sent, whatever it says now."""
        if self._connection is not None and not self._aborted:
            with contextlib.suppress(OSError):
                self._connection.quit()
        self._drop()

    def probe(self, sender: str) -> Probed:
        """Connect, log in and name the envelope's sender; send nothing. MailServerError if any of it fails."""
        connection = self._opened()
        try:
            _expect(connection.docmd(f"MAIL FROM:<{sender}>"), "MAIL", {250})
        except RefusedError as refused:
            text, later = f"{self} answers MAIL FROM:<{sender}> with {refused}", 400 <= refused.code <= 499
            raise self._about_us(refused, sender) or MailServerError(text, temporary=later) from refused
        except OSError as error:
            raise MailServerError(f"{self} went away after the login: {_complaint(error)}", temporary=True) from error
        else:
            login = f"logged in as {self._username}" if self._username else "no login"
            if not isinstance(connection.sock, ssl.SSLSocket):
                return Probed(f"{self}, no encryption, {login}", None)
            secured = {"starttls": "STARTTLS", "tls": "TLS"}[self._security]
            ends = ssl.cert_time_to_seconds(str((connection.sock.getpeercert() or {})["notAfter"]))
            words = f"{self}, {secured} ({connection.sock.version()}), {login}"
            return Probed(words, datetime.fromtimestamp(ends, UTC))
        finally:
            self.close()

    # --- one message

    def _announced(self, envelope: Envelope) -> _Connection:
        """The connection, once the server waits for the message. A used one may have reached the server's limit of time
        or messages, and nothing was handed over yet: then once more on a new one.
        """
        used = self._connection is not None
        connection = self._connection or self._opened()
        try:
            self._announce(connection, envelope)
        except RefusedError as refused:
            full = used and refused.command == "MAIL" and too_much(refused.code, refused.text)
            out_of_order = refused.code == 503 and self._pipelines(connection)  # something on the way mixes them up
            if not (full or out_of_order):
                raise
            self._pipelining = self._pipelining and not out_of_order
        except OSError:
            if not used:
                raise
        else:
            return connection
        self._drop()
        connection = self._opened()
        self._announce(connection, envelope)
        return connection

    def _pipelines(self, connection: _Connection) -> bool:
        return self._pipelining and connection.has_extn("pipelining")

    def _announce(self, connection: _Connection, envelope: Envelope) -> None:
        """MAIL, RCPT and DATA, in one packet if the server can take it (RFC 2920): a far server is mostly waited for.
        The first refusal is what counts; the replies after it are taken off the line.
        """
        size = f" SIZE={len(envelope.message)}" if connection.has_extn("size") else ""
        commands = [f"MAIL FROM:<{envelope.sender}>{size}", f"RCPT TO:<{envelope.recipient}>", "DATA"]
        if any(end in line for line in commands for end in "\r\n"):
            raise ValueError("a line end in an address")
        at_once = self._pipelines(connection)
        refused: RefusedError | None = None
        for number, (command, good) in enumerate(_GOOD.items()):
            if number == 0 or not at_once:
                connection.send("\r\n".join(commands if at_once else [commands[number]]) + "\r\n")
            try:
                _expect(connection.getreply(), command, good)
                if refused and command == "DATA":
                    connection.docmd(".")  # it waits for a message to nobody
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
        """The message with its dot, and the reply to it. If sending fails, the end of the dot's line has not left; only
        while the reply is awaited can it be unknown whether the message was taken.
        """
        dotted = message.replace(b"\r\n.", b"\r\n..")  # RFC 5321, 4.5.2; the first line is a header
        connection.send(dotted + (b".\r\n" if dotted.endswith(b"\r\n") else b"\r\n.\r\n"))
        try:
            code, reply = connection.getreply(self._dot_timeout)
        except OSError as error:
            self._drop()
            return Receipt(DeliveryState.AMBIGUOUS, f"connection lost after the message: {_complaint(error)}")
        if not 200 <= code <= 299 and not 400 <= code <= 599:
            self._drop()
            return Receipt(DeliveryState.AMBIGUOUS, f"no reply that means anything: {_said(code, reply)}")
        _expect((code, reply), "end of message", range(200, 300))
        return Receipt(DeliveryState.SENT, _said(code, reply))

    def _receipt(self, refused: RefusedError, sender: str) -> Receipt:
        """What a refusal means. The connection is in order then. MailServerError if no recipient is to blame."""
        permanent = 500 <= refused.code <= 599
        slow_down = slows_down(refused.code, refused.text) or (refused.command == "MAIL" and not permanent)
        if slow_down or not 400 <= refused.code <= 599:
            self._drop()  # it may be this connection that had enough
        elif self._connection is not None:
            try:
                _expect(self._connection.rset(), "RSET", {250})
            except (RefusedError, OSError):
                self._drop()
        if error := self._about_us(refused, sender):
            raise error from refused
        return Receipt(
            DeliveryState.FAILED if permanent else DeliveryState.DEFERRED,
            f"{refused.command}: {refused}",
            bounce=refused.command == "RCPT" and bounces(refused.code, refused.text),
            slow_down=slow_down,
        )

    def _about_us(self, refused: RefusedError, sender: str) -> MailServerError | None:
        """The error if no other message would fare better: we sent too much, the sender is refused, or a login is
        wanted, by some only at RCPT. 552 says that this message is too big.
        """
        if limits_us(refused.code, refused.text):
            return MailServerError(f"{self} takes no more from us for now: {refused}", busy=True)
        refuses_sender = refused.command == "MAIL" and 500 <= refused.code <= 599 and refused.code != 552
        if refuses_sender or (refused.code in _LOGIN_WANTED and not self._username):
            return MailServerError(
                f"{self} refuses the sender {sender}: {refused}. If that is not about how much you send, set MAIL_FROM "
                "to an address that it lets you send from, and SMTP_USERNAME and SMTP_PASSWORD for a login."
            )
        return None

    # --- the connection

    def _opened(self) -> _Connection:
        """A new connection: greeted, secured and logged in. MailServerError."""
        if self._password and self._security == "none":
            raise MailServerError(
                "SMTP_SECURITY is none, and a password is never sent in the clear: set it to starttls or tls, or leave "
                "SMTP_USERNAME and SMTP_PASSWORD empty."
            )
        self._connection = connection = _Connection(local_hostname=self._local_hostname, timeout=self._timeout)
        step = _CONNECT
        try:
            self._connect(connection)
            step = _GREET
            connection.greet()
            if self._security == "starttls":
                connection._host = self._host  # type: ignore[attr-defined]  # whom the certificate is for
                connection.starttls(context=self._ssl_context or _usual_context())
                connection.buffer = b""  # what was said in the clear, and not yet read, was said by anybody
                connection.greet()
            step = _LOG_IN
            if self._username:
                self._log_in(connection)
        except (OSError, UnicodeEncodeError) as error:
            self._drop()
            raise self._explained(step, error) from (None if step == _LOG_IN else error)  # it may hold the password
        except BaseException:
            self._drop()
            raise
        return connection

    def _connect(self, connection: _Connection) -> None:
        if self._aborted:
            raise ConnectionAbortedError
        sock = socket.create_connection((self._host, self._port), self._timeout)
        connection.sock, self._handle = sock, sock.dup()
        if self._aborted:  # asked last: `abort` says so first, and looks for the handle then
            raise ConnectionAbortedError
        # Without it Nagle's algorithm holds back the end of each TLS message for 40 ms. It outlives STARTTLS.
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if self._security == "tls":
            context = self._ssl_context or _usual_context()
            connection.sock = context.wrap_socket(sock, server_hostname=self._host)
        code, reply = connection.getreply()
        if code != 220:
            raise smtplib.SMTPConnectError(code, reply)

    def _log_in(self, connection: _Connection) -> None:
        """Offers the password once: `smtplib.login` tries each way, and so many refusals may lock the account."""
        connection.user, connection.password = self._username, self._password
        offered = connection.esmtp_features.get("auth", "").upper().split()
        if "PLAIN" in offered:
            connection.auth("PLAIN", connection.auth_plain)
        elif "LOGIN" in offered:
            connection.auth("LOGIN", connection.auth_login)
        else:
            raise smtplib.SMTPNotSupportedError

    def _explained(self, step: str, error: OSError | UnicodeEncodeError) -> MailServerError:
        """Why there is no connection, and what to do about it."""
        later, complaint = is_temporary(error), _complaint(error)
        if isinstance(error, ssl.SSLCertVerificationError):
            why = error.verify_message.rstrip(".")
            advice = _CERTIFICATE_ADVICE.get(error.verify_code, "Install the authority that signed it.")
            text = f"the certificate of {self} is not to be trusted: {why}. {advice}"
        elif isinstance(error, ssl.SSLError):
            advice = "Port 587 usually wants SMTP_SECURITY=starttls, port 465 tls."
            text = f"no TLS with {self}: {complaint}. {advice}"
        elif isinstance(error, smtplib.SMTPAuthenticationError):
            # The reply is not quoted: a server may repeat in it what it was given.
            advice = "It may be for now alone." if later else "Check SMTP_USERNAME and SMTP_PASSWORD."
            text = f"{self} refuses the login of {self._username} ({error.smtp_code}). {advice}"
        elif isinstance(error, UnicodeEncodeError):
            text = "SMTP_USERNAME or SMTP_PASSWORD holds letters beyond ASCII: choose others."
        elif isinstance(error, smtplib.SMTPNotSupportedError):
            text = {
                _GREET: f"{self} does not offer STARTTLS, and nothing is sent without it: set SMTP_SECURITY to tls "
                "(often port 465), or to none for a server on this machine.",
                _LOG_IN: f"{self} offers no login that Paperboy knows: leave SMTP_USERNAME empty, or check SMTP_PORT "
                "and SMTP_SECURITY.",
            }[step]
        elif isinstance(error, smtplib.SMTPConnectError):
            text = f"{self} takes no connection: {_said(error.smtp_code, error.smtp_error)}"
        elif isinstance(error, smtplib.SMTPResponseException):
            text = f"{self} answers the {step} with {_said(error.smtp_code, error.smtp_error)}"
        elif step == _CONNECT:
            mute = self._security != "tls" and not isinstance(error, socket.gaierror | ConnectionRefusedError)
            hint = " A port that speaks TLS at once wants SMTP_SECURITY=tls." if mute else ""
            text = f"cannot reach {self}: {complaint}. Check SMTP_HOST and SMTP_PORT.{hint}"
        else:
            text = f"{self} went away during the {step}: {complaint}"
        return MailServerError(text, temporary=later, busy=later and isinstance(error, smtplib.SMTPResponseException))

    def _drop(self) -> None:
        for each in (self._connection, self._handle):
            if each is not None:
                each.close()
        self._connection = self._handle = None


class _Connection(smtplib.SMTP):
    """smtplib's client with one time limit for each whole reply, however slowly it trickles in."""

    buffer = b""

    def send(self, s: bytes | str) -> None:  # type: ignore[override]
        if self.sock is not None:
            self.sock.settimeout(self.timeout)
        super().send(s)

    def getreply(self, timeout: float = 0) -> tuple[int, bytes]:
        """The code, -1 if there is none, and the text without it."""
        ends, text, size = time.monotonic() + (timeout or self.timeout), list[bytes](), 0
        try:
            while True:
                line = self._line(ends)
                text.append(line[4:].strip())
                size += len(line)
                if line[3:4] != b"-" or not line[:3].isdigit() or size > _LONGEST_REPLY:
                    return int(line[:3]) if line[:3].isdigit() else -1, b"\n".join(text)
        except OSError:
            self.close()
            raise

    def _line(self, ends: float) -> bytes:
        while b"\n" not in self.buffer and len(self.buffer) < _LONGEST_REPLY:
            if self.sock is None:
                raise smtplib.SMTPServerDisconnected("connection closed")
            self.sock.settimeout(max(ends - time.monotonic(), 1e-6))
            if not (got := self.sock.recv(8192)):
                raise smtplib.SMTPServerDisconnected("Connection unexpectedly closed")
            self.buffer += got
        line, _, self.buffer = self.buffer.partition(b"\n")
        return line

    def greet(self) -> None:
        """EHLO, or HELO if the server is so old that it does not know it. SMTPHeloError for a refusal."""
        code, reply = self.ehlo()
        if 500 <= code <= 504:
            code, reply = self.helo()
        if not 200 <= code <= 299:
            raise smtplib.SMTPHeloError(code, reply)


# --- what replies and silences mean: pure

_ENHANCED = re.compile(r"#?([245])\.(\d{1,3})\.(\d{1,3})(?!\d)")  # RFC 3463; one kind of server puts a "#" before it
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
    """A reply other than the one hoped for, in the course of one message."""

    def __init__(self, command: str, code: int, reply: bytes | str) -> None:
        super().__init__(_said(code, reply))
        self.command, self.code, self.text = command, code, _text(reply)


def bounces(code: int, text: str) -> bool:
    """Whether a reply to RCPT says that the address does not exist: only an enhanced status code can tell."""
    subject, detail = _status(code, text, "5")
    if subject == 1:  # 5.1.7 and 5.1.8 are about the sender's address, as is Postfix's "5.1.0 Sender …"
        return detail not in {7, 8} and not re.search(r"\bsender\b", text, re.IGNORECASE)
    return (subject, detail) == (2, 1)


def slows_down(code: int, text: str) -> bool:
    """Whether the server has enough of us, or has to see to itself (4.3.x: its disk is full, say)."""
    return _status(code, text, "4")[0] == 3 or too_much(code, text)


def limits_us(code: int, text: str) -> bool:
    """Whether a refusal for good is about how much we have sent, as at a provider's daily limit."""
    return 500 <= code <= 599 and (_status(code, text, "5") == (4, 5) or bool(_LIMIT.search(text)))


def too_much(code: int, text: str) -> bool:
    """Whether a reply says that we send too much, or too fast. What is about one mailbox (4.2.x), or asks an unknown
    sender to come again later, is not about our rate.
    """
    if code == 421 or not 400 <= code <= 499:
        return code == 421
    status = _status(code, text)
    if status in {(7, 28), (4, 5)}:
        return True
    return status[0] != 2 and bool(_VOLUME.search(text)) and not _ONE_MAILBOX.search(text)


def is_temporary(error: Exception) -> bool:
    """Whether what failed while a connection was opened may go better later, or with fewer connections."""
    if isinstance(error, smtplib.SMTPResponseException):
        return 400 <= error.smtp_code <= 499
    if isinstance(error, smtplib.SMTPException):
        return isinstance(error, smtplib.SMTPServerDisconnected)
    if isinstance(error, ssl.SSLError):
        return isinstance(error, ssl.SSLEOFError | ssl.SSLZeroReturnError)
    if isinstance(error, socket.gaierror):
        return error.errno == socket.EAI_AGAIN
    return isinstance(error, OSError)


def _status(code: int, text: str, kind: str = "") -> tuple[int, int]:
    """Subject and detail of the enhanced status code, if it is of the kind that the code is of; else zeros."""
    found = _ENHANCED.match(text)
    if not found or (kind and not (found[1] == kind == str(code)[:1])):
        return 0, 0
    return int(found[2]), int(found[3])


def _expect(answer: tuple[int, bytes], command: str, good: Container[int]) -> None:
    code, reply = answer
    if code not in good:
        raise RefusedError(command, code, reply)


def _not_handed_over(why: str) -> Receipt:
    return Receipt(DeliveryState.PENDING, f"the message was not handed over: {why}")


def _said(code: int, reply: bytes | str) -> str:
    return shorten(f"{code} {_text(reply)}", 300)


def _complaint(error: Exception) -> str:
    return shorten(one_line(getattr(error, "strerror", "") or str(error) or type(error).__name__), 200)


def _text(reply: bytes | str) -> str:
    return one_line(reply.decode("utf-8", "replace") if isinstance(reply, bytes) else reply)


@functools.cache
def _usual_context() -> ssl.SSLContext:  # 15 ms, so only once
    return ssl.create_default_context()
