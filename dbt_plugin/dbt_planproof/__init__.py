"""Guards every `dbt build` on Spark: a model is published only when its contract holds.

dbt imports this module on every command, so it imports nothing but the standard library. dbt reads `plugins`, which is
made when asked for. `PLANPROOF=off` in the environment leaves dbt as it is.
"""

from __future__ import annotations

from typing import Any

__all__ = ["plugins"]


def __getattr__(name: str) -> Any:
    if name != "plugins":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        from dbt_planproof.plugin import PlanproofPlugin
    except ImportError:
        # An exception here would break every dbt command; a dbt without this plugin interface is left alone.
        return []
    return [PlanproofPlugin]
