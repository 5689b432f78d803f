"""One connection to a mail server, kept open from message to message. Not for two threads at once.

`smtplib` does the talking, but its own `sendmail` cannot tell a connection that was lost before the final dot from one
that was lost after it. The first message was never taken; of the second nobody knows. So the phases are walked here.
"""

from __future__ import annotations

import contextlib
import re
import smtplib
import socket
import ssl
from typing import Literal

import idna

from paperboy.errors import MailServerError
from paperboy.mail.text import one_line, shorten
from paperboy.models import DeliveryState, Envelope, Receipt

_LINE_END = re.compile(rb"\r\n|\r|\n")

# What `except OSError` means below: the connection is gone. smtplib's own exceptions are OSErrors, too.


_LOGIN_WANTED = {530, 534, 535, 538}


class _RefusedError(Exception):
    """A reply that is not the one hoped for, in the course of one message."""

    def __init__(self, command: str, code: int, reply: bytes | str) -> None:
        text = reply.decode("utf-8", "replace") if isinstance(reply, bytes) else reply
        super().__init__(shorten(one_line(f"{code} {text}"), 300))
        self.command = command
        self.code = code


class SmtpTransport:
    """Sends through `host:port`. `timeout` (seconds) is for connecting and for every reply but the one to the final
    dot, which may take `dot_timeout`. Certificates are verified, by `ssl_context` where one is given, and a password
    is never sent without TLS.
    """

    def __init__(
        self,
        *,
        host: str,
        port: int,
        security: Literal["starttls", "tls", "none"],
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
        self._ssl_context = ssl_context
        self._local_hostname = local_hostname
        self._connection: smtplib.SMTP | None = None

    def __repr__(self) -> str:
        return f"SmtpTransport({self._host}:{self._port}, {self._security})"

    @property
    def via(self) -> str:
        """How mail leaves."""
        return "smtp"

    def send(self, envelope: Envelope) -> Receipt:
        """Hands one message over, and says what the server said. MailServerError where it refuses us, not the
        recipient.
        """
        try:
            sender, recipient = _ascii_domain(envelope.sender), _ascii_domain(envelope.recipient)
        except idna.IDNAError as error:
            return Receipt(DeliveryState.FAILED, f"no such domain can be: {error}")
        try:
            connection = self._start(sender, recipient, len(envelope.message))
            _expect(connection.rcpt(recipient), "RCPT", {250, 251})
            _expect(connection.docmd("DATA"), "DATA", {354})
            return self._hand_over(connection, envelope.message)
        except _RefusedError as refused:
            receipt = self._receipt(refused)
            if refused.code in _LOGIN_WANTED and not self._username:  # some servers ask for it only at RCPT
                raise self._refuses_us(refused, sender) from refused
            return receipt
        except MailServerError:
            raise  # says what to do, and has put the connection in order
        except OSError as error:
            self._drop()
            return Receipt(DeliveryState.PENDING, f"connection lost before the message was handed over: {_said(error)}")
        except BaseException:
            self._drop()  # or the next message would meet a transaction that is half done
            raise

    def close(self) -> None:
        """Takes leave of the server. What it took stays sent, whatever it says now."""
        connection, self._connection = self._connection, None
        if connection is not None:
            with contextlib.suppress(OSError):
                connection.quit()
            connection.close()

    def probe(self, sender: str) -> str:
        """Connects, logs in and names the envelope's sender on a connection of its own, sends nothing, and says in
        words how it went. MailServerError if any of it fails.
        """
        connection = self._open()
        sock = _sock(connection)
        tls = f" ({sock.version()})" if isinstance(sock, ssl.SSLSocket) else ""
        try:
            self._mail(connection, _ascii_domain(sender), "", 0)
        except _RefusedError as refused:
            raise MailServerError(f"{self._server} answers MAIL FROM:<{sender}> with {refused}") from refused
        except OSError as error:
            raise MailServerError(f"{self._server} went away after the login: {_said(error)}") from error
        finally:
            with contextlib.suppress(OSError):
                connection.quit()
            connection.close()
        secured = {"starttls": "STARTTLS", "tls": "TLS", "none": "no encryption"}[self._security]
        login = f"logged in as {self._username}" if self._username else "no login"
        return f"{self._server}, {secured}{tls}, {login}"

    # --- one message

    def _start(self, sender: str, recipient: str, size: int) -> smtplib.SMTP:
        """The connection, after MAIL FROM was accepted on it. An old connection may have reached the server's limit
        of time or messages: then once more on a new one.
        """
        if self._connection is not None:
            try:
                return self._mail(self._connection, sender, recipient, size)
            except OSError:
                self._drop()
            except _RefusedError as refused:
                if refused.code != 421:
                    raise
                self._drop()
        self._connection = self._open()
        return self._mail(self._connection, sender, recipient, size)

    def _mail(self, connection: smtplib.SMTP, sender: str, recipient: str, size: int) -> smtplib.SMTP:
        options = [f"size={size}"] if connection.has_extn("size") else []
        if not (sender + recipient).isascii():
            if not connection.has_extn("smtputf8"):
                raise _RefusedError("RCPT", 550, "the server takes no addresses beyond ASCII (SMTPUTF8)")
            options += ["SMTPUTF8", "BODY=8BITMIME"]
        code, reply = connection.mail(sender, options)
        if 500 <= code <= 599 and code != 552:  # 552: it is this message that is too big
            self._reset(connection)
            raise self._refuses_us(_RefusedError("MAIL", code, reply), sender)
        _expect((code, reply), "MAIL", {250})
        return connection

    def _refuses_us(self, refused: _RefusedError, sender: str) -> MailServerError:
        return MailServerError(
            f"{self._server} refuses the sender {sender}: {refused}. Set MAIL_FROM to an address that it lets you "
            "send from, and SMTP_USERNAME and SMTP_PASSWORD if it wants a login."
        )

    def _hand_over(self, connection: smtplib.SMTP, message: bytes) -> Receipt:
        """The body, the dot, and the reply to it: only here can it be unknown whether the message was taken."""
        body = re.sub(rb"(?m)^\.", b"..", _LINE_END.sub(b"\r\n", message))
        connection.send(body if body.endswith(b"\r\n") else body + b"\r\n")
        connection.send(b".\r\n")
        try:
            _sock(connection).settimeout(self._dot_timeout)
            code, reply = connection.getreply()
            _sock(connection).settimeout(self._timeout)
        except OSError as error:
            self._drop()
            return Receipt(DeliveryState.AMBIGUOUS, f"connection lost after the message: {_said(error)}")
        if not 200 <= code <= 299 and not 400 <= code <= 599:
            self._drop()
            return Receipt(DeliveryState.AMBIGUOUS, f"no reply that means anything: {_RefusedError('.', code, reply)}")
        _expect((code, reply), "end of message", set(range(200, 300)))
        return Receipt(DeliveryState.SENT, str(_RefusedError(".", code, reply)))

    def _receipt(self, refused: _RefusedError) -> Receipt:
        if refused.code == 421 or not 400 <= refused.code <= 599:
            self._drop()
        elif self._connection is not None:
            self._reset(self._connection)
        permanent = 500 <= refused.code <= 599
        return Receipt(DeliveryState.FAILED if permanent else DeliveryState.DEFERRED, f"{refused.command}: {refused}")

    def _reset(self, connection: smtplib.SMTP) -> None:
        try:
            _expect(connection.rset(), "RSET", {250})
        except (_RefusedError, OSError):
            self._drop()

    def _drop(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()

    # --- the connection

    @property
    def _server(self) -> str:
        return f"mail server {self._host}:{self._port}"

    def _open(self) -> smtplib.SMTP:
        if self._password and self._security == "none":
            raise MailServerError(
                "SMTP_SECURITY is none, and a password is never sent in the clear: set it to starttls or tls, or leave "
                "SMTP_USERNAME and SMTP_PASSWORD empty."
            )
        connection = self._connect()
        try:
            self._secure(connection)
            self._log_in(connection)
        except BaseException:
            connection.close()
            raise
        return connection

    def _connect(self) -> smtplib.SMTP:
        try:
            if self._security == "tls":
                connection: smtplib.SMTP = smtplib.SMTP_SSL(
                    self._host, self._port, self._local_hostname, timeout=self._timeout, context=self._context()
                )
            else:
                connection = smtplib.SMTP(self._host, self._port, self._local_hostname, timeout=self._timeout)
        except ssl.SSLError as error:
            raise self._tls_failed(error) from error
        except smtplib.SMTPResponseException as error:
            reply = _RefusedError("connect", error.smtp_code, error.smtp_error)
            raise MailServerError(f"{self._server} takes no connection: {reply}") from error
        except OSError as error:
            hint = " A port that speaks TLS at once wants SMTP_SECURITY=tls." if self._security != "tls" else ""
            raise MailServerError(
                f"cannot reach {self._server}: {_said(error)}. Check SMTP_HOST and SMTP_PORT.{hint}"
            ) from error
        # Without it Nagle's algorithm holds back the end of each TLS message for 40 ms. The option outlives STARTTLS.
        _sock(connection).setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return connection

    def _secure(self, connection: smtplib.SMTP) -> None:
        try:
            connection.ehlo_or_helo_if_needed()
            if self._security == "starttls":
                connection.starttls(context=self._context())
                connection.ehlo()
        except smtplib.SMTPNotSupportedError as error:
            raise MailServerError(
                f"{self._server} does not offer STARTTLS, and nothing is sent without it: set SMTP_SECURITY to tls "
                "(often port 465), or to none for a server on this machine."
            ) from error
        except ssl.SSLError as error:
            raise self._tls_failed(error) from error
        except smtplib.SMTPResponseException as error:
            reply = _RefusedError("EHLO", error.smtp_code, error.smtp_error)
            raise MailServerError(f"{self._server} answers the greeting or STARTTLS with {reply}") from error
        except OSError as error:
            raise MailServerError(f"{self._server} went away before the login: {_said(error)}") from error

    def _log_in(self, connection: smtplib.SMTP) -> None:
        if not self._username:
            return
        try:
            connection.login(self._username, self._password)
        except smtplib.SMTPAuthenticationError as error:
            # The reply is not quoted: a server may repeat in it what it was given.
            raise MailServerError(
                f"{self._server} refuses the login of {self._username} ({error.smtp_code}). Check SMTP_USERNAME and "
                "SMTP_PASSWORD."
            ) from None
        except smtplib.SMTPNotSupportedError as error:
            raise MailServerError(
                f"{self._server} offers no login: leave SMTP_USERNAME empty, or check SMTP_PORT and SMTP_SECURITY."
            ) from error
        except OSError as error:
            raise MailServerError(f"{self._server} did not go through the login: {_said(error)}") from None

    def _context(self) -> ssl.SSLContext:
        if self._ssl_context is None:  # 15 ms, so only once
            self._ssl_context = ssl.create_default_context()
        return self._ssl_context

    def _tls_failed(self, error: ssl.SSLError) -> MailServerError:
        if isinstance(error, ssl.SSLCertVerificationError):
            return MailServerError(
                f"the certificate of {self._server} is not to be trusted: {error.verify_message}. Set SMTP_HOST to the "
                "name in the certificate, or install the authority that signed it."
            )
        return MailServerError(
            f"no TLS with {self._server}: {_said(error)}. Port 587 usually wants SMTP_SECURITY=starttls, port 465 tls."
        )


def _expect(answer: tuple[int, bytes], command: str, good: set[int]) -> None:
    code, reply = answer
    if code not in good:
        raise _RefusedError(command, code, reply)


def _sock(connection: smtplib.SMTP) -> socket.socket:
    if connection.sock is None:
        raise smtplib.SMTPServerDisconnected("connection closed")
    return connection.sock


def _ascii_domain(address: str) -> str:
    local, at, domain = address.rpartition("@")
    return local + at + (domain if domain.isascii() else idna.encode(domain, uts46=True).decode())


def _said(error: OSError) -> str:
    return shorten(one_line(error.strerror or str(error) or type(error).__name__), 200)
