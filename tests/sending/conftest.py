"""TLS contexts of a mail server and of a client that trusts it, made once for all tests."""

from __future__ import annotations

import ssl

import pytest

from tests.servers.smtp import certificates

Contexts = tuple[ssl.SSLContext, ssl.SSLContext]


@pytest.fixture(scope="session")
def contexts() -> Contexts:
    return certificates()
