"""The group of commands, and what an error of any of them looks like."""

from __future__ import annotations

import difflib
import errno
import logging
import os
import traceback
from importlib import import_module
from typing import IO, Any

import click

from planproof.contract import ContractError
from planproof.project import ProjectError
from planproof.settings import SettingsError

COMMANDS = ("check", "run", "audit", "explain", "infer", "freeze", "diff", "recover", "clean", "lsp", "derive")
"""Each is a function in the module of its name, which is imported where the command is called."""

_FOR_DEVELOPERS = ("derive",)
_WHOLE = 1000
"""More letters than a sentence has: click would cut it."""


class _CutShort(logging.Filter):
    """Keeps py4j's tracebacks out of the log: it writes one for each call that Ctrl-C interrupts, and raises an
    exception too."""

    def filter(self, record: logging.LogRecord) -> bool:
        return "while sending command" not in record.getMessage()


_CUT_SHORT = _CutShort()


class CouldNotRun(click.ClickException):
    """Exit code 2, as for a wrong option: nothing is known of the models."""

    exit_code = 2


class Interrupted(click.ClickException):
    """Ctrl-C: 130, as shells have it. click would end with 1, which says that something was found."""

    exit_code = 130

    def show(self, file: IO[Any] | None = None) -> None:
        click.echo(self.format_message(), file=file, err=True)


class Commands(click.Group):
    """Says every error in one line or two; only planproof's own carry a traceback, and only where it was asked for."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        found: click.Command = getattr(import_module(f"planproof.cli.{cmd_name}"), cmd_name)
        return found

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Each command with its whole first sentence."""
        for title in ("Commands", "For developers"):
            names = [name for name in COMMANDS if (name in _FOR_DEVELOPERS) is (title != "Commands")]
            commands = {name: self.get_command(ctx, name) for name in names}
            with formatter.section(title):
                formatter.write_dl([(n, c.get_short_help_str(_WHOLE)) for n, c in commands.items() if c is not None])

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        try:
            return super().resolve_command(ctx, args)
        except click.UsageError as error:
            close = difflib.get_close_matches(args[0], COMMANDS, n=1)
            meant = f" Did you mean {close[0]!r}?" if close else ""
            raise click.UsageError(f"{error.message}{meant}", ctx) from error

    def invoke(self, ctx: click.Context) -> Any:
        logging.getLogger().addFilter(_CUT_SHORT)
        try:
            return super().invoke(ctx)
        except (ProjectError, ContractError, SettingsError) as error:
            raise CouldNotRun(_neutralize(str(error))) from error
        except click.ClickException as error:
            error.message = _neutralize(error.message)  # type: ignore[misc]
            raise
        except (click.exceptions.Exit, BrokenPipeError):
            raise
        except (click.Abort, KeyboardInterrupt) as stop:
            raise Interrupted("interrupted") from stop
        except Exception as error:
            raise CouldNotRun(_neutralize(_format_error(error))) from error


def _neutralize(message: str) -> str:
    """An error names what others named, and shows what they wrote: a hundred MB, maybe."""
    from planproof.report.parts import shorten

    return shorten(message)


def _format_error(error: Exception) -> str:
    from planproof.session import SparkFailure
    from planproof_engine.python_functions import DeclarationError

    if isinstance(error, DeclarationError):
        return str(error)
    if isinstance(error, OSError) and error.errno == errno.ENAMETOOLONG:
        return str(error)
    return f"Spark: {error}" if isinstance(error, SparkFailure) else _describe_own_error(error)


def _describe_own_error(error: Exception) -> str:
    if type(error).__name__ == "CompileFailed":
        return f"dbt compile failed: {error}"
    shown = traceback.format_exc() if os.environ.get("PLANPROOF_DEBUG") else ""
    step = "" if shown else "; set PLANPROOF_DEBUG=1 for the traceback"
    return f"{shown}internal error in planproof: {type(error).__name__}: {error}{step}"


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110})
@click.version_option(package_name="planproof", prog_name="planproof")
def cli() -> None:
    """Checks dbt models on Spark against their contracts, and publishes a table only when its contract holds.

    Exit codes: 0 nothing failed, 1 findings at or above --fail-on, 2 could not run, 130 interrupted.
    """
