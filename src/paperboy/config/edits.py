"""One subscriber in or out of a list's own file, or of `subscribers.yaml`; every other character stays as it is.

In a file of its own, everybody has a line. In subscribers.yaml it works for lists of `- address` lines and for lists in
brackets: each likely edit is tried on the text and read again, until one gives the wanted lists and nothing else. If
none does, because the file has another shape or an anchor, alias or `<<` shares subscribers, the edit is left to a
person.
"""

import os
import re
import shutil
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from itertools import chain
from pathlib import Path
from tempfile import NamedTemporaryFile

from paperboy import files
from paperboy.config import cache
from paperboy.config.home import LISTS_FILE, Home, of_lists
from paperboy.config.lists import parse
from paperboy.config.people import People
from paperboy.errors import ConfigError, PaperboyError
from paperboy.foreign import mentions
from paperboy.models import MailingList, Problem, Subscriber

_Edit = tuple[str, int]  # the new text, and where in it the subscriber stands, or stood

_NO_SUBSCRIBERS = r"^(?P<key>(?P<indent>[ \t]*(?:- +)?)subscribers:[ \t]*)(?:\[[ \t]*\]|(?P<note>[^\r\n]*))"
_LINE = r"^(?P<dash>[ \t]*-[ \t]+)(?=[^-\s]).*{}[^\r\n]*"
_IN_BRACKETS = r"(?:[^\s\[\],][^\[\],\r\n]*)?{}[^\s\],]*"


def subscribe(home: Home, mailing_list: MailingList, new: Subscriber) -> str:
    """Adds a subscriber, who is not on the list, after its last one; gives the file and the line.

    Raises ConfigError if only a person can make this edit or the file cannot be replaced, and PaperboyError if somebody
    else changed it meanwhile. The file stays as it is then.
    """
    if name := mailing_list.subscribers_file:
        _require_alone(home, mailing_list)
        return _append(_path(home, name), name, new)
    people = tuple(mailing_list.subscribers)
    wanted = replace(mailing_list, subscribers=(*people, new))
    quoted = "'" + str(new).replace("'", "''") + "'"
    return _apply(home, wanted, lambda text: chain(_added(text, str(new), people), _added(text, quoted, people)))


def unsubscribe(home: Home, mailing_list: MailingList, subscriber: Subscriber) -> str:
    """Removes a subscriber with the whole line, if that is theirs alone; gives the file and the line. Raises as
    `subscribe`.
    """
    address, name = subscriber.address, mailing_list.subscribers_file
    if name:
        with _errors(path := _path(home, name)):
            old = files.read(path)
            if lines := _people(name, old).lines(address):
                _require_alone(home, mailing_list)
                if not _replace(path, old, _without_lines(old, lines)):
                    raise _changed(name)
                return f"{name}:{lines[0]}"
    (wanted,) = _less([mailing_list], address)
    return _apply(home, wanted, lambda text: _removed(text, address))


def forget(versions: Sequence[Home], address: str) -> dict[str, tuple[int, ...]]:
    """Removes an address from all lists, and from any comment, in these versions of the files; gives the lines of the
    first where it stood, by file. Raises as `subscribe`, and then no version is changed.
    """
    edits, stood = [], dict[str, tuple[int, ...]]()
    for home in versions:
        for name in filter(lambda name: _path(home, name).exists(), of_lists(home.source)):
            with _errors(path := _path(home, name)):
                old = files.read(path)
                text = old.decode("utf-8", "surrogateescape")
                lines = set(_lines(text, address))
                if name == LISTS_FILE:
                    new = _without(home, text, address)
                else:
                    people = _people(name, old)
                    if lines and (wrong := people.header_problems()):  # of what else is theirs, nothing is known
                        raise ConfigError(wrong)
                    lines |= set(own := people.lines(address))
                    new = mentions(address).sub("…", _without_lines(old, own).decode("utf-8", "surrogateescape"))
                edits.append((path, name, old, new.encode("utf-8", "surrogateescape")))
            if home is versions[0] and lines:
                stood[name] = tuple(sorted(lines))
    for home in versions:
        if home.source != home.path:  # a copy, whose cache may name the address
            with _errors(home.source):
                (home.source / cache.NAME).unlink(missing_ok=True)
    for path, name, before, after in edits:
        with _errors(path):
            if after != before and not _replace(path, before, after):
                raise _changed(name)
    return stood


def _require_alone(home: Home, mailing_list: MailingList) -> None:
    """Raises ConfigError where other lists have the same file."""
    name = mailing_list.subscribers_file
    if others := [each.name for each in home.lists if each.subscribers_file == name and each.name != mailing_list.name]:
        fix = f"{others[0]} has the same file; edit it by hand, then run paperboy check"
        raise ConfigError([Problem(name, f"Paperboy cannot edit the subscribers of {mailing_list.name} alone: {fix}")])


def _append(path: Path, name: str, new: Subscriber) -> str:
    with _errors(path):
        old = files.read(path)
        people = _people(name, old)
        if people.lines(new.address):  # since the lists were read
            raise _changed(name)
        end = b"\r\n" if b"\r\n" in old else b"\n"
        line = people.written(new).encode().replace(b"\n", end)
        made = old + (end if old and not old.endswith((b"\n", b"\r")) else b"") + line + end
        if not _replace(path, old, made):
            raise _changed(name)
    return f"{name}:{len(made.splitlines())}"


def _people(name: str, content: bytes) -> People:
    """Those of a file. Raises ValueError."""
    return People((), name, files.text(content).encode())


def _without_lines(content: bytes, numbers: Collection[int]) -> bytes:
    lines = enumerate(content.splitlines(keepends=True), 1)
    return b"".join(line for number, line in lines if number not in numbers)


def _lines(text: str, address: str) -> tuple[int, ...]:
    return tuple(number for number, line in enumerate(text.split("\n"), 1) if mentions(address).search(line))


def _without(home: Home, old: str, address: str) -> str:
    """The text without the address. Where an anchor shares it between lists, one edit takes it out of all."""
    text, lists = old, _lists(home, old)
    if not lists and not _lines(old, address):  # a broken file that does not name it
        return old
    wanted = _less(lists, address)
    while lists != wanted:
        tried = ((made, _lists(home, made)) for made, _ in _removed(text, address))
        better = ((made, left) for made, left in tried if left != lists and _less(left, address) == wanted)
        if (found := next(better, None)) is None:
            break
        text, lists = found
    made = mentions(address).sub("…", text)
    if _lists(home, made) != wanted or not wanted:
        raise _only_a_person(home, old, address)
    return made


def _less(lists: Iterable[MailingList], address: str) -> tuple[MailingList, ...]:
    """The lists without that subscriber in subscribers.yaml."""
    made = []
    for each in lists:
        people = each.subscribers
        inline = people.inline if isinstance(people, People) else people
        left = tuple(who for who in inline if who.address.lower() != address.lower())
        made.append(replace(each, subscribers=replace(people, inline=left) if isinstance(people, People) else left))
    return tuple(made)


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


def _apply(home: Home, wanted: MailingList, edits: Callable[[str], Iterable[_Edit]]) -> str:
    path = _path(home)
    lists = tuple(wanted if each.name == wanted.name else each for each in home.lists)
    with _errors(path):
        text = _read(path)
        made, index = next((each for each in edits(text) if _lists(home, each[0]) == lists), ("", 0))
        if not made and _lists(home, text) == home.lists:
            raise _by_hand(text, wanted.name)
        if not made or not _replace(path, text.encode(), made.encode()):
            raise _changed(LISTS_FILE)
    return f"{LISTS_FILE}:{made.count(chr(10), 0, index) + 1}"


def _path(home: Home, name: str = LISTS_FILE) -> Path:
    return (home.source / name).resolve()  # a link to the file stays one


def _read(path: Path) -> str:
    return files.read(path).decode("utf-8", "surrogateescape")


@contextmanager
def _errors(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        message = f"cannot be replaced: {error.strerror}; run this as a user who can write to it and its folder"
        raise ConfigError([Problem(str(path), message)]) from error
    except ValueError as error:
        raise ConfigError([Problem(str(path), str(error))]) from error


def _changed(name: str) -> PaperboyError:
    return PaperboyError(f"{name} was just changed by somebody else; nothing was done, try again")


def _lists(home: Home, text: str) -> tuple[MailingList, ...]:
    """The lists as any command would read them; none if anything is wrong."""
    try:
        return parse(LISTS_FILE, text, home.folders("prompts"), home.settings, home.source, tried=True)
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


def _only_a_person(home: Home, text: str, address: str) -> ConfigError:
    """Where it stands, a line each."""
    fix = "nothing was erased; take it out of the file by hand, then run paperboy forget again"
    if home.source != home.path:
        fix = "nothing was erased; this copy is in force until `paperboy run` has taken your edit, so try again then"
    place = LISTS_FILE if home.source == home.path else str(_path(home))
    message = f"{address} stands here, where Paperboy cannot edit it; {fix}"
    places = [f"{place}:{line}" for line in _lines(text, address)]
    return ConfigError([Problem(each, message) for each in places or [place]])
