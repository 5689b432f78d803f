"""A digest as a mail's subject, HTML and plain text: Jinja to MJML to HTML, and Jinja to text.

The templates are the operator's to restyle. A fault in one of them is a `ConfigError` that names file and line; a mail
that cannot be made of good templates is a `RenderError`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from datetime import date
from pathlib import Path
from traceback import walk_tb

import mjml
from jinja2 import (
    FileSystemLoader,
    StrictUndefined,
    TemplateError,
    TemplateNotFound,
    TemplateSyntaxError,
    select_autoescape,
)
from jinja2.sandbox import ImmutableSandboxedEnvironment
from markupsafe import Markup, escape

from paperboy.errors import ConfigError, RenderError
from paperboy.mail.fit import fitted
from paperboy.mail.page import Page, page
from paperboy.mail.sample import sample_digests
from paperboy.mail.text import one_line, wrap
from paperboy.models import Digest, Problem, Rendered

HTML_BUDGET = 95_000  # bytes; Gmail clips from about 99,500
SUBJECT_WIDTH = 70  # characters, where the newest paper's title may still join

# What an operator's expression can raise inside a template, apart from Jinja's own errors.
_EXPRESSION_ERRORS = (TypeError, ValueError, ArithmeticError, LookupError, AttributeError, RecursionError)


class Renderer:
    """Renders with the templates of the first of `folders` that has each."""

    def __init__(self, folders: Sequence[Path]) -> None:
        # An operator's template may lay out a mail; it may not reach into Python.
        self._environment = ImmutableSandboxedEnvironment(
            loader=FileSystemLoader([str(folder) for folder in folders]),
            undefined=StrictUndefined,
            autoescape=select_autoescape(disabled_extensions=("txt", "txt.j2"), default=True),
            trim_blocks=True,
            lstrip_blocks=True,
            keep_trailing_newline=True,
        )
        self._environment.filters |= {"wrap": wrap, "counted": counted, "in_attribute": in_attribute}

    def digest(self, digest: Digest, *, unsubscribe_address: str) -> Rendered:
        """The digest's mail. ConfigError for a broken template, RenderError where no HTML within the budget exists."""
        whole = page(digest, unsubscribe_address)
        return self._mail("digest", whole, _subject(whole, digest.date))

    def note(self, digest: Digest, *, unsubscribe_address: str) -> Rendered:
        """The short mail of a morning whose papers came and did not pass. Errors as for `digest`."""
        whole = page(digest, unsubscribe_address)
        return self._mail("note", whole, f"{whole.title}, {whole.short_date}: no relevant papers today")

    def check(self) -> None:
        """Renders samples of every kind of mail. ConfigError with all that is wrong with the templates."""
        problems = list(self._syntax_problems())
        if not problems:
            problems.extend(self._sample_problems())
        if problems:
            raise ConfigError(list(dict.fromkeys(problems)))

    def _mail(self, name: str, whole: Page, subject: str) -> Rendered:
        html = fitted(whole, lambda part: self._html(f"{name}.mjml.j2", part), HTML_BUDGET)
        if html is None:
            raise RenderError(
                f"emails/{name}.mjml.j2: the HTML has more than {HTML_BUDGET:,} bytes even without a paper; "
                "make the template or the topics shorter"
            )
        return Rendered(subject, html, self._jinja(f"{name}.txt.j2", whole))

    def _html(self, name: str, part: Page) -> str:
        source = self._jinja(name, part)
        try:
            html: str = mjml.mjml2html(source, fonts={})  # else it loads Roboto and others from Google by name
        except ValueError as error:
            raise RenderError(f"emails/{name}: MJML does not accept what this template gives: {error}") from error
        if "<mj-" in html:
            unknown = html.partition("<mj-")[2].split(">")[0].split()[0]
            raise RenderError(f"emails/{name}: MJML knows no component mj-{unknown} at this place")
        return html

    def _jinja(self, name: str, part: Page) -> str:
        try:
            return self._environment.get_template(name).render(page=part)
        except (TemplateError, *_EXPRESSION_ERRORS) as error:
            place = _place(error, name)
            if place is None:
                raise
            raise ConfigError([Problem(place, _reason(error))]) from error

    def _syntax_problems(self) -> Iterator[Problem]:
        for name in self._environment.list_templates(extensions=["j2"]):
            try:
                self._environment.get_template(name)
            except TemplateError as error:
                yield Problem(_place(error, name) or f"emails/{name}", _reason(error))
            except UnicodeDecodeError as error:
                yield Problem(f"emails/{name}", f"is not UTF-8: {error}")

    def _sample_problems(self) -> Iterator[Problem]:
        for sample in sample_digests():
            draw: Callable[..., Rendered] = self.digest if sample.entries else self.note
            try:
                draw(sample, unsubscribe_address="paperboy@example.org")
            except ConfigError as error:
                yield from error.problems
            except RenderError as error:
                place, _, message = str(error).partition(": ")
                yield Problem(place, message)


def counted(number: int, noun: str) -> str:
    """The number with its noun: 1 paper, 1,200 papers."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def in_attribute(text: str) -> Markup:
    r"""Text in ASCII and entities alone, for places that MJML copies into an attribute: other characters would come
    out of it as Rust writes them, as `\u{301}`.
    """
    safe = str(escape(text)).replace("\\", "&#92;").encode("ascii", "xmlcharrefreplace").decode()
    return Markup(safe)  # noqa: S704  # escaped just above


def _subject(whole: Page, day: date) -> str:
    """The list, the day, how many; and the first title, if it fits."""
    short = f"{whole.title}, {day.day} {day:%b}: {counted(len(whole.items), 'paper')}"
    if not whole.items:
        return short
    long = f"{short} · {whole.items[0].title}"
    return one_line(long if len(long) <= SUBJECT_WIDTH else short)


def _place(error: Exception, name: str) -> str | None:
    """File and line of the innermost template that the error came through; None if it came through none."""
    if isinstance(error, TemplateSyntaxError):
        return f"emails/{error.name or name}:{error.lineno}"
    lines = [
        (frame.f_code.co_filename, line)
        for frame, line in walk_tb(error.__traceback__)
        if frame.f_code.co_filename.endswith(".j2")
    ]
    if lines:
        return f"emails/{Path(lines[-1][0]).name}:{lines[-1][1]}"
    return f"emails/{name}" if isinstance(error, TemplateError) else None


def _reason(error: Exception) -> str:
    if isinstance(error, TemplateNotFound):
        return f"there is no template {error.name}"
    message = one_line(str(error)) or type(error).__name__
    return message if isinstance(error, TemplateError) else f"{type(error).__name__}: {message}"
