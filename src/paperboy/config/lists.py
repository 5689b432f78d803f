"""`subscribers.yaml` → `MailingList`s. All problems are reported at once, each with its line and column.

`_Document` reads the text as plain values with their places, `_File` checks their types and ranges, and repeated names
and addresses are found last. A list option is one field of `_List` and one of `MailingList`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import time
from pathlib import Path, PurePosixPath
from typing import Annotated, Any, cast
from zoneinfo import ZoneInfo

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    PlainValidator,
    ValidationError,
    ValidationInfo,
    model_validator,
)
from pydantic_core import ErrorDetails
from ruamel.yaml import YAML
from ruamel.yaml.error import MarkedYAMLError, YAMLError
from ruamel.yaml.nodes import Node, SequenceNode
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
    raise ValueError(f"a list's name has a-z, 0-9 and - inside, up to 63 of them{hint}")


def _category(text: str) -> str:
    if text in CATEGORIES:
        return text
    if text in ARCHIVES_ONLY:
        example = min(category for category in CATEGORIES if category.startswith(f"{text}."))
        raise ValueError(f"{text!r} is a whole archive; name its categories, as {example}")
    start = text.casefold()[: text.find(".") + 2]  # of two letters, the second alone is too little to guess by
    alike = [each for each in CATEGORIES if "." not in text or each.casefold().startswith(start)]
    raise ValueError(f"unknown category {text!r}{did_you_mean(text, alike)}")


def _weekday(text: str) -> int:
    return WEEKDAYS.index(values.one_of(*WEEKDAYS)(text))


def _scalar(read: Callable[[str], Any]) -> PlainValidator:
    """A reader of text that refuses a number such as 700 with its own example."""
    return PlainValidator(lambda value: read(str(value)))


def _topics(text: str, info: ValidationInfo) -> str:
    """The text itself, or that of the file it names. The context holds the folders with prompts."""
    text = text.strip()
    if text.endswith(".md") and "\n" not in text:
        return _topics_file(text, info.context or ())
    if not text:
        raise ValueError("there is nothing in it; say what the list wants to read")
    return text


def _topics_file(name: str, prompts: Sequence[Path]) -> str:
    relative = PurePosixPath(name)
    if relative.is_absolute() or ".." in relative.parts:
        raise ValueError(f"{name!r} is not inside the folder prompts; write it as topics/physics.md")
    for file in (folder / relative for folder in prompts):
        try:
            text = values.read_text(file).strip()
        except FileNotFoundError:
            continue
        except ValueError as error:
            raise ValueError(f"{file} {error}") from None
        if not file.resolve().is_relative_to(file.parents[len(relative.parts) - 1].resolve()):
            raise ValueError(f"{file} is a link that leads out of prompts; put the text itself there")
        if not text:
            raise ValueError(f"{file} is empty; write there what the list wants to read")
        return text
    raise ValueError(f"there is no {name!r} in the home's prompts/; create it, or write the topics here")


_Line = Annotated[str, AfterValidator(one_line)]


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    @model_validator(mode="before")
    @classmethod
    def _without_empty_keys(cls, keys: object) -> object:
        return {key: value for key, value in keys.items() if value is not None} if isinstance(keys, dict) else keys


class _List(_Strict):
    """One list as the file has it."""

    name: Annotated[str, AfterValidator(_name)]
    title: _Line | None = None
    categories: list[Annotated[str, AfterValidator(_category)]] = Field(min_length=1)
    topics: Annotated[str, AfterValidator(_topics)]
    authors: list[_Line] = []
    min_relevance: int = Field(7, ge=1, le=10)
    min_novelty: int = Field(6, ge=1, le=10)
    max_papers: int = Field(50, ge=1, le=10_000)
    send_at: Annotated[time, _scalar(values.time_of_day)] | None = None
    timezone: Annotated[ZoneInfo, _scalar(values.timezone)] | None = None
    weekdays: list[Annotated[int, _scalar(_weekday)]] = Field(sorted(EVERY_DAY), min_length=1)
    cross_lists: bool = True
    send_empty: bool = True
    subscribers: list[str] = []  # read by `_subscribers`, once for all lists that share them


class _File(_Strict):
    lists: list[_List] = Field(min_length=1)


KEYS = tuple(_List.model_fields)
"""The keys that a list may have."""

_WORDS = {  # by pydantic's type of error
    "list_type": "must be a list, as [one, two]",
    "too_short": "must not be empty",
    "string_type": "must be text; put it in quotes",
    "int_type": "must be a whole number",
    "bool_type": "must be true or false",
    "greater_than_equal": "must be at least {ge}",
    "less_than_equal": "must be at most {le}",
    "value_error": "{error}",
}


def _in_words(error: ErrorDetails) -> str:
    path, key = error["loc"], error["loc"][-1] if error["loc"] else ""
    if error["type"] == "extra_forbidden":
        return f"unknown key {key!r}{did_you_mean(str(key), (_File if len(path) == 1 else _List).model_fields)}"
    if error["type"] == "missing":
        return f"this {'file' if len(path) == 1 else 'list'} needs {key!r}"
    if error["type"] == "model_type":
        return "a list must have keys, as 'name: physics'" if path else f"'lists' must be on top: {_SMALLEST}"
    words = _WORDS.get(error["type"], "{msg}").format(msg=error["msg"], **error.get("ctx", {}))
    subject = key if isinstance(key, str) else path[-2] if error["type"] == "value_error" else f"each of {path[-2]}"
    return f"{subject}: {words}"


# --- the file


def load(path: Path, *, prompts: Sequence[Path], send_at: time, timezone: ZoneInfo) -> tuple[MailingList, ...]:
    """The lists of the file, in its order. Raises ConfigError with all that is wrong.

    Topics files are looked for in the folders `prompts`; `send_at` and `timezone` are the defaults of lists.
    """
    try:
        text = values.read_text(path, errors="surrogateescape")
    except FileNotFoundError:
        message = f"there is no such file in {path.parent}; create it, one line is enough to begin: {_SMALLEST}"
        raise ConfigError([Problem(path.name, message)]) from None
    except ValueError as error:
        raise ConfigError([Problem(path.name, str(error))]) from None
    return parse(path.name, text, prompts=prompts, send_at=send_at, timezone=timezone)


def parse(
    file_name: str, text: str, *, prompts: Sequence[Path], send_at: time, timezone: ZoneInfo
) -> tuple[MailingList, ...]:
    """As `load`, of the file's text, where a byte that is not UTF-8 is a lone surrogate."""
    document = _Document(text)
    lists = _validated(document, prompts)
    names: dict[str, _Path] = {}
    people: dict[int, tuple[Subscriber, ...]] = {}  # by the list in the file, which an alias shares
    for path, each in document.lists():
        name, subscribers = each.get("name"), each.get("subscribers")
        if isinstance(name, str):
            document.note_repeated(names, name, (*path, "name"), f"there is a list {name!r} already")
        if id(subscribers) not in people:
            people[id(subscribers)] = _subscribers(document, (*path, "subscribers"), subscribers)
    if document.faults:
        faults = sorted(set(document.faults))
        raise ConfigError([Problem(f"{file_name}:{line}:{column}", message) for line, column, message in faults])
    return tuple(
        MailingList(
            **dict(each)
            | {
                "title": each.title or each.name,
                "categories": tuple(dict.fromkeys(one for named in each.categories for one in all_of(named))),
                "authors": tuple(dict.fromkeys(each.authors)),
                "send_at": each.send_at or send_at,
                "timezone": each.timezone or timezone,
                "weekdays": frozenset(each.weekdays),
                "subscribers": people[id(written.get("subscribers"))],
            }
        )
        for each, (_, written) in zip(lists, document.lists(), strict=True)
    )


def _validated(document: _Document, prompts: Sequence[Path]) -> list[_List]:
    """The lists; none if the schema finds anything wrong."""
    if document.data is None:
        return []
    try:
        return _File.model_validate(document.data, context=prompts).lists
    except ValidationError as error:
        for each in error.errors(include_url=False, include_input=False):
            document.note(each["loc"], _in_words(each), at_key=each["type"] in {"extra_forbidden", "missing"})
    return []


def _subscribers(document: _Document, path: _Path, texts: object) -> tuple[Subscriber, ...]:
    people: list[Subscriber] = []
    seen: dict[str, _Path] = {}
    for index, text in enumerate(texts if isinstance(texts, list) else ()):
        if isinstance(text, str):  # else the schema reports it
            try:
                mailbox = values.mailbox(text)
            except ValueError as error:
                document.note((*path, index), f"subscribers: {error}")
                continue
            people.append(Subscriber(mailbox.address, mailbox.name))
            here = f"{mailbox.address} is on this list already"
            document.note_repeated(seen, mailbox.address.casefold(), (*path, index), here)
    return tuple(people)


# --- YAML

_Path = tuple[str | int, ...]  # from the top: ("lists", 0, "name")

# ruamel.yaml's messages for the usual mistakes, and the same for a person who has not read YAML's grammar.
_PLAIN_WORDS = {
    r"character '\\t'": "a tab; YAML is indented with spaces",
    r"character '(?P<sign>.)' that cannot start": "text that begins with {sign} needs quotes around it",
    r"mapping values are not allowed": "no colon can stand here; fix the indentation, or put quotes around the text",
    r"while scanning a quoted scalar.*": "these quotes are never closed",
    r"while parsing a flow (sequence|mapping)": "this bracket is never closed, or a comma is missing after it",
    r"expected <block end>": "the indentation does not fit the lines above, or quotes end too early",
    r'duplicate key "(?P<sign>.*?)" with': "{sign!r} stands here a second time; remove one",
}
_REPORTED_AT_THEIR_START = ("while scanning a quoted scalar", "while parsing a flow")


class _Document:
    """YAML 1.2 as plain values, and the places where they stand. `7:00` and `yes` are text.

    `data` is None where the text is empty or no YAML. An alias gives the value that its anchor gave.
    """

    def __init__(self, text: str) -> None:
        self.faults: list[tuple[int, int, str]] = []  # line and column from 1, and what is wrong
        self.data: Any = None
        yaml = YAML(typ="safe", pure=True)
        try:
            self._root: Node | None = yaml.compose(text)
            if self._root is not None:
                self.data = yaml.constructor.construct_document(self._root)
        except ReaderError as error:
            before = text[: error.position]
            is_byte = 0xDC80 <= error.character <= 0xDCFF
            forbidden = f"a character that YAML forbids (U+{error.character:04X}); remove it"
            message = "this is not UTF-8 text; save the file as UTF-8" if is_byte else forbidden
            self.faults.append((before.count("\n") + 1, len(before) - before.rfind("\n"), message))
        except MarkedYAMLError as error:
            whole = " ".join(filter(None, (error.context, error.problem)))
            mark = error.context_mark if whole.startswith(_REPORTED_AT_THEIR_START) else error.problem_mark
            matches = ((re.search(pattern, whole), words) for pattern, words in _PLAIN_WORDS.items())
            plain = (words.format(**match.groupdict()) for match, words in matches if match)
            self.faults.append((mark.line + 1, mark.column + 1, next(plain, f"not YAML: {whole}")))
        except (YAMLError, RecursionError, ValueError) as error:  # ValueError: the 31st of June
            self.faults.append((1, 1, f"not YAML: {error}"))
        else:
            if self.data is None:
                self.faults.append((1, 1, _EMPTY))

    def lists(self) -> Iterator[tuple[_Path, Mapping[str, Any]]]:
        """The lists as the file has them, even if others are wrong."""
        lists = self.data.get("lists") if isinstance(self.data, dict) else None
        for index, each in enumerate(lists if isinstance(lists, list) else ()):
            if isinstance(each, dict):
                yield ("lists", index), each

    def note(self, path: _Path, message: str, *, at_key: bool = False) -> None:
        """Adds a fault at the value or its key."""
        self.faults.append((*self._place(path, at_key=at_key), message))

    def note_repeated(self, seen: dict[str, _Path], word: str, path: _Path, message: str) -> None:
        """Adds a fault if the word was seen before; remembers it if not."""
        if (first := seen.setdefault(word, path)) is not path:
            self.note(path, f"{message}, in line {self._place(first)[0]}")

    def _place(self, path: _Path, *, at_key: bool = False) -> tuple[int, int]:
        """Where the value or its key stands; where the path leads to none, the nearest value around it."""
        key = node = self._root
        for part in path:
            if isinstance(node, SequenceNode) and isinstance(part, int):
                key = node = node.value[part]
            elif found := [pair for pair in getattr(node, "value", ()) if pair[0].value == str(part)]:
                key, node = found[-1]  # those that << merges come first
            else:
                break
        mark = cast("Node", key if at_key else node).start_mark
        return mark.line + 1, mark.column + 1
