"""What a script's statements make of tables: their columns, and where these stand.

Source: `CreateTableCommand`, `CreateTableLikeCommand`, `AlterTableAddColumnsCommand`, `AlterTableRenameCommand`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from planproof_engine import types as dt
from planproof_engine.analysis.blocks.queries import bind_query
from planproof_engine.analysis.expressions import Context, Environment, Scope
from planproof_engine.analysis.expressions.constants import text_of
from planproof_engine.catalog import UNKNOWN, Relation, join_name, split_name
from planproof_engine.expr.pretty import refuse_nameless
from planproof_engine.ground import evolve, record
from planproof_engine.schema import LogicalSchema
from planproof_engine.sql import commands as c
from planproof_engine.sql import nodes as q
from planproof_engine.sql.names import name_parts
from planproof_engine.types.kinds import is_atomic

Columns = Sequence[Sequence[Any]]
Known = Mapping[str, Columns]
Typed = tuple[str, dt.DataType]

_PARTITIONED_LAST = frozenset(("avro", "csv", "json", "hive", "orc", "parquet", "text"))
"""Formats of Spark's own tables, whose partition columns come last."""
_AS_DECLARED = frozenset(("delta", "iceberg"))


@record(frozen=True, slots=True)
class Stored:
    """How a table is stored: its format, and how many of its columns, the last ones, are not in its files. `written`:
    the script names the format, and does not leave it to a setting of the session."""

    provider: str
    partitions: int = 0
    written: bool = False

    @property
    def is_of_files(self) -> bool:
        """Whether it is one of Spark's own tables of files."""
        return self.provider in _PARTITIONED_LAST


def resolve_name(node: q.Table, env: Environment) -> tuple[str, ...]:
    """The parts of a name, which `IDENTIFIER(expr)` may spell."""
    if node.computed is None:
        return name_parts(node)
    return split_name(text_of(node.computed.operand, Context(env, Scope(())), "IDENTIFIER of a computed name"))


def full_name(parts: tuple[str, ...], env: Environment) -> str:
    """A table's or view's name as Spark's session catalog registers it: three parts, in lower case."""
    if len(parts) == 1:
        parts = (*env.catalog.namespace, *parts)
    if len(parts) == 2:
        parts = (env.catalog.catalog, *parts)
    return join_name(p.lower() for p in parts)


def add(name: str, columns: Columns, kind: str, env: Environment) -> None:
    """Registers a relation of these columns."""
    env.catalog.add(name, [(str(n), str(t), bool(flag)) for n, t, flag in columns], kind=kind)


def forget(name: str, env: Environment) -> Environment:
    """The environment in which nothing is known of the relation but its name: a query over it is `Unknown`."""
    env.catalog.put(Relation(name, LogicalSchema(()), UNKNOWN))
    return evolve(env, tables={k: v for k, v in env.tables.items() if k != name})


_MADE = re.compile(
    r"\s*(?:CREATE|REPLACE|ALTER|CACHE)\b(?P<words>.*?)\b(?:TABLE|VIEW)\s+(?:IF\s+(?:NOT\s+)?EXISTS\s+)?(?P<name>[\w.`]+)",
    re.IGNORECASE | re.DOTALL,
)


def forget_made(text: str, env: Environment) -> Environment:
    """The environment after a statement of which it is not known what it makes."""
    found = _MADE.match(text)
    if found is None:
        return env
    parts = split_name(found["name"])
    temporary = re.search(r"\bTEMP(ORARY)?\b", found["words"], re.IGNORECASE) is not None
    return forget(join_name(p.lower() for p in parts) if temporary else full_name(parts, env), env)


def create_table(node: c.CreateTable, env: Environment, known: Known) -> Environment:
    """CREATE TABLE: a table that stands already is kept, whether Spark passes over the statement or refuses it."""
    parts = resolve_name(node.name, env)
    name = full_name(parts, env)
    if env.catalog.holds(name) and not node.replace:
        return env
    typed, stored = _find_columns(node, env)
    if parts[-1].lower() in known:
        add(name, known[parts[-1].lower()], "table", env)
    elif stored is None or ("DEFAULT" in node.clauses and any(map(_holds_text, (t for _, t in typed)))):
        return forget(name, env)
    else:
        env.catalog.add(name, [(column, dt.as_nullable(t), True) for column, t in typed])
    return evolve(env, tables={**env.tables, name: stored})


def _find_columns(node: c.CreateTable, env: Environment) -> tuple[list[Typed], Stored | None]:
    """The columns in the order in which the table has them, and how it is stored; None where the order is not known."""
    if node.query is not None:
        plan = bind_query(node.query, env, None)
        refuse_nameless(plan.output)
        typed = [(f.name, f.type) for f in plan.schema]
    else:
        typed = _list_typed(node.columns)
    typed += _list_typed([p for p in node.partitioned_by if isinstance(p, q.ColumnDef)])
    provider = (node.provider or "parquet").strip("`").lower()
    if not node.partitioned_by or provider in _AS_DECLARED:
        return typed, Stored(provider, written=node.provider is not None)
    keys = [p.name.text if isinstance(p, q.ColumnDef) else ".".join(name_parts(p)) for p in node.partitioned_by]
    by_name = {column.lower(): (column, t) for column, t in typed}
    if provider not in _PARTITIONED_LAST or not all(key.lower() in by_name for key in keys):
        return typed, None
    last = [by_name[key.lower()] for key in keys]
    if len(last) == len(typed):
        raise env.make_error("ALL_PARTITION_COLUMNS_NOT_ALLOWED", "A table needs a column beside its partitions", node)
    if not all(is_atomic(t) for _, t in last):
        raise env.make_error("INVALID_PARTITION_COLUMN_DATA_TYPE", "A folder per value takes simple values.", node)
    return [one for one in typed if one not in last] + last, Stored(provider, len(last), node.provider is not None)


def _list_typed(columns: Sequence[q.ColumnDef]) -> list[Typed]:
    return [(d.name.text, d.type.data_type) for d in columns if d.type is not None]


def _holds_text(t: dt.DataType) -> bool:
    """Whether the table's collation may become that of a text in the type."""
    return "string" in t.simple or "char" in t.simple


def create_like(node: c.CreateTableLike, env: Environment, known: Known) -> Environment:
    """CREATE TABLE .. LIKE: the columns of another relation, each of which may be null."""
    source = env.catalog.find(resolve_name(node.source, env))
    name = full_name(resolve_name(node.name, env), env)
    if source is None or env.catalog.holds(name):
        return env
    if source.kind == UNKNOWN:
        return forget(name, env)
    env.catalog.add(name, [(f.name, dt.as_nullable(f.type), True) for f in source.schema])
    return evolve(env, tables={**env.tables, name: env.tables.get(source.name, Stored("parquet"))})


def change_columns(node: c.ChangeColumns, env: Environment, known: Known) -> Environment:
    """ALTER TABLE over columns: new ones come behind the others, and before those by which the table is partitioned."""
    found = env.catalog.find(resolve_name(node.name, env))
    if found is None or found.kind != "table":
        return env
    stored = env.tables.get(found.name)
    if not node.added or stored is None:
        return forget(found.name, env)
    at = len(found.schema) - stored.partitions
    old = [(f.name, f.type, True) for f in found.schema]
    new = [(column, dt.as_nullable(t), True) for column, t in _list_typed(node.added)]
    if {column.lower() for column, *_ in old}.isdisjoint(column.lower() for column, *_ in new):
        env.catalog.add(found.name, [*old[:at], *new, *old[at:]])
    return env


def rename(node: c.Rename, env: Environment, known: Known) -> Environment:
    """ALTER TABLE | VIEW .. RENAME TO: within one schema."""
    found = env.catalog.find(resolve_name(node.name, env))
    if found is None or found.kind == ("table" if node.view else "view"):
        return env
    new = join_name((*found.parts[:-1], resolve_name(node.target, env)[-1].lower()))
    if env.catalog.holds(new):
        return env
    env.catalog.drop(found.name)
    fields = (evolve(f, relation=new) for f in found.schema)
    env.catalog.put(Relation(new, LogicalSchema(tuple(fields)), found.kind))
    names = {found.name: new}
    views = {names.get(k, k): evolve(view, name=names.get(k, k)) for k, view in env.views.items()}
    return evolve(env, views=views, tables={names.get(k, k): v for k, v in env.tables.items()})
