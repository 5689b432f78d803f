"""Bounces: `paperboy bounce` takes returned mail from a mail server's pipe."""

from paperboy.service.feature import Feature, lazily

_HELP = "Take a bounce, a complaint or an unsubscribe mail from standard input."

FEATURE = Feature(
    name="bounces",
    commands={"bounce": ("paperboy.features.bounces.command", _HELP)},
    problems=lazily("bounces.complaints", "problems"),
    words=lazily("bounces.complaints", "words"),
)
