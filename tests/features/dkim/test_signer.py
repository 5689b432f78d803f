"""Signatures that other servers verify, by dkimpy and with the key that a name server publishes."""

from __future__ import annotations

import base64
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import dkim
import dns.resolver
import pytest

from paperboy.features.dkim.signer import DkimSigner, modulus, published
from tests.cli.conftest import World, world
from tests.fakes import app_at
from tests.servers.dns import DnsServer

__all__ = ["world"]  # the fixture, for these tests, too

WEB_URL = "https://papers.example.org"


def make(folder: Path, bits: int = 1024, *, form: str = "-traditional") -> Path:
    key = folder / f"dkim-{bits}{form}.pem"
    subprocess.run(
        ["openssl", "genrsa", *([form] if form else []), "-out", str(key), str(bits)],
        check=True,
        capture_output=True,
    )
    return key


def record(key: Path, p: str | None = None) -> str:
    """The TXT record of a key, in strings of at most 255 characters."""
    public = subprocess.run(
        ["openssl", "rsa", "-in", str(key), "-pubout", "-outform", "DER"],
        check=True,
        capture_output=True,
    ).stdout
    text = f"v=DKIM1; k=rsa; p={base64.b64encode(public).decode() if p is None else p}"
    return " ".join(f'"{text[start : start + 200]}"' for start in range(0, len(text), 200))


@pytest.fixture(scope="module")
def key(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make(tmp_path_factory.mktemp("keys"))


def asks(server: DnsServer) -> Callable[..., bytes]:
    """What dkimpy calls for a record: it asks this name server."""
    resolver = dns.resolver.Resolver(configure=False)
    resolver.nameservers = [server.host]
    resolver.port = server.port

    def txt(name: bytes, **_: object) -> bytes:
        (found,) = resolver.resolve(name.decode(), "TXT")
        return b"".join(found.strings)

    return txt


@pytest.fixture
def received(world: World, key: Path) -> bytes:
    """A digest as its reader's server got it."""
    world.env(DKIM_KEY=key, DKIM_SELECTOR="s2026", WEB_URL=WEB_URL, ALERT_TO="operator@example.org")
    world.announce(1, 2)
    assert world.run("once", "--list", "foundations").code == 0
    return next(mail.content for mail in world.smtp.messages if mail.recipient == "ada@example.org")


def verify(message: bytes, key: Path) -> bool:
    with DnsServer({"s2026._domainkey.example.org TXT": [record(key)]}) as server:
        return bool(dkim.verify(message, dnsfunc=asks(server)))


def test_server_that_receives_a_digest_verifies_it(received: bytes, key: Path) -> None:
    assert verify(received, key)
    head = received.partition(b"\r\n\r\n")[0]
    covered = re.sub(rb"\s", b"", re.findall(rb"\bh=([^;]+);", head)[0]).split(b":")
    assert covered.count(b"from") == 2
    assert {b"list-unsubscribe", b"list-unsubscribe-post", b"subject", b"date", b"to"} <= {*covered}
    assert re.search(rb"\bd=example.org;", head)
    assert max(map(len, head.split(b"\r\n"))) < 998


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (b"List-Unsubscribe-Post: List-Unsubscribe=One-Click\r\n", b""),
        (b"\r\nSubject: ", b"\r\nSubject: Fwd: "),
        (b"\r\nFrom: ", b"\r\nFrom: Mallory <mallory@example.net>\r\nFrom: "),
        (b"paper", b"Paper"),
    ],
    ids=["no one click", "subject", "a second From", "body"],
)
def test_changed_mail_fails_verification(
    received: bytes, key: Path, old: bytes, new: bytes
) -> None:
    assert old in received
    assert not verify(received.replace(old, new, 1), key)


def test_mail_to_the_outbox_is_not_signed(world: World, key: Path) -> None:
    world.env(smtp=False, DKIM_KEY=key, DKIM_SELECTOR="s2026", MAIL_FROM="papers@example.org")
    world.announce(1)
    assert world.run("once", "--list", "foundations").code == 0
    assert "DKIM-Signature" not in (world.path / "outbox" / "foundations.eml").read_text("utf-8")


# ── Keys that are none ───────────────────────────────────────────────────────────────────────────────────────────────


def load(path: Path) -> DkimSigner:
    return DkimSigner.load(path, "s2026", "example.org")


def test_usual_forms_of_a_key_are_read(tmp_path: Path) -> None:
    for form in ("-traditional", ""):  # PKCS#1, PKCS#8
        key = make(tmp_path, form=form)
        signer = load(key)
        assert signer.modulus.bit_length() == 1024
        key.write_bytes(key.read_bytes().replace(b"\n", b"\r\n"))  # as Windows ends lines
        assert load(key) == signer


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (None, "there is no {path}; name the file with the private key"),
        (
            "",
            "{path} is not a private RSA key in PEM without a passphrase; openssl genrsa 2048 makes one",
        ),
        (
            "-----BEGIN PRIVATE KEY-----\nMC4CAQAwBQYDK2VwBCIEIA==\n-----END PRIVATE KEY-----\n",
            "is not a private RSA key",
        ),
    ],
    ids=["missing", "empty", "ed25519"],
)
def test_key_that_cannot_sign_is_a_fault_before_anything_is_sent(
    world: World, tmp_path: Path, content: str | None, says: str
) -> None:
    path = tmp_path / "dkim.pem"
    if content is not None:
        path.write_text(content)
    world.env(DKIM_KEY=path, DKIM_SELECTOR="s2026")
    world.announce(1)
    for command in (["once"], ["check", "--offline"]):
        ran = world.run(*command)
        assert ran.code == 78
        assert says.format(path=path) in ran.out + ran.err
    assert world.mails() == []


def test_key_needs_its_selector(world: World, key: Path) -> None:
    world.env(DKIM_KEY=key)
    ran = world.run("once")
    assert ran.code == 78
    assert "DKIM_KEY: needs DKIM_SELECTOR to be set, too" in ran.err


def test_repr_of_the_signer_hides_its_key(key: Path) -> None:
    assert "PRIVATE" not in repr(load(key))


def test_published_key_is_compared_by_its_number(key: Path) -> None:
    assert modulus(published(record(key))) == load(key).modulus
    for none in ("", '"v=DKIM1; p="', '"v=spf1 -all"', '"v=DKIM1; sp=AAAA"'):
        assert published(none) == ""
    for broken in ('"v=DKIM1; p=AAAA"', '"' + "p=" * 1000 + '"', '"v=DKIM1; p=A"'):
        assert modulus(published(broken)) is None


def test_strings_of_a_record_may_end_anywhere(key: Path) -> None:
    whole = record(key).replace('" "', "")
    for at in (whole.index("p=") + 1, whole.index("p=") + 2, len(whole) // 2):
        assert published(f'{whole[:at]}" "{whole[at:]}') == published(record(key))


def test_alerts_are_signed(world: World, key: Path) -> None:
    world.env(DKIM_KEY=key, DKIM_SELECTOR="s2026", ALERT_TO="operator@example.org")
    world.announce(1)
    assert world.run("once").code == 0
    with app_at(world.path, world.clock) as app:
        app.store.suppressions.add("ada@example.org", "", "5.1.1", world.clock(), by="bounces")
        app.deliver_rest(lambda: False)
    alert = world.smtp.messages[-1]
    assert alert.recipient == "operator@example.org"
    assert verify(alert.content, key)


def test_missing_package_is_named_before_anything_is_sent(
    world: World, key: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "dkim.crypto", None)  # as if it were not installed
    world.env(DKIM_KEY=key, DKIM_SELECTOR="s2026")
    world.announce(1)
    ran = world.run("once")
    assert (ran.code, world.mails()) == (78, [])
    assert (
        f"DKIM_KEY: signing needs one more package: {sys.executable} -m pip install 'dkimpy>=1.1.8,<2'"
        in ran.err
    )


@pytest.mark.parametrize("signs", [False, True], ids=["the relay signs", "signed here"])
def test_test_mail_explains_how_to_see_whether_the_relay_covers_the_one_click(
    world: World, key: Path, *, signs: bool
) -> None:
    world.env(WEB_URL=WEB_URL, **({"DKIM_KEY": key, "DKIM_SELECTOR": "s2026"} if signs else {}))
    world.announce(1)
    out = " ".join(world.run("preview", "foundations", "--to", "ada@example.org").out.split())
    assert (
        "h= of DKIM-Signature has to name list-unsubscribe and list-unsubscribe-post" in out
    ) is not signs
