"""What the tests of mails share: the templates we ship, and how a reader, or a machine, sees the parts."""

from __future__ import annotations

import html as entities
import re
from pathlib import Path

from paperboy.mail.page import Copy, Page, page
from paperboy.mail.templates import Templates
from paperboy.models import Digest, Rendered

EMAILS = Path(__file__).parents[2] / "emails"
TEMPLATES = Templates.load([EMAILS])
COPY = Copy("Paperboy", "Your address ada@example.org is on this list.", "0123456789abcdef" * 2)
FROM = "papers@example.org"
THANKS = "Thank you to arXiv for use of its open access interoperability."


def render(of: Digest, by: Templates = TEMPLATES) -> Rendered:
    """The mail of a digest, or the note of one without entries, to Ada."""
    return by.to_readers(page_of(of))


def page_of(of: Digest) -> Page:
    """What the templates see."""
    return page(of, copy=COPY, unsubscribe_address=FROM)


def visible(html: str) -> str:
    """The words of the HTML on one line."""
    body = re.sub(r"<!--.*?-->", "", html.partition("<body")[2], flags=re.DOTALL)
    body = re.sub(r"</?(?:a|b|code|span)\b[^>]*>", "", "<" + body)
    return flat(entities.unescape(re.sub(r"<[^>]*>", " ", body)))


def flat(text: str) -> str:
    """The words of the text on one line."""
    return " ".join(text.split())
