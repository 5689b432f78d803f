"""The way to a far server: later, and otherwise as it was."""

from __future__ import annotations

import time
from contextlib import closing

from paperboy.mail.smtp import SmtpTransport
from paperboy.models import DeliveryState, Envelope
from tests.servers.far import far_from
from tests.servers.smtp import SmtpServer

MESSAGE = b"Subject: papers\r\n\r\n" + b"Hello.\r\n" * 9_000


def test_message_takes_its_round_trips_and_arrives_whole() -> None:
    """Two for the first of them, one for each that was announced; and what is closed here is closed there."""
    every = [Envelope("papers@example.org", f"{name}@example.org", MESSAGE, "foundations") for name in "abcd"]
    with SmtpServer() as server, far_from(server.port, 0.4) as port:
        sender = SmtpTransport(host="127.0.0.1", port=port, security="none", username="", password="")
        took = []
        with closing(sender):
            for envelope, following in zip(every, [*every[1:], None], strict=True):
                begun = time.monotonic()
                assert sender.send(envelope, following).state is DeliveryState.SENT
                took.append(time.monotonic() - begun)
        ends = time.monotonic() + 60
        while len(server.ended) < 2 and time.monotonic() < ends:
            time.sleep(0.001)
    assert min(took) >= 0.4
    assert [seconds < 0.8 for seconds in took] == [False, True, True, True], took
    assert {message.content for message in server.messages} == {MESSAGE}
    assert server.ended == {1: False, 2: True}, "the first only looked whether it listens"
