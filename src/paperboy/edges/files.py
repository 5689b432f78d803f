"""Reading an operator's file: a regular file of at most 64 MB, whole. Nothing in its place can
block or fill memory.

Each error but FileNotFoundError is a `ValueError` with one sentence about the file, which its
caller names. And whose a home's files are: who may use them, and who makes them.
"""

import os
import pwd
import shlex
import stat
from contextlib import suppress
from pathlib import Path

MOST_BYTES = 64_000_000
_OURS = "\n<<<<<<< "  # how git begins the first line of a conflict
_THEIRS = "\n>>>>>>> "  # and the last


def read(path: Path, most: int = MOST_BYTES) -> bytes:
    """Return the file's content. Raises FileNotFoundError, or ValueError with what is wrong."""
    try:
        # A FIFO would otherwise wait for its writer.
        with open(
            path, "rb", opener=lambda name, flags: os.open(name, flags | os.O_NONBLOCK)
        ) as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                raise ValueError("is not a regular file; put one in its place")
            content = file.read(most + 1)
    except FileNotFoundError:
        if path.is_symlink():
            raise ValueError("is a link to a file that does not exist; fix or remove it") from None
        raise
    except PermissionError as error:
        raise ValueError(f"cannot be read: {denied(path, os.R_OK) or error.strerror}") from None
    except OSError as error:
        raise ValueError(
            f"cannot be read: {error.strerror}; it must be a file that Paperboy's user may read"
        ) from None
    if len(content) > most:
        limit = f"{most // 1_000_000} MB" if most >= 1_000_000 else f"{most // 1000} kB"
        raise ValueError(f"is larger than {limit}; is it the right file?")
    return content


def read_text(path: Path, most: int = MOST_BYTES) -> str:
    """Return the file's `text`. Raises as `read`."""
    return text(read(path, most))


def text(content: bytes) -> str:
    r"""Decode UTF-8, without a byte order mark and with `\n` for each line end. Raises ValueError,
    as `read`.
    """
    try:
        found = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise ValueError(f"is not UTF-8 text (line {line}); save it as UTF-8") from None
    found = found.replace("\r\n", "\n").replace("\r", "\n")
    lines = f"\n{found}"
    start = lines.find(_OURS)
    if start >= 0 and lines.find(_THEIRS, start) >= 0:
        line = lines.count("\n", 0, start + 1)
        raise ValueError(
            f"has a merge conflict (line {line}); keep one of the two versions, and remove git's marks"
        )
    return found


def denied(path: Path, wanted: int = os.R_OK | os.W_OK) -> str:
    """Return why this user cannot use a file, or enter and use a folder, with the command that
    changes it; empty where they can, and where there is nothing.
    """
    place = Path(os.path.realpath(path))
    me = _name(os.geteuid())
    for part in (*reversed(place.parents), place):
        with suppress(OSError):  # nothing is there, or a file in the place of a folder
            last = part == place
            enter = os.X_OK * stat.S_ISDIR(part.stat().st_mode)
            needed = enter | wanted if last else enter
            for verb, mode in (("enter", os.X_OK), ("read", os.R_OK), ("write", os.W_OK)):
                if mode & needed and not os.access(part, mode, effective_ids=True):
                    return f"user {me} cannot {verb} {part}{_remedy(part, me, last=last)}"
    return ""


def _remedy(part: Path, me: str, *, last: bool) -> str:
    owner = _name(part.stat().st_uid)
    quoted = shlex.quote(str(part))
    folder = part.is_dir()
    if os.statvfs(part).f_flag & os.ST_RDONLY:
        return ": the file system is read-only; mount it for writing"
    if owner == me:
        return f"; chmod u+rw{'x' * folder} {quoted}"
    ours = last or part.parent.stat().st_uid == os.geteuid()  # and no folder of the system
    fix = f"sudo chown {'-R ' * folder}{me} {quoted}" if ours else f"let {me} enter it"
    if not (ours and owner == "root"):  # first what changes nothing
        user = f"'#{owner}'" if owner.isdigit() else owner
        fix = f"run this as {owner} (sudo -u {user} …), or {fix}"
    return f", which belongs to {owner}; {fix}"


def _name(user: int) -> str:
    try:
        return pwd.getpwuid(user).pw_name
    except KeyError:
        return str(user)


def become_owner(home: Path) -> None:
    """Go on as the owner of the home where root works in somebody else's, so that all that is made
    belongs to them.
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
