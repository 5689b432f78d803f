"""Where the formulas are, and the typography of the prose between them."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass

from paperboy.tex.reader import render


@dataclass(frozen=True, slots=True)
class Span:
    """A stretch of prose, or one formula. `formula` is its TeX with the delimiters, and empty for prose."""

    text: str  # for the reader
    formula: str = ""


def to_text(tex: str) -> str:
    """A title or an abstract as a reader expects it: `CO$_2$` is "CO₂", `$5 and $10` stays."""
    return "".join(span.text for span in spans(tex))


def name_to_text(name: str) -> str:
    r"""An author's name: `F\'elix` is "Félix", and braces never stay."""
    if not re.search(r"[\\{}~]", name):
        return name
    text = render(re.sub(r"(?<!\\)~", " ", name), math=False).translate({ord("{"): None, ord("}"): None})
    return unicodedata.normalize("NFC", " ".join(text.split()))


def spans(tex: str) -> Iterator[Span]:
    r"""The prose and the formulas in order; a formula within `\emph{…}` is a span of its own, too."""
    if not re.search(r"[\\${~`]|--", tex):
        yield Span(tex)
        return
    free = (chr(code) for code in range(0xF0000, 0x10FFFE) if chr(code) not in tex)
    formulas = dict(zip(free, _formulas(tex), strict=False))  # one private character stands for each in the prose
    pieces, at = [], 0
    for mark, (start, end, _) in formulas.items():
        pieces += [tex[at:start], mark]
        at = end
    prose = render(_typography("".join(pieces) + tex[at:]), math=False)
    for part in re.split(f"({_MARK})", prose):
        if part in formulas:
            start, end, body = formulas[part]
            yield Span(math_to_text(body), tex[start:end])
        elif part:
            yield Span(part)


def math_to_text(body: str) -> str:
    """The inside of a formula, without its delimiters, in one line. A matrix and its like stay as they are."""
    has_rows = re.search(r"\\begin\s*\{", body)
    return re.sub(r"\s+", " ", body.strip() if has_rows else render(body.strip(), math=True))


# Where formulas are

_MARK = "[\U000f0000-\U0010ffff]"
_DELIMITED = re.compile(
    r"\\\((?P<round>.+?)\\\)|\\\[(?P<square>.+?)\\\]|\\."
    r"|\$\$(?P<double>[^$]+)\$\$|\$(?P<single>(?:[^$\\]|\\.)+)\$",
    re.DOTALL,
)
_PROSE = re.compile(r"\s[a-z]{2,}(\s|$)")


def _formulas(tex: str) -> Iterator[tuple[int, int, str]]:
    """Start, end and inside of each formula."""
    at = 0
    while match := _DELIMITED.search(tex, at):
        at = match.end()
        body = match[match.lastgroup] if match.lastgroup else ""
        if match.lastgroup == "single" and not _is_formula(body, tex[at : at + 1]):
            at = match.start() + 1
        elif match.lastgroup:
            yield match.start(), at, body


def _is_formula(body: str, after: str) -> bool:
    """Whether dollars hold a formula or are a currency: pandoc's rule (no space next to them inside, no digit after),
    which TeX or a relation inside excuses; and what begins with a number and goes on in words is money.
    """
    is_money = re.match(r"\s*\d", body) and _PROSE.search(body) and not re.search(r"\\[A-Za-z,;: ]|[\^~]", body)
    if is_money or "\n\n" in body:
        return False
    is_plainly_math = bool(re.search(r"[\\^_<>=]|^[-+/]$", body))
    return is_plainly_math or not (body[0].isspace() or body[-1].isspace() or after.isdigit())


# Typography of prose

_TYPOGRAPHIC = re.compile(
    r"(?P<as_is>https?://\S+|\\(?:url|href)\s*\{[^{}]*\}|\\.)"
    r"|``(?P<double>(?:(?!``|'').)*)''|``(?P<half>(?:(?!``|''|\").)*)\"|(?<![\w`])`(?P<single>[^`'\s](?:[^`']|'(?=\w))*)'(?![\w'])"
    r"|(?P<dash>(?<!-)---?(?!-))|(?P<tie>~)",
    re.DOTALL,
)


def _typography(tex: str) -> str:
    """Quotation marks, dashes and ties of prose, but not those of addresses."""
    return _TYPOGRAPHIC.sub(_typeset, tex)


def _typeset(match: re.Match[str]) -> str:
    before = match.string[max(0, match.start() - 20) : match.start()]
    after = match.string[match.end() : match.end() + 1]
    if match["double"] is not None:
        return f"“{_typography(match['double'])}”"
    if match["half"] is not None:
        return f"“{_typography(match['half'])}”"
    if match["single"] is not None:
        return f"‘{_typography(match['single'])}’"
    if match["dash"]:
        is_option = (not before or before[-1].isspace()) and after.isalpha()  # --verbose
        return match[0] if is_option else {"--": "–", "---": "—"}[match["dash"]]
    if match["tie"]:
        return " " if _is_tie(before, after) else "~"
    return match[0]


def _is_tie(before: str, after: str) -> bool:
    """Whether a tilde is TeX's space (Fig.~2, 5~kpc) or an author's "about" (z~2, of ~10)."""
    if not before or before[-1] in " \t\n([<>=" or not after.strip():
        return False
    return not after.isdigit() or bool(re.search(r"\b[A-Z]\w+$|[.,}]$", before))
