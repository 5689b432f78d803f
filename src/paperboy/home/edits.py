"""One subscriber in or out of a list's own file, or of `subscribers.yaml`; every other character
stays as it is.

In a file of its own, everybody has a line. In subscribers.yaml an edit is made at the places of
YAML's nodes, in lists of `- address` lines and in lists in brackets, and its result is read again.
Where that is not what is wanted, because the file has another shape or an anchor, alias or `<<`
shares subscribers, the edit is left to a person.
"""

import os
import re
import shutil
from codecs import BOM_UTF8
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Any

from yaml.nodes import Node, SequenceNode

from paperboy.edges import files
from paperboy.edges.text import mentions
from paperboy.errors import ConfigError, PaperboyError
from paperboy.home import nodes, values
from paperboy.home.lists import parse
from paperboy.home.people import SubscribersFile
from paperboy.home.versions import LISTS_FILE, Home, of_lists
from paperboy.models import MailingList, Problem, Subscriber

_Edit = tuple[int, int, str]  # begin and end of what is replaced, and what stands there then

_REST_OF_LINE = r"[^\r\n]*"


def subscribe(home: Home, mailing_list: MailingList, new: Subscriber) -> str:
    """Add a subscriber, who is not on the list, after its last one; return the file and the line.

    Raises ConfigError if only a person can make this edit or the file cannot be replaced, and
    PaperboyError if somebody else changed it meanwhile. The file stays as it is then.
    """
    if name := mailing_list.subscribers_file:
        _require_alone(home, mailing_list)
        with _errors(path := _path(home, name)):
            old = files.read(path)
            people = _people(name, old)
            if people.lines(new.address):  # since the lists were read
                raise _changed(name)
            end = b"\r\n" if b"\r\n" in old else b"\n"
            line = people.written(new).encode().replace(b"\n", end)
            made = old + (end if old and not old.endswith((b"\n", b"\r")) else b"") + line + end
            _replace(path, name, old, made)
        return f"{name}:{len(made.splitlines())}"

    written = nodes.written(str(new))

    def added(text: str, key: Node, people: Node) -> _Edit:
        """Put the subscriber after the last one."""
        line_end = "\r\n" if "\r\n" in text else "\n"
        end = people.end_mark.index
        dash = f"{' ' * key.start_mark.column}  - "
        if isinstance(people, SequenceNode):  # else nothing stands after the key
            if not people.value:
                return end - 1, end - 1, written
            last = people.value[-1]
            end = last.end_mark.index
            if people.flow_style:
                return end, end, f", {written}"
            dash = _dash(text, last)
        end = _after(_REST_OF_LINE, text, end)
        return end, end, f"{line_end}{dash}{written}"

    return _edit(home, replace(mailing_list, subscribers=(*mailing_list.subscribers, new)), added)


def unsubscribe(home: Home, mailing_list: MailingList, subscriber: Subscriber) -> str:
    """Remove a subscriber with the whole line, if that is theirs alone; return the file and the
    line. Raises as `subscribe`.
    """
    address = subscriber.address
    if name := mailing_list.subscribers_file:
        with _errors(path := _path(home, name)):
            old = files.read(path)
            if lines := _people(name, old).lines(address):
                _require_alone(home, mailing_list)
                _replace(path, name, old, _without_lines(old, lines))
                return f"{name}:{lines[0]}"
    wanted = _less(mailing_list, address)
    return _edit(home, wanted, lambda text, _, people: _removed(text, people, address))


def forget(versions: Sequence[Home], address: str) -> dict[str, tuple[int, ...]]:
    """Remove an address from all lists, and from any comment, in these versions of the files;
    return the lines of the first where it stood, by file. Raises as `subscribe`, and then no
    version is changed.
    """
    edits = []
    stood = dict[str, tuple[int, ...]]()
    mention = mentions(address)
    for home in versions:
        for name in of_lists(home.source):
            path = _path(home, name)
            if not path.exists():
                continue
            with _errors(path):
                old = files.read(path)
                text = _text(old)
                lines = {
                    number
                    for number, line in enumerate(text.split("\n"), 1)
                    if mention.search(line)
                }
                if name == LISTS_FILE:
                    new = _without(home, text, address, sorted(lines))
                else:
                    people = _people(name, old)
                    if lines and (wrong := people.header_problems()):
                        raise ConfigError(wrong)
                    own = people.lines(address)
                    lines |= set(own)
                    new = mention.sub("…", _text(_without_lines(old, own)))
                edits.append((path, name, old, _encoded(new, old)))
            if home is versions[0] and lines:
                stood[name] = tuple(sorted(lines))
    for path, name, before, after in edits:
        if after != before:
            _replace(path, name, before, after)
    return stood


def _require_alone(home: Home, mailing_list: MailingList) -> None:
    """Raises ConfigError where other lists have the same file."""
    name = mailing_list.subscribers_file
    others = [
        other.name
        for other in home.lists
        if other.subscribers_file == name and other != mailing_list
    ]
    if others:
        fix = f"{others[0]} has the same file; edit it by hand, then run paperboy check"
        raise ConfigError.at(
            name, f"Paperboy cannot edit the subscribers of {mailing_list.name} alone: {fix}"
        )


def _people(name: str, content: bytes) -> SubscribersFile:
    """Return the subscribers of a file. Raises ValueError."""
    return SubscribersFile((), name, files.text(content).encode())


def _without_lines(content: bytes, numbers: Collection[int]) -> bytes:
    lines = enumerate(content.splitlines(keepends=True), 1)
    return b"".join(line for number, line in lines if number not in numbers)


def _without(home: Home, old: str, address: str, lines: Sequence[int]) -> str:
    """Return the text without the address, which stands on these lines. Where an anchor shares it
    between lists, one edit takes it out of all.
    """
    lists = _lists(home, old)
    if not lists and not lines:  # a broken file that does not name it
        return old
    if lists:
        people = {keys["subscribers"][1] for keys in _keys(old).values() if "subscribers" in keys}
        edits = [edit for node in people if (edit := _removed(old, node, address))]
        made = mentions(address).sub("…", _made(old, edits))
        if _lists(home, made) == tuple(_less(mailing_list, address) for mailing_list in lists):
            return made

    fix = "nothing was erased; take it out of the file by hand"
    place = LISTS_FILE
    if home.source != home.path:  # a copy, with what was there before
        fix = f"{fix}, wait until `paperboy run` has taken your edit"
        place = str(_path(home))
    message = f"{address} stands here, where Paperboy cannot edit it; {fix}, then run paperboy forget again"
    places = [f"{place}:{line}" for line in lines]
    raise ConfigError([Problem(found, message) for found in places or [place]])


def _made(text: str, edits: Iterable[_Edit]) -> str:
    """Return the text after edits that lie apart."""
    for begin, end, new in sorted(edits, reverse=True):
        text = text[:begin] + new + text[end:]
    return text


def _less(mailing_list: MailingList, address: str) -> MailingList:
    """Return the list without that subscriber in subscribers.yaml."""
    people = mailing_list.subscribers
    inline = people.inline if isinstance(people, SubscribersFile) else people
    left = tuple(who for who in inline if who.address.lower() != address.lower())
    return replace(
        mailing_list,
        subscribers=replace(people, inline=left) if isinstance(people, SubscribersFile) else left,
    )


def _keys(text: str) -> dict[str, nodes.Entries]:
    """Return the keys of each list in a sound text, also empty ones, by the list's name."""
    root: Any = nodes.compose(text)
    _, lists = nodes.entries(root)["lists"]
    found = [{key.value: (key, value) for key, value in node.value} for node in lists.value]
    return {keys["name"][1].value: keys for keys in found}


def _removed(text: str, people: Node, address: str) -> _Edit | None:
    """Return the edit that takes a subscriber out, with the line or a comma; None if they are not
    there, or share a line.
    """
    if not isinstance(people, SequenceNode):  # nothing after the key
        return None
    items = people.value
    addresses = [values.mailbox(item.value).address.lower() for item in items]
    if address.lower() not in addresses:
        return None

    number = addresses.index(address.lower())
    item = items[number]
    begin = item.start_mark.index
    end = item.end_mark.index
    if not people.flow_style:
        dash = _dash(text, item)
        return (
            (begin - len(dash), _after(_REST_OF_LINE + r"\r?\n?", text, end), "") if dash else None
        )

    if after := items[number + 1 :]:
        return begin, after[0].start_mark.index, ""
    if number:
        return items[number - 1].end_mark.index, end, ""
    return begin, _after(r"[ \t]*,?[ \t]*", text, end), ""


def _dash(text: str, item: Node) -> str:
    """Return the beginning of an item's line; empty where the item is not the whole line."""
    mark = item.start_mark
    before = text[mark.index - mark.column : mark.index]
    return before if before.strip(" \t") == "-" and mark.line == item.end_mark.line else ""


def _after(pattern: str, text: str, index: int) -> int:
    """Return where something ends that may be empty."""
    found = re.compile(pattern).match(text, index)
    return found.end() if found else index


def _edit(home: Home, wanted: MailingList, edit: Callable[[str, Node, Node], _Edit | None]) -> str:
    """Make an edit if it gives the wanted list and leaves the others; return the file and the
    line.
    """
    path = _path(home)
    with _errors(path):
        content = files.read(path)
    text = _text(content)
    if _lists(home, text) != home.lists:
        raise _changed(LISTS_FILE)

    keys = _keys(text)[wanted.name]
    found = edit(text, *keys["subscribers"]) if "subscribers" in keys else None
    begin, _, new = change = found or (0, 0, "")
    made = _made(text, [change])
    if _lists(home, made) != tuple(
        wanted if known.name == wanted.name else known for known in home.lists
    ):
        line, _ = nodes.place(keys["name"][1])
        message = (
            f"Paperboy cannot edit the subscribers of {wanted.name}: they span several lines, or are shared between "
            "lists by an anchor, an alias or <<; edit the file by hand, then run paperboy check"
        )
        raise ConfigError.at(f"{LISTS_FILE}:{line}", message)
    _replace(path, LISTS_FILE, content, _encoded(made, content))
    return f"{LISTS_FILE}:{made.count(chr(10), 0, begin + len(new)) + 1}"


def _path(home: Home, name: str = LISTS_FILE) -> Path:
    return (home.source / name).resolve()  # a link to the file stays one


def _text(content: bytes) -> str:
    """Return a file's text without its byte order mark, as marks count its characters."""
    return content.decode("utf-8-sig", "surrogateescape")


def _encoded(text: str, old: bytes) -> bytes:
    """Return the text as a file, with the byte order mark that the old one has."""
    return text.encode("utf-8-sig" if old.startswith(BOM_UTF8) else "utf-8", "surrogateescape")


@contextmanager
def _errors(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        message = f"cannot be replaced: {error.strerror}; run this as a user who can write to it and its folder"
        raise ConfigError.at(path, message) from error
    except ValueError as error:
        raise ConfigError.at(path, str(error)) from error


def _changed(name: str) -> PaperboyError:
    return PaperboyError(f"{name} was just changed by somebody else; nothing was done, try again")


def _lists(home: Home, text: str) -> tuple[MailingList, ...]:
    """Return the lists as any command would read them; none if anything is wrong."""
    try:
        return parse(text, home.folders("prompts"), home.settings, home.source)
    except ConfigError:
        return ()


def _replace(path: Path, name: str, before: bytes, after: bytes) -> None:
    """Replace the file by one rename, which keeps owner and rights. Raises PaperboyError if it was
    changed since.
    """
    with _errors(path):
        path.open("r+b").close()  # a rename asks only for the rights of the folder
        with NamedTemporaryFile(dir=path.parent, prefix=f".{path.name}.", delete=False) as file:
            draft = Path(file.name)
            old = path.stat()
            try:
                os.fchown(file.fileno(), old.st_uid, old.st_gid)
                shutil.copystat(path, draft)
                file.write(after)
                file.flush()
                os.fsync(file.fileno())
                if files.read(path) != before:
                    raise _changed(name)
                draft.replace(path)
            finally:
                draft.unlink(missing_ok=True)
