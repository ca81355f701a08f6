"""The nodes of statements that are not queries."""

from __future__ import annotations

from planproof.sql import nodes as q


class SetConf(q.Node):
    """`SET key = value`: `this` the key, `value` the text or None for `SET key` and `SET`, which change nothing."""


class ResetConf(q.Node):
    """`RESET key`; `this` is None for `RESET`, which resets all."""


class SetTimeZone(q.Node):
    """`SET TIME ZONE ..`: `this` a string Literal, an IntervalLiteral, or Var("LOCAL")."""


class SetVariable(q.Node):
    """`SET VAR a = 1, b = 2`: `expressions` of EQ(Column, value); `SET VAR (a, b) = (..)`: `names`, `query`."""


class DeclareVariable(q.Node):
    """`DECLARE [OR REPLACE] a, b INT DEFAULT 1`: `names` are columns, `kind` a TypeName, `default` an expression.

    Flag: `replace`.
    """


class Use(q.Node):
    """`USE [DATABASE] name`, `SET CATALOG name`: `this` a Table; `catalog` for the latter."""


class CreateNamespace(q.Node):
    """`CREATE SCHEMA [IF NOT EXISTS] this`: `exists`."""


class CreateView(q.Node):
    """`CREATE VIEW this (columns) AS query`: `columns` are identifiers, `schema_binding` what follows WITH SCHEMA.

    Flags: `replace`, `temporary`, `global_`, `exists`.
    """


class CreateViewUsing(q.Node):
    """`CREATE TEMPORARY VIEW this (columns) USING provider OPTIONS (..)`: `columns` are ColumnDefs.

    Flags: `replace`, `global_`.
    """


class CreateTable(q.Node):
    """`CREATE | REPLACE TABLE this (columns) USING provider clauses AS query`.

    `columns` are ColumnDefs with `this`, `kind` (TypeName), `not_null` and perhaps `default`; `partitioned_by`
    holds columns, calls (transforms) or ColumnDefs; `clauses` maps a clause's first word to its text. Flags:
    `replace`, `temporary`, `external`, `exists`.
    """


class CreateTableLike(q.Node):
    """`CREATE TABLE [IF NOT EXISTS] this LIKE source`: `exists`."""


class CreateFunction(q.Node):
    """`CREATE FUNCTION this(parameters) RETURNS returns RETURN body`, or `.. AS 'class_name'`.

    `parameters` are ColumnDefs (`default` perhaps); `returns` is a TypeName, or missing; `returns_table` is a list
    of ColumnDefs, empty for a bare TABLE, or missing; `body` is an expression or a query. Flags:
    `replace`, `temporary`, `exists`.
    """


class Drop(q.Node):
    """`DROP kind this`: `kind` is TABLE, VIEW, FUNCTION, VARIABLE or SCHEMA; `exists`, `temporary`."""


class Insert(q.Node):
    """`INSERT INTO | OVERWRITE this (columns) query`: `partition` is the text of PARTITION (..), `with_` a With.

    Flags: `overwrite`, `by_name`.
    """


class ExecuteImmediate(q.Node):
    """`EXECUTE IMMEDIATE this INTO into USING expressions`."""


class AlterView(q.Node):
    """`ALTER VIEW this AS query`, or `ALTER VIEW this WITH SCHEMA schema_binding`."""


class Command(q.Node):
    """Any other statement: `this` its first two words in upper case, `text` all of it. Its syntax is not checked."""
