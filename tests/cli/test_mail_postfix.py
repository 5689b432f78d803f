"""Whole mornings with a Postfix that refuses readers, or Paperboy itself."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from tests.cli.conftest import World
from tests.cli.mail_world import ADA, GRACE, at_home, states
from tests.servers.postfix import MISSING, NOT_ROOT, PROGRAM, postfix

pytestmark = [
    pytest.mark.skipif(PROGRAM is None, reason=MISSING),
    pytest.mark.xfail(NOT_ROOT, reason="only root can start Postfix", run=False),
]

HEDY = "hedy@example.org"
NOBODY = "bob@example.org"
ELSEWHERE = "ada@elsewhere.test"
MUELLER = "müller@example.org"
ALL = (ADA, GRACE, HEDY)


@pytest.mark.parametrize(
    ("settings", "people", "came", "said"),
    [
        ({}, (*ALL, NOBODY), ["sent"] * 3 + ["failed"], ""),
        ({}, (ELSEWHERE, ADA), ["failed", "sent"], ""),
        (
            {"smtpd_recipient_restrictions": f"check_recipient_access inline:{{{ADA}=reject}}"},
            (ADA, HEDY),
            None,
            "",
        ),
        ({"local_recipient_maps": ""}, (MUELLER, ADA), ["sent"] * 2, ""),
        (
            {"local_recipient_maps": "", "smtputf8_enable": "no"},
            (MUELLER, ADA),
            ["failed", "sent"],
            "",
        ),
        (
            {"smtpd_client_restrictions": "reject"},
            ALL,
            ["pending"] * 3,
            "Client host rejected: Access denied",
        ),
        (
            {"smtpd_helo_restrictions": "reject"},
            ALL,
            ["pending"] * 3,
            "Helo command rejected: Access denied",
        ),
        (
            {"smtpd_sender_restrictions": "reject"},
            ALL,
            ["pending"] * 3,
            "Sender address rejected: Access denied",
        ),
        (
            {"smtpd_sender_restrictions": "reject_unlisted_sender"},
            ALL,
            ["pending"] * 3,
            "550 5.1.0 <p…@example.org>",
        ),
        (
            {"smtpd_delay_reject": "no", "smtpd_client_restrictions": "reject"},
            ALL,
            ["pending"] * 3,
            "Client host",
        ),
        (
            {},
            (ELSEWHERE,),
            ["pending"],
            "refused the only recipient tried: RCPT: 554 5.7.1 <a…@elsewhere.test>: Relay",
        ),
        (
            {"smtpd_relay_restrictions": "defer_unauth_destination"},
            (ELSEWHERE,),
            ["deferred"],
            "454 4.7.1 <a…@elsewhere.test>: Relay access denied",
        ),
        (
            {"smtpd_tls_security_level": "encrypt"},
            ALL,
            ["pending"] * 3,
            "Set SMTP_SECURITY=starttls.",
        ),
    ],
)
def test_postfix_refuses_a_reader_or_us(
    settings: Mapping[str, str],
    people: tuple[str, ...],
    came: list[str] | None,
    said: str,
    world: World,
) -> None:
    came = came or ["failed", "sent"]
    world.announce(1)
    with postfix(**settings) as port:
        at_home(world, *people, SMTP_PORT=port)
        ran = world.once()
        assert (states(world, *people), ran.code) == (came, int(bool(said))), ran.err
        assert said in ran.err
        ours = bool(said) and people != (ELSEWHERE,)
        assert world.run("check").code == int(ours)


def test_fixed_postfix_gets_all_mail_with_the_next_once(world: World) -> None:
    at_home(world, *ALL)
    world.announce(1)
    for restrictions, code in (("reject", 1), ("", 0)):
        with postfix(smtpd_client_restrictions=restrictions) as port:
            at_home(world, *ALL, SMTP_PORT=port)
            assert world.once().code == code
    assert states(world, *ALL) == ["sent"] * 3
