"""A draft is composed from one picklable value, in whatever process."""

from __future__ import annotations

import multiprocessing
import pickle
from concurrent.futures import ProcessPoolExecutor
from datetime import UTC, datetime
from pathlib import Path

from paperboy.drafting import Material, compose, draft
from paperboy.mail.message import Composer
from paperboy.mail.templates import Templates
from paperboy.models import Outcome, Score
from tests.builders import LLM, mailing_list, paper

ROOT = Path(__file__).parents[1]
NOW = datetime(2026, 11, 20, 7, tzinfo=UTC)


def material(relevance: int, **changes: object) -> Material:
    papers = tuple(paper(f"2611.{number:05}") for number in range(1, 8))
    scores = {each.arxiv_id: Score(relevance, 8, "It matters.") for each in papers}
    composer = Composer(Templates.load([ROOT / "emails"]), "papers@example.org", "", b"secret")
    wants = mailing_list(subscribers=(), **changes)
    stationery = composer.stationery(wants, NOW.date())
    return Material(wants, papers, "criteria", LLM, stationery, NOW, scores=scores)


def test_compose_gives_the_same_bytes_in_another_process() -> None:
    """Its material and its draft survive pickling, so any executor may do it."""
    materials = [material(9), material(9, name="galaxies", title="Galaxies"), material(2)]
    with ProcessPoolExecutor(2, mp_context=multiprocessing.get_context("forkserver")) as pool:
        made = list(pool.map(compose, materials))
    assert made == [compose(each) for each in materials]
    assert [each.outcome("") for each in made] == [Outcome.DIGEST, Outcome.DIGEST, Outcome.NOTE]
    composed = made[0].composed
    assert composed is not None
    assert b"2611.00007" in composed.message
    assert pickle.loads(pickle.dumps(made[2])) == made[2]  # noqa: S301  # ours


def test_compose_makes_no_mail_where_the_list_wants_none() -> None:
    assert compose(material(2, send_empty=False)).composed is None
    assert draft(material(9)).composed is None
