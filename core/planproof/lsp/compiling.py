"""Has dbt compile saved models, in a process beside the editor that asks no warehouse."""

from __future__ import annotations

import asyncio
import importlib.util
import json
import os
import re
import sys
import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from planproof.interpreter import python_command, python_environment
from planproof.project.location import ProjectLocation
from planproof.project.reads import LARGEST
from planproof.regular import read_regular

TARGET = "target/planproof/editor"
"""The folder in which dbt writes for the editor. The project's own manifest stays as it is."""

_SECONDS = 300
_SELECTED = 20_000
"""Characters of selections, at most: a command line may not be longer on some systems. More files are a whole project.
"""
_NO_NAME = re.compile(r"[^\w./-]")


class CannotCompile(Exception):
    """Raised where dbt does not compile the models. The message is dbt's."""


def has_dbt() -> bool:
    """Whether dbt 1 is installed beside planproof."""
    try:
        return importlib.util.find_spec("dbt.cli.main") is not None
    except ImportError:
        return False


async def compile_files(location: ProjectLocation, files: Iterable[str]) -> Mapping[str, Mapping[str, Any]]:
    """The nodes of the manifest that dbt compiles from these files, by unique id. Raises `CannotCompile`.

    Neither the cache of relations is filled nor a query run (`--no-populate-cache`, `--no-introspect`): a macro that
    asks the warehouse fails, and the last compile goes on counting.
    """
    folder = Path(location.project_dir or ".").resolve()
    words = ["compile", "--no-populate-cache", "--no-introspect", "--project-dir", str(folder), "--target-path", TARGET]
    profiles = _find_profiles(location, folder)
    words += ["--profiles-dir", str(profiles)] if profiles is not None else []
    words += ["--target", location.target] if location.target is not None else []
    words += select_files(files)
    with tempfile.TemporaryDirectory(prefix="planproof-dbt-") as neutral:
        said, code = await _run(words, neutral)
    if code != 0:
        raise CannotCompile(said)
    try:
        nodes = json.loads(read_regular(folder / TARGET / "manifest.json", LARGEST))["nodes"]
    except (OSError, ValueError, KeyError) as error:
        raise CannotCompile(f"dbt wrote no manifest: {error}") from error
    return {key: node for key, node in nodes.items() if node.get("resource_type") == "model" and node.get("compiled")}


def select_files(files: Iterable[str]) -> list[str]:
    """The words that select these files, none where they are too many. dbt takes a path as a pattern, and ends it at a
    blank and at a comma."""
    words = [word for file in files for word in ("--select", f"path:{_NO_NAME.sub('?', file)}")]
    return words if sum(map(len, words)) <= _SELECTED else []


def _find_profiles(location: ProjectLocation, folder: Path) -> Path | None:
    """Where dbt, started in the project's folder, would look for profiles; None where it looks in the user's own."""
    said = location.profiles_dir or os.environ.get("DBT_PROFILES_DIR")
    if said:
        return Path(said).resolve()
    return folder if (folder / "profiles.yml").is_file() else None


async def _run(words: Iterable[str], neutral: str) -> tuple[str, int | None]:
    """The end of what dbt says, and its exit code. It is started in a `neutral` folder: what it starts itself imports
    from there."""
    try:
        work = await asyncio.create_subprocess_exec(
            *python_command(sys.executable, "dbt.cli.main", "cli", "--no-use-colors", *words),
            cwd=neutral,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
            env=python_environment(os.environ, PLANPROOF="off"),
        )
    except OSError as error:
        raise CannotCompile(f"dbt cannot be started: {error}") from error
    try:
        said, _ = await asyncio.wait_for(work.communicate(), _SECONDS)
    except asyncio.TimeoutError:
        work.kill()
        raise CannotCompile(f"dbt compile took more than {_SECONDS} s") from None
    except asyncio.CancelledError:
        work.kill()
        raise
    return said.decode("utf-8", "replace").strip()[-2000:], work.returncode
