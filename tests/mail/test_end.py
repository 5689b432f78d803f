"""The end of a mail: how its papers were chosen, short where a page says it in full."""

from __future__ import annotations

from dataclasses import replace

import lxml.html
import pytest

from paperboy.models import Digest
from tests.builders import digest, entries, mailing_list
from tests.mail.reading import PAGE, flat, online, render, visible

PREAMBLE = "You are an assistant, and you judge strictly."
TOPICS = f"# Preamble\n\n{PREAMBLE}\n\n- trees & <b>: those that grow\n- graphs, but no plots"
LIST = mailing_list(topics=TOPICS, description="For people & <b>, who climb")
NAMES = "Topics: Trees & <b> · Graphs."
WHOLE = "• trees & <b>: those that grow • graphs, but no plots"


def of(number: int) -> Digest:
    """A digest of that many papers, or a note."""
    return digest(entries(number), mailing_list=LIST)


def end(html: str) -> str:
    """The words below the last heading."""
    return (
        visible(html)
        .rpartition("ow these papers were chosen ")[2]
        .rpartition("What this list looks for ")[2]
    )


@pytest.mark.parametrize(
    ("number", "web", "criteria"),
    [
        (2, False, WHOLE),
        (9, False, WHOLE),
        (9, True, f"{NAMES} All criteria"),
        (1, False, NAMES),
        (1, True, f"{NAMES} All criteria"),
        (0, False, NAMES),
        (0, True, f"{NAMES} All criteria"),
    ],
)
def test_criteria_are_names_where_a_page_has_them_or_they_would_outweigh_the_mail(
    number: int, web: bool, criteria: str
) -> None:
    mail = render(of(number), web=web)
    other = WHOLE if criteria != WHOLE else NAMES
    assert criteria in end(mail.html)
    assert other not in end(mail.html)
    assert WHOLE in flat(mail.text)


@pytest.mark.parametrize("number", [0, 1, 9])
def test_link_to_all_criteria_leads_to_where_the_page_has_them(number: int) -> None:
    mail = lxml.html.document_fromstring(render(of(number), web=True).html)
    [link] = [a.get("href") for a in mail.iter("a") if a.text_content() == "All criteria"]
    assert link == f"{PAGE}#criteria"
    page = lxml.html.document_fromstring(online(of(number)))
    assert page.get_element_by_id("criteria").tag == "h2"
    assert WHOLE in end(online(of(number)))


def test_topics_without_names_are_whole() -> None:
    plain = replace(LIST, topics="All of it, in a sentence.")
    for number in (0, 1, 9):
        for web in (False, True):
            mail = render(replace(of(number), mailing_list=plain), web=web)
            assert "All of it, in a sentence." in end(mail.html)


@pytest.mark.parametrize("number", [0, 1, 9])
def test_what_is_written_for_the_llm_is_printed_nowhere(number: int) -> None:
    for web in (False, True):
        mail = render(of(number), web=web)
        for part in (visible(mail.html), flat(mail.text), visible(online(of(number)))):
            assert "You are an assistant" not in part
            assert "Preamble" not in part


@pytest.mark.parametrize("number", [0, 1, 9])
def test_description_is_a_paragraph_of_its_own_for_people(number: int) -> None:
    mail = render(of(number))
    for html in (mail.html, render(of(number), web=True).html, online(of(number))):
        words = [flat(p.text_content()) for p in lxml.html.document_fromstring(html).iter("p")]
        assert "For people & <b>, who climb" in words
    assert "\n\nFor people & <b>, who climb\n\n" in mail.text
    undescribed = replace(of(number), mailing_list=replace(LIST, description=""))
    assert "For people" not in visible(render(undescribed).html)


@pytest.mark.parametrize("number", [0, 1])
def test_short_mail_is_not_two_thirds_footer(number: int) -> None:
    """A note, or one paper, of a list whose criteria are long."""
    long = "\n".join(
        f"{n}. Topic {n}: {'words of what it wants and why, ' * 20}" for n in range(1, 9)
    )
    mail = render(replace(of(number), mailing_list=replace(LIST, topics=long)))
    assert "Topics: Topic 1 · Topic 2 · " in end(mail.html)
    assert len(end(mail.html)) < 1_000
