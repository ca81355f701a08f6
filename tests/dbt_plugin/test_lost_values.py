"""A cast that loses a value of a promised column stops dbt, whoever writes the table; dbt-spark's ANSI mode is said."""

from __future__ import annotations

from typing import Any

import pytest
from quick import keep_quick

MODEL = """
    {{{{ config(materialized='{kind}', file_format='{format}') }}}}
    select id, cast(n as int) as n from {{{{ ref('texts') }}}}
    """
TEXTS = "select * from values {rows} as t(id, n)"
BAD, GOOD = "(1, '12'), (2, 'n/a')", "(1, '12'), (2, null)"
SAID = "dbt-spark sets spark.sql.ansi.enabled to false"


@pytest.mark.parametrize(
    ("kind", "format"),
    keep_quick([("table", "parquet"), ("view", "parquet"), ("table", "orc")], ("table", "parquet")),
)
def test_a_lost_value_stops_the_model(dbt: Any, kind: str, format: str) -> None:
    columns = "[{name: id, data_type: int}, {name: n, data_type: int}]"
    name, said = f"{kind}_{format}", dbt.log.count(SAID) if (dbt.root / "logs/dbt.log").exists() else 0
    yml = f"models: [{{name: {name}, config: {{contract: {{enforced: true}}}}, columns: {columns}}}]"
    dbt.write({f"models/{name}.sql": MODEL.format(kind=kind, format=format), "models/all.yml": yml})
    dbt.write({"models/texts.sql": TEXTS.format(rows=GOOD)})
    select = ["--select", "texts", name]
    assert dbt.run("build", *select).success, dbt.results
    assert dbt.log.count(SAID) == said + 1
    before = dbt.rows(name)
    dbt.write({"models/texts.sql": TEXTS.format(rows=BAD)})
    assert not dbt.run("build", *select).success
    message = str(dbt.results[name]["message"])
    assert "PP138" in message
    assert "WHERE counted_0" in message
    assert "rows that lose a value:" in message
    if kind == "table":
        assert dbt.rows(name) == before


def test_nothing_is_said_of_a_build_that_does_not_rely_on_it(dbt: Any) -> None:
    dbt.write({"models/plain.sql": "select try_cast('a' as int) as n, cast(1 as bigint) as b"})
    assert dbt.run("build", "--select", "plain").success
    build = dbt.log.rpartition("Running with dbt=")[2]
    assert SAID not in build
