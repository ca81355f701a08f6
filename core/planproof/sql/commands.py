"""The nodes of statements that are not queries."""

from __future__ import annotations

from sqlglot import exp


class SetConf(exp.Expression):
    """`SET key = value`: `this` the key, `value` the text or None for `SET key` and `SET`, which change nothing."""

    arg_types = {"this": False, "value": False}


class ResetConf(exp.Expression):
    """`RESET key`; `this` is None for `RESET`, which resets all."""

    arg_types = {"this": False}


class SetTimeZone(exp.Expression):
    """`SET TIME ZONE ..`: `this` a string Literal, an IntervalLiteral, or exp.Var("LOCAL")."""


class SetVariable(exp.Expression):
    """`SET VAR a = 1, b = 2`: `expressions` of exp.EQ(Column, value); `SET VAR (a, b) = (..)`: `names`, `query`."""

    arg_types = {"expressions": False, "names": False, "query": False}


class DeclareVariable(exp.Expression):
    """`DECLARE [OR REPLACE] a, b INT DEFAULT 1`: `names` are columns, `kind` a TypeName, `default` an expression."""

    arg_types = {"names": True, "kind": False, "default": False, "replace": False}


class Use(exp.Expression):
    """`USE [DATABASE] name`, `SET CATALOG name`: `this` an exp.Table; `catalog` for the latter."""

    arg_types = {"this": True, "catalog": False}


class CreateNamespace(exp.Expression):
    """`CREATE SCHEMA name`."""

    arg_types = {"this": True, "exists": False}


class CreateView(exp.Expression):
    """`CREATE VIEW name (columns) AS query`: `columns` are identifiers, `schema_binding` what follows WITH SCHEMA."""

    arg_types = {
        "this": True,
        "query": True,
        "columns": False,
        "replace": False,
        "temporary": False,
        "global_": False,
        "exists": False,
        "schema_binding": False,
    }


class CreateViewUsing(exp.Expression):
    """`CREATE TEMPORARY VIEW name (columns) USING provider OPTIONS (..)`: `columns` are exp.ColumnDefs."""

    arg_types = {"this": True, "columns": False, "provider": True, "replace": False, "global_": False}


class CreateTable(exp.Expression):
    """`CREATE | REPLACE TABLE name (columns) USING provider clauses AS query`.

    `columns` are exp.ColumnDefs with `this`, `kind` (TypeName), `not_null` and perhaps `default`; `partitioned_by`
    holds columns, calls (transforms) or exp.ColumnDefs; `clauses` maps a clause's first word to its text.
    """

    arg_types = {
        "this": True,
        "columns": False,
        "provider": False,
        "partitioned_by": False,
        "clauses": False,
        "query": False,
        "replace": False,
        "temporary": False,
        "external": False,
        "exists": False,
    }


class CreateTableLike(exp.Expression):
    """`CREATE TABLE this LIKE source`."""

    arg_types = {"this": True, "source": True, "exists": False}


class CreateFunction(exp.Expression):
    """`CREATE FUNCTION name(parameters) RETURNS returns RETURN body`, or `.. AS 'class_name'`.

    `parameters` are exp.ColumnDefs (`default` perhaps); `returns` is a TypeName, or missing; `returns_table` is a list
    of exp.ColumnDefs, empty for a bare TABLE, or missing; `body` is an expression or a query.
    """

    arg_types = {
        "this": True,
        "parameters": False,
        "returns": False,
        "returns_table": False,
        "body": False,
        "class_name": False,
        "replace": False,
        "temporary": False,
        "exists": False,
    }


class Drop(exp.Expression):
    """`DROP kind name`: `kind` is TABLE, VIEW, FUNCTION, VARIABLE or SCHEMA."""

    arg_types = {"this": True, "kind": True, "exists": False, "temporary": False}


class Insert(exp.Expression):
    """`INSERT INTO | OVERWRITE this (columns) query`: `partition` is the text of PARTITION (..), `by_name` a flag."""

    arg_types = {
        "this": True,
        "query": True,
        "overwrite": False,
        "columns": False,
        "partition": False,
        "by_name": False,
        "with_": False,
    }


class ExecuteImmediate(exp.Expression):
    """`EXECUTE IMMEDIATE this INTO into USING expressions`."""

    arg_types = {"this": True, "into": False, "expressions": False}


class AlterView(exp.Expression):
    """`ALTER VIEW this AS query`, or `ALTER VIEW this WITH SCHEMA schema_binding`."""

    arg_types = {"this": True, "query": False, "schema_binding": False}


class Command(exp.Expression):
    """Any other statement: `this` its first two words in upper case, `text` all of it. Its syntax is not checked."""

    arg_types = {"this": True, "text": True}
