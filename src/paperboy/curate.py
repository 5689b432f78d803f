"""The functional core: which papers a list gets, in what order, how the counts add up, and a day's
outcome.

Everything here is a pure function of its arguments: no I/O, no clock.
"""

import re
import unicodedata
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from functools import lru_cache, partial
from types import MappingProxyType

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
)
from paperboy.sources import source_of
from paperboy.tex import plain, to_marked

# Letters that Unicode does not take apart into a base and an accent.
_PLAIN_LETTERS = str.maketrans(
    {
        "ø": "o",
        "ł": "l",
        "đ": "d",
        "ð": "d",
        "þ": "th",
        "æ": "ae",
        "œ": "oe",
        "ı": "i",
        "’": "'",
        "‐": "-",
        "‑": "-",
    }
)
_SUFFIXES = frozenset({"jr", "sr", "ii", "iii", "iv"})  # after a surname


@lru_cache(maxsize=20_000)  # the authors of a busy day, for each list that follows any
def name_key(name: str) -> str:
    """Return the form in which two spellings of one name are equal: without case, accents, hyphens
    and stray white space.

    Initials are not expanded: "Y. Bengio" stays another key than "Yoshua Bengio".
    """
    return _plain(name)


def _plain(text: str) -> str:
    parts = unicodedata.normalize("NFKD", text.casefold().translate(_PLAIN_LETTERS))
    bare = "".join(char for char in parts if not unicodedata.combining(char))
    return re.sub(r"[\s\-–—]+", " ", bare).strip()


def matched_author(paper: Paper, followed: Collection[str]) -> str | None:
    """The first followed name, as the list spells it, that is among the paper's authors."""
    authors = {name_key(author) for author in paper.authors} if followed else ()
    return next((name for name in followed if name_key(name) in authors), None)


def other_spellings(followed: Iterable[str], authors: Mapping[str, str]) -> dict[str, list[str]]:
    """Return, for each followed name that is no author's, the authors who may be the same person:
    "Vera C. Rubin" and "V. Rubin" for "Vera Rubin". `authors` has names by `name_key`. Names
    without any such author are left out.
    """
    by_surname = defaultdict[str, list[tuple[list[str], str]]](list)
    for key, author in authors.items():
        *given, surname = _words(key) or [""]
        by_surname[surname].append((given, author))

    found = dict[str, list[str]]()
    for name in followed:
        *given, surname = _words(name_key(name)) or [""]
        alike = [author for others, author in by_surname[surname] if _abbreviates(given, others)]
        if alike and name_key(name) not in authors:
            found[name] = sorted(alike)
    return found


def _words(key: str) -> list[str]:
    """The words of a name's key, the surname last."""
    words = re.findall(r"[^\s.,]+", key)
    while len(words) > 2 and words[-1] in _SUFFIXES:
        words.pop()
    return words


def _abbreviates(given: Sequence[str], others: Sequence[str]) -> bool:
    """Whether the shorter of two given names is the other with initials, or without middle
    names.
    """

    def fits(one: str, other: str) -> bool:
        return one == other or (min(len(one), len(other)) == 1 and one[0] == other[0])

    shorter, longer = sorted((given, others), key=len)
    if not shorter or not fits(shorter[0], longer[0]):
        return False
    left = iter(longer)
    return all(any(fits(word, other) for other in left) for word in shorter)


def why_filtered(mailing_list: MailingList, paper: Paper) -> str:
    """Why the list leaves a paper out without having it scored, for people; empty if it does not,
    as never with one by a followed author.
    """
    if matched_author(paper, mailing_list.authors):
        return ""
    if not mailing_list.topics:
        return "nobody whom the list follows wrote it, and the list has no topics"
    excluded = next(
        (
            name
            for name in mailing_list.exclude
            if name in {paper.primary_category, *paper.categories}
        ),
        "",
    )
    if excluded:
        return f"it is in {excluded} (exclude)"
    must, never = mailing_list.keywords.must, mailing_list.keywords.never
    if never and (word := _first(never, paper)):
        return f"its title or abstract has {word!r} (keywords: never)"
    if must and not _first(must, paper):
        return f"its title and abstract have none of {', '.join(map(repr, must))} (keywords: must)"
    return ""


def _first(words: tuple[str, ...], paper: Paper) -> str:
    """Return the first of these words or phrases that title or abstract has, as the list spells it;
    empty if they have none. They are compared as whole words, case and accents apart; a hyphen is a
    space.
    """
    marked = source_of(paper.id).marked
    text = f"{_text_key(paper.title, marked)}\n{_text_key(paper.abstract, marked)}"
    for word in words:
        key = _text_key(word)
        if key in text and re.search(rf"(?<!\w){re.escape(key)}(?!\w)", text):
            return word
    return ""


@lru_cache(
    maxsize=12_000
)  # titles and abstracts of three busy days; with fewer, each list would begin anew
def _text_key(text: str, marked: Callable[[str], str] = to_marked) -> str:
    return _plain(plain(marked(text)))


CROSS_LIST = "cross-list "  # before the category by which a cross-listed paper comes to a list


def ways_in(mailing_list: MailingList) -> frozenset[str]:
    """Return how a paper can come to the list: by its primary category, or by one that it is
    cross-listed in.
    """
    crossed = mailing_list.categories if mailing_list.cross_lists else ()
    return frozenset([*mailing_list.categories, *(CROSS_LIST + category for category in crossed)])


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


NEAREST = 10  # papers below the thresholds that are kept in sight
MOST_MORNINGS = 3  # without a score while others get one; then a paper is let go


def curate(
    digest: Digest,
    papers: Sequence[Paper],
    scores: Mapping[str, Score],
    tries: Mapping[str, int],
    filtered: Collection[str] = (),
    not_called: Collection[str] = (),
    liked: Mapping[str, float] = MappingProxyType({}),
) -> Digest:
    """Chooses and orders: followed authors first, by id; then what passes both thresholds, best
    first, up to the cap.

    `papers` are the considered ones, each once, but for the `filtered` and `not_called`, of which
    only the ids count; `scores` is by id, as is `liked`: what readers may like comes first among
    equals, but the cap does not depend on it. A paper without a score is carried over; or let go,
    where `tries` says that this is the third morning on which only others got one. One by a
    followed author is neither.
    """
    mailing_list = digest.mailing_list
    authors = mailing_list.authors
    found = [
        Entry(0, paper, scores.get(paper.id), matched_author(paper, authors)) for paper in papers
    ]
    matches = sorted(
        (entry for entry in found if entry.matched_author), key=lambda entry: entry.paper.id
    )
    others = [entry for entry in found if entry.score and not entry.matched_author]
    others.sort(key=partial(_best_first, {}))
    unscored = [entry.paper for entry in found if not (entry.score or entry.matched_author)]
    passed = [entry for entry in others if entry.score and passes(mailing_list, entry.score)]
    below = [entry for entry in others if entry.score and not passes(mailing_list, entry.score)]
    most, liked_first = mailing_list.max_papers, partial(_best_first, liked)
    best = [*sorted(passed[:most], key=liked_first), *sorted(passed[most:], key=liked_first)]
    ranked = tuple(
        replace(entry, rank=rank) for rank, entry in enumerate([*matches, *best], start=1)
    )
    entries, over_cap = ranked[: len(matches) + most], ranked[len(matches) + most :]
    let_go = tuple(
        paper for paper in unscored if scores and tries.get(paper.id, 0) >= MOST_MORNINGS
    )
    carried = tuple(paper for paper in unscored if paper not in let_go)

    outcomes = dict.fromkeys(filtered, PaperOutcome.FILTERED) | dict.fromkeys(
        not_called, PaperOutcome.NOT_CALLED
    )
    chosen = {
        PaperOutcome.BELOW: below,
        PaperOutcome.SELECTED: entries,
        PaperOutcome.AUTHOR_MATCH: matches,
        PaperOutcome.OVER_CAP: over_cap,
    }
    outcomes |= {entry.paper.id: what for what, some in chosen.items() for entry in some}
    outcomes |= {paper.id: PaperOutcome.LET_GO for paper in let_go}
    counts = Counts(
        considered=len(papers) + len(filtered) + len(not_called),
        carried_over=len(carried),
        let_go=len(let_go),
        author_matches=len(matches),
        selected=len(entries) - len(matches),
        over_cap=len(over_cap),
        below=len(below),
        filtered=len(filtered),
        not_called=len(not_called),
    )
    digest = replace(digest, carried_over=carried, let_go=let_go, outcomes=outcomes, counts=counts)
    return replace(digest, entries=entries, over_cap=over_cap, nearest=tuple(below[:NEAREST]))


def grouped(entries: Sequence[Entry]) -> Mapping[Group, tuple[Entry, ...]]:
    """A digest's entries by their groups, in order. Closest to the topics are those whose relevance
    and novelty add up to within 2 of the best: at least 3, if there are, and at most 12.
    """
    followed = tuple(entry for entry in entries if entry.matched_author)
    others = tuple(entry for entry in entries if not entry.matched_author)
    near = sum(_together(entry) >= _together(others[0]) - 2 for entry in others)
    closest = min(max(near, 3), 12)
    found = {
        Group.FOLLOWED: followed,
        Group.CLOSEST: others[:closest],
        Group.ALSO: others[closest:],
    }
    return {group: some for group, some in found.items() if some}


def outcome_of(
    counts: Counts, missing: str, *, scoring_done: bool, leftover: bool, waits: bool
) -> Outcome | None:
    """The day's outcome; None: the list stays due.

    `scoring_done`: there are scores, or none to wait for; else author matches make a digest alone,
    once the list is given up. `missing`: why papers are missing; no day is quiet then. `leftover`:
    all papers, if any, failed before on a morning when others were scored, and fail again; `waits`:
    the list may be retried today.
    """
    if scoring_done and (counts.scored or counts.filtered):
        return Outcome.DIGEST if counts.relevant else Outcome.NOTE
    if leftover and not missing:
        return Outcome.QUIET
    if waits:
        return None
    return Outcome.DIGEST if counts.relevant else Outcome.GAVE_UP


def passes(mailing_list: MailingList, score: Score) -> bool:
    """Whether a score reaches both thresholds. A novelty that nobody judged holds nothing back."""
    novel = score.novelty is None or score.novelty >= mailing_list.min_novelty
    return novel and score.relevance >= mailing_list.min_relevance


def _together(entry: Entry) -> int:
    """Relevance and novelty, each if there is one."""
    return entry.score.relevance + (entry.score.novelty or 0) if entry.score else 0


def _best_first(liked: Mapping[str, float], entry: Entry) -> tuple[int, int, float, str]:
    paper_id = entry.paper.id
    relevance = entry.score.relevance if entry.score else 0
    return -_together(entry), -relevance, -liked.get(paper_id, 0.0), paper_id
