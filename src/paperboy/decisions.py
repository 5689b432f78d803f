"""Why a paper is in a digest or not, paper by paper, for a log that explains everything. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from paperboy.curate import Curation
from paperboy.models import MailingList, Paper, Score


def explained(
    mailing_list: MailingList,
    curation: Curation,
    scores: Mapping[str, Score],
    unscored: Mapping[str, str],
    problem: str,
) -> Iterator[str]:
    """A line for each considered paper. `unscored` says of some why they have no score, `problem` of all others."""
    for entry in curation.entries:
        marks = _marks(mailing_list, entry.score)
        if entry.matched_author is not None:
            yield f"{entry.paper.arxiv_id}: rank {entry.rank}, author match {entry.matched_author} ({marks})"
        else:
            yield f"{entry.paper.arxiv_id}: rank {entry.rank}, selected ({marks})"
    for entry in curation.over_cap:
        cap = f"over the cap of {mailing_list.max_papers}"
        yield f"{entry.paper.arxiv_id}: rank {entry.rank}, {cap} ({_marks(mailing_list, entry.score)})"
    for paper in curation.below:
        yield f"{paper.arxiv_id}: below ({_marks(mailing_list, scores[paper.arxiv_id])})"
    yield from _without(curation.carried_over, "carried over", unscored, problem)
    yield from _without(curation.let_go, "let go", unscored, problem)


def _without(papers: Iterable[Paper], fate: str, unscored: Mapping[str, str], problem: str) -> Iterator[str]:
    for paper in papers:
        why = unscored.get(paper.arxiv_id) or problem or "it was not asked for"
        yield f"{paper.arxiv_id}: {fate}, no score ({why})"


def _marks(mailing_list: MailingList, score: Score) -> str:
    relevance = f"relevance {score.relevance} of {mailing_list.min_relevance} needed"
    if score.novelty is None:
        return f"{relevance}, novelty not judged"
    return f"{relevance}, novelty {score.novelty} of {mailing_list.min_novelty} needed"
