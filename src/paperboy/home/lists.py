"""Mailing lists of `subscribers.yaml`. All problems are reported at once, with line and column.

`nodes` reads the text; `_OPTIONS` has a reader for each key of a list, which is a field of
`MailingList`.
"""

import os
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from functools import cache, partial
from itertools import chain
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from zoneinfo import ZoneInfo

from yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

from paperboy.edges import files
from paperboy.edges.text import composed, did_you_mean, shortened
from paperboy.errors import MOST_PROBLEMS, ConfigError, Problem
from paperboy.home import library, nodes, values
from paperboy.home.people import SubscribersFile, file_name, files_named
from paperboy.home.settings import Settings
from paperboy.home.values import Parser, integer, one_line, one_of
from paperboy.models import Keywords, MailingList, Subscriber
from paperboy.sources import categories
from paperboy.sources.journals import KEY as JOURNAL

LISTS_FILE = "subscribers.yaml"  # in the home
WEEKDAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
_MOST_BYTES = 32_000_000  # about 600,000 addresses
_LONGEST_TOPICS = 100_000  # characters
_LONGEST_NAME = 60  # characters, of a journal
_FEED = "https://www.nature.com/nature.rss"
_SMALLEST = (
    "lists: [{name: ml, categories: [cs.LG], topics: What you want to read about, "
    "subscribers: [you@example.org]}]"
)

# --- the schema


def _name(text: str) -> str:
    """Read the name of a list, which is part of List-Id and of file names."""
    if re.fullmatch(r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?", text):
        return text
    raise ValueError("must be at most 63 of a-z, 0-9 and inner -, such as 'big-ideas'")


def _text_of(name: str, folder: Path, label: str) -> str:
    file = folder / name
    if not Path(os.path.realpath(file)).is_relative_to(folder.resolve()):
        raise ValueError(f"{name!r} is outside the {label}; put the file there")
    try:
        return files.read_text(file)
    except ValueError as error:
        raise ValueError(f"{file} {error}") from None


def _topics_file(name: str, folders: Sequence[Path]) -> str:
    for folder in folders:
        try:
            text = _text_of(name, folder, "folder prompts").strip()
        except FileNotFoundError:
            continue
        if not text:
            raise ValueError(f"{folder / name} is empty; write there what the list wants to read")
        return text

    fix = "; create it, or write the topics here"
    meant = f"topics/{Path(name).name}"
    if len(meant) < 255 and any((folder / meant).is_file() for folder in folders):
        fix = f", did you mean {meant!r}?"
    raise ValueError(f"there is no {name!r} in the home's prompts/{fix}")


def _subscribers_file(name: str, home: Path) -> bytes:
    try:
        return _text_of(name, home, "home").encode()
    except FileNotFoundError:
        fix = "create it, an address on each line"
        raise ValueError(f"there is no {name!r} in the home; {fix}") from None


def _feed(text: str) -> str:
    """Read the URL of a feed, which may have a query."""
    with suppress(ValueError):
        parts = urlsplit(text.strip())
        if parts.scheme in {"http", "https"} and parts.hostname and parts.port != 0:
            return one_line(text)
    raise ValueError(f"must be a full URL, such as {_FEED}")


def _library_file(name: str, home: Path) -> None:
    """Raise ValueError for a file that cannot be a library, as far as that is quick to see."""
    file = home / name
    if not Path(os.path.realpath(file)).is_relative_to(home.resolve()):
        raise ValueError(f"{name!r} is outside the home; put the file there")
    try:
        files.read(file, library.MOST_BYTES)
    except FileNotFoundError:
        fix = "put the file there, or correct its name"
        raise ValueError(f"there is no {name!r} in the home; {fix}") from None
    except ValueError as error:
        raise ValueError(f"{file} {error}") from None


def titles_file(list_name: str) -> str:
    """Return the file, in a folder of prompts, with the titles that stand in for a list's topics."""
    return f"library/{list_name}.txt"


def _timezone(text: str) -> ZoneInfo:
    """Unlike those of settings, its error repeats the text."""
    try:
        return values.timezone(text)
    except ValueError as error:
        raise ValueError(f"{shortened(text, 100)!r} is an {error}") from None


def _webhook(text: str) -> str:
    """Read an https URL, or an http URL of this machine. It may have a query."""
    values.secure_url(text.partition("?")[0], "https://hooks.slack.com/services/…")
    return one_line(text)


def _distinct(names: Iterable[Sequence[str]]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(chain.from_iterable(names)))


def _indices(weekdays: Iterable[str]) -> frozenset[int]:
    return frozenset(map(WEEKDAYS.index, weekdays))


def _boolean(text: str) -> bool:
    word: str = one_of("true", "false")(text)
    return word == "true"


def _keyword(text: str) -> str:
    word = one_line(text)
    if not any(map(str.isalnum, word)):
        raise ValueError(f"{word!r} has no letter or digit, so it would match every paper")
    return word


# --- readers of nodes

_TEXT = "must be text; put it in quotes"


class _File:
    """File that is being read: its problems, and the values of nodes that aliases share."""

    def __init__(self, text: str, prompts: Sequence[Path], home: Path) -> None:
        self.topics = cache(partial(_topics_file, folders=prompts))
        self.require_library = cache(partial(_library_file, home=home))
        self.libraries = library.files_named(text)
        self.journals = dict[str, tuple[str, str]]()  # by name in lower case: category and URL
        self._prompts = prompts
        self._named = files_named(text)
        self._content = cache(partial(_subscribers_file, home=home))
        self._faults = set[tuple[int, int, str]]()  # line, column, message
        self._in_files = dict[Problem, None]()  # problems in files of subscribers, each once
        # Once for each node, however many aliases it has.
        self.read = cache(lambda key, node: _OPTIONS[key](self, key, node))

    @property
    def problems(self) -> list[Problem]:
        """Return all problems, by place; those in files of subscribers come last."""
        problems = list[Problem]()
        for line, column, message in sorted(self._faults):
            problems.append(Problem(f"{LISTS_FILE}:{line}:{column}", message))
        return [*problems, *self._in_files]

    def note(self, node: Node, message: str) -> None:
        """Add a problem at a node. Raises ConfigError if there are too many."""
        if isinstance(node, ScalarNode):
            message += nodes.lookalike(node.value)
        self._faults.add((*nodes.place(node), message))
        if len(self._faults) > MOST_PROBLEMS:
            raise ConfigError(self.problems)

    def once(self, firsts: dict[str, Node], key: str, node: Node, message: str) -> None:
        """Add a problem if an earlier node has the key."""
        if key in firsts:  # an alias names the same node twice
            line, _ = nodes.place(firsts[key])
            self.note(node, f"{message}, in line {line}")
        firsts.setdefault(key, node)

    def mapping(
        self, node: MappingNode, what: str, known: Sequence[str], needed: Sequence[str]
    ) -> dict[str, Node]:
        """Return the values by their keys, and add unknown and missing keys to the problems."""
        found = dict[str, Node]()
        for name, (key, value) in nodes.entries(node).items():
            if name in known:
                found[name] = value
                continue
            hint = did_you_mean(name, known) or f"; known here: {', '.join(known)}"
            self.note(key, f"unknown key {name!r}{hint}")

        for name in needed:
            if name not in found:
                self.note(node, f"this {what} needs {name!r}")

        return found

    def journals_of(self, categories: Sequence[str]) -> tuple[tuple[str, str], ...]:
        """Return the journals among categories, each with its URL."""
        return tuple(journal for journal in self.journals.values() if journal[0] in categories)

    def titles(self, node: Node, list_name: str) -> tuple[str, ...]:
        """Return the titles that stand in for a list's topics."""
        name = titles_file(list_name)
        fix = f"paperboy learn --library {list_name} writes the library's newest there"
        for folder in self._prompts:
            try:
                lines = _text_of(name, folder, "folder prompts").split("\n")
            except FileNotFoundError:
                continue
            except ValueError as error:
                self.note(node, f"library: {error}")
                return ()
            lines = [line for line in lines if not line.startswith("#")]
            titles = tuple(dict.fromkeys(filter(None, map(composed, lines))))
            if not titles:
                self.note(node, f"library: {folder / name} is empty; {fix}")
            if sum(map(len, titles)) > _LONGEST_TOPICS:
                limit = f"{_LONGEST_TOPICS:,} characters"
                self.note(node, f"library: {folder / name} must have at most {limit}")
            return titles

        self.note(node, f"library: without topics, titles stand in prompts/{name}; {fix}")
        return ()

    def subscribers(
        self, node: Node, name: str, inline: tuple[Subscriber, ...]
    ) -> Sequence[Subscriber]:
        """Return the inline subscribers, then those of the file."""
        try:
            if name not in self._named:
                raise ValueError("write the file's name as it is, right after the key")
            subscribers = SubscribersFile(inline, name, self._content(name))
        except ValueError as error:
            self.note(node, f"subscribers_file: {error}")
            return inline

        self._in_files |= dict.fromkeys(subscribers.problems())
        return subscribers


_Reader = Callable[[_File, str, Node], Any]  # reads the value of a key, and notes problems


def _text(read: Parser, wrong: str = _TEXT) -> _Reader:
    def value(file: _File, key: str, node: Node) -> Any:
        message = wrong
        if isinstance(node, ScalarNode) and not nodes.is_null(node):
            try:
                return read(node.value)
            except ValueError as error:
                message = str(error)
        file.note(node, f"{key}: {message}")
        return None

    return value


def _items(file: _File, key: str, node: Node) -> list[Node]:
    if isinstance(node, SequenceNode):
        return list(node.value)
    file.note(node, f"{key}: must be a list, such as [one, two], or lines that begin with '- '")
    return []


def _list_of(
    read: Parser, then: Callable[[Iterable[Any]], Any] = tuple, *, least: int = 0
) -> _Reader:
    """Return a reader of a list of scalars without duplicates, which `then` makes the value."""
    item_of = _text(read, "each must be text; put it in quotes")

    def value(file: _File, key: str, node: Node) -> Any:
        items = dict.fromkeys(item_of(file, key, item) for item in _items(file, key, node))
        if least and not node.value:
            file.note(node, f"{key}: must not be empty")
        return then(item for item in items if item is not None)

    return value


def _categories(file: _File, key: str, node: Node) -> tuple[str, ...]:
    def read(text: str) -> tuple[str, ...]:
        source, slash, name = text.partition("/")
        if source.strip().lower() != JOURNAL or not slash:
            if re.match("https?://", text, re.IGNORECASE):  # which may hold a key
                fix = f"name it under `journals`, and write {JOURNAL}/NAME here"
                raise ValueError(f"this is a URL; {fix}")
            if meant := file.journals.get(text.strip().casefold()):
                raise ValueError(f"unknown category {text!r}, did you mean {meant[0]!r}?")
            return categories(text)

        if journal := file.journals.get(name.strip().casefold()):
            return (journal[0],)
        names = [category.partition("/")[2] for category, _ in file.journals.values()]
        hint = did_you_mean(name.strip(), names)
        then = f"{hint} If not," if hint else ";"
        fix = "name it there, with the URL of its feed"
        raise ValueError(f"`journals` has no {name.strip()!r}{then} {fix}")

    least = 1 if key == "categories" else 0
    found: tuple[str, ...] = _list_of(read, _distinct, least=least)(file, key, node)
    return found


def _topics(file: _File, key: str, node: Node) -> str:
    def read(text: str) -> str:
        name = text.strip()
        if not name:
            raise ValueError("is empty; say what the list wants to read")
        if re.fullmatch(r"\S+/\S+|\S+\.txt", name) and not name.endswith(".md"):
            fix = "name a .md file, or write the topics"
            raise ValueError(f"{name!r} is neither a .md file nor a sentence; {fix}")

        topics = file.topics(name) if name.endswith(".md") and "\n" not in name else name
        if len(topics) > _LONGEST_TOPICS:
            raise ValueError(f"must have at most {_LONGEST_TOPICS:,} characters")
        return topics

    return _text(read)(file, key, node) or ""


def _library(file: _File, key: str, node: Node) -> str:
    def read(text: str) -> str:
        named = library.parse(text.strip())
        if isinstance(named, str):
            if named not in file.libraries:
                raise ValueError("write the file's name as it is, right after the key")
            file.require_library(named)
        return str(named)

    return _text(read)(file, key, node) or ""


def _keywords(file: _File, key: str, node: Node) -> Keywords:
    if not isinstance(node, MappingNode):
        example = "{never: [survey, review]}"
        file.note(node, f"{key}: must have the keys must or never, such as {example}")
        return Keywords()

    found = file.mapping(node, key, ("must", "never"), ())
    words = _list_of(_keyword)
    return Keywords(**{name: words(file, name, value) for name, value in found.items()})


def _subscribers(file: _File, key: str, node: Node) -> tuple[Subscriber, ...]:
    examples = "such as ada@example.org or Ada Lovelace <ada@example.org>"
    read = _text(values.mailbox, f"each is one line, {examples}")

    subscribers = list[Subscriber]()
    firsts = dict[str, Node]()
    for item in _items(file, key, node):
        if subscriber := read(file, key, item):
            subscribers.append(subscriber)
            address = subscriber.address
            file.once(firsts, address.lower(), item, f"{address} is already on this list")

    return tuple(subscribers)


_FLAG = _text(_boolean, "must be true or false")
_TO_TEN = _text(integer(1, 10), "must be one whole number from 1 to 10")

# An option that the file leaves out has the default of `MailingList`.
_OPTIONS: dict[str, _Reader] = {
    "name": _text(_name),
    "title": _text(one_line),
    "description": _text(one_line),
    "categories": _categories,
    "topics": _topics,
    "library": _library,
    "authors": _list_of(values.author),
    "language": _text(values.language, f"{_TEXT}, as 'no' for Norwegian"),
    "min_relevance": _TO_TEN,
    "min_novelty": _TO_TEN,
    "max_papers": _text(integer(1, 10_000), "must be one whole number"),
    "send_at": _text(values.time_of_day),
    "timezone": _text(_timezone),
    "weekdays": _list_of(one_of(*WEEKDAYS), _indices, least=1),
    "cross_lists": _FLAG,
    "send_empty": _FLAG,
    "exclude": _categories,
    "keywords": _keywords,
    "brief": _FLAG,
    "paused": _FLAG,
    "archive": _text(one_of("none", "link", "public", "indexed")),
    "open": _FLAG,
    "webhook": _text(_webhook),
    "webhook_format": _text(one_of("json", "slack", "telegram", "feishu", "ntfy", "teams")),
    "subscribers": _subscribers,
    "subscribers_file": _text(file_name),
}
KEYS = tuple(_OPTIONS)  # that a list may have


# --- the file


def load(
    path: Path, prompts: Sequence[Path], settings: Settings, *, titled: bool = True
) -> tuple[MailingList, ...]:
    """Return the lists of the file, in its order. Raises ConfigError with all problems.

    `prompts` are the folders with topics files; `settings` has the defaults. `titled`: where a
    library stands in for topics, its titles have to be there.
    """
    try:
        text = files.read_text(path, _MOST_BYTES)
    except FileNotFoundError:
        fix = (
            "name your home with --home, make a new one with paperboy init, "
            f"or begin with one line: {_SMALLEST}"
        )
        raise ConfigError.at(LISTS_FILE, f"there is no such file in {path.parent}; {fix}") from None
    except ValueError as error:
        raise ConfigError.at(LISTS_FILE, str(error)) from None

    return parse(text, prompts, settings, path.parent, titled=titled)


def parse(
    text: str,
    prompts: Sequence[Path],
    settings: Settings,
    home: Path = Path(),
    *,
    titled: bool = True,
) -> tuple[MailingList, ...]:
    """Return the lists of a file's text, as `load`. `home` is the folder with files of subscribers
    and libraries.
    """
    try:
        root = nodes.compose(text)
    except nodes.MalformedError as error:
        raise ConfigError.at(f"{LISTS_FILE}:{error.line}:{error.column}", str(error)) from None

    if not isinstance(root, MappingNode):
        raise ConfigError.at(f"{LISTS_FILE}:1:1", f"the file must start with {_SMALLEST}")

    file = _File(text, prompts, home)
    lists = _lists(file, root, titled=titled)
    if problems := file.problems:
        raise ConfigError(problems)

    defaults: dict[str, Any] = {
        "send_at": settings.send_at,
        "timezone": settings.timezone,
        "holidays": settings.arxiv_holidays,
        "topics": "",
    }
    return tuple(
        MailingList(**defaults | {"title": options["name"]} | options) for options in lists
    )


def _journals(file: _File, node: Node) -> None:
    """Read the feeds that lists may have as categories."""
    if not isinstance(node, MappingNode):
        file.note(node, f"journals: must have names and URLs, such as 'Nature: {_FEED}'")
        return

    firsts = dict[str, Node]()
    for key, value in nodes.entries(node).values():
        name = key.value.strip()
        if not name or len(name) > _LONGEST_NAME or not name.isprintable():
            file.note(key, f"journals: a name has 1 to {_LONGEST_NAME} characters in one line")
            continue
        file.once(firsts, name.casefold(), key, f"journals: there is already a {name!r}")
        if url := _text(_feed)(file, "journals", value):
            file.journals.setdefault(name.casefold(), (f"{JOURNAL}/{name}", url))


def journals(path: Path) -> Sequence[str]:
    """Return the journals of a sound file, by their categories, whether a list takes them or not."""
    file = _File("", (), path.parent)
    root = nodes.compose(files.read_text(path, _MOST_BYTES))
    if isinstance(root, MappingNode) and "journals" in nodes.entries(root):
        _journals(file, nodes.entries(root)["journals"][1])
    return [category for category, _ in file.journals.values()]


def _lists(file: _File, root: MappingNode, *, titled: bool) -> list[dict[str, Any]]:
    """Return the fields of each `MailingList`, as far as they are sound."""
    found = file.mapping(root, "file", ("lists", "journals"), ("lists",))
    if "journals" in found:
        _journals(file, found["journals"])
    items = found.get("lists")
    if items is None:
        return []
    if not isinstance(items, SequenceNode):
        file.note(items, "lists: each list begins with a dash, such as '- name: physics'")
        return []
    if not items.value:
        file.note(items, "lists: must not be empty")

    lists = list[dict[str, Any]]()
    names = dict[str, Node]()
    for node in items.value:
        if not isinstance(node, MappingNode):
            file.note(node, "a list must have keys, such as 'name: physics'")
            continue

        found = file.mapping(node, "list", KEYS, ("name", "categories"))
        options = _fields(file, node, found, titled=titled)
        if name := options.get("name"):
            file.once(names, name, found["name"], f"there is already a list {name!r}")
        lists.append(options)

    return lists


def _fields(
    file: _File, node: MappingNode, found: Mapping[str, Node], *, titled: bool
) -> dict[str, Any]:
    """Return the fields of a list, as far as they are sound."""
    has_authors = "authors" in found and found["authors"].value
    if not has_authors and not found.keys() & {"topics", "library"}:
        file.note(node, "this list needs 'topics', 'library' or 'authors'")
    options = {key: file.read(key, value) for key, value in found.items()}

    stands_in = options.get("library") and "topics" not in found
    if titled and stands_in and options.get("name"):
        titles = file.titles(found["library"], options["name"])
        options["titles"] = titles
        options["library_size"] = len(titles)
    if journals := file.journals_of(options.get("categories", ())):
        options["journals"] = journals
    if name := options.get("subscribers_file"):
        inline = options.get("subscribers", ())
        options["subscribers"] = file.subscribers(found["subscribers_file"], name, inline)
    return options
