"""Probes of the servers that a home needs: each yields its findings, or fails within its time limit."""

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from functools import partial
from urllib.parse import urlsplit

from paperboy import sample
from paperboy.edges.text import counted, without_url
from paperboy.edges.wire import Http, NoReplyError
from paperboy.home.settings import Settings
from paperboy.models import DeliveryState, Paper
from paperboy.sending.pace import REFUSES_US
from paperboy.service.app import App
from paperboy.service.feature import Finding, note
from paperboy.sources import category_name, source_of, sources_of
from paperboy.sources.source import Source

SMTP_SECONDS = 15.0  # for each reply
DNS_SECONDS = 3.0  # for each kind of record
WEB_SECONDS = 10.0
WEB_MOST = 100_000  # bytes of a page
PATIENCE = 45.0  # seconds, for all servers together; the LLM's own timeout is added

_NO_PAGES = (
    "so links in mails may lead nowhere; see that `paperboy web` and its proxy run, and that the proxy's name and "
    "certificate are right"
)
_NO_HEARTBEAT = ", so your monitoring will raise an alarm; check the URL and HTTPS_PROXY"
EXAMPLE = re.compile(r"(?:.*[@.])?example\.(?:org|com|net)", re.IGNORECASE)


_Probe = tuple[Callable[[App], Iterable[Finding]], Finding, float]


def servers(app: App, patience: float, broken: Collection[str]) -> Iterator[_Probe]:
    """Yield, for each server whose settings are sound, its probe, the finding if it is silent, and
    the seconds after which it counts as silent.
    """
    late = f"did not answer within {patience:g} s"
    settings = app.settings
    if not settings.uses_outbox and "mail" not in broken:
        silence = f"{settings.smtp_host}:{settings.smtp_port} {late}; check SMTP_HOST and SMTP_PORT"
        yield _mail, Finding("mail", silence, exit_code=1), patience

    if domain := sender_domain(settings):
        yield lambda _: _sender(domain), note("sender", f"DNS {late} for {domain}"), patience
    for feature in app.features:
        if feature.check:
            yield feature.check, note(feature.name, f"its server {late}"), patience

    if settings.web_url:
        silence = f"{settings.web_url}/robots.txt {late}, {_NO_PAGES}"
        yield _web, note("web", silence), patience
    if url := settings.heartbeat_url.value:
        silence = f"HEARTBEAT_URL at {urlsplit(url).hostname} {late}{_NO_HEARTBEAT}"
        yield _heartbeat, note("heartbeat", silence), patience
    if not {"prompts", "scoring"} & {*broken}:
        host = urlsplit(settings.openai_base_url).hostname or "api.openai.com"
        seconds = patience + 2 * settings.llm_timeout_seconds  # the LLM is asked twice
        silence = f"{host} did not answer within {seconds:g} s; check OPENAI_BASE_URL"
        yield _scoring, Finding("scoring", silence, exit_code=1), seconds

    for source in sources_of(categories(app)) or (source_of(""),):
        silence = f"its server {late}; if that persists, see {source.status_page}"
        yield partial(_source, source), Finding(source.name, silence, exit_code=1), patience


def categories(app: App) -> Iterator[str]:
    return (category for mailing_list in app.home.lists for category in mailing_list.categories)


def sender_domain(settings: Settings) -> str:
    """Return the domain of MAIL_FROM; empty if it has no DNS records to check."""
    if settings.uses_outbox or settings.mail_from is None:
        return ""

    domain = settings.mail_from.address.rpartition("@")[2].lower()
    return "" if EXAMPLE.fullmatch(domain) else domain


def _mail(app: App) -> Iterator[Finding]:
    settings = app.settings
    sender = settings.mail_from.address if settings.mail_from else ""
    recipient = settings.alert_to.address if settings.alert_to else sender
    text, refusal = app.smtp(timeout=SMTP_SECONDS).probe(sender, recipient)
    if not refusal:
        yield Finding("mail", text)
    else:
        setting = "ALERT_TO" if settings.alert_to else "MAIL_FROM"
        message = f"the mail server refuses {recipient} ({setting}): {refusal.reply}"
        if refusal.unclear or "relay" in refusal.reply.lower():  # Postfix denies relaying with 454
            yield Finding("mail", f"{message}. {REFUSES_US}", exit_code=1)
        elif refusal.state is not DeliveryState.FAILED:
            yield note("mail", f"{message}. That may be temporary")
        elif settings.alert_to:
            nobody = "Until ALERT_TO is fixed, nobody is alerted"
            yield Finding("mail", f"{message}. {nobody}", exit_code=1)
        else:
            yield note("mail", f"{message}. Until MAIL_FROM is fixed, bounces get lost")


def _scoring(app: App) -> Iterator[Finding]:
    answer, lack = app.scorer.probe(sample.papers(app.clock()))
    yield Finding("scoring", answer)
    if lack:
        yield note("scoring", lack)


def _source(source: Source, app: App) -> Iterator[Finding]:
    if source.first_read:
        yield from _feeds(source, app)
        return
    of_source = (category for category in categories(app) if source_of(category) is source)
    answer, lack = app.connect(source).probe(next(of_source, ""))
    yield Finding(source.name, answer)
    if lack:
        yield note(source.name, lack)


def _feeds(source: Source, app: App) -> Iterator[Finding]:
    """Read each feed once, and say what it has."""
    names = [name for name in dict.fromkeys(categories(app)) if source_of(name) is source]
    now = app.clock()
    fetched = app.connect(source).fetch(names, now, now, None, lambda *_: None)
    store = app.open_store() or app.store_in_memory()
    with store:
        read = store.papers.fetched(source.key)
        known = store.papers.by_id([paper.id for paper in fetched.papers])
    for category in names:
        name = category_name(category)
        if why := fetched.failures.get(category):
            yield Finding(source.name, f"{name}: {why}", exit_code=1)
            continue
        papers = [paper for paper in fetched.papers if category in paper.categories]
        yield Finding(source.name, f"{name}: {_contents(papers)}")
        if papers and 2 * sum(bool(paper.abstract) for paper in papers) < len(papers):
            rough = (
                "most entries have no abstract, so titles alone are judged: relevance will be rough"
            )
            yield note(source.name, f"{name}: {rough}")
        if papers and category in read and not any(paper.id in known for paper in papers):
            fix = "unless its address is new, it is shorter than a day and papers get lost: use a longer one"
            yield note(source.name, f"{name}: no entry was there at its last reading; {fix}")


def _contents(papers: Sequence[Paper]) -> str:
    """Say how many papers a feed has, and how many of them with what."""
    if not papers:
        return "its feed has no paper now, which is normal for some"
    abstracts = sum(bool(paper.abstract) for paper in papers)
    dois = sum(bool(paper.doi) for paper in papers)
    newest = max(paper.published for paper in papers)
    number = counted(len(papers), "paper")
    return f"{number}, {abstracts} with an abstract, {dois} with a DOI, the newest of {newest:%d %b %Y}"


def _web(app: App) -> Iterator[Finding]:
    """Check whether readers' links lead to this home's pages, through any proxy in front of them."""
    web_url = app.settings.web_url
    url = f"{web_url}/robots.txt"
    http = Http(most=WEB_MOST, proxy=app.proxy(url))
    try:
        reply = http.request("GET", url, {}, seconds=WEB_SECONDS)
    except NoReplyError as error:
        yield note("web", f"{url} does not answer ({error}), {_NO_PAGES}")
        return

    message = f"{url} answers {reply.status}"
    expected = f"Disallow: {urlsplit(web_url).path}/leave/".encode()
    if reply.status == 200 and expected in reply.body:
        yield Finding("web", f"{web_url} answers")
    else:
        host, port = app.settings.web_listen
        fix = f"start `paperboy web`, and have the proxy pass requests to {host}:{port}"
        yield note("web", f"{message}, but the response is not Paperboy's; {fix}")


def _heartbeat(app: App) -> Iterator[Finding]:
    """Only connect to HEARTBEAT_URL's host, since a request would count as a heartbeat."""
    url = app.settings.heartbeat_url.value
    place = f"HEARTBEAT_URL at {urlsplit(url).hostname}"
    try:
        Http(most=WEB_MOST, proxy=app.proxy(url)).connect(url, seconds=WEB_SECONDS)
        yield Finding("heartbeat", f"{place} can be reached; nothing was requested")
    except NoReplyError as error:
        reason = without_url(str(error), url)
        yield note("heartbeat", f"{place} cannot be reached ({reason}){_NO_HEARTBEAT}")


def _sender(domain: str, seconds: float = DNS_SECONDS) -> Iterator[Finding]:
    """Check the DNS records of the sender's domain that replies and spam filters depend on."""
    parents = [domain.split(".", start)[-1] for start in range(domain.count("."))]
    try:
        hosts = (records(domain, kind, seconds) for kind in ("MX", "A", "AAAA"))
        mx = next(filter(None, hosts), [])
        texts = records(domain, "TXT", seconds)
        policies = [
            policy for name in parents for policy in records(f"_dmarc.{name}", "TXT", seconds)
        ]
    except OSError:
        yield note("sender", f"DNS does not answer; MX, SPF and DMARC of {domain} not checked")
        return

    if any(record.endswith(" .") for record in mx):  # RFC 7505
        message = f"{domain} accepts no mail, so bounces and replies get lost"
        yield Finding("MX", f"{message}; fix its MX record or MAIL_FROM", exit_code=1)
        return

    has_spf = any(record.lower().startswith('"v=spf1') for record in texts)
    has_dmarc = any(policy.lower().startswith('"v=dmarc1') for policy in policies)
    no_mx = "bounces and replies get lost; add one, or fix MAIL_FROM"
    no_spf = (
        "many servers distrust mail without it; publish the record that your mail provider names"
    )
    no_dmarc = (
        f'large providers want one; publish the TXT record "v=DMARC1; p=none" at _dmarc.{domain}'
    )
    for kind, has_record, why in (
        ("MX", bool(mx), no_mx),
        ("SPF", has_spf, no_spf),
        ("DMARC", has_dmarc, no_dmarc),
    ):
        if has_record:
            yield Finding(kind, f"{domain} has a record")
        else:
            yield note(kind, f"{domain} has no record: {why}")


def records(name: str, kind: str, seconds: float = DNS_SECONDS) -> list[str]:
    """Return a name's DNS records of one kind, as in a zone file. They are untrusted: never quote them.

    Raises OSError if DNS does not answer.
    """
    from dns import exception, resolver  # most commands need no DNS

    try:
        return [record.to_text() for record in resolver.resolve(f"{name}.", kind, lifetime=seconds)]
    except (resolver.NXDOMAIN, resolver.NoAnswer):
        return []
    except exception.DNSException as error:
        raise OSError from error
