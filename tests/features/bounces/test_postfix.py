"""Bounces as Postfix reports them: it took a digest, the next server refused its reader, and a pipe gets the report."""

from __future__ import annotations

import io
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from paperboy.features.bounces.returned import Bounce, read
from tests.cli.conftest import World
from tests.cli.mail_world import ADA, GRACE, at_home, copies
from tests.servers.postfix import MISSING, NOT_ROOT, PROGRAM, postfix
from tests.servers.smtp import Fault

pytestmark = [
    pytest.mark.skipif(PROGRAM is None, reason=MISSING),
    pytest.mark.xfail(NOT_ROOT, reason="only root can start Postfix", run=False),
]

SERVICES = """\
smtp       unix  - - n - - smtp
keep       unix  - n n - - pipe
  user=nobody argv=/bin/dd status=none of={}
"""


@pytest.fixture
def pipe() -> Iterator[Path]:
    """Where the mail to MAIL_FROM comes out: a pipe never runs as root, and others cannot enter pytest's folders."""
    folder = Path(tempfile.mkdtemp(prefix="paperboy-pipe-"))
    folder.chmod(0o755)
    os.mkfifo(folder / "mail")
    (folder / "mail").chmod(0o666)
    yield folder / "mail"
    shutil.rmtree(folder)


@pytest.mark.parametrize(
    ("command", "refusal", "gone", "returned"),
    [
        ("RCPT", "550 5.1.1 <ada@example.org>: no such user", True, "50000"),
        ("RCPT", "550 5.1.1 <ada@example.org>: no such user", True, "1"),
        ("dot", "554 5.6.0 no mail of this kind", False, "50000"),
    ],
    ids=["the mail comes back", "its headers come back", "the mail was refused, not its reader"],
)
def test_report_of_postfix_counts_as_a_bounce(
    command: str,
    refusal: str,
    returned: str,
    world: World,
    pipe: Path,
    monkeypatch: pytest.MonkeyPatch,
    *,
    gone: bool,
) -> None:
    world.smtp.faults.append(Fault(command, refusal, address=ADA))
    next_server = f"smtp:[127.0.0.1]:{world.smtp.port}"
    routes = f"inline:{{ {ADA}={next_server}, {GRACE}={next_server}, papers@example.org=keep: }}"
    world.announce(1)
    with postfix(SERVICES.format(pipe), transport_maps=routes, bounce_size_limit=returned) as port:
        at_home(world, ADA, GRACE, SMTP_PORT=port)
        assert world.run("once").code == 0
        mail = subprocess.run(["cat", pipe], capture_output=True, check=True, timeout=20).stdout
    said = read(mail)
    assert isinstance(said, Bounce)
    assert said.gone is gone
    assert [copy.state.value for copy in copies(world, ADA, GRACE)] == ["sent", "sent"]
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(mail)))
    assert world.run("bounce").code == 0
    hers, the_other = copies(world, ADA, GRACE)
    assert (hers.state.value, hers.reply) == ("failed", f"bounced: {refusal.partition(' ')[2]}")
    assert the_other.state.value == "sent"
