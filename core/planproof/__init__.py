"""planproof proves the schema of a dbt model on Spark at every plane between its contract and its Parquet files."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from planproof.contract import Contract, Model
    from planproof.guard import Guard
    from planproof.report import Report
    from planproof.settings import Settings
    from planproof_engine import AnalysisError, Catalog, Conf, Finding, Function, Unknown, Verdict, optimize, plan

    __version__: str

_NAMES = {
    "planproof.contract": ("Contract", "Model"),
    "planproof.guard": ("Guard",),
    "planproof.report": ("Report",),
    "planproof.settings": ("Settings",),
    "planproof_engine": (
        *("AnalysisError", "Catalog", "Conf", "Finding", "Function", "Unknown", "Verdict", "optimize", "plan"),
    ),
}
_HOMES = {name: home for home, names in _NAMES.items() for name in names}

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


def _import_public(name: str) -> Any:
    """Imports a public name when it is first asked for: `import planproof` alone loads nothing."""
    home = _HOMES.get(name)
    if name == "__version__":
        found: Any = importlib.import_module("importlib.metadata").version("planproof")
    elif home is not None:
        found = getattr(importlib.import_module(home), name)
    else:
        raise AttributeError(f"module 'planproof' has no attribute {name!r}")
    globals()[name] = found
    return found


if not TYPE_CHECKING:  # A type checker is to find a name that is not there.
    __getattr__ = _import_public


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
