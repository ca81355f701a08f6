"""Tables of the format's third version: deletion vectors, the lineage of rows, default values, variants.

What Iceberg keeps of such a table through a bare statement, it keeps through a guarded publish.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyspark
import pytest

from planproof import Contract, Guard, Model
from planproof.report.model import Report

SPARK = tuple(map(int, pyspark.__version__.split(".")[:2]))
since_spark4 = pytest.mark.skipif(SPARK < (4, 0), reason="Iceberg for Spark 3.5 has none")
_V3 = "'format-version'='3'"


@pytest.fixture
def guard(iceberg: Any) -> Guard:
    return Guard(iceberg)


def make(spark: Any, name: str, rows: str, properties: str = _V3) -> None:
    spark.sql(f"create table {name} (id bigint, s string) using iceberg tblproperties ({properties})")
    spark.sql(f"insert into {name} {rows}")


def model(name: str, sql: str, strategy: str, **more: Any) -> Model:
    if strategy != "table":
        more |= {"materialized": "incremental", "incremental_strategy": strategy}
    if strategy == "merge":
        more["options"] = {"unique_key": "id"}
    return Model(name, sql, file_format="iceberg", **more)


def held(spark: Any, query: str) -> list[tuple[Any, ...]]:
    return sorted((tuple(row) for row in spark.newSession().sql(query).collect()), key=str)


def said(report: Report) -> str:
    return f"{report.outcome}: {report.error}; {[(f.code, f.message) for f in report.findings]}"


@pytest.mark.parametrize("strategy", ["table", "append", "merge"])
def test_the_version_and_the_lineage_stay(lake: str, guard: Guard, iceberg: Any, strategy: str) -> None:
    """Rows that stay keep their ids, new ones get others: as after the bare statement."""
    name = f"{lake}.t"
    make(iceberg, name, "values (1, 'a'), (2, 'b')")
    lineage = f"select id, s, _row_id from {name}"
    before = {row[0]: row[2] for row in held(iceberg, lineage)}
    report = guard.publish(model(name, "select * from values (2L, 'n'), (5L, 'n') as v(id, s)", strategy))
    assert report.outcome == "published", said(report)
    properties = {r[0]: r[1] for r in iceberg.newSession().sql(f"show tblproperties {name}").collect()}
    assert properties["format-version"] == "3"
    rows = held(iceberg, lineage)
    expected = {"table": [2, 5], "append": [1, 2, 2, 5], "merge": [1, 2, 5]}[strategy]
    assert [row[0] for row in rows] == expected
    numbers = [row[2] for row in rows]
    assert None not in numbers
    assert len(set(numbers)) == len(numbers)
    if strategy != "table":
        assert {row[0]: row[2] for row in rows if row[1] != "n"}.items() <= before.items()
    if strategy == "merge":
        assert {row[0]: row[2] for row in rows}[2] == before[2]


def test_a_merge_by_deletion_vectors(lake: str, guard: Guard, iceberg: Any) -> None:
    """One that is refused leaves none of its files; an audit counts what they leave."""
    name = f"{lake}.t"
    make(iceberg, name, "select id, 'a' from range(10)", f"{_V3}, 'write.merge.mode'='merge-on-read'")
    contract = Contract([("id", "bigint", False), ("s", "string", False)])
    sql = "select * from values (2L, 'n'), (3L, {third}) as v(id, s)"
    location = next(
        r[1] for r in iceberg.sql(f"describe extended {name}").collect() if r[0] == "Location"
    ).removeprefix("file:")
    files = {str(p) for p in Path(location).rglob("*") if p.is_file()}
    bad = guard.publish(model(name, sql.format(third="null"), "merge", contract=contract))
    assert bad.outcome == "rejected", said(bad)
    assert {str(p) for p in Path(location).rglob("*") if p.is_file()} == files
    good = guard.publish(model(name, sql.format(third="'n'"), "merge", contract=contract))
    assert good.outcome == "published", said(good)
    assert [r[0] for r in held(iceberg, f"select file_format from {name}.delete_files")] == ["PUFFIN"]
    assert held(iceberg, f"select s, count(*) from {name} group by s") == [("a", 8), ("n", 2)]
    audited = guard.audit(name, contract)
    assert (audited.verdict, audited.rows) == ("proved", 10), said(audited)


@since_spark4
@pytest.mark.parametrize("strategy", ["append", "merge", "table"])
def test_a_default_value(lake: str, guard: Guard, iceberg: Any, strategy: str) -> None:
    """It stays where rows are added. A model that does not give the column is refused, as for any other: dbt asks each
    one for all columns."""
    name = f"{lake}.t"
    make(iceberg, name, "values (1, 'a')")
    jvm = iceberg._jvm
    table = jvm.org.apache.iceberg.spark.Spark3Util.loadIcebergTable(iceberg._jsparkSession, name)
    kind = jvm.org.apache.iceberg.types.Types.IntegerType.get()
    five = jvm.org.apache.iceberg.expressions.Expressions.lit(5)
    table.updateSchema().addColumn("n", kind, "a number", five).commit()
    iceberg.sql(f"refresh table {name}")
    assert held(iceberg, f"select * from {name}") == [(1, "a", 5)]
    if strategy == "append":
        refused = guard.publish(model(name, "select 2L as id, 'b' as s", strategy))
        assert [f.code for f in refused.findings] == ["PP402"], said(refused)
    report = guard.publish(model(name, "select 2L as id, 'b' as s, 7 as n", strategy))
    assert report.outcome == "published", said(report)
    assert held(iceberg, f"select * from {name}") == [(1, "a", 5), (2, "b", 7)][strategy == "table" :]
    if strategy != "table" and SPARK >= (4, 1):  # On 4.0 an INSERT has to give each column.
        iceberg.newSession().sql(f"insert into {name} (id, s) values (3, 'c')")
        assert held(iceberg, f"select n from {name} where id = 3") == [(5,)]


@since_spark4
def test_a_variant(lake: str, guard: Guard, iceberg: Any) -> None:
    """The third version keeps one; the second has no such type."""
    name, sql = f"{lake}.t", "select {0}L as id, parse_json('{{\"a\": {0}}}') as v"
    contract = Contract([("id", "bigint", False), ("v", "variant", True)])
    third = {"options": {"tblproperties": {"format-version": "3"}}}
    refused = guard.publish(Model(f"{name}2", sql.format(1), contract=contract, file_format="iceberg"))
    assert refused.outcome == "failed", said(refused)
    assert not iceberg.catalog.tableExists(f"{name}2")
    first = guard.publish(Model(name, sql.format(1), contract=contract, file_format="iceberg", **third))
    assert first.outcome == "published", said(first)
    more = guard.publish(model(name, sql.format(2), "append", contract=contract))
    assert more.outcome == "published", said(more)
    assert held(iceberg, f"select id, variant_get(v, '$.a', 'int') from {name}") == [(1, 1), (2, 2)]
    assert guard.audit(name, contract).verdict == "proved"
