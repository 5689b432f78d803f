"""A digest as a mail's subject, HTML and plain text, within the size that no mail program clips."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from paperboy.errors import ConfigError, RenderError
from paperboy.mail.copies import Copy
from paperboy.mail.fit import fitted, size, trimmed
from paperboy.mail.page import page
from paperboy.mail.sample import SAMPLE_COPY, sample_alert, sample_digests
from paperboy.mail.templates import Templates
from paperboy.mail.text import one_line, shorten
from paperboy.models import Alert, Digest, Problem, Rendered

HTML_BUDGET = 95_000  # bytes; Gmail clips from about 99,500
_PARAGRAPHS, _DETAILS = 10, 50  # of an alert that HTML shows
_COPY_ROOM = 1_000  # bytes that what differs from copy to copy may add


class Renderer:
    """Renders with the templates of the first of `folders` that has each."""

    def __init__(self, folders: Sequence[Path]) -> None:
        self._templates = Templates(folders)

    def digest(self, digest: Digest, *, copy: Copy, unsubscribe_address: str) -> Rendered:
        """The digest's mail. ConfigError for a broken template, RenderError where no HTML within the budget exists."""
        return self._to_readers("digest", digest, copy, unsubscribe_address)

    def note(self, digest: Digest, *, copy: Copy, unsubscribe_address: str) -> Rendered:
        """The short mail of a morning whose papers came and did not pass. Errors as for `digest`."""
        return self._to_readers("note", digest, copy, unsubscribe_address)

    def alert(self, alert: Alert) -> Rendered:
        """The operator's mail. Errors as for `digest`."""
        clean = _clean(alert)
        html = self._templates.html("alert.mjml.j2", alert=_brief(clean))
        if size(html) > HTML_BUDGET:
            raise RenderError(
                f"emails/alert.mjml.j2: the HTML has more than {HTML_BUDGET:,} bytes; make the template shorter"
            )
        return Rendered(f"Paperboy: {clean.headline}", html, self._templates.text("alert.txt.j2", alert=clean))

    def _to_readers(self, name: str, digest: Digest, copy: Copy, unsubscribe_address: str) -> Rendered:
        whole = page(digest, copy=copy, unsubscribe_address=unsubscribe_address)
        html = fitted(whole, lambda part: self._templates.html(f"{name}.mjml.j2", page=part), HTML_BUDGET - _COPY_ROOM)
        if html is None:
            raise RenderError(
                f"emails/{name}.mjml.j2: the HTML has more than {HTML_BUDGET:,} bytes even without a paper; "
                "make the template or the topics shorter"
            )
        return Rendered(whole.subject, html, self._templates.text(f"{name}.txt.j2", page=whole))

    def check(self) -> None:
        """Renders samples of every kind of mail. ConfigError with all that is wrong with the templates."""
        problems = list(self._templates.problems())
        if not problems:
            problems.extend(self._sample_problems())
        if problems:
            raise ConfigError(list(dict.fromkeys(problems)))

    def _sample_problems(self) -> Iterator[Problem]:
        alert = sample_alert()
        yield from _problems("alert", lambda: self.alert(alert), {"alert.headline": alert.headline})
        for digest in sample_digests():
            yield from self._problems_of(digest)

    def _problems_of(self, digest: Digest) -> Iterator[Problem]:
        name = "digest" if digest.entries else "note"
        whole = page(digest, copy=SAMPLE_COPY, unsubscribe_address="paperboy@example.org")
        needed = {
            "why somebody gets the mail (page.copy.reason)": SAMPLE_COPY.reason,
            "how to leave the list (page.unsubscribe_url in HTML, page.unsubscribe_subject in text)": SAMPLE_COPY.token,
        }
        if whole.items:
            needed["a link to every paper (item.url, for each item of page.items)"] = whole.items[-1].url
        yield from _problems(
            name, lambda: self._to_readers(name, digest, SAMPLE_COPY, whole.unsubscribe_address), needed
        )
        # What only a crowded morning shows: papers left to the plain text, and abstracts and topics that were cut.
        crowded = replace(
            trimmed(whole), shortened=True, topics_cut=True, hidden=2, contents_left=2, without_abstract=2
        )
        bare = replace(crowded, items=tuple(replace(item, bare=True) for item in crowded.items))
        for part in (crowded, replace(crowded, without_abstract=0), bare):
            yield from _problems(name, partial(self._templates.html, f"{name}.mjml.j2", page=part), {})


def _problems(name: str, draw: Callable[[], Rendered | str], needed: Mapping[str, str]) -> Iterator[Problem]:
    """What goes wrong in drawing a mail, or what both of its parts must show and do not: else an emptied file would
    pass, and the digests would go out empty.
    """
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
                yield Problem(f"emails/{name}.{ending}.j2", f"the mail must show {what}, and does not")


def _brief(alert: Alert) -> Alert:
    """As much as HTML shows: the operator must hear of a file with a thousand faults, too."""
    shown = [shorten(line, 300) for line in alert.details[:_DETAILS]]
    if len(alert.details) > _DETAILS:
        shown.append(f"{len(alert.details) - _DETAILS:,} more in the plain-text part of this mail")
    paragraphs = tuple(shorten(paragraph, 2_000) for paragraph in alert.paragraphs[:_PARAGRAPHS])
    return Alert(shorten(alert.headline, 300), paragraphs, tuple(shown))


def _clean(alert: Alert) -> Alert:
    return Alert(
        one_line(alert.headline),
        tuple(one_line(paragraph) for paragraph in alert.paragraphs),
        tuple(one_line(line) for line in alert.details),
    )
