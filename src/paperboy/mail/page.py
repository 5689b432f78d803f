"""What a mail's templates see: a digest as words and numbers for readers. Pure.

All text here is clean (`mail.text`), with TeX turned into Unicode, and not escaped: that is the templates' part.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from urllib.parse import quote

from paperboy.curate import name_key
from paperboy.mail.text import one_line, paragraphs
from paperboy.models import Counts, Digest, Entry, Paper
from paperboy.tex import to_text


@dataclass(frozen=True, slots=True)
class Author:
    """A name in an entry."""

    name: str
    followed: bool = False


@dataclass(frozen=True, slots=True)
class Mention:
    """A paper that is only named."""

    arxiv_id: str
    url: str
    title: str


@dataclass(frozen=True, slots=True)
class Item:
    """An entry."""

    rank: int
    arxiv_id: str
    url: str
    title: str
    category: str
    date: str  # "18 Nov 2026", of its submission
    authors: tuple[Author, ...]
    author_count: int  # also where `authors` was shortened
    author_match: str  # the followed name, or empty
    comment: str
    relevance: int
    novelty: int | None
    abstract: str
    bare: bool = False  # only title and comment are to be shown


@dataclass(frozen=True, slots=True)
class Bill:
    """The rows of the model's table, each prompt, completion and total, formatted. `cost` is None where a price is
    unknown. `about` is the total in words for the masthead, empty where there is nothing to say.
    """

    tokens: tuple[str, str, str]
    cost: tuple[str, str, str] | None
    about: str


@dataclass(frozen=True, slots=True)
class Page:
    """Everything that a template may use, under the name `page`."""

    list_name: str
    title: str  # of the list
    date: str  # "Friday, 20 November 2026"
    short_date: str  # "20 Nov"
    items: tuple[Item, ...]
    counts: Counts
    model: str
    bill: Bill | None  # None: the embedded scorer, and no LLM
    topics: tuple[str, ...]  # paragraphs
    categories: tuple[str, ...]
    followed: tuple[str, ...]
    min_relevance: int
    min_novelty: int
    max_papers: int
    over_cap: tuple[Mention, ...]
    let_go: tuple[Mention, ...]
    unsubscribe_address: str
    unsubscribe_url: str
    hidden: int = 0  # items that only the plain-text part shows
    shortened: bool = False  # whether any abstract was cut
    topics_cut: bool = False


def page(digest: Digest, unsubscribe_address: str) -> Page:
    """The whole digest, nothing shortened: as the plain-text part shows it."""
    mailing_list = digest.mailing_list
    subject = quote(f"unsubscribe {mailing_list.name}")
    followed = frozenset(name_key(name) for name in mailing_list.authors)
    return Page(
        list_name=mailing_list.name,
        title=one_line(mailing_list.title),
        date=f"{digest.date:%A}, {digest.date.day} {digest.date:%B %Y}",
        short_date=f"{digest.date.day} {digest.date:%b}",
        items=tuple(_item(entry, followed) for entry in digest.entries),
        counts=digest.counts,
        model=one_line(digest.model.name),
        bill=_bill(digest) if digest.model.is_llm else None,
        topics=paragraphs(mailing_list.topics),
        categories=mailing_list.categories,
        followed=tuple(one_line(name) for name in mailing_list.authors),
        min_relevance=mailing_list.min_relevance,
        min_novelty=mailing_list.min_novelty,
        max_papers=mailing_list.max_papers,
        over_cap=tuple(_mention(entry.paper) for entry in digest.over_cap),
        let_go=tuple(_mention(paper) for paper in digest.let_go),
        unsubscribe_address=unsubscribe_address,
        unsubscribe_url=f"mailto:{quote(unsubscribe_address, safe='@')}?subject={subject}",
    )


def _item(entry: Entry, followed: frozenset[str]) -> Item:
    paper = entry.paper
    authors = tuple(Author(one_line(name), name_key(name) in followed) for name in paper.authors)
    return Item(
        rank=entry.rank,
        arxiv_id=paper.arxiv_id,
        url=_url(paper),
        title=_title(paper),
        category=one_line(paper.primary_category),
        date=_day(paper.published.date()),
        authors=authors,
        author_count=len(authors),
        author_match=one_line(entry.matched_author or ""),
        comment=one_line(to_text(entry.score.comment)),
        relevance=entry.score.relevance,
        novelty=entry.score.novelty,
        abstract=one_line(to_text(paper.abstract)),
    )


def _mention(paper: Paper) -> Mention:
    return Mention(paper.arxiv_id, _url(paper), _title(paper))


def _title(paper: Paper) -> str:
    return one_line(to_text(paper.title)) or "(no title)"


def _url(paper: Paper) -> str:
    return "https://arxiv.org/abs/" + quote(paper.arxiv_id)


def _day(day: date) -> str:
    return f"{day.day} {day:%b %Y}"


def _bill(digest: Digest) -> Bill:
    usage, cost = digest.spending.usage, digest.spending.cost
    tokens = (usage.prompt_tokens, usage.completion_tokens, usage.total_tokens)
    return Bill(
        tokens=(f"{tokens[0]:,}", f"{tokens[1]:,}", f"{tokens[2]:,}"),
        cost=None if cost is None else (money(cost.prompt), money(cost.completion), money(cost.total)),
        about="" if cost is None or cost.total <= 0 else _about(cost.total),
    )


def money(dollars: float) -> str:
    """Dollars as a reader expects them: cents, and more digits only where there are no cents to see."""
    if dollars == 0 or dollars >= 0.1:
        return f"${dollars:,.2f}"
    return f"${dollars:.4f}" if dollars >= 0.0001 else "under $0.0001"


def _about(dollars: float) -> str:
    return f"about ${dollars:,.2f}" if dollars >= 0.01 else "less than a cent"
