"""Checks of the disk, of file modes, of the sender's DNS records, and of silent servers."""

from __future__ import annotations

import random
import shutil
import socket
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import dns.flags
import dns.message
import dns.resolver
import dns.rrset
import pytest

from paperboy.features import FEATURES
from paperboy.service.app import App
from paperboy.service.check import findings
from paperboy.service.feature import Finding
from paperboy.service.probes import _sender
from tests.fakes import NoProgress
from tests.servers.dns import DnsServer, Says

NOON = datetime(2026, 11, 20, 12, tzinfo=UTC)
ALL_WELL: Mapping[str, Sequence[str]] = {
    "wren.edu MX": ["10 mx.wren.edu."],
    "wren.edu TXT": ['"something=else"', '"v=spf1 mx -all"'],
    "_dmarc.wren.edu TXT": ['"v=DMARC1; p=none"'],
}


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A home with a list, and servers that nobody runs."""
    (tmp_path / "subscribers.yaml").write_text(
        "lists: [{name: x, categories: [cs.LG], topics: learning}]\n"
    )
    write_env(tmp_path)
    return tmp_path


def write_env(home: Path, **settings: object) -> None:
    with_mail = {"SMTP_HOST": "127.0.0.1", "SMTP_PORT": 9, "MAIL_FROM": "papers@wren.edu"}
    (home / ".env").write_text(
        "".join(f"{name}={value}\n" for name, value in (with_mail | settings).items())
    )
    (home / ".env").chmod(0o600)


def check(
    home: Path, *, offline: bool = True, environ: Mapping[str, str] = {}, **outside: Any
) -> list[Finding]:
    app = App(
        home, environ, lambda: NOON, lambda _: None, lambda: 0.0, NoProgress(), features=FEATURES
    )
    return list(findings(app, offline=offline, **outside))


def about(what: str, found: Sequence[Finding]) -> list[Finding]:
    return [finding for finding in found if finding.what == what]


# ── The home ─────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("free", "said", "code"),
    [
        (213_400_000_000, "213.4 GB free at {home}", 0),
        (200_000_000, "200 MB free at {home}", 0),
        (199_000_000, "only 199 MB free at {home}; {fix}", 1),
    ],
)
def test_too_little_room_on_the_disk_is_a_fault(
    home: Path, monkeypatch: pytest.MonkeyPatch, free: int, said: str, code: int
) -> None:
    monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=free))
    message = said.format(
        home=home, fix="free some space, or move PAPERBOY_DATABASE to another disk"
    )
    assert about("disk", check(home)) == [Finding("disk", message, code)]


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ({"OPENAI_API_KEY": "sk-1"}, True),
        ({"OPENAI_HEADERS": "x-key:1"}, True),
        ({"SMTP_USERNAME": "ada", "SMTP_PASSWORD": "geheim"}, True),
        ({}, False),
    ],
)
def test_env_file_that_others_can_read_matters_only_with_a_secret(
    home: Path, settings: Mapping[str, str], told: bool
) -> None:
    write_env(home, **settings)
    env = home / ".env"
    env.chmod(0o644)
    message = f"{env} is open to users other than its owner (mode 644); chmod 600 {env}"
    assert about("privacy", check(home)) == (
        [Finding("privacy", message, note=True)] if told else []
    )


def test_database_that_others_could_replace_is_noted_and_made_private(
    home: Path,
) -> None:
    database = home / "my data" / "paperboy.db"
    write_env(home, PAPERBOY_DATABASE=f"'{database}'")
    database.parent.mkdir(mode=0o775)
    database.parent.chmod(0o775)
    database.touch(0o660)
    database.chmod(0o660)
    assert [finding.message for finding in about("privacy", check(home))] == [
        f"{database.parent} is open to users other than its owner (mode 775); chmod go-w '{database.parent}'",
    ]
    assert database.stat().st_mode & 0o777 == 0o600
    database.parent.chmod(0o1777)
    assert about("privacy", check(home)) == [], "as in /tmp, nobody can replace a file of ours"


# ── The sender's records ─────────────────────────────────────────────────────────────────────────────────────────────


Sender = Callable[..., dict[str, Finding]]


@pytest.fixture
def ask(monkeypatch: pytest.MonkeyPatch) -> Callable[[DnsServer], None]:
    """Have this name server asked instead of the machine's."""

    def instead(server: DnsServer) -> None:
        resolver = dns.resolver.Resolver(configure=False)
        resolver.nameservers = [server.host]
        resolver.port = server.port
        monkeypatch.setattr(dns.resolver, "default_resolver", resolver)

    return instead


@pytest.fixture
def sender(ask: Callable[[DnsServer], None]) -> Sender:
    """Return a function that checks a domain with these records: findings by kind."""

    def said(
        records: Mapping[str, Sequence[str]], domain: str = "wren.edu", **faults: set[str]
    ) -> dict[str, Finding]:
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
        (
            "_dmarc.wren.edu TXT",
            "DMARC",
            'publish the TXT record "v=DMARC1; p=none" at _dmarc.wren.edu',
        ),
    ],
)
def test_each_missing_record_is_a_note_with_its_fix(
    sender: Sender, missing: str, kind: str, fix: str
) -> None:
    found = sender({name: records for name, records in ALL_WELL.items() if name != missing})
    assert [what for what, finding in found.items() if finding.note] == [kind]
    assert fix in found[kind].message
    assert not found[kind].exit_code


def test_domain_that_takes_no_mail_is_a_fault(sender: Sender) -> None:
    found = sender({**ALL_WELL, "wren.edu MX": ["0 ."]})
    assert found["MX"].exit_code == 1
    assert "wren.edu accepts no mail" in found["MX"].message


def test_parent_domains_dmarc_record_counts(sender: Sender) -> None:
    assert not sender({"_dmarc.wren.edu TXT": ['"v=DMARC1; p=none"']}, "news.wren.edu")[
        "DMARC"
    ].note


def test_dns_that_fails_is_a_note(sender: Sender) -> None:
    assert list(sender(ALL_WELL, failing={"wren.edu"})) == ["sender"]


# What is said in place of an answer. The random bytes are seeded.
_BYTES = random.Random(14)  # noqa: S311


def answer(
    query: dns.message.Message, *records: str, kind: str = "", flags: int = 0
) -> dns.message.Message:
    """An answer with these records, of the kind that was asked for."""
    message = dns.message.make_response(query, recursion_available=True)
    message.flags |= flags
    name = query.question[0].name
    rdtype = query.question[0].rdtype
    if records:
        message.answer.append(
            dns.rrset.from_text(name, 60, "IN", kind or dns.rdatatype.to_text(rdtype), *records)
        )
    return message


def over_tcp(says: Callable[[dns.message.Message], Iterable[bytes]]) -> Says:
    """Cut the datagram short, so that the question is asked again over TCP."""
    return lambda query, tcp: says(query) if tcp else [answer(query, flags=dns.flags.TC).to_wire()]


def framed(wire: bytes) -> bytes:
    return len(wire).to_bytes(2, "big") + wire


def thousands(query: dns.message.Message) -> Iterable[bytes]:
    texts = {"MX": "{} mx.wren.edu.", "TXT": '"v=spf1 {}"'}
    text = texts[dns.rdatatype.to_text(query.question[0].rdtype)]
    yield framed(
        answer(query, *(text.format(number) for number in range(2_000))).to_wire(max_size=65_535)
    )


def dripping(piece: bytes) -> Callable[[dns.message.Message], Iterable[bytes]]:
    def says(_: dns.message.Message) -> Iterable[bytes]:
        yield b"\xff\xff"
        for _ in range(1_000):
            time.sleep(0.02)
            yield piece

    return says


def flood(query: dns.message.Message, _: bool) -> Iterable[bytes]:
    ends = time.monotonic() + 2  # in truth it has no end
    while time.monotonic() < ends:
        yield _BYTES.randbytes(100)
    yield answer(query).to_wire()


def looped(query: dns.message.Message, _: bool) -> Iterable[bytes]:
    yield answer(query, query.question[0].name.to_text(), kind="CNAME").to_wire()


def spoken(query: dns.message.Message, _: bool) -> Iterable[bytes]:
    kind = dns.rdatatype.to_text(query.question[0].rdtype)
    words = r'"v=\115pf1 \027[2J\010\013forged\127\226\128\174"'
    yield answer(query, words if kind == "TXT" else r"10 \027[2J\010.wren.edu.").to_wire()


NOTHING = ["DNS does not answer; MX, SPF and DMARC of wren.edu not checked"]
HAS = "wren.edu has a record"
NO_DMARC = "wren.edu has no record: large providers want one"
HOSTILE_DNS: dict[str, tuple[Says, list[str]]] = {
    "random bytes with our id": (
        lambda query, tcp: [
            query.to_wire()[:2] + _BYTES.randbytes(_BYTES.randrange(600)) for _ in range(100)
        ],
        NOTHING,
    ),
    "random bytes after our question": (
        lambda query, tcp: [
            answer(query).to_wire()[:6]
            + b"\xff\xff"
            + answer(query).to_wire()[8:]
            + _BYTES.randbytes(600)
        ],
        NOTHING,
    ),
    "a name that points to itself": (
        lambda query, tcp: [answer(query).to_wire()[:12] + b"\xc0\x0c\0\x0f\0\1"],
        NOTHING,
    ),
    "half a reply": (lambda query, tcp: [answer(query, "10 mx.wren.edu.").to_wire()[:-5]], NOTHING),
    "a datagram cut short for ever": (
        lambda query, tcp: [answer(query, flags=dns.flags.TC).to_wire()],
        NOTHING,
    ),
    "bytes without end": (flood, NOTHING),
    "a CNAME of itself": (looped, NOTHING),
    "control characters": (spoken, [HAS, HAS, NO_DMARC]),
    "thousands of records": (over_tcp(thousands), [HAS, HAS, NO_DMARC]),
    "a stream that drips": (over_tcp(dripping(b"x")), NOTHING),
    "a stream that ends at once": (over_tcp(lambda query: []), NOTHING),
}


@pytest.mark.parametrize("case", HOSTILE_DNS)
@pytest.mark.long("hostile replies")
def test_hostile_dns_is_a_note_and_never_quoted(
    ask: Callable[[DnsServer], None], case: str
) -> None:
    says, expected = HOSTILE_DNS[case]
    with DnsServer(says=says) as server:
        ask(server)
        found = list(_sender("wren.edu", 0.5 if expected == NOTHING else 60))
    assert [
        finding.message[: len(told)] for finding, told in zip(found, expected, strict=True)
    ] == expected
    assert all(finding.message.isprintable() and not finding.exit_code for finding in found)


# ── Silence ──────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.fixture
def silence() -> Iterator[list[int]]:
    """Give the ports of three servers that take a connection and never say a word."""
    with ExitStack() as stack:
        listening = [stack.enter_context(socket.create_server(("127.0.0.1", 0))) for _ in range(3)]
        yield [sock.getsockname()[1] for sock in listening]


def test_silent_servers_are_reported_one_by_one(
    home: Path, silence: list[int], ask: Callable[[DnsServer], None]
) -> None:
    mail, _, arxiv = silence
    write_env(home, SMTP_PORT=mail, ARXIV_API_URL=f"http://127.0.0.1:{arxiv}/api/query")
    with DnsServer(silent={"*"}) as server:
        ask(server)
        found = {each.what: each for each in check(home, offline=False, patience=0.5)}
    assert [found[what].exit_code for what in ("mail", "sender", "arXiv")] == [1, 0, 1]
    # On a busy machine, a probe's own limit may come before the check's.
    late = "did not answer within 0.5 s"
    for what, said, others in (
        (
            "mail",
            f"127.0.0.1:{mail} {late}; check SMTP_HOST and SMTP_PORT",
            "the reply took too long",
        ),
        ("sender", f"DNS {late} for wren.edu", "DNS does not answer"),
        ("arXiv", f"its server {late}; if that persists, see status.arxiv.org", "no whole reply"),
    ):
        assert found[what].message == said or others in found[what].message


def test_silent_llm_is_reported_with_the_setting_of_its_patience(
    home: Path, silence: list[int], ask: Callable[[DnsServer], None]
) -> None:
    """However busy this machine is: nobody waits for the whole check's patience."""
    _, llm, _ = silence
    url = f"http://127.0.0.1:{llm}/v1"
    nobody = "http://127.0.0.1:9/api/query"
    write_env(
        home, OPENAI_BASE_URL=url, LLM_TIMEOUT_SECONDS=0.3, LLM_CONCURRENCY=1, ARXIV_API_URL=nobody
    )
    with DnsServer() as server:
        ask(server)
        (found,) = about("scoring", check(home, offline=False, patience=600))
    slow = "does not answer within 0.3 s; raise LLM_TIMEOUT_SECONDS or lower LLM_BATCH_SIZE"
    message = f"the LLM at {url} {slow}. If its model was still loading, run this again"
    assert found == Finding("scoring", message, exit_code=1)
