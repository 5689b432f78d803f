"""What a list learns of papers by their words: an online logistic regression, in plain Python. Pure.

A paper is its words and adjacent pairs of them, hashed into a fixed number of buckets and weighted by TF-IDF. A state
is bytes: the weights, and in how many examples each bucket occurred. The same examples in the same order give the same
state, whether they are learned at once or in pieces.
"""

from __future__ import annotations

import math
import re
import struct
import sys
import unicodedata
from array import array
from collections.abc import Iterable
from itertools import pairwise
from typing import NamedTuple
from zlib import crc32

from paperboy.models import Paper

FEATURES = "words and pairs, 1"  # change it whenever the same examples would give another state

_BUCKETS = 1 << 15
_LONGEST = 20_000  # characters of a text that count
_RATE = 2.0  # how far one example moves the weights
_OFFSET_RATE = 0.1  # beside that
_SLOPE = 0.8  # how sure a score is, by its distance from the threshold
_TITLE = 2  # how often a title's words count
_MOST_COUNTED = (1 << 16) - 1  # examples with a bucket
_MARK = b"learned1"
_SEAL = struct.Struct("<8sI")  # the mark, the checksum of what follows
_HEAD = struct.Struct("<IIf")  # the examples, those of them that were labels, the offset
_BODY = _HEAD.size + _BUCKETS * (4 + 2)
_WORD = re.compile(r"[^\W_]{2,}")

# Votes are few, and about papers that were chosen: without others to compare with, every word would be a good one.
_VOTE_PASSES, _VOTE_RATE, _UNVOTED = 3, 0.25, 0.15

_Features = dict[int, float]  # by bucket


class Example(NamedTuple):
    """A paper's text, and how much it was wanted: from 0 to 1."""

    title: str
    abstract: str
    target: float


class Vote(NamedTuple):
    """A paper's text, and the share of votes for it. None: nobody voted."""

    title: str
    abstract: str
    share: float | None


def target(relevance: int, threshold: int) -> float:
    """How much a paper with that relevance was wanted: the farther from the threshold, the surer."""
    return _logistic(_SLOPE * (relevance - threshold + 0.5))


def train(state: bytes, examples: Iterable[Example]) -> bytes:
    """Learn more examples. `state` is empty at first. Raises ValueError for one that is spoilt."""
    weights = _Weights(state)
    for each in examples:
        counted = _counted(each.title, each.abstract)
        weights.count(counted)
        weights.learn(weights.vector(counted), each.target, _RATE)
    return weights.state()


def train_votes(votes: Iterable[Vote]) -> bytes:
    """Learn what readers vote for. Papers without a vote count a little against."""
    weights = _Weights(b"")
    counted = [(_counted(each.title, each.abstract), each.share) for each in votes]
    for features, share in counted:
        weights.count(features, is_label=share is not None)
    vectors = [(weights.vector(features), share) for features, share in counted]
    for _ in range(_VOTE_PASSES):
        for vector, share in vectors:
            weights.learn(vector, share or 0.0, _VOTE_RATE * (_UNVOTED if share is None else 1.0))
    return weights.state()


def is_sound(state: bytes) -> bool:
    """Whether a state can be used."""
    try:
        _Weights(state)
    except ValueError:
        return False
    return True


class Ranker:
    """Ranks papers by what was learned. Raises ValueError for a state that is spoilt."""

    def __init__(self, state: bytes) -> None:
        self._weights = _Weights(state)

    @property
    def examples(self) -> int:
        """How many labels it has learned."""
        return self._weights.labels

    def strength(self, paper: Paper) -> float:
        """How much the paper is wanted, as log-odds."""
        return self._weights.strength(self._weights.vector(_counted(paper.title, paper.abstract)))


class _Weights:
    """A state, unpacked."""

    def __init__(self, state: bytes) -> None:
        self._weights, self._counts = array("f", bytes(4 * _BUCKETS)), array("H", bytes(2 * _BUCKETS))
        self.examples, self.labels, self._offset = 0, 0, 0.0
        if not state:
            return
        body = state[_SEAL.size :]
        if len(body) != _BODY or state[: _SEAL.size] != _SEAL.pack(_MARK, crc32(body)):
            raise ValueError(f"its {len(state)} bytes are no state, or a spoilt one")
        self.examples, self.labels, self._offset = _HEAD.unpack_from(body)
        middle = _HEAD.size + 4 * _BUCKETS
        self._weights, self._counts = array("f", body[_HEAD.size : middle]), array("H", body[middle:])
        _swap(self._weights, self._counts)

    def state(self) -> bytes:
        weights, counts = self._weights[:], self._counts[:]
        _swap(weights, counts)
        body = _HEAD.pack(self.examples, self.labels, self._offset) + weights.tobytes() + counts.tobytes()
        return _SEAL.pack(_MARK, crc32(body)) + body

    def count(self, features: _Features, *, is_label: bool = True) -> None:
        """Note in which buckets an example has something."""
        self.examples, self.labels = self.examples + 1, self.labels + is_label
        for bucket in features:
            if self._counts[bucket] < _MOST_COUNTED:
                self._counts[bucket] += 1

    def vector(self, features: _Features) -> _Features:
        """The features by TF-IDF, of length 1."""
        examples, counts = self.examples + 1, self._counts
        found = {
            bucket: (1 + math.log(number)) * (1 + math.log(max(1.0, examples / (counts[bucket] + 1))))
            for bucket, number in features.items()
        }
        length = math.sqrt(sum(value * value for value in found.values())) or 1.0
        return {bucket: value / length for bucket, value in found.items()}

    def strength(self, vector: _Features) -> float:
        weights = self._weights
        return self._offset + sum(weights[bucket] * value for bucket, value in vector.items())

    def learn(self, vector: _Features, wanted: float, rate: float) -> None:
        """One step towards what was wanted."""
        step, weights = rate * (wanted - _logistic(self.strength(vector))), self._weights
        for bucket, value in vector.items():
            weights[bucket] += step * value
        self._offset = _as_float32(self._offset + _OFFSET_RATE * step)


def _counted(title: str, abstract: str) -> _Features:
    """How often each bucket's words and pairs occur."""
    found: _Features = {}
    for text, times in ((title, _TITLE), (abstract, 1)):
        words = _WORD.findall(unicodedata.normalize("NFKC", text[:_LONGEST]).casefold())
        for term in (*words, *map(" ".join, pairwise(words))):
            bucket = crc32(term.encode(errors="replace")) % _BUCKETS
            found[bucket] = found.get(bucket, 0) + times
    return found


def _logistic(value: float) -> float:
    return 1 / (1 + math.exp(-max(-30.0, min(30.0, value))))


def _as_float32(value: float) -> float:
    """So that a state that was packed goes on as one that was not."""
    return array("f", [value])[0]


def _swap(*arrays: array[float] | array[int]) -> None:
    """States are little-endian, as most machines are."""
    if sys.byteorder == "big":
        for each in arrays:
            each.byteswap()
