"""Three weeks with arXiv, bioRxiv and six journals: each list gets each paper once, every absence is said, and no list
waits for a feed. What befalls the feeds is in `journal_weeks.py`.
"""

from __future__ import annotations

import re
from collections import Counter

import pytest
import trustme

from paperboy.models import Outcome
from tests.mail.reading import flat
from tests.morning.journal_weeks import (
    MORNINGS,
    PATHS,
    TAKES,
    Story,
    Weeks,
    day_of,
    down_on,
    live,
)


@pytest.fixture(scope="module")
def weeks(tmp_path_factory: pytest.TempPathFactory) -> Weeks:
    path = tmp_path_factory.mktemp("weeks")
    authority = path / "authority.pem"  # each client reads all that the system trusts
    trustme.CA().cert_pem.write_to_path(str(authority))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SSL_CERT_FILE", str(authority))
        return live(path, Story())


@pytest.mark.parametrize("name", TAKES)
def test_each_paper_comes_once_in_the_first_digest_after_its_feed_could_be_read(
    weeks: Weeks, name: str
) -> None:
    mailed = [(key, one.morning) for one in weeks.of(name) for key in one.keys]
    wanted = weeks.story.wanted(name, weeks.digests(name))
    assert sorted({*mailed} ^ {*wanted.items()}) == []
    assert len(mailed) == len(wanted)
    assert len(wanted) > 20


def test_no_list_waits(weeks: Weeks) -> None:
    """A day is a digest, or quiet where nothing came, or skipped on a day off."""
    for one in weeks.tried:
        day_off = one.name == "thrice" and day_of(one.morning).weekday() not in {0, 2, 4}
        expected = {Outcome.SKIPPED} if day_off else {Outcome.DIGEST, Outcome.QUIET}
        assert one.outcome in expected, one
    assert len(weeks.tried) == len(MORNINGS) * len(TAKES)


def test_list_whose_only_feed_is_dead_has_quiet_days_with_the_reason(weeks: Weeks) -> None:
    letters = "".join("D" if one.outcome is Outcome.DIGEST else "q" for one in weeks.of("bulletin"))
    assert letters == "DDDqqqqqqqDDDDDDDDDqqD"
    for one in weeks.of("bulletin"):
        if one.outcome is Outcome.QUIET:
            assert one.reason.startswith("Bulletin: 127.0.0.1 answered HTTP ")


def test_every_absence_is_said_in_the_reason_and_in_the_mail(weeks: Weeks) -> None:
    for one in weeks.tried:
        if one.outcome is Outcome.SKIPPED:
            continue
        late = down_on(one.morning) & set(TAKES[one.name])
        assert {journal for journal in PATHS if f"{journal}: " in one.reason} == late, one
        sentences = re.findall(
            r"([\w ,]+) (?:was|were) late; (?:its|their) newest papers will come with",
            flat(one.mail),
        )
        said = " ".join(sentences)
        assert {journal for journal in PATHS if journal in said} == (late if one.mail else set())


def test_dead_feed_is_a_problem_from_the_third_day_until_it_is_read(weeks: Weeks) -> None:
    """A weekend is none."""
    its_lists = {name for name, takes in TAKES.items() if "Bulletin" in takes}
    for morning, problems in enumerate(weeks.problems):
        assert problems == (its_lists if 5 <= morning <= 9 else set()), morning


def test_each_feed_is_asked_once_a_morning_and_once_more_if_it_is_busy(weeks: Weeks) -> None:
    for morning, requests in enumerate(weeks.requests):
        busy = {PATHS[journal] for journal in down_on(morning) if morning < 15}
        assert requests == Counter({path: 2 if path in busy else 1 for path in PATHS.values()})


def test_papers_of_preprint_servers_alone_are_called_preprints(weeks: Weeks) -> None:
    for one in weeks.tried:
        if one.mail:
            is_of_biorxiv = any(key.startswith(("10.1101", "10.64898")) for key in one.keys)
            assert ("preprint" in one.mail) is is_of_biorxiv, one.morning
