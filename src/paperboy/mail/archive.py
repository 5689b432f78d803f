"""A digest as the web room keeps it: all that its page is made of, but for the papers' own text.
Pure.

dump   a digest → JSON, with the papers by their ids
load   that JSON and the papers → the digest, to be rendered anew
"""

import json
from collections.abc import Callable, Collection, Mapping
from dataclasses import asdict, astuple
from datetime import date
from typing import Any
from zoneinfo import ZoneInfo

from paperboy.models import (
    Cost,
    Counts,
    Digest,
    Entry,
    Keywords,
    MailingList,
    Model,
    Paper,
    Score,
    Shortfall,
    Spending,
    Usage,
)

_ENTRIES, _PAPERS = ("entries", "over_cap", "nearest"), ("carried_over", "let_go")
_OPTIONS = (  # of the list: what a page may show
    "name", "title", "categories", "topics", "language", "authors", "min_relevance", "min_novelty", "max_papers",
    "cross_lists", "exclude",
)  # fmt: skip


def dump(digest: Digest) -> bytes:
    """The digest without its papers' text, and without what is nobody's business: readers,
    webhooks.
    """
    of = digest.mailing_list
    whole: dict[str, Any] = {
        "list": {name: getattr(of, name) for name in _OPTIONS}
        | {"timezone": of.timezone.key, "keywords": asdict(of.keywords)},
        "date": digest.date.isoformat(),
        "model": asdict(digest.model),
        "spending": asdict(digest.spending),
        "shortfall": digest.shortfall,
        "only_days": digest.only_days,
        "counts": asdict(digest.counts),
    }
    for kind in _ENTRIES:
        whole[kind] = [
            [entry.rank, entry.paper.id, entry.score and astuple(entry.score), entry.matched_author]
            for entry in getattr(digest, kind)
        ]
    for kind in _PAPERS:
        whole[kind] = [paper.id for paper in getattr(digest, kind)]
    return json.dumps(whole, ensure_ascii=False, separators=(",", ":")).encode()


def load(dumped: bytes, by_id: Callable[[Collection[str]], Mapping[str, Paper]]) -> Digest:
    """The digest, without papers that are kept no longer: `by_id` gives those that are. ValueError,
    KeyError or TypeError for what is spoilt.
    """
    whole = json.loads(dumped)
    entered = [entry[1] for kind in _ENTRIES for entry in whole[kind]]
    papers = by_id([*entered, *(paper_id for kind in _PAPERS for paper_id in whole[kind])])

    keys: dict[str, Any] = {
        key: tuple(value) if isinstance(value, list) else value
        for key, value in whole["list"].items()
    }
    keys["timezone"] = ZoneInfo(keys["timezone"])
    keys["keywords"] = Keywords(*map(tuple, keys["keywords"].values()))

    found: dict[str, Any] = {}
    for kind in _ENTRIES:
        found[kind] = tuple(
            Entry(rank, papers[paper_id], score and Score(*score), matched)
            for rank, paper_id, score, matched in whole[kind]
            if paper_id in papers
        )
    for kind in _PAPERS:
        found[kind] = tuple(papers[each] for each in whole[kind] if each in papers)

    spending, cost = whole["spending"], whole["spending"]["cost"]
    return Digest(
        mailing_list=MailingList(**keys),
        date=date.fromisoformat(whole["date"]),
        model=Model(**whole["model"]),
        spending=Spending(Usage(**spending["usage"]), cost and Cost(**cost)),
        shortfall=whole["shortfall"] and Shortfall(whole["shortfall"]),
        only_days=whole["only_days"],
        counts=Counts(**whole["counts"]),
        **found,
    )
