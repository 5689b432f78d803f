"""A draft is composed from one picklable value, in whatever process."""

from __future__ import annotations

import multiprocessing
import pickle
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from paperboy.mail.message import Composer
from paperboy.mail.templates import Templates
from paperboy.models import BriefSentence, Outcome, Score, Spending, Subscriber
from paperboy.morning.drafting import Gathered, Learned, ScoredList, compose
from tests.builders import LLM, mailing_list, paper

ROOT = Path(__file__).parents[2]
NOW = datetime(2026, 11, 20, 7, tzinfo=UTC)


def scored(relevance: int, **changes: object) -> ScoredList:
    papers = tuple(paper(f"2611.{number:05}") for number in range(1, 8))
    scores = {candidate.id: Score(relevance, 8, "It matters.") for candidate in papers}
    composer = Composer(
        Templates.load([ROOT / "emails"]), Subscriber("papers@example.org"), None, b"secret"
    )
    wants = mailing_list(subscribers=(), **changes)
    gathered = Gathered(
        mailing_list=wants,
        papers=papers,
        criteria="criteria",
        model=LLM,
        for_list=composer.for_list(wants, NOW.date()),
        now=NOW,
        filtered=frozenset(),
        followed=frozenset(),
        closeness={},
        learned=Learned(),
        tries={},
        only_days=0,
    )
    return ScoredList(gathered=gathered, scores=scores, spending=Spending())


@pytest.mark.long("another process")
def test_compose_gives_the_same_bytes_in_another_process() -> None:
    """The scored list and its draft survive pickling, so any executor may do it."""
    lists = [scored(9), scored(9, name="galaxies", title="Galaxies"), scored(2)]
    with ProcessPoolExecutor(2, mp_context=multiprocessing.get_context("forkserver")) as pool:
        made = list(pool.map(compose, lists))
    assert made == [compose(scored_list) for scored_list in lists]
    assert [draft.outcome("") for draft in made] == [Outcome.DIGEST, Outcome.DIGEST, Outcome.NOTE]
    mail = made[0].mail
    assert mail is not None
    assert b"2611.00007" in mail.message
    assert pickle.loads(pickle.dumps(made[2])) == made[2]  # noqa: S301  # ours


def test_compose_puts_the_brief_into_the_digest() -> None:
    brief = (BriefSentence("Wide networks learn.", ("2611.00001",)),)
    assert compose(replace(scored(9), brief=brief)).digest.brief == brief


def test_compose_makes_no_mail_where_the_list_wants_none() -> None:
    assert compose(scored(2, send_empty=False)).mail is None
