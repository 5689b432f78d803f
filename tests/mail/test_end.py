"""The end of a mail: how its papers were chosen, by names; its text part and its page say it in full."""

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
        (9, False, NAMES),
        (9, True, f"{NAMES} All criteria"),
        (1, False, NAMES),
        (1, True, f"{NAMES} All criteria"),
        (0, False, NAMES),
        (0, True, f"{NAMES} All criteria"),
    ],
)
def test_criteria_are_the_topics_names_and_whole_in_the_text_part(
    number: int, web: bool, criteria: str
) -> None:
    mail = render(of(number), web=web)
    assert f"{criteria} Sent to ada@example.org." in end(mail.html)
    assert "those that grow" not in end(mail.html)
    assert WHOLE in flat(mail.text)


@pytest.mark.parametrize("number", [0, 1, 9])
def test_link_to_all_criteria_leads_to_where_the_page_has_them(number: int) -> None:
    mail = lxml.html.document_fromstring(render(of(number), web=True).html)
    [link] = [a.get("href") for a in mail.iter("a") if a.text_content() == "All criteria"]
    assert link == f"{PAGE}#criteria"
    page = lxml.html.document_fromstring(online(of(number)))
    assert page.get_element_by_id("criteria").tag == "h2"
    assert WHOLE in end(online(of(number)))


LONG = "All of it, for once, and more. "


@pytest.mark.parametrize(
    ("topics", "shown"),
    [
        ("All of it, in a sentence.", "All of it, in a sentence."),
        (LONG * 20, LONG * 7 + "All of it, for once …"),
    ],
)
@pytest.mark.parametrize("number", [0, 1, 9])
def test_topics_without_names_have_240_characters_and_are_whole_in_text_and_on_the_page(
    number: int, topics: str, shown: str
) -> None:
    made = replace(of(number), mailing_list=replace(LIST, topics=topics))
    for web in (False, True):
        mail = render(made, web=web)
        more = " All criteria" if web else ""
        said = f" papers by Yoshua Bengio. This list looks for: {shown}{more} Sent to "
        assert said in end(mail.html)
        assert topics.strip() in flat(mail.text)
    assert topics.strip() in end(online(made))


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
