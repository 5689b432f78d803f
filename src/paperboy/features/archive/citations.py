"""BibTeX for reference managers. Pure."""

import re
from collections.abc import Iterable
from itertools import chain, count
from string import ascii_lowercase

from paperboy.curate import name_key
from paperboy.edges.text import one_line
from paperboy.mail.page import MOST_AUTHORS
from paperboy.models import ET_AL, Paper
from paperboy.sources import links_of, source_of, title_of
from paperboy.tex import formulas, printing, to_marked

_STOP_WORDS = {
    "a", "an", "the", "on", "of", "in", "for", "and", "to", "is", "are", "do", "does", "towards",
}  # fmt: skip


def bibtex(papers: Iterable[Paper]) -> str:
    """Return an entry for each paper, with unique keys: @article if in a journal, else @misc."""
    entries: dict[str, str] = {}
    for paper in papers:
        stem = _key(paper)
        suffixes = chain(["", *ascii_lowercase[1:]], (f"-{number}" for number in count(27)))
        key = next(stem + suffix for suffix in suffixes if stem + suffix not in entries)

        authors = [_name(author) for author in paper.authors[:MOST_AUTHORS] if author != ET_AL]
        if len(paper.authors) > len(authors):
            authors.append("others")
        fields = {
            "title": _title(paper),
            "author": " and ".join(authors),
            "year": f"{paper.published.year}",
        }
        for name, value in source_of(paper.id).citation(paper).items():
            fields[name] = _plain(value)
        fields["doi"] = _plain(paper.doi)
        fields["url"] = links_of(paper).page

        lines = "".join(f"  {name} = {{{value}}},\n" for name, value in fields.items() if value)
        kind = "article" if "journal" in fields else "misc"
        entries[key] = f"@{kind}{{{key},\n{lines}}}\n"
    return "\n".join(entries.values())


def _key(paper: Paper) -> str:
    """Return a key in the style of Google Scholar: the first author's last name, the year, and the
    first word of the title.
    """
    name = ""
    if paper.authors:
        name = _letters(paper.authors[0].rpartition(" ")[2])

    words = map(_letters, title_of(paper).replace("-", " ").split())
    word = next((word for word in words if word and word not in _STOP_WORDS), "")
    return f"{name or 'anonymous'}{paper.published.year}{word[:30]}"


def _letters(text: str) -> str:
    return re.sub(r"[^a-z0-9]", "", name_key(text))


def _name(author: str) -> str:
    """Put a name into braces if BibTeX would split it."""
    name = _plain(author)
    if "," in name or re.search(r"\band\b", name, re.IGNORECASE):
        return f"{{{name}}}"
    return name


def _plain(text: str) -> str:
    return re.sub(r"([&%#$_])", r"\\\1", one_line(re.sub(r"[{}\\~^]", " ", text)))


def _title(paper: Paper) -> str:
    """Return the title with its TeX where that is safe, else as plain text.

    TeX is safe if each command only prints, since authors' commands must not be executed, and if
    no brace ends the field early or late. BibTeX counts escaped braces, too.
    """
    text = _plain(title_of(paper))
    if source_of(paper.id).marked is not to_marked:
        return text

    tex = one_line(paper.title)
    tex = re.sub(r"(\\.)|([&%#])", lambda match: match[1] or f"\\{match[2]}", tex)
    maths = list(formulas(tex))
    outside = tex
    for start, end, _ in reversed(maths):
        outside = f"{outside[:start]} {outside[end:]}"

    bodies = [body for _, _, body in maths]
    commands = re.findall(r"\\([A-Za-z]+|.?)", " ".join([outside, *bodies]))

    is_safe = (
        printing().issuperset(commands)
        and re.fullmatch(r"(?:\\.|[^\\$_^])*", outside)
        and "^^" not in tex  # TeX reads ^^5c as a backslash, wherever it stands
        and balanced(tex)
        and not tex.endswith("\\")
    )
    return tex if is_safe else text


def balanced(text: str) -> bool:
    """Check whether the braces match, so that BibTeX takes the text for one field's value."""
    depth = 0
    for brace in re.findall(r"[{}]", text):
        depth += 1 if brace == "{" else -1
        if depth < 0:
            return False
    return depth == 0
