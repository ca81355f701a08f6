"""Databricks' SQL by the rules of its runtime's Spark: what Databricks adds is planned where its documents say what it
means, else unknown by name, and never rejected."""

from __future__ import annotations

from dataclasses import replace

import pytest

from planproof_engine.api import plan
from planproof_engine.catalog import Catalog
from planproof_engine.conf import RUNTIMES, SPARKS, Conf, UnknownSpark, spark_version
from planproof_engine.origin import AnalysisError, Unknown

CATALOG = Catalog({"s.t": [("id", "bigint", False), ("raw", "string", True), ("v", "variant", True)]})
OLDEST = replace(Conf.of("databricks-14.3"), databricks=True)


def test_a_runtime_is_a_spark() -> None:
    assert {spark_version(f"databricks-{runtime}.3") for runtime in RUNTIMES} < set(SPARKS)
    assert spark_version("Databricks 17.3") == "4.0"
    with pytest.raises(UnknownSpark, match="databricks-14 to databricks-18"):
        spark_version("databricks-12.2")


@pytest.mark.parametrize(
    ("query", "schema"),
    [
        ("SELECT raw:a.b FROM s.t", "b STRING"),
        ("SELECT raw:a[0].b::int AS x FROM s.t", "x INT"),
        ("SELECT v:a.b FROM s.t", "b VARIANT"),
        ("SELECT * EXCEPT (raw, v) FROM s.t", "id BIGINT"),
        ("SELECT iff(id > 1, 1, 2L) AS n, charindex('a', raw) AS at FROM s.t", "n BIGINT, at INT"),
        ("SELECT getdate() AS now FROM s.t", "now TIMESTAMP"),
        ("SELECT a.raw FROM STREAM s.t AS a", "raw STRING"),
        ("SELECT id FROM STREAM(s.t)", "id BIGINT"),
        ("SELECT id FROM s.t QUALIFY row_number() OVER (PARTITION BY id ORDER BY raw) = 1", "id BIGINT"),
    ],
)
def test_what_spark_got_later(query: str, schema: str) -> None:
    found = plan(query, CATALOG, OLDEST).schema
    assert ", ".join(f"{field.name} {field.type.sql}" for field in found) == schema
    with pytest.raises(AnalysisError):
        plan(query, CATALOG, Conf.of("3.5"))


@pytest.mark.parametrize(
    ("query", "named"),
    [
        ("SELECT ai_query('m', raw) FROM s.t", "ai_query"),
        ("SELECT * FROM read_files('/x', format => 'json')", "read_files"),
        ("SELECT id FROM STREAM s.t WATERMARK id DELAY OF INTERVAL 1 DAY", "WATERMARK"),
        ("SELECT id FROM STREAM read_files('/x')", "STREAM of the function read_files"),
        ("SELECT id FROM s.t GROUP BY id QUALIFY rank() OVER (ORDER BY count(*)) < 3", "QUALIFY after GROUP BY"),
        ("SELECT raw:a[*].b FROM s.t", "PARSE_SYNTAX_ERROR"),
        ("SELECT id FROM s.t VERSION AS OF 3", "time travel"),
        ("SELECT main.s.mask_name(raw) FROM s.t", r"the function main\.s\.mask_name, which is none of Spark's"),
        ("SELECT * FROM main.s.changes(1)", r"the function main\.s\.changes, which is none of Spark's"),
    ],
)
@pytest.mark.parametrize("runtime", [min(RUNTIMES), max(RUNTIMES)])
def test_what_databricks_adds_is_unknown_by_name(query: str, named: str, runtime: str) -> None:
    with pytest.raises(Unknown, match=named):
        plan(query, CATALOG, replace(Conf.of(f"databricks-{runtime}"), databricks=True))


def test_a_catalog_that_is_not_known_has_relations_that_are_not_known() -> None:
    for relation in ("samples.tpch.orders", "system.billing.usage", "hive_metastore.s.other"):
        with pytest.raises(AnalysisError, match="TABLE_OR_VIEW_NOT_FOUND"):
            plan(f"SELECT * FROM {relation}", CATALOG, OLDEST)


def test_a_runtime_is_databricks_without_more_words() -> None:
    assert plan("SELECT raw:a FROM s.t", CATALOG, Conf.of("databricks-17.3")).schema.names == ("a",)
    assert Conf.of("4.1").on("databricks-17.3").databricks
    assert not Conf.of("4.1").on("4.0").databricks


def test_a_stream_reads_rows_that_the_table_may_not_hold_any_more() -> None:
    """What was proved of the table's rows is no evidence for those of its history."""
    assert [f.nullable for f in plan("SELECT id FROM s.t", CATALOG, OLDEST).schema] == [False]
    assert [f.nullable for f in plan("SELECT id FROM STREAM s.t", CATALOG, OLDEST).schema] == [True]


def test_names_and_shapes_are_spark_s() -> None:
    for query in ("SELECT idd FROM s.t", "SELECT id, count(*) FROM s.t", "SELECT id FROM s.t UNION ALL SELECT 1, 2"):
        with pytest.raises(AnalysisError):
            plan(query, CATALOG, OLDEST)
