"""Mark-up of feeds: HTML and MathML, turned into text that keeps only `<sub>` and `<sup>`. Each
pattern takes linear time.
"""

import re
from collections.abc import Sequence
from html import unescape
from typing import Any

from lxml import etree

from paperboy.edges.text import one_line, printable
from paperboy.tex import to_marked as read_tex
from paperboy.tex.scripts import SCRIPTED, from_tags, settled

LEAST = 100  # characters of an abstract; shorter texts are captions and citations


def to_marked(text: str) -> str:
    """Return a stored title or abstract with the marks of `paperboy.tex` around each script."""
    text = printable(text)
    if _TEX.search(text):
        text = read_tex(text)
    return SCRIPTED.sub(settled, from_tags(text))


# A macro with an argument, or a formula
_TEX = re.compile(r"\\[A-Za-z]+\s?\{|\\\(|\$[^$\n\\^_]*[\\^_][^$\n]*\$")


def unescaped(text: str) -> str:
    """Return the text with characters for entities, also for those that were escaped once more."""
    for _ in range(2):
        text = _ENTITY.sub(lambda entity: unescape(entity[0]), text)
    return text


_ENTITY = re.compile(r"&#?\w{1,40};")


def paragraphs(html: str) -> list[str]:
    """Return the text of HTML, a paragraph a string; what is no known tag, as in "x <y", stays."""
    text = " ".join(_BLANK_LINE.sub("<p>", html).split())
    text = _BOX_TITLE.sub("\n", _MATH.sub(_formula, text))
    text = _TAG.sub(_without_tag, text)
    return [line for line in map(one_line, text.split("\n")) if line]


def abstract(paragraphs: Sequence[str]) -> str:
    """Return the abstract in a description, a paragraph a line, without the citation around it;
    empty if the rest is too short to be one.
    """
    found = list(paragraphs)
    for place, line in enumerate(found):
        if heading := _HEADING.match(line):
            found = [line[heading.end() :], *found[place + 1 :]]
            break

    kept = list[str]()
    for line in found:
        text = _CITATION.sub("", line)
        if text and not _NO_PROSE.match(text):
            kept.append(text)
    text = "\n".join(kept)
    return text if len(text) >= LEAST else ""


# --- tags

_BLANK_LINE = re.compile(r"\n[ \t\r]*\n")
_BOX_TITLE = re.compile(r"<div class=.boxTitle.>[^<]{0,200}</div>")
_TAG = re.compile(
    r"<(?P<end>/?)(?:\w{1,10}:)?(?:(?P<script>su[bp]|inf)"
    r"|(?P<block>article|blockquote|br|caption|center|dd|div|dl|dt|figcaption|figure|footer|h[1-6]|header|hr"
    r"|li|ol|p|pre|sec|section|table|tbody|td|th|thead|title|tr|ul)"
    r"|a|abbr|b|big|bdi|bold|cite|code|del|em|ext-link|font|i|iframe|img|inline-formula|ins|italic|label|list"
    r"|math|m[a-z]{1,13}|named-content|q|s|sc|scp|script|small|source|span|strike|strong|style|styled-content|time|tt|u"
    r"|underline|var|wbr|xref)(?:\s[^<>]{0,3000})?/?>",
    re.IGNORECASE,
)


def _without_tag(tag: re.Match[str]) -> str:
    if tag["script"]:
        kind = "sup" if tag["script"].lower() == "sup" else "sub"
        return f"<{tag['end']}{kind}>"
    return "\n" if tag["block"] else ""


# --- formulas

_MATH = re.compile(
    r"<(?P<prefix>(?:\w{1,10}:)?)math\b(?:(?!<(?:\w{1,10}:)?math\b).)*?</(?P=prefix)math>",
    re.IGNORECASE,
)
_XML = etree.XMLParser(recover=True, resolve_entities=False, no_network=True)


def _formula(math: re.Match[str]) -> str:
    """Return a formula of MathML in one line."""
    root = etree.fromstring(f"<math>{math[0]}</math>".encode(), _XML)
    written = dict[Any, str]()
    for element in reversed(list(root.iter(etree.Element))):  # children come before their parents
        name = element.tag.rpartition("}")[2].rpartition(":")[2]
        parts = [written[child] for child in element if child in written]
        written[element] = _of_element(name, (element.text or "").strip(), parts)
    return written[root]


def _of_element(name: str, text: str, parts: list[str]) -> str:
    whole = text + "".join(parts)
    match name, parts:
        case "msub" | "munder", [base, low]:
            whole = f"{base}<sub>{low}</sub>"
        case "msup" | "mover", [base, high]:
            whole = f"{base}<sup>{high}</sup>"
        case "msubsup" | "munderover", [base, low, high]:
            whole = f"{base}<sub>{low}</sub><sup>{high}</sup>"
        case "mfrac", [above, below]:
            whole = f"{above}/{below}"
        case "msqrt", _:
            whole = f"√({whole})"
        case "mspace", _:
            whole = " "
        case "annotation" | "annotation-xml", _:  # the same in TeX
            whole = ""
    return whole


# --- citations around an abstract

_HEADING = re.compile(r"(?:Abstract|ABSTRACT)(?:\s*[:.–—]\s*|\s*$|\s?(?=[A-Z]))")
_CITATION = re.compile(
    r"^.{0,200}?, Published online: [^;]{1,40}(?:; ?doi: ?\S+|$)\s*"
    r"|^(?:.{0,200}?, )?Volume \d{1,5}, (?:Issue|Page|Article|Number|No)\b[^.]{0,150}(?:\.\s*|$)"
)
_NO_PROSE = re.compile(
    r"""
    (?:Publication\ date|Source|Authors?(?:\(s\))?|DOI|PMC?ID|Key\ ?words?)\s*:
    |(?:https?://)?(?:dx\.)?doi\.org/\S+$
    |\[[^\]]{1,300}\](?:\ Published\ .{1,60})?$  # [Phys. Rev. D 114, 1] Published Mon …
    |.{0,200},\ (?:Early\ ?View|Ahead\ of\ Print|Accepted\ Article|Just\ Accepted)\.?$
    |To\ cite\ this\ article|The\ content\ of\ this\ RSS\ Feed
    """,
    re.IGNORECASE | re.VERBOSE,
)
