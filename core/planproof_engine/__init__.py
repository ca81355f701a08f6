"""What Spark means: the schema that it gives a query, derived without Spark, and queries rewritten to the same result.

The public names are those of `__all__`; README.md beside this file shows them at work. The others are for the guard.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from planproof_engine.api import Check, LogicalPlan, Rewriting, optimize, plan
    from planproof_engine.budget import OverBudget, bounded, is_bounded
    from planproof_engine.cases import derive
    from planproof_engine.catalog import SESSION_CATALOG, Catalog, Relation, RelationName, split_name
    from planproof_engine.claim import Claim, Facts, NestedField, join_path, nested_fields
    from planproof_engine.codes import CODES
    from planproof_engine.conf import SPARKS, Conf, UnknownSpark, spark_version
    from planproof_engine.depth import deeply
    from planproof_engine.finding import Finding, Rewrite, Verdict
    from planproof_engine.functions.declared import Function
    from planproof_engine.optimizer.rules import Rule
    from planproof_engine.origin import AnalysisError, Origin, Unknown
    from planproof_engine.quoting import quote_literal, quote_name, quote_parts
    from planproof_engine.records import evolve, record
    from planproof_engine.schema import ByColumn, ColumnNames, PhysicalField, PhysicalSchema, by_name, fold_name
    from planproof_engine.texts import Statement, drop_terminators

_NAMES = {
    "api": ("Check", "LogicalPlan", "Rewriting", "optimize", "plan"),
    "budget": ("OverBudget", "bounded", "is_bounded"),
    "cases": ("derive",),
    "catalog": ("SESSION_CATALOG", "Catalog", "Relation", "RelationName", "split_name"),
    "claim": ("Claim", "Facts", "NestedField", "join_path", "nested_fields"),
    "codes": ("CODES",),
    "conf": ("SPARKS", "Conf", "UnknownSpark", "spark_version"),
    "depth": ("deeply",),
    "finding": ("Finding", "Rewrite", "Verdict"),
    "functions.declared": ("Function",),
    "optimizer.rules": ("Rule",),
    "origin": ("AnalysisError", "Origin", "Unknown"),
    "quoting": ("quote_literal", "quote_name", "quote_parts"),
    "records": ("evolve", "record"),
    "schema": ("ByColumn", "ColumnNames", "PhysicalField", "PhysicalSchema", "by_name", "fold_name"),
    "texts": ("Statement", "drop_terminators"),
}
_HOMES = {name: home for home, names in _NAMES.items() for name in names}

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
