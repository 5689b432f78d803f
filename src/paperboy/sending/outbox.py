"""Outbox for mail while no mail server is set up: a Maildir, and each list's newest mail as files
to open.
"""

import email
import email.policy
import mailbox
from pathlib import Path

from paperboy.errors import MailServerError
from paperboy.models import DeliveryState, Envelope, Receipt


class Outbox:
    """Private folder, created by the first mail: `Maildir/`, `LIST.eml`, `LIST.html`,
    `LIST.txt`.
    """

    via = "outbox"

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def send(self, envelope: Envelope) -> Receipt:
        """Put the message into the Maildir. Raises MailServerError if the folder cannot be
        written.
        """
        maildir = self._folder / "Maildir"
        local = envelope.message.replace(b"\r\n", b"\n")  # line ends, as a Maildir has them
        try:
            # private by the command's umask, as its files are
            self._folder.mkdir(parents=True, exist_ok=True)
            mailbox.Maildir(str(maildir), create=True).add(local)
            if envelope.list_name:
                show(self._folder, envelope.list_name, envelope.message)
        except OSError as error:
            raise MailServerError(
                f"cannot write to the outbox {self._folder}: {error.strerror or error}. Free some space and let this "
                "user write there, or set PAPERBOY_OUTBOX to another folder."
            ) from error
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
