"""DKIM signatures (RFC 6376), for senders without a relay that signs. RSA only: few servers verify
anything else.

dkimpy signs in pure Python, in some ten milliseconds a mail. By default it does not sign
List-Unsubscribe-Post, and then no mail program offers one-click unsubscribing (RFC 8058).
"""

from __future__ import annotations

import base64
import importlib
import re
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from paperboy.edges import files
from paperboy.errors import ConfigError, PaperboyError
from paperboy.home.settings import Settings
from paperboy.service.app import App
from paperboy.service.feature import Finding, note
from paperboy.service.probes import records, sender_domain

_MADE_BY = "openssl genrsa 2048 makes one"
_COVERED = (  # From twice, so that nobody can add another
    b"from", b"from", b"to", b"reply-to", b"subject", b"date", b"message-id", b"mime-version", b"content-type",
    b"content-transfer-encoding", b"list-id", b"list-help", b"list-owner", b"list-post", b"list-unsubscribe",
    b"list-unsubscribe-post", b"feedback-id", b"auto-submitted",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class DkimSigner:
    """Signer for a domain, with the key of a selector."""

    domain: str
    selector: str
    key: bytes = field(repr=False)  # PEM

    @classmethod
    def load(cls, path: Path, selector: str, domain: str) -> DkimSigner:
        """Read and check the key. Raises ConfigError."""
        try:
            signer = cls(domain, selector, files.read(path, 100_000).replace(b"\r\n", b"\n"))
            _ = signer.modulus  # which reads the key
        except FileNotFoundError:
            raise _fault(f"there is no {path}; name the file with the private key") from None
        except ValueError as error:
            raise _fault(f"{path} {error}") from None
        return signer

    @property
    def modulus(self) -> int:
        """Return the key's modulus, which the record in DNS shares. Raises ValueError if this is
        no RSA key.
        """
        crypto = dkimpy("dkim.crypto")
        try:
            return int(crypto.parse_pem_private_key(self.key)["modulus"])
        except Exception:  # noqa: BLE001 - dkimpy raises whatever its parsers do
            raise ValueError(
                f"is not a private RSA key in PEM without a passphrase; {_MADE_BY}"
            ) from None

    def signed(self, message: bytes) -> bytes:
        """Return the message with its signature in front."""
        mail = dkimpy("dkim").DKIM(message)
        present = {name.lower() for name, _ in mail.headers}  # a relay may add the others
        signature: bytes = mail.sign(
            self.selector.encode(),
            self.domain.encode(),
            self.key,
            canonicalize=(b"relaxed", b"relaxed"),
            include_headers=[name for name in _COVERED if name in present],
        )
        return signature + message


def signer_of(settings: Settings) -> DkimSigner | None:
    """Return the signer that the settings name, or None if mail goes to the outbox or unsigned.
    Raises ConfigError.
    """
    if settings.dkim_key is None or settings.mail_from is None or settings.uses_outbox:
        return None
    domain = settings.mail_from.address.rpartition("@")[2]
    return DkimSigner.load(settings.dkim_key, settings.dkim_selector, domain)


def dkimpy(module: str) -> Any:
    """Import a module of the extra package. Raises ConfigError if it is not installed."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise _fault(
            f"signing needs one more package: {sys.executable} -m pip install 'dkimpy>=1.1.8,<2'"
        ) from error


def _fault(message: str) -> ConfigError:
    return ConfigError.at("DKIM_KEY", message)


# The record in DNS that holds the key of DKIM_SELECTOR


def check(app: App) -> list[Finding]:
    """Check that the domain publishes a key for the selector, and that this key signs here."""
    selector = app.settings.dkim_selector
    domain = sender_domain(app.settings)
    if not (selector and domain):
        return []
    name = f"{selector}._domainkey.{domain}"
    try:
        signer = signer_of(app.settings)
    except PaperboyError:  # `check` reports it on its own
        signer = None
    try:
        keys = list(filter(None, map(published, records(name, "TXT"))))
    except OSError:
        return [note("DKIM", f"DNS does not answer; {name} not checked")]

    if not keys:
        fix = "fix DKIM_SELECTOR, or publish the record that your relay or signing service names"
        missing = f"{name} has no key: {fix}"
        return [Finding("DKIM", missing, exit_code=1) if signer else note("DKIM", missing)]
    if signer and signer.modulus not in map(modulus, keys):
        message = f"{name} does not match DKIM_KEY, so every signature is wrong; publish the public half of DKIM_KEY"
        return [Finding("DKIM", message, exit_code=1)]
    return [Finding("DKIM", f"{name} has {'the key of DKIM_KEY' if signer else 'a key'}")]


def published(record: str) -> str:
    """Return the key in a TXT record as zone files have it, in strings split anywhere; empty if it
    was withdrawn.
    """
    text = "".join(re.findall(r'"((?:[^"\\]|\\.)*)"', record))
    key = re.search(r"(?:^|;)\s*p\s*=\s*([A-Za-z0-9+/][A-Za-z0-9+/=\s]*)", text)
    return re.sub(r"\s", "", key[1]) if key else ""


def modulus(key: str) -> int | None:
    """Return the modulus of a published key, or None if it is no RSA key."""
    try:
        return int(dkimpy("dkim.crypto").parse_public_key(base64.b64decode(key))["modulus"])
    except Exception:  # noqa: BLE001 - dkimpy raises whatever its parsers do
        return None
