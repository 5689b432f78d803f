"""Every exception that Paperboy raises on purpose, with the exit code of a command that it ends.

A message is one or two sentences that a person can act on: it names the file or server, and the
fix. It never holds a secret.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from paperboy.models import Problem

MOST_PROBLEMS = 200  # that are reported at once


class PaperboyError(Exception):
    """The root: anything that a person may have caused or can fix."""

    exit_code = 1


class ConfigError(PaperboyError):
    """Settings, lists, prompts or templates are unusable. `problems` holds every fault, as far as a
    person reads.
    """

    exit_code = 78

    def __init__(self, problems: Sequence[Problem]) -> None:
        first = tuple(problems[:MOST_PROBLEMS])
        if len(problems) > MOST_PROBLEMS:
            message = f"reporting stops here, after {MOST_PROBLEMS} problems; fix those above, then run paperboy check"
            first += (Problem(problems[MOST_PROBLEMS].place, message),)
        super().__init__("\n".join(map(str, first)))
        self.problems = first

    @classmethod
    def at(cls, place: object, message: str) -> ConfigError:
        """Return an error with a single problem."""
        return cls([Problem(str(place), message)])


@contextmanager
def noted(problems: list[Problem]) -> Iterator[None]:
    """Add the problems of a ConfigError that is raised within, and go on: what else is wrong is
    looked for, too.
    """
    try:
        yield
    except ConfigError as error:
        problems += error.problems


class StoreError(PaperboyError):
    """The database cannot be opened, is broken, or has another version's schema."""

    exit_code = 78


class StoreWriteError(StoreError):
    """The database was open and a write failed. Earlier commits stand."""

    exit_code = 1


class HomeBusyError(PaperboyError):
    """Another `run` holds this home."""

    exit_code = 75


class UnknownNameError(PaperboyError):
    """No such list, paper or address."""

    exit_code = 2


class NotTodayError(PaperboyError):
    """What was asked for cannot be done; nothing was."""

    exit_code = 2


class FeedError(PaperboyError):
    """A source did not give a whole answer."""


class ScoringError(PaperboyError):
    """The scorer cannot go on: refused key, unknown model, dead server. Earlier scores stand."""


class BudgetUsedUpError(ScoringError):
    """The day's budget is used up. Earlier scores stand."""


class MailServerError(PaperboyError):
    """The mail server cannot be reached, or refuses us as a sender. No recipient is to blame.

    `temporary`: a retry, or fewer connections, may help. `busy`: the server itself said so.
    """

    def __init__(self, message: str, *, temporary: bool = False, busy: bool = False) -> None:
        super().__init__(message)
        self.temporary = temporary or busy
        self.busy = busy
