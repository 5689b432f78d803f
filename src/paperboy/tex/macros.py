"""What TeX's macros, superscripts and subscripts are in Unicode."""

import re
import sys
import unicodedata
from collections.abc import Callable
from contextlib import suppress
from functools import cache

from pylatexenc.latex2text import get_default_latex_context_db

_RAISED = str.maketrans(
    "0123456789+-−=()abcdefghijklmnoprstuvwxyzABDEGHIJKLMNOPRTUVWβγδφχ∘′∗*⊤",
    "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁻⁼⁽⁾ᵃᵇᶜᵈᵉᶠᵍʰⁱʲᵏˡᵐⁿᵒᵖʳˢᵗᵘᵛʷˣʸᶻᴬᴮᴰᴱᴳᴴᴵᴶᴷᴸᴹᴺᴼᴾᴿᵀᵁⱽᵂᵝᵞᵟᵠᵡ°′**ᵀ",
)
_LOWERED = str.maketrans("0123456789+-−=()aehijklmnoprstuvxβγρφχ", "₀₁₂₃₄₅₆₇₈₉₊₋₋₌₍₎ₐₑₕᵢⱼₖₗₘₙₒₚᵣₛₜᵤᵥₓᵦᵧᵨᵩᵪ")
SCRIPTS = {ord("′"), *map(ord, "⁰¹²³⁴⁵⁶⁷⁸⁹"), *_LOWERED.values()}
_ALL_SCRIPTS = SCRIPTS | set(_RAISED.values())
_ALONE = frozenset("⊙⊕☉⋆★∗*†‡⊥∥″•∙")  # read as well on the line: M⊙


def raised(sign: str, text: str, *, before_word: bool = False) -> str:
    """A superscript (`^`) or subscript (`_`) in Unicode if every character has one, else legible on the line."""
    table = _RAISED if sign == "^" else _LOWERED
    tight = text.replace(" ", "")
    if tight in _ALONE or all(ord(character) in table for character in tight):
        return tight.translate(table)
    has_scripts = sign == "^" and any(ord(character) in _ALL_SCRIPTS for character in text)  # 2^(n²) is not (2^n)²
    is_word = re.fullmatch(r"[\w.⊙⊕∞]+|\S", text) and not before_word and not has_scripts
    return sign + (text if is_word else f"({text})")


def enclosed(text: str) -> str:
    return text if re.fullmatch(r"[\w.′]*\W?", text) else f"({text})"


def _in_alphabet(*alphabets: str) -> Callable[[str], str]:
    """A writer of single letters and digits in one of Unicode's mathematical alphabets; words stay plain."""

    def write(text: str) -> str:
        kind = unicodedata.name(text, "") if len(text) == 1 else ""
        kind = re.sub(r"^(LATIN|GREEK) (SMALL|CAPITAL) LETTER ", r"\2 ", kind)
        for alphabet in alphabets:
            with suppress(KeyError):
                return unicodedata.lookup(f"{alphabet} {kind}")
        return text

    return write


def both_errors(above: str, below: str) -> str:
    """A measurement's errors on the line, "(+0.2/-0.1)"; empty if they are none or Unicode has their scripts."""
    is_pair = above[:1] == "+" and below[:1] in {"-", "−"}
    if not is_pair or not all(re.fullmatch(r". ?\d[\d.,]* ?%?", text) for text in (above, below)):
        return ""
    return "" if raised("^", above)[0] != "^" and raised("_", below)[0] != "_" else f"({above}/{below})"


def _code_point(text: str) -> str:
    r"""MathJax's `\unicode{x2014}`: what has the code point, in decimal digits or, after an x, in hexadecimal ones."""
    match = re.fullmatch(r"0?[xX]([\da-fA-F]{1,6})|([0-9]{1,7})", text.strip())
    number = int(match[1] or match[2], 16 if match[1] else 10) if match else 0
    character = chr(number) if number <= sys.maxunicode else "\0"
    if character.isspace():
        return " "
    return f"\\unicode{{{text}}}" if unicodedata.category(character)[0] == "C" else character


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


DECLARATIONS = _names(
    "rm bf it em sc tt sf sl cal normalfont bfseries itshape ttfamily scshape slshape sffamily rmfamily mdseries"
    " upshape tiny scriptsize footnotesize small normalsize large Large LARGE huge Huge textstyle displaystyle"
    " scriptstyle noindent limits nolimits left right middle big Big bigg Bigg bigl bigr Bigl Bigr"
    " biggl biggr Biggl Biggr"
)
LETTERS = _names("i j o O l L ss ae AE oe OE aa dh DH th TH")  # TeX's space after one belongs to it

ACCENTS = {
    "'": "\u0301", "`": "\u0300", "^": "\u0302", '"': "\u0308", "~": "\u0303", "=": "\u0304", ".": "\u0307",
    "c": "\u0327", "k": "\u0328", "H": "\u030b", "r": "\u030a", "u": "\u0306", "v": "\u030c", "d": "\u0323",
    "b": "\u0331", "t": "\u0361", "hat": "\u0302", "widehat": "\u0302", "tilde": "\u0303", "widetilde": "\u0303",
    "bar": "\u0304", "overline": "\u0304", "dot": "\u0307", "ddot": "\u0308", "vec": "\u20d7", "check": "\u030c",
    "breve": "\u0306", "acute": "\u0301", "grave": "\u0300", "mathring": "\u030a",
}  # fmt: skip
BARE_ACCENTS = {"\u0303": "~", "\u0302": "^"}  # \~{} and \^{} are how TeX writes the characters themselves

PROSE_COMMANDS = _names(
    "text textit textbf texttt textsc textsl textrm textsf textup textmd textnormal emph mbox hbox url href"
)
COMMANDS: dict[str, tuple[int, Callable[..., str]]] = {  # how many arguments, and what they come to
    **dict.fromkeys(PROSE_COMMANDS, (1, str)),
    **dict.fromkeys(["mathrm", "mathit", "mathsf", "mathtt", "ensuremath", "operatorname", "underline"], (1, str)),
    **dict.fromkeys(
        ["frac", "tfrac", "dfrac", "nicefrac", "sfrac"],
        (2, lambda above, below: f"{enclosed(above)}/{enclosed(below)}"),
    ),
    **dict.fromkeys(["cite", "citep", "citet", "citealt"], (1, "[{}]".format)),
    **dict.fromkeys(["mathcal", "mathscr"], (1, _in_alphabet("MATHEMATICAL SCRIPT", "SCRIPT"))),
    **dict.fromkeys(["mathbf", "boldsymbol", "bm", "pmb"], (1, _in_alphabet("MATHEMATICAL BOLD"))),
    "mathbb": (1, _in_alphabet("MATHEMATICAL DOUBLE-STRUCK", "DOUBLE-STRUCK")),
    "mathfrak": (1, _in_alphabet("MATHEMATICAL FRAKTUR", "BLACK-LETTER")),
    "sqrt": (1, lambda text: f"√{enclosed(text)}"),
    "textsuperscript": (1, lambda text: raised("^", text)),
    "textsubscript": (1, lambda text: raised("_", text)),
    "href": (2, lambda address, text: text if text == address else f"{text} ({address})"),
    "footnote": (1, " ({})".format),
    "texorpdfstring": (2, lambda shown, _: shown),
    "textcolor": (2, lambda _, text: text),
    "ion": (2, lambda element, stage: f"{element} {stage.upper()}"),
    "unicode": (1, _code_point),
    "not": (1, lambda text: unicodedata.normalize("NFC", text[:1] + "\u0338" + text[1:])),
}

_OUR_SYMBOLS = {
    "lt": "<", "gt": ">", "lq": "‘", "rq": "’", "prime": "′", "degr": "°", "arcdeg": "°", "degree": "°", "deg": "°",
    "sun": "⊙", "Sun": "⊙", "bigodot": "⊙", "earth": "⊕", "farcs": "″.", "farcm": "′.", "fdg": "°.", "Box": "□",
    "Msun": "M⊙", "msun": "M⊙", "Lsun": "L⊙", "lsun": "L⊙", "Rsun": "R⊙", "rsun": "R⊙", "kms": "km s⁻¹", "lg": "lg",
    "arcsec": "″", "arcmin": "′", "micron": "μm", "lsim": "≲", "gsim": "≳", "thicksim": "∼", "varpropto": "∝",
    "textless": "<", "textgreater": ">", "LaTeX": "LaTeX", "TeX": "TeX", "det": "det", "mid": "|", "lvert": "|",
    "rvert": "|", "textasciitilde": "~", "quad": " ", "qquad": " ", "thinspace": " ", "newline": " ",
    "backslash": "\\", "%": "%", "$": "$", "#": "#",
    "&": "&", "_": "_", "{": "{", "}": "}", "|": "‖", " ": " ", "\n": "\n", ",": " ", ";": " ", ":": " ", ">": " ",
    "!": "", "/": "", "-": "", "@": "", "\\": " ",
}  # fmt: skip


@cache
def symbols() -> dict[str, str]:
    """The macros without an argument, without their backslash."""
    specs = get_default_latex_context_db().iter_macro_specs()
    theirs = {spec.macroname: spec.simplify_repl for spec in specs if isinstance(spec.simplify_repl, str)}
    taken = {*COMMANDS, *ACCENTS, *DECLARATIONS, "today"}
    plain = {name for name, text in theirs.items() if text and not re.search(r"%\(?\w|[<>]", text)}
    return {name: theirs[name] for name in plain - taken} | _OUR_SYMBOLS
