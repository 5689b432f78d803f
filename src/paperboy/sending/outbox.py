"""Outbox for mail while no mail server is set up: a Maildir, and each list's newest mail as files
to open.
"""

import email
import email.policy
import logging
import mailbox
import os
from pathlib import Path

from paperboy.errors import MailServerError
from paperboy.models import DeliveryState, Envelope, Receipt

logger = logging.getLogger(__name__)


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
                logger.warning("the mail is in %s, but not beside it: %s. %s", maildir, error, fix)
        return Receipt(DeliveryState.SENT, f"in {maildir}")

    def abort(self) -> None:
        """Do nothing: sending takes no time here."""

    def close(self) -> None:
        """Do nothing: no file stays open."""


def show(folder: Path, name: str, message: bytes) -> Path:
    """Write `NAME.eml`, `NAME.html` and `NAME.txt` of a message, and return the page's path. Raises
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
