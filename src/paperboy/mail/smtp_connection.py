"""The way to a mail server: connecting, TLS and login. The error says which of them stopped it."""

from __future__ import annotations

import contextlib
import functools
import smtplib
import socket
import ssl
import threading
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Literal

from paperboy.errors import MailServerError
from paperboy.mail.smtp_replies import complaint, is_temporary, said

Security = Literal["starttls", "tls", "none"]
_LOGINS = ("CRAM-MD5", "PLAIN", "LOGIN")  # the best first

# What `except OSError` means below: the connection is gone. smtplib's own exceptions are OSErrors, too.


class Switch:
    """Cuts, from any thread, the connection that another thread is opening or using; then none is opened any more."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._sock: socket.socket | None = None
        self._thrown = False

    @property
    def thrown(self) -> bool:
        """Whether `throw` was called."""
        return self._thrown

    def watch(self, sock: socket.socket) -> None:
        """From here on `throw` cuts this connection, whatever TLS makes of the socket. OSError if it was thrown."""
        with self._lock:
            if self._thrown:
                raise ConnectionAbortedError("told to stop")
            self._release()
            self._sock = sock.dup()  # ours alone: the other thread may close its own at any moment

    def release(self) -> None:
        """Forgets the connection. It is only closed when this was called, too."""
        with self._lock:
            self._release()

    def throw(self) -> None:
        """Cuts the connection, if there is one."""
        with self._lock:
            self._thrown = True
            if self._sock is not None:
                with contextlib.suppress(OSError):  # the other side was faster
                    self._sock.shutdown(socket.SHUT_RDWR)

    def _release(self) -> None:
        sock, self._sock = self._sock, None
        if sock is not None:
            sock.close()


@dataclass(frozen=True, slots=True)
class MailServer:
    """Where mail goes. Certificates are verified, by `ssl_context` where one is given, and the password is never sent
    without TLS. `timeout` (seconds) is for connecting and for every reply.
    """

    host: str
    port: int
    security: Security
    username: str
    password: str = field(repr=False)
    timeout: float
    ssl_context: ssl.SSLContext | None = None
    local_hostname: str | None = None

    def __str__(self) -> str:
        return f"mail server {self.host}:{self.port}"

    def open(self, switch: Switch) -> smtplib.SMTP:
        """A connection that has been greeted, secured and logged in, and that the switch cuts. MailServerError."""
        if self.password and self.security == "none":
            raise MailServerError(
                "SMTP_SECURITY is none, and a password is never sent in the clear: set it to starttls or tls, or leave "
                "SMTP_USERNAME and SMTP_PASSWORD empty."
            )
        connection = smtplib.SMTP(local_hostname=self.local_hostname, timeout=self.timeout)
        try:
            self._connect(connection, switch)
            self._secure(connection)
            self._log_in(connection)
        except BaseException:
            connection.close()
            switch.release()
            raise
        return connection

    def _connect(self, connection: smtplib.SMTP, switch: Switch) -> None:
        try:
            connection.sock = _reached(self.host, self.port, self.timeout, switch)
            if self.security == "tls":
                self._encrypt(connection)
            code, reply = connection.getreply()
        except ssl.SSLError as error:
            raise self._tls_failed(error) from error
        except OSError as error:
            mute = self.security != "tls" and not isinstance(error, socket.gaierror | ConnectionRefusedError)
            hint = " A port that speaks TLS at once wants SMTP_SECURITY=tls." if mute else ""
            raise MailServerError(
                f"cannot reach {self}: {complaint(error)}. Check SMTP_HOST and SMTP_PORT.{hint}",
                temporary=is_temporary(error),
            ) from error
        if code != 220:
            raise MailServerError(f"{self} takes no connection: {said(code, reply)}", busy=400 <= code <= 499)

    def _secure(self, connection: smtplib.SMTP) -> None:
        try:
            _greet(connection)
            if self.security == "starttls":
                if not connection.has_extn("starttls"):
                    raise MailServerError(
                        f"{self} does not offer STARTTLS, and nothing is sent without it: set SMTP_SECURITY to tls "
                        "(often port 465), or to none for a server on this machine."
                    )
                code, reply = connection.docmd("STARTTLS")
                if code != 220:
                    raise smtplib.SMTPResponseException(code, reply)
                self._encrypt(connection)
                _greet(connection)
        except ssl.SSLError as error:
            raise self._tls_failed(error) from error
        except smtplib.SMTPResponseException as error:
            answer = said(error.smtp_code, error.smtp_error)
            raise MailServerError(
                f"{self} answers the greeting or STARTTLS with {answer}", busy=is_temporary(error)
            ) from error
        except OSError as error:
            raise MailServerError(
                f"{self} went away before the login: {complaint(error)}", temporary=is_temporary(error)
            ) from error

    def _encrypt(self, connection: smtplib.SMTP) -> None:
        context = self.ssl_context or _usual_context()
        connection.sock = context.wrap_socket(_socket(connection), server_hostname=self.host)
        connection.file = None  # what was said in the clear, and not yet read, was said by anybody
        connection.esmtp_features = {}

    def _log_in(self, connection: smtplib.SMTP) -> None:
        if not self.username:
            return
        try:
            self._authenticate(connection)
        except smtplib.SMTPAuthenticationError as error:
            # The reply is not quoted: a server may repeat in it what it was given.
            refusal = f"{self} refuses the login of {self.username} ({error.smtp_code})"
            advice = "It may be for now alone." if is_temporary(error) else "Check SMTP_USERNAME and SMTP_PASSWORD."
            raise MailServerError(f"{refusal}. {advice}", busy=is_temporary(error)) from None
        except smtplib.SMTPNotSupportedError as error:
            raise MailServerError(
                f"{self} offers no login: leave SMTP_USERNAME empty, or check SMTP_PORT and SMTP_SECURITY."
            ) from error
        except UnicodeEncodeError:
            raise MailServerError("SMTP_USERNAME or SMTP_PASSWORD holds letters beyond ASCII: choose others.") from None
        except OSError as error:
            raise MailServerError(
                f"{self} did not go through the login: {complaint(error)}", temporary=is_temporary(error)
            ) from None

    def _authenticate(self, connection: smtplib.SMTP) -> None:
        """As `smtplib.login`, which forgets that it was refused when the server then goes away."""
        if not connection.has_extn("auth"):
            raise smtplib.SMTPNotSupportedError
        connection.user, connection.password = self.username, self.password
        offered = connection.esmtp_features["auth"].upper().split()
        refused: OSError = smtplib.SMTPException("it offers no way to log in that Paperboy knows")
        for name in [name for name in _LOGINS if name in offered]:
            try:
                connection.auth(name, getattr(connection, "auth_" + name.lower().replace("-", "_")))
            except smtplib.SMTPAuthenticationError as error:
                refused = error  # some offer ways that they do not know
                if error.smtp_code == 535 and name != "CRAM-MD5":
                    break  # the password went over and was refused; twice as many refusals may lock the account
            except OSError as error:
                raise (refused if isinstance(refused, smtplib.SMTPAuthenticationError) else error) from None
            else:
                return
        raise refused

    def _tls_failed(self, error: ssl.SSLError) -> MailServerError:
        if isinstance(error, ssl.SSLCertVerificationError):
            advice = _CERTIFICATE_ADVICE.get(error.verify_code, "Install the authority that signed it.")
            return MailServerError(
                f"the certificate of {self} is not to be trusted: {error.verify_message.rstrip('.')}. {advice}"
            )
        return MailServerError(
            f"no TLS with {self}: {complaint(error)}. Port 587 usually wants SMTP_SECURITY=starttls, port 465 tls.",
            temporary=is_temporary(error),
        )


_CERTIFICATE_ADVICE = {  # by OpenSSL's X509_V_ERR
    9: "Its time has not come yet: check this machine's clock.",
    10: "Its time is over: have it renewed, or check this machine's clock.",
    62: "Set SMTP_HOST to the name in the certificate.",
    64: "Set SMTP_HOST to the name in the certificate.",
}


@functools.cache
def _usual_context() -> ssl.SSLContext:  # 15 ms, so only once
    return ssl.create_default_context()


def _reached(host: str, port: int, timeout: float, switch: Switch) -> socket.socket:
    """As `socket.create_connection` does it, but watched before the first packet leaves."""
    failure = OSError(f"no address for {host}")
    for family, kind, protocol, _, address in socket.getaddrinfo(host, port, type=socket.SOCK_STREAM):
        sock = socket.socket(family, kind, protocol)
        try:
            switch.watch(sock)
            sock.settimeout(timeout)
            # Without it Nagle's algorithm holds back the end of each TLS message for 40 ms. It outlives STARTTLS.
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            sock.connect(address)
        except OSError as error:
            sock.close()
            failure = error
        except BaseException:
            sock.close()
            raise
        else:
            return sock
    raise failure


def certificate_until(connection: smtplib.SMTP) -> datetime | None:
    """When the certificate of the connection ends; None without TLS."""
    if not isinstance(connection.sock, ssl.SSLSocket):
        return None
    ends = (connection.sock.getpeercert() or {}).get("notAfter")
    return datetime.fromtimestamp(ssl.cert_time_to_seconds(ends), UTC) if isinstance(ends, str) else None


def _greet(connection: smtplib.SMTP) -> None:
    """EHLO, or HELO where the server is so old that it does not know it. SMTPResponseException for a refusal."""
    code, reply = connection.ehlo()
    if 500 <= code <= 504:
        code, reply = connection.helo()
    if not 200 <= code <= 299:
        raise smtplib.SMTPHeloError(code, reply)


def _socket(connection: smtplib.SMTP) -> socket.socket:
    if connection.sock is None:
        raise smtplib.SMTPServerDisconnected("connection closed")
    return connection.sock
