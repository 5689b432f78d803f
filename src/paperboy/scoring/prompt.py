"""`prompts/score.md.j2` → the text of one request, and the fingerprint that kept scores are keyed by.

The operator may edit the template. Loading it renders two example papers, so that a loaded `Prompt` works. Each block
gets the variable of its name and no other, so that requests share what they can. Paper texts are untrusted: each
becomes one line that can neither close its fence nor begin another paper.
"""

from __future__ import annotations

import hashlib
import os
import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from traceback import walk_tb

from jinja2 import FileSystemLoader, StrictUndefined, TemplateNotFound, TemplateSyntaxError
from jinja2.sandbox import ImmutableSandboxedEnvironment

from paperboy.errors import ConfigError
from paperboy.models import Paper, Problem

TEMPLATE = "score.md.j2"
MAX_TITLE = 300  # characters; arXiv's own limits are lower, but nothing here holds arXiv to them
MAX_ABSTRACT = 2000


@dataclass(frozen=True, slots=True)
class Question:
    """The text of one request, in the order in which it is sent."""

    system: str  # the rubric, and how to reply: the same in every request
    shared: str  # the same in several requests of the morning
    own: str

    @property
    def prefix(self) -> str:
        """The text that requests have in common if they share a prompt cache."""
        return f"{self.system}\0{self.shared}"


@dataclass(frozen=True, slots=True)
class PromptPaper:
    """A paper as the template sees it: three lines of text, safe within a fence."""

    arxiv_id: str
    title: str
    abstract: str

    @classmethod
    def of(cls, paper: Paper) -> PromptPaper:
        title, abstract = _as_data(paper.title, MAX_TITLE), _as_data(paper.abstract, MAX_ABSTRACT)
        return cls(_as_data(paper.arxiv_id, 100), title, abstract)


# For the trial of a template, and for the probe of a server.
EXAMPLE_TOPICS = "Relevant: how birds find their way."
EXAMPLES = (
    PromptPaper(
        "2611.00001",
        "How robins find their way by the stars",
        "Robins grew up under a planetarium whose sky we could turn. In autumn they followed the turned stars.",
    ),
    PromptPaper("astro-ph/0611001", "A survey of dusty disks", "Dust was found around many young stars."),
)


class Prompt:
    """The scoring prompt, read from the first of `folders` that has the template.

    Raises ConfigError if the template is missing or broken, lacks a block, or does not show the topics and each paper.
    """

    def __init__(self, folders: Sequence[Path]) -> None:
        self._folders = folders
        # The sandbox keeps an operator's template from reaching into Python.
        self._environment = ImmutableSandboxedEnvironment(
            loader=FileSystemLoader([str(folder) for folder in folders], encoding="utf-8-sig"),
            undefined=StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
        )
        try:
            self._template = self._environment.get_template(TEMPLATE)
        except Exception as error:
            raise ConfigError([self._problem(error)]) from error
        if problems := list(self._trial()):
            raise ConfigError(problems)

    def question(self, topics: str, papers: Sequence[Paper], *, papers_first: bool) -> Question:
        """Ask for a score of each paper. Raises ConfigError if the template fails on them.

        The batches of one list share its topics, which come first. `papers_first` is for papers that lists share.
        """
        return self._question(topics, [PromptPaper.of(paper) for paper in papers], papers_first=papers_first)

    def example(self) -> tuple[Question, str]:
        """Ask for the score of one invented paper; its arXiv id comes second."""
        return self._question(EXAMPLE_TOPICS, EXAMPLES[:1], papers_first=False), EXAMPLES[0].arxiv_id

    def criteria(self, topics: str) -> str:
        """Fingerprint what papers are judged by, in 16 hex digits: the words of the rubric and of the topics.

        White space and the rest of the prompt do not change it.
        """
        parts = (" ".join(part.split()) for part in (self._render("rubric"), topics))
        return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:16]

    def _question(self, topics: str, papers: Sequence[PromptPaper], *, papers_first: bool) -> Question:
        system = f"{self._render('rubric')}\n\n{self._render('reply')}"
        wanted, shown = self._render("topics", topics=topics.strip()), self._render("papers", papers=papers)
        return Question(system, shown, wanted) if papers_first else Question(system, wanted, shown)

    def _trial(self) -> Iterator[Problem]:
        """Render each block for the examples, and report what is wrong."""
        shown = [words for paper in EXAMPLES for words in (paper.arxiv_id, paper.title, paper.abstract[:20])]
        yield from self._try_block("rubric")
        yield from self._try_block("reply")
        yield from self._try_block("topics", [EXAMPLE_TOPICS], "{{ topics }}", topics=EXAMPLE_TOPICS)
        yield from self._try_block("papers", shown, "each paper's arxiv_id, title and abstract", papers=EXAMPLES)

    def _try_block(self, block: str, wanted: Sequence[str] = (), fix: str = "", **given: object) -> Sequence[Problem]:
        if block not in self._template.blocks:
            message = f"the block {block!r} is missing: {{% block {block} %}}…{{% endblock %}}"
            return [Problem(f"prompts/{TEMPLATE}", message)]
        try:
            text = " ".join(self._render(block, **given).casefold().split())
        except ConfigError as error:
            return error.problems
        if not text:
            return [Problem(f"prompts/{TEMPLATE}", f"the block {block!r} is empty; the prompt needs its words")]
        absent = [words for words in wanted if words.casefold() not in text]
        message = f"tried on examples, the block {block!r} does not show {absent[0]!r}; write {fix}" if absent else ""
        return [Problem(f"prompts/{TEMPLATE}", message)] if absent else []

    def _render(self, block: str, **variables: object) -> str:
        try:
            context = self._template.new_context(variables)
            try:
                return "".join(self._template.blocks[block](context)).strip()
            except Exception:  # noqa: BLE001 - raised again, with the template's lines in its traceback
                self._environment.handle_exception()
        except Exception as error:  # a template can raise anything
            has = f"; the block {block!r} has {' and '.join(variables) or 'no variable'}"
            raise ConfigError([self._problem(error, has if "is undefined" in str(error) else "")]) from error

    def _problem(self, error: Exception, more: str = "") -> Problem:
        """Locate an error by the traceback's frames, which Jinja names after the template's files and lines."""
        name, line = TEMPLATE, 1
        for frame, number in walk_tb(error.__traceback__):
            file = Path(frame.f_code.co_filename)
            for folder in map(os.path.normpath, self._folders):
                if file.is_relative_to(folder):
                    name, line = file.relative_to(folder).as_posix(), number
        message = " ".join(str(error).split()).replace(f"{__name__}.{PromptPaper.__name__} object", "a paper")
        if isinstance(error, TemplateNotFound):
            message = f"there is no file {error.name!r} in any of {', '.join(map(str, self._folders))}"
        elif isinstance(error, TemplateSyntaxError):
            name, line = error.name or name, error.lineno
        elif isinstance(error, UnicodeDecodeError):
            message = "is not UTF-8; save the file as UTF-8"
        elif not more and not type(error).__module__.startswith("jinja2"):
            message = f"{type(error).__name__}: {message}"
        return Problem(f"prompts/{name}:{line}", message + more)


def _as_data(text: str, limit: int) -> str:
    """Make one line, cut after a word, that cannot open or close a fence of the prompt, nor begin as a paper does."""
    text = "".join(char for char in " ".join(text.split()) if unicodedata.category(char) not in {"Cc", "Cf", "Cs"})
    line = re.sub(r"<(?=\s*/?\s*(?:papers?|topics)\b)", "‹", text.strip(), flags=re.IGNORECASE)
    line = re.sub(r"^\[", "(", line)
    if len(line) <= limit:
        return line
    return line[: limit - 1].rsplit(" ", 1)[0] + "…"
