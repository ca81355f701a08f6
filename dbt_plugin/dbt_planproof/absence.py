"""What happens where planproof cannot guard an invocation of dbt: it is never silent.

A command that writes stops before it writes anything; any other one goes on, with a warning. With `on_unguarded: pass`
in the project a command that writes goes on, too. This module counts on as little of dbt as it can, for it speaks where
something of dbt is not as expected.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

WRITES_NOTHING = frozenset(
    (
        *("clean", "compile", "debug", "deps", "docs", "freshness", "generate", "init", "list", "ls", "parse", "serve"),
        *("show", "source", "system", "test"),
    )
)
"""Commands of dbt that write no model. Any other command, such as one of a later dbt, may write one."""

WAY_ON = (
    "To go on without a guard: PLANPROOF=off in the environment, or in dbt_project.yml "
    "`vars: {planproof: {on_unguarded: pass}}`"
)


class Unguarded(RuntimeError):
    """The invocation would write, and planproof cannot guard it. dbt ends the command with this message."""


def is_switched_off() -> bool:
    """True where the environment says `PLANPROOF=off` (also `0`, `false`, `no`)."""
    return os.environ.get("PLANPROOF", "").strip().lower() in ("off", "0", "false", "no")


def refuse_or_warn(reasons: Iterable[str]) -> None:
    """Says why there is no guard. Raises `Unguarded` where the command may write, unless the project lets that pass."""
    lines = "\n".join(f"  - {reason}" for reason in reasons)
    if read_command() in WRITES_NOTHING or may_go_on():
        warn(f"planproof does not guard this run:\n{lines}")
        return
    raise Unguarded(f"planproof cannot guard this run, and stops it before anything is written:\n{lines}\n{WAY_ON}")


def read_command() -> str:
    """The command of this invocation, an empty text where dbt does not tell."""
    return str(_read_flag("WHICH") or "")


def may_go_on() -> bool:
    """Whether `--vars` or dbt_project.yml say `planproof: {on_unguarded: pass}`.

    The file is read as it is, because dbt gives out its variables only later. A value that Jinja makes counts as not
    set."""
    given = _find_setting(_read_flag("VARS"))
    if given is None:
        given = _find_setting(_read_project().get("vars"))
    return bool(given == "pass")


def warn(message: str) -> None:
    """A warning in dbt's log; on stderr where dbt's log cannot be reached."""
    try:
        from dbt_planproof import log

        log.warn(message)
    except Exception:
        print(message, file=sys.stderr)


def _find_setting(variables: Any) -> Any:
    own = variables.get("planproof") if isinstance(variables, dict) else None
    return own.get("on_unguarded") if isinstance(own, dict) else None


def _read_flag(name: str) -> Any:
    try:
        from dbt_planproof.dbts import read_flags

        return getattr(read_flags(), name, None)
    except Exception:
        return None


def _read_project() -> dict[str, Any]:
    try:
        import yaml

        text = Path(_read_flag("PROJECT_DIR") or ".", "dbt_project.yml").read_text("utf-8")
        form = yaml.safe_load(text)
    except Exception:
        return {}
    return form if isinstance(form, dict) else {}
