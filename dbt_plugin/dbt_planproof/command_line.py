"""What dbt's command line, which is click's, knows of the command that runs."""

from __future__ import annotations

from collections.abc import Callable


def read_profile_type() -> str | None:
    """The type of the profile's target (`spark`), None where dbt does not tell."""
    try:
        import click

        context = click.get_current_context(silent=True)
        return str(context.obj["profile"].credentials.type) if context is not None else None
    except Exception:
        return None


def call_at_end(call: Callable[[], None]) -> bool:
    """Has `call` made when the command of this invocation has said all that it says; False where dbt's command line,
    which is click's, is not what runs."""
    try:
        import click

        context = click.get_current_context(silent=True)
        if context is None:
            return False
        context.call_on_close(call)
    except Exception:
        return False
    return True
