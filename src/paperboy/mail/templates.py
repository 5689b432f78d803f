"""The operator's templates: Jinja to text, and Jinja to MJML to HTML. Faults are told by file, line and words.

A template may lay out a mail; it may not reach into Python. A fault that lies in one file is a `ConfigError`; one that
shows only in what the templates give together is a `RenderError`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import fields
from html.parser import HTMLParser
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

from paperboy.config.values import did_you_mean
from paperboy.errors import ConfigError, RenderError
from paperboy.mail.bill import Bill, counted
from paperboy.mail.copies import Copy
from paperboy.mail.page import Author, Figure, Item, Line, Mention, Page
from paperboy.mail.text import one_line, wrap
from paperboy.mail.topics import Block
from paperboy.models import Alert, Counts, Problem

# What an operator's expression can raise inside a template, apart from Jinja's own errors.
_EXPRESSION_ERRORS = (TypeError, ValueError, ArithmeticError, LookupError, AttributeError, RecursionError)


class _Undefined(StrictUndefined):
    """Says which name is not there, also where one is formatted."""

    __slots__ = ()
    __format__ = StrictUndefined._fail_with_undefined_error  # as Jinja has it for all other methods


class Templates:
    """The templates of the first of `folders` that has each."""

    def __init__(self, folders: Sequence[Path]) -> None:
        self._folders = folders
        self._environment = ImmutableSandboxedEnvironment(
            loader=FileSystemLoader([str(folder) for folder in folders]),
            undefined=_Undefined,
            autoescape=select_autoescape(disabled_extensions=("txt", "txt.j2"), default=True),
            trim_blocks=True,
            lstrip_blocks=True,
            keep_trailing_newline=True,
        )
        self._filters = {"wrap": wrap, "counted": counted, "in_attribute": in_attribute}
        self._environment.filters |= self._filters

    def text(self, name: str, **values: Any) -> str:
        """What a template gives. ConfigError for a fault in it, or in one that it includes."""
        try:
            return self._environment.get_template(name).render(**values)
        except (TemplateError, *_EXPRESSION_ERRORS) as error:
            place = self._place(error, name)
            if place is None:
                raise
            raise ConfigError([Problem(place, self._reason(error))]) from error

    def html(self, name: str, **values: Any) -> str:
        """The page that a template of MJML gives. RenderError where MJML does not accept it; else as `text`."""
        source = self.text(name, **values)
        try:
            page: str = mjml.mjml2html(source, fonts={})  # else it loads Roboto and others from Google by name
        except ValueError as error:
            fault = _unbalanced(source) or f"MJML does not accept what this template gives: {error}"
            raise RenderError(f"emails/{name}: {fault}") from error
        if "<mj-" in page:
            unknown = page.partition("<mj-")[2].split(">")[0].split()[0]
            raise RenderError(f"emails/{name}: MJML knows no component mj-{unknown} at this place")
        return page

    def problems(self) -> Iterator[Problem]:
        """What is wrong with any file by itself."""
        for name in self._environment.list_templates(extensions=["j2"]):
            try:
                self._environment.get_template(name)
            except TemplateError as error:
                yield Problem(self._place(error, name) or f"emails/{name}", self._reason(error))
            except UnicodeDecodeError as error:
                line = error.object.count(b"\n", 0, error.start) + 1
                yield Problem(f"emails/{name}:{line}", "is not UTF-8; save the file as UTF-8")
            except OSError as error:
                yield Problem(f"emails/{name}", f"cannot be read: {error.strerror}")

    def _place(self, error: Exception, name: str) -> str | None:
        """File and line of the innermost template that the error came through, of the operator's own if it came
        through one; None if it came through none.
        """
        if isinstance(error, TemplateSyntaxError):
            return f"emails/{Path(error.name or name).name}:{error.lineno}"
        frames = [
            (Path(frame.f_code.co_filename), line)
            for frame, line in walk_tb(error.__traceback__)
            if frame.f_code.co_filename.endswith(".j2")
        ]
        if not frames:
            return f"emails/{name}" if isinstance(error, TemplateError) else None
        file, line = ([frame for frame in frames if frame[0].parent == self._folders[0]] or frames)[-1]
        return f"emails/{file.name}:{line}"

    def _reason(self, error: Exception) -> str:
        if isinstance(error, TemplateNotFound):
            return f"there is no template {error.name}"
        message = one_line(str(error)) or type(error).__name__
        if unknown := re.fullmatch(r"'[\w. ]*\b(\w+) object' has no attribute '(\w+)'", message):
            called, known = _SEEN.get(unknown[1], ("this", ()))
            hint = did_you_mean(unknown[2], known) or f"; it has {', '.join(known)}" * bool(known)
            return f"{called} has no {unknown[2]!r}{hint}"
        if message.startswith("No filter named"):
            return f"{message} Beside Jinja's own there are {', '.join(sorted(self._filters))}."
        return message if isinstance(error, TemplateError) else f"{type(error).__name__}: {message}"


# What templates call the values that they see, and what each has.
_SEEN = {
    kind.__name__: (called, tuple(field.name for field in fields(kind)))
    for called, kind in {
        "page": Page,
        "page.copy": Copy,
        "page.counts": Counts,
        "page.bill": Bill,
        "a line of page.contents": Line,
        "a row of page.figures": Figure,
        "a block of page.topics": Block,
        "a paper of page.over_cap, carried_over or let_go": Mention,
        "item": Item,
        "an author of item.authors": Author,
        "alert": Alert,
    }.items()
}


def in_attribute(text: str) -> Markup:
    r"""Text in ASCII and entities alone, for places that MJML copies into an attribute: other characters would come
    out of it as Rust writes them, as `\u{301}`.
    """
    safe = str(escape(text)).replace("\\", "&#92;").encode("ascii", "xmlcharrefreplace").decode()
    return Markup(safe)  # noqa: S704  # escaped just above


# Which tag is to blame: MJML tells only that something is wrong

_VOID = frozenset(
    {"area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "track", "wbr"}
)


class _Tags(HTMLParser):
    """Follows the tags of a source up to the first that does not match."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=False)
        self.open: list[tuple[str, str, int]] = []  # name, what the tag looks like, where it stands
        self.fault = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:  # noqa: ARG002  # HTMLParser's
        if tag not in _VOID and not self.fault:
            self.open.append((tag, self.get_starttag_text() or tag, self.getpos()[0]))

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:  # the same
        """Opens nothing."""

    def handle_endtag(self, tag: str) -> None:
        if self.fault or tag in _VOID:
            return
        if not self.open:
            self.fault = f"</{tag}> closes a tag that nothing opened"
        elif self.open[-1][0] == tag:
            self.open.pop()
        else:
            self.fault = f"</{tag}> comes before the end of {self.open[-1][1]}"


def _unbalanced(source: str) -> str:
    """The first tag that is not closed, or not opened, with the words after it; empty if all are in order."""
    tags = _Tags()
    try:
        tags.feed(source)
        tags.close()
    except AssertionError:  # so HTMLParser speaks of a conditional comment that is none
        return ""
    if not tags.fault and not tags.open:
        return ""
    fault = tags.fault or f"{tags.open[-1][1]} is never closed"
    if tags.open:
        _, shown, line = tags.open[-1]
        after = source.splitlines()[line - 1].partition(shown)[2]
        words = one_line(re.sub(r"<[^>]*>", " ", after))[:40]
        fault += f" (after it stands {words!r})" if words else ""
    return f"{fault}; look for it in this template and in those that it includes"
