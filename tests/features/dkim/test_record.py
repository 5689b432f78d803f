"""What the check says of the key that the sender's domain publishes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from paperboy.features.dkim.signer import check
from tests.fakes import app_at
from tests.features.dkim.test_signer import make, record
from tests.servers.dns import DnsServer
from tests.service.test_check import NOON, ask, home, write_env

__all__ = ["ask", "home"]  # fixtures, for these tests, too


@pytest.mark.parametrize("signs", [False, True], ids=["the relay signs", "signed here"])
def test_key_of_the_selector_is_looked_up(
    home: Path, ask: Callable[[DnsServer], None], tmp_path: Path, *, signs: bool
) -> None:
    key = make(tmp_path)
    other = make(tmp_path, 1100)
    own = {"DKIM_KEY": key} if signs else {}
    write_env(
        home, SMTP_HOST="127.0.0.1", MAIL_FROM="papers@wren.edu", DKIM_SELECTOR="s2026", **own
    )
    name = "s2026._domainkey.wren.edu"
    found = list[tuple[str, int, bool]]()
    for records in ([], ['"v=DKIM1; p="'], [record(other)], [record(key)]):
        with DnsServer({f"{name} TXT": records}) as server:
            ask(server)
            with app_at(home, lambda: NOON) as app:
                (said,) = check(app)
        found.append((said.message, said.exit_code, said.note))
    none = f"{name} has no key: fix DKIM_SELECTOR, or publish the record that your relay or signing service names"
    wrong = f"{name} does not match DKIM_KEY, so every signature is wrong; publish the public half of DKIM_KEY"
    assert found == [
        (none, int(signs), not signs),
        (none, int(signs), not signs),
        (wrong, 1, False) if signs else (f"{name} has a key", 0, False),
        (f"{name} has {'the key of DKIM_KEY' if signs else 'a key'}", 0, False),
    ]
