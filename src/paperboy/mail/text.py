"""Untrusted text made fit for a mail: converted from TeX, shortened and wrapped. Pure."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import lru_cache
from html import escape as html_escape
from typing import Self

from markupsafe import Markup, escape

from paperboy.edges.text import WORD_END, composed, cut, one_line, printable, sentences
from paperboy.tex import MARKS, SPACE, SUB, SUB_END, SUP, SUP_END, plain, to_marked

WIDTH = 76  # columns of the plain-text part

# HTML

_SHORT = 6  # letters of a last word, with its full stop


def tied(text: object) -> Markup:
    """Return text as HTML in which a no-break space ties a short last word to the one before it, so
    that it never stands alone on a line.
    """
    html = escape(text)
    head, _, last = html.rpartition(" ")
    if not head or len(last) > _SHORT:
        return html
    return head + Markup("&nbsp;") + last


_LONGEST_UNBROKEN = 30  # characters, which fit on any line


def unbroken(text: str) -> str:
    """Return a short name with no-break spaces. It keeps its hyphens: readers search for it."""
    return text if len(text) > _LONGEST_UNBROKEN else text.replace(" ", "\u00a0")


def in_attribute(text: str) -> Markup:
    r"""Return text as ASCII and entities, for places that MJML copies into an attribute: it would
    write other characters as Rust does, such as `\u{301}`.
    """
    html = str(escape(text)).replace("\\", "&#92;")
    safe = html.encode("ascii", "xmlcharrefreplace").decode()
    return Markup(safe)  # noqa: S704  # escaped just above


# Mathematics

_TAGS = {SUP: "<sup>", SUP_END: "</sup>", SUB: "<sub>", SUB_END: "</sub>", SPACE: " "}


class Prose(str):
    """Clean line: a string in its form for plain text, which Jinja prints in its form for HTML
    where it escapes.

    Scripts that Unicode lacks are written as "10^9.5" in plain text, and as elements in HTML.
    """

    __slots__ = ("marked",)

    marked: str  # with the marks of `paperboy.tex`, from which both forms come

    def __new__(cls, marked: str) -> Self:
        self = super().__new__(cls, composed(plain(marked)))
        self.marked = marked
        return self

    def __html__(self) -> str:
        html = html_escape(self.marked)
        for mark, tag in _TAGS.items():
            html = html.replace(mark, tag)
        return html


@lru_cache(maxsize=2048)  # lists share papers
def prose(text: str, marked: Callable[[str], str] = to_marked) -> Prose:
    """Return a title, an abstract or a comment in a form for readers. `marked` reads the mark-up of
    the paper's source; the default reads TeX.
    """
    return Prose(composed(marked(printable(text))))


# Links

JOINER = "\u2060"  # word joiner: invisible, and never part of an address
_IN_LINK = re.compile(  # the places within what a mail program may take for a host, an address or a scheme
    r"(?<=\S[.\u2024\u3002\ufe52\uff0e\uff61])(?=[^\s!-~]{0,3}[^\W\d_])"  # evil.com, but not 3.5
    r"|(?<=\d\.)(?=\d+\.\d+\.\d)|(?:(?<=www)|(?<=ftp))(?=\.)|(?<=[^\W\d_])(?=:\S)|(?<=\d)(?=:/)"
    r"|(?<=\S)(?=[@\ufe6b\uff20]\S)|(?<=\S[@\ufe6b\uff20])(?=\S)|(?<=\\)(?=\\)",
    re.IGNORECASE,
)


def unlinked(text: Prose) -> Prose:
    """Return the text with word joiners, so that mail programs do not turn bare addresses into
    links.
    """
    return Prose(_IN_LINK.sub(JOINER, text.marked))


# Whole segment of a path: in ASCII, not "..", without the full stop of a sentence.
_SEGMENT = r"(?:\.*+[\w-]){1,100}+(?!\.*[\w%+@-])"
# Pages of the host itself, where a repository's owner would stand.
_PAGES = "about|apps|explore|features|groups|login|marketplace|orgs|product|settings|sponsors|topics|users?"
_REPOSITORY = re.compile(
    rf"""
    (?<![\w@/.?&=+%\\-])(?:https?://)?(?:www\.)?
    (?P<host>github\.com|gitlab\.com|codeberg\.org|bitbucket\.org)
    (?P<path>/(?![._-]|(?:{_PAGES})/){_SEGMENT}/{_SEGMENT}(?:/{_SEGMENT}){{0,10}})
    """,
    re.IGNORECASE | re.ASCII | re.VERBOSE,
)


def code_url(text: str) -> str:
    r"""Return the first link to a repository on GitHub, GitLab, Codeberg or Bitbucket; empty if
    there is none.

    The text is an abstract or an authors' comment as its source has it: TeX's `\_`, `\url` and
    `\href` are understood, and links need no scheme. Text in its form for readers gives the same
    result, except for links with dashes but no scheme. The result is ASCII and https, without a
    query.
    """
    link = _REPOSITORY.search(re.sub(r"\{\\_\}|\\_", "_", text))
    return f"https://{link['host'].lower()}{link['path']}" if link else ""


# Shortening

_TELLING_MOST = 240  # characters
_SAYS_ENOUGH = 50  # characters; "We report two." says too little
_OWN_WORK = r"(?:article|letter|note|paper|review|study|survey|thesis|work)"
_TELLS = re.compile(
    rf"""
    (?:^|[,;:—–]\ |\b(?:and|here|{_OWN_WORK})\ )(?:we|I)\  # but not "how we see the world"
        (?!(?:already|are|can|could|do|expect|know|lack|live|may|must|need|refer|should|were|will|would)\b)
    |\bin\ this\ {_OWN_WORK}\b
    |\b(?:our|this)\ {_OWN_WORK}\ (?:\w+ly\ )?(?!is\ |was\ |has\ )\w+(?:s|ed)\b
    |\b(?:our|the)\ (?:analys[ie]s|findings?|observations|results?)\ (?:\w+ly\ )?
        (?:demonstrate|indicate|reveal|show|suggest)
    |\b(?:is|are)\ (?:introduced|presented|proposed|reported)\b
    """,
    re.VERBOSE | re.IGNORECASE,
)


def telling_sentence(abstract: str) -> str:
    """Return the first sentence of an abstract that says what its authors did or found, such as "We
    show that …", else its last sentence; if that is short, also the next. Shortened to about 240
    characters. Returns `Prose` if given `Prose`.
    """
    if not isinstance(abstract, Prose):
        return str(telling_sentence(Prose(abstract)))
    found = _sentences(abstract)
    place = next((n for n, sentence in enumerate(found) if _TELLS.search(sentence)), -1)
    return shorten(_long_enough(found[place:]), _TELLING_MOST)


def first_sentence(text: Prose) -> Prose:
    """Return the first sentence of a comment; if it is short, also the next."""
    return _long_enough(_sentences(text))


def _sentences(text: Prose) -> Sequence[str]:
    """Return the sentences with their marks; the whole text if one ends within a script."""
    marked = sentences(text.marked)
    return marked if all(map(has_whole_scripts, marked)) else [text.marked]


def _long_enough(marked: Sequence[str]) -> Prose:
    said = ""
    for sentence in marked:
        if len(said) >= _SAYS_ENOUGH:
            break
        said = f"{said} {sentence}".lstrip()
    return Prose(said)


def has_whole_scripts(marked: str) -> bool:
    return sum(map(marked.count, (SUP, SUB))) == sum(map(marked.count, (SUP_END, SUB_END)))


def shorten(text: str, limit: int) -> str:
    """Shorten prose to about `limit` characters: to whole sentences if one ends in the last two
    thirds of the limit, else to whole words. A cut text ends in an ellipsis. The length of `Prose`
    is that of its text in HTML, and no formula is cut.
    """
    if not isinstance(text, Prose):
        return text if len(text) <= limit else f"{text[: cut(text, limit)]} …"

    shown = re.sub(f"[{MARKS}]", "", text.marked)
    if len(shown) <= limit:
        return text

    places = [place for place, character in enumerate(text.marked) if character not in MARKS]
    end = places[cut(shown, limit)]
    before = text.marked[:end]
    after = text.marked[end:]
    start = before.rfind(" ") + 1
    word = before[start:] + after.partition(" ")[0]
    if not after.startswith(" ") and any(mark in word for mark in MARKS + SPACE):
        before = before[:start]
    if not before.strip():
        return Prose(shorten(str(text), limit))
    return Prose(f"{before.rstrip()} …")


def clipped(text: str, limit: int) -> str:
    """Shorten a title or another line that is not prose, to whole words and an ellipsis. Returns
    a plain `str`.
    """
    if len(text) <= limit:
        return str(text)
    return f"{text[: cut(text, limit, WORD_END)]} …"


# Subjects

_SIGN = r"[^\W\d_]{1,2}/[^\W\d_]{1,2}|[A-Z][a-z]?[ ]?[IVX]{1,4}"  # astronomers' [Fe/H] and [O III]
_PREFIXES = re.compile(
    rf"(?:(?i:re|fwd?|aw|wg)(?:\[\d+\])?\s*[:：]\s*|\[(?!(?:{_SIGN})\])[^\[\]]*\](?!\w)(?:\s*[:–—-])?\s*)+"
)


def bare_title(title: str) -> str:
    """Return a title for a subject, which must not look like a reply or a tagged mail: without
    "Re:", "Fwd:" and "[…]" at its start, however many. A title in brackets loses only the brackets.
    """
    line = one_line(str(title))
    if match := _PREFIXES.match(line):
        line = line[match.end() :] or _PREFIXES.sub("", re.sub(r"[\[\]]", "", line)).strip() or line
    if sign := re.match(r"\[(\s*\w[^\[\]]*)\]", line):
        rest = line[sign.end() :]
        line = f"{sign[1]} {rest}" if rest[:1].isalnum() else sign[1] + rest
    return composed(line)


# Wrapping

_BREAK = re.compile(r"[^\S\u00a0\u2007\u202f]+")  # all white space except no-break spaces
_ADDRESS = re.compile(r"://|\w@\w|mailto:")


@lru_cache(maxsize=4096)  # lists share papers
def wrap(text: object, first: str = "", rest: str | None = None) -> str:
    """Wrap the text of an object into lines of at most 76 columns, without trailing spaces. `first`
    starts the first line, `rest` (default: `first`) the others. A word longer than a line is broken
    unless it is an address.
    """
    from rich.cells import cell_len, chop_cells  # noqa: PLC0415 - 20 ms and 3 MB, for which the daemon has no use

    if rest is None:
        rest = first
    room = WIDTH - max(cell_len(first), cell_len(rest))
    words: list[str] = []
    for word in map(str.strip, _BREAK.split(str(text))):
        if cell_len(word) <= room or _ADDRESS.search(word):
            words.append(word)
        else:
            words += chop_cells(word, room)

    lines: list[str] = []
    used = 0
    for word in filter(None, words):
        columns = cell_len(word)
        used += 1 + columns
        if lines and used <= WIDTH:
            lines[-1] += f" {word}"
        else:
            start = rest if lines else first
            used = cell_len(start) + columns
            lines.append(start + word)

    return "\n".join(lines)
