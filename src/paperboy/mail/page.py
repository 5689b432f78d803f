"""What a mail's templates see: a digest as words and numbers for readers. Pure.

All text here is clean (`mail.text`), with TeX turned into Unicode, and not escaped: that is the templates' part. What
each name means to somebody who edits the templates stands in `emails/README.md`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import date
from typing import Any
from urllib.parse import quote

from markupsafe import escape

from paperboy.curate import name_key
from paperboy.mail.text import Prose, clipped, one_line, prose, wrap
from paperboy.mail.topics import Block, blocks
from paperboy.models import Counts, Digest, Entry, MailingList, Paper, Shortfall, Spending, Usage

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
    html_url: str  # empty for papers from before arXiv had HTML
    title: Prose
    category: str
    date: str  # "18 Nov 2026", of its submission
    authors: tuple[Author, ...]
    author_count: int  # also where `authors` was shortened
    author_match: str  # the followed name, or empty
    comment: Prose
    relevance: int
    novelty: int | None
    abstract: Prose
    bare: bool = False  # only title and comment are to be shown


@dataclass(frozen=True, slots=True)
class Line:
    """A line of the table of contents."""

    rank: int
    title: str
    url: str


@dataclass(frozen=True, slots=True)
class Figure:
    """A row of the counts. The rows of one depth add up to the last row above them that is less deep."""

    label: str
    number: str
    depth: int


@dataclass(frozen=True, slots=True)
class Bill:
    """The rows of the model's table, each prompt, completion and total, formatted. `tokens` is None where the server
    counts none, `cost` where a price is unknown.
    """

    tokens: tuple[str, str, str] | None
    cost: tuple[str, str, str] | None
    details: str  # how many calls, and what the tokens were
    about: str  # the total in words for the masthead, empty where there is nothing to say


@dataclass(frozen=True, slots=True)
class Copy:
    """What differs from copy to copy: a recipient's own values, or the placeholders of the bytes that all share."""

    kicker: str  # the first word of the mail: "Paperboy", or that this is a test
    reason: str  # one or two sentences: why this person gets the mail
    token: str  # what an unsubscribe mail carries

    @property
    def values(self) -> tuple[str, str, str]:
        return self.kicker, self.reason, self.token

    def as_text(self) -> Copy:
        """As it stands in a plain-text part, where the reason has lines of its own."""
        return replace(self, reason=wrap(self.reason))

    def as_html(self) -> Copy:
        """As it stands in an HTML part: escaped as the templates escape."""
        return Copy(*(str(escape(value)) for value in self.values))


@dataclass(frozen=True, slots=True)
class Page:
    """Everything that a template may use, under the name `page`: these, and the list's options by their names."""

    mailing_list: MailingList  # without its subscribers
    copy: Copy
    list_name: str
    title: str  # of the list
    date: str  # "Friday, 20 November 2026"
    short_date: str  # "20 Nov"
    subject: str
    preheader: str
    contents: tuple[Line, ...]
    contents_left: int  # papers that are shown and stand in no line of it
    items: tuple[Item, ...]
    counts: Counts
    figures: tuple[Figure, ...]
    model: str
    bill: Bill | None  # None: the embedded scorer, and no LLM
    topics: tuple[Block, ...]
    followed: tuple[str, ...]
    over_cap: tuple[Mention, ...]
    carried_over: tuple[Mention, ...]
    carried_over_because: str  # a clause to follow "because"; empty where no paper was carried over
    let_go: tuple[Mention, ...]
    unsubscribe_address: str
    unsubscribe_subject: str
    unsubscribe_url: str
    hidden: int = 0  # items that only the plain-text part shows
    shortened: bool = False  # whether any abstract was cut
    without_abstract: int = 0  # items whose abstract only the plain-text part shows
    topics_cut: bool = False

    def __getattr__(self, name: str) -> Any:
        """`page.max_papers` is the list's: an option that a mail shows is named in the template alone."""
        return getattr(self.mailing_list, name)


def page(digest: Digest, *, copy: Copy, unsubscribe_address: str) -> Page:
    """The whole digest, nothing shortened: as the plain-text part shows it."""
    mailing_list = digest.mailing_list
    followed = frozenset(name_key(name) for name in mailing_list.authors)
    items = tuple(_item(entry, followed) for entry in digest.entries)
    title = one_line(mailing_list.title)
    subject, in_subject = _subject(title, digest.date, items, digest.counts)
    return Page(
        mailing_list=replace(mailing_list, subscribers=()),
        copy=copy,
        list_name=mailing_list.name,
        title=title,
        date=f"{digest.date:%A}, {digest.date.day} {digest.date:%B %Y}",
        short_date=_short(digest.date),
        subject=subject,
        preheader=_preheader(items[in_subject:] or items, digest.counts),
        contents=tuple(Line(item.rank, str(item.title), item.url) for item in items) if len(items) > 1 else (),
        contents_left=0,
        items=items,
        counts=digest.counts,
        figures=tuple(_figures(digest.counts, mailing_list.max_papers)),
        model=one_line(digest.model.name),
        bill=bill(digest.spending) if digest.model.is_llm else None,
        topics=blocks(mailing_list.topics),
        followed=tuple(one_line(name) for name in mailing_list.authors),
        over_cap=tuple(_mention(entry.paper) for entry in digest.over_cap),
        carried_over=tuple(_mention(paper) for paper in digest.carried_over),
        carried_over_because=_BECAUSE[digest.shortfall] if digest.counts.carried_over else "",
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
    """The list, the day, how many, and the top paper if it fits, whole or up to its colon; with the number of papers
    that it names.
    """
    title = clipped(title, _TITLE)
    if not items:
        return f"{title}, {_short(day)}: {_none_relevant(counts)}", 0
    short = f"{title}, {_short(day)}: {counted(len(items), 'paper')}"
    top = str(items[0].title)
    room = SUBJECT_WIDTH - len(short) - len(" · ")
    if len(top) <= room:
        return f"{short} · {top}", 1
    heads = [
        top[: match.start()]
        for match in _CLAUSE.finditer(top, 0, max(room, 0) + 3)
        if match.start() <= room and " " in top[: match.start()]
    ]
    return (f"{short} · {heads[-1]}", 1) if heads else (short, 0)


def _none_relevant(counts: Counts) -> str:
    """Of a morning that was not scored whole, no more than was scanned."""
    if counts.scored == counts.considered:
        return "no relevant papers today"
    return _none_passed(counts)


def _none_passed(counts: Counts) -> str:
    if counts.scored == 1:
        return "the one scanned paper did not pass"
    return f"none of {counted(counts.scored, 'scanned paper')} passed"


def _preheader(items: Sequence[Item], counts: Counts) -> str:
    """What an inbox shows behind the subject: the titles that the subject does not."""
    if not items:
        left = counts.considered - counts.scored
        if left:
            return f"{left:,} of {counted(counts.considered, 'new paper')} not scored."
        return f"{_none_passed(counts).capitalize()}."
    return clipped(" · ".join(str(item.title) for item in items[:5]), _PREHEADER)


# --- entries


def _item(entry: Entry, followed: frozenset[str]) -> Item:
    paper = entry.paper
    authors = tuple(Author(one_line(name), name_key(name) in followed) for name in paper.authors)
    return Item(
        rank=entry.rank,
        arxiv_id=paper.arxiv_id,
        url=_url("abs", paper),
        pdf_url=_url("pdf", paper),
        html_url=_url("html", paper) if _has_html(paper.arxiv_id) else "",
        title=_title(paper),
        category=one_line(paper.primary_category),
        date=f"{_short(paper.published.date())} {paper.published:%Y}",
        authors=authors,
        author_count=len(authors),
        author_match=one_line(entry.matched_author or ""),
        comment=prose(_without_markdown(entry.score.comment)),
        relevance=entry.score.relevance,
        novelty=entry.score.novelty,
        abstract=prose(paper.abstract),
    )


def _mention(paper: Paper) -> Mention:
    return Mention(paper.arxiv_id, _url("abs", paper), _title(paper))


def _title(paper: Paper) -> Prose:
    return prose(paper.title) or prose("(no title)")


def _url(form: str, paper: Paper) -> str:
    return f"https://arxiv.org/{form}/{quote(paper.arxiv_id)}"


def _has_html(arxiv_id: str) -> bool:
    """Whether it is new enough: arXiv makes HTML of what came from December 2023 on."""
    return bool(re.match(r"\d{4}\.", arxiv_id)) and arxiv_id[:4] >= "2312"


def _without_markdown(comment: str) -> str:
    """The words of a comment, in which models like to use bold type, code marks and bullets."""
    plain = re.sub(r"(?m)^\s*(?:#{1,6}|[-*+]|\d+\.)\s+", "", comment)
    return re.sub(r"`+([^`]+)`+|\*\*(?=\S)(.+?)(?<=\S)\*\*", _bare, plain)


def _bare(marked: re.Match[str]) -> str:
    return marked[1] or re.sub(r"`+([^`]+)`+", r"\1", marked[2])


def _short(day: date) -> str:
    return f"{day.day} {day:%b}"


# --- numbers


def _figures(counts: Counts, cap: int) -> Iterator[Figure]:
    rows = (
        ("Total arXiv papers", counts.considered, 0, True),
        ("Scanned", counts.scored, 1, True),
        ("Relevant", counts.relevant, 2, True),
        ("by authors this list follows", counts.author_matches, 3, 0 < counts.author_matches < counts.relevant),
        ("by their scores", counts.selected, 3, 0 < counts.author_matches < counts.relevant),
        (f"Passed, beyond the {cap} that this list takes", counts.over_cap, 2, counts.over_cap > 0),
        ("Below the thresholds", counts.below, 2, True),
        ("Not scored, and back on the next morning", counts.carried_over, 1, counts.carried_over > 0),
        ("Not scored, and let go", counts.let_go, 1, counts.let_go > 0),
    )
    for label, number, depth, shown in rows:
        if shown:
            yield Figure(label, f"{number:,}", depth)


_BECAUSE = {
    None: "the LLM gave no usable score",
    Shortfall.BUDGET: "today's budget for the LLM was used up",
    Shortfall.SERVER: "the LLM stopped answering",
}


def bill(spending: Spending) -> Bill:
    """The bill of what scoring used."""
    usage, cost = spending.usage, spending.cost
    if usage.calls and not usage.total_tokens:  # no model answers with nothing: the server does not count
        return Bill(tokens=None, cost=None, details=_details(usage), about="")
    return Bill(
        tokens=(f"{usage.prompt_tokens:,}", f"{usage.completion_tokens:,}", f"{usage.total_tokens:,}"),
        cost=None if cost is None else (money(cost.prompt), money(cost.completion), money(cost.total)),
        details=_details(usage),
        about="" if cost is None or cost.total <= 0 else _about(cost.total),
    )


def _details(usage: Usage) -> str:
    """How many calls, and what the tokens were, without what there was none of."""
    if not usage.calls:
        return "No calls for this list: its scores were paid for earlier, or by another list."
    cached, written = usage.cached_tokens, usage.cache_write_tokens
    parts = []
    if cached:
        into = f" and {written:,} went into it" if written else ""
        parts.append(f"the prompt, {counted(cached, 'token')} came from the provider's cache{into}")
    elif written:
        parts.append(f"the prompt, {counted(written, 'token')} went into the provider's cache")
    if usage.reasoning_tokens:
        parts.append(f"the completion, {counted(usage.reasoning_tokens, 'token')} went into reasoning")
    made_of = f" Of {'; of '.join(parts)}." if parts else ""
    return f"Asked in {counted(usage.calls, 'call')}.{made_of}"


def counted(number: int, noun: str) -> str:
    """The number with its noun: 1 paper, 1,200 papers."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def money(dollars: float) -> str:
    """Dollars as a reader expects them: cents, and more digits only where there are no cents to see."""
    if dollars == 0 or dollars >= 0.1:
        return f"${dollars:,.2f}"
    return f"${dollars:.4f}" if dollars >= 0.0001 else "under $0.0001"


def _about(dollars: float) -> str:
    return f"about ${dollars:,.2f}" if dollars >= 0.01 else "less than a cent"


# --- leaving the list


def unsubscribe_subject(list_name: str, token: str) -> str:
    """The subject of a mail that asks to leave a list."""
    return f"unsubscribe {list_name} {token}"


def unsubscribe_uri(address: str, list_name: str, token: str) -> str:
    """A link to that mail, to a bare address with a domain in ASCII."""
    local, _, domain = address.rpartition("@")
    return f"mailto:{quote(local)}@{domain}?subject={quote(unsubscribe_subject(list_name, token))}"
