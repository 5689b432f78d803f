"""`subscribers_file`: subscribers in a file of their own, an address on each line, or a CSV with a
column `address` or a title of Mailchimp's. Rows whose status says so are no subscribers.

There may be a million, and most commands only need one, or whether there are any. So the bytes are
kept, and subscribers are made of lines on demand.
"""

import csv
import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from io import BytesIO, StringIO
from typing import Any

from paperboy.edges import files
from paperboy.edges.text import shortened
from paperboy.errors import MOST_PROBLEMS, Problem
from paperboy.home import nodes
from paperboy.home.values import mailbox
from paperboy.models import Subscriber, Subscribers

_NAME = r"\w[\w./-]*\.(?:txt|csv)"
_QUOTES = (
    "these quotes are never closed, or end within a cell; "
    "write each row on one line, and double quotes within a cell"
)

# The column with the addresses is the first of these. Mailchimp's "Address" is a street.
_ADDRESS_TITLES = ("emailaddress", "email", "address")

# Columns of Mailchimp's exports of those who left, which have no status.
_LEFT = {"unsubtime": "unsubscribed", "cleantime": "cleaned"}

# Words of Mailchimp, Listmonk, Brevo and Mailman for who gets no mail.
_INACTIVE = re.compile(
    r"(?:(?:un|non)[- ]?subscribed|archived|cleaned|(?:hard[- ]?)?bounced|(?:block|black)listed|complained"
    r"|disabled|inactive|opted[- ]out|unconfirmed|pending|transactional|spam|junk"
    r"|by (?:user|moderator|bounces))(?:\s*[(,;:].*)?",
)
_BLANK = re.compile(r'[\s,;"]*')  # as the rows that a spreadsheet adds

# After an address only, since a name may have a #.
_COMMENT = re.compile(r"(.*<[^<>]*>|[^\s<>]*@[^\s<>]*)\s+#.*")


def files_named(text: str) -> list[str]:
    """Return the files that subscribers.yaml names."""
    return nodes.files_named(text, "subscribers_file", _NAME)


def file_name(text: str) -> str:
    """Return the name of such a file. Raises ValueError."""
    if not nodes.is_file_name(text, _NAME):
        example = "such as readers.txt, without spaces"
        raise ValueError(
            f"must be the name of a file in the home that ends in .txt or .csv, {example}"
        )
    return text


class _Columns:
    def __init__(self, line: str) -> None:
        self.delimiter = next((mark for mark in ",;\t" if mark in line), ",")
        self.titles = [re.sub("[-_ ]", "", title).lower() for title in self._cells(line)]
        self.address = next((title for title in _ADDRESS_TITLES if title in self.titles), "")
        self._statuses = [
            title
            for title in self.titles
            if title.endswith("status") and not title.startswith("disab")
        ]

    def _cells(self, line: str) -> list[str]:
        """Parse one line; empty if its quotes are wrong, so other lines are unaffected."""
        with suppress(csv.Error):
            reader = csv.reader(
                [line], delimiter=self.delimiter, skipinitialspace=True, strict=True
            )
            return next(reader)
        return []

    def read(self, line: str) -> tuple[str, str]:
        """Return a row as a text file would have it, empty if its quotes are wrong; and the status
        because of which it is no subscriber, empty if it is one.
        """
        row = dict(zip(self.titles, self._cells(line), strict=False))
        address = row.get(self.address, "").strip()
        status = ""
        for title in self._statuses:
            word = row.get(title, "").strip().lower().replace("_", " ")
            if _INACTIVE.fullmatch(word):
                status = word
        for title, word in _LEFT.items():
            if row.get(title, "").strip():
                status = word

        if "<" in address or not row:
            return address, status
        name = row.get("name") or f"{row.get('firstname', '')} {row.get('lastname', '')}"
        if re.search("[@<>]", name):  # mail programs export an address as its own name
            name = ""
        return f"{name} <{address}>", status

    def row(self, subscriber: Subscriber) -> str:
        """Return a subscriber as a row."""
        first, _, last = subscriber.name.partition(" ")
        cells = {
            self.address: subscriber.address,
            "name": subscriber.name,
            "firstname": first,
            "lastname": last,
        }
        row = StringIO()
        writer = csv.writer(row, delimiter=self.delimiter, lineterminator="")
        writer.writerow([cells.get(title, "") for title in self.titles])
        return row.getvalue()


@dataclass(frozen=True, slots=True)
class SubscribersFile(Subscribers):
    """Subscribers in subscribers.yaml, then those of the file. Lines without a valid address are
    skipped; `problems` reports them.
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

    def addresses(self) -> Iterator[str]:
        yield from (subscriber.address.lower() for subscriber in self.inline)
        yield from (_address(text) for _, text in self._entries())

    def lines(self, address: str) -> list[int]:
        """Return the lines on which the address is a subscriber's."""
        return [number for number, text in self._entries() if _address(text) == address.lower()]

    def all_lines(self, address: str) -> list[int]:
        """Return the lines on which the file has the address, whatever its status."""
        return [number for number, text, _ in self._rows() if _address(text) == address.lower()]

    def inactive(self) -> list[tuple[str, str]]:
        return [(_address(text), status) for _, text, status in self._rows() if status]

    def problems(self) -> list[Problem]:
        """Report every line without a valid address, and every address that the list has twice."""
        problems = self.header_problems()
        if problems:
            return problems

        lines = {subscriber.address.lower(): 0 for subscriber in self.inline}
        for number, text in self._entries():
            try:
                address = mailbox(text).address.lower()
                first = lines.setdefault(address, number)
                if first != number:
                    place = f"line {first}" if first else "subscribers.yaml"
                    raise ValueError(f"{address} is already on this list, in {place}")
            except ValueError as error:
                message = str(error) if text else _QUOTES
                problems.append(Problem(f"{self.file}:{number}", message))
            if len(problems) > MOST_PROBLEMS:
                break

        return problems

    def header_problems(self) -> list[Problem]:
        """Report a CSV whose first line has no column `address`, and so has no subscribers."""
        number, line = self._header()
        columns = _Columns(line)
        if not number or columns.address:
            return []

        message = _QUOTES
        if columns.titles:
            title_row = shortened(", ".join(columns.titles), 100)
            message = (
                "the first line must name the columns, one of them 'address', "
                f"as address,name; this one has {title_row}"
            )

        return [Problem(f"{self.file}:{number}", message)]

    def as_line(self, subscriber: Subscriber) -> str:
        """Return the text that adds a subscriber at the end of the file. Raises ValueError if it
        would be read differently.
        """
        text = str(subscriber)
        _, header = self._header()
        if header:
            text = _Columns(header).row(subscriber)
        elif self.is_csv:
            text = f"address,name\n{_Columns('address,name').row(subscriber)}"

        file = SubscribersFile((), self.file, f"{header}\n{text}".encode())
        if [reread.address for reread in file] != [subscriber.address]:
            fix = "add them by hand, then run paperboy check"
            raise ValueError(f"cannot take {subscriber} as a line of its own; {fix}")

        return text

    def _header(self) -> tuple[int, str]:
        """Return number and text of a CSV's first line; 0 if it has none or the file is no CSV."""
        return next(self._lines(), (0, "")) if self.is_csv else (0, "")

    def _lines(self) -> Iterator[tuple[int, str]]:
        """Yield number and text of each line that is neither blank nor a comment."""
        around = " \n" if self.is_csv else None  # a tab may stand for an empty cell
        for number, line in enumerate(BytesIO(self.content), 1):
            text = line.decode().strip(around)
            if not _BLANK.fullmatch(text) and not text.startswith("#"):
                yield number, text

    def _entries(self) -> Iterator[tuple[int, str]]:
        """Yield number and mailbox of each subscriber's line, before it is checked."""
        return ((number, text) for number, text, status in self._rows() if not status)

    def _rows(self) -> Iterator[tuple[int, str, str]]:
        """Yield number and mailbox of each line, and the status of those that are no subscribers."""
        lines = self._lines()
        if self.is_csv:
            _, header = next(lines, (0, ""))
            columns = _Columns(header)
            for number, text in lines:
                yield number, *columns.read(text)
            return

        for number, text in lines:
            comment = _COMMENT.fullmatch(text) if "#" in text else None
            yield number, comment[1] if comment else text, ""


def read(name: str, content: bytes) -> SubscribersFile:
    """Return the subscribers of a file alone. Raises ValueError if it is no text."""
    return SubscribersFile((), name, files.text(content).encode())


def _address(text: str) -> str:
    """Return the address of a checked mailbox in lower case, which is cheaper than parsing it."""
    address = text[text.rfind("<") + 1 : -1].strip() if text.endswith(">") else text
    if not address.isascii():
        with suppress(ValueError):
            address = mailbox(text).address
    return address.lower()
