"""The operator's templates: a digest as subject, HTML and plain text, and faults named by file, line and words.

Jinja gives the plain text, and MJML that becomes the HTML. A template may lay out a mail; it may not reach into Python.
A fault in one file is a `ConfigError`; one that shows only in what all the templates give together is a `RenderError`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass, replace
from datetime import UTC, date, datetime
from difflib import get_close_matches
from functools import lru_cache, partial
from pathlib import Path
from traceback import walk_tb
from typing import Any
from zoneinfo import ZoneInfo

import mjml
from jinja2 import (
    Environment,
    FunctionLoader,
    StrictUndefined,
    TemplateError,
    TemplateNotFound,
    TemplateSyntaxError,
    select_autoescape,
)
from jinja2.sandbox import ImmutableSandboxedEnvironment
from markupsafe import Markup, escape

from paperboy.errors import ConfigError, RenderError
from paperboy.mail.fit import fitted, levels, size
from paperboy.mail.page import Copy, Page, counted, page
from paperboy.mail.text import one_line, shorten, wrap
from paperboy.models import (
    Alert,
    Cost,
    Counts,
    Digest,
    Entry,
    MailingList,
    Model,
    Paper,
    Problem,
    Rendered,
    Score,
    Shortfall,
    Spending,
    Usage,
)  # fmt: skip

HTML_BUDGET = 95_000  # bytes; Gmail clips from about 99,500
_COPY_ROOM = 1_000  # bytes that a recipient's own values may add
_PARAGRAPHS, _DETAILS = 10, 50  # of an alert, in HTML
# What an operator's expression can raise inside a template, apart from Jinja's own errors.
_EXPRESSION_ERRORS = (TypeError, ValueError, ArithmeticError, LookupError, AttributeError, RecursionError)

_Texts = tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Templates:
    """The texts of all templates, by name: a value that another process can render with."""

    texts: _Texts = field(repr=False)

    @classmethod
    def load(cls, folders: Sequence[Path]) -> Templates:
        """Read each template from the first folder that has it. ConfigError for files that cannot be read as UTF-8."""
        files = {file.name: file for folder in reversed(folders) for file in folder.glob("*.j2")}
        texts, problems = [], []
        for name, file in sorted(files.items()):
            try:
                texts.append((name, file.read_text("utf-8")))
            except UnicodeDecodeError as error:
                line = error.object.count(b"\n", 0, error.start) + 1
                problems.append(Problem(f"emails/{name}:{line}", "is not UTF-8; save the file as UTF-8"))
            except OSError as error:
                problems.append(Problem(f"emails/{name}", f"cannot be read: {error.strerror}"))
        if problems:
            raise ConfigError(problems)
        return cls(tuple(texts))

    def to_readers(self, kind: str, digest: Digest, *, copy: Copy, unsubscribe_address: str) -> Rendered:
        """Render a `digest`, or the `note` of a morning on which no paper passed.

        ConfigError for a broken template, RenderError if no HTML within the budget exists.
        """
        whole = page(digest, copy=copy, unsubscribe_address=unsubscribe_address)
        html = fitted(whole, lambda shown: self._html(f"{kind}.mjml.j2", page=shown), HTML_BUDGET - _COPY_ROOM)
        if html is None:
            raise RenderError(
                f"emails/{kind}.mjml.j2: the HTML has more than {HTML_BUDGET:,} bytes even without a paper; "
                "make the template or the topics shorter"
            )
        return Rendered(whole.subject, html, self._text(f"{kind}.txt.j2", page=whole))

    def alert(self, alert: Alert) -> Rendered:
        """Render the operator's mail. Errors as for `to_readers`."""
        paragraphs, details = (tuple(map(one_line, lines)) for lines in (alert.paragraphs, alert.details))
        clean = Alert(one_line(alert.headline), paragraphs, details)
        html = self._html("alert.mjml.j2", alert=_brief(clean))
        if size(html) > HTML_BUDGET:
            raise RenderError(
                f"emails/alert.mjml.j2: the HTML has more than {HTML_BUDGET:,} bytes; make the template shorter"
            )
        return Rendered(f"Paperboy: {clean.headline}", html, self._text("alert.txt.j2", alert=clean))

    def check(self) -> None:
        """Render samples of every kind of mail. ConfigError with all that is wrong with the templates."""
        problems = [*self._syntax_errors()] or [*self._sample_problems()]
        if problems:
            raise ConfigError(list(dict.fromkeys(problems)))

    def _text(self, name: str, **values: Any) -> str:
        try:
            return _environment(self.texts).get_template(name).render(**values)
        except (TemplateError, *_EXPRESSION_ERRORS) as error:
            raise ConfigError([_problem(error, name)]) from error

    def _html(self, name: str, **values: Any) -> str:
        source = self._text(name, **values)
        try:
            html: str = mjml.mjml2html(source, fonts={})  # else it loads fonts from Google
        except ValueError as error:
            octets, place = source.encode(), r"at position (\d+):\d+"
            what = re.sub(place, lambda at: f"before {octets[int(at[1]) :][:60].decode(errors='ignore')!r}", str(error))
            raise RenderError(
                f"emails/{name}: MJML does not accept what this template gives: {what}; look for a tag that is not "
                "closed, or closed twice, in it and in those that it includes"
            ) from error
        if "<mj-" in html:
            unknown = html.partition("<mj-")[2].split(">")[0].split()[0]
            raise RenderError(f"emails/{name}: MJML knows no component mj-{unknown} at this place")
        return html

    def _syntax_errors(self) -> Iterator[Problem]:
        for name, _ in self.texts:
            try:
                _environment(self.texts).get_template(name)
            except TemplateError as error:
                yield _problem(error, name)

    def _sample_problems(self) -> Iterator[Problem]:
        alert = Alert("Something needs a hand", ("It happened.", "This fixes it."), ("a/file:1: it", "another line"))
        yield from _problems("alert", lambda: self.alert(alert), {"alert.headline": alert.headline})
        for digest in _sample_digests():
            yield from self._problems_of(digest, "digest" if digest.entries else "note")

    def _problems_of(self, digest: Digest, kind: str) -> Iterator[Problem]:
        copy = Copy(*(str(digit) * 32 for digit in (1, 2, 3)))  # as in any digest: the values come later
        whole = page(digest, copy=copy, unsubscribe_address=_SAMPLE_ADDRESS)
        needed = {
            "why somebody gets the mail (page.copy.reason)": copy.reason,
            "how to leave the list (page.unsubscribe_url in HTML, page.unsubscribe_subject in text)": copy.token,
        }
        if whole.items:
            needed["a link to every paper (item.url, for each item of page.items)"] = whole.items[-1].url
        render = partial(self.to_readers, kind, digest, copy=copy, unsubscribe_address=_SAMPLE_ADDRESS)
        yield from _problems(kind, render, needed)
        for level in levels(whole):  # what only a crowded morning shows
            crowded = replace(level, topics_cut=True, hidden=2, contents_left=2)
            yield from _problems(kind, partial(self._html, f"{kind}.mjml.j2", page=crowded), {})


def _brief(alert: Alert) -> Alert:
    """As much as HTML shows: the operator must hear of a file with a thousand faults, too."""
    shown = [shorten(line, 300) for line in alert.details[:_DETAILS]]
    if len(alert.details) > _DETAILS:
        shown.append(f"{len(alert.details) - _DETAILS:,} more in the plain-text part of this mail")
    paragraphs = tuple(shorten(paragraph, 2_000) for paragraph in alert.paragraphs[:_PARAGRAPHS])
    return Alert(shorten(alert.headline, 300), paragraphs, tuple(shown))


# Jinja


class _Undefined(StrictUndefined):
    """Names what is missing, and what may have been meant."""

    __slots__ = ()
    __format__ = StrictUndefined._fail_with_undefined_error  # as Jinja has it for all other methods

    @property
    def _undefined_message(self) -> str:
        if self._undefined_hint or not is_dataclass(self._undefined_obj):
            return super()._undefined_message
        known = [each.name for each in fields(self._undefined_obj)]
        known += [each.name for each in fields(MailingList)] if isinstance(self._undefined_obj, Page) else []
        meant = get_close_matches(str(self._undefined_name), known, n=1)
        hint = f", did you mean {meant[0]!r}?" if meant else f"; it has {', '.join(known)}"
        return f"{type(self._undefined_obj).__name__.lower()} has no {self._undefined_name!r}{hint}"


@lru_cache(maxsize=4)
def _environment(texts: _Texts) -> Environment:
    by_name = dict(texts)
    environment = ImmutableSandboxedEnvironment(
        loader=FunctionLoader(lambda name: (by_name[name], name, None) if name in by_name else None),
        undefined=_Undefined,
        autoescape=select_autoescape(disabled_extensions=("txt", "txt.j2"), default=True),
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters |= _FILTERS
    return environment


def in_attribute(text: str) -> Markup:
    r"""Text in ASCII and entities alone, for places that MJML copies into an attribute: other characters would come
    out of it as Rust writes them, as `\u{301}`.
    """
    safe = str(escape(text)).replace("\\", "&#92;").encode("ascii", "xmlcharrefreplace").decode()
    return Markup(safe)  # noqa: S704  # escaped just above


_FILTERS = {"wrap": wrap, "counted": counted, "in_attribute": in_attribute}


def _problem(error: Exception, name: str) -> Problem:
    """The fault with file and line of the innermost template that it came through, and of the one that included it."""
    reason = one_line(str(error)) or type(error).__name__
    if isinstance(error, TemplateNotFound):
        reason = f"there is no template {error.name}"
    elif reason.startswith("No filter named"):
        reason += f" Beside Jinja's own there are {', '.join(_FILTERS)}."
    elif not isinstance(error, TemplateError):
        reason = f"{type(error).__name__}: {reason}"
    if isinstance(error, TemplateSyntaxError):
        return Problem(f"emails/{error.name or name}:{error.lineno}", reason)
    places = [(frame.f_code.co_filename, line) for frame, line in walk_tb(error.__traceback__)]
    places = [(file, line) for file, line in places if file.endswith(".j2")] or [(name, 0)]
    file, line = places[-1]
    above = next((f"emails/{other}:{at}" for other, at in reversed(places) if other != file), "")
    return Problem(f"emails/{file}:{line}".removesuffix(":0"), f"{reason} (included by {above})" if above else reason)


# Samples, which touch every branch of the templates

_SAMPLE_ADDRESS = "paperboy@example.org"


def _problems(kind: str, draw: Callable[[], Rendered | str], needed: Mapping[str, str]) -> Iterator[Problem]:
    """What goes wrong in drawing a mail, and what either of its parts must show and does not."""
    try:
        mail = draw()
    except ConfigError as error:
        yield from error.problems
        return
    except RenderError as error:
        place, _, message = str(error).partition(": ")
        yield Problem(place, message)
        return
    parts = {"mjml": mail.html, "txt": " ".join(mail.text.split())} if isinstance(mail, Rendered) else {}
    for ending, part in parts.items():
        for what, words in needed.items():
            if words not in part:
                yield Problem(f"emails/{kind}.{ending}.j2", f"the mail must show {what}, and does not")


def _sample_digests() -> Iterator[Digest]:
    """Scored by an LLM with a price, without one, and without token counts; by the embedded scorer; and two notes."""
    papers = [_sample_paper(number) for number in range(10, 40)]
    topics = "# Samples\n\nOf all kinds:\n\n1. small\n   - and smaller\n2. large\n\nNothing else."
    mailing_list = MailingList("sample", "A sample", ("cs.LG", "stat.ML"), topics, ZoneInfo("UTC"), max_papers=1)
    full = Digest(
        replace(mailing_list, authors=("Ada Lovelace",)),
        date(2026, 1, 5),
        entries=(Entry(1, papers[0], Score(4, 5), "Ada Lovelace"), Entry(2, papers[1], Score(9, 8, "It & more."))),
        counts=Counts(considered=28, carried_over=12, let_go=12, author_matches=1, selected=1, over_cap=1, below=1),
        model=Model("sample-model", is_llm=True),
        spending=Spending(Usage(2, 1_000, 400, 300, completion_tokens=200, reasoning_tokens=50), Cost(0.012, 0.003)),
        over_cap=(Entry(3, papers[2], Score(8, 7)),),
        let_go=tuple(papers[3:15]),
        carried_over=tuple(papers[15:27]),
        shortfall=Shortfall.BUDGET,
    )
    bare = Entry(1, replace(papers[0], authors=(), abstract=""), Score(7, None))
    counts, model = Counts(considered=1, selected=1), Model("embedded", is_llm=False)
    embedded = Digest(mailing_list, full.date, (bare,), counts, model)
    yield full
    yield replace(full, spending=Spending(Usage(1, 900, completion_tokens=100), cost=None))
    yield replace(full, spending=Spending(Usage(calls=2), cost=None), shortfall=None)
    yield embedded
    yield replace(embedded, entries=(), counts=Counts(considered=4, below=4))
    yield replace(full, entries=(), counts=replace(full.counts, considered=26, author_matches=0, selected=0))


def _sample_paper(number: int) -> Paper:
    submitted = datetime(2026, 1, 2, 12, tzinfo=UTC)
    return Paper(
        arxiv_id=f"2601.000{number}",
        version=1,
        title=f"Sample {number}: where $a < b$ & $M_{{a,b}}$, " + "a long title " * 20,
        authors=("Ada Lovelace", *(f"Grace Hopper {n}" for n in range(20))),
        abstract="One sentence stands here. Another one follows it. " * 30,
        primary_category="cs.LG",
        categories=("cs.LG",),
        published=submitted,
        updated=submitted,
    )
