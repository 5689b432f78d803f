"""What comes back by mail: bounces, complaints and requests to leave, as `paperboy bounce` is given
them.

Takes no lock: each is one transaction, also while a morning sends.
"""

from datetime import datetime

from paperboy.features.bounces.complaints import no_more
from paperboy.features.bounces.returned import Bounce, Complaint, Request, read
from paperboy.sending.bounces import THRICE, suppress_bounced
from paperboy.store import Store
from paperboy.store.readers import Reader


def take(store: Store, mail: bytes, now: datetime) -> str:
    """Do what the mail asks for; return what was done, without an address."""
    said = read(mail)
    with store.transaction():  # whoever is forgotten at this moment stays so
        if isinstance(said, Bounce):
            return _bounced(store, said, now)

        if isinstance(said, Complaint):
            reader = store.readers.leaving(said.token) if said.token else None
            list_name = ""  # all: the token is the reader's own. A Message-ID goes along with every forwarded mail.
            if reader is None:
                delivery = store.ledger.by_message_id(said.message_id)
                if delivery is None:
                    return "left alone: a complaint about no mail that is known here"
                list_name = delivery.list_name
                reader = Reader(list_name, delivery.copy.subscriber.address)
            reason = f"called a mail of {reader.list_name} spam"
            store.suppressions.add(reader.address, list_name, reason, now, by="complaint")
            return f"{reader.list_name}: somebody called a mail spam, and {no_more(list_name)}"

        if isinstance(said, Request):
            reader = store.readers.leaving(said.token)
            if reader is None:
                return "left alone: an unsubscribe mail whose token is unknown"
            store.suppressions.add(
                reader.address, reader.list_name, "left by mail", now, by="reader"
            )
            return f"{reader.list_name}: somebody left by mail"
    return "left alone: it is no bounce, no complaint and no unsubscribe mail"


def _bounced(store: Store, bounce: Bounce, now: datetime) -> str:
    delivery = store.ledger.by_message_id(bounce.message_id)
    if delivery is None:
        return "left alone: a bounce of no mail that is known here"
    if not store.ledger.came_back(delivery, bounce.reply, now, gone=bounce.gone):
        return f"{delivery.list_name}: a bounce that is known already"
    third = f"; its address is suppressed, since {THRICE}" if suppress_bounced(store, now) else ""
    return f"{delivery.list_name}: a digest has bounced; its delivery counts as failed{third}"
