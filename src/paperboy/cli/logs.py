"""Moved to `output`."""

from paperboy.cli.output import (
    complaint,
    set_up,
)

__all__ = [
    "complaint",
    "set_up",
]
