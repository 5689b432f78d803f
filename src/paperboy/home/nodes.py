"""YAML nodes that know their places, with every scalar as text: `7:00`, `no` and `2024` stay as
they are.

libyaml composes 100,000 addresses in a third of a second. Without it, PyYAML's own parser gives the
same values and places, but other sentences for some errors. Neither merges `<<` nor resolves tags:
that happens here, on the nodes.
"""

import re
from typing import Any

import yaml
from yaml.error import MarkedYAMLError
from yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

Entries = dict[str, tuple[ScalarNode, Node]]  # by the key's text: the key and the value

_FORBIDDEN = re.compile(
    "[^\t\n\r -~\x85\xa0-\ud7ff\ue000-\ufefe\uff00-\ufffd\U00010000-\U0010ffff]"
)
_NO_BREAK = re.compile(r"[\xa0\u2007\u202f]")
_NO_BREAK_INDENT = re.compile(r"^[ \t]*([\xa0\u2007\u202f])", re.MULTILINE)
# Where a value begins, these can only be meant as quotes.
_QUOTE = re.compile(r"^\s*([“”„‟‘’‚‛])")
_QUOTE_IN_LINE = re.compile(r"(?:^|[:,\[{-])\s*([“”„‟‘’‚‛])")
_BLANKS = dict.fromkeys((0x85, 0x2028, 0x2029), " ")  # line ends in YAML, but in no editor
_NULL = {"", "~", "null", "Null", "NULL"}
_DEEPEST = 50  # levels of lists and mappings; libyaml would crash at some 30,000
_TOO_DEEP = "nested too deeply; a list needs three levels"

# Messages of libyaml and PyYAML for the usual mistakes, and the same in plain words. `sign` is taken
# from the text.
_PLAIN_WORDS = {
    r"nesting depth": _TOO_DEEP,
    r"tab character": "a tab; YAML is indented with spaces",
    r"cannot start any token": "text that begins with {sign} needs quotes",
    r"mapping values are not allowed": "a colon is not allowed here; fix the indentation, or put the text in quotes",
    r"escape|hexdec": "a backslash has a meaning in double quotes; write it twice, or use single quotes",
    r"quoted scalar": "these quotes are never closed",
    r"while parsing a flow": "this bracket is never closed, or a comma is missing after it",
    r"parsing a block (collection|mapping)": (
        "the indentation does not match the lines above, or quotes or a bracket end too early"
    ),
    r"could not find expected ':'": "this is neither 'key: value' nor '- item'; a space follows the colon or the dash",
    r"sequence entries are not allowed": "a dash begins a line of its own; or put the text in quotes",
    r"undefined alias": "there is no anchor of this name; text that begins with * needs quotes",
    r"duplicate anchor": "there is already an anchor of this name; give this one another",
    r"scanning an a(lias|nchor)": "text that begins with {sign} needs quotes",
    r"another document|<document start>": "this line begins another document; remove it",
}
_UNCLOSED = re.compile(
    "while (scanning a (.*quoted|simple key)|scanning an a|parsing a (quoted|flow))"
)


class MalformedError(ValueError):
    """Fault in YAML, or YAML that nobody would write: its place, counted from 1, and the fix."""

    def __init__(self, line: int, column: int, message: str) -> None:
        super().__init__(message)
        self.line = line
        self.column = column


_Parser: Any = getattr(yaml, "CBaseLoader", yaml.BaseLoader)


class _Loader(_Parser):  # type: ignore[misc]  # either of two
    _depth = 0

    def descend_resolver(self, current_node: Node | None, _: object) -> None:
        """Enter a node's value. Raises MalformedError."""
        self._depth += 1
        if current_node and self._depth > _DEEPEST:
            raise malformed(current_node, _TOO_DEEP)

    def ascend_resolver(self) -> None:
        """Leave a node's value."""
        self._depth -= 1


def compose(text: str) -> Node | None:
    """Return the root of a text without byte order mark; None if it is empty. Raises
    MalformedError.
    """
    if match := _FORBIDDEN.search(text):
        before = text[: match.start()]
        message = f"a character that YAML forbids (U+{ord(match[0]):04X}); remove it"
        raise MalformedError(before.count("\n") + 1, len(before) - before.rfind("\n"), message)

    try:
        root: Node | None = yaml.compose(text.translate(_BLANKS), Loader=_Loader)
        if root is not None:
            _check(root, set())
    except MarkedYAMLError as error:
        raise _in_plain_words(error, text) from None

    return root


def lookalike(text: str, *, is_line: bool = False) -> str:
    """Return the end of a message about a value, or a line, with a no-break space or a typographic
    quote, which YAML takes for letters; empty if it has none.
    """
    if blank := _NO_BREAK.search(text):
        return f" (there is a no-break space, U+{ord(blank[0]):04X}: write an ordinary one)"
    quote = (_QUOTE_IN_LINE if is_line else _QUOTE).search(text)
    return f" ({quote[1]} is a typographic quote: write ' or \")" if quote else ""


def place(node: Node) -> tuple[int, int]:
    """Return line and column of a node, from 1."""
    return node.start_mark.line + 1, node.start_mark.column + 1


def malformed(node: Node, message: str) -> MalformedError:
    """Return an error at a node."""
    return MalformedError(*place(node), message)


def is_null(node: Node) -> bool:
    """Check whether a node is empty, or a plain `null`."""
    return isinstance(node, ScalarNode) and not node.style and node.value in _NULL


def entries(node: MappingNode) -> Entries:
    """Return a mapping's entries, without empty ones."""
    return {key.value: (key, value) for key, value in node.value if not is_null(value)}


def as_scalar(text: str) -> str:
    """Return a line of text as a scalar for any place, in single quotes if it needs them."""
    try:
        root = compose(f"[{text}]")
    except MalformedError:
        root = None

    items = root.value if isinstance(root, SequenceNode) else []
    if [item.value for item in items] == [text] and not is_null(items[0]) and not items[0].style:
        return text
    return "'" + text.replace("'", "''") + "'"


def _check(node: Node, seen: set[Node]) -> None:
    """Merge `<<` in all mappings of a node. Raises MalformedError for unusual keys."""
    if node in seen:
        return
    seen.add(node)
    if isinstance(node, SequenceNode):
        for item in node.value:
            _check(item, seen)
    elif isinstance(node, MappingNode):
        for pair in node.value:
            for part in pair:
                _check(part, seen)
        _merge(node)


def _merge(node: MappingNode) -> None:
    """Put the keys that `<<` names before a mapping's own. Raises MalformedError, also for a
    duplicate key.
    """
    own = Entries()
    merged = Entries()
    for key, value in node.value:
        if not isinstance(key, ScalarNode):
            raise malformed(key, "text that begins with a bracket needs quotes")
        if key.value in own:
            raise malformed(key, f"{key.value!r} is given twice; remove one")
        own[key.value] = key, value

    if "<<" not in own or own["<<"][0].style:
        return

    _, merge = own.pop("<<")
    for source in reversed(merge.value) if isinstance(merge, SequenceNode) else [merge]:
        if not isinstance(source, MappingNode):
            fix = "name its anchor, such as *physics"
            raise malformed(merge, f"<< merges the keys of a list; {fix}")
        merged |= {key.value: (key, value) for key, value in source.value}

    node.value = list((merged | own).values())


def _in_plain_words(error: MarkedYAMLError, text: str) -> MalformedError:
    """Return the parser's error at its mark, in plain words if it is a usual one."""
    reason = f"{error.context or ''} {error.problem or ''}"
    mark: Any = error.problem_mark or error.context_mark
    if error.context_mark and _UNCLOSED.match(reason) and "tab character" not in reason:
        mark = error.context_mark

    rest = text[mark.index :]
    if rest.startswith("\t"):
        reason = "tab character"

    message = f"not YAML: {' '.join(reason.split())}; put the text in quotes"
    for pattern, plain_words in _PLAIN_WORDS.items():
        if re.search(pattern, reason):
            message = plain_words.replace("{sign}", rest[:1])
            break

    if blank := _NO_BREAK_INDENT.search(text, 0, mark.index + 1):
        line = text.count("\n", 0, blank.start(1))
        column = blank.start(1) - blank.start()
        message = f"a no-break space (U+{ord(blank[1]):04X}) does not indent: write an ordinary one"
        return MalformedError(line + 1, column + 1, message)

    lines = text.split("\n")
    for culprit in (mark, error.context_mark or mark):
        if hint := lookalike("".join(lines[culprit.line : culprit.line + 1]), is_line=True):
            return MalformedError(culprit.line + 1, culprit.column + 1, message + hint)

    return MalformedError(mark.line + 1, mark.column + 1, message)


# --- files that it names


def files_named(text: str, key: str, name: str) -> list[str]:
    """Return the files that a key names whose names match the pattern `name`, without the cost of
    parsing the text. Files that only YAML's syntax could name are refused.
    """
    if key not in text:
        return []
    # The comments before are matched so that a key within them is not.
    named = re.compile(
        rf"^[ \t]*#[^\r\n]*|\b{key}[\"']?\s*:\s*(?:&\S+\s+)?[\"']?({name})(?![\w/-])",
        re.MULTILINE,
    )
    return list(dict.fromkeys(filter(None, named.findall(text))))


def is_file_name(text: str, name: str) -> bool:
    """Check whether a text matches that pattern and stays within the home."""
    return bool(re.fullmatch(name, text)) and ".." not in text.split("/")
