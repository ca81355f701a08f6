"""Compares the rows that a publish would leave with those that are there, by a key, before anything is swapped."""

from __future__ import annotations

from collections.abc import Sequence

from planproof.contract import Model
from planproof.publish.materialize.materialization import Job
from planproof.publish.transaction import Refused
from planproof.report.details import Comparison, Example
from planproof.session import StoredTable
from planproof_engine import ByColumn, ColumnNames, PhysicalSchema, quote_parts
from planproof_engine.types import Array, DataType, Map, Struct

EXAMPLES = 5
"""At most so many changed rows are shown, with both values."""


def refuse_keys(model: Model, keys: Sequence[str], promised: PhysicalSchema, target: StoredTable | None) -> None:
    """Raises `Refused` for a key that is no column of both sides, or that cannot be compared."""
    sides = [(promised, "the model"), *([(target.schema, "the published table")] if target is not None else [])]
    for schema, side in sides:
        known = ByColumn((f.name, f.type) for f in schema)
        for key in keys:
            if key not in known:
                raise Refused(f"--key: {side} {model.name} has no column {key!r}; known: {', '.join(known)}")
            if _holds_map(known[key]):
                raise Refused(f"--key: {key} holds a map, which Spark does not compare")


def compare(job: Job, keys: Sequence[str], after: str) -> Comparison:
    """`after` is a relation of the rows that the table would hold. Raises `Refused` where the key is not unique, and
    `SparkFailure`."""
    assert job.target is not None
    before = job.names.target.quoted
    for relation, side in ((before, "published"), (after, "staged")):
        _refuse_repeated(job, keys, relation, side)
    old = ByColumn((f.name, f.type) for f in job.target.schema)
    wanted = ColumnNames(keys)
    both = [f for f in job.examined.promised if f.name in old and f.name not in wanted]
    uncompared = {f.name: "it holds a map" for f in both if _holds_map(f.type) or _holds_map(old[f.name])}
    columns = [f.name for f in both if f.name not in uncompared]
    joined = _join_query(keys, columns, before, after)
    differs = [f"NOT (o.{_column_name('v', i)} <=> n.{_column_name('v', i)})" for i in range(len(columns))]
    here = "o.here IS NOT NULL AND n.here IS NOT NULL"
    either = " OR ".join(differs) or "false"
    terms = ["count_if(o.here IS NULL)", "count_if(n.here IS NULL)", f"count_if({here} AND ({either}))"]
    terms += [f"count_if({here} AND {term})" for term in differs]
    added, removed, changed, *numbers = job.session.rows(f"SELECT {', '.join(terms)} FROM {joined}")[0]
    examples = _examples(job, keys, columns, f"{joined} WHERE {here} AND ({either})") if changed else ()
    counts = {column: int(number) for column, number in zip(columns, numbers)}
    return Comparison(tuple(keys), int(added), int(removed), int(changed), counts, uncompared, tuple(examples))


def _join_query(keys: Sequence[str], columns: Sequence[str], before: str, after: str) -> str:
    """Both sides by the key, under names that no column has."""
    picked = [f"{quote_parts((key,))} AS {_column_name('k', i)}" for i, key in enumerate(keys)]
    picked += [f"{quote_parts((column,))} AS {_column_name('v', i)}" for i, column in enumerate(columns)]
    sides = [f"(SELECT true AS here, {', '.join(picked)} FROM {relation} AS side)" for relation in (before, after)]
    same = " AND ".join(f"o.{_column_name('k', i)} <=> n.{_column_name('k', i)}" for i in range(len(keys)))
    return f"{sides[0]} AS o FULL OUTER JOIN {sides[1]} AS n ON {same}"


def _column_name(kind: str, number: int) -> str:
    return f"{kind}{number}"


def _examples(job: Job, keys: Sequence[str], columns: Sequence[str], changed: str) -> list[Example]:
    texts = [f"CAST(o.{_column_name('k', i)} AS STRING)" for i in range(len(keys))]
    for i in range(len(columns)):
        value = _column_name("v", i)
        texts += [f"NOT (o.{value} <=> n.{value})", f"CAST(o.{value} AS STRING)", f"CAST(n.{value} AS STRING)"]
    found = []
    order = ", ".join(f"o.{_column_name('k', i)}" for i in range(len(keys)))
    for row in job.session.rows(f"SELECT {', '.join(texts)} FROM {changed} ORDER BY {order} LIMIT {EXAMPLES}"):
        key = ", ".join(f"{name}={'NULL' if value is None else value}" for name, value in zip(keys, row))
        rest = row[len(keys) :]
        for i, column in enumerate(columns):
            differs, before, after = rest[3 * i : 3 * i + 3]
            if differs:
                found.append(Example(key, column, before, after))
    return found


def _refuse_repeated(job: Job, keys: Sequence[str], relation: str, side: str) -> None:
    named = ", ".join(quote_parts((key,)) for key in keys)
    repeated = f"SELECT {named} FROM {relation} AS side GROUP BY {named} HAVING count(*) > 1"
    number = int(job.session.rows(f"SELECT count(*) FROM ({repeated})")[0][0])
    if number:
        raise Refused(
            f"--key: {number:,} {side} values of {', '.join(keys)} are in several rows of {job.model.name}; "
            "name the columns that make a row unique"
        )


def _holds_map(kind: DataType) -> bool:
    if isinstance(kind, Array):
        return _holds_map(kind.element)
    if isinstance(kind, Struct):
        return any(_holds_map(f.type) for f in kind.fields)
    return isinstance(kind, Map)
