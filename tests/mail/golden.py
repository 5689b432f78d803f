"""Whole mails of the sample, kept as files, and what of them must stay the same.

    python -m tests.mail.golden      writes them anew, after a change that was meant: read the difference in git

HTML is compared as a list of its tags and texts, in which white space, the order of attributes and of style
declarations, and the way conditional comments are cut do not count: another MJML renderer may do these as it likes.
"""

from __future__ import annotations

import argparse
import email
import email.policy
import re
from collections.abc import Iterator
from difflib import unified_diff
from email.message import EmailMessage
from html.parser import HTMLParser
from pathlib import Path

from tests.mail.mails import MAILS

FOLDER = Path(__file__).parent / "golden"
COMMAND = "python -m tests.mail.golden"
FILES = (
    "digest.html",
    "digest.txt",
    "digest.eml",
    "note.html",
    "note.txt",
    "alert.html",
    "alert.txt",
)
FILES += (
    "web.html",
    "web.txt",
    "web-note.html",
    "web-note.txt",
    "german.txt",
    "german-note.txt",
)  # where the mails lead to the site
FILES += (
    "library.html",
    "library.txt",
    "german-library.txt",
    "german-library-note.txt",
)  # of a list whose library stands in for topics
FILES += (
    "mixed.html",
    "mixed.txt",
    "german-mixed.html",
    "german-mixed.txt",
)  # with papers of preprint servers and of journals


def made(name: str) -> bytes:
    """One of `FILES` as it would be now."""
    kind, _, part = name.partition(".")
    mail = MAILS[kind]()
    return {"html": mail.html.encode(), "txt": mail.text.encode(), "eml": mail.message}[part]


def comparable(name: str, content: bytes) -> list[str]:
    """The lines of a file that have to be equal."""
    if name.endswith(".eml"):
        return list(_message(email.message_from_bytes(content, policy=email.policy.default)))
    text = content.decode().replace("\r\n", "\n")
    return _html(text) if name.endswith(".html") else text.splitlines()


def difference(name: str, kept: bytes, now: bytes, most: int = 40) -> str:
    """Empty, or the first lines of what differs and how to accept it."""
    lines = list(
        unified_diff(
            comparable(name, kept),
            comparable(name, now),
            f"golden/{name}",
            f"{name} now",
            lineterm="",
            n=1,
        )
    )
    if not lines:
        return ""
    more = [f"… and {len(lines) - most} more lines"] if len(lines) > most else []
    shown = [line[:300] for line in lines[:most]]
    return "\n".join([f"{name} has changed. If it was meant to: {COMMAND}", *shown, *more])


def _message(message: EmailMessage) -> Iterator[str]:
    for header, value in message.items():
        yield f"{header}: " + re.sub(r'boundary="[^"]*"', "boundary", str(value))
    for part in message.iter_parts():
        for header, value in part.items():
            yield f"{header}: {value}"
        text = part.get_content().replace("\r\n", "\n")
        yield from _html(text) if part.get_content_subtype() == "html" else text.splitlines()


def _html(html: str) -> list[str]:
    parser = _Lines()
    parser.feed(html)
    parser.close()
    return parser.lines


class _Lines(HTMLParser):
    """A line for each tag and each text. Tags inside Outlook's conditional comments are marked `mso`."""

    def __init__(self, mark: str = "") -> None:
        super().__init__()
        self.lines: list[str] = []
        self._mark = mark
        self._in_style = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        shown = sorted(
            f'{name}="{_attribute(name, value or "")}"' for name, value in attrs if value != ""
        )
        self.lines.append(f"{self._mark}<{' '.join([tag, *shown])}>")
        self._in_style = tag == "style"

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)

    def handle_endtag(self, tag: str) -> None:
        self._in_style = False
        self.lines.append(f"{self._mark}</{tag}>")

    def handle_data(self, data: str) -> None:
        if self._in_style:
            rules = re.sub(r"\s*([{};:,])\s*", r"\1", " ".join(data.split())).replace(";}", "}")
            self.lines += [line for line in re.split(r"(?<=\})", rules) if line.strip()]
        elif words := " ".join(data.split()):
            self.lines.append(self._mark + words)

    def handle_comment(self, data: str) -> None:
        conditional = re.fullmatch(r"\[if ([^\]]*)\]>(.*)<!\[endif\]", data, re.DOTALL)
        inner = _Lines(f"mso({conditional[1]}) ") if conditional else None
        if conditional and inner:
            inner.feed(conditional[2])
            inner.close()
            self.lines += inner.lines

    def handle_decl(self, decl: str) -> None:
        self.lines.append(f"<!{decl}>")


def _attribute(name: str, value: str) -> str:
    if name != "style":
        return " ".join(value.split())
    declarations = (
        re.sub(r"\s*([:,])\s*", r"\1", " ".join(declaration.split()))
        for declaration in value.split(";")
    )
    return ";".join(sorted(declaration for declaration in declarations if declaration))


def main() -> None:
    argparse.ArgumentParser(
        prog="python -m tests.mail.golden", description="Writes the golden mails anew."
    ).parse_args()
    FOLDER.mkdir(exist_ok=True)
    for name in FILES:
        file = FOLDER / name
        content = made(name)
        changed = not file.exists() or file.read_bytes() != content
        file.write_bytes(content)
        print(f"{'written' if changed else 'as it was'}  {file}  {len(content):,} bytes")


if __name__ == "__main__":
    main()
