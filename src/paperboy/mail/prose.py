"""One line for readers, in which mathematics that has no good Unicode form is marked. Pure.

Plain text shows such a formula as legibly as Unicode goes ("10^9.5"), HTML its TeX in a monospace span.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from html import escape
from typing import Self

from paperboy.mail.text import cut, one_line, shorten, visible
from paperboy.tex import Span, math_to_text, spans


@dataclass(frozen=True, slots=True)
class Piece:
    """A stretch of text, or the source of one formula."""

    text: str  # as HTML shows it
    source: bool = False  # TeX without its delimiters
    unicode: str = ""  # of a source: what plain text shows in its place


class Prose(str):
    """A clean line: a string as plain text shows it, which Jinja, where it escapes, prints as HTML shows it."""

    __slots__ = ("pieces",)

    pieces: tuple[Piece, ...]

    def __new__(cls, plain: str, pieces: tuple[Piece, ...]) -> Self:
        made = super().__new__(cls, plain)
        made.pieces = pieces
        return made

    def __html__(self) -> str:
        return "".join(f"<code>{escape(p.text)}</code>" if p.source else escape(p.text) for p in self.pieces)


def prose(tex: str) -> Prose:
    """A title, an abstract or a comment for readers."""
    parts = tuple(spans(tex))
    return Prose(one_line("".join(part.text for part in parts)), tuple(_trimmed(_settled(_drafts(parts)))))


def shortened(text: Prose, limit: int) -> Prose:
    """Both forms cut at the place where `text.shorten` would cut what HTML shows, but in no formula's source."""
    if sum(len(piece.text) for piece in text.pieces) <= limit:
        return text
    # Whoever cuts takes a formula for one long word in which no sentence ends.
    masked = "".join("\ufffc" * len(piece.text) if piece.source else piece.text for piece in text.pieces)
    kept = _trimmed(list(_until(text.pieces, cut(masked, limit))))
    if not kept:
        plain = shorten(str(text), limit)
        return Prose(plain, (Piece(plain),))
    plain = one_line("".join(piece.unicode if piece.source else piece.text for piece in kept)) + " …"
    if kept[-1].source:
        return Prose(plain, (*kept, Piece(" …")))
    return Prose(plain, (*kept[:-1], Piece(kept[-1].text + " …")))


def _until(pieces: Iterable[Piece], end: int) -> Iterator[Piece]:
    """The pieces up to a place in what HTML shows, or up to the source that has it inside."""
    for piece in pieces:
        if end < len(piece.text):
            if not piece.source:
                yield Piece(piece.text[:end])
            return
        yield piece
        end -= len(piece.text)


# Clean pieces, that are clean together, too


def _drafts(parts: Iterable[Span]) -> Iterator[Piece]:
    """The pieces, none of them empty, and between two texts always a source."""
    texts: list[str] = []
    for part in parts:
        source = "" if _has_unicode_form(part) else _source(part.formula)
        if not source or _leaning(source):
            texts.append(part.text)
            continue
        yield from _text_piece(texts)
        texts.clear()
        yield Piece(source, source=True, unicode=part.text)
    yield from _text_piece(texts)


def _text_piece(texts: list[str]) -> Iterator[Piece]:
    """As of `one_line`, but with the spaces at its edges, where a formula stands."""
    text = re.sub(" +", " ", visible("".join(texts)))
    if text:
        yield Piece(unicodedata.normalize("NFC", text))


def _settled(drafts: Iterable[Piece]) -> list[Piece]:
    """The pieces, with the accents that follow a formula inside it: else they and it would not be in NFC together."""
    pieces: list[Piece] = []
    for draft in drafts:
        accents = draft.text[: _leaning(draft.text)]
        if pieces and accents:
            last = pieces.pop()
            text = unicodedata.normalize("NFC", last.text + accents)
            pieces.append(replace(last, text=text, unicode=last.unicode + accents))
            draft = replace(draft, text=draft.text.removeprefix(accents))  # noqa: PLW2901 - what is left of it
        if draft.text:
            pieces.append(draft)
    return pieces


def _leaning(text: str) -> int:
    """How many characters at the start combine with what stands before them."""
    rest = (at for at, character in enumerate(text) if not _leans(character))
    return next(rest, len(text))


def _leans(character: str) -> bool:
    return unicodedata.category(character)[0] == "M" or "\u1160" <= character <= "\u11ff"  # later letters of Korean


def _trimmed(pieces: list[Piece]) -> list[Piece]:
    """Without the spaces at both ends. A source has none."""
    trimmed = list(pieces)
    if trimmed and not trimmed[0].source:
        trimmed[0] = Piece(trimmed[0].text.lstrip())
    if trimmed and not trimmed[-1].source:
        trimmed[-1] = Piece(trimmed[-1].text.rstrip())
    return [piece for piece in trimmed if piece.text]


# Formulas

_MARKUP = re.compile(r"[\\^_{}]")
_SCRIPT = re.compile(  # T_eff, 10^9.5, x^(2/3)
    r"(?:^|(?<=[^\s\\^_{}(]))(?:[_^](?:(?:[^\W_]|[.⊙⊕∞])+|[^\s\w\\^_{}()])|\^\([^()\\^_{}]+\))(?![_^])"
)
_LITERAL = re.compile(r"(?P<literal>\\(?:[{}_]|(?:[lr]brace|backslash)(?![A-Za-z])))|\\.", re.DOTALL)
_SPACING = re.compile(
    r"(?P<wide>(?<=[A-Za-z])\\[!/](?=[A-Za-z])|\\[,;:> \n]|\\q?quad(?![A-Za-z])|~)|(?P<none>\\[!/])|\\.", re.DOTALL
)


def _has_unicode_form(part: Span) -> bool:
    r"""Whether the text shows no TeX, except the scripts that everybody reads, and characters that \{, \}
    and \_ stand for. Prose has no other form.
    """
    if not part.formula or not _MARKUP.search(_SCRIPT.sub("", part.text)):
        return True
    body = _body(part.formula)
    without = _LITERAL.sub(lambda match: "|" if match["literal"] else match[0], body)
    return without != body and not _MARKUP.search(math_to_text(without))


def _source(formula: str) -> str:
    """Its TeX without delimiters, on one line, each of TeX's own spaces a plain one."""
    body = _body(formula)
    return one_line(_SPACING.sub(lambda match: " " if match["wide"] else "" if match["none"] else match[0], body))


def _body(formula: str) -> str:
    width = 2 if formula.startswith(("\\(", "\\[", "$$")) else 1
    return formula[width:-width]
