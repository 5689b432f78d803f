"""Envelopes that go ahead with a message's final dot, to Postfix, which watches for commands that come too early."""

from __future__ import annotations

from contextlib import closing

import pytest

from paperboy.mail.smtp import SmtpTransport
from paperboy.models import DeliveryState, Envelope
from tests.servers.postfix import MISSING, NOT_ROOT, PROGRAM, postfix

pytestmark = [
    pytest.mark.skipif(PROGRAM is None, reason=MISSING),
    pytest.mark.xfail(NOT_ROOT, reason="only root can start Postfix", run=False),
]

SENT, FAILED = DeliveryState.SENT, DeliveryState.FAILED
MESSAGE = b"From: papers@example.org\r\nSubject: papers\r\n\r\n" + b"Hello.\r\n" * 9_000  # as large as a digest


@pytest.mark.parametrize("restriction", ["smtpd_data_restrictions", "smtpd_end_of_data_restrictions"])
def test_postfix_that_rejects_unauthorised_pipelining_takes_it(restriction: str) -> None:
    names = ["ada", "grace", "nobody", "hedy", "ada", "nobody", "nobody", "op"]
    every = [Envelope("papers@example.org", f"{name}@example.org", MESSAGE, "foundations") for name in names]
    announced = []
    with postfix(**{restriction: "reject_unauth_pipelining"}) as port:
        sender = SmtpTransport(host="127.0.0.1", port=port, security="none", username="", password="")
        with closing(sender):
            for number, envelope in enumerate(every):
                following = every[number + 1] if envelope is not every[-1] else None
                receipt = sender.send(envelope, following)
                assert receipt.state is (FAILED if envelope.recipient.startswith("nobody") else SENT), receipt
                announced.append(sender.announced is following is not None)
    assert announced == [name != "nobody" for name in names[:-1]] + [False]
