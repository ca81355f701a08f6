"""`planproof derive`: cases as JSONL to derived schemas as JSONL, without Java and without pyspark."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

import click

from planproof.cli import options
from planproof.cli.output import write
from planproof.project import ProjectError
from planproof.report import neutralize_json
from planproof_engine import derive as derive_case


@click.command(cls=options.Sectioned)
@click.argument("cases", type=click.File("rb"))
@click.option("--output", "-o", type=options.FILE, help="A file in place of stdout.")
def derive(cases: IO[bytes], output: Path | None) -> None:
    """Derives the schema of each query in CASES, a JSONL file, or - for standard input.

    One line per case: {"id", "schema"}, or {"id", "error", "line", "column"} where Spark rejects it, or
    {"id", "unknown"} for what planproof does not know, and for a line that is no case.
    """
    answers = (neutralize_json(json.dumps(answer)) for answer in _derive_all(cases))
    if output is None:
        for answer in answers:
            click.echo(answer)
    else:
        write(output, answers)


_LONGEST = 2**24
"""Bytes of a line: one without end is no case."""


def _derive_all(cases: IO[bytes]) -> Iterator[dict[str, Any]]:
    """The answers. Raises `ProjectError` behind them where not one line is a case."""
    fault = None
    for number, line in enumerate(iter(lambda: cases.readline(_LONGEST), b""), 1):
        if len(line) == _LONGEST:
            raise ProjectError(f"line {number} has more than {_LONGEST:,} bytes; give one case per line")
        if not line.strip():
            continue
        try:
            case = json.loads(line.decode("utf-8"))
        except (ValueError, RecursionError) as error:
            answer, is_case = {"id": None, "unknown": f"line {number} is no JSON: {error}"}, False
        else:
            answer, is_case = derive_case(case, f"line {number}"), isinstance(case, dict) and "query" in case
        if fault is None or is_case:
            fault = "" if is_case else answer["unknown"]
        yield answer
    if fault:
        raise ProjectError(f"no line is a case: {fault}")
