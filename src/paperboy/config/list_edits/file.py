"""The text of `subscribers.yaml`, and where in it a list and its subscribers stand. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from ruamel.yaml.error import YAMLError
from ruamel.yaml.nodes import MappingNode, Node, SequenceNode
from ruamel.yaml.tokens import (
    AliasToken,
    BlockEntryToken,
    FlowEntryToken,
    FlowSequenceStartToken,
    ScalarToken,
    Token,
    ValueToken,
)

from paperboy.config import yaml_document
from paperboy.config.yaml_document import Fault

SUBSCRIBERS = "subscribers"

_LINE_END = re.compile(r"\r\n|\n|\r")
_LAST_LINE_END = re.compile(r"(\r\n|\n|\r)\Z")


class OddError(Exception):
    """The file is written in a way that only a person can edit."""

    def __init__(self, fault: Fault) -> None:
        super().__init__(fault.message)
        self.fault = fault


@dataclass(frozen=True, slots=True, order=True)
class Cut:
    """What is between two places of the old text, and what comes there instead."""

    start: int
    end: int
    new: str = ""


@dataclass(frozen=True, slots=True)
class Span:
    """Where something begins in the text, and where it ends."""

    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Element(Span):
    """One subscriber as it is written, its anchor included."""

    separator: Span | None  # the dash before it, or the comma behind it, which the last one need not have


@dataclass(frozen=True, slots=True)
class People:
    """A list's subscribers, in lines with a dash each (`is_block`) or between brackets."""

    is_block: bool
    opening: Span  # the first dash, or the bracket
    each: tuple[Element, ...]
    values: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Key:
    """A key of a list, its colon, and what is behind it."""

    start: int
    column: int
    colon: Span
    first: Token  # the first token behind the colon, also where that is no part of the value
    node: Node


def line_of(text: str, index: int) -> int:
    """The number, from 1, of the line on which that place is."""
    return len(_LINE_END.findall(text, 0, index)) + 1


class File:
    """The text, its nodes, and those of its tokens that have a width. Raises OddError for what is no YAML."""

    def __init__(self, text: str) -> None:
        self.text = text
        try:
            root: Any = yaml_document.reader().compose(text)
            tokens = list(yaml_document.reader().scan(text))
        except (YAMLError, RecursionError):
            raise OddError(Fault(1, 1, "this is no YAML; paperboy check says where")) from None
        if not isinstance(root, MappingNode):
            raise OddError(Fault(1, 1, "there are no lists in it"))
        self.root = root
        self._tokens: list[Token] = [token for token in tokens if self.start(token) < self.end(token)]
        self._last: Token = tokens[-1]

    def entry(self, list_name: str) -> MappingNode:
        """The keys and values of the list of that name."""
        for entry in self.entries():
            if any(key.value == "name" and value.value == list_name for key, value in entry.value):
                return entry
        raise OddError(Fault(1, 1, f"the list {list_name!r} does not stand here in keys of its own"))

    def entries(self) -> Iterator[MappingNode]:
        """All lists, in order."""
        for key, value in self.root.value:
            if key.value == "lists" and isinstance(value, SequenceNode):
                yield from (entry for entry in value.value if isinstance(entry, MappingNode))

    def key(self, entry: MappingNode, name: str) -> Key | None:
        """A list's own key; one that is merged into it with << is not."""
        for key, value in entry.value:
            if key.value == name:
                colon = self.after(key.end_mark.index)
                if not isinstance(colon, ValueToken):
                    raise self.odd(key.start_mark.index, f"there is no colon behind {name!r}")
                where = Span(self.start(colon), self.end(colon))
                return Key(key.start_mark.index, key.start_mark.column, where, self.after(where.end), value)
        return None

    def begins(self, entry: MappingNode) -> int:
        """Where a list's key for its subscribers stands; the list, where it has none."""
        key = self.key(entry, SUBSCRIBERS)
        return key.start if key else int(entry.start_mark.index)

    def people(self, key: Key) -> People:
        """The subscribers behind that key. Raises OddError for an alias, and for what is no sequence."""
        if isinstance(key.first, AliasToken):
            message = f"the subscribers stand elsewhere, behind the alias *{key.first.value}"
            raise self.odd(self.start(key.first), message)
        if not isinstance(key.node, SequenceNode):
            raise self.odd(key.start, "the subscribers are written in an uncommon way")
        tokens = self.between(key.node.start_mark.index, key.node.end_mark.index)
        while not isinstance(tokens[0], BlockEntryToken | FlowSequenceStartToken):
            del tokens[0]  # an anchor or a tag
        is_block = isinstance(tokens[0], BlockEntryToken)
        each = tuple(self._with_dashes(tokens) if is_block else self._with_commas(tokens[1:-1]))
        values = tuple(str(node.value) for node in key.node.value)
        if len(each) != len(values):
            raise self.odd(key.start, "the subscribers are written in an uncommon way")
        return People(is_block, self._span(tokens[0]), each, values)

    def _with_dashes(self, tokens: list[Token]) -> Iterator[Element]:
        dashes = [place for place, token in enumerate(tokens) if isinstance(token, BlockEntryToken)]
        for dash, following in zip(dashes, [*dashes[1:], len(tokens)], strict=True):
            if dash + 1 < following:
                yield Element(self.start(tokens[dash + 1]), self.end(tokens[following - 1]), self._span(tokens[dash]))

    def _with_commas(self, tokens: list[Token]) -> Iterator[Element]:
        begin = 0
        for place, token in enumerate(tokens):
            if isinstance(token, FlowEntryToken):
                if begin < place:
                    yield Element(self.start(tokens[begin]), self.end(tokens[place - 1]), self._span(token))
                begin = place + 1
        if begin < len(tokens):
            yield Element(self.start(tokens[begin]), self.end(tokens[-1]), None)

    def _span(self, token: Token) -> Span:
        return Span(self.start(token), self.end(token))

    # --- tokens

    @staticmethod
    def start(token: Token) -> int:
        return int(token.start_mark.index)

    def end(self, token: Token) -> int:
        """Where it ends; text behind | or > ends with its last line that is not empty."""
        end = int(token.end_mark.index)
        if isinstance(token, ScalarToken) and token.style in {"|", ">"}:
            start = self.start(token)
            return start + len(self.text[start:end].rstrip())
        return end

    def after(self, index: int) -> Token:
        """The first token that begins there or later; the end of the text is one."""
        return next((token for token in self._tokens if self.start(token) >= index), self._last)

    def before(self, index: int) -> Token:
        """The last token that ends there or earlier."""
        return next(token for token in reversed(self._tokens) if self.end(token) <= index)

    def between(self, start: int, end: int) -> list[Token]:
        """The tokens from there to there."""
        return [token for token in self._tokens if self.start(token) >= start and self.end(token) <= end]

    # --- lines

    def odd(self, index: int, message: str) -> OddError:
        """An error at that place."""
        return OddError(Fault(line_of(self.text, index), index - self.line_start(index) + 1, message))

    def line_start(self, index: int) -> int:
        """Where the line begins on which that place is."""
        return max(self.text.rfind("\n", 0, index), self.text.rfind("\r", 0, index)) + 1

    def line_end(self, index: int) -> int:
        """Where the next line begins; the end of the text, where there is none."""
        match = _LINE_END.search(self.text, index)
        return match.end() if match else len(self.text)

    def same_line(self, first: int, last: int) -> bool:
        """Whether no line ends between the two."""
        return _LINE_END.search(self.text, first, last) is None

    def break_after(self, index: int) -> str:
        """What ends the line on which that place is; empty: the text ends with it."""
        match = _LINE_END.search(self.text, index)
        return match[0] if match else ""

    def break_before(self, start: int) -> int:
        """Where the line ends that is before the one which begins there."""
        match = _LAST_LINE_END.search(self.text[:start])
        return match.start() if match else start

    def usual_break(self) -> str:
        """What ends the file's lines."""
        return self.break_after(0) or "\n"

    def indent(self, index: int) -> str | None:
        """What is before that place on its line; None: more than space."""
        before = self.text[self.line_start(index) : index]
        return None if before.strip() else before
