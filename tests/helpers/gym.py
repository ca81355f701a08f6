"""A small project that reads two tables of somebody else, and a terminal in its folder: pages are walked in it."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest
from click.testing import CliRunner

GYM = Path(__file__).parents[2] / "dags_examples" / "gym"
FILES = {
    path.relative_to(GYM).as_posix(): path.read_text("utf-8").replace("schema: raw_gym", "schema: RAW")
    for folder in ("seeds", "macros", "models")
    for path in sorted((GYM / folder).rglob("*.*"))
}
"""The files of dags_examples/gym, the tutorial's project, by their paths in it. RAW is the schema that its sources
read; `dbt run-operation raw_tables` makes it."""


class Typed:
    """A terminal in the project's folder."""

    def __init__(self, capture: pytest.CaptureFixture[str]) -> None:
        self.capture = capture

    def __call__(self, command: str) -> tuple[int, str]:
        """The exit code, and all that is said."""
        from dbt.cli.main import dbtRunner

        from planproof.cli.group import cli

        program, *words = shlex.split(command)
        self.capture.readouterr()
        if program == "planproof":
            done = CliRunner().invoke(cli, words)
            return done.exit_code, done.output
        assert program == "dbt"
        return int(not dbtRunner().invoke(words).success), self.capture.readouterr().out
