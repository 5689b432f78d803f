"""One subscriber more, or one less, in the text of `subscribers.yaml`; every other character stays as it is.

Pure: text in, text out. YAML's own nodes and tokens say where to cut, so that a dash, a comma or a bracket in a comment
or in quotes is never taken for a real one. An anchor, an alias or a merged key can carry an edit further than is seen
here: whoever uses it reads the new text with `mailing_lists`, and compares.
"""

from __future__ import annotations

from dataclasses import dataclass

from paperboy.config.list_edits import adding, removing
from paperboy.config.list_edits.file import Cut, File, OddError, line_of
from paperboy.config.values import Mailbox
from paperboy.config.yaml_document import Fault

__all__ = ["Edit", "subscribe", "unsubscribe"]


@dataclass(frozen=True, slots=True)
class Edit:
    """The new text. Lines count from 1."""

    text: str
    line: int  # where the subscriber stands in it, or stood in the old text
    begins: int  # where in the old text the list's subscribers begin; the list itself, if it had no key for them


def subscribe(text: str, list_name: str, mailbox: Mailbox) -> Edit | Fault:
    """Adds a subscriber behind the list's last one, written as the others are.

    `text` is one that the loader takes, without a byte order mark, and the address is not on the list. A fault says why
    this edit cannot be made.
    """
    try:
        file = File(text)
        entry = file.entry(list_name)
        written = adding.in_yaml(str(mailbox), adding.quote(file, entry))
        cuts = adding.cuts(file, entry, written)
    except OddError as error:
        return error.fault
    new = _made(text, cuts)
    return Edit(new, line_of(new, _place(cuts, written)), line_of(text, file.begins(entry)))


def unsubscribe(text: str, list_name: str, address: str) -> Edit | Fault:
    """Takes out the subscriber of that address, whatever its case, with its own line and the comment at its end.

    `text` is one that the loader takes, without a byte order mark. A fault says why this edit cannot be made.
    """
    try:
        file = File(text)
        entry = file.entry(list_name)
        element, cuts = removing.cuts(file, entry, address)
    except OddError as error:
        return error.fault
    return Edit(_made(text, cuts), line_of(text, element.start), line_of(text, file.begins(entry)))


def _made(text: str, cuts: list[Cut]) -> str:
    for cut in sorted(cuts, reverse=True):
        text = text[: cut.start] + cut.new + text[cut.end :]
    return text


def _place(cuts: list[Cut], written: str) -> int:
    """Where the text that was written stands in the new text."""
    shift = 0
    for cut in sorted(cuts):
        if written in cut.new:
            return cut.start + shift + cut.new.index(written)
        shift += len(cut.new) - (cut.end - cut.start)
    raise ValueError(written)
