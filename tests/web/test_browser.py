"""The whole way in a real Chromium, behind a real nginx with TLS and the manual's line: what a reader's click does, and
what a scanner's script does not.
"""

from __future__ import annotations

import contextlib
import http.client
import re
import socket
import sqlite3
import ssl
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest
import trustme
from waitress import wasyncore

from paperboy.web.server import server
from tests.features.signups.test_pages import OPEN, listed, work
from tests.features.votes.test_pages import ONE, TWO, votes
from tests.mail import browser
from tests.mail.browser import Browser
from tests.mail.test_look import AXE, SCHEMES, STANDARDS, VIOLATIONS, needs_axe
from tests.servers import nginx
from tests.servers.nginx import HOST, Nginx
from tests.web.conftest import WEB_URL, Web

LACKS = browser.missing() or nginx.missing()
pytestmark = pytest.mark.skipif(bool(LACKS), reason=f"{LACKS}; .ci/run installs it")


@dataclass
class Walk:
    web: Web
    proxy: Nginx
    authority: trustme.CA
    window: Browser

    def heading(self) -> str:
        found: str = self.window.run("return document.querySelector('h1').textContent")
        return found

    def links(self) -> list[str]:
        """Every link into the room of the newest mail, also those of its headers."""
        return list(dict.fromkeys(re.findall(rf"{re.escape(WEB_URL)}/[^\s\"<>]*", self.web.mail())))


@contextlib.contextmanager
def running(web: Web) -> Iterator[int]:
    """The port of the room, in a thread of this process: it has the home's clock."""
    serving: Any = server(web.site, "127.0.0.1", 0)
    thread = threading.Thread(target=serving.run)
    thread.start()
    try:
        yield serving.effective_port
    finally:
        serving.trigger.pull_trigger(lambda: wasyncore.close_all(serving._map, ignore_all=True))
        thread.join(60)
        serving.task_dispatcher.shutdown()


@pytest.fixture
def walk(web: Web) -> Iterator[Walk]:
    web.world.write(
        "subscribers.yaml",
        OPEN.replace("    open: true\n", "    open: true\n    archive: public\n"),
    )
    authority = trustme.CA()
    with running(web) as port, Nginx(int(port), authority) as proxy:
        rules = f"--host-resolver-rules=MAP {HOST}:443 127.0.0.1:{proxy.port}, MAP * ~NOTFOUND"
        with browser.browser(rules, "--ignore-certificate-errors") as window:
            yield Walk(web, proxy, authority, window)


@pytest.mark.parametrize("scripts", [True, False])
def test_reader_leaves_by_the_page_and_comes_back(walk: Walk, *, scripts: bool) -> None:
    window = walk.window
    window.scripts(run=scripts)
    window.open(walk.web.link("leave/"))
    assert walk.heading() == "Unsubscribe from Foundations"
    window.click("button")
    assert walk.heading() == "Unsubscribed"
    assert "ada@example.org" in walk.web.run("status", "--suppressed").out
    window.click("button")
    assert walk.heading() == "Subscribed again"
    assert "ada@example.org" not in walk.web.run("status", "--suppressed").out
    token = walk.web.link("leave/").rpartition("/")[2]
    assert token not in walk.proxy.log


def test_reader_votes_for_two_papers_by_real_clicks(walk: Walk) -> None:
    walk.window.scripts(run=False)
    walk.window.open(f"{walk.web.link('vote/')}/up/{ONE}")
    walk.window.click(f"input[name='{TWO}'][value=down]", loads=False)
    assert votes(walk.web, ONE).up == 0
    walk.window.click(".save button")
    assert (votes(walk.web, ONE).up, votes(walk.web, TWO).down) == (1, 1)


def test_stranger_signs_up_by_real_clicks(walk: Walk) -> None:
    window = walk.window
    web = walk.web
    window.open(f"{WEB_URL}/list/foundations/join")
    window.click("#address", loads=False)
    window.type("emmy@wren.edu")
    window.click("form button")
    assert work(web) == ["emmy@wren.edu"]
    window.open(web.link("confirm/", "emmy@wren.edu"))
    assert "emmy@wren.edu" not in listed(web)
    window.click("button")
    assert walk.heading() == "Subscribed"
    work(web)
    assert "- emmy@wren.edu" in listed(web)


SUBMITS = """
const form = document.forms[arguments[0]], button = form.querySelector('button');
for (const radio of form.querySelectorAll('[value=up]')) radio.click();
for (const input of form.querySelectorAll('[type=email]')) input.value = 'robot@example.org';
setTimeout([() => form.submit(), () => form.requestSubmit(), () => button.click()][arguments[1]], 0);
"""


def kept(web: Web) -> list[list[tuple[object, ...]]]:
    with contextlib.closing(sqlite3.connect(web.world.path / "data" / "paperboy.db")) as database:
        tables = ("suppressions", "votes", "signups")
        return [database.execute(f"select * from {table}").fetchall() for table in tables]  # noqa: S608


def test_scanner_that_follows_links_and_runs_scripts_changes_nothing(walk: Walk) -> None:
    """It fetches every link of a mail, submits every form by script, and clicks every button by script."""
    before = kept(walk.web)
    window = walk.window
    pages = [*walk.links(), f"{WEB_URL}/list/foundations/join"]
    assert len(pages) > 6
    submitted = 0
    for page in pages:
        window.open(page)
        forms = window.run("return document.forms.length")
        for form in range(forms):
            if window.run("return document.forms[arguments[0]].method", form) != "post":
                continue
            for way in range(3):
                window.open(page)
                window._events.clear()
                window.run(SUBMITS, form, way)
                window._loaded()
                submitted += 1
    assert submitted > 12
    assert kept(walk.web) == before


def test_mail_program_unsubscribes_by_one_click(walk: Walk) -> None:
    """As Gmail does it (RFC 8058): a POST to the header's URI over TLS, without cookies or Fetch Metadata."""
    header = re.findall(r"List-Unsubscribe: <(https:[^>]*)>", walk.web.mail())[0]
    assert "List-Unsubscribe-Post: List-Unsubscribe=One-Click" in walk.web.mail()
    context = ssl.create_default_context()
    walk.authority.configure_trust(context)
    connection = http.client.HTTPSConnection(HOST, context=context, timeout=30)
    raw = socket.create_connection(("127.0.0.1", walk.proxy.port), timeout=30)
    connection.sock = context.wrap_socket(raw, server_hostname=HOST)
    headers = {
        "Content-Type": "application/x-www-form-urlencoded",
        "User-Agent": "Google-Gmail-Unsubscribe",
    }
    connection.request("POST", header.removeprefix(WEB_URL), b"List-Unsubscribe=One-Click", headers)
    response = connection.getresponse()
    assert (response.status, response.headers["Set-Cookie"]) == (200, None)
    connection.close()
    assert "ada@example.org" in walk.web.run("status", "--suppressed").out


@needs_axe
def test_every_page_of_the_way_fits_and_axe_finds_no_violation(walk: Walk) -> None:
    """Behind the proxy, under the room's own policy, which lets no script of a page run."""
    leave = walk.web.link("leave/")
    digest = walk.web.link("digest/")
    pages = [
        leave,
        digest,
        walk.web.link("vote/"),
        f"{WEB_URL}/list/foundations/join",
        f"{WEB_URL}/nowhere",
    ]
    for page in pages:
        walk.window.open(page)
        walk.window.run(AXE.read_text("utf-8") + "; window.axe = axe")
        for scheme in SCHEMES:
            for width in (360, 1_000):
                walk.window.resize(width, scheme)
                assert walk.window.run("return document.documentElement.scrollWidth") == width, page
                found = walk.window.run(VIOLATIONS, STANDARDS, [])
                assert found == [], f"{page}: {found}"
