"""What SpamAssassin's stock rules make of the mails: `spamassassin -L`, nothing learnt, nothing looked up."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import replace

import pytest

from tests.mail import real_days
from tests.mail.mails import MAILS, Mail, as_digest, sample_digest

pytestmark = pytest.mark.skipif(
    not shutil.which("spamassassin"), reason="spamassassin is not installed; .ci/run does"
)

MOST = 0.0  # points; mail is spam from 5

# Papers speak of money, now and then, and no wording of ours changes that.
OF_MONEY = re.compile(
    r"LOTS_OF_MONEY|MONEY_\w+|\w+_MONEY\w*|BILLION_DOLLARS|MILLION_\w+|US_DOLLARS\w*"
)

# As the reader's server writes it. The address has to be one that exists: those for documentation are known to be none.
RECEIVED = (
    b"Return-Path: <papers@example.org>\r\n"
    b"Received: from mail.example.org (mail.example.org [9.9.9.9])\r\n"
    b" by mx.example.net (Postfix) with ESMTPS id 4XYZ12345\r\n"
    b" for <ada@example.org>; Fri, 20 Nov 2026 07:00:03 +0000 (UTC)\r\n"
)


# What a stranger may call a paper to get it taken for a reply, or for junk. Words that are spam anywhere stay so.
HOSTILE_TITLES = (
    "Re: [EXTERNAL] Fwd: Verify your account",
    "URGENT: act now, limited time offer",
    "DEEP LEARNING FOR PARTICLE PHYSICS",
    "You have won 1,000,000 dollars",
    "=?utf-8?q?Invoice?= attached \u202eexe.cod",
    "????? !!!!!",
)
IN_A_READERS_BOX = ("digest", "embedded", "heavy", "single", "note", "web", "web-note", "german")
ON_ITS_WAY = ("digest", "test", "alert")
DAYS = real_days.NAMES if real_days.HERE else ()


def titled(title: str) -> Mail:
    """A digest whose best paper, and so its subject, has that title."""
    of = sample_digest()
    best = max(of.entries, key=lambda entry: entry.score.relevance if entry.score else 0)
    renamed = replace(best, paper=replace(best.paper, title=title))
    entries = tuple(renamed if entry is best else entry for entry in of.entries)
    return as_digest(replace(of, entries=entries))


@pytest.fixture(scope="module")
def hits(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Mapping[str, float]]:
    """By mail, the points of every rule that fired, by its name: one process reads the rules for all mails."""
    messages = {
        **{name: RECEIVED + MAILS[name]().message for name in IN_A_READERS_BOX},
        **{f"{name}, leaving": MAILS[name]().message for name in ON_ITS_WAY},
        **{
            f"title {n}": RECEIVED + titled(title).message for n, title in enumerate(HOSTILE_TITLES)
        },
        **{day: RECEIVED + real_days.mail_of(day).message for day in DAYS},
    }
    box = b"".join(
        b"From papers@example.org Fri Nov 20 07:00:03 2026\nX-Name: %b\n%b\n"
        % (name.encode(), message)
        for name, message in messages.items()
    ).replace(b"\r\n", b"\n")
    file = tmp_path_factory.mktemp("spam") / "box"
    file.write_bytes(box)
    report = subprocess.run(
        ["spamassassin", "-L", "-t", "-x", "--cf=use_bayes 0", "--mbox", str(file)],
        env={**os.environ, "HOME": str(file.parent)},
        capture_output=True,
        check=True,
    ).stdout.decode("utf-8", "replace")
    found: dict[str, dict[str, float]] = {}
    name = ""
    for line in report.splitlines():  # the mails in any order, each before its table
        name = line.removeprefix("X-Name: ") if line.startswith("X-Name: ") else name
        if match := re.match(r"\s*(-?\d+\.\d) ([A-Z][A-Z0-9_]+)(?: |$)", line):
            found.setdefault(name, {})[match[2]] = float(match[1])
    assert found.keys() == messages.keys(), report[-2_000:]
    return found


@pytest.mark.parametrize("name", IN_A_READERS_BOX)
def test_no_spam_rule_matches_our_mail(hits: Mapping[str, Mapping[str, float]], name: str) -> None:
    assert round(sum(hits[name].values()), 1) <= MOST, hits[name]
    assert "MAILING_LIST_MULTI" in hits[name], "the headers of a mailing list are seen as such"


@pytest.mark.parametrize("number", range(len(HOSTILE_TITLES)), ids=HOSTILE_TITLES)
def test_hostile_title_as_the_subject_matches_no_spam_rule(
    hits: Mapping[str, Mapping[str, float]], number: int
) -> None:
    of = hits[f"title {number}"]
    assert round(sum(of.values()), 1) <= MOST, of


@pytest.mark.parametrize("name", ON_ITS_WAY)
def test_mail_passes_spamassassin_as_it_leaves(
    hits: Mapping[str, Mapping[str, float]], name: str
) -> None:
    of = hits[f"{name}, leaving"]
    assert round(sum(of.values()), 1) <= MOST, of


@pytest.mark.data
@pytest.mark.parametrize("day", real_days.NAMES)
def test_mail_of_real_papers_passes_spamassassin(
    hits: Mapping[str, Mapping[str, float]], day: str
) -> None:
    of = {rule: points for rule, points in hits[day].items() if not OF_MONEY.fullmatch(rule)}
    assert round(sum(of.values()), 1) <= MOST, of
    assert "MAILING_LIST_MULTI" in of
