"""Tokens in links and mails: keyed hashes of 128 bits. Each purpose has its own word in the hash,
so that no token serves another.

A token reveals no address; only the store can look it up.
"""

import hmac
from datetime import date, datetime

_DIGITS = 32


def keyed(secret: bytes, *fields: str) -> str:
    """Return the keyed hash of the fields: 64 hexadecimal digits."""
    return hmac.digest(secret, "\0".join(fields).encode(), "sha256").hex()


def unsubscribe_token(list_name: str, address: str, secret: bytes) -> str:
    """Return the token that unsubscribes an address: 32 hexadecimal digits, as all tokens."""
    return keyed(secret, "unsubscribe", list_name, address)[:_DIGITS]


def vote_token(unsubscribe: str) -> str:
    """Return the token for a subscriber's votes, derived one-way from the unsubscribe token."""
    return keyed(unsubscribe.encode(), "vote")[:_DIGITS]


def signup_token(list_name: str, address: str, at: datetime, secret: bytes) -> str:
    """Return the token that confirms one request to sign up."""
    return keyed(secret, "sign up", list_name, address.lower(), at.isoformat())[:_DIGITS]


def view_token(list_name: str, day: date, secret: bytes) -> str:
    """Return the token of a digest's page, the same for all readers."""
    return keyed(secret, "view", list_name, day.isoformat())[:_DIGITS]
