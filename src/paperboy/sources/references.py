"""Ids and DOIs in what reference managers write: a field, a word of one, or a link. Pure."""

import re

from paperboy.sources import SOURCES

_LONGEST = 500  # characters, of a link with an id
# For the one source whose ids have no prefix: its `read_id` accepts any text.
_BARE_ID = re.compile(
    r"\d\d(?:0[1-9]|1[0-2])\.\d{4,5}|[a-z]+(?:-[a-z]+)?/\d\d(?:0[1-9]|1[0-2])\d{3}", re.ASCII
)
_SUBJECT = re.compile(r"(?<=[a-z])\.[A-Z]{2}(?=/\d{7})")  # math.GT/0309136 is math/0309136
_BEFORE_ID = re.compile(r"\S*\b(?:(?:abs|html|pdf)|doi\.org)/")  # of a link, whatever its host
_DOI = re.compile(r"\b10\.\d{4,9}/\S+", re.ASCII)


def id_in(text: str) -> str:
    """Return the preprint id that a text is, or that a link contains; empty if there is none."""
    written = text.strip()
    if len(written) > _LONGEST:
        return ""
    link = _BEFORE_ID.match(written)
    bare = written[link.end() :] if link else written
    bare = re.split("[?#]", bare, maxsplit=1)[0]
    for form in (written, bare):
        for source in SOURCES:
            if source.first_read:  # whose papers are no preprints
                continue
            paper_id = _SUBJECT.sub("", source.read_id(form))
            if paper_id and (source.key or _BARE_ID.fullmatch(paper_id)):
                return paper_id
    return ""


def doi_in(text: str) -> str:
    """Return the first DOI in a text, in lower case; empty if there is none."""
    found = _DOI.search(text)
    return found[0].lower().rstrip(".,;") if found else ""
