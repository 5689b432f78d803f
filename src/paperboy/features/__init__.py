"""What can be left out, a folder each. Remove its line here, and the folder can be deleted:
everything else runs.
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
