"""`subscribers.yaml` → `MailingList`s, with everything that is wrong told at once, by line and column.

Reading has three steps, of which only the first and the last touch files: text → values with their places
(`yaml_document`) → the schema of one entry → what needs more than one value (names, addresses, topics).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import time
from pathlib import Path, PurePosixPath
from typing import Annotated, Any
from zoneinfo import ZoneInfo

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, PlainValidator, ValidationError
from pydantic_core import ErrorDetails

from paperboy.config import values as notation
from paperboy.config import yaml_document
from paperboy.config.categories import ARCHIVES_ONLY, CATEGORIES, all_of
from paperboy.config.values import did_you_mean, one_line
from paperboy.config.yaml_document import Document, Fault
from paperboy.errors import ConfigError
from paperboy.models import EVERY_DAY, MailingList, Problem, Subscriber

_WEEKDAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
_NAME = re.compile(r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?")
_SMALLEST = (
    "lists: [{name: ml, categories: [cs.LG], topics: What you want to read about, subscribers: [you@example.org]}]"
)


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
        raise ValueError(f"{text!r} is a whole archive; name its categories, as {min(_inside(text))}")
    raise ValueError(f"unknown category {text!r}{did_you_mean(text, CATEGORIES)}")


def _inside(archive: str) -> Iterator[str]:
    return (category for category in CATEGORIES if category.startswith(f"{archive}."))


def _weekday(value: object) -> int:
    if isinstance(value, str) and value.lower() in _WEEKDAYS:
        return _WEEKDAYS.index(value.lower())
    word = str(value).lower()
    hint = f", did you mean {word[:3]!r}?" if word[:3] in _WEEKDAYS else did_you_mean(word, _WEEKDAYS)
    raise ValueError(f"unknown weekday {value!r}{hint or '; write ' + ', '.join(_WEEKDAYS)}")


def _time(value: object) -> time:
    if not isinstance(value, str):
        raise ValueError("send_at must be a time of day, as 07:00")  # noqa: TRY004  # pydantic collects ValueErrors
    return notation.time_of_day(value)


def _zone(value: object) -> ZoneInfo:
    return notation.timezone(str(value))


class _ListAsWritten(BaseModel):
    """One list as it stands in the file."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    name: Annotated[str, AfterValidator(_name)]
    title: Annotated[str, AfterValidator(one_line)] | None = None
    categories: list[Annotated[str, AfterValidator(_category)]] = Field(min_length=1)
    topics: str
    authors: list[Annotated[str, AfterValidator(one_line)]] = []
    min_relevance: int = Field(7, ge=1, le=10)
    min_novelty: int = Field(6, ge=1, le=10)
    max_papers: int = Field(50, ge=1, le=10_000)
    send_at: Annotated[time, PlainValidator(_time)] | None = None
    timezone: Annotated[ZoneInfo, PlainValidator(_zone)] | None = None
    weekdays: list[Annotated[int, PlainValidator(_weekday)]] = Field(sorted(EVERY_DAY), min_length=1)
    cross_lists: bool = True
    send_empty: bool = True
    subscribers: list[str] = []


KEYS = tuple(_ListAsWritten.model_fields)
"""The keys that a list may have."""


class _File(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    lists: list[_ListAsWritten] = Field(min_length=1)


# Where something is in the file, and what stands there.
_At = tuple[yaml_document.Path, dict[str, Any]]


def load(path: Path, *, prompts: Sequence[Path], send_at: time, timezone: ZoneInfo) -> tuple[MailingList, ...]:
    """The lists of the file, in its order. Raises `ConfigError` with all that is wrong.

    `prompts` are the folders, one at least, in which topics files are looked for; the first that has one wins.
    `send_at` and `timezone` are for lists that set none.
    """
    document = yaml_document.parse(_text(path))
    faults = list(document.faults)
    lists = _lists(document, faults, prompts, send_at, timezone)
    if faults:
        raise ConfigError([Problem(f"{path.name}:{f.line}:{f.column}", f.message) for f in sorted(set(faults))])
    return lists


def _text(path: Path) -> str:
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
        before = data[: error.start]
        line, column = before.count(b"\n") + 1, len(before.rpartition(b"\n")[2].decode("utf-8-sig", "replace")) + 1
        place = f"{path.name}:{line}:{column}"
        raise ConfigError([Problem(place, "this is not UTF-8 text; save the file as UTF-8")]) from None
    raise ConfigError([Problem(path.name, message)])


def _lists(
    document: Document, faults: list[Fault], prompts: Sequence[Path], send_at: time, timezone: ZoneInfo
) -> tuple[MailingList, ...]:
    """The lists, or none where anything is wrong, which is then in `faults`."""
    if document.values is None:
        if not faults:
            faults.append(Fault(1, 1, f"the file is empty; one line is enough to begin: {_SMALLEST}"))
        return ()
    file = _validated(document, faults)
    entries = list(_entries(document))
    _note_same_names(document, entries, faults)
    subscribers = [_subscribers(document, entry, faults) for entry in entries]
    topics = [_topics(document, entry, prompts, faults) for entry in entries]
    if file is None or faults:
        return ()
    return tuple(
        _mailing_list(written, text, people, send_at, timezone)
        for written, text, people in zip(file.lists, topics, subscribers, strict=True)
    )


def _mailing_list(
    written: _ListAsWritten, topics: str, subscribers: tuple[Subscriber, ...], send_at: time, timezone: ZoneInfo
) -> MailingList:
    return MailingList(
        name=written.name,
        title=written.title or written.name,
        categories=tuple(dict.fromkeys(each for named in written.categories for each in all_of(named))),
        topics=topics,
        timezone=written.timezone or timezone,
        send_at=send_at if written.send_at is None else written.send_at,
        weekdays=frozenset(written.weekdays),
        authors=tuple(dict.fromkeys(written.authors)),
        min_relevance=written.min_relevance,
        min_novelty=written.min_novelty,
        max_papers=written.max_papers,
        cross_lists=written.cross_lists,
        send_empty=written.send_empty,
        subscribers=subscribers,
    )


def _entries(document: Document) -> Iterator[_At]:
    """The lists as they stand in the file, also where others in it are wrong."""
    lists = document.values.get("lists") if isinstance(document.values, dict) else None
    for index, entry in enumerate(lists if isinstance(lists, list) else ()):
        if isinstance(entry, dict):
            yield ("lists", index), entry


def _validated(document: Document, faults: list[Fault]) -> _File | None:
    try:
        return _File.model_validate(_without_nulls(document.values))
    except ValidationError as error:
        errors = error.errors(include_url=False)
    unknown = {e["loc"]: _unknown(e["loc"]) for e in errors if e["type"] == "extra_forbidden"}
    meant = {(*path[:-1], key) for path, message in unknown.items() for key in _keys(path) if f"{key!r}?" in message}
    for e in errors:
        path = e["loc"]
        if path in unknown:
            faults.append(document.fault(path, unknown[path], at_key=True))
        elif e["type"] == "missing" and document.has_key(path):
            faults.append(document.fault(path, f"{path[-1]!r} is empty", at_key=True))
        elif path not in meant:  # a key that is missing because it is misspelt has been told already
            faults.append(document.fault(path, _in_words(e)))
    return None


def _without_nulls(values: Any) -> Any:
    """A key with nothing behind it is as good as absent, in the file as in each of its lists."""
    if isinstance(values, dict):
        return {key: _without_nulls(value) for key, value in values.items() if value is not None}
    return [_without_nulls(value) for value in values] if isinstance(values, list) else values


def _keys(path: yaml_document.Path) -> list[str]:
    return list(_File.model_fields if len(path) == 1 else _ListAsWritten.model_fields)


def _unknown(path: yaml_document.Path) -> str:
    return f"unknown key {path[-1]!r}{did_you_mean(str(path[-1]), _keys(path))}"


def _in_words(error: ErrorDetails) -> str:
    path, context = error["loc"], error.get("ctx", {})
    key = next((part for part in reversed(path) if isinstance(part, str)), "")
    subject = f"each of {key}" if path and isinstance(path[-1], int) else key
    if error["type"] == "value_error":
        message = str(context["error"])
        return message if message.startswith(("unknown", "'", '"', "send_at")) else f"{key}: {message}"
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


def _note_same_names(document: Document, entries: Sequence[_At], faults: list[Fault]) -> None:
    lines: dict[str, int] = {}
    for path, entry in entries:
        name = entry.get("name")
        if isinstance(name, str):
            here = document.fault((*path, "name"), f"there is a list {name!r} already, in line {lines.get(name)}")
            if name in lines:
                faults.append(here)
            lines.setdefault(name, here.line)


def _subscribers(document: Document, at: _At, faults: list[Fault]) -> tuple[Subscriber, ...]:
    path, entry = at
    written = entry.get("subscribers")
    people: dict[str, tuple[Subscriber, int]] = {}
    for index, text in enumerate(written if isinstance(written, list) else ()):
        if not isinstance(text, str):
            continue  # the schema tells
        here = document.fault((*path, "subscribers", index), "")
        try:
            mailbox = notation.mailbox(text)
        except ValueError as error:
            faults.append(replace(here, message=f"{error}"))
            continue
        folded = mailbox.address.casefold()
        if folded in people:
            message = f"{mailbox.address} is on this list already, in line {people[folded][1]}"
            faults.append(replace(here, message=message))
        else:
            people[folded] = Subscriber(mailbox.address, mailbox.name), here.line
    return tuple(subscriber for subscriber, _ in people.values())


def _topics(document: Document, at: _At, prompts: Sequence[Path], faults: list[Fault]) -> str:
    path, entry = at
    text = entry.get("topics")
    if not isinstance(text, str):
        return ""
    text = text.strip()
    try:
        if text.endswith(".md") and "\n" not in text:
            text = _topics_file(text, prompts)
        if not text:
            raise ValueError("'topics' is empty; say what the list wants to read")
    except ValueError as error:
        faults.append(document.fault((*path, "topics"), str(error)))
    return text


def _topics_file(name: str, prompts: Sequence[Path]) -> str:
    relative = PurePosixPath(name)
    if relative.is_absolute() or ".." in relative.parts:
        raise ValueError(f"{name!r} is not inside the folder prompts; write it as topics/physics.md")
    for folder in prompts:
        file = folder / relative
        try:
            if file.is_symlink() or file.exists():
                return _topics_text(file, folder)
        except UnicodeDecodeError:
            raise ValueError(f"{file} is not UTF-8 text; save it as UTF-8") from None
        except (OSError, RuntimeError) as error:  # RuntimeError: a link to itself
            reason = getattr(error, "strerror", "it is a link to itself")
            raise ValueError(f"{file} cannot be read: {reason}; it must be a file with the topics") from None
    raise ValueError(f"there is no {name!r} in the home's prompts/; create it, or write the topics here")


def _topics_text(file: Path, folder: Path) -> str:
    if not file.resolve().is_relative_to(folder.resolve()):
        raise ValueError(f"{file} is a link that leads out of {folder}; put the text itself there")
    text = file.read_text("utf-8-sig").strip()
    if not text:
        raise ValueError(f"{file} is empty; write there what the list wants to read")
    return text
