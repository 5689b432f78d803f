"""A library's titles, which are private: the LLM is given them, and no comment may repeat one. Pure."""

import re
from collections.abc import Sequence
from functools import lru_cache

from paperboy.edges.text import folded, sentences
from paperboy.scoring.reply import seen

_WORDS = 4  # in a row that tell a title

_Words = tuple[str, ...]


def without_titles(comment: str, titles: Sequence[str]) -> str:
    """Return the comment without sentences that have four words in a row of one of the titles; empty
    if such a row reaches over the end of a sentence.
    """
    told = _told(tuple(titles))
    if not told & _rows(comment):
        return comment
    rest = " ".join(sentence for sentence in sentences(comment) if not told & _rows(sentence))
    return "" if told & _rows(rest) else rest


@lru_cache(maxsize=16)  # each comment of a list asks
def _told(titles: tuple[str, ...]) -> frozenset[_Words]:
    return frozenset[_Words]().union(*map(_rows, titles))


def _rows(text: str) -> frozenset[_Words]:
    """Return all words of a text that follow each other, four at a time."""
    words = re.findall(r"\w+", folded(seen(text)))
    return frozenset(zip(*(words[start:] for start in range(_WORDS)), strict=False))
