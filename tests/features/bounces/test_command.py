"""`paperboy bounce`: what a mail server's pipe hands over."""

from __future__ import annotations

import io
import signal
import sys
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest

from paperboy.edges import lock
from paperboy.features.bounces.command import deadline
from paperboy.features.bounces.returned import Request, read
from paperboy.models import DeliveryState
from tests.cli.conftest import Ran, World
from tests.cli.mail_world import told
from tests.features.bounces.test_returned import TOKEN, complaint, report


@pytest.fixture
def sent(world: World) -> World:
    """A morning has sent its digest."""
    world.announce(1, 2)
    assert world.run("once", "--list", "foundations").code == 0
    return world


Bounced = Callable[[bytes | io.BytesIO], Ran]


@pytest.fixture
def bounce(world: World, monkeypatch: pytest.MonkeyPatch) -> Bounced:
    """Run the command with a mail on its standard input."""

    def run(mail: bytes | io.BytesIO) -> Ran:
        stream = mail if isinstance(mail, io.BytesIO) else io.BytesIO(mail)
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(stream))
        return world.run("bounce")

    return run


def header(world: World, name: str, to: str = "ada@example.org") -> str:
    return str(world.messages(to)[-1][name])


def token(world: World) -> str:
    return header(world, "List-Unsubscribe").rpartition("%20")[2].rstrip(">")


def her_report(world: World) -> bytes:
    """The report on the newest digest to Ada."""
    return report(message_id=header(world, "Message-ID"))


def suppressed(world: World) -> list[tuple[str, str, str, bool]]:
    with world.store() as opened:
        return [
            (row.address, row.list_name, row.reason, row.own) for row in opened.suppressions.all()
        ]


def test_bounce_that_comes_later_counts_once(sent: World, bounce: Bounced) -> None:
    mail = her_report(sent)
    ran = bounce(mail)
    assert (ran.code, ran.out) == (0, "")
    assert "foundations: a digest has bounced; its delivery counts as failed" in ran.err
    assert "@" not in ran.err
    with sent.store() as opened:
        digest = opened.ledger.newest("foundations")
        assert digest
        found = opened.ledger.find(digest.id, "ada@example.org")
        assert found
        assert (found.state, found.reply) == (
            DeliveryState.FAILED,
            "bounced: 5.1.1 <ada@wren.edu>: no such user",
        )
    assert "known already" in bounce(mail).err
    assert suppressed(sent) == []


def test_bounce_that_names_only_the_readers_token_is_of_the_newest_digest(
    sent: World, bounce: Bounced
) -> None:
    mail = report(message_id="<0102-4f@eu-west-1.amazonses.com>")
    ran = bounce(mail.replace(TOKEN.encode(), token(sent).encode()))
    assert "foundations: a digest has bounced; its delivery counts as failed" in ran.err


def test_third_bounce_in_a_row_suppresses(sent: World, bounce: Bounced) -> None:
    for day in range(3):
        if day:
            sent.clock.now += timedelta(days=3 if day == 1 else 1)
            sent.announce(10 * day)
            assert sent.run("once", "--list", "foundations").code == 0
        assert suppressed(sent) == []
        ran = bounce(her_report(sent))
        assert "@" not in ran.err
    assert "its address is suppressed, since it did not exist for three digests in a row" in ran.err
    ((address, of, reason, own),) = suppressed(sent)
    assert (address, of, own) == ("ada@example.org", "", False)
    assert "did not exist for three digests in a row: bounced: 5.1.1" in reason


def test_complaint_with_only_a_message_id_suppresses_for_its_list(
    sent: World, bounce: Bounced
) -> None:
    """Whoever was forwarded a mail knows its Message-ID."""
    sent.env(ALERT_TO="operator@example.org")
    ran = bounce(complaint(message_id=header(sent, "Message-ID")))
    assert ran.code == 0
    assert "a reader marked a mail as spam, and gets no more mail from that list" in ran.err
    assert suppressed(sent) == [
        ("ada@example.org", "foundations", "marked a mail of foundations as spam", False)
    ]
    sent.clock.now += timedelta(days=3)
    sent.announce(11)
    sent.run("once", "--list", "foundations")
    assert sorted(sent.mails()[2:]) == ["grace@example.org", "operator@example.org"]
    text = told(sent, "operator@example.org")
    assert "1 address suppressed after a complaint" in text
    assert (
        "ada@example.org: marked a mail of foundations as spam, and gets no more mail from that list"
        in text
    )


@pytest.mark.parametrize("message_id", ["", "somebody else's"])
def test_complaint_with_the_readers_token_suppresses_for_all_lists(
    message_id: str, sent: World, bounce: Bounced
) -> None:
    other = header(sent, "Message-ID", to="grace@example.org") if message_id else ""
    mail = complaint(message_id=other).replace(TOKEN.encode(), token(sent).encode())
    assert "a reader marked a mail as spam, and gets no more mail from any list" in bounce(mail).err
    assert suppressed(sent) == [
        ("ada@example.org", "", "marked a mail of foundations as spam", False)
    ]


def test_help_says_for_which_lists_a_complaint_counts(world: World) -> None:
    said = " ".join(world.run("bounce", "--help").out.split())
    assert "for the digest's list if only its Message-ID is known" in said
    assert "for all lists if the reader's own token is" in said


def test_unsubscribe_mail_leaves_its_list_alone(sent: World, bounce: Bounced) -> None:
    ran = bounce(f"Subject: unsubscribe foundations {token(sent)}\r\n\r\n".encode())
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
def test_other_mail_is_ignored_with_one_log_line(sent: World, mail: bytes, bounce: Bounced) -> None:
    ran = bounce(mail)
    assert (ran.code, ran.out) == (0, "")
    assert len(ran.err.splitlines()) == 1
    assert "left alone: " in ran.err
    assert suppressed(sent) == []


@pytest.mark.parametrize(
    ("spoil", "says"),
    [
        (lambda home: (home / "data" / "paperboy.db").unlink(), "the database is gone"),
        (lambda home: (home / "data" / "paperboy.db").write_bytes(b"none" * 1000), "paperboy.db"),
        (lambda home: (home / ".env").write_text("SMTP_PORT=many\n"), "SMTP_PORT"),
        (lambda home: home.rename(home.with_name("away")), ""),
    ],
    ids=["no database", "a broken database", "broken settings", "no home"],
)
def test_home_that_cannot_be_used_leaves_the_mail_to_the_server(
    sent: World, bounce: Bounced, spoil: Callable[[Path], object], says: str
) -> None:
    mail = her_report(sent)
    spoil(sent.path)
    ran = bounce(mail)
    assert (ran.code, says in ran.err, "Traceback" in ran.err) == (75, True, False)


def test_broken_lists_do_not_keep_a_bounce_from_counting(sent: World, bounce: Bounced) -> None:
    mail = her_report(sent)
    sent.write("subscribers.yaml", "lists: [")
    ran = bounce(mail)
    assert (ran.code, "its delivery counts as failed" in ran.err) == (0, True)


def test_mail_before_the_first_morning_makes_no_database(world: World, bounce: Bounced) -> None:
    ran = bounce(report())
    assert (ran.code, "left alone" in ran.err) == (0, True)
    assert not (world.path / "data").exists()


def test_long_mail_is_read_to_its_end_though_only_its_beginning_counts(
    sent: World, bounce: Bounced
) -> None:
    """A server may take a pipe that was closed too early for a failure."""
    mail = io.BytesIO(her_report(sent) + b"\r\n" * 2_000_000)
    assert "a digest has bounced" in bounce(mail).err
    assert mail.read() == b""


@pytest.mark.long("waits for a deadline")
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


def test_deadline_elsewhere_leaves_the_mail_to_the_server(sent: World, bounce: Bounced) -> None:
    class Late(io.BytesIO):
        def read(self, size: int | None = -1) -> bytes:
            signal.raise_signal(signal.SIGALRM)
            return super().read(size)

    mail = her_report(sent)
    before = signal.signal(signal.SIGALRM, signal.SIG_IGN)
    ran = bounce(Late(mail))
    assert signal.signal(signal.SIGALRM, before) == signal.SIG_IGN
    assert (ran.code, "took more than 30 seconds" in ran.err) == (75, True)
    assert bounce(mail).code == 0


def test_bounce_counts_while_a_morning_sends(sent: World, bounce: Bounced) -> None:
    """It waits for no lock."""
    mail = her_report(sent)
    database = sent.path / "data" / "paperboy.db"
    with lock.held(database, "run", "run"), lock.held(database, "sending", "work"):
        assert "its delivery counts as failed" in bounce(mail).err


def test_person_who_was_forgotten_is_unknown(sent: World, bounce: Bounced) -> None:
    mails = (complaint(message_id=header(sent, "Message-ID")), her_report(sent))
    assert sent.run("forget", "ada@example.org").code == 0
    assert ["left alone" in bounce(mail).err for mail in mails] == [True, True]
    assert suppressed(sent) == []
