"""The paths of its pages."""

from werkzeug.routing import Rule

from paperboy.features.archive import feed, listing, reading

_DIGEST = "/digest/<string(length=32):link>"
_LIST = "/list/<string(maxlength=64):name>"
_PAGES = {
    "/": listing.front,
    _LIST: listing.past,
    f"{_LIST}/search": listing.search,
    f"{_LIST}/feed.atom": feed.atom,
    f"{_LIST}/<day:day>": reading.page,
    f"{_LIST}/<day:day>.bib": reading.bib,
    _DIGEST: reading.page,
    f"{_DIGEST}.bib": reading.bib,
}


def rules() -> list[Rule]:
    """Return new ones, each for one map."""
    return [Rule(path, endpoint=page) for path, page in _PAGES.items()]
