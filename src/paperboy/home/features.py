"""Settings and list keys that belong to a feature. They are read even without the feature."""

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


def needed(*sources: Settings | MailingList) -> Iterator[tuple[str, str]]:
    """Yield the settings and keys that are set, each with the feature that it needs."""
    for source in sources:
        for option in fields(source):
            name = option.name if isinstance(source, MailingList) else option.name.upper()
            if name in _FEATURES and getattr(source, option.name) != option.default:
                yield name, _FEATURES[name]
