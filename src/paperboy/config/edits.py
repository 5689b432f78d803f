"""One subscriber in or out of `subscribers.yaml`, on one line of it; every other character stays as it is.

It works for lists of `- address` lines and for lists in brackets. Each likely edit is tried on the text and read again,
until one gives the wanted lists and nothing else. If none does, because the file has another shape or an anchor, alias
or `<<` shares subscribers, the edit is left to a person.
"""

import os
import re
import shutil
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from tempfile import NamedTemporaryFile

from paperboy import files
from paperboy.config.home import LISTS_FILE, Home
from paperboy.config.lists import parse
from paperboy.errors import ConfigError, PaperboyError
from paperboy.models import MailingList, Problem, Subscriber

_Edit = tuple[str, int]  # the new text, and where in it the subscriber stands, or stood

_NO_SUBSCRIBERS = r"^(?P<key>(?P<indent>[ \t]*(?:- +)?)subscribers:[ \t]*)(?:\[[ \t]*\]|(?P<note>[^\r\n]*))"
_LINE = r"^(?P<dash>[ \t]*-[ \t]+)(?=[^-\s]).*{}[^\r\n]*"
_IN_BRACKETS = r"(?:[^\s\[\],][^\[\],\r\n]*)?{}[^\s\],]*"


def subscribe(home: Home, mailing_list: MailingList, new: Subscriber) -> int:
    """Adds a subscriber, who is not on the list, after its last one; gives the line.

    Raises ConfigError if only a person can make this edit or the file cannot be replaced, and PaperboyError if somebody
    else changed it meanwhile. The file stays as it is then.
    """
    people = mailing_list.subscribers
    wanted = replace(mailing_list, subscribers=(*people, new))
    quoted = "'" + str(new).replace("'", "''") + "'"
    return _apply(home, wanted, lambda text: [*_added(text, str(new), people), *_added(text, quoted, people)])


def unsubscribe(home: Home, mailing_list: MailingList, subscriber: Subscriber) -> int:
    """Removes a subscriber, with the whole line if it begins with a dash; gives the line. Raises as `subscribe`."""
    people = tuple(each for each in mailing_list.subscribers if each is not subscriber)
    wanted = replace(mailing_list, subscribers=people)
    return _apply(home, wanted, lambda text: _removed(text, subscriber.address))


def _added(text: str, written: str, people: tuple[Subscriber, ...]) -> Iterator[_Edit]:
    line_end = "\r\n" if "\r\n" in text else "\n"
    for match in _matches(_NO_SUBSCRIBERS, text) if not people else ():
        new_line = f"{line_end}{' ' * len(match['indent'])}  - {written}"
        yield _replaced(text, match, f"{match['key']}[{written}]" if match["note"] is None else match[0] + new_line)
    for match in _matches(_LINE, text, people[-1].address) if people else ():
        yield _replaced(text, match, f"{match[0]}{line_end}{match['dash']}{written}")
    for match in _matches(_IN_BRACKETS, text, people[-1].address) if people else ():
        yield _replaced(text, match, f"{match[0]}, {written}")


def _removed(text: str, address: str) -> Iterator[_Edit]:
    comma = r"[ \t]*,[ \t]*"
    for pattern in (_LINE + r"(?:\r?\n|\Z)", _IN_BRACKETS + comma, comma + _IN_BRACKETS, _IN_BRACKETS):
        for match in _matches(pattern, text, address):
            yield _replaced(text, match, "")


def _matches(pattern: str, text: str, address: str = "") -> Iterator[re.Match[str]]:
    return re.finditer(pattern.replace("{}", re.escape(address)), text, re.MULTILINE | re.IGNORECASE)


def _replaced(text: str, match: re.Match[str], new: str) -> _Edit:
    """The edit; a new subscriber comes last in `new`."""
    return text[: match.start()] + new + text[match.end() :], match.start() + len(new)


def _apply(home: Home, wanted: MailingList, edits: Callable[[str], Iterable[_Edit]]) -> int:
    path = (home.path / LISTS_FILE).resolve()  # a link to the file stays one
    lists = tuple(wanted if each.name == wanted.name else each for each in home.lists)
    try:
        text = files.read(path).decode("utf-8", "surrogateescape")
        made, index = next((each for each in edits(text) if _lists(home, each[0]) == lists), ("", 0))
        if not made and _lists(home, text) == home.lists:
            raise _by_hand(text, wanted.name)
        if not made or not _replace(path, text.encode(), made.encode()):
            raise PaperboyError(f"{LISTS_FILE} was just changed by somebody else; nothing was done, try again")
    except OSError as error:
        message = f"cannot be replaced: {error.strerror}; run this as a user who can write to it and its folder"
        raise ConfigError([Problem(str(path), message)]) from error
    except ValueError as error:
        raise ConfigError([Problem(str(path), str(error))]) from error
    return made.count("\n", 0, index) + 1


def _lists(home: Home, text: str) -> tuple[MailingList, ...]:
    """The lists as any command would read them; none if anything is wrong."""
    try:
        return parse(LISTS_FILE, text, home.folders("prompts"), home.settings)
    except ConfigError:
        return ()


def _replace(path: Path, old_content: bytes, content: bytes) -> bool:
    """Replaces the file by one rename, which keeps owner and rights; False if its content is not the old one."""
    path.open("r+b").close()  # a rename asks only for the rights of the folder
    with NamedTemporaryFile(dir=path.parent, prefix=f".{path.name}.", delete=False) as file:
        draft, old = Path(file.name), path.stat()
        try:
            os.fchown(file.fileno(), old.st_uid, old.st_gid)
            shutil.copystat(path, draft)
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
            unchanged = files.read(path) == old_content
            if unchanged:
                draft.replace(path)
        finally:
            draft.unlink(missing_ok=True)
    return unchanged


def _by_hand(text: str, name: str) -> ConfigError:
    match = re.search(rf"name[\"']?:[ \t]*[\"']?{re.escape(name)}\b", text)
    place = f"{LISTS_FILE}:{text.count(chr(10), 0, match.start() if match else 0) + 1}"
    message = (
        f"Paperboy cannot edit the subscribers of {name}: they span several lines, or are shared between lists by "
        "an anchor, an alias or <<; edit the file by hand, then run paperboy check"
    )
    return ConfigError([Problem(place, message)])
