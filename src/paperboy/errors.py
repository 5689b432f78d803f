"""Everything that Paperboy raises on purpose.

    PaperboyError
    ├── ConfigError             settings, lists, prompts or templates are unusable (exit 78)
    ├── StoreError              the database cannot be used at all (exit 78)
    │   └── StoreWriteError     the database could be opened and then not written: full disk, lost volume (exit 1)
    ├── HomeBusyError           another Paperboy holds this home (exit 75)
    ├── UnknownNameError        no such list or paper (exit 2)
    ├── FeedError               arXiv did not give a whole answer
    ├── ScoringError            the scorer cannot go on: refused key, unknown model, dead server
    │   └── BudgetUsedUpError   the day's budget is used up
    ├── RenderError             a template cannot be rendered
    └── MailServerError         the mail server refuses us, not a recipient: connection, TLS, login, sender

A message is one or two sentences that a person can act on: it names the file or the server, and the fix. It never holds
a secret.
"""

from __future__ import annotations

from collections.abc import Sequence

from paperboy.models import Problem


class PaperboyError(Exception):
    """The root: anything a person can have caused or can mend."""

    exit_code = 1


class ConfigError(PaperboyError):
    """Settings, lists, prompts or templates are unusable. `problems` holds all that is wrong, not only the first."""

    exit_code = 78

    def __init__(self, problems: Sequence[Problem]) -> None:
        super().__init__("\n".join(map(str, problems)))
        self.problems = tuple(problems)


class StoreError(PaperboyError):
    """The database cannot be opened, is broken, or belongs to a newer Paperboy."""

    exit_code = 78


class StoreWriteError(StoreError):
    """The database was open, and a write failed. What was committed before still stands."""

    exit_code = 1


class HomeBusyError(PaperboyError):
    """Another Paperboy holds this home."""

    exit_code = 75


class UnknownNameError(PaperboyError):
    """A list, paper or address that is not known here."""

    exit_code = 2


class FeedError(PaperboyError):
    """arXiv did not answer, or not with the whole list."""


class ScoringError(PaperboyError):
    """The scorer cannot go on; what it scored so far stands."""


class BudgetUsedUpError(ScoringError):
    """The day's budget is used up; what was scored so far stands."""


class RenderError(PaperboyError):
    """A mail template cannot be rendered."""


class MailServerError(PaperboyError):
    """The mail server cannot be reached or refuses us as a sender. No recipient is to blame.

    `temporary`: it may be better later, or with fewer connections. `busy`: that is what the server itself said.
    """

    def __init__(self, message: str, *, temporary: bool = False, busy: bool = False) -> None:
        super().__init__(message)
        self.temporary = temporary or busy
        self.busy = busy
