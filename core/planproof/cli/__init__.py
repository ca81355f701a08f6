"""The command line: `planproof`, `python -m planproof`."""

from __future__ import annotations


def main() -> None:
    """Runs the command line and exits: 0 nothing at or above `fail_on`, 1 findings, 2 could not run."""
    try:
        from planproof.cli.group import cli
    except KeyboardInterrupt:
        raise SystemExit(130) from None
    from planproof.cli.encoding import replace_unprintable

    replace_unprintable()
    try:
        cli(prog_name="planproof")
    finally:
        from planproof.project.garbage import skip_cleanup

        skip_cleanup()
