"""Reads TeX from left to right and writes what it says."""

from __future__ import annotations

import re
import unicodedata

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

_DEEPEST = 40  # groups within groups; beyond it the source stands
_TOKEN = re.compile(r"\\[A-Za-z]+\*?|\\.|[{}^_~'\s]|[^\\{}^_~'\s]+|\\", re.DOTALL)
_INDEX = re.compile(r"\s*\[([^\[\]]*)\]")
_BRACE = re.compile(r"\\.|[{}]", re.DOTALL)


def render(tex: str, *, math: bool, depth: int = 0) -> str:
    return _Reader(tex, math=math, depth=depth).read() if depth < _DEEPEST else tex


class _Reader:
    """Reads one group's TeX from left to right. Groups inside it are readers of their own."""

    def __init__(self, tex: str, *, math: bool, depth: int) -> None:
        self.tex, self.math, self.depth = tex, math, depth
        self.at = 0
        self.out = ""
        self.closing = _closing_braces(tex)

    def read(self) -> str:
        while match := _TOKEN.match(self.tex, self.at):
            start, self.at = self.at, match.end()
            self.out += self._text_of(match[0], start)
        return self.out

    def _text_of(self, piece: str, start: int) -> str:
        if piece[0] == "\\" and len(piece) > 1:
            return self._macro(piece[1:], start)
        if piece == "{" and start in self.closing:
            return self._group(start)
        if piece in {"^", "_"} and (self.math or self._next() == "{"):
            return self._script(piece)
        return {"'": "′", "~": " "}.get(piece, piece) if self.math else piece

    def _group(self, start: int) -> str:
        self.at = self.closing[start] + 1
        inner = self.tex[start + 1 : self.at - 1]
        text = self._inside(inner)
        if self.math or re.match(r"\s*\\", inner) or re.search(r"\\[A-Za-z]+\*?[ \t]*$", self.tex[:start][-40:]):
            return text
        begins_word = not self.out[-1:].isalnum() and self._next().isalpha()
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
        if name == "sqrt" and (index := _INDEX.match(self.tex, self.at)):
            self.at = index.end()
            argument = self._argument() or ""
            return raised("^", self._inside(index[1])) + f"√{enclosed(self._inside(argument))}"
        count, write = COMMANDS.get(name, (0, None))
        arguments = [self._argument() for _ in range(count)]
        if write is None or None in arguments:
            return None
        as_math = self.math and name not in PROSE_COMMANDS
        return write(*(render(argument or "", math=as_math, depth=self.depth + 1) for argument in arguments))

    def _symbol(self, name: str, symbol: str) -> str:
        if not name.isalpha():
            return symbol
        if name == "deg" and self.math and not self.out[-1:].isdigit():
            symbol = "deg"  # of a polynomial
        if not self.math:
            if name in LETTERS:
                self._skip_spaces()
            return symbol
        spaces = self._skip_spaces()
        after = self._next()
        if symbol.isalpha() and symbol.isascii() and len(symbol) > 1:  # log, sin
            has_operand = re.compile(r"\w|\\(?!left|[bB]ig)[A-Za-z]").match(self.tex, self.at) and after != "_"
            return " " * self.out[-1:].isalnum() + symbol + " " * bool(has_operand)
        if symbol.isalpha():
            return symbol if after.isalnum() else symbol + spaces
        if self.out.endswith(" ") and after.isalnum():  # as much space after a relation as there is before it
            return symbol + " "
        return symbol + (spaces if self.out.endswith(" ") or not after.isalnum() else "")

    def _accent(self, name: str) -> str | None:
        start, combining = self.at, ACCENTS[name]
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
        gap = self.tex[start : len(self.tex) - len(self.tex[start:].lstrip(" \t"))]
        return f"\\{name}{gap}{{{text}}}" if is_braced else f"\\{name}{gap}{text}"

    def _script(self, sign: str) -> str:
        start = self.at
        argument = self._argument()
        if argument is None:
            self.at = start
            return sign
        text = render(argument, math=True, depth=self.depth + 1)
        if errors := self._both_errors(sign, text):
            return errors
        return raised(sign, text, before_word=self._next().isalnum()) if text.strip() else ""

    def _both_errors(self, sign: str, text: str) -> str:
        """A measurement's two errors, if this script and the next are that; else empty, and nothing is read."""
        start, measured = self.at, self.out.rstrip()[-1:]
        if measured and measured in "∫∬∭∮∑∏|":  # whose limits these are
            return ""
        self._skip_spaces()
        if re.match(r"[-+−] ?\d", text) and self._next() == {"^": "_", "_": "^"}[sign]:
            self.at += 1
            argument = self._argument() or ""
            # What has scripts of its own is no error; read here and again at its turn, it would cost twice a level.
            other = "" if re.search(r"[\^_]", argument) else render(argument, math=True, depth=self.depth + 1)
            if errors := both_errors(text, other) if sign == "^" else both_errors(other, text):
                begins_word = re.match(r"[A-Za-z\d{]|\\(?:math|text|rm|[A-Z])", self.tex[self.at : self.at + 6])
                return " " * (self.out[-1:] not in {" ", "("}) + errors + " " * bool(begins_word)
        self.at = start
        return ""

    def _argument(self) -> str | None:
        """The source of the group or the single token that comes next; None at the end."""
        self._skip_spaces()
        start = self.at
        if start in self.closing:
            self.at = self.closing[start] + 1
            return self.tex[start + 1 : self.at - 1]
        match = _TOKEN.match(self.tex, start)
        if match is None or match[0][0] in "{}\n":
            return None
        self.at = match.end() if match[0][0] == "\\" else start + 1
        if match[0][1:] in COMMANDS and self.at in self.closing:  # x^\mathrm{T}
            self.at = self.closing[self.at] + 1
        return self.tex[start : self.at]

    def _verbatim_braces(self) -> str:
        """The groups after an unknown macro, with their braces."""
        text = ""
        while self.at in self.closing:
            start, self.at = self.at, self.closing[self.at] + 1
            text += f"{{{self._inside(self.tex[start + 1 : self.at - 1])}}}"
        return text

    def _inside(self, tex: str) -> str:
        return render(tex, math=self.math, depth=self.depth + 1)

    def _skip_spaces(self) -> str:
        start = self.at
        while self._next() in {" ", "\t"}:
            self.at += 1
        return self.tex[start : self.at]

    def _next(self) -> str:
        return self.tex[self.at : self.at + 1]


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
