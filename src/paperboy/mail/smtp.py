"""One connection to a mail server, kept open from message to message.

`smtplib` does the talking, but its own `sendmail` cannot tell a connection that was lost before the final dot from one
that was lost after it. The first message was never taken; of the second nobody knows. So the phases are walked here.
"""

from __future__ import annotations

import contextlib
import smtplib
import ssl
from collections.abc import Container, Mapping
from dataclasses import dataclass
from datetime import datetime

import idna

from paperboy.errors import MailServerError
from paperboy.mail.lines import on_the_line
from paperboy.mail.smtp_connection import MailServer, Security, Switch, certificate_until
from paperboy.mail.smtp_replies import RefusedError, bounces, complaint, limits_us, said, slows_down, too_much
from paperboy.models import DeliveryState, Envelope, Receipt

_LOGIN_WANTED = {530, 534, 535, 538}
_GOOD: Mapping[str, Container[int]] = {"MAIL": range(200, 300), "RCPT": range(200, 300), "DATA": {354}}

# What `except OSError` means below: the connection is gone. smtplib's own exceptions are OSErrors, too.


@dataclass(frozen=True, slots=True)
class Probed:
    """How a probe went, in words, and when the server's certificate ends; None without TLS."""

    words: str
    certificate_until: datetime | None


class SmtpTransport:
    """Sends through `host:port`. `timeout` (seconds) is for connecting and for every reply but the one to the final
    dot, which may take `dot_timeout`. Certificates are verified, by `ssl_context` where one is given, and a password
    is never sent without TLS. All but `abort` is for one thread at a time.
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
        self._server = MailServer(
            host, port, security, username, password, timeout, ssl_context=ssl_context, local_hostname=local_hostname
        )
        self._timeout, self._dot_timeout = timeout, dot_timeout
        self._connection: smtplib.SMTP | None = None
        self._one_by_one = False
        self._switch = Switch()

    def __repr__(self) -> str:
        return f"SmtpTransport({self._server.host}:{self._server.port}, {self._server.security})"

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
        lines = on_the_line(envelope.message)
        try:
            connection = self._announce(sender, recipient, len(envelope.message))
            return self._hand_over(connection, lines)
        except RefusedError as refused:
            receipt = self._receipt(refused)
            if limits_us(refused.code, refused.text):
                enough = f"{self._server} takes no more from us for now: {refused}"
                raise MailServerError(enough, busy=True) from refused
            if self._is_about_us(refused):
                raise self._refuses_us(refused, sender) from refused
            return receipt
        except MailServerError:  # says what to do, and has put the connection in order
            if not self._switch.thrown:
                raise
            return _never_handed_over("told to stop")
        except OSError as error:
            self._drop()
            why = "told to stop" if self._switch.thrown else f"connection lost: {complaint(error)}"
            return _never_handed_over(why)
        except BaseException:
            self._drop()  # or the next message would meet a transaction that is half done
            raise

    def abort(self) -> None:
        """Breaks off, from another thread, what is under way: `send` returns, and from now on gives everything back
        as PENDING.
        """
        self._switch.throw()

    def close(self) -> None:
        """Takes leave of the server. What it took stays sent, whatever it says now."""
        if self._connection is not None and not self._switch.thrown:
            with contextlib.suppress(OSError):
                self._connection.quit()
        self._drop()

    def probe(self, sender: str) -> Probed:
        """Connects, logs in and names the envelope's sender on a connection of its own, sends nothing, and says how it
        went. MailServerError if any of it fails.
        """
        switch = Switch()
        connection = self._server.open(switch)
        tls = f" ({connection.sock.version()})" if isinstance(connection.sock, ssl.SSLSocket) else ""
        until = certificate_until(connection)
        try:
            _expect(connection.docmd(_mail(connection, _ascii_domain(sender), "", 0)), "MAIL", {250})
        except RefusedError as refused:
            if self._is_about_us(refused):
                raise self._refuses_us(refused, sender) from refused
            raise MailServerError(
                f"{self._server} answers MAIL FROM:<{sender}> with {refused}", temporary=400 <= refused.code <= 499
            ) from refused
        except OSError as error:
            raise MailServerError(
                f"{self._server} went away after the login: {complaint(error)}", temporary=True
            ) from error
        finally:
            with contextlib.suppress(OSError):
                connection.quit()
            connection.close()
            switch.release()
        secured = {"starttls": "STARTTLS", "tls": "TLS", "none": "no encryption"}[self._server.security]
        login = f"logged in as {self._server.username}" if self._server.username else "no login"
        return Probed(f"{self._server}, {secured}{tls}, {login}", until)

    # --- one message

    def _announce(self, sender: str, recipient: str, size: int) -> smtplib.SMTP:
        """The connection, when it waits for the message. An old one may have reached the server's limit of time or
        messages, and nothing was handed over yet: then once more on a new one.
        """
        if self._connection is not None:
            try:
                return self._envelope(self._connection, sender, recipient, size)
            except RefusedError as refused:
                if refused.command != "MAIL" or not too_much(refused.code, refused.text):
                    raise  # and else it may be this connection that had enough
            except OSError:
                pass
            self._drop()
        one_by_one = self._one_by_one
        try:
            return self._envelope(self._opened(), sender, recipient, size)
        except OSError:
            if self._one_by_one is one_by_one:
                raise
        self._drop()
        return self._envelope(self._opened(), sender, recipient, size)

    def _opened(self) -> smtplib.SMTP:
        if self._switch.thrown:
            raise ConnectionAbortedError  # and no wait for a name server
        self._connection = self._server.open(self._switch)
        return self._connection

    def _envelope(self, connection: smtplib.SMTP, sender: str, recipient: str, size: int) -> smtplib.SMTP:
        """Up to the server's word that it wants the message. All leaves at once where the server can take it so
        (RFC 2920): two waits less for each message, and they are most of the time to a server that is far away.
        """
        mail = _mail(connection, sender, recipient, size)
        commands = {"MAIL": mail, "RCPT": f"RCPT TO:<{recipient}>", "DATA": "DATA"}
        if connection.has_extn("pipelining") and not self._one_by_one:
            self._all_at_once(connection, commands)
        else:
            for command, line in commands.items():
                _expect(connection.docmd(line), command, _GOOD[command])
        return connection

    def _all_at_once(self, connection: smtplib.SMTP, commands: Mapping[str, str]) -> None:
        """The first refusal is what counts; the replies behind it are taken off the line. "Bad sequence" (503) is none:
        something on the way cannot keep commands in order, and gets them one by one from now on.
        """
        lines = "\r\n".join(commands.values())
        if len(lines.splitlines()) != len(commands):
            raise ValueError("a line end in an address")
        connection.send(f"{lines}\r\n")
        refused: RefusedError | None = None
        try:
            for command in commands:
                code, reply = connection.getreply()
                if refused is None and code not in _GOOD[command]:
                    refused = RefusedError(command, code, reply)
                elif refused is not None and (command, code) == ("DATA", 354):  # it waits for a message to nobody
                    connection.send(b".\r\n")
                    connection.getreply()
        except OSError:
            if refused is None:
                raise
            self._drop()
        if refused is not None and refused.code == 503:
            self._one_by_one = True
            raise smtplib.SMTPServerDisconnected(str(refused))
        if refused is not None:
            raise refused

    def _is_about_us(self, refused: RefusedError) -> bool:
        """Whether no other message would fare better: the sender is refused, or a login wanted, by some only at RCPT.
        552 says that this message is too big.
        """
        sender = refused.command == "MAIL" and 500 <= refused.code <= 599 and refused.code != 552
        return sender or (refused.code in _LOGIN_WANTED and not self._server.username)

    def _refuses_us(self, refused: RefusedError, sender: str) -> MailServerError:
        return MailServerError(
            f"{self._server} refuses the sender {sender}: {refused}. If that is not about how much you send, set "
            "MAIL_FROM to an address that it lets you send from, and SMTP_USERNAME and SMTP_PASSWORD for a login."
        )

    def _hand_over(self, connection: smtplib.SMTP, lines: bytes) -> Receipt:
        """The message with its dot, and the reply to it: only here can it be unknown whether the message was taken.
        While it is being sent it cannot: as long as that fails, the end of the dot's line has not left.
        """
        connection.send(lines)
        try:
            _wait_at_most(connection, self._dot_timeout)
            code, reply = connection.getreply()
        except OSError as error:
            self._drop()
            return Receipt(DeliveryState.AMBIGUOUS, f"connection lost after the message: {complaint(error)}")
        if not 200 <= code <= 299 and not 400 <= code <= 599:
            self._drop()
            return Receipt(DeliveryState.AMBIGUOUS, f"no reply that means anything: {said(code, reply)}")
        with contextlib.suppress(OSError):  # if it is gone by now, the next message will meet that
            _wait_at_most(connection, self._timeout)
        _expect((code, reply), "end of message", range(200, 300))
        return Receipt(DeliveryState.SENT, said(code, reply))

    def _receipt(self, refused: RefusedError) -> Receipt:
        permanent = 500 <= refused.code <= 599
        slow_down = slows_down(refused.code, refused.text) or (refused.command == "MAIL" and not permanent)
        if slow_down or not 400 <= refused.code <= 599:
            self._drop()  # it may be this connection that had enough
        elif self._connection is not None:
            self._reset(self._connection)
        return Receipt(
            DeliveryState.FAILED if permanent else DeliveryState.DEFERRED,
            f"{refused.command}: {refused}",
            bounce=refused.command == "RCPT" and bounces(refused.code, refused.text),
            slow_down=slow_down,
        )

    def _reset(self, connection: smtplib.SMTP) -> None:
        try:
            _expect(connection.rset(), "RSET", {250})
        except (RefusedError, OSError):
            self._drop()

    def _drop(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()
        self._switch.release()


def _mail(connection: smtplib.SMTP, sender: str, recipient: str, size: int) -> str:
    options = f" SIZE={size}" if connection.has_extn("size") else ""
    if not (sender + recipient).isascii():
        if not connection.has_extn("smtputf8"):
            raise RefusedError("RCPT", 550, "the server takes no addresses beyond ASCII (SMTPUTF8)")
        options += " SMTPUTF8 BODY=8BITMIME"
        connection.command_encoding = "utf-8"
    return f"MAIL FROM:<{sender}>{options}"


def _never_handed_over(why: str) -> Receipt:
    return Receipt(DeliveryState.PENDING, f"the message was not handed over: {why}")


def _wait_at_most(connection: smtplib.SMTP, seconds: float) -> None:
    if connection.sock is None:
        raise smtplib.SMTPServerDisconnected("connection closed")
    connection.sock.settimeout(seconds)


def _expect(answer: tuple[int, bytes], command: str, good: Container[int]) -> None:
    code, reply = answer
    if code not in good:
        raise RefusedError(command, code, reply)


def _ascii_domain(address: str) -> str:
    local, at, domain = address.rpartition("@")
    return local + at + (domain if domain.isascii() else idna.encode(domain, uts46=True).decode())
