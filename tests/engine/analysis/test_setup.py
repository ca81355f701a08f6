"""What a script leaves behind for the query after it: names across databases, views that broke, variables."""

from __future__ import annotations

from typing import Any

import pytest

from planproof_engine.api import plan
from planproof_engine.cases import derive
from planproof_engine.origin import Unknown


def answer(setup: list[str], query: str, relations: dict[str, Any] | None = None) -> Any:
    found = derive({"id": 1, "setup": setup, "query": query, "relations": relations or {}, "ansi": True})
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


TABLE = "CREATE TABLE x (a INT, b STRING) USING parquet"
PARTITIONED = "CREATE TABLE x (a INT) USING parquet PARTITIONED BY (p STRING)"
OF_X = "the columns of spark_catalog.default.x"
A, B, C = ("a", "int", True), ("b", "string", True), ("c", "int", True)


@pytest.mark.parametrize(
    ("setup", "query", "expected"),
    [
        ([TABLE, "ALTER TABLE x ADD COLUMNS (c INT COMMENT 'x')"], "x", [A, B, C]),
        ([TABLE, "ALTER TABLE x ADD COLUMN c INT;"], "x", [A, B, C]),
        ([TABLE, "ALTER TABLE x ADD COLUMNS (A INT)"], "x", [A, B]),
        ([PARTITIONED, "ALTER TABLE x ADD COLUMNS (c INT)"], "x", [A, C, ("p", "string", True)]),
        ([TABLE, "ALTER TABLE x ADD COLUMN c INT FIRST"], "x", OF_X),
        ([TABLE, "ALTER TABLE x DROP COLUMN b"], "x", OF_X),
        ([TABLE, "ALTER TABLE x ALTER COLUMN a TYPE BIGINT"], "x", OF_X),
        ([TABLE, "ALTER TABLE x RENAME COLUMN a TO c"], "x", OF_X),
        ([TABLE, "ALTER TABLE x REPLACE COLUMNS (c INT)", "CREATE VIEW v AS SELECT * FROM x"], "v", OF_X[:-1] + "v"),
        ([TABLE, "ALTER TABLE x ALTER COLUMN a COMMENT 'q'", "ALTER TABLE x SET TBLPROPERTIES (a = 'b')"], "x", [A, B]),
        ([TABLE, "ALTER TABLE x RENAME TO y"], "y", [A, B]),
        ([TABLE, "ALTER TABLE x RENAME TO y"], "x", "TABLE_OR_VIEW_NOT_FOUND"),
        ([TABLE, "CREATE VIEW v AS SELECT a FROM x", "ALTER TABLE x RENAME TO y"], "v", "TABLE_OR_VIEW_NOT_FOUND"),
        ([TABLE, "ALTER VIEW x RENAME TO y"], "x", [A, B]),
        (["CREATE TEMP VIEW x AS SELECT 1 AS a", "ALTER TABLE x RENAME TO y"], "y", [("a", "int", False)]),
        (["CREATE VIEW x AS SELECT 1 AS a", "ALTER VIEW x AS SELECT 2 AS b"], "x", [("b", "int", False)]),
        ([TABLE, "CREATE TABLE y LIKE x"], "y", [A, B]),
        (["CREATE VIEW x AS SELECT 1 AS a", "CREATE TABLE y LIKE x"], "y", [A]),
        (["CACHE LAZY TABLE x OPTIONS ('a' 'b') AS SELECT 1 AS a"], "x", [("a", "int", False)]),
        (["EXECUTE IMMEDIATE 'CREATE TABLE x (a INT, b STRING)'"], "x", [A, B]),
    ],
)
def test_what_statements_make_of_tables(setup: list[str], query: str, expected: Any) -> None:
    assert answer(setup, f"SELECT * FROM {query}") == expected


@pytest.mark.parametrize(
    ("table", "names"),
    [
        ("x (a INT) PARTITIONED BY (p STRING, q INT)", ["a", "p", "q"]),
        ("x (c INT, b STRING, a INT) USING orc PARTITIONED BY (a, C)", ["b", "a", "c"]),
        ("x USING json PARTITIONED BY (c, a) AS SELECT 1 AS a, 'b' AS b, 2 AS c", ["b", "c", "a"]),
        ("x (p INT, a INT) USING delta PARTITIONED BY (p)", ["p", "a"]),
        ("x (p INT, a INT) USING iceberg PARTITIONED BY (bucket(4, p))", ["p", "a"]),
        ("x (p INT, a INT) USING another PARTITIONED BY (p)", OF_X),
        ("x (a STRING) USING parquet DEFAULT COLLATION utf8_lcase", OF_X),
        ("x (a INT) USING parquet DEFAULT COLLATION utf8_lcase", ["a"]),
    ],
)
def test_columns_of_a_table_by_how_it_is_stored(table: str, names: Any) -> None:
    found = answer([f"CREATE TABLE {table}"], "SELECT * FROM x")
    assert (found if isinstance(found, str) else [name for name, *_ in found]) == names


VIEW = "CREATE TEMP VIEW x AS SELECT 1 AS a"
OLD, NEW = [("a", "int", False)], [("a", "int", False), ("b", "int", False)]


@pytest.mark.parametrize(
    ("setup", "expected"),
    [
        ([VIEW, "CREATE OR REPLACE TEMP VIEW x AS SELECT a, 2 AS b FROM x"], OLD),
        (
            [VIEW, "CREATE TEMP VIEW y AS SELECT * FROM x", "CREATE OR REPLACE TEMP VIEW x AS SELECT a, 2 AS b FROM y"],
            OLD,
        ),
        ([VIEW, "CREATE OR REPLACE TEMP VIEW x AS SELECT 1 AS a, 2 AS b WHERE EXISTS (SELECT * FROM x)"], OLD),
        ([VIEW, "CREATE OR REPLACE TEMP VIEW x AS WITH x AS (SELECT 1 AS a, 2 AS b) SELECT * FROM x"], NEW),
        ([VIEW, "CREATE TEMP VIEW x AS SELECT 1 AS a, 2 AS b"], OLD),
        ([VIEW, "CREATE TEMP VIEW IF NOT EXISTS x AS SELECT 1 AS a, 2 AS b"], OLD),
        ([TABLE, "CREATE TABLE IF NOT EXISTS x (c INT)"], [A, B]),
        ([TABLE, "CREATE TABLE x (c INT)", "CREATE OR REPLACE VIEW x AS SELECT 1 AS a"], [A, B]),
        (["CREATE VIEW x AS SELECT 2 AS b", VIEW, "DROP VIEW x"], [("b", "int", False)]),
        ([TABLE, "DROP SCHEMA default"], [A, B]),
        ([TABLE, "DROP SCHEMA default CASCADE"], "TABLE_OR_VIEW_NOT_FOUND"),
        (["CREATE VIEW x DEFAULT COLLATION utf8_lcase AS SELECT 'a' AS a"], OF_X),
        (["CREATE TABLE y (a INT)", "CREATE TABLE x AS SELECT a FROM y VERSION AS OF 3"], OF_X),
    ],
)
def test_what_stands_already_is_kept_where_spark_refuses(setup: list[str], expected: Any) -> None:
    assert answer(setup, "SELECT * FROM x") == expected


def test_a_view_over_one_that_was_replaced_is_read_anew() -> None:
    setup = [VIEW, "CREATE TEMP VIEW y AS SELECT * FROM x", "CREATE OR REPLACE TEMP VIEW x AS SELECT 'q' AS a"]
    assert answer(setup, "SELECT * FROM y") == "CANNOT_UP_CAST_DATATYPE"


def test_what_a_catalog_reports_of_a_changed_table_counts() -> None:
    setup = [TABLE, "ALTER TABLE x DROP COLUMN b"]
    assert answer(setup, "SELECT * FROM x", {"x": [["a", "int", True]]}) == [A]


@pytest.mark.parametrize("made", ["VARIABLE v", "FUNCTION v()"])
def test_what_is_made_twice_is_made_once(made: str) -> None:
    values = ("INT DEFAULT 1", "STRING DEFAULT 'a'") if made == "VARIABLE v" else ("RETURN 1", "RETURN 'a'")
    word = "DECLARE" if made == "VARIABLE v" else "CREATE TEMPORARY"
    setup = [f"{word} {made} {value}" for value in values]
    query = "SELECT v AS x" if made == "VARIABLE v" else "SELECT v() AS x"
    assert answer(setup, query) == [("x", "int", False)]
    again = f"{word} OR REPLACE {made} {values[1]}".replace(
        "CREATE TEMPORARY OR REPLACE", "CREATE OR REPLACE TEMPORARY"
    )
    assert answer([*setup, again], query) == [("x", "string", False)]


def test_settings_stand_in_texts() -> None:
    setup = ["SET what = 1 as n", "SET other = ${what}, 2 as m", "CREATE TEMP VIEW v AS SELECT ${other}"]
    assert answer(setup, "SELECT ${hivevar:what}, '${what}', '${unset}'") == [
        ("n", "int", False),
        ("1 as n", "string", False),
        ("", "string", False),
    ]
    assert answer(setup, "SELECT * FROM v") == [("n", "int", False), ("m", "int", False)]
    assert answer([*setup, "RESET what"], "SELECT '${what}'") == [("", "string", False)]
    assert answer(["SET loop = ${loop}"], "SELECT '${env:HOME}'") == "a ${...} variable"
    assert answer([], "SELECT '${spark.app.name}'") == "a ${...} variable"
    with pytest.raises(Unknown):
        plan("SELECT '${what}'")


def test_settings_that_stand_for_each_other_end() -> None:
    many = [f"SET a{n} = $${{b}}{{a{n + 1}}}$${{b}}{{a{n + 1}}}" for n in range(40)]
    setup = ["SET spark.sql.variable.substitute=false", *many, "SET b = ", "SET spark.sql.variable.substitute=true"]
    assert answer(setup, "SELECT length('${a0}') AS n") is not None
    assert answer(["SET spark.sql.variable.substitute=false"], "SELECT '${x}'") == "a ${...} variable"


def test_variables_keep_their_types_and_print_their_values() -> None:
    setup = ["DECLARE a INT DEFAULT 1 + 2", "DECLARE b STRING", "SET VAR a = a * 2"]
    assert answer(setup, "SELECT a, a + 1, b") == [
        ("a", "int", False),
        ("(variablereference(system.session.a=6) + 1)", "int", False),
        ("b", "string", True),
    ]


def test_a_variable_that_is_an_array_prints_its_members() -> None:
    setup = [
        "DECLARE a ARRAY<STRING> DEFAULT array('x', null)",
        "DECLARE b ARRAY<BIGINT> DEFAULT array(1, 2)",
        "DECLARE c ARRAY<STRING>",
    ]
    assert answer(setup, "SELECT a, a[0], b[0], c[0]") == [
        ("a", "array<string>", False),
        ("variablereference(system.session.a=ARRAY('x', CAST(NULL AS STRING)))[0]", "string", True),
        ("variablereference(system.session.b=ARRAY(1L, 2L))[0]", "bigint", True),
        ("variablereference(system.session.c=NULL)[0]", "string", True),
    ]


def test_a_variable_that_is_a_decimal_has_all_digits_of_its_scale() -> None:
    setup = [
        "DECLARE a DECIMAL(10, 2) DEFAULT 1.5",
        "DECLARE b DECIMAL(20, 10) DEFAULT 0",
        "DECLARE c DECIMAL(2, 1) DEFAULT 99",
    ]
    assert answer(setup, "SELECT a + 1, b + 1") == [
        ("(variablereference(system.session.a=1.50BD) + 1)", "decimal(11,2)", True),
        ("(variablereference(system.session.b=0E-10BD) + 1)", "decimal(21,10)", True),
    ]
    assert answer(setup, "SELECT c + 1") == "the value of the variable c"


def test_a_variable_whose_value_is_computed_has_a_type_and_no_text() -> None:
    setup = ["DECLARE a DOUBLE", "SET VAR a = rand()"]
    assert answer(setup, "SELECT a, a + 1 AS b") == [("a", "double", False), ("b", "double", False)]
    assert answer(setup, "SELECT a + 1") == "the value of the variable a"


def test_a_variable_beside_a_decimal_is_no_literal() -> None:
    # Spark 4.0.5: a literal 3 is a decimal(1,0) there, and the product a decimal(38,8).
    setup = ["DECLARE a INT DEFAULT 3"]
    [(_, data_type, _)] = answer(setup, "SELECT CAST(1 AS DECIMAL(38,10)) * a")
    assert data_type == "decimal(38,6)"


def test_a_variable_whose_value_a_query_tells_is_unknown() -> None:
    setup = ["CREATE TABLE t (x INT)", "DECLARE a INT DEFAULT 5", "SET VAR a = (SELECT max(x) FROM t)"]
    assert answer(setup, "SELECT a") == "the value of the variable a"


@pytest.mark.parametrize(
    ("statement", "expected"),
    [
        ("EXECUTE IMMEDIATE 'SELECT 42' INTO a", "(variablereference(system.session.a=42) + 1)"),
        ("EXECUTE IMMEDIATE 'SELECT ?' INTO a USING 7", "(variablereference(system.session.a=7) + 1)"),
        ("SET VAR a = (SELECT 3)", "(variablereference(system.session.a=3) + 1)"),
        ("SET VAR (a) = (SELECT 4)", "(variablereference(system.session.a=4) + 1)"),
        ("SET VAR a = CAST('8' AS INT)", "(variablereference(system.session.a=8) + 1)"),
    ],
)
def test_a_query_without_from_sets_a_variable(statement: str, expected: str) -> None:
    assert answer(["DECLARE a INT DEFAULT 5", statement], "SELECT a + 1") == [(expected, "int", False)]


@pytest.mark.parametrize(
    ("view", "change", "expected"),
    [
        ("TEMPORARY VIEW v", "a BIGINT, b STRING", "CANNOT_UP_CAST_DATATYPE"),
        ("TEMPORARY VIEW v", "a SMALLINT, b STRING", [("a", "int", True), ("b", "string", True)]),
        ("VIEW v WITH SCHEMA BINDING", "a STRING, b STRING", "CANNOT_UP_CAST_DATATYPE"),
        ("VIEW v", "a BIGINT, b STRING", [("a", "int", True), ("b", "string", True)]),
        ("VIEW v", "a ARRAY<INT>, b STRING", "DATATYPE_MISMATCH.CAST_WITHOUT_SUGGESTION"),
        ("VIEW v", "a INT", "UNRESOLVED_COLUMN.WITH_SUGGESTION"),
    ],
)
def test_a_view_over_a_table_that_was_made_again_with_other_types(view: str, change: str, expected: Any) -> None:
    setup = [
        "CREATE TABLE t (a INT, b STRING) USING parquet",
        f"CREATE {view} AS SELECT a, b FROM t",
        "DROP TABLE t",
        f"CREATE TABLE t ({change}) USING parquet",
    ]
    assert answer(setup, "SELECT * FROM v") == expected


@pytest.mark.parametrize(
    ("setting", "query", "expected"),
    [
        ("spark.sql.orderByOrdinal=false", "SELECT 1 AS a ORDER BY 9", [("a", "int", False)]),
        (
            "spark.sql.parser.escapedStringLiterals=true",
            r"SELECT 'a\nb', r'\d' AS d",
            [(r"a\nb", "string", False), ("d", "string", False)],
        ),
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


def test_a_statement_that_is_no_query_is_unknown_and_a_query_of_bad_grammar_is_not() -> None:
    for statement in ("show tables", "DESCRIBE EXTENDED t", "explain select 1", "SET", "insert into t select 1"):
        found = derive({"id": 1, "query": statement})
        assert found == {"id": 1, "unknown": "a statement that is no query"}, statement
    assert derive({"id": 1, "query": "from t insert into u select *"})["unknown"] == "INSERT after FROM"
    bad = ("select (1", "shows tables", "select * from show tables t u v", "execute immediate 'selec 1'")
    for query in bad:
        assert derive({"id": 1, "query": query})["error"].startswith("PARSE_SYNTAX_ERROR"), query


@pytest.mark.parametrize("name", ["'x' | 'y'", ":p"])
def test_a_variable_whose_name_only_a_run_tells_is_missed_where_it_is_used(name: str) -> None:
    setup = ["DECLARE x INT DEFAULT 3", f"DECLARE IDENTIFIER({name}) INT = 3", "DECLARE z INT = 4"]
    assert answer(setup, "SELECT x AS n, z AS m") == [("n", "int", False), ("m", "int", False)]
    assert answer(setup, "SELECT y").startswith("UNRESOLVED_COLUMN")


TEMPORARY_VIEW = ["CREATE TEMPORARY VIEW v AS SELECT 1 AS a", "CREATE TABLE t (c CHAR(2))"]


@pytest.mark.parametrize(
    ("query", "spark", "expected"),
    [
        ("SELECT * FROM default.v", "4.3", "TABLE_OR_VIEW_NOT_FOUND"),
        ("SELECT * FROM spark_catalog.default.v", "4.0", "TABLE_OR_VIEW_NOT_FOUND"),
        ("SELECT * FROM system.session.v", "4.3", ["a"]),
        ("SELECT * FROM system.session.v", "4.0", "REQUIRES_SINGLE_PART_NAMESPACE"),
        ("SELECT * FROM session.v", "4.3", ["a"]),
        ("SELECT * FROM session.v", "3.5", "TABLE_OR_VIEW_NOT_FOUND"),
    ],
)
def test_a_temporary_view_is_of_no_schema_but_the_sessions(query: str, spark: str, expected: Any) -> None:
    found = derive({"id": 1, "setup": TEMPORARY_VIEW, "query": query, "ansi": True, "spark": spark})
    names = [field["name"] for field in found.get("schema", [])]
    assert (names or found["error"].split(":")[0]) == expected


def test_which_functions_take_a_char_is_not_known() -> None:
    kept = [*TEMPORARY_VIEW, "SET spark.sql.preserveCharVarcharTypeInfo=true"]
    assert answer(kept, "SELECT upper(c) FROM t") == "a CHAR(2) as an argument"
    assert answer(kept, "SELECT c FROM t") == [("c", "char(2)", True)]


SQL_FUNCTION = ["CREATE TEMPORARY FUNCTION f(x INT) RETURNS INT RETURN x + 1"]


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        ("f(DISTINCT 1)", "INVALID_SQL_SYNTAX.FUNCTION_WITH_UNSUPPORTED_SYNTAX"),
        ("f(DISTINCT 1, 2)", "INVALID_SQL_SYNTAX.FUNCTION_WITH_UNSUPPORTED_SYNTAX"),
        ("f(1) FILTER (WHERE true)", "INVALID_SQL_SYNTAX.FUNCTION_WITH_UNSUPPORTED_SYNTAX"),
        ("f(1) IGNORE NULLS", "INVALID_SQL_SYNTAX.FUNCTION_WITH_UNSUPPORTED_SYNTAX"),
        ("f(1) OVER ()", "UNSUPPORTED_SQL_UDF_USAGE"),
        ("f(ALL 1)", [("f(1)", "int", False)]),
    ],
)
def test_what_a_sql_function_does_not_take(call: str, expected: Any) -> None:
    assert answer(SQL_FUNCTION, f"SELECT {call}") == expected


@pytest.mark.parametrize(
    "declared",
    [
        "f(a INT DEFAULT 1, b INT) RETURNS INT RETURN a + b",
        "f(a INT, A INT) RETURNS INT RETURN 1",
        "f(a INT, b INT) RETURNS TABLE (x INT, X INT) RETURN SELECT a, b",
    ],
)
def test_a_sql_function_that_spark_refuses_is_not_declared(declared: str) -> None:
    query = "SELECT * FROM f(1, 2)" if "TABLE" in declared else "SELECT f(1, 2)"
    assert answer([f"CREATE TEMPORARY FUNCTION {declared}"], query).startswith("UNRESOL")
    kept = [
        "CREATE TEMPORARY FUNCTION f(x INT) RETURNS INT RETURN x",
        f"CREATE OR REPLACE TEMPORARY FUNCTION {declared}",
    ]
    assert answer(kept, "SELECT f(1)") == [("f(1)", "int", False)]


def test_fields_that_except_drops_in_two_spellings_are_not_known() -> None:
    setup = ["CREATE TABLE t (s STRUCT<x: INT, y: INT>)"]
    assert answer(setup, "SELECT * EXCEPT (s.x, S.y) FROM t").startswith("fields that EXCEPT drops")
    assert answer(setup, "SELECT * EXCEPT (s.x, S.X) FROM t") == [("s", "struct<y:int>", False)]
