"""Statements of a setup script."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import pytest

from planproof_engine.origin import AnalysisError, Unknown
from planproof_engine.sql import commands as c
from planproof_engine.sql import name_parts, parse_statement
from planproof_engine.sql import nodes as q


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
    assert (node.key, node.value) == (key, value)


def read(text: str) -> Any:
    return parse_statement(text)


def test_other_sets() -> None:
    assert read("SET TIME ZONE 'UTC'").zone.text == "UTC"
    assert read("SET TIME ZONE LOCAL").zone.word == "LOCAL"
    assert read("SET TIME ZONE INTERVAL '08:30' HOUR TO MINUTE").zone.to == "MINUTE"
    variables = read("SET VAR a = 1, s.b = DEFAULT")
    assert [name_parts(e.left) for e in variables.assignments] == [("a",), ("s", "b")]
    row = read("SET VARIABLE (a, b) = (SELECT 1, 2)")
    assert (len(row.names), type(row.query)) == (2, q.Select)
    assert read("RESET spark.x").key == "spark.x"


def flags(node: q.Node) -> set[str]:
    return {f.name for f in fields(node) if getattr(node, f.name) is True}


def test_create_view() -> None:
    text = (
        "CREATE OR REPLACE GLOBAL TEMP VIEW a.v (x COMMENT 'c', y) COMMENT 'd' TBLPROPERTIES ('k' 'v') AS SELECT 1, 2;"
    )
    node = parse_statement(text)
    assert isinstance(node, c.CreateView)
    assert name_parts(node.name) == ("a", "v")
    assert [i.text for i in node.columns] == ["x", "y"]
    assert flags(node) == {"replace", "temporary", "global_"}
    assert text[slice(*node.query.span)] == "SELECT 1, 2"
    bound = read("create view if not exists v with schema type evolution as values 1")
    assert (bound.schema_binding, flags(bound)) == ("TYPE EVOLUTION", {"exists"})
    using = read("CREATE TEMPORARY VIEW v (a INT) USING parquet OPTIONS (path '/x')")
    assert (using.provider, using.columns[0].name.text) == ("parquet", "a")


def columns(node: c.CreateTable) -> list[tuple[Any, ...]]:
    return [(d.name.text, d.type and d.type.data_type.simple, d.not_null) for d in node.columns]


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
    default = node.columns[1].default
    assert isinstance(default, q.Call)
    assert default.name == "array"
    assert node.provider == "parquet"
    assert [type(p) for p in node.partitioned_by] == [q.Column, q.Call]
    assert set(node.clauses) == {"CLUSTERED", "LOCATION", "COMMENT", "TBLPROPERTIES"}
    assert node.clauses["LOCATION"] == "LOCATION '/tmp/x'"
    assert node.query is None


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
    assert node.query is not None
    start, stop = node.query.span
    assert text[start:stop].strip("(").split()[0].upper() in ("SELECT", "WITH", "VALUES")
    assert stop == len(text)


def test_create_function() -> None:
    node = parse_statement(
        "CREATE TEMPORARY FUNCTION f(x INT, y STRING DEFAULT 'a' COMMENT 'c') RETURNS DOUBLE LANGUAGE SQL "
        "NOT DETERMINISTIC CONTAINS SQL COMMENT 'd' RETURN x + length(y)"
    )
    assert isinstance(node, c.CreateFunction)
    assert [p.name.text for p in node.parameters] == ["x", "y"]
    assert node.returns is not None
    assert node.returns.data_type.simple == "double"
    assert isinstance(node.body, q.Binary)
    table = read("CREATE FUNCTION g() RETURNS TABLE (a INT) RETURN SELECT 1")
    assert (table.returns_table[0].name.text, type(table.body)) == ("a", q.Select)
    assert read("CREATE FUNCTION h AS 'a.B' USING JAR 'x'").class_name == "a.B"


def test_variables_names_and_drops() -> None:
    node = read("DECLARE OR REPLACE VARIABLE a, b INT DEFAULT 1 + 1")
    assert ([name_parts(n) for n in node.names], flags(node)) == ([("a",), ("b",)], {"replace"})
    assert read("DECLARE all = 1").default.text == "1"
    assert read("DECLARE s STRING").type.data_type.simple == "string"
    assert name_parts(read("USE SCHEMA a.b").name) == ("a", "b")
    drop = read("DROP TEMPORARY FUNCTION IF EXISTS f")
    assert (drop.kind, flags(drop)) == ("FUNCTION", {"exists", "temporary"})
    assert read("drop table t purge").kind == "TABLE"
    assert name_parts(read("CREATE DATABASE IF NOT EXISTS d COMMENT 'x'").name) == ("d",)


def test_insert() -> None:
    node = parse_statement("WITH c AS (SELECT 1) INSERT OVERWRITE TABLE t PARTITION (p = 1, q) (a, b) SELECT * FROM c")
    assert isinstance(node, c.Insert)
    assert (node.overwrite, node.partition) == (True, "(p = 1, q)")
    assert [i.text for i in node.columns] == ["a", "b"]
    assert node.with_ is not None
    assert node.with_.ctes[0].alias.name.text == "c"
    assert read("INSERT INTO t VALUES (1)").overwrite is False
    assert read("INSERT INTO t BY NAME SELECT 1 a").by_name is True


def test_the_rest() -> None:
    run = read("EXECUTE IMMEDIATE 'SELECT ?' INTO a, b USING 1, x AS y")
    assert (run.text.text, len(run.into), len(run.arguments)) == ("SELECT ?", 2, 2)
    assert read("ALTER VIEW v AS SELECT 1").query is not None
    assert read("ALTER VIEW v WITH SCHEMA EVOLUTION").schema_binding == "EVOLUTION"
    for text in ("CACHE TABLE t", "ALTER TABLE t SET LOCATION '/x'", "show tables in s"):
        node = parse_statement(f"{text};")
        assert isinstance(node, c.Command)
        assert (node.words, node.text) == (" ".join(text.split()[:2]).upper(), text)
    assert isinstance(parse_statement("(SELECT 1) UNION SELECT 2"), q.SetOperation)


def test_changes_of_tables() -> None:
    assert [d.name.text for d in read("ALTER TABLE t ADD COLUMN a INT").added] == ["a"]
    assert [d.name.text for d in read("ALTER TABLE t ADD COLUMNS (a INT COMMENT 'x', b MAP<INT, INT>);").added] == [
        "a",
        "b",
    ]
    for text in ("ADD COLUMN a.b INT", "ADD COLUMN a INT FIRST", "DROP COLUMN a", "CHANGE a a INT", "ALTER a TYPE INT"):
        assert read(f"ALTER TABLE t {text}").added == ()
    assert isinstance(read("ALTER TABLE t ALTER COLUMN a SET DEFAULT 1"), c.Command)
    assert (read("ALTER TABLE t RENAME TO u").view, read("ALTER VIEW t RENAME TO u").view) == (False, True)
    assert isinstance(read("ALTER TABLE t PARTITION (p = 1) RENAME TO PARTITION (p = 2)"), c.Command)
    assert read("CACHE LAZY TABLE t OPTIONS ('a' = 'b') SELECT 1").temporary


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
