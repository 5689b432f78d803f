"""The tokens in links and mails: keyed hashes of 128 bits, one word for each purpose, so that none
stands for another.

They name nobody by themselves: the store knows whom.
"""

import hmac
from datetime import date, datetime

_DIGITS = 32


def keyed(secret: bytes, *fields: str) -> str:
    """Return the keyed hash of the fields: 64 hexadecimal digits."""
    return hmac.digest(secret, "\0".join(fields).encode(), "sha256").hex()


def unsubscribe_token(list_name: str, address: str, secret: bytes) -> str:
    """Name list and subscriber on their way out of the list: 32 hexadecimal digits, as all
    tokens.
    """
    return keyed(secret, "unsubscribe", list_name, address)[:_DIGITS]


def vote_token(unsubscribe: str) -> str:
    """Name list and subscriber where they vote: made from their token of the way out, and not the
    other way round.
    """
    return keyed(unsubscribe.encode(), "vote")[:_DIGITS]


def signup_token(list_name: str, address: str, at: datetime, secret: bytes) -> str:
    """Name one request to sign up, in the mail that asks for its confirmation."""
    return keyed(secret, "sign up", list_name, address.lower(), at.isoformat())[:_DIGITS]


def view_token(list_name: str, day: date, secret: bytes) -> str:
    """Name a list's digest; nobody's own."""
    return keyed(secret, "view", list_name, day.isoformat())[:_DIGITS]
