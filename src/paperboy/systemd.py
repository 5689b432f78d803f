"""systemd: what the daemon tells it while it runs, and the unit by which it starts the daemon.

A message is one datagram of `NAME=value` lines to the socket that `NOTIFY_SOCKET` names. Without that variable nothing
listens, and nothing is sent.
"""

from __future__ import annotations

import logging
import re
import socket
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from paperboy.errors import ConfigError
from paperboy.models import Problem

logger = logging.getLogger(__name__)

# What systemd hands to the daemon alone: a child that inherits these would speak, or be watched, in its place.
ENVIRONMENT = frozenset({"NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID"})

_LONGEST_STATUS = 400  # characters; systemd takes 4096 bytes, and a person reads one line
_SEND_WITHIN = 2.0  # seconds; a systemd that is busy for longer misses a message, and the daemon no morning


@dataclass(slots=True)
class Notifier:
    """Tells systemd how the daemon is. Never raises: a message that cannot be sent is lost, and logged once."""

    address: str = ""  # a path, or @name for an abstract socket; empty: nobody listens
    watchdog_seconds: float | None = None  # a silence of this length and systemd ends the daemon; None: never
    _failed: bool = field(default=False, init=False)

    @classmethod
    def of(cls, environ: Mapping[str, str], pid: int) -> Notifier:
        """The one that the environment asks for. A watchdog that is meant for another process is none of ours."""
        usec = environ.get("WATCHDOG_USEC", "")
        ours = environ.get("WATCHDOG_PID", "") in {"", str(pid)}
        watched = ours and usec.isascii() and usec.isdigit() and int(usec) > 0
        return cls(environ.get("NOTIFY_SOCKET", ""), int(usec) / 1e6 if watched else None)

    @property
    def feed_every(self) -> float | None:
        """Seconds between two calls of `watchdog` that leave room for two to be late; None: nobody waits for them."""
        return None if self.watchdog_seconds is None else self.watchdog_seconds / 3

    def ready(self) -> None:
        """The daemon is up; or, after `reloading`, it has tried its files."""
        self._send("READY=1")

    def status(self, text: str) -> None:
        """The line that `systemctl status` shows."""
        self._send(f"STATUS={_shortened(text)}")

    def watchdog(self) -> None:
        """The daemon makes progress, or waits as it should."""
        self._send("WATCHDOG=1")

    def reloading(self, monotonic: float) -> None:
        """The daemon reads its files again, at this moment of CLOCK_MONOTONIC, in seconds; `ready` has to follow."""
        self._send(f"RELOADING=1\nMONOTONIC_USEC={round(monotonic * 1_000_000)}")

    def stopping(self) -> None:
        """The daemon is about to end."""
        self._send("STOPPING=1")

    def _send(self, message: str) -> None:
        if not self.address:
            return
        try:
            with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as out:
                out.settimeout(_SEND_WITHIN)
                name = f"\0{self.address[1:]}" if self.address.startswith("@") else self.address
                out.sendto(message.encode(errors="replace"), name)
        except (OSError, ValueError) as error:  # ValueError: no address that a socket can have
            if not self._failed:
                logger.debug("systemd could not be told %s: %s", message.partition("\n")[0], error)
            self._failed = True


def _shortened(text: str) -> str:
    line = " ".join("".join(" " if _is_control(character) else character for character in text).split())
    return line if len(line) <= _LONGEST_STATUS else f"{line[: _LONGEST_STATUS - 1].rstrip()}…"


def _is_control(character: str) -> bool:
    return unicodedata.category(character) in {"Cc", "Cs", "Zl", "Zp"}


# Where PrivateTmp and ProtectHome put empty folders before the service's eyes.
HIDDEN = tuple(map(Path, ("/home", "/root", "/run/user", "/tmp", "/var/tmp")))  # noqa: S108  nothing is written there


@dataclass(frozen=True, slots=True)
class Service:
    """What a unit is about. All paths are whole."""

    home: Path
    python: Path  # the interpreter, as it is called: that of a virtual environment is a link there
    user: str  # the home's owner
    group: str
    writable: Sequence[Path] = ()  # beside the home: the folders of the database and of the outbox
    needed: Sequence[Path] = ()  # for reading: where the interpreter, Paperboy and what it imports lie
    hidden: Sequence[Path] = HIDDEN  # by each of their names, since /home may be a link


def unit(service: Service) -> str:
    """The text of the unit. Raises ConfigError for a path that no unit can hold."""
    problems = [
        Problem(repr(str(path)), f"systemd cannot start a service from here: {fault}")
        for path in (service.home, service.python, *service.writable, *service.needed)
        if (fault := _unfit(path, is_program=path == service.python))
    ]
    if problems:
        raise ConfigError(problems)
    writable = _outermost([service.home, *service.writable])
    return _UNIT.format(
        mounts=_lines("RequiresMountsFor", writable),
        command=f":{_literal(service.python)} -m paperboy --home {_literal(service.home)} run",
        user=service.user.replace("%", "%%"),
        group=service.group.replace("%", "%%"),
        paths="\n".join(_paths(writable, _outermost(service.needed), service.hidden)),
    )


def _unfit(path: Path, *, is_program: bool) -> str:
    text = str(path)
    if not path.is_absolute() or ".." in path.parts:
        return "the path does not lead straight from /"
    for character in text:
        if _is_control(character):
            return f"its name holds a line end or another control character (U+{ord(character):04X}); rename it"
    if is_program and set(text) & set("\"'\\"):
        return "systemd runs no program whose path holds a quote or a backslash; make the virtual environment elsewhere"
    return ""


def _paths(writable: Sequence[Path], needed: Sequence[Path], hidden: Sequence[Path]) -> Iterator[str]:
    """What may be written to; what of the program would be writable with it; and what of both would be hidden."""
    yield _lines("ReadWritePaths", writable)
    read = [path for path in needed if path not in writable]
    if inside := [path for path in read if _within(path, writable)]:
        yield "# But not the program itself."
        yield _lines("ReadOnlyPaths", inside)
    shown = [path for path in writable if _within(path, hidden)]
    shown_read_only = [path for path in read if _within(path, hidden) and path not in inside]
    if shown or shown_read_only:
        yield "# These lie where ProtectHome and PrivateTmp show empty folders, and are put back."
        yield from filter(None, [_lines("BindPaths", shown), _lines("BindReadOnlyPaths", shown_read_only)])


def _outermost(paths: Sequence[Path]) -> list[Path]:
    """Each path once, without those inside another."""
    once = list(dict.fromkeys(paths))
    return [path for path in once if not _within(path, [other for other in once if other != path])]


def _within(path: Path, folders: Sequence[Path]) -> bool:
    return any(path.is_relative_to(folder) for folder in folders)


def _lines(directive: str, paths: Sequence[Path]) -> str:
    return "\n".join(f"{directive}={_literal(path)}" for path in paths)


def _literal(path: Path) -> str:
    """A path as systemd reads it back: % begins a specifier, and spaces, quotes, colons and backslashes need quotes."""
    text = str(path).replace("%", "%%")
    if re.fullmatch(r"[\w/.%+,@=~-]+", text):
        return text
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


_UNIT = """\
# The unit of one Paperboy, as `paperboy service` prints it for a home and an interpreter. Print it anew when either has
# moved; for changes of your own, use `systemctl edit`.

[Unit]
Description=Paperboy, the arXiv newsletter
# A morning needs the network.
Wants=network-online.target
# Names and the right time too, where the machine waits for them. Paperboy itself tries again if they are late.
After=network-online.target nss-lookup.target time-sync.target
# A home on a disk of its own is mounted first.
{mounts}
# Never give up: a disk may come back after hours, a file be mended after weeks.
StartLimitIntervalSec=0

[Service]
# Paperboy says itself when it is up, and in the line Status of `systemctl status` what it is doing.
Type=notify
# The daemon alone speaks, not the mornings it starts.
NotifyAccess=main
# The colon leaves a $ in a path as it is.
ExecStart={command}
# Reads the files of the home again, now and not within a minute.
ExecReload=/bin/kill -HUP $MAINPID
# The home's owner, as in a shell, so that both can use one database.
User={user}
# The owner's own group.
Group={group}
# Whatever ends the daemon, it comes back, and makes up for a morning that was missed.
Restart=always
# What was in the way, as a broken .env (exit code 78) or another Paperboy in this home (75), may be gone by then.
RestartSec=1min
# A new version may have to rewrite a large database when it first starts.
TimeoutStartSec=10min
# A morning that is sending has a minute for the messages in hand; the others leave after the next start.
TimeoutStopSec=90s
# SIGTERM reaches the morning even if the daemon has died, so that it ends as gently.
KillMode=control-group
# The daemon reports progress. Where none comes for so long, it is ended and started anew,
WatchdogSec=5min
# and daemon and morning write into the journal where they stood.
Environment=PYTHONFAULTHANDLER=1
# But not the memory of either to the disk: there are passwords in it.
LimitCORE=0
# Paperboy's name in the journal, instead of Python's.
SyslogIdentifier=paperboy
# A morning that runs wild does not take the machine with it.
MemoryMax=1G
# It is ended alone, and tried again; the daemon stays.
OOMPolicy=continue
# Enough for 100 calls to an LLM and 50 connections to a mail server, the most that the settings allow.
TasksMax=512

# Secrets may stand in .env, which nobody but its owner should read (chmod 600). If they shall not lie in the home, put
# each into a file that root alone reads, and its line, without the #, under [Service] in `systemctl edit paperboy`,
# where it lasts when this unit is printed anew. A line in .env goes before. What belongs together, as user and
# password, goes together, or commands in a shell, which do not see these, find half of it.
#LoadCredential=OPENAI_API_KEY:/etc/paperboy/OPENAI_API_KEY
#LoadCredential=SMTP_USERNAME:/etc/paperboy/SMTP_USERNAME
#LoadCredential=SMTP_PASSWORD:/etc/paperboy/SMTP_PASSWORD

# Files. The whole disk can only be read,
ProtectSystem=strict
# people's homes are not there,
ProtectHome=tmpfs
# nor are the temporary files of others.
PrivateTmp=yes
# The home, the database and the outbox are the same as in a shell.
{paths}
# What is written has addresses in it, and is its owner's alone.
UMask=0077
# Nothing that is mounted from here is seen elsewhere.
PrivateMounts=yes

# Privileges. No program gives more than there were at the start,
NoNewPrivileges=yes
# and there were none, not even for root.
CapabilityBoundingSet=
# No file is made that would lend its owner's rights to others.
RestrictSUIDSGID=yes
# All users but root and the owner look like nobody.
PrivateUsers=yes
# No way to new namespaces, where many a hole of the kernel began.
RestrictNamespaces=yes

# Network. IPv4 and IPv6 for arXiv, the LLM and mail; local sockets for systemd, and to look up names.
RestrictAddressFamilies=AF_INET AF_INET6 AF_UNIX

# The machine. No devices but /dev/null and its like.
PrivateDevices=yes
# The clock can be read, not set,
ProtectClock=yes
# nor the host's name,
ProtectHostname=yes
# nor what the kernel is made of,
ProtectKernelModules=yes
# nor how it is tuned,
ProtectKernelTunables=yes
# nor how the machine is shared out.
ProtectControlGroups=yes
# The kernel's log tells of the whole machine.
ProtectKernelLogs=yes
# Other users' processes are not seen,
ProtectProc=invisible
# and of /proc nothing else.
ProcSubset=pid
# Its message queues and shared memory are its own. (RemoveIPC is left out: it would take its owner's other programs'.)
PrivateIPC=yes
# So are the keys that the kernel holds.
KeyringMode=private
# Real-time scheduling can hang a machine.
RestrictRealtime=yes

# System calls. Those of a usual service, without what needs privileges or changes priorities,
SystemCallFilter=@system-service
SystemCallFilter=~@privileged @resources
# and any other fails instead of ending Paperboy: SQLite, as root, tries to hand its files to their owner.
SystemCallErrorNumber=EPERM
# No second set of them for other processors,
SystemCallArchitectures=native
# nor for other kinds of Unix.
LockPersonality=yes
# No memory that can be written and then run.
MemoryDenyWriteExecute=yes

[Install]
# It starts with the machine.
WantedBy=multi-user.target
"""
