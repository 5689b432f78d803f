"""The main job on real input: a real day of arXiv with the scores that its papers really got, over real protocols."""

import email
import email.policy
import json
import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from paperboy.cli.main import invoke
from paperboy.models import Paper, Score
from paperboy.sources.arxiv import calendar as announcements
from tests.fakes import Clock
from tests.servers.arxiv_api import ArxivServer, papers_from_day
from tests.servers.llm import LlmServer
from tests.servers.smtp import SmtpServer

DAYS = Path(__file__).parents[2] / "shared" / "data" / "days"
pytestmark = pytest.mark.skipif(
    not DAYS.is_dir(), reason="needs real days of arXiv, which this repository does not hold"
)

FRIDAY = datetime(2026, 11, 20, 7, tzinfo=UTC)
LISTS = """\
lists:
  - name: foundations
    categories: [cs.LG, cs.AI]
    topics: Foundations of machine learning.
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


class Inbox:
    """One home whose only reader is Ada, and the servers around it."""

    def __init__(self, home: Path, arxiv: ArxivServer, llm: LlmServer, smtp: SmtpServer) -> None:
        self.home, self.arxiv, self.llm, self.smtp = home, arxiv, llm, smtp
        self.clock = Clock(FRIDAY)
        (home / "subscribers.yaml").write_text(LISTS)
        (home / ".env").write_text(
            f"ARXIV_API_URL={arxiv.url}\nARXIV_DELAY_SECONDS=0\nOPENAI_BASE_URL={llm.base_url}\n"
            f"SMTP_HOST=127.0.0.1\nSMTP_PORT={smtp.port}\nSMTP_SECURITY=none\nMAIL_FROM=papers@example.org\n"
        )

    def morning(self) -> int:
        return invoke(["--home", str(self.home), "once"], {}, self.clock)

    def ids(self) -> list[str]:
        """The papers of the newest mail, in its order, each by the link of its title; the same in both parts."""
        message = email.message_from_bytes(
            self.smtp.messages[-1].content, policy=email.policy.default
        )
        found = [
            re.findall(
                r"https://arxiv\.org/abs/([\w./-]+\d)", message.get_body((kind,)).get_content()
            )
            for kind in ("plain", "html")
        ]
        plain, html = (list(dict.fromkeys(ids)) for ids in found)
        assert plain == html
        return plain


@pytest.fixture
def inbox(tmp_path: Path) -> Iterator[Inbox]:
    with ArxivServer() as arxiv, LlmServer() as llm, SmtpServer() as smtp:
        yield Inbox(tmp_path, arxiv, llm, smtp)


def test_the_reference_days_digest_arrives_and_nothing_twice(
    inbox: Inbox, capsys: pytest.CaptureFixture[str]
) -> None:
    day = "2025-02-18"
    inbox.arxiv.papers, inbox.llm.scores = papers(day, FRIDAY), scores(day)
    chosen = {row["arxiv_id"]: row for row in rows(day) if row["selected"]}
    assert len(chosen) == 51

    assert inbox.morning() == 0
    assert "51 of 423 papers (2 author matches)" in capsys.readouterr().out
    followed = sorted(arxiv_id for arxiv_id, row in chosen.items() if row["author_match"])
    others = sorted(
        (arxiv_id for arxiv_id, row in chosen.items() if not row["author_match"]),
        key=lambda arxiv_id: (
            -chosen[arxiv_id]["relevance"] - chosen[arxiv_id]["novelty"],
            -chosen[arxiv_id]["relevance"],
            arxiv_id,
        ),
    )
    assert inbox.ids() == followed + others

    assert inbox.morning() == 0
    assert len(inbox.smtp.messages) == 1
    asked = [arxiv_id for ids in inbox.llm.asked for arxiv_id in ids]
    assert len(asked) == len(set(asked)) == 423


def test_a_next_morning_with_half_new_papers_sends_only_those(inbox: Inbox) -> None:
    inbox.arxiv.papers = papers("2025-02-18", FRIDAY)
    inbox.llm.scores = scores("2025-02-18") | scores("2025-06-06")
    inbox.morning()
    before = set(inbox.ids())

    inbox.clock.now += timedelta(days=3)
    inbox.arxiv.papers = inbox.arxiv.papers[::2] + papers("2025-06-06", inbox.clock())
    assert inbox.morning() == 0
    assert len(inbox.smtp.messages) == 2
    assert set(inbox.ids()) == {row["arxiv_id"] for row in rows("2025-06-06") if row["selected"]}
    assert not before & set(inbox.ids())
