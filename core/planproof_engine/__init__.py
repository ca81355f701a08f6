"""What Spark means: the schema that it gives a query, derived without Spark, and queries rewritten to the same result.

The public names are those of `__all__`; README.md beside this file shows them at work.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from planproof_engine.api import Check, LogicalPlan, Rewriting, optimize, plan
    from planproof_engine.budget import OverBudget, bounded, is_bounded
    from planproof_engine.cases import derive
    from planproof_engine.catalog import Catalog
    from planproof_engine.conf import Conf
    from planproof_engine.depth import deeply
    from planproof_engine.finding import Finding, Verdict
    from planproof_engine.functions.declared import Function
    from planproof_engine.optimizer.rules import Rule
    from planproof_engine.origin import AnalysisError, Unknown

_HOMES = {
    "AnalysisError": "origin",
    "Catalog": "catalog",
    "Check": "api",
    "Conf": "conf",
    "Finding": "finding",
    "Function": "functions.declared",
    "LogicalPlan": "api",
    "OverBudget": "budget",
    "Rewriting": "api",
    "Rule": "optimizer.rules",
    "Unknown": "origin",
    "Verdict": "finding",
    "bounded": "budget",
    "deeply": "depth",
    "derive": "cases",
    "is_bounded": "budget",
    "optimize": "api",
    "plan": "api",
}

__all__ = [
    "AnalysisError",
    "Catalog",
    "Check",
    "Conf",
    "Finding",
    "Function",
    "LogicalPlan",
    "OverBudget",
    "Rewriting",
    "Rule",
    "Unknown",
    "Verdict",
    "bounded",
    "deeply",
    "derive",
    "is_bounded",
    "optimize",
    "plan",
]


def _find(name: str) -> Any:
    """Imports a public name when it is first asked for: `import planproof_engine` alone loads nothing."""
    if name not in _HOMES:
        raise AttributeError(f"module 'planproof_engine' has no attribute {name!r}")
    found = getattr(importlib.import_module(f"planproof_engine.{_HOMES[name]}"), name)
    globals()[name] = found
    return found


if not TYPE_CHECKING:  # A type checker is to find a name that is not there.
    __getattr__ = _find


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
