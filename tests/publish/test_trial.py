"""Data tests over staged rows, by every way to publish: they see the rows that the target is to hold, and stop it."""

from __future__ import annotations

from typing import Any

import pytest
from quick import keep_quick

from planproof import Guard, Model
from planproof.publish.data_tests.trial import DataTest, run_tests
from planproof_engine.finding import Verdict

OLD = "create table {t} using parquet as select 1 as id, 'a' as s"
PARTS = "create table {t} using parquet partitioned by (s) as select * from values (1, 'a'), (9, 'b') as v(id, s)"
DELTA = {"materialized": "incremental"}
OVERWRITE = {"materialized": "incremental", "incremental_strategy": "insert_overwrite", "partition_by": ["s"]}
NEW_COLUMN = {**DELTA, "options": {"on_schema_change": "append_new_columns"}}

# What stands before, the model, and the ids that it is to hold.
CASES: dict[str, tuple[str | None, dict[str, Any], list[int]]] = {
    "first table": (None, {"sql": "select 2 as id, 'b' as s"}, [2]),
    "another schema": (OLD, {"sql": "select 2 as id"}, [2]),
    "same schema": (OLD, {"sql": "select 2 as id, 'b' as s"}, [2]),
    "no rows": (OLD, {"sql": "select 2 as id, 'b' as s where false"}, []),
    "partitioned": (OLD, {"sql": "select 2 as id, 'b' as s", "partition_by": ["s"]}, [2]),
    "view": (None, {"sql": "select 2 as id", "materialized": "view"}, [2]),
    "view with names": (
        None,
        {"sql": "select 2", "materialized": "view", "options": {"columns": [("id", "a comment")]}},
        [2],
    ),
    "append": (OLD, {"sql": "select 2 as id, 'b' as s", **DELTA}, [1, 2]),
    "append with a column": (OLD, {"sql": "select 2 as id, 'b' as s, 3 as n", **NEW_COLUMN}, [1, 2]),
    "partitions": (PARTS, {"sql": "select 2 as id, 'b' as s", **OVERWRITE}, [1, 2]),
    "overwritten": (OLD, {"sql": "select 2 as id, 'b' as s", **OVERWRITE, "partition_by": []}, [2]),
}


def data_test(name: str, ids: list[int], **more: Any) -> DataTest:
    """Fails by one row unless the table holds just these ids."""
    wanted = ", ".join(map(str, ids)) or "null"
    sql = f"select count(*) n, count_if(id in ({wanted})) as known from {name} having n <> {len(ids)} or known <> n"
    return DataTest("ids", sql, **more)


@pytest.mark.parametrize("case", keep_quick(CASES, "another schema", "view with names", "partitions"))
def test_tests_see_what_the_target_is_to_hold(case: str, spark: Any, database: str) -> None:
    before, made, ids = CASES[case]
    name, guard = f"{database}.t", Guard(spark)
    if before is not None:
        spark.sql(before.format(t=name))
    old = sorted(map(str, spark.table(name).collect())) if before else None
    model = Model(name, **made)

    stopped = guard.publish(model, tests=run_tests([data_test(name, [77])]))
    assert stopped.outcome == "rejected"
    (found,) = stopped.of(Verdict.VIOLATED)
    assert (found.code, found.promised, found.found) == ("PP513", "ids", "failures: 1")
    spark.catalog.refreshTable(name) if old else None
    assert (sorted(map(str, spark.table(name).collect())) if old else spark.catalog.tableExists(name)) == (old or False)

    published = guard.publish(model, tests=run_tests([data_test(name, ids)]))
    assert published.outcome == "published", published.to_text()
    assert [t.status for t in published.details.tests] == ["pass"]
    spark.catalog.refreshTable(name)
    assert sorted(row.id for row in spark.table(name).collect()) == ids
    left = [row.tableName for row in spark.sql(f"show tables in {database}").collect()]
    assert left == ["t"], left


def test_limits_decide_as_in_dbt_and_what_cannot_run_is_named(spark: Any, database: str) -> None:
    name = f"{database}.t"
    rows = f"select * from {name} where id > 1"
    tests = [
        DataTest("warns", rows, severity="warn"),
        DataTest("within", rows, error_if="> 5", warn_if="> 5"),
        DataTest("summed", rows, fail_calc="sum(id)", error_if="> 5", warn_if="> 4"),
        DataTest("cut", rows, limit=1, error_if=">= 2", warn_if=">= 2"),
        DataTest("nothing", "select 1 where false"),
        DataTest("unknown", f"select nowhere from {name}"),
    ]
    made = "select * from values (1), (2), (3) as v(id)"
    report = Guard(spark).publish(Model(name, made), tests=run_tests(tests))
    assert report.outcome == "published"
    found = {t.name: (t.status, t.failures) for t in report.details.tests}
    assert found == {
        "warns": ("warn", 2),
        "within": ("pass", 2),
        "summed": ("warn", 5),
        "cut": ("pass", 1),
        "nothing": ("not run", None),
        "unknown": ("not run", None),
    }
    assert "nothing: its SQL does not name the table" in report.to_text()
    assert report.verdict is Verdict.PROVED


def test_the_query_of_a_failure_shows_its_rows(spark: Any, database: str) -> None:
    name = f"{database}.t"
    test = DataTest("small", f"select id from {name} where id > 1", place="tests/small.sql")
    report = Guard(spark).publish(Model(name, "select * from values (1), (2) as v(id)"), tests=run_tests([test]))
    assert report.outcome == "rejected"
    (found,) = report.details.tests
    assert [row.id for row in spark.sql(found.query).collect()] == [2]
    said = " ".join(report.to_text().replace("│", " ").split())
    assert "declared in tests/small.sql: 1 result in the staged rows, configured to fail if != 0" in said


NOT_NULL = "select {c} from {t} where {c} is null"
BLANK = """
with all_values as ( select trim({c}) as {c} from {t} ), errors as ( select * from all_values where {c} = '' )
select * from errors
"""
ACCEPTED = """
with all_values as ( select {c} as value_field, count(*) as n_records from {t} group by {c} )
select * from all_values where value_field not in ( 'a','b' )
"""
REFUSED = """
with all_values as ( select distinct {c} as value_field from {t} ),
validation_errors as ( select value_field from all_values where value_field in ( 'q','z' ) )
select * from validation_errors
"""
RANGE = """
with meet_condition as( select * from {t} ), validation_errors as ( select * from meet_condition where
-- never true, defaults to an empty result set. Exists to ensure any combo of the `or` clauses below succeeds
1 = 2
-- records with a value >= min_value are permitted. The `not` flips this to find records that don't meet the rule.
or not {c} >= 0
-- records with a value <= max_value are permitted. The `not` flips this to find records that don't meet the rule.
or not {c} <= 10
) select * from validation_errors
"""
SHARED = {
    "not_null_id": (NOT_NULL, "id", 1),
    "not_null_n": (NOT_NULL, "n", 1),
    "not_blank": (BLANK, "s", 1),
    "accepted": (ACCEPTED, "s", 3),
    "refused": (REFUSED, "s", 2),
    "range": (RANGE, "n", 2),
}


def test_tests_that_share_a_scan_are_one_query(
    spark: Any, session: Any, database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A view has no files that tell: its query runs once for all of them, and each counts what dbt's own does."""
    plain, asked = type(session).rows, []
    monkeypatch.setattr(type(session), "rows", lambda self, sql: asked.append(sql) or plain(self, sql))  # type: ignore[func-returns-value]
    name, guard = f"{database}.v", Guard(session)
    rows = "values (1, 'a', 5), (null, 'z', 50), (3, ' ', -1), (3, 'q', null), (4, 'q', 7), (5, null, 8)"
    model = Model(name, f"select * from {rows} as v(id, s, n)", materialized="view")
    tests = [DataTest(key, text.format(c=c, t=name), severity="warn") for key, (text, c, _) in SHARED.items()]

    together = guard.publish(model, tests=run_tests(tests))
    assert together.outcome == "published", together.to_text()
    assert {t.name: t.failures for t in together.details.tests} == {key: n for key, (*_, n) in SHARED.items()}
    assert len([sql for sql in asked if "count_if" in sql]) == 1
    assert not [sql for sql in asked if "dbt_internal_test" in sql]

    asked.clear()
    alone = guard.publish(model, tests=lambda staged: [t for test in tests for t in run_tests([test])(staged)])
    assert [(t.name, t.status, t.failures) for t in alone.details.tests] == [
        (t.name, t.status, t.failures) for t in together.details.tests
    ]
    assert len([sql for sql in asked if "dbt_internal_test" in sql]) == len(tests)

    # A query that fails for one of them is not the others' failure.
    wrong = DataTest("wrong", NOT_NULL.format(c="nowhere", t=name), severity="warn")
    found = guard.publish(model, tests=run_tests([wrong, *tests])).details.tests
    assert [t.status for t in found] == ["not run", *("warn" for _ in tests)]
