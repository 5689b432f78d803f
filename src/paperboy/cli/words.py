"""Moved to `output`."""

from paperboy.cli.output import (
    UNPRICED,
    a_morning,
    counted,
    dry_run,
    in_words,
    money,
    papers,
    sentence,
    together,
    uncounted,
    unfinished,
    waiting,
    went_to_outbox,
)

__all__ = [
    "UNPRICED",
    "a_morning",
    "counted",
    "dry_run",
    "in_words",
    "money",
    "papers",
    "sentence",
    "together",
    "uncounted",
    "unfinished",
    "waiting",
    "went_to_outbox",
]
