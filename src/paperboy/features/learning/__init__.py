"""What lists learn: which papers are worth an LLM's call, what readers may like, and a ranking for the embedded scorer.

It learns from an LLM's scores and from readers' votes, beside the morning; a random sample measures what it misses.
"""

from paperboy.features.learning.tables import TABLES
from paperboy.service.feature import Feature, lazily

FEATURE = Feature(
    name="learning",
    tables=TABLES,
    learned=lazily("learning.learning", "learned"),
    frozen=lazily("learning.learning", "frozen"),
    tasks={"learning": lazily("learning.learning", "work")},
    words=lazily("learning.learning", "words"),
    status=lazily("learning.learning", "status"),
    why=lazily("learning.learning", "why"),
)
