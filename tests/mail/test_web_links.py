"""What a mail has of the site, where there is one: its page, the way out, and the votes."""

from __future__ import annotations

import re
from dataclasses import replace

import lxml.html
import pytest

from paperboy.edges.tokens import vote_token
from paperboy.mail.templates import HTML_BUDGET
from tests.mail.mails import ADA, COMPOSER, MAILS, TODAY, WITH_WEB, as_digest, sample_digest
from tests.mail.reading import flat

TOKEN = COMPOSER.copy_for("foundations", TODAY, ADA).token
WEB = "https://papers.example.org"
VOTE = f"{WEB}/vote/{vote_token(TOKEN)}/2026-11-20"


# Ranks of the sample's papers by followed authors that are off topic, after one that is on topic.
OFF_TOPIC = (2, 3)
READ_FIRST = (4, 5, 6)


def links(name: str) -> list[tuple[str, str]]:
    """Of the HTML: where each leads, and its name for a screen reader."""
    page = lxml.html.document_fromstring(MAILS[name]().html)
    return [(a.get("href"), a.get("aria-label") or flat(a.text_content())) for a in page.iter("a")]


def test_paper_outside_the_tail_has_two_votes_that_name_it() -> None:
    """Those by followed authors on the topics, and the three to read first."""
    found = [link for link in links("web") if link[0].startswith(VOTE)]
    digest = MAILS["web"]().digest
    assert digest is not None
    ids = [entry.paper.id for entry in digest.entries if entry.rank in (1, *READ_FIRST)]
    votes = [
        (f"{VOTE}/{way}/{arxiv_id}", f"{said}: {arxiv_id}")
        for arxiv_id in ids
        for way, said in (("up", "More like this"), ("down", "Less"))
    ]
    assert found == [*votes, (VOTE, "Vote on all papers in this digest")]


def test_text_part_has_one_link_to_vote() -> None:
    assert re.findall(r"https://papers\S+/vote/\S*", MAILS["web"]().text) == [VOTE]


@pytest.mark.parametrize("name", ["web", "web-note"])
def test_mail_leads_to_its_page_and_to_both_ways_out(name: str) -> None:
    text = MAILS[name]().text.replace("\r\n", "\n")
    to_page = [link for link in links(name) if "/digest/" in link[0]]
    [view] = [url for url, label in to_page if label == "View online"]
    assert re.fullmatch(rf"{WEB}/digest/[0-9a-f]{{32}}", view)
    assert to_page[-1] == (f"{view}#criteria", "All criteria")
    assert all(url == view or url.startswith(f"{view}#") for url, _ in to_page)
    by_mail = f"mailto:papers@example.org?subject=unsubscribe%20foundations%20{TOKEN}"
    out = [(f"{WEB}/leave/{TOKEN}", "Unsubscribe"), (by_mail, "email to papers@example.org")]
    assert [link for link in links(name) if TOKEN in link[0]] == out
    assert f"View online: {view}\n" in text
    assert f"press its button:\n    {WEB}/leave/{TOKEN}\nOr write to papers@example.org" in text
    assert f"    unsubscribe foundations {TOKEN}\n" in text


def test_note_has_nothing_to_vote_on() -> None:
    assert "/vote/" not in MAILS["web-note"]().html + MAILS["web-note"]().text


def test_votes_count_within_what_no_mail_program_clips() -> None:
    mail = MAILS["web-heaviest"]()
    assert len(mail.html.encode()) <= HTML_BUDGET
    assert len([link for link in links("web-heaviest") if link[0].startswith(VOTE)]) == 2 * 6 + 1
    assert mail.digest is not None
    assert (
        sum(link[0].startswith("https://arxiv.org/abs/") for link in links("web-heaviest")) >= 150
    )


@pytest.mark.parametrize("name", ["digest", "note"])
def test_without_a_web_room_a_mail_knows_of_none(name: str) -> None:
    mail = MAILS[name]()
    assert not re.search(
        r"/(vote|digest|leave)/|View online|More like this|Vote on|All criteria",
        mail.html + mail.text,
        re.IGNORECASE,
    )
    assert "Unsubscribe</a> (opens an email to papers@example.org; just send it)." in mail.html


def test_list_without_pages_leads_to_arxiv_and_still_to_votes_and_the_way_out() -> None:
    """Where its `archive` is `none`."""
    of = sample_digest()
    of = replace(of, mailing_list=replace(of.mailing_list, archive="none"))
    mail = as_digest(of, WITH_WEB)
    assert not re.search(r"/digest/|View online|All criteria|#", mail.text)
    page = lxml.html.document_fromstring(mail.html)
    found = [(a.get("href"), a.text_content()) for a in page.iter("a")]
    rows = [entry.paper.id for entry in of.entries if entry.rank not in OFF_TOPIC + READ_FIRST]
    assert [url for url, label in found if label == "Abstract"] == [
        f"https://arxiv.org/abs/{arxiv_id}" for arxiv_id in rows
    ]
    assert not [url for url, _ in found if "/digest/" in url or "#" in url]
    assert (VOTE, "Vote on all papers in this digest") in found
    assert (f"{WEB}/leave/{TOKEN}", "Unsubscribe") in found
