"""`subscribers.yaml` → `MailingList`s. All problems are reported at once, each with its line and column.

ruamel.yaml reads the text as plain values, and as nodes that know their places; `_File` checks types and ranges, and
repeated names and addresses are found last. A list option is one field of `_List` and one of `MailingList`.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import time
from functools import cache, partial
from itertools import islice
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import urlsplit
from zoneinfo import ZoneInfo

from pydantic import AfterValidator, BaseModel, Field, PlainValidator, ValidationError, ValidationInfo, model_validator
from pydantic_core import ErrorDetails
from ruamel.yaml import YAML
from ruamel.yaml.composer import ComposerError
from ruamel.yaml.error import MarkedYAMLError, YAMLError
from ruamel.yaml.nodes import MappingNode, Node, SequenceNode
from ruamel.yaml.reader import ReaderError

from paperboy import files
from paperboy.config import values
from paperboy.config.blocks import Blocks
from paperboy.config.categories import ARCHIVES_ONLY, CATEGORIES, all_of
from paperboy.config.people import People, file_name, named
from paperboy.config.settings import Settings
from paperboy.config.values import did_you_mean, one_line
from paperboy.errors import ConfigError
from paperboy.models import Keywords, MailingList, Problem, Subscriber

WEEKDAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
_NAME = re.compile(r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?")
_MOST_BYTES = 32_000_000  # of the file, such as 600,000 addresses, which take about a minute and 600 MB
_SMALLEST = (
    "lists: [{name: ml, categories: [cs.LG], topics: What you want to read about, subscribers: [you@example.org]}]"
)

# --- the schema


def _name(text: str) -> str:
    if _NAME.fullmatch(text):
        return text
    raise ValueError("must be at most 63 of a-z, 0-9 and inner -, such as 'big-ideas'")


def _category(text: str) -> str:
    if text in CATEGORIES:
        return text
    if text in ARCHIVES_ONLY:
        example = min(category for category in CATEGORIES if category.startswith(f"{text}."))
        raise ValueError(f"{text!r} is a whole archive; name its categories, such as {example}")
    start = text.casefold()[: text.find(".") + 3]  # two letters after the dot: one alone is too little to guess by
    alike = [each for each in CATEGORIES if "." not in text or each.casefold().startswith(start)]
    hint = did_you_mean(text, alike) or "; they are listed at arxiv.org/category_taxonomy"
    raise ValueError(f"unknown category {text!r}{hint}")


def _weekday(text: str) -> int:
    return WEEKDAYS.index(values.one_of(*WEEKDAYS)(text))


def _scalar(read: Callable[[str], Any]) -> PlainValidator:
    """A reader of text that refuses a number such as 700 with its own example."""
    return PlainValidator(lambda value: read(str(value)))


def _topics(text: str, info: ValidationInfo[Callable[[str], str]]) -> str:
    """The text itself, or that of the file it names, which the context reads."""
    name = text.strip()
    if not name:
        raise ValueError("is empty; say what the list wants to read")
    if re.fullmatch(r"\S+/\S+|\S+\.txt", name) and not name.endswith(".md"):
        raise ValueError(f"{name!r} is no file that ends in .md, nor a sentence; name such a file, or write the topics")
    return info.context(name) if _names_a_file(name) else name


def _names_a_file(topics: str) -> bool:
    return topics.endswith(".md") and "\n" not in topics


def _topics_file_of(keys: Mapping[str, Any]) -> str:
    name = str(keys.get("topics") or "").strip()
    return name if _names_a_file(name) else ""


def topics_file(name: str, folders: Sequence[Path], existing: Callable[[], Iterable[str]] = tuple) -> str:
    """The text of a topics file, from the first folder that has it. Raises ValueError, with a suggestion if it can be
    one of the `existing` files.
    """
    for folder in folders:
        file = folder / name
        if not Path(os.path.realpath(file)).is_relative_to(folder.resolve()):
            raise ValueError(f"{name!r} is outside the folder prompts; put a file there, such as topics/physics.md")
        try:
            text = files.read_text(file).strip()
        except FileNotFoundError:
            continue
        except ValueError as error:
            raise ValueError(f"{file} {error}") from None
        if not text:
            raise ValueError(f"{file} is empty; write there what the list wants to read")
        return text
    inner = name.removeprefix("prompts/")
    if inner != name:
        raise ValueError(f"leave out prompts/, the folder where such files are looked for: write {inner}")
    meant = did_you_mean(name, existing(), cutoff=0.8)  # folder and .md alone make two names half alike
    fix = meant or "; create it, or write the topics here"
    raise ValueError(f"there is no {name!r} in the home's prompts/{fix}")


def _topics_files(folders: Sequence[Path]) -> list[str]:
    """What `topics` may name; of thousands only some, since each is compared with each misspelt name."""
    found = ((folder, file) for folder in folders for file in folder.rglob("*.md"))
    return [file.relative_to(folder).as_posix() for folder, file in islice(found, 500)]


def _webhook(text: str) -> str:
    try:
        address = one_line(text)
        values.url(address.partition("?")[0])
    except ValueError:
        address = ""
    if not address.startswith("https://") and not values.is_loopback(urlsplit(address).hostname or ""):
        raise ValueError("must be a full https URL, such as https://hooks.slack.com/services/…")  # without the secret
    return address


def _all_of(names: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(one for name in names for one in all_of(name)))


_Line = Annotated[str, AfterValidator(one_line)]
_EachOnce = AfterValidator(lambda lines: tuple(dict.fromkeys(lines)))
_Lines = Annotated[list[Annotated[_Line, Field(min_length=1)]], _EachOnce]
_Authors = Annotated[list[Annotated[str, AfterValidator(values.author)]], _EachOnce]
_CategoryNames = Annotated[list[Annotated[str, AfterValidator(_category)]], AfterValidator(_all_of)]
_Categories = Annotated[_CategoryNames, Field(min_length=1)]
_Weekdays = Annotated[list[Annotated[int, _scalar(_weekday)]], Field(min_length=1), AfterValidator(frozenset)]


class _Strict(BaseModel, extra="forbid", strict=True):
    @model_validator(mode="before")
    @classmethod
    def _without_empty_keys(cls, keys: object) -> object:
        return {str(key): value for key, value in keys.items() if value is not None} if isinstance(keys, dict) else keys


def _keywords(words: Sequence[str]) -> Sequence[str]:
    for word in words:
        if not any(map(str.isalnum, word)):
            raise ValueError(f"{word!r} has no letter and no digit, so no paper has it as a word")
    return words


class _Keywords(_Strict):
    must: Annotated[_Lines, AfterValidator(_keywords)] = []
    never: Annotated[_Lines, AfterValidator(_keywords)] = []


class _List(_Strict):
    """One list as the file has it; an option that the file leaves out has the default of `MailingList`."""

    name: Annotated[str, AfterValidator(_name)]
    title: _Line = ""
    categories: _Categories
    topics: Annotated[str, AfterValidator(_topics), Field(max_length=100_000)] = ""  # needed where no authors stand
    authors: _Authors = []
    language: Annotated[str, AfterValidator(values.language)] = "en"
    min_relevance: int = Field(0, ge=1, le=10)
    min_novelty: int = Field(0, ge=1, le=10)
    max_papers: int = Field(0, ge=1, le=10_000)
    send_at: Annotated[time, _scalar(values.time_of_day)] | None = None
    timezone: Annotated[ZoneInfo, _scalar(values.timezone)] | None = None
    weekdays: _Weekdays = []
    cross_lists: bool = True
    send_empty: bool = True
    exclude: _CategoryNames = []
    keywords: Annotated[_Keywords, AfterValidator(lambda given: Keywords(given.must, given.never))] = _Keywords()
    paused: bool = False
    archive: Annotated[str, AfterValidator(values.one_of("none", "link", "public", "indexed"))] = "link"
    open: bool = False
    webhook: Annotated[str, AfterValidator(_webhook)] = ""
    webhook_format: Annotated[str, AfterValidator(values.one_of("json", "slack"))] = "json"
    subscribers: list[str] = []  # read by `_subscribers`, once for all lists that share them
    subscribers_file: Annotated[str, AfterValidator(file_name)] = ""


class _File(_Strict):
    lists: list[_List] = Field(min_length=1)


KEYS = tuple(_List.model_fields)  # that a list may have

_WORDS = {  # by pydantic's type of error
    "list_type": "must be a list, such as [one, two], or lines that begin with '- '",
    "too_short": "must not be empty",
    "too_long": "must have at most {max_length:,} characters",
    "string_type": "must be text; put it in quotes",
    "int_type": "must be a whole number, without quotes",
    "bool_type": "must be true or false, without quotes",
    "greater_than_equal": "must be at least {ge}",
    "less_than_equal": "must be at most {le}",
    "value_error": "{error}",
}
_WORDS_OF_A_KEY = {
    ("list_type", "lists"): "each list begins with a dash, such as '- name: physics'",
    ("string_type", "language"): "must be text; put it in quotes, as 'no' for Norwegian",
    ("model_type", "keywords"): "must have the keys must or never, such as {never: [survey, review]}",
    ("string_type", "subscribers"): "each is one line, such as ada@example.org or Ada Lovelace <ada@example.org>",
}


def _in_words(error: ErrorDetails) -> str:
    path, key = error["loc"], error["loc"][-1] if error["loc"] else ""
    near = str(path[-2]) if isinstance(key, int) else key
    if words := _WORDS_OF_A_KEY.get((error["type"], near)):
        return f"{near}: {words}"
    if error["type"] == "extra_forbidden":
        model = (_File, _List, _Keywords)[len(path) // 2]
        known = model.model_fields
        return f"unknown key {key!r}{did_you_mean(str(key), known) or '; known here: ' + ', '.join(known)}"
    if error["type"] == "missing":
        return f"this {'file' if len(path) == 1 else 'list'} needs {key!r}"
    if error["type"] == "model_type":
        return "a list must have keys, such as 'name: physics'" if path else f"the file must start with {_SMALLEST}"
    words = _WORDS.get(error["type"], "{msg}").format(msg=error["msg"], **error.get("ctx", {}))
    subject = near if near == key or error["type"] == "value_error" else f"each of {near}"
    return f"{subject}: {words}"


# --- the file


def load(path: Path, prompts: Sequence[Path], settings: Settings, *, tried: bool = False) -> tuple[MailingList, ...]:
    """The lists of the file, in its order. Raises ConfigError with all that is wrong.

    Topics files are looked for in the folders `prompts`; `settings` has the defaults of `send_at` and `timezone`.
    `tried`: the files that `subscribers_file` names need not be looked through.
    """
    try:
        text = files.read_text(path, _MOST_BYTES)
    except FileNotFoundError:
        fix = f"name your home with --home, make a new one with paperboy init, or begin with one line: {_SMALLEST}"
        message = f"there is no such file in {path.parent}; {fix}"
    except ValueError as error:
        message = str(error)
        if "is larger" in message:
            message += " Many subscribers belong into a file of their own, which subscribers_file names"
    else:
        return parse(path.name, text, prompts, settings, path.parent, tried=tried)
    raise ConfigError([Problem(path.name, message)])


def parse(
    name: str, text: str, prompts: Sequence[Path], settings: Settings, home: Path = Path(), *, tried: bool = False
) -> tuple[MailingList, ...]:
    """As `load`, of the file's text. `home` is the folder with the files of subscribers, if any."""
    blocks, read = Blocks.of(text), partial(_parse, name, prompts, settings, home, tried=tried)
    if blocks.taken:
        with suppress(ConfigError):  # which the text as it is reports with its lines
            return read(blocks)
    return read(Blocks(text, {}))


def _parse(
    name: str, prompts: Sequence[Path], settings: Settings, home: Path, blocks: Blocks, *, tried: bool
) -> tuple[MailingList, ...]:
    root, data = _read(name, blocks.text)
    if not blocks.put_back(data):
        raise ConfigError(())
    faults, lists = _Faults(root), list[_List]()
    topics = partial(topics_file, folders=prompts, existing=cache(partial(_topics_files, prompts)))
    try:
        lists = _File.model_validate(data, context=cache(topics)).lists
    except ValidationError as error:
        for each in error.errors(include_url=False, include_input=False):
            faults.note(each["loc"], _in_words(each), at_key=each["type"] in {"extra_forbidden", "missing"})
    written = data.get("lists") if isinstance(data, dict) else None
    names: dict[str, _Path] = {}
    readers = _Readers(faults, home, named(blocks.text), tried=tried)
    for index, keys in enumerate(written if isinstance(written, list) else ()):
        if isinstance(keys, dict):
            called = keys.get("name")
            if keys.get("topics") is None and not keys.get("authors"):
                faults.note(("lists", index, "topics"), "this list needs 'topics', or 'authors' alone", at_key=True)
            if isinstance(called, str):
                faults.note_repeated(names, called, ("lists", index, "name"), f"there is already a list {called!r}")
            readers.read(index, keys)
    if faults.found or readers.problems:
        found = faults.cause_first()
        own = [Problem(f"{name}:{line}:{column}", message) for line, column, message in found]
        raise ConfigError([*own, *readers.problems])
    defaults: dict[str, Any] = {"send_at": settings.send_at, "timezone": settings.timezone}
    return tuple(
        MailingList(
            **defaults
            | {"title": each.name, "topics": ""}
            | {key: getattr(each, key) for key in each.model_fields_set}
            | {"topics_file": _topics_file_of(keys), "subscribers": readers.of(keys)}
        )
        for each, keys in zip(lists, data["lists"], strict=True)
    )


class _Readers:
    """The subscribers of all lists. Those that lists share, by an alias or as a file, are read once."""

    def __init__(self, faults: _Faults, home: Path, names: Sequence[str], *, tried: bool) -> None:
        self._names = names  # of files that will be watched
        self.problems = dict[Problem, None]()  # in files of subscribers, each once
        self._faults, self._home, self._tried = faults, home, tried
        self._inline = dict[int, tuple[Subscriber, ...]]()  # by the list in the file, which an alias shares
        self._contents = dict[str, bytes]()
        self._people = dict[tuple[int, str], People]()

    def of(self, keys: Mapping[str, Any]) -> Sequence[Subscriber]:
        """What was read of a list."""
        inline = id(keys.get("subscribers"))
        return self._people.get((inline, str(keys.get("subscribers_file"))), self._inline[inline])

    def read(self, index: int, keys: Mapping[str, Any]) -> None:
        subscribers, name, path = keys.get("subscribers"), keys.get("subscribers_file"), ("lists", index)
        if (inline := id(subscribers)) not in self._inline:
            self._inline[inline] = _subscribers(self._faults, (*path, "subscribers"), subscribers)
        if not isinstance(name, str) or (inline, name) in self._people:
            return
        try:
            content = self._content(file_name(name))
            if name not in self._names:
                raise ValueError("write the file's name as it is, right after the key")
        except ValueError as error:
            self._faults.note((*path, "subscribers_file"), f"subscribers_file: {error}")
        else:
            self._people[inline, name] = people = People(self._inline[inline], name, content)
            self.problems |= dict.fromkeys(people.header_problems() if self._tried else people.problems())

    def _content(self, name: str) -> bytes:
        if name not in self._contents:
            self._contents[name] = people_file(self._home, name)
        return self._contents[name]


def people_file(home: Path, name: str) -> bytes:
    """The content of a file of subscribers. Raises ValueError."""
    file = home / name
    if not Path(os.path.realpath(file)).is_relative_to(home.resolve()):
        raise ValueError(f"{name!r} is outside the home; put the file there")
    try:
        return files.read_text(file).encode()
    except FileNotFoundError:
        raise ValueError(f"there is no {name!r} in the home; create it, an address on each line") from None
    except ValueError as error:
        raise ValueError(f"{name} {error}") from None


def _subscribers(faults: _Faults, path: _Path, texts: object) -> tuple[Subscriber, ...]:
    people: list[Subscriber] = []
    seen: dict[str, _Path] = {}
    for index, text in enumerate(texts if isinstance(texts, list) else ()):
        if isinstance(text, str):  # else the schema reports it
            try:
                people.append(values.mailbox(text))
            except ValueError as error:
                faults.note((*path, index), f"subscribers: {error}")
                continue
            address = people[-1].address
            faults.note_repeated(seen, address.lower(), (*path, index), f"{address} is already on this list")
    return tuple(people)


# --- YAML

_Path = tuple[str | int, ...]  # from the top: ("lists", 0, "name")

# ruamel.yaml's messages for the usual mistakes, and the same for a person who has not read YAML's grammar.
_PLAIN_WORDS = {
    r"character '\\t'": "a tab; YAML is indented with spaces",
    r"character '(?P<sign>.)' that cannot start": "text that begins with {sign} needs quotes",
    r"mapping values are not allowed": "a colon is not allowed here; fix the indentation, or put the text in quotes",
    r"while scanning a quoted scalar.*": "these quotes are never closed",
    r"while parsing a flow (sequence|mapping)": "this bracket is never closed, or a comma is missing after it",
    r"expected <block end>": "the indentation does not match the lines above, or quotes or a bracket end too early",
    r"could not find expected ':'": "this is neither 'key: value' nor '- item'; a space follows the colon or the dash",
    r"sequence entries are not allowed": "a dash begins a line of its own; or put the text in quotes",
    r"found undefined alias '(?P<sign>.*)'": "there is no anchor &{sign}; text that begins with * needs quotes",
    r"while scanning an a(lias|nchor)": "text that begins with * or & needs quotes",
    r"found unhashable key": "text that begins with a bracket needs quotes",
    r"found another document": "this line begins another document; remove it",
    r'duplicate key "(?P<sign>.*?)" with': "{sign!r} is given twice; remove one",
    r"(?P<sign>aliases make .*)": "{sign}",  # our own
    r"maximum depth": "nested too deeply; a list needs three levels",
}
_MOST_VALUES = 10_000_000  # in a file with aliases, such as a thousand lists that share ten thousand subscribers


def _count(node: Node, counts: dict[int, int]) -> int:
    """The values in a node, an alias as all that it stands for, since whatever reads them takes as long as that."""
    if id(node) not in counts:
        counts[id(node)] = 1  # for an alias within
        inside = node.value if isinstance(node, SequenceNode) else []
        if isinstance(node, MappingNode):
            inside = [each for pair in node.value for each in pair]
        counts[id(node)] += sum(_count(each, counts) for each in inside)
        if counts[id(node)] > _MOST_VALUES:
            message = f"aliases make this more than {_MOST_VALUES:,} values; write out what they stand for"
            raise ComposerError(None, None, message, node.start_mark)
    return counts[id(node)]


def _read(file_name: str, text: str) -> tuple[Node, Any]:
    """YAML 1.2 as nodes and as plain values, where `7:00` and `yes` are text. Raises ConfigError."""
    line = column = 1
    message = f"the file is empty; one line is enough to begin: {_SMALLEST}"
    yaml = YAML(typ="safe", pure=True)
    yaml.max_depth = 50  # levels of lists and mappings
    try:
        root = yaml.compose(text)
        if root is not None:
            if "*" in text:  # no alias is written otherwise
                _count(root, {})
            if (data := yaml.constructor.construct_document(root)) is not None:
                return root, data
    except ReaderError as error:
        before = text[: error.position]
        line, column = before.count("\n") + 1, len(before) - before.rfind("\n")
        message = f"a character that YAML forbids (U+{error.character:04X}); remove it"
    except MarkedYAMLError as error:
        whole = " ".join(filter(None, (error.context, error.problem)))
        unclosed = re.match("while (scanning a (quoted|simple key)|parsing a flow)", whole)
        mark = error.context_mark if unclosed else error.problem_mark
        line, column = mark.line + 1, mark.column + 1
        matches = ((re.search(pattern, whole), words) for pattern, words in _PLAIN_WORDS.items())
        message = next((words.format(**match.groupdict()) for match, words in matches if match), f"not YAML: {whole}")
    except (YAMLError, ArithmeticError, AssertionError, LookupError, TypeError, ValueError) as error:
        message = f"not YAML: {error}; put dates and the like in quotes"
    raise ConfigError([Problem(f"{file_name}:{line}:{column}", message)])


class _Faults:
    """What is wrong with the file, each with line and column from 1."""

    def __init__(self, root: Node) -> None:
        self.found: set[tuple[int, int, str]] = set()
        self._root = root

    def note(self, path: _Path, message: str, *, at_key: bool = False) -> None:
        """Adds a fault at the value or its key."""
        self.found.add((*self._place(path, at_key=at_key), message))

    def note_repeated(self, seen: dict[str, _Path], word: str, path: _Path, message: str) -> None:
        """Adds a fault if the word was seen before; remembers it if not."""
        if (first := seen.setdefault(word, path)) is not path:
            self.note(path, f"{message}, in line {self._place(first)[0]}")

    def cause_first(self) -> list[tuple[int, int, str]]:
        """All faults by place; but that a key is missing comes after the unknown key that may be meant as it."""
        messages = "\n".join(message for *_, message in self.found)
        meant = re.findall(r"unknown key .*, did you mean ('\w+')\?", messages)
        return sorted(self.found, key=lambda fault: (any(f" needs {key}" in fault[2] for key in meant), fault))

    def _place(self, path: _Path, *, at_key: bool = False) -> tuple[int, int]:
        """Where the value or its key stands; where the path leads to none, the nearest value around it."""
        key = node = self._root
        for part in path:
            if isinstance(node, SequenceNode) and isinstance(part, int):
                if part >= len(node.value):  # within a block that was taken out
                    break
                key = node = node.value[part]
            elif found := [pair for pair in node.value if pair[0].value == str(part)]:
                key, node = found[-1]  # those that << merges come first
            else:
                break
        mark = (key if at_key else node).start_mark
        return mark.line + 1, mark.column + 1
