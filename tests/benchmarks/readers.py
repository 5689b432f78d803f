"""What a list of many readers costs each command: `python -m tests.benchmarks.readers [--people N] [--inline]`.

A home with one list whose readers are in a file of their own (`--inline`: in subscribers.yaml), a third of them with a
name, on 97 domains. Processor time and peak memory of commands as an operator runs them, and of the freezing of a
digest to all of them. `--python` is the interpreter of another version's virtual environment, to compare with.
"""

import argparse
import os
import random
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

_LIST = """\
lists:
  - name: big
    categories: [cs.LG]
    topics: Large models.
"""
_LOAD = """
import sys
from pathlib import Path
from paperboy.home.home import Home

Home.load(Path(sys.argv[1]), {})
"""
_ADOPT = """
import sys
from pathlib import Path
from paperboy.home.versions import Files, Home

files = Files(Path(sys.argv[1]))
copy = files.copy()
Home.load(Path(sys.argv[1]), {}, copy)
files.put_in_force(copy)
"""
_FREEZE = """
import resource, sys, time
from datetime import UTC, date, datetime
from pathlib import Path
from paperboy.home.home import Home
from paperboy.models import Composed, Counts, Day, Outcome, Subscriber
from paperboy.store import Store
from paperboy.mail.message import Composer
from tests.mail.mails import TEMPLATES

home, today, began = Home.load(Path(sys.argv[1]), {}), date(2026, 3, 2), time.process_time()
composer = Composer(TEMPLATES, Subscriber("papers@example.org"), None, b"the secret of a benchmark", ())
composed = Composed("Papers", "papers@example.org", b"x" * 68_000)
with Store.open(Path(sys.argv[1]) / "frozen.db") as store:
    copies = tuple(composer.copy_for("big", today, each) for each in home.lists[0].subscribers)
    made = time.process_time()
    day = Day("big", today, Outcome.DIGEST, "", "m", Counts(), composed=composed, copies=copies)
    store.days.freeze(day, datetime(2026, 3, 2, 8, tzinfo=UTC))
    frozen = time.process_time()
print(f"{made - began:.2f} s to address, {frozen - made:.2f} s to freeze")
"""


def people(number: int) -> Iterator[str]:
    """Addresses as they come: mostly in lower case, with dots, digits and plus signs."""
    chance = random.Random(20261123)  # noqa: S311  # no secret
    domains = [f"{chance.choice(['uni', 'lab', 'mail'])}-{each}.example.org" for each in range(97)]
    for each in range(number):
        address = f"{chance.choice(['ada', 'grace.h', 'alan+papers', 'Emmy'])}{each}@{chance.choice(domains)}"
        yield address if each % 3 else f"Reader {each} <{address}>"


def home(folder: Path, number: int, *, inline: bool) -> None:
    written = list(people(number))
    if inline:
        text = _LIST + "    subscribers:\n" + "".join(f"      - {each}\n" for each in written)
    else:
        text = _LIST + "    subscribers_file: readers.txt\n"
        (folder / "readers.txt").write_text("".join(f"{each}\n" for each in written), "utf-8")
    (folder / "subscribers.yaml").write_text(text, "utf-8")
    (folder / ".env").write_text("LOG_LEVEL=WARNING\n", "utf-8")


def measure(name: str, command: list[str]) -> None:
    """Run it in a process of its own, and print what it took."""
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)  # ours
    said = process.stdout.read().decode().strip().splitlines() if process.stdout else []
    _, code, used = os.wait4(process.pid, 0)
    seconds = used.ru_utime + used.ru_stime
    megabytes = used.ru_maxrss / 1024
    last = f"  {said[-1][:90]}" if said else ""
    print(
        f"{name:16} {seconds:7.2f} s {megabytes:6.0f} MB  exit {os.waitstatus_to_exitcode(code)}{last}",
        flush=True,
    )


def main() -> None:
    """Prints a line for each command."""
    arguments = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    arguments.add_argument("--people", type=int, default=100_000)
    arguments.add_argument("--inline", action="store_true")
    arguments.add_argument("--python", default=sys.executable)
    given = arguments.parse_args()
    with tempfile.TemporaryDirectory() as name:
        home(Path(name), given.people, inline=given.inline)
        paperboy = [given.python, "-m", "paperboy", "--home", name]
        measure("load", [given.python, "-c", _LOAD, name])
        measure("check --offline", [*paperboy, "check", "--offline"])
        measure("status", [*paperboy, "status"])
        measure("subscribe", [*paperboy, "subscribe", "big", "zoe@example.org"])
        measure("unsubscribe", [*paperboy, "unsubscribe", "big", "zoe@example.org"])
        measure("into force", [given.python, "-c", _ADOPT, name])
        measure("freeze", [given.python, "-c", _FREEZE, name])
        measure(
            "a child's load",
            [
                given.python,
                "-c",
                _LOAD.replace("load(Path(sys.argv[1])", "in_force(Path(sys.argv[1])"),
                name,
            ],
        )


if __name__ == "__main__":
    main()
