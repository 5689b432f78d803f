"""Mark-up of titles and abstracts: what is left of Highwire's typesetting, turned into text.

The API gives text in which tokens stand for elements (`O_LI … C_LI` is a list item), names in
brackets for characters (`{beta}`, `[&ge;]`), and headings are fused to the next word. The tables
have the names, tokens and headings found in public code and in abstracts of 2021–2026; anything
else stays as it is. A few authors write TeX, which `paperboy.tex` reads. Nothing here raises, and
each pattern takes linear time.
"""

import re
from html import unescape

from paperboy.edges.text import printable
from paperboy.tex import to_marked as read_tex
from paperboy.tex.macros import symbols
from paperboy.tex.scripts import SCRIPTED, from_tags, settled


def to_marked(text: str) -> str:
    """Return a title or an abstract as text, one line per paragraph, with the marks of
    `paperboy.tex` around each script that Unicode lacks: "CO<sub>2</sub> in {micro}mol" is
    "CO₂ in µmol".
    """
    text = _ENTITY.sub(lambda entity: unescape(entity[1] or entity[0]), text)
    text = _without_tokens(text)
    text = _NAMED.sub(_character, _ANGSTROM.sub("Å", text))
    text = printable(text)  # removes marks from outside, even those written as entities
    if _TEX.search(text):
        text = read_tex(text)
    text = from_tags(_TAG.sub(_without_tag, text))
    text = "\n".join(filter(None, (" ".join(line.split()) for line in text.split("\n"))))
    if _PROSE.search(text):  # a title may begin with a name such as DesignMaster
        text = _HEADING.sub(r"\g<0>: ", _ABSTRACT.sub("", text))
        text = _LONGER_HEADING.sub(r"\g<0>: ", text)
        text = text.replace(": \n", ":\n").strip()
    return SCRIPTED.sub(settled, text)


# --- characters

_ENTITY = re.compile(r"\[(&#?\w{1,40};)\]|&#?\w{1,40};")
_ANGSTROM = re.compile(r"(?<=\d)\[A\]|(?<=\d[ -])\[A\]")
_NAMED = re.compile(r"\{(?P<braced>[^{}]{1,30})\}|\[(?P<bracketed>[^\[\]\s]{1,12})\]")

_GREEK_NAMES = (
    "alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu nu xi omicron pi rho sigma"
    " tau upsilon phi chi psi omega"
)
_GREEK = dict(zip(_GREEK_NAMES.split(), "αβγδεζηθικλμνξοπρστυφχψω", strict=True))
_BRACED = {
    **_GREEK,
    **{name.capitalize(): letter.upper() for name, letter in _GREEK.items()},
    "vartheta": "θ", "+/-": "±", "degrees": "°", "female": "♀", "inverted exclamation": "¡",
    "micro": "µ", "middle dot": "·", "o": "º", "paragraph": "¶", "per thousand": "‰", "pound": "£",
    "ring": "˚", "whitebullet": "◦", "triangleup": "Δ",  # of deletion mutants
    "superscript 1": "¹", "superscript 2": "²", "superscript 3": "³",
}  # fmt: skip
# No capitals: [Pi] is the concentration of phosphate, and [A] is Å only after a number.
_BRACKETED = {
    **_GREEK,
    "-": "−", "->": "→", "<-": "←", "~": "∼", "~=": "≃",
    "bullet": "•", "isin": "∈", "tpltrtarr": "➢",
}  # fmt: skip
_CODE = re.compile(r"x(?=\d*[A-F])[\dA-F]{4,5}")  # [x1D05], but not the magnification [x1000]


def _character(named: re.Match[str]) -> str:
    braced, bracketed = named.groups()
    if braced in _BRACED:
        return _BRACED[braced]
    if braced:  # most of the other names are TeX's
        before = named.string[max(0, named.start() - 1) : named.start()]
        is_word = len(braced) < 3 or re.match("[a-z_^{]", before)  # x_{int}, \text{sum}
        symbol = "" if is_word else symbols().get(braced, "")
        return named[0] if symbol.isascii() else symbol
    if _CODE.fullmatch(bracketed):
        return chr(int(bracketed[1:], 16))
    return _BRACKETED.get(bracketed, named[0])


# A macro with an argument, or a formula
_TEX = re.compile(
    r"\\[A-Za-z]+\s?\{|\$(?!\s)[^$\n\\^_]*(?:\\[A-Za-z]|[_^][{\w])[^$\n]*(?<!\s)\$(?!\d)"
)

# --- tokens

# The innermost pair of tokens of its kind, so that the time is linear. A single token stays: names
# and links may contain "GEO_LIVER".
_INSIDE = r"(?P<inside>(?:(?!O_(?P=kind)).)*?)C_(?P=kind)"
_REMOVED = re.compile(
    rf"(?:(?i:graphical abstract|toc graphic)\s*)?O_(?P<kind>FIG|TBL|TEXTBOX){_INSIDE}(?:_DISPLAY)?",
    re.DOTALL,
)
_KEPT = re.compile(rf"O_(?P<kind>FD|INLINEFIG|LI|LST|QD){_INSIDE}", re.DOTALL)
_ABSTRACT_TOKENS = re.compile(r"AO_SCP(?:LOW|CAP)BSTRACT(?:C_SCP(?:LOW|CAP))?")
_HEADING_TOKENS = re.compile(r"O_ST_ABS((?:(?![OC]_ST_ABS)[^\n]){1,120})C_ST_ABS")
_SMALL_CAPITALS = re.compile(r"[OC]_SCP(?:LOW|CAP)")


def _without_tokens(text: str) -> str:
    """Return the text without figures, tables and boxes, with list items and headings in lines of
    their own.
    """
    text = _REMOVED.sub("\n", text)
    text = _ABSTRACT_TOKENS.sub("Abstract\n", text)
    text = _SMALL_CAPITALS.sub("", text)
    text = _HEADING_TOKENS.sub(lambda found: f"\n{found[1].strip(' :.')}: ", text)
    for _ in range(2):  # items of lists, and pictures of formulas
        text = _KEPT.sub(_element, text)
    return text


def _element(found: re.Match[str]) -> str:
    inside = found["inside"].replace("M_FD", " ")  # begins a formula's number
    return f"\n• {inside}\n" if found["kind"] == "LI" else f" {inside} "


# --- tags

_TAG = re.compile(
    r"<(?P<end>/?)(?:jats:)?(?:(?P<script>su[bp])|(?P<block>br|div|h[1-6]|li|list|p|sec|title)"
    r"|a|b|bold|em|ext-link|i|italic|(?:o|st1|w):\w+|sc|small|span|strong|u|underline|xref)"
    r"(?:\s[^<>=]{0,80}=[^<>]{0,300})?\s?/?>",
    re.IGNORECASE,
)


def _without_tag(tag: re.Match[str]) -> str:
    if tag["script"]:
        return f"<{tag['end']}{tag['script'].lower()}>"
    return "\n" if tag["block"] else ""


# --- headings, fused to the text after them

_HEADINGS = (
    "added value of this study|aim|aims|approach|author summary|availability|background"
    "|clinical trial registration|code availability|conclusion|conclusions|data availability"
    "|data sources|design|discussion|evidence before this study|experimental approach"
    "|experimental design|findings|funding|highlight|highlights|hypothesis|impact statement"
    "|implications of all the available evidence|importance|interpretation|intervention"
    "|interventions|introduction|key findings|key messages|key points|key results|lay summary"
    "|limitations|main outcome measures|main outcomes|main results|materials|method|methodology"
    "|methods|motivation|objective|objectives|one[- ]sentence summary|outcomes|participants|patients"
    "|plain language summary|principal findings|purpose|rationale|research in context|result"
    "|results|setting|significance|significance statement|study design|summary|synopsis|teaser"
    "|trial registration"
)
_AFTER_AND = (
    "analysis|dissemination|exposure|exposures|implementation|implications|measures|relevance"
)


def _any_of(names: str) -> str:
    """Return a pattern of these names in lower case, with capitalised words, and in capitals."""
    longest_first = sorted(names.split("|"), key=len, reverse=True)
    patterns = (re.sub(r"\b[a-z]", r"(?i:\g<0>)", name) for name in longest_first)
    return "|".join((*patterns, *map(str.upper, longest_first)))


# What comes next: a capital, a number, or a word such as mRNA. After a heading in capitals, one
# letter must be lower-case, since METHODOLOGY is one word; and AIM2 is a gene.
_NEXT_WORD = r"(?<=[a-z])[^\W\da-z_]|[A-Z][a-z]|A\s|[a-z]{1,5}[A-Z]"
_NEXT = rf"(?={_NEXT_WORD}|(?<!(?i:aim))(?<!(?i:aims))\d|[a-z]{{1,5}}\d)"
_HEADING = re.compile(
    rf"(?:^|(?<=[.!?]\s))(?=[A-Z])(?:{_any_of(_HEADINGS)})"
    rf"(?:(?: ?[&/] ?|,? (?:and|AND) |, )(?:{_any_of(f'{_HEADINGS}|{_AFTER_AND}')})){{0,3}}(?:{_NEXT}|$)",
    re.MULTILINE,
)
# Other headings, by the words that end them. Some of these words begin names, too, such as
# ContextCite: they are headings only before a word that begins many sentences. A number after a
# heading of several words may be a reference.
_TAILS = (
    "adds|already known|approval|articles reviewed|background data|backgrounds?|basic procedures"
    "|conclusions?|contributions?|criteria|data extraction|data sources?|data synthesis|declarations?"
    "|disclaimer|disclosures?|dissemination|exposures?|findings|findings to date|for caution|fundings?"
    "|funding sources?|future plans|hypotheses|hypothesis|implications|interests|interpretations?"
    "|interventions?|introductory paragraph|is known|limitations?|main outcomes?|meaning|measures?"
    "|methods|noteworthy|objectives?|of interest|of the study|of this study|outcomes"
    "|participants|questions?|recommendations|registration|relevance|research design"
    "|results|role of chance|search strategy|significance|statement|study selection"
    "|summary line|supplementary information"
)
_TAILS_THAT_BEGIN_NAMES = (
    "abstract|aims?|analyses|analysis|availability|bias|boxes|brief|code|comparator|context|data|design|duration"
    "|evidence|extraction|found|impact|implementation|manuscript|messages?|methods?|note|objects?|outcome|period"
    "|population|rationale?|reader|reproducibility|review|selection|setting|source|strategy|study|subjects?"
    "|summary|synthesis|topic|tweet|value"
)
_BEGINNINGS = (
    "A|All|Among|An|As|At|Between|Data|During|Each|For|From|Here|How|However|If|In|It|Our|Participants"
    "|Patients|Since|Some|Studies|That|The|There|These|They|This|Those|To|Using|We|When|While|With"
)
_LONGER_HEADING = re.compile(
    rf"^(?!(?:We|Here|Our|In)\s)(?:[^\s.:;!?/]{{1,30}}[ /]{{1,3}}){{0,7}}(?:(?:{_any_of(_TAILS)})(?={_NEXT_WORD})"
    rf"|(?:{_any_of(_TAILS_THAT_BEGIN_NAMES)})(?=(?:{_BEGINNINGS})\s))",
    re.MULTILINE,
)
_ABSTRACT = re.compile(
    rf"^(?=[A-Z])(?:{_any_of('abstract|graphical abstract|structured abstract')})(?::\s*|{_NEXT}|\n|\Z)",
    re.MULTILINE,
)
_PROSE = re.compile(r"\n|(?<=[a-z\d)\]%])\.(?:\s|$)")
