"""Optional features, one folder each. To leave one out, remove its line here and delete its
folder: everything else still runs.
"""

from collections.abc import Sequence
from importlib import import_module

from paperboy.service.feature import Feature

_FOLDERS = (  # in the order of `status` and of tasks
    "webhooks",
    "signups",
    "archive",
    "votes",
    "learning",
    "bounces",
    "cluster",
    "dkim",
)
FEATURES: Sequence[Feature] = tuple(
    import_module(f"{__name__}.{folder}").FEATURE for folder in _FOLDERS
)
