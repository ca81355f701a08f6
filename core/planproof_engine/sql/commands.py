"""The nodes of statements that are not queries."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field

from planproof_engine.sql import nodes as q
from planproof_engine.sql.tree import node


@node
class SetConf(q.Node):
    """`SET key = value`. The value is None for `SET key`, and both are None for `SET`: these only show settings."""

    key: str | None
    value: str | None


@node
class ResetConf(q.Node):
    """`RESET key`; without a key `RESET`, which resets all."""

    key: str | None


@node
class SetTimeZone(q.Node):
    """`SET TIME ZONE zone`: LOCAL is a Var."""

    zone: q.Literal | q.IntervalLiteral | q.Var


@node
class SetVariable(q.Node):
    """`SET VAR a = 1, b = 2`, each a Column and its value; `SET VAR (a, b) = (query)`, whose columns are `names`."""

    assignments: Sequence[q.Binary] = ()
    names: Sequence[q.Column] = ()
    query: q.Query | None = None


@node
class DeclareVariable(q.Node):
    """`DECLARE [OR REPLACE] a, b INT DEFAULT 1`."""

    names: Sequence[q.Column | q.IdentifierClause]
    type: q.TypeName | None = None
    default: q.Node | None = None
    replace: bool = False


@node
class Use(q.Node):
    """`USE [DATABASE] name`; `catalog` for SET CATALOG name."""

    name: q.Table
    catalog: bool = False


@node
class CreateNamespace(q.Node):
    """`CREATE SCHEMA [IF NOT EXISTS] name`."""

    name: q.Table
    exists: bool = False


@node
class CreateView(q.Node):
    """`CREATE VIEW name (columns) AS query`: `schema_binding` is what follows WITH SCHEMA."""

    name: q.Table
    query: q.Query
    columns: Sequence[q.Identifier] = ()
    schema_binding: str | None = None
    replace: bool = False
    temporary: bool = False
    global_: bool = False
    exists: bool = False


@node
class CreateViewUsing(q.Node):
    """`CREATE TEMPORARY VIEW name (columns) USING provider OPTIONS (..)`."""

    name: q.Table
    provider: str
    columns: Sequence[q.ColumnDef] = ()
    replace: bool = False
    global_: bool = False


@node
class CreateTable(q.Node):
    """`CREATE | REPLACE TABLE name (columns) USING provider clauses AS query`.

    `partitioned_by` holds columns, calls (transforms) or ColumnDefs; `clauses` maps a clause's first word to its text.
    """

    name: q.Table
    columns: Sequence[q.ColumnDef] = ()
    provider: str | None = None
    partitioned_by: Sequence[q.Node] = ()
    clauses: Mapping[str, str] = field(default_factory=dict)
    query: q.Query | None = None
    replace: bool = False
    temporary: bool = False
    external: bool = False
    exists: bool = False


@node
class CreateTableLike(q.Node):
    """`CREATE TABLE [IF NOT EXISTS] name LIKE source`."""

    name: q.Table
    source: q.Table
    exists: bool = False


@node
class CreateFunction(q.Node):
    """`CREATE FUNCTION name(parameters) RETURNS returns RETURN body`, or `.. AS 'class_name'`.

    `returns_table` are the columns of RETURNS TABLE: an empty sequence for a bare TABLE, None for a function that
    returns a value. `body` is an expression or a query.
    """

    name: q.Table
    parameters: Sequence[q.ColumnDef] = ()
    returns: q.TypeName | None = None
    returns_table: Sequence[q.ColumnDef] | None = None
    body: q.Node | None = None
    class_name: str | None = None
    replace: bool = False
    temporary: bool = False
    exists: bool = False


@node
class Drop(q.Node):
    """`DROP kind name`: TABLE, VIEW, FUNCTION, VARIABLE or SCHEMA."""

    name: q.Table
    kind: str
    exists: bool = False
    temporary: bool = False
    cascade: bool = False


@node
class Insert(q.Node):
    """`WITH .. INSERT INTO | OVERWRITE name (columns) query`: `partition` is the text of PARTITION (..)."""

    name: q.Table
    columns: Sequence[q.Identifier] = ()
    query: q.Query | None = None
    partition: str | None = None
    overwrite: bool = False
    by_name: bool = False
    with_: q.With | None = None


@node
class ExecuteImmediate(q.Node):
    """`EXECUTE IMMEDIATE text INTO into USING arguments`."""

    text: q.Node
    into: Sequence[q.Column] = ()
    arguments: Sequence[q.Node] = ()


@node
class AlterView(q.Node):
    """`ALTER VIEW name AS query`, or `ALTER VIEW name WITH SCHEMA schema_binding`."""

    name: q.Table
    query: q.Query | None = None
    schema_binding: str | None = None


@node
class Rename(q.Node):
    """`ALTER TABLE | VIEW name RENAME TO target`, of a view where `view` says so."""

    name: q.Table
    target: q.Table
    view: bool = False


@node
class ChangeColumns(q.Node):
    """`ALTER TABLE name ADD COLUMNS (added)`; any other change of its columns has no `added`."""

    name: q.Table
    added: Sequence[q.ColumnDef] = ()


@node
class Command(q.Node):
    """Any other statement: its first two words in upper case, and all its text. Its syntax is not checked."""

    words: str
    text: str
