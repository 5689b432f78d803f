"""YAML text → plain values, and the line and column where each of them stands.

It reads the composed nodes and not the values that a loader makes of them, because only nodes know where they stand and
let every duplicate key be told, not only the first. YAML 1.2: `7:00` and `yes` are text.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.error import MarkedYAMLError, YAMLError
from ruamel.yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode
from ruamel.yaml.reader import ReaderError
from ruamel.yaml.scanner import Scanner

Path = tuple[str | int, ...]  # from the top: ("lists", 0, "name")

_MOST_VALUES = 300_000  # aliases that multiply reach it in a second; 50,000 subscribers do not
_DEEPEST = 20

_TAG = "tag:yaml.org,2002:"
_MERGE = _TAG + "merge"
_TEXT_TAGS = frozenset(_TAG + kind for kind in ("str", "timestamp", "merge", "value"))
_FORBIDDEN = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x84\x86-\x9f\ud800-\udfff]")

# What ruamel.yaml says, and what a person who has not read YAML's grammar can do about it.
_PLAIN_WORDS = (
    (r"character '\\t'", "a tab; YAML is indented with spaces"),
    (r"character '(?P<sign>.)' that cannot start", "text that begins with {sign} needs quotes around it"),
    (r"mapping values are not allowed", "no colon can stand here; mend the indentation, or put quotes around the text"),
    (r"sequence entries are not allowed", "a list cannot begin here; put its first - on a line of its own"),
    (r"while scanning a quoted scalar.*", "these quotes are never closed"),
    (r"while parsing a flow (sequence|mapping)", "this bracket is never closed, or a comma is missing behind it"),
    (r"could not find expected ':'", "a colon is missing in the line before"),
    (r"expected <block end>", "the indentation does not fit the lines above, or quotes end too early"),
    (r"undefined alias (?P<sign>.*)", "the alias {sign} has no anchor above it"),
    (r"found another document", "a second document begins here; remove the line ---"),
    (r"maximum depth", "nested too deeply"),
)
_TAKES_A_TAB = re.compile(r"(^|\s)-$|:$")  # a line up to a tab with a value behind it
_NO_VALUE = re.compile(r"[ \t]*([\r\n\0#]|$)")
_NEEDS_INDENT = re.compile(r"[ \t]*(- |.*:[ \t\r\n\0])")
_AT_THEIR_BEGINNING = ("while scanning a quoted scalar", "while parsing a flow")


@dataclass(frozen=True, slots=True, order=True)
class Fault:
    """Something wrong at a place; line and column count from 1."""

    line: int
    column: int
    message: str


@dataclass(frozen=True, slots=True)
class Document:
    """What a YAML text says.

    `values` is made of dicts with text keys, lists, text, whole numbers, floats, bools and None; where the text is no
    YAML at all it is None, and `faults` says why.
    """

    values: Any
    faults: tuple[Fault, ...]
    _values_at: Mapping[Path, tuple[int, int]]
    _keys_at: Mapping[Path, tuple[int, int]]

    def fault(self, path: Path, message: str, *, at_key: bool = False) -> Fault:
        """A fault where the value or its key stands; where there is none, where the nearest value around it does.

        A value behind an alias stands where it was written.
        """
        if at_key and path in self._keys_at:
            return Fault(*self._keys_at[path], message)
        while path and path not in self._values_at:
            path = path[:-1]
        return Fault(*self._values_at.get(path, (1, 1)), message)

    def has_key(self, path: Path) -> bool:
        return path in self._keys_at


def parse(text: str) -> Document:
    """Never raises for anything that the text holds."""
    reader = _Reader()
    try:
        node = _compose(text)
        values = None if node is None else reader.value(node, ())
    except _UnreadableError as error:
        return Document(None, (error.fault,), {}, {})
    return Document(values, tuple(reader.faults), reader.values_at, reader.keys_at)


class _UnreadableError(Exception):
    def __init__(self, fault: Fault) -> None:
        super().__init__(fault.message)
        self.fault = fault


def reader() -> YAML:
    """ruamel.yaml, for nodes and tokens, with YAML's own mind about tabs."""
    yaml = YAML(typ="safe", pure=True)
    yaml.Scanner = _TabScanner
    yaml.composer.warn_double_anchors = False
    return yaml


class _TabScanner(Scanner):
    """Takes tabs that part one thing from another on a line, too; not those that indent."""

    def scan_to_next_token(self) -> None:
        super().scan_to_next_token()
        while self.reader.peek() == "\t" and self._parts():
            while self.reader.peek() in " \t":
                self.reader.forward()
            super().scan_to_next_token()

    def _parts(self) -> bool:
        text, here = self.reader.buffer, self.reader.pointer
        before = text[here - self.reader.column : here].rstrip(" \t")
        if _NO_VALUE.match(text, here):
            return True
        return bool(_TAKES_A_TAB.search(before)) and not (before.endswith("-") and _NEEDS_INDENT.match(text, here))


def _compose(text: str) -> Node | None:
    yaml = reader()
    yaml.max_depth = _DEEPEST
    try:
        node: Node | None = yaml.compose(text)
    except ReaderError as error:
        before = text[: error.position]
        message = f"a character that YAML forbids (U+{error.character:04X}); remove it"
        fault = Fault(before.count("\n") + 1, len(before) - before.rfind("\n"), message)
    except MarkedYAMLError as error:
        fault = _in_plain_words(error)
    except YAMLError as error:
        fault = Fault(1, 1, f"not YAML: {error}")
    except RecursionError:
        fault = Fault(1, 1, "nested too deeply")
    else:
        return node
    raise _UnreadableError(fault)


def _in_plain_words(error: MarkedYAMLError) -> Fault:
    whole = " ".join(filter(None, (error.context, error.problem)))
    mark = error.problem_mark or error.context_mark
    if error.context_mark is not None and whole.startswith(_AT_THEIR_BEGINNING):
        mark = error.context_mark
    message = f"not YAML: {whole}"
    for pattern, words in _PLAIN_WORDS:
        match = re.search(pattern, whole)
        if match:
            message = words.format(**match.groupdict())
            break
    return Fault(mark.line + 1, mark.column + 1, message) if mark is not None else Fault(1, 1, message)


class _Reader:
    """One pass over the nodes, which notes where everything stands."""

    def __init__(self) -> None:
        self.values_at: dict[Path, tuple[int, int]] = {}
        self.keys_at: dict[Path, tuple[int, int]] = {}
        self.faults: list[Fault] = []
        self._count = 0

    def value(self, node: Node, path: Path) -> Any:
        self._bound(node, len(path))
        self.values_at[path] = _place(node)
        if isinstance(node, MappingNode):
            return {key: self.value(child, (*path, key)) for key, child in self._pairs(node, path)}
        if isinstance(node, SequenceNode):
            return [self.value(child, (*path, index)) for index, child in enumerate(node.value)]
        return self._scalar(node)

    def _bound(self, node: Node, depth: int) -> None:
        self._count += 1
        if depth > _DEEPEST:
            raise _UnreadableError(Fault(*_place(node), "an alias leads back to itself, or this is nested too deeply"))
        if self._count > _MOST_VALUES:
            raise _UnreadableError(Fault(*_place(node), f"aliases multiply this file to over {_MOST_VALUES:,} values"))

    def _pairs(self, node: MappingNode, path: Path) -> list[tuple[str, Node]]:
        """The mapping's own keys, then what it merges with `<<`; of a key that comes twice, the first."""
        pairs: dict[str, Node] = {}
        for key, child in node.value:
            if str(key.tag) == _MERGE:
                continue
            if not isinstance(key, ScalarNode):
                self._fault(key, "a key must be plain text")
            elif key.value in pairs:
                line = self.keys_at[*path, key.value][0]
                self._fault(key, f"{key.value!r} stands here a second time, first in line {line}; remove one")
            else:
                pairs[key.value] = child
                self.keys_at[*path, key.value] = _place(key)
        for key, child in self._merged(node, 0):
            if key.value not in pairs:
                pairs[key.value] = child
                self.keys_at[*path, key.value] = _place(key)
        return list(pairs.items())

    def _merged(self, node: MappingNode, depth: int) -> list[tuple[ScalarNode, Node]]:
        self._bound(node, depth)
        found = []
        for key, child in node.value:
            if str(key.tag) != _MERGE:
                continue
            for source in child.value if isinstance(child, SequenceNode) else [child]:
                if isinstance(source, MappingNode):
                    found += [(k, v) for k, v in source.value if isinstance(k, ScalarNode) and str(k.tag) != _MERGE]
                    found += self._merged(source, depth + 1)
                else:
                    self._fault(child, "<< needs the alias of keys and values")
        return found

    def _scalar(self, node: Node) -> str | int | float | bool | None:
        kind, text = str(node.tag), str(node.value)
        if _FORBIDDEN.search(text):
            self._fault(node, "the text holds a control character; remove it")
        if kind == _TAG + "null":
            return None
        if kind == _TAG + "bool":
            return text.lower() in {"true", "yes", "on", "y"}
        if kind == _TAG + "int":
            return _number(text, int)
        if kind == _TAG + "float":
            return _number(text, float)
        if kind not in _TEXT_TAGS:
            self._fault(node, f"the tag {kind.removeprefix(_TAG)!r} means nothing here; remove it")
        return text

    def _fault(self, node: Node, message: str) -> None:
        self.faults.append(Fault(*_place(node), message))


def _number(text: str, kind: type[int] | type[float]) -> str | int | float:
    """The number, or the text itself where YAML writes numbers in a way that nobody means here (`0x1F`, `.inf`)."""
    try:
        return kind(text)
    except ValueError:
        return text


def _place(node: Node) -> tuple[int, int]:
    return node.start_mark.line + 1, node.start_mark.column + 1
