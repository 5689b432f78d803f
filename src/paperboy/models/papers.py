"""What arXiv announces."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True)
class Paper:
    """One arXiv e-print, with arXiv's TeX still in title and abstract."""

    arxiv_id: str  # without the version: "2502.06786", "astro-ph/0601001"
    version: int
    title: str
    authors: tuple[str, ...]  # already Unicode
    abstract: str
    primary_category: str
    categories: tuple[str, ...]
    published: datetime  # when version 1 was submitted
    updated: datetime  # when this version was submitted
    comment: str = ""  # the authors' remark, as "12 pages, 3 figures"
    doi: str = ""
