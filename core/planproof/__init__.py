"""planproof proves the schema of a dbt model on Spark at every plane between its contract and its Parquet files."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from planproof.api import optimize, plan
    from planproof.catalog import Catalog
    from planproof.conf import Conf
    from planproof.contract import Contract, Model
    from planproof.functions.declared import Function
    from planproof.guard import Guard
    from planproof.origin import AnalysisError, Unknown
    from planproof.report.model import Finding, Report, Verdict
    from planproof.settings import Settings

    __version__: str

_HOMES = {
    "AnalysisError": "origin",
    "Catalog": "catalog",
    "Conf": "conf",
    "Contract": "contract",
    "Finding": "report.model",
    "Function": "functions.declared",
    "Guard": "guard",
    "Model": "contract",
    "Report": "report.model",
    "Settings": "settings",
    "Unknown": "origin",
    "Verdict": "report.model",
    "optimize": "api",
    "plan": "api",
}

__all__ = [
    "AnalysisError",
    "Catalog",
    "Conf",
    "Contract",
    "Finding",
    "Function",
    "Guard",
    "Model",
    "Report",
    "Settings",
    "Unknown",
    "Verdict",
    "__version__",
    "optimize",
    "plan",
]


def _found(name: str) -> Any:
    """Imports a public name when it is first asked for: `import planproof` alone loads nothing."""
    home = _HOMES.get(name)
    if name == "__version__":
        found: Any = importlib.import_module("importlib.metadata").version("planproof")
    elif home is not None:
        found = getattr(importlib.import_module(f"planproof.{home}"), name)
    else:
        raise AttributeError(f"module 'planproof' has no attribute {name!r}")
    globals()[name] = found
    return found


if not TYPE_CHECKING:  # A type checker is to find a name that is not there.
    __getattr__ = _found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
