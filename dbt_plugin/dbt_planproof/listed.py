"""A schema counts as empty only where two questions say so: after some errors dbt takes a schema that it could not list
for an empty one.

dbt-spark reads an error's text, and gives no relations where it speaks of a schema or a table that is not found. It
says so, too, where one of many tables was dropped while they were listed, and where a metastore fails in that way. dbt
would then build every incremental table anew, over the rows that stand there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from dbt_common.exceptions import DbtRuntimeError

from planproof_engine.quoting import quote_parts

TRIES = 3
_MISSING = ("SCHEMA_NOT_FOUND", "Schema not found", "NoSuchNamespace", "NoSuchDatabase", "Database not found")
Ask = Callable[[str], Iterable[Any]]


class Unanswered(DbtRuntimeError):
    """Raised where the catalog does not say which relations there are: nothing is built as if there were none."""


def list_relations(schema: str, listed: Callable[[], list[Any]], ask: Ask) -> list[Any]:
    """What `listed` gives; where it gives nothing, `ask` (a statement's rows) must say the same.

    Raises `Unanswered`, by which dbt ends the command, or fails the node that asked.
    """
    for _ in range(TRIES):
        found = listed()
        shown = [] if found else _show_tables(schema, ask)
        if not shown:
            return found
    raise Unanswered(
        f"planproof: the catalog lists {', '.join(shown[:3])}{', ...' if len(shown) > 3 else ''} in {schema} "
        "and gave none when dbt asked what they are. Nothing is built as if there were no tables; run the command "
        "again once the catalog answers"
    )


def _show_tables(schema: str, ask: Ask) -> list[str]:
    """The relations of a schema by their names alone, without temporary views."""
    try:
        rows = list(ask(f"show tables in {quote_parts((schema,))}"))
    except DbtRuntimeError as error:
        if not any(word in str(error) for word in _MISSING):
            raise _make_error(schema, error) from error
        try:
            known = [str(row[0]).strip("`") for row in ask("show databases")]
        except DbtRuntimeError as second:
            raise _make_error(schema, second) from second
        return [f"the schema {schema} itself"] if schema.lower() in map(str.lower, known) else []
    return [str(row[1]) for row in rows if str(row[2]).lower() != "true"]


def _make_error(schema: str, error: Exception) -> Unanswered:
    # dbt says the kind of an error in lines of its own.
    said = [line.strip() for line in str(error).splitlines() if not line.strip().endswith("Error")]
    return Unanswered(
        f"planproof: the catalog did not say which tables there are in {schema}: {said[0] if said else error!r}. "
        "Nothing is built as if there were none; run the command again once the catalog answers"
    )
