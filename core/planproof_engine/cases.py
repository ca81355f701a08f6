"""One case of `planproof derive`: what setup left behind and a query, to the schema that Spark would give it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from planproof_engine import types as dt
from planproof_engine.conf import SPARKS, Conf, UnknownSpark
from planproof_engine.ground import AnalysisError, Unknown, evolve

if TYPE_CHECKING:
    from planproof_engine.analysis.expressions import Environment
    from planproof_engine.api import LogicalPlan


TIME_ZONE = "America/Los_Angeles"
"""Where a case does not set one: that of Spark's own tests (SharedSparkSession), so that answers are the same on each
machine."""


def derive(case: Mapping[str, Any], place: str = "the case") -> dict[str, Any]:
    """The answer to a case: `schema`, `error` with its place, or `unknown`. Never raises. Of a case in another form it
    says what is wrong, by its `place` in a file."""
    answer: dict[str, Any] = {"id": case.get("id") if isinstance(case, Mapping) else None}
    if (fault := _find_fault(case)) is not None:
        return {**answer, "unknown": f"{place} {fault}"}
    try:
        from planproof_engine.analysis.script.setup import apply

        env = apply(
            [str(statement) for statement in case.get("setup") or ()], case.get("relations") or {}, _read_conf(case)
        )
        plan = _plan(str(case["query"]), env)
        collated = env.lacks("collations as metadata")
        return {**answer, "schema": [_describe_field(field, collated) for field in plan.schema]}
    except Unknown as unknown:
        return {**answer, "unknown": unknown.construct}
    except AnalysisError as error:
        origin = error.origin
        line, column = (origin.line, origin.column) if origin is not None else (None, None)
        return {**answer, "error": f"{error.condition}: {error.message}", "line": line, "column": column}
    except UnknownSpark as error:
        return {**answer, "unknown": str(error)}
    except RecursionError:
        return {**answer, "unknown": "a query nested this deeply"}
    except Exception as error:  # One case must never end the others.
        return {**answer, "unknown": f"internal error: {type(error).__name__}: {error}"}


def _find_fault(case: object) -> str | None:
    """What a case lacks, or has in another form than `derive` takes it."""
    if not isinstance(case, Mapping):
        return f"is no object with a `query`, but a {type(case).__name__}"
    if not isinstance(case.get("query"), str):
        return "has no `query`" if "query" not in case else "has a `query` that is no text"
    relations, setup = case.get("relations"), case.get("setup")
    if relations is not None and not (isinstance(relations, Mapping) and all(map(_are_columns, relations.values()))):
        return "gives `relations` in another form than {name: [[column, type, nullable], ...]}"
    if setup is not None and not (isinstance(setup, (list, tuple)) and all(isinstance(one, str) for one in setup)):
        return "gives `setup` in another form than a list of statements"
    return None


def _are_columns(given: object) -> bool:
    """Whether each is a name, a type (a text, or Spark's JSON form) and a flag."""
    return isinstance(given, (list, tuple)) and all(
        isinstance(one, (list, tuple))
        and len(one) == 3
        and isinstance(one[0], str)
        and isinstance(one[1], (str, Mapping))
        and isinstance(one[2], bool)
        for one in given
    )


def _plan(query: str, env: Environment) -> LogicalPlan:
    """The plan of the query. Raises `Unknown` for a statement of another kind: Spark has a schema for SHOW, too.

    A model must be a query, so that `planproof.plan` refuses these, as Spark does where one is written to a table.
    """
    from planproof_engine.api import plan

    try:
        return plan(query, environment=evolve(env, text=query))
    except AnalysisError as error:
        if error.condition != "PARSE_SYNTAX_ERROR" or not _is_other_statement(query, env.conf):
            raise
        origin = error.origin
    raise Unknown("a statement that is no query", origin)


def _is_other_statement(text: str, conf: Conf) -> bool:
    from planproof_engine.analysis.script.immediate import is_immediate
    from planproof_engine.sql.parse import parse, parse_statement

    if is_immediate(text):
        return False  # The query in its text has the error.
    try:
        parse(text, conf)
        return False  # A text inside of the query has the error: the schema of from_json, say.
    except AnalysisError:
        pass
    try:
        parse_statement(text, conf)
        return True
    except AnalysisError:
        return False


def _read_conf(case: Mapping[str, Any]) -> Conf:
    """The settings before `setup`: the defaults of the Spark that the case names, and its ANSI mode."""
    conf = evolve(Conf.of(str(case.get("spark") or SPARKS[-1])), time_zone=TIME_ZONE)
    return conf if case.get("ansi") is None else evolve(conf, ansi=bool(case["ansi"]))


def _describe_field(field: Any, collated: bool) -> dict[str, Any]:
    return {
        "name": field.name,
        "type": field.type.simple,
        "type_json": _add_collations(field.type) if collated else field.type.json,
        "nullable": field.nullable,
        "relation": field.relation,
    }


def _add_collations(t: dt.DataType) -> Any:
    """The type as JSON, with the collations of its strings in it; a field of a struct has them in its metadata."""
    if isinstance(t, dt.String):
        return t.simple
    if isinstance(t, dt.Array):
        return {**t.json, "elementType": _add_collations(t.element)}
    if isinstance(t, dt.Map):
        return {**t.json, "keyType": _add_collations(t.key), "valueType": _add_collations(t.value)}
    return t.json
