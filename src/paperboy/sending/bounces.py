"""The rule of three: an address that did not exist for three digests in a row is suppressed."""

from datetime import datetime

from paperboy.store import Store

THRICE = "it did not exist for three digests in a row"


def suppress_bounced(store: Store, now: datetime) -> tuple[str, ...]:
    """Suppress such addresses, and return them."""
    bounced = store.ledger.bounced_thrice()
    with store.transaction():
        for address, reply in bounced.items():
            store.suppressions.add(address, "", f"{THRICE}: {reply}", now, by="bounces")
    return tuple(bounced)
