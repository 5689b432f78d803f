"""The record in DNS that holds the key of DKIM_SELECTOR."""

import base64
import re

from paperboy.errors import PaperboyError
from paperboy.features.dkim.signer import Signer, dkimpy
from paperboy.service.app import App
from paperboy.service.check import Finding, note, records, sender_domain


def look(app: App) -> list[Finding]:
    """Return whether the selector has a key, and the one that signs here."""
    selector, domain = app.settings.dkim_selector, sender_domain(app.settings)
    if not (selector and domain):
        return []
    name = f"{selector}._domainkey.{domain}"
    try:
        signer = Signer.of(app.settings)
    except PaperboyError:  # a finding of its own
        signer = None
    try:
        keys = list(filter(None, map(published, records(name, "TXT"))))
    except OSError:
        return [note("DKIM", f"DNS does not answer; {name} not checked")]
    if not keys:
        fix = "fix DKIM_SELECTOR, or publish the record that whoever signs your mail names"
        return [Finding("DKIM", f"{name} has no key: {fix}", int(signer is not None), note=signer is None)]
    if signer and signer.modulus not in map(modulus, keys):
        message = f"{name} has another key than DKIM_KEY, so every signature is wrong; publish its public half"
        return [Finding("DKIM", message, exit_code=1)]
    return [Finding("DKIM", f"{name} has {'the key of DKIM_KEY' if signer else 'a key'}")]


def published(record: str) -> str:
    """The key in a TXT record as a zone file has it, in strings that may end anywhere; empty: it was withdrawn."""
    text = "".join(re.findall(r'"((?:[^"\\]|\\.)*)"', record))
    found = re.search(r"(?:^|;)\s*p\s*=\s*([A-Za-z0-9+/][A-Za-z0-9+/=\s]*)", text)
    return re.sub(r"\s", "", found[1]) if found else ""


def modulus(key: str) -> int | None:
    """Of a public key, as it is published; None: it is no RSA key."""
    try:
        return int(dkimpy("dkim.crypto").parse_public_key(base64.b64decode(key))["modulus"])
    except Exception:  # noqa: BLE001 - dkimpy raises whatever its parsers do
        return None
