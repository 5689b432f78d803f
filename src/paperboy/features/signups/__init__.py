"""Sign-ups: a form on the web for lists that are open, a confirmation mail, and an edit of the list's file."""

from paperboy.features.signups.tables import TABLES
from paperboy.service.feature import Feature, lazily

FEATURE = Feature(
    name="signups",
    tables=TABLES,
    pages=lazily("signups.pages", "rules"),
    tasks={"sign-up": lazily("signups.work", "work")},
    problems=lazily("signups.shown", "problems"),
    words=lazily("signups.shown", "words"),
    status=lazily("signups.shown", "status"),
)
