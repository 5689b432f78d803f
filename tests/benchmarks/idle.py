"""What the daemon takes while it has nothing to do: `python -m tests.benchmarks.idle [--minutes 10]`.

Five lists, or as many as `--lists` says, whose morning was done just before. In the middle somebody subscribes, so an
edit is tried and comes into force. Linux alone tells what is asked for here.
"""

from __future__ import annotations

import argparse
import os
import re
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from paperboy.sources.arxiv import calendar as announcements
from tests.builders import paper
from tests.servers.arxiv_api import ArxivServer
from tests.servers.systemd import Systemd, children

AIM_MEGABYTES = 60
WATCHDOG_SECONDS = 300.0  # as in the unit
LISTS = ("foundations", "agents", "language", "galaxies", "cosmology")
SUBSCRIBERS = 50
PAPERS = 300
SRC = Path(__file__).parents[2] / "src"
PATIENCE = 300  # seconds for a start, a morning or an edit


@dataclass(frozen=True, slots=True)
class Usage:
    """What a process has used since it began, in seconds and switches, and what it holds now, in MB."""

    cpu: float
    children: float  # CPU of those that have ended
    waits: int  # how often it gave up the processor
    preempted: int
    rss: float
    pss: float  # what it shares with others divided among all
    own: float  # what it has written to, and shares with nobody
    peak: float  # RSS

    @classmethod
    def of(cls, pid: int) -> Usage:
        """Reads /proc."""
        place = Path(f"/proc/{pid}")
        status, memory = (
            _table((place / name).read_text("ascii")) for name in ("status", "smaps_rollup")
        )
        times = (place / "stat").read_text("ascii").rpartition(")")[2].split()[11:15]
        user, system, children_user, children_system = (
            int(ticks) / os.sysconf("SC_CLK_TCK") for ticks in times
        )
        return cls(
            cpu=user + system,
            children=children_user + children_system,
            waits=status["voluntary_ctxt_switches"],
            preempted=status["nonvoluntary_ctxt_switches"],
            rss=memory["Rss"] * 1024 / 1e6,
            pss=memory["Pss"] * 1024 / 1e6,
            own=memory["Private_Dirty"] * 1024 / 1e6,
            peak=status["VmHWM"] * 1024 / 1e6,
        )


def _table(text: str) -> dict[str, int]:
    return {
        name: int(number)
        for name, number in re.findall(r"^(\w+):\s+(\d+)(?: kB)?$", text, re.MULTILINE)
    }


def furnish(home: Path, arxiv: ArxivServer, now: datetime, number: int) -> None:
    """A home whose lists are due; no day of theirs ends soon, and arXiv's last batch came days ago."""
    holidays = " ".join(
        (now + timedelta(days=number)).date().isoformat() for number in (-3, -2, -1, 0, 1)
    )
    zone = f"Etc/GMT{now.hour - 12:+d}"
    settings = {
        "ARXIV_API_URL": arxiv.url,
        "ARXIV_DELAY_SECONDS": 0,
        "ARXIV_HOLIDAYS": holidays,
        "TIMEZONE": zone,
    }
    home.mkdir()
    (home / ".env").write_text(
        "".join(f"{name}={value}\n" for name, value in settings.items()), "utf-8"
    )
    lists = []
    for name in (*LISTS, *(f"list-{each}" for each in range(len(LISTS), number)))[:number]:
        readers = "".join(
            f"      - reader{number}.of.{name}@example.org\n" for number in range(SUBSCRIBERS)
        )
        lists.append(
            f"  - name: {name}\n    categories: [cs.LG, stat.ML]\n    topics: how networks learn\n"
            f"    send_at: '00:00'\n    subscribers:\n{readers}"
        )
    (home / "subscribers.yaml").write_text("lists:\n" + "".join(lists), "utf-8")
    since = announcements.newest_batch(now).submitted_from
    arxiv.papers += [
        paper(
            f"2611.{number:05}",
            categories=("cs.LG",),
            primary_category="cs.LG",
            published=since,
            updated=since,
        )
        for number in range(1, PAPERS)
    ]


def until(condition: Callable[[], object], daemon: subprocess.Popen[bytes]) -> None:
    end = time.monotonic() + PATIENCE
    while not condition():
        if daemon.poll() is not None or time.monotonic() > end:
            raise SystemExit("the daemon has failed; its log is above")
        time.sleep(0.01)


def watched(daemon: subprocess.Popen[bytes], seconds: float) -> list[Usage]:
    """How it fares over so many seconds."""
    end = time.monotonic() + seconds
    found = [Usage.of(daemon.pid)]
    while (left := end - time.monotonic()) > 0:
        time.sleep(min(5.0, left))
        found.append(Usage.of(daemon.pid))
    return found


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m tests.benchmarks.idle", description=__doc__.splitlines()[0]
    )
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--lists", type=int, default=len(LISTS))
    given = parser.parse_args()
    seconds = given.minutes * 60
    with (
        tempfile.TemporaryDirectory() as folder,
        ArxivServer() as arxiv,
        Systemd(WATCHDOG_SECONDS) as systemd,
    ):
        home = Path(folder) / "home"
        furnish(home, arxiv, datetime.now(UTC), given.lists)
        command = [sys.executable, "-m", "paperboy", "--home", str(home)]
        environ = {"PYTHONPATH": str(SRC), **os.environ}
        subprocess.run([*command, "once"], env=environ, check=True, stdout=subprocess.DEVNULL)
        begun = time.monotonic()
        daemon = subprocess.Popen([*command, "run"], env={**environ, **systemd.environ})
        try:
            until(lambda: systemd.heard("READY"), daemon)
            ready = systemd.notices[0].at - begun
            at_start = Usage.of(daemon.pid)
            until(lambda: "today's mail" in "".join(systemd.heard("STATUS")[-1:]).lower(), daemon)
            until(lambda: not children(daemon.pid), daemon)
            idle = watched(daemon, seconds / 2)
            lists = home / "subscribers.yaml"
            lists.write_text(lists.read_text("utf-8") + "      - one.more@example.org\n", "utf-8")
            copy = home / "data" / "last-good" / "subscribers.yaml"
            until(lambda: copy.exists() and "one.more" in copy.read_text("utf-8"), daemon)
            idle += watched(daemon, seconds - seconds / 2)
            fed = len(systemd.heard("WATCHDOG"))
        finally:
            daemon.terminate()
            daemon.wait()
    cpu = idle[-1].cpu - idle[0].cpu
    more = idle[-1].children - idle[0].children
    waits = idle[-1].waits - idle[0].waits
    preempted = idle[-1].preempted - idle[0].preempted
    print(
        f"until READY  {ready:.2f} s; CPU {at_start.cpu:.2f} s, and {at_start.children:.2f} s to try the files"
    )
    print(
        f"memory       RSS {idle[-1].rss:.1f} MB, of which {idle[-1].own:.1f} MB its own; PSS {idle[-1].pss:.1f} MB"
    )
    print(
        f"at most      RSS {idle[-1].peak:.1f} MB of {AIM_MEGABYTES} MB; PSS {max(each.pss for each in idle):.1f} MB"
    )
    print(
        f"CPU          {cpu:.2f} s in {seconds / 60:g} minutes: {cpu / seconds:.4%}; the edit's trial {more:.2f} s more"
    )
    print(
        f"wake-ups     {waits} waits, {preempted} times preempted; {fed} times the watchdog was fed"
    )
    children_most = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024 / 1e6
    print(f"the largest process, a morning's or a trial's: {children_most:.0f} MB")
    if idle[-1].peak > AIM_MEGABYTES:
        raise SystemExit("more memory than it should take")


if __name__ == "__main__":
    main()
