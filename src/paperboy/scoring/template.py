"""Templates of the folder `prompts/`, which the operator may edit: their blocks, rendered and tried.

Papers in them are untrusted data: each field becomes one line that can neither close its fence, nor
look like another paper, nor hold a token by which models tell turns of the chat apart.
"""

import re
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from jinja2 import StrictUndefined, TemplateSyntaxError
from jinja2.loaders import split_template_path

from paperboy.edges import files, sandbox
from paperboy.edges.text import one_line, shortened
from paperboy.errors import ConfigError, Problem

ENGLISH = "en"
ANOTHER = "de"  # a second language, for the trial of a template
MAX_FIELD = 2000  # characters of a title, an abstract or a comment
_FENCE = re.compile(r"<(?=\s*/?\s*(?:papers?|topics|numbers)\b)", re.IGNORECASE)

# Servers turn these into control tokens wherever they stand: <|im_end|>, <start_of_turn>, </s>,
# <think> and DeepSeek's with wide bars; [/INST] and others of Mistral's, and [gMASK] of GLM's.
_TOKEN = re.compile(r"<(?=[^\s<>]{1,60}>|\s*[|｜])")
_BRACKETED_TOKEN = re.compile(
    r"\[(?=/?(?:INST|SYSTEM_PROMPT|(?:AVAILABLE_)?TOOL\w{0,10}|THINK|ARGS|CALL_ID|gMASK)\])"
)
_ID = re.compile(r"\[(?=\s*[^\s\[\]]{0,60}[./][^\s\[\]]{0,60}\s*\])(?=[^\]]{0,120}\d{4})")


class Template:
    """Template with blocks, from the first of `folders` that has it. Each block gets the variables
    that it is rendered with, and no others.
    """

    def __init__(self, folders: Sequence[Path], name: str) -> None:
        self._name = name
        self._folders = folders
        self._sandbox = sandbox.Sandbox(
            "prompts",
            partial(_source, folders),
            undefined=StrictUndefined,
        )

    @property
    def text(self) -> str:
        """Return the template as it is written; empty if it is missing."""
        return _source(self._folders, self._name) or ""

    def render(self, block: str, **variables: object) -> str:
        """Render a block. Raises ConfigError."""
        return self._sandbox.text(self._name, block, **variables).strip()

    def try_block(
        self,
        block: str,
        wanted: Sequence[str] = (),
        fix: str = "",
        **given: object,
    ) -> Sequence[Problem]:
        """Render a block for the examples, and return what is wrong."""
        place = f"prompts/{self._name}"
        try:
            text = " ".join(self.render(block, **given).casefold().split())
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


def _source(folders: Sequence[Path], name: str) -> str | None:
    for folder in folders:
        try:
            return files.read_text(folder.joinpath(*split_template_path(name)))
        except FileNotFoundError:
            continue
        except ValueError as error:
            raise TemplateSyntaxError(str(error), 1, name) from error
    return None


def as_data(text: str) -> str:
    """Make one line that can neither open nor close a fence of the prompt or a turn of the chat, and
    in which no id stands in brackets, as it does where a paper begins.
    """
    line = _TOKEN.sub("‹", _FENCE.sub("‹", one_line(text)))
    line = _ID.sub("(", _BRACKETED_TOKEN.sub("(", line))
    return shortened(re.sub(r"^\[", "(", line), MAX_FIELD)
