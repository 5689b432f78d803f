"""Topics of a list, which are Markdown or plain text: as blocks for the templates, and by their
names. Pure.

Headings, paragraphs and lists keep their shape, and paragraphs their lines; emphasis goes. Formulas
become text, links become their words with the address in brackets, and HTML stays as written:
readers see topics as words.

A topic is a line that begins with "Relevant:". It has the name of the numbered item or heading that
holds it, where there are several of these, else its own. Without that label, each item is one.
"""

import re
from functools import lru_cache
from html import escape
from typing import NamedTuple

from markdown_it import MarkdownIt
from markdown_it.rules_inline import StateInline

from paperboy.edges.text import WORD_END, cut, one_line, printable
from paperboy.tex import math_to_text

_SOFT = "\v"  # a line's end within a paragraph; no printable text has it

# A long line that goes on is no line of its own.
_WRAPPED = re.compile(rf"(?<=[^\n{_SOFT}]{{60}}){_SOFT}(?=[a-z])")

_DEEPEST = 100  # containers within containers, where a list counts two; text nested deeper is lost


class Block(NamedTuple):
    """Line of the topics. An item without a marker continues the item before it, and a "line" the
    paragraph.
    """

    kind: str  # "heading", "paragraph", "line" or "item"
    text: str
    marker: str = ""  # "•" or "1."
    depth: int = 0  # lists around an item's own


def blocks(markdown: str) -> tuple[Block, ...]:
    """Read the whole text. Nothing is refused."""
    lines = printable("\n".join(markdown.splitlines()))
    result: list[Block] = []
    kind = "paragraph"
    marker = ""
    numbers: list[int] = []  # of the next item, for each list that is open
    for token in _PARSER.parse(lines.expandtabs(4)):
        if token.type in {"heading_open", "heading_close"}:
            kind = "heading" if token.nesting == 1 else "paragraph"
        elif token.type.endswith("list_open"):
            numbers.append(int(token.attrs.get("start", 1)))
        elif token.type.endswith("list_close"):
            numbers.pop()
        elif token.type == "list_item_open":
            marker = f"{numbers[-1]}{token.markup}" if token.info else "•"
            numbers[-1] += 1

        text = token.content  # of code
        if token.type == "inline":
            # In a list, where each item is a line, the lines of the text flow.
            breaks = {"softbreak": " " if numbers else _SOFT, "hardbreak": "\n"}
            text = "".join(breaks.get(child.type, child.content) for child in token.children or ())
            text = _WRAPPED.sub(" ", text).replace(_SOFT, "\n")

        for number, line in enumerate(filter(None, map(one_line, text.split("\n")))):
            if numbers:
                result.append(Block("item", line, marker, depth=len(numbers) - 1))
            elif number and kind == "paragraph":
                result.append(Block("line", line))
            else:
                result.append(Block(kind, line))

            marker = ""

    return tuple(result)


class Topics(NamedTuple):
    """What a list wants to read, for people."""

    blocks: tuple[Block, ...]  # without the preamble, which is written for the LLM
    names: tuple[str, ...]  # of its topics, each once; the first has the number 1


_MOST_NAME = 40  # characters
UNWANTED = "irrelevant|not relevant|unwanted|avoid"
"""Labels of what a list does not want, as a pattern."""

_LABEL = re.compile(
    rf"(?:(?P<none>{UNWANTED}|keywords?)|relevant|wanted)\b(?:\s+\w+)?\s*(?::\s*|$)",
    re.IGNORECASE,
)
_NUMBERED = re.compile(r"\s*\d+[.)]\s")
# The first words of a name that is too long: "star formation histories", not "… from resolved".
_PHRASE = re.compile(r".{12,40}?(?=\s(?:and|as|by|for|from|in|of|on|or|that|to|with)\s)")
_NAME_END = re.compile(r"\s+[–—]\s+|:|,")


@lru_cache(maxsize=256)  # a morning reads them for the prompt, for the order and for the page
def read(markdown: str) -> Topics:
    """Read the topics of a list. Nothing is refused."""
    found = blocks(_apart(markdown))
    labelled = list[tuple[int, int]]()  # the places of a topic's line, and of what holds it
    items = list[int]()
    holder = -1
    counts: bool | None = None  # whether items below a label of its own are topics; None: no label
    for place, block in enumerate(found):
        label = _LABEL.match(block.text)
        alone = label is not None and label.end() == len(block.text)
        is_holder = block.kind == "heading" or bool(block.marker.strip("•"))
        if block.kind == "heading" or (is_holder and not block.depth):
            holder = -1 if label else place
            counts = None
        if label and alone:
            counts = not label["none"]
        elif label and counts is not False and not label["none"]:
            labelled.append((place, holder))
        elif not label and block.kind == "item" and block.marker and counts is not False:
            if counts:
                labelled.append((place, holder))
            elif not block.depth:
                items.append(place)

    holders = list(dict.fromkeys(held for _, held in labelled if held >= 0))
    own = [place for place, _ in labelled] or items
    places = holders if len(holders) > 1 else own
    names = dict[str, str]()
    for name in filter(None, (_name(found[place]) for place in places)):
        names.setdefault(name.casefold(), name)
    return Topics(found[places[0] if places else 0 :], tuple(names.values()))


def _apart(markdown: str) -> str:
    """Return the text with empty lines around each label, which Markdown would take for a part of
    the item or paragraph above it, and what follows for a part of the label.
    """
    lines = list[str]()
    below_label = False
    for line in markdown.splitlines():
        is_label = bool(_LABEL.match(line.strip(" \t*")))
        if is_label or (below_label and _NUMBERED.match(line)):
            lines.append("")
        lines.append(line)
        below_label = is_label
    return "\n".join(lines)


def _name(block: Block) -> str:
    """Return the name of a topic: its line up to a dash, colon or comma, within 40 characters."""
    text = block.text
    if label := _LABEL.match(text):
        text = text[label.end() :]
    name = _NAME_END.split(text, maxsplit=1)[0].strip(" .;")
    if len(name) > _MOST_NAME:
        phrase = _PHRASE.match(name)
        name = phrase[0] if phrase else name[: cut(name, _MOST_NAME, WORD_END)]
    # Not of mRNA, p-adic or μP.
    return name[0].upper() + name[1:] if re.match(r"[a-z]{2}[a-z-]*(?!\S)", name) else name


def within(topics: tuple[Block, ...], room: int) -> tuple[Block, ...]:
    """Return the first blocks, up to about that many bytes of HTML. No heading is left alone."""
    kept: list[Block] = []
    size = 0
    for block in topics:
        size += 100 + len(escape(block.text).encode())  # 100 for the tags around it
        if size > room:
            break
        kept.append(block)

    while kept and kept[-1].kind == "heading" and len(kept) < len(topics):
        kept.pop()
    return tuple(kept)


_SPECIAL = re.compile(
    r"\$(?!\s)(?P<formula>[^$\n]+)(?<!\s)\$(?!\w)|(?P<address>://[^\s<>()\[\]]*[A-Za-z0-9/#=])"
    r"|!?\[(?P<label>[^\[\]\n]{1,500})\]\((?P<target>(?:https?://|mailto:)[^\s()]{1,2000})\)"
)


def _special(state: StateInline, silent: bool) -> bool:
    """Match a rule of the parser: formulas become text, addresses keep each sign, and links show
    where they lead.
    """
    match = _SPECIAL.match(state.src, state.pos)
    if match is None:
        return False

    state.pos = match.end()
    if silent:
        return True

    if match["formula"]:
        state.pending += math_to_text(match["formula"])
    elif match["address"]:
        state.pending += match["address"]
    else:
        label = match["label"].replace("*", "")
        state.pending += f"{label} ({match['target']})"

    return True


_PARSER = MarkdownIt("commonmark", {"html": False, "maxNesting": _DEEPEST})
_PARSER.disable(["html_block", "reference", "html_inline", "link", "image", "autolink"])
_PARSER.inline.ruler.before("escape", "special", _special)
