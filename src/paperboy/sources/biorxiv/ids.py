"""Ids of both servers, "biorxiv:10.64898/2026.07.31.741992": the DOI after the server's key."""

import re
from urllib.parse import quote

from paperboy.sources.source import Links

# Since December 2019 it contains the date of submission; older papers have only a number.
DOI = r"10\.(?:1101|64898)/(?:\d{4}\.\d\d\.\d\d\.)?\d{6,9}"
_WRITTEN = re.compile(
    rf"""
    (?:
        (?P<key>biorxiv|medrxiv):\s*
        |(?:https?://)?(?:www\.)?(?P<host>biorxiv|medrxiv)\.org/content/
        |(?:https?://)?(?:dx\.)?doi\.org/
        |doi:\s*
    )?
    (?P<doi>{DOI})
    (?:v\d+)?(?:\.[\w+-]+)*/?  # such as v1.full-text
    (?:[?\#].*)?
    """,
    re.ASCII | re.IGNORECASE | re.VERBOSE,
)


def read(key: str, text: str) -> str:
    """Return a server's id in a URL, an id or a DOI, with or without a version; empty if there is
    none, or if it is the other server's. A bare DOI is medRxiv's if it ends in eight digits.
    """
    match = _WRITTEN.fullmatch(text)
    if match is None:
        return ""
    doi = match["doi"]
    of_doi = "medrxiv" if re.search(r"\d{8}$", doi) else "biorxiv"
    server = match["key"] or match["host"] or of_doi
    return f"{key}:{doi}" if server.lower() == key else ""


def links(paper_id: str, version: int) -> Links:
    """Return the links of a version."""
    key, _, doi = paper_id.partition(":")
    page = f"https://www.{key}.org/content/{quote(doi)}v{version}"
    return Links(page=page, pdf=f"{page}.full.pdf")
