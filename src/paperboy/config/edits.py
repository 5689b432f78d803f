"""One subscriber in or out of `subscribers.yaml`, on one line of it; every other character stays as it is.

It works for lists of `- address` lines and for lists in brackets. Each likely edit is tried on the text and read again,
until one gives the wanted lists and nothing else. If none does, since the file has another shape or an anchor, alias or
`<<` shares subscribers, the edit is left to a person.
"""

from __future__ import annotations

import codecs
import errno
import fcntl
import os
import re
import shutil
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from tempfile import NamedTemporaryFile

from paperboy.config.home import LISTS_FILE, Home
from paperboy.config.lists import parse
from paperboy.config.values import Mailbox
from paperboy.errors import ConfigError, PaperboyError
from paperboy.models import MailingList, Problem, Subscriber

_Edit = tuple[str, int]  # the new text, and where in it the subscriber stands, or stood

_DASH = re.compile(r"[ \t]*-[ \t]+(?=[^-\s])")
_COMMA = re.compile(r"[ \t]*,[ \t]*")
_ENDS = re.compile(r"[\],\n]|\Z")
_NO_SUBSCRIBERS = re.compile(r"^([ \t]*(?:- +)?)subscribers:[ \t]*(\[[ \t]*\])?", re.MULTILINE)


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """No other command edits the lists of this home meanwhile."""
    with ExitStack() as stack:
        with suppress(OSError):  # no such folder, which reading it reports; or a disk without locks
            descriptor = os.open(folder, os.O_RDONLY)  # the folder itself, so that no lock file lies about
            stack.callback(os.close, descriptor)
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield


def subscribe(home: Home, mailing_list: MailingList, mailbox: Mailbox) -> int:
    """Adds a subscriber, who is not on the list, after its last one; gives the line.

    Raises ConfigError if only a person can make this edit or the file cannot be replaced, and PaperboyError if somebody
    else changed it meanwhile. The file stays as it is then.
    """
    people = mailing_list.subscribers
    wanted = replace(mailing_list, subscribers=(*people, Subscriber(mailbox.address, mailbox.name)))
    quoted = "'" + str(mailbox).replace("'", "''") + "'"
    return _apply(home, wanted, lambda text: [*_added(text, str(mailbox), people), *_added(text, quoted, people)])


def unsubscribe(home: Home, mailing_list: MailingList, subscriber: Subscriber) -> int:
    """Removes a subscriber, with the whole line if it begins with a dash; gives the line. Raises as `subscribe`."""
    people = tuple(each for each in mailing_list.subscribers if each is not subscriber)
    wanted = replace(mailing_list, subscribers=people)
    return _apply(home, wanted, lambda text: _removed(text, subscriber.address))


# --- likely edits


def _added(text: str, written: str, people: tuple[Subscriber, ...]) -> Iterator[_Edit]:
    for match in _NO_SUBSCRIBERS.finditer(text) if not people else ():
        if match[2]:
            yield f"{text[: match.start(2)]}[{written}]{text[match.end(2) :]}", match.start(2)
        else:
            yield _line_below(text, match.end(), f"{' ' * (len(match[1]) + 2)}- {written}")
    for start, end in _places(text, people[-1].address) if people else ():
        if dash := _DASH.match(text, _line_start(text, start)):
            yield _line_below(text, end, dash[0] + written)
        else:
            _, stop = _between_commas(text, start, end)
            yield f"{text[:stop]}, {written}{text[stop:]}", stop


def _removed(text: str, address: str) -> Iterator[_Edit]:
    for start, end in _places(text, address):
        line = _line_start(text, start)
        begin, stop = _between_commas(text, start, end)
        if _DASH.match(text, line):
            yield text[:line] + text[text.find("\n", end) + 1 or len(text) :], line
        elif comma := _COMMA.match(text, stop):
            yield text[:begin] + text[comma.end() :], line
        else:  # the last one, with the comma before it
            yield re.sub(r"[ \t]*,[ \t]*\Z", "", text[:begin]) + text[stop:], line


def _places(text: str, address: str) -> Iterator[tuple[int, int]]:
    return (match.span() for match in re.finditer(re.escape(address), text, re.IGNORECASE))


def _line_start(text: str, index: int) -> int:
    return text.rfind("\n", 0, index) + 1


def _between_commas(text: str, start: int, end: int) -> tuple[int, int]:
    """What is written around that place, up to brackets or commas and without space around it."""
    begin = max(text.rfind(sign, 0, start) for sign in "[,\n") + 1
    stop = next(match.start() for match in _ENDS.finditer(text, end))
    written = text[begin:stop]
    return stop - len(written.lstrip()), begin + len(written.rstrip())


def _line_below(text: str, index: int, line: str) -> _Edit:
    line_end = "\r\n" if "\r\n" in text else "\n"
    below = text.find("\n", index) + 1
    if not below:  # the file ends here, and without a line end
        return text + line_end + line, len(text) + len(line_end)
    return text[:below] + line + line_end + text[below:], below


# --- the file


def _apply(home: Home, wanted: MailingList, edits: Callable[[str], Iterable[_Edit]]) -> int:
    path = (home.path / LISTS_FILE).resolve()  # a link to the file stays one
    lists = tuple(wanted if each.name == wanted.name else each for each in home.lists)
    try:
        before = path.read_bytes()
        text = before.decode("utf-8-sig")
        made, index = next((each for each in edits(text) if _lists(home, each[0]) == lists), ("", 0))
        if not made:
            raise _changed() if _lists(home, text) != home.lists else _by_hand(text, wanted.name)
        mark = codecs.BOM_UTF8 if before.startswith(codecs.BOM_UTF8) else b""
        _replace(path, before, mark + made.encode())
    except UnicodeDecodeError:
        raise _changed() from None
    except OSError as error:
        message = f"cannot be replaced: {error.strerror}; its owner can, who may write to it and its folder"
        raise ConfigError([Problem(str(path), message)]) from error
    return made.count("\n", 0, index) + 1


def _lists(home: Home, text: str) -> tuple[MailingList, ...]:
    """As any command would read them; none if anything is wrong."""
    prompts, settings = home.folders("prompts"), home.settings
    try:
        return parse(LISTS_FILE, text, prompts=prompts, send_at=settings.send_at, timezone=settings.timezone)
    except ConfigError:
        return ()


def _replace(path: Path, before: bytes, after: bytes) -> None:
    """Puts a new file, with the owner and rights of the old one, in its place at once."""
    if not os.access(path, os.W_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
    with NamedTemporaryFile(dir=path.parent, prefix=f".{path.name}.", delete=False) as file:
        draft = Path(file.name)
        try:
            old, new = path.stat(), draft.stat()
            if (old.st_uid, old.st_gid) != (new.st_uid, new.st_gid):
                os.fchown(file.fileno(), old.st_uid, old.st_gid)
            shutil.copystat(path, draft)
            file.write(after)
            file.flush()
            os.fsync(file.fileno())
            if path.read_bytes() != before:
                raise _changed()
            draft.replace(path)
        finally:
            draft.unlink(missing_ok=True)


def _changed() -> PaperboyError:
    return PaperboyError(f"{LISTS_FILE} was changed by somebody else just now; nothing was done, try again")


def _by_hand(text: str, name: str) -> ConfigError:
    match = re.search(rf"name[\"']?:[ \t]*[\"']?{re.escape(name)}\b", text)
    place = f"{LISTS_FILE}:{text.count(chr(10), 0, match.start() if match else 0) + 1}"
    message = (
        f"the subscribers of {name} are written in a way that only a person can edit: over several lines, or shared"
    )
    return ConfigError(
        [Problem(place, f"{message} by an anchor, an alias or <<; edit the file by hand, then run paperboy check")]
    )
