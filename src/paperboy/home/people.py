"""`subscribers_file`: a list's people in a file of their own: an address a line, or a CSV with the
column `address`.

There may be a million. So they stay the bytes of the file, and are made of its lines when somebody
asks for them: most commands only ask whether there are any, or for one.
"""

import csv
import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from io import BytesIO, StringIO
from typing import Any

from paperboy.edges.text import shortened
from paperboy.errors import MOST_PROBLEMS
from paperboy.home.values import mailbox
from paperboy.models import Problem, Subscriber, Subscribers

_NAME = r"\w[\w./-]*\.(?:txt|csv)"
_KEYS = re.compile(  # and comments, since a key in them is none
    rf"^[ \t]*#[^\r\n]*|subscribers_file[\"']?\s*:\s*(?:&\S+\s+)?[\"']?({_NAME})(?![\w/-])",
    re.MULTILINE,
)
_QUOTES = (
    "these quotes are never closed, or end within a cell; "
    "write each row in one line, and double a quote in a cell"
)
_COMMENT = re.compile(
    r"(.*<[^<>]*>|[^\s<>]*@[^\s<>]*)\s+#.*"
)  # after an address, since a name may have a #


def named(text: str) -> list[str]:
    """Return the files that subscribers.yaml names: cheaper than reading its YAML, which refuses
    all others.
    """
    return (
        list(dict.fromkeys(filter(None, _KEYS.findall(text)))) if "subscribers_file" in text else []
    )


def file_name(text: str) -> str:
    """Return the name of such a file. Raises ValueError."""
    if not re.fullmatch(_NAME, text) or ".." in text.split("/"):
        raise ValueError(
            "must be the name of a file in the home that ends in .txt or .csv, such as readers.txt, without spaces"
        )
    return text


class _Columns:
    """The columns of a CSV, as its first line names them."""

    def __init__(self, line: str) -> None:
        self.delimiter = next((mark for mark in ",;\t" if mark in line), ",")
        self.titles = [title.strip().lower() for title in _cells(line, self.delimiter)]

    def mailbox(self, line: str) -> str:
        """Return a row as a text file would have it; empty if its quotes cannot be read. Mail
        programs export an address as its own name.
        """
        row = dict(zip(self.titles, _cells(line, self.delimiter), strict=False))
        name = row.get("name", "")
        address = row.get("address", "").strip()
        if "<" in address or not row:
            return address
        if re.search("[@<>]", name):
            name = ""
        return f"{name} <{address}>"

    def row(self, who: Subscriber) -> str:
        made = StringIO()
        cells = csv.DictWriter(
            made, self.titles, extrasaction="ignore", delimiter=self.delimiter, lineterminator=""
        )
        cells.writerow({"address": who.address, "name": who.name})
        return made.getvalue()


def _cells(line: str, delimiter: str) -> list[str]:
    """Return the cells of one line: quotes that are never closed spoil no other."""
    with suppress(csv.Error):
        return (
            next(csv.reader([line], delimiter=delimiter, strict=True))
            if '"' in line
            else line.split(delimiter)
        )
    return []


@dataclass(frozen=True, slots=True)
class SubscribersFile(Subscribers):
    """The subscribers in subscribers.yaml, then those of the file. A line that is no address is
    left out; `problems` reports it.
    """

    inline: tuple[Subscriber, ...] = field(repr=False)
    file: str  # its name in the home
    content: bytes = field(repr=False)  # UTF-8, with \n for each line end

    @property
    def is_csv(self) -> bool:
        return self.file.endswith(".csv")

    def __iter__(self) -> Iterator[Subscriber]:
        yield from self.inline
        for _, text in self._entries():
            with suppress(ValueError):
                yield mailbox(text)

    def __len__(self) -> int:
        return len(self.inline) + sum(1 for _ in self._entries())

    def __bool__(self) -> bool:
        return bool(self.inline) or any(True for _ in self._entries())

    def __getitem__(self, index: Any) -> Any:
        return tuple(self)[index]

    def find(self, address: str) -> Subscriber | None:
        wanted = address.lower()
        for who in self.inline:
            if who.address.lower() == wanted:
                return who
        for _, text in self._entries():
            if _address(text) == wanted:
                return mailbox(text)
        return None

    def addresses(self) -> Iterator[str]:
        yield from (who.address.lower() for who in self.inline)
        yield from (_address(text) for _, text in self._entries())

    def lines(self, address: str) -> list[int]:
        """Return the lines on which the file has the address."""
        return [number for number, text in self._entries() if _address(text) == address.lower()]

    def problems(self) -> list[Problem]:
        """Report every line that is no address, and every address that the list has twice."""
        if wrong := self.header_problems():
            return wrong
        found: list[Problem] = []
        lines = {who.address.lower(): 0 for who in self.inline}
        for number, text in self._entries():
            try:
                address = mailbox(text).address.lower()
                if lines.setdefault(address, number) != number:
                    first = f"line {lines[address]}" if lines[address] else "subscribers.yaml"
                    raise ValueError(f"{address} is already on this list, in {first}")
            except ValueError as error:
                found.append(Problem(f"{self.file}:{number}", str(error) if text else _QUOTES))
            if len(found) > MOST_PROBLEMS:
                break
        return found

    def header_problems(self) -> list[Problem]:
        """Report a CSV whose first line names no column of addresses: its rows are nobody."""
        number, line = self._header()
        titles = _Columns(line).titles
        if not number or "address" in titles:
            return []
        message = _QUOTES
        if titles:
            has = shortened(", ".join(titles), 100)
            message = (
                "the first line must name the columns, one of them 'address', "
                f"as address,name; this one has {has}"
            )
        return [Problem(f"{self.file}:{number}", message)]

    def written(self, who: Subscriber) -> str:
        """Return what adds somebody at the end of the file. Raises ValueError if that would not be
        read as them.
        """
        made = str(who)
        _, header = self._header()
        if header:
            made = _Columns(header).row(who)
        elif self.is_csv:
            made = f"address,name\n{_Columns('address,name').row(who)}"
        if [
            found.address for found in SubscribersFile((), self.file, f"{header}\n{made}".encode())
        ] != [who.address]:
            raise ValueError(
                f"cannot take {who} as a line of its own; add them by hand, then run paperboy check"
            )
        return made

    def _header(self) -> tuple[int, str]:
        """Return the number of the first line of a CSV, and the line; 0 where nothing is in it."""
        return next(self._lines(), (0, "")) if self.is_csv else (0, "")

    def _lines(self) -> Iterator[tuple[int, str]]:
        """Yield the lines with their numbers, without those that are blank or comments."""
        around = " \n" if self.is_csv else None  # a tab may stand for an empty cell
        for number, line in enumerate(BytesIO(self.content), 1):
            text = line.decode().strip(around)
            if text and not text.startswith("#") and not text.isspace():
                yield number, text

    def _entries(self) -> Iterator[tuple[int, str]]:
        """Yield each line that should be somebody, as a text file would have it, with its
        number.
        """
        lines = self._lines()
        if self.is_csv:
            _, header = next(lines, (0, ""))
            columns = _Columns(header)
            for number, text in lines:
                yield number, columns.mailbox(text)
        else:
            for number, text in lines:
                found = _COMMENT.fullmatch(text) if "#" in text else None
                yield number, found[1] if found else text


def _address(text: str) -> str:
    """Return the address of a line that was tried, in lower case; much cheaper than trying it
    again.
    """
    address = text[text.rfind("<") + 1 : -1].strip() if text.endswith(">") else text
    if not address.isascii():
        with suppress(ValueError):
            address = mailbox(text).address
    return address.lower()
