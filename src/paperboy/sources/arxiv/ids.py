"""arXiv's ids: "2502.06786", or until 2007 "astro-ph/0601001"; with links and citation."""

import re
from collections.abc import Mapping
from urllib.parse import quote

from paperboy.models import Paper
from paperboy.sources.source import Links

_WRITTEN = re.compile(
    r"(?:https?://)?(?:www\.)?(?:arxiv\.org/\w+/|arxiv:\s*)?(.+?)(?:v\d+)?(?:\.pdf)?/?",
    re.IGNORECASE | re.DOTALL,
)


def read(text: str) -> str:
    """Return the id in a URL, or in an id with its prefix and its version; else the text itself."""
    found = _WRITTEN.fullmatch(text)
    return found[1] if found else ""


def links(paper_id: str, _: int) -> Links:
    """Return where the newest version stands. arXiv began to make HTML in December 2023."""
    page, pdf, html = (
        f"https://arxiv.org/{form}/{quote(paper_id)}" for form in ("abs", "pdf", "html")
    )
    return Links(page, pdf, html if "2312" <= paper_id[:4] <= "9999" else "")


def citation(paper: Paper) -> Mapping[str, str]:
    """Return the fields that arXiv's own BibTeX has."""
    return {"eprint": paper.id, "archivePrefix": "arXiv", "primaryClass": paper.primary_category}
