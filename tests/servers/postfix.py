"""Postfix itself on loopback: a mail server as most operators have it, with restrictions of its own.

It answers refusals of the client, its HELO and the sender only at RCPT (`smtpd_delay_reject`, its default). What it
takes, it discards.
"""

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.servers.smtp_sink import free_port, until_it_listens

PROGRAM = shutil.which("postfix") or shutil.which("postfix", path="/usr/sbin:/usr/local/sbin")
MISSING = "Postfix is not installed; .ci/run does, Debian has it in the package postfix"
NOT_ROOT = os.geteuid() != 0  # who alone can start it

_SERVICES = """\
{port}     inet  n - n - - smtpd
rewrite    unix  - - n - - trivial-rewrite
cleanup    unix  n - n - 0 cleanup
qmgr       unix  n - n 300 1 qmgr
bounce     unix  - - n - 0 bounce
defer      unix  - - n - 0 bounce
discard    unix  - - n - - discard
anvil      unix  - - n - 1 anvil
tlsmgr     unix  - - n 1000? 1 tlsmgr
proxymap   unix  - - n - - proxymap
postlog    unix-dgram n - n - 1 postlogd
"""
_SETTINGS = """\
compatibility_level = 3.6
queue_directory = {folder}/queue
data_directory = {folder}/data
maillog_file = {folder}/log
maillog_file_prefixes = {folder}
inet_interfaces = 127.0.0.1
inet_protocols = ipv4
myhostname = mx.example.org
mydestination = example.org
local_recipient_maps = inline:{{ ada=x, grace=x, hedy=x, op=x }}
local_transport = discard:
default_transport = discard:
smtpd_relay_restrictions = permit_mynetworks, reject_unauth_destination
mynetworks = 192.0.2.1/32
"""


@contextmanager
def postfix(services: str = "", **settings: str) -> Iterator[int]:
    """Runs an instance that knows four users of example.org, with more services of `master.cf` and settings of
    `main.cf`; gives its port.
    """
    assert PROGRAM is not None, MISSING
    port = free_port()
    folder = Path(tempfile.mkdtemp(prefix="paperboy-postfix-"))
    folder.chmod(0o755)
    for name in ("queue", "data"):
        (folder / name).mkdir()
    shutil.chown(folder / "data", "postfix")
    more = "".join(f"{name} = {value}\n" for name, value in settings.items())
    (folder / "main.cf").write_text(_SETTINGS.format(folder=folder) + more)
    (folder / "master.cf").write_text(_SERVICES.format(port=f"127.0.0.1:{port}") + services)
    command = [PROGRAM, "-c", str(folder)]
    running = subprocess.Popen(
        [*command, "start-fg"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        until_it_listens(port, running)
        yield port
    finally:
        subprocess.run([*command, "stop"], check=False, capture_output=True)
        running.wait()
        shutil.rmtree(folder)
