"""Identity of an entry: its DOI, which joins the same paper of several feeds, else a hash."""

import hashlib
import re
from collections.abc import Iterable
from urllib.parse import unquote

LONGEST = 300  # characters of a DOI
_DOI = re.compile(r"(?<!\d)10\.\d{4,9}/[!-~]{1,400}")
_AFTER = re.compile(r"[\"'<>?#&\\^`{|}].*")  # neither of these is in a DOI that feeds have
_AFTER_LABEL = re.compile(
    r"\bdoi[^\w<]{0,5}(?:(?:https?://)?(?:dx\.)?doi\.org/)?(?=10\.\d)", re.IGNORECASE
)
# Pages of a DOI: …/doi/10.1021/X/5291658/Slug, …/10.3389/X/full
_PAGE = re.compile(
    r"(?P<of_article>/article(?:-abstract|-lookup)?/doi/)?(?P<doi>10\.\d{4,9}/[^\s]{1,400})",
    re.IGNORECASE,
)
_PAGE_END = re.compile(r"/(?:abstract|epdf|full|html|meta|pdf|summary)$", re.IGNORECASE)
_NUMBER_OF_PAGE = re.compile(r"(?<=.)/\d{5,9}(?:/[^/]*)?$")
_VERSION = re.compile(r"(10\.26434/.+)/v\d{1,3}$")
_NATURE = re.compile(r"https?://(?:www\.)?nature\.com/articles/(?P<suffix>[\w.-]{4,60})", re.ASCII)
_PII = re.compile(r"S\d{4}-?\d{3}[\dX]\(?\d\d\)?\d{5}-?[\dX](?!\d)", re.IGNORECASE)


def doi(fields: Iterable[str], addresses: Iterable[str], text: str) -> str:
    """Return the DOI in lower case: of the first that has one of the fields, the addresses (guid
    and link), and the text after "doi". Empty if none has.
    """
    for field in fields:
        if found := _in(field):
            return found

    for address in addresses:
        if page := _PAGE.search(unquote(address)):
            written = _PAGE_END.sub("", _AFTER.sub("", page["doi"]))
            if page["of_article"]:
                written = _NUMBER_OF_PAGE.sub("", written)
            if found := _in(written):
                return found
        if nature := _NATURE.match(address):
            return _in(f"10.1038/{nature['suffix']}")

    label = _AFTER_LABEL.search(text)
    return _in(text[label.end() : label.end() + 2 * LONGEST]) if label else ""


def _in(written: str) -> str:
    """Return the first DOI, without what follows it in a text or an address; empty if there is
    none.
    """
    found = _DOI.search(written)
    if found is None:
        return ""
    name = _AFTER.sub("", found[0])[:LONGEST].lower()
    name = name.rstrip(".,;:/")
    while name.endswith((")", "]")) and name.count("(") + name.count("[") < name.count(
        ")"
    ) + name.count("]"):
        name = name[:-1].rstrip(".,;:/")
    return _VERSION.sub(r"\1", name) if _DOI.fullmatch(name) else ""


def entry_id(doi: str, link: str, title: str, feed: str) -> str:
    """Return "journal:" and the DOI, else a hash of the PII in the link, else of the title and the
    feed's URL: links and guids may change at each fetch.
    """
    if doi:
        return f"journal:{doi}"
    pii = _PII.search(unquote(link))
    salted = re.sub(r"[-()]", "", pii[0]).upper() if pii else f"{title.casefold()}\n{feed}"
    return f"journal:{hashlib.sha256(salted.encode()).hexdigest()[:16]}"
