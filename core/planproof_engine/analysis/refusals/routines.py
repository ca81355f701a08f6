"""Functions by name: the schema of Spark's own, and the error for one that does not exist."""

from __future__ import annotations

import difflib

from planproof_engine.analysis.expressions import Environment
from planproof_engine.ground import AnalysisError
from planproof_engine.sql import nodes as q


def drop_schema(name: str, env: Environment) -> str:
    """The name without the schema of Spark's own functions."""
    if "." not in name or env.lacks("a schema of builtin functions"):
        return name
    lowered = name.lower()
    for prefix in ("system.builtin.", "builtin."):
        if lowered.startswith(prefix):
            return name[len(prefix) :]
    return name


def make_unresolved_error(name: str, node: q.Node, env: Environment) -> AnalysisError:
    """Spark's error for a function that does not exist, with those that are named alike."""
    schema = name.split(".")[:-1]
    if len(schema) > 1 and schema[0].lower() == env.catalog.catalog:
        del schema[0]
    if len(schema) > 1 and not env.conf.databricks:
        text = f"{env.catalog.catalog} requires a single-part namespace, but got {'.'.join(f'`{p}`' for p in schema)}."
        return env.make_error("REQUIRES_SINGLE_PART_NAMESPACE", text, node)
    parts = ".".join(f"`{p}`" for p in name.split("."))
    close = difflib.get_close_matches(name.lower(), env.registry.known, n=3, cutoff=0.75)
    hint = f" Did you mean one of the following? [{', '.join(close)}]." if close else ""
    text = (
        f"Cannot resolve routine {parts} on search path "
        f"[`system`.`builtin`, `system`.`session`, `spark_catalog`.`default`].{hint}"
    )
    return env.make_error("UNRESOLVED_ROUTINE", text, node)


def make_missing_error(name: str, node: q.Node, env: Environment) -> Exception:
    """The error for a function that is not known here: Spark's own, or `Unknown` where Spark may know it."""
    # A live catalog may hold functions of its own. They are not read, so that an unknown name is no error.
    live = env.catalog.source is not None
    known = env.registry.find(name) is None and name.lower() in env.registry.known
    if live or known:
        return env.make_unknown(f"the function {name.lower()}", node)
    return make_unresolved_error(name, node, env)
