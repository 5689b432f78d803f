"""`prompts/score.md.j2` → the text of one request, and the fingerprint that kept scores are keyed
by.

The operator may edit the template. Loading it renders two example papers, so that a loaded `Prompt`
works. Each block gets the variable of its name and no other, so that requests share what they can;
only `topics` also gets `names` and `language`, which belong to a list as they do. Paper texts are
untrusted: each becomes one line that can neither close its fence nor begin another paper.
"""

import hashlib
from collections.abc import Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

from paperboy.errors import ConfigError
from paperboy.models import Paper
from paperboy.scoring.reply import SCHEMA, SCHEMA_WITH_TOPICS, clean_comment, read_arrays
from paperboy.scoring.template import ANOTHER, ENGLISH, Template, as_data
from paperboy.topics import read

TEMPLATE = "score.md.j2"

# In place of topics, before the titles of a library: here, since a template of 1.0 shows topics alone.
_LIKE = """\
The reader has given no topics, but papers that they like. A paper fits as far as it asks the same questions, studies \
the same objects or develops the same methods as some of them. Where a comment would name a topic, name such a \
question, object or method in your own words. These titles are private: never quote or name one in a comment.
Papers like these:"""


class Question(NamedTuple):
    """Text of one request, in the order in which it is sent."""

    system: str  # the rubric, and how to reply: the same in every request
    shared: str  # the same in several requests of the morning
    own: str
    schema: Mapping[str, Any] = SCHEMA  # of the reply in JSON, an object with one array
    papers: int = 0  # to be scored


# For the trial of a template, and for the probe of a server: the first id belongs to no paper, whose
# failure would pass for the server's.
EXAMPLE_TOPICS = "Relevant: how birds find their way."
EXAMPLE_NAMES = ("Birds", "Dust")
EXAMPLES = (
    {
        "arxiv_id": "2699.00001",
        "title": "How robins find their way",
        "abstract": "Robins grew up under a turned sky.",
    },
    {
        "arxiv_id": "astro-ph/0611001",
        "title": "A survey of dusty disks",
        "abstract": "We found dust around stars.",
    },
)


class Prompt(Template):
    """Scoring prompt, read from the first of `folders` that has the template. `examples` are the
    comments that it shows as examples.

    Raises ConfigError if the template is missing or broken, lacks a block, or does not show the
    topics and each paper.
    """

    def __init__(self, folders: Sequence[Path]) -> None:
        super().__init__(folders, TEMPLATE)
        words = [text[:25] for paper in EXAMPLES for text in paper.values()]
        fields = "each paper's arxiv_id, title and abstract"
        topics = EXAMPLE_TOPICS
        problems = [
            *self.try_block("rubric"),
            *self.try_block("reply"),
            *self.try_block(
                "topics",
                [topics],
                "{{ topics }}",
                topics=topics,
                names=(),
                language=ENGLISH,
            ),
            *self.try_block("topics", topics=topics, names=EXAMPLE_NAMES, language=ANOTHER),
            *self.try_block("papers", words, fields, papers=EXAMPLES),
        ]
        if problems:
            raise ConfigError(list(dict.fromkeys(problems)))

        # One schema for all lists, whose requests share a provider's cache. A prompt of 1.0 does not
        # show the names, and a server must not make its model invent numbers for them.
        trial = self.render("topics", topics=topics, names=EXAMPLE_NAMES, language=ENGLISH)
        shows_names = all(name in trial for name in EXAMPLE_NAMES)
        self._schema = SCHEMA_WITH_TOPICS if shows_names else SCHEMA
        self._rubric = self.render("rubric")
        reply = self.render("reply")
        self._system = f"{self._rubric}\n\n{reply}"

        # Small models copy them.
        entries = chain.from_iterable(read_arrays(reply, len(reply)))
        comments = {clean_comment(str(entry.get("comment", ""))) for entry in entries}
        self.examples = frozenset(comments - {""})

    def question(
        self,
        topics: str,
        papers: Sequence[Paper],
        *,
        papers_first: bool,
        language: str = ENGLISH,
        titles: Sequence[str] = (),
    ) -> Question:
        """Ask for a score of each paper. Raises ConfigError if the template fails on them.

        The batches of one list share its topics, which come first. `papers_first` is for papers
        that lists share. `titles` of liked papers stand in for topics.
        """
        fields = [
            {
                "arxiv_id": paper.id,
                "title": as_data(paper.title),
                "abstract": as_data(paper.abstract) or "(no abstract)",
            }
            for paper in papers
        ]
        papers_block = self.render("papers", papers=fields)
        topics_block = self._topics(topics, language, titles)
        return Question(
            system=self._system,
            shared=papers_block if papers_first else topics_block,
            own=topics_block if papers_first else papers_block,
            schema=self._schema,
            papers=len(papers),
        )

    def example(self) -> tuple[Question, str]:
        """Ask for the score of one invented paper; its id comes second."""
        topics_block = self._topics(EXAMPLE_TOPICS, ENGLISH)
        papers_block = self.render("papers", papers=EXAMPLES[:1])
        question = Question(self._system, topics_block, papers_block, self._schema, papers=1)
        return question, EXAMPLES[0]["arxiv_id"]

    def criteria(self, topics: str, language: str = ENGLISH, titles: Sequence[str] = ()) -> str:
        """Fingerprint a list's criteria, in 16 hex digits: the words of the rubric and of the
        topics or titles, and the language of the comments if it is not English.

        White space and the rest of the prompt do not change it.
        """
        parts = [" ".join(part.split()) for part in (self._rubric, topics, *titles)]
        if language != ENGLISH:
            parts.append(language)
        return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:16]

    def _topics(self, topics: str, language: str, titles: Sequence[str] = ()) -> str:
        names = [as_data(name) for name in read(topics).names]
        if titles:
            topics = "\n- ".join([_LIKE, *map(as_data, titles)])
        if len(names) < 2:  # a choice of one says nothing
            names = []
        return self.render("topics", topics=topics.strip(), names=names, language=language)
