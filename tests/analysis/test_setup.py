"""What a script leaves behind for the query after it: names across databases, views that broke, variables."""

from __future__ import annotations

from typing import Any

import pytest

from planproof.project.cases import derived


def answer(setup: list[str], query: str, relations: dict[str, Any] | None = None) -> Any:
    found = derived({"id": 1, "setup": setup, "query": query, "relations": relations or {}, "ansi": True})
    if "schema" in found:
        return [(f["name"], f["type"], f["nullable"]) for f in found["schema"]]
    return found["error"].split(":")[0] if "error" in found else found["unknown"]


TWO_DATABASES = [
    "CREATE DATABASE mydb1",
    "USE mydb1",
    "CREATE TABLE t1 (i1 INT)",
    "CREATE DATABASE mydb2",
    "USE mydb2",
    "CREATE TABLE t1 (i1 INT, i2 INT)",
    "USE mydb1",
]


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("SELECT * FROM mydb2.t1", [("i1", "int", True), ("i2", "int", True)]),
        ("SELECT mydb1.t1.i1 FROM t1, mydb2.t1", [("i1", "int", True)]),
        ("SELECT t1.i1 FROM t1, mydb2.t1", "AMBIGUOUS_REFERENCE"),
        ("SELECT mydb1.t1.i1 FROM t1, mydb1.t1", "AMBIGUOUS_REFERENCE"),
        ("SELECT t1.i1 FROM mydb3.t1", "TABLE_OR_VIEW_NOT_FOUND"),
    ],
)
def test_tables_of_other_databases(query: str, expected: Any) -> None:
    assert answer(TWO_DATABASES, query) == expected


def test_a_view_whose_columns_are_gone_is_refused_and_another_is_not() -> None:
    setup = [
        "CREATE TABLE a (x INT, y INT)",
        "CREATE VIEW vx AS SELECT x FROM a",
        "CREATE VIEW vy AS SELECT y AS q FROM a",
        "DROP TABLE a",
        "CREATE TABLE a (y INT)",
    ]
    assert answer(setup, "SELECT * FROM vx") == "UNRESOLVED_COLUMN.WITH_SUGGESTION"
    assert answer(setup, "SELECT * FROM vy") == [("q", "int", True)]
    star = ["CREATE TABLE a (x INT)", "CREATE VIEW v AS SELECT * FROM a", "DROP TABLE a", "CREATE TABLE a (y INT)"]
    assert answer(star, "SELECT * FROM v") == "INCOMPATIBLE_VIEW_SCHEMA_CHANGE"
    assert answer([*star, "DROP VIEW v", "CREATE VIEW v AS SELECT * FROM a"], "SELECT * FROM v") == [("y", "int", True)]


def test_variables_keep_their_types_and_print_their_values() -> None:
    setup = ["DECLARE a INT DEFAULT 1 + 2", "DECLARE b STRING", "SET VAR a = a * 2"]
    assert answer(setup, "SELECT a, a + 1, b") == [
        ("a", "int", False),
        ("(variablereference(system.session.a=6) + 1)", "int", False),
        ("b", "string", True),
    ]


def test_a_variable_whose_value_is_computed_is_unknown() -> None:
    assert answer(["DECLARE a DOUBLE", "SET VAR a = rand()"], "SELECT a") == "a variable whose value is computed"


@pytest.mark.parametrize(
    ("setting", "query", "expected"),
    [
        ("spark.sql.orderByOrdinal=false", "SELECT 1 AS a ORDER BY 9", [("a", "int", False)]),
        (
            "spark.sql.groupByAliases=false",
            "SELECT id AS k FROM range(3) GROUP BY k",
            "UNRESOLVED_COLUMN.WITH_SUGGESTION",
        ),
        ("spark.sql.caseSensitive=true", "SELECT ID FROM range(3)", "UNRESOLVED_COLUMN.WITH_SUGGESTION"),
        ("spark.sql.parser.quotedRegexColumnNames=true", "SELECT `i.*` FROM range(3)", [("id", "bigint", False)]),
        (
            "spark.sql.legacy.parser.havingWithoutGroupByAsWhere=true",
            "SELECT id FROM range(3) HAVING id > 1",
            [("id", "bigint", False)],
        ),
    ],
)
def test_settings_of_names_and_positions(setting: str, query: str, expected: Any) -> None:
    assert answer([f"SET {setting}"], query) == expected
