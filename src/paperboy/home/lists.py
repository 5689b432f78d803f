"""`subscribers.yaml` → `MailingList`s. Problems are reported together, each with its line and
column.

`nodes` reads the text; `_OPTIONS` has a reader for each key of a list, which is one field of
`MailingList`.
"""

import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache, partial
from itertools import chain, islice
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

from paperboy.edges import files
from paperboy.edges.text import did_you_mean, shortened
from paperboy.errors import MOST_PROBLEMS, ConfigError
from paperboy.home import nodes, values
from paperboy.home.people import SubscribersFile, file_name, named
from paperboy.home.settings import Settings
from paperboy.home.values import Parser, one_line, one_of, whole
from paperboy.models import Keywords, MailingList, Problem, Subscriber
from paperboy.sources import categories

FILE = "subscribers.yaml"  # in the home
WEEKDAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
_MOST_BYTES = 32_000_000  # of the file, such as 600,000 addresses
_LONGEST_TOPICS = 100_000  # characters
_SMALLEST = (
    "lists: [{name: ml, categories: [cs.LG], topics: What you want to read about, "
    "subscribers: [you@example.org]}]"
)

# --- the schema


def _name(text: str) -> str:
    if re.fullmatch(r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?", text):
        return text
    raise ValueError("must be at most 63 of a-z, 0-9 and inner -, such as 'big-ideas'")


def _text_of(name: str, folder: Path, what: str) -> str:
    """Return the text of a file in a folder. Raises FileNotFoundError, or ValueError with what is
    wrong.
    """
    file = folder / name
    if not Path(os.path.realpath(file)).is_relative_to(folder.resolve()):
        raise ValueError(f"{name!r} is outside the {what}; put the file there")
    try:
        return files.read_text(file)
    except ValueError as error:
        raise ValueError(f"{file} {error}") from None


def _topics_file(name: str, folders: Sequence[Path]) -> str:
    """Return the text of a topics file, from the first folder that has it. Raises ValueError."""
    for folder in folders:
        try:
            text = _text_of(name, folder, "folder prompts").strip()
        except FileNotFoundError:
            continue
        if not text:
            raise ValueError(f"{folder / name} is empty; write there what the list wants to read")
        return text
    found = (
        file.relative_to(folder).as_posix() for folder in folders for file in folder.rglob("*.md")
    )
    meant = did_you_mean(
        name, islice(found, 500), cutoff=0.8
    )  # folder and .md alone make two names half alike
    fix = meant or "; create it, or write the topics here"
    raise ValueError(f"there is no {name!r} in the home's prompts/{fix}")


def _people_file(name: str, home: Path) -> bytes:
    """Return the content of a file of subscribers. Raises ValueError."""
    try:
        return _text_of(name, home, "home").encode()
    except FileNotFoundError:
        raise ValueError(
            f"there is no {name!r} in the home; create it, an address on each line"
        ) from None


def _webhook(text: str) -> str:
    try:
        address = one_line(text)
        values.url(address.partition("?")[0])
    except ValueError:
        address = ""
    if not address.startswith("https://") and not values.is_loopback(
        urlsplit(address).hostname or ""
    ):
        raise ValueError(
            "must be a full https URL, such as https://hooks.slack.com/services/…"
        )  # without the secret
    return address


def _all_of(entries: Iterable[Sequence[str]]) -> tuple[str, ...]:
    """Return the categories that entries stand for, each once."""
    return tuple(dict.fromkeys(chain.from_iterable(entries)))


def _boolean(text: str) -> bool:
    if text not in {"true", "True", "TRUE", "false", "False", "FALSE"}:
        raise ValueError("must be true or false")
    return text.lower() == "true"


def _keyword(text: str) -> str:
    word = one_line(text)
    if not any(map(str.isalnum, word)):
        raise ValueError(f"{word!r} has no letter and no digit, so no paper has it as a word")
    return word


# --- readers of nodes

_TEXT = "must be text; put it in quotes"


class _File:
    """A file while it is read: what is wrong with it, and what stands at nodes that aliases
    share.
    """

    def __init__(self, text: str, prompts: Sequence[Path], home: Path) -> None:
        self.text = text
        self._watched = named(text)
        self.topics = cache(partial(_topics_file, folders=prompts))
        self._content = cache(partial(_people_file, home=home))
        self._faults = set[tuple[int, int, str]]()
        self._in_files = dict[Problem, None]()  # of subscribers: each problem once, in their order
        # Once for each node, wherever aliases name it.
        self.read = cache(lambda key, node: _OPTIONS[key](self, key, node))

    @property
    def problems(self) -> list[Problem]:
        """Return what is wrong, by place; then what is wrong in files of subscribers."""
        own = [
            Problem(f"{FILE}:{line}:{column}", message)
            for line, column, message in sorted(self._faults)
        ]
        return [*own, *self._in_files]

    def note(self, node: Node, message: str) -> None:
        """Add a problem at a node. Raises ConfigError when there are too many."""
        self._faults.add((*nodes.place(node), message))
        if len(self._faults) > MOST_PROBLEMS:
            raise ConfigError(self.problems)

    def once(self, firsts: dict[str, Node], key: str, node: Node, message: str) -> None:
        """Note what another node has already."""
        if key in firsts:
            line, _ = nodes.place(firsts[key])
            self.note(node, f"{message}, in line {line}")
        firsts.setdefault(key, node)

    def mapping(
        self, node: MappingNode, what: str, known: Iterable[str], needed: Mapping[str, str]
    ) -> dict[str, Node]:
        """Return the values by their keys, and note keys that are unknown or missing."""
        found = dict[str, Node]()
        hints = ""
        for name, (key, value) in nodes.entries(node).items():
            if name in known:
                found[name] = value
            else:
                hint = did_you_mean(name, known)
                hints += hint
                self.note(key, f"unknown key {name!r}{hint or '; known here: ' + ', '.join(known)}")
        empty = {key.value: key for key, _ in node.value}
        for name, alternative in needed.items():
            if name not in found and repr(name) not in hints:
                self.note(empty.get(name, node), f"this {what} needs {name!r}{alternative}")
        return found

    def people(self, node: Node, name: str, inline: tuple[Subscriber, ...]) -> Sequence[Subscriber]:
        """Return the subscribers of the file, after those `inline`."""
        try:
            if name not in self._watched:
                raise ValueError("write the file's name as it is, right after the key")
            people = SubscribersFile(inline, name, self._content(name))
        except ValueError as error:
            self.note(node, f"subscribers_file: {error}")
            return inline
        self._in_files |= dict.fromkeys(people.problems())
        return people


_Reader = Callable[[_File, str, Node], Any]  # of what a list has for a key; what is wrong is noted


def _text(read: Parser, wrong: str = _TEXT) -> _Reader:
    """Return a reader of one scalar."""

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


def _unquoted(read: Parser) -> _Reader:
    """Return a reader of a number or of true: quotes would make it text."""

    def value(file: _File, key: str, node: Node) -> Any:
        plain = isinstance(node, ScalarNode) and not node.style
        try:
            return read(node.value if plain else "")
        except ValueError as error:
            lines = file.text[node.start_mark.index : node.end_mark.index].splitlines()
            written = shortened(lines[0], 40) if lines else "nothing"
            file.note(node, f"{key}: {error}, without quotes, not {written}")
            return None

    return value


def _items(file: _File, key: str, node: Node) -> Iterator[Node]:
    """Yield the items, if it is a list."""
    if isinstance(node, SequenceNode):
        yield from node.value
    else:
        file.note(node, f"{key}: must be a list, such as [one, two], or lines that begin with '- '")


def _each(read: Parser, then: Callable[[Iterable[Any]], Any] = tuple, *, least: int = 0) -> _Reader:
    """Return a reader of a list of scalars, each of which counts once; `then` makes the value of
    them.
    """
    item_of = _text(read, "each must be text; put it in quotes")

    def value(file: _File, key: str, node: Node) -> Any:
        items = dict.fromkeys(item_of(file, key, item) for item in _items(file, key, node))
        if least and not node.value:
            file.note(node, f"{key}: must not be empty")
        return then(item for item in items if item is not None)

    return value


def _topics(file: _File, key: str, node: Node) -> str:
    """Return the text itself, or that of the file it names."""

    def read(text: str) -> str:
        name = text.strip()
        if not name:
            raise ValueError("is empty; say what the list wants to read")
        if re.fullmatch(r"\S+/\S+|\S+\.txt", name) and not name.endswith(".md"):
            fix = "name such a file, or write the topics"
            raise ValueError(f"{name!r} is no file that ends in .md, nor a sentence; {fix}")
        topics = file.topics(name) if name.endswith(".md") and "\n" not in name else name
        if len(topics) > _LONGEST_TOPICS:
            raise ValueError(f"must have at most {_LONGEST_TOPICS:,} characters")
        return topics

    return _text(read)(file, key, node) or ""


def _keywords(file: _File, key: str, node: Node) -> Keywords:
    if not isinstance(node, MappingNode):
        file.note(
            node, f"{key}: must have the keys must or never, such as {{never: [survey, review]}}"
        )
        return Keywords()
    found = file.mapping(node, key, ("must", "never"), {})
    words = _each(_keyword)
    return Keywords(**{name: words(file, name, value) for name, value in found.items()})


def _subscribers(file: _File, key: str, node: Node) -> tuple[Subscriber, ...]:
    read = _text(
        values.mailbox,
        "each is one line, such as ada@example.org or Ada Lovelace <ada@example.org>",
    )
    people = list[Subscriber]()
    firsts = dict[str, Node]()
    for item in _items(file, key, node):
        if who := read(file, key, item):
            people.append(who)
            file.once(firsts, who.address.lower(), item, f"{who.address} is already on this list")
    return tuple(people)


_OPTIONS: dict[
    str, _Reader
] = {  # an option that the file leaves out has the default of `MailingList`
    "name": _text(_name),
    "title": _text(one_line),
    "categories": _each(categories, _all_of, least=1),
    "topics": _topics,
    "authors": _each(values.author),
    "language": _text(values.language, f"{_TEXT}, as 'no' for Norwegian"),
    "min_relevance": _unquoted(whole(1, 10)),
    "min_novelty": _unquoted(whole(1, 10)),
    "max_papers": _unquoted(whole(1, 10_000)),
    "send_at": _text(values.time_of_day),
    "timezone": _text(values.timezone),
    "weekdays": _each(
        one_of(*WEEKDAYS), lambda days: frozenset(map(WEEKDAYS.index, days)), least=1
    ),
    "cross_lists": _unquoted(_boolean),
    "send_empty": _unquoted(_boolean),
    "exclude": _each(categories, _all_of),
    "keywords": _keywords,
    "paused": _unquoted(_boolean),
    "archive": _text(one_of("none", "link", "public", "indexed")),
    "open": _unquoted(_boolean),
    "webhook": _text(_webhook),
    "webhook_format": _text(one_of("json", "slack")),
    "subscribers": _subscribers,
    "subscribers_file": _text(file_name),
}
KEYS = tuple(_OPTIONS)  # that a list may have


# --- the file


def load(path: Path, prompts: Sequence[Path], settings: Settings) -> tuple[MailingList, ...]:
    """Return the lists of the file, in its order. Raises ConfigError with all that is wrong.

    Topics files are looked for in the folders `prompts`; `settings` has the defaults.
    """
    try:
        text = files.read_text(path, _MOST_BYTES)
    except FileNotFoundError:
        fix = f"name your home with --home, make a new one with paperboy init, or begin with one line: {_SMALLEST}"
        raise ConfigError.at(FILE, f"there is no such file in {path.parent}; {fix}") from None
    except ValueError as error:
        raise ConfigError.at(FILE, str(error)) from None
    return parse(text, prompts, settings, path.parent)


def parse(
    text: str, prompts: Sequence[Path], settings: Settings, home: Path = Path()
) -> tuple[MailingList, ...]:
    """Return the lists of a file's text, as `load`. `home` is the folder with the files of
    subscribers, if any.
    """
    try:
        root = nodes.compose(text)
    except nodes.MalformedError as error:
        raise ConfigError.at(f"{FILE}:{error.line}:{error.column}", str(error)) from None
    if root is None or nodes.is_null(root):
        raise ConfigError.at(
            f"{FILE}:1:1", f"the file is empty; one line is enough to begin: {_SMALLEST}"
        )

    file = _File(text, prompts, home)
    lists = _lists(file, root)
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


def _lists(file: _File, root: Node) -> list[dict[str, Any]]:
    """Return what each list has, as the fields of `MailingList`."""
    if not isinstance(root, MappingNode):
        file.note(root, f"the file must start with {_SMALLEST}")
        return []
    items = file.mapping(root, "file", ("lists",), {"lists": ""}).get("lists")
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
        needed = {"name": "", "categories": ""}
        _, authors = nodes.entries(node).get("authors", (None, None))
        if not (authors and authors.value):
            needed["topics"] = ", or 'authors' alone"

        found = file.mapping(node, "list", KEYS, needed)
        options = {key: file.read(key, value) for key, value in found.items()}
        if people := options.get("subscribers_file"):
            options["subscribers"] = file.people(
                found["subscribers_file"], people, options.get("subscribers", ())
            )
        if name := options.get("name"):
            file.once(names, name, found["name"], f"there is already a list {name!r}")
        lists.append(options)
    return lists
