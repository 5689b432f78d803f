"""Sign-ups beside a daemon: when their mails and edits come, and when they are tried again."""

from __future__ import annotations

import pytest

from tests.cli.conftest import world
from tests.features.signups.test_pages import ask
from tests.servers.smtp import Fault
from tests.service.test_daemon import (
    HOUR,
    LISTS,
    MINUTE,
    OPERATOR,
    SECOND,
    SKY,
    Office,
    home,
    office,
)
from tests.web.conftest import WEB_URL, Web

__all__ = ["home", "office", "world"]  # fixtures

OPEN = f"{LISTS}    open: true\n"
EMMY = "emmy@wren.edu"


@pytest.fixture
def room(office: Office) -> Web:
    """The list is open; its morning is over."""
    office.world.env(WEB_URL=WEB_URL, ALERT_TO=OPERATOR)
    office.world.write("subscribers.yaml", OPEN)
    office.world.announce(1)
    assert office.tick() == ["trial", "morning", "sending"]
    return Web(office.world)


def mails(office: Office) -> int:
    return office.world.mails().count(EMMY)


def tries(office: Office) -> list[str]:
    """Note each refusal from now on."""
    met = list[str]()
    office.world.smtp.on_fault = lambda fault: met.append(str(fault.reply))
    return met


def confirmed(room: Web, office: Office) -> None:
    ask(room, EMMY)
    office.tick(30 * SECOND)
    assert "Subscribed" in room.post(room.link("confirm/", EMMY)).text


@pytest.mark.quick
def test_mail_and_edit_come_within_half_a_minute(room: Web, office: Office) -> None:
    assert "Check your inbox" in ask(room, EMMY)
    assert office.tick(30 * SECOND) == ["tasks", "sending"]
    assert mails(office) == 1
    room.post(room.link("confirm/", EMMY))
    assert "tasks" in office.settle()
    assert EMMY in (office.world.path / "subscribers.yaml").read_text()
    assert office.tick(HOUR) == []
    assert mails(office) == 1


def test_mail_that_is_refused_for_now_is_tried_again_after_minutes(
    room: Web, office: Office
) -> None:
    """As by greylisting, which a second try within seconds may prolong."""
    office.world.smtp.faults.append(Fault("RCPT", "450 4.7.1 greylisted", address=EMMY, times=2))
    met = tries(office)
    ask(room, EMMY)
    assert office.tick(30 * SECOND) == ["tasks", "sending"]
    assert (len(met), mails(office)) == (1, 0)
    assert office.tick(2 * MINUTE) == []
    assert office.tick(5 * MINUTE) == ["sending"]
    assert (len(met), mails(office)) == (2, 0)
    assert office.tick(13 * MINUTE) == ["sending"]
    assert mails(office) == 1


def test_address_that_does_not_exist_gets_no_second_mail_and_troubles_nobody(
    room: Web, office: Office
) -> None:
    """Anybody can type one into the form."""
    office.world.smtp.faults.append(Fault("RCPT", "550 5.1.1 no such user", address=EMMY))
    met = tries(office)
    ask(room, EMMY)
    assert office.tick(30 * SECOND) == ["tasks", "sending"]
    assert office.tick(HOUR) == []
    assert (len(met), mails(office), office.alerts()) == (1, 0, [])
    assert EMMY not in room.run("status", "--suppressed").out


def test_refused_edit_is_reported_and_tried_again_at_once_after_an_edit_of_the_file(
    room: Web, office: Office
) -> None:
    file = office.world.path / "subscribers.yaml"
    shared = OPEN.replace("subscribers: [", "subscribers: &people [")
    shared += SKY.format("23:00").replace("[v@example.org]", "*people")
    file.write_text(shared)
    assert office.settle() == ["trial"]
    confirmed(room, office)
    assert office.tick(30 * SECOND) == ["tasks", "sending"]
    assert office.alerts() == ["Paperboy: Somebody who signed up for foundations cannot be added"]
    assert office.tick(4 * MINUTE) == []
    file.write_text(OPEN)
    assert office.settle() == [
        "trial",
        "tasks",
        "sending",
        "trial",
    ]  # the last is of the edit that it made itself
    assert EMMY in file.read_text()
    assert office.alerts()[1:] == ["Paperboy: Resolved: sign-ups for foundations are added again"]
