"""An online logistic regression over the words of papers, in plain Python. Pure.

A paper is its words and adjacent pairs of them, hashed into a fixed number of buckets and weighted
by TF-IDF. A state is bytes: the weights, and in how many examples each bucket occurred. The same
examples in the same order give the same state, whether they are learned at once or in pieces.
"""

from __future__ import annotations

import math
import re
import struct
import unicodedata
from array import array
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import lru_cache
from operator import mul
from typing import NamedTuple
from zlib import crc32

from paperboy.models import Paper, Text

FEATURES = "words and pairs, 1"  # change it whenever the same examples would give another state

_BUCKETS = 1 << 15
_LONGEST = 20_000  # characters of a text that count
_RATE = 2.0  # how far one example moves the weights
_OFFSET_RATE = 0.1  # how far it moves the offset, relative to that
_SLOPE = 0.8  # how sure a score is, by its distance from the threshold
_TITLE = 2  # how often a title's words count
_MOST_COUNTED = (1 << 16) - 1  # examples with a bucket
_HEAD = struct.Struct("<IId")  # examples, those of them with a label, the offset
_WORD = re.compile(r"[^\W_]{2,}")

# Likes (votes, or papers of a library) are few: without other papers to compare with, every word
# would count in favour.
_LIKE_RATE = 0.5
_OTHER = 0.15  # the weight of a paper that nobody voted on
_START = 8.0  # the initial weights are this many times the mean of the liked papers
_PASSES = 6  # over all examples, or as many as fit in _STEPS; at least one
_STEPS = 10_000

# Scores and votes: examples after which a ranking weighs as much as the topics' words, and its
# largest weight.
_AS_GOOD_AS_WORDS = 200
_MOST = 4.0
# A library holds the best papers of years, a vote only one of a day's: so five papers of a library
# already weigh half as much as the topics' words, and twenty as much.
LEAST_LIKES = 5
_LIKES_AS_GOOD_AS_WORDS = 20

_TF = [0.0, *(1 + math.log(number) for number in range(1, 256))]  # by how often a paper has a term


class Features(NamedTuple):
    """Terms of a paper, hashed: about a kilobyte."""

    buckets: array[int]
    counts: bytes  # of the paper's terms in each bucket; at most 255


class Example(NamedTuple):
    """Text of a paper and its label."""

    title: str
    abstract: str
    target: float | None  # how much it was wanted, from 0 to 1; None: unknown


def target(relevance: int, threshold: int) -> float:
    """Return how much a paper with that relevance was wanted, from 0 to 1: the farther from the
    threshold, the surer.
    """
    return _logistic(_SLOPE * (relevance - threshold + 0.5))


def train(state: bytes, examples: Iterable[Example]) -> bytes:
    """Return the state after more examples. `state` is empty at first."""
    weights = _Weights(state)
    for example in examples:
        paper = features(example.title, example.abstract)
        weights.count(paper)
        weights.learn(paper, example.target or 0.0, _RATE)
    return weights.state()


def train_likes(examples: Iterable[Example]) -> bytes:
    """Return a state from likes, whatever their order: `target` is the share of upvotes among its
    votes, or 1 for papers of the library. Papers without a target count a little as dislikes.
    """
    weights = _Weights(b"")
    mixed = sorted(examples, key=lambda one: crc32(one.title.encode(errors="replace")))
    rows = [(features(one.title, one.abstract), one.target) for one in mixed]
    for paper, share in rows:
        weights.count(paper, is_label=share is not None)

    targets = [share for _, share in rows if share is not None]
    if min(targets, default=0.0) > 0.5:  # there are no dislikes, which tell more
        weights.start([paper for paper, share in rows if share is not None])
    passes = max(1, min(_PASSES, _STEPS // len(rows)))
    for paper, share in rows * passes:
        if share is None:
            weights.learn(paper, 0.0, _LIKE_RATE * _OTHER)
        else:
            weights.learn(paper, share, _LIKE_RATE)
    return weights.state()


class LearnedRanker(NamedTuple):
    """Ranker with learned weights."""

    state: bytes
    of_library: bool = False

    @property
    def weight(self) -> float:
        """Return its weight relative to the topics' words."""
        if not self.of_library:
            return min(_MOST, self.examples / _AS_GOOD_AS_WORDS)
        growth = (self.examples - LEAST_LIKES) / (_LIKES_AS_GOOD_AS_WORDS - LEAST_LIKES)
        return 0.5 + 0.5 * min(1.0, growth)

    @property
    def examples(self) -> int:
        """Return the number of examples with a label that it has learned."""
        return _Weights(self.state).labels

    def strengths(self, texts: Sequence[Paper | Text]) -> list[float]:
        """Return how much each paper is wanted, as log-odds."""
        weights = _Weights(self.state)
        idf = weights.idf(range(_BUCKETS))

        strengths = []
        for paper in _features_of(tuple(texts)):
            vector = _unit(paper, [idf[bucket] for bucket in paper.buckets])
            strengths.append(weights.strength(paper, vector))
        return strengths


# Lists on the same categories come one after the other and share a month's papers.
@lru_cache(maxsize=1)
def _features_of(texts: tuple[Paper | Text, ...]) -> list[Features]:
    return [features(text.title, text.abstract) for text in texts]


class _Weights:
    """State, unpacked."""

    labels: int
    _offset: float

    def __init__(self, state: bytes) -> None:
        middle = _HEAD.size + 4 * _BUCKETS
        state = state or bytes(middle + 2 * _BUCKETS)
        self._examples, self.labels, self._offset = _HEAD.unpack_from(state)
        self._weights = array("f", state[_HEAD.size : middle])
        self._counts = array("H", state[middle:])

    def state(self) -> bytes:
        head = _HEAD.pack(self._examples, self.labels, self._offset)
        return head + self._weights.tobytes() + self._counts.tobytes()

    def count(self, paper: Features, *, is_label: bool = True) -> None:
        """Count an example in each of its buckets."""
        self._examples += 1
        self.labels += is_label
        counts = self._counts
        for bucket in paper.buckets:
            if counts[bucket] < _MOST_COUNTED:
                counts[bucket] += 1

    def idf(self, buckets: Iterable[int]) -> list[float]:
        """Return these buckets' inverse document frequencies, by the counts so far."""
        examples = self._examples + 1
        counts = self._counts
        log = math.log
        return [1 + log(max(1.0, examples / (counts[bucket] + 1))) for bucket in buckets]

    def strength(self, paper: Features, vector: list[float]) -> float:
        """Return how much a paper with this vector is wanted, as log-odds."""
        weights = map(self._weights.__getitem__, paper.buckets)
        return self._offset + float(sum(map(mul, vector, weights)))

    def start(self, liked: Sequence[Features]) -> None:
        """Start at the mean of the liked papers: with few, it tells more than training steps."""
        for paper in liked:
            vector = _unit(paper, self.idf(paper.buckets))
            for bucket, value in zip(paper.buckets, vector, strict=True):
                self._weights[bucket] += _START * value / len(liked)

    def learn(self, paper: Features, wanted: float, rate: float) -> None:
        """Take one step towards what was wanted."""
        vector = _unit(paper, self.idf(paper.buckets))
        step = rate * (wanted - _logistic(self.strength(paper, vector)))
        for bucket, value in zip(paper.buckets, vector, strict=True):
            self._weights[bucket] += step * value
        self._offset += _OFFSET_RATE * step


def features(title: str, abstract: str) -> Features:
    """Count the words and pairs of a paper in each bucket."""
    counts: Counter[int] = Counter()
    for text, times in ((title, _TITLE), (abstract, 1)):
        plain = unicodedata.normalize("NFKC", text[:_LONGEST]).casefold()
        words = [word.encode() for word in _WORD.findall(plain)]
        hashes = list(map(crc32, words))
        # A pair's hash goes on from that of its first word.
        hashes += map(crc32, [b" " + word for word in words[1:]], hashes[:-1])
        counts.update([value % _BUCKETS for value in hashes] * times)
    return Features(array("H", counts), bytes(min(number, 255) for number in counts.values()))


def _unit(paper: Features, idf: Iterable[float]) -> list[float]:
    """Return the paper's TF-IDF vector, of length 1."""
    values = [_TF[number] * value for number, value in zip(paper.counts, idf, strict=True)]
    length = math.sqrt(sum(value * value for value in values)) or 1.0
    return [value / length for value in values]


def _logistic(value: float) -> float:
    return 1 / (1 + math.exp(-max(-30.0, min(30.0, value))))
