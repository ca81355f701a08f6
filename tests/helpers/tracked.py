"""Copies of what the repository holds, for tests that write beside it."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path


def copy_tracked(folder: Path, to: Path) -> Path:
    """A copy of a folder's files that git tracks: not what programs have left beside them."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=folder, check=True, capture_output=True, text=True).stdout
    for name in filter(None, listed.split("\0")):
        (to / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(folder / name, to / name)
    return to
