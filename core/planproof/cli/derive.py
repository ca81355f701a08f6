"""`planproof derive`: cases as JSONL to derived schemas as JSONL, without Java and without pyspark."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

import click

from planproof.cli import options
from planproof.cli.output import write
from planproof.project.errors import ProjectError
from planproof_engine import derive as derive_case


@click.command(cls=options.Sectioned)
@click.argument("cases", type=click.File("rb"))
@click.option("--output", "-o", type=click.Path(dir_okay=False, path_type=Path), help="A file in place of stdout.")
def derive(cases: IO[bytes], output: Path | None) -> None:
    """Derives the schema of each query in CASES, a JSONL file, or - for standard input.

    One line per case: {"id", "schema"}, or {"id", "error", "line", "column"} where Spark rejects it, or
    {"id", "unknown"} for what planproof does not know.
    """
    answers = (json.dumps(answer, ensure_ascii=False) for answer in _derive_all(cases))
    if output is None:
        for answer in answers:
            # Half of a surrogate pair becomes an escape of JSON's again.
            sys.stdout.buffer.write(f"{answer}\n".encode("utf-8", "backslashreplace"))
        sys.stdout.buffer.flush()
    else:
        write(output, answers)


_LONGEST = 2**26
"""Bytes of a line: one without end is no case."""


def _derive_all(cases: IO[bytes]) -> Iterator[dict[str, Any]]:
    for number, line in enumerate(iter(lambda: cases.readline(_LONGEST), b""), 1):
        if len(line) == _LONGEST:
            raise ProjectError(f"{cases.name}: line {number} has more than {_LONGEST:,} bytes; give one case per line")
        if not line.strip():
            continue
        try:
            case = json.loads(line.decode("utf-8"))
        except (ValueError, RecursionError) as error:
            yield {"id": None, "unknown": f"line {number} is no JSON: {error}"}
            continue
        if not isinstance(case, dict):
            yield {"id": None, "unknown": f"line {number} is no JSON object"}
        elif (fault := _find_fault(case)) is not None:
            yield {"id": case.get("id"), "unknown": f"line {number} {fault}"}
        else:
            yield derive_case(case)


def _find_fault(case: dict[str, Any]) -> str | None:
    """What a case lacks, or has in another form than `planproof_engine.derive` takes it."""
    if not isinstance(case.get("query"), str):
        return "has no `query`" if "query" not in case else "has a `query` that is no text"
    relations, setup = case.get("relations"), case.get("setup")
    if relations is not None and not (isinstance(relations, dict) and all(map(_are_columns, relations.values()))):
        return "gives `relations` in another form than {name: [[column, type, nullable], ...]}"
    if setup is not None and not (isinstance(setup, list) and all(isinstance(one, str) for one in setup)):
        return "gives `setup` in another form than a list of statements"
    return None


def _are_columns(given: object) -> bool:
    return isinstance(given, list) and all(
        isinstance(one, list) and [type(part) for part in one] == [str, str, bool] for one in given
    )
