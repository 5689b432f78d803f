"""The operator's templates: a digest as subject, HTML and plain text, and faults with their file and line.

Jinja gives the plain text, and MJML that becomes the HTML. A fault is a `ConfigError`. For a list of the language
pt-BR, each template is looked for in pt-BR/, then in pt/, then outside these.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from difflib import get_close_matches
from functools import lru_cache, partial
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import jinja2
import mjml
from markupsafe import Markup, escape

from paperboy.curate import MOST_MORNINGS, curate
from paperboy.edges import files, sandbox
from paperboy.edges.text import one_line
from paperboy.errors import ConfigError
from paperboy.mail.fit import cuts, fitted, in_full, in_html, in_text
from paperboy.mail.page import Copy, Page, online, page
from paperboy.mail.text import clipped, counted, money, shorten, wrap
from paperboy.models import (
    Alert,
    Cost,
    Digest,
    Group,
    Keywords,
    MailingList,
    Model,
    Paper,
    Problem,
    Rendered,
    Score,
    Spending,
    Usage,
)

HTML_BUDGET = 95_000  # bytes; Gmail clips from about 99,500
_LANGUAGE = re.compile(r"[A-Za-z]{2,3}(-[A-Za-z0-9]+)*/")  # a folder of templates
_ON_THE_WEB = "https://papers.example.org"  # of samples
_SHORT = 6  # letters of a last word, with its full stop
_COPY_ROOM = 1_000  # bytes that a recipient's own values may add


@dataclass(frozen=True, slots=True)
class Templates:
    """The texts of all templates, by path: a value that another process can render with."""

    texts: tuple[tuple[str, str], ...] = field(repr=False)
    seconds: float = sandbox.MOST_SECONDS  # of processor time for a render

    @classmethod
    def load(cls, folders: Sequence[Path]) -> Templates:
        """Read each template, also those in folders of a language, from the first folder that has it. Raises
        ConfigError.
        """
        files_of = {folder: [*folder.glob("*.j2"), *folder.glob("*/*.j2")] for folder in reversed(folders)}
        paths = {file.relative_to(folder).as_posix(): file for folder, every in files_of.items() for file in every}
        found = {path: file for path, file in paths.items() if "/" not in path or _LANGUAGE.match(path)}
        texts = []
        for name, file in sorted(found.items()):
            try:
                texts.append((name, files.read_text(file)))
            except (ValueError, FileNotFoundError) as error:
                raise _fault(name, str(error)) from error
        return cls(tuple(texts))

    def to_readers(self, whole: Page) -> Rendered:
        """Render a digest, or the note of a morning on which no paper passed. ConfigError for a broken template, or if
        no HTML within the budget exists.
        """
        kind = "digest" if whole.items else "note"
        subject, _, preheader = self._text("inbox.txt.j2", whole.language, page=whole).strip().partition("\n")
        whole = replace(whole, preheader=one_line(preheader))
        draw = partial(self._html, f"{kind}.mjml.j2", whole.language)
        html = fitted(whole, lambda shown: draw(page=shown), HTML_BUDGET - _COPY_ROOM)
        if html is None:
            what = f"the HTML has more than {HTML_BUDGET:,} bytes even without a paper"
            raise _fault(f"{kind}.mjml.j2", f"{what}; make the template or the topics shorter")
        text = self._text(f"{kind}.txt.j2", whole.language, page=in_text(whole))
        return Rendered(one_line(subject), html, text)

    def online(self, whole: Page) -> str:
        """Render the page of a digest or note on the web, by the templates of the mail. Errors as for `to_readers`."""
        kind = "digest" if whole.items else "note"
        return self._html(f"{kind}.mjml.j2", whole.language, page=in_full(whole))

    def web(self, name: str, language: str = "", **values: Any) -> str:
        """Render a page of the web room, `NAME.html.j2`. Errors as for `to_readers`."""
        return self._text(f"{name}.html.j2", language, **values)

    def confirmation(self, mailing_list: MailingList, url: str) -> Rendered:
        """Render the mail that asks for a sign-up's confirmation. Errors as for `to_readers`."""
        language, values = mailing_list.language, {"title": one_line(mailing_list.title), "url": url}
        text = self._text("confirm.txt.j2", language, **values).strip() + "\n"
        return Rendered(one_line(text.partition("\n")[0]), self._html("confirm.mjml.j2", language, **values), text)

    def alert(self, alert: Alert) -> Rendered:
        """Render the operator's mail. Errors as for `to_readers`."""
        paragraphs, details = (tuple(map(one_line, lines)) for lines in (alert.paragraphs, alert.details))
        clean = Alert(one_line(alert.headline), paragraphs, details)
        html, text = self._html("alert.mjml.j2", "", alert=clean), self._text("alert.txt.j2", "", alert=clean)
        return Rendered(f"Paperboy: {clean.headline}", html, text)

    def check(self, languages: Collection[str] = (), *, web: bool = False) -> None:
        """Render samples of every kind of mail, for lists in English and in these languages; `web`: also the pages of
        the web room and a sign-up's mail, which concern no digest. ConfigError with what is wrong with the templates.
        """
        alert = Alert("Something needs attention", ("It happened.", "This fixes it."))
        found = dict[Problem, None]()
        with sandbox.one_timeout():
            for each in (alert, replace(alert, details=("a/file:1: it",) * 60)):
                problems = _problems("alert", partial(self.alert, each), {alert.headline: "alert.headline"})
                found |= dict.fromkeys(problems)
            for language in dict.fromkeys(("en", *sorted(self.used(languages)))):
                found |= dict.fromkeys(self._with_samples(language))
                found |= dict.fromkeys(self._on_the_web(language) if web else ())
        if found:
            raise ConfigError(list(found))

    def used(self, languages: Collection[str]) -> set[str]:
        """The folders in which templates for lists of these languages are looked for."""
        tags = [f"{each}-" for each in languages]
        return {each for each in self.languages if any(tag.startswith(f"{each}-") for tag in tags)}

    @property
    def languages(self) -> set[str]:
        """Those that have a folder."""
        return {path.partition("/")[0] for path, _ in self.texts if "/" in path}

    def _with_samples(self, language: str) -> Iterator[Problem]:
        """What is wrong with digests and notes for lists of a language."""
        copy = Copy(*(str(digit) * 32 for digit in (1, 2, 3, 4)))  # placeholders, as in any digest
        for number, digest in enumerate(_samples(language)):
            web = _ON_THE_WEB if number % 3 != 1 else ""  # of digests and notes some with, some without
            whole = page(
                digest,
                copy=copy,
                unsubscribe_address="paperboy@example.org",
                web_url=web,
                link="0" * 32 * bool(web),
                votes=bool(web),
            )
            needed = {
                copy.address: "who gets the mail (page.copy.address)",
                copy.token: "how to leave the list (page.unsubscribe_url in HTML, page.unsubscribe_subject in text)",
                **{item.url: "a link to every paper (item.url, for each item of page.items)" for item in whole.items},
            }
            kind, file = "digest" if whole.items else "note", self._sandbox(language).file
            yield from _problems(kind, partial(self._at_all_levels, whole), needed, file)

    def _on_the_web(self, language: str) -> Iterator[Problem]:
        """Yield what is wrong with a web room's pages, and with the mail of a sign-up, for lists of a language."""
        url, samples = _ON_THE_WEB, [*_samples(language)]
        looks: list[Callable[[], object]] = [partial(self.confirmation, samples[0].mailing_list, url)]
        for digest in samples:
            shown = online(digest, url=f"{url}/0", list_url=f"{url}/list", join_url=f"{url}/join")
            looks.append(partial(self.online, shown))
        for path, _ in self.texts:
            if path.endswith(".html.j2") and "/" not in path:
                looks.append(partial(self._sandbox(language).compiled, path))
        for look in looks:
            try:
                look()
            except ConfigError as error:
                yield from error.problems

    def _sandbox(self, language: str, *, escapes: bool = True) -> sandbox.Sandbox:
        """The templates for lists of a language."""
        parts = language.split("-")
        tags = ("-".join(parts[:number]) for number in range(len(parts), 0, -1))
        return _sandbox(self.texts, tuple(tag for tag in tags if tag in self.languages), self.seconds, escapes=escapes)

    def _at_all_levels(self, whole: Page) -> Rendered:
        """As for readers, after trying what only a crowded morning shows."""
        tail = tuple(replace(item, group=Group.ALSO, rank=99, brief=True) for item in whole.items) * 9
        sizes = {**whole.sizes, Group.ALSO: len(tail)}
        crowded = replace(in_html(whole), items=whole.items + tail, sizes=sizes, topics_left_out=3)
        for pages in cuts(crowded) if whole.items else ():
            for shown in pages[-1:]:
                self._html("digest.mjml.j2", whole.language, page=shown)
        return self.to_readers(whole)

    def _text(self, name: str, language: str, **values: Any) -> str:
        return self._sandbox(language, escapes=not name.endswith(".txt.j2")).text(name, **values)

    def _html(self, name: str, language: str, **values: Any) -> str:
        source = self._text(name, language, **values)
        file = self._sandbox(language).file(name)
        try:
            html: str = mjml.mjml2html(source, fonts={})  # else it loads fonts from Google
        except ValueError as error:
            fix = "look for a tag that is not closed, or closed twice, in it and in those that it includes"
            raise _fault(file, f"MJML does not accept what this template gives: {error}; {fix}") from error
        if "<mj-" in html:
            unknown = html.partition("<mj-")[2].split(">")[0].split()[0]
            raise _fault(file, f"MJML knows no component mj-{unknown} at this place")
        return html


def _problems(
    kind: str, draw: Callable[[], Rendered], needed: Mapping[str, str], file: Callable[[str], str] = str
) -> Iterator[Problem]:
    """What goes wrong in drawing a mail, and what either of its parts must show and does not."""
    try:
        mail = draw()
    except ConfigError as error:
        yield from error.problems
        return
    for ending, part in (("mjml", mail.html), ("txt", " ".join(mail.text.split()))):
        for words, what in needed.items():
            if words not in part:
                yield Problem(f"emails/{file(f'{kind}.{ending}.j2')}", f"the mail must show {what}, and does not")


def _fault(name: str, what: str) -> ConfigError:
    return ConfigError([Problem(f"emails/{name}", what)])


# Jinja


class _Undefined(jinja2.StrictUndefined):
    """Names what is missing, and what may have been meant."""

    __slots__ = ()
    __format__ = jinja2.StrictUndefined._fail_with_undefined_error  # as Jinja has it for all other methods

    @property
    def _undefined_message(self) -> str:
        meant = get_close_matches(str(self._undefined_name), dir(self._undefined_obj), n=1)
        return super()._undefined_message + "".join(f", did you mean {name!r}?" for name in meant)


@lru_cache(maxsize=8)
def _sandbox(
    texts: tuple[tuple[str, str], ...], folders: tuple[str, ...], seconds: float, *, escapes: bool
) -> sandbox.Sandbox:
    """The templates as these folders have them, the first that has one; else from outside any."""
    found = dict(texts)

    def file(name: str) -> str:
        return next((path for folder in folders if (path := f"{folder}/{name}") in found), name)

    # What both parts of a mail include, such as their words, is escaped in HTML, and in plain text it is not.
    options = {"undefined": _Undefined, "autoescape": escapes, "keep_trailing_newline": True}
    made = sandbox.Sandbox("emails", lambda name: found.get(file(name)), seconds, file, **options)
    made.filters |= {each.__name__: each for each in (wrap, shorten, clipped, counted, money, tied, in_attribute)}
    return made


def tied(text: object) -> Markup:
    """Text as HTML in which a short last word holds on to the one before it, so as not to stand alone on a line."""
    html = escape(text)
    head, _, last = html.rpartition(" ")
    return head + Markup("&nbsp;") + last if head and len(last) <= _SHORT else html


def in_attribute(text: str) -> Markup:
    r"""Text in ASCII and entities alone, for places that MJML copies into an attribute: other characters would come
    out of it as Rust writes them, as `\u{301}`.
    """
    safe = str(escape(text)).replace("\\", "&#92;").encode("ascii", "xmlcharrefreplace").decode()
    return Markup(safe)  # noqa: S704  # escaped just above


# Samples, which touch every branch of the templates


def _samples(language: str) -> Iterator[Digest]:
    """Digests and notes: something of everything, and as little as possible; tokens and prices known and unknown."""
    title, abstract = "Where $a < b$ & $M_{a,b}$, " + "a long title " * 20, "One sentence stands here. " * 60
    authors, submitted = tuple(f"Grace Hopper {n}" for n in range(20)), datetime(2026, 1, 2, 12, tzinfo=UTC)
    paper = Paper("2601.00010", 1, title, authors, abstract, "cs.LG", ("cs.LG",), submitted, submitted)
    papers = [replace(paper, arxiv_id=f"2601.000{n}") for n in range(10, 40)]
    by_ada, bare = replace(paper, authors=("Ada Lovelace", *authors)), replace(paper, authors=(), abstract="")
    topics = "# Samples\n\nOf all kinds:\n\n1. small\n   - and smaller\n2. large\n\nNothing else."
    poor = MailingList("sample", "A sample", ("cs.LG", "stat.ML"), topics, ZoneInfo("UTC"), language, max_papers=1)
    rich = replace(
        poor, authors=("Ada Lovelace",) * 50, exclude=("cs.CV",), keywords=Keywords(("learning",), ("survey",))
    )
    priced = Spending(Usage(2, 1_000, 400, 300, completion_tokens=200, reasoning_tokens=50), Cost(0.012, 0.003))
    unpriced = Spending(Usage(calls=2), None)
    below = Score(3, 3)
    for of, some, scores, spending in (
        (rich, [by_ada, *papers[1:]], [Score(4, 5), Score(9, 8, "It & more."), Score(8, 7), below], priced),
        (poor, [bare], [Score(7, None)], None),
        (rich, papers, [below], unpriced),
        (rich, [by_ada], [], priced),
        (replace(rich, topics=""), [by_ada], [], None),
        (replace(rich, topics=""), [], [], None),
    ):
        ids, model = [each.arxiv_id for each in some], Model("a-model", is_llm=spending is not None)
        empty, scored = Digest(of, submitted.date(), model, spending or Spending()), zip(ids, scores, strict=False)
        yield curate(empty, some, dict(scored), dict.fromkeys(ids[::2], MOST_MORNINGS), ["2601.00001"])
