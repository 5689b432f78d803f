"""systemd: the daemon's notifications, and the unit that starts it.

A notification is one datagram of `NAME=value` lines to the socket named by `NOTIFY_SOCKET`; without that variable
nothing is sent.
"""

from __future__ import annotations

import logging
import re
import socket
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from paperboy.errors import ConfigError
from paperboy.models import Problem

logger = logging.getLogger(__name__)

# systemd addresses these to the daemon alone: a child that inherited them would speak in its place.
ENVIRONMENT = frozenset({"NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID"})

_LONGEST_STATUS = 400  # characters; systemd takes 4096 bytes, and a person reads one line
_TIMEOUT = 2.0  # seconds; if systemd is busy for longer, it misses a notification, and no list misses its morning


@dataclass(slots=True)
class Notifier:
    """Notify systemd. Never raises: a notification that cannot be sent is lost, and logged once."""

    address: str = ""  # a path, or @name for an abstract socket; empty: nobody listens
    watchdog_seconds: float | None = None  # systemd restarts a daemon that was silent for so long; None: never
    _failed: bool = field(default=False, init=False)

    @classmethod
    def of(cls, environ: Mapping[str, str], pid: int) -> Notifier:
        """The notifier that the environment asks for; a watchdog meant for another process is ignored."""
        usec = environ.get("WATCHDOG_USEC", "")
        ours = environ.get("WATCHDOG_PID", "") in {"", str(pid)}
        watched = ours and usec.isascii() and usec.isdigit() and int(usec) > 0
        return cls(environ.get("NOTIFY_SOCKET", ""), int(usec) / 1e6 if watched else None)

    @property
    def feed_every(self) -> float | None:
        """Seconds between two calls of `watchdog`, short enough for two to be late; None: there is no watchdog."""
        return None if self.watchdog_seconds is None else self.watchdog_seconds / 3

    def ready(self) -> None:
        """The daemon is up, or has reloaded."""
        self._send("READY=1")

    def status(self, text: str) -> None:
        """The line that `systemctl status` shows."""
        line = " ".join("".join(" " if _is_control(character) else character for character in text).split())
        self._send(f"STATUS={line if len(line) <= _LONGEST_STATUS else line[: _LONGEST_STATUS - 1].rstrip() + '…'}")

    def watchdog(self) -> None:
        """The daemon is not stuck."""
        self._send("WATCHDOG=1")

    def reloading(self, monotonic: float) -> None:
        """The daemon reloads its files at this moment of CLOCK_MONOTONIC, in seconds; `ready` has to follow."""
        self._send(f"RELOADING=1\nMONOTONIC_USEC={round(monotonic * 1_000_000)}")

    def stopping(self) -> None:
        """The daemon is about to exit."""
        self._send("STOPPING=1")

    def _send(self, message: str) -> None:
        if not self.address:
            return
        try:
            with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as out:
                out.settimeout(_TIMEOUT)
                name = f"\0{self.address[1:]}" if self.address.startswith("@") else self.address
                out.sendto(message.encode(errors="replace"), name)
        except (OSError, ValueError) as error:  # ValueError: no address that a socket can have
            if not self._failed:
                logger.debug("systemd could not be notified of %s: %s", message.partition("\n")[0], error)
            self._failed = True


def _is_control(character: str) -> bool:
    return unicodedata.category(character) in {"Cc", "Cs", "Zl", "Zp"}


@dataclass(frozen=True, slots=True)
class Service:
    """The subject of a unit. All paths are absolute."""

    home: Path
    python: Path  # the interpreter as it is called: in a virtual environment that is a link
    user: str  # the home's owner
    group: str
    writable: Sequence[Path] = ()  # besides the home: the folders of the database and of the outbox


def unit(service: Service) -> str:
    """The text of the unit. Raises ConfigError for a path that no unit can hold."""
    folders = list(dict.fromkeys([service.home, *service.writable]))
    faults = {path: _fault(path, is_program=path == service.python) for path in [service.python, *folders]}
    if any(faults.values()):
        message = "systemd cannot start a service from here"
        raise ConfigError([Problem(repr(str(path)), f"{message}: {fault}") for path, fault in faults.items() if fault])
    outermost = [path for path in folders if not any(path.is_relative_to(other) for other in folders if other != path)]
    paths = " ".join(map(_literal, outermost))
    return _UNIT.format(
        paths=paths,
        command=f":{_literal(service.python)} -m paperboy --home {_literal(service.home)} run",
        user=service.user.replace("%", "%%"),
        group=service.group.replace("%", "%%"),
    )


def _fault(path: Path, *, is_program: bool) -> str:
    text = str(path)
    if not path.is_absolute() or ".." in path.parts:
        return "the path does not lead straight from /"
    for character in filter(_is_control, text):
        return f"its name holds a line end or another control character (U+{ord(character):04X}); rename it"
    if is_program and set(text) & set("\"'\\"):
        return "systemd runs no program whose path holds a quote or a backslash; make the virtual environment elsewhere"
    return ""


def _literal(path: Path) -> str:
    """A path as systemd reads it back: % begins a specifier; spaces, quotes, colons and backslashes need quotes."""
    text = str(path).replace("%", "%%").replace("\\", "\\\\").replace('"', '\\"')
    return text if re.fullmatch(r"[\w/.%+,@=~-]+", text) else f'"{text}"'


_UNIT = """\
# The unit of one Paperboy, printed by `paperboy service` for one home and one interpreter. Print it again when either
# has moved; make your own changes with `systemctl edit paperboy`.

[Unit]
Description=Paperboy, the arXiv newsletter
# A morning needs the network.
Wants=network-online.target
# Names and the right time too, where the machine waits for them; Paperboy itself retries.
After=network-online.target nss-lookup.target time-sync.target
# A home on its own disk is mounted first.
RequiresMountsFor={paths}
# Never give up: a disk may come back after hours, a file be fixed after weeks.
StartLimitIntervalSec=0

[Service]
# Paperboy reports when it is up, and what it is doing in the line Status of `systemctl status`.
Type=notify
# Only the daemon reports, not the mornings it starts.
NotifyAccess=main
# The colon keeps a $ in a path as it is.
ExecStart={command}
# Reload the files of the home now, not within half a minute.
ExecReload=/bin/kill -HUP $MAINPID
# The home's owner, as in a shell, so that both can use one database.
User={user}
# The owner's own group.
Group={group}
# However the daemon ends, it comes back and catches up on a missed morning.
Restart=always
# A broken .env (exit code 78) or another `run` in this home (75) may be gone by then.
RestartSec=1min
# A new version may migrate a large database when it first starts.
TimeoutStartSec=10min
# A sending gets a minute for the messages in hand; the others leave after the next start.
TimeoutStopSec=90s
# SIGTERM reaches the children even if the daemon has died.
KillMode=control-group
# systemd restarts a daemon that has been stuck for so long,
WatchdogSec=5min
# and every process then writes its stack to the journal,
Environment=PYTHONFAULTHANDLER=1
# but never its memory to the disk: it holds passwords.
LimitCORE=0
# The journal shows Paperboy's name instead of Python's.
SyslogIdentifier=paperboy
# A morning that runs wild does not take the machine with it:
MemoryMax=1G
# it is killed alone and retried; the daemon stays.
OOMPolicy=continue
# Enough for the most that the settings allow: 100 LLM calls and 50 connections to a mail server.
TasksMax=512

# Secrets may stay in .env, readable by its owner alone (chmod 600). To keep them out of the home, put each into a file
# that only root can read, and add its line, without the #, under [Service] in `systemctl edit paperboy`. A value in
# .env wins. Move what belongs together, such as user and password, together: commands in a shell cannot see these.
#LoadCredential=OPENAI_API_KEY:/etc/paperboy/OPENAI_API_KEY
#LoadCredential=SMTP_USERNAME:/etc/paperboy/SMTP_USERNAME
#LoadCredential=SMTP_PASSWORD:/etc/paperboy/SMTP_PASSWORD

# Files. The whole disk is read-only,
ProtectSystem=strict
# people's homes included, since this home or the interpreter may lie there,
ProtectHome=read-only
# and the temporary files of others are hidden.
PrivateTmp=yes
# The home, the database and the outbox are writable.
ReadWritePaths={paths}
# Only the owner can read what is written: it holds addresses.
UMask=0077
# Mounts made here are not seen elsewhere.
PrivateMounts=yes

# Privileges. No program can gain more than it started with,
NoNewPrivileges=yes
# and it starts with none, not even as root.
CapabilityBoundingSet=
# No file can lend its owner's rights to others.
RestrictSUIDSGID=yes
# Users other than root and the owner appear as nobody.
PrivateUsers=yes
# New namespaces are a common way into the kernel.
RestrictNamespaces=yes

# Network. IPv4 and IPv6 for arXiv, the LLM and mail; local sockets for systemd and name lookups.
RestrictAddressFamilies=AF_INET AF_INET6 AF_UNIX

# The machine. No devices but /dev/null and its like.
PrivateDevices=yes
# It may not set the clock,
ProtectClock=yes
# the host's name,
ProtectHostname=yes
# the kernel's modules,
ProtectKernelModules=yes
# the kernel's settings
ProtectKernelTunables=yes
# or the limits of other services.
ProtectControlGroups=yes
# The kernel's log is about the whole machine.
ProtectKernelLogs=yes
# Other users' processes are invisible,
ProtectProc=invisible
# as is the rest of /proc.
ProcSubset=pid
# Message queues and shared memory are its own. (RemoveIPC would delete those of the owner's other programs.)
PrivateIPC=yes
# So are the keys that the kernel holds.
KeyringMode=private
# Real-time scheduling can hang a machine.
RestrictRealtime=yes

# System calls. Those of an ordinary service, without privileged ones,
SystemCallFilter=@system-service
SystemCallFilter=~@privileged @resources
# and any other fails instead of killing Paperboy: SQLite, as root, tries to chown its files.
SystemCallErrorNumber=EPERM
# No foreign system calls,
SystemCallArchitectures=native
# no foreign execution domains,
LockPersonality=yes
# and no memory that is both writable and executable.
MemoryDenyWriteExecute=yes

[Install]
# Start with the machine.
WantedBy=multi-user.target
"""
