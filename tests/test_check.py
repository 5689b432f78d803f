"""What the check says of a disk, of file modes, of the sender's DNS records, and of servers that are silent."""

from __future__ import annotations

import shutil
import socket
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import dns.resolver
import pytest

from paperboy.app import App
from paperboy.check import Finding, findings
from tests.fakes import NoProgress
from tests.servers.dns import DnsServer

NOON = datetime(2026, 11, 20, 12, tzinfo=UTC)
ALL_WELL: Mapping[str, Sequence[str]] = {
    "wren.edu MX": ["10 mx.wren.edu."],
    "wren.edu TXT": ['"something=else"', '"v=spf1 mx -all"'],
    "_dmarc.wren.edu TXT": ['"v=DMARC1; p=none"'],
}


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A home with a list, and servers that nobody runs."""
    (tmp_path / "subscribers.yaml").write_text("lists: [{name: x, categories: [cs.LG], topics: learning}]\n")
    write_env(tmp_path)
    return tmp_path


def write_env(home: Path, **settings: object) -> None:
    with_mail = {"SMTP_HOST": "127.0.0.1", "SMTP_PORT": 9, "MAIL_FROM": "papers@wren.edu"}
    (home / ".env").write_text("".join(f"{name}={value}\n" for name, value in (with_mail | settings).items()))
    (home / ".env").chmod(0o600)


def check(home: Path, *, offline: bool = True, environ: Mapping[str, str] = {}, **outside: Any) -> list[Finding]:
    app = App(home, environ, lambda: NOON, lambda _: None, lambda: 0.0, NoProgress())
    return list(findings(app, offline=offline, **outside))


def about(what: str, found: Sequence[Finding]) -> list[Finding]:
    return [finding for finding in found if finding.what == what]


# ── The home ─────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("free", "said", "note", "code"),
    [
        (213_400_000_000, "213.4 GB free at {home}", False, 0),
        (500_000_000, "500 MB free at {home}", False, 0),
        (499_999_999, "only 500 MB free at {home}, and digests are kept there; {fix}", True, 0),
        (50_000_000, "only 50 MB free at {home}, and digests are kept there; {fix}", True, 0),
        (49_000_000, "only 49 MB free at {home}, too little for a morning; {fix}", True, 1),
    ],
)
def test_little_room_on_the_disk_is_a_note_and_too_little_a_fault(
    home: Path, monkeypatch: pytest.MonkeyPatch, free: int, said: str, note: bool, code: int
) -> None:
    monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=free))
    message = said.format(home=home, fix="free some space, or move PAPERBOY_DATABASE to another disk")
    assert about("disk", check(home)) == [Finding("disk", message, code, note)]


@pytest.mark.parametrize(
    ("settings", "told"),
    [({"OPENAI_API_KEY": "sk-1"}, True), ({"SMTP_USERNAME": "ada", "SMTP_PASSWORD": "geheim"}, True), ({}, False)],
)
def test_env_file_that_others_can_read_matters_only_with_a_secret(
    home: Path, settings: Mapping[str, str], told: bool
) -> None:
    write_env(home, **settings)
    env = home / ".env"
    env.chmod(0o644)
    message = f"{env} is open to users other than its owner (mode 644); chmod 600 {env}"
    assert about("privacy", check(home)) == ([Finding("privacy", message, note=True)] if told else [])


def test_database_and_its_folder_are_noted_where_others_can_read_or_replace_it(home: Path) -> None:
    database = home / "my data" / "paperboy.db"
    write_env(home, PAPERBOY_DATABASE=f"'{database}'")
    database.parent.mkdir(mode=0o775)
    database.parent.chmod(0o775)
    database.touch(0o660)
    database.chmod(0o660)
    assert [finding.message for finding in about("privacy", check(home))] == [
        f"{database} is open to users other than its owner (mode 660); chmod 600 '{database}'",
        f"{database.parent} is open to users other than its owner (mode 775); chmod go-w '{database.parent}'",
    ]
    database.chmod(0o600)
    database.parent.chmod(0o1777)
    assert about("privacy", check(home)) == [], "as in /tmp, nobody can replace a file of ours"


# ── The sender's records ─────────────────────────────────────────────────────────────────────────────────────────────


Sender = Callable[..., dict[str, Finding]]


@pytest.fixture
def ask(monkeypatch: pytest.MonkeyPatch) -> Callable[[DnsServer], None]:
    """Have this name server asked instead of the machine's."""

    def instead(server: DnsServer) -> None:
        resolver = dns.resolver.Resolver(configure=False)
        resolver.nameservers, resolver.port = [server.host], server.port
        monkeypatch.setattr(dns.resolver, "default_resolver", resolver)

    return instead


@pytest.fixture
def sender(ask: Callable[[DnsServer], None]) -> Sender:
    """What is said of a domain with these records, by kind."""
    from paperboy.check import _sender  # noqa: PLC0415 - the rest would ask three other servers

    def said(records: Mapping[str, Sequence[str]], domain: str = "wren.edu", **faults: set[str]) -> dict[str, Finding]:
        with DnsServer(records, **faults) as server:
            ask(server)
            return {finding.what: finding for finding in _sender(domain)}

    return said


def test_all_records_of_the_sender_are_there(sender: Sender) -> None:
    assert list(sender(ALL_WELL).values()) == [
        Finding(kind, "wren.edu has a record") for kind in ("MX", "SPF", "DMARC")
    ]


@pytest.mark.parametrize(
    ("missing", "kind", "fix"),
    [
        ("wren.edu MX", "MX", "bounces and replies get lost; add one, or fix MAIL_FROM"),
        ("wren.edu TXT", "SPF", "publish the record that your mail provider names"),
        ("_dmarc.wren.edu TXT", "DMARC", 'publish the TXT record "v=DMARC1; p=none" at _dmarc.wren.edu'),
    ],
)
def test_each_missing_record_is_a_note_with_its_fix(sender: Sender, missing: str, kind: str, fix: str) -> None:
    found = sender({name: records for name, records in ALL_WELL.items() if name != missing})
    assert [what for what, finding in found.items() if finding.note] == [kind]
    assert fix in found[kind].message
    assert not found[kind].exit_code


def test_domain_without_mx_takes_mail_at_its_own_address(sender: Sender) -> None:
    records = {name: records for name, records in ALL_WELL.items() if name != "wren.edu MX"}
    assert not sender(records | {"wren.edu AAAA": ["2001:db8::1"]})["MX"].note


def test_domain_that_takes_no_mail_is_a_fault(sender: Sender) -> None:
    found = sender({**ALL_WELL, "wren.edu MX": ["0 ."]})
    assert found["MX"].exit_code == 1
    assert "wren.edu accepts no mail" in found["MX"].message


def test_parent_domains_dmarc_record_counts(sender: Sender) -> None:
    assert not sender({"_dmarc.wren.edu TXT": ['"v=DMARC1; p=none"']}, "news.wren.edu")["DMARC"].note


def test_dns_that_fails_is_a_note(sender: Sender) -> None:
    assert list(sender(ALL_WELL, failing={"wren.edu"})) == ["sender"]


# ── Silence ──────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.fixture
def silence() -> Iterator[list[int]]:
    """The ports of three servers that take a connection and never say a word."""
    with ExitStack() as stack:
        listening = [stack.enter_context(socket.create_server(("127.0.0.1", 0))) for _ in range(3)]
        yield [sock.getsockname()[1] for sock in listening]


def test_silent_servers_are_reported_one_by_one(
    home: Path, silence: list[int], ask: Callable[[DnsServer], None]
) -> None:
    mail, llm, arxiv = silence
    url = f"http://127.0.0.1:{arxiv}/api/query"
    write_env(home, SMTP_PORT=mail, OPENAI_BASE_URL=f"http://127.0.0.1:{llm}/v1", ARXIV_API_URL=url)
    late = "did not answer within 0.5 s"
    with DnsServer(silent={"*"}) as server:
        ask(server)
        found = check(home, offline=False, patience=0.5)[-4:]
    assert [finding.exit_code for finding in found] == [1, 0, 1, 1]
    assert [finding.message for finding in found] == [
        f"127.0.0.1:{mail} {late}; check SMTP_HOST and SMTP_PORT",
        f"DNS {late} for wren.edu",
        f"127.0.0.1 {late}; check OPENAI_BASE_URL and OPENAI_MODEL",
        f"{url} {late}; if that persists, see status.arxiv.org",
    ]


class Broken:
    """A resolver with a bug."""

    def resolve(self, *_: object, **__: object) -> None:
        raise ZeroDivisionError


def test_bug_in_a_probe_is_no_finding_and_an_example_domain_is_not_asked_about(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dns.resolver, "default_resolver", Broken())
    write_env(home, ARXIV_API_URL="http://127.0.0.1:9")
    with pytest.raises(ZeroDivisionError):
        check(home, offline=False, patience=30)
    write_env(home, MAIL_FROM="papers@news.example.com", ARXIV_API_URL="http://127.0.0.1:9")
    assert about("sender", check(home, offline=False, patience=30)) == []
