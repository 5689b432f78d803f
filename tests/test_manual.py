"""README and manual name every command, option, setting and key, and no others; and their commands
for the operator do what they say.
"""

import json
import os
import plistlib
import re
import shutil
import signal
import subprocess
import sys
from datetime import timedelta
from pathlib import Path

import pytest

from paperboy.cli.main import cli, invoke
from paperboy.cli.manual import TOPICS
from paperboy.due import RETRY
from paperboy.errors import ConfigError, HomeBusyError, StoreError
from paperboy.home.lists import KEYS, parse
from paperboy.home.settings import SETTINGS, Settings
from paperboy.home.watcher import RESTED
from paperboy.service.daemon import TICK_SECONDS
from paperboy.sources import categories
from tests.servers.nginx import NGINX

WEB_LISTEN = "127.0.0.1:8025"
SRC = Path(__file__).parents[1] / "src"
README = (SRC.parent / "README.md").read_text("utf-8")
MANUAL = {page.stem: page.read_text("utf-8") for page in (SRC / "paperboy" / "manual").iterdir()}
BOTH = "\n".join([README, *MANUAL.values()])


def section(title: str, page: str = README) -> str:
    after = page.split(f"## {title}\n")[1]
    return re.split(r"^## ", after, maxsplit=1, flags=re.MULTILINE)[0]


def test_readme_is_short_enough_to_be_read() -> None:
    lines = README.splitlines()
    assert len(lines) <= 170, "README.md: join two rows of a table, or move text to the manual"
    assert [line for line in lines if len(line) > 120] == [], "README.md: at most 120 characters"


# ── The manual ───────────────────────────────────────────────────────────────────────────────────


def test_manual_lists_its_topics_with_what_each_is_about(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert invoke(["manual"]) == 0
    printed = capsys.readouterr().out
    assert sorted(TOPICS) == sorted(MANUAL)
    assert re.findall(r"(?m)^  ([a-z]+) +\S", printed) == list(TOPICS)
    assert "  repair        when a morning failed\n" in printed


@pytest.mark.parametrize("topic", TOPICS)
def test_manual_prints_a_topic_as_it_is_written(
    topic: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert invoke(["manual", topic]) == 0
    assert capsys.readouterr().out == MANUAL[topic]


def test_manual_needs_no_home(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / ".env").write_text("SMTP_PORT=abc\n")
    assert invoke(["manual", "repair", "--home", str(tmp_path)]) == 0
    assert [file.name for file in tmp_path.iterdir()] == [".env"]


def test_unknown_topic_is_refused_with_the_nearest_or_with_all(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert invoke(["manual", "promise"]) == 2
    assert "There is no topic 'promise', did you mean 'promises'?" in capsys.readouterr().err
    assert invoke(["manual", "xyz"]) == 2
    assert f"choose one of {', '.join(TOPICS)}." in capsys.readouterr().err


@pytest.mark.skipif(not shutil.which("script"), reason="script(1) is not installed")
def test_manual_is_shown_in_a_pager_on_a_terminal(tmp_path: Path) -> None:
    pager = tmp_path / "pager"
    pager.write_text("#!/bin/sh\nsed 's/^/paged: /'\n")
    pager.chmod(0o700)
    environ = {**os.environ, "PAGER": str(pager), "PYTHONPATH": str(SRC), "TERM": "xterm"}
    command = f"{sys.executable} -m paperboy manual repair"
    ran = subprocess.run(
        ["script", "-qec", command, "/dev/null"],
        env=environ,
        capture_output=True,
        text=True,
        check=True,
    )
    assert "paged: # Repair: when a morning failed" in ran.stdout


@pytest.mark.skipif(not shutil.which("script"), reason="script(1) is not installed")
def test_pager_with_an_open_quote_is_reported_with_the_fix() -> None:
    environ = {**os.environ, "PAGER": "less '", "PYTHONPATH": str(SRC), "TERM": "xterm"}
    command = f"{sys.executable} -m paperboy manual repair"
    ran = subprocess.run(
        ["script", "-qec", command, "/dev/null"],
        env=environ,
        capture_output=True,
        text=True,
        check=False,
    )
    assert "PAGER=less ': No closing quotation. Close the quote, or unset PAGER." in ran.stdout
    assert ran.returncode == 2


def test_readme_links_to_every_topic() -> None:
    list_of_pages = section("The manual")
    links = re.findall(r"\[([a-z]+)\]\(src/paperboy/manual/([a-z]+)\.md\)", list_of_pages)
    assert links == [(topic, topic) for topic in TOPICS]


@pytest.mark.parametrize("topic", TOPICS)
def test_prose_of_a_topic_fits_a_terminal(topic: str) -> None:
    prose = re.sub(r"(?s)```.*?```", "", MANUAL[topic])
    lines = [line for line in prose.splitlines() if "|" not in line and "`" not in line]
    assert [line for line in lines if len(line) > 80] == []


def test_topics_that_pages_and_help_refer_to_exist() -> None:
    sources = [path.read_text("utf-8") for path in SRC.rglob("*.py")]
    text = " ".join(" ".join([BOTH, *sources]).split())
    assert set(re.findall(r"(?:paperboy |\()manual ([a-z]+)[`)]", text)) <= set(TOPICS)


# ── Commands, settings and keys ──────────────────────────────────────────────────────────────────


def rows() -> dict[str, str]:
    """What the table says of each command, in its order."""
    found: dict[str, str] = {}
    for called, does in re.findall(
        r"(?m)^\| (`(?!paperboy)[a-z].*?) \| (.*) \|$", section("Commands")
    ):
        for name in re.findall("`([a-z]+)", called):
            found[name] = f"{found.get(name, '')} {called} {does}"
    return found


def test_every_command_is_in_the_table_and_no_other() -> None:
    context = cli.make_context("paperboy", ["demo"], resilient_parsing=True)
    commands = sorted(cli.list_commands(context))
    assert sorted(rows()) == commands, "README.md, Commands: a row for each command"


@pytest.mark.parametrize("name", rows())
def test_every_option_of_a_command_is_in_its_rows(name: str) -> None:
    context = cli.make_context("paperboy", [name], resilient_parsing=True)
    command = cli.get_command(context, name)
    assert command is not None
    options = {
        option
        for parameter in command.params
        if not getattr(parameter, "hidden", False)
        for option in parameter.opts
        if option.startswith("--") and option != "--home"  # which every command takes
    }
    named = set(re.findall(r"--[a-z-]+", rows()[name]))
    assert named == options, f"README.md, Commands: the options of `{name}`"


@pytest.mark.parametrize(
    "called", sorted(set(re.findall(r"(?:`|bin/)paperboy (?:--home \S+ )?([a-z]+)", BOTH)))
)
def test_command_that_the_text_calls_exists(called: str) -> None:
    assert called in rows()


def test_every_setting_is_in_the_table_and_no_other() -> None:
    table = "".join(re.findall(r"(?m)^\| .*", section("Settings", MANUAL["service"])))
    named = set(re.findall(r"`([A-Z][A-Z_]+)`", table))
    assert named == set(SETTINGS), "manual/service.md, Settings: the table names each setting"


def test_every_key_of_a_list_is_in_the_table_and_no_other() -> None:
    keys = [line for line in section("Lists").splitlines() if line.startswith("| `")]
    named = {key for row in keys for key in re.findall(r"`([a-z_]+)`", row.split("|")[1])}
    assert named == set(KEYS), "README.md, Lists: the table names each key"


def test_every_name_in_the_json_of_status_is_described(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert invoke(["init", str(tmp_path)]) == 0
    capsys.readouterr()
    assert invoke(["status", "--json", "--home", str(tmp_path)]) == 0
    printed = json.loads(capsys.readouterr().out)
    described = set(re.findall(r"`([a-z_]+)`", section("Monitoring", MANUAL["service"])))
    assert {*printed, *printed["lists"][0]} <= described


def test_the_example_list_is_sound() -> None:
    example = re.findall(r"```yaml\n(.*?)```", section("Lists"), flags=re.DOTALL)[0]
    (made,) = parse(example, [SRC.parent / "prompts"], Settings())
    assert made.name == "foundations"
    assert [subscriber.name for subscriber in made.subscribers] == ["", "Grace Hopper"]


def test_example_of_journals_is_sound() -> None:
    example = re.findall(r"```yaml\n(.*?)```", MANUAL["journals"], flags=re.DOTALL)[0]
    made = example.replace("topics/neuro.md", "Neurons.")
    (neuro,) = parse(made, [], Settings())
    assert neuro.categories == ("biorxiv/neuroscience", "journal/Nature")
    assert neuro.journals == (("journal/Nature", "https://www.nature.com/nature.rss"),)


@pytest.mark.parametrize("server", ["bioRxiv", "medRxiv"])
def test_names_of_categories_are_those_of_the_code(server: str) -> None:
    key = server.lower()
    paragraphs = section("Names of categories", MANUAL["lists"]).split("\n\n")
    (names,) = (text for text in paragraphs if text.startswith(f"{server}: "))
    listed = " ".join(names.split()).removeprefix(f"{server}: ").removesuffix(".").split(", ")
    assert [f"{key}/{name}" for name in listed] == [name for name in categories(key) if name != key]


# ── Commands for the operator ────────────────────────────────────────────────────────────────────────────────────────

SERVICE = re.findall(r"```sh\n(.*?)```", section("As a service"), flags=re.DOTALL)[0].replace(
    "&&\n ", "&&"
)


def shell(text: str, home: Path, system: Path) -> subprocess.CompletedProcess[str]:
    """Runs it as this user, for another home, this interpreter and another place of units.

    `python -m paperboy` stands for the console script, which a checkout under test may not have.
    """
    text = (
        text.replace("sudo -u paperboy ", "")
        .replace("sudo ", "")
        .replace("/var/lib/paperboy", str(home))
    )
    text = text.replace("/opt/paperboy/bin/paperboy", f"{sys.executable} -m paperboy")
    text = text.replace("/etc/systemd/system", str(system))
    environ = {**os.environ, "PYTHONPATH": str(SRC)}
    return subprocess.run(
        ["sh", "-c", text],
        cwd=system.parent,
        env=environ,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture
def system(tmp_path: Path) -> Path:
    (tmp_path / "system").mkdir()
    return tmp_path / "system"


def test_from_checkout_to_service_takes_fewer_than_ten_commands() -> None:
    assert len(SERVICE.splitlines()) < 10


@pytest.mark.long("commands in processes of their own")
def test_commands_of_the_service_make_a_home_and_a_unit_that_a_failure_leaves_as_it_was(
    tmp_path: Path, system: Path
) -> None:
    home = tmp_path / "home"
    unit = system / "paperboy.service"
    make, check, install = (line for line in SERVICE.splitlines() if "bin/paperboy" in line)
    assert shell(make, home, system).returncode == 0
    assert shell(f"{check} --offline", home, system).returncode == 0
    assert shell(install, home, system).returncode == 0
    before = unit.read_text()
    assert f"--home {home} run" in before
    (home / ".env").write_text("SMTP_PORT=abc\n")
    assert shell(install, home, system).returncode == 78
    assert unit.read_text() == before


def test_wrapper_gives_a_command_every_credential_of_the_unit(tmp_path: Path) -> None:
    unit = """\
# /etc/systemd/system/paperboy.service
#LoadCredential=OPENAI_API_KEY:/etc/paperboy/OPENAI_API_KEY
LoadCredential=SMTP_PASSWORD:/etc/paperboy/SMTP_PASSWORD
LoadCredentialEncrypted=SMTP_USERNAME:/etc/credstore.encrypted/key
"""
    stubs = {"systemctl": f"cat <<'END'\n{unit}END", "sudo": 'printf "%s\\n" "$@"'}
    for name, script in stubs.items():
        (tmp_path / name).write_text(f"#!/bin/sh\n{script}\n")
        (tmp_path / name).chmod(0o755)

    (wrapper,) = re.findall(r"```sh\n(.*?)```", section("Secrets", MANUAL["service"]), re.DOTALL)
    text = wrapper.replace("\npaperboy check", "\npaperboy why 'a b'")
    environ = {"PATH": f"{tmp_path}:{os.environ['PATH']}"}
    ran = subprocess.run(
        ["sh", "-c", text], env=environ, capture_output=True, text=True, check=True
    )
    program, *options = ran.stdout.splitlines()
    assert program == "systemd-run"
    assert {"--pty", "--pipe", "--uid=paperboy"} < {*options}
    assert options[-9:] == [
        "-p",
        "LoadCredential=SMTP_PASSWORD:/etc/paperboy/SMTP_PASSWORD",
        "-p",
        "LoadCredentialEncrypted=SMTP_USERNAME:/etc/credstore.encrypted/key",
        "/opt/paperboy/bin/paperboy",
        "--home",
        "/var/lib/paperboy",
        "why",
        "a b",
    ]


PAGES = section("Set it up", MANUAL["web"])


@pytest.mark.long("commands in processes of their own")
def test_commands_of_the_pages_install_their_unit(tmp_path: Path, system: Path) -> None:
    home = tmp_path / "home"
    commands = re.findall(r"```sh\n(.*?)```", PAGES, flags=re.DOTALL)[0].replace("&&\n ", "&&")
    assert len(commands.splitlines()) < 10
    make, *_ = (line for line in SERVICE.splitlines() if "bin/paperboy" in line)
    (install,) = (line for line in commands.splitlines() if "service --web" in line)
    install = install.replace("&& sudo systemctl daemon-reload", "")
    assert shell(make, home, system).returncode == 0
    assert shell(install, home, system).returncode == 78  # it needs WEB_URL
    with (home / ".env").open("a") as env:
        env.write("WEB_URL=https://papers.example.org\n")
    assert shell(install, home, system).returncode == 0
    assert f"--home {home} web" in (system / "paperboy-web.service").read_text()


@pytest.mark.long("Caddy")
def test_caddy_takes_its_file(tmp_path: Path) -> None:
    (text,) = re.findall(r"printf '(.*)' \| sudo tee -a /etc/caddy/Caddyfile", PAGES)
    (tmp_path / "Caddyfile").write_text(text.encode().decode("unicode_escape"))
    assert f"reverse_proxy {WEB_LISTEN}\n" in (tmp_path / "Caddyfile").read_text()
    if not shutil.which("caddy"):
        pytest.skip("caddy is not installed; .ci/run installs it")
    environ = {**os.environ, "HOME": str(tmp_path)}
    command = [
        "caddy",
        "validate",
        "--adapter",
        "caddyfile",
        "--config",
        str(tmp_path / "Caddyfile"),
    ]
    ran = subprocess.run(command, env=environ, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    assert "not formatted" not in ran.stderr


def test_nginx_takes_its_line() -> None:
    """tests/web/test_browser.py serves the pages behind it."""
    assert NGINX.startswith(f"location / {{ proxy_pass http://{WEB_LISTEN}; ")


def test_removal_names_all_that_was_put_into_the_system(capsys: pytest.CaptureFixture[str]) -> None:
    assert invoke(["service", "--help"]) == 0
    removed = re.findall(r"/(?:etc|opt|var)/\S+", capsys.readouterr().out)
    unit = "/etc/systemd/system/paperboy.service"
    web = "/etc/systemd/system/paperboy-web.service"
    assert removed == [
        unit,
        f"{unit}.d",
        "/etc/paperboy",
        web,
        f"{web}.d",
        "/opt/paperboy",
        "/var/lib/paperboy",
    ]


def test_container_starts_the_daemon_in_the_home_that_is_mounted() -> None:
    ways = section("Other ways to run it", MANUAL["service"])
    (command,) = re.findall(r"CMD \[(.*)\]", ways)
    assert command == '"paperboy", "run"'
    (home,) = re.findall("ENV PAPERBOY_HOME=(.*)", ways)
    assert re.findall(r"-v ~/papers:(\S+) paperboy", ways) == [home, home]


def test_launchd_gets_a_property_list_that_keeps_the_daemon_running(tmp_path: Path) -> None:
    ways = section("Other ways to run it", MANUAL["service"])
    (commands,) = re.findall(r"```sh\n(mkdir -p ~/Library.*?)```", ways, re.DOTALL)
    (tmp_path / "launchctl").write_text('#!/bin/sh\necho "$@"\n')
    (tmp_path / "launchctl").chmod(0o755)
    environ = {"PATH": f"{tmp_path}:{os.environ['PATH']}", "HOME": str(tmp_path)}
    ran = subprocess.run(
        ["sh", "-c", commands], env=environ, capture_output=True, text=True, check=True
    )
    *told, file = ran.stdout.split()
    assert told == ["bootstrap", f"gui/{os.getuid()}"]
    job = plistlib.loads(Path(file).read_bytes())
    program, *arguments = job["ProgramArguments"]
    assert program == f"{tmp_path}/paperboy/.venv/bin/paperboy"
    assert arguments == ["--home", f"{tmp_path}/papers", "run"]
    assert job["KeepAlive"] is True


@pytest.mark.parametrize(
    ("true", "sentence"),
    [
        (timedelta(seconds=10) == RESTED, "When no file has changed for ten seconds"),
        (
            RESTED.total_seconds() + 2 * TICK_SECONDS <= 20,
            "within 25 seconds of the last save they are in force",
        ),
        (timedelta(minutes=15) == RETRY, "**Retries** come every quarter of an hour"),
        (HomeBusyError.exit_code == 75, "75 another `run` holds this home"),
        (
            ConfigError.exit_code == StoreError.exit_code == 78,
            "78 settings, lists, templates or database are unusable",
        ),
    ],
)
def test_figures_that_the_text_states_are_those_of_the_code(*, true: bool, sentence: str) -> None:
    assert true
    assert sentence in " ".join(BOTH.split())


def test_first_sentence_on_clusters_says_whom_they_trust() -> None:
    """Results are pickles; a certificate is all that keeps code out."""
    (item,) = (
        item
        for item in re.split(r"\n(?=- )", MANUAL["large"])
        if item.startswith("- **More machines**")
    )
    first_sentence = " ".join(item.split()).partition(". ")[0]
    assert "as trusted as this machine" in first_sentence
    assert "can run code here and read" in first_sentence


# ── Contributing ────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("server", "settings"),
    [
        ("arxiv_api", ["ARXIV_API_URL", "ARXIV_FEED_URL", "ARXIV_DELAY_SECONDS"]),
        ("biorxiv_api", ["BIORXIV_API_URL"]),
        ("llm", ["OPENAI_BASE_URL"]),
        ("smtp", ["SMTP_HOST", "SMTP_PORT", "SMTP_SECURITY", "MAIL_FROM"]),
    ],
)
def test_server_by_hand_prints_its_lines_for_env_and_stops_on_ctrl_c(
    server: str, settings: list[str]
) -> None:
    assert f"-m tests.servers.{server}`" in MANUAL["contributing"]
    command = [sys.executable, "-m", f"tests.servers.{server}", "--port", "0"]
    with subprocess.Popen(command, cwd=SRC.parent, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        lines = [process.stdout.readline() for _ in settings]
        process.send_signal(signal.SIGINT)
        assert process.wait(300) == 0
    assert [line.partition("=")[0] for line in lines] == settings
