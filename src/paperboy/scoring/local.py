"""The embedded scorer: ranks papers by the words they share with a list's topics, or with titles of
its library, without an LLM.

A paper's strength is SQLite's bm25 for the topics' wanted words and adjacent word pairs, minus its
bm25 for the unwanted ones. What the list has learned, if anything, is added with its weight. A
paper's rank among the recent papers of the list's categories becomes its relevance. Its quality
plays no part.
"""

import hashlib
import re
import sqlite3
import unicodedata
import weakref
from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Generator, Iterable, Mapping, Sequence
from functools import lru_cache
from itertools import pairwise
from statistics import fmean, pstdev

from paperboy.errors import CREDENTIAL
from paperboy.models import (
    SHARES,
    Cost,
    MailingList,
    Model,
    Paper,
    Ranker,
    Score,
    Scored,
    Text,
    ToScore,
)
from paperboy.topics import UNWANTED

_IDEA = "words and pairs, wanted minus unwanted, 3"  # change it whenever the same topics would give another ranking

# The relevance of each top share of the recent papers; 2 below them, 1 without a shared word.
_SHARES = ((0.01, 10), (0.025, 9), (0.05, 8), (0.10, 7), (0.20, 6), (0.35, 5), (0.50, 4), (0.70, 3))
_COMMENTED = 6  # the lowest relevance with a comment
_NAMED = 3  # words in a comment

# Markdown's "## Relevant" needs no colon; a line of prose may begin with the word, too.
_LABEL = re.compile(
    rf"(#+)?\W*(?:(?P<unwanted>{UNWANTED})|relevant|wanted)"
    r"(?:\s+\w+)?\W*(?::\W*|(?(1)$|(?!)))",
    re.IGNORECASE,
)
_NEW_ITEM = re.compile(r"\s*([-*•#]|\d+[.)]|$)")
_CLAUSE_END = re.compile(r"[.,;:!?()\[\]\"“”*]|\n\s*(?:[-*•#]|\d+[.)])|\n\s*\n")
_MACRO = re.compile(r"\\[A-Za-z]+")  # of TeX
_WORD = re.compile(r"[^\W_]{2,}|[^\W_]")

# Stop words: common English ones, then words in which people say what they want to read.
_STOP_WORDS = frozenset(
    """
    a about all also am an and any anything are as at be been both but by can cannot could do does each either else etc
    even every everything few for from had has have how i if in into is it its just like many may me might more most
    much must my neither no none nor not of on only onto or other others our out over rather shall should so some such
    than that the their them then there these they this those through to too under up upon us very was we well were what
    whatever when where whether which while who whose why will with within without would you your yours e g i e eg ie

    article articles based consider considered considering criteria criterion discuss discusses discussing especially
    examine examines examining example examples exclude focus focused focuses focusing give given high higher include
    included includes including increased interest interested interesting interests irrelevant keep keyword keywords
    like lower mainly merely new novel paper papers particular particularly present presenting presents rated
    regarding related relevance relevant research studies study studying topic topics use used using want wanted
    weight weighted work working works
    """.split()  # noqa: SIM905  # a list literal would fill a page
)


class LocalScorer:
    """Scorer by words and by what lists have learned."""

    model = Model(name="embedded ranker", is_llm=False)

    def criteria(self, mailing_list: MailingList) -> str:
        """Fingerprint what a score depends on, in hex; as a rank, it depends on the list's
        categories, too.
        """
        among = f"{sorted(mailing_list.categories)} {mailing_list.cross_lists}"
        wanted = "\n".join([mailing_list.topics, *mailing_list.titles])
        return hashlib.sha256(f"{_IDEA}\n{among}\n{wanted}".encode()).hexdigest()[:16]

    def estimate(self, _papers: Sequence[Paper | Text]) -> Cost:
        return Cost()

    def score(self, jobs: Sequence[ToScore], may_spend: object = None) -> Generator[Scored]:  # noqa: ARG002 - no cost
        """Yield the scores of all papers of each list, by rank among themselves and the recent
        ones.
        """
        for job in jobs:
            known = {text.id: text for text in job.recent}
            for paper in job.papers:
                known.setdefault(paper.id, Text(paper.id, paper.title, paper.abstract))
            texts = tuple(known.values())
            index = _index_of(texts)
            titles = job.mailing_list.titles
            wanted, unwanted = wanted_and_unwanted(job.mailing_list.topics, titles)
            strengths = index.strengths(wanted, unwanted)
            if job.rankers:
                strengths = _blended(strengths, job.rankers, texts, _weight_of_words(titles))

            ordered = sorted(value for value in strengths if value is not None)
            rows = [index.rows[paper.id] for paper in job.papers]
            relevances = {row: _relevance(strengths[row], ordered, len(strengths)) for row in rows}
            commented = {row for row, value in relevances.items() if value >= _COMMENTED}
            # Titles of a library are private, and so are their words.
            comments = {} if titles else index.comments(wanted, commented)
            scores = {
                texts[row].id: Score(relevance, novelty=None, comment=comments.get(row, ""))
                for row, relevance in relevances.items()
            }
            yield Scored(job.mailing_list.name, scores)

    def probe(self, _: Sequence[Paper]) -> tuple[str, str]:
        """Describe who scores; nothing is lacking."""
        none = "no OPENAI_API_KEY and no OPENAI_BASE_URL"
        return f"{none}, so the embedded scorer ranks by words; no LLM judges. {CREDENTIAL}", ""


def closeness(
    topics: str,
    papers: Sequence[Paper],
    rankers: Sequence[Ranker] = (),
    titles: Sequence[str] = (),
) -> Mapping[str, float]:
    """Return how close each of a day's papers is to the topics or titles by its words, and to what the list
    has learned, by id; without rankers, papers that share no word are left out. Pure.
    """
    # Sorted, so that lists on the same categories share an index: each has followed authors' papers first.
    texts = [Text(paper.id, paper.title, paper.abstract) for paper in papers]
    index = _index_of(tuple(sorted(texts)))
    strengths = index.strengths(*wanted_and_unwanted(topics, titles))
    if rankers:
        strengths = _blended(strengths, rankers, index.texts, _weight_of_words(titles))
    return {
        text.id: strength
        for text, strength in zip(index.texts, strengths, strict=True)
        if strength is not None
    }


def _weight_of_words(titles: Sequence[str]) -> float:
    """Return how much words weigh beside rankers: those of titles say less than those of topics."""
    return 0.5 if titles else 1.0


def _blended(
    words: Sequence[float | None],
    rankers: Sequence[Ranker],
    texts: Sequence[Text],
    weight: float,
) -> Sequence[float | None]:
    """Add up the strengths by words, with a weight, and by each ranker, in standard deviations. A
    paper without a shared word counts as much as the weakest paper that has one.
    """
    shared = _standardized([value for value in words if value is not None])
    weakest = min(shared, default=0.0)
    standard = iter(shared)
    blended = [weight * (weakest if value is None else next(standard)) for value in words]
    for ranker in rankers:
        learned = _standardized(ranker.strengths(texts))
        blended = [
            value + ranker.weight * more for value, more in zip(blended, learned, strict=True)
        ]

    return blended


def _standardized(values: Sequence[float]) -> list[float]:
    if not values:
        return []
    mean = fmean(values)
    deviation = pstdev(values, mean) or 1.0
    return [(value - mean) / deviation for value in values]


def wanted_and_unwanted(topics: str, titles: Sequence[str] = ()) -> tuple[list[str], list[str]]:
    """Split topics into wanted and unwanted terms (words and adjacent word pairs), as often as they
    occur.

    If items of the text begin with "Relevant:", only those are wanted; otherwise all but items that
    begin with "Irrelevant:". A label on a line of its own applies to what follows. A wanted term is
    never unwanted. Titles of liked papers stand in for topics, and have no labels.
    """
    if titles:
        return _terms("\n\n".join(titles)), []
    labelled: list[str] = []
    unwanted: list[str] = []
    plain: list[str] = []
    current = plain
    is_heading = False
    for line in topics.splitlines():
        if label := _LABEL.match(line):
            current = unwanted if label["unwanted"] else labelled
            is_heading = label.end() == len(line)
            current.append("\n\n" + line[label.end() :])
            continue

        if _NEW_ITEM.match(line) and (not is_heading or line.startswith("#")):
            current = plain
        current.append(line)

    wanted_terms = _terms("\n".join(labelled)) or _terms("\n".join(plain))
    folded = {term.casefold() for term in wanted_terms}
    unwanted_terms = _terms("\n".join(unwanted))
    return wanted_terms, [term for term in unwanted_terms if term.casefold() not in folded]


def _terms(text: str) -> list[str]:
    terms = list[str]()
    for clause in _CLAUSE_END.split(unicodedata.normalize("NFC", _MACRO.sub(" ", text))):
        words: list[str] = _WORD.findall(clause)
        for place, word in enumerate(words):
            if len(word) < 2 or word.casefold() in _STOP_WORDS:
                words[place] = ""
        terms += [word for word in words if word]
        terms += [f"{first} {second}" for first, second in pairwise(words) if first and second]

    return terms


_Postings = tuple["array[int]", "array[float]"]
_MOST_TERMS = 20_000  # cached per index (about 10 MB): lists on the same categories share words


class _Index:
    """In-memory full-text index of titles and abstracts. A text's row is its position."""

    def __init__(self, texts: Sequence[Text]) -> None:
        self.texts = texts
        self.rows = {text.id: row for row, text in enumerate(self.texts)}
        self._posting = lru_cache(_MOST_TERMS)(self._look_up)
        self._db = sqlite3.connect(":memory:", check_same_thread=False)
        weakref.finalize(self, self._db.close)
        self._db.execute(
            "CREATE VIRTUAL TABLE texts USING fts5"
            " (title, abstract, content='', tokenize='porter unicode61 remove_diacritics 2')"
        )
        self._db.executemany(
            "INSERT INTO texts (rowid, title, abstract) VALUES (?, ?, ?)",
            ((row, text.title, text.abstract) for row, text in enumerate(self.texts)),
        )

    def strengths(self, wanted: Sequence[str], unwanted: Sequence[str]) -> Sequence[float | None]:
        """Return the strength of each text that shares a wanted word."""
        matches = self._matches(wanted)
        penalties = self._matches(unwanted)
        return [
            value - penalty if value else None
            for value, penalty in zip(matches, penalties, strict=True)
        ]

    def comments(self, wanted: Sequence[str], rows: set[int]) -> dict[int, str]:
        """Name the wanted terms that each of these texts shares: pairs of words first, then the
        rarest.
        """
        shared: dict[int, list[str]] = {row: [] for row in rows}
        spelt = {term.casefold(): term for term in reversed(wanted)}
        spelt |= {term: term for term in wanted if term.islower()}  # lower case is preferred
        rarity = {term: len(self._posting(term)[0]) for term in spelt.values()}
        for term in sorted(rarity, key=lambda term: (-len(term.split()), rarity[term], term)):
            for row in rows.intersection(self._posting(term)[0]):
                shared[row].append(term)
        return {row: _comment(terms) for row, terms in shared.items()}

    def _matches(self, terms: Sequence[str]) -> list[float]:
        """Return how well each text matches the terms; more is better, 0 is not at all. BM25 of
        several terms is the sum over the terms.
        """
        matches = [0.0] * len(self.texts)
        for term in terms:
            for row, value in zip(*self._posting(term), strict=True):
                matches[row] += value
        return matches

    def _look_up(self, term: str) -> _Postings:
        query = "SELECT rowid, -bm25(texts) FROM texts WHERE texts MATCH ?"
        found = self._db.execute(query, (f'"{term}"',)).fetchall()
        return array("I", [row for row, _ in found]), array("d", [value for _, value in found])


_index_of = lru_cache(maxsize=1)(_Index)  # lists on the same categories come one after the other


def _comment(terms: Iterable[str]) -> str:
    """Name a word once, in one form: "dwarf galaxies" rules out "galaxy"."""
    names: list[str] = []
    named: set[str] = set()
    for term in terms:
        beginnings = {word[:5] for word in term.casefold().split()}
        if len(names) < _NAMED and not beginnings & named:
            names.append(term)
            named |= beginnings
    return SHARES + ", ".join(names) if names else ""


def _relevance(strength: float | None, ordered: Sequence[float], among: int) -> int:
    """Turn the rank of a strength, among this number of papers, into 1-10. Ties share the mean of their
    ranks. Ranks are mid-ranks, so a single paper is average.
    """
    if strength is None:
        return 1
    first = bisect_left(ordered, strength)
    end = bisect_right(ordered, strength)
    share = (len(ordered) - (first + end) / 2) / among
    return next((relevance for best, relevance in _SHARES if share <= best), 2)
