"""A home whose readers have had their mail, and the site that serves it, asked without a socket."""

from __future__ import annotations

import email
import email.policy
import re
from collections.abc import Iterator
from dataclasses import dataclass

import pytest
from werkzeug.test import Client, TestResponse
from werkzeug.wrappers import Response

from paperboy.home.versions import Files, Fingerprint
from paperboy.store import Store
from paperboy.web.site import Site
from tests.cli.conftest import Ran, World, world
from tests.fakes import app_at
from tests.servers.smtp_sink import free_port
from tests.web.served import Served

__all__ = ["world"]  # the fixture, for these tests, too

WEB_URL = "https://papers.example.org"
CLICK = {"Sec-Fetch-Site": "same-origin", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-User": "?1"}
SCRIPT = {"Sec-Fetch-Site": "same-origin", "Sec-Fetch-Mode": "navigate"}  # what form.submit() sends


@dataclass
class Web:
    """The readers' side of a home, where every edit has rested."""

    world: World
    _made: tuple[Fingerprint, Site] | None = None  # at once, for the threads that ask

    @property
    def site(self) -> Site:
        files = Files(self.world.path).fingerprint()
        if self._made is None or self._made[0] != files:
            site = Site(app_at(self.world.path, self.world.clock, self.world.environ))
            self._made = files, site
        return self._made[1]

    def get(self, path: str, **options: object) -> TestResponse:
        """Follow a link: one that begins with WEB_URL, or a path."""
        return Client(self.site, Response).get(path.removeprefix(WEB_URL), **options)  # type: ignore[arg-type]

    def post(self, path: str, **options: object) -> TestResponse:
        """Press a button, as a person does."""
        options = {"headers": CLICK} | options
        return Client(self.site, Response).post(path.removeprefix(WEB_URL), **options)  # type: ignore[arg-type]

    def run(self, *arguments: str) -> Ran:
        return self.world.run(*arguments)

    def mail(self, address: str = "ada@example.org") -> str:
        """The newest mail to somebody: headers, text and HTML, decoded."""
        found = [sent for sent in self.world.smtp.messages if sent.recipient == address][-1]
        parsed = email.message_from_bytes(found.content, policy=email.policy.default)
        parts = [part.get_content() for part in parsed.walk() if not part.is_multipart()]
        return "\n".join([*(f"{name}: {value}" for name, value in parsed.items()), *parts])

    def link(self, pattern: str, address: str = "ada@example.org") -> str:
        """The first link of the newest mail to somebody whose path begins like that."""
        return re.findall(rf"{re.escape(WEB_URL)}/{pattern}[^\s\"<>]*", self.mail(address))[0]

    def store(self) -> Store:
        return Store.open(self.world.path / "data" / "paperboy.db")


@pytest.fixture
def web(world: World) -> Web:
    """A morning has sent its digests: three papers to foundations, none to galaxies."""
    world.env(WEB_URL=WEB_URL)
    world.announce(1, 2, 3)
    assert world.run("once", "--list", "foundations").code == 0
    return Web(world)


@pytest.fixture
def served(web: Web) -> Iterator[Served]:
    """The same home, and its room in a process of its own."""
    port = free_port()
    web.world.env(WEB_URL=WEB_URL, WEB_LISTEN=f"127.0.0.1:{port}")
    with Served(web.world.path, port) as room:
        yield room
