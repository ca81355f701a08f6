"""Views whose query no longer gives the columns that they were created with. Source: `ResolveRelations`, `View`.

Spark keeps a view's text and reads it anew wherever the view is used, in the namespace in which it was created.
"""

from __future__ import annotations

from collections.abc import Iterable

from planproof_engine import types as dt
from planproof_engine.analysis.expressions import Environment
from planproof_engine.ground import AnalysisError, Unknown, evolve, record
from planproof_engine.sql import nodes as q
from planproof_engine.types.casts import can_cast, can_up_cast


@record(frozen=True, slots=True)
class View:
    """A view as it was created: its name, its query and the text that this stands in, and the query's columns.

    `binding` says what happens when a column's type changes later. With BINDING, which temporary views have too, it may
    only become narrower. With COMPENSATION it is cast back to the old type. With any other value the view takes the new
    type.

    `reads` are the relations that it reads, through other views, too; `sources` how many of them are tables of files,
    at least and at most.
    """

    name: str
    query: q.Query
    text: str
    columns: tuple[tuple[str, dt.DataType], ...]
    namespace: tuple[str, ...]
    binding: str
    reads: frozenset[str] = frozenset()
    sources: tuple[int, int] = (0, 0)


def find_broken(views: Iterable[View], env: Environment) -> dict[str, tuple[str, str]]:
    """The views that cannot be read any more: condition and message, by name."""
    found: dict[str, tuple[str, str]] = {}
    for view in views:
        problem = _find_problem(view, env)
        if problem is not None:
            found[view.name] = problem
    return found


def _find_problem(view: View, env: Environment) -> tuple[str, str] | None:
    namespace, env.catalog.namespace = env.catalog.namespace, view.namespace
    try:
        output = env.bind_query(view.query, evolve(env, text=view.text), None).output
    except AnalysisError as error:
        return error.condition, error.message
    except Unknown:
        return None
    finally:
        env.catalog.namespace = namespace
    found = {c.name.lower(): c.type for c in output}
    if view.binding == "EVOLUTION":
        return None
    names = [name for name, _ in view.columns]
    if (missing := next((name for name in names if name.lower() not in found), None)) is not None:
        return (
            "INCOMPATIBLE_VIEW_SCHEMA_CHANGE",
            f"The SQL query of view `{view.name}` has an incompatible schema change and column {missing} cannot be "
            f"resolved. Expected {len(names)} columns named {', '.join(names)}.",
        )
    changes = ((name, found[name.lower()], stored) for name, stored in view.columns)
    return next(filter(None, (_find_type_problem(view, *change, env) for change in changes)), None)


def _find_type_problem(
    view: View, name: str, found: dt.DataType, stored: dt.DataType, env: Environment
) -> tuple[str, str] | None:
    """Why the view cannot take a column's new type."""
    if view.binding == "BINDING" and not can_up_cast(found, stored):
        return "CANNOT_UP_CAST_DATATYPE", f'Cannot up cast {view.name}.{name} from "{found.sql}" to "{stored.sql}".'
    if view.binding == "COMPENSATION" and not can_cast(found, stored, ansi=env.conf.ansi):
        return (
            "DATATYPE_MISMATCH.CAST_WITHOUT_SUGGESTION",
            f'Cannot resolve "{name}" due to data type mismatch: cannot cast "{found.sql}" to "{stored.sql}".',
        )
    return None
