"""What SpamAssassin's stock rules make of the mails: `spamassassin -L`, nothing learnt, nothing looked up."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.mail import real_days
from tests.mail.mails import MAILS

pytestmark = pytest.mark.skipif(not shutil.which("spamassassin"), reason="spamassassin is not installed; .ci/run does")

MOST = 0.0  # points; mail is spam from 5

# Papers speak of money, now and then, and no wording of ours changes that.
OF_MONEY = re.compile(r"LOTS_OF_MONEY|MONEY_\w+|\w+_MONEY\w*|BILLION_DOLLARS|MILLION_\w+|US_DOLLARS\w*")

# Fires where the text has more than three times the words of the HTML: so it is with 183 papers at once, of which the
# HTML can hold little more than the titles.
FEWER_WORDS = "MPART_ALT_DIFF_COUNT"

# As the reader's server writes it. The address has to be one that exists: those for documentation are known to be none.
RECEIVED = (
    b"Return-Path: <papers@example.org>\r\n"
    b"Received: from mail.example.org (mail.example.org [9.9.9.9])\r\n"
    b" by mx.example.net (Postfix) with ESMTPS id 4XYZ12345\r\n"
    b" for <ada@example.org>; Fri, 20 Nov 2026 07:00:03 +0000 (UTC)\r\n"
)


def rules_hit(message: bytes, home: Path) -> dict[str, float]:
    """The points of every rule that fired, by its name."""
    report = subprocess.run(
        ["spamassassin", "-L", "-t", "-x", "--cf=use_bayes 0"],
        input=message,
        env={**os.environ, "HOME": str(home)},
        capture_output=True,
        check=True,
    ).stdout.decode("utf-8", "replace")
    table = report.rpartition("Content analysis details:")[2]
    assert "pts rule name" in table, report[-2_000:]
    return {rule: float(points) for points, rule in re.findall(r"^\s*(-?\d+\.\d) ([A-Z]\w+)", table, re.MULTILINE)}


@pytest.mark.parametrize("name", ["digest", "embedded", "heavy", "single", "note"])
def test_no_rule_takes_our_mail_for_spam(tmp_path: Path, name: str) -> None:
    hit = rules_hit(RECEIVED + MAILS[name]().message, tmp_path)
    assert round(sum(hit.values()), 1) <= MOST, hit
    assert "MAILING_LIST_MULTI" in hit, "the headers of a mailing list are seen as such"


@pytest.mark.parametrize("name", ["digest", "test", "alert"])
def test_a_mail_is_clean_already_as_it_leaves(tmp_path: Path, name: str) -> None:
    hit = rules_hit(MAILS[name]().message, tmp_path)
    assert round(sum(hit.values()), 1) <= MOST, hit


@pytest.mark.skipif(not real_days.HERE, reason="the real days lie in ../shared, which is not here")
@pytest.mark.parametrize("day", real_days.NAMES)
def test_real_papers_are_not_taken_for_spam_either(tmp_path: Path, day: str) -> None:
    hit = rules_hit(RECEIVED + real_days.mail_of(day).message, tmp_path)
    if day == real_days.ALL_ASTRO:
        hit.pop(FEWER_WORDS, None)
    ours = {rule: points for rule, points in hit.items() if not OF_MONEY.fullmatch(rule)}
    assert round(sum(ours.values()), 1) <= MOST, hit
    assert "MAILING_LIST_MULTI" in hit
