"""The mail server that the other tests trust."""

from __future__ import annotations

import smtplib
import subprocess
import sys
from pathlib import Path

import pytest

from tests.servers.smtp import Fault, SmtpServer, certificates


def _send(server: SmtpServer, recipient: str = "ada@example.org") -> None:
    with smtplib.SMTP(server.host, server.port, timeout=60) as client:
        client.sendmail("papers@example.org", [recipient], b"Subject: hello\r\n\r\n.one\r\n")


def test_server_keeps_the_messages_it_accepted() -> None:
    with SmtpServer() as server:
        _send(server)
        _send(server, "bob@example.org")
    assert [(m.sender, m.recipient, m.connection) for m in server.messages] == [
        ("papers@example.org", "ada@example.org", 1),
        ("papers@example.org", "bob@example.org", 2),
    ]
    assert server.messages[0].content == b"Subject: hello\r\n\r\n.one\r\n"
    assert server.messages[0].peer[0] == "127.0.0.1"


def test_fault_applies_to_its_address_a_limited_number_of_times() -> None:
    with SmtpServer(faults=[Fault("RCPT", "450 4.2.1 busy", address="bob@example.org", times=1)]) as server:
        _send(server)
        with pytest.raises(smtplib.SMTPRecipientsRefused):
            _send(server, "bob@example.org")
        _send(server, "bob@example.org")
    assert [m.recipient for m in server.messages] == ["ada@example.org", "bob@example.org"]


@pytest.mark.parametrize(("keeps", "taken"), [(False, 0), (True, 1)])
def test_drop_after_the_dot_keeps_or_loses_the_message(keeps: bool, taken: int) -> None:
    with SmtpServer(faults=[Fault("dot", keeps=keeps)]) as server:
        with pytest.raises(smtplib.SMTPServerDisconnected):
            _send(server)
        assert len(server.messages) == taken


def test_server_requires_its_login() -> None:
    context, trusting = certificates()
    with (
        SmtpServer(security="starttls", ssl_context=context, username="paperboy", password="secret") as server,
        smtplib.SMTP("localhost", server.port, timeout=60) as client,
    ):
        client.starttls(context=trusting)
        with pytest.raises(smtplib.SMTPSenderRefused, match="530"):
            client.sendmail("papers@example.org", ["ada@example.org"], b"Subject: no\r\n\r\n")
        with pytest.raises(smtplib.SMTPAuthenticationError):
            client.login("paperboy", "guessed")
        client.login("paperboy", "secret")
        client.sendmail("papers@example.org", ["ada@example.org"], b"Subject: yes\r\n\r\n")
    assert [(m.login, m.tls) for m in server.messages] == [("paperboy", True)]


def test_run_by_hand_without_the_test_packages_names_the_command(tmp_path: Path) -> None:
    without_packages = [sys.executable, "-S", "-m", "tests.servers.smtp", "--maildir", str(tmp_path / "Maildir")]
    checkout = Path(__file__).parents[2]
    ran = subprocess.run(without_packages, cwd=checkout, env={}, capture_output=True, text=True, check=False)
    assert (ran.returncode, ran.stdout) == (1, "")
    assert ran.stderr == (f"trustme is not installed; in the checkout: {sys.executable} -m pip install -e '.[test]'\n")
