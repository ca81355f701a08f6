"""Statements of a setup script."""

from __future__ import annotations

from typing import Any

import pytest

from planproof.origin import AnalysisError, Unknown
from planproof.sql import commands as c
from planproof.sql import name_parts, parse_statement
from planproof.sql import nodes as q


@pytest.mark.parametrize(
    ("text", "key", "value"),
    [
        ("SET spark.sql.ansi.enabled = false", "spark.sql.ansi.enabled", "false"),
        ("set `spark.x`=`a b`;", "spark.x", "a b"),
        ("SET spark.sql.session.timeZone=America/Los_Angeles", "spark.sql.session.timeZone", "America/Los_Angeles"),
        ("SET k={$}=[", "k", "{$}=["),
        ("-- comment\nSET a.b", "a.b", None),
        ("SET", None, None),
        ("SET time = 3", "time", "3"),
    ],
)
def test_settings_are_read_from_the_raw_text(text: str, key: str | None, value: str | None) -> None:
    node = parse_statement(text)
    assert isinstance(node, c.SetConf)
    assert (node.args["this"], node.args["value"]) == (key, value)


def test_other_sets() -> None:
    assert parse_statement("SET TIME ZONE 'UTC'").this.this == "UTC"
    assert parse_statement("SET TIME ZONE LOCAL").this.name == "LOCAL"
    assert parse_statement("SET TIME ZONE INTERVAL '08:30' HOUR TO MINUTE").this.args["to"] == "MINUTE"
    variables = parse_statement("SET VAR a = 1, s.b = DEFAULT")
    assert [name_parts(e.this) for e in variables.expressions] == [("a",), ("s", "b")]
    row = parse_statement("SET VARIABLE (a, b) = (SELECT 1, 2)")
    assert (len(row.args["names"]), type(row.args["query"])) == (2, q.Select)
    assert parse_statement("RESET spark.x").this == "spark.x"


def flags(node: q.Node) -> set[str]:
    return {key for key, value in node.args.items() if value is True}


def test_create_view() -> None:
    text = (
        "CREATE OR REPLACE GLOBAL TEMP VIEW a.v (x COMMENT 'c', y) COMMENT 'd' TBLPROPERTIES ('k' 'v') AS SELECT 1, 2;"
    )
    node = parse_statement(text)
    assert isinstance(node, c.CreateView)
    assert name_parts(node.this) == ("a", "v")
    assert [i.name for i in node.args["columns"]] == ["x", "y"]
    assert flags(node) == {"replace", "temporary", "global_"}
    assert text[slice(*node.args["query"].span)] == "SELECT 1, 2"
    bound = parse_statement("create view if not exists v with schema type evolution as values 1")
    assert (bound.args["schema_binding"], flags(bound)) == ("TYPE EVOLUTION", {"exists"})
    using = parse_statement("CREATE TEMPORARY VIEW v (a INT) USING parquet OPTIONS (path '/x')")
    assert (using.args["provider"], using.args["columns"][0].name) == ("parquet", "a")


def columns(node: q.Node) -> list[tuple[Any, ...]]:
    return [(d.name, d.args["kind"].args["data_type"].simple, d.args["not_null"]) for d in node.args["columns"]]


def test_create_table() -> None:
    node = parse_statement(
        "CREATE EXTERNAL TABLE IF NOT EXISTS s.t (a INT NOT NULL COMMENT 'x', `b c` array<int> DEFAULT array(1), "
        "d DECIMAL(5,2) CONSTRAINT p PRIMARY KEY NOT NULL, e INT GENERATED ALWAYS AS (a + 1), "
        "CONSTRAINT q CHECK (a > 0)) USING parquet PARTITIONED BY (a, bucket(4, d)) "
        "CLUSTERED BY (a) SORTED BY (d DESC) "
        "INTO 4 BUCKETS LOCATION '/tmp/x' COMMENT 'y' TBLPROPERTIES ('k' 'v')"
    )
    assert isinstance(node, c.CreateTable)
    assert columns(node) == [
        ("a", "int", True),
        ("b c", "array<int>", False),
        ("d", "decimal(5,2)", True),
        ("e", "int", False),
    ]
    assert node.args["columns"][1].args["default"].name == "array"
    assert node.args["provider"] == "parquet"
    assert [type(p) for p in node.args["partitioned_by"]] == [q.Column, q.Call]
    assert set(node.args["clauses"]) == {"CLUSTERED", "LOCATION", "COMMENT", "TBLPROPERTIES"}
    assert node.args["clauses"]["LOCATION"] == "LOCATION '/tmp/x'"
    assert "query" not in node.args


@pytest.mark.parametrize(
    "text",
    [
        "CREATE TABLE t AS SELECT 1 a",
        "create or replace table t using parquet options (a 'b') location '/x' as (select 1 a)",
        "CREATE TABLE t STORED AS PARQUET SELECT 1 a",
        "CREATE TABLE t ROW FORMAT SERDE 'x' WITH SERDEPROPERTIES ('a' = 'b') AS WITH c AS (SELECT 1 a) TABLE c",
        "CREATE TABLE t PARTITIONED BY (a) AS VALUES 1 AS v(a)",
    ],
)
def test_create_table_as(text: str) -> None:
    node = parse_statement(text)
    assert isinstance(node, c.CreateTable)
    start, stop = node.args["query"].span
    assert text[start:stop].strip("(").split()[0].upper() in ("SELECT", "WITH", "VALUES")
    assert stop == len(text)


def test_create_function() -> None:
    node = parse_statement(
        "CREATE TEMPORARY FUNCTION f(x INT, y STRING DEFAULT 'a' COMMENT 'c') RETURNS DOUBLE LANGUAGE SQL "
        "NOT DETERMINISTIC CONTAINS SQL COMMENT 'd' RETURN x + length(y)"
    )
    assert isinstance(node, c.CreateFunction)
    assert [p.name for p in node.args["parameters"]] == ["x", "y"]
    assert node.args["returns"].args["data_type"].simple == "double"
    assert isinstance(node.args["body"], q.Add)
    table = parse_statement("CREATE FUNCTION g() RETURNS TABLE (a INT) RETURN SELECT 1")
    assert (table.args["returns_table"][0].name, type(table.args["body"])) == ("a", q.Select)
    assert parse_statement("CREATE FUNCTION h AS 'a.B' USING JAR 'x'").args["class_name"] == "a.B"


def test_variables_names_and_drops() -> None:
    node = parse_statement("DECLARE OR REPLACE VARIABLE a, b INT DEFAULT 1 + 1")
    assert ([name_parts(n) for n in node.args["names"]], flags(node)) == ([("a",), ("b",)], {"replace"})
    assert parse_statement("DECLARE all = 1").args["default"].this == "1"
    assert parse_statement("DECLARE s STRING").args["kind"].args["data_type"].simple == "string"
    assert name_parts(parse_statement("USE SCHEMA a.b").this) == ("a", "b")
    drop = parse_statement("DROP TEMPORARY FUNCTION IF EXISTS f")
    assert (drop.args["kind"], flags(drop)) == ("FUNCTION", {"exists", "temporary"})
    assert parse_statement("drop table t purge").args["kind"] == "TABLE"
    assert name_parts(parse_statement("CREATE DATABASE IF NOT EXISTS d COMMENT 'x'").this) == ("d",)


def test_insert() -> None:
    node = parse_statement("WITH c AS (SELECT 1) INSERT OVERWRITE TABLE t PARTITION (p = 1, q) (a, b) SELECT * FROM c")
    assert isinstance(node, c.Insert)
    assert (node.args["overwrite"], node.args["partition"]) == (True, "(p = 1, q)")
    assert [i.name for i in node.args["columns"]] == ["a", "b"]
    assert node.args["with_"].expressions[0].args["alias"].name == "c"
    assert parse_statement("INSERT INTO t VALUES (1)").args["overwrite"] is False
    assert parse_statement("INSERT INTO t BY NAME SELECT 1 a").args["by_name"] is True


def test_the_rest() -> None:
    run = parse_statement("EXECUTE IMMEDIATE 'SELECT ?' INTO a, b USING 1, x AS y")
    assert (run.this.this, len(run.args["into"]), len(run.expressions)) == ("SELECT ?", 2, 2)
    assert parse_statement("ALTER VIEW v AS SELECT 1").args["query"] is not None
    assert parse_statement("ALTER VIEW v WITH SCHEMA EVOLUTION").args["schema_binding"] == "EVOLUTION"
    for text in ("CACHE TABLE t", "ALTER TABLE t ADD COLUMN a INT", "show tables in s"):
        node = parse_statement(f"{text};")
        assert isinstance(node, c.Command)
        assert (node.this, node.args["text"]) == (" ".join(text.split()[:2]).upper(), text)
    assert isinstance(parse_statement("(SELECT 1) UNION SELECT 2"), q.Union)


@pytest.mark.parametrize(
    "text", ["CREATE VIEW v", "CREATE TABLE t (a)", "SET VAR a", "DROP TABLE", "INSERT t SELECT 1", "abc"]
)
def test_syntax_errors(text: str) -> None:
    with pytest.raises(AnalysisError) as caught:
        parse_statement(text)
    assert caught.value.condition == "PARSE_SYNTAX_ERROR"


@pytest.mark.parametrize(
    "text",
    [
        *("BEGIN SELECT 1; END", "CREATE MATERIALIZED VIEW v AS SELECT 1"),
        *("INSERT OVERWRITE DIRECTORY '/x' SELECT 1", "AUTO CDC INTO t FROM STREAM s KEYS (a) SEQUENCE BY b"),
    ],
)
def test_unknown_statements(text: str) -> None:
    with pytest.raises(Unknown):
        parse_statement(text)
