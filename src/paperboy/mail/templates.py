"""Templates: render a digest as subject, HTML and plain text; report faults with file and line.

Jinja renders the plain text, and the MJML that becomes the HTML. A fault is a `ConfigError`. For a
list in pt-BR, each template is looked up in pt-BR/, then in pt/, then in the main folder. A
template of the operator's overrides the shipped one of its name; one in the main folder also
overrides those in languages' folders.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import jinja2
import mjml

from paperboy.curate import MOST_MORNINGS, curate
from paperboy.edges import files, sandbox
from paperboy.edges.text import counted, money, one_line
from paperboy.errors import ConfigError, Problem, noted
from paperboy.mail.fit import fitted, in_html, in_text, steps
from paperboy.mail.page import Copy, Page, online, page_of, section_of
from paperboy.mail.text import clipped, in_attribute, shorten, tied, unbroken, wrap
from paperboy.models import (
    BRAND,
    Alert,
    BriefSentence,
    Cost,
    Digest,
    Group,
    Keywords,
    MailingList,
    Model,
    Paper,
    Rendered,
    Score,
    Spending,
    Usage,
)
from paperboy.sources import SOURCES

HTML_BUDGET = 95_000  # bytes; Gmail clips from about 99,500
_LANGUAGE = re.compile(r"[A-Za-z]{2,3}(-[A-Za-z0-9]+)*/")  # a language's folder of templates
_ON_THE_WEB = "https://papers.example.org"  # site of the samples
_COPY_ROOM = 1_000  # bytes that a recipient's own values may add


PageSample = tuple[str, Mapping[str, Any]]  # name of a page's template, and its values
Samples = Callable[[Page], Iterable[PageSample]]  # from the page of a digest or note


@dataclass(frozen=True, slots=True)
class Templates:
    """Texts of all templates, by path: a value that another process can render with."""

    texts: tuple[tuple[str, str], ...] = field(repr=False)
    brand: str = BRAND

    @classmethod
    def load(cls, folders: Sequence[Path], brand: str = BRAND) -> Templates:
        """Return all templates, including those in languages' folders; for each name, the first of
        `folders` that has it counts. Raises ConfigError.
        """
        files_by_path: dict[str, Path] = {}
        for folder in reversed(folders):
            plain = {file.name: file for file in folder.glob("*.j2")}
            files_by_path = {
                path: file
                for path, file in files_by_path.items()
                if path.rpartition("/")[2] not in plain
            }
            files_by_path |= plain
            for file in folder.glob("*/*.j2"):
                path = file.relative_to(folder).as_posix()
                if _LANGUAGE.match(path):
                    files_by_path[path] = file

        texts = []
        for path, file in sorted(files_by_path.items()):
            try:
                texts.append((path, files.read_text(file)))
            except (ValueError, FileNotFoundError) as error:
                raise ConfigError.at(f"emails/{path}", str(error)) from error

        return cls(tuple(texts), brand)

    def to_readers(self, page: Page) -> Rendered:
        """Render a digest, or a note if no paper passed. Raises ConfigError if a template is
        broken, or if the HTML cannot fit the budget.
        """
        subject, preheader = self._inbox(page)
        page = replace(page, subject=subject, preheader=preheader)

        kind = "digest" if page.items else "note"
        name = f"{kind}.mjml.j2"
        html = fitted(
            page,
            lambda shown: self._html(name, page.language, page=shown),
            HTML_BUDGET - _COPY_ROOM,
        )
        if html is None:
            what = f"the HTML has more than {HTML_BUDGET:,} bytes even without a paper"
            fix = "make the template or the topics shorter"
            raise ConfigError.at(f"emails/{name}", f"{what}; {fix}")

        text = self._text(f"{kind}.txt.j2", page.language, page=in_text(page))
        return Rendered(page.subject, html, text)

    def online(self, page: Page) -> str:
        """Render the web page of a digest or note with the mail's templates. Raises as `to_readers`
        does.
        """
        kind = "digest" if page.items else "note"
        page = replace(page, copy=Copy(self.brand))
        return self._html(f"{kind}.mjml.j2", page.language, page=page)

    def heading(self, page: Page) -> str:
        """Return a digest's title on the web: that of its best paper or, for a note, the subject.
        Raises as `to_readers` does.
        """
        return page.best[0] if page.items else self._inbox(page)[0]

    def web(
        self,
        name: str,
        language: str = "",
        **values: Any,
    ) -> str:
        """Render a page of the site, `NAME.html.j2`. Raises as `to_readers` does."""
        return self._text(f"{name}.html.j2", language, **values)

    def confirmation(self, mailing_list: MailingList, url: str) -> Rendered:
        """Render the mail that asks to confirm a sign-up. Raises as `to_readers` does."""
        language = mailing_list.language
        values = {"title": one_line(mailing_list.title), "url": url}
        text = self._text("confirm.txt.j2", language, **values).strip() + "\n"
        subject, _, _ = text.partition("\n")
        html = self._html("confirm.mjml.j2", language, **values)
        return Rendered(one_line(subject), html, text)

    def alert(self, alert: Alert) -> Rendered:
        """Render a mail to the operator. Raises as `to_readers` does."""
        clean = Alert(
            one_line(alert.headline),
            tuple(map(one_line, alert.paragraphs)),
            tuple(map(one_line, alert.details)),
        )
        html = self._html("alert.mjml.j2", "", alert=clean)
        text = self._text("alert.txt.j2", "", alert=clean)
        return Rendered(f"{self.brand}: {clean.headline}", html, text)

    def check(self, languages: Collection[str] = ()) -> None:
        """Render samples of every mail to readers and the operator, in English and in these
        languages. Raises ConfigError with all faults of the templates.
        """
        short = Alert("Something needs attention", ("It happened.", "This fixes it."))
        long = replace(short, details=("a/file:1: it",) * 60)
        problems = list[Problem]()
        for alert in (short, long):
            with noted(problems):
                headline = {"alert.headline": [alert.headline]}
                self._must_show(headline, self.alert(alert), "alert")

        for language in self._languages_of(languages):
            for number, digest in enumerate(_samples(language)):
                web_url = "" if number % 3 == 1 else _ON_THE_WEB  # some of each kind without a site
                with noted(problems):
                    self._try(digest, web_url)

        _raise_each_once(problems)

    def check_pages(self, languages: Collection[str], features: Sequence[Samples]) -> None:
        """Render samples of the confirmation mail and of all pages of the site, including the
        features'. Raises ConfigError as `check` does.
        """
        problems = list[Problem]()
        for language in self._languages_of(languages):
            digests = [*_samples(language)]
            with noted(problems):
                self.confirmation(digests[0].mailing_list, _ON_THE_WEB)

            for digest in digests:
                page = online(
                    digest,
                    url=f"{_ON_THE_WEB}/0",
                    list_url=f"{_ON_THE_WEB}/list",
                    join_url=f"{_ON_THE_WEB}/join",
                )
                with noted(problems):
                    self.online(page)
                for samples in (_pages, *features):
                    for name, values in samples(page):
                        with noted(problems):
                            self.web(name, language, web_url=_ON_THE_WEB, **values)

        _raise_each_once(problems)

    def _inbox(self, page: Page) -> tuple[str, str]:
        """Return subject and preheader."""
        inbox = self._text("inbox.txt.j2", page.language, page=page).strip()
        subject, _, preheader = inbox.partition("\n")
        return one_line(subject), one_line(preheader)

    def _languages_of(self, languages: Collection[str]) -> list[str]:
        """Return English, and the folders that lists in these languages use."""
        return ["en", *sorted(self.used(languages) - {"en"})]

    def used(self, languages: Collection[str]) -> set[str]:
        """Return the folders that are searched for templates in these languages."""
        return {folder for language in languages for folder in self._folders(language)}

    @property
    def languages(self) -> set[str]:
        """Return the languages that have a folder."""
        return {path.partition("/")[0] for path, _ in self.texts if "/" in path}

    def _folders(self, language: str) -> tuple[str, ...]:
        """Return the folders for lists of a language, the closest first: pt-BR, pt."""
        fitting = (folder for folder in self.languages if f"{language}-".startswith(f"{folder}-"))
        return tuple(sorted(fitting, reverse=True))

    def _sandbox(self, language: str, *, escapes: bool = True) -> sandbox.Sandbox:
        return _sandbox(self, self._folders(language), escapes=escapes)

    def _try(self, digest: Digest, web_url: str) -> None:
        """Render a sample as a mail, and what only a digest of many papers shows. Raises
        ConfigError.
        """
        copy = Copy("1" * 32, "2" * 32, "3" * 32, "4" * 32)  # placeholders, as in any digest
        page = page_of(
            digest,
            copy=copy,
            unsubscribe_address="paperboy@example.org",
            web_url=web_url,
            link="0" * 32 if web_url else "",
            votes=bool(web_url),
        )
        if page.items:
            tail = [
                replace(item, group=Group.ALSO, rank=100 + rank, brief=True)
                for rank, item in enumerate(page.items * 9)
            ]
            crowded = replace(
                in_html(page),
                items=(*page.items, *tail),
                section_sizes=page.section_sizes | Counter(map(section_of, tail)),
                topics_left_out=3,
            )
            shown = crowded
            for numbers, cut in steps(crowded):
                shown = cut(shown, numbers)
                self._html("digest.mjml.j2", page.language, page=shown)

            # More papers than the text's table of contents lists, and no morning in brief.
            many = replace(page, items=crowded.items * 6, brief=())
            self._text("digest.txt.j2", page.language, page=many)

        way_out = "page.unsubscribe_url in HTML, page.unsubscribe_subject in text"
        needed = {
            "who gets the mail (page.copy.address)": [copy.address],
            f"how to leave the list ({way_out})": [copy.token],
            "a link to every paper (item.url, for each item of page.items)": [
                item.url for item in page.items
            ],
        }
        kind = "digest" if page.items else "note"
        self._must_show(needed, self.to_readers(page), kind, page.language)

    def _must_show(
        self,
        needed: Mapping[str, Sequence[str]],
        mail: Rendered,
        kind: str,
        language: str = "",
    ) -> None:
        """Raise ConfigError unless both parts contain all the words needed."""
        problems = list[Problem]()
        parts = {"mjml": mail.html, "txt": " ".join(mail.text.split())}
        for ending, part in parts.items():
            file = self._sandbox(language).file(f"{kind}.{ending}.j2")
            for what, words in needed.items():
                if any(word not in part for word in words):
                    message = f"the mail must show {what}, but does not"
                    problems.append(Problem(f"emails/{file}", message))

        if problems:
            raise ConfigError(problems)

    def _text(
        self,
        name: str,
        language: str,
        **values: Any,
    ) -> str:
        return self._sandbox(language, escapes=not name.endswith(".txt.j2")).text(name, **values)

    def _html(
        self,
        name: str,
        language: str,
        **values: Any,
    ) -> str:
        source = self._text(name, language, **values)
        place = f"emails/{self._sandbox(language).file(name)}"
        try:
            html: str = mjml.mjml2html(source, fonts={})  # by default it loads fonts from Google
        except ValueError as error:
            fix = "look for an unclosed tag, or one closed twice, in it and in the templates that it includes"
            what = f"MJML rejects the output of this template: {error}; {fix}"
            raise ConfigError.at(place, what) from error

        if "<mj-" in html:
            unknown = html.partition("<mj-")[2].split(">")[0].split()[0]
            raise ConfigError.at(place, f"MJML knows no component mj-{unknown} at this place")
        return html


def _raise_each_once(problems: Sequence[Problem]) -> None:
    if problems:
        raise ConfigError([*dict.fromkeys(problems)])


# Jinja


class _Undefined(jinja2.StrictUndefined):
    """Undefined name, which cannot be formatted either."""

    __slots__ = ()

    # Jinja defines all other methods this way.
    __format__ = jinja2.StrictUndefined._fail_with_undefined_error


@lru_cache(maxsize=8)
def _sandbox(templates: Templates, folders: tuple[str, ...], *, escapes: bool) -> sandbox.Sandbox:
    """Return a sandbox that reads each template from the first of these folders that has it, else
    from the main folder.
    """
    texts = dict(templates.texts)

    def file(name: str) -> str:
        return next((path for folder in folders if (path := f"{folder}/{name}") in texts), name)

    result = sandbox.Sandbox(
        "emails",
        lambda name: texts.get(file(name)),
        file,
        undefined=_Undefined,
        # Files that both parts include, such as `_words.j2`, are escaped only in HTML.
        autoescape=escapes,
        keep_trailing_newline=True,
    )
    for function in (wrap, shorten, clipped, counted, money, tied, unbroken, in_attribute):
        result.filters[function.__name__] = function
    result.globals["brand"] = templates.brand
    return result


# Samples, which touch every branch of the templates


def _pages(page: Page) -> Iterator[PageSample]:
    for state in ("on", "back", "left", "suppressed"):
        leave = {"state": state, "title": page.title, "address": "ada@example.org"}
        yield "leave", leave | {"url": _ON_THE_WEB, "list_url": page.list_url}
    for code in (404, 418):
        yield "error", {"code": code}


_AUTHORS = tuple(f"Grace Hopper {number}" for number in range(20))
_SUBMITTED = datetime(2026, 1, 2, 12, tzinfo=UTC)
_PAPER = Paper(
    id="2601.00010",
    version=1,
    title="Samples: where $a < b$ & $M_{a,b}$, " + "a long title " * 20,
    authors=_AUTHORS,
    abstract="One sentence stands here. " * 60,
    primary_category="cs.LG",
    categories=("cs.LG",),
    published=_SUBMITTED,
    updated=_SUBMITTED,
    comment="Code: https://github.com/sample/code",
)


def _with_initials() -> Paper:
    """Return a paper of a source that gives initials, perhaps by a followed author."""
    key = next(source.key for source in SOURCES if source.key)
    return replace(
        _PAPER,
        id=f"{key}:1",
        primary_category=key,
        authors=("A. Lovelace",),
        corresponding="",
        institution="The Navy & others",
    )


def _samples(language: str) -> Iterator[Digest]:
    """Yield digests and notes with everything and with as little as possible, with known and
    unknown tokens and prices.
    """
    papers = [replace(_PAPER, id=f"2601.000{number}") for number in range(10, 40)]
    by_ada = replace(_PAPER, authors=("Ada Lovelace", *_AUTHORS))
    papers[0] = by_ada
    papers[-1] = replace(by_ada, id="2601.00039")  # without a score
    bare = replace(_PAPER, authors=(), abstract="")

    poor = MailingList(
        name="sample",
        title="A sample",
        categories=("cs.LG", "stat.ML"),
        topics="# Samples\n\nOf all kinds:\n\n1. small\n   - and smaller\n2. large\n\nNothing else.",
        timezone=ZoneInfo("UTC"),
        language=language,
        max_papers=1,
    )
    rich = replace(
        poor,
        description="Samples & no more.",
        authors=("Ada Lovelace",) * 50,
        exclude=("cs.CV",),
        keywords=Keywords(("learning",), ("survey",)),
    )
    without_topics = replace(rich, topics="")
    of_library = replace(without_topics, library_size=2)

    usage = Usage(
        calls=2,
        prompt_tokens=1_000,
        cached_tokens=400,
        cache_write_tokens=300,
        completion_tokens=200,
        reasoning_tokens=50,
    )
    priced = Spending(usage, Cost(0.012, 0.003))
    unpriced = Spending(Usage(calls=2), None)
    below = Score(3, 3)
    passed = [Score(4, 5, topic=1), Score(9, 8, "It & more.", 1), Score(8, 7), below]

    samples: Sequence[tuple[MailingList, Sequence[Paper], Sequence[Score], Spending | None]] = (
        (rich, papers, passed, priced),
        (poor, [bare], [Score(7, None)], None),
        (rich, [_with_initials(), *papers[1:-1]], [below], unpriced),
        (without_topics, [by_ada], [], None),
        (rich, [_with_initials()], [Score(9, 8)], priced),
        (without_topics, [], [], None),
        (of_library, [by_ada], [below], None),
    )
    for mailing_list, considered, scores, spending in samples:
        ids = [sample.id for sample in considered]
        model = Model("a-model", is_llm=spending is not None)
        digest = curate(
            Digest(mailing_list, _SUBMITTED.date(), model, spending or Spending()),
            considered,
            dict(zip(ids, scores, strict=False)),
            tries=dict.fromkeys(ids[::2], MOST_MORNINGS),
            filtered=["2601.00001"],
        )
        about = tuple(entry.paper.id for entry in digest.entries)
        brief = (BriefSentence("Samples & more.", about, ("Samples",)),) if spending else ()
        yield replace(digest, brief=brief, late=("A & B",) if spending else ())
