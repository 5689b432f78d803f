"""A hundred hostile replies from each of arXiv, LLM, SMTP and DNS: every other paper and reader is served.

They are drawn from a seed. PAPERBOY_HOSTILE says how many of each, PAPERBOY_HOSTILE_SEED draws others, and
PAPERBOY_HOSTILE_FROM begins with a later one, to look into a single case. With `-s`, the figures are printed.
"""

from __future__ import annotations

import os
import time
from collections import Counter
from dataclasses import dataclass, field
from random import Random

import pytest

from tests.hostile.arxiv import Arxiv
from tests.hostile.child import BugError, Client, Used, used
from tests.hostile.dns import Dns
from tests.hostile.llm import Llm
from tests.hostile.smtp import Smtp

NUMBER = int(os.environ.get("PAPERBOY_HOSTILE", "100"))
SEED = int(os.environ.get("PAPERBOY_HOSTILE_SEED", "1"))
FIRST = int(os.environ.get("PAPERBOY_HOSTILE_FROM", "0"))
MOST_MEMORY = 300_000_000  # bytes
MOST_FAILURES = 10

Door = Arxiv | Dns | Llm | Smtp
DOORS: dict[str, type[Door]] = {"arXiv": Arxiv, "LLM": Llm, "SMTP": Smtp, "DNS": Dns}


@dataclass
class Figures:
    """What became of the hostile replies to one door."""

    outcomes: Counter[str] = field(default_factory=Counter)
    kinds: Counter[str] = field(default_factory=Counter)
    failures: list[str] = field(default_factory=list)
    seconds: float = 0.0
    slowest: tuple[float, str] = (0.0, "")
    before: Used | None = None
    after: Used | None = None

    def __str__(self) -> str:
        assert self.before is not None
        assert self.after is not None
        return (
            f"{self.kinds.total()} hostile replies of {len(self.kinds)} kinds in {self.seconds:.1f} s, the slowest "
            f"{self.slowest[0]:.1f} s ({self.slowest[1]}); {dict(self.outcomes.most_common())}; peak "
            f"{self.after.peak / 1e6:.0f} MB (before {self.before.peak / 1e6:.0f}); left over: threads "
            f"{self.after.threads}, children {self.after.children}, files {self.after.files - self.before.files}"
        )


def meet(door: Door, client: Client, name: str) -> Figures:
    """Let the client meet the replies, one case after another, until too many went wrong."""
    figures, began = Figures(), time.monotonic()
    client.call(door.client, *door.prepare(Random(f"{name} {SEED} warm-up")))  # imports what it needs
    figures.before = figures.after = client.call(used)
    for number in range(FIRST, FIRST + NUMBER):
        asked, started = door.prepare(Random(f"{name} {SEED} {number}")), time.monotonic()
        case, hangs = f"case {number} of seed {SEED}, {door.kind}", False
        try:
            figures.outcomes[door.judge(client.call(door.client, *asked))] += 1
            figures.after = client.call(used)
            assert figures.after.peak < MOST_MEMORY, f"{figures.after.peak / 1e6:.0f} MB"
        except AssertionError as error:
            figures.failures.append(f"{case}: {error}")
            hangs = isinstance(error, BugError)
        figures.kinds[door.kind] += 1
        figures.slowest = max(figures.slowest, (time.monotonic() - started, case))
        if hangs or len(figures.failures) == MOST_FAILURES:
            break
    figures.seconds = time.monotonic() - began
    return figures


@pytest.mark.parametrize("name", DOORS)
def test_hostile_replies_cost_nobody_else_anything(name: str) -> None:
    with DOORS[name]() as door, Client() as client:
        figures = meet(door, client, name)
    print(f"\n{name}: {figures}")
    assert not figures.failures, "\n\n".join(figures.failures)
    assert figures.after is not None
    assert figures.before is not None
    assert not figures.after.threads
    assert not figures.after.children
    assert figures.after.files <= figures.before.files + 2
