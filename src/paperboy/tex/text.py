"""Reader of TeX, from left to right: prose with its typography, and the formulas in it."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from paperboy.edges.text import composed
from paperboy.tex.macros import (
    ACCENTS,
    COMMANDS,
    DECLARATIONS,
    LETTERS,
    PROSE_COMMANDS,
    accented,
    over,
    stage,
    symbols,
)
from paperboy.tex.scripts import (
    MARKS,
    SCRIPTED,
    SPACE,
    SUB,
    SUB_END,
    SUP,
    SUP_END,
    plain,
    script,
    settled,
)


def to_marked(tex: str) -> str:
    """Return a title or an abstract as text, with marks around each script that Unicode has not:
    `CO$_2$` is "CO₂", `$5 and $10` stays. No blank within a formula is a space.
    """
    if not re.search(r"[\\${}~`^]|--| %", tex):
        return tex

    tex = _COMMENT.sub("", _clean(tex))
    bodies: dict[int, str] = {}  # one private character stands for each formula in the prose
    prose = ""
    at = 0
    for mark, (start, end, body) in enumerate(formulas(tex), _FIRST_MARK):
        bodies[mark] = _formula(body, before=tex[start - 1 : start])
        prose += tex[at:start] + chr(mark)
        at = end

    prose = _TYPOGRAPHIC.sub(_typeset, prose + tex[at:])
    prose = _read(prose, math=False)
    text = _MINUS_AFTER_FORMULA.sub(r"\1−", prose.translate(bodies))
    return SCRIPTED.sub(settled, text)


def name_to_text(name: str) -> str:
    r"""Return an author's name: `F\'elix` is "Félix", and braces never stay."""
    if not re.search(r"[\\{}~]", name):
        return name
    tied = re.sub(r"(?<!\\)~", " ", _clean(name))
    text = plain(_read(tied, math=False))
    return composed(re.sub("[{}]", "", text))


def math_to_text(body: str) -> str:
    """Return the inside of a formula, without its delimiters, in one line."""
    return plain(_formula(_clean(body)))


def _clean(tex: str) -> str:
    """Return the text without the characters that are marks here."""
    return re.sub(rf"[{MARKS}{SPACE}]|{_MARK}", "", tex)


# Signs that begin a comment, in lines that may have been joined: not "5 % of", nor "a few % of",
# nor "5 wt %Ni".
_COMMENT = re.compile(
    r"(?:(?<=[.,;:] )|(?<=\.\} ))%\s*(?=[A-Za-z\\$])"
    r"|(?<=[A-Za-z] )(?<!\bat )(?<!\bmol )(?<!\bvol )(?<!\bwt )%(?=(?!of\b)[A-Za-z]{2}|[\\$])"
)

_RELATIONS = "≤≥⩽⩾≈∼≃≅≲≳⪅⪆≪≫≡≠∝"
_MINUS = re.compile(
    rf"(?<!\S)-(?=[ {SPACE}]?[.\d∞])"
    rf"|(?<=[{_RELATIONS}<>=±∈(\[{{,~–{SUP}{SUB}])([ {SPACE}]?)-(?=[ {SPACE}]?[.\w∞])"
)
_MINUS_AFTER_FORMULA = re.compile(rf"(?<=[{_RELATIONS}])([ {SPACE}]?)-(?=\.?\d)")


def _formula(body: str, before: str = "") -> str:
    """Return the inside of a formula, marked, with a minus that is a sign as such; `before` is the
    character before it, since 5$-10$ is a range.
    """
    text = _read(body.strip(), math=True)
    if not text.strip():
        return " " if text else ""
    text = re.sub(r"\s+", SPACE, text)
    return _MINUS.sub(r"\1−", before + text)[len(before) :]


# --- formulas

_FIRST_MARK = 0xF0000
_MARK = "[\U000f0000-\U0010ffff]"
# Dollars within \text{if $x$} do not end a formula.
_DELIMITED = re.compile(
    r"\\.|\$\$(?P<double>[^$]+)\$\$"
    r"|\$(?P<single>(?:\\(?:text|mbox|hbox)\w*\{(?:[^{}]|\{[^{}]*\})*\}|\\.|[^$\\])++)\$",
    re.DOTALL,
)
_CLOSINGS = {r"\(": r"\)", r"\[": r"\]"}

# $W$1, and $ 300$, whose "<" got lost
_PLAINLY = re.compile(r"\{?[-+/A-Za-z]\}?|'{1,2}|[\s\d.,]+'*")
_PROSE = re.compile(r"\s[a-z]{2,}(\s|$)")


def formulas(tex: str) -> Iterator[tuple[int, int, str]]:
    """Yield start, end and inside of each formula."""
    at = 0
    # The last closings are searched for once, not from each opening.
    last = {closing: tex.rfind(closing) for closing in _CLOSINGS.values()}
    while match := _DELIMITED.search(tex, at):
        start, at = match.span()
        closing = _CLOSINGS.get(match[0], "")
        if closing and last[closing] > at:
            end = tex.index(closing, at + 1)
            yield start, end + 2, tex[at:end]
            at = end + 2
        elif match.lastgroup == "single":
            body = match["single"]
            if _is_formula(body, tex[at : at + 1]):
                yield start, at, body
            else:
                at = start + 1
        elif match.lastgroup:
            yield start, at, match[match.lastgroup]


def _is_formula(body: str, after: str) -> bool:
    """Check whether dollars hold a formula or are a currency: pandoc's rule (no space next to them
    inside, no digit after), which TeX or a relation inside excuses; and what begins with a number
    and goes on in words is money.
    """
    has_macros = re.search(r"\\[A-Za-z,;: ]|[\^~]", body)
    if re.match(r"\s*\d", body) and _PROSE.search(body) and not has_macros:
        return False
    if re.search(r"[\\^_<>=]", body) or _PLAINLY.fullmatch(body):
        return True
    return not (body[0].isspace() or body[-1].isspace() or after.isdigit())


# --- the typography of prose

_TYPOGRAPHIC = re.compile(
    r"(?P<as_is>https?://\S+|\\(?:url|href)\s*\{[^{}]*\}|\\.)"
    r"|``(?P<double>(?:(?!``|'').)*)''|``(?P<half>(?:(?!``|''|\").)*)\"|(?<![\w`])`(?P<single>[^`'\s](?:[^`']|'(?=\w))*)'(?![\w'])"
    r"|(?P<dash>(?<!-)---?(?!-))|(?P<tie>~)",
    re.DOTALL,
)


# AGN~1, Fig.~2, 3C~59, type~2; but z~2, beta~2
_NUMBERED = re.compile(
    r"\b[A-Z]\w+$|[.,}]$|\b\d[A-Z]$|\b(?:approximately|class|equation|figure|section|table|type)$"
)


def _typeset(match: re.Match[str]) -> str:
    """Write quotation marks, dashes and ties of prose, but not those of addresses."""
    before = match.string[max(0, match.start() - 20) : match.start()]
    after = match.string[match.end() : match.end() + 1]
    kind = match.lastgroup
    if kind in {"double", "half", "single"}:
        quoted = _TYPOGRAPHIC.sub(_typeset, match[kind])
        return f"‘{quoted}’" if kind == "single" else f"“{quoted}”"
    if kind == "dash":
        begins_word = not before or before[-1].isspace()
        if begins_word and after.isalpha():  # --verbose
            return match[0]
        return "–" if match[0] == "--" else "—"

    if kind == "tie":  # TeX's space (Fig.~2, 5~kpc), or an author's "about" (z~2, of ~10)
        is_about = not before or before[-1] in " \t\n([<>=" or not after.strip()
        is_space = not after.isdigit() or _NUMBERED.search(before)
        return " " if is_space and not is_about else "~"

    return match[0]


# --- macros, groups and scripts

_WIDEST = 200  # characters under an accent
_DEEPEST = 40  # groups within groups; beyond it the source stands
_TOKEN = re.compile(r"\\[A-Za-z]+\*?|\\.|[{}^_~'\s]|[^\\{}^_~'\s]+|\\", re.DOTALL)
_PROSE_TOKEN = re.compile(r"\\[A-Za-z]+\*?|\\.|[{}^_]|[^\\{}^_]+|\\", re.DOTALL)
_BRACE = re.compile(r"\\.|[{}]", re.DOTALL)
_OPERAND = re.compile(r"\w|\\(?!left|[bB]ig)[A-Za-z]")
_MARKUP = re.compile(rf"\\|{_MARK}")
_SCRIPT = re.compile(rf"\{{|\\[A-Za-z]|{_MARK}")  # begins one in prose
_POWER = re.compile(r"[-+−]?\d+(?:\.\d+)?")  # 10^5 without dollars
_OPTION = re.compile(r"\s*\[([^\[\]]*)\](?=\s*[\[{])")

_Stretch = tuple[int, int]  # of the text: its start and its end


def _read(tex: str, *, math: bool) -> str:
    reader = _Reader(tex, _closing_braces(tex), 0, len(tex), math=math, formula=math)
    return reader.read()


@dataclass(slots=True)
class _Reader:
    """Reader of a stretch of TeX from left to right. Each group inside it has a reader of its own,
    over the same text; its closing brace is known beforehand, so that the time is linear in the
    text's length.
    """

    tex: str
    closing: Mapping[int, int]  # where each balanced group ends, by where it begins
    at: int
    end: int
    math: bool
    formula: bool  # also around prose that is within a formula: it has scripts, too
    depth: int = 0
    last: str = ""  # of what was written: the last few characters, without marks

    def read(self) -> str:
        if self.depth == _DEEPEST:
            return self.tex[self.at : self.end]

        result: list[str] = []
        token = _TOKEN if self.math else _PROSE_TOKEN
        while match := self._match(token):
            if group := self._next_group():
                text = self._group(group)
            else:
                self.at = match.end()
                text = self._text_of(match[0])

            result.append(text)
            self.last += text[-6:].rstrip(SUP_END + SUB_END)
            self.last = self.last[-6:]

        return "".join(result)

    def _text_of(self, piece: str) -> str:
        if piece[0] == "\\" and len(piece) > 1:
            return self._macro(piece[1:])
        if piece in {"^", "_"} and (self.formula or self._match(_SCRIPT)):
            after_sign = self.at
            if (argument := self._argument()) is None:
                self.at = after_sign
                return piece
            return script(piece, self._inside(argument, math=True))

        if piece == "^" and (power := self._match(_POWER)) and re.search(r"[\w)]$", self.last):
            self.at = power.end()
            return script("^", power[0])
        if self.formula:
            piece = piece.replace("$", "").replace("~", " ")
        if not self.math:
            return piece

        piece = piece.replace("'", "′")
        return piece.replace("---", "—").replace("--", "–")

    def _group(self, group: _Stretch) -> str:
        start, end = group
        text = self._inside(group)
        inner = self.tex[start:end]
        if re.search(r"\\(sc|scshape|small|footnotesize|scriptsize|tiny)(?![A-Za-z])", inner):
            return stage(self.last, text) or text

        before = self.tex[max(0, start - 41) : start - 1]
        if self.math or _MARKUP.search(inner) or re.search(r"\\[A-Za-z]+\*?[ \t]*$", before):
            return text

        begins_word = not self.last[-1:].isalnum() and self._next().isalpha()
        is_protected = begins_word and re.fullmatch(r"[A-Z]\w*", inner)  # BibTeX's {B}ayes
        is_sign = self.last[-1:].isdigit() and inner in {",", "."}  # 2{,}392
        return text if is_protected or is_sign else f"{{{text}}}"

    def _macro(self, name: str) -> str:
        after_name = self.at
        name = name.removesuffix("*") if len(name) > 1 else name
        if name in DECLARATIONS:
            self._skip_spaces()
            return ""
        if (symbol := symbols().get(name)) is not None:
            return self._symbol(name, symbol)
        if (text := self._command(name)) is not None:
            return text

        # Keep an unknown macro's name and its nonempty arguments.
        self.at = after_name
        written = name
        while group := self._next_group():
            if text := self._inside(group):
                written += f"{{{text}}}"
        return written

    def _command(self, name: str) -> str | None:
        """Return the text of a macro with arguments; None where it is not known or an argument is
        missing.
        """
        if name in ACCENTS:
            return self._accent(name)
        if name not in COMMANDS:
            return None

        option = None
        while match := self._match(_OPTION):
            option = match
            self.at = match.end()

        count, write = COMMANDS[name]
        arguments = [argument for _ in range(count) if (argument := self._argument())]
        if len(arguments) < count:
            return None

        as_math = self.math and name not in PROSE_COMMANDS
        text = write(*(self._inside(argument, math=as_math) for argument in arguments))
        if option and name in {"sqrt", "isotope"}:
            return script("^", self._inside(option.span(1))) + text
        if name == "textsc":
            return stage(self.last, text) or text
        return text

    def _symbol(self, name: str, symbol: str) -> str:
        if not name.isalpha():
            return symbol
        if not self.math:
            if name in LETTERS:
                self._skip_spaces()
            return symbol

        if name == "deg" and not self.last[-1:].isdigit():
            symbol = "deg"  # of a polynomial
        spaces = self._skip_spaces()
        after = self._next()
        before = self.last[-1:]
        if symbol.isalpha() and symbol.isascii() and len(symbol) > 1:  # log, sin
            if before.isalnum():
                symbol = f" {symbol}"
            if after != "_" and self._match(_OPERAND):
                symbol = f"{symbol} "
            return symbol

        if not after.isalnum():
            return symbol + spaces
        # As much space after a relation as there is before it.
        if before == " " and not symbol.isalpha():
            return f"{symbol} "
        return symbol

    def _accent(self, name: str) -> str | None:
        gap = self._skip_spaces()
        combining = ACCENTS[name]
        if (argument := self._argument()) is None:
            return None

        is_braced = self.tex[self.at - 1] == "}"
        text = self._inside(argument)
        if len(name) > 1 and len(text) < _WIDEST:
            return over(text.strip(), combining)

        word = text.strip()
        letter = accented(word[:1], combining)
        is_accent = is_braced or name.isalpha() or len(letter) == 1
        if len(name) == 1 and word[:1].isalpha() and is_accent:
            return letter + word[1:]
        return name + gap + text  # \~{} and \^{} are how TeX writes the characters themselves

    def _argument(self) -> _Stretch | None:
        """Return the inside of the next group, or the next single token; None at the end."""
        self._skip_spaces()
        if group := self._next_group():
            return group

        start = self.at
        match = self._match(_TOKEN)
        if match is None or match[0][0] in "{}\n":
            return None

        self.at = match.end() if match[0][0] == "\\" else start + 1
        if match[0][1:] in COMMANDS:  # x^\mathrm{T}
            self._next_group()
        return start, self.at

    def _next_group(self) -> _Stretch | None:
        """Read past the balanced group that begins here, and return where its inside is; None if
        there is none.
        """
        start = self.at
        end = self.closing.get(start, self.end)
        if end >= self.end:
            return None
        self.at = end + 1
        return start + 1, end

    def _inside(self, stretch: _Stretch, *, math: bool | None = None) -> str:
        start, end = stretch
        if math is None:
            math = self.math
        reader = _Reader(
            self.tex,
            self.closing,
            start,
            end,
            math=math,
            formula=self.formula or math,
            depth=self.depth + 1,
        )
        return reader.read()

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
    """Return where each balanced group ends, by where it begins."""
    begun: list[int] = []
    closing = {}
    for match in _BRACE.finditer(tex):
        if match[0] == "{":
            begun.append(match.start())
        elif match[0] == "}" and begun:
            closing[begun.pop()] = match.start()
    return closing
