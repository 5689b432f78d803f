"""The part of `paperboy check` that asks the DNS about the sender: can answers reach it, and who may send for it.

Only what can be known is said, and little of it is a fault: mail may leave from a server that no setting names.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from ipaddress import ip_address, ip_network

from paperboy.cli.check_findings import Finding
from paperboy.config.settings import Settings
from paperboy.dns import Address, Dns, DnsError, Judgement, Verdict, judge, spf_records

MOST_ADDRESSES = 4  # of SMTP_HOST

_NOWHERE = ("example", "test", "invalid", "localhost", "local", "internal", "example.com", "example.net", "example.org")
_INSIDE = [
    ip_network(network)
    for network in (
        *("127.0.0.0/8", "10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "169.254.0.0/16", "100.64.0.0/10"),
        *("::1/128", "fc00::/7", "fe80::/10"),
    )
]


def domain_of(settings: Settings) -> str:
    """The sender's domain, as the DNS knows it; empty where there is none to ask about."""
    if settings.uses_outbox or settings.mail_from is None:
        return ""
    return _public(settings.mail_from.address)


def look(settings: Settings, dns: Dns) -> list[Finding]:
    """What the DNS says about the sender of these settings, whose domain is one to ask about."""
    domain = domain_of(settings)
    looks: list[tuple[str, Callable[[Dns], Finding]]] = [
        ("MX", partial(_answers, name, setting, lost)) for name, setting, lost in _answered(settings, domain)
    ]
    looks += [("SPF", partial(_spf, domain, settings.smtp_host)), ("DMARC", partial(_dmarc, domain))]
    found: list[Finding] = []
    for number, (what, ask) in enumerate(looks):
        try:
            found.append(ask(dns))
        except DnsError as error:
            if error.silent:
                left = dict.fromkeys(name for name, _ in looks[number:])
                return [*found, not_looked_at("does not answer", domain, *left)]
            found.append(Finding(what, f"DNS {error}, so it was not looked at", note=True))
    return found


def not_looked_at(why: str, domain: str, *kinds: str) -> Finding:
    """The DNS has not told."""
    *others, last = kinds or ("MX", "SPF", "DMARC")
    named = f"{', '.join(others)} and {last}" if others else last
    return Finding("sender", f"DNS {why}; {named} of {domain} not looked at", note=True)


def _public(address: str) -> str:
    domain = address.rpartition("@")[2].lower().rstrip(".")
    nowhere = "." not in domain or any(domain == name or domain.endswith(f".{name}") for name in _NOWHERE)
    return "" if nowhere else domain


def _answered(settings: Settings, sender: str) -> Iterator[tuple[str, str, str]]:
    """Each domain that answers go to, the setting that names it, and which answers."""
    replies = "replies and unsubscribe mails"
    reply_to = _public(settings.mail_reply_to.address) if settings.mail_reply_to else sender
    yield sender, "MAIL_FROM", f"bounces, {replies}" if reply_to == sender else "bounces"
    if reply_to and reply_to != sender:
        yield reply_to, "MAIL_REPLY_TO", replies


def _answers(domain: str, setting: str, lost: str, dns: Dns) -> Finding:
    servers = dns.mail_servers(domain)
    if "." in servers:
        message = f'{domain} says that it takes no mail (its MX is "."), so {lost} come back; mend {setting}'
        return Finding("MX", message, exit_code=1)
    for server in servers:
        if dns.addresses(server):
            return Finding("MX", f"mail to {domain} goes to {server}")
    if servers:
        message = f"mail to {domain} goes to {servers[0]}, which has no address: {lost} get lost; mend its MX record"
        return Finding("MX", message, note=True)
    if dns.addresses(domain):
        return Finding("MX", f"mail to {domain} goes to that machine itself: it has an address and no MX")
    message = (
        f"DNS has neither MX nor address for {domain}, so {lost} get lost; give it an MX, or mend {setting} if it is "
        "misspelt"
    )
    return Finding("MX", message, note=True)


def _spf(domain: str, host: str, dns: Dns) -> Finding:
    records = spf_records(dns.texts(domain))
    if not records:
        term = _term(host)
        message = (
            f"{domain} has no SPF record, and many servers distrust mail without; publish the one that your mail "
            f'provider names, or, if you have none, the TXT record "v=spf1 mx {term} ~all"'
            + (", with the address that mail leaves from" if "ADDRESS" in term else "")
        )
        return Finding("SPF", message, note=True)
    if len(records) > 1:
        message = f"{domain} has {len(records)} SPF records, which counts as an error (RFC 7208); join them into one"
        return Finding("SPF", message, note=True)
    if len(records[0].split()) == 2 and records[0].split()[1].lower() == "-all":
        message = f'{domain} says "{records[0]}": that nobody sends mail for it; name your mail server before the -all'
        return Finding("SPF", message, note=True)
    addresses = _addresses(host, dns)
    if not addresses or any(map(_is_inside, addresses)):
        message = f"{domain} has a record; where mail leaves from cannot be told from here, so it was not compared"
        return Finding("SPF", message)
    return _compared(domain, host, {each: judge(domain, each, dns) for each in addresses})


def _term(host: str) -> str:
    """What names the server in a record. Of one in the house only its operator knows where mail leaves from."""
    try:
        address = ip_address(host)
    except ValueError:
        return f"a:{host}" if _public(f"@{host}") else "ip4:ADDRESS"
    return "ip4:ADDRESS" if _is_inside(address) else f"ip{address.version}:{address}"


def _is_inside(address: Address) -> bool:
    return any(address in network for network in _INSIDE)


def _addresses(host: str, dns: Dns) -> tuple[Address, ...]:
    try:
        return (ip_address(host),)
    except ValueError:
        return dns.addresses(host)[:MOST_ADDRESSES]


def _compared(domain: str, host: str, judgements: dict[Address, Judgement]) -> Finding:
    for judgement in judgements.values():
        if judgement.verdict is Verdict.BROKEN:
            message = f"no server can read the record of {domain}: {judgement.why}; mend it"
            return Finding("SPF", message, note=True)
    missing = [str(each) for each, judgement in judgements.items() if judgement.verdict is Verdict.NOT_NAMED]
    if missing:
        message = (
            f"the record of {domain} does not name {host} ({', '.join(missing)}): right only if that server relays "
            f"through another; else put {_term(host)} into it"
        )
        return Finding("SPF", message, note=True)
    unclear = next((each.why for each in judgements.values() if each.verdict is Verdict.UNCLEAR), "")
    if unclear:
        return Finding("SPF", f"{domain} has a record; whether it names {host} depends on the mail ({unclear})")
    return Finding("SPF", f"the record of {domain} names {host} ({', '.join(map(str, judgements))})")


def _dmarc(domain: str, dns: Dns) -> Finding:
    labels = domain.split(".")
    for start in range(len(labels) - 1):  # a domain without one has its parent's
        place = ".".join(labels[start:])
        found = [text for text in dns.texts(f"_dmarc.{place}") if text.replace(" ", "").lower().startswith("v=dmarc1")]
        if len(found) == 1:
            return Finding("DMARC", f'{place} has the record "{found[0]}"')
        if found:
            message = f"_dmarc.{place} has {len(found)} records, which counts as none; keep one"
            return Finding("DMARC", message, note=True)
    message = (
        f"{domain} has no DMARC record, and large providers want one of who sends much; publish the TXT record "
        f'"v=DMARC1; p=none" at _dmarc.{domain}'
    )
    return Finding("DMARC", message, note=True)
