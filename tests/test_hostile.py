"""Whole mornings with a hostile peer: whatever it sends costs no other paper and no other reader anything.

What is made of a single reply is tested at each door: sources/arxiv/test_bounds.py and sources/biorxiv/test_bounds.py,
scoring/test_reply.py and test_llm_faults.py, mail/test_smtp_hostile.py, test_check.py (DNS),
features/webhooks/test_call.py, web/test_hostile_web.py, and features/bounces/test_returned.py for mail on stdin.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from tests.cli.conftest import Ran, World, world
from tests.cli.mail_world import ADA, OPERATOR, at_home, read
from tests.hostile.http import AT_ONCE, EVIL
from tests.servers.arxiv_faults import Answer
from tests.servers.llm import ids_in
from tests.servers.llm_faults import FAULTS, Fault
from tests.servers.smtp import Fault as MailFault
from tests.servers.smtp import Phase

__all__ = ["world"]  # a fixture

NUMBERS = range(1, 13)
ALL = {str(number) for number in NUMBERS}
VICTIM = "2611.00006"


def morning(world: World) -> None:
    """Run `once` until it owes nothing; every line that it says is plain."""
    for _ in range(3):
        if once(world).code == 0:
            return
    raise AssertionError("it still owes something")


def once(world: World) -> Ran:
    ran = world.run("once")
    assert all(line.isprintable() and len(line) < 2_500 for line in ran.err.splitlines()), ran.err
    assert "Traceback" not in ran.err
    return ran


@pytest.mark.parametrize(
    "kind", [kind for kind in AT_ONCE if "endless" not in kind]
)  # test_bounds.py has those
def test_hostile_reply_of_arxiv_loses_no_paper(world: World, kind: str) -> None:
    def hostile(answer: Answer) -> Answer:
        return replace(answer, raw=lambda: AT_ONCE[kind](answer.body, "application/atom+xml"))

    at_home(world, ADA)
    world.announce(*NUMBERS)
    world.arxiv.faults.append(hostile)
    morning(world)
    assert set(read(world, ADA)) == ALL


# ── LLM ──────────────────────────────────────────────────────────────────────────────────────────────────────────────


def raw(kind: str) -> Fault:
    return Fault(raw=lambda body: AT_ONCE[kind](body, "application/json"))


def entry_with(**values: Any) -> Fault:
    """The victim's entry has these values."""
    return Fault(
        rewrite=lambda entries: [
            {**entry, **values} if entry["arxiv_id"] == VICTIM else entry for entry in entries
        ]
    )  # fmt: skip


def body(content: bytes) -> Fault:
    return Fault(headers={"Content-Type": "application/json"}, body=content)


REPLIES: Mapping[str, Fault] = {
    **{kind: raw(kind) for kind in AT_ONCE},
    "drips": FAULTS["trickle"],
    "arrays in arrays": body(b"[" * 500_000),
    "padding": Fault(raw=lambda content: AT_ONCE["endless body"](content, "application/json")),
    "a million choices": body(b'{"choices": [' + b"{}," * 900_000 + b"{}]}"),
    "an odd number": body(b'{"choices": 1e999, "usage": {"prompt_tokens": ' + b"9" * 6_000 + b"}}"),
    "buried text": Fault(retell=lambda text: "blah { [ <think>" * 90_000 + text),
    "text again and again": Fault(retell=lambda text: text * 2_000),
    "strangers": Fault(
        rewrite=lambda entries: (
            [{**entries[0], "arxiv_id": f"9912.{n:05}"} for n in range(9_000)] + entries
        )
    ),
    "a long comment": entry_with(comment="(" * 300_000),
    "a comment with orders": entry_with(comment=EVIL),
}


@pytest.mark.parametrize("kind", REPLIES)
def test_hostile_reply_of_the_llm_costs_no_other_paper_its_score(world: World, kind: str) -> None:
    """It meets each request that asks for the victim, alone or among others."""
    at_home(world, ADA, LLM_BATCH_SIZE=4, LLM_TIMEOUT_SECONDS=1)
    world.announce(*NUMBERS)
    world.llm.fault_for = lambda asked: REPLIES[kind] if VICTIM in ids_in(asked) else ""
    morning(world)
    mail = world.smtp.messages[-1].content.decode("ascii")
    assert set(read(world, ADA)) >= ALL - {"6"}
    assert "evil.example.org" not in mail
    assert "\x1b" not in mail


# ── Mail ─────────────────────────────────────────────────────────────────────────────────────────────────────────────

READERS = [f"{name}@example.org" for name in ("ada", "grace", "hedy", "joan")]
SAID: Mapping[str, bytes] = {
    "a line without end": b"250-and so on" * 100_000,
    "lines without end": b"250-and so on\r\n" * 100_000,
    "two codes": b"250-x\r\n550 y\r\n",
    "a code that is none": b"999 what?\r\n",
    "digits of another script": "٢٥٠ taken\r\n".encode(),
    "no SMTP": b"HTTP/1.1 400 Bad\r\n\r\n",
    "more replies than commands": b"250 ok\r\n354 go ahead\r\n550 no\r\n451 later\r\n",
    "a long refusal": b"550 5.1.1 " + b"a@" * 20_000 + b"\r\n",
    "a refusal of control characters": f"550 5.1.1 {EVIL}\r\n".encode(),
    "a hang-up": b"421 4.3.2 bye\r\n",
    "nothing": b"",
}


@pytest.mark.parametrize("phase", ["RCPT", "DATA", "dot"])
@pytest.mark.parametrize("kind", SAID)
def test_hostile_reply_about_one_reader_costs_no_other_reader_the_mail(
    world: World, kind: str, phase: Phase
) -> None:
    at_home(world, *READERS)
    world.announce(*NUMBERS)
    world.smtp.faults.append(MailFault(phase, SAID[kind] or "", address=READERS[1]))
    for _ in range(2):
        once(world)
    others = [address for address in world.mails() if address not in {READERS[1], OPERATOR}]
    assert sorted(others) == [READERS[0], *READERS[2:]]
    (shown,) = world.json("status")["lists"]
    assert shown["outcome"] == "digest"
