"""How fast a mail server is served: a rate that is kept smoothly, and pauses that grow while it is busy with us.

Time comes in as monotonic seconds, and randomness as a number from 0 to 1.
"""

from __future__ import annotations

from datetime import timedelta

FIRST_PAUSE = 5.0  # seconds
LONGEST_PAUSE = 300.0
MOST_PAUSES = 5  # in a row, and there is no use in waiting longer now
_FIRST_WAIT = timedelta(minutes=5)
_LONGEST_WAIT = timedelta(hours=4)


class Pace:
    """Who may begin when. All connections to a server share one."""

    def __init__(self, most_per_minute: int = 0) -> None:
        self._gap = 60.0 / most_per_minute if most_per_minute else 0.0
        self._next = 0.0
        self._pauses = 0
        self._pause_ends = 0.0

    def turn(self, now: float) -> float:
        """Takes the next turn: the seconds until it comes."""
        begins = max(now, self._next)
        self._next = begins + self._gap
        return begins - now

    def rests(self, now: float) -> bool:
        """Whether the server has a pause just now."""
        return now < self._pause_ends

    def slow_down(self, now: float, jitter: float) -> float:
        """The server is busy: nobody begins for a while, twice as long as the last time. Gives the seconds. Within a
        pause it is the same incident, met by another connection.
        """
        if now < self._pause_ends:
            return self._pause_ends - now
        seconds = min(FIRST_PAUSE * float(1 << self._pauses), LONGEST_PAUSE) * (0.75 + 0.5 * jitter)
        self._pauses += 1
        self._pause_ends = now + seconds
        self._next = max(self._next, self._pause_ends)
        return seconds

    def went_well(self) -> None:
        """A message was taken, so the next pause is a short one again."""
        self._pauses = 0

    @property
    def hopeless(self) -> bool:
        """Whether the server has been busy for too long to wait for it now."""
        return self._pauses >= MOST_PAUSES


def next_try(attempts: int, jitter: float) -> timedelta:
    """How long one address waits after so many attempts: from five minutes to four hours, a little more or less."""
    return min(_FIRST_WAIT * (1 << min(attempts, 10)), _LONGEST_WAIT) * (0.75 + 0.5 * jitter)
