"""Nothing lost, nothing twice: whatever the instant at which Paperboy is killed or told to stop.

15 kills and 15 stops in the ordinary run of the tests; PAPERBOY_CRASHES=60 is the long form, and PAPERBOY_CRASHES_SEED
draws other instants. The test's output says how they were spread. Two homes go through it side by side.
"""

from __future__ import annotations

import os
import random
import re
import signal
from collections import Counter, defaultdict, deque
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from email import message_from_bytes, policy
from email.message import EmailMessage
from functools import lru_cache
from itertools import count
from math import ceil
from pathlib import Path
from statistics import fmean

import pytest

from tests.cli.conftest import text_of
from tests.crashes import (
    BATCHES_AT_ONCE,
    CONNECTIONS,
    LATENCY,
    SUBSCRIBERS,
    Kill,
    Phase,
    Run,
    World,
    address,
)
from tests.servers.smtp import Fault, Message

CRASHES = int(os.environ.get("PAPERBOY_CRASHES", "15"))
SEED = int(os.environ.get("PAPERBOY_CRASHES_SEED", "5"))
# Runs that are ended: with many more, the morning would be over before the last of them.
PER_HOME = 15
TOO_LATE = 2  # kills per home beyond these: when they get there, their phase may be over
HOMES_AT_ONCE = 2
ROUNDS = 6
LEAST_PER_HOME = 2 + len(Phase)
SECONDS_TO_STOP = 300.0  # it takes half a second, and many on a machine with much else to do

Copy = tuple[str, str]  # list and address
EVERYBODY = frozenset(
    (name, address(number)) for name, numbers in SUBSCRIBERS.items() for number in numbers
)


@dataclass(frozen=True, slots=True)
class Undisturbed:
    """What a morning comes to that nobody disturbs."""

    seconds: Mapping[Phase, float]  # how long each phase lasts
    papers: Mapping[str, frozenset[str]]  # that each list's digest names


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> Undisturbed:
    """Measured side by side, as the homes will run."""
    places = [tmp_path_factory.mktemp("undisturbed") for _ in range(HOMES_AT_ONCE)]
    with ThreadPoolExecutor(HOMES_AT_ONCE) as pool:
        mornings = list(pool.map(a_morning, places))
    seconds = {phase: fmean(morning.seconds[phase] for morning in mornings) for phase in Phase}
    return replace(mornings[0], seconds=seconds)


def a_morning(path: Path) -> Undisturbed:
    with World(path) as world:
        run = world.run(deque())
        idle = world.run(deque())
    assert run.code == 0, world.said
    assert Counter(map(copy_of, world.smtp.messages)) == Counter(EVERYBODY)
    assert sum(map(len, world.asked(0))) == len(world.papers)
    ends = [*(run.began[phase] for phase in Phase), run.seconds][1:]
    seconds = {phase: end - run.began[phase] for phase, end in zip(Phase, ends, strict=True)}
    # the first one may have to read the programs from a cold disk, and the other one has more to do than to start
    seconds[Phase.STARTING] = min(seconds[Phase.STARTING], idle.seconds)
    return Undisturbed(seconds, digests(world))


def test_kill_at_any_instant_loses_nobody_and_repeats_only_what_was_in_flight(
    tmp_path: Path, undisturbed: Undisturbed
) -> None:
    """Nobody is lost. What repeats is the last message of a connection that the kill cut."""
    runs: list[Run] = []
    repeated = 0
    for world in ended_again_and_again(tmp_path, undisturbed, signal.SIGKILL):
        everybody_has_both_digests(world)
        repeated += repeats_of_cut_connections(world)
        nothing_is_paid_twice_but_what_was_in_flight(world)
        assert max(run.left.states.get("sending", 0) for run in world.runs) <= CONNECTIONS
        runs += world.runs
    tell(runs, f"{repeated} messages came twice")
    stopped = ended(runs)
    assert len(stopped) >= CRASHES, "runs end before they can be killed"
    assert {run.phase for run in stopped} == set(Phase)
    assert repeated, "no kill met a message that was taken and not confirmed"


def test_sigterm_at_any_instant_loses_nobody_and_repeats_nothing(
    tmp_path: Path, undisturbed: Undisturbed
) -> None:
    """Nobody is lost and nothing repeats: what is in flight is finished, and soon."""
    runs: list[Run] = []
    for world in ended_again_and_again(tmp_path, undisturbed, signal.SIGTERM):
        everybody_has_both_digests(world)
        assert len(world.smtp.messages) == len(EVERYBODY)
        assert all(world.smtp.ended.values()), "a connection ended without QUIT"
        nothing_is_paid_twice_but_what_was_in_flight(world)
        assert not any(run.left.states.get("sending") for run in world.runs)
        runs += world.runs
    stopped = ended(runs)
    slowest = max(run.obeyed for run in stopped)
    tell(runs, f"the slowest to stop took {slowest:.2f} s")
    assert len(stopped) >= CRASHES, "runs end before they can be stopped"
    assert {run.phase for run in stopped} == set(Phase)
    assert slowest < SECONDS_TO_STOP
    assert {run.code for run in stopped} <= {
        0,
        1,
        -signal.SIGTERM,
    }  # the last: before its work began, or after it


def test_sigterm_waits_for_the_reply_to_each_message_in_flight(tmp_path: Path) -> None:
    """Each connection waits for the word on its message and gets it; no other is handed over."""
    slow = Fault(
        "dot", "250 2.0.0 taken, at last", keeps=True, until=lambda: "Stopping after" in world.said
    )
    before = 40  # messages that it takes at once: by then all connections are at work
    sent = before + CONNECTIONS

    def slow_from_now_on(_: Message) -> None:
        if len(world.smtp.messages) == before:
            world.smtp.faults.append(slow)

    with World(tmp_path) as world:
        world.smtp.on_message = slow_from_now_on
        run = world.run(deque([Kill(Phase.SENDING, sent)]), signal.SIGTERM)
        assert (run.phase, run.code, run.left.integrity) == (Phase.SENDING, 1, "ok"), world.said
        assert run.left.states["sent"] == len(world.smtp.messages) == sent
        assert run.left.states["pending"] == len(EVERYBODY) - run.left.states["sent"]
        world.smtp.faults.clear()
        rest = world.run(deque())
    assert (rest.code, rest.left.states) == (0, {"sent": len(EVERYBODY)}), world.said
    everybody_has_both_digests(world)
    assert len(world.smtp.messages) == len(EVERYBODY)
    assert all(world.smtp.ended.values()), "a connection ended without QUIT"


# ---- how it is killed


def ended_again_and_again(
    folder: Path, undisturbed: Undisturbed, number: signal.Signals
) -> Iterator[World]:
    """Homes whose Paperboy was ended so often, all together, and then left to finish.

    Where kills came too late, or a phase was always over too soon, on a machine with much else to do when the phases
    were measured, there are a few homes more, and earlier kills.
    """
    print(f"PAPERBOY_CRASHES_SEED={SEED}")
    dice = random.Random(SEED)  # noqa: S311  # no secret
    places = (folder / f"home {home}" for home in count(1))
    phases: list[Phase] = []

    def through(plan: tuple[Path, deque[Kill]]) -> World:
        return one_home(*plan, undisturbed, number)

    with ThreadPoolExecutor(HOMES_AT_ONCE) as pool:
        for hurry in (0.5**time for time in range(ROUNDS)):
            missing = CRASHES - len(phases)
            if missing <= 0 and set(phases) == set(Phase):
                return
            homes = max(1, ceil(missing / PER_HOME))
            kills = ceil(missing / homes) + TOO_LATE
            seconds = {phase: hurry * length for phase, length in undisturbed.seconds.items()}
            plans = [(next(places), drawn(dice, seconds, kills)) for _ in range(homes)]
            for world in pool.map(through, plans):
                phases += [run.phase for run in ended(world.runs)]
                yield world


def one_home(
    path: Path, kills: deque[Kill], undisturbed: Undisturbed, number: signal.Signals
) -> World:
    with World(path) as world:
        while (run := world.run(kills, number)).phase is not None:
            assert run.left.integrity == "ok"
        assert run.code == 0, world.said
        assert run.left.integrity == "ok"
        assert run.left.states == {"sent": len(EVERYBODY)}
        assert run.left.seen == world.papers, "tomorrow's digest would have some of them again"
        again = world.run(deque())
        assert (again.code, again.since) == (0, again.until), "there was something left to do"
        assert digests(world) == undisturbed.papers
    return world


def drawn(dice: random.Random, seconds: Mapping[Phase, float], number: int) -> deque[Kill]:
    """Kills for one home: one anywhere before sending, then some in each phase, one phase after the other; the first
    one in sending has a message in hand.

    What is done stays done, so within a phase the hasty ones come first: once a home has begun to send, it composes no
    more.
    """
    anywhere = Kill(
        Phase.STARTING, seconds=dice.uniform(0, sum(seconds.values()) - seconds[Phase.SENDING])
    )
    phases = [
        *Phase,
        *dice.choices([*Phase], weights=(1, 2, 4, 3, 6), k=max(0, number - LEAST_PER_HOME)),
    ]
    others = [one(dice, seconds, phase) for phase in phases]
    others.append(Kill(Phase.SENDING, dice.randint(1, 40), in_hand=True))
    return deque([anywhere, *sorted(others, key=lambda kill: (kill.phase, kill.seconds))])


def one(dice: random.Random, seconds: Mapping[Phase, float], phase: Phase) -> Kill:
    if phase is Phase.SCORING:
        return Kill(phase, dice.randint(1, 12), dice.uniform(0, 1.5 * LATENCY))
    if phase is Phase.SENDING:
        in_hand = dice.random() < 1 / 3
        return Kill(phase, dice.randint(int(in_hand), 40), dice.uniform(0, 0.02), in_hand)
    return Kill(phase, seconds=dice.uniform(0, 1.1 * seconds[phase]))


def ended(runs: list[Run]) -> list[Run]:
    return [run for run in runs if run.phase is not None]


def tell(runs: list[Run], more: str) -> None:
    phases = Counter(run.phase for run in ended(runs))
    spread = ", ".join(f"{phases[phase]} {phase.name.lower()}" for phase in Phase)
    print(f"{phases.total()} runs were ended ({spread}); {more}")


# ---- the proofs, from the servers' records


def everybody_has_both_digests(world: World) -> None:
    """And each copy has a Message-ID of its own, and the same bytes however often it came."""
    came: dict[Copy, set[bytes]] = defaultdict(set)
    for message in world.smtp.messages:
        came[copy_of(message)].add(message.content)
    assert came.keys() == EVERYBODY
    assert [copy for copy, contents in came.items() if len(contents) > 1] == []
    assert len({headers(content)["Message-ID"] for (content,) in came.values()}) == len(EVERYBODY)


def repeats_of_cut_connections(world: World) -> int:
    """How many messages came again: each was the last of a connection that a kill cut."""
    messages = world.smtp.messages
    last = {message.connection: place for place, message in enumerate(messages)}
    newest = {copy_of(message): place for place, message in enumerate(messages)}
    repeated = [
        place for place, message in enumerate(messages) if newest[copy_of(message)] != place
    ]
    for place in repeated:
        message = messages[place]
        assert place == last[message.connection], (
            f"{message.recipient} came twice, and others after it"
        )
        assert not world.smtp.ended[message.connection], (
            f"{message.recipient} came twice, without a kill"
        )
    for run in world.runs:
        connections = range(run.since.connections + 1, run.until.connections + 1)
        cut = [connection for connection in connections if not world.smtp.ended[connection]]
        assert len(cut) <= (0 if run.phase is None else CONNECTIONS)
    return len(repeated)


def nothing_is_paid_twice_but_what_was_in_flight(world: World) -> None:
    """A score that was kept is never asked for again; and what a run has not kept, it was asking for at its end."""
    for run in world.runs:
        requests = world.asked(run.since.llm, run.until.llm)
        asked = Counter(pair for request in requests for pair in request)
        assert not run.known & asked.keys(), "asked for though it was kept"
        assert set(asked.values()) <= {1}, "asked for twice by one run"
        later = frozenset().union(*world.asked(run.until.llm))
        again = [request for request in requests if request & later]
        assert len(again) <= (0 if run.phase is None else BATCHES_AT_ONCE)
        assert again == [request for request in requests if not request <= run.left.scores]


# ---- what is in a message


def copy_of(message: Message) -> Copy:
    (name,) = (name for name in SUBSCRIBERS if f"<{name}." in headers(message.content)["List-Id"])
    return name, message.recipient


@lru_cache(maxsize=1_000)  # a home's
def headers(content: bytes) -> EmailMessage:
    return parsed(content.partition(b"\r\n\r\n")[0])


def parsed(content: bytes) -> EmailMessage:
    return message_from_bytes(content, _class=EmailMessage, policy=policy.default)


def digests(world: World) -> dict[str, frozenset[str]]:
    """The papers that each list's digest names."""
    newest = {copy_of(message)[0]: message.content for message in world.smtp.messages}
    return {
        name: frozenset(re.findall(r"2611\.\d{5}", text_of(parsed(content))))
        for name, content in newest.items()
    }
