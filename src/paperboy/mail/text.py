"""Text that strangers wrote, made fit for a mail: cleaned, shortened and wrapped. Pure."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from functools import cache

WIDTH = 76  # columns of the plain-text part

# Cleaning

_DIRECTIONS = frozenset("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
_INVISIBLE = frozenset("\u200b\u2060\ufeff\ufffe\uffff")


def one_line(text: str) -> str:
    """The text on one line, in NFC, without control characters, marks that turn the writing direction, invisible
    characters, lone surrogates and code points that no XML may hold.
    """
    return unicodedata.normalize("NFC", " ".join(visible(text).split()))


def visible(text: str) -> str:
    """The text without what `one_line` removes, every space and line end a plain space, but none of them joined."""
    if text.isprintable():  # as nearly all of it is: nothing invisible, and no space but the plain one
        return text
    return "".join(" " if character.isspace() else character for character in text if _may_stay(character))


@cache
def _may_stay(character: str) -> bool:
    if character.isspace():
        return True
    if character in _DIRECTIONS or character in _INVISIBLE:
        return False
    return unicodedata.category(character) not in {"Cc", "Cs"} and (ord(character) & 0xFFFE) != 0xFFFE


# Shortening


def shorten(text: str, limit: int) -> str:
    """At most about `limit` characters of a line: whole sentences where one ends in its last two thirds, else whole
    words. A text that was cut ends in an ellipsis.
    """
    if len(text) <= limit:
        return text
    kept = text[: cut(text, limit)]
    return f"{kept} …" if kept else "…"


def cut(text: str, limit: int) -> int:
    """Where `shorten` ends a line that is longer than the limit. No bracket that opens before it stays open if there
    is another end that costs little.
    """
    least = limit // 3
    ends = [end for end in _sentence_ends(text, limit) if end >= least]
    if ends:
        return next((end for end in reversed(ends) if not _left_open(text[:end])), ends[-1])
    return _word_end(text, limit)


def clipped(text: str, limit: int) -> str:
    """At most about `limit` characters of a line that is no prose, such as a title: whole words and an ellipsis."""
    return text if len(text) <= limit else f"{text[: _word_end(text, limit)]} …".lstrip()


def _word_end(text: str, limit: int) -> int:
    end = text.rfind(" ", limit // 3, limit + 1)
    if end < 0:
        return _between_characters(text, limit)
    opened = next((at for at in _left_open(text[:end]) if at >= limit // 2), end)
    return len(text[:opened].rstrip(" ,;:–—-([{“‘")) or end


def _left_open(text: str) -> list[int]:
    """Where brackets open that the text does not close. Any kind closes any other: intervals are written [0, 1)."""
    opened: list[int] = []
    for match in re.finditer(r"[(\[)\]]", text):
        if match[0] in "([":
            opened.append(match.start())
        elif opened:
            opened.pop()
    return opened


def _between_characters(text: str, end: int) -> int:
    """The last place, at most `end`, that takes no accent off its letter."""
    start = end
    while start and unicodedata.combining(text[start]):
        start -= 1
    return start or end


# Where sentences end

_END = re.compile(r"(?P<mark>[.!?…]+)[)\]}\"'”’»]*(?=\s)|[。！？][」』）]*")
_LAST_WORD = re.compile(r"[^\s(\[{“‘\"']*$")
_LOWER_CASE_START = re.compile(r"[a-z][^\s/.]*[A-Z\d=<>∼≈~]|[b-z](?![\w.’'-])|[α-ωϕϵℓ]|[a-z]{1,4}\)")
_NUMBERED = re.compile(r"[\d(\[§~]|[A-Z]\d|[IVX]+\b|[A-Z]\b(?!\s+[a-z])")
_INITIALS = re.compile(r"[A-Z]|(?:[A-Za-z]\.-?)+[A-Za-z]")  # of a name, or U.S, i.i.d, a.m
_STARTERS = re.compile(
    "(?:A|According|Additionally|All|Also|Although|Among|An|And|As|At|Based|Because|Besides|Both|But|By|Compared|Conversely"
    "|Currently|Despite|Due|During|Each|Existing|Experiments|Extensive|Finally|First|Following|For|From|Furthermore|Given"
    "|Hence|Here|How|However|If|In|Instead|It|Its|Many|Meanwhile|Moreover|Most|Motivated|Next|No|Notably|On|Once|One|Only"
    "|Our|Overall|Previous|Recent|Recently|Results|Second|Several|Similarly|Since|So|Some|Specifically|Such|That|The|Their"
    "|Then|There|Therefore|These|They|Third|This|Those|Though|Through|Thus|To|Together|Two|Under|Unlike|Using|Via|We|What"
    "|When|Where|Whereas|Whether|Which|While|With|Within|Without|Yet)(?![\\w.])"
)


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_NEVER_LAST = _words("e.g i.e eg ie vs cf ca approx viz resp incl esp")
_TITLES = _words("Dr Prof Mr Mrs Ms St Mt Ft")
_BEFORE_NUMBER = _words(
    "fig figs eq eqs eqn eqns sec secs sect sects ref refs tab no nos ch chap vol pp art app appx thm lem prop def cor"
    " alg ex jan feb mar apr jun jul aug sep sept oct nov dec"
)
_SELDOM_LAST = _words(
    "al etc inc ltd jr sr co corp dept univ phys rev lett proc conf trans astron astrophys mon soc acad math symp"
)


def _sentence_ends(text: str, limit: int) -> Iterator[int]:
    """The places up to the limit where a sentence ends and another begins."""
    for match in _END.finditer(text, 0, limit + 1):
        if match.end() <= limit and (match["mark"] is None or _ends_sentence(text, match.start("mark"), match)):
            yield match.end()


def _ends_sentence(text: str, start: int, match: re.Match[str]) -> bool:
    after = text[match.end() : match.end() + 60].lstrip()
    if not _starts_sentence(after):
        return False
    if match["mark"] != ".":
        return True
    before = text[max(0, start - 40) : start]
    word = _LAST_WORD.search(before)
    last = word[0] if word else ""
    small = last if last.isupper() else last.lower()  # CO is a molecule, Co a company
    if small in _NEVER_LAST or last in _TITLES:
        return False
    if small in _BEFORE_NUMBER and _NUMBERED.match(after):
        return False
    if small in _SELDOM_LAST or _INITIALS.fullmatch(last):
        is_symbol = len(last) == 1 and last.islower() and not after[:1].isdigit()  # of mass m. The …
        return is_symbol or bool(_STARTERS.match(after))
    is_item = re.fullmatch(r"\d{1,2}", last) and re.search(r"(^|[.:;!?])\s*$", before[: len(before) - len(last)])
    return not is_item


def _starts_sentence(after: str) -> bool:
    bare = after.lstrip("([{“‘\"'«*")
    return bool(bare) and (not bare[0].islower() or bool(_LOWER_CASE_START.match(bare)))


# Wrapping

_BREAK = re.compile(r"[^\S\u00a0\u2007\u202f]+")  # all spaces but those that hold words together
_UNIT = re.compile(  # what stays whole: an address, of a length that addresses have, or a character
    r"[(\[{<“‘\"']*(?:[A-Za-z][A-Za-z0-9+.-]{1,15}://|mailto:)[!-~]{1,240}|[!-?A-~]{1,64}@[!-~]{1,190}|.", re.DOTALL
)


def wrap(text: object, first: str = "", rest: str | None = None) -> str:
    """The text (of anything that has one) in lines of at most 76 columns, without spaces at their ends; `first` starts
    the first line, `rest` (`first`, if not given) the others. A word longer than a line is broken, but no address.
    """
    rest = first if rest is None else rest
    room = WIDTH - columns(first)
    lines: list[str] = []
    line = ""
    for chunk in _chunks(str(text)):
        if line and columns(line) + 1 + columns(chunk) > room:
            lines.append(line)
            line, room = "", WIDTH - columns(rest)
        if not line and columns(chunk) > room:
            *full, chunk = _broken(chunk, min(room, WIDTH - columns(rest)))  # noqa: PLW2901 - its end goes on
            lines += full
            room = WIDTH - columns(rest)
        line = f"{line} {chunk}" if line else chunk
    lines += [line] if line else []
    return "\n".join((rest if number else first) + line for number, line in enumerate(lines))


def columns(text: str) -> int:
    """What a terminal needs for the text at most: two columns for a wide character, none for a combining one."""
    return len(text) if text.isascii() and text.isprintable() else sum(map(_columns_of, text))


@cache
def _columns_of(character: str) -> int:
    if unicodedata.east_asian_width(character) in {"W", "F"}:
        return 2
    if character == "\ufe0f":  # asks for the wide form of what stands before it
        return 1
    is_joined = "\u1160" <= character <= "\u11ff"  # the later letters of a Korean syllable
    return 0 if is_joined or unicodedata.category(character) in {"Mn", "Me", "Cf", "Cc"} else 1


def _chunks(text: str) -> Iterator[str]:
    """The words; with them what should not stand alone at a line's edge, a bracket that opens or an ellipsis."""
    chunk = ""
    for part in _BREAK.split(text):
        word = part.strip()
        is_bound = chunk.endswith(("(", "[", "{", "“", "‘", "«")) or word.startswith("…")
        if chunk and word and is_bound and columns(chunk) + columns(word) < WIDTH // 2:
            chunk += " " + word
        elif word:
            if chunk:
                yield chunk
            chunk = word
    if chunk:
        yield chunk


def _broken(word: str, room: int) -> list[str]:
    """A long word in pieces of at most that many columns, or of one address."""
    pieces, line, width = [], "", 0
    for unit in _UNIT.findall(word):
        if line and width + columns(unit) > room:
            pieces.append(line.strip())
            line, width = "", 0
        line += unit
        width += columns(unit)
    pieces.append(line.strip())
    return [piece for piece in pieces if piece]
