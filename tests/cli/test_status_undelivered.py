"""`paperboy status` says who did not get their mail, and why."""

import re
from datetime import timedelta

import pytest

from tests.cli.conftest import LISTS, World
from tests.cli.mail_world import LIST
from tests.cli.test_resend import ADA, GRACE, a_morning
from tests.servers.smtp import Fault
from tests.store.ledger import morning

FOUNDATIONS = LISTS.partition("  - name: galaxies")[0]


@pytest.fixture(autouse=True)
def _alone(world: World) -> None:
    """No other list has anything to say."""
    world.write("subscribers.yaml", FOUNDATIONS)


def section(printed: str) -> list[str]:
    """Return the lines below "Not delivered"."""
    lines = printed.splitlines()
    at = lines.index("Not delivered")
    return lines[at + 1 : lines.index("", at) if "" in lines[at:] else None]


def test_each_address_has_its_state_its_last_reply_and_its_next_try(world: World) -> None:
    unknown = "550 5.1.1 <grace@example.org> unknown"
    a_morning(
        world, Fault("RCPT", "450 4.2.2 full", address=ADA), Fault("RCPT", unknown, address=GRACE)
    )
    ran = world.run("status")
    assert ran.out.startswith(
        "2 of 2 subscribers did not get today's mail: RCPT: 450 4.2.2 full.\n"
    )
    waits, *others = section(ran.out)
    assert re.fullmatch(r"1 deferred, next try about 07:[01]\d UTC: RCPT: 450 4\.2\.2 full", waits)
    assert others == [
        "    ada@example.org    foundations  Fri 20 Nov",
        "1 failed: RCPT: 550 5.1.1 <…> unknown",
        "    grace@example.org  foundations  Fri 20 Nov",
        "Once the cause, or the address, is fixed: paperboy resend foundations --failed",
    ]
    deferred, gone = world.json("status")["undelivered"]
    assert deferred["next_try"] > "2026-11-20T07:00:00+00:00"
    assert {**deferred, "next_try": None} == {
        "list": "foundations",
        "date": "2026-11-20",
        "address": ADA,
        "state": "deferred",
        "reply": "RCPT: 450 4.2.2 full",
        "reason": "RCPT: 450 4.2.2 full",
        "at": "2026-11-20T07:00:00+00:00",
        "next_try": None,
        "given_up": False,
    }
    assert (gone["address"], gone["state"], gone["next_try"]) == (GRACE, "failed", None)


def test_waiting_deliveries_name_the_servers_refusal(world: World) -> None:
    """It is asked once, and the others were not tried."""
    a_morning(world, Fault("MAIL", "550 5.7.1 you may not send"))
    world.later(minutes=5)
    ran = world.run("status")
    assert ran.out.startswith("2 of 2 subscribers did not get today's mail.\n")
    heading, *people = section(ran.out)
    assert heading.startswith("2 pending, next try about 07:15 UTC: mail server 127.0.0.1:")
    assert "550 5.7.1 you may not send" in heading
    assert [line.split()[0] for line in people] == [ADA, GRACE]
    told = world.json("status")["undelivered"]
    assert told[0]["reason"] == told[1]["reason"] == told[0]["reply"]
    assert told[1]["reply"] == ""
    world.later(minutes=30)
    assert section(world.run("status").out)[0].startswith("2 pending, to be tried now: mail server")


def test_untried_deliveries_are_shown_as_not_tried_yet(world: World) -> None:
    with world.store() as store:
        digest = morning(store, {"ada": "waits", "grace": "a crash"})
    assert digest
    assert section(world.run("status").out) == [
        "1 pending, to be tried now: not tried yet",
        "    ada@example.org    foundations  Fri 20 Nov",
        "1 sending, to be tried now: being sent, or cut off by a crash",
        "    grace@example.org  foundations  Fri 20 Nov",
    ]


def test_when_all_were_sent_nobody_lacks_a_digest(world: World) -> None:
    a_morning(world)
    assert "Not delivered" not in world.run("status").out
    assert world.run("status", "--undelivered").out == "Nobody lacks a digest.\n"
    assert world.json("status")["undelivered"] == []


def test_of_a_crowd_five_are_named_and_all_with_undelivered(world: World) -> None:
    everybody = ", ".join(f"f{number:02}@example.org" for number in range(60))
    world.write("subscribers.yaml", LIST.format(everybody))
    a_morning(
        world,
        Fault("RCPT", "550 5.1.1 no", address="f07@example.org"),
        Fault("dot", "552 5.3.4 too large"),
    )
    assert section(world.run("status").out) == [
        "59 failed: end of message: 552 5.3.4 too large",
        *(f"    f{number:02}@example.org  foundations  Fri 20 Nov" for number in range(5)),
        "1 failed: RCPT: 550 5.1.1 no",
        "    f07@example.org  foundations  Fri 20 Nov",
        "54 more; all of them: paperboy status --undelivered",
        "Once the cause, or the address, is fixed: paperboy resend foundations --failed",
    ]
    everyone = world.run("status", "--undelivered").out
    assert everyone.count("@example.org") == 60
    assert "more" not in everyone
    assert everyone.startswith("Not delivered\n59 failed: ")
    told = world.json("status", "--undelivered")
    assert (list(told), len(told["undelivered"])) == (["undelivered"], 60)


def test_resend_is_only_suggested_for_what_it_would_send(world: World) -> None:
    with world.store() as store:
        morning(
            store, {"ada": "refused", "grace": "sent"}, world.clock().date() - timedelta(days=1)
        )
        morning(store, {"ada": "sent", "grace": "sent"})
    assert "    ada@example.org  foundations  Thu 19 Nov" in world.run("status").out
    assert "paperboy resend" not in world.run("status").out


@pytest.mark.parametrize("gone", ["- ada@example.org", "- name: foundations"])
def test_an_address_that_left_the_list_is_not_shown(world: World, gone: str) -> None:
    a_morning(world, Fault("RCPT", "550 5.1.1 no", address=ADA))
    assert ADA in world.run("status").out
    world.write(
        "subscribers.yaml",
        FOUNDATIONS.replace(gone, gone.replace("ada", "emmy").replace("foundations", "others")),
    )
    assert ADA not in world.run("status").out


def test_suppressed_addresses_are_named_last(world: World) -> None:
    """They get nothing, on purpose, so they are not among those who should have had it."""
    world.run("suppress", ADA)
    a_morning(world, Fault("RCPT", "550 5.1.1 no", address=GRACE))
    ran = world.run("status")
    assert ran.out.startswith("1 of 1 subscriber did not get today's mail: RCPT: 550 5.1.1 no.\n")
    assert [line for line in section(ran.out) if not line.startswith(" ")][:2] == [
        "1 failed: RCPT: 550 5.1.1 no",
        "1 suppressed: by hand",
    ]


def test_undelivered_and_suppressed_exclude_each_other(world: World) -> None:
    assert "exclude each other" in world.fails(2, "status", "--undelivered", "--suppressed")
