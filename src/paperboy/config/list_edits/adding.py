"""Where a new subscriber is written, and how. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from ruamel.yaml.nodes import MappingNode, ScalarNode, SequenceNode
from ruamel.yaml.tokens import BlockEntryToken, FlowEntryToken, FlowMappingStartToken, ScalarToken

from paperboy.config import yaml_document
from paperboy.config.list_edits.file import SUBSCRIBERS, Cut, File, Key, People

_USUAL_INDENT = 2
_JSON = '"'  # the quotes that it has


def in_yaml(text: str, quote: str = "") -> str:
    """The text as YAML reads it back, between brackets too: with those quotes if it can be, else as it is, in quotes
    where it needs them, or with what no file may hold in escapes.
    """
    ways = {
        "": text,
        "'": "'" + text.replace("'", "''") + "'",
        '"': '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"',
    }
    for candidate in (ways[quote], ways[""], ways["'"]):
        if yaml_document.parse(f"- {candidate}\n- [{candidate}, {candidate}]").values == [text, [text, text]]:
            return candidate
    return '"' + "".join(sign if " " <= sign <= "~" and sign not in '"\\' else _escaped(sign) for sign in text) + '"'


def _escaped(sign: str) -> str:
    return f"\\U{ord(sign):08X}"


def quote(file: File, entry: MappingNode) -> str:
    """The quotes that a new subscriber gets between brackets: those of the one before; of the keys, where it is the
    first, as in JSON.
    """
    key = file.key(entry, SUBSCRIBERS)
    if key is None or not isinstance(key.node, SequenceNode) or not key.node.value:
        return _JSON if _is_json(entry) else ""
    last = key.node.value[-1]
    is_quoted = key.node.flow_style and isinstance(last, ScalarNode) and last.style in {"'", _JSON}
    return str(last.style) if is_quoted else ""


def _is_json(entry: MappingNode) -> bool:
    return _is_flow(entry) and all(key.style == _JSON for key, _ in entry.value)


def cuts(file: File, entry: MappingNode, written: str) -> list[Cut]:
    """What to change in the file, so that the list has this subscriber as its last. Raises OddError."""
    key = file.key(entry, SUBSCRIBERS)
    if key is None:
        return [_with_a_key(file, entry, written)]
    if isinstance(key.node, ScalarNode):
        return [_in_place_of_nothing(file, entry, key, written)]
    people = file.people(key)
    return [_below(file, people, written)] if people.is_block else _between_brackets(file, key, people, written)


def _below(file: File, people: People, written: str) -> Cut:
    """A line of its own behind that of the last one, indented as that is."""
    last = people.each[-1]
    dash = last.separator or people.opening
    indent = file.indent(dash.start)
    if indent is None:
        raise file.odd(dash.start, "the subscribers begin on the line of their key")
    gap = file.text[dash.end : last.start]
    return _line(file, last.end, f"{indent}-{' ' if gap.strip(' ') else gap}{written}")


def _line(file: File, index: int, *lines: str) -> Cut:
    """New lines below the one on which that place is. A file without a line end at its end stays so."""
    place, end = file.line_end(index), file.break_after(index)
    usual = end or file.usual_break()
    return Cut(place, place, "".join(line + end if end else usual + line for line in lines))


def _between_brackets(file: File, key: Key, people: People, written: str) -> list[Cut]:
    """Behind the last one: on its line, or on a line of its own if the last one has one."""
    if not people.each:
        return [Cut(people.opening.end, people.opening.end, written)]
    last = people.each[-1]
    comma, trailing = ("", ",") if last.separator else (",", "")
    end = last.separator.end if last.separator else last.end
    indent = file.indent(last.start)
    if indent is None:
        return [Cut(end, end, f"{comma} {written}{trailing}")]
    usual = file.usual_break()
    if file.same_line(end, key.node.end_mark.index):  # the closing bracket follows at once
        return [Cut(end, end, f"{comma}{usual}{indent}{written}{trailing}")]
    return [Cut(end, end, comma), _line(file, end, f"{indent}{written}{trailing}")]


def _in_place_of_nothing(file: File, entry: MappingNode, key: Key, written: str) -> Cut:
    """Behind a key that has nothing behind it, or `~`."""
    node, first = key.node, key.first
    if node.start_mark.index < node.end_mark.index:
        is_alone = isinstance(first, ScalarToken) and file.start(first) == node.start_mark.index
        if str(node.tag) != "tag:yaml.org,2002:null" or not is_alone:
            raise file.odd(key.start, "the subscribers are written in an uncommon way")
        return Cut(file.start(first), file.end(first), f"[{written}]")
    if _is_flow(entry):
        return Cut(key.colon.end, key.colon.end, f" [{written}]")
    return _line(file, key.colon.end, f"{' ' * (key.column + _offset(file, entry))}- {written}")


def _with_a_key(file: File, entry: MappingNode, written: str) -> Cut:
    """A key behind the list's last one."""
    if _is_flow(entry):
        last = file.before(entry.end_mark.index - 1)
        comma = "" if isinstance(last, FlowEntryToken | FlowMappingStartToken) else ","
        name = f'"{SUBSCRIBERS}"' if _is_json(entry) else SUBSCRIBERS
        return Cut(file.end(last), file.end(last), f"{comma} {name}: [{written}]")
    column = entry.value[0][0].start_mark.column
    last = file.between(entry.start_mark.index, entry.end_mark.index)[-1]
    below = " " * (column + _offset(file, entry))
    return _line(file, file.end(last), f"{' ' * column}{SUBSCRIBERS}:", f"{below}- {written}")


def _is_flow(entry: MappingNode) -> bool:
    return bool(entry.flow_style)


def _offset(file: File, entry: MappingNode) -> int:
    """How far right of its key a dash stands in this list; else in the others; else below `lists`."""
    return next(_offsets(file, entry), _USUAL_INDENT)


def _offsets(file: File, entry: MappingNode) -> Iterator[int]:
    for each in (entry, *file.entries(), file.root):
        for name, value in each.value:
            key = file.key(each, name.value) if isinstance(value, SequenceNode) else None
            if key is not None and isinstance(key.first, BlockEntryToken):
                yield int(key.first.start_mark.column) - key.column
