"""Digests as stored for the site: everything a page needs except the papers' text. Pure.

dump          a digest → JSON, with the papers by their ids
load          that JSON and the papers → the digest, to be rendered again
shown_papers  that JSON → only the ids, ranks and scores of its papers
"""

import json
from collections.abc import Callable, Collection, Mapping
from dataclasses import asdict, astuple
from datetime import date
from typing import Any, NamedTuple
from zoneinfo import ZoneInfo

from paperboy.models import (
    BriefSentence,
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

_ENTRIES = ("entries", "over_cap", "nearest")
_PAPERS = ("carried_over", "let_go")
_OPTIONS = (  # of the list, that a page may show
    "name", "title", "categories", "topics", "language", "authors", "min_relevance", "min_novelty", "max_papers",
    "cross_lists", "exclude", "description", "library_size",
)  # fmt: skip


def dump(digest: Digest) -> bytes:
    """Return the digest as JSON, without its papers' text and without private options such as
    subscribers and webhooks.
    """
    mailing_list = digest.mailing_list
    options = {name: getattr(mailing_list, name) for name in _OPTIONS}
    options["timezone"] = mailing_list.timezone.key
    options["keywords"] = asdict(mailing_list.keywords)
    kept: dict[str, Any] = {
        "list": options,
        "date": digest.date.isoformat(),
        "model": asdict(digest.model),
        "spending": asdict(digest.spending),
        "shortfall": digest.shortfall,
        "only_days": digest.only_days,
        "counts": asdict(digest.counts),
        "brief": digest.brief,
    }
    for kind in _ENTRIES:
        kept[kind] = [
            [
                entry.rank,
                entry.paper.id,
                entry.score and astuple(entry.score),
                entry.matched_authors,
            ]
            for entry in getattr(digest, kind)
        ]

    for kind in _PAPERS:
        kept[kind] = [paper.id for paper in getattr(digest, kind)]
    return json.dumps(kept, ensure_ascii=False, separators=(",", ":")).encode()


def load(dumped: bytes, by_id: Callable[[Collection[str]], Mapping[str, Paper]]) -> Digest:
    """Return the digest. Papers that `by_id` no longer finds are left out. Raises ValueError,
    KeyError or TypeError if the data is corrupt.
    """
    kept = json.loads(dumped)
    ids = [entry[1] for kind in _ENTRIES for entry in kept[kind]]
    for kind in _PAPERS:
        ids += kept[kind]
    papers = by_id(ids)

    options: dict[str, Any] = {
        name: tuple(value) if isinstance(value, list) else value
        for name, value in kept["list"].items()
    }
    options["timezone"] = ZoneInfo(options["timezone"])
    options["keywords"] = Keywords(*map(tuple, options["keywords"].values()))

    parts: dict[str, Any] = {}
    for kind in _ENTRIES:
        parts[kind] = tuple(
            # Digests of 1.0 have one followed author or null, and scores without a topic.
            Entry(rank, papers[paper_id], score and Score(*score), _names(matched))
            for rank, paper_id, score, matched in kept[kind]
            if paper_id in papers
        )

    for kind in _PAPERS:
        parts[kind] = tuple(papers[paper_id] for paper_id in kept[kind] if paper_id in papers)

    usage = Usage(**kept["spending"]["usage"])
    cost = kept["spending"]["cost"]
    return Digest(
        mailing_list=MailingList(**options),
        date=date.fromisoformat(kept["date"]),
        model=Model(**kept["model"]),
        spending=Spending(usage, cost and Cost(**cost)),
        shortfall=kept["shortfall"] and Shortfall(kept["shortfall"]),
        only_days=kept["only_days"],
        counts=Counts(**kept["counts"]),
        brief=tuple(
            BriefSentence(text, *map(tuple, more)) for text, *more in kept.get("brief", ())
        ),
        **parts,
    )


class ShownPaper(NamedTuple):
    """Paper of a digest, without its text."""

    paper_id: str
    rank: int
    score: Score | None


def shown_papers(dumped: bytes) -> list[ShownPaper]:
    """Return a digest's papers, including those over its cap, best scores first. Raises as
    `load` does.
    """
    kept = json.loads(dumped)
    papers = [
        ShownPaper(str(paper_id), int(rank), score and Score(*score))
        for kind in ("entries", "over_cap")
        for rank, paper_id, score, _ in kept[kind]
    ]
    return sorted(papers, key=_best_first)


def _best_first(paper: ShownPaper) -> int:
    return -(paper.score.relevance + (paper.score.novelty or 0)) if paper.score else 0


def _names(matched: str | list[str] | None) -> tuple[str, ...]:
    return (matched,) if isinstance(matched, str) else tuple(matched or ())
