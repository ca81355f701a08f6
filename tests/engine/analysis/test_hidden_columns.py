"""Columns that Spark offers beside a table's own: what a catalog cannot tell is not known, never rejected."""

from __future__ import annotations

import pytest

import planproof
from planproof import AnalysisError, Catalog, Unknown
from planproof_engine import plan
from planproof_engine.analysis.script.setup import apply
from planproof_engine.conf import SPARKS, Conf
from planproof_engine.records import evolve

CATALOG = Catalog({"shop.events": [("id", "bigint", True)]})


@pytest.mark.parametrize("item", ["_metadata", "_metadata.file_name", "e._METADATA.file_path", "_metadata.*"])
def test_the_metadata_of_files_is_unknown(item: str) -> None:
    with pytest.raises(Unknown, match="hidden column _metadata"):
        planproof.plan(f"SELECT id, {item} FROM shop.events AS e", CATALOG)


def test_without_a_table_there_is_none() -> None:
    with pytest.raises(AnalysisError) as caught:
        planproof.plan("SELECT _metadata.file_name", CATALOG)
    assert caught.value.condition.startswith("UNRESOLVED_COLUMN")


FILES = ["CREATE TABLE f (a INT, b STRING) USING parquet", "CREATE TABLE g (a INT) USING orc"]
PARTS = ["file_path", "file_name", "file_size", "file_block_start", "file_block_length", "file_modification_time"]


def list_columns(sql: str, spark: str) -> list[str]:
    fields = plan(sql, environment=evolve(apply(FILES, {}, Conf.of(spark)), text=sql)).schema.fields
    return [f"{f.name}{'' if f.nullable else '!'}" for f in fields]


@pytest.mark.parametrize("spark", SPARKS)
def test_the_metadata_of_a_scripts_own_files(spark: str) -> None:
    assert list_columns("SELECT _metadata.* FROM f", spark) == [f"{part}!" for part in (*PARTS, "row_index")]
    assert list_columns("SELECT _metadata.* FROM g", spark) == [f"{part}!" for part in PARTS]
    assert list_columns("SELECT *, _metadata.file_name AS n FROM f WHERE _metadata.file_size > 0", spark) == [
        *"ab",
        "n!",
    ]
    assert list_columns("SELECT x.*, y._metadata FROM f x LEFT JOIN g y ON x.a = y.a", spark) == [*"ab", "_metadata"]
    assert list_columns("SELECT b FROM f ORDER BY _metadata.file_name", spark) == ["b"]
    assert list_columns("SELECT * FROM (SELECT _metadata, a FROM f)", spark) == ["_metadata!", "a"]
    with pytest.raises(AnalysisError, match="MISSING_AGGREGATION"):
        list_columns("SELECT _metadata.file_name FROM f GROUP BY a", spark)
    with pytest.raises(AnalysisError, match="AMBIGUOUS_REFERENCE"):
        list_columns("SELECT _metadata FROM f, g", spark)
    with pytest.raises(AnalysisError, match="FIELD_NOT_FOUND"):
        list_columns("SELECT _metadata.row_index FROM g", spark)


def test_names_that_spark_makes_of_ids_are_unknown_where_they_are_shown() -> None:
    nameless = "SELECT a, filter(array(named_struct('k', a)), e -> e.k > 1).k FROM f"
    for sql in (
        nameless,
        f"SELECT struct(*) AS s FROM ({nameless})",
        f"SELECT * FROM ({nameless}) UNION ALL {nameless}",
    ):
        with pytest.raises(Unknown, match="the name of a field of what filter gives"):
            list_columns(sql, "4.3")
    assert list_columns(f"WITH w AS ({nameless}) SELECT w.a, count(*) AS n FROM w GROUP BY w.a", "4.3") == ["a", "n!"]
    with pytest.raises(AnalysisError) as caught:
        list_columns(f"SELECT w.b FROM ({nameless}) w", "4.3")
    assert caught.value.message.endswith("Did you mean one of the following? [`w`.`a`].")
    made = evolve(
        apply([*FILES, f"CREATE TABLE h AS {nameless}", f"CREATE TEMP VIEW v AS {nameless}"], {}, Conf.of("4.3"))
    )
    for name in "hv":
        with pytest.raises(Unknown):
            plan(f"SELECT * FROM {name}", environment=evolve(made, text=f"SELECT * FROM {name}"))
