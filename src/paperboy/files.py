"""Reading an operator's file: a regular file of at most 64 MB, whole. Nothing in its place can block or fill memory.

Each error but FileNotFoundError is a `ValueError` with one sentence about the file, which its caller names.
"""

import os
import re
import stat
from pathlib import Path

MOST_BYTES = 64_000_000
_CONFLICT = re.compile(r"^<{7} .*\n(?s:.*?)^>{7} ", re.MULTILINE)  # as git leaves it in a file


def read(path: Path, most: int = MOST_BYTES) -> bytes:
    """The file's content. Raises FileNotFoundError, or ValueError with what is wrong."""
    try:
        # A FIFO would otherwise wait for its writer.
        with open(path, "rb", opener=lambda name, flags: os.open(name, flags | os.O_NONBLOCK)) as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                raise ValueError("is not a regular file; put one in its place")
            content = file.read(most + 1)
    except FileNotFoundError:
        if path.is_symlink():
            raise ValueError("is a link to a file that does not exist; fix or remove it") from None
        raise
    except OSError as error:
        raise ValueError(f"cannot be read: {error.strerror}; it must be a file that Paperboy's user may read") from None
    if len(content) > most:
        raise ValueError(f"is larger than {most // 1_000_000} MB; is it the right file?")
    return content


def read_text(path: Path, most: int = MOST_BYTES) -> str:
    r"""The file's text, without a byte order mark and with `\n` for each line end. Raises as `read`."""
    content = read(path, most)
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise ValueError(f"is not UTF-8 text (line {line}); save it as UTF-8") from None
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    if conflict := _CONFLICT.search(text):
        line, fix = text.count("\n", 0, conflict.start()) + 1, "keep one of the two versions, and remove git's marks"
        raise ValueError(f"has a merge conflict (line {line}); {fix}")
    return text
