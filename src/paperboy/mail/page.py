"""Page of a digest, as templates see it: text and numbers for readers. Pure.

All text is clean (see `mail.text`), with TeX turned into Unicode, but not escaped: the templates do
that. `emails/README.md` explains each name to people who edit the templates.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date as Day  # noqa: N812  # a page has a field of that name
from datetime import timedelta
from itertools import groupby, zip_longest
from typing import Any, NamedTuple
from urllib.parse import quote, urlencode

from paperboy import topics
from paperboy.curate import (
    WHOLE,
    is_off_topic,
    matched_authors,
    name_key,
    passes,
    possible_authors,
    sections,
    topic_of,
)
from paperboy.edges.text import one_line
from paperboy.mail.text import (
    Prose,
    bare_title,
    clipped,
    code_url,
    first_sentence,
    has_whole_scripts,
    prose,
    telling_sentence,
    unlinked,
)
from paperboy.models import (
    ET_AL,
    SHARES,
    BriefSentence,
    Counts,
    Digest,
    Entry,
    Group,
    MailingList,
    Paper,
    Score,
    Shortfall,
    Spending,
)
from paperboy.sources import category_name, journal_names, links_of, named, source_names, source_of
from paperboy.topics import Block

_BEST = 6  # titles; no inbox shows more of them
_WORDS_A_MINUTE = 230
_SHORT_NAME = 40  # characters of a title's short name
# Licenses under which an abstract may be published again.
_FREE = frozenset({"", "cc_by", "cc0", "cc0_ng"})
MOST_SHOWN = 12  # authors of a paper; a longer list loses its middle
MOST_AUTHORS = 200  # of a paper, for reference managers


class Author(NamedTuple):
    """Name in an entry."""

    name: str
    followed: bool = False


class PaperLink(NamedTuple):
    """Paper that is only named."""

    arxiv_id: str  # the id, whatever the source: templates know it by this name
    url: str
    title: Prose


@dataclass(frozen=True, slots=True)
class Item:
    """Entry, or paper just below the thresholds."""

    rank: int
    group: str  # "followed", "closest" or "also"
    topic: str  # name of the topic that it serves best; empty: unknown
    arxiv_id: str
    url: str
    pdf_url: str  # empty: there is none
    html_url: str  # empty: there is none
    code_url: str  # of a repository that its text names, or empty
    title: Prose
    category: str  # "cs.LG"; elsewhere after the name of its source
    source: str  # the source's name; for a journal's paper, the journal's
    institution: str  # of the corresponding author, or empty
    submitted: Day
    authors: tuple[Author, ...]
    author_count: int  # of all authors, even if `authors` is shortened
    author_match: str  # the followed names, or empty
    possible_match: str  # authors with initials who may be followed ones, or empty
    passed: bool  # whether its scores alone qualify it
    off_topic: bool  # too little relevant, as some papers by followed authors are
    comment: Prose  # without an LLM: the words, if any, that it shares with the topics
    relevance: int | None  # None: an author match without a score
    novelty: int | None
    abstract: Prose
    # In a row: the comment's first sentence or, without an LLM, one of the abstract.
    why: str
    brief: bool  # the abstract is left out
    title_only: bool = False  # the source has no abstract
    of_journal: bool = False  # so it is no preprint
    bare: bool = False  # only the title and the scores are to be shown
    coins: str = ""  # on the web: the paper for reference managers


class Part(NamedTuple):
    """Group of a digest."""

    kind: str  # as in Item.group
    number: int  # of its papers, including hidden ones
    items: tuple[Item, ...]
    topic: str = ""  # of its papers; empty: none


class TopicOfDay(NamedTuple):
    """Topic that some of a digest's papers serve best, whatever their sections."""

    name: str
    number: int  # of these papers
    anchor: str  # on the web, of its section or, without one, its first paper


class Piece(NamedTuple):
    """Part of a sentence, which may lead to a paper."""

    text: Prose
    url: str = ""


class Sentence(NamedTuple):
    """Sentence of the morning in brief. The titles of papers that it does not name follow it."""

    text: Prose  # without its full stop
    pieces: tuple[Piece, ...]  # the same in parts
    more: tuple[Piece, ...]
    end: str  # after both: its full stop, or nothing
    ranks: tuple[int, ...]  # of all its papers


class Copy(NamedTuple):
    """Values of one copy of a mail: a recipient's own, or the placeholders in the frozen bytes."""

    kicker: str = ""  # the first words of the mail: the brand, or that this is a test
    token: str = ""  # what an unsubscribe mail carries
    address: str = ""  # the recipient's
    vote: str = ""  # what a link to vote carries


@dataclass(frozen=True, slots=True)
class Page:
    """Everything that templates can use as `page`: these fields, and the list's options by their
    names.
    """

    mailing_list: MailingList  # without its subscribers
    copy: Copy
    title: str  # of the list
    date: Day  # local
    brief: tuple[Sentence, ...]  # by an LLM; empty: the templates write a sentence
    items: tuple[Item, ...]

    # Papers of each section, by group and topic, including hidden ones.
    section_sizes: Counter[tuple[str, str]]

    topics_of_day: tuple[TopicOfDay, ...]  # in the order of their best papers
    minutes: int  # that the HTML takes to read

    best: tuple[str, ...]  # titles for an inbox, best scores first, of any group
    best_why: str  # of the first of them, as in a row
    by_followed: tuple[str, ...]  # the followed authors of this digest's papers
    nearest: tuple[Item, ...]  # the best three below the thresholds, without a rank
    counts: Counts
    model: str  # empty: nothing is scored, since the list only follows authors
    learned_from: str  # see Model
    spending: Spending | None  # None: no LLM
    shortfall: Shortfall | None
    topics: tuple[Block, ...]
    topic_names: tuple[str, ...]
    followed: tuple[str, ...]
    over_cap: tuple[Item, ...]
    carried_over: tuple[PaperLink, ...]
    let_go: tuple[PaperLink, ...]
    unsubscribe_address: str
    unsubscribe_subject: str
    unsubscribe_url: str  # the unsubscribe page or, without a site, the mail as a link
    unsubscribe_mail: str  # the unsubscribe mail as a link
    looked_from: Day | None  # papers submitted earlier were not considered; None: all were
    sources: tuple[str, ...]  # names of the list's sources and journals
    journals: tuple[str, ...]  # names of its journals alone
    late: tuple[str, ...]  # names of the sources whose papers are still to come
    view_url: str = ""  # the page of the digest; empty: it has none

    # The recipient's voting page; /up/ID or /down/ID after it chooses a vote; empty: there is none.
    vote_url: str = ""

    online: bool = False  # this is the page on the web, without personal data
    list_url: str = ""  # on the web, of a public list: the page of all its digests
    join_url: str = ""  # on the web, of an open list: where to sign up
    bib_url: str = ""  # on the web: the papers as BibTeX
    older_url: str = ""  # on the web, of a public list: the page of the digest before this one
    newer_url: str = ""  # and of the one after it
    subject: str = ""  # of the mail; empty on the web
    preheader: str = ""  # what an inbox shows after the subject
    topics_left_out: int = 0  # lines

    @property
    def sections(self) -> tuple[Part, ...]:
        """Return the items by section: a group, or a topic within the group "also"."""
        by_section = groupby(self.items, section_of)
        return tuple(
            Part(key[0], self.section_sizes[key], tuple(items), key[1]) for key, items in by_section
        )

    @property
    def groups(self) -> tuple[Part, ...]:
        """Return the items by their groups."""
        by_group = groupby(self.items, lambda item: item.group)
        return tuple(Part(kind, self.sizes[kind], tuple(items)) for kind, items in by_group)

    @property
    def sizes(self) -> Mapping[str, int]:
        """Return how many papers each group has, including hidden ones."""
        sizes = Counter[str]()
        for (kind, _), number in self.section_sizes.items():
            sizes[kind] += number
        return sizes

    @property
    def mostly(self) -> str:
        """Return the topic that more than half of the papers serve best; empty: there is none."""
        most = max(self.topics_of_day, key=lambda topic: topic.number, default=None)
        is_most = most and 2 * most.number > sum(self.section_sizes.values())
        return most.name if most and is_most else ""

    def of_day(self, topic: str) -> int:
        """Return how many papers, of any group, serve a topic best."""
        return sum(of_day.number for of_day in self.topics_of_day if of_day.name == topic)

    @property
    def categories(self) -> tuple[str, ...]:
        """Return the list's categories, as shown to readers."""
        return tuple(named(self.mailing_list.categories))

    @property
    def exclude(self) -> tuple[str, ...]:
        """Return the list's excluded categories, as shown to readers."""
        return tuple(named(self.mailing_list.exclude))

    @property
    def has_way_out_online(self) -> bool:
        """Check whether there is a page to leave the list."""
        return self.unsubscribe_url != self.unsubscribe_mail

    @property
    def hidden(self) -> int:
        """Return how many papers were left out, so that no mail program clips the mail."""
        return sum(self.section_sizes.values()) - len(self.items)

    def __getattr__(self, name: str) -> Any:
        """Return an option of the list, so that templates can use any, as `page.max_papers`."""
        return getattr(self.mailing_list, name)


def page_of(
    digest: Digest,
    *,
    copy: Copy,
    unsubscribe_address: str,
    web_url: str = "",
    link: str = "",
    votes: bool = False,
) -> Page:
    """Return the page of a digest, nothing shortened. `link` is the token of the digest's page on
    the site at `web_url`; with `votes`, readers vote there.
    """
    mailing_list = digest.mailing_list
    items = list[Item]()
    wanted = topics.read(mailing_list.topics)
    for section in sections(digest.entries, wanted.names):
        items += _items(section.entries, digest, section.group)
    brief = tuple(_sentences(digest.brief, items))
    matched = {name for entry in digest.entries for name in entry.matched_authors}
    leave_by_mail = unsubscribe_uri(unsubscribe_address, mailing_list.name, copy.token)
    by_score = sorted(items, key=lambda item: -((item.relevance or 0) + (item.novelty or 0)))
    return Page(
        mailing_list=replace(mailing_list, subscribers=(), library="", titles=(), journals=()),
        copy=copy,
        title=one_line(mailing_list.title),
        date=digest.date,
        brief=brief,
        items=tuple(items),
        section_sizes=Counter(map(section_of, items)),
        topics_of_day=tuple(_topics_of_day(items)),
        minutes=_minutes(brief, items),
        best=tuple(bare_title(item.title) for item in by_score[:_BEST]),
        best_why=by_score[0].why if items else "",
        by_followed=tuple(one_line(name) for name in mailing_list.authors if name in matched),
        nearest=tuple(_items(digest.nearest[:3], digest, Group.ALSO)),
        counts=digest.counts,
        model=one_line(digest.model.name) if mailing_list.is_judged else "",
        learned_from=digest.model.learned_from,
        spending=digest.spending if digest.model.is_llm and mailing_list.is_judged else None,
        shortfall=digest.shortfall,
        looked_from=digest.date - timedelta(digest.only_days) if digest.only_days else None,
        sources=source_names(mailing_list.categories),
        journals=journal_names(mailing_list.categories),
        late=digest.late,
        topics=wanted.blocks,
        topic_names=wanted.names,
        followed=tuple(one_line(name) for name in mailing_list.authors),
        over_cap=tuple(_items(digest.over_cap, digest, Group.ALSO)),
        carried_over=tuple(map(_paper_link, digest.carried_over)),
        let_go=tuple(map(_paper_link, digest.let_go)),
        unsubscribe_address=unsubscribe_address,
        unsubscribe_subject=unsubscribe_subject(mailing_list.name, copy.token),
        unsubscribe_url=f"{web_url}/leave/{copy.token}" if web_url else leave_by_mail,
        unsubscribe_mail=leave_by_mail,
        view_url=f"{web_url}/digest/{link}" if link else "",
        vote_url=f"{web_url}/vote/{copy.vote}/{digest.date}" if votes and items else "",
    )


def online(
    digest: Digest,
    *,
    url: str,
    list_url: str = "",
    join_url: str = "",
    older: str = "",
    newer: str = "",
    indexed: bool = False,
) -> Page:
    """Return the page of a digest on the web, including papers over the cap; long author lists are
    shortened, and nothing is personal. `list_url` is the list's page if it is public, `join_url`
    its sign-up page if it is open; `older` and `newer` are the pages of the digests beside it. If
    search engines may index the page (`indexed`), abstracts are whole only if their license allows.
    """
    shown = digest.entries + digest.over_cap
    papers = {entry.paper.id: entry.paper for entry in shown + digest.nearest}

    def in_full(item: Item) -> Item:
        is_free = papers[item.arxiv_id].license in _FREE
        return replace(
            item,
            abstract=item.abstract if is_free or not indexed else first_sentence(item.abstract),
            authors=without_middle(item.authors, MOST_SHOWN),
            brief=False,
            coins=coins(papers[item.arxiv_id]),
        )

    page = page_of(digest, copy=Copy(), unsubscribe_address="")
    items = tuple(map(in_full, page.items))
    return replace(
        page,
        items=items,
        minutes=_minutes(page.brief, items),
        nearest=tuple(map(in_full, page.nearest)),
        over_cap=tuple(map(in_full, page.over_cap)),
        unsubscribe_url="",
        unsubscribe_mail="",
        unsubscribe_subject="",
        view_url=url,
        list_url=list_url,
        join_url=join_url,
        bib_url=f"{url}.bib" if shown else "",
        older_url=older,
        newer_url=newer,
        online=True,
    )


# --- entries


def _items(entries: Iterable[Entry], digest: Digest, group: Group) -> Iterator[Item]:
    mailing_list = digest.mailing_list
    names = topics.read(mailing_list.topics).names
    is_judged = digest.model.is_llm and mailing_list.is_judged
    for entry in entries:
        paper = entry.paper
        score = entry.score
        source = source_of(paper.id)
        links = links_of(paper)
        category = paper.primary_category
        if source.first_read:  # another list's feed may have had it first
            its_own = (name for name in paper.categories if name in mailing_list.categories)
            category = next(its_own, category)
        followed = frozenset(map(name_key, matched_authors(paper, mailing_list.authors)))
        authors = tuple(
            Author(one_line(name), name_key(name) in followed) for name in paper.authors
        )
        abstract = prose(paper.abstract, source.marked)
        comment = comment_of(score)
        yield Item(
            rank=entry.rank,
            group=group,
            topic=topic_of(score, names),
            arxiv_id=paper.id,
            url=links.page,
            pdf_url=links.pdf,
            html_url=links.html,
            code_url=code_url(f"{abstract} {paper.comment}"),
            title=title_of(paper),
            category=category_name(one_line(category)),
            source=source_names([category])[0],
            of_journal=bool(source.first_read),
            institution=one_line(paper.institution),
            submitted=paper.published.date(),
            authors=authors,
            author_count=len(authors),
            author_match=", ".join(map(one_line, entry.matched_authors)),
            possible_match=", ".join(map(one_line, possible_authors(paper, mailing_list.authors))),
            passed=score is not None and passes(mailing_list, score),
            off_topic=is_off_topic(mailing_list, score),
            comment=comment,
            relevance=score.relevance if score else None,
            novelty=score.novelty if score else None,
            abstract=abstract,
            title_only=not paper.abstract,
            why=first_sentence(comment) if is_judged else telling_sentence(abstract),
            brief=group is Group.ALSO or (group is Group.FOLLOWED and len(digest.entries) > WHOLE),
        )


def section_of(item: Item) -> tuple[str, str]:
    """Return the key of an item's section: its group and, of the group "also", its topic."""
    return item.group, item.topic if item.group == Group.ALSO else ""


def _topics_of_day(items: Sequence[Item]) -> Iterator[TopicOfDay]:
    """Yield the topics in the order of their best papers; papers by followed authors come last."""
    by_topic = defaultdict[str, list[Item]](list)
    for item in sorted(items, key=lambda item: item.group == Group.FOLLOWED):
        if item.topic:
            by_topic[item.topic].append(item)

    for name, members in by_topic.items():
        in_section = [item for item in members if item.group == Group.ALSO]
        anchor = f"t{in_section[0].rank}" if in_section else f"p{members[0].rank}"
        yield TopicOfDay(name, len(members), anchor)


def _minutes(brief: Iterable[Sentence], items: Iterable[Item]) -> int:
    texts: list[str] = [sentence.text for sentence in brief]
    for item in items:
        texts += [item.title, *([item.why] if item.brief else [item.comment, item.abstract])]
    return max(1, round(sum(len(text.split()) for text in texts) / _WORDS_A_MINUTE))


def _sentences(brief: Iterable[BriefSentence], items: Iterable[Item]) -> Iterator[Sentence]:
    by_id = {item.arxiv_id: item for item in items}
    for text, paper_ids, names in brief:
        words = re.sub(r"[.。]$", "", text)
        shown = unlinked(prose(words))
        pieces = [Piece(shown)]
        more = list[Piece]()
        ranks = list[int]()
        for paper_id, name in zip_longest(paper_ids, names, fillvalue=""):
            item = by_id.get(paper_id)
            if not item:
                continue
            ranks.append(item.rank)
            for place, piece in enumerate(pieces if _is_name(name, item.title) else ()):
                if parts := [] if piece.url else _linked(piece.text, name, item.url):
                    pieces[place : place + 1] = parts
                    break
            else:
                more.append(Piece(Prose(_short_name(item.title)), item.url))

        if ranks:
            yield Sentence(shown, tuple(pieces), tuple(more), text[len(words) :], tuple(ranks))


def _is_name(words: str, title: Prose) -> bool:
    """Check whether words of a sentence can name a paper: at least two words, or the name before
    its title's colon. A script without capitals is taken for one without spaces: any words can.
    """
    name = title.partition(": ")[0]
    is_unspaced = not words.isascii() and words.upper() == words.lower()
    return " " in words or is_unspaced or words.casefold() == name.casefold()


def _linked(text: Prose, words: str, url: str) -> list[Piece]:
    """Return the text with the words linked; empty if it lacks them, or a script would be split."""
    name = unlinked(prose(words)).marked
    # ASCII: in some languages no space separates words.
    found = re.search(rf"(?<!\w){re.escape(name)}(?!\w)", text.marked, re.ASCII)
    if not name or not found:
        return []

    parts = [text.marked[: found.start()], found[0], text.marked[found.end() :]]
    if not all(map(has_whole_scripts, parts)):
        return []
    before, shown, after = map(Prose, parts)
    return [piece for piece in (Piece(before), Piece(shown, url), Piece(after)) if piece.text]


_LAST_WORDS = re.compile(r"(?: (?:a|an|and|at|by|for|from|in|of|on|the|to|with))* …$")


def _short_name(title: Prose) -> str:
    """Return a title's short name: the words before its colon, or its first words."""
    name = title.partition(": ")[0] or str(title)
    if len(name) <= _SHORT_NAME:
        return name
    return _LAST_WORDS.sub("\u00a0…", clipped(name, _SHORT_NAME))


def without_middle(authors: tuple[Author, ...], most: int) -> tuple[Author, ...]:
    """Shorten a list of more than `most` authors to the first, the last (and "et al." after it) and
    the followed ones; each gap becomes "…".
    """
    if len(authors) <= most:
        return authors

    ends = {*range(most // 2), len(authors) - 1}
    if authors[-1].name == ET_AL:
        ends.add(len(authors) - 2)
    shown = (
        author if place in ends or author.followed else Author("…")
        for place, author in enumerate(authors)
    )
    return tuple(author for author, _ in groupby(shown))


def _paper_link(paper: Paper) -> PaperLink:
    return PaperLink(paper.id, links_of(paper).page, title_of(paper))


def title_of(paper: Paper) -> Prose:
    """Return a paper's title, which is never empty."""
    return prose(paper.title, source_of(paper.id).marked) or prose("(no title)")


def coins(paper: Paper) -> str:
    """Return the paper as an OpenURL in ASCII (COinS): Dublin Core, since there is no format for
    preprints.
    """
    source = source_of(paper.id)
    name = source_names([paper.primary_category])[0]
    values = [
        ("ctx_ver", "Z39.88-2004"),
        ("rft_val_fmt", "info:ofi/fmt:kev:mtx:dc"),
        ("rft.type", "article" if source.first_read else "preprint"),
        ("rft.title", str(prose(paper.title, source.marked))),
        *(("rft.au", one_line(name)) for name in paper.authors[:MOST_AUTHORS] if name != ET_AL),
        ("rft.date", f"{paper.published:%Y-%m-%d}"),
        ("rft.source", name),
        ("rft.identifier", links_of(paper).page),
    ]
    if paper.doi:
        values.append(("rft_id", f"info:doi/{one_line(paper.doi)}"))
    return urlencode(values, quote_via=quote)


def comment_of(score: Score | None) -> Prose:
    """Return the comment of a score; empty if there is none."""
    said = score.comment.removeprefix(SHARES) if score else ""
    return unlinked(prose(_without_markdown(said)))


def _without_markdown(comment: str) -> str:
    """Return a comment without the bold type, code marks and bullets that models like."""
    plain = re.sub(r"(?m)^\s*(?:#{1,6}|[-*+]|\d+\.)\s+", "", comment)
    plain = re.sub(r"`+([^`]+)`+", r"\1", plain)
    return re.sub(r"\*\*(?=\S)(.+?)(?<=\S)\*\*", r"\1", plain)


# --- links


def unsubscribe_subject(list_name: str, token: str) -> str:
    """Return the subject of a mail that asks to leave a list."""
    return f"unsubscribe {list_name} {token}"


def unsubscribe_uri(address: str, list_name: str, token: str) -> str:
    """Return an unsubscribe mail as a link. The address is bare, with its domain in ASCII."""
    local, _, domain = address.rpartition("@")
    subject = unsubscribe_subject(list_name, token)
    return f"mailto:{quote(local)}@{domain}?subject={quote(subject)}"
