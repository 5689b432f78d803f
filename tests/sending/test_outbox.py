"""Mail in a folder."""

from __future__ import annotations

import errno
import mailbox
import os
import re
import stat
from pathlib import Path

import pytest

from paperboy.errors import MailServerError
from paperboy.mail.message import freeze, own_headers
from paperboy.models import DeliveryState, Envelope, Rendered, Subscriber
from paperboy.sending.outbox import Outbox


def envelope(
    to: str = "ada@example.org", text: str = "Grüße.\n", list_name: str = "foundations"
) -> Envelope:
    shared = freeze(
        ["From: papers@example.org", "Subject: Papers"], Rendered("Papers", f"<p>{text}</p>", text)
    )
    message = own_headers(Subscriber(to), "<1@example.org>") + shared
    return Envelope("papers@example.org", to, message, list_name)


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_every_message_goes_into_the_maildir(tmp_path: Path) -> None:
    outbox = Outbox(tmp_path / "deep" / "outbox")
    receipts = [outbox.send(envelope("ada@example.org")), outbox.send(envelope("bob@example.org"))]
    outbox.close()
    assert [receipt.state for receipt in receipts] == [DeliveryState.SENT, DeliveryState.SENT]
    maildir = mailbox.Maildir(str(tmp_path / "deep" / "outbox" / "Maildir"), create=False)
    assert sorted(message["To"] for message in maildir) == ["ada@example.org", "bob@example.org"]
    files = list((tmp_path / "deep" / "outbox" / "Maildir" / "new").iterdir())
    assert not any(b"\r" in file.read_bytes() for file in files)


def test_newest_digest_is_written_beside_the_maildir(tmp_path: Path) -> None:
    outbox = Outbox(tmp_path)
    outbox.send(envelope(text="Yesterday's.\n"))
    outbox.send(envelope(text="Grüße.\n"))
    outbox.send(envelope(text="Another list's.\n", list_name="other"))
    assert (tmp_path / "foundations.txt").read_text("utf-8") == "Grüße.\n"
    assert (tmp_path / "foundations.html").read_text("utf-8").startswith("<p>Grüße.")
    assert (tmp_path / "foundations.eml").read_bytes() == envelope().message
    assert (tmp_path / "other.txt").read_text("utf-8") == "Another list's.\n"


def test_alert_has_files_that_no_list_can_have(tmp_path: Path) -> None:
    Outbox(tmp_path).send(envelope(list_name="_alert"))
    assert (tmp_path / "_alert.html").is_file()


def test_outbox_is_readable_by_its_owner_alone(tmp_path: Path) -> None:
    """Under the command's umask."""
    folder = tmp_path / "outbox"
    before = os.umask(0o077)
    try:
        Outbox(folder).send(envelope())
    finally:
        os.umask(before)
    assert mode(folder) == 0o700
    assert [mode(folder / "Maildir" / part) for part in ("", "cur", "new", "tmp")] == [0o700] * 4
    assert [mode(file) for file in folder.glob("foundations.*")] == [0o600] * 3


def test_existing_folder_keeps_its_mode(tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    Outbox(tmp_path).send(envelope())
    assert mode(tmp_path) == 0o755


def test_file_in_place_of_the_outbox_is_reported_with_the_fix(tmp_path: Path) -> None:
    (tmp_path / "outbox").write_text("a file")
    with pytest.raises(
        MailServerError, match=r"cannot write to the outbox .*/outbox.*PAPERBOY_OUTBOX"
    ):
        Outbox(tmp_path / "outbox").send(envelope())


def test_copy_in_the_maildir_is_sent_although_the_lists_files_cannot_be_written(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """A second try would be a second copy."""
    (tmp_path / "foundations.eml").mkdir()
    assert Outbox(tmp_path).send(envelope()).state is DeliveryState.SENT
    assert len(mailbox.Maildir(str(tmp_path / "Maildir"), create=False)) == 1
    told = r"its copies beside it could not be written: .*/foundations\.eml.*PAPERBOY_OUTBOX"
    assert re.search(told, caplog.text)


def test_copy_in_the_maildir_is_sent_although_its_draft_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def refuse(path: str) -> None:
        raise OSError(errno.EIO, "Input/output error", path)

    monkeypatch.setattr(os, "remove", refuse)
    assert Outbox(tmp_path).send(envelope()).state is DeliveryState.SENT
    assert len(list((tmp_path / "Maildir" / "new").iterdir())) == 1
    assert (tmp_path / "foundations.eml").is_file()
    assert "its file in tmp/ could not be removed: [Errno 5]" in caplog.text


def test_mail_that_the_maildir_does_not_have_is_not_sent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(source: str, _: str) -> None:
        raise OSError(errno.ENOSPC, "No space left on device", source)

    monkeypatch.setattr(os, "link", refuse)
    with pytest.raises(MailServerError, match=r"outbox .*: No space left on device\. Free some"):
        Outbox(tmp_path).send(envelope())
    assert not [file for file in (tmp_path / "Maildir").rglob("*") if file.is_file()]
