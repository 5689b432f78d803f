"""The functional core: a list's papers, their order and counts, and the outcome of its day.

Everything here is a pure function of its arguments: no I/O, no clock.
"""

import re
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from functools import lru_cache, partial
from types import MappingProxyType

from paperboy import topics
from paperboy.edges.text import NAME_SUFFIXES, folded
from paperboy.models import (
    Counts,
    Digest,
    Entry,
    Group,
    MailingList,
    Outcome,
    Paper,
    PaperOutcome,
    Score,
    Section,
)
from paperboy.sources import source_of
from paperboy.tex import plain, to_marked

_INITIAL = re.compile(r"\b([^\W\d_])\.")


@lru_cache(maxsize=20_000)  # the authors of a busy day, for each list that follows any
def name_key(name: str) -> str:
    """Return a key without case, accents, hyphens, points of initials and stray white space, equal
    for two spellings of one name.

    Initials are not expanded: "Y. Bengio" and "Yoshua Bengio" have different keys.
    """
    return " ".join(_INITIAL.sub(r"\1 ", folded(name)).split())


def matched_authors(paper: Paper, followed: Collection[str]) -> tuple[str, ...]:
    """Return the followed names among the paper's authors, as the list spells them."""
    if not followed:
        return ()

    whole = paper.authors if paper.corresponding is None else [paper.corresponding]
    authors = set(map(name_key, whole))
    return tuple(name for name in followed if name_key(name) in authors)


def possible_authors(paper: Paper, followed: Collection[str]) -> tuple[str, ...]:
    """Return the authors who may be followed ones, though no followed name is theirs: the surname is
    the same, and so is each given name or initial that both have.
    """
    if paper.corresponding is None:
        return ()

    keys = set(map(name_key, followed))
    certain = keys & {name_key(paper.corresponding)}
    sought = [" ".join(name_words(key)) for key in keys - certain]

    def may_be_followed(author: str) -> bool:
        words = author.split(" ")  # a surname of several words has other spaces
        kept = [word for word in words if name_key(word).strip(".") not in NAME_SUFFIXES]
        *given, surname = kept or [""]
        ending = f" {name_key(surname)}"
        initials = name_words(name_key(" ".join(given)))
        return name_key(author) not in certain and any(
            all(map(_fits, initials, name_words(key.removesuffix(ending))))
            for key in sought
            if initials and key.endswith(ending)
        )

    names = dict.fromkeys([*paper.authors, paper.corresponding])  # the list may lack the last
    return tuple(filter(may_be_followed, names))


def other_spellings(followed: Iterable[str], authors: Mapping[str, str]) -> dict[str, list[str]]:
    """Return, for each followed name that is no author's, the authors who may be the same person:
    "Vera C. Rubin" and "V. Rubin" for "Vera Rubin". `authors` has names by `name_key`. Names
    without any such author are left out.
    """
    by_surname = defaultdict[str, list[tuple[list[str], str]]](list)
    for key, author in authors.items():
        *given, surname = name_words(key) or [""]
        by_surname[surname].append((given, author))

    spellings = dict[str, list[str]]()
    for name in followed:
        key = name_key(name)
        *given, surname = name_words(key) or [""]
        alike = [author for others, author in by_surname[surname] if _abbreviates(given, others)]
        if alike and key not in authors:
            spellings[name] = sorted(alike)

    return spellings


def name_words(key: str) -> list[str]:
    """Return the words of a name's key, the surname last."""
    words = re.findall(r"[^\s.,]+", key)
    while len(words) > 2 and words[-1] in NAME_SUFFIXES:
        words.pop()
    return words


def _abbreviates(given: Sequence[str], others: Sequence[str]) -> bool:
    """Check whether the shorter of two given names is the other with initials, or without middle
    names.
    """
    shorter, longer = sorted((given, others), key=len)
    if not shorter or not _fits(shorter[0], longer[0]):
        return False
    left = iter(longer)
    return all(any(_fits(word, other) for other in left) for word in shorter)


def _fits(one: str, other: str) -> bool:
    return one == other or (min(len(one), len(other)) == 1 and one[0] == other[0])


def why_filtered(mailing_list: MailingList, paper: Paper) -> str:
    """Return why the list filters a paper out, for people; empty if it does not. A paper by a
    followed author is never filtered.
    """
    if matched_authors(paper, mailing_list.authors):
        return ""
    if not mailing_list.is_judged:
        return "it has no followed author, and the list has neither topics nor a library"
    for category in mailing_list.exclude:
        if category == paper.primary_category or category in paper.categories:
            return f"it is in {category} (exclude)"

    never = mailing_list.keywords.never
    if never and (word := _first(never, paper)):
        return f"its title or abstract has {word!r} (keywords: never)"

    must = mailing_list.keywords.must
    if must and not _first(must, paper):
        return f"its title and abstract have none of {', '.join(map(repr, must))} (keywords: must)"
    return ""


def _first(words: tuple[str, ...], paper: Paper) -> str:
    """Return the first of these words or phrases in title or abstract, as the list spells it; empty
    if there is none. Whole words are compared, without case and accents; a hyphen is a space.
    """
    marked = source_of(paper.id).marked
    text = f"{_text_key(paper.title, marked)}\n{_text_key(paper.abstract, marked)}"
    for word in words:
        key = _text_key(word)
        if key in text and re.search(rf"(?<!\w){re.escape(key)}(?!\w)", text):
            return word

    return ""


# Titles and abstracts of three busy days; a smaller cache would be refilled for each list.
@lru_cache(maxsize=12_000)
def _text_key(text: str, marked: Callable[[str], str] = to_marked) -> str:
    return folded(plain(marked(text)))


CROSS_LIST = "cross-list "  # before the category by which a cross-listed paper comes to a list


def ways_in(mailing_list: MailingList) -> frozenset[str]:
    """Return the ways by which papers come to the list: primary categories, and cross-lists."""
    crossed = (CROSS_LIST + category for category in mailing_list.cross_listed)
    return frozenset((*mailing_list.categories, *crossed))


def before_start(
    mailing_list: MailingList, papers: Sequence[Paper], started: Collection[str], start: datetime
) -> frozenset[str]:
    """Return the ids of papers too old for a list, or a way into it, that starts today.

    `started` holds the ways by which papers have come to the list before; `start` is when
    submission to the newest batch began. A paper is too old when it came before that and only a new
    way brings it.
    """
    open_ways = ways_in(mailing_list) & set(started)
    too_old = set()
    for paper in papers:
        ways = {paper.primary_category, *(CROSS_LIST + category for category in paper.categories)}
        if paper.published < start and not ways & open_ways:
            too_old.add(paper.id)

    return frozenset(too_old)


SHOWN = frozenset({PaperOutcome.AUTHOR_MATCH, PaperOutcome.SELECTED, PaperOutcome.OVER_CAP})
NEAREST = 10  # papers just below the thresholds that a digest names
MOST_MORNINGS = 3  # on which a paper gets no score though others do, before it is let go


def curate(
    digest: Digest,
    papers: Sequence[Paper],
    scores: Mapping[str, Score],
    tries: Mapping[str, int],
    filtered: Collection[str] = (),
    not_called: Collection[str] = (),
    liked: Mapping[str, float] = MappingProxyType({}),
    closeness: Mapping[str, float] = MappingProxyType({}),
) -> Digest:
    """Choose and order the papers: followed authors first, those on the list's topics before
    others; then what passes both thresholds, best first, up to the cap, in the order of `sections`.

    `papers` are the considered ones, each once; of `filtered` and `not_called` papers, only ids are
    needed. `scores`, `liked` and `closeness` to the topics are by id. Ties are broken by predicted
    votes, then by closeness; neither affects the cap. A paper without a score is carried over, or
    let go if `tries` says that this is the third morning on which only others got one. Papers by
    followed authors are never carried over or dropped.
    """
    mailing_list = digest.mailing_list
    matches = list[Entry]()
    passed = list[Entry]()
    below = list[Entry]()
    let_go = list[Paper]()
    carried_over = list[Paper]()
    for paper in papers:
        score = scores.get(paper.id)
        authors = matched_authors(paper, mailing_list.authors)
        entry = Entry(0, paper, score, authors)  # its rank comes below
        if authors:
            matches.append(entry)
        elif score and passes(mailing_list, score):
            passed.append(entry)
        elif score:
            below.append(entry)
        elif scores and tries.get(paper.id, 0) >= MOST_MORNINGS:
            let_go.append(paper)
        else:
            carried_over.append(paper)

    by_score = partial(best_first, {}, closeness)
    matches.sort(key=partial(_on_topic_first, mailing_list, closeness))
    below.sort(key=by_score)
    passed.sort(key=by_score)
    cap = mailing_list.max_papers
    liked_first = partial(best_first, liked, closeness)
    order = _in_sections(mailing_list, [*matches, *sorted(passed[:cap], key=liked_first)])
    number = len(order)
    order += sorted(passed[cap:], key=liked_first)
    ranked = tuple(replace(entry, rank=rank) for rank, entry in enumerate(order, start=1))
    entries = ranked[:number]
    over_cap = ranked[number:]

    outcomes = dict.fromkeys(filtered, PaperOutcome.FILTERED)
    outcomes |= dict.fromkeys(not_called, PaperOutcome.NOT_CALLED)
    for outcome, members in (
        (PaperOutcome.BELOW, below),
        (PaperOutcome.SELECTED, entries),
        (PaperOutcome.AUTHOR_MATCH, matches),
        (PaperOutcome.OVER_CAP, over_cap),
    ):
        outcomes |= {entry.paper.id: outcome for entry in members}
    outcomes |= {paper.id: PaperOutcome.LET_GO for paper in let_go}

    counts = Counts(
        considered=len(papers) + len(filtered) + len(not_called),
        carried_over=len(carried_over),
        let_go=len(let_go),
        author_matches=len(matches),
        selected=len(entries) - len(matches),
        over_cap=len(over_cap),
        below=len(below),
        filtered=len(filtered),
        not_called=len(not_called),
    )
    return replace(
        digest,
        entries=entries,
        over_cap=over_cap,
        nearest=tuple(below[:NEAREST]),
        carried_over=tuple(carried_over),
        let_go=tuple(let_go),
        outcomes=outcomes,
        counts=counts,
    )


def _in_sections(mailing_list: MailingList, best_first: Sequence[Entry]) -> list[Entry]:
    names = topics.read(mailing_list.topics).names
    return [entry for section in sections(best_first, names) for entry in section.entries]


READ_FIRST = 3  # papers on top, after those by followed authors
WHOLE = 5  # entries, up to which all are on top


def sections(entries: Sequence[Entry], names: Sequence[str]) -> tuple[Section, ...]:
    """Return a digest's parts, in order: followed authors' papers; those to read first; the others
    by the list's topics, where it has several, in the order of their best paper, and last those
    without one. `entries` are best first, within each part or in all; `names` are those of the
    topics.
    """
    followed = tuple(entry for entry in entries if entry.matched_authors)
    others = [entry for entry in entries if not entry.matched_authors]
    number = len(others) if len(entries) <= WHOLE else READ_FIRST
    first = tuple(others[:number])

    by_topic = defaultdict[str, list[Entry]](list)
    for entry in others[number:]:
        by_topic[topic_of(entry.score, names)].append(entry)

    rest = [
        Section(Group.ALSO, topic, tuple(members))
        for topic, members in sorted(by_topic.items(), key=lambda item: not item[0])
    ]
    parts = [Section(Group.FOLLOWED, "", followed), Section(Group.CLOSEST, "", first), *rest]
    return tuple(section for section in parts if section.entries)


def topic_of(score: Score | None, names: Sequence[str]) -> str:
    """Return the name of the topic that a paper serves best; empty where that is not known, or the
    list has no several topics.
    """
    topic = score.topic if score and len(names) > 1 else None
    return names[topic - 1] if topic and 0 < topic <= len(names) else ""


def outcome_of(
    counts: Counts, missing: str, *, scoring_done: bool, leftover: bool, waits: bool
) -> Outcome | None:
    """Return the day's outcome; None: the list stays due.

    `scoring_done`: there are scores, or none to wait for; otherwise author matches make a digest
    alone, once the list has given up. `missing`: why papers are missing; no day is quiet then.
    `leftover`: all papers, if any, failed before on a morning when others were scored, and failed
    again. `waits`: the list may be retried today.
    """
    if scoring_done and (counts.scored or counts.filtered):
        return Outcome.DIGEST if counts.relevant else Outcome.NOTE
    if leftover and not missing:
        return Outcome.QUIET
    if waits:
        return None
    return Outcome.DIGEST if counts.relevant else Outcome.GAVE_UP


def passes(mailing_list: MailingList, score: Score) -> bool:
    """Check whether a score reaches both thresholds. An unknown novelty passes."""
    is_novel = score.novelty is None or score.novelty >= mailing_list.min_novelty
    return is_novel and score.relevance >= mailing_list.min_relevance


def is_off_topic(mailing_list: MailingList, score: Score | None) -> bool:
    """Check whether a scored paper, as by a followed author, is less relevant than the list wants."""
    return bool(mailing_list.is_judged and score and score.relevance < mailing_list.min_relevance)


def _on_topic_first(
    mailing_list: MailingList, closeness: Mapping[str, float], entry: Entry
) -> tuple[bool, int, int, float, float, str]:
    return (is_off_topic(mailing_list, entry.score), *best_first({}, closeness, entry))


def best_first(
    liked: Mapping[str, float], closeness: Mapping[str, float], entry: Entry
) -> tuple[int, int, float, float, str]:
    """Return a sort key: by relevance plus novelty, relevance, liking, closeness, then id."""
    paper_id = entry.paper.id
    relevance = entry.score.relevance if entry.score else 0
    novelty = (entry.score and entry.score.novelty) or 0
    return (
        -relevance - novelty,
        -relevance,
        -liked.get(paper_id, 0.0),
        -closeness.get(paper_id, 0.0),
        paper_id,
    )
