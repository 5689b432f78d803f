"""How each reply of a webhook is taken, and that nobody sees the URL."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from datetime import UTC, date, datetime, timedelta
from functools import partial
from itertools import pairwise
from pathlib import Path
from socket import socket
from typing import Any

import pytest

from paperboy.features.webhooks import reports, rows
from paperboy.features.webhooks import work as webhook
from paperboy.features.webhooks.rows import KIND, Call
from paperboy.mail.archive import dump
from paperboy.models import Alert, Composed, Day, DeliveryState, MailingList, Outcome
from paperboy.reports.alerts import AlertReporter
from paperboy.service.tasks import attempt
from paperboy.store import Store
from tests.builders import digest, entries, mailing_list
from tests.cli.conftest import World, text_of, world
from tests.fakes import Clock
from tests.features.conftest import app_of
from tests.hostile.http import AT_ONCE, SLOW
from tests.hostile.talk import Talker
from tests.servers import chats
from tests.servers.hook import PATH, Hook
from tests.servers.smtp import Fault

__all__ = ["world"]  # a fixture

SRC = Path(__file__).parents[3] / "src"
NOW = datetime(2026, 11, 20, 7, tzinfo=UTC)
TODAY = date(2026, 11, 20)
MINUTE = timedelta(minutes=1)
HOUR = timedelta(hours=1)
DAY = timedelta(days=1)
SECRETS = ("T0ZEBRA", "B0WALRUS", "verysecrettoken")
OPERATOR = "ops@example.org"

LISTS = """\
lists:
  - name: foundations
    title: Foundations & more
    categories: [cs.LG]
    topics: learning
    subscribers: [ada@example.org]
    webhook: {url}
"""
WITHOUT_KEY = LISTS.replace("    webhook: {url}\n", "")


@pytest.fixture
def hook() -> Iterator[Hook]:
    with Hook() as serving:
        yield serving


# ---- how a reply is taken


def freeze(store: Store, composed: Composed, day: date = TODAY) -> None:
    """Freeze a day of a list that has a webhook."""

    app = app_of(store, Clock(NOW))
    of = mailing_list(webhook="https://hooks.example.org")
    whole = Day("foundations", day, Outcome.DIGEST, composed=composed)
    store.days.freeze(whole, NOW, lambda digest_id: rows.frozen(app, of, whole, digest_id, NOW))


def frozen(store: Store, of: MailingList | None = None, day: date = TODAY) -> None:
    """A digest of that day, whose list has a webhook."""
    made = digest(entries(3), mailing_list=of or mailing_list())
    freeze(store, Composed("3 new papers", "papers@example.org", b"mail", "l1nk", dump(made)), day)


def call(
    store: Store,
    url: str,
    clock: Clock | None = None,
    lists: Sequence[MailingList] | None = None,
    seconds: float = 10.0,
    **environ: str,
) -> Call:
    """Make the calls that are due; return what became of the newest one."""
    clock = clock or Clock(NOW)
    app = app_of(
        store, clock, *([mailing_list(webhook=url)] if lists is None else lists), **environ
    )
    for task in store.tasks.due(KIND, clock()):
        attempt(app, task, partial(webhook.work, seconds=seconds), lambda: False)
    return newest(store)


def newest(store: Store) -> Call:
    return rows.newest(store.database, ["foundations"])["foundations"]


def alerts(store: Store, url: str) -> list[Alert]:
    """What the operator is to be told."""
    app = app_of(store, Clock(NOW), mailing_list(webhook=url))
    planner = AlertReporter(store=store, lists=app.home.lists, words=reports.words(), zone=UTC)
    return [mail.alert for mail in planner.plan([*reports.problems(app)], NOW)]


@pytest.mark.parametrize("status", [200, 204])
def test_success_is_settled_and_never_told_again(store: Store, hook: Hook, status: int) -> None:
    hook.statuses = [status]
    hook.body = b""
    frozen(store)
    assert call(store, hook.url).state is DeliveryState.SENT
    assert store.tasks.next_try(KIND) is None
    (request,) = hook.told
    assert request.path == PATH
    assert request.headers["Content-Type"] == "application/json"


@pytest.mark.parametrize("status", [308, 400, 403, 410])
def test_refusal_fails_for_good_at_once_and_is_one_alert(
    store: Store, hook: Hook, status: int
) -> None:
    hook.statuses = [status]
    hook.body = b"no_service"
    hook.headers = {"Location": "/elsewhere"}
    frozen(store)
    found = call(store, hook.url)
    assert [request.path for request in hook.told] == [PATH]
    assert (found.state, found.reply) == (DeliveryState.FAILED, f"HTTP {status} (no_service)")
    assert (found.attempts, found.at, found.try_at) == (1, NOW, None)
    assert store.tasks.next_try(KIND) is None
    (alert,) = alerts(store, hook.url)
    assert alert.headline == "The webhook of foundations did not receive a digest"
    assert alert.paragraphs[0] == f"The reason: HTTP {status} (no_service)."
    assert "Mail is not affected" in alert.paragraphs[1]


@pytest.mark.parametrize("status", [408, 425, 429, 503])
def test_temporary_refusal_is_tried_again(store: Store, hook: Hook, status: int) -> None:
    hook.statuses = [status]
    frozen(store)
    found = call(store, hook.url)
    assert (found.state, found.try_at) == (DeliveryState.PENDING, NOW + 5 * MINUTE)
    assert found.reply == f"HTTP {status} (ok)"
    assert [request.path for request in hook.told] == [PATH]
    assert alerts(store, hook.url) == []


SERVICES = {
    "telegram": (chats.telegram, chats.TELEGRAM),
    "feishu": (chats.feishu, chats.FEISHU),
    "ntfy": (chats.ntfy, chats.NTFY),
    "teams": (chats.teams, chats.TEAMS),
}


def call_service(store: Store, hook: Hook, form: str, path: str) -> Call:
    of = mailing_list(webhook=hook.url.removesuffix(PATH) + path, webhook_format=form)
    return call(store, "", lists=[of])


@pytest.mark.parametrize("form", SERVICES)
def test_service_takes_what_it_is_sent(store: Store, hook: Hook, form: str) -> None:
    """By the rules that its documentation names."""
    hook.service, path = SERVICES[form]
    frozen(store)
    assert call_service(store, hook, form, path).reply.startswith("HTTP 20")
    assert newest(store).state is DeliveryState.SENT
    assert [request.path for request in hook.told] == [path]


NO_CHAT = {"ok": False, "error_code": 400, "description": "Bad Request: no chat"}
NO_KEYWORD = {"code": 19024, "msg": "Key Words Not Found", "data": {}}
FORBIDDEN = {"code": 40301, "http": 403, "error": "forbidden", "link": "https://ntfy.sh/docs"}


@pytest.mark.parametrize(
    ("form", "status", "reply", "words"),
    [
        ("telegram", 400, NO_CHAT, "Bad Request: no chat"),
        ("telegram", 200, NO_CHAT, "Bad Request: no chat"),
        ("feishu", 200, NO_KEYWORD, "19024: Key Words Not Found"),
        ("ntfy", 403, FORBIDDEN, "forbidden"),
    ],
)
def test_error_of_a_service_is_a_failure_in_its_words(
    store: Store, hook: Hook, form: str, status: int, reply: dict[str, Any], words: str
) -> None:
    """Feishu sends its errors with the status 200."""
    hook.service = lambda _: (status, json.dumps(reply).encode())
    frozen(store)
    found = call_service(store, hook, form, SERVICES[form][1])
    assert (found.state, found.reply) == (DeliveryState.FAILED, f"HTTP {status} ({words})")


def test_service_that_is_busy_is_tried_again(store: Store, hook: Hook) -> None:
    """Feishu's rate limit may come with the status 200."""
    hook.service = lambda _: (200, b'{"code": 11232, "msg": "frequency limited"}')
    frozen(store)
    found = call_service(store, hook, "feishu", chats.FEISHU)
    assert (found.state, found.try_at) == (DeliveryState.PENDING, NOW + 5 * MINUTE)
    assert found.reply == "HTTP 200 (11232: frequency limited)"


def test_error_of_a_service_does_not_repeat_the_url(store: Store, hook: Hook) -> None:
    said = f"no bot at {chats.TELEGRAM}, no chat {chats.CHAT}"
    hook.service = lambda _: (404, json.dumps({"ok": False, "description": said}).encode())
    frozen(store)
    found = call_service(store, hook, "telegram", chats.TELEGRAM)
    assert found.state is DeliveryState.FAILED
    assert not re.search(f"zebra|secret|{chats.CHAT}", found.reply, re.IGNORECASE)


@pytest.mark.parametrize("kind", [*AT_ONCE, *SLOW])
def test_hostile_reply_leaves_one_clean_line_without_the_url(store: Store, kind: str) -> None:
    body = f"\x1b[31m{PATH} verysecrettoken\r\n \u202e".encode() * 30

    def talk(talker: Talker, sock: socket) -> None:
        sock.recv(65_536)
        talker.say(sock, {**AT_ONCE, **SLOW}[kind](body, "text/plain"))

    frozen(store)
    with Talker(talk) as talker:
        found = call(store, f"http://127.0.0.1:{talker.port}{PATH}", seconds=0.3)
    assert found.reply.startswith("HTTP ") or found.state is DeliveryState.PENDING
    assert found.reply.startswith(("HTTP ", "no reply: "))
    assert found.reply.isprintable()
    assert len(found.reply) <= 80
    assert [secret for secret in SECRETS if secret.lower() in found.reply.lower()] == []


def test_call_goes_through_the_proxy(store: Store, hook: Hook) -> None:
    frozen(store)
    proxy = hook.url.removesuffix(PATH)
    found = call(store, f"https://hooks.example.org{PATH}", HTTPS_PROXY=proxy)
    assert "Tunnel connection failed: 501" in found.reply  # this server is no proxy, and says so


def test_retries_come_less_and_less_often_for_three_days(store: Store, hook: Hook) -> None:
    """Then it has failed for good, and the operator is told."""
    clock = Clock(NOW)
    tries = list[timedelta]()
    hook.statuses = [500]
    hook.on_request = lambda: tries.append(clock.now - NOW)
    frozen(store)
    while store.tasks.next_try(KIND):
        found = call(store, hook.url, clock=clock)
        assert not store.tasks.due(KIND, clock.now), "a hot loop"
        clock.now = found.try_at or clock.now
    gaps = [(later - earlier) // MINUTE for earlier, later in pairwise(tries)]
    assert gaps[:7] == [5, 10, 20, 40, 80, 160, 240]
    assert set(gaps[7:]) == {240}
    assert 3 * DAY - 4 * HOUR <= tries[-1] < 3 * DAY
    assert found.reply == "given up after three days; HTTP 500 (ok)"
    (alert,) = alerts(store, hook.url)
    assert "given up after three days" in alert.paragraphs[0]


@pytest.mark.parametrize("lists", [[], [mailing_list()]], ids=["no list", "no key"])
def test_webhook_that_is_gone_is_not_called_and_no_alert(
    store: Store, hook: Hook, lists: list[MailingList]
) -> None:
    frozen(store)
    with pytest.raises(KeyError):  # the call is gone
        call(store, hook.url, lists=lists)
    assert hook.told == []
    assert store.tasks.next_try(KIND) is None
    assert alerts(store, hook.url) == []


def test_superseded_digest_is_not_told_and_no_alert(store: Store, hook: Hook) -> None:
    """Its papers come with a later one."""
    frozen(store, day=TODAY - DAY)
    with store.transaction():
        store.database.execute("update messages set superseded = at")
    frozen(store)
    call(store, hook.url)
    assert [request.json["date"] for request in hook.told] == ["2026-11-20"]
    assert store.tasks.next_try(KIND) is None
    assert alerts(store, hook.url) == []


def test_call_that_meets_a_bug_is_tried_again_later_and_delays_no_other(
    store: Store, hook: Hook
) -> None:
    freeze(store, Composed("3 new papers", "papers@example.org", b"mail", shown=b'{"entries": 7}'))
    frozen(store, day=TODAY + DAY)
    with pytest.raises(TypeError):
        call(store, hook.url)
    assert call(store, hook.url).state is DeliveryState.SENT
    assert store.tasks.next_try(KIND) == NOW + 5 * MINUTE


# ---- in a home


@pytest.fixture
def home(world: World, hook: Hook) -> World:
    world.write("subscribers.yaml", LISTS.format(url=hook.url))
    world.env(ALERT_TO=OPERATOR)
    world.announce(1, 2)
    return world


def alerted(world: World) -> str:
    """All mails to the operator, subject and text."""
    return "\n".join(f"{mail['Subject']}\n{text_of(mail)}" for mail in world.messages(OPERATOR))


def test_digest_is_told_to_its_webhook_with_the_page_where_there_is_one(
    home: World, hook: Hook
) -> None:
    home.env(WEB_URL="https://papers.example.org")
    assert home.run("once").code == 0
    (found,) = [request.json for request in hook.told]
    assert found["title"] == "Foundations & more"
    assert len(found["papers"]) == 2
    with home.store() as store:
        archived = store.history.digest("foundations", TODAY)
        assert archived
        assert found["url"] == f"https://papers.example.org/digest/{archived.link}"


@pytest.mark.parametrize("form", SERVICES)
def test_list_may_name_each_service(home: World, hook: Hook, form: str) -> None:
    hook.service, path = SERVICES[form]
    url = hook.url.removesuffix(PATH) + path
    home.write("subscribers.yaml", f"{LISTS.format(url=url)}    webhook_format: {form}\n")
    ran = home.run("once")
    assert ran.code == 0
    assert "foundations: posted the digest of 2026-11-20 to the webhook at 127.0.0.1" in ran.err
    assert not re.search(r"zebra|secret|Zk7Lw2Qp|5ec7e700", ran.out + ran.err, re.IGNORECASE)
    assert len(hook.told) == 1


def test_failed_webhook_is_said_and_changes_neither_mail_nor_exit_code(
    home: World, hook: Hook
) -> None:
    hook.statuses = [403]
    ran = home.run("once")
    assert ran.code == 0
    assert (
        "foundations: posting the digest of 2026-11-20 to the webhook at 127.0.0.1 failed: HTTP 403 (ok)"
        in ran.err
    )
    assert home.mails() == ["ada@example.org", OPERATOR]
    assert "The webhook of foundations did not receive a digest" in alerted(home)


def test_status_shows_the_last_reply_and_the_next_try(home: World, hook: Hook) -> None:
    hook.statuses = [500, 403]
    home.run("once")
    assert "foundations, Fri 20 Nov: webhook: HTTP 500 (ok)\n" in home.run("status").out
    (found,) = home.json("status")["lists"]
    assert found["webhook"] == {
        "date": "2026-11-20",
        "state": "pending",
        "reply": "HTTP 500 (ok)",
        "attempts": 1,
        "at": "2026-11-20T07:00:00+00:00",
        "next_try": "2026-11-20T07:05:00+00:00",
    }
    home.clock.now += HOUR
    home.run("once")
    said = home.run("status").out
    assert "foundations, Fri 20 Nov: webhook: failed, HTTP 403 (ok)\n" in said
    assert "The webhook of foundations did not receive a digest (since" in said


@pytest.mark.parametrize("waits", [False, True])
def test_alert_is_forgotten_when_the_key_is_removed(
    home: World, hook: Hook, *, waits: bool
) -> None:
    """No second mail comes of it, and one that waits is withdrawn."""
    hook.statuses = [403]
    if waits:
        home.smtp.faults.append(Fault("RCPT", "450 4.2.0 later", address=OPERATOR, times=1))
    home.run("once")
    home.write("subscribers.yaml", WITHOUT_KEY)
    assert "webhook" not in home.run("status").out
    home.run("once")
    assert home.mails() == ["ada@example.org"] + [OPERATOR] * (not waits)


def test_url_is_in_no_log_error_status_or_mail(home: World, hook: Hook) -> None:
    """Also where the server repeats it, as some do."""
    home.env(ALERT_TO=OPERATOR, LOG_LEVEL="DEBUG")
    hook.statuses = [500, 404]
    hook.body = f"no hook at {PATH}: verysecrettoken of T0ZEBRA/B0WALRUS".encode()
    said = ""
    for command in ("once", "status", "status --json") * 2 + ("check",):
        ran = home.run(*command.split())
        said += ran.out + ran.err
        home.clock.now += HOUR
    said += alerted(home)
    with home.store() as store:
        said += repr(rows.newest(store.database, ["foundations"])) + repr(store.alerts.all())
        said += repr(store.database.rows("select * from tasks")) + repr(store.incidents.all())
    assert len(hook.told) == 2
    assert "HTTP 404 (no hook at" in said
    assert [secret for secret in SECRETS if secret.lower() in said.lower()] == []


@pytest.mark.long("kills a service")
def test_kill_while_the_webhook_is_told_repeats_that_call_once(home: World, hook: Hook) -> None:
    """Nothing else is repeated: the mail went out before, and the digest is the same."""
    home.clock.now = datetime.now(UTC)  # the process that is killed has the real clock
    home.announce(3)
    environ = {**os.environ, "PYTHONPATH": str(SRC)}
    command = [sys.executable, "-m", "paperboy", "--home", str(home.path), "once", "--all"]
    hook.on_request = lambda: os.kill(process.pid, signal.SIGKILL)
    hook.silent = True
    process = subprocess.Popen(
        command, env=environ, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
    )
    _, said = process.communicate(timeout=300)
    assert process.returncode == -signal.SIGKILL, said.decode()
    hook.on_request = lambda: None
    hook.silent = False
    with home.store() as store:
        left = newest(store)
        assert (left.state, left.attempts, left.reply) == (DeliveryState.PENDING, 1, "")
        assert left.try_at
    home.clock.now = left.try_at + MINUTE
    for _ in range(3):
        home.run("once")
        home.clock.now += HOUR
    first, second = hook.told
    assert first.body == second.body
    assert home.mails() == ["ada@example.org"]
