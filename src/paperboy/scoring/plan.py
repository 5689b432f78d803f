"""Which papers are asked for together, for which list, and in what order. Pure.

What many requests say comes first in them, so that a prompt cache can hold it. For a list alone that is its topics;
where several lists want the same papers, it is the papers, a batch at a time: one list asks first, and the others when
it has been answered.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import zip_longest

from paperboy.models import MailingList, Paper, ToScore


@dataclass(frozen=True, slots=True)
class Batch:
    """Papers that are asked for together, for one list."""

    mailing_list: MailingList
    papers: tuple[Paper, ...]
    prefix: str  # names what it shares with others; the same prefix, the same first words
    papers_first: bool = False  # it shares its papers; else, at most, its topics
    leads: bool = True  # may be asked for at once; others wait until the first of their prefix is answered
    shares: bool = False  # others with its prefix come after it, or came before
    asks: int = 0  # how often the papers were asked for before

    def again(self, papers: tuple[Paper, ...], *, asks: int) -> Batch:
        """Some of its papers, in a request that shares no more than the list's topics."""
        shares = self.shares and not self.papers_first
        return Batch(self.mailing_list, papers, _own(self.mailing_list), shares=shares, asks=asks)


def plan(jobs: Sequence[ToScore], size: int, *, warm_up: bool, ahead: int = 8) -> list[Batch]:
    """The batches of all jobs, in the order in which they should be asked for.

    `size` is the most papers in a batch. With `warm_up` a list's own batches wait for the first of them, too. `ahead`
    is by how many batches the list that asks first is in front of the others: enough to keep all calls busy, and not so
    many that a budget would end before the others' turn.
    """
    wanted = [list({paper.arxiv_id: paper for paper in job.papers}.values()) for job in jobs]
    together, alone = _split(wanted, size)
    leaders: list[Batch] = []
    followers: list[list[Batch]] = []
    for number, (sharers, papers) in enumerate(together):
        first, *others = (
            Batch(
                jobs[sharer].mailing_list, papers, f"papers {number}", papers_first=True, leads=not place, shares=True
            )
            for place, sharer in enumerate(sharers)
        )
        leaders.append(first)
        followers.append(others)
    own: list[Batch] = []
    own_followers: list[Batch] = []
    for job, papers_alone in zip(jobs, alone, strict=True):
        parts = list(even_parts(papers_alone, size))
        for place, part in enumerate(parts):
            leads = place == 0 or not warm_up
            batch = Batch(job.mailing_list, part, _own(job.mailing_list), leads=leads, shares=len(parts) > 1)
            (own if leads else own_followers).append(batch)
    rounds = zip_longest(followers, leaders[ahead:], fillvalue=None)
    staggered = [batch for others, leader in rounds for batch in (*(others or ()), *([leader] if leader else ()))]
    return [*leaders[:ahead], *own, *staggered, *own_followers]


def even_parts(papers: Sequence[Paper], size: int) -> Iterator[tuple[Paper, ...]]:
    """The papers in order, in as few parts as `size` allows, and those of nearly the same length."""
    number = -(-len(papers) // size)
    for part in range(number):
        yield tuple(papers[part * len(papers) // number : (part + 1) * len(papers) // number])


def _own(mailing_list: MailingList) -> str:
    return f"list {mailing_list.name}"


def _split(
    wanted: Sequence[Sequence[Paper]], size: int
) -> tuple[list[tuple[tuple[int, ...], tuple[Paper, ...]]], list[list[Paper]]]:
    """Batches of papers with the jobs that share them, and what each job asks for alone.

    Too few papers to fill half a batch are not shared: the topics, said again behind them, would cost more.
    """
    sharers: dict[str, tuple[int, ...]] = {}
    for job, papers in enumerate(wanted):
        for paper in papers:
            sharers[paper.arxiv_id] = (*sharers.get(paper.arxiv_id, ()), job)
    groups: dict[tuple[int, ...], dict[str, Paper]] = {}
    for papers in wanted:
        for paper in papers:
            groups.setdefault(sharers[paper.arxiv_id], {})[paper.arxiv_id] = paper
    shared = {jobs: papers for jobs, papers in groups.items() if len(jobs) > 1 and 2 * len(papers) >= size}
    together = [(jobs, part) for jobs, papers in shared.items() for part in even_parts(list(papers.values()), size)]
    alone = [[paper for paper in papers if sharers[paper.arxiv_id] not in shared] for papers in wanted]
    return together, alone
