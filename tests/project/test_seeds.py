"""Seeds of a project that dbt 2 compiled: read as dbt 1 reads them, and published by a run, before what reads them."""

from __future__ import annotations

import csv
import io
import random
import warnings
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from planproof.project.request import Progress, Request
from planproof.project.seeds import parse_seed

POOLS = [
    ["1", "-2", " 3 ", "1,000", "$5", "50%", "", "null", "NULL", "€7", "1e3", "-$4", "1_000"],
    ["1.5", "2", "", "0.10", "1E-2", "3.0"],
    ["2024-01-02", "2024-1-5", "", " 2024-02-29 "],
    ["2024-01-02 03:04:05", "", "null", "2024-1-2 3:4:5"],
    ["2024-01-02T03:04:05", "2024-01-02T03:04", "2024-01-02T03:04:05.123", ""],
    ["true", "FALSE", "True", "", " true", "tr,ue", "1"],
    ["a", "b c", "", "null", " ", "  x ", "0x10", "+5", "--3", "5-", "2024-13-01", "T1"],
    ["'quo\"te", "x\ny", "a,b", "${x}", "\\n"],
]


@pytest.mark.parametrize("start", range(4))
def test_types_and_values_are_those_of_dbt(start: int) -> None:
    """Files at random, compared with dbt's own reader; of the values of dbt's, times and numbers by what they are."""
    dice, types = random.Random(start), set[str]()
    for _ in range(200):
        text = _csv(dice)
        stated = {"c0": "string"} if dice.random() < 0.3 else {}
        seed = parse_seed(text, stated)
        assert (seed.types, [_valued(seed.types, row) for row in seed.rows]) == _by_dbt(text, stated), text
        types |= set(seed.types)
    assert types == {"bigint", "double", "date", "timestamp", "boolean", "string"}


def _csv(dice: random.Random) -> str:
    columns = [dice.choice(POOLS) + (dice.choice(POOLS) if dice.random() < 0.2 else []) for _ in range(3)]
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow([f"c{at}" for at in range(3)])
    for _ in range(dice.randint(0, 4)):
        writer.writerow([dice.choice(column) for column in columns][: dice.choice((3, 3, 3, 2))])
    return out.getvalue()


def _by_dbt(text: str, stated: dict[str, str]) -> tuple[tuple[str, ...], list[tuple[Any, ...]]]:
    import agate
    from dbt.adapters.spark.impl import SparkAdapter
    from dbt_common.clients.agate_helper import build_type_tester

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        table = agate.Table.from_csv(io.StringIO(text), column_types=build_type_tester(list(stated)))
        names = enumerate(table.column_names)
        types = tuple(stated.get(name) or SparkAdapter.convert_agate_type(table, at) for at, name in names)
    return types, [_valued(types, row.values()) for row in table.rows]


def _valued(types: tuple[str, ...], row: Any) -> tuple[Any, ...]:
    return tuple(None if value is None else _value(kind, value) for kind, value in zip(types, row, strict=True))


def _value(kind: str, value: Any) -> Any:
    if kind == "timestamp":
        return value if isinstance(value, datetime) else datetime.fromisoformat(value)
    return {"bigint": int, "double": float, "boolean": lambda v: str(v).lower()}.get(kind, str)(value)


@pytest.mark.parametrize(
    ("text", "stated", "said"),
    [
        ("id\n99999999999999999999\n", {}, "a number beyond bigint"),
        ("id\n1e99999\n", {}, "a number beyond bigint"),
        ("id\n1e999999999\n", {}, "holds NaN or Infinity"),
        ("id\nNaN\n", {}, "holds NaN or Infinity"),
        ("at\n2026-01-02T03:04:05Z\n", {}, "drop its zone"),
        ("a,a\n1,2\n", {}, "does not name every column, each once: 'a', 'a'"),
        ("a,\n1,2\n", {}, "does not name every column"),
        ("", {}, "does not name every column"),
        ("a\n1,2\n", {}, "row 1 has 2 values, and there are 1 columns"),
    ],
)
def test_what_spark_would_hold_otherwise_is_refused(text: str, stated: dict[str, str], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        parse_seed(text, stated)


@pytest.fixture
def shop(tmp_path: Path, dbt_manifest: Any, database: str) -> Any:
    """A project as dbt 2 leaves it: a seed, a model of it, and a test of the seed that is looked at before."""
    import json

    def build(text: str, config: dict[str, Any] | None = None, version: str = "2.0.0-preview.196") -> Request:
        given = {"meta": {"planproof": {"tests": "before"}}, **(config or {})}
        models = {"mart": {"sql": f"select id, name from {database}.codes", "parents": ["codes"]}}
        manifest = dbt_manifest(models, None, {"codes": {"config": given}})
        for node in manifest["nodes"].values():
            node["relation_name"] = f"`{database}`.`{node['name']}`"
        manifest["metadata"]["dbt_version"] = version
        manifest["nodes"]["test.shop.named"] = {
            "resource_type": "test",
            "name": "named",
            "compiled_code": f"select * from {database}.codes where name = 'bad'",
            "config": {"severity": "ERROR"},
            "depends_on": {"nodes": ["seed.shop.codes"]},
        }
        for folder in ("seeds", "target"):
            (tmp_path / folder).mkdir(exist_ok=True)
        (tmp_path / "seeds/codes.csv").write_text(text)
        (tmp_path / "dbt_project.yml").write_text("name: shop\nprofile: shop\n")
        (tmp_path / "target/manifest.json").write_text(json.dumps(manifest))
        return Request("run", project_dir=str(tmp_path), manifest=str(tmp_path / "target/manifest.json"))

    return build


def test_a_seed_is_published_before_the_model_that_reads_it(shop: Any, session: Any, spark: Any, database: str) -> None:
    text = "id;name;at;n\n1;it's \\ ${env:HOME};2026-01-02;1\n2;;;2.5\n"
    reports = shop(text, {"delimiter": ";", "column_types": {"id": "int"}}).reports(session)
    assert [(r.details.name, r.outcome, r.verdict.value) for r in reports] == [
        ("codes", "published", "proved"),
        ("mart", "published", "proved"),
    ]
    stored = spark.table(f"{database}.codes")
    assert dict(stored.dtypes) == {"id": "int", "name": "string", "at": "date", "n": "double"}
    named = [row.name for row in spark.table(f"{database}.mart").orderBy("id").collect()]
    assert named == ["it's \\ ${env:HOME}", None]
    assert [found.name for found in spark.catalog.listTables() if found.name.startswith("planproof_seed")] == []


def test_a_seed_whose_rows_break_its_test_leaves_its_table(shop: Any, session: Any, spark: Any, database: str) -> None:
    shop("id,name\n1,good\n").reports(session)
    codes, mart = shop("id,name\n2,bad\n").reports(session)
    assert (codes.outcome, mart.outcome) == ("rejected", "skipped")
    assert [tuple(row) for row in spark.table(f"{database}.codes").collect()] == [(1, "good")]
    assert [tuple(row) for row in spark.table(f"{database}.mart").collect()] == [(1, "good")]


def test_a_seed_without_rows_is_an_empty_table(shop: Any, session: Any, spark: Any, database: str) -> None:
    codes, _ = shop("id,name\n", {"column_types": {"name": "string"}}).reports(session)
    assert codes.outcome == "published"
    assert spark.table(f"{database}.codes").dtypes == [("id", "bigint"), ("name", "string")]


class Noting(Progress):
    def __init__(self) -> None:
        self.remarks: list[str] = []

    def on_remark(self, remark: str) -> None:
        self.remarks.append(remark)


UNREADABLE = [
    ({"column_types": {"name": "varchar(3)"}}, "state string"),
    ({"column_types": {"name": "no type"}}, "column_types: 'name'"),
    ({"delimiter": ";;"}, "delimiter"),
]


@pytest.mark.parametrize(("config", "said"), UNREADABLE)
def test_a_seed_that_cannot_be_read_is_left_to_dbt_and_the_reason_is_told(
    shop: Any, session: Any, spark: Any, database: str, config: dict[str, Any], said: str
) -> None:
    spark.sql(f"create table {database}.codes using parquet as select 7L as id, 'x' as name")
    told = Noting()
    [mart] = shop("id,name\n1,a\n", config).reports(session, told)
    assert mart.outcome == "published"
    assert [tuple(row) for row in spark.table(f"{database}.codes").collect()] == [(7, "x")]
    assert [said in remark for remark in told.remarks if "left to dbt" in remark] == [True], told.remarks


def test_a_text_that_this_session_cannot_spell_is_no_other_text(shop: Any, session: Any, spark: Any) -> None:
    spark.conf.set("spark.sql.parser.escapedStringLiterals", "true")
    codes, mart = shop("id,name\n1,${x}\n").reports(session)
    assert (codes.outcome, mart.outcome) == ("failed", "skipped")
    assert "escapedStringLiterals" in str(codes.error)


def test_seeds_of_dbt_1_are_dbts(shop: Any, session: Any, spark: Any, database: str) -> None:
    spark.sql(f"create table {database}.codes using parquet as select 7L as id, 'x' as name")
    [mart] = shop("id,name\n1,a\n", version="1.11.16").reports(session)
    assert mart.outcome == "published"
    assert [tuple(row) for row in spark.table(f"{database}.codes").collect()] == [(7, "x")]
