"""Foreign text can neither control a terminal nor forge a line, wherever it comes in or goes out."""

import json
import logging
import re
import socket
import subprocess
import unicodedata
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from paperboy.console.lines import complaint, heading, say, show_page, table
from paperboy.console.log import catch_all
from paperboy.console.progress import Bars
from paperboy.errors import ConfigError, PaperboyError, Problem
from paperboy.service.systemd import Notifier
from tests.cli.conftest import ENVIRON, SRC, World
from tests.console.test_output import Terminal, journal, set_up
from tests.servers import arxiv_faults
from tests.servers.llm_faults import Fault as LlmFault
from tests.servers.llm_faults import error
from tests.servers.smtp import Fault

LINE = "2026-11-22 07:00:00,000 ERROR forged"
NASTY = {
    "clears the screen": "\x1b[2J\x1b[1;31mowned",
    "sets the title": "\x1b]0;owned\x07",
    "a link": "\x1b]8;;http://evil.example\x1b\\owned\x1b]8;;\x1b\\",
    "the clipboard": "\x1b]52;c;b3duZWR\x07owned",
    "C1": "\x9b2J\x9d0;owned\x9c",
    "return": "refused\rowned",
    "backspace, bell, NUL, DEL": "o\bw\x07n\0e\x7fowned",
    "right to left": "owned\u202egnp.exe\u202c\u2066isolated\u2069\u200f\u061c",
    "line ends": f"\u2028{LINE}\u2029{LINE}\x85{LINE}\x0b{LINE}\x0c{LINE}\x1e owned",
    "a forged record": f"\n{LINE}\r\n{LINE} owned",
    "a forged priority": "\n<0>owned\r<0>owned",
    "lone surrogates": "\ud800owned\udcff",
    "invisible": "\u200bowned\ufeff\u2060\xad\U000e0041",
}
ON_A_LINE = (
    "".join(text for text in NASTY.values() if not set("\r\n\0") & set(text))
    .encode(errors="ignore")
    .decode()
)
IN_XML = re.sub(
    "[\0-\x08\x0b\x0c\x0e-\x1f]", "", f"{ON_A_LINE}\n{LINE}\n<0>owned".replace("<", "&lt;")
)
PLAIN = "Schön 数学 👩\u200d🔬 e\u0301 می\u200cخواهم $x^2$ [red]red[/red] :warning: \\alpha"

# Colours and bars of ours, on a terminal.
_OURS = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|\r")


def assert_tame(printed: str) -> None:
    """No line but ours, and no character that a terminal obeys."""
    kinds = {
        character: unicodedata.category(character)
        for character in set(printed) - set("\n\u200c\u200d")
    }
    assert not [
        character for character, kind in kinds.items() if kind in {"Cc", "Cf", "Cs", "Zl", "Zp"}
    ]
    assert not re.search(f"^({LINE}|<[01]>)", printed, re.MULTILINE)


# --- ways out


def bug(text: str, environ: dict[str, str]) -> None:
    set_up("INFO", environ)
    try:
        raise ValueError(text)
    except ValueError:
        logging.getLogger("paperboy.test").exception("this is a bug in Paperboy")


def to_systemd(text: str) -> None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as inbox:
        inbox.bind("\0paperboy-test-terminal")
        Notifier("@paperboy-test-terminal").status(text)
        print(inbox.recv(8192).decode())


def of_another_package(text: str) -> None:
    catch_all({})
    assert logging.lastResort
    logging.lastResort.handle(
        logging.LogRecord("urllib3", logging.WARNING, __file__, 1, "retrying %s", (text,), None)
    )


def in_a_bar(text: str) -> None:
    with Bars().stage(text) as progress:
        progress(1, 2)
        log("%s")(text)


def log(
    form: str, environ: Callable[[], dict[str, str]] = dict, level: str = "INFO"
) -> Callable[[str], None]:
    def out(text: str) -> None:
        set_up(level, environ())
        logging.getLogger("paperboy.test").warning(form, text)

    return out


def complain(environ: dict[str, str], *problems: str) -> None:
    broken: PaperboyError = ConfigError(
        [Problem("subscribers.yaml:3", problem) for problem in problems]
    )
    complaint(broken if problems[1:] else PaperboyError(problems[0]), environ)


WAYS_OUT: dict[str, Callable[[str], object]] = {
    "log to a pipe": log("%s"),
    "log to a journal": log("answers %s", journal),
    "log at DEBUG": log("answers %s", level="DEBUG"),
    "traceback": lambda text: bug(text, {}),
    "traceback to a journal": lambda text: bug(text, journal()),
    "warning of another package": of_another_package,
    "line": say,
    "coloured": lambda text: say(text, mark=text, bold=True),
    "lines": lambda text: say(text, text, err=True),
    "page": lambda text: show_page([[heading(text), text], table(["A", "B"], [[text, text]])]),
    "JSON": lambda text: show_page({text: text}),
    "error": lambda text: complain({}, text),
    "problems": lambda text: complain({}, text, text),
    "error to a journal": lambda text: complain(journal(), text),
    "problems to a journal": lambda text: complain(journal(), text, text),
    "bar": in_a_bar,
    "systemd": to_systemd,
}


@pytest.mark.parametrize("on_terminal", [False, True])
@pytest.mark.parametrize("way", WAYS_OUT)
def test_foreign_text_stays_on_its_line(
    way: str,
    *,
    on_terminal: bool,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    for what, text in {**NASTY, "plain": PLAIN}.items():
        terminal = Terminal()
        with monkeypatch.context() as patch:
            if on_terminal:
                patch.setattr("sys.stdout", terminal)
                patch.setattr("sys.stderr", terminal)
                patch.setenv("COLUMNS", "5000")
            WAYS_OUT[way](text)
        printed = (
            _OURS.sub("", terminal.getvalue()) if on_terminal else "".join(capsys.readouterr())
        )
        assert_tame(printed)
        assert (PLAIN if what == "plain" else "owned") in (
            printed if way != "JSON" else _json(printed)
        ), what


def _json(printed: str) -> str:
    assert printed.isascii()
    [text] = json.loads(printed)
    return str(text)


def test_lines_of_a_traceback_are_indented(capsys: pytest.CaptureFixture[str]) -> None:
    bug(f"one\n{LINE}", journal())
    first, *lines = capsys.readouterr().err.splitlines()
    assert first == "<3>this is a bug in Paperboy"
    assert lines[0] == "<3>  Traceback (most recent call last):"
    assert lines[-2:] == ["<3>  ValueError: one", f"<3>  {LINE}"]


def test_no_other_module_prints() -> None:
    ways = re.compile(
        r"\bprint\(|click\.(?:echo|secho|style)\(|std(?:out|err)\.write|rich\.(?!cells)|os\.write\((?!2, b\")"
    )
    found = {
        path.relative_to(SRC / "paperboy").as_posix(): ways.findall(path.read_text("utf-8"))
        for path in sorted((SRC / "paperboy").rglob("*.py"))
    }
    assert {name for name, calls in found.items() if calls} == {
        "console/lines.py",
        "console/log.py",
        "console/progress.py",
    }


# --- ways in


def a_title(world: World) -> None:
    world.arxiv.papers += [
        replace(announced, title=f"Of {IN_XML}", authors=(IN_XML,))
        for announced in world.announce(1)
    ]
    del world.arxiv.papers[0]


def a_total(world: World) -> None:
    world.announce(1)
    world.arxiv.faults += [
        arxiv_faults.edited(
            r"(<opensearch:totalResults>)\d+", rf"\g<1>{IN_XML}".replace("\\owned", "owned")
        )
    ] * 20


def edit(world: World, old: str, new: str) -> None:
    path = world.path / "subscribers.yaml"
    path.write_text(path.read_text("utf-8").replace(old, new), "utf-8")


def a_home(world: World) -> None:
    world.path = world.path.rename(world.path.parent / f"\x1b]0;owned\x07\n{LINE}\u202e\udcff")


WAYS_IN: dict[str, tuple[Callable[[World], object], tuple[str, ...]]] = {
    "a paper's title and author": (a_title, ("once --dry-run", "once", "why 2611.00001")),
    "an LLM's comment": (
        lambda world: setattr(
            world.llm,
            "lasting_fault",
            LlmFault(rewrite=lambda them: [{**score, "comment": IN_XML} for score in them]),
        ),
        ("once", "why 2611.00001"),
    ),
    "an LLM's error": (
        lambda world: setattr(world.llm, "lasting_fault", error(500, "".join(NASTY.values()))),
        ("once", "status", "status --json", "check"),
    ),
    "a mail server's reply": (
        lambda world: world.smtp.faults.append(
            Fault("RCPT", f"550 5.1.1 {ON_A_LINE}".encode("ascii", "ignore").decode())
        ),
        ("once", "status", "status --undelivered", "resend foundations --failed"),
    ),
    "arXiv's error": (
        lambda world: world.arxiv.faults.extend([arxiv_faults.refused(IN_XML)] * 20),
        ("once", "status", "check", "preview foundations"),
    ),
    "arXiv's page": (
        lambda world: world.arxiv.faults.extend([arxiv_faults.plain(404, ON_A_LINE)] * 20),
        ("once", "status", "check"),
    ),
    "arXiv's total": (a_total, ("once", "status")),
    "a list's title": (
        lambda world: world.write(
            "subscribers.yaml",
            (world.path / "subscribers.yaml")
            .read_text("utf-8")
            .replace("title: Foundations", "title: \u202eowned\u2066"),
        ),
        ("subscribers", "check --offline", "once"),
    ),
    "a topics file": (
        lambda world: edit(world, "dwarf galaxies", '"topics/\u202eowned.md"'),
        ("check --offline", "once", "status"),
    ),
    "the home's name": (
        a_home,
        ("once", "check --offline", "status", "preview foundations", "service"),
    ),
    "no home": (
        lambda world: setattr(world, "path", Path(f"/nowhere\n{LINE}\x1bowned")),
        ("once", "check"),
    ),
}


@pytest.mark.parametrize("way", WAYS_IN)
def test_foreign_text_is_tame_wherever_it_came_in(world: World, way: str) -> None:
    prepare, commands = WAYS_IN[way]
    world.announce(1)
    prepare(world)
    printed = ""
    for command in commands:
        ran = world.run(*command.split())
        assert_tame(ran.out + ran.err)
        assert "Traceback" not in ran.err
        printed += ran.out + ran.err
    assert "owned" in printed or "counts none" in printed


@pytest.mark.parametrize(
    "command",
    [["{}"], ["once", "--{}"], ["once", "--list", "{}"], ["why", "{}"], ["status", "--mornings", "{}"], ["check", "{}"],
     ["suppress", "{}@example.org"], ["suppress", "{}"], ["subscribe", "foundations", "{}"], ["--home", "/{}", "once"]],
    ids=" ".join,
)  # fmt: skip
def test_bad_argument_is_shown_and_not_obeyed(world: World, command: list[str]) -> None:
    for what, text in NASTY.items():
        given = text.replace("\0", "").replace("\ud800", "")  # no argument can have these
        ran = world.run(*(word.format(given) for word in command))
        assert ran.code in {2, 78}, what
        assert_tame(ran.out + ran.err)
        assert "owned" in ran.err or "contains a control character (U+" in ran.err, what


@pytest.mark.long("commands in processes of their own")
@pytest.mark.parametrize(("locale", "encoding"), [("ascii", "utf-8"), ("latin-1", "latin-1")])
def test_nothing_that_a_locale_cannot_write_ends_a_command(
    world: World, locale: str, encoding: str
) -> None:
    edit(world, "title: Foundations", "title: Fünd数")
    environ = {**ENVIRON, "LANG": "C", "LC_ALL": "C", "PYTHONIOENCODING": locale}
    for arguments, code in ((["subscribers"], 0), (["status"], 0), (["why", b"\xff\xfe"], 2)):
        command = [*world.command(), *arguments]
        ran = subprocess.run(command, env=environ, capture_output=True, check=False)
        assert (ran.returncode, b"Traceback" in ran.stderr) == (code, False), ran.stderr
        assert_tame(ran.stdout.decode(encoding) + ran.stderr.decode(encoding))
