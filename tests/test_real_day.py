"""The main job on real input: a real day of arXiv with the scores that its papers really got, over real protocols."""

import json
import re
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from paperboy.models import Paper, Score
from paperboy.scoring.local import closeness
from paperboy.sources.arxiv import calendar as announcements
from tests.cli.conftest import FRIDAY, World, text_of, world
from tests.servers.arxiv_api import papers_from_day

__all__ = ["world"]  # a fixture

DAYS = Path(__file__).parents[2] / "shared" / "data" / "days"
pytestmark = pytest.mark.data

TOPICS = "Foundations of machine learning."
LISTS = f"""\
lists:
  - name: foundations
    categories: [cs.LG, cs.AI]
    topics: {TOPICS}
    authors: [Yoshua Bengio, Yann LeCun]
    subscribers: [ada@example.org]
"""


def rows(day: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (DAYS / f"{day}.jsonl").read_text("utf-8").splitlines()]


def papers(day: str, now: datetime) -> list[Paper]:
    return papers_from_day(DAYS / f"{day}.jsonl", announcements.newest_batch(now))


def scores(day: str) -> dict[str, Score]:
    """What the papers really got; 3 and 3 for those that got nothing."""
    return {
        row["arxiv_id"]: Score(row["relevance"] or 3, row["novelty"] or 3, "") for row in rows(day)
    }


def shown(world: World) -> list[str]:
    """The papers of the newest mail, in its order, each by the link of its title; the same in both parts."""
    mail = world.messages()[-1]
    link = r"https://arxiv\.org/abs/([\w./-]+\d)"
    plain = re.findall(rf"^ +{link}$", text_of(mail), re.MULTILINE)
    html = re.findall(rf'<h3[^>]*><a href="{link}"', text_of(mail, "html"))
    assert plain == html
    return plain


def test_the_reference_days_digest_arrives_and_nothing_twice(world: World) -> None:
    day = "2025-02-18"
    world.write("subscribers.yaml", LISTS)
    world.arxiv.papers = papers(day, FRIDAY)
    world.llm.scores = scored = scores(day)
    chosen = {row["arxiv_id"]: row for row in rows(day) if row["selected"]}
    assert len(chosen) == 51

    assert "51 of 423 papers (2 author matches)" in world.run("once").out
    close = closeness(TOPICS, world.arxiv.papers)
    best_first = sorted(
        chosen,
        key=lambda arxiv_id: (
            -scored[arxiv_id].relevance - (scored[arxiv_id].novelty or 0),
            -scored[arxiv_id].relevance,
            -close.get(arxiv_id, 0),
            arxiv_id,
        ),
    )
    followed = [arxiv_id for arxiv_id in best_first if chosen[arxiv_id]["author_match"]]
    others = [arxiv_id for arxiv_id in best_first if arxiv_id not in followed]
    assert shown(world) == followed + others

    assert world.run("once").code == 0
    assert len(world.mails()) == 1
    asked = [arxiv_id for ids in world.llm.asked for arxiv_id in ids]
    assert len(asked) == len(set(asked)) == 423


def test_a_next_morning_with_half_new_papers_sends_only_those(world: World) -> None:
    world.write("subscribers.yaml", LISTS)
    world.arxiv.papers = papers("2025-02-18", FRIDAY)
    world.llm.scores = scores("2025-02-18") | scores("2025-06-06")
    world.run("once")
    before = set(shown(world))

    world.clock.now += timedelta(days=3)
    world.arxiv.papers = world.arxiv.papers[::2] + papers("2025-06-06", world.clock())
    assert world.run("once").code == 0
    assert len(world.mails()) == 2
    assert set(shown(world)) == {row["arxiv_id"] for row in rows("2025-06-06") if row["selected"]}
    assert not before & set(shown(world))
