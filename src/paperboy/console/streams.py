"""Standard streams, whose failed writes are harmless."""

import io
import os
import sys
from typing import Any, TextIO


class Stream(io.FileIO):
    """Standard stream that keeps the error of a failed write: the work goes on."""

    failure: OSError | None = None

    def write(self, data: Any) -> int:
        """Write, and keep the error if that fails.

        Raises BrokenPipeError if stdout's reader, such as `head`, has gone: that ends the command.
        """
        try:
            return super().write(data)
        except OSError as error:
            if isinstance(error, BrokenPipeError) and self.fileno() == 1:
                raise
            self.failure = error
            return len(data)


def take_streams() -> Stream:
    """Make failed writes to stdout and stderr harmless, and return stdout with its failure.

    A closed descriptor is opened: else the next file, maybe the database, would get its number and
    what is written to stderr. It is opened for reading, so that lost results are noticed.
    """
    while os.open(os.devnull, os.O_RDONLY) <= 2:  # gets the lowest free number
        pass

    sys.stdin = sys.stdin or open(0, closefd=False)  # noqa: SIM115 - for as long as the process lives
    stdout = Stream(1, "w", closefd=False)
    sys.stdout = _text(stdout, sys.stdout)
    sys.stderr = _text(Stream(2, "w", closefd=False), sys.stderr)
    return stdout


def _text(stream: Stream, old: TextIO | None) -> TextIO:
    """Wrap the stream in its previous encoding, with backslash escapes."""
    buffered = io.BufferedWriter(stream)
    encoding = old.encoding if old else None
    return io.TextIOWrapper(buffered, encoding, errors="backslashreplace", line_buffering=True)
