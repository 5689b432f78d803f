"""What a list learns of papers by their words: an online logistic regression, in plain Python.
Pure.

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
_OFFSET_RATE = 0.1  # beside that
_SLOPE = 0.8  # how sure a score is, by its distance from the threshold
_TITLE = 2  # how often a title's words count
_MOST_COUNTED = (1 << 16) - 1  # examples with a bucket
_HEAD = struct.Struct("<IId")  # the examples, those of them that were labels, the offset
_WORD = re.compile(r"[^\W_]{2,}")

# Votes are few, and about papers that were chosen: without others to compare with, every word would
# be a good one.
_VOTE_RATE = 0.5
_UNVOTED = 0.15
_PASSES = 6  # over all of them, or as many as fit in _STEPS; at least one
_STEPS = 10_000

_TF = [0.0, *(1 + math.log(number) for number in range(1, 256))]  # by how often a paper has a term


class Features(NamedTuple):
    """A paper as the model sees it, in about a kilobyte."""

    buckets: array[int]
    counts: bytes  # how often each has one of the paper's terms; at most 255


class Example(NamedTuple):
    """A paper's text, and how much it was wanted: from 0 to 1. Of votes that is the share of those
    for it.
    """

    title: str
    abstract: str
    target: float | None  # None: nobody voted


def target(relevance: int, threshold: int) -> float:
    """Return how much a paper with that relevance was wanted: the farther from the threshold, the
    surer.
    """
    return _logistic(_SLOPE * (relevance - threshold + 0.5))


def train(state: bytes, examples: Iterable[Example]) -> bytes:
    """Learn more examples. `state` is empty at first."""
    weights = _Weights(state)
    for example in examples:
        found = features(example.title, example.abstract)
        weights.count(found)
        weights.learn(found, example.target or 0.0, _RATE)
    return weights.state()


def train_votes(votes: Iterable[Example]) -> bytes:
    """Learn what readers vote for, whatever the papers' order. Those without a vote count a little
    against.
    """
    weights = _Weights(b"")
    mixed = sorted(votes, key=lambda vote: crc32(vote.title.encode(errors="replace")))
    rows = [(features(vote.title, vote.abstract), vote.target) for vote in mixed]
    for found, share in rows:
        weights.count(found, is_label=share is not None)
    passes = max(1, min(_PASSES, _STEPS // len(rows)))
    for found, share in rows * passes:
        weights.learn(found, share or 0.0, _VOTE_RATE * (_UNVOTED if share is None else 1.0))
    return weights.state()


class LearnedRanker(NamedTuple):
    """Ranks papers by what was learned."""

    state: bytes

    @property
    def examples(self) -> int:
        """Return how many labels it has learned."""
        return _Weights(self.state).labels

    def strengths(self, texts: Sequence[Paper | Text]) -> list[float]:
        """Return how much each paper is wanted, as log-odds."""
        weights = _Weights(self.state)
        idf = weights.idf(range(_BUCKETS))
        strengths = []
        for found in _features_of(tuple(texts)):
            vector = _unit(found, map(idf.__getitem__, found.buckets))
            strengths.append(weights.strength(found, vector))
        return strengths


@lru_cache(
    maxsize=1
)  # lists on the same categories, which come one after the other, share a month's papers
def _features_of(texts: tuple[Paper | Text, ...]) -> list[Features]:
    return [features(text.title, text.abstract) for text in texts]


class _Weights:
    """A state, unpacked."""

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

    def count(self, found: Features, *, is_label: bool = True) -> None:
        """Note in which buckets an example has something."""
        self._examples += 1
        self.labels += is_label
        counts = self._counts
        for bucket in found.buckets:
            if counts[bucket] < _MOST_COUNTED:
                counts[bucket] += 1

    def idf(self, buckets: Iterable[int]) -> list[float]:
        """Return these buckets' inverse document frequencies, by the counts so far."""
        examples = self._examples + 1
        counts = self._counts
        log = math.log
        return [1 + log(max(1.0, examples / (counts[bucket] + 1))) for bucket in buckets]

    def strength(self, found: Features, vector: list[float]) -> float:
        """Return how much a paper with these features is wanted, as log-odds."""
        return self._offset + float(
            sum(map(mul, vector, map(self._weights.__getitem__, found.buckets)))
        )

    def learn(self, found: Features, wanted: float, rate: float) -> None:
        """Take one step towards what was wanted."""
        vector = _unit(found, self.idf(found.buckets))
        step = rate * (wanted - _logistic(self.strength(found, vector)))
        for bucket, value in zip(found.buckets, vector, strict=True):
            self._weights[bucket] += step * value
        self._offset += _OFFSET_RATE * step


def features(title: str, abstract: str) -> Features:
    """Count how often each bucket's words and pairs occur."""
    found: Counter[int] = Counter()
    for text, times in ((title, _TITLE), (abstract, 1)):
        plain = unicodedata.normalize("NFKC", text[:_LONGEST]).casefold()
        words = [word.encode() for word in _WORD.findall(plain)]
        of_words = list(map(crc32, words))
        of_pairs = map(
            crc32, [b" " + word for word in words[1:]], of_words
        )  # goes on from the first word's
        found.update([value % _BUCKETS for value in (*of_words, *of_pairs)] * times)
    return Features(array("H", found), bytes(min(number, 255) for number in found.values()))


def _unit(found: Features, idf: Iterable[float]) -> list[float]:
    """Return the features by TF-IDF, of length 1."""
    values = [_TF[number] * value for number, value in zip(found.counts, idf, strict=True)]
    length = math.sqrt(sum(value * value for value in values)) or 1.0
    return [value / length for value in values]


def _logistic(value: float) -> float:
    return 1 / (1 + math.exp(-max(-30.0, min(30.0, value))))
