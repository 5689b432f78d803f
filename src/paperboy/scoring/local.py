"""The embedded scorer: ranks papers by the words they share with a list's topics, without an LLM.

A paper's strength is SQLite's bm25 of the words and adjacent word pairs that the topics want, minus that of those they
do not want. Its place among the papers of the last `recent_days` becomes its relevance. It judges nothing: a good match
of words can be a bad paper.
"""

from __future__ import annotations

import hashlib
import re
import sqlite3
import unicodedata
from collections.abc import Generator, Iterable, Sequence
from itertools import groupby, pairwise

from paperboy.models import MailingList, Model, Paper, Score, Scored, ToScore

_IDEA = "words and pairs, wanted minus unwanted, 3"  # change it whenever the same topics would give another ranking

# The best share of recent papers that gets each relevance; 2 below them, 1 without a shared word.
_SHARES = ((0.01, 10), (0.025, 9), (0.05, 8), (0.10, 7), (0.20, 6), (0.35, 5), (0.50, 4), (0.70, 3))
_COMMENTED = 6  # from this relevance up
_NAMED = 3  # words in a comment

# Markdown's "## Relevant" needs no colon; elsewhere a line of prose may well begin with the word.
_LABEL = re.compile(
    r"(#+)?\W*(?:(?P<unwanted>irrelevant|not relevant|unwanted|avoid)|relevant|wanted)"
    r"(?:\s+\w+)?\W*(?::\W*|(?(1)$|(?!)))",
    re.IGNORECASE,
)
_NEW_ITEM = re.compile(r"\s*([-*•#]|\d+[.)]|$)")
_CLAUSE_END = re.compile(r"[.,;:!?()\[\]\"“”*]|\n\s*(?:[-*•#]|\d+[.)])|\n\s*\n")
_MACRO = re.compile(r"\\[A-Za-z]+")  # TeX's "approx" is no word of a topic
_WORD = re.compile(r"[^\W_]{2,}|[^\W_]")

# Words of every English text, and words in which people speak of what they want to read.
_EMPTY_WORDS = frozenset(
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
    """.split()  # noqa: SIM905  # a list literal of these would be a page long
)


class LocalScorer:
    """Scores by words. Keeps the index of the papers it saw last, for the next list on the same categories."""

    model = Model(name="embedded ranker", is_llm=False)
    recent_days = 30

    def __init__(self) -> None:
        self._index: _Index | None = None

    def criteria(self, mailing_list: MailingList) -> str:
        """A fingerprint of what a score depends on, in hex: relevance is a rank among the categories' papers."""
        among = f"{sorted(mailing_list.categories)} {mailing_list.cross_lists}"
        return hashlib.sha256(f"{_IDEA}\n{among}\n{mailing_list.topics}".encode()).hexdigest()

    def score(
        self,
        jobs: Sequence[ToScore],
        may_spend: object = None,  # noqa: ARG002  # words cost nothing
    ) -> Generator[Scored, None, None]:
        """One answer for all papers of a list, by their place among themselves and the recent ones. Nothing stays
        unscored.
        """
        for job in jobs:
            if job.papers:
                yield Scored(job.mailing_list.name, self._scores(job))

    def _scores(self, job: ToScore) -> dict[str, Score]:
        index = self._index_of({paper.arxiv_id: paper for paper in (*job.recent, *job.papers)}.values())
        wanted, unwanted = wanted_and_unwanted(job.mailing_list.topics)
        places = _places(index.strengths(wanted, unwanted))
        relevances = {paper.arxiv_id: _relevance(places.get(paper.arxiv_id), len(index.papers)) for paper in job.papers}
        named = {arxiv_id for arxiv_id, relevance in relevances.items() if relevance >= _COMMENTED}
        comments = index.comments(wanted, named)
        return {
            arxiv_id: Score(relevance=relevance, novelty=None, comment=comments.get(arxiv_id, ""))
            for arxiv_id, relevance in relevances.items()
        }

    def _index_of(self, papers: Iterable[Paper]) -> _Index:
        ordered = sorted(papers, key=lambda paper: paper.arxiv_id)
        if self._index is None or self._index.papers != ordered:
            self._index = _Index(ordered)
        return self._index


def wanted_and_unwanted(topics: str) -> tuple[list[str], list[str]]:
    """The words and adjacent word pairs to look for and to look away from, repeated as often as the topics say them.

    Where items of the text begin with "Relevant:", only those are wanted; else all of it is, but for items that begin
    with "Irrelevant:". A label on a line of its own holds for what follows. What is wanted once is unwanted nowhere.
    """
    labelled: list[str] = []
    unwanted: list[str] = []
    plain: list[str] = []
    current, is_heading = plain, False
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
    said = {term.casefold() for term in wanted_terms}
    return wanted_terms, [term for term in _terms("\n".join(unwanted)) if term.casefold() not in said]


def _terms(text: str) -> list[str]:
    """The words that say something, and the pairs of them that stand next to each other within a clause."""
    terms = []
    for clause in _CLAUSE_END.split(unicodedata.normalize("NFC", _MACRO.sub(" ", text))):
        words = [word if _says_something(word) else "" for word in _WORD.findall(clause)]
        terms += [word for word in words if word]
        terms += [f"{first} {second}" for first, second in pairwise(words) if first and second]
    return terms


def _says_something(word: str) -> bool:
    return len(word) > 1 and word.casefold() not in _EMPTY_WORDS


class _Index:
    """Titles and abstracts in an in-memory full-text index. A paper's row is its position."""

    def __init__(self, papers: list[Paper]) -> None:
        self.papers = papers
        self.rows = {paper.arxiv_id: row for row, paper in enumerate(papers)}
        self._db = sqlite3.connect(":memory:", check_same_thread=False)
        self._db.execute(
            "CREATE VIRTUAL TABLE texts USING fts5"
            " (title, abstract, content='', tokenize='porter unicode61 remove_diacritics 2')"
        )
        self._db.executemany(
            "INSERT INTO texts (rowid, title, abstract) VALUES (?, ?, ?)",
            ((row, paper.title, paper.abstract) for row, paper in enumerate(papers)),
        )

    def strengths(self, wanted: Sequence[str], unwanted: Sequence[str]) -> dict[str, float]:
        """By arXiv id; papers that share no wanted word are not in it."""
        for_it, against_it = self._matches(wanted), self._matches(unwanted)
        return {self.papers[row].arxiv_id: value - against_it.get(row, 0.0) for row, value in for_it.items()}

    def comments(self, wanted: Sequence[str], arxiv_ids: set[str]) -> dict[str, str]:
        """Which of the wanted words each of these papers shares, the most telling first."""
        chosen = {self.rows[arxiv_id] for arxiv_id in arxiv_ids}
        shared: dict[int, list[tuple[float, str]]] = {row: [] for row in chosen}
        spelt = {term.casefold(): term for term in reversed(wanted)} if chosen else {}
        for term in spelt.values():
            weight = len(term.split())  # a pair tells a reader more than a word
            for row, value in self._matches([term]).items():
                if row in chosen:
                    shared[row].append((-value * weight, term))
        return {self.papers[row].arxiv_id: _comment(sorted(found)) for row, found in shared.items()}

    def _matches(self, terms: Sequence[str]) -> dict[int, float]:
        """How well each row that has any of the terms matches them; more is better."""
        if not terms:
            return {}
        query = " OR ".join(f'"{term}"' for term in terms)
        found = self._db.execute("SELECT rowid, -bm25(texts) FROM texts WHERE texts MATCH ?", (query,))
        return dict(found.fetchall())


def _comment(found: Iterable[tuple[float, str]]) -> str:
    """Names a word once, in one form: with "dwarf galaxies" there is no "galaxy"."""
    names: list[str] = []
    said: set[str] = set()
    for _, term in found:
        beginnings = {word[:5] for word in term.casefold().split()}
        if len(names) < _NAMED and not beginnings & said:
            names.append(term)
            said |= beginnings
    return f"Shares with the topics: {', '.join(names)}" if names else ""


def _places(strengths: dict[str, float]) -> dict[str, float]:
    """Places from 0, the strongest first. Equals share the middle of the places that they take up together."""
    places: dict[str, float] = {}
    ranked = sorted(strengths, key=lambda arxiv_id: -strengths[arxiv_id])
    for _, group in groupby(ranked, key=lambda arxiv_id: strengths[arxiv_id]):
        equals = list(group)
        middle = len(places) + (len(equals) - 1) / 2
        places |= dict.fromkeys(equals, middle)
    return places


def _relevance(place: float | None, among: int) -> int:
    """1-10 for a place, counted from 0, among so many papers. The middle of a place counts: the only paper is an
    average one, not the best of all.
    """
    if place is None:
        return 1
    share = (place + 0.5) / among
    return next((relevance for best, relevance in _SHARES if share <= best), 2)
