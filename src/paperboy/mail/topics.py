"""The operator's topics, which are Markdown or plain text, as blocks for the templates. Pure.

Headings, paragraphs and lists keep their shape; emphasis goes. Formulas are text, links are their words with the
address in brackets, and HTML stays as it was written: topics are shown to readers as words.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cache
from html import escape
from typing import Literal

from markdown_it import MarkdownIt
from markdown_it.rules_inline import StateInline
from markdown_it.token import Token

from paperboy.mail.text import one_line, shorten, visible
from paperboy.tex import math_to_text

_DEEPEST = 40  # containers within containers, each list counting two; deeper text is shown as it was written
_SHORTEST = 80  # characters of a block that it is worth to begin
_FRAME = 100  # bytes of HTML around a block


@dataclass(frozen=True, slots=True)
class Block:
    """A stretch of the topics in one line. An item without a marker goes on with the item before it."""

    kind: Literal["heading", "paragraph", "item"]
    text: str
    marker: str = ""  # "•" or "1."
    depth: int = 0  # lists around an item's own


def blocks(markdown: str) -> tuple[Block, ...]:
    """All of the text. Nothing is refused."""
    lines = [visible(line.expandtabs(4)) for line in re.split(r"\r\n?|[\n\v\f\x85\u2028\u2029]", markdown)]
    tokens = _parser().parse("\n".join(lines))
    if any(token.level >= _DEEPEST - 1 for token in tokens):
        read: Iterable[Block] = (Block("paragraph", line) for line in lines)
    else:
        read = _read(tokens)
    clean = (replace(block, text=one_line(block.text)) for block in read)
    return tuple(block for block in clean if block.text)


def within(shown: tuple[Block, ...], room: int) -> tuple[Block, ...]:
    """The first blocks up to about that many bytes of HTML, the last of them shortened. No heading is left alone."""
    kept: list[Block] = []
    for block in shown:
        room -= _FRAME
        cost = len(escape(block.text).encode())
        if kept and room < min(_SHORTEST, cost):
            break
        limit = max(room, _SHORTEST) * len(block.text) // max(cost, 1)
        kept.append(replace(block, text=shorten(block.text, limit)))
        room -= cost
    while len(kept) < len(shown) and len(kept) > 1 and kept[-1].kind == "heading":
        kept.pop()
    return tuple(kept)


# Reading Markdown


def _read(tokens: Iterable[Token]) -> Iterator[Block]:
    numbers: list[list[str]] = []  # of the items so far, for each list that is open
    marker, is_heading = "", False
    for token in tokens:
        if token.type.endswith(("list_open", "item_close")):
            if marker[:1].isdigit():  # of an item without text
                yield Block("item", marker, depth=len(numbers) - 1)
            marker = ""
        if token.type.endswith("list_open"):
            numbers.append([])
        elif token.type.endswith("list_close"):
            numbers.pop()
        elif token.type == "list_item_open":
            marker = _number(token.info, numbers[-1]) + token.markup if token.info else "•"
        elif token.type in {"heading_open", "heading_close"}:
            is_heading = token.nesting == 1
        for line in filter(str.strip, _lines(token)):
            if numbers:
                yield Block("item", line, marker, len(numbers) - 1)
                marker = ""
            else:
                yield Block("heading" if is_heading else "paragraph", line)


def _number(written: str, before: list[str]) -> str:
    """What an item's number is: as written, unless each is written as the first (1. 1. 1.)."""
    before.append(written)
    is_counted = len(before) > 1 and before[0] == before[-2] == written
    return str(int(written) + len(before) - 1) if is_counted else written


def _lines(token: Token) -> list[str]:
    """The blocks that a token's own text comes to."""
    if token.type == "inline":
        rows = token.content.split("\n")
        if all(row.startswith("|") for row in rows):  # a table
            return [row.strip(" |") for row in rows if re.search(r"[^\s|:-]", row)]
        return "".join(_shown(child) for child in token.children or ()).split("\n")
    if token.type in {"code_block", "fence"}:
        is_text = " " in token.info.strip()  # and no language
        return [token.info] * is_text + token.content.split("\n")
    return []


def _shown(token: Token) -> str:
    return {"softbreak": " ", "hardbreak": "\n"}.get(token.type, token.content)


@cache
def _parser() -> MarkdownIt:
    parser = MarkdownIt("commonmark", {"html": False, "maxNesting": _DEEPEST})
    parser.disable(["html_block", "reference", "html_inline", "link", "image", "autolink"])
    parser.inline.ruler.before("escape", "special", _special)
    return parser


_SPECIAL = re.compile(
    r"\$(?!\s)(?P<formula>[^$\n]+)(?<!\s)\$(?!\w)|(?P<address>://[^\s<>()\[\]]*[A-Za-z0-9/#=])"
    r"|!?\[(?P<label>[^\[\]\n]{1,500})\]\((?P<target>(?:https?://|mailto:)[^\s()]{1,2000})\)"
)


def _special(state: StateInline, silent: bool) -> bool:
    """A rule of the parser: formulas are text, addresses mean each of their signs, and links show where they lead."""
    match = _SPECIAL.match(state.src, state.pos)
    if match is None:
        return False
    if not silent and match["formula"]:
        state.pending += math_to_text(match["formula"])
    elif not silent:
        state.pending += match["address"] or f"{match['label'].replace('*', '')} ({match['target']})"
    state.pos = match.end()
    return True
