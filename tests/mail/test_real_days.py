"""Mails of real papers with the scores that they really got: nothing invented comes close to what people write."""

from __future__ import annotations

import copy
import re
from functools import cache

import lxml.html
import pytest

from paperboy.curate import WHOLE, is_off_topic
from paperboy.mail.text import prose
from tests.mail import real_days
from tests.mail.reading import entries, flat, how_much

pytestmark = pytest.mark.data


OF_AUTHORS = {
    r"\HI",
    r"\hi",
    r"\sagalocal",
}  # macros of their own, which the abstracts do not define


@cache
def page_of(day: str) -> lxml.html.HtmlElement:
    """The HTML without what no reader sees, and with a space between things that stand apart."""
    page = lxml.html.document_fromstring(real_days.mail_of(day).html)
    for hidden in page.xpath("//style | //comment() | //*[contains(@style, 'display:none')]"):
        hidden.drop_tree()
    for apart in page.iter("br", "div", "h1", "h2", "h3", "li", "p", "td", "th"):
        apart.text = f" {apart.text or ''}"
        apart.tail = f" {apart.tail or ''}"
    return page


def words(element: lxml.html.HtmlElement) -> str:
    return " ".join(element.text_content().split())


each_day = pytest.mark.parametrize("day", real_days.NAMES)


@each_day
@pytest.mark.long("whole days of papers")
def test_real_day_has_whole_abstracts_of_the_three_to_read_first(day: str) -> None:
    """Those of all other papers are one link away: rows name it, but for those off the topics."""
    of = real_days.digest_of(day)
    abstracts = {entry.paper.id: entry.paper.abstract for entry in of.entries}
    shown = entries(real_days.mail_of(day).html)
    assert {entry.paper for entry in shown} == set(abstracts)
    assert len(shown) > WHOLE
    first = [entry for entry in shown if entry.group == "Read first"]
    assert [how_much(abstracts[entry.paper], entry) for entry in first] == ["whole"] * 3
    others = [entry for entry in shown if entry not in first]
    assert {how_much(abstracts[entry.paper], entry) for entry in others} == {"absent"}
    off = {e.paper.id for e in of.entries if is_off_topic(of.mailing_list, e.score)}
    assert {entry.paper for entry in others if " · Abstract" not in entry.words} == off


@each_day
def test_text_of_a_real_day_has_whole_abstracts_of_its_first_papers(day: str) -> None:
    """Also of rows; but for a long tail, whose links are all that there is of them."""
    text = flat(real_days.mail_of(day).text)
    for entry in real_days.digest_of(day).entries:
        assert entry.rank > 15 or flat(str(prose(entry.paper.abstract))) in text


@each_day
def test_tex_of_a_real_day_is_read_or_shown_as_code(day: str) -> None:
    """What has no good form in Unicode stays as its source, in a face that says so; everything else is text."""
    page = copy.deepcopy(page_of(day))
    for code in page.findall(".//code"):
        code.clear(keep_tail=True)
    left = re.findall(r"\\[A-Za-z]+|\$[^$\d\s][^$]*\$|[_^]\{", words(page))
    assert set(left) <= OF_AUTHORS


@each_day
def test_text_of_a_real_day_says_what_its_html_says(day: str) -> None:
    in_html = set(re.findall(r"\w+", words(page_of(day).find("body"))))
    in_text = set(re.findall(r"\w+", real_days.mail_of(day).text))
    assert len(in_html & in_text) >= 0.95 * len(in_html)
