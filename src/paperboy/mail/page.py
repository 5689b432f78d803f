"""What a mail's templates see: a digest as text and numbers for readers. Pure.

All text here is clean (`mail.text`), with TeX turned into Unicode, and not escaped: escaping is the templates' part.
`emails/README.md` explains each name to the people who edit the templates.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import date, timedelta
from typing import Any, NamedTuple
from urllib.parse import quote

from paperboy.curate import name_key
from paperboy.foreign import one_line
from paperboy.mail.text import Prose, clipped, counted, prose, unlinked
from paperboy.mail.topics import Block, blocks
from paperboy.models import Counts, Digest, Entry, MailingList, Paper, Shortfall, Spending

_PREHEADER = 130  # characters; no client shows more before it shows the mail itself


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
    title: Prose


@dataclass(frozen=True, slots=True)
class Item:
    """An entry."""

    rank: int
    arxiv_id: str
    url: str
    pdf_url: str
    html_url: str  # empty for papers from before December 2023, when arXiv began to make HTML
    title: Prose
    category: str
    date: str  # "18 Nov 2026", of its submission
    authors: tuple[Author, ...]
    author_count: int  # also where `authors` was shortened
    author_match: str  # the followed name, or empty
    comment: Prose
    relevance: int | None  # None: an author match that nobody could score
    novelty: int | None
    abstract: Prose
    bare: bool = False  # only title and comment are to be shown


class Copy(NamedTuple):
    """What differs from copy to copy: a recipient's own values, or the placeholders of the bytes that all share."""

    kicker: str  # the first word of the mail: "Paperboy", or that this is a test
    reason: str  # one or two sentences: why this person gets the mail
    token: str  # what an unsubscribe mail carries


@dataclass(frozen=True, slots=True)
class Page:
    """Everything that a template may use, under the name `page`: these, and the list's options by their names."""

    mailing_list: MailingList  # without its subscribers
    copy: Copy
    title: str  # of the list
    date: str  # "Friday, 20 November 2026"
    subject: str
    preheader: str
    items: tuple[Item, ...]
    counts: Counts
    model: str  # empty: nobody scored, for the list has no topics
    spending: Spending | None  # None: no LLM
    shortfall: Shortfall | None
    topics: tuple[Block, ...]
    followed: tuple[str, ...]
    over_cap: tuple[Mention, ...]
    carried_over: tuple[Mention, ...]
    let_go: tuple[Mention, ...]
    unsubscribe_address: str
    unsubscribe_subject: str
    unsubscribe_url: str
    hidden: int = 0  # items that only the plain-text part shows
    shortened: bool = False  # whether any abstract was cut
    without_abstract: int = 0  # items whose abstract only the plain-text part shows
    topics_cut: bool = False
    looked_from: str = ""  # "23 October 2026": papers submitted before were not looked at. Empty: all were

    def __getattr__(self, name: str) -> Any:
        """`page.max_papers` is the list's: an option that a mail shows is named in the template alone."""
        return getattr(self.mailing_list, name)


def page(digest: Digest, *, copy: Copy, unsubscribe_address: str) -> Page:
    """Everything of a digest, nothing shortened, as the plain-text part shows it."""
    mailing_list = digest.mailing_list
    followed = frozenset(name_key(name) for name in mailing_list.authors)
    items = tuple(_item(entry, followed) for entry in digest.entries)
    title = one_line(mailing_list.title)
    oldest = digest.date - timedelta(digest.only_days)
    subject, in_subject = _subject(title, digest.date, items, digest.counts)
    return Page(
        mailing_list=replace(mailing_list, subscribers=()),
        copy=copy,
        title=title,
        date=f"{digest.date:%A}, {digest.date.day} {digest.date:%B %Y}",
        subject=subject,
        preheader=_preheader(items[in_subject:] or items, digest.counts),
        items=items,
        counts=digest.counts,
        model=one_line(digest.model.name) if mailing_list.topics else "",
        spending=digest.spending if digest.model.is_llm and mailing_list.topics else None,
        shortfall=digest.shortfall,
        looked_from=f"{oldest.day} {oldest:%B %Y}" if digest.only_days else "",
        topics=blocks(mailing_list.topics),
        followed=tuple(one_line(name) for name in mailing_list.authors),
        over_cap=tuple(_mention(entry.paper) for entry in digest.over_cap),
        carried_over=tuple(_mention(paper) for paper in digest.carried_over),
        let_go=tuple(_mention(paper) for paper in digest.let_go),
        unsubscribe_address=unsubscribe_address,
        unsubscribe_subject=unsubscribe_subject(mailing_list.name, copy.token),
        unsubscribe_url=unsubscribe_uri(unsubscribe_address, mailing_list.name, copy.token),
    )


# --- subject and preheader

_TITLE = 100  # characters of a list's in a subject
SUBJECT_WIDTH = 70  # characters, within which the top paper's title may still join
_CLAUSE = re.compile(r"(?<=\S{3})(?=: | [-–—] |(?<=[?!]) )")  # dashes of titles


def _subject(title: str, day: date, items: Sequence[Item], counts: Counts) -> tuple[str, int]:
    """The list, the day, how many, and the top paper if it fits, whole or up to its colon; and how many it names."""
    start = f"{clipped(title, _TITLE)}, {_short(day)}:"
    if not items:
        is_whole = counts.scored == counts.unfiltered  # else it claims no more than was scanned
        return f"{start} {'no relevant papers today' if is_whole else _none_passed(counts)}", 0
    start += f" {counted(len(items), 'paper')}"
    top = str(items[0].title)
    room = SUBJECT_WIDTH - len(start) - len(" · ")
    clauses = (match.start() for match in _CLAUSE.finditer(top, 0, room + 3) if " " in top[: match.start()])
    end = max((end for end in (len(top), *clauses) if end <= room), default=0)
    return (f"{start} · {top[:end]}", 1) if end else (start, 0)


def _none_passed(counts: Counts) -> str:
    if not counts.scored:
        return f"none of {counted(counts.considered, 'new paper')} is for this list"
    if counts.scored == 1:
        return "the one scanned paper did not pass"
    return f"none of {counted(counts.scored, 'scanned paper')} passed"


def _preheader(items: Sequence[Item], counts: Counts) -> str:
    """What an inbox shows after the subject: the titles that the subject does not."""
    if not items:
        if left := counts.unfiltered - counts.scored:
            return f"{left:,} of {counted(counts.considered, 'new paper')} not scored."
        return f"{_none_passed(counts).capitalize()}."
    return clipped(" · ".join(str(item.title) for item in items[:5]), _PREHEADER)


# --- entries


def _item(entry: Entry, followed: frozenset[str]) -> Item:
    paper, score = entry.paper, entry.score
    authors = tuple(Author(one_line(name), name_key(name) in followed) for name in paper.authors)
    return Item(
        rank=entry.rank,
        arxiv_id=paper.arxiv_id,
        url=_url("abs", paper),
        pdf_url=_url("pdf", paper),
        html_url=_url("html", paper) if "2312" <= paper.arxiv_id[:4] <= "9999" else "",
        title=_title(paper),
        category=one_line(paper.primary_category),
        date=f"{_short(paper.published.date())} {paper.published:%Y}",
        authors=authors,
        author_count=len(authors),
        author_match=one_line(entry.matched_author or ""),
        comment=unlinked(prose(_without_markdown(score.comment if score else ""))),
        relevance=score.relevance if score else None,
        novelty=score.novelty if score else None,
        abstract=prose(paper.abstract),
    )


def _mention(paper: Paper) -> Mention:
    return Mention(paper.arxiv_id, _url("abs", paper), _title(paper))


def _title(paper: Paper) -> Prose:
    return prose(paper.title) or prose("(no title)")


def _url(form: str, paper: Paper) -> str:
    return f"https://arxiv.org/{form}/{quote(paper.arxiv_id)}"


def _without_markdown(comment: str) -> str:
    """The words of a comment, in which models like to use bold type, code marks and bullets."""
    plain = re.sub(r"(?m)^\s*(?:#{1,6}|[-*+]|\d+\.)\s+", "", comment)
    plain = re.sub(r"`+([^`]+)`+", r"\1", plain)
    return re.sub(r"\*\*(?=\S)(.+?)(?<=\S)\*\*", r"\1", plain)


def _short(day: date) -> str:
    return f"{day.day} {day:%b}"


# --- links


def unsubscribe_subject(list_name: str, token: str) -> str:
    """The subject of a mail that asks to leave a list."""
    return f"unsubscribe {list_name} {token}"


def unsubscribe_uri(address: str, list_name: str, token: str) -> str:
    """A link to that mail, to a bare address with a domain in ASCII."""
    local, _, domain = address.rpartition("@")
    return f"mailto:{quote(local)}@{domain}?subject={quote(unsubscribe_subject(list_name, token))}"
