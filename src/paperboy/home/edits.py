"""Edits by commands: one subscriber, in a list's own file or in `subscribers.yaml`; every other
character stays. An operator's own edits come into force by `versions.py`.

A file of subscribers has one on each line. In subscribers.yaml, an edit is made at the places of
YAML's nodes, in lists of `- address` lines and lists in brackets, and the result is read again. If
it is not the wanted one, because the file has another shape or an anchor, alias or `<<` shares
subscribers, the operator has to make the edit.
"""

import fcntl
import os
import re
import shutil
from codecs import BOM_UTF8
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from yaml.nodes import Node, SequenceNode

from paperboy.edges import files
from paperboy.edges.text import mentions
from paperboy.errors import ConfigError, PaperboyError, Problem
from paperboy.home import nodes, people, values
from paperboy.home.home import Home
from paperboy.home.lists import LISTS_FILE, parse
from paperboy.home.people import SubscribersFile
from paperboy.home.versions import list_files
from paperboy.models import MailingList, Subscriber

Lines = dict[str, tuple[int, ...]]  # numbers of lines, by file

_Edit = tuple[int, int, str]  # begin and end of the text that is replaced, and its replacement

_REST_OF_LINE = r"[^\r\n]*"


def subscribe(home: Home, mailing_list: MailingList, new: Subscriber) -> str:
    """Add a subscriber, who is not on the list, after its last one; return the file and the line.

    Raises ConfigError if Paperboy cannot make this edit or replace the file, and PaperboyError if
    the file was changed meanwhile. It stays as it is then.
    """
    if name := mailing_list.subscribers_file:
        _require_alone(home, mailing_list)
        path = _path(home, name)
        with _as_problems(path):
            old = files.read(path)
            file = people.read(name, old)
            if new.address.lower() in file.addresses():  # since the lists were read
                raise _changed(name)

            line_end = b"\r\n" if b"\r\n" in old else b"\n"
            content = old
            if old and not old.endswith((b"\n", b"\r")):
                content += line_end
            content += file.as_line(new).encode().replace(b"\n", line_end) + line_end
            _replace(path, name, old, content)

        return f"{name}:{len(content.splitlines())}"

    scalar = nodes.as_scalar(str(new))

    def added(text: str, key: Node, subscribers: Node) -> _Edit:
        """Return the edit that puts the subscriber after the last one."""
        line_end = "\r\n" if "\r\n" in text else "\n"
        end = subscribers.end_mark.index
        dash = f"{' ' * key.start_mark.column}  - "
        if isinstance(subscribers, SequenceNode):  # else nothing stands after the key
            if not subscribers.value:
                return end - 1, end - 1, scalar
            last = subscribers.value[-1]
            end = last.end_mark.index
            if subscribers.flow_style:
                return end, end, f", {scalar}"
            dash = _dash(text, last)

        end = _end_of(_REST_OF_LINE, text, end)
        return end, end, f"{line_end}{dash}{scalar}"

    wanted = replace(mailing_list, subscribers=(*mailing_list.subscribers, new))
    return _edit(home, wanted, added)


def unsubscribe(home: Home, mailing_list: MailingList, subscriber: Subscriber) -> str:
    """Remove a subscriber, with the whole line if nothing else is on it; return the file and the
    line. Raises as `subscribe`.
    """
    address = subscriber.address
    if name := mailing_list.subscribers_file:
        path = _path(home, name)
        with _as_problems(path):
            old = files.read(path)
            if lines := people.read(name, old).lines(address):
                _require_alone(home, mailing_list)
                _replace(path, name, old, _without_lines(old, lines))
                return f"{name}:{lines[0]}"

    wanted = _without_inline(mailing_list, address)
    return _edit(home, wanted, lambda text, _, subscribers: _removed(text, subscribers, address))


def forget(versions: Sequence[Home], address: str) -> Lines:
    """Remove an address from all lists and comments, in these versions of the files; return the
    lines of the first version that had it, by file. Raises as `subscribe`, before any version is
    changed, unless somebody else changes one at the same moment.
    """
    replacements = []
    found = Lines()
    mention = mentions(address)
    for home in versions:
        for name in list_files(home.source):
            path = _path(home, name)
            if not path.exists():
                continue

            with _as_problems(path):
                old = files.read(path)
                text = _text(old)
                lines = {
                    number
                    for number, line in enumerate(text.split("\n"), 1)
                    if mention.search(line)
                }
                if name == LISTS_FILE:
                    new = _without_address(home, text, address, sorted(lines))
                else:
                    file = people.read(name, old)
                    if lines and (problems := file.header_problems()):
                        raise ConfigError(problems)
                    own = file.all_lines(address)
                    lines |= set(own)
                    new = mention.sub("…", _text(_without_lines(old, own)))

            replacements.append((path, name, old, _encoded(new, old)))
            if home is versions[0] and lines:
                found[name] = tuple(sorted(lines))

    for path, name, before, after in replacements:
        if after != before or _draft(path).exists():
            _replace(path, name, before, after)

    return found


def _require_alone(home: Home, mailing_list: MailingList) -> None:
    name = mailing_list.subscribers_file
    for other in home.lists:
        if other.subscribers_file == name and other != mailing_list:
            message = (
                f"Paperboy cannot edit the subscribers of {mailing_list.name} alone: "
                f"{other.name} has the same file; edit it by hand, then run paperboy check"
            )
            raise ConfigError.at(name, message)


def _without_lines(content: bytes, numbers: Collection[int]) -> bytes:
    lines = enumerate(content.splitlines(keepends=True), 1)
    return b"".join(line for number, line in lines if number not in numbers)


def _without_address(home: Home, old: str, address: str, lines: Sequence[int]) -> str:
    """Return the text of subscribers.yaml without an address that it has on these lines."""
    lists = _lists(home, old)
    if not lists and not lines:  # a broken file that does not name it
        return old

    if lists:
        # A set, since lists may share their subscribers by an anchor.
        edits = {
            _removed(old, keys["subscribers"][1], address)
            for keys in _keys(old).values()
            if "subscribers" in keys
        }

        new = old
        for begin, end, _ in sorted(filter(None, edits), reverse=True):
            new = new[:begin] + new[end:]
        new = mentions(address).sub("…", new)
        if _lists(home, new) == tuple(_without_inline(before, address) for before in lists):
            return new

    fix = "remove it by hand, then run paperboy forget again"
    message = f"Paperboy cannot remove {address} here; {fix}"
    place = LISTS_FILE if home.source == home.path else _path(home)  # or a copy of the file
    raise ConfigError([Problem(f"{place}:{line}", message) for line in lines or [1]])


def _without_inline(mailing_list: MailingList, address: str) -> MailingList:
    file = mailing_list.subscribers
    inline = file.inline if isinstance(file, SubscribersFile) else file
    left = tuple(other for other in inline if other.address.lower() != address.lower())
    if isinstance(file, SubscribersFile):
        return replace(mailing_list, subscribers=replace(file, inline=left))
    return replace(mailing_list, subscribers=left)


def _keys(text: str) -> dict[str, nodes.Entries]:
    """Return the keys of each list in a sound text, also those without a value, by its name."""
    root: Any = nodes.compose(text)
    _, lists = nodes.entries(root)["lists"]
    keys_of_lists = [{key.value: (key, value) for key, value in node.value} for node in lists.value]
    return {keys["name"][1].value: keys for keys in keys_of_lists}


def _removed(text: str, subscribers: Node, address: str) -> _Edit | None:
    """Return the edit that deletes a subscriber's line or list item; None if absent or sharing a
    line.
    """
    if not isinstance(subscribers, SequenceNode):  # nothing stands after the key
        return None
    items = subscribers.value
    addresses = [values.mailbox(item.value).address.lower() for item in items]
    if address.lower() not in addresses:
        return None

    index = addresses.index(address.lower())
    item = items[index]
    begin = item.start_mark.index
    end = item.end_mark.index

    if not subscribers.flow_style:
        dash = _dash(text, item)
        after_line = _end_of(_REST_OF_LINE + r"\r?\n?", text, end)
        return (begin - len(dash), after_line, "") if dash else None

    if item is not items[-1]:
        return begin, items[index + 1].start_mark.index, ""
    if index:
        return items[index - 1].end_mark.index, end, ""
    return begin, _end_of(r"[ \t]*,?[ \t]*", text, end), ""


def _dash(text: str, item: Node) -> str:
    mark = item.start_mark
    before = text[mark.index - mark.column : mark.index]
    return before if before.strip(" \t") == "-" and mark.line == item.end_mark.line else ""


def _end_of(pattern: str, text: str, index: int) -> int:
    match = re.compile(pattern).match(text, index)
    return match.end() if match else index


def _edit(home: Home, wanted: MailingList, edit: Callable[[str, Node, Node], _Edit | None]) -> str:
    """Make an edit if it gives the wanted list and leaves the others; return the file and the
    line.
    """
    path = _path(home)
    with _as_problems(path):
        content = files.read(path)
    text = _text(content)
    if _lists(home, text) != home.lists:
        raise _changed(LISTS_FILE)

    keys = _keys(text)[wanted.name]
    change = edit(text, *keys["subscribers"]) if "subscribers" in keys else None
    begin, end, new = change or (0, 0, "")
    edited = text[:begin] + new + text[end:]

    lists = tuple(wanted if old.name == wanted.name else old for old in home.lists)
    if _lists(home, edited) != lists:
        line, _ = nodes.place(keys["name"][1])
        message = (
            f"Paperboy cannot edit the subscribers of {wanted.name}: they span several lines, "
            "or are shared between lists by an anchor, an alias or <<; "
            "edit the file by hand, then run paperboy check"
        )
        raise ConfigError.at(f"{LISTS_FILE}:{line}", message)

    _replace(path, LISTS_FILE, content, _encoded(edited, content))
    line_ends = edited.count("\n", 0, begin + len(new))
    return f"{LISTS_FILE}:{line_ends + 1}"


def _path(home: Home, name: str = LISTS_FILE) -> Path:
    return (home.source / name).resolve()  # a link to the file stays one


def _text(content: bytes) -> str:
    """Leave out the byte order mark, which YAML's places do not count."""
    return content.decode("utf-8-sig", "surrogateescape")


def _encoded(text: str, old: bytes) -> bytes:
    return text.encode("utf-8-sig" if old.startswith(BOM_UTF8) else "utf-8", "surrogateescape")


@contextmanager
def _as_problems(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        fix = "run this as a user who can write to it and its folder"
        raise ConfigError.at(path, f"cannot be replaced: {error.strerror}; {fix}") from error
    except ValueError as error:
        raise ConfigError.at(path, str(error)) from error


def _changed(name: str) -> PaperboyError:
    return PaperboyError(f"{name} was just changed by somebody else; try again")


def _lists(home: Home, text: str) -> tuple[MailingList, ...]:
    """Return the lists as any command would read them; none if anything is wrong."""
    try:
        return parse(text, home.folders("prompts"), home.settings, home.source)
    except ConfigError:
        return ()


def _draft(path: Path) -> Path:
    """Return where the file is written before it is renamed. The name is always the same, so that
    the next edit finds what a killed one has left.
    """
    return path.with_name(f".{path.name}.draft")


def _replace(path: Path, name: str, before: bytes, after: bytes) -> None:
    """Replace the file by one rename that keeps owner and permissions. Raises PaperboyError if it
    was changed since.
    """
    draft = _draft(path)
    is_ours = False  # another command edits it
    with _as_problems(path), path.open("r+b") as current:  # a rename needs only the folder
        with suppress(BlockingIOError):
            fcntl.flock(current, fcntl.LOCK_EX | fcntl.LOCK_NB)
            is_ours = os.path.samestat(os.fstat(current.fileno()), path.stat())
        if not is_ours or files.read(path) != before:
            raise _changed(name)

        draft.unlink(missing_ok=True)
        if after == before:
            return

        try:
            with open(draft, "xb", opener=partial(os.open, mode=0o600)) as file:
                old = path.stat()
                os.fchown(file.fileno(), old.st_uid, old.st_gid)
                shutil.copystat(path, draft)
                file.write(after)
                file.flush()
                os.fsync(file.fileno())
            if files.read(path) != before:  # an editor takes no lock
                raise _changed(name)
            draft.replace(path)
        except BaseException:
            draft.unlink(missing_ok=True)
            raise
