"""Long blocks of `- address` lines in `subscribers.yaml`, which take fifty times longer as YAML than as lines.

Each is taken out of the text, with one item in its place, and put back into what YAML made of the rest. Where that item
has become anything else than one of a list's `subscribers`, the lines meant something else: then all of it is YAML.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import groupby
from typing import NamedTuple

_LEAST = 100  # lines
_MARK = "\ue000"  # for private use: no file of ours has it
# In YAML, too, such a line is an item and its text.
_ITEM = re.compile(r"(?P<dash> *- )(?:[^\W_][\w .+'-]* <)?[^\W_][\w.+-]*@[A-Za-z0-9.-]+>?[ \r]*")


class Blocks(NamedTuple):
    """A text without its long blocks, and these."""

    text: str
    taken: dict[str, list[str]]  # by the item in its place

    @classmethod
    def of(cls, text: str) -> Blocks:
        """None are taken out of a text with aliases, which may stand for a block many times."""
        taken, kept = dict[str, list[str]](), list[str]()
        if text.count("\n") < _LEAST or "*" in text or _MARK in text:
            return cls(text, taken)
        for dash, lines in groupby(text.split("\n"), key=_dash):
            block = list(lines)
            if dash and len(block) >= _LEAST:
                mark = f"{_MARK}{len(taken)}"
                taken[mark] = [line[len(dash) :].rstrip() for line in block]
                block = [f"{dash}{mark}"]
            kept += block
        return cls("\n".join(kept), taken)

    def put_back(self, data: object) -> bool:
        """Into the plain values of the text; whether all of them found their place."""
        left = dict(self.taken)
        for people in _people(data):
            found = list[object]()
            for each in people:
                found += left.pop(each, [each]) if isinstance(each, str) else [each]
            people[:] = found
        return not left


def _dash(line: str) -> str | None:
    found = _ITEM.fullmatch(line)
    return found["dash"] if found else None


def _people(data: object) -> Iterator[list[object]]:
    """The `subscribers` of each list."""
    lists = data.get("lists") if isinstance(data, dict) else None
    for keys in lists if isinstance(lists, list) else ():
        people = keys.get("subscribers") if isinstance(keys, dict) else None
        if isinstance(people, list):
            yield people
