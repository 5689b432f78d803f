"""Masks mail addresses in logs and reports. Pure."""

import re

_ADDRESS = re.compile(r"[^\s<>()\[\]{}\"',;:@]+@[^\s<>()\[\]{}\"',;:@]+")


def masked(address: str) -> str:
    """The address with its owner hidden and its server visible, as a…@example.org."""
    local, _, domain = address.rpartition("@")
    return f"{local[:1]}…@{domain}"


def without_addresses(text: str) -> str:
    """The text with every address masked."""
    return _ADDRESS.sub(lambda found: masked(found[0]), text)


def without(text: str, address: str) -> str:
    """The text with every address masked, and this one also where a server names only the part before the @."""
    local = address.rpartition("@")[0]
    alone = rf"(?<![\w.+-]){re.escape(local)}(?![\w+-]|\.\w)" if len(local) > 2 else r"(?!)"
    return re.sub(alone, f"{local[:1]}…", without_addresses(text), flags=re.IGNORECASE)
