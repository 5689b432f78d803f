"""What can be left out: a folder each. Without its line here, the folder can be deleted, and everything else runs."""

from collections.abc import Sequence

from paperboy.service.feature import Feature

FEATURES: Sequence[Feature] = ()
