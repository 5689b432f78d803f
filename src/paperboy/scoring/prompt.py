"""`prompts/score.md.j2` → the text of one request, and the fingerprint that kept scores are keyed
by.

The operator may edit the template. Loading it renders two example papers, so that a loaded `Prompt`
works. Each block gets the variable of its name and no other, so that requests share what they can;
only `topics` also gets `language`, which belongs to a list as they do. Paper texts are untrusted:
each becomes one line that can neither close its fence nor begin another paper.
"""

import hashlib
import re
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

from jinja2 import StrictUndefined, TemplateSyntaxError
from jinja2.loaders import split_template_path

from paperboy.edges import files, sandbox
from paperboy.edges.text import one_line, shortened
from paperboy.errors import ConfigError
from paperboy.models import Paper, Problem

TEMPLATE = "score.md.j2"
ENGLISH = "en"
_ANOTHER = "de"
MAX_FIELD = 2000  # characters of a title or an abstract


class Question(NamedTuple):
    """Text of one request, in the order in which it is sent."""

    system: str  # the rubric, and how to reply: the same in every request
    shared: str  # the same in several requests of the morning
    own: str


# For the trial of a template, and for the probe of a server.
EXAMPLE_TOPICS = "Relevant: how birds find their way."
EXAMPLES = (
    {
        "arxiv_id": "2611.00001",
        "title": "How robins find their way",
        "abstract": "Robins grew up under a turned sky.",
    },
    {
        "arxiv_id": "astro-ph/0611001",
        "title": "A survey of dusty disks",
        "abstract": "We found dust around stars.",
    },
)


class Prompt:
    """Scoring prompt, read from the first of `folders` that has the template.

    Raises ConfigError if the template is missing or broken, lacks a block, or does not show the
    topics and each paper.
    """

    def __init__(self, folders: Sequence[Path]) -> None:
        self._sandbox = sandbox.Sandbox(
            "prompts",
            partial(_source, folders),
            undefined=StrictUndefined,
        )
        words = [text[:25] for paper in EXAMPLES for text in paper.values()]
        fields = "each paper's arxiv_id, title and abstract"
        topics = EXAMPLE_TOPICS
        problems = [
            *self._try_block("rubric"),
            *self._try_block("reply"),
            *self._try_block(
                "topics",
                [topics],
                "{{ topics }}",
                topics=topics,
                language=ENGLISH,
            ),
            *self._try_block("topics", topics=topics, language=_ANOTHER),
            *self._try_block("papers", words, fields, papers=EXAMPLES),
        ]
        if problems:
            raise ConfigError(list(dict.fromkeys(problems)))

        self._rubric = self._render("rubric")
        self._system = f"{self._rubric}\n\n{self._render('reply')}"

    def question(
        self,
        topics: str,
        papers: Sequence[Paper],
        *,
        papers_first: bool,
        language: str = ENGLISH,
    ) -> Question:
        """Ask for a score of each paper. Raises ConfigError if the template fails on them.

        The batches of one list share its topics, which come first. `papers_first` is for papers
        that lists share.
        """
        fields = [
            {
                "arxiv_id": paper.id,
                "title": _as_data(paper.title),
                "abstract": _as_data(paper.abstract),
            }
            for paper in papers
        ]
        papers_block = self._render("papers", papers=fields)
        topics_block = self._render("topics", topics=topics.strip(), language=language)
        if papers_first:
            return Question(self._system, shared=papers_block, own=topics_block)
        return Question(self._system, shared=topics_block, own=papers_block)

    def example(self) -> tuple[Question, str]:
        """Ask for the score of one invented paper; its id comes second."""
        topics_block = self._render("topics", topics=EXAMPLE_TOPICS, language=ENGLISH)
        papers_block = self._render("papers", papers=EXAMPLES[:1])
        question = Question(self._system, shared=topics_block, own=papers_block)
        return question, EXAMPLES[0]["arxiv_id"]

    def criteria(self, topics: str, language: str = ENGLISH) -> str:
        """Fingerprint a list's criteria, in 16 hex digits: the words of the rubric and of the
        topics, and the language of the comments if it is not English.

        White space and the rest of the prompt do not change it.
        """
        parts = [" ".join(part.split()) for part in (self._rubric, topics)]
        if language != ENGLISH:
            parts.append(language)
        return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:16]

    def _try_block(
        self,
        block: str,
        wanted: Sequence[str] = (),
        fix: str = "",
        **given: object,
    ) -> Sequence[Problem]:
        """Render a block for the examples, and return what is wrong."""
        place = f"prompts/{TEMPLATE}"
        try:
            text = " ".join(self._render(block, **given).casefold().split())
        except ConfigError as error:
            return error.problems

        if not text:
            return [Problem(place, f"the block {block!r} is empty; the prompt needs its words")]

        for words in wanted:
            if words.casefold() not in text:
                message = (
                    f"tried on examples, the block {block!r} does not show {words!r}; write {fix}"
                )
                return [Problem(place, message)]

        return []

    def _render(self, block: str, **variables: object) -> str:
        return self._sandbox.text(TEMPLATE, block, **variables).strip()


def _source(folders: Sequence[Path], name: str) -> str | None:
    for folder in folders:
        try:
            return files.read_text(folder.joinpath(*split_template_path(name)))
        except FileNotFoundError:
            continue
        except ValueError as error:
            raise TemplateSyntaxError(str(error), 1, name) from error
    return None


def _as_data(text: str) -> str:
    """Make one line that cannot open or close a fence of the prompt, nor begin as a paper does."""
    line = re.sub(r"<(?=\s*/?\s*(?:papers?|topics)\b)", "‹", one_line(text), flags=re.IGNORECASE)
    return shortened(re.sub(r"^\[", "(", line), MAX_FIELD)
