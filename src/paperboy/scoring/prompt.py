"""`prompts/score.md.j2` → the words of one request, and the fingerprint that kept scores are keyed by.

The template is the operator's to edit. Loading it tries it on marked papers and topics, as few and as many as a morning
may bring, so that a `Prompt` that exists works. Each block is given the variable of its name and no other, so that
requests share what they can: a rubric cannot depend on papers, nor papers on topics.
Paper texts are untrusted: each becomes one line that can neither close the fence it stands in nor begin another paper.
"""

from __future__ import annotations

import hashlib
import os
import re
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from traceback import walk_tb

from jinja2 import (
    Environment,
    FileSystemLoader,
    StrictUndefined,
    Template,
    TemplateError,
    TemplateNotFound,
    TemplateSyntaxError,
    meta,
    nodes,
)
from jinja2.sandbox import ImmutableSandboxedEnvironment

from paperboy.config.values import did_you_mean
from paperboy.errors import ConfigError
from paperboy.models import Paper, Problem

TEMPLATE = "score.md.j2"
BLOCKS = {  # and what each is the same for
    "rubric": "all lists and papers",
    "reply": "all lists and papers",
    "topics": "all papers of a list",
    "papers": "all lists",
}
VARIABLES = frozenset({"topics", "papers"})
MAX_TITLE = 300  # characters; arXiv's own limits are lower, but nothing here holds arXiv to them
MAX_ABSTRACT = 2000
MOST_PAPERS = 200  # in one request: as many as LLM_BATCH_SIZE allows


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


# What a server is asked to see whether it gives scores.
EXAMPLE_TOPICS = "Relevant: how birds find their way."
EXAMPLE = PromptPaper(
    "2611.00001",
    "How robins find their way by the stars",
    "Robins grew up under a planetarium whose sky we could turn. In autumn they followed the turned stars.",
)


class Prompt:
    """The scoring prompt, read from the first of `folders` that has the template.

    Raises ConfigError with every problem found when the template is missing or broken, lacks a block, has anything
    outside its blocks, uses a variable in the wrong one, or does not show all of the topics and of each paper.
    """

    def __init__(self, folders: Sequence[Path]) -> None:
        self._folders = folders
        self._loader = _Loader([str(folder) for folder in folders], encoding="utf-8-sig")
        # An operator's template may word a prompt; it may not reach into Python.
        self._environment = ImmutableSandboxedEnvironment(
            loader=self._loader,
            undefined=StrictUndefined,
            autoescape=False,
            trim_blocks=True,
            lstrip_blocks=True,
        )
        self._template, lines = self._load()
        if problems := list(dict.fromkeys(self._on_trial(lines))):
            raise ConfigError(problems)

    def question(self, topics: str, papers: Sequence[Paper], *, papers_first: bool) -> Question:
        """What asks for a score of each of the papers.

        The topics come before the papers, since they are what the batches of one list share; where several lists ask
        for the same papers, `papers_first` turns that round. Raises ConfigError where the template fails on them.
        """
        return self._question(topics, [PromptPaper.of(paper) for paper in papers], papers_first=papers_first)

    def example(self) -> tuple[Question, str]:
        """What asks for the score of one invented paper, and that paper's arXiv id."""
        return self._question(EXAMPLE_TOPICS, [EXAMPLE], papers_first=False), EXAMPLE.arxiv_id

    def criteria(self, topics: str) -> str:
        """A fingerprint (16 hex digits) of what papers are judged by: the rubric's words and the topics'.

        It is the same however the rest of the prompt is laid out and whatever the white space.
        """
        parts = (" ".join(part.split()) for part in (self._render("rubric"), topics))
        return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:16]

    def _question(self, topics: str, papers: Sequence[PromptPaper], *, papers_first: bool) -> Question:
        system = f"{self._render('rubric')}\n\n{self._render('reply')}"
        wanted, shown = self._render("topics", topics=topics.strip()), self._render("papers", papers=papers)
        return Question(system, shown, wanted) if papers_first else Question(system, wanted, shown)

    def _load(self) -> tuple[Template, dict[str, int]]:
        """The template, and the line of each block: of the first loop in it, where there is one."""
        try:
            template = self._environment.get_template(TEMPLATE)
            tree = self._environment.parse(self._loader.get_source(self._environment, TEMPLATE)[0], TEMPLATE)
        except TemplateNotFound as error:
            where = ", ".join(str(folder) for folder in self._folders)
            raise ConfigError([Problem(f"prompts/{error.name}", f"no such file in any of {where}")]) from error
        except TemplateSyntaxError as error:
            raise ConfigError([_problem(error.lineno, str(error.message), error.name)]) from error
        if problems := sorted(set(_problems(tree, self._environment))):
            raise ConfigError([_problem(line, message) for line, message in problems])
        return template, {each.name: (each.find(nodes.For) or each).lineno for each in tree.find_all(nodes.Block)}

    def _on_trial(self, lines: dict[str, int]) -> Iterator[Problem]:
        """What is wrong with what the blocks give for the largest request, or else for the smallest."""
        for block in BLOCKS:
            for number, tried_on in ((MOST_PAPERS, ""), (1, " (tried on one paper, and on one line of topics)")):
                given = {"topics": _marked_topics(number), "papers": [_marked_paper(n) for n in range(number)]}
                try:
                    text = self._render(block, **{name: value for name, value in given.items() if name == block})
                    faults = _TRIALS.get(block, _is_empty)(text, number)
                    problems = [_problem(lines[block], f"the block {block!r} {fault}") for fault in faults]
                except ConfigError as error:
                    problems = list(error.problems)
                if problems:
                    yield from (replace(problem, message=problem.message + tried_on) for problem in problems)
                    break

    def _render(self, block: str, **variables: object) -> str:
        try:
            return self._block(block, variables)
        except Exception as error:  # a template can raise anything, and all of it is the template's fault
            name, line = self._innermost(error)
            if isinstance(error, TemplateSyntaxError):  # of a file that it includes
                name, line = error.name or name, error.lineno
            raise ConfigError([_problem(line, _reason(error, block), name)]) from error

    def _block(self, name: str, variables: dict[str, object]) -> str:
        try:
            return "".join(self._template.blocks[name](self._template.new_context(variables))).strip()
        except Exception:  # noqa: BLE001 - raised again, with the template's lines in its traceback
            self._environment.handle_exception()

    def _innermost(self, error: BaseException) -> tuple[str, int]:
        """The file and line in which an error arose: Jinja puts them into the traceback's frames."""
        place = (TEMPLATE, 1)
        for frame, line in walk_tb(error.__traceback__):
            file = Path(frame.f_code.co_filename)
            for folder in map(os.path.normpath, self._folders):
                if file.is_relative_to(folder):
                    place = (file.relative_to(folder).as_posix(), line)
        return place


class _Loader(FileSystemLoader):
    """Names the file and the line of what cannot be read, also where another file includes it."""

    def get_source(self, environment: Environment, template: str) -> tuple[str, str, Callable[[], bool]]:
        try:
            return super().get_source(environment, template)
        except TemplateNotFound:
            raise
        except UnicodeDecodeError as error:
            line = error.object.count(b"\n", 0, error.start) + 1
            raise TemplateSyntaxError("is not UTF-8; save the file as UTF-8", line, template) from error
        except OSError as error:
            message = f"cannot be read: {error.strerror}; make it a file that this user can read"
            raise TemplateSyntaxError(message, 1, template) from error


def _problem(line: int, message: str, name: str | None = None) -> Problem:
    return Problem(f"prompts/{name or TEMPLATE}:{line}", message)


def _problems(tree: nodes.Template, environment: Environment) -> Iterator[tuple[int, str]]:
    """What can be said of a template without rendering it: lines and messages."""
    for node in tree.body:
        for part in node.nodes if isinstance(node, nodes.Output) else [node]:
            blank = isinstance(part, nodes.TemplateData) and not part.data.strip()
            if not blank and not isinstance(part, nodes.Block):
                yield _line_of_text(part), "what stands outside the blocks is never sent; move it into one"
    blocks = {block.name: block for block in tree.find_all(nodes.Block)}
    missing = [name for name in BLOCKS if name not in blocks]
    for name, block in blocks.items():
        if name in BLOCKS:
            yield from _wrong_variables(block, environment)
            if block not in tree.body:
                yield block.lineno, f"the block {name!r} stands inside of something else; let it stand by itself"
        else:
            hint = did_you_mean(name, missing)
            missing = [other for other in missing if repr(other) not in hint]
            yield block.lineno, f"unknown block {name!r}{hint or '; there are ' + ', '.join(BLOCKS)}"
    for name in missing:
        yield 1, f"the block {name!r} is missing: {{% block {name} %}}…{{% endblock %}}"


def _wrong_variables(block: nodes.Block, environment: Environment) -> Iterator[tuple[int, str]]:
    alone = nodes.Template([block], lineno=1)
    alone.set_environment(environment)
    unknown = meta.find_undeclared_variables(alone) - (VARIABLES & {block.name})
    for name in block.find_all(nodes.Name):
        if name.ctx == "load" and name.name in unknown:
            yield name.lineno, _unknown(name.name, block.name)


def _unknown(name: str, block: str) -> str:
    if name in VARIABLES:
        return (
            f"the block {block!r} is the same for {BLOCKS[block]} and cannot use {name!r}; "
            f"move what needs it into the block {name!r}"
        )
    own = VARIABLES & {block}
    return f"unknown variable {name!r}" + (did_you_mean(name, own) or f"; this block has {block if own else 'none'}")


def _reason(error: Exception, block: str) -> str:
    message = " ".join(str(error).split())
    if isinstance(error, TemplateNotFound):
        return f"there is no file {error.name!r} in prompts/"
    if undefined := re.fullmatch(r"'(\w+)' is undefined", message):
        return _unknown(undefined[1], block)
    if unknown := re.fullmatch(rf"'[\w.]*{PromptPaper.__name__} object' has no attribute '(\w+)'", message):
        return f"a paper has arxiv_id, title and abstract, not {unknown[1]!r}"
    return message if isinstance(error, TemplateError) else f"{type(error).__name__}: {message}"


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


# The trial: each thing carries a mark and its number, which are to be found in what the blocks give.

_KINDS = ("arxiv_id", "title", "abstract")
_MARK = re.compile(
    r"(?:(?P<arxiv_id>2611\.98|astro-ph/0698)|(?i:(?P<title>sampletitle)|(?P<abstract>sampleabstract)))(?P<number>\d{3})"
)


def _marked_paper(number: int) -> PromptPaper:
    scheme = "astro-ph/0698" if number % 2 else "2611.98"
    return PromptPaper(f"{scheme}{number:03}", f"Sampletitle{number:03} of it", f"Sampleabstract{number:03}. And more.")


def _marked_topics(number: int) -> str:
    return "\n".join(f"Relevant: sampletopic{n:03} and its like." for n in range(number))


def _is_empty(text: str, _number: int) -> Iterator[str]:
    if not text:
        yield "is empty; the prompt needs its words"


def _shows_topics(text: str, number: int) -> Iterator[str]:
    shown = len(set(re.findall(r"sampletopic\d{3}", text.casefold())))
    if not shown:
        yield "does not show the topics; write {{ topics }}"
    elif shown < number:
        yield "leaves out a part of long topics; write {{ topics }} as it is"


def _shows_papers(text: str, number: int) -> Iterator[str]:
    marks = [(next(kind for kind in _KINDS if mark[kind]), int(mark["number"])) for mark in _MARK.finditer(text)]
    shown = {paper for _, paper in marks}
    if 0 < len(shown) < number:
        yield f"leaves out {number - len(shown)} of {number} papers; write {{% for paper in papers %}}"
        return
    if absent := [kind for kind in _KINDS if len({paper for what, paper in marks if what == kind}) < number]:
        yield f"does not show each paper's {', '.join(absent)}; write {{{{ paper.{absent[0]} }}}} for each"
        return
    last, told_apart = -1, set()
    for kind, paper in marks:
        last = paper if kind == "arxiv_id" else last
        told_apart |= {(kind, paper)} if paper == last else set()
    if len(told_apart) < len(_KINDS) * number:
        yield "does not tell the papers apart; write each paper's arxiv_id in front of its title and its abstract"


_TRIALS = {"topics": _shows_topics, "papers": _shows_papers}
