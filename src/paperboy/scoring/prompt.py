"""`prompts/score.md.j2` → the words of one request, and the fingerprint that kept scores are keyed by.

The template is the operator's to edit. Loading it renders it once on a sample, so that a `Prompt` that exists works.
Paper texts are untrusted: each becomes one line that can neither close the fence it stands in nor begin another paper.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType

from jinja2 import (
    Environment,
    FileSystemLoader,
    StrictUndefined,
    Template,
    TemplateNotFound,
    TemplateSyntaxError,
    nodes,
)
from jinja2.runtime import Context
from jinja2.sandbox import ImmutableSandboxedEnvironment

from paperboy.errors import ConfigError
from paperboy.models import Paper, Problem

TEMPLATE = "score.md.j2"
BLOCKS = ("rubric", "reply", "topics", "papers")
VARIABLES = frozenset({"topics", "papers"})
MAX_TITLE = 300  # characters; arXiv's own limits are lower, but nothing here holds arXiv to them
MAX_ABSTRACT = 2000


@dataclass(frozen=True, slots=True)
class Question:
    """The words of one request, in the order in which they are sent."""

    system: str  # the rubric, and how to reply: the same in every request
    shared: str  # what other requests of the morning say here, too, word for word
    own: str

    @property
    def prefix(self) -> str:
        """How the requests begin that share a prompt cache with this one."""
        return f"{self.system}\0{self.shared}"

    @property
    def size(self) -> int:
        """In bytes of UTF-8."""
        return sum(len(part.encode()) for part in (self.system, self.shared, self.own))


@dataclass(frozen=True, slots=True)
class PromptPaper:
    """What the template sees of a paper: three lines of text, safe to stand in a fence."""

    arxiv_id: str
    title: str
    abstract: str

    @classmethod
    def of(cls, paper: Paper) -> PromptPaper:
        title, abstract = _as_data(paper.title, MAX_TITLE), _as_data(paper.abstract, MAX_ABSTRACT)
        return cls(_as_data(paper.arxiv_id, 100), title, abstract)


SAMPLE = PromptPaper("2611.00001", "A title", "An abstract.")


class Prompt:
    """The scoring prompt, read from the first of `folders` that has the template.

    Raises ConfigError with every problem found when the template is missing or broken, lacks a block, has text
    outside its blocks, or names an unknown variable.
    """

    def __init__(self, folders: Sequence[Path]) -> None:
        self._loader = FileSystemLoader([str(folder) for folder in folders])
        # An operator's template may word a prompt; it may not reach into Python.
        self._environment = ImmutableSandboxedEnvironment(
            loader=self._loader,
            undefined=StrictUndefined,
            autoescape=False,
            trim_blocks=True,
            lstrip_blocks=True,
        )
        self._template = self._load(folders)
        self._render(BLOCKS, topics="Sample topics.", papers=[SAMPLE])

    def question(self, topics: str, papers: Sequence[Paper], *, papers_first: bool) -> Question:
        """What asks for a score of each of the papers.

        The topics come before the papers, since they are what the batches of one list share; where several lists ask
        for the same papers, `papers_first` turns that round. Raises ConfigError where the template fails on them.
        """
        shown = [PromptPaper.of(paper) for paper in papers]
        text = self._render(BLOCKS, topics=topics.strip(), papers=shown)
        system = f"{text['rubric']}\n\n{text['reply']}"
        if papers_first:
            return Question(system, text["papers"], text["topics"])
        return Question(system, text["topics"], text["papers"])

    def criteria(self, topics: str) -> str:
        """A fingerprint (16 hex digits) of what papers are judged by: the rubric's words and the topics'.

        It is the same however the rest of the prompt is laid out and whatever the white space.
        """
        rubric = self._render(("rubric",), topics=topics.strip(), papers=[])["rubric"]
        parts = (" ".join(part.split()) for part in (rubric, topics))
        return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:16]

    def _load(self, folders: Sequence[Path]) -> Template:
        try:
            source = self._loader.get_source(self._environment, TEMPLATE)[0]
            problems = list(_problems(self._environment.parse(source, TEMPLATE), self._environment))
            if problems:
                raise ConfigError(problems)
            return self._environment.get_template(TEMPLATE)
        except TemplateNotFound as error:
            where = ", ".join(str(folder) for folder in folders)
            raise ConfigError([Problem(f"prompts/{error.name}", f"no such file in any of {where}")]) from error
        except TemplateSyntaxError as error:
            raise ConfigError([_problem(error.lineno, str(error.message), error.name)]) from error
        except (OSError, UnicodeDecodeError) as error:
            raise ConfigError([Problem(f"prompts/{TEMPLATE}", f"cannot be read: {error}")]) from error

    def _render(self, blocks: Sequence[str], **variables: object) -> Mapping[str, str]:
        context = self._template.new_context(dict(variables))
        try:
            return {name: self._block(name, context) for name in blocks}
        except Exception as error:  # a template can raise anything, and all of it is the template's fault
            name, line = self._innermost(error)
            raise ConfigError([_problem(line, f"{type(error).__name__}: {error}", name)]) from error

    def _block(self, name: str, context: Context) -> str:
        try:
            return "".join(self._template.blocks[name](context)).strip()
        except Exception:  # noqa: BLE001 - raised again, with the template's lines in its traceback
            self._environment.handle_exception()

    def _innermost(self, error: BaseException) -> tuple[str, int]:
        """The template and line in which an error arose: Jinja puts them into the traceback's frames."""
        place = (TEMPLATE, 1)
        templates = self._environment.list_templates(extensions=["j2"])
        names = {self._loader.get_source(self._environment, name)[1]: name for name in templates}
        step: TracebackType | None = error.__traceback__
        while step is not None:
            if (name := names.get(step.tb_frame.f_code.co_filename)) is not None:
                place = (name, step.tb_lineno)
            step = step.tb_next
        return place


def _problem(line: int, message: str, name: str | None = None) -> Problem:
    return Problem(f"prompts/{name or TEMPLATE}:{line}", message)


def _problems(tree: nodes.Template, environment: Environment) -> Iterator[Problem]:
    """What can be said of a template without rendering it, in the order of its lines where there are any."""
    for node in tree.body:
        if isinstance(node, nodes.Output):
            for part in node.nodes:
                if not isinstance(part, nodes.TemplateData) or part.data.strip():
                    yield _problem(_line_of_text(part), "text outside the blocks is never sent; move it into one")
    blocks = {block.name for block in tree.find_all(nodes.Block)}
    if missing := [name for name in BLOCKS if name not in blocks]:
        yield _problem(1, f"the block {missing[0]!r} is missing: {{% block {missing[0]} %}}…{{% endblock %}}")
    known = VARIABLES | {name.name for name in tree.find_all(nodes.Name) if name.ctx in {"store", "param"}}
    known |= {"loop", "self", "super"} | set(environment.globals)
    for name in tree.find_all(nodes.Name):
        if name.ctx == "load" and name.name not in known:
            yield _problem(name.lineno, f"unknown variable {name.name!r}; there are {', '.join(sorted(VARIABLES))}")


def _line_of_text(part: nodes.Node) -> int:
    """The line of a node's first word: a text node may open with empty lines."""
    text = part.data if isinstance(part, nodes.TemplateData) else ""
    return part.lineno + text[: len(text) - len(text.lstrip())].count("\n")


def _as_data(text: str, limit: int) -> str:
    """One line, at most `limit` characters, cut at a word's end, that cannot open or close a fence of the prompt, nor
    begin as a paper does.
    """
    text = "".join(char for char in " ".join(text.split()) if unicodedata.category(char) not in {"Cc", "Cf", "Cs"})
    line = re.sub(r"<(?=\s*/?\s*(?:papers?|topics)\b)", "‹", text.strip(), flags=re.IGNORECASE)
    line = re.sub(r"^\[", "(", line)
    if len(line) <= limit:
        return line
    return line[: limit - 1].rsplit(" ", 1)[0] + "…"
