"""The secret by which planproof knows its cache's entries: what another user, or another job, wrote is not read."""

from __future__ import annotations

import hashlib
import os
import secrets
import stat
from functools import cache as remembered
from pathlib import Path

KEY = "PLANPROOF_CACHE_KEY"
"""The environment variable that holds a secret which jobs of CI share, where they share the cache's folder."""
_BYTES = 32


@remembered
def cache_key() -> bytes:
    """`PLANPROOF_CACHE_KEY`, else the key of this installation, which lies apart from the cache in the user's folder of
    settings (XDG) and is made once. Where it cannot be kept, one of this process alone: nothing is found then."""
    given = os.environ.get(KEY)
    if given:
        return hashlib.blake2b(os.fsencode(given), digest_size=_BYTES).digest()
    try:
        return _installation_key()
    except (OSError, RuntimeError):
        return secrets.token_bytes(_BYTES)


def seal(parts: tuple[bytes, ...]) -> bytes:
    """A digest that nobody can make without the key. Each part is told from the next by its length."""
    found = hashlib.blake2b(digest_size=16, key=cache_key())
    for part in parts:
        found.update(len(part).to_bytes(8, "big"))
        found.update(part)
    return found.digest()


def make_private(folder: Path) -> None:
    """Makes a folder that is this user's alone, and so are those above it that are not there: whoever may write to one
    could put another folder in its place. Raises OSError."""
    for part in (*reversed(folder.parents), folder):
        part.mkdir(mode=0o700, exist_ok=True)


def is_own(path: Path) -> bool:
    """Whether a file or folder belongs to this user, and nobody else may write to it. True where there is none yet."""
    try:
        status = os.lstat(path)
    except FileNotFoundError:
        return True
    except OSError:
        return False
    is_plain = stat.S_ISREG(status.st_mode) or stat.S_ISDIR(status.st_mode)
    return is_plain and status.st_uid == os.geteuid() and not status.st_mode & (stat.S_IWGRP | stat.S_IWOTH)


def _installation_key() -> bytes:
    xdg = os.environ.get("XDG_CONFIG_HOME")
    folder = (Path(xdg) if xdg and os.path.isabs(xdg) else Path.home() / ".config") / "planproof"
    make_private(folder)
    file = folder / "cache.key"
    if not is_own(folder) or not is_own(file):
        raise PermissionError(f"{file} may be written by others")
    try:
        handle = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        found = file.read_bytes()
        if len(found) != _BYTES:
            raise OSError(f"{file} holds no key") from None
        return found
    made = secrets.token_bytes(_BYTES)
    with open(handle, "wb") as out:
        out.write(made)
    return made
