"""Reads footers that others wrote, in a process of its own: pyarrow ends its process over a damaged footer as often as
it raises an error."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from planproof.interpreter import python_command, python_environment
from planproof_engine.types import DataType, TypeSyntaxError, from_json

_SECONDS = 60


class CannotRead(Exception):
    """Raised where footers cannot be read; the message says why."""


@dataclass(frozen=True, slots=True)
class Columns:
    """What the footers of several files say together: the columns of them all, the rows, and which columns hold no null
    in any of these."""

    columns: tuple[tuple[str, DataType], ...]
    rows: int
    without_null: frozenset[str]


def read_isolated(paths: Sequence[str]) -> Columns | None:
    """The columns of local Parquet files; None where the files do not agree. Raises `CannotRead`, also where pyarrow is
    not installed."""
    import subprocess  # It takes a while to import, and few projects need it.

    try:
        ended = subprocess.run(
            python_command(sys.executable, __name__, "main"),
            input=json.dumps([os.path.abspath(path) for path in paths]),
            capture_output=True,
            text=True,
            timeout=_SECONDS,
            env=python_environment(os.environ),
        )
    except subprocess.TimeoutExpired:
        raise CannotRead(f"it took more than {_SECONDS} s") from None
    if ended.returncode != 0:
        raise CannotRead(f"the process that read them ended with {ended.returncode}")
    try:
        return _columns(json.loads(ended.stdout))
    except (ValueError, KeyError, TypeError, TypeSyntaxError) as error:
        raise CannotRead(str(error)) from error


def _columns(said: Any) -> Columns | None:
    if "error" in said:
        raise CannotRead(str(said["error"]))
    if said["columns"] is None:
        return None
    columns = tuple((str(name), from_json(kind)) for name, kind in said["columns"])
    return Columns(columns, int(said["rows"]), frozenset(said["without_null"]))


def main() -> int:
    """What the process does: the paths come on standard input, the answer goes to standard output, both as JSON."""
    paths = json.load(sys.stdin)
    try:
        from planproof.arrow.footers import FooterError, Undecodable, read_footers
    except ImportError as error:
        print(json.dumps({"error": str(error)}))
        return 0
    try:
        footers = read_footers(paths)
    except (FooterError, Undecodable) as error:
        print(json.dumps({"error": str(error)}))
        return 0
    agreed = bool(footers) and all(footer.schema == footers[0].schema for footer in footers)
    columns = [[f.name, f.type.json] for f in footers[0].schema.as_nullable()] if agreed else None
    names = [name for name, _ in columns or ()]
    without_null = [name for name in names if all(footer.nulls.get((name,)) == 0 for footer in footers)]
    print(json.dumps({"columns": columns, "rows": sum(f.rows for f in footers), "without_null": without_null}))
    return 0
