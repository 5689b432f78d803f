"""Webhooks: other programs are told of a digest."""

from paperboy.features.webhooks.tables import TABLES
from paperboy.service.feature import Feature, lazily

FEATURE = Feature(
    name="webhooks",
    tables=TABLES,
    frozen=lazily("webhooks.rows", "frozen"),
    tasks={"webhook": lazily("webhooks.call", "work")},
    problems=lazily("webhooks.shown", "problems"),
    words=lazily("webhooks.shown", "words"),
    status=lazily("webhooks.shown", "status"),
)
