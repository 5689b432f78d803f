"""`subscribers.yaml` → `MailingList`s. Every problem is reported at once, with its line and column.

Text becomes plain values with their places (`_Document`), which the schema checks (`_File`, `_List`); equal names and
addresses are looked for after it. A list option is one field of `_List` and one of `MailingList`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import time
from pathlib import Path, PurePosixPath
from typing import Annotated, Any, cast
from zoneinfo import ZoneInfo

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, PlainValidator, ValidationError, ValidationInfo
from pydantic_core import ErrorDetails
from ruamel.yaml import YAML
from ruamel.yaml.error import MarkedYAMLError, YAMLError
from ruamel.yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode
from ruamel.yaml.reader import ReaderError

from paperboy.config import values
from paperboy.config.categories import ARCHIVES_ONLY, CATEGORIES, all_of
from paperboy.config.values import did_you_mean, one_line
from paperboy.errors import ConfigError
from paperboy.models import EVERY_DAY, MailingList, Problem, Subscriber

WEEKDAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
_NAME = re.compile(r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?")
_SMALLEST = (
    "lists: [{name: ml, categories: [cs.LG], topics: What you want to read about, subscribers: [you@example.org]}]"
)

_EMPTY = f"the file is empty; one line is enough to begin: {_SMALLEST}"

# --- the schema


def _name(text: str) -> str:
    if _NAME.fullmatch(text):
        return text
    usable = re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")[:63].rstrip("-")
    hint = f", as {usable!r}" if usable else ""
    raise ValueError(f"name: a list's name has a-z, 0-9 and - inside, up to 63 of them{hint}")


def _category(text: str) -> str:
    if text in CATEGORIES:
        return text
    if text in ARCHIVES_ONLY:
        example = min(category for category in CATEGORIES if category.startswith(f"{text}."))
        raise ValueError(f"{text!r} is a whole archive; name its categories, as {example}")
    raise ValueError(f"unknown category {text!r}{did_you_mean(text, CATEGORIES)}")


def _weekday(value: object) -> int:
    word = str(value).lower()
    if word in WEEKDAYS:
        return WEEKDAYS.index(word)
    hint = f", did you mean {word[:3]!r}?" if word[:3] in WEEKDAYS else did_you_mean(word, WEEKDAYS)
    raise ValueError(f"unknown weekday {value!r}{hint or '; write ' + ', '.join(WEEKDAYS)}")


def _time(value: object) -> time:
    if not isinstance(value, str):
        raise ValueError("send_at must be a time of day, as 07:00")  # noqa: TRY004  # pydantic collects ValueErrors
    return values.time_of_day(value)


def _zone(value: object) -> ZoneInfo:
    return values.timezone(str(value))


def _topics(text: str, info: ValidationInfo) -> str:
    """The text itself, or that of the file it names. The context holds the folders with prompts."""
    text = text.strip()
    if text.endswith(".md") and "\n" not in text:
        return _topics_file(text, info.context or ())
    if not text:
        raise ValueError("'topics' is empty; say what the list wants to read")
    return text


def _topics_file(name: str, prompts: Sequence[Path]) -> str:
    relative = PurePosixPath(name)
    if relative.is_absolute() or ".." in relative.parts:
        raise ValueError(f"{name!r} is not inside the folder prompts; write it as topics/physics.md")
    for folder in prompts:
        file = folder / relative
        try:
            if not (file.is_symlink() or file.exists()):
                continue
            if not file.resolve().is_relative_to(folder.resolve()):
                raise ValueError(f"{file} is a link that leads out of {folder}; put the text itself there")
            text = file.read_text("utf-8-sig").strip()
        except UnicodeDecodeError:
            raise ValueError(f"{file} is not UTF-8 text; save it as UTF-8") from None
        except (OSError, RuntimeError) as error:  # RuntimeError: a link to itself
            reason = getattr(error, "strerror", "it is a link to itself")
            raise ValueError(f"{file} cannot be read: {reason}; it must be a file with the topics") from None
        if not text:
            raise ValueError(f"{file} is empty; write there what the list wants to read")
        return text
    raise ValueError(f"there is no {name!r} in the home's prompts/; create it, or write the topics here")


_Line = Annotated[str, AfterValidator(one_line)]


class _List(BaseModel):
    """One list as the file has it."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    name: Annotated[str, AfterValidator(_name)]
    title: _Line | None = None
    categories: list[Annotated[str, AfterValidator(_category)]] = Field(min_length=1)
    topics: Annotated[str, AfterValidator(_topics)]
    authors: list[_Line] = []
    min_relevance: int = Field(7, ge=1, le=10)
    min_novelty: int = Field(6, ge=1, le=10)
    max_papers: int = Field(50, ge=1, le=10_000)
    send_at: Annotated[time, PlainValidator(_time)] | None = None
    timezone: Annotated[ZoneInfo, PlainValidator(_zone)] | None = None
    weekdays: list[Annotated[int, PlainValidator(_weekday)]] = Field(sorted(EVERY_DAY), min_length=1)
    cross_lists: bool = True
    send_empty: bool = True
    subscribers: list[str] = []


class _File(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    lists: list[_List] = Field(min_length=1)


KEYS = tuple(_List.model_fields)
"""The keys that a list may have."""


# --- the file


def load(path: Path, *, prompts: Sequence[Path], send_at: time, timezone: ZoneInfo) -> tuple[MailingList, ...]:
    """The lists of the file, in its order. Raises ConfigError with all that is wrong.

    Topics files are looked for in the folders `prompts`; `send_at` and `timezone` are the defaults of lists.
    """
    return parse(path.name, _text(path), prompts=prompts, send_at=send_at, timezone=timezone)


def _text(path: Path) -> str:
    """The text of the file, without a byte order mark. Raises ConfigError."""
    data = b""
    try:
        data = path.read_bytes()
        return data.decode("utf-8-sig")
    except FileNotFoundError:
        message = f"there is no such file in {path.parent}; create it, one line is enough to begin: {_SMALLEST}"
    except IsADirectoryError:
        message = "is a folder; put a file in its place"
    except OSError as error:
        message = f"cannot be read: {error.strerror}; it must be a file that Paperboy's user may read"
    except UnicodeDecodeError as error:
        before = data[: error.start].decode("utf-8-sig", "replace")
        place = f"{path.name}:{before.count(chr(10)) + 1}:{len(before) - before.rfind(chr(10))}"
        raise ConfigError([Problem(place, "this is not UTF-8 text; save the file as UTF-8")]) from None
    raise ConfigError([Problem(path.name, message)])


def parse(
    file_name: str, text: str, *, prompts: Sequence[Path], send_at: time, timezone: ZoneInfo
) -> tuple[MailingList, ...]:
    """As `load`, of the file's text."""
    document = _Document(text)
    lists = _validated(document, prompts)
    people: dict[int, tuple[Subscriber, ...]] = {}  # by the written ones, which lists may share
    for path, each in document.lists():
        if id(each.get("subscribers")) not in people:
            people[id(each.get("subscribers"))] = _subscribers(document, path, each)
    _note_equal_names(document)
    if document.faults:
        faults = sorted(set(document.faults))
        raise ConfigError([Problem(f"{file_name}:{line}:{column}", message) for line, column, message in faults])
    return tuple(
        _mailing_list(each, people[id(written.get("subscribers"))], send_at, timezone)
        for each, (_, written) in zip(lists, document.lists(), strict=True)
    )


def _mailing_list(
    written: _List, subscribers: tuple[Subscriber, ...], send_at: time, timezone: ZoneInfo
) -> MailingList:
    fields = dict(written) | {
        "title": written.title or written.name,
        "categories": tuple(dict.fromkeys(each for named in written.categories for each in all_of(named))),
        "authors": tuple(dict.fromkeys(written.authors)),
        "send_at": written.send_at or send_at,
        "timezone": written.timezone or timezone,
        "weekdays": frozenset(written.weekdays),
        "subscribers": subscribers,
    }
    return MailingList(**fields)


def _validated(document: _Document, prompts: Sequence[Path]) -> list[_List]:
    """The lists; none if the schema finds anything wrong."""
    if document.data is None:
        return []
    try:
        return _File.model_validate(document.data, context=prompts).lists
    except ValidationError as error:
        errors = error.errors(include_url=False, include_input=False)
    unknown = {e["loc"]: _unknown(e["loc"]) for e in errors if e["type"] == "extra_forbidden"}
    meant = {(*path[:-1], key) for path, message in unknown.items() for key in _keys(path) if f"{key!r}?" in message}
    for e in errors:
        path = e["loc"]
        if path in unknown:
            document.note(path, unknown[path], at_key=True)
        elif e["type"] == "missing" and document.has_key(path):
            document.note(path, f"{path[-1]!r} is empty", at_key=True)
        elif path not in meant:  # a key that is missing because it is misspelt has been reported already
            document.note(path, _in_words(e))
    return []


def _keys(path: _Path) -> list[str]:
    return list((_File if len(path) == 1 else _List).model_fields)


def _unknown(path: _Path) -> str:
    return f"unknown key {path[-1]!r}{did_you_mean(str(path[-1]), _keys(path))}"


def _in_words(error: ErrorDetails) -> str:
    path, context = error["loc"], error.get("ctx", {})
    key = next((part for part in reversed(path) if isinstance(part, str)), "")
    subject = f"each of {key}" if path and isinstance(path[-1], int) else key
    if error["type"] == "value_error":
        message = str(context["error"])
        return f"{key}: {message}" if message.startswith(("it holds", "there is nothing")) else message
    what = {
        "missing": f"this {'list' if len(path) > 1 else 'file'} needs {key!r}",
        "model_type": "a list must have keys, as 'name: physics'" if key else f"'lists' must be on top: {_SMALLEST}",
        "list_type": f"{key} must be a list, as [one, two]",
        "too_short": f"{key} must not be empty",
        "string_type": f"{subject} must be text; put it in quotes",
        "int_type": f"{key} must be a whole number",
        "bool_type": f"{key} must be true or false",
        "greater_than_equal": f"{key} must be at least {context.get('ge')}",
        "less_than_equal": f"{key} must be at most {context.get('le')}",
    }
    return what.get(error["type"], f"{key}: {error['msg']}")


def _note_equal_names(document: _Document) -> None:
    first: dict[str, _Path] = {}
    for path, each in document.lists():
        name = each.get("name")
        if isinstance(name, str) and first.setdefault(name, path) is not path:
            line = document.line((*first[name], "name"))
            document.note((*path, "name"), f"there is a list {name!r} already, in line {line}")


def _subscribers(document: _Document, path: _Path, written: Mapping[str, Any]) -> tuple[Subscriber, ...]:
    people: dict[str, tuple[Subscriber, _Path]] = {}
    texts = written.get("subscribers")
    for index, text in enumerate(texts if isinstance(texts, list) else ()):
        here = (*path, "subscribers", index)
        try:
            mailbox = values.mailbox(str(text))
        except ValueError as error:
            if isinstance(text, str):  # else the schema reports it
                document.note(here, str(error))
            continue
        subscriber = Subscriber(mailbox.address, mailbox.name)
        _, first = people.setdefault(mailbox.address.casefold(), (subscriber, here))
        if first is not here:
            document.note(here, f"{mailbox.address} is on this list already, in line {document.line(first)}")
    return tuple(subscriber for subscriber, _ in people.values())


# --- YAML

_Path = tuple[str | int, ...]  # from the top: ("lists", 0, "name")
_Fault = tuple[int, int, str]  # line and column from 1, and what is wrong

_DEEPEST = 20
_MOST_MERGED = 100  # keys: more of them, merged again and again, would fill the memory

_TAG = "tag:yaml.org,2002:"
_FORBIDDEN = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x84\x86-\x9f\ud800-\udfff]")

# What ruamel.yaml says, and what a person who has not read YAML's grammar can do about it.
_PLAIN_WORDS = (
    (r"character '\\t'", "a tab; YAML is indented with spaces"),
    (r"character '(?P<sign>.)' that cannot start", "text that begins with {sign} needs quotes around it"),
    (r"mapping values are not allowed", "no colon can stand here; fix the indentation, or put quotes around the text"),
    (r"sequence entries are not allowed", "a list cannot begin here; put its first - on a line of its own"),
    (r"while scanning a quoted scalar.*", "these quotes are never closed"),
    (r"while parsing a flow (sequence|mapping)", "this bracket is never closed, or a comma is missing after it"),
    (r"could not find expected ':'", "a colon is missing in the line before"),
    (r"expected <block end>", "the indentation does not fit the lines above, or quotes end too early"),
    (r"undefined alias (?P<sign>.*)", "the alias {sign} has no anchor above it"),
    (r"found another document", "a second document begins here; remove the line ---"),
    (r"maximum depth", "nested too deeply"),
)
_REPORTED_AT_THEIR_START = ("while scanning a quoted scalar", "while parsing a flow")


def _compose(text: str) -> Node | _Fault:
    """YAML's nodes, which know where they stand; or why there are none."""
    yaml = YAML(typ="safe", pure=True)
    yaml.composer.warn_double_anchors = False
    yaml.max_depth = _DEEPEST
    try:
        node: Node | None = yaml.compose(text)
    except ReaderError as error:
        before = text[: error.position]
        message = f"a character that YAML forbids (U+{error.character:04X}); remove it"
        return before.count("\n") + 1, len(before) - before.rfind("\n"), message
    except MarkedYAMLError as error:
        return _in_plain_words(error)
    except (YAMLError, RecursionError) as error:
        return 1, 1, f"not YAML: {error}"
    return node or (1, 1, _EMPTY)


def _in_plain_words(error: MarkedYAMLError) -> _Fault:
    whole = " ".join(filter(None, (error.context, error.problem)))
    mark = error.problem_mark or error.context_mark
    if error.context_mark is not None and whole.startswith(_REPORTED_AT_THEIR_START):
        mark = error.context_mark
    matches = ((re.search(pattern, whole), words) for pattern, words in _PLAIN_WORDS)
    message = next((words.format(**match.groupdict()) for match, words in matches if match), f"not YAML: {whole}")
    return (mark.line + 1, mark.column + 1, message) if mark is not None else (1, 1, message)


class _Document:
    """YAML text as dicts, lists, text, numbers and bools, and the places where they stand.

    `data` is None where the text is empty or no YAML. Read from nodes, so that every duplicate key is reported and not
    the first alone. An alias gives the value that its anchor gave: it cannot multiply, nor loop. YAML 1.2: `7:00` and
    `yes` are text. A key without a value is left out.
    """

    def __init__(self, text: str) -> None:
        self.faults: list[_Fault] = []
        self._made: dict[int, Any] = {}  # by node
        self._own: dict[int, dict[str | int, tuple[Node, Node]]] = {}  # a mapping's keys without those that << merges
        self._root = _compose(text)
        self.data = self._plain(self._root) if isinstance(self._root, Node) else None
        if not isinstance(self._root, Node):
            self.faults.append(self._root)
        elif self.data is None:
            self._fault(self._root, _EMPTY)

    def lists(self) -> Iterator[tuple[_Path, Mapping[str, Any]]]:
        """The lists as the file has them, even if others are wrong."""
        lists = self.data.get("lists") if isinstance(self.data, dict) else None
        for index, each in enumerate(lists if isinstance(lists, list) else ()):
            if isinstance(each, dict):
                yield ("lists", index), each

    def line(self, path: _Path) -> int:
        return _place(self._walk(path)[1])[0]

    def has_key(self, path: _Path) -> bool:
        return self._walk(path)[0] is not None

    def note(self, path: _Path, message: str, *, at_key: bool = False) -> None:
        """Adds a fault at the value or its key; where there is none, at the nearest value around it."""
        key, node = self._walk(path)
        self._fault(key if at_key and key else node, message)

    def _walk(self, path: _Path) -> tuple[Node | None, Node]:
        """The key and the value at the path; no key and the nearest value around it, where the path leads to none."""
        key, node = None, cast("Node", self._root)
        for part in path:
            if isinstance(node, SequenceNode) and isinstance(part, int):
                key, node = None, node.value[part]
            elif part in self._own.get(id(node), ()):
                key, node = self._own[id(node)][part]
            else:
                return None, node
        return key, node

    def _plain(self, node: Node) -> Any:
        made = self._made.get(id(node))
        if made is None and isinstance(node, MappingNode):
            made = self._made[id(node)] = {}
            self._fill(made, node)
        elif made is None and isinstance(node, SequenceNode):
            made = self._made[id(node)] = []
            made += map(self._plain, node.value)
        return self._scalar(node) if made is None else made

    def _fill(self, pairs: dict[str, Any], node: MappingNode) -> None:
        own = self._own[id(node)] = {}
        merged: list[Node] = []
        for key, child in node.value:
            if key.tag == f"{_TAG}merge":
                merged += child.value if isinstance(child, SequenceNode) else [child]
            elif not isinstance(key, ScalarNode):
                self._fault(key, "a key must be plain text")
            elif key.value in own:
                line, _ = _place(own[key.value][0])
                self._fault(key, f"{key.value!r} stands here a second time, first in line {line}; remove one")
            else:
                own[key.value] = key, child
                pairs[key.value] = self._plain(child)
        for source in {id(source): source for source in merged}.values():
            found = self._plain(source)
            if isinstance(found, dict) and len(found) <= _MOST_MERGED:
                pairs |= found | pairs
            else:
                self._fault(source, f"<< needs the alias of keys and values, of {_MOST_MERGED} at most")
        for name in [name for name, value in pairs.items() if value is None]:
            del pairs[name]

    def _scalar(self, node: Node) -> Any:
        kind, text = str(node.tag).removeprefix(_TAG), str(node.value)
        if _FORBIDDEN.search(text):
            self._fault(node, "the text holds a control character; remove it")
        if kind in {"null", "bool"}:
            return None if kind == "null" else text.lower() == "true"
        try:
            return {"int": int, "float": float}.get(kind, str)(text)
        except ValueError:  # `0x1F`, `.inf`: nobody means such a number here
            return text

    def _fault(self, node: Node, message: str) -> None:
        self.faults.append((*_place(node), message))


def _place(node: Node) -> tuple[int, int]:
    return node.start_mark.line + 1, node.start_mark.column + 1
