"""The outbox takes mail while no mail server is set up: a Maildir, and each list's newest mail as
files to open.
"""

import email
import email.policy
import mailbox
from pathlib import Path

from paperboy.errors import MailServerError
from paperboy.models import DeliveryState, Envelope, Receipt


class Outbox:
    """A folder that is its owner's alone, made by the first mail: `Maildir/`, `LIST.eml`,
    `LIST.html`, `LIST.txt`.
    """

    via = "outbox"

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def send(self, envelope: Envelope) -> Receipt:
        """Put the message into the Maildir. MailServerError if the folder cannot be written."""
        maildir = self._folder / "Maildir"
        try:
            self._folder.mkdir(
                parents=True, exist_ok=True
            )  # private by the command's umask, as its files are
            # A Maildir has local line ends.
            mailbox.Maildir(str(maildir), create=True).add(envelope.message.replace(b"\r\n", b"\n"))
            if envelope.list_name:
                show(self._folder, envelope.list_name, envelope.message)
        except OSError as error:
            raise MailServerError(
                f"cannot write to the outbox {self._folder}: {error.strerror or error}. Free some space and let this "
                "user write there, or set PAPERBOY_OUTBOX to another folder."
            ) from error
        return Receipt(DeliveryState.SENT, f"in {maildir}")

    def abort(self) -> None:
        """Nothing here takes long."""

    def close(self) -> None:
        """Nothing stays open."""


def show(folder: Path, name: str, message: bytes) -> Path:
    """Write `NAME.eml`, `NAME.html` and `NAME.txt` of a message, and return the page's path.
    OSError if it cannot.
    """
    (folder / f"{name}.eml").write_bytes(message)
    parsed = email.message_from_bytes(message, policy=email.policy.default)
    for subtype, ending in (("plain", ".txt"), ("html", ".html")):
        if part := parsed.get_body((subtype,)):
            (folder / (name + ending)).write_bytes(
                part.get_content().replace("\r\n", "\n").encode()
            )
    return folder / f"{name}.html"
