"""The settings and list keys that belong to a feature, all of which are read whether it is there or not."""

from collections.abc import Iterator
from dataclasses import fields

from paperboy.home.settings import Settings
from paperboy.models import MailingList

_FEATURES = {
    "archive": "archive",
    "cluster": "cluster",
    "dkim_key": "dkim",
    "dkim_selector": "dkim",
    "llm_shortlist": "learning",
    "open": "signups",
    "webhook": "webhooks",
    "webhook_format": "webhooks",
}


def needed(*read: Settings | MailingList) -> Iterator[tuple[str, str]]:
    """Yield each that is set, and the feature that it belongs to."""
    for values in read:
        for option in fields(values):
            if option.name in _FEATURES and getattr(values, option.name) != option.default:
                is_key = isinstance(values, MailingList)
                yield option.name if is_key else option.name.upper(), _FEATURES[option.name]
