"""Views whose query no longer gives the columns that they were created with. Source: `ResolveRelations`, `View`.

Spark keeps a view's text and reads it anew wherever the view is used, in the namespace in which it was created.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from sqlglot import exp

from planproof.analysis.context import Environment
from planproof.origin import AnalysisError, Unknown


@dataclass(frozen=True, slots=True)
class View:
    """A view as it was created: its name, its query and the text that this stands in, and the query's column names."""

    name: str
    query: exp.Expr
    text: str
    columns: tuple[str, ...]
    namespace: tuple[str, ...]


def broken(views: Iterable[View], env: Environment) -> dict[str, tuple[str, str]]:
    """The views that cannot be read any more: condition and message, by name."""
    found: dict[str, tuple[str, str]] = {}
    for view in views:
        problem = _problem(view, env)
        if problem is not None:
            found[view.name] = problem
    return found


def _problem(view: View, env: Environment) -> tuple[str, str] | None:
    namespace, env.catalog.namespace = env.catalog.namespace, view.namespace
    try:
        output = env.bind_query(view.query, replace(env, text=view.text), None).output
    except AnalysisError as error:
        return error.condition, error.message
    except Unknown:
        return None
    finally:
        env.catalog.namespace = namespace
    names = {c.name.lower() for c in output}
    missing = next((c for c in view.columns if c.lower() not in names), None)
    if missing is None:
        return None
    return (
        "INCOMPATIBLE_VIEW_SCHEMA_CHANGE",
        f"The SQL query of view `{view.name}` has an incompatible schema change and column {missing} cannot be "
        f"resolved. Expected {len(view.columns)} columns named {', '.join(view.columns)}.",
    )
