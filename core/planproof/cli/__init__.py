"""The command line: `planproof`, `python -m planproof`."""

from __future__ import annotations


def main() -> None:
    """Runs the command line and exits: 0 nothing at or above `fail_on`, 1 findings, 2 could not run."""
    from planproof.cli.group import cli

    cli(prog_name="planproof")
