"""Outbox for mail while no mail server is set up: a Maildir, and each list's newest mail as files
to open.
"""

from __future__ import annotations

import email
import email.policy
import logging
import mailbox
import os
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from paperboy.edges import files
from paperboy.errors import MailServerError, StoreError
from paperboy.models import Composed, Delivery, DeliveryState, Envelope, Receipt, Subscriber

if TYPE_CHECKING:
    from paperboy.mail.message import Composer

logger = logging.getLogger(__name__)

_SOMEBODY = Subscriber("you@example.org")


class Outbox:
    """Private folder, created by the first mail: `Maildir/`, `LIST.eml`, `LIST.html`,
    `LIST.txt`.
    """

    via = "outbox"

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def send(self, envelope: Envelope) -> Receipt:
        """Put the message into the Maildir, and write the list's files. Raises MailServerError
        unless the Maildir's `new/` has it; any later failure is logged.
        """
        maildir = self._folder / "Maildir"
        local = envelope.message.replace(b"\r\n", b"\n")  # line ends, as a Maildir has them
        fix = "Free some space and let this user write there, or set PAPERBOY_OUTBOX to another folder."
        try:
            # private by the command's umask, as its files are
            self._folder.mkdir(parents=True, exist_ok=True)
            mailbox.Maildir(str(maildir), create=True).add(local)
        except OSError as error:
            # `add` links the file in tmp/ into new/ under the same name, and then removes it.
            linked = maildir / "new" / Path(error.filename or "").name
            if not os.path.isfile(linked):  # noqa: PTH113 - which raises nothing
                raise MailServerError(
                    f"cannot write to the outbox {self._folder}: {error.strerror or error}. {fix}"
                ) from error
            logger.warning("the mail is sent; its file in tmp/ could not be removed: %s", error)

        if envelope.list_name:
            try:
                show(self._folder, envelope.list_name, envelope.message)
            except OSError as error:
                logger.warning(
                    "the mail is in %s, but its copies beside it could not be written: %s. %s",
                    maildir,
                    error,
                    fix,
                )
        return Receipt(DeliveryState.SENT, f"in {maildir}")

    def abort(self) -> None:
        """Do nothing: sending takes no time here."""

    def close(self) -> None:
        """Do nothing: no file stays open."""


def show(folder: Path, name: str, message: bytes) -> Path:
    """Write `NAME.eml`, `NAME.html` and `NAME.txt` of a message, and return the HTML's path. Raises
    OSError.
    """
    (folder / f"{name}.eml").write_bytes(message)
    parsed = email.message_from_bytes(message, policy=email.policy.default)
    for subtype, ending in (("plain", ".txt"), ("html", ".html")):
        part = parsed.get_body((subtype,))
        if part:
            text = part.get_content().replace("\r\n", "\n")
            (folder / f"{name}{ending}").write_bytes(text.encode())
    return folder / f"{name}.html"


def preview(
    composer: Composer,
    box: Path,
    list_name: str,
    composed: Composed,
    now: datetime,
) -> Path:
    """Write a reader's copy of a digest, without sending it, to `preview/` in the outbox folder `box`;
    return the HTML's path. Raises StoreError.
    """
    folder = box / "preview"
    copy = composer.copy_for(list_name, now.date(), _SOMEBODY)
    try:
        box.mkdir(mode=0o700, parents=True, exist_ok=True)
        folder.mkdir(mode=0o700, exist_ok=True)
        envelope = composer.envelope(composed, Delivery(list_name, copy))
        return show(folder, list_name, envelope.message)
    except OSError as error:
        fix = files.denied(folder) or "free some space, or set PAPERBOY_OUTBOX"
        raise StoreError(
            f"{folder}: the preview cannot be written ({error.strerror}); {fix}"
        ) from error
