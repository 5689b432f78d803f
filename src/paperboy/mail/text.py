"""Text that strangers wrote, made fit for a mail: cleaned, shortened and wrapped. Pure."""

from __future__ import annotations

import re
import textwrap
import unicodedata
from functools import cache

WIDTH = 76  # columns of the plain-text part

_DIRECTIONS = frozenset("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
_INVISIBLE = frozenset("\u200b\u2060\ufeff\ufffe\uffff")
_SENTENCE_END = re.compile(
    r"(?<![\s(][a-zA-Z])(?<!e\.g)(?<!i\.e)(?<!et al)(?<!vs)(?<!cf)[.!?][)\]\"'”’]*(?=\s+[^\sa-z]|$)"
)


def one_line(text: str) -> str:
    """The text on one line, in NFC, without control characters, marks that turn the writing direction, invisible
    characters, lone surrogates and code points that no XML may hold.
    """
    kept = "".join(" " if character.isspace() else character for character in text if _may_stay(character))
    return unicodedata.normalize("NFC", " ".join(kept.split()))


def paragraphs(text: str) -> tuple[str, ...]:
    """The lines of a longer text, each cleaned as by `one_line`, without the empty ones."""
    lines = (one_line(line) for line in re.split(r"[\r\n\v\f\x85\u2028\u2029]+", text))
    return tuple(line for line in lines if line)


@cache
def _may_stay(character: str) -> bool:
    if character.isspace():
        return True
    if character in _DIRECTIONS or character in _INVISIBLE:
        return False
    return unicodedata.category(character) not in {"Cc", "Cs"} and (ord(character) & 0xFFFE) != 0xFFFE


def shorten(text: str, limit: int) -> str:
    """At most about `limit` characters of a line: whole sentences where one ends in its last two thirds, else whole
    words. A text that was cut ends in an ellipsis.
    """
    if len(text) <= limit:
        return text
    ends = [match.end() for match in _SENTENCE_END.finditer(text, 0, limit + 1) if limit // 3 <= match.end() <= limit]
    if ends:
        return text[: ends[-1]] + " …"
    words = text[: limit + 1].rpartition(" ")[0] or text[:limit]
    return words.rstrip(" ,;:–—-") + " …"


def wrap(text: str, first: str = "", rest: str | None = None) -> str:
    """The text in lines of at most 76 columns; `first` starts the first line, `rest` (`first`, if not given) the
    others. Words longer than a line, such as addresses, stay whole.
    """
    rest = first if rest is None else rest
    filled = textwrap.TextWrapper(
        WIDTH, initial_indent=first, subsequent_indent=rest, break_long_words=False, break_on_hyphens=False
    )
    return "\n".join(filled.wrap(" ".join(text.split())))
