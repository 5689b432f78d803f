"""Followed authors, `exclude`, `keywords` and lists without topics, by the command line."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import timedelta
from itertools import chain

import pytest

from tests.cli.conftest import FRIDAY, World, text_of

LIST = """\
lists:
  - name: foundations
    categories: [cs.LG, stat.ML]
    authors: [Ada Byron]
    subscribers: [ada@example.org]
"""
FILTERS = """\
    topics: 'Relevant: why networks generalise.'
    exclude: [cs.CV]
    keywords: {must: [learning, théorie], never: [state space, survey]}
"""


def announce(world: World, **titles: str) -> None:
    """Papers on cs.LG by number ("n1"): what comes after a bar is its author, and after a second one a category."""
    for name, written in titles.items():
        title, author, category = (*written.split("|"), "", "")[:3]
        (made,) = world.announce(int(name[1:]), categories=("cs.LG", *filter(None, [category])))
        world.arxiv.papers.remove(made)
        authors = (author,) if author else made.authors
        world.arxiv.papers.append(
            replace(made, title=title, abstract="Nothing more.", authors=authors)
        )


def sent(world: World) -> tuple[str, str]:
    """Return the text and the HTML of the newest mail."""
    mail = world.messages()[-1]
    return text_of(mail), text_of(mail, "html")


def test_filters_cost_no_call_are_counted_and_why_names_them(world: World) -> None:
    """Whole words in title or abstract, read as text, case and accents apart; never a followed author's paper."""
    world.write("subscribers.yaml", LIST + FILTERS)
    told = {
        1: "selected, in the digest of Fri 20 Nov 2026",
        2: "filtered on Fri 20 Nov 2026: it is in cs.CV (exclude)",
        3: "filtered on Fri 20 Nov 2026: its title or abstract has 'state space' (keywords: never)",
        4: "filtered on Fri 20 Nov 2026: its title and abstract have none of 'learning', 'théorie' (keywords: must)",
        5: "by Ada Byron, whom it follows, in the digest of Fri 20 Nov 2026",
        6: "selected, in the digest of Fri 20 Nov 2026",
    }
    announce(
        world,
        n1="Learning, surveyed",
        n2="Learning to see||cs.CV",
        n3="LEARNING with State--Space Models",
        n4="Unlearning",
        n5="A Survey|Ada Byron|cs.CV",
        n6=r"Une th\'{e}orie",
    )
    ran = world.once()
    assert (ran.code, ran.out.splitlines()[0].split(", price")[0]) == (
        0,
        "foundations: digest, 3 of 6 papers (1 author match), 3 filtered",
    )
    assert (
        "6 considered = 3 scored + 0 carried over + 0 let go + 3 filtered + 0 not called; 3 scored = "
        in ran.err
    )
    assert sorted(chain.from_iterable(world.llm.asked)) == [
        "2611.00001",
        "2611.00005",
        "2611.00006",
    ]
    text, html = sent(world)
    assert re.search(r"\n    Left out by this list's filters +3\n", text)
    never = "No papers whose title or abstract contains one of these terms: state space, survey."
    assert never in " ".join(text.split())
    assert "No papers in cs.CV." in html
    counts = world.json("status")["lists"][0]["counts"]
    assert counts["considered"] == counts["scored"] + counts["filtered"] == 6
    for number, why in told.items():
        assert f"foundations: {why}" in world.run("why", f"2611.{number:05}").out
    world.write("subscribers.yaml", LIST + FILTERS.replace("cs.CV", "cs.CL"))
    assert "filtered on Fri 20 Nov 2026: the filter is gone" in world.run("why", "2611.00002").out


def test_morning_whose_papers_are_all_filtered_sends_the_note(world: World) -> None:
    world.write("subscribers.yaml", LIST + FILTERS)
    announce(world, n1="Unlearning", n2="A survey of learning")
    assert "foundations: note, 0 of 2 papers, 2 filtered" in world.once().out
    text, html = sent(world)
    assert (
        "2 new papers appeared in cs.LG and stat.ML; this\nlist's filters left out all of them."
        in text
    )
    assert "Nothing for you today" in html
    assert world.llm.requests == []
    world.later(days=3)
    announce(world, n3="Learning")
    assert (
        "foundations: digest, 1 of 1 papers, price" in world.once().out
    )  # the filtered ones are seen


@pytest.mark.parametrize("llm", [True, False])
def test_list_without_topics_takes_its_authors_papers_asks_nobody_and_costs_nothing(
    world: World, *, llm: bool
) -> None:
    world.env(llm=llm)
    world.write("subscribers.yaml", LIST)
    announce(world, n1="One|Ada Byron", n2="Two", n3="Three")
    ran = world.once()
    assert (
        ran.out.splitlines()[0] == "foundations: digest, 1 of 3 papers (1 author match), 2 filtered"
    )
    assert world.llm.requests == []
    parts = text, html = sent(world)
    assert "    > Author match: Ada Byron." in text
    assert '<p class="m"><b>Ada\u00a0Byron</b></p>' in html
    for part in parts:
        assert not [
            word
            for word in ("Cost", "corer", "LLM", "Relevance", "Scanned", "scored", "words")
            if word in part
        ]
    why = world.run("why", "2611.00002").out
    assert "it has no followed author, and the list has neither topics nor a library" in why
    world.later(days=3)
    announce(world, n4="Four")
    assert "its next morning" not in world.run("why", "2611.00001").out
    assert "foundations: note, 0 of 1 papers, 1 filtered" in world.once().out
    assert "1 new paper appeared in cs.LG and stat.ML; it is not" in sent(world)[0]


def test_followed_authors_are_scored_first_and_marked_in_the_contents(world: World) -> None:
    world.env(LLM_BATCH_SIZE=2, LLM_CONCURRENCY=1)
    world.write("subscribers.yaml", LIST.replace("Ada Byron", "Emmy N") + "    topics: two\n")
    announce(
        world, **{f"n{number}": f"Paper {number}" for number in range(1, 9)}, n9="Later|Emmy N"
    )
    world.once()
    assert "2611.00009" in world.llm.asked[0]
    text, html = sent(world)
    assert "CONTENTS\n\nFrom authors you follow · 1\n   1.   9/8  Later\n" in text
    assert "<h2>From authors you follow&nbsp;·&nbsp;1</h2>" in html
    assert '<p class="m"><b>Emmy\u00a0N</b></p>' in html
    assert "    > Author match: Emmy N." in text


def test_dead_llm_is_waited_for_then_author_matches_make_the_digest_alone(world: World) -> None:
    world.write("subscribers.yaml", LIST + "    topics: all of it\n    exclude: [cs.CV]\n")
    world.llm.fail_always("error 503")
    announce(world, n1="One|Ada Byron", n2="Two", n3="Three", n4="Four||cs.CV")
    ran = world.once()
    assert (ran.code, world.mails()) == (1, [])
    assert "foundations: still due, scored 0 of 3 papers" in ran.out
    assert "foundations: 3 papers not scored: " in ran.err
    world.clock.now = FRIDAY + timedelta(hours=7)
    assert world.run("work", "morning", "foundations").code == 0
    world.run("work", "sending")
    text, _ = sent(world)
    text = " ".join(text.split())
    assert "One of 4 new papers, by Ada Byron, whom you follow. 1 of 4 new papers chosen" in text
    assert (
        "2 papers have no score yet, because the LLM stopped answering; they will be back" in text
    )
    assert "Left out by this list's filters " in text
    world.llm.lasting_fault = None
    world.clock.now = FRIDAY + timedelta(days=3)
    announce(world, n5="Five")
    assert "foundations: digest, 3 of 3 papers, price" in world.once().out
