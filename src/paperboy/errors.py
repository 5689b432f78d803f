"""Every exception that Paperboy raises on purpose, with the exit code of a command that it ends:

    PaperboyError               1
        ConfigError            78
        StoreError             78
            StoreWriteError     1
        HomeBusyError          75
        UnknownNameError        2
        NotTodayError           2
        FeedError               1
        ScoringError            1
            BudgetUsedUpError   1
        MailServerError         1

A message is one or two sentences that a person can act on: it names the file or server, and the
fix. It never contains a secret.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

MOST_PROBLEMS = 200  # in one report

# Last sentence of a message about a missing secret: only the service can read its credentials.
CREDENTIAL = "With systemd credentials, use the wrapper in paperboy manual service"


@dataclass(frozen=True, slots=True)
class Problem:
    """Fault in a file or a setting: its place, and a message with the fix."""

    place: str  # "subscribers.yaml:14:9", ".env:3", "environment"
    message: str

    def __str__(self) -> str:
        return f"{self.place}: {self.message}" if self.place else self.message


class PaperboyError(Exception):
    """Root of the tree: anything that a person may have caused or can fix. `problems` has the
    message, or that of each fault with its place.
    """

    exit_code = 1

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.problems: tuple[Problem, ...] = (Problem("", message),)


class ConfigError(PaperboyError):
    """Unusable settings, lists, prompts or templates. `problems` holds the first `MOST_PROBLEMS`
    faults.
    """

    exit_code = 78

    def __init__(self, problems: Sequence[Problem]) -> None:
        first = tuple(problems[:MOST_PROBLEMS])
        if len(problems) > MOST_PROBLEMS:
            message = (
                f"reporting stops here, after {MOST_PROBLEMS} problems; "
                "fix those above, then run paperboy check"
            )
            first += (Problem(problems[MOST_PROBLEMS].place, message),)
        super().__init__("\n".join(map(str, first)))
        self.problems = first

    @classmethod
    def at(cls, place: object, message: str) -> ConfigError:
        """Return an error with one problem."""
        return cls([Problem(str(place), message)])


@contextmanager
def noted(problems: list[Problem]) -> Iterator[None]:
    """Collect the problems of a ConfigError raised within, so that the caller finds the others."""
    try:
        yield
    except ConfigError as error:
        problems += error.problems


class StoreError(PaperboyError):
    """Database that cannot be opened, is broken, or has another version's schema."""

    exit_code = 78


class StoreWriteError(StoreError):
    """Write that failed though the database was open. Earlier commits stand."""

    exit_code = 1


class HomeBusyError(PaperboyError):
    """Home that another `run` holds."""

    exit_code = 75


class UnknownNameError(PaperboyError):
    """Unknown list, paper or address."""

    exit_code = 2


class NotTodayError(PaperboyError):
    """Request that cannot be met now. Nothing was done."""

    exit_code = 2


class FeedError(PaperboyError):
    """Incomplete answer of a source."""


class ScoringError(PaperboyError):
    """Refused key, unknown model or dead server: scoring stops. Earlier scores stand."""


class BudgetUsedUpError(ScoringError):
    """Used-up budget of the day. Earlier scores stand."""


class MailServerError(PaperboyError):
    """Mail server that is unreachable, or refuses us as a sender. No recipient is to blame.

    `temporary`: a retry, or fewer connections, may help. `busy`: the server itself said so.
    """

    def __init__(self, message: str, *, temporary: bool = False, busy: bool = False) -> None:
        super().__init__(message)
        self.temporary = temporary or busy
        self.busy = busy
