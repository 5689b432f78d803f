"""An operator's files: read whole, as regular files of at most 64 MB, so that nothing can block or
fill memory; and their permissions.

Every error but FileNotFoundError is a `ValueError` with one sentence about the file, whose name the
caller adds.
"""

import os
import pwd
import re
import shlex
import stat
from contextlib import suppress
from pathlib import Path

MOST_BYTES = 64_000_000
_OURS = "\n<<<<<<< "  # git's marks around a conflict
_THEIRS = "\n>>>>>>> "


def read(path: Path, most: int = MOST_BYTES) -> bytes:
    """Return the file's content. Raises FileNotFoundError, or ValueError with the fault."""
    try:
        with open(path, "rb", opener=_open_now) as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                raise ValueError("is not a regular file; put one in its place")
            content = file.read(most + 1)
    except FileNotFoundError:
        if path.is_symlink():
            raise ValueError("is a link to a file that does not exist; fix or remove it") from None
        raise
    except OSError as error:
        fix = f"{error.strerror}; it must be a file that Paperboy's user may read"
        raise ValueError(f"cannot be read: {denied(path, os.R_OK) or fix}") from None

    if len(content) > most:
        limit = f"{most // 1_000_000} MB" if most >= 1_000_000 else f"{most // 1000} kB"
        raise ValueError(f"is larger than {limit}; is it the right file?")

    return content


def _open_now(name: str, flags: int) -> int:
    return os.open(name, flags | os.O_NONBLOCK)  # else a FIFO would wait for its writer


def read_text(path: Path, most: int = MOST_BYTES) -> str:
    """Return the file's `text`. Raises as `read`."""
    return text(read(path, most))


def text(content: bytes) -> str:
    r"""Decode UTF-8, without a byte order mark and with `\n` for each line end. Raises ValueError
    with the fault.
    """
    try:
        decoded = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise ValueError(f"is not UTF-8 text (line {line}); save it as UTF-8") from None

    decoded = decoded.replace("\r\n", "\n").replace("\r", "\n")

    lines = f"\n{decoded}"
    start = lines.find(_OURS)
    if start >= 0 and lines.find(_THEIRS, start) >= 0:
        line = lines.count("\n", 0, start + 1)
        fix = "keep one of the two versions, and remove git's marks"
        raise ValueError(f"has a merge conflict (line {line}); {fix}")

    return decoded


def denied(path: Path, wanted: int = os.R_OK | os.W_OK) -> str:
    """Return why this user cannot use a file, or enter and use a folder, with the command that
    changes it; empty where they can, and where there is nothing.
    """
    target = Path(os.path.realpath(path))
    user = _name(os.geteuid())
    for part in (*reversed(target.parents), target):
        with suppress(OSError):  # nothing is there, or a file in the place of a folder
            is_target = part == target
            needed = wanted if is_target else 0
            if stat.S_ISDIR(part.stat().st_mode):
                needed |= os.X_OK
            for verb, mode in (("enter", os.X_OK), ("read", os.R_OK), ("write", os.W_OK)):
                if mode & needed and not os.access(part, mode, effective_ids=True):
                    return f"user {user} cannot {verb} {part}{_fix(part, user, is_target)}"

    return ""


def _fix(part: Path, user: str, is_target: bool) -> str:
    """Return how to make a file or folder usable, as the end of a sentence."""
    if os.statvfs(part).f_flag & os.ST_RDONLY:
        return ": the file system is read-only; mount it for writing"
    owner = _name(part.stat().st_uid)
    quoted = shlex.quote(str(part))
    if owner == user:
        return f"; chmod u+rwX {quoted}"

    if owner == "root" and part.parent.stat().st_uid == os.geteuid():
        fix = f"sudo chown -R {user} {quoted}"  # back to the owner of its folder
    else:  # another owner would lock out the service
        fix = f"run this as {owner} (sudo -u {owner} …)" + f", or let {user} enter it" * (
            not is_target
        )

    return f", which belongs to {owner}; {fix}"


def _name(user: int) -> str:
    try:
        return pwd.getpwuid(user).pw_name
    except KeyError:
        return str(user)


def file_system(path: Path, mounts: str) -> str:
    """Return the type of the file system that holds a path, such as "nfs4". `mounts` has the lines
    of /proc/self/mounts; empty if none is about the path.
    """
    kinds = dict[Path, str]()  # by mount point; a later mount hides an earlier one
    for line in filter(None, mounts.split("\n")):
        _, escaped, kind, *_ = line.split(" ")
        point = re.sub(r"\\([0-7]{3})", lambda code: chr(int(code[1], 8)), escaped)
        kinds[Path(point)] = kind

    target = Path(os.path.realpath(path))
    return next((kinds[place] for place in (target, *target.parents) if place in kinds), "")


def become_owner(home: Path) -> None:
    """Continue as the owner of the home if root works in another user's, so that new files belong
    to that user.
    """
    with suppress(OSError):  # no such folder; or a container whose root may not do that
        owner = home.stat()
        if os.geteuid() or not owner.st_uid:
            return
        try:
            user = pwd.getpwuid(owner.st_uid)
            os.initgroups(user.pw_name, user.pw_gid)
            os.setgid(user.pw_gid)
        except KeyError:
            os.setgroups([])
            os.setgid(owner.st_gid)
        os.setuid(owner.st_uid)
