"""Reads TeX from left to right and writes what it says: prose with its typography, and the formulas in it."""

import re
import unicodedata
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from paperboy.foreign import composed
from paperboy.tex.macros import (
    ACCENTS,
    BARE_ACCENTS,
    COMMANDS,
    DECLARATIONS,
    LETTERS,
    PROSE_COMMANDS,
    SCRIPTS,
    both_errors,
    enclosed,
    raised,
    symbols,
)


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
    text = _read(re.sub(r"(?<!\\)~", " ", name), math=False)
    return composed(text.translate({ord("{"): None, ord("}"): None}))


def spans(tex: str) -> Iterator[Span]:
    r"""The prose and the formulas in order; a formula within `\emph{…}` is a span of its own, too."""
    if not re.search(r"[\\${~`]|--", tex):
        yield Span(tex)
        return
    taken = {*tex}
    free = (chr(code) for code in range(0xF0000, 0x10FFFE) if chr(code) not in taken)
    formulas = dict(zip(free, _formulas(tex), strict=False))  # one private character stands for each in the prose
    pieces, at = [], 0
    for mark, (start, end, _) in formulas.items():
        pieces += [tex[at:start], mark]
        at = end
    prose = _read(_typography("".join(pieces) + tex[at:]), math=False)
    for part in re.split(f"({_MARK})", prose):
        if part in formulas:
            start, end, body = formulas[part]
            yield Span(math_to_text(body), tex[start:end])
        elif part:
            yield Span(part)


def math_to_text(body: str) -> str:
    """The inside of a formula, without its delimiters, in one line. A matrix and its like stay as they are."""
    has_rows = re.search(r"\\begin\s*\{", body)
    return re.sub(r"\s+", " ", body.strip() if has_rows else _read(body.strip(), math=True))


# --- formulas

_MARK = "[\U000f0000-\U0010ffff]"
_DELIMITED = re.compile(r"\\.|\$\$(?P<double>[^$]+)\$\$|\$(?P<single>(?:[^$\\]|\\.)+)\$", re.DOTALL)
_CLOSINGS = {r"\(": r"\)", r"\[": r"\]"}
_PROSE = re.compile(r"\s[a-z]{2,}(\s|$)")


def _formulas(tex: str) -> Iterator[tuple[int, int, str]]:
    """Start, end and inside of each formula."""
    at = 0
    last = {closing: tex.rfind(closing) for closing in _CLOSINGS.values()}  # searched for once, not from each opening
    while match := _DELIMITED.search(tex, at):
        start, at = match.span()
        closing = _CLOSINGS.get(match[0], "")
        if closing and last[closing] > at:
            end = tex.index(closing, at + 1)
            body, at = tex[at:end], end + 2
            yield start, at, body
        elif match.lastgroup == "single" and not _is_formula(match["single"], tex[at : at + 1]):
            at = start + 1
        elif match.lastgroup:
            yield start, at, match[match.lastgroup]


def _is_formula(body: str, after: str) -> bool:
    """Whether dollars hold a formula or are a currency: pandoc's rule (no space next to them inside, no digit after),
    which TeX or a relation inside excuses; and what begins with a number and goes on in words is money.
    """
    is_money = re.match(r"\s*\d", body) and _PROSE.search(body) and not re.search(r"\\[A-Za-z,;: ]|[\^~]", body)
    if is_money or "\n\n" in body:
        return False
    is_plainly_math = bool(re.search(r"[\\^_<>=]|^[-+/]$", body))
    return is_plainly_math or not (body[0].isspace() or body[-1].isspace() or after.isdigit())


# --- the typography of prose

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
    if match.lastgroup in {"double", "half"}:
        return f"“{_typography(match[match.lastgroup])}”"
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


# --- macros, groups and scripts

_DEEPEST = 40  # groups within groups; beyond it the source stands
_TOKEN = re.compile(r"\\[A-Za-z]+\*?|\\.|[{}^_~'\s]|[^\\{}^_~'\s]+|\\", re.DOTALL)
_INDEX = re.compile(r"\s*\[([^\[\]]*)\]")
_BRACE = re.compile(r"\\.|[{}]", re.DOTALL)
_OPERAND = re.compile(r"\w|\\(?!left|[bB]ig)[A-Za-z]")
_UNIT = re.compile(r"[A-Za-z\d{]|\\(?:math|text|rm|[A-Z])")

_Stretch = tuple[int, int]  # of the text: its start and its end


def _read(tex: str, *, math: bool) -> str:
    return _Reader(tex, _closing_braces(tex), (0, len(tex)), math=math).read()


class _Reader:
    """Reads a stretch of TeX from left to right. Each group inside it has a reader of its own, over the same text; what
    closes it is known beforehand, so that the time is linear in the text's length.
    """

    def __init__(self, tex: str, closing: Mapping[int, int], stretch: _Stretch, *, math: bool, depth: int = 0) -> None:
        self.tex, self.closing, self.math, self.depth = tex, closing, math, depth
        self.start, self.end = stretch
        self.at = self.start
        self.last = self.last_sign = ""  # of what was written: the last character, and the last that is no space

    def read(self) -> str:
        if self.depth == _DEEPEST:
            return self.tex[self.start : self.end]
        out = []
        while match := self._match(_TOKEN):
            start, self.at = self.at, match.end()
            if text := self._text_of(match[0], start):
                out.append(text)
                self.last, self.last_sign = text[-1], text.rstrip()[-1:] or self.last_sign
        return "".join(out)

    def _text_of(self, piece: str, start: int) -> str:
        if piece[0] == "\\" and len(piece) > 1:
            return self._macro(piece[1:], start)
        if group := self._group_at(start):
            return self._group(group)
        if piece in {"^", "_"} and (self.math or self._next() == "{"):
            return self._script(piece)
        return {"'": "′", "~": " "}.get(piece, piece) if self.math else piece

    def _group(self, group: _Stretch) -> str:
        start, end = group
        self.at = end + 1
        text, inner = self._inside(group), self.tex[start:end]
        before = self.tex[max(self.start, start - 41) : start - 1]
        if self.math or re.match(r"\s*\\", inner) or re.search(r"\\[A-Za-z]+\*?[ \t]*$", before):
            return text
        begins_word = not self.last.isalnum() and self._next().isalpha()
        is_protected = begins_word and re.fullmatch(r"[A-Z]\w*", inner)  # BibTeX's {B}ayes
        return text if is_protected else f"{{{text}}}"

    def _macro(self, name: str, start: int) -> str:
        after_name = self.at
        name = name.removesuffix("*") if len(name) > 1 else name
        if name in DECLARATIONS:
            self._skip_spaces()
            if name in {"left", "right"} and self._next() == ".":
                self.at += 1
            return ""
        if (symbol := symbols().get(name)) is not None:
            return self._symbol(name, symbol)
        if (text := self._command(name)) is not None:
            return text
        self.at = after_name
        return self.tex[start:after_name] + self._verbatim_braces()

    def _command(self, name: str) -> str | None:
        """What a macro with arguments comes to; None where it is not known or an argument is missing."""
        if name in ACCENTS:
            return self._accent(name)
        if name == "sqrt" and (index := self._match(_INDEX)):
            self.at = index.end()
            argument = self._argument()
            return raised("^", self._inside(index.span(1))) + f"√{enclosed(self._inside(argument))}"
        count, write = COMMANDS.get(name, (0, None))
        arguments = [self._argument() for _ in range(count)]
        if write is None or None in arguments:
            return None
        as_math = self.math and name not in PROSE_COMMANDS
        return write(*(self._inside(argument, math=as_math) for argument in arguments))

    def _symbol(self, name: str, symbol: str) -> str:
        if not name.isalpha():
            return symbol
        if not self.math:
            if name in LETTERS:
                self._skip_spaces()
            return symbol
        if name == "deg" and not self.last.isdigit():
            symbol = "deg"  # of a polynomial
        spaces, after = self._skip_spaces(), self._next()
        if symbol.isalpha() and symbol.isascii() and len(symbol) > 1:  # log, sin
            has_operand = self._match(_OPERAND) and after != "_"
            return " " * self.last.isalnum() + symbol + " " * bool(has_operand)
        if not after.isalnum():
            return symbol + spaces
        # As much space after a relation as there is before it.
        return symbol + " " * (self.last == " " and not symbol.isalpha())

    def _accent(self, name: str) -> str | None:
        gap, combining = self._skip_spaces(), ACCENTS[name]
        if (argument := self._argument()) is None:
            return None
        is_braced = self.tex[self.at - 1] == "}"
        text = self._inside(argument)
        base = {"ı": "i", "ȷ": "j"}.get(text.strip(), text.strip())
        if not base and is_braced and combining in BARE_ACCENTS:
            return BARE_ACCENTS[combining]
        accented = unicodedata.normalize("NFC", base[:1] + combining)
        if self.math and name.isalpha():
            fits = len(base) == 1 or (base and all(ord(character) in SCRIPTS for character in base[1:]))
        else:
            fits = base[:1].isalpha() and (is_braced or name.isalpha() or len(accented) == 1)
        if fits:
            return accented + base[1:]
        return f"\\{name}{gap}{{{text}}}" if is_braced else f"\\{name}{gap}{text}"

    def _script(self, sign: str) -> str:
        start = self.at
        if (argument := self._argument()) is None:
            self.at = start
            return sign
        text = self._inside(argument, math=True)
        if errors := self._both_errors(sign, text):
            return errors
        return raised(sign, text, before_word=self._next().isalnum()) if text.strip() else ""

    def _both_errors(self, sign: str, text: str) -> str:
        """A measurement's two errors, if this script and the next are that; else empty, and nothing is read."""
        start = self.at
        if self.last_sign and self.last_sign in "∫∬∭∮∑∏|":  # whose limits these are
            return ""
        self._skip_spaces()
        if re.match(r"[-+−] ?\d", text) and self._next() == {"^": "_", "_": "^"}[sign]:
            self.at += 1
            argument = self._argument() or (self.at, self.at)
            # What has scripts of its own is no error; read here and again at its turn, it would cost twice a level.
            other = "" if re.search(r"[\^_]", self.tex[slice(*argument)]) else self._inside(argument, math=True)
            if errors := both_errors(text, other) if sign == "^" else both_errors(other, text):
                return " " * (self.last not in {" ", "("}) + errors + " " * bool(self._match(_UNIT))
        self.at = start
        return ""

    def _argument(self) -> _Stretch | None:
        """Where the inside of the group or the single token is that comes next; None at the end."""
        self._skip_spaces()
        start = self.at
        if group := self._group_at(start):
            self.at = group[1] + 1
            return group
        match = self._match(_TOKEN)
        if match is None or match[0][0] in "{}\n":
            return None
        self.at = match.end() if match[0][0] == "\\" else start + 1
        if match[0][1:] in COMMANDS and (group := self._group_at(self.at)):  # x^\mathrm{T}
            self.at = group[1] + 1
        return start, self.at

    def _verbatim_braces(self) -> str:
        """The groups after an unknown macro, with their braces."""
        groups = []
        while group := self._group_at(self.at):
            self.at = group[1] + 1
            groups.append(f"{{{self._inside(group)}}}")
        return "".join(groups)

    def _group_at(self, start: int) -> _Stretch | None:
        """The inside of the balanced group that begins there."""
        end = self.closing.get(start, self.end)
        return (start + 1, end) if end < self.end else None

    def _inside(self, stretch: _Stretch | None, *, math: bool | None = None) -> str:
        math = self.math if math is None else math
        return _Reader(self.tex, self.closing, stretch, math=math, depth=self.depth + 1).read() if stretch else ""

    def _skip_spaces(self) -> str:
        start = self.at
        while self._next() in {" ", "\t"}:
            self.at += 1
        return self.tex[start : self.at]

    def _next(self) -> str:
        return self.tex[self.at] if self.at < self.end else ""

    def _match(self, pattern: re.Pattern[str]) -> re.Match[str] | None:
        return pattern.match(self.tex, self.at, self.end)


def _closing_braces(tex: str) -> dict[int, int]:
    """Where each balanced group ends, by where it begins."""
    begun: list[int] = []
    closing = {}
    for match in _BRACE.finditer(tex):
        if match[0] == "{":
            begun.append(match.start())
        elif match[0] == "}" and begun:
            closing[begun.pop()] = match.start()
    return closing
