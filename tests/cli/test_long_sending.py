"""A sending that takes hours, and lists whose hour comes meanwhile."""

from collections import Counter
from datetime import timedelta

from paperboy.cli.main import invoke
from paperboy.cli.turn import LETS_OTHERS_IN
from tests.cli.conftest import FRIDAY, World

READERS = [f"reader{number}@example.org" for number in range(90)]
LISTS = f"""\
lists:
  - {{name: big, categories: [cs.LG], topics: x, send_at: "07:00", subscribers: [{", ".join(READERS)}]}}
  - {{name: small, categories: [cs.LG], topics: y, send_at: "07:10", subscribers: [vera@example.org]}}
"""


def scheduled(world: World, *names: str) -> int:
    """As the daemon does it; here waiting takes time."""
    lists = [option for name in names for option in ("--list", name)]
    return invoke(
        ["--home", str(world.path), "once", "--scheduled", *lists],
        world.environ,
        lambda: FRIDAY + timedelta(seconds=sum(world.waits)),
        world.waits.append,
        lambda: sum(world.waits),
    )


def test_it_lets_in_who_becomes_due_and_goes_on_with_them(world: World) -> None:
    world.write("subscribers.yaml", LISTS)
    world.env(SMTP_MAX_PER_MINUTE=6)
    world.announce(1)
    assert scheduled(world, "big") == LETS_OTHERS_IN
    assert timedelta(minutes=10) <= timedelta(seconds=sum(world.waits)) <= timedelta(minutes=12)
    assert 20 < len(world.mails()) < 60
    assert scheduled(world, "small") == 0
    assert Counter(world.mails()) == Counter([*READERS, "vera@example.org"])


def test_who_asks_by_hand_is_not_interrupted(world: World) -> None:
    world.write("subscribers.yaml", LISTS)
    world.env(SMTP_MAX_PER_MINUTE=6)
    world.announce(1)
    world.clock.now = FRIDAY
    assert world.run("once", "--list", "big").code == 0
    assert len(world.mails()) == len(READERS)
