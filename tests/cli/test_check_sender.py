"""What `paperboy check` says of the sender's domain, from a name server on loopback."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pytest

from paperboy.cli.check_findings import Finding
from paperboy.cli.check_sender import domain_of, look
from paperboy.config.settings import Settings
from paperboy.config.values import Mailbox
from paperboy.dns import Dns
from tests.servers.dns import DnsServer

ALL_WELL: Mapping[str, Sequence[str]] = {
    "wren.edu MX": ["10 mx.wren.edu."],
    "mx.wren.edu A": ["198.51.100.25"],
    "smtp.wren.edu A": ["198.51.100.7"],
    "wren.edu TXT": ['"v=spf1 mx ip4:198.51.100.0/28 -all"', '"something=else"'],
    "_dmarc.wren.edu TXT": ['"v=DMARC1; p=none"'],
}


@pytest.fixture
def server() -> Iterator[DnsServer]:
    with DnsServer(ALL_WELL) as made:
        yield made


def settings(mail_from: str = "papers@wren.edu", **changes: Any) -> Settings:
    return Settings(**{"smtp_host": "smtp.wren.edu", "mail_from": Mailbox(mail_from), **changes})


def said(server: DnsServer, of: Settings | None = None, timeout: float = 5) -> list[Finding]:
    return look(of or settings(), Dns([server.host], port=server.port, timeout=timeout))


def one(server: DnsServer, what: str, of: Settings | None = None) -> Finding:
    """The only line about it."""
    (finding,) = (finding for finding in said(server, of) if finding.what == what)
    return finding


def note(what: str, message: str) -> Finding:
    return Finding(what, message, note=True)


def without(name: str) -> dict[str, Sequence[str]]:
    return {key: value for key, value in ALL_WELL.items() if key != name}


def test_all_is_well(server: DnsServer) -> None:
    assert said(server) == [
        Finding("MX", "mail to wren.edu goes to mx.wren.edu"),
        Finding("SPF", "the record of wren.edu names smtp.wren.edu (198.51.100.7)"),
        Finding("DMARC", 'wren.edu has the record "v=DMARC1; p=none"'),
    ]


@pytest.mark.parametrize(
    ("address", "domain"),
    [
        ("papers@wren.edu", "wren.edu"),
        ("papers@News.Wren.EDU", "news.wren.edu"),
        ("papers@xn--mller-kva.example.edu", "xn--mller-kva.example.edu"),
        *((f"papers@{name}", "") for name in ("localhost", "nas.local", "a.test", "a.example", "a.invalid", "lan")),
        *((f"papers@{name}", "") for name in ("example.org", "news.example.com", "example.net")),
        ("papers@notexample.org", "notexample.org"),
    ],
)
def test_only_a_domain_that_others_know_is_asked_about(address: str, domain: str) -> None:
    assert domain_of(settings(address)) == domain


def test_nobody_asks_for_the_outbox() -> None:
    assert domain_of(settings(smtp_host="")) == ""


# --- where answers go


def test_a_domain_without_mx_takes_mail_at_its_own_address(server: DnsServer) -> None:
    server.records = without("wren.edu MX") | {"wren.edu AAAA": ["2001:db8::1"]}
    assert one(server, "MX") == Finding(
        "MX", "mail to wren.edu goes to that machine itself: it has an address and no MX"
    )


def test_a_domain_that_nothing_takes_mail_for_is_a_note(server: DnsServer) -> None:
    server.records = without("wren.edu MX")
    assert one(server, "MX") == note(
        "MX",
        "DNS has neither MX nor address for wren.edu, so bounces, replies and unsubscribe mails get lost; give it an "
        "MX, or mend MAIL_FROM if it is misspelt",
    )


def test_a_domain_that_says_it_takes_no_mail_is_a_fault(server: DnsServer) -> None:
    server.records = {**ALL_WELL, "wren.edu MX": ["0 ."]}
    assert one(server, "MX") == Finding(
        "MX",
        'wren.edu says that it takes no mail (its MX is "."), so bounces, replies and unsubscribe mails come back; '
        "mend MAIL_FROM",
        exit_code=1,
    )


def test_a_mail_server_without_an_address_is_a_note_unless_there_is_another(server: DnsServer) -> None:
    server.records = {**ALL_WELL, "wren.edu MX": ["5 gone.wren.edu.", "10 mx.wren.edu."]}
    assert one(server, "MX") == Finding("MX", "mail to wren.edu goes to mx.wren.edu")
    server.records = {**ALL_WELL, "wren.edu MX": ["5 gone.wren.edu."]}
    assert one(server, "MX") == note(
        "MX",
        "mail to wren.edu goes to gone.wren.edu, which has no address: bounces, replies and unsubscribe mails get "
        "lost; mend its MX record",
    )


def test_replies_to_another_domain_are_looked_at_too(server: DnsServer) -> None:
    elsewhere = settings(mail_reply_to=Mailbox("desk@finch.edu"))
    bounces, replies = (finding for finding in said(server, elsewhere) if finding.what == "MX")
    assert bounces == Finding("MX", "mail to wren.edu goes to mx.wren.edu")
    assert replies == note(
        "MX",
        "DNS has neither MX nor address for finch.edu, so replies and unsubscribe mails get lost; give it an MX, or "
        "mend MAIL_REPLY_TO if it is misspelt",
    )
    server.records = without("wren.edu MX")
    assert "so bounces get lost" in said(server, elsewhere)[0].message
    for at_home in ("desk@wren.edu", "desk@nas.local"):
        assert len(said(server, settings(mail_reply_to=Mailbox(at_home)))) == 3


# --- who may send


def spf(record: str) -> dict[str, Sequence[str]]:
    return {**ALL_WELL, "wren.edu TXT": [f'"{record}"']}


def test_no_spf_record_is_a_note_with_one_to_publish(server: DnsServer) -> None:
    server.records = without("wren.edu TXT")
    assert one(server, "SPF") == note(
        "SPF",
        "wren.edu has no SPF record, and many servers distrust mail without; publish the one that your mail provider "
        'names, or, if you have none, the TXT record "v=spf1 mx a:smtp.wren.edu ~all"',
    )


@pytest.mark.parametrize(
    ("host", "term"),
    [
        ("198.51.100.7", "ip4:198.51.100.7"),
        ("2001:db8::7", "ip6:2001:db8::7"),
        *((host, "ip4:ADDRESS") for host in ("127.0.0.1", "192.168.1.5", "localhost", "postfix", "nas.local")),
    ],
)
def test_a_server_without_a_public_name_is_proposed_by_its_address(server: DnsServer, host: str, term: str) -> None:
    server.records = without("wren.edu TXT")
    message = one(server, "SPF", settings(smtp_host=host)).message
    assert f'the TXT record "v=spf1 mx {term} ~all"' in message
    assert message.endswith(", with the address that mail leaves from") is ("ADDRESS" in term)


def test_the_record_that_is_proposed_is_one_that_would_do(server: DnsServer) -> None:
    server.records = without("wren.edu TXT")
    proposed = one(server, "SPF").message.split('"')[1]
    server.records = spf(proposed)
    assert one(server, "SPF") == Finding("SPF", "the record of wren.edu names smtp.wren.edu (198.51.100.7)")


def test_two_records_are_a_note(server: DnsServer) -> None:
    server.records = {**ALL_WELL, "wren.edu TXT": ['"v=spf1 mx -all"', '"v=spf1 +all"']}
    message = "wren.edu has 2 SPF records, which counts as an error (RFC 7208); join them into one"
    assert one(server, "SPF") == note("SPF", message)


def test_a_domain_for_which_nobody_sends_is_a_note(server: DnsServer) -> None:
    server.records = spf("v=spf1 -ALL")
    message = 'wren.edu says "v=spf1 -ALL": that nobody sends mail for it; name your mail server before the -all'
    assert one(server, "SPF") == note("SPF", message)


@pytest.mark.parametrize("record", ["v=spf1 ip4:203.0.113.0/24 -all", "v=spf1 ~all", "v=spf1"])
def test_a_record_that_does_not_name_the_server_may_be_right(server: DnsServer, record: str) -> None:
    server.records = spf(record)
    assert one(server, "SPF") == note(
        "SPF",
        "the record of wren.edu does not name smtp.wren.edu (198.51.100.7): right only if that server relays through "
        "another; else put a:smtp.wren.edu into it",
    )


def test_every_address_of_the_server_is_compared(server: DnsServer) -> None:
    server.records = {**ALL_WELL, "smtp.wren.edu AAAA": ["2001:db8::7"]}
    assert "does not name smtp.wren.edu (2001:db8::7): right only" in one(server, "SPF").message
    server.records = {**server.records, "wren.edu TXT": ['"v=spf1 a:smtp.wren.edu -all"']}
    message = "the record of wren.edu names smtp.wren.edu (198.51.100.7, 2001:db8::7)"
    assert one(server, "SPF") == Finding("SPF", message)


def test_a_server_that_is_named_by_its_address(server: DnsServer) -> None:
    assert one(server, "SPF", settings(smtp_host="198.51.100.7")).message.startswith("the record of wren.edu names")


@pytest.mark.parametrize("host", ["127.0.0.1", "10.1.2.3", "::1", "fd00::1", "relay.wren.edu", "nowhere.wren.edu"])
def test_a_server_in_the_house_tells_nothing_of_where_mail_leaves_from(server: DnsServer, host: str) -> None:
    server.records = {**ALL_WELL, "relay.wren.edu A": ["192.168.7.7"]}
    message = "wren.edu has a record; where mail leaves from cannot be told from here, so it was not compared"
    assert one(server, "SPF", settings(smtp_host=host)) == Finding("SPF", message)


def test_a_record_that_nobody_can_read_is_a_note(server: DnsServer) -> None:
    server.records = spf("v=spf1 ipv4:198.51.100.7 -all")
    message = "no server can read the record of wren.edu: nobody knows the term ipv4:198.51.100.7; mend it"
    assert one(server, "SPF") == note("SPF", message)


def test_what_depends_on_the_mail_is_said_to(server: DnsServer) -> None:
    server.records = spf("v=spf1 exists:%{i}._spf.wren.edu -all")
    message = "wren.edu has a record; whether it names smtp.wren.edu depends on the mail (exists:%{i}._spf.wren.edu)"
    assert one(server, "SPF") == Finding("SPF", message)


# --- DMARC


def test_no_dmarc_record_is_a_note(server: DnsServer) -> None:
    server.records = without("_dmarc.wren.edu TXT")
    assert one(server, "DMARC") == note(
        "DMARC",
        "wren.edu has no DMARC record, and large providers want one of who sends much; publish the TXT record "
        '"v=DMARC1; p=none" at _dmarc.wren.edu',
    )


def test_a_domain_without_one_has_its_parents(server: DnsServer) -> None:
    of = settings("papers@news.lab.wren.edu")
    assert one(server, "DMARC", of) == Finding("DMARC", 'wren.edu has the record "v=DMARC1; p=none"')
    assert "_dmarc.edu TXT" not in server.asked


def test_two_dmarc_records_are_a_note(server: DnsServer) -> None:
    server.records = {**ALL_WELL, "_dmarc.wren.edu TXT": ['"v=DMARC1; p=none"', '"v=DMARC1; p=reject"']}
    assert one(server, "DMARC") == note("DMARC", "_dmarc.wren.edu has 2 records, which counts as none; keep one")


# --- a DNS that does not answer


def test_a_silent_dns_is_one_line_and_no_fault(server: DnsServer) -> None:
    server.silent = {"*"}
    of = settings(mail_reply_to=Mailbox("desk@finch.edu"))
    message = "DNS does not answer; MX, SPF and DMARC of wren.edu not looked at"
    assert said(server, of, timeout=0.2) == [note("sender", message)]


def test_a_dns_that_falls_silent_has_told_something(server: DnsServer) -> None:
    server.silent = {"_dmarc.wren.edu"}
    *told, last = said(server, timeout=0.5)
    assert [finding.what for finding in told] == ["MX", "SPF"]
    assert last == note("sender", "DNS does not answer; DMARC of wren.edu not looked at")


def test_a_name_that_fails_does_not_keep_from_the_others(server: DnsServer) -> None:
    server.failing = {"smtp.wren.edu"}
    mx, spf, dmarc = said(server)
    assert spf == note("SPF", "DNS fails for smtp.wren.edu, so it was not looked at")
    assert (mx.what, dmarc.what) == ("MX", "DMARC")
