"""Sandbox for the operator's Jinja templates: output and memory are limited, and a fault names file
and line.

A template may lay out text, but not reach into Python. Time is not limited here: a range has at
most 100,000 numbers, and a process whose template never ends is stopped as any stuck one.
"""

import resource
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Lock
from traceback import walk_tb
from typing import Any

import jinja2
from jinja2 import TemplateRuntimeError
from jinja2.sandbox import ImmutableSandboxedEnvironment

from paperboy.errors import ConfigError, Problem

MOST_OUTPUT = 16_000_000  # characters
MOST_MEMORY = 256_000_000  # bytes

_limited = Lock()  # the limit is the process's


@contextmanager
def _limited_memory() -> Iterator[None]:
    """Let the process take at most `MOST_MEMORY` more; beyond that, MemoryError. Linux alone knows
    how much it has.
    """
    with _limited:
        limits = resource.getrlimit(resource.RLIMIT_DATA)
        with suppress(OSError, ValueError):  # no Linux, or a lower hard limit
            pages = int(Path("/proc/self/statm").read_text().split()[5])
            most = pages * resource.getpagesize() + MOST_MEMORY
            resource.setrlimit(resource.RLIMIT_DATA, (most, limits[1]))
        try:
            yield
        finally:
            resource.setrlimit(resource.RLIMIT_DATA, limits)


class Sandbox(ImmutableSandboxedEnvironment):
    """Templates of one folder of the home. `source` returns the text of a name, or None; `file`
    returns the path of its file.
    """

    # Otherwise the compiler would compute 'x' * 10**8.
    intercepted_binops = frozenset({"*", "**"})

    def __init__(
        self,
        folder: str,
        source: Callable[[str], str | None],
        file: Callable[[str], str] = str,
        **options: Any,
    ) -> None:
        def load(name: str) -> tuple[str, str, None] | None:
            text = source(name)
            # The name twice: some errors of Jinja's lexer know only the file.
            return None if text is None else (text, name, None)

        loader = jinja2.FunctionLoader(load)
        super().__init__(loader=loader, trim_blocks=True, lstrip_blocks=True, **options)
        self._folder = folder
        self.file = file
        self._safe: dict[tuple[type, str], bool] = {}

    def text(self, name: str, block: str = "", **values: Any) -> str:
        """Render a template, or one block of it. Raises ConfigError, also beyond a limit."""
        try:
            with _limited_memory():
                template = self.get_template(name)
                if block and block not in template.blocks:
                    example = f"{{% block {block} %}}…{{% endblock %}}"
                    raise TemplateRuntimeError(f"the block {block!r} is missing: {example}")
                render = template.blocks[block] if block else template.root_render_func
                pieces = render(template.new_context(values))

                output = list[str]()
                size = 0
                for piece in pieces:
                    size += len(piece)
                    if size > MOST_OUTPUT:
                        fault = f"produces more than {MOST_OUTPUT // 1_000_000} MB; does it loop too often?"
                        # Thrown into the generator, which adds the line.
                        pieces.throw(TemplateRuntimeError(fault))  # type: ignore[attr-defined]
                    output.append(piece)
                return "".join(output)
        except Exception as error:  # a template can raise anything
            raise ConfigError([self._problem(error, name)]) from error

    def _problem(self, error: Exception, name: str) -> Problem:
        """Return the fault at the innermost template that it came through."""
        line = 0
        inner = name
        for frame, number in walk_tb(error.__traceback__):
            template = frame.f_globals.get("__jinja_template__")
            if isinstance(template, jinja2.Template):
                inner = template.name or name
                line = template.get_corresponding_lineno(number)

        reason = " ".join(str(error).split())
        if isinstance(error, jinja2.TemplateSyntaxError):
            inner = error.name or name
            line = error.lineno
            reason = str(error.message)
        elif isinstance(error, jinja2.TemplateNotFound):
            reason = f"there is no template {error.name}"
        elif isinstance(error, MemoryError):
            reason = f"takes more than {MOST_MEMORY // 1_000_000} MB; does it loop too often?"
        elif not isinstance(error, jinja2.TemplateError):
            reason = f"{type(error).__name__}: {reason}"

        place = f"{self._folder}/{self.file(inner)}"
        if line:
            place += f":{line}"
        if inner != name:
            reason += f" (included by {self._folder}/{self.file(name)})"
        return Problem(place, reason)

    # what Jinja calls

    def is_safe_attribute(self, obj: Any, attr: str, value: Any) -> bool:
        """Check each attribute once per type: checking thousands of values would add a fifth to the
        time of a digest.
        """
        known = type(obj), attr
        if known not in self._safe:
            self._safe[known] = super().is_safe_attribute(obj, attr, value)
        return self._safe[known]
