"""Superscripts and subscripts: marked while TeX is read, and afterwards plain text or HTML.

The marks are noncharacters, which no clean text has, and they always come in pairs.
"""

import re

SUP, SUP_END, SUB, SUB_END = "\ufdd0", "\ufdd1", "\ufdd2", "\ufdd3"
MARKS = SUP + SUP_END + SUB + SUB_END
SPACE = "\ufdd4"  # within a formula, which is one word when a text is cut

_RAISED = str.maketrans(
    "0123456789+-−=()abcdefghijklmnoprstuvwxyzABDEGHIJKLMNOPRTUVWβγδφχ∘°′″∗*†‡⊤",
    "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁻⁼⁽⁾ᵃᵇᶜᵈᵉᶠᵍʰⁱʲᵏˡᵐⁿᵒᵖʳˢᵗᵘᵛʷˣʸᶻᴬᴮᴰᴱᴳᴴᴵᴶᴷᴸᴹᴺᴼᴾᴿᵀᵁⱽᵂᵝᵞᵟᵠᵡ°°′″**†‡ᵀ",
)
_LOWERED = str.maketrans(
    "0123456789+-−=()aehijklmnoprstuvxβγρφχ", "₀₁₂₃₄₅₆₇₈₉₊₋₋₌₍₎ₐₑₕᵢⱼₖₗₘₙₒₚᵣₛₜᵤᵥₓᵦᵧᵨᵩᵪ"
)
_SMALL = {ord("′"), *map(ord, "⁰¹²³⁴⁵⁶⁷⁸⁹"), *_RAISED.values(), *_LOWERED.values()}
_ALONE = frozenset("⊙⊕☉⋆★∗*†‡⊥∥″•∙°")  # read as well on the line of plain text: M⊙

_WORDS = re.compile(
    rf"[^\W\d_]{{2}}[ {SPACE}]+[^\W\d_]|[^\W\d_][ {SPACE}]+[^\W\d_]{{2}}"
)  # T_room temp, not x_i j
_INNERMOST = re.compile(f"{SUP}([^{MARKS}]*){SUP_END}|{SUB}([^{MARKS}]*){SUB_END}")
SCRIPTED = re.compile(rf"(?<!\S)[^\s{SUP}{SUB}]*[{SUP}{SUB}]\S*")
_ERROR = rf"[ {SPACE}]?\d[\d.,]*[ {SPACE}]?%?"
_UP, _DOWN = rf"{SUP}(\+{_ERROR}){SUP_END}", rf"{SUB}([-−]{_ERROR}){SUB_END}"
_ERRORS = re.compile(rf"(?<![∫∬∭∮∑∏|])(?:{_UP}[ {SPACE}]?{_DOWN}|{_DOWN}[ {SPACE}]?{_UP})")


def script(sign: str, text: str) -> str:
    """A superscript (`^`) or subscript (`_`), marked."""
    text = re.sub(r"\s+", SPACE, text.strip())  # so that no cut of a text falls within it
    if not text:
        return ""
    return f"{SUP}{text}{SUP_END}" if sign == "^" else f"{SUB}{text}{SUB_END}"


def _in_unicode(sign: str, text: str) -> str | None:
    """Return a script in Unicode; None where a character of it has none, or words in it would
    become one.
    """
    table = _RAISED if sign == "^" else _LOWERED
    tight = re.sub(f"[ {SPACE}]", "", text)
    if _WORDS.search(text) or any(ord(character) not in table for character in tight):
        return None
    return tight.translate(table)


def plain(marked: str) -> str:
    """What a reader of plain text sees: x₂, T_eff, 10^9.5 and 0.4 (+0.12/-0.1)."""
    marked, left = _ERRORS.sub(_on_line, marked), 1
    while left:
        marked, left = _INNERMOST.subn(_raised, marked)
    return marked.replace(SPACE, " ")


def bare(marked: str) -> str:
    """What is left without its scripts."""
    left = 1
    while left:
        marked, left = _INNERMOST.subn("", marked)
    return marked


def settled(match: re.Match[str]) -> str:
    """A word, or formula, of `SCRIPTED` with its scripts in Unicode, where Unicode has all of
    them.
    """
    word = match[0]
    scripts = _INNERMOST.findall(word)
    is_nested = word.count(SUP) + word.count(SUB) > len(scripts)
    written = [_in_unicode("^", up) if up else _in_unicode("_", down) for up, down in scripts]
    return word if is_nested or None in written else _INNERMOST.sub(_raised, word)


def _raised(match: re.Match[str]) -> str:
    """A script in Unicode if that has it, else legible on the line before the character that
    follows.
    """
    sign, text = ("_", match[2]) if match[1] is None else ("^", match[1])
    in_unicode = _in_unicode(sign, text)
    if in_unicode is not None:
        return in_unicode
    if text in _ALONE:
        return text
    has_scripts = sign == "^" and any(
        ord(character) in _SMALL for character in text
    )  # 2^(n²) is not (2^n)²
    after = match.string[match.end() : match.end() + 1]
    goes_on = re.search(r"\d\d$|[^\W\d_][A-Za-z\d]$", text[-1:] + after)  # not so 10^9.5M
    is_word = re.fullmatch(r"([^\W_]|[.⊙⊕∞])+|\S", text) and not goes_on and not has_scripts
    return sign + (text if is_word else f"({text})")


def _on_line(match: re.Match[str]) -> str:
    """A measurement's errors, "(+0.2/-0.1)", unless Unicode has their scripts."""
    above, below = match[1] or match[4], match[2] or match[3]
    if re.fullmatch("[-+−0-9]+", above + below):
        return match[0]
    before, after = (
        match.string[match.start() - 1 : match.start()],
        match.string[match.end() : match.end() + 1],
    )
    return " " * (before not in {" ", SPACE, "("}) + f"({above}/{below})" + " " * after.isalnum()
