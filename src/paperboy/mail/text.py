"""Text that strangers wrote, made fit for a mail: turned from TeX, shortened and wrapped. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence
from html import escape
from itertools import chain
from typing import Self

from paperboy.foreign import WORD_END, composed, cut, printable
from paperboy.tex import Span, spans

WIDTH = 76  # columns of the plain-text part

# Counting and listing


def counted(number: int, one: str, many: str = "") -> str:
    """The number with its noun: 1 paper, 1,200 papers."""
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def together(names: Sequence[str], most: int = 0) -> str:
    """All of them, as "a, b and c"; beyond `most`, as "a, b, c and 7 more"."""
    if most and len(names) > most:
        names = [", ".join(names[:most]), f"{len(names) - most} more"]
    return " and ".join(filter(None, [", ".join(names[:-1]), *names[-1:]]))


def money(dollars: float) -> str:
    """Dollars as a reader expects them: cents, and more digits only where there are no cents to see."""
    if dollars == 0 or dollars >= 0.1:
        return f"${dollars:,.2f}"
    return f"${dollars:.4f}" if dollars >= 0.0001 else "under $0.0001"


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

    def shortened(self, limit: int) -> Prose:
        """As `shorten` does it: what HTML shows counts, and no formula is cut."""
        if len(self.marked) <= limit:
            return self
        masked = _FORMULA.sub(lambda formula: "\ufffc" * len(formula[0]), self.marked)  # one long word
        kept = self.marked[: cut(masked, limit)]
        if kept.count(_OPEN) > kept.count(_CLOSE):
            kept = kept[: kept.rindex(_OPEN)]
        if not kept.strip():  # all of it is one formula
            plain = shorten(str(self), limit)
            return self if plain == self else Prose(plain, plain)
        kept = f"{kept.rstrip()} …"
        return Prose(_FORMULA.sub(r"\1", kept), kept)


def prose(tex: str) -> Prose:
    """A title, an abstract or a comment for readers."""
    parts = tuple(spans(printable(tex)))
    plain, marked = ("".join(part.text for part in parts), "".join(_source(part) or part.text for part in parts))
    return Prose(composed(plain), composed(marked))


def _source(part: Span) -> str:
    """The TeX of a formula between marks; empty for prose, and for what the text shows without TeX."""
    markup = r"[\\^_]" if _BRACES.search(part.formula) else r"[\\^_{}]"  # braces that the formula shows are no TeX
    if not part.formula or not re.search(markup, _SCRIPT.sub("", part.text)):
        return ""
    width = 2 if part.formula.startswith(("\\(", "\\[", "$$")) else 1
    source = composed(_SPACING.sub(" ", part.formula[width:-width]))
    return f"{_OPEN}{source}{_CLOSE}" if source else ""


# Links

_JOINER = "\u2060"  # joins words, shows as nothing, and stands in no address
_IN_LINK = re.compile(  # the places within what a mail program may take for a host, an address or a scheme
    r"(?<=\S[.\u2024\u3002\ufe52\uff0e\uff61])(?=[^\s!-~]{0,3}[^\W\d_])"  # evil.com, but not 3.5
    r"|(?<=\d\.)(?=\d+\.\d+\.\d)|(?:(?<=www)|(?<=ftp))(?=\.)|(?<=[^\W\d_])(?=:\S)|(?<=\d)(?=:/)"
    r"|(?<=\S)(?=[@\ufe6b\uff20]\S)|(?<=\S[@\ufe6b\uff20])(?=\S)|(?<=\\)(?=\\)",
    re.IGNORECASE,
)


def unlinked(text: Prose) -> Prose:
    """The same for a reader, but mail programs, which make links of bare addresses by themselves, find none."""
    return Prose(*(_IN_LINK.sub(_JOINER, form) for form in (str(text), text.marked)))


# Shortening


def shorten(text: str, limit: int) -> str:
    """Shorten prose to about `limit` characters: whole sentences where one ends in the last two thirds of the limit,
    else whole words. A text that was cut ends in an ellipsis.
    """
    if isinstance(text, Prose):
        return text.shortened(limit)
    return text if len(text) <= limit else f"{text[: cut(text, limit)]} …"


def clipped(text: str, limit: int) -> str:
    """Shorten a line that is no prose, such as a title: whole words and an ellipsis. The result is a plain `str`."""
    return str(text) if len(text) <= limit else f"{text[: cut(text, limit, WORD_END)]} …"


# Wrapping

_BREAK = re.compile(r"[^\S\u00a0\u2007\u202f]+")  # all spaces but those that hold words together
_ADDRESS = re.compile(r"://|\w@\w|mailto:")


def wrap(text: object, first: str = "", rest: str | None = None) -> str:
    """The text (of anything that has one) in lines of at most 76 columns, without spaces at their ends; `first` starts
    the first line, `rest` (`first`, if not given) the others. A word longer than a line is broken, but no address.
    """
    from rich.cells import cell_len, chop_cells  # noqa: PLC0415 - 20 ms and 3 MB, for which the daemon has no use

    rest = first if rest is None else rest
    room = WIDTH - max(cell_len(first), cell_len(rest))
    words = (word.strip() for word in _BREAK.split(str(text)))
    pieces = ([word] if cell_len(word) <= room or _ADDRESS.search(word) else chop_cells(word, room) for word in words)
    lines: list[list[str]] = []
    used = 0
    for word in filter(None, chain.from_iterable(pieces)):
        used += 1 + cell_len(word)
        if not lines or used > WIDTH:
            used = cell_len(rest if lines else first) + cell_len(word)
            lines.append([])
        lines[-1].append(word)
    return "\n".join((rest if number else first) + " ".join(line) for number, line in enumerate(lines))
