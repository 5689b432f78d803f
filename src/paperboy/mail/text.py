"""Text that strangers wrote, made fit for a mail: cleaned, turned from TeX, shortened and wrapped. Pure."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from html import escape
from itertools import takewhile
from typing import Self, overload

from paperboy.tex import Span, spans

WIDTH = 76  # columns of the plain-text part

# Cleaning

_REMOVED = frozenset(  # marks of the writing direction, and characters that are invisible or no characters
    "\u061c\u200b\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2060\u2066\u2067\u2068\u2069\ufdd0\ufdd1\ufeff"
)


def one_line(text: str) -> str:
    """Clean a text: one line in NFC, without control characters, marks that turn the writing direction, invisible
    characters, lone surrogates and code points that no XML may hold.
    """
    return unicodedata.normalize("NFC", " ".join(visible(text).split()))


def visible(text: str) -> str:
    """Remove what `one_line` removes, and turn every space and line end into a plain space; none are joined."""
    return text if text.isprintable() else "".join(map(_cleaned, text))


@cache
def _cleaned(character: str) -> str:
    if character.isspace():
        return " "
    is_bad = unicodedata.category(character) in {"Cc", "Cs"} or (ord(character) & 0xFFFE) == 0xFFFE
    return "" if is_bad or character in _REMOVED else character


# Counting and listing


def counted(number: int, one: str, many: str = "") -> str:
    """The number with its noun: 1 paper, 1,200 papers."""
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def together(names: Sequence[str], most: int = 0) -> str:
    """All of them, as "a, b and c"; beyond `most`, as "a, b, c and 7 more"."""
    if most and len(names) > most:
        names = [", ".join(names[:most]), f"{len(names) - most} more"]
    return " and ".join(filter(None, [", ".join(names[:-1]), *names[-1:]]))


# Mathematics

_OPEN, _CLOSE = "\ufdd0", "\ufdd1"  # around a formula's source; no clean text has these
_FORMULA = re.compile(f"{_OPEN}([^{_CLOSE}]*){_CLOSE}")
_SCRIPT = re.compile(  # scripts that everybody reads: T_eff, 10^9.5, x^(2/3)
    r"(?:^|(?<=[^\s\\^_{}(]))(?:[_^](?:(?:[^\W_]|[.⊙⊕∞])+|[^\s\w\\^_{}()])|\^\([^()\\^_{}]+\))(?![_^])"
)
_BRACES = re.compile(r"\\[{}]|\\[lr]brace")
_SPACING = re.compile(r"(?<!\\)(?:\\[,;:> \n]|\\q?quad(?![A-Za-z])|(?<=[A-Za-z])\\[!/](?=[A-Za-z])|~)")


class Prose(str):
    """A clean line: a string as plain text shows it, which Jinja, where it escapes, prints as HTML shows it.

    Plain text shows a formula as legibly as Unicode goes ("10^9.5"). HTML shows one that has no good Unicode form as
    its TeX in a monospace span.
    """

    __slots__ = ("marked",)

    marked: str  # as HTML shows it, with the source of each such formula between two marks

    def __new__(cls, plain: str, marked: str) -> Self:
        made = super().__new__(cls, plain)
        made.marked = marked
        return made

    def __html__(self) -> str:
        return _FORMULA.sub(r"<code>\1</code>", escape(self.marked))


def prose(tex: str) -> Prose:
    """A title, an abstract or a comment for readers."""
    parts = tuple(spans(tex))
    marked = "".join(_source(part) or visible(part.text) for part in parts)
    marked = unicodedata.normalize("NFC", re.sub(" +", " ", marked)).strip(" ")
    return Prose(one_line("".join(part.text for part in parts)), marked)


def _source(part: Span) -> str:
    """The TeX of a formula between marks; empty for prose, and for what the text shows without TeX.

    Braces that the formula itself shows are no TeX.
    """
    markup = r"[\\^_]" if _BRACES.search(part.formula) else r"[\\^_{}]"
    if not part.formula or not re.search(markup, _SCRIPT.sub("", part.text)):
        return ""
    width = 2 if part.formula.startswith(("\\(", "\\[", "$$")) else 1
    source = one_line(_SPACING.sub(" ", part.formula[width:-width]))
    return f"{_OPEN}{source}{_CLOSE}" if source else ""


# Shortening

_SENTENCE_END = re.compile(
    r"(?<![.!?…])(?P<mark>[.!?…]+)[)\]}\"'”’»]*(?=\s+[(\[{“‘\"'«*]*(?:[^\W_a-z]|[a-z](?![\w.’'-])|[a-z]+[A-Z\d∼~=]))|[。！？][」』）]*"
)
_WORD_END = re.compile(r"[^\s,;:–—\-(\[{“‘](?=[,;:–—\-(\[{“‘]*\s)")
_LAST_WORD = re.compile(r"[^\s(\[{“‘\"']*$")
_INITIALS = re.compile(r"[A-Z]|(?:[A-Za-z]\.-?)+[A-Za-z]|\d{1,2}")  # of a name, or U.S, i.e, a.m; or 1 of a list
_ABBREVIATION = re.compile(
    r"vs|cf|ca|approx|resp|incl|al|etc|figs?|eqs?|sec|sects?|refs?|tab|no|app|vol|pp|dr|prof|mrs?|st|mt|inc|phys|rev|lett",
    re.IGNORECASE,
)


@overload
def shorten(text: Prose, limit: int) -> Prose: ...
@overload
def shorten(text: str, limit: int) -> str: ...
def shorten(text: str, limit: int) -> str:
    """Shorten prose to about `limit` characters: whole sentences where one ends in the last two thirds of the limit,
    else whole words. A text that was cut ends in an ellipsis. In a `Prose`, what HTML shows counts, and no formula is
    cut.
    """
    if not isinstance(text, Prose):
        return text if len(text) <= limit else f"{text[: cut(text, limit)]} …"
    if len(text.marked) <= limit:
        return text
    masked = _FORMULA.sub(lambda formula: "\ufffc" * len(formula[0]), text.marked)  # one long word
    kept = text.marked[: cut(masked, limit)]
    if kept.count(_OPEN) > kept.count(_CLOSE):
        kept = kept[: kept.rindex(_OPEN)]
    if not kept.strip():  # all of it is one formula
        plain = shorten(str(text), limit)
        return text if plain == str(text) else Prose(plain, plain)
    kept = f"{kept.rstrip()} …"
    return Prose(_FORMULA.sub(r"\1", kept), kept)


def clipped(text: str, limit: int) -> str:
    """Shorten a line that is no prose, such as a title: whole words and an ellipsis. The result is a plain `str`."""
    return str(text) if len(text) <= limit else f"{text[: cut(text, limit, _word_ends)]} …"


def cut(text: str, limit: int, *kinds: Callable[[str], Iterator[int]]) -> int:
    """Where to end a text that is longer than the limit: at the last sentence's or word's end, or the last end of the
    given kinds, before which no bracket is open if possible. A wider limit never cuts earlier.
    """
    for ends in kinds or (_sentence_ends, _word_ends):
        near = [end for end in takewhile(lambda end: end <= limit, ends(text)) if end >= limit // 3]
        if near:
            return next((end for end in reversed(near) if not _is_open(text[:end])), near[-1])
    end = limit
    while end and unicodedata.combining(text[end]):  # takes no accent off its letter
        end -= 1
    return end or limit


def _is_open(text: str) -> bool:
    """Any kind of bracket closes any other: intervals are written [0, 1)."""
    return text.count("(") + text.count("[") > text.count(")") + text.count("]")


def _sentence_ends(text: str) -> Iterator[int]:
    for match in _SENTENCE_END.finditer(text):
        word = _LAST_WORD.search(text, max(0, match.start() - 40), match.start())
        last = word[0] if word else ""
        if match["mark"] != "." or not (_ABBREVIATION.fullmatch(last) or _INITIALS.fullmatch(last)):
            yield match.end()


def _word_ends(text: str) -> Iterator[int]:
    return (match.end() for match in _WORD_END.finditer(text))


# Wrapping

_BREAK = re.compile(r"[^\S\u00a0\u2007\u202f]+")  # all spaces but those that hold words together
_ADDRESS = re.compile(r"://|\w@\w|mailto:")


def wrap(text: object, first: str = "", rest: str | None = None) -> str:
    """The text (of anything that has one) in lines of at most 76 columns, without spaces at their ends; `first` starts
    the first line, `rest` (`first`, if not given) the others. A word longer than a line is broken, but no address.
    """
    rest = first if rest is None else rest
    room = WIDTH - max(columns(first), columns(rest))
    lines: list[str] = []
    line, used = first, columns(first)
    for part in _BREAK.split(str(text)):
        for word in _broken(part.strip(), room):
            wide = columns(word)
            if line != (rest if lines else first):
                if used + 1 + wide <= WIDTH:
                    line += f" {word}"
                    used += 1 + wide
                    continue
                lines.append(line)
                line, used = rest, columns(rest)
            line += word
            used += wide
    return "\n".join([*lines, line] if line != first or lines else [])


def _broken(word: str, room: int) -> Iterator[str]:
    """A long word in pieces of at most that many columns; an address, or a short word, as it is."""
    if columns(word) <= room or _ADDRESS.search(word):
        yield from filter(None, [word])
        return
    start = width = 0
    for end, character in enumerate(word):
        width += _columns_of(character)
        if width > room and end > start:
            yield word[start:end]
            start, width = end, _columns_of(character)
    yield word[start:]


def columns(text: str) -> int:
    """What a terminal needs for the text at most: two columns for a wide character, none for a combining one."""
    return len(text) if text.isascii() and text.isprintable() else sum(map(_columns_of, text))


@cache
def _columns_of(character: str) -> int:
    if unicodedata.east_asian_width(character) in {"W", "F"}:
        return 2
    return 0 if unicodedata.category(character) in {"Mn", "Me", "Cf", "Cc"} else 1
