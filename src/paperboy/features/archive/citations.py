"""Papers for reference managers: BibTeX. Pure."""

import re
from collections.abc import Iterable
from itertools import chain, count
from string import ascii_lowercase

from paperboy.curate import name_key
from paperboy.edges.text import one_line
from paperboy.mail.page import MOST_AUTHORS, arxiv_url
from paperboy.mail.text import prose
from paperboy.models import Paper
from paperboy.tex import formulas, printing

_TEX = re.compile(r"\\([A-Za-z]+|.?)|[&%#$_^]")  # what TeX obeys
_OF_TITLES = {"a", "an", "the", "on", "of", "in", "for", "and", "to", "is", "are", "do", "does", "towards"}


def bibtex(papers: Iterable[Paper]) -> str:
    """An entry of the type @misc for each, as arXiv's own are, with keys that differ from each other."""
    entries: dict[str, str] = {}
    for paper in papers:
        stem = _key(paper)
        suffixes = chain(["", *ascii_lowercase[1:]], (f"-{number}" for number in count(27)))
        key = next(key for suffix in suffixes if (key := stem + suffix) not in entries)
        authors = [_name(author) for author in paper.authors[:MOST_AUTHORS]]
        if len(paper.authors) > MOST_AUTHORS:
            authors.append("others")
        fields = {
            "title": _safe(paper.title),
            "author": " and ".join(authors),
            "year": f"{paper.published.year}",
            "eprint": paper.arxiv_id,
            "archivePrefix": "arXiv",
            "primaryClass": _plain(paper.primary_category),
            "doi": _plain(paper.doi),
            "url": arxiv_url("abs", paper),
        }
        lines = "".join(f"  {name} = {{{value}}},\n" for name, value in fields.items() if value)
        entries[key] = f"@misc{{{key},\n{lines}}}\n"
    return "\n".join(entries.values())


def _key(paper: Paper) -> str:
    """As Google Scholar makes them: the first author's last name, the year, the title's first word."""
    name = _letters(paper.authors[0].rpartition(" ")[2]) if paper.authors else ""
    words = map(_letters, prose(paper.title).replace("-", " ").split())
    word = next((word for word in words if word and word not in _OF_TITLES), "")
    return f"{name or 'anonymous'}{paper.published.year}{word[:30]}"


def _letters(text: str) -> str:
    return re.sub(r"[^a-z0-9]", "", name_key(text))


def _name(author: str) -> str:
    """An author's name: one that BibTeX would take apart is braced."""
    name = _plain(author)
    return f"{{{name}}}" if "," in name or re.search(r"\band\b", name, re.IGNORECASE) else name


def _plain(text: str) -> str:
    """Text that is no TeX."""
    return re.sub(r"([&%#$_])", r"\\\1", re.sub(r"[{}\\~^]", " ", one_line(text))).strip()


def _safe(title: str) -> str:
    """A title with its TeX: no brace ends the field early or late, no backslash hides the field's own, no comment
    begins in it, and no command of arXiv's authors is executed. To BibTeX an escaped brace is a brace.
    """
    text = re.sub(r"[\\\s]+$", "", one_line(title))
    if not balanced(text):
        text = text.replace(r"\{", r"\lbrace ").replace(r"\}", r"\rbrace ")
    if not balanced(text):
        text = re.sub(r"[\\\s]+$", "", re.sub(r"[{}]", "", text))
    return _harmless(text.strip())  # at last: without braces, \in{}put would be a command


def _harmless(tex: str) -> str:
    """TeX with its formulas, letters and accents; what else TeX would obey is escaped."""
    pieces, at = [], 0
    for start, end, body in formulas(tex):
        width = (end - start - len(body)) // 2  # of the dollars around it
        opening, closing = tex[start : start + width], tex[end - width : end]
        pieces += [_TEX.sub(_in_prose, tex[at:start]), opening, _TEX.sub(_in_formula, body), closing]
        at = end
    pieces.append(_TEX.sub(_in_prose, tex[at:]))
    return re.sub(r"\^(?=\^)", "^{}", "".join(pieces))  # TeX reads ^^5c as a backslash, wherever it stands


def _in_prose(found: re.Match[str]) -> str:
    if found[0] == "^":
        return r"\^{}"
    return f"\\{found[0]}" if found[0] in {"$", "_"} else _in_formula(found)


def _in_formula(found: re.Match[str]) -> str:
    if found[0] in {"&", "%", "#"}:
        return f"\\{found[0]}"
    is_command = found[0][0] == "\\" and found[1] not in printing()
    return rf"\textbackslash{{}}{found[1]}" if is_command else found[0]


def balanced(text: str) -> bool:
    """Whether BibTeX takes it for the value of a field."""
    depth = 0
    for brace in re.findall(r"[{}]", text):
        depth += 1 if brace == "{" else -1
        if depth < 0:
            return False
    return depth == 0
