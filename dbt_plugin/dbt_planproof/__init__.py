"""Guards every `dbt build` on Spark: a model is published only when its contract holds.

dbt imports this module on every command, so it imports nothing but the standard library. dbt reads `plugins`, which is
made when asked for. `PLANPROOF=off` in the environment leaves dbt as it is.
"""

from __future__ import annotations

import sys
from typing import Any

__all__ = ["plugins"]


def __getattr__(name: str) -> Any:
    if name != "plugins":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        from dbt_planproof.plugin import PlanproofPlugin
    except Exception as error:
        # `None` among the modules is how a program says that a package must not be imported.
        without = getattr(error, "name", None) == "dbt" or sys.modules.get("dbt", error) is None
        if isinstance(error, ModuleNotFoundError) and without:
            return []
        from dbt_planproof import absence

        # Raised here it would end every dbt command, and swallowed it would be a build without a guard.
        if not absence.is_switched_off():
            absence.refuse_or_warn([f"dbt's interface for plugins is not there: {type(error).__name__}: {error}"])
        return []
    return [PlanproofPlugin]
