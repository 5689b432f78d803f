"""The rule of three: an address that did not exist for three digests in a row is suppressed."""

from datetime import datetime

from paperboy.store import Store

THRICE = "it did not exist for three digests in a row"


def suppress_bounced(store: Store, now: datetime) -> tuple[str, ...]:
    """Suppress these addresses, and return them."""
    found = store.ledger.bounced_thrice()
    with store.transaction():
        for address, reply in found:
            store.suppressions.add(address, "", f"{THRICE}: {reply}", now, by="bounces")
    return tuple(address for address, _ in found)
