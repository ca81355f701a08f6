"""What real Spark answers to many expressions over one table, at the price of a few queries."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from pyspark.errors import PySparkException

RAISED = "raised"


@dataclass(frozen=True, slots=True)
class Answer:
    """What Spark gave for one expression: its type with all flags, and a value per row (`RAISED` where it failed)."""

    type: str
    values: tuple[str, ...]

    @property
    def raised(self) -> bool:
        return RAISED in self.values


def answers(spark: Any, expressions: Sequence[str], table: str, risky: bool = False) -> list[Answer] | str:
    """The answer of each expression, or the condition of an error that none of them has to itself.

    `risky` expressions are not tried as they are: in most batches one would fail, and hide what the others answer.
    """
    failed = ""
    for ask in (_guarded,) if risky else (_plain, _guarded):
        try:
            return ask(spark, expressions, table)
        except PySparkException as error:
            failed = condition(error)
    return failed


def fails(spark: Any, expression: str, table: str) -> str | None:
    """The condition with which a query of this expression alone fails; None where it has rows."""
    try:
        spark.sql(f"SELECT {expression} AS e FROM {table}").collect()
    except PySparkException as error:
        return condition(error)
    return None


def condition(error: PySparkException) -> str:
    return error.getCondition() or type(error).__name__


def _plain(spark: Any, expressions: Sequence[str], table: str) -> list[Answer]:
    items = ", ".join(f"{e} AS e{n}" for n, e in enumerate(expressions))
    frame = spark.sql(f"SELECT id, {items} FROM {table}")
    return _columns(_types(frame), frame.collect(), repr)


def _guarded(spark: Any, expressions: Sequence[str], table: str) -> list[Answer]:
    """Each value in a struct that is null where Spark raises: Catalyst has such a guard, SQL has no name for it."""
    jvm = spark._jvm
    parser = spark._jsparkSession.sessionState().sqlParser()
    column = jvm.org.apache.spark.sql.classic.ExpressionUtils.column
    guard = jvm.org.apache.spark.sql.catalyst.expressions.TryEval
    wanted = spark._sc._gateway.new_array(jvm.org.apache.spark.sql.Column, len(expressions) + 1)
    wanted[0] = column(parser.parseExpression("id"))
    for n, text in enumerate(expressions):
        wanted[n + 1] = column(guard(parser.parseExpression(f"named_struct('v', {text})"))).alias(f"e{n}")
    frame = type(spark.table(table))(spark.table(table)._jdf.select(wanted), spark)
    return _columns(
        [t["type"]["fields"][0] for t in _types(frame)], frame.collect(), lambda v: RAISED if v is None else repr(v[0])
    )


def _types(frame: Any) -> list[Any]:
    """The JSON forms of the columns beside the id. pyspark itself does not read all that Spark says of collations."""
    return json.loads(frame._jdf.schema().json())["fields"][1:]  # type: ignore[no-any-return]


def _columns(forms: Sequence[Any], rows: Sequence[Any], show: Any) -> list[Answer]:
    ordered = sorted(rows, key=lambda row: row[0])
    return [Answer(_shown(form), tuple(show(row[n + 1]) for row in ordered)) for n, form in enumerate(forms)]


def _shown(form: Any) -> str:
    """A column's type and flags, without its name."""
    collations = form["metadata"].get("__COLLATIONS", {})
    return f"{form['type']} {form['nullable']} {sorted((k.partition('.')[2], c) for k, c in collations.items())}"
