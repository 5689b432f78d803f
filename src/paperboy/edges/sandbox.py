"""The operator's Jinja templates: rendered in a sandbox within limits; a fault names file and line.

A template may lay out text; it may not reach into Python. A render has a limit of output, and one
of processor time, which is looked at in each turn of a loop and each call. Of renders that belong
together one may reach it: see `one_timeout`.
"""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from time import thread_time
from traceback import walk_tb
from typing import Any

import jinja2
from jinja2 import TemplateRuntimeError, nodes
from jinja2.runtime import Context
from jinja2.sandbox import ImmutableSandboxedEnvironment

from paperboy.errors import ConfigError
from paperboy.models import Problem

MOST_OUTPUT = 16_000_000  # characters
MOST_SECONDS = 20.0

_until: ContextVar[float] = ContextVar("until")  # the end of this thread's render


_timeouts: ContextVar[list[Problem] | None] = ContextVar(
    "timeouts", default=None
)  # of renders that belong together


@contextmanager
def one_timeout() -> Iterator[None]:
    """Let only one render within take its whole time: after it each further one fails at once, by
    the same fault.

    Within another `one_timeout`, it is part of that one.
    """
    found = _timeouts.get()
    token = _timeouts.set([] if found is None else found)
    try:
        yield
    finally:
        _timeouts.reset(token)


class _TooLongError(TemplateRuntimeError):
    pass


class Sandbox(ImmutableSandboxedEnvironment):
    """The templates of one folder of the home; `source` gives the text of a name, or None, and
    `file` the file that has it, if its path is not the name.
    """

    intercepted_binops = frozenset(
        {"*", "**"}
    )  # else 'x' * 10**8 would stand in the compiled template

    def __init__(
        self,
        folder: str,
        source: Callable[[str], str | None],
        seconds: float,
        file: Callable[[str], str] = str,
        **options: Any,
    ) -> None:
        def load(name: str) -> tuple[str, str, None] | None:
            text = source(name)
            return (
                None if text is None else (text, name, None)
            )  # some errors of Jinja's lexer know only the file

        super().__init__(
            loader=jinja2.FunctionLoader(load), trim_blocks=True, lstrip_blocks=True, **options
        )
        self._folder = folder
        self._seconds = seconds
        self.file = file
        self._safe: dict[tuple[type, str], bool] = {}
        self.filters["_each"] = _each

    def text(self, name: str, block: str = "", **values: Any) -> str:
        """Render a template, or one block of it. Raises ConfigError, also for what goes beyond a
        limit.
        """
        timeouts = _timeouts.get()
        if timeouts:
            raise ConfigError(timeouts)
        _until.set(thread_time() + self._seconds)
        try:
            template = self.get_template(name)
            if block and block not in template.blocks:
                raise TemplateRuntimeError(
                    f"the block {block!r} is missing: {{% block {block} %}}…{{% endblock %}}"
                )
            start = template.blocks[block] if block else template.root_render_func
            pieces = start(template.new_context(values))

            shown = list[str]()
            size = 0
            for piece in pieces:
                size += len(piece)
                if size > MOST_OUTPUT:
                    fault = (
                        f"gives more than {MOST_OUTPUT // 1_000_000} MB; does it loop too often?"
                    )
                    pieces.throw(TemplateRuntimeError(fault))  # type: ignore[attr-defined]  # a generator: it adds the line
                shown.append(piece)
            return "".join(shown)
        except Exception as error:  # a template can raise anything
            problem = self._problem(error, name)
            if isinstance(error, _TooLongError) and timeouts is not None:
                timeouts.append(problem)
            raise ConfigError([problem]) from error

    def compiled(self, name: str) -> None:
        """Compile a template, for its syntax. Raises ConfigError."""
        try:
            self.get_template(name)
        except Exception as error:
            raise ConfigError([self._problem(error, name)]) from error

    def _problem(self, error: Exception, name: str) -> Problem:
        """Return the fault at the innermost template that it came through."""
        line = 0
        inner = name
        for frame, number in walk_tb(error.__traceback__):
            if isinstance(template := frame.f_globals.get("__jinja_template__"), jinja2.Template):
                inner = template.name or name
                line = template.get_corresponding_lineno(number)
        reason = " ".join(str(error).split())
        if isinstance(error, jinja2.TemplateSyntaxError):
            inner = error.name or name
            line = error.lineno
            reason = str(error.message)
        elif isinstance(error, jinja2.TemplateNotFound):
            reason = f"there is no template {error.name}"
        elif not isinstance(error, jinja2.TemplateError):
            reason = f"{type(error).__name__}: {reason}"
        more = "" if inner == name else f" (included by {self._folder}/{self.file(name)})"
        place = f"{self._folder}/{self.file(inner)}" + f":{line}" * bool(line)
        return Problem(place, (reason or type(error).__name__) + more)

    # what Jinja calls

    def is_safe_attribute(self, obj: Any, attr: str, value: Any) -> bool:
        """Look at a type once for each of its attributes, not at each of thousands of values: a
        tenth of a render.
        """
        known = type(obj), attr
        if known not in self._safe:
            self._safe[known] = super().is_safe_attribute(obj, attr, value)
        return self._safe[known]

    def call(self, context: Context, obj: Any, /, *args: Any, **kwargs: Any) -> Any:
        _step()
        return super().call(context, obj, *args, **kwargs)

    def _generate(self, source: nodes.Template, *args: Any, **kwargs: Any) -> str:
        """Count each turn of each loop."""
        for loop in source.find_all(nodes.For):
            loop.iter = nodes.Filter(
                loop.iter, "_each", [], [], None, None, lineno=loop.lineno, environment=self
            )
        return super()._generate(source, *args, **kwargs)


def _each(items: Iterable[Any]) -> Iterator[Any]:
    for item in items:
        _step()
        yield item


def _step() -> None:
    if thread_time() > _until.get():
        raise _TooLongError("takes too long; does it loop too often?")
