"""Superscripts and subscripts: marked while TeX is read, and afterwards plain text or HTML.

The marks are noncharacters, which no clean text has, and they always come in pairs.
"""

import re

SUP = "\ufdd0"
SUP_END = "\ufdd1"
SUB = "\ufdd2"
SUB_END = "\ufdd3"
MARKS = SUP + SUP_END + SUB + SUB_END
SPACE = "\ufdd4"  # within a formula, which is one word when a text is cut

_RAISED = str.maketrans(
    "0123456789+-−=()abcdefghijklmnoprstuvwxyzABDEGHIJKLMNOPRTUVWβγδφχ∘°′″∗*†‡⊤",
    "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁻⁼⁽⁾ᵃᵇᶜᵈᵉᶠᵍʰⁱʲᵏˡᵐⁿᵒᵖʳˢᵗᵘᵛʷˣʸᶻᴬᴮᴰᴱᴳᴴᴵᴶᴷᴸᴹᴺᴼᴾᴿᵀᵁⱽᵂᵝᵞᵟᵠᵡ°°′″**†‡ᵀ",
)
_LOWERED = str.maketrans(
    "0123456789+-−=()aehijklmnoprstuvxβγρφχ",
    "₀₁₂₃₄₅₆₇₈₉₊₋₋₌₍₎ₐₑₕᵢⱼₖₗₘₙₒₚᵣₛₜᵤᵥₓᵦᵧᵨᵩᵪ",
)
_SMALL = {ord("′"), *map(ord, "⁰¹²³⁴⁵⁶⁷⁸⁹"), *_RAISED.values(), *_LOWERED.values()}
_ALONE = frozenset("⊙⊕☉⋆★∗*†‡⊥∥″•∙°")  # read as well on the line of plain text: M⊙

# T_room temp, not x_i j
_WORDS = re.compile(rf"[^\W\d_]{{2}}[ {SPACE}]+[^\W\d_]|[^\W\d_][ {SPACE}]+[^\W\d_]{{2}}")
_INNERMOST = re.compile(f"{SUP}([^{MARKS}]*){SUP_END}|{SUB}([^{MARKS}]*){SUB_END}")
SCRIPTED = re.compile(rf"(?<!\S)[^\s{SUP}{SUB}]*[{SUP}{SUB}]\S*")
_ERROR = rf"[ {SPACE}]?\d[\d.,]*[ {SPACE}]?%?"
_UP = rf"{SUP}(\+{_ERROR}){SUP_END}"
_DOWN = rf"{SUB}([-−]{_ERROR}){SUB_END}"
_ERRORS = re.compile(rf"(?<![∫∬∭∮∑∏|])(?:{_UP}[ {SPACE}]?{_DOWN}|{_DOWN}[ {SPACE}]?{_UP})")


def script(sign: str, text: str) -> str:
    """Return a superscript (`^`) or subscript (`_`), marked."""
    text = re.sub(r"\s+", SPACE, text.strip())  # so that no cut of a text falls within it
    if not text:
        return ""
    return f"{SUP}{text}{SUP_END}" if sign == "^" else f"{SUB}{text}{SUB_END}"


_TAGGED = re.compile(r"<(su[bp])>((?:(?!</?su[bp]>).){0,200})</\1>", re.DOTALL)
_TAG = re.compile(r"</?su[bp]>")


def from_tags(text: str) -> str:
    """Return the text with marks instead of the tags `<sub>` and `<sup>`, to the second level."""
    for _ in range(2):
        text = _TAGGED.sub(lambda found: script("^" if found[1] == "sup" else "_", found[2]), text)
    return _TAG.sub("", text)


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
    """Return the text as a reader of plain text sees it: x₂, T_eff, 10^9.5, 0.4 (+0.12/-0.1)."""
    marked = _ERRORS.sub(_on_line, marked)
    left = 1
    while left:
        marked, left = _INNERMOST.subn(_raised, marked)
    return marked.replace(SPACE, " ")


def bare(marked: str) -> str:
    """Return the text without its scripts."""
    left = 1
    while left:
        marked, left = _INNERMOST.subn("", marked)
    return marked


def settled(match: re.Match[str]) -> str:
    """Return a word, or formula, of `SCRIPTED` with its scripts in Unicode, where Unicode has all of
    them.
    """
    word = match[0]
    scripts = _INNERMOST.findall(word)
    is_nested = word.count(SUP) + word.count(SUB) > len(scripts)
    written = [_in_unicode("^", up) if up else _in_unicode("_", down) for up, down in scripts]
    return word if is_nested or None in written else _INNERMOST.sub(_raised, word)


def _raised(match: re.Match[str]) -> str:
    """Return a script in Unicode if that has it, else legible on the line before the character that
    follows.
    """
    sign = "_" if match[1] is None else "^"
    text = match[1] or match[2] or ""
    in_unicode = _in_unicode(sign, text)
    if in_unicode is not None:
        return in_unicode
    if text in _ALONE:
        return text

    # 2^(n²) is not (2^n)²
    has_scripts = sign == "^" and any(ord(character) in _SMALL for character in text)
    after = match.string[match.end() : match.end() + 1]
    goes_on = re.search(r"\d\d$|[^\W\d_][A-Za-z\d]$", text[-1:] + after)  # not so 10^9.5M
    if goes_on or has_scripts or not re.fullmatch(r"([^\W_]|[.⊙⊕∞])+|\S", text):
        text = f"({text})"
    return sign + text


def _on_line(match: re.Match[str]) -> str:
    """Return a measurement's errors, "(+0.2/-0.1)", unless Unicode has their scripts."""
    above = match[1] or match[4]
    below = match[2] or match[3]
    if re.fullmatch("[-+−0-9]+", above + below):
        return match[0]

    errors = f"({above}/{below})"
    if match.string[match.start() - 1 : match.start()] not in {" ", SPACE, "("}:
        errors = f" {errors}"
    if match.string[match.end() : match.end() + 1].isalnum():
        errors += " "
    return errors
