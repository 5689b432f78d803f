"""The settings and list keys that belong to a feature, all of which are read whether it is there or
not.
"""

from collections.abc import Iterator
from dataclasses import fields

from paperboy.home.settings import Settings
from paperboy.models import MailingList

_FEATURES = {
    "CLUSTER": "cluster",
    "DKIM_KEY": "dkim",
    "DKIM_SELECTOR": "dkim",
    "LLM_SHORTLIST": "learning",
    "archive": "archive",
    "open": "signups",
    "webhook": "webhooks",
    "webhook_format": "webhooks",
}


def needed(*read: Settings | MailingList) -> Iterator[tuple[str, str]]:
    """Yield each that is set, and the feature that it belongs to."""
    for values in read:
        for option in fields(values):
            name = option.name if isinstance(values, MailingList) else option.name.upper()
            if name in _FEATURES and getattr(values, option.name) != option.default:
                yield name, _FEATURES[name]
