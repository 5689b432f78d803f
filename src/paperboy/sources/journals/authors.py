"""Authors of a feed's entries, from the five ways in which publishers write them."""

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice, pairwise

from paperboy.edges.text import NAME_SUFFIXES, one_line, shortened
from paperboy.models import ET_AL
from paperboy.tex import name_to_text

NAME = 200  # characters
MOST = 5_000  # authors

_NO_BREAK = "\u00a0"
_LINE = re.compile(r"Authors?(?:\(s\))?\s*:\s*(.+)", re.IGNORECASE)
_DOI_LINE = re.compile(r"(?:.*\W)?DOI\W", re.IGNORECASE)
_NAMES = re.compile(r"(?:[^\W\d_][\w.'’-]*\s){1,4}[^\W\d_a-z][\w.'’-]*")
_AND = re.compile(" ?[,，、] ?(?:and )?| (?:and|&) ")
_MAILBOX = re.compile(r"[^\s@]{1,200}@[^\s@(]{1,200} ?\((?P<name>.*)\)")
_ET_AL = re.compile(r",? et al\b.*$")
_INITIALS = re.compile("[A-Z]{1,3}")
_TAG = re.compile(r"<sup>[^<]*</sup>|<[^<>]*>")


def in_text(paragraphs: Sequence[str]) -> list[str]:
    """Return the names in a description, if it has a paragraph of them: the one labelled "Author(s):",
    or one of names alone next to a DOI.
    """
    for paragraph in paragraphs:
        if labelled := _LINE.match(paragraph):
            return [labelled[1]]

    for before, paragraph in pairwise(paragraphs):
        names = [name for name in _AND.split(paragraph) if name]
        if _DOI_LINE.match(before) and all(map(_NAMES.fullmatch, names)):
            return [paragraph]
    return []


def natural(written: Sequence[Sequence[str]]) -> Iterator[tuple[str, ...]]:
    """Yield each entry's authors in natural order, each once. `written` is what the entries of the
    whole feed have: one comma alone cannot tell "Surname, Given" from two names.
    """
    split = [[part for text in texts for part in _parts(text)] for texts in written]
    surname_first = _surname_first(split)
    entries = [list(islice(_names(texts, surname_first), MOST)) for texts in split]

    names = [name for entry in entries for name in entry]
    initials_last = 2 * sum(map(bool, map(_initials_first, names))) > len(names)
    for entry in entries:
        ordered = [_initials_first(name) or name for name in entry] if initials_last else entry
        yield tuple(dict.fromkeys(ordered))


def _parts(text: str) -> list[str]:
    """Return what semicolons separate, in one line, without mark-up and affiliations."""
    line = _ET_AL.sub(f", {ET_AL}", " ".join(_TAG.sub("", text).split()))
    mailbox = _MAILBOX.fullmatch(line)
    return re.split(" ?[;；] ?", mailbox["name"] if mailbox else line)


def _surname_first(entries: Iterable[Sequence[str]]) -> bool:
    """Return whether most commas of the feed are within a name."""
    votes = 0
    for texts in entries:
        for text in texts:
            parts = [part for part in _AND.split(text) if part and not _is_suffix(part)]
            if len(parts) == 2:
                is_alone = len(texts) == 1
                has_word = any(len(part.split()) == 1 for part in parts)
                votes += -1 if is_alone and not has_word else 1
            elif len(parts) > 2:
                votes -= 1
    return votes > 0


def _names(texts: Iterable[str], surname_first: bool) -> Iterator[str]:
    for text in texts:
        parts = [part for part in map(_clean, _AND.split(text)) if part]
        if surname_first and len(parts) > 1:
            surname, given, *suffix = parts
            yield " ".join([given, _NO_BREAK.join(surname.split()), *suffix])
            continue

        name = ""
        for part in parts:
            if _is_suffix(part):
                name += f" {part}"
                continue
            if name:
                yield name
            name = part
        if name:
            yield name


def _clean(part: str) -> str:
    """Return a name without marks of affiliations; empty if it is none."""
    text = one_line(name_to_text(shortened(part, NAME)))
    text = re.sub(r"(?<=\w{4})\.$", "", text.strip(" *†‡,"))
    if re.match(r"et al\b", text):
        return ET_AL
    return text if any(map(str.isalpha, text)) and "@" not in text else ""


def _is_suffix(part: str) -> bool:
    return part.strip(" .").lower() in NAME_SUFFIXES


def _initials_first(name: str) -> str:
    """Return "Brandt AB" as "A. B. Brandt"; empty if the name has no initials at its end."""
    surname, _, initials = name.removesuffix(".").rpartition(" ")
    if not _INITIALS.fullmatch(initials) or not re.search(r"[^\W\d_]{2}", surname):
        return ""
    return " ".join([*(f"{letter}." for letter in initials), surname])
