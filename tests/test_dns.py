"""What the DNS says of a sender's domain, asked of a name server on loopback."""

from __future__ import annotations

from collections.abc import Iterator
from ipaddress import ip_address

import pytest

from paperboy.dns import Dns, DnsError, Verdict, judge, spf_records
from tests.servers.dns import DnsServer

HERE, SIX = ip_address("192.0.2.7"), ip_address("2001:db8::7")
PASS, NOT_NAMED, BROKEN, UNCLEAR = Verdict.PASS, Verdict.NOT_NAMED, Verdict.BROKEN, Verdict.UNCLEAR


@pytest.fixture
def server() -> Iterator[DnsServer]:
    with DnsServer() as made:
        yield made


def asking(server: DnsServer, timeout: float = 5) -> Dns:
    return Dns([server.host], port=server.port, timeout=timeout)


def test_mail_servers_come_in_the_order_of_their_preference(server: DnsServer) -> None:
    server.records = {"example.edu MX": ["20 b.example.edu.", "10 c.example.edu.", "10 a.example.edu."]}
    assert asking(server).mail_servers("example.edu") == ("a.example.edu", "c.example.edu", "b.example.edu")


def test_a_null_mx_is_a_lone_dot(server: DnsServer) -> None:
    server.records = {"example.edu MX": ["0 ."]}
    assert asking(server).mail_servers("example.edu") == (".",)


def test_addresses_of_both_kinds_or_of_one(server: DnsServer) -> None:
    server.records = {"mx.example.edu A": ["192.0.2.7"], "mx.example.edu AAAA": ["2001:db8::7"]}
    assert asking(server).addresses("mx.example.edu") == (HERE, SIX)
    assert asking(server).addresses("mx.example.edu", (6,)) == (SIX,)


def test_a_text_in_pieces_is_one(server: DnsServer) -> None:
    server.records = {"example.edu TXT": ['"v=spf1 ip4:192." "0.2.0/24 -all"', '"another"']}
    assert set(asking(server).texts("example.edu")) == {"v=spf1 ip4:192.0.2.0/24 -all", "another"}


@pytest.mark.parametrize(
    "name", ["example.edu", "nobody.example.edu", "a..b", "x" * 64 + ".edu", ".".join(["abc"] * 90)]
)
def test_no_such_record_name_or_possible_name_is_no_answer_and_no_error(server: DnsServer, name: str) -> None:
    server.records = {"example.edu MX": ["10 mx.example.edu."]}
    assert asking(server).texts(name) == ()


def test_a_question_is_put_once(server: DnsServer) -> None:
    server.records = {"example.edu TXT": ['"v=spf1 -all"']}
    dns = asking(server)
    assert (dns.texts("example.edu"), dns.texts("nobody.edu")) == (dns.texts("example.edu"), dns.texts("nobody.edu"))
    assert server.asked == ["example.edu TXT", "nobody.edu TXT"]


def test_silence_ends_with_the_time_limit(server: DnsServer) -> None:
    server.silent = {"*"}
    with pytest.raises(DnsError, match=r"^does not answer$") as caught:
        asking(server, timeout=0.2).texts("example.edu")
    assert caught.value.silent


def test_a_failure_names_what_was_asked_for(server: DnsServer) -> None:
    server.failing = {"example.edu"}
    with pytest.raises(DnsError, match=r"^fails for example\.edu$") as caught:
        asking(server).texts("example.edu")
    assert not caught.value.silent


def test_only_what_begins_as_spf_is_spf() -> None:
    texts = ["v=spf1 -all", "V=SPF1", "v=spf10 -all", "v=spf2.0/pra -all", " v=spf1 -all", "v=DMARC1; p=none"]
    assert spf_records(texts) == ("v=spf1 -all", "V=SPF1")


ZONE = {
    "example.edu A": ["192.0.2.7"],
    "example.edu AAAA": ["2001:db8::7"],
    "near.edu A": ["192.0.2.99"],
    "far.edu A": ["198.51.100.1"],
    "far.edu AAAA": ["2001:db8:1::1"],
    "far.edu MX": ["10 mx.far.edu.", "20 example.edu."],
    "mx.far.edu A": ["198.51.100.2"],
    "null.edu MX": ["0 ."],
    "many.edu MX": [f"10 mx{number}.edu." for number in range(11)],
    "names.edu TXT": ['"v=spf1 ip4:192.0.2.7 ip6:2001:db8::/32 -all"'],
    "nobody.edu TXT": ['"v=spf1 -all"'],
    "lenient.edu TXT": ['"v=spf1 ~all"'],
    "two.edu TXT": ['"v=spf1 +all"', '"v=spf1 -all"'],
    "plain.edu TXT": ['"hello"'],
    "loop.edu TXT": ['"v=spf1 include:loop.edu -all"'],
    "odd.edu TXT": ['"v=spf1 exists:%{i}.example.edu -all"'],
    "on.edu TXT": ['"v=spf1 redirect=names.edu"'],
}


@pytest.mark.parametrize(
    ("terms", "verdict"),
    [
        ("", NOT_NAMED),
        ("-all", NOT_NAMED),
        ("?all", NOT_NAMED),
        ("+all", PASS),
        ("ALL", PASS),
        ("ip4:192.0.2.7 -all", PASS),
        ("ip4:192.0.2.0/24 ~all", PASS),
        ("ip4:192.0.2.99/24 ~all", PASS),
        ("ip4:192.0.3.0/24 ip6:2001:db8::/32 -all", NOT_NAMED),
        ("-ip4:192.0.2.7 +all", NOT_NAMED),  # the first that matches decides
        ("~ip4:192.0.2.0/24 ip4:192.0.2.7 -all", NOT_NAMED),
        ("a:example.edu -all", PASS),
        ("a:near.edu -all", NOT_NAMED),
        ("a:near.edu/24 -all", PASS),
        ("a:near.edu/24//64 -all", PASS),
        ("a:near.edu//64 -all", NOT_NAMED),
        ("mx:far.edu -all", PASS),
        ("mx:null.edu a:example.edu -all", PASS),
        ("include:names.edu -all", PASS),
        ("-include:names.edu +all", NOT_NAMED),
        ("include:nobody.edu include:names.edu -all", PASS),  # the -all of another ends nothing here
        ("include:on.edu -all", PASS),
        ("exists:example.edu -all", PASS),
        ("exists:nothing.edu -all", NOT_NAMED),
        ("redirect=names.edu", PASS),
        ("redirect=nobody.edu ip4:192.0.2.7", PASS),  # wherever it stands, it comes last
        ("exp=why.edu some.thing=%{d} ip4:192.0.2.7 -all", PASS),
        ("ip4:192.0.2.7 include:loop.edu -all", PASS),  # what comes after a match is not asked for
    ],
)
def test_an_address_is_judged_by_the_terms_in_their_order(server: DnsServer, terms: str, verdict: Verdict) -> None:
    server.records = ZONE | {"sender.edu TXT": [f'"v=spf1 {terms}"']}
    assert judge("sender.edu", HERE, asking(server)).verdict is verdict


@pytest.mark.parametrize(
    ("terms", "verdict"),
    [
        ("ip6:2001:db8::/32 -all", PASS),
        ("ip4:192.0.2.0/24 -all", NOT_NAMED),
        ("a:example.edu -all", PASS),
        ("a:far.edu//32 -all", PASS),
        ("a:far.edu/24 -all", NOT_NAMED),
        ("mx:far.edu -all", PASS),
    ],
)
def test_an_address_of_the_newer_kind(server: DnsServer, terms: str, verdict: Verdict) -> None:
    server.records = ZONE | {"sender.edu TXT": [f'"v=spf1 {terms}"']}
    assert judge("sender.edu", SIX, asking(server)).verdict is verdict
    assert not [asked for asked in server.asked if asked.endswith(" A")]


@pytest.mark.parametrize(
    ("terms", "why"),
    [
        ("include:loop.edu -all", "it takes more than 10 lookups"),
        (" ".join(f"a:host{number}.far.edu" for number in range(9)), "more than 2 of its lookups find nothing"),
        ("include:plain.edu -all", "plain.edu has no SPF record"),
        ("include:two.edu -all", "two.edu has 2 SPF records"),
        ("redirect=plain.edu", "plain.edu has no SPF record"),
        ("mx:many.edu -all", "many.edu has more than 10 mail servers"),
        ("ipv4:192.0.2.7 -all", "nobody knows the term ipv4:192.0.2.7"),
        ("ip4:192.0.2.7 -al", "nobody knows the term -al"),  # also where an earlier term would have matched
        ("192.0.2.7 -all", "nobody knows the term 192.0.2.7"),
        ("ip4:example.edu -all", "there is no network in ip4:example.edu"),
        ("ip4: -all", "there is no network in ip4:"),
        ("ip4:2001:db8::/32 -all", "there is no network in ip4:2001:db8::/32"),
        ("a:far.edu/33 -all", "there is no network in a:far.edu/33"),
        ("a:far.edu/24/64 -all", "there is no network in a:far.edu/24/64"),
        ("include -all", "there is no domain in include"),
    ],
)
def test_a_record_that_nobody_can_evaluate(server: DnsServer, terms: str, why: str) -> None:
    server.records = ZONE | {"sender.edu TXT": [f'"v=spf1 {terms}"']}
    judgement = judge("sender.edu", HERE, asking(server))
    assert (judgement.verdict, judgement.why) == (BROKEN, why)


def test_ten_lookups_are_not_too_many(server: DnsServer) -> None:
    near = " ".join(f"a:near{number}.edu" for number in range(9))
    server.records = (
        ZONE
        | {f"near{number}.edu A": ["198.51.100.1"] for number in range(9)}
        | {"sender.edu TXT": [f'"v=spf1 {near} a:example.edu -all"']}
    )
    assert judge("sender.edu", HERE, asking(server)).verdict is PASS


@pytest.mark.parametrize(
    ("terms", "verdict", "why"),
    [
        ("exists:%{i}.example.edu -all", UNCLEAR, "exists:%{i}.example.edu"),
        ("include:%{d}.example.edu ~all", UNCLEAR, "include:%{d}.example.edu"),
        ("ptr ?all", UNCLEAR, "ptr"),
        ("include:odd.edu -all", UNCLEAR, "exists:%{i}.example.edu"),
        ("redirect=%{d}.example.edu", UNCLEAR, "redirect=%{d}.example.edu"),
        ("ptr redirect=nobody.edu", UNCLEAR, "ptr"),
        ("ptr redirect=names.edu", PASS, ""),
        ("-ptr redirect=names.edu", UNCLEAR, "-ptr"),
        ("ptr ip4:192.0.2.7 -all", PASS, ""),  # whether or not it matches, the address passes
        ("-ptr ip4:192.0.2.7 -all", UNCLEAR, "-ptr"),
        ("-ptr -all", NOT_NAMED, ""),
        ("ip4:192.0.2.7 exists:%{i}.example.edu -all", PASS, ""),
    ],
)
def test_what_depends_on_the_mail_is_not_guessed(server: DnsServer, terms: str, verdict: Verdict, why: str) -> None:
    server.records = ZONE | {"sender.edu TXT": [f'"v=spf1 {terms}"']}
    judgement = judge("sender.edu", HERE, asking(server))
    assert (judgement.verdict, judgement.why) == (verdict, why)


def test_silence_on_the_way_is_no_verdict(server: DnsServer) -> None:
    server.records, server.silent = {"sender.edu TXT": ['"v=spf1 include:names.edu -all"']}, {"names.edu"}
    with pytest.raises(DnsError):
        judge("sender.edu", HERE, asking(server, timeout=0.2))
