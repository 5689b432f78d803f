"""The embedded scorer: ranks papers by the words they share with a list's topics, without an LLM.

A paper's strength is SQLite's bm25 for the wanted words and adjacent word pairs of the topics, minus that for the
unwanted ones; and what the list has learned, if it has, counts the more, the more examples it has learned from. A
paper's rank among those of the last `recent_days` becomes its relevance. Its quality plays no part.
"""

from __future__ import annotations

import hashlib
import logging
import re
import sqlite3
import unicodedata
from collections.abc import Generator, Iterable, Sequence
from itertools import groupby, pairwise
from statistics import fmean, pstdev

from paperboy.models import Cost, MailingList, Model, Paper, Score, Scored, ToScore
from paperboy.scoring import learned
from paperboy.scoring.learned import Features, Ranker

logger = logging.getLogger(__name__)

_IDEA = "words and pairs, wanted minus unwanted, 3"  # change it whenever the same topics would give another ranking

# The relevance of each top share of the recent papers; 2 below them, 1 without a shared word.
_SHARES = ((0.01, 10), (0.025, 9), (0.05, 8), (0.10, 7), (0.20, 6), (0.35, 5), (0.50, 4), (0.70, 3))
_AS_GOOD_AS_WORDS = 200  # examples that a model has learned from, when it counts as much as the topics' words
_MOST = 4.0  # times that it may count
_COMMENTED = 6  # the lowest relevance with a comment
_NAMED = 3  # words in a comment

# Markdown's "## Relevant" needs no colon; a line of prose may begin with the word, too.
_LABEL = re.compile(
    r"(#+)?\W*(?:(?P<unwanted>irrelevant|not relevant|unwanted|avoid)|relevant|wanted)"
    r"(?:\s+\w+)?\W*(?::\W*|(?(1)$|(?!)))",
    re.IGNORECASE,
)
_NEW_ITEM = re.compile(r"\s*([-*•#]|\d+[.)]|$)")
_CLAUSE_END = re.compile(r"[.,;:!?()\[\]\"“”*]|\n\s*(?:[-*•#]|\d+[.)])|\n\s*\n")
_MACRO = re.compile(r"\\[A-Za-z]+")  # of TeX
_WORD = re.compile(r"[^\W_]{2,}|[^\W_]")

# Stop words: those of all English text, then those with which people describe what they want to read.
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
    """Scores by words and what lists have learned. Keeps its last index for the next list on the same categories."""

    model = Model(name="embedded ranker", is_llm=False)
    recent_days = 30
    _index: _Index | None = None

    def criteria(self, mailing_list: MailingList) -> str:
        """Fingerprint what a score depends on, in hex; as a rank, it depends on the list's categories, too."""
        among = f"{sorted(mailing_list.categories)} {mailing_list.cross_lists}"
        return hashlib.sha256(f"{_IDEA}\n{among}\n{mailing_list.topics}".encode()).hexdigest()[:16]

    def estimate(self, _papers: Sequence[Paper]) -> Cost:
        return Cost()

    def score(self, jobs: Sequence[ToScore], may_spend: object = None) -> Generator[Scored]:  # noqa: ARG002 - no cost
        """Yield the scores of all papers of each list, by rank among themselves and the recent ones."""
        known: dict[tuple[str, int], Features] = {}  # by paper and version
        for job in jobs:
            if job.papers:
                yield Scored(job.mailing_list.name, self._scores(job, known))

    def probe(self) -> str:
        return "no OPENAI_API_KEY and no OPENAI_BASE_URL, so the embedded scorer ranks by words; no LLM judges"

    def _scores(self, job: ToScore, known: dict[tuple[str, int], Features]) -> dict[str, Score]:
        distinct = {paper.arxiv_id: paper for paper in (*job.recent, *job.papers)}
        papers = [distinct[arxiv_id] for arxiv_id in sorted(distinct)]
        if self._index is None or self._index.papers != papers:
            self._index = _Index(papers)
        wanted, unwanted = wanted_and_unwanted(job.mailing_list.topics)
        strengths = self._index.strengths(wanted, unwanted)
        if rankers := _rankers(job):
            found = {paper.arxiv_id: _features(paper, known) for paper in papers}
            strengths = _blended(strengths, rankers, found)
        ranks = _ranks(strengths)
        relevances = {paper.arxiv_id: _relevance(ranks.get(paper.arxiv_id), len(papers)) for paper in job.papers}
        comments = self._index.comments(wanted, {key for key, value in relevances.items() if value >= _COMMENTED})
        return {
            arxiv_id: Score(relevance, novelty=None, comment=comments.get(arxiv_id, ""))
            for arxiv_id, relevance in relevances.items()
        }


def _rankers(job: ToScore) -> list[Ranker]:
    """What the list has learned and can be used."""
    found = []
    for state in job.learned:
        try:
            found.append(Ranker(state))
        except ValueError as error:
            logger.warning("%s: what it has learned is not used: %s", job.mailing_list.name, error)
    return found


def _features(paper: Paper, known: dict[tuple[str, int], Features]) -> Features:
    key = paper.arxiv_id, paper.version
    if key not in known:
        known[key] = learned.features(paper.title, paper.abstract)
    return known[key]


def _blended(words: dict[str, float], rankers: Sequence[Ranker], papers: dict[str, Features]) -> dict[str, float]:
    """Add up the strengths by words and by each ranker, in standard deviations. A paper without a shared word is as
    weak by words as the weakest with one.
    """
    standard = _standardized(words)
    weakest = min(standard.values(), default=0.0)
    blended = {arxiv_id: standard.get(arxiv_id, weakest) for arxiv_id in papers}
    for ranker in rankers:
        weight = min(_MOST, ranker.examples / _AS_GOOD_AS_WORDS)
        found = _standardized({arxiv_id: ranker.strength_of(each) for arxiv_id, each in papers.items()})
        blended = {arxiv_id: value + weight * found[arxiv_id] for arxiv_id, value in blended.items()}
    return blended


def _standardized(values: dict[str, float]) -> dict[str, float]:
    """As deviations from the mean, in standard deviations."""
    if not values:
        return {}
    mean, deviation = fmean(values.values()), pstdev(values.values()) or 1.0
    return {key: (value - mean) / deviation for key, value in values.items()}


def wanted_and_unwanted(topics: str) -> tuple[list[str], list[str]]:
    """Split topics into wanted and unwanted terms (words and adjacent word pairs), as often as they occur.

    If items of the text begin with "Relevant:", only those are wanted; otherwise all but items that begin with
    "Irrelevant:". A label on a line of its own applies to what follows. A wanted term is never unwanted.
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
    """Extract the words that are no stop words, and adjacent pairs of them within a clause."""
    terms = []
    for clause in _CLAUSE_END.split(unicodedata.normalize("NFC", _MACRO.sub(" ", text))):
        words = [w if len(w) > 1 and w.casefold() not in _STOP_WORDS else "" for w in _WORD.findall(clause)]
        terms += [word for word in words if word]
        terms += [f"{first} {second}" for first, second in pairwise(words) if first and second]
    return terms


class _Index:
    """An in-memory full-text index of titles and abstracts. A paper's row is its position."""

    def __init__(self, papers: list[Paper]) -> None:
        self.papers = papers
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
        """Return the strength by arXiv id of the papers that share a wanted word."""
        penalties = self._matches(unwanted)
        return {arxiv_id: value - penalties.get(arxiv_id, 0.0) for arxiv_id, value in self._matches(wanted).items()}

    def comments(self, wanted: Sequence[str], arxiv_ids: set[str]) -> dict[str, str]:
        """Name the wanted words that each of these papers shares, the most telling first."""
        shared: dict[str, list[tuple[float, str]]] = {arxiv_id: [] for arxiv_id in arxiv_ids}
        spelt = {term.casefold(): term for term in reversed(wanted)} if arxiv_ids else {}
        for term in spelt.values():
            for arxiv_id, value in self._matches([term]).items():
                if arxiv_id in shared:  # a pair of words is more telling than a word
                    shared[arxiv_id].append((-value * len(term.split()), term))
        return {arxiv_id: _comment(sorted(found)) for arxiv_id, found in shared.items()}

    def _matches(self, terms: Sequence[str]) -> dict[str, float]:
        """Return by arXiv id how well each paper with any of the terms matches them; more is better."""
        if not terms:
            return {}
        query = " OR ".join(f'"{term}"' for term in terms)
        found = self._db.execute("SELECT rowid, -bm25(texts) FROM texts WHERE texts MATCH ?", (query,))
        return {self.papers[row].arxiv_id: value for row, value in found}


def _comment(found: Iterable[tuple[float, str]]) -> str:
    """Name a word once, in one form: "dwarf galaxies" rules out "galaxy"."""
    names: list[str] = []
    said: set[str] = set()
    for _, term in found:
        beginnings = {word[:5] for word in term.casefold().split()}
        if len(names) < _NAMED and not beginnings & said:
            names.append(term)
            said |= beginnings
    return f"Shares with the topics: {', '.join(names)}" if names else ""


def _ranks(strengths: dict[str, float]) -> dict[str, float]:
    """Rank from 0, the strongest first. Ties share the mean of their ranks."""
    ranks: dict[str, float] = {}
    ordered = sorted(strengths, key=lambda arxiv_id: -strengths[arxiv_id])
    for _, group in groupby(ordered, key=strengths.__getitem__):
        ties = list(group)
        ranks |= dict.fromkeys(ties, len(ranks) + (len(ties) - 1) / 2)
    return ranks


def _relevance(rank: float | None, among: int) -> int:
    """Turn a rank among so many papers into 1-10. The middle of a rank counts: an only paper is average, not best."""
    if rank is None:
        return 1
    share = (rank + 0.5) / among
    return next((relevance for best, relevance in _SHARES if share <= best), 2)
