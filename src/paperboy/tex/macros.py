"""TeX's macros in Unicode."""

import re
import unicodedata
from collections.abc import Callable
from contextlib import suppress
from functools import cache

from pylatexenc.latex2text import get_default_latex_context_db

from paperboy.tex.scripts import MARKS, SUB, SUB_END, SUP, bare, script


def enclosed(text: str) -> str:
    return text if re.fullmatch(r"[\w.′]*\W?", bare(text)) else f"({text})"


def _in_alphabet(*alphabets: str) -> Callable[[str], str]:
    """Return a writer of single letters and digits in one of Unicode's mathematical alphabets;
    words stay plain.
    """

    def write(text: str) -> str:
        if len(text) != 1:
            return text

        kind = unicodedata.name(text, "")
        kind = re.sub(r"^(LATIN|GREEK) (SMALL|CAPITAL) LETTER ", r"\2 ", kind)
        for alphabet in alphabets:
            with suppress(KeyError):
                return unicodedata.lookup(f"{alphabet} {kind}")
        return text

    return write


_STAGES = ("", "I", "II", "III", "IV", "V", "VI", "VII", "VIII", "IX")
_AFTER_ELEMENT = re.compile(r"(?:^|[^A-Za-z])[A-Z][a-z]? ?$")


def stage(before: str, text: str) -> str:
    """Return the stage of ionization that small capitals say after an element, " II"; else
    empty.
    """
    numeral = text.strip()
    if not re.fullmatch("[ivx]+|[IVX]+", numeral) or not _AFTER_ELEMENT.search(before):
        return ""
    space = "" if before.endswith(" ") else " "
    return space + numeral.upper()


def _ion(element: str, number: str) -> str:
    number = number.strip()
    if re.fullmatch(r"[1-9]|[12]\d", number):
        tens, ones = divmod(int(number), 10)
        number = "X" * tens + _STAGES[ones]
    return f"{element} {number.upper()}"


def _character(code: str) -> str:
    """Return the character of MathJax's x2013."""
    if not re.fullmatch("x[0-9A-Fa-f]{2,5}", code):
        return code
    character = chr(int(code[1:], 16))
    return character if character.isprintable() else ""


def over(text: str, combining: str) -> str:
    """Put an accent over each letter of a group, but not over its scripts; over the sign, if it is
    only one.
    """
    is_one = len(bare(text)) == 1
    depth = 0
    result = ""
    for character in text:
        if character in MARKS:
            depth += 1 if character in {SUP, SUB} else -1
            result += character
        elif depth == 0 and (is_one or character.isalnum()):
            result += accented(character, combining)
        else:
            result += character

    return result


def accented(letter: str, combining: str) -> str:
    """Return a letter with an accent, which takes the dot's place on i and j."""
    base = {"ı": "i", "ȷ": "j"}.get(letter, letter)
    return unicodedata.normalize("NFC", base + combining)


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


def _pairs(text: str) -> dict[str, str]:
    words = text.split()
    return dict(zip(words[::2], words[1::2], strict=True))


DECLARATIONS = _names(
    "rm bf it em sc tt sf sl cal normalfont bfseries itshape ttfamily scshape slshape sffamily rmfamily mdseries"
    " upshape tiny scriptsize footnotesize small normalsize large Large LARGE huge Huge textstyle displaystyle"
    " scriptstyle noindent limits nolimits left right middle big Big bigg Bigg bigl bigr Bigl Bigr"
    " biggl biggr Biggl Biggr displaylimits mathop mathbin mathrel mathord mathopen mathclose mathpunct mathinner"
    " middle indent boldmath unboldmath nonumber notag selectfont centering"
)
LETTERS = _names("i j o O l L ss ae AE oe OE aa dh DH th TH")  # TeX's space after one belongs to it

ACCENTS = _pairs(
    """
    ' \u0301   ` \u0300   ^ \u0302   " \u0308   ~ \u0303   = \u0304   . \u0307   c \u0327   k \u0328   H \u030b
    r \u030a   u \u0306   v \u030c   d \u0323   b \u0331   t \u0361   hat \u0302   widehat \u0302   tilde \u0303
    widetilde \u0303   bar \u0304   overline \u0304   dot \u0307   ddot \u0308   vec \u20d7   check \u030c
    breve \u0306   acute \u0301   grave \u0300   mathring \u030a
    """
)

PROSE_COMMANDS = _names(
    "text textit textbf texttt textsc textsl textrm textsf textup textmd textnormal emph mbox hbox vbox url href"
    " fbox makebox framebox uline enquote path nolinkurl intertext"
)

# How many arguments a macro has, and what writes them.
COMMANDS: dict[str, tuple[int, Callable[..., str]]] = {
    **dict.fromkeys(
        PROSE_COMMANDS
        | _names(
            "mathrm mathit mathsf mathtt mathnormal ensuremath operatorname underline rlap llap clap mathrlap mathllap"
            " mathclap boxed overbrace underbrace cancel bcancel xcancel slashed sout"
            " operatornamewithlimits ac acl acp acs add added ce isotope num si unit"
        ),
        (1, str),
    ),
    **dict.fromkeys(_names("hspace vspace kern mkern hskip mskip begin end"), (1, lambda _: " ")),
    **dict.fromkeys(
        _names("frac tfrac dfrac cfrac nicefrac sfrac flatfrac"),
        (2, lambda above, below: f"{enclosed(above)}/{enclosed(below)}"),
    ),
    **dict.fromkeys(
        _names(
            "cite citep citet citealt citealp citeauthor citeyear citeyearpar citenum ref eqref"
        ),
        (1, "[{}]".format),
    ),
    **dict.fromkeys(_names("binom dbinom tbinom"), (2, "({} choose {})".format)),
    "bra": (1, "⟨{}|".format),
    "ket": (1, "|{}⟩".format),
    "braket": (1, "⟨{}⟩".format),
    **dict.fromkeys(_names("mathcal mathscr"), (1, _in_alphabet("MATHEMATICAL SCRIPT", "SCRIPT"))),
    **dict.fromkeys(
        _names("mathbf boldsymbol bm pmb bold"),
        (1, _in_alphabet("MATHEMATICAL BOLD")),
    ),
    **dict.fromkeys(
        _names("mathbb mathds mathbbm"),
        (1, _in_alphabet("MATHEMATICAL DOUBLE-STRUCK", "DOUBLE-STRUCK")),
    ),
    "mathfrak": (1, _in_alphabet("MATHEMATICAL FRAKTUR", "BLACK-LETTER")),
    "sqrt": (1, lambda text: f"√{enclosed(text)}"),
    "textsuperscript": (1, lambda text: script("^", text)),
    "textsubscript": (1, lambda text: script("_", text)),
    "href": (2, lambda address, text: text if text == address else f"{text} ({address})"),
    "footnote": (1, " ({})".format),
    "color": (1, lambda _: ""),
    "unicode": (1, _character),
    **dict.fromkeys(_names("SI qty"), (2, "{} {}".format)),
    "texorpdfstring": (2, lambda shown, _: shown),
    "textcolor": (2, lambda _, text: text),
    "ion": (2, _ion),
    "not": (1, lambda text: unicodedata.normalize("NFC", text[:1] + "\u0338" + text[1:])),
}

_OUR_SYMBOLS = {
    "logg": "log g",
    "kms": "km s⁻¹",
    "\n": "\n",
    **_pairs("""
        lt <   gt >   lq ‘   rq ’   prime ′   degr °   arcdeg °   degree °   deg °   sun ⊙   Sun ⊙   bigodot ⊙
        farcs ″.   Msun M⊙   msun M⊙   Lsun L⊙   Rsun R⊙   arcsec ″   arcmin ′   micron μm   lsim ≲   gsim ≳
        textless <   textgreater >   LaTeX LaTeX   TeX TeX   det det   % %   | ‖   ne ≠   neg ¬   colon :   eqsim ≂
        implies ⟹   iff ⟺   impliedby ⟸   gets ←   leadsto ⇝   lll ⋘   ggg ⋙   models ⊨   vDash ⊨   bot ⊥   Re ℜ
        Im ℑ   triangle △   bigstar ★   lor ∨   land ∧   lhd ⊲   rhd ⊳   unlhd ⊴   unrhd ⊵   ddagger ‡   centerdot ·
        coloneqq ≔   eqqcolon ≕   colonequals ≔   Join ⋈   thickapprox ≈   nsim ≁   ncong ≇   restriction ↾
        dashrightarrow ⇢   bigsqcup ⨆   biguplus ⨄   lbrack [   rbrack ]   lgroup (   rgroup )   llbracket ⟦
        rrbracket ⟧   imath ı   jmath ȷ   copyright ©   circledR ®   checkmark ✓   S §   P ¶   pounds £   euro €
        yen ¥   textbar |   textunderscore _   textminus −   textmicro μ   textbraceleft {   textbraceright }
        slash /   mathellipsis …   mathdollar $   mathendash –   tr tr   Tr Tr   arg arg   argmin argmin
        argmax argmax   dim dim   gcd gcd   hom hom   ker ker   Pr Pr   cot cot   coth coth   csc csc   sec sec
        diag diag   rank rank   erf erf   sgn sgn   bmod mod   mod mod   clubsuit ♣   diamondsuit ♢   heartsuit ♡
        spadesuit ♠   Finv Ⅎ   Game ⅁   mars ♂   ddag ‡   flqq «   frqq »   glqq „   grqq “   eg e.g.   ie i.e.
        BibTeX BibTeX   mum μm   muas μas   Zsun Z⊙   Msolar M⊙   Mearth M⊕   Rearth R⊕   Ha Hα   Hb Hβ   Halpha Hα
        halpha Hα   Hbeta Hβ   hbeta Hβ   Lya Lyα   lya Lyα   feh [Fe/H]   item •   thicksim ∼   varpropto ∝   Box □
    """),
    **dict.fromkeys(
        _names(
            "par newpage newline linebreak break hfill hfil smallskip medskip bigskip quad qquad thinspace > \\"
        ),
        " ",
    ),
    **dict.fromkeys(_names("xspace protect relax allowbreak nobreak ! / - @"), ""),
    **dict.fromkeys(("teff", "Teff"), f"T{SUB}eff{SUB_END}"),
}


@cache
def symbols() -> dict[str, str]:
    """Return the macros without an argument, without their backslash."""
    taken = {*COMMANDS, *ACCENTS, *DECLARATIONS, "today"}
    found = {}
    for spec in get_default_latex_context_db().iter_macro_specs():
        text = spec.simplify_repl
        if spec.macroname in taken or not isinstance(text, str):
            continue
        if text and not re.search(r"%\(?\w|[<>]", text):
            found[spec.macroname] = text

    return found | _OUR_SYMBOLS


_FORMATTING = _names(
    "text textit textbf texttt textsc textsl textrm textsf textup textmd textnormal emph mbox enquote ensuremath"
    " operatorname underline mathrm mathit mathsf mathtt mathnormal mathcal mathscr mathbf boldsymbol bm pmb mathbb"
    " mathds mathbbm mathfrak frac tfrac dfrac cfrac nicefrac sfrac binom sqrt not overset underset stackrel substack"
    " overbrace underbrace xrightarrow xleftarrow textsuperscript textsubscript ce ion isotope SI si qty unit num ang"
    " abs norm bra ket braket texorpdfstring"
)
_LAYOUT = _names(
    "par newpage newline linebreak nolinebreak break smallskip medskip bigskip hfil hfill item @"
)


@cache
def printing() -> frozenset[str]:
    r"""Return the macros that only print: signs, accents, fonts and the parts of formulas. None of
    them reads or writes a file, defines another, or builds a name as `\begin` and `\csname` do.
    """
    return frozenset({*symbols(), *ACCENTS, *DECLARATIONS, *_FORMATTING} - _LAYOUT)
