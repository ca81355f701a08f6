"""A catalog that does not answer is never an absent table: at each call of a publish, with Spark's own errors.

Either the connection is gone, or the metastore says that there is no such object: what Hive's own does
when its database is gone. A look-up that says so counts only where a listing says the same.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from pyspark.errors import AnalysisException

from planproof import Guard, Model
from planproof.publish.transaction.places import database_root
from planproof.report.run import run_report
from planproof.session.absence import NOT_THERE, verify_absence
from planproof.session.classic import ClassicSession
from planproof.session.protocol import SparkFailure
from planproof_engine.origin import AnalysisError

LOOKED_UP = ("getTempViewOrPermanentTableMetadata", "getTableMetadata", "getDatabaseMetadata", "getPartition")
ERRORS: dict[str, Callable[[Any], Exception]] = {
    "no such table": lambda spark: said(lambda: spark.table("default.no_such_table")),
    "no such schema": lambda spark: said(
        lambda: spark._jsparkSession.sessionState().catalog().getDatabaseMetadata("no_such_schema")
    ),
    "gone": lambda spark: ConnectionError("the cable was pulled"),
}
CASES = {
    "same": {"sql": "select 2 as id, 'b' as s"},
    "changed": {"sql": "select 2L as id"},
    "append": {"sql": "select 2 as id, 'b' as s", "materialized": "incremental"},
    "view": {"sql": "select 2 as id", "materialized": "view"},
}
NEW = {"same": [(2, "b")], "changed": [(2,)], "append": [(1, "a"), (2, "b")], "view": [(2,)]}
OLD = [(1, "a")]


def said(question: Callable[[], Any]) -> Exception:
    """What Spark raises to a question."""
    with pytest.raises(AnalysisException) as found:
        question()
    return found.value


class Failing:
    """Spark's catalog, whose look-ups fail from number `at` on, `length` of them."""

    def __init__(self, inner: Any, error: Exception, at: int, length: int, names: Any = LOOKED_UP) -> None:
        self.names = names
        self.inner, self.error, self.at, self.length, self.calls = inner, error, at, length, 0

    def __getattr__(self, name: str) -> Any:
        found = getattr(self.inner, name)
        if name not in self.names:
            return found

        def looked_up(*given: Any) -> Any:
            self.calls += 1
            if self.at < self.calls <= self.at + self.length:
                raise self.error
            return found(*given)

        return looked_up

    @property
    def reached(self) -> bool:
        return self.calls > self.at


def rows(spark: Any, name: str) -> Any:
    if not spark.catalog.tableExists(name):
        return None
    return sorted((tuple(r) for r in spark.newSession().table(name).collect()), key=str)


def stand(spark: Any, name: str, root: str) -> None:
    """The table as it was, whatever stands there."""
    for kind in ("view", "table"):
        if spark.catalog.tableExists(name) and (spark.catalog.getTable(name).tableType == "VIEW") == (kind == "view"):
            spark.sql(f"drop {kind} {name}")
    spark.sql(f"create table {name} using parquet as select 1 as id, 'a' as s")


def swept(spark: Any, database: str, case: str, error: str, length: int, every: int) -> list[str]:
    name, outcomes = f"{database}.t", []
    healthy = ClassicSession(spark)
    root = database_root(healthy, (database,))
    fresh, raised = True, ERRORS[error](spark)
    for at in range(0, 200, every):
        if fresh:
            stand(spark, name, root)
        session = ClassicSession(spark)
        failing = Failing(session._catalog, raised, at, length)
        session.__dict__["_catalog"] = failing
        report = Guard(session, root=root).publish(Model(name, **CASES[case]))
        if not failing.reached:
            assert report.outcome == "published", report.error
            return outcomes
        where = f"{case}, {error}, call {at}: {report.outcome}, {report.error}"
        outcomes.append(report.outcome)
        recovered = [r.outcome for r in Guard(healthy, root=root).recover()]
        assert "failed" not in recovered, where
        is_new = report.outcome == "published" or recovered[-1:] == ["published"]
        assert rows(spark, name) == (NEW[case] if is_new else OLD), where
        shown = [r[1] for r in spark.sql(f"show tables in {database}").collect() if not r[2]]
        assert shown == ["t"], where
        if report.outcome == "failed":
            assert run_report("run", [report], _now()).exit_code() == 2
            assert report.error
        fresh = is_new
    raise AssertionError("the publish never ended")


def _now() -> Any:
    from datetime import datetime, timezone

    return datetime.now(timezone.utc)


def test_the_first_look_up_says_that_there_is_no_table(spark: Any, database: str) -> None:
    """Believed, the model would be published as a new table, whatever stands there."""
    name = f"{database}.t"
    spark.sql(f"create table {name} using parquet as select 1 as id, 'a' as s")
    session = ClassicSession(spark)
    session.__dict__["_catalog"] = Failing(session._catalog, ERRORS["no such table"](spark), 0, 1000, LOOKED_UP[:1])
    report = Guard(session).publish(Model(name, **CASES["append"]))  # type: ignore[arg-type]
    assert (report.outcome, report.details.transient) == ("failed", True)
    assert "lists t all the same" in (report.error or "")
    assert rows(spark, name) == OLD


def test_absent_is_what_no_list_shows(spark: Any, database: str, session: Any) -> None:
    """The control: a table, a schema and a catalog that are not there are absent, and a temporary view hides none."""
    spark.sql("create or replace temporary view only_here as select 1 as id")
    assert session.table(f"{database}.none") is None
    assert session.table(f"{database}.only_here") is None
    assert session.table("no_schema.none") is None
    assert session.table("no_catalog.no_schema.none") is None
    assert session.registered_table(f"{database}.`a b*`") is None


def test_a_list_that_fails_leaves_it_open(database: str, session: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(self: Any, within: list[str], pattern: str | None) -> Any:
        raise SparkFailure("the cable was pulled", outside=True)

    monkeypatch.setattr(type(session), "_list_tables", fail)
    with pytest.raises(SparkFailure, match="Whether it exists is not known") as found:
        session.table(f"{database}.none")
    assert found.value.transient


def test_a_text_is_rejected_for_what_no_list_shows(spark: Any, database: str, session: Any) -> None:
    """A relation that is denied once is no fault of the model; one that is listed nowhere is."""
    name = f"{database}.t"
    spark.sql(f"create table {name} using parquet as select 1 as id")
    with pytest.raises(AnalysisError, match="TABLE_OR_VIEW_NOT_FOUND"):
        session.rows(f"select * from {database}.none")
    with pytest.raises(AnalysisError, match="_NOT_FOUND"):
        session.analyze("select * from no_schema.none")
    with pytest.raises(AnalysisError, match="SCHEMA_NOT_FOUND"):
        session.rows("show tables in no_schema")
    for sentence, condition in (
        (f"table or view `{database}`.`t`", NOT_THERE[0]),
        (f"schema `{database}`", NOT_THERE[1]),
    ):
        with pytest.raises(SparkFailure, match="all the same") as found, session._doubt_absence():
            raise AnalysisError(condition, f"The {sentence} cannot be found.")
        assert found.value.transient


def lists(*names: str, loads: bool = True) -> Callable[[str], list[tuple[Any, ...]]]:
    def rows(sql: str) -> list[tuple[Any, ...]]:
        if sql.startswith("SHOW TABLES"):
            return [("db", name, False) for name in names]
        if not loads:
            raise AnalysisError(NOT_THERE[0], "none")
        return []

    return rows


def test_names_that_differ_in_case_are_two_where_the_catalog_has_one_of_them() -> None:
    """A Hadoop or REST catalog tells names apart by case, whatever Spark does; the session's own does not."""
    error = AnalysisError(NOT_THERE[0], "none")
    verify_absence(error, "`lake`.`db`.`Orders`", lists("orders"), lambda: False)
    for name, rows in (
        ("`lake`.`db`.`Orders`", lists("orders", loads=False)),
        ("`lake`.`db`.`Orders`", lists("Orders")),
        ("`spark_catalog`.`db`.`Orders`", lists("orders")),
        ("`db`.`Orders`", lists("orders")),
    ):
        with pytest.raises(SparkFailure, match="all the same"):
            verify_absence(error, name, rows, lambda: False)


@pytest.mark.parametrize(
    "said", ["Forbidden: no", "User u is not allowed to LIST", "java.lang.UnsupportedOperationException: listTables"]
)
def test_a_catalog_that_keeps_its_lists_is_believed(said: str) -> None:
    def rows(sql: str) -> list[tuple[Any, ...]]:
        raise SparkFailure(said)

    verify_absence(AnalysisError(NOT_THERE[0], "none"), "`lake`.`db`.`t`", rows, lambda: False)


@pytest.mark.conformance
@pytest.mark.parametrize("length", [1, 1000], ids=["once", "from there"])
@pytest.mark.parametrize("error", ERRORS)
@pytest.mark.parametrize("case", CASES)
def test_no_table_is_harmed(spark: Any, database: str, case: str, error: str, length: int) -> None:
    outcomes = swept(spark, database, case, error, length, 1)
    assert {"failed"} <= set(outcomes) <= {"failed", "published", "rejected"}


def test_each_call_of_a_swap_says_that_there_is_no_table(spark: Any, database: str) -> None:
    """What the sweep above does of all kinds, of the one in which a wrong answer would delete what was published."""
    assert "failed" in swept(spark, database, "same", "no such table", 1, 1)
