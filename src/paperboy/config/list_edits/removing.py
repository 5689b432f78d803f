"""What goes with a subscriber who is taken out. Pure."""

from __future__ import annotations

import re

from ruamel.yaml.nodes import MappingNode
from ruamel.yaml.tokens import FlowSequenceEndToken

from paperboy.config import values as notation
from paperboy.config.list_edits.file import SUBSCRIBERS, Cut, Element, File, People

_COMMENT_LINE = re.compile(r"[\r\n][ \t]*#")


def cuts(file: File, entry: MappingNode, address: str) -> tuple[Element, list[Cut]]:
    """The subscriber of that address, and what to cut out of the file. Raises OddError."""
    key = file.key(entry, SUBSCRIBERS)
    if key is None:
        raise file.odd(entry.start_mark.index, "the subscribers of this list stand elsewhere, where << takes them from")
    people = file.people(key)
    index = _find(people, address)
    if index is None:
        raise file.odd(key.start, f"{address} is not written here")
    made = [_line(file, people, index)] if people.is_block else _element(file, people, index)
    for cut in made:
        comment = _COMMENT_LINE.search(file.text, cut.start, cut.end)
        if comment:
            raise file.odd(comment.end() - 1, "this comment stands in the middle of what has to go")
    return people.each[index], made


def _find(people: People, address: str) -> int | None:
    for index, written in enumerate(people.values):
        try:
            if notation.mailbox(written).address.casefold() == address.casefold():
                return index
        except ValueError:
            continue
    return None


def _line(file: File, people: People, index: int) -> Cut:
    """The lines from its dash on. Where the file ends with them, and without a line end, it still does."""
    element = people.each[index]
    dash = element.separator or people.opening
    if file.indent(dash.start) is None:
        raise file.odd(dash.start, "the subscribers begin on the line of their key")
    start, end = file.line_start(dash.start), file.line_end(element.end)
    return Cut(start if file.break_after(element.end) else file.break_before(start), end)


def _element(file: File, people: People, index: int) -> list[Cut]:
    """It and one comma, with its line if nothing else but a comment is on that."""
    element = people.each[index]
    behind, before = element.separator, people.each[index - 1].separator if index else None
    leads = before is not None and file.same_line(before.end, element.start)
    start = before.start if before and leads and not behind else element.start
    end = behind.end if behind else element.end
    other = [Cut(before.start, before.end)] if before and not behind and start == element.start else []
    if file.indent(start) is not None and file.same_line(element.end, end) and _is_last(file, end):
        return [*other, Cut(file.line_start(start), file.line_end(end))]
    if behind:
        return [_with_the_comma_behind(file, start, end)]
    if other and not file.text[other[0].end : start].strip():  # there is no comment between
        return [Cut(other[0].start, end)]
    return [*other, Cut(start, end)]


def _is_last(file: File, index: int) -> bool:
    """Whether no further token is on that line."""
    return not file.same_line(index, file.start(file.after(index)))


def _with_the_comma_behind(file: File, start: int, end: int) -> Cut:
    """With the space up to what follows on the line; at its end, with the space before."""
    following = file.after(end)
    if not _is_last(file, end) and not isinstance(following, FlowSequenceEndToken):
        return Cut(start, file.start(following))
    before = file.end(file.before(start))
    return Cut(before if file.same_line(before, start) else start, end)
