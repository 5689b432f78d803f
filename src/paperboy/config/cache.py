"""The lists of a copy of the files, as they were read: JSON beside them, since YAML takes seconds for thousands.

A line for each list, and before them a seal over these and what they were made from. Where that differs, there is no
cache.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cache
from pathlib import Path

from pydantic import ConfigDict, TypeAdapter

from paperboy import __version__, files
from paperboy.config.lists import people_file, topics_file
from paperboy.config.people import People
from paperboy.config.settings import Settings
from paperboy.models import MailingList

NAME = "lists.cache"

_READING = 2  # counted up when the same files are read as other lists than before

_last = dict[bytes, MailingList]()  # by their lines, as last read: an edit of one list costs little more than that one


def write(path: Path, settings: Settings, lists: Iterable[MailingList]) -> None:
    """Cache the lists of a copy's file beside it, without the people of files. Lists that share subscribers are not
    cached: each would have its own.
    """
    made = [_without_people(each) for each in lists]
    people = [id(each.subscribers) for each in made if each.subscribers]
    if len(people) == len(set(people)):
        body = b"\n".join(_adapter().dump_json((each,), exclude_defaults=True)[1:-1] for each in made)
        path.with_name(NAME).write_bytes(_seal(path.parent, path, settings, body) + b"\n" + body)


def read(copy: Path, path: Path, prompts: Sequence[Path], settings: Settings) -> tuple[MailingList, ...] | None:
    """The lists of a file, from the cache of this copy; None if it has none of the file as it is."""
    with suppress(FileNotFoundError, ValueError):
        seal, _, body = files.read(copy / NAME).partition(b"\n")
        if seal != _seal(copy, path, settings, body):
            return None
        lists = _parsed(body.split(b"\n"))
        if copy == path.parent or _have_topics(lists, prompts):  # nobody edits a copy
            return tuple(_with_people(lists, path.parent))
    return None


def _seal(copy: Path, path: Path, settings: Settings, body: bytes) -> bytes:
    """With the copy's name: elsewhere the file may lie beside other topics."""
    made_by = f"{copy.resolve().name} {__version__} {_READING} {settings.send_at} {settings.timezone}".encode()
    parts = (hashlib.sha256(each).digest() for each in (made_by, files.read(path), body))
    return hashlib.sha256(b"".join(parts)).hexdigest().encode()


def _parsed(lines: Sequence[bytes]) -> list[MailingList]:
    known = dict(_last)
    new = [line for line in lines if line not in known]
    known |= zip(new, _adapter().validate_json(b"[%b]" % b",".join(new)), strict=True)
    _last.clear()
    _last.update((line, known[line]) for line in lines)
    return [known[line] for line in lines]


@cache  # made when it is first needed: that takes as long as reading a small home
def _adapter() -> TypeAdapter[tuple[MailingList, ...]]:
    return TypeAdapter(tuple[MailingList, ...], config=ConfigDict(arbitrary_types_allowed=True))  # for `Readers`


def _have_topics(lists: Iterable[MailingList], prompts: Sequence[Path]) -> bool:
    """Whether the topics files are as they were. Raises ValueError."""
    named = {each.topics_file: each.topics for each in lists if each.topics_file}
    return all(topics_file(name, prompts) == text for name, text in named.items())


def _without_people(mailing_list: MailingList) -> MailingList:
    people = mailing_list.subscribers
    return replace(mailing_list, subscribers=people.inline) if isinstance(people, People) else mailing_list


def _with_people(lists: Iterable[MailingList], home: Path) -> Iterator[MailingList]:
    """Raises ValueError for a file that cannot be read, or whose first line is wrong."""
    contents = dict[str, bytes]()
    for each in lists:
        if name := each.subscribers_file:
            contents[name] = contents.get(name) or people_file(home, name)
            people = People(tuple(each.subscribers), name, contents[name])
            if problems := people.header_problems():
                raise ValueError(problems[0])
            yield replace(each, subscribers=people)
        else:
            yield each
