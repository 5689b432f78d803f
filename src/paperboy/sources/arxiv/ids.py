"""arXiv's ids: "2502.06786", or until 2007 "astro-ph/0601001"; with links and citation."""

import re
from collections.abc import Mapping
from urllib.parse import quote

from paperboy.models import Paper
from paperboy.sources.source import Links

_WRITTEN = re.compile(
    r"(?:https?://)?(?:www\.)?(?:arxiv\.org/\w+/|(?:doi\.org/)?10\.48550/arxiv\.|arxiv:\s*)?"
    r"(.+?)(?:v\d+)?(?:\.pdf)?/?",
    re.IGNORECASE | re.DOTALL,
)


def read(text: str) -> str:
    """Return the id in a URL or DOI, or in an id with its prefix and its version; else the text itself."""
    match = _WRITTEN.fullmatch(text)
    return match[1] if match else ""


def links(paper_id: str, _: int) -> Links:
    """Return the links of the newest version. arXiv has made HTML since December 2023."""
    name = quote(paper_id)
    has_html = "2312" <= paper_id[:4] <= "9999"
    return Links(
        page=f"https://arxiv.org/abs/{name}",
        pdf=f"https://arxiv.org/pdf/{name}",
        html=f"https://arxiv.org/html/{name}" if has_html else "",
    )


def citation(paper: Paper) -> Mapping[str, str]:
    """Return the fields that arXiv's own BibTeX has."""
    return {"eprint": paper.id, "archivePrefix": "arXiv", "primaryClass": paper.primary_category}
