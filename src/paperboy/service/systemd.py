"""systemd: the daemon's notifications, and the unit that starts it.

A notification is one datagram of `NAME=value` lines to the socket named by `NOTIFY_SOCKET`; without
that variable nothing is sent.
"""

import logging
import re
import socket
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from paperboy.edges.text import shortened, visible, without_addresses
from paperboy.errors import ConfigError

logger = logging.getLogger(__name__)

# systemd means these for the daemon alone: a child that inherited them would notify in its place.
ENVIRONMENT = frozenset({"NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID"})

_LONGEST_STATUS = 400  # characters; systemd takes 4096 bytes, and a person reads one line
_TIMEOUT = 2.0  # seconds; a busy systemd may miss a notification, but no list its morning


@dataclass(slots=True)
class Notifier:
    """Notifications to systemd. Never raises: one that cannot be sent is lost."""

    address: str = ""  # a path, or @name for an abstract socket; empty: nobody listens

    def status(self, text: str) -> None:
        """Set the line that `systemctl status` shows to every user of the machine."""
        self.send(f"STATUS={shortened(visible(without_addresses(text)), _LONGEST_STATUS)}")

    def send(self, message: str) -> None:
        """Send lines of NAME=value, as in sd_notify(3)."""
        if not self.address:
            return

        name = self.address
        if name.startswith("@"):
            name = f"\0{name[1:]}"

        try:
            with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as out:
                out.settimeout(_TIMEOUT)
                out.sendto(message.encode(errors="replace"), name)
        except (OSError, ValueError) as error:  # ValueError: no address of a socket
            first, *_ = message.split("\n")
            logger.debug("systemd could not be notified of %s: %s", first, error)


def unit(
    home: Path,
    python: Path,
    user: str,
    group: str,
    written: Sequence[Path],
    *,
    web: bool = False,
    local: bool = False,
) -> str:
    """Return the daemon's unit, or that of the `web` room, which runs without the daemon.

    All paths are absolute. `python` is the interpreter as it is called: in a virtual environment
    that is a link. `written` are the folders in which it may write. Without a `user`, the unit is
    for `systemctl --user`. If the site's proxy is `local`, so is its network. Raises
    ConfigError for a path that no unit can hold.
    """
    for path in [python, home, *written]:
        if not str(path).isprintable():
            fault = "its name holds a line end or another control character; rename it"
            message = f"systemd cannot start a service from here: {fault}"
            raise ConfigError.at(repr(str(path)), message)

    text = _DAEMON + _SANDBOX
    if web:
        network = _WEB_NETWORK if local else _WEB_FAMILIES
        text = _WEB + re.sub("(?m)^RestrictAddressFamilies=.*", network, _SANDBOX)

    if not user:
        # Only the system's manager can do some things: other units, other users, namespaces.
        text = re.sub(_NOT_FOR_A_USER, "", text)
        text = re.sub(r"(?m)^# Secrets may(.+\n)+", "", text)
        text = text.replace("systemctl ", "systemctl --user ")
        start = "WantedBy=default.target  # Start with the machine after `loginctl enable-linger`, else with the login."
        text = re.sub("WantedBy=.*", start, text)
        text = re.sub(r"\n{3,}", "\n\n", text)

    with_reasons_above = re.sub(r"(?m)^(\S.*)  # (.*)$", r"# \2\n\1", text)
    return with_reasons_above.format(
        paths=_outermost([home, *written]),
        written=_outermost(written),
        command=f":{_literal(python)} -m paperboy --home {_literal(home)}",
        user=user,
        group=group,
    )


def _outermost(folders: Sequence[Path]) -> str:
    """Return the folders that lie in no other of them, quoted for a unit."""
    outermost = [path for path in folders if set(path.parents).isdisjoint(folders)]
    return " ".join(dict.fromkeys(map(_literal, outermost)))


def _literal(path: Path) -> str:
    """Quote a path for systemd: % begins a specifier, spaces and the like need quotes."""
    text = str(path).replace("%", "%%").replace("\\", "\\\\").replace('"', '\\"')
    return text if re.fullmatch(r"[\w/.%+,@=~-]+", text) else f'"{text}"'


_NOT_FOR_A_USER = (
    r"(?m)^(?:Wants|After|RequiresMountsFor|User|Group|Protect\w+|Private\w+|ReadWritePaths|CapabilityBoundingSet|ProcSubset"
    r"|KeyringMode|IPAddress\w+)=.*\n"
)

# Each reason is printed above its directive: systemd knows no comments at the end of a line.
_DAEMON = """\
# The unit of one Paperboy, printed by `paperboy service` for one home and one interpreter. Print it
# again when either has moved; make your own changes with `systemctl edit paperboy`.

[Unit]
Description=Paperboy, the newsletter of new papers on arXiv and elsewhere
Wants=network-online.target  # A morning needs the network.
After=network-online.target nss-lookup.target time-sync.target  # It needs DNS and the right time; Paperboy retries.
RequiresMountsFor={paths}  # A home on its own disk is mounted first.
StartLimitIntervalSec=0  # Never give up: a disk may come back after hours; a file may be fixed after weeks.

[Service]
Type=notify  # Paperboy reports when it is up, and what it is doing in the line Status of `systemctl status`.
NotifyAccess=main  # Only the daemon reports, not the mornings it starts.
ExecStart={command} run  # The colon keeps a $ in a path as it is.
ExecReload=/bin/kill -HUP $MAINPID  # Reload the files of the home now, not within half a minute.
User={user}  # The home's owner, as in a shell, so that both can use one database.
Group={group}  # The owner's own group.
Restart=always  # However the daemon ends, it comes back and catches up on a missed morning.
RestartSec=1min  # A broken .env (exit code 78) or another `run` in this home (75) may be gone by then.
TimeoutStartSec=10min  # A new version may migrate a large database when it first starts.
TimeoutStopSec=90s  # Sending has a minute for the messages under way; the rest is sent after the next start.
KillMode=control-group  # SIGTERM reaches the children even if the daemon has died.
WatchdogSec=5min  # systemd restarts a daemon that has been stuck for so long.
Environment=PYTHONFAULTHANDLER=1  # Every stuck process then writes its stack to the journal.
LimitCORE=0  # No process writes its memory to the disk: it holds passwords.
SyslogIdentifier=paperboy  # The journal shows Paperboy's name instead of Python's.
MemoryMax=75%  # A runaway morning cannot exhaust the machine's memory.
OOMPolicy=continue  # Such a morning is killed alone and retried; the daemon stays.
TasksMax=2048  # Enough for the most that the settings allow: 1,000 LLM calls, and 50 connections to a mail server.

# Secrets may stay in .env, readable by its owner alone (chmod 600). To keep them out of the home,
# put each into a file that only root can read, and add its line, without the #, under [Service] in
# `systemctl edit paperboy`. A value in .env wins. Move what belongs together, such as user and
# password, together: commands in a shell see these by the wrapper in `paperboy manual service` alone.
#LoadCredential=OPENAI_API_KEY:/etc/paperboy/OPENAI_API_KEY
#LoadCredential=SMTP_USERNAME:/etc/paperboy/SMTP_USERNAME
#LoadCredential=SMTP_PASSWORD:/etc/paperboy/SMTP_PASSWORD
#
# SMTP_TOKEN_COMMAND runs in this sandbox, too: in the home, as this user, and with nobody to type a
# passphrase. It can write only to ReadWritePaths, and HOME is this user's own. So let it keep its
# token file in the home; or allow it another folder by such a line, without the #, under [Service]
# in `systemctl edit paperboy`.
#ReadWritePaths=/home/ada/.local/state/oama

"""

_WEB = """\
# The unit of one Paperboy's pages for readers, printed by `paperboy service --web` for one home and
# one interpreter. Print it again when either has moved or WEB_LISTEN has changed; make your own
# changes with `systemctl edit paperboy-web`.

[Unit]
Description=Paperboy's pages for readers
After=network.target  # It listens behind a proxy. Mail goes out without it, so it needs and stops no other unit.
RequiresMountsFor={paths}  # A home on its own disk is mounted first.
StartLimitIntervalSec=0  # Never give up: a disk may come back after hours; a file may be fixed after weeks.

[Service]
Type=exec  # It is up as soon as Python has started, and says in the journal when it listens.
ExecStart={command} web  # The colon keeps a $ in a path as it is.
User={user}  # The home's owner, as the daemon, so that both can use one database.
Group={group}  # The owner's own group.
Restart=always  # However it ends, it comes back.
RestartSec=5s  # A broken .env (exit code 78) or another program on its port may be gone by then.
TimeoutStopSec=10s  # A page is answered within a second.
KillMode=control-group  # It starts no other process; should there be one, it ends, too.
LimitCORE=0  # No process writes its memory to the disk: it holds passwords.
SyslogIdentifier=paperboy-web  # The journal shows its name instead of Python's.
MemoryMax=512M  # A flood of requests does not take the machine with it.
TasksMax=32  # A few threads answer.

"""

_WEB_FAMILIES = "RestrictAddressFamilies=AF_INET AF_INET6  # The proxy reaches it by IP."
_WEB_NETWORK = f"""\
{_WEB_FAMILIES}
IPAddressDeny=any  # It talks to nobody
IPAddressAllow=localhost  # but the proxy on this machine."""

# What each of the two may do; the network of the site differs.
_SANDBOX = """\
ProtectSystem=strict  # The whole disk is read-only.
ProtectHome=read-only  # People's homes are too; this home or the interpreter may lie there.
PrivateTmp=yes  # The temporary files of others are hidden.
ReadWritePaths={written}  # Only the places of what Paperboy keeps are writable.
UMask=0077  # Only the owner can read what is written: it holds addresses.
PrivateMounts=yes  # Mounts made here are not seen elsewhere.

NoNewPrivileges=yes  # No program can gain more privileges than it started with.
CapabilityBoundingSet=  # It starts with none, not even as root.
RestrictSUIDSGID=yes  # No file can lend its owner's rights to others.
PrivateUsers=yes  # Users other than root and the owner appear as nobody.
RestrictNamespaces=yes  # New namespaces are a common way into the kernel.

RestrictAddressFamilies=AF_INET AF_INET6 AF_UNIX  # Servers are reached by IP, systemd by a local socket.

PrivateDevices=yes  # There are no devices but /dev/null and its like.
ProtectClock=yes  # The clock cannot be set.
ProtectHostname=yes  # The host's name cannot be changed.
ProtectKernelModules=yes  # No kernel module can be loaded.
ProtectKernelTunables=yes  # The kernel's settings cannot be changed.
ProtectControlGroups=yes  # The limits of other services cannot be changed.
ProtectKernelLogs=yes  # The kernel's log is about the whole machine.
ProtectProc=invisible  # Other users' processes are invisible,
ProcSubset=pid  # The rest of /proc is invisible too.
PrivateIPC=yes  # Message queues and shared memory are its own.
KeyringMode=private  # The keys that the kernel holds are its own.
RestrictRealtime=yes  # Real-time scheduling can hang a machine.

SystemCallFilter=@system-service  # Only the system calls of an ordinary service are allowed.
SystemCallFilter=~@privileged @resources  # Privileged ones are not.
SystemCallErrorNumber=EPERM  # Another call fails instead of killing Paperboy: SQLite, as root, tries to chown files.
SystemCallArchitectures=native  # No system calls of another architecture are allowed.
LockPersonality=yes  # Linux's own execution domain cannot be left.
MemoryDenyWriteExecute=yes  # No memory is both writable and executable; Node and Java cannot run.

[Install]
WantedBy=multi-user.target  # Start with the machine.
"""
