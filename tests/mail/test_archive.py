"""A digest as the site keeps it."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from paperboy.mail import archive
from paperboy.models import BriefSentence, Score
from tests.builders import EMBEDDED, digest, entries, entry


def test_digest_comes_back_as_it_was() -> None:
    of = digest(model=replace(EMBEDDED, learned_from="votes"), nearest=entries(2))
    of = replace(of, counts=replace(of.counts, considered=53, not_called=40))
    papers = {entry.paper.id: entry.paper for entry in of.entries + of.nearest}
    thawed = archive.load(archive.dump(of), lambda _: papers)
    assert replace(thawed, mailing_list=of.mailing_list) == of


def test_brief_topics_and_all_followed_authors_come_back() -> None:
    by_two = replace(entry(1, topic=2), matched_authors=("Yoshua Bengio", "Yann LeCun"))
    brief = (
        BriefSentence("Two papers bound it.", (by_two.paper.id, "2611.00002"), ("Two papers", "")),
    )
    of = digest([by_two, entry(2)], brief=brief)
    papers = {entry.paper.id: entry.paper for entry in of.entries}
    thawed = archive.load(archive.dump(of), lambda _: papers)
    assert (thawed.brief, thawed.entries) == (brief, of.entries)


def test_brief_that_was_kept_without_words_that_mean_its_papers_is_read() -> None:
    of = digest([entry(1)], brief=(BriefSentence("It is.", ("2611.00001",)),))
    old = json.loads(archive.dump(of))
    old["brief"] = [["It is.", ["2611.00001"]]]
    papers = {entry.paper.id: entry.paper for entry in of.entries}
    assert archive.load(json.dumps(old).encode(), lambda _: papers).brief == of.brief


@pytest.mark.parametrize(("kept", "matched"), [("Yoshua Bengio", ("Yoshua Bengio",)), (None, ())])
def test_digest_of_1_0_is_read(kept: str | None, matched: tuple[str, ...]) -> None:
    """It has no brief, its list no description and its scores no topic; of followed authors, it has
    one or none.
    """
    of = digest([entry(1)])
    old = json.loads(archive.dump(of))
    del old["brief"], old["list"]["description"]
    old["entries"] = [[1, of.entries[0].paper.id, [8, 7, "It explains."], kept]]
    papers = {of.entries[0].paper.id: of.entries[0].paper}
    (thawed,) = archive.load(json.dumps(old).encode(), lambda _: papers).entries
    assert thawed.score == Score(8, 7, "It explains.")
    assert thawed.matched_authors == matched
