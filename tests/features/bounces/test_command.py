"""`paperboy bounce`: what a mail server's pipe hands over."""

from __future__ import annotations

import email
import email.policy
import io
import signal
import sys
from datetime import timedelta

import pytest

from paperboy.edges import lock
from paperboy.features.bounces.command import deadline
from paperboy.features.bounces.returned import Request, read
from paperboy.models import DeliveryState
from paperboy.store import Store
from tests.cli.conftest import Ran, World
from tests.features.bounces.test_returned import TOKEN, complaint, report


@pytest.fixture
def sent(world: World) -> World:
    """A morning has sent its digest."""
    world.announce(1, 2)
    assert world.run("once", "--list", "foundations").code == 0
    return world


def bounce(world: World, mail: bytes, monkeypatch: pytest.MonkeyPatch) -> Ran:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(mail)))
    return world.run("bounce")


def header(world: World, name: str, to: str = "ada@example.org") -> str:
    newest = [each for each in world.smtp.messages if each.recipient == to][-1]
    return str(email.message_from_bytes(newest.content)[name])


def token(world: World) -> str:
    return header(world, "List-Unsubscribe").rpartition("%20")[2].rstrip(">")


def store(world: World) -> Store:
    return Store.open(world.path / "data" / "paperboy.db")


def suppressed(world: World) -> list[tuple[str, str, str, bool]]:
    with store(world) as opened:
        return [
            (each.address, each.list_name, each.reason, each.own)
            for each in opened.suppressions.all()
        ]


def test_bounce_that_comes_later_counts_once(sent: World, monkeypatch: pytest.MonkeyPatch) -> None:
    mail = report(message_id=header(sent, "Message-ID"))
    ran = bounce(sent, mail, monkeypatch)
    assert (ran.code, ran.out) == (0, "")
    assert "foundations: a digest has bounced; its delivery counts as failed" in ran.err
    assert "@" not in ran.err
    with store(sent) as opened:
        digest = opened.ledger.newest("foundations")
        assert digest
        found = opened.ledger.find(digest.id, "ada@example.org")
        assert found
        assert (found.state, found.reply) == (
            DeliveryState.FAILED,
            "bounced: 5.1.1 <ada@wren.edu>: no such user",
        )
    assert "known already" in bounce(sent, mail, monkeypatch).err
    assert suppressed(sent) == []


def test_third_bounce_in_a_row_suppresses(sent: World, monkeypatch: pytest.MonkeyPatch) -> None:
    for day in range(3):
        if day:
            sent.clock.now += timedelta(days=3 if day == 1 else 1)
            sent.announce(10 * day)
            assert sent.run("once", "--list", "foundations").code == 0
        assert suppressed(sent) == []
        ran = bounce(sent, report(message_id=header(sent, "Message-ID")), monkeypatch)
        assert "@" not in ran.err
    assert "its address is suppressed, since it did not exist for three digests in a row" in ran.err
    ((address, of, reason, own),) = suppressed(sent)
    assert (address, of, own) == ("ada@example.org", "", False)
    assert "did not exist for three digests in a row: bounced: 5.1.1" in reason


def test_complaint_with_only_a_message_id_suppresses_for_its_list(
    sent: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever was forwarded a mail knows its Message-ID."""
    sent.env(ALERT_TO="operator@example.org")
    ran = bounce(sent, complaint(message_id=header(sent, "Message-ID")), monkeypatch)
    assert (
        ran.code,
        "a reader marked a mail as spam, and gets no more mail from that list" in ran.err,
    ) == (
        0,
        True,
    )
    assert suppressed(sent) == [
        ("ada@example.org", "foundations", "marked a mail of foundations as spam", False)
    ]
    sent.clock.now += timedelta(days=3)
    sent.announce(11)
    sent.run("once", "--list", "foundations")
    assert sorted(sent.mails()[2:]) == ["grace@example.org", "operator@example.org"]
    (mail,) = [
        message for message in sent.smtp.messages if message.recipient == "operator@example.org"
    ]
    alert = email.message_from_bytes(mail.content, policy=email.policy.default)
    text = " ".join(alert.get_body(("plain",)).get_content().split())
    assert "1 address suppressed after a complaint" in text
    assert (
        "ada@example.org: marked a mail of foundations as spam, and gets no more mail from that list"
        in text
    )


@pytest.mark.parametrize("message_id", ["", "somebody else's"])
def test_complaint_with_the_readers_token_suppresses_for_all_lists(
    message_id: str, sent: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = header(sent, "Message-ID", to="grace@example.org") if message_id else ""
    mail = complaint(message_id=other).replace(TOKEN.encode(), token(sent).encode())
    ran = bounce(sent, mail, monkeypatch)
    assert (
        ran.code,
        "a reader marked a mail as spam, and gets no more mail from any list" in ran.err,
    ) == (
        0,
        True,
    )
    assert suppressed(sent) == [
        ("ada@example.org", "", "marked a mail of foundations as spam", False)
    ]


def test_help_says_for_which_lists_a_complaint_counts(world: World) -> None:
    said = " ".join(world.run("bounce", "--help").out.split())
    assert "for the digest's list if only its Message-ID is known" in said
    assert "for all lists if the reader's own token is" in said


def test_unsubscribe_mail_leaves_its_list_alone(
    sent: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    ran = bounce(
        sent, f"Subject: unsubscribe foundations {token(sent)}\r\n\r\n".encode(), monkeypatch
    )
    assert (ran.code, "foundations: a reader left by mail" in ran.err) == (0, True)
    assert suppressed(sent) == [("ada@example.org", "foundations", "left by mail", True)]


@pytest.mark.parametrize(
    "mail",
    [
        b"",
        b"Subject: Great digest!\r\n\r\nThank you.",
        report(),
        complaint().replace(b"leave", b"live"),
        b"Subject: unsubscribe foundations " + b"0" * 32,
    ],
    ids=[
        "nothing",
        "a letter",
        "a bounce of no mail of ours",
        "a complaint about no mail of ours",
        "a made-up token",
    ],
)
def test_all_else_is_left_with_one_line(
    sent: World, mail: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    ran = bounce(sent, mail, monkeypatch)
    assert (ran.code, ran.out) == (0, "")
    assert len(ran.err.splitlines()) == 1
    assert "left alone: " in ran.err
    assert suppressed(sent) == []


def test_while_the_database_cannot_be_used_the_mail_server_is_to_try_again(
    sent: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    mail = report(message_id=header(sent, "Message-ID"))
    database = sent.path / "data" / "paperboy.db"
    database.rename(database.with_name("away"))
    ran = bounce(sent, mail, monkeypatch)
    assert ran.code == 75
    assert "the database is gone" in ran.err
    database.with_name("away").rename(database)
    assert bounce(sent, mail, monkeypatch).code == 0


def test_broken_lists_do_not_keep_a_bounce_from_counting(
    sent: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    mail = report(message_id=header(sent, "Message-ID"))
    sent.write("subscribers.yaml", "lists: [")
    ran = bounce(sent, mail, monkeypatch)
    assert (ran.code, "its delivery counts as failed" in ran.err) == (0, True)


def test_broken_settings_leave_the_mail_to_the_server(
    sent: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    mail = report(message_id=header(sent, "Message-ID"))
    sent.write(".env", "SMTP_PORT=many\n")
    ran = bounce(sent, mail, monkeypatch)
    assert (ran.code, "SMTP_PORT" in ran.err) == (75, True)


def test_database_that_cannot_be_read_leaves_the_mail_to_the_server(
    sent: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    mail = report(message_id=header(sent, "Message-ID"))
    (sent.path / "data" / "paperboy.db").write_bytes(b"no database" * 1000)
    ran = bounce(sent, mail, monkeypatch)
    assert (ran.code, "Traceback" in ran.err) == (75, False)


def test_home_that_is_gone_leaves_the_mail_to_the_server(
    sent: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    mail = report(message_id=header(sent, "Message-ID"))
    sent.path.rename(sent.path.with_name("away"))
    assert bounce(sent, mail, monkeypatch).code == 75


def test_mail_before_the_first_morning_makes_no_database(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    ran = bounce(world, report(), monkeypatch)
    assert (ran.code, "left alone" in ran.err) == (0, True)
    assert not (world.path / "data").exists()


def test_long_mail_is_read_to_its_end_though_only_its_beginning_counts(
    sent: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A server may take a pipe that was closed too early for a failure."""
    mail = io.BytesIO(report(message_id=header(sent, "Message-ID")) + b"\r\n" * 2_000_000)
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(mail))
    assert "a digest has bounced" in sent.run("bounce").err
    assert mail.read() == b""


def test_two_megabytes_of_encoded_words_take_no_time(
    sent: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    ran = bounce(sent, b"Subject: " + b"=?utf-8?q?a?= " * 140_000 + b"\r\n\r\n", monkeypatch)
    assert (ran.code, "left alone: " in ran.err) == (0, True)


def test_deadline_in_a_runaway_parse_leaves_the_mail_alone() -> None:
    """Another try would take as long."""
    request = f"Subject: unsubscribe foundations {TOKEN}\r\n".encode()
    parts = b"".join(
        b'Content-Type: multipart/mixed; boundary="%d"\r\n\r\n--%d\r\n' % (n, n) for n in range(45)
    )
    slow = request + parts + b"\n" * 400_000
    assert read(slow) == Request(TOKEN)
    with deadline(0.3):
        assert read(slow) is None


def test_deadline_elsewhere_leaves_the_mail_to_the_server(
    sent: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Late(io.BytesIO):
        def read(self, size: int | None = -1) -> bytes:
            signal.raise_signal(signal.SIGALRM)
            return super().read(size)

    mail = report(message_id=header(sent, "Message-ID"))
    before = signal.signal(signal.SIGALRM, signal.SIG_IGN)
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(Late(mail)))
    ran = sent.run("bounce")
    assert signal.signal(signal.SIGALRM, before) == signal.SIG_IGN
    assert (ran.code, "took more than 30 seconds" in ran.err) == (75, True)
    assert bounce(sent, mail, monkeypatch).code == 0


def test_bounce_counts_while_a_morning_sends(sent: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """It waits for no lock."""
    mail = report(message_id=header(sent, "Message-ID"))
    database = sent.path / "data" / "paperboy.db"
    with lock.held(database, "run", "run"), lock.held(database, "sending", "work"):
        assert "its delivery counts as failed" in bounce(sent, mail, monkeypatch).err


def test_person_who_was_forgotten_is_unknown(sent: World, monkeypatch: pytest.MonkeyPatch) -> None:
    mails = (
        complaint(message_id=header(sent, "Message-ID")),
        report(message_id=header(sent, "Message-ID")),
    )
    assert sent.run("forget", "ada@example.org").code == 0
    assert ["left alone" in bounce(sent, mail, monkeypatch).err for mail in mails] == [True, True]
    assert suppressed(sent) == []
