"""What the tests of mails share: the templates we ship, and how a reader, or a machine, sees the parts."""

from __future__ import annotations

import html as entities
import re
from pathlib import Path
from typing import NamedTuple

import lxml.html

from paperboy.features import FEATURES
from paperboy.mail import page
from paperboy.mail.page import Copy, Page
from paperboy.mail.templates import Templates
from paperboy.mail.text import prose
from paperboy.models import Digest, Rendered

EMAILS = Path(__file__).parents[2] / "emails"
TEMPLATES = Templates.load([EMAILS])
SAMPLES = [feature.samples for feature in FEATURES if feature.samples]
OF_1_0 = Path(__file__).parent / "1.0"  # templates as an operator may have copied them from there
COPY = Copy("Paperboy", "0123456789abcdef" * 2, "ada@example.org")
FROM = "papers@example.org"
WEB = "https://papers.example.org"
LINK = "8" * 32
PAGE = f"{WEB}/digest/{LINK}"
THANKS = "Thank you to arXiv for use of its open access interoperability."


def render(of: Digest, by: Templates = TEMPLATES, *, web: bool = False) -> Rendered:
    """The mail of a digest, or the note of one without entries, to Ada."""
    return by.to_readers(page_of(of, web=web))


def page_of(of: Digest, *, web: bool = False) -> Page:
    """What the templates see. `web`: in a home that has a site."""
    if not web:
        return page.page_of(of, copy=COPY, unsubscribe_address=FROM)
    copy = COPY._replace(vote="9" * 32)
    return page.page_of(of, copy=copy, unsubscribe_address=FROM, web_url=WEB, link=LINK, votes=True)


def online(of: Digest, by: Templates = TEMPLATES) -> str:
    """The digest's page on the web."""
    return by.online(page.online(of, url=PAGE))


def visible(html: str) -> str:
    """The words of the HTML on one line."""
    body = re.sub(r"<!--.*?-->", "", html.partition("<body")[2], flags=re.DOTALL)
    body = re.sub(r"</?(?:a|b|code|span)\b[^>]*>", "", "<" + body)
    return flat(entities.unescape(re.sub(r"<[^>]*>", " ", body)))


def flat(text: str) -> str:
    """The words of the text on one line."""
    return " ".join(text.split())


class Shown(NamedTuple):
    """An entry of the HTML: its title's heading links to arXiv, and the nearest `h2` above it names its group."""

    group: str
    paper: str  # arXiv id
    title: str
    words: str  # of the paragraphs up to the next heading


def entries(html: str) -> list[Shown]:
    """The entries of the HTML, in its order."""
    group = ""
    found = []
    is_entry = False
    for element in lxml.html.document_fromstring(html).iter("h1", "h2", "h3", "p"):
        words = flat(element.text_content())
        if element.tag == "p":
            if is_entry:
                found[-1] = found[-1]._replace(words=flat(f"{found[-1].words} {words}"))
            continue
        links = element.xpath(".//a[contains(@href, '//arxiv.org/abs/')]")
        is_entry = bool(links)
        if is_entry:
            found.append(
                Shown(
                    group,
                    links[0].get("href").rpartition("/abs/")[2],
                    flat(links[0].text_content()),
                    "",
                )
            )
        elif element.tag == "h2":
            group = words
    return found


def how_much(abstract: str, entry: Shown) -> str:
    """How much of a paper's abstract an entry shows: "whole", "cut" or "absent"."""
    whole = flat(
        lxml.html.fragment_fromstring(prose(abstract).__html__(), create_parent="p").text_content()
    )
    return "whole" if whole in entry.words else "cut" if whole[:60] in entry.words else "absent"
