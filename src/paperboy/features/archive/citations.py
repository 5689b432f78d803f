"""Papers for reference managers: BibTeX. Pure."""

import re
from collections.abc import Iterable
from itertools import chain, count
from string import ascii_lowercase

from paperboy.curate import name_key
from paperboy.edges.text import one_line
from paperboy.mail.page import MOST_AUTHORS
from paperboy.models import Paper
from paperboy.sources import links_of, source_of, title_of
from paperboy.tex import formulas, printing, to_marked

_OF_TITLES = {
    "a",
    "an",
    "the",
    "on",
    "of",
    "in",
    "for",
    "and",
    "to",
    "is",
    "are",
    "do",
    "does",
    "towards",
}


def bibtex(papers: Iterable[Paper]) -> str:
    """Return an entry of the type @misc for each, with keys that differ from each other."""
    entries: dict[str, str] = {}
    for paper in papers:
        stem = _key(paper)
        suffixes = chain(["", *ascii_lowercase[1:]], (f"-{number}" for number in count(27)))
        key = next(key for suffix in suffixes if (key := stem + suffix) not in entries)
        authors = [_name(author) for author in paper.authors[:MOST_AUTHORS]]
        if len(paper.authors) > MOST_AUTHORS:
            authors.append("others")
        fields = {
            "title": _safe(paper),
            "author": " and ".join(authors),
            "year": f"{paper.published.year}",
            **{name: _plain(value) for name, value in source_of(paper.id).citation(paper).items()},
            "doi": _plain(paper.doi),
            "url": links_of(paper).page,
        }
        lines = "".join(f"  {name} = {{{value}}},\n" for name, value in fields.items() if value)
        entries[key] = f"@misc{{{key},\n{lines}}}\n"
    return "\n".join(entries.values())


def _key(paper: Paper) -> str:
    """Return a key as Google Scholar makes it: the first author's last name, the year, the title's
    first word.
    """
    name = _letters(paper.authors[0].rpartition(" ")[2]) if paper.authors else ""
    words = map(_letters, title_of(paper).replace("-", " ").split())
    word = next((word for word in words if word and word not in _OF_TITLES), "")
    return f"{name or 'anonymous'}{paper.published.year}{word[:30]}"


def _letters(text: str) -> str:
    return re.sub(r"[^a-z0-9]", "", name_key(text))


def _name(author: str) -> str:
    """Return an author's name, in braces if BibTeX would take it apart."""
    name = _plain(author)
    return f"{{{name}}}" if "," in name or re.search(r"\band\b", name, re.IGNORECASE) else name


def _plain(text: str) -> str:
    """Return text without TeX."""
    return re.sub(r"([&%#$_])", r"\\\1", one_line(re.sub(r"[{}\\~^]", " ", text)))


def _safe(paper: Paper) -> str:
    """Return the title with its TeX, if it has any that only prints, and no brace ends the field
    early or late; else as text, since authors' commands are not executed. To BibTeX an escaped
    brace is a brace.
    """
    if source_of(paper.id).marked is not to_marked:
        return _plain(title_of(paper))
    tex = re.sub(r"(\\.)|([&%#])", lambda found: found[1] or f"\\{found[2]}", one_line(paper.title))
    found = list(formulas(tex))
    outside = tex
    for start, end, _ in reversed(found):
        outside = f"{outside[:start]} {outside[end:]}"
    obeyed = re.findall(r"\\([A-Za-z]+|.?)", " ".join([outside, *(body for _, _, body in found)]))
    prints = printing().issuperset(obeyed) and re.fullmatch(r"(?:\\.|[^\\$_^])*", outside)
    # TeX reads ^^5c as a backslash, wherever it stands
    is_safe = prints and "^^" not in tex and balanced(tex) and not tex.endswith("\\")
    return tex if is_safe else _plain(title_of(paper))


def balanced(text: str) -> bool:
    """Return whether BibTeX takes it for the value of a field."""
    depth = 0
    for brace in re.findall(r"[{}]", text):
        depth += 1 if brace == "{" else -1
        if depth < 0:
            return False
    return depth == 0
