"""A message as SMTP wants it (RFC 5321, 2.3.8 and 4.5.2). Pure.

To look through a whole digest takes longer than all else that is done for one subscriber. So it is done once, to what
all copies share, and each copy carries the outcome along.
"""

from __future__ import annotations

import re

_LINE_END = re.compile(rb"\r\n|\r|\n")


class Copied(bytes):
    """One copy of a frozen message, and the same as `on_the_line` would give it."""

    on_the_line: bytes

    @classmethod
    def of(cls, message: bytes, on_the_line: bytes) -> Copied:
        copied = cls(message)
        copied.on_the_line = on_the_line
        return copied


def on_the_line(message: bytes) -> bytes:
    """A message in lines that end in CRLF, a dot before each that begins with one, and the final dot."""
    if isinstance(message, Copied):
        return message.on_the_line
    end = b".\r\n" if message.endswith((b"\r", b"\n")) else b"\r\n.\r\n"
    return dotted(message) + end


def dotted(lines: bytes) -> bytes:
    """Whole lines, or their beginning, without the final dot."""
    if not lines.count(b"\r\n") == lines.count(b"\n") == lines.count(b"\r"):
        lines = _LINE_END.sub(b"\r\n", lines)
    lines = lines.replace(b"\r\n.", b"\r\n..")
    return b"." + lines if lines.startswith(b".") else lines
