"""SMTP connection to a mail server, reused for every message.

`smtplib` speaks the protocol, but its `sendmail` cannot tell a connection lost before the final dot
from one lost after it. In the first case the server took nothing; in the second nobody knows. So
the phases are separate here:

    connect, TLS, login     MailServerError: no recipient is to blame
    MAIL, RCPT, DATA        lost: pending, since nothing was handed over
                            refused: failed or deferred; MailServerError if it is about us
    the message, its dot    lost: pending, since the final CRLF.CRLF was not sent
    the reply to the dot    taken: sent · lost: ambiguous · refused: as above

Where the server pipelines (RFC 2920), MAIL, RCPT and DATA leave in one packet, which saves two
round trips a message.

An OSError means that the connection is gone; smtplib's own exceptions are OSErrors, too. A reply
that is too long or too slow counts as lost.
"""

from __future__ import annotations

import contextlib
import functools
import re
import smtplib
import socket
import ssl
import time
from base64 import b64encode, decodebytes
from dataclasses import dataclass
from typing import Any, Literal

from paperboy.edges.text import hidden, one_line, shortened
from paperboy.edges.wire import TooLargeError
from paperboy.errors import CREDENTIAL, MailServerError
from paperboy.models import DeliveryState, Envelope, Receipt
from paperboy.sending.verdict import Verdict, judge
from paperboy.sending.xoauth2 import TokenCommand

_MOST_LINES = 100  # of a reply; servers send a dozen
_MOST_BYTES = 64_000  # of a reply
_PIECE = 8_192  # bytes that are read at once
_FAREWELL = 5.0  # seconds for the reply to QUIT

# Microsoft's 5.7.30 and 5.7.139. Not by the code: 5.7.30 is about REQUIRETLS, too (RFC 8689).
_NO_PASSWORDS = re.compile(r"\bbasic authentication\b", re.IGNORECASE)
_WANTS_TOKENS = (
    "accepts no password, only an access token (OAuth): {}. Set SMTP_TOKEN_COMMAND instead of SMTP_PASSWORD; the "
    "recipe for Microsoft 365 in .env.example shows how."
)
# Microsoft's 5.7.139, too.
_NO_SMTP = re.compile(r"SmtpClientAuthentication is disabled", re.IGNORECASE)
_MICROSOFT = (
    'Microsoft 365 wants "Authenticated SMTP" to be turned on for this mailbox by an administrator; the recipe in '
    ".env.example shows the rest."
)
_GOOGLE = re.compile(r"Application-specific password|support\.google\.com", re.IGNORECASE)
_GMAIL = (
    "Gmail takes no usual password: turn on two-step verification, make an app password at "
    "https://myaccount.google.com/apppasswords, and set SMTP_PASSWORD to it, as the recipe in .env.example shows."
)


@dataclass(kw_only=True, repr=False, eq=False)
class SmtpTransport:
    """Transport through `host:port`. Certificates are verified, and neither password nor token is
    sent without TLS. Only `abort` may be called from another thread.
    """

    host: str
    port: int
    security: Literal["starttls", "tls", "none"]
    username: str
    password: str
    tokens: TokenCommand | None = None  # in place of a password
    timeout: float = 60  # seconds for connecting, for each send, and for each whole reply
    dot_timeout: float = 600  # seconds for the reply to the final dot
    ssl_context: ssl.SSLContext | None = None
    local_hostname: str | None = None
    via = "smtp"
    _token: str = ""  # the last one offered, to hide it in replies
    _connection: _Connection | None = None
    _handle: socket.socket | None = None  # a duplicate for `abort`: TLS replaces the socket
    _aborted: bool = False

    def __str__(self) -> str:
        return f"mail server {self.host}:{self.port}"

    def send(self, envelope: Envelope) -> Receipt:
        """Hand over one message. Raises MailServerError if the server refuses us, not the
        recipient.
        """
        try:
            return self._hand_over(self._announced(envelope), envelope.message)
        except RefusedError as refused:
            return self._receipt(refused, envelope.sender)
        except (MailServerError, OSError) as error:
            why = f"connection lost: {self._complaint(error)}"
            if self._aborted:
                why = "told to stop"
            elif isinstance(error, MailServerError):
                raise
            self._drop()
            return Receipt(DeliveryState.PENDING, f"the message was not handed over: {why}")
        except BaseException:
            self._drop()  # or the next message would meet half a transaction
            raise

    def abort(self) -> None:
        """Cancel the message under way, from another thread. From now on `send` returns every
        message as PENDING.
        """
        self._aborted = True
        handle = self._handle
        if handle is not None:
            with contextlib.suppress(OSError):  # the server hung up first
                handle.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        """Quit. Accepted messages stay sent, whatever the server answers."""
        if self._connection is not None and not self._aborted:
            self._connection.timeout = min(self.timeout, _FAREWELL)
            with contextlib.suppress(OSError):
                self._connection.quit()
        self._drop()

    def probe(self, sender: str, recipient: str) -> tuple[str, Receipt | None]:
        """Connect, log in, and announce a sender and a recipient, without a message. Return a
        summary, and the refusal of the recipient. Raises MailServerError if anything else fails.
        """
        connection = self._opened()
        refusal = None
        text = f"{self}, no encryption"
        with contextlib.closing(self):
            if isinstance(connection.sock, ssl.SSLSocket):
                text = f"{self}, {self.security.upper()} ({connection.sock.version()})"
            try:
                self._announce(connection, Envelope(sender, recipient, b"", ""))
            except RefusedError as refused:
                refusal = self._receipt(refused, sender)
                if refused.command == "MAIL":
                    text = f"{self} answers MAIL FROM:<{sender}> with {refused}"
                    raise MailServerError(text, temporary=not refused.permanent) from None
            except OSError as error:
                text = (
                    f"the connection to {self} was lost after the login: {self._complaint(error)}"
                )
                raise MailServerError(text, temporary=True) from None

        login = f"logged in as {self.username}" if self.username else "no login"
        if self.tokens:
            login += " with an access token"
        return f"{text}, {login}", refusal

    # --- one message

    def _announced(self, envelope: Envelope) -> _Connection:
        """Return the connection, once the server waits for the message. A used one may have reached
        the server's limit of time or messages, and is then replaced: nothing was handed over yet.
        """
        used = self._connection
        if used:
            try:
                self._announce(used, envelope)
            except RefusedError as refused:
                if refused.command != "MAIL" or refused.permanent:
                    raise
            except OSError:
                pass
            else:
                return used
            self._drop()

        connection = self._opened()
        self._announce(connection, envelope)
        return connection

    def _announce(self, connection: _Connection, envelope: Envelope) -> None:
        """Send MAIL, RCPT and, if there is a message, DATA; in one packet if the server allows it.
        Raises the first refusal, after all replies are read.
        """
        lines = _commands(connection, envelope)
        packets = [lines] if connection.has_extn("pipelining") else [[line] for line in lines]
        refused: RefusedError | None = None
        for packet in packets:
            connection.send("".join(f"{line}\r\n" for line in packet).encode())
            try:
                for line in packet:
                    code, reply = connection.getreply()
                    if code // 100 != (3 if line == "DATA" else 2):
                        said = self._said(code, reply)
                        refused = refused or RefusedError(line[:4], code, reply, said)
                    elif refused and line == "DATA":
                        connection.docmd(".")  # the server waits for a message to nobody
            except OSError:
                if refused is None:
                    raise
                self._drop()
            if refused:
                raise refused

    def _hand_over(self, connection: _Connection, message: bytes) -> Receipt:
        """Send the message with its final dot, and read the reply. If sending fails, the final
        CRLF.CRLF was not sent, so the message was not accepted; only a lost reply leaves that open.
        """
        dot = b".\r\n" if message.endswith(b"\r\n") else b"\r\n.\r\n"
        connection.send(message + dot)
        try:
            code, reply = connection.getreply(self.dot_timeout)
            if code // 100 not in {2, 4, 5}:
                raise smtplib.SMTPDataError(code, reply)
        except OSError as error:
            self._drop()
            unclear = f"no clear reply to the message: {self._complaint(error)}"
            return Receipt(DeliveryState.AMBIGUOUS, unclear)

        said = self._said(code, reply)
        if code // 100 != 2:
            raise RefusedError("end of message", code, reply, said)
        return Receipt(DeliveryState.SENT, said)

    def _receipt(self, refused: RefusedError, sender: str) -> Receipt:
        """Return the result of a refusal for the message, or raise MailServerError if every other
        message would be refused, too. Then the connection is ready for the next one, or dropped.
        """
        verdict = refused.verdict
        is_ready = False
        with contextlib.suppress(OSError):
            is_ready = self._connection is not None and self._connection.rset()[0] == 250
        if not is_ready or verdict is Verdict.SLOW_DOWN:
            self._drop()  # a new connection may be welcome

        about_us = ""
        if verdict is Verdict.LIMIT:
            about_us = f"takes no more from us for now: {refused}"
        elif self.security == "none" and re.search(r"\bSTARTTLS\b", str(refused)):
            about_us = f"wants encryption: {refused}. Set SMTP_SECURITY=starttls."
        elif refused.code in {530, 534, 535, 538} and not self.username:
            # Some servers ask for a login only at RCPT.
            fix = f"Set SMTP_USERNAME and SMTP_PASSWORD. {CREDENTIAL}."
            about_us = f"wants a login: {refused}. {fix}"
        elif self.tokens is None and _NO_PASSWORDS.search(str(refused)):
            about_us = _WANTS_TOKENS.format(refused)
        elif verdict is Verdict.SENDER or _names_us(str(refused), sender):
            secret = "SMTP_TOKEN_COMMAND" if self.tokens else "SMTP_PASSWORD"
            about_us = (
                f"refuses the sender {sender}: {refused}. If that is not about how much you send, set MAIL_FROM to an "
                f"address that it lets you send from, and SMTP_USERNAME and {secret} to log in."
            )
        if about_us:
            busy = verdict is Verdict.LIMIT
            raise MailServerError(f"{self} {about_us}", busy=busy) from refused

        return Receipt(
            DeliveryState.FAILED if refused.permanent else DeliveryState.DEFERRED,
            f"{refused.command}: {refused}",
            bounce=verdict in {Verdict.BOUNCE, Verdict.DOUBTFUL},
            doubtful=verdict is Verdict.DOUBTFUL,
            unclear=verdict in {Verdict.UNCLEAR, Verdict.DOUBTFUL},
            slow_down=verdict is Verdict.SLOW_DOWN,
        )

    # --- the connection

    def _opened(self) -> _Connection:
        if (self.password or self.tokens) and self.security == "none":
            raise MailServerError(
                "SMTP_SECURITY is none, and no password or token is sent in the clear: use starttls or tls."
            )

        connection = _Connection(local_hostname=self.local_hostname, timeout=self.timeout)
        self._connection = connection
        step = "connection"
        try:
            self._connect(connection)
            step = "STARTTLS" if self.security == "starttls" else "greeting"
            code, reply = connection.ehlo()
            if not 200 <= code <= 299:
                raise smtplib.SMTPHeloError(code, reply)
            if self.security == "starttls":
                connection._host = self.host  # type: ignore[attr-defined]  # as the certificate must name it
                connection.starttls(context=self.ssl_context or _usual_context())
            connection.ehlo_or_helo_if_needed()
            step = "login"
            if self.username:
                self._log_in(connection)
        except MailServerError:
            self._drop()
            raise
        except (OSError, ValueError) as error:
            self._drop()
            raise self._failure(step, error) from None  # the error may contain the password
        return connection

    def _log_in(self, connection: _Connection) -> None:
        """Log in by one mechanism, where smtplib's `login` tries all: several refusals may lock the
        account.
        """
        offered = connection.esmtp_features.get("auth", "").upper().split()
        if self.tokens is None:
            connection.user = self.username
            connection.password = self.password
            if "PLAIN" in offered:
                connection.auth("PLAIN", connection.auth_plain)
                return
            if "LOGIN" in offered:
                connection.auth("LOGIN", connection.auth_login)
                return
        if self.tokens is None or "XOAUTH2" not in offered:
            raise smtplib.SMTPNotSupportedError(", ".join(offered) or "none")

        self._token = self.tokens.token()
        code, reply = self._offer_token(connection)
        if code == 535:  # it may have been revoked before its time
            refused = self._token
            self._token = self.tokens.token(refused)
            if self._token != refused:
                code, reply = self._offer_token(connection)
        if code != 235:
            raise smtplib.SMTPAuthenticationError(code, reply)

    def _offer_token(self, connection: _Connection) -> tuple[int, bytes]:
        # The token gets its own line: after AUTH, it would exceed the limit of a command
        # (RFC 4954).
        code, reply = connection.docmd("AUTH", "XOAUTH2")
        if code == 334:
            login = f"user={self.username}\x01auth=Bearer {self._token}\x01\x01"
            code, reply = connection.docmd(b64encode(login.encode()).decode("ascii"))
        if code == 334:  # the reason of a refusal, whose code follows an empty line
            reason = b""
            with contextlib.suppress(ValueError):
                reason = decodebytes(reply)  # JSON, such as {"status":"401","scope":"…"}
            reply = b""
            code = 535
            with contextlib.suppress(OSError):  # it hangs up instead
                code, reply = connection.docmd("")
            reply += b" " + reason
        return code, reply

    def _connect(self, connection: _Connection) -> None:
        if self._aborted:
            raise ConnectionAbortedError
        sock = socket.create_connection((self.host, self.port), self.timeout)
        connection.sock = sock
        self._handle = sock.dup()
        if self._aborted:  # checked last: `abort` sets it before it looks for the handle
            raise ConnectionAbortedError
        # Otherwise Nagle's algorithm delays the end of each TLS message by 40 ms. The option stays
        # in force after STARTTLS.
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if self.security == "tls":
            context = self.ssl_context or _usual_context()
            connection.sock = context.wrap_socket(sock, server_hostname=self.host)
        code, reply = connection.getreply()
        if code != 220:
            raise smtplib.SMTPConnectError(code, reply)

    def _failure(self, step: str, error: OSError | ValueError) -> MailServerError:
        said = self._complaint(error)
        ports = " Port 587 usually wants SMTP_SECURITY=starttls, port 465 tls."
        code = error.smtp_code if isinstance(error, smtplib.SMTPResponseException) else 0
        is_busy = 400 <= code <= 499
        is_temporary = is_busy
        if isinstance(error, ssl.SSLCertVerificationError):
            advice = "Renew it, set SMTP_HOST to the name in it, or install the authority that signed it."
            text = f"the certificate of {self} cannot be trusted: {error.verify_message.rstrip('.')}. {advice}"
        elif isinstance(error, ssl.SSLError):
            text = f"no TLS with {self}: {said}.{ports}"
            is_temporary = isinstance(error, ssl.SSLEOFError)
        elif isinstance(error, smtplib.SMTPAuthenticationError):
            text = f"{self} {self._refused_login(code, said)}"
        elif isinstance(error, smtplib.SMTPNotSupportedError) and step == "login":
            ways = "XOAUTH2" if self.tokens else "PLAIN or LOGIN"
            other = "SMTP_PASSWORD" if self.tokens else "SMTP_TOKEN_COMMAND"
            fix = f"Use {other} instead, or leave SMTP_USERNAME empty to send without a login."
            text = f"{self} offers no login that Paperboy supports ({ways}), but {said}. {fix}"
        elif isinstance(error, smtplib.SMTPNotSupportedError):
            none = "On this machine or in a trusted network, SMTP_SECURITY=none needs no TLS, but allows no login."
            text = f"{self} offers no {step} that Paperboy supports.{ports} {none}"
        elif isinstance(error, UnicodeError) and step == "login":
            text = "SMTP_USERNAME or SMTP_PASSWORD contains non-ASCII letters: choose others."
        elif code:
            text = f"{self} answers the {step} with {said}. Ask whoever runs it, or check SMTP_HOST and SMTP_PORT."
        else:
            is_bad_name = isinstance(error, UnicodeError | socket.gaierror)
            is_temporary = not is_bad_name or error.args[0] == socket.EAI_AGAIN
            text = f"the connection to {self} was lost during the {step}: {said}.{ports}"
            if step == "connection":
                text = f"cannot reach {self}: {said}. Check SMTP_HOST and SMTP_PORT.{ports}"
        return MailServerError(text, temporary=is_temporary, busy=is_busy)

    def _refused_login(self, code: int, said: str) -> str:
        said = said.rstrip(".")
        fix = "Check SMTP_USERNAME and SMTP_PASSWORD."
        if 400 <= code < 500:
            fix = "It may be temporary."
        elif _NO_SMTP.search(said):
            fix = _MICROSOFT
        elif self.tokens:
            return (
                f"refuses the access token for {self.username}: {said}. Check that SMTP_TOKEN_COMMAND prints a token "
                "for SMTP_USERNAME with permission to send by SMTP, and that the server lets this mailbox do so."
            )
        elif _NO_PASSWORDS.search(said):
            return _WANTS_TOKENS.format(said)
        elif _GOOGLE.search(said):
            fix = _GMAIL
        return f"refuses the login of {self.username}: {said}. {fix}"

    def _said(self, code: int, reply: bytes) -> str:
        """Return a reply as a short line, without the password and token that it may repeat."""
        return self._shown(f"{code} {reply.decode(errors='replace')}")

    def _complaint(self, error: Exception) -> str:
        if isinstance(error, smtplib.SMTPResponseException) and isinstance(error.smtp_error, bytes):
            return self._said(error.smtp_code, error.smtp_error)
        return self._shown(getattr(error, "strerror", "") or str(error) or type(error).__name__)

    def _shown(self, words: str) -> str:
        for secret in (self.password, self._token):
            words = hidden(one_line(words), secret, least=4)
        return shortened(words, 300)

    def _drop(self) -> None:
        for resource in (self._connection, self._handle):
            if resource is not None:
                resource.close()
        self._connection = None
        self._handle = None


def _names_us(reply: str, sender: str) -> bool:
    """Check whether Amazon SES has not verified our own address. In its sandbox it says the same of
    recipients.
    """
    return "is not verified" in reply and sender.lower() in reply.lower()


def _commands(connection: _Connection, envelope: Envelope) -> list[str]:
    options = f" SIZE={len(envelope.message)}" if connection.has_extn("size") else ""
    if not envelope.recipient.isascii():  # RFC 6531
        options += " BODY=8BITMIME SMTPUTF8"
        if not connection.has_extn("smtputf8"):
            said = "the server does not offer it, and this address needs it"
            raise RefusedError("SMTPUTF8", 553, b"", said)
    commands = [f"MAIL FROM:<{envelope.sender}>{options}", f"RCPT TO:<{envelope.recipient}>"]
    if envelope.message:
        commands.append("DATA")
    return commands


class _Connection(smtplib.SMTP):
    """Connection of smtplib that limits a reply as a whole: its lines, its bytes and its time."""

    _unread = b""  # what came after the last reply

    def getreply(self, seconds: float | None = None) -> tuple[int, bytes]:
        """Read a reply, and return its code (-1 if it has none) and its lines. Raises OSError,
        after which the connection is useless.
        """
        end = time.monotonic() + (seconds or self.timeout)
        most = _MOST_BYTES
        lines: list[bytes] = []
        while len(lines) < _MOST_LINES:
            while b"\n" not in self._unread and len(self._unread) <= most:
                self._receive(end - time.monotonic())
            line, _, self._unread = self._unread.partition(b"\n")
            most -= len(line) + 1
            if most < 0:
                break
            code = int(line[:3]) if line[:3].isdigit() else -1
            lines.append(line[4:].strip())
            if code < 0 or line[3:4] != b"-":
                return code, b"\n".join(lines)
        raise TooLargeError

    def _receive(self, seconds: float) -> None:
        if self.sock is None:
            raise ConnectionError("the connection is closed")
        try:
            if seconds <= 0:
                raise TimeoutError
            self.sock.settimeout(seconds)
            piece = self.sock.recv(_PIECE)
        except TimeoutError:
            raise TimeoutError("the reply took too long") from None
        if not (piece or self._unread):
            raise ConnectionError("the server hung up")
        self._unread += piece or b"\n"

    def send(self, s: Any) -> None:
        """Send a command or a message. Raises OSError if not all of it has left, or, before any of
        it leaves, if unread server data is pending, which would be mistaken for the reply.
        """
        if self.sock is None:
            raise ConnectionError("the connection is closed")
        if self._unread:
            raise ConnectionError("the server says more than it was asked")
        self.sock.settimeout(self.timeout)
        self.sock.sendall(s.encode("ascii") if isinstance(s, str) else s)


class RefusedError(Exception):
    """Reply that refuses a command of one message. `said`: the reply, for people."""

    def __init__(self, command: str, code: int, reply: bytes, said: str) -> None:
        super().__init__(said)
        self.command = command
        self.code = code
        self.permanent = 500 <= code <= 599
        self.verdict = judge(command, code, one_line(reply.decode(errors="replace")))


# Reading the authorities takes as long as 50 messages.
_usual_context = functools.cache(ssl.create_default_context)
