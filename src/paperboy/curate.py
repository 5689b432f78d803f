"""The functional core: which papers a list gets, in what order, how the counts add up, and a day's outcome.

Everything here is a pure function of its arguments: no I/O, no clock.
"""

import unicodedata
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime

from paperboy.models import Became, Counts, Digest, Entry, MailingList, Outcome, Paper, Score

# Letters that Unicode does not take apart into a base and an accent.
_PLAIN_LETTERS = str.maketrans(
    {"ø": "o", "ł": "l", "đ": "d", "ð": "d", "þ": "th", "æ": "ae", "œ": "oe", "ı": "i", "’": "'", "‐": "-", "‑": "-"}
)


def name_key(name: str) -> str:
    """The form in which two spellings of one name are equal: without case, accents and stray white space.

    Initials are not expanded: "Y. Bengio" stays another key than "Yoshua Bengio".
    """
    parts = unicodedata.normalize("NFKD", name.casefold().translate(_PLAIN_LETTERS))
    bare = "".join(char for char in parts if not unicodedata.combining(char))
    return " ".join(bare.split())


def matched_author(paper: Paper, followed: Iterable[str]) -> str | None:
    """The first followed name, as the list spells it, that is among the paper's authors."""
    authors = {name_key(author) for author in paper.authors}
    return next((name for name in followed if name_key(name) in authors), None)


def ways_in(mailing_list: MailingList) -> frozenset[str]:
    """How a paper can come to the list: by its primary category, or by one that it is cross-listed in."""
    crossed = mailing_list.categories if mailing_list.cross_lists else ()
    return frozenset([*mailing_list.categories, *(f"cross-list {category}" for category in crossed)])


def before_start(
    mailing_list: MailingList, papers: Sequence[Paper], started: Collection[str], start: datetime
) -> frozenset[str]:
    """The ids of papers too old for a list, or a way into it, that starts today.

    `started` holds the ways by which papers have come to the list before; `start` is when submission to the newest
    batch began. A paper is too old when it came before that and only a new way brings it.
    """
    open_ways = ways_in(mailing_list) & set(started)
    ways_of = {each: {each.primary_category, *(f"cross-list {name}" for name in each.categories)} for each in papers}
    return frozenset(each.arxiv_id for each in papers if each.published < start and not ways_of[each] & open_ways)


MOST_MORNINGS = 3  # without a score while others get one; then a paper is let go


def curate(digest: Digest, papers: Sequence[Paper], scores: Mapping[str, Score], tries: Mapping[str, int]) -> Digest:
    """Chooses and orders: followed authors first, by id; then what passes both thresholds, best first, up to the cap.

    `papers` are the considered ones, each once; `scores` is by arXiv id. A paper without one is carried over; or let
    go, where `tries` says that this is the third morning on which others got scores and it could not.
    """
    mailing_list = digest.mailing_list
    scored = [
        Entry(0, paper, scores[paper.arxiv_id], matched_author(paper, mailing_list.authors))
        for paper in papers
        if paper.arxiv_id in scores
    ]
    matches = sorted((each for each in scored if each.matched_author), key=lambda each: each.paper.arxiv_id)
    others = (each for each in scored if not each.matched_author)
    passed = sorted((each for each in others if passes(mailing_list, each.score)), key=_best_first)
    ranked = tuple(replace(each, rank=rank) for rank, each in enumerate([*matches, *passed], start=1))
    in_digest = len(matches) + mailing_list.max_papers
    entries, over_cap = ranked[:in_digest], ranked[in_digest:]
    unscored = [paper for paper in papers if paper.arxiv_id not in scores]
    let_go = tuple(paper for paper in unscored if scores and tries.get(paper.arxiv_id, 0) >= MOST_MORNINGS)
    carried = tuple(paper for paper in unscored if paper not in let_go)
    became = {each.paper.arxiv_id: Became.BELOW for each in scored}
    became |= {each.paper.arxiv_id: Became.SELECTED for each in entries}
    became |= {each.paper.arxiv_id: Became.AUTHOR_MATCH for each in matches}
    became |= {each.paper.arxiv_id: Became.OVER_CAP for each in over_cap}
    became |= {paper.arxiv_id: Became.LET_GO for paper in let_go}
    counts = Counts(
        considered=len(papers),
        carried_over=len(carried),
        let_go=len(let_go),
        author_matches=len(matches),
        selected=len(entries) - len(matches),
        over_cap=len(over_cap),
        below=len(scored) - len(ranked),
    )
    return replace(
        digest, entries=entries, over_cap=over_cap, carried_over=carried, let_go=let_go, became=became, counts=counts
    )


def outcome_of(counts: Counts, missing: str, *, leftover: bool, waits: bool, answered: bool) -> Outcome | None:
    """The day's outcome; None: the list stays due.

    `missing`: why arXiv's papers are missing; `leftover`: all papers, if any, failed before on a morning when others
    were scored, and fail again; `waits`: the list may be retried today. If arXiv `answered` and had nothing, the day
    is quiet: a holiday that the calendar does not know.
    """
    if counts.scored:
        return Outcome.DIGEST if counts.relevant else Outcome.NOTE
    if leftover and not missing:
        return Outcome.QUIET
    if waits:
        return None
    return Outcome.QUIET if leftover and answered else Outcome.GAVE_UP


def passes(mailing_list: MailingList, score: Score) -> bool:
    """Whether a score reaches both thresholds. A novelty that nobody judged holds nothing back."""
    novel = score.novelty is None or score.novelty >= mailing_list.min_novelty
    return novel and score.relevance >= mailing_list.min_relevance


def _best_first(entry: Entry) -> tuple[int, int, str]:
    score = entry.score
    return (-(score.relevance + (score.novelty or 0)), -score.relevance, entry.paper.arxiv_id)
