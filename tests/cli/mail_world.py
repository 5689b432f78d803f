"""One list with Ada and Grace, and an operator with an address: helpers that read, from the mails and the ledger, what
each of them got.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta

from paperboy.models import Delivery
from tests.cli.conftest import FRIDAY, Ran, World, text_of
from tests.servers.smtp import Fault

ADA = "ada@example.org"
GRACE = "grace@example.org"
OPERATOR = "op@example.org"
LIST = """\
lists:
  - name: foundations
    categories: [cs.LG]
    topics: "Relevant: why networks generalise."
    subscribers: [{}]
"""
MONDAY, TUESDAY, WEDNESDAY = (FRIDAY + timedelta(days=days) for days in (3, 4, 5))


def at_home(world: World, *addresses: str, **settings: object) -> None:
    """Put these on the list, and give the operator an address."""
    world.write("subscribers.yaml", LIST.format(", ".join(addresses)))
    world.env(ALERT_TO=OPERATOR, **settings)


def once_on(world: World, day: datetime, *numbers: int) -> Ran:
    """Announce papers on that day, and run `once`."""
    world.clock.now = day
    world.announce(*numbers)
    return world.once()


def refuse(world: World, reply: str, *addresses: str) -> None:
    """The mail server refuses these recipients, and no others."""
    world.smtp.faults[:] = [Fault("RCPT", reply, address=address) for address in addresses]


def crowd(number: int) -> list[str]:
    return [f"reader{n:02}@example.org" for n in range(number)]


def copies(world: World, *addresses: str) -> list[Delivery]:
    """Return their deliveries of the newest digest."""
    with world.store() as store:
        digest = store.ledger.newest("foundations")
        assert digest is not None
        found = [store.ledger.find(digest.id, address) for address in addresses]
    return [copy for copy in found if copy is not None]


def states(world: World, *addresses: str) -> list[str]:
    return [copy.state.value for copy in copies(world, *addresses or (ADA, GRACE))]


def attempts(world: World) -> list[int]:
    return [copy.attempts for copy in copies(world, ADA, GRACE)]


def told(world: World, recipient: str = OPERATOR) -> str:
    """Return the text of somebody's newest mail on one line."""
    return re.sub(r"\s+", " ", text_of(world.messages(recipient)[-1]))


class While(list[Fault]):
    """Faults that last while a condition holds."""

    def __init__(self, holds: Callable[[], bool], *faults: Fault) -> None:
        super().__init__(faults)
        self._holds = holds

    def __iter__(self) -> Iterator[Fault]:
        return super().__iter__() if self._holds() else iter(())


def digests(world: World, recipient: str) -> list[str]:
    """Return the numbers of the papers in each mail that somebody got."""
    found = [
        set(re.findall(r"abs/2611\.0*(\d+)", text_of(mail))) for mail in world.messages(recipient)
    ]
    return [" ".join(sorted(numbers)) for numbers in found]


def read(world: World, recipient: str) -> list[str]:
    """Return the numbers of the papers that somebody got, mail by mail."""
    return " ".join(digests(world, recipient)).split()


def alerts(world: World) -> list[str]:
    """Return the subjects of the operator's mails."""
    return [str(mail["Subject"]).removeprefix("Paperboy: ") for mail in world.messages(OPERATOR)]
