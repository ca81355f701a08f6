"""Has dbt compile saved models, in a process beside the editor that asks no warehouse."""

from __future__ import annotations

import asyncio
import importlib.util
import json
import os
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from planproof.project.location import ProjectLocation

TARGET = "target/planproof/editor"
"""The folder in which dbt writes for the editor. The project's own manifest stays as it is."""

_DBT = "from dbt.cli.main import cli; cli()"
_SECONDS = 300


class CannotCompile(Exception):
    """Raised where dbt does not compile the models. The message is dbt's."""


def has_dbt() -> bool:
    """Whether dbt 1 is installed beside planproof."""
    try:
        return importlib.util.find_spec("dbt.cli.main") is not None
    except ImportError:
        return False


async def compiled(location: ProjectLocation, files: Iterable[str]) -> Mapping[str, Mapping[str, Any]]:
    """The nodes of the manifest that dbt compiles from these files, by unique id. Raises `CannotCompile`.

    Neither the cache of relations is filled nor a query run (`--no-populate-cache`, `--no-introspect`): a macro that
    asks the warehouse fails, and the last compile goes on counting.
    """
    folder = Path(location.project_dir or ".").resolve()
    words = ["compile", "--no-populate-cache", "--no-introspect", "--project-dir", str(folder), "--target-path", TARGET]
    words += ["--profiles-dir", str(location.profiles_dir.resolve())] if location.profiles_dir is not None else []
    words += ["--target", location.target] if location.target is not None else []
    words += [word for file in files for word in ("--select", f"path:{file}")]
    work = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", _DBT, "--no-use-colors", *words),
        cwd=folder,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
        env={**os.environ, "PLANPROOF": "off"},
    )
    try:
        said, _ = await asyncio.wait_for(work.communicate(), _SECONDS)
    except asyncio.TimeoutError:
        work.kill()
        raise CannotCompile(f"dbt compile took more than {_SECONDS} s") from None
    except asyncio.CancelledError:
        work.kill()
        raise
    if work.returncode != 0:
        raise CannotCompile(said.decode("utf-8", "replace").strip()[-2000:])
    try:
        nodes = json.loads((folder / TARGET / "manifest.json").read_text("utf-8"))["nodes"]
    except (OSError, ValueError, KeyError) as error:
        raise CannotCompile(f"dbt wrote no manifest: {error}") from error
    return {key: node for key, node in nodes.items() if node.get("resource_type") == "model" and node.get("compiled")}
