"""Three weeks with arXiv, bioRxiv and medRxiv: each list gets each of its papers once, and no absence is silent. What
befalls the sources is in `weeks.py`.
"""

from __future__ import annotations

import re
from collections import Counter
from datetime import datetime

import pytest
import trustme

from paperboy.models import Outcome
from paperboy.store import Store
from tests.mail.reading import THANKS, flat
from tests.morning.weeks import (
    CROSS_POSTS,
    HOURS,
    SOURCES,
    WANTED,
    Story,
    Weeks,
    late_at,
    live,
    november,
)

# D: a digest at seven, d: later that day, G: gave up, q: quiet, s: skipped.
DAYS = {
    "theory": "DDDDGDq DDDDqqq DqDdGDq D",
    "cells": "DDdDDDq GGGGGGG DDGDGDD D",
    "mixed": "DDDDdDq DDDDGGG DDDdGDD D",
    "thrice": "DsdsDss dsGsGss Dsdsdss D",
    "clinics": "DDDDDDD GGGGGGG DDDDGDD D",
}
LETTERS: dict[Outcome | None, str] = {
    Outcome.DIGEST: "D",
    Outcome.GAVE_UP: "G",
    Outcome.QUIET: "q",
    Outcome.SKIPPED: "s",
}


@pytest.fixture(scope="module")
def weeks(tmp_path_factory: pytest.TempPathFactory) -> Weeks:
    path = tmp_path_factory.mktemp("weeks")
    authority = path / "authority.pem"  # each client reads all that the system trusts
    trustme.CA().cert_pem.write_to_path(str(authority))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SSL_CERT_FILE", str(authority))
        return live(path, Story())


@pytest.mark.parametrize("name", DAYS)
def test_each_day_of_a_list_has_its_outcome(weeks: Weeks, name: str) -> None:
    letters = ""
    for one in weeks.ends(name):
        is_late_digest = one.outcome is Outcome.DIGEST and one.at.hour > HOURS[0]
        letters += "d" if is_late_digest else LETTERS[one.outcome]
    assert letters == DAYS[name].replace(" ", "")


@pytest.mark.parametrize("name", WANTED)
def test_each_paper_comes_once_in_the_first_digest_after_its_server_gave_it(
    weeks: Weeks, name: str
) -> None:
    assert sorted(weeks.mailed(name)) == sorted(weeks.wanted(name).items())


@pytest.mark.parametrize("what", CROSS_POSTS)
def test_preprint_on_two_servers_comes_once_from_the_first(weeks: Weeks, what: str) -> None:
    """A list of one server alone gets its own."""
    twins = weeks.story.twins[what]
    for name, sources in SOURCES.items():
        mailed = Counter(paper_id for paper_id, _ in weeks.mailed(name))
        its_own = {twins[source] for source in twins if source in sources} & set(weeks.wanted(name))
        assert {paper_id for paper_id in twins.values() if mailed[paper_id]} == its_own
    assert twins[CROSS_POSTS[what].comes] in dict(weeks.mailed("mixed"))


def test_revisions_are_no_papers(weeks: Weeks) -> None:
    """Those of the weeks came as they were posted first, the old one never."""
    old, *others = weeks.story.revised
    for name in ("cells", "mixed"):
        mailed = dict(weeks.mailed(name))
        assert old not in mailed
        assert set(others) < set(mailed)
        assert {version for one in weeks.ends(name) for version in one.versions} == {"1"}


def test_papers_that_are_posted_belatedly_come(weeks: Weeks) -> None:
    assert weeks.story.belated.items() <= dict(weeks.mailed("cells")).items()


def test_mails_with_preprints_of_other_servers_say_once_that_nobody_reviewed_them(
    weeks: Weeks,
) -> None:
    """arXiv's thanks stand in the mails of lists that take its papers."""
    for one in weeks.tried:
        if one.mail:
            is_of_others = any(":" in paper_id for paper_id in one.ids)
            text = flat(one.mail)
            assert text.count("preprints, not peer reviewed") == is_of_others
            assert (THANKS in text) is ("arXiv" in SOURCES[one.name])


def named(text: str) -> set[str]:
    return {source for source in SOURCES["mixed"] if source in text}


def test_no_day_is_quiet_while_a_source_is_late(weeks: Weeks) -> None:
    """Each try says which of the list's sources are, and so does the mail."""
    for one in weeks.tried:
        if one.outcome is Outcome.SKIPPED:
            continue
        late = late_at(one.at) & SOURCES[one.name]
        assert one.outcome is not Outcome.QUIET or not late
        if late or one.outcome is not Outcome.QUIET:
            assert named(one.reason) == late
        sentences = re.findall(
            r"([\w ,]+) (?:was|were) late; (?:its|their) newest papers will come with",
            flat(one.mail),
        )
        assert named(" ".join(sentences)) == (late if one.mail else set())


def test_reasons_are_kept(weeks: Weeks) -> None:
    with Store.open(weeks.home / "data" / "paperboy.db") as store:
        days = store.history.days(WANTED, 99)
    for name in WANTED:
        said = [one.reason for one in weeks.ends(name) if one.outcome is not Outcome.SKIPPED]
        kept = [day.reason for day in days[name] if day.outcome is not Outcome.SKIPPED]
        assert kept[::-1] == said


AGAIN = "in 5 attempts; the next run fetches the same days again, so no paper is lost"
NO_BODY = f"127.0.0.1 sent no list of records (an empty body) {AGAIN}"
DOWN = f"127.0.0.1 answered HTTP 503 (first byte timeout) {AGAIN}"

NO_BATCH = "arXiv's batch of Thursday 03 December was due at 05:15 UTC and has not arrived yet"


@pytest.mark.parametrize(
    ("at", "reason"),
    [
        (november(17, 7), ""),
        (november(18, 7), "bioRxiv has nothing of Tuesday 17 November yet"),
        (november(22, 7), "bioRxiv has nothing of Saturday 21 November yet"),
        (november(22, 10), "bioRxiv, medRxiv and arXiv had nothing new in its categories"),
        (november(28, 13), f"bioRxiv: {NO_BODY}; medRxiv: {NO_BODY}"),
        (november(34, 13), f"bioRxiv: {DOWN}; medRxiv: {DOWN}; {NO_BATCH}"),
    ],
)
def test_reason_says_what_is_missing_and_why(weeks: Weeks, at: datetime, reason: str) -> None:
    reasons = {one.at: one.reason for one in weeks.tried if one.name == "mixed"}
    assert reasons[at] == reason
