"""Addresses in what is read by others than their owners. Pure."""

from __future__ import annotations

import re

_ADDRESS = re.compile(r"[^\s<>()\[\]{}\"',;:@]+@[^\s<>()\[\]{}\"',;:@]+")


def masked(address: str) -> str:
    """An address for a log: whose it is stays private, which server it is on does not."""
    local, _, domain = address.rpartition("@")
    return f"{local[:1]}…@{domain}"


def without_addresses(text: str) -> str:
    """The text with each address in it masked."""
    return _ADDRESS.sub(lambda found: masked(found[0]), text)


def without(text: str, address: str) -> str:
    """The text without this address and any other, also where a server names but the part before the @."""
    local = address.rpartition("@")[0]
    alone = rf"(?<![\w.+-]){re.escape(local)}(?![\w+-]|\.\w)" if len(local) > 2 else r"(?!)"
    return re.sub(alone, f"{local[:1]}…", without_addresses(text), flags=re.IGNORECASE)
