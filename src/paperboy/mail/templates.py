"""The operator's templates: a digest as subject, HTML and plain text, and faults with their file
and line.

Jinja gives the plain text, and MJML that becomes the HTML. A fault is a `ConfigError`. For a list
of the language pt-BR, each template is looked for in pt-BR/, then in pt/, then outside these.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from difflib import get_close_matches
from functools import lru_cache
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import jinja2
import mjml

from paperboy.curate import MOST_MORNINGS, curate
from paperboy.edges import files, sandbox
from paperboy.edges.text import one_line
from paperboy.errors import ConfigError, noted
from paperboy.mail.fit import cuts, fitted, in_html, in_text
from paperboy.mail.page import Copy, Page, online, page_of
from paperboy.mail.text import clipped, counted, in_attribute, money, shorten, tied, wrap
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
_COPY_ROOM = 1_000  # bytes that a recipient's own values may add


@dataclass(frozen=True, slots=True)
class Templates:
    """The texts of all templates, by path: a value that another process can render with."""

    texts: tuple[tuple[str, str], ...] = field(repr=False)
    seconds: float = sandbox.MOST_SECONDS  # of processor time for a render

    @classmethod
    def load(cls, folders: Sequence[Path]) -> Templates:
        """Read each template, also those in folders of a language, from the first folder that has
        it. Raises ConfigError.
        """
        found: dict[str, Path] = {}
        for folder in reversed(folders):
            for file in (*folder.glob("*.j2"), *folder.glob("*/*.j2")):
                path = file.relative_to(folder).as_posix()
                if "/" not in path or _LANGUAGE.match(path):
                    found[path] = file

        texts = []
        for path, file in sorted(found.items()):
            try:
                texts.append((path, files.read_text(file)))
            except (ValueError, FileNotFoundError) as error:
                raise ConfigError.at(f"emails/{path}", str(error)) from error
        return cls(tuple(texts))

    def to_readers(self, whole: Page) -> Rendered:
        """Render a digest, or the note of a morning on which no paper passed. ConfigError for a
        broken template, or if no HTML within the budget exists.
        """
        kind = "digest" if whole.items else "note"
        subject, _, preheader = (
            self._text("inbox.txt.j2", whole.language, page=whole).strip().partition("\n")
        )
        whole = replace(whole, preheader=one_line(preheader))
        name = f"{kind}.mjml.j2"
        html = fitted(
            whole,
            lambda shown: self._html(name, whole.language, page=shown),
            HTML_BUDGET - _COPY_ROOM,
        )
        if html is None:
            what = f"the HTML has more than {HTML_BUDGET:,} bytes even without a paper"
            raise ConfigError.at(
                f"emails/{name}", f"{what}; make the template or the topics shorter"
            )
        text = self._text(f"{kind}.txt.j2", whole.language, page=in_text(whole))
        return Rendered(one_line(subject), html, text)

    def online(self, whole: Page) -> str:
        """Render the page of a digest or note on the web, by the templates of the mail. Errors as
        for `to_readers`.
        """
        kind = "digest" if whole.items else "note"
        return self._html(f"{kind}.mjml.j2", whole.language, page=whole)

    def web(self, name: str, language: str = "", **values: Any) -> str:
        """Render a page of the web room, `NAME.html.j2`. Errors as for `to_readers`."""
        return self._text(f"{name}.html.j2", language, **values)

    def confirmation(self, mailing_list: MailingList, url: str) -> Rendered:
        """Render the mail that asks for a sign-up's confirmation. Errors as for `to_readers`."""
        language, values = (
            mailing_list.language,
            {"title": one_line(mailing_list.title), "url": url},
        )
        text = self._text("confirm.txt.j2", language, **values).strip() + "\n"
        return Rendered(
            one_line(text.partition("\n")[0]),
            self._html("confirm.mjml.j2", language, **values),
            text,
        )

    def alert(self, alert: Alert) -> Rendered:
        """Render the operator's mail. Errors as for `to_readers`."""
        clean = Alert(
            one_line(alert.headline),
            tuple(map(one_line, alert.paragraphs)),
            tuple(map(one_line, alert.details)),
        )
        html, text = (
            self._html("alert.mjml.j2", "", alert=clean),
            self._text("alert.txt.j2", "", alert=clean),
        )
        return Rendered(f"Paperboy: {clean.headline}", html, text)

    def check(self, languages: Collection[str] = (), *, web: bool = False) -> None:
        """Render samples of every kind of mail, for lists in English and in these languages; `web`:
        also the pages of the web room and a sign-up's mail, which concern no digest. ConfigError
        with what is wrong with the templates.
        """
        alert = Alert("Something needs attention", ("It happened.", "This fixes it."))
        found = list[Problem]()
        with sandbox.one_timeout():
            for each in (alert, replace(alert, details=("a/file:1: it",) * 60)):
                with noted(found):
                    self._must_show({"alert.headline": [alert.headline]}, self.alert(each), "alert")

            for language in dict.fromkeys(("en", *sorted(self.used(languages)))):
                samples = tuple(_samples(language))
                for number, digest in enumerate(samples):
                    with noted(found):
                        self._try(
                            digest, _ON_THE_WEB if number % 3 != 1 else ""
                        )  # of each kind some without pages
                if not web:
                    continue

                with noted(found):
                    self.confirmation(samples[0].mailing_list, _ON_THE_WEB)
                for digest in samples:
                    url = f"{_ON_THE_WEB}/0"
                    shown = online(
                        digest,
                        url=url,
                        list_url=f"{_ON_THE_WEB}/list",
                        join_url=f"{_ON_THE_WEB}/join",
                    )
                    with noted(found):
                        self.online(shown)
                for path, _ in self.texts:
                    if path.endswith(".html.j2") and "/" not in path:
                        with noted(found):
                            self._sandbox(language).compiled(path)
        if found:
            raise ConfigError(list(dict.fromkeys(found)))  # each once

    def used(self, languages: Collection[str]) -> set[str]:
        """Return the folders in which templates for lists of these languages are looked for."""
        return {folder for language in languages for folder in self._folders(language)}

    @property
    def languages(self) -> set[str]:
        """Those that have a folder."""
        return {path.partition("/")[0] for path, _ in self.texts if "/" in path}

    def _folders(self, language: str) -> tuple[str, ...]:
        """Return the folders for lists of a language, the closest first: pt-BR, pt."""
        fitting = (folder for folder in self.languages if f"{language}-".startswith(f"{folder}-"))
        return tuple(sorted(fitting, reverse=True))

    def _sandbox(self, language: str, *, escapes: bool = True) -> sandbox.Sandbox:
        return _sandbox(self, self._folders(language), escapes=escapes)

    def _try(self, digest: Digest, web_url: str) -> None:
        """Render a sample as for readers, after trying what only a crowded morning shows. Raises
        ConfigError.
        """
        copy = Copy("1" * 32, "2" * 32, "3" * 32, "4" * 32)  # placeholders, as in any digest
        whole = page_of(
            digest,
            copy=copy,
            unsubscribe_address="paperboy@example.org",
            web_url=web_url,
            link="0" * 32 if web_url else "",
            votes=bool(web_url),
        )
        if whole.items:
            tail = (
                tuple(replace(item, group=Group.ALSO, rank=99, brief=True) for item in whole.items)
                * 9
            )
            sizes = {**whole.sizes, Group.ALSO: len(tail)}
            crowded = replace(
                in_html(whole),
                items=whole.items + tail,
                sizes=sizes,
                topics_left_out=3,
            )
            for pages in cuts(crowded):
                for shown in pages[-1:]:
                    self._html("digest.mjml.j2", whole.language, page=shown)

        needed = {
            "who gets the mail (page.copy.address)": [copy.address],
            "how to leave the list (page.unsubscribe_url in HTML, page.unsubscribe_subject in text)": [
                copy.token
            ],
            "a link to every paper (item.url, for each item of page.items)": [
                item.url for item in whole.items
            ],
        }
        self._must_show(
            needed,
            self.to_readers(whole),
            "digest" if whole.items else "note",
            whole.language,
        )

    def _must_show(
        self,
        needed: Mapping[str, Sequence[str]],
        mail: Rendered,
        kind: str,
        language: str = "",
    ) -> None:
        """Raise ConfigError unless either part has the words of all that is needed."""
        file = self._sandbox(language).file
        missing = [
            Problem(
                f"emails/{file(f'{kind}.{ending}.j2')}", f"the mail must show {what}, and does not"
            )
            for ending, part in (("mjml", mail.html), ("txt", " ".join(mail.text.split())))
            for what, words in needed.items()
            if any(each not in part for each in words)
        ]
        if missing:
            raise ConfigError(missing)

    def _text(self, name: str, language: str, **values: Any) -> str:
        return self._sandbox(language, escapes=not name.endswith(".txt.j2")).text(name, **values)

    def _html(self, name: str, language: str, **values: Any) -> str:
        source = self._text(name, language, **values)
        place = f"emails/{self._sandbox(language).file(name)}"
        try:
            html: str = mjml.mjml2html(source, fonts={})  # else it loads fonts from Google
        except ValueError as error:
            fix = "look for a tag that is not closed, or closed twice, in it and in those that it includes"
            what = f"MJML does not accept what this template gives: {error}; {fix}"
            raise ConfigError.at(place, what) from error
        if "<mj-" in html:
            unknown = html.partition("<mj-")[2].split(">")[0].split()[0]
            raise ConfigError.at(place, f"MJML knows no component mj-{unknown} at this place")
        return html


# Jinja


class _Undefined(jinja2.StrictUndefined):
    """Names what is missing, and what may have been meant."""

    __slots__ = ()
    __format__ = (
        jinja2.StrictUndefined._fail_with_undefined_error
    )  # as Jinja has it for all other methods

    @property
    def _undefined_message(self) -> str:
        meant = get_close_matches(str(self._undefined_name), dir(self._undefined_obj), n=1)
        return super()._undefined_message + "".join(f", did you mean {name!r}?" for name in meant)


@lru_cache(maxsize=8)
def _sandbox(templates: Templates, folders: tuple[str, ...], *, escapes: bool) -> sandbox.Sandbox:
    """The templates as these folders have them, the first that has one; else from outside any."""
    found = dict(templates.texts)

    def file(name: str) -> str:
        return next((path for folder in folders if (path := f"{folder}/{name}") in found), name)

    # What both parts of a mail include, such as their words, is escaped in HTML, and in plain text
    # it is not.
    options = {"undefined": _Undefined, "autoescape": escapes, "keep_trailing_newline": True}
    made = sandbox.Sandbox(
        "emails", lambda name: found.get(file(name)), templates.seconds, file, **options
    )
    made.filters |= {
        each.__name__: each for each in (wrap, shorten, clipped, counted, money, tied, in_attribute)
    }
    return made


# Samples, which touch every branch of the templates


def _samples(language: str) -> Iterator[Digest]:
    """Digests and notes: something of everything, and as little as possible; tokens and prices
    known and unknown.
    """
    title, abstract = (
        "Where $a < b$ & $M_{a,b}$, " + "a long title " * 20,
        "One sentence stands here. " * 60,
    )
    authors, submitted = (
        tuple(f"Grace Hopper {n}" for n in range(20)),
        datetime(2026, 1, 2, 12, tzinfo=UTC),
    )
    paper = Paper(
        "2601.00010",
        1,
        title,
        authors,
        abstract,
        "cs.LG",
        ("cs.LG",),
        submitted,
        submitted,
    )
    papers = [replace(paper, id=f"2601.000{n}") for n in range(10, 40)]
    by_ada, bare = (
        replace(paper, authors=("Ada Lovelace", *authors)),
        replace(paper, authors=(), abstract=""),
    )
    topics = "# Samples\n\nOf all kinds:\n\n1. small\n   - and smaller\n2. large\n\nNothing else."
    poor = MailingList(
        "sample",
        "A sample",
        ("cs.LG", "stat.ML"),
        topics,
        ZoneInfo("UTC"),
        language,
        max_papers=1,
    )
    rich = replace(
        poor,
        authors=("Ada Lovelace",) * 50,
        exclude=("cs.CV",),
        keywords=Keywords(("learning",), ("survey",)),
    )
    priced = Spending(
        Usage(2, 1_000, 400, 300, completion_tokens=200, reasoning_tokens=50), Cost(0.012, 0.003)
    )
    unpriced = Spending(Usage(calls=2), None)
    below = Score(3, 3)
    for of, some, scores, spending in (
        (
            rich,
            [by_ada, *papers[1:]],
            [Score(4, 5), Score(9, 8, "It & more."), Score(8, 7), below],
            priced,
        ),
        (poor, [bare], [Score(7, None)], None),
        (rich, papers, [below], unpriced),
        (rich, [by_ada], [], priced),
        (replace(rich, topics=""), [by_ada], [], None),
        (replace(rich, topics=""), [], [], None),
    ):
        ids, model = [each.id for each in some], Model("a-model", is_llm=spending is not None)
        empty, scored = (
            Digest(of, submitted.date(), model, spending or Spending()),
            zip(ids, scores, strict=False),
        )
        yield curate(
            empty,
            some,
            dict(scored),
            dict.fromkeys(ids[::2], MOST_MORNINGS),
            ["2601.00001"],
        )
