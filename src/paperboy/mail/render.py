"""A digest as a mail's subject, HTML and plain text: Jinja to MJML to HTML, and Jinja to text.

The templates are the operator's to restyle. A fault in one of them is a `ConfigError` that names file and line; a mail
that cannot be made of good templates is a `RenderError`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from traceback import walk_tb
from typing import Any

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
from paperboy.mail.copies import Copy
from paperboy.mail.fit import fitted, size
from paperboy.mail.page import counted, page
from paperboy.mail.sample import SAMPLE_COPY, sample_alert, sample_digests
from paperboy.mail.text import one_line, wrap
from paperboy.models import Alert, Digest, Problem, Rendered

HTML_BUDGET = 95_000  # bytes; Gmail clips from about 99,500
_COPY_ROOM = 1_000  # bytes that what differs from copy to copy may add

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

    def digest(self, digest: Digest, *, copy: Copy, unsubscribe_address: str) -> Rendered:
        """The digest's mail. ConfigError for a broken template, RenderError where no HTML within the budget exists."""
        return self._to_readers("digest", digest, copy, unsubscribe_address)

    def note(self, digest: Digest, *, copy: Copy, unsubscribe_address: str) -> Rendered:
        """The short mail of a morning whose papers came and did not pass. Errors as for `digest`."""
        return self._to_readers("note", digest, copy, unsubscribe_address)

    def alert(self, alert: Alert) -> Rendered:
        """The operator's mail. Errors as for `digest`."""
        html = self._html("alert.mjml.j2", alert=_clean(alert))
        if size(html) > HTML_BUDGET:
            raise RenderError(f"emails/alert.mjml.j2: the HTML has more than {HTML_BUDGET:,} bytes")
        return Rendered(f"Paperboy: {one_line(alert.headline)}", html, self._jinja("alert.txt.j2", alert=_clean(alert)))

    def check(self) -> None:
        """Renders samples of every kind of mail. ConfigError with all that is wrong with the templates."""
        problems = list(self._syntax_problems())
        if not problems:
            problems.extend(self._sample_problems())
        if problems:
            raise ConfigError(list(dict.fromkeys(problems)))

    def _to_readers(self, name: str, digest: Digest, copy: Copy, unsubscribe_address: str) -> Rendered:
        whole = page(digest, copy=copy, unsubscribe_address=unsubscribe_address)
        html = fitted(whole, lambda part: self._html(f"{name}.mjml.j2", page=part), HTML_BUDGET - _COPY_ROOM)
        if html is None:
            raise RenderError(
                f"emails/{name}.mjml.j2: the HTML has more than {HTML_BUDGET:,} bytes even without a paper; "
                "make the template or the topics shorter"
            )
        return Rendered(whole.subject, html, self._jinja(f"{name}.txt.j2", page=whole))

    def _html(self, name: str, **values: Any) -> str:
        source = self._jinja(name, **values)
        try:
            html: str = mjml.mjml2html(source, fonts={})  # else it loads Roboto and others from Google by name
        except ValueError as error:
            raise RenderError(f"emails/{name}: MJML does not accept what this template gives: {error}") from error
        if "<mj-" in html:
            unknown = html.partition("<mj-")[2].split(">")[0].split()[0]
            raise RenderError(f"emails/{name}: MJML knows no component mj-{unknown} at this place")
        return html

    def _jinja(self, name: str, **values: Any) -> str:
        try:
            return self._environment.get_template(name).render(**values)
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
        draws: list[tuple[str, Callable[[], Rendered], tuple[str, ...]]] = [
            ("alert", lambda: self.alert(sample_alert()), (sample_alert().headline, *sample_alert().details))
        ]
        for sample in sample_digests():
            name = "digest" if sample.entries else "note"
            needed = (
                SAMPLE_COPY.reason,
                SAMPLE_COPY.token,
                *(f"https://arxiv.org/abs/{entry.paper.arxiv_id}" for entry in sample.entries),
            )
            draws.append((name, partial(self._to_readers, name, sample, SAMPLE_COPY, "paperboy@example.org"), needed))
        for name, draw, needed in draws:
            try:
                mail = draw()
            except ConfigError as error:
                yield from error.problems
            except RenderError as error:
                place, _, message = str(error).partition(": ")
                yield Problem(place, message)
            else:
                yield from _missing(name, mail, needed)


def _missing(name: str, mail: Rendered, needed: Sequence[str]) -> Iterator[Problem]:
    """What a mail must show and a template left out: else an emptied file would pass, and its digests go out empty."""
    for ending, part in (("mjml", mail.html), ("txt", " ".join(mail.text.split()))):
        gone = [words for words in needed if words not in part]
        if gone:
            yield Problem(f"emails/{name}.{ending}.j2", f"the mail that it gives does not show {gone[0]!r}, as it must")


def in_attribute(text: str) -> Markup:
    r"""Text in ASCII and entities alone, for places that MJML copies into an attribute: other characters would come
    out of it as Rust writes them, as `\u{301}`.
    """
    safe = str(escape(text)).replace("\\", "&#92;").encode("ascii", "xmlcharrefreplace").decode()
    return Markup(safe)  # noqa: S704  # escaped just above


def _clean(alert: Alert) -> Alert:
    return Alert(
        one_line(alert.headline),
        tuple(one_line(paragraph) for paragraph in alert.paragraphs),
        tuple(one_line(line) for line in alert.details),
    )


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
    if unknown := re.fullmatch(r"'[\w. ]*\b(\w+) object' has no attribute '(\w+)'", message):
        return f"{unknown[1].lower()} has no {unknown[2]!r}; emails/README.md names what there is"
    return message if isinstance(error, TemplateError) else f"{type(error).__name__}: {message}"
