"""A Hive metastore that does not answer, one call at a time: Spark's own client of it fails below everything else.

Three ways, each of one call or of all that follow: `gone` (an error), `absent` (there is no such
object, what Hive's own says of everything when its database is gone, and lists fail), `empty` (lists are empty, too).
"""

from __future__ import annotations

import shutil
import subprocess
import textwrap
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

SOURCE = Path(__file__).with_name("Outage.java")
MODELS = {
    "models/kept.sql": """
        {{ config(materialized='incremental', file_format='parquet', incremental_strategy='append') }}
        {% if is_incremental() %} select max(day) + 1 as day from {{ this }} {% else %} select 1 as day {% endif %}
        """,
    "models/parts.sql": """
        {{ config(materialized='incremental', file_format='parquet', incremental_strategy='insert_overwrite',
          partition_by=['day']) }} select 'x' as v, day from {{ ref('kept') }}
        """,
    "models/copy.sql": "{{ config(materialized='table', file_format='parquet') }} select day from {{ ref('kept') }}",
    "models/seen.sql": "{{ config(materialized='view') }} select day from {{ ref('copy') }}",
    "models/models.yml": """
        models:
          - name: copy
            config: {contract: {enforced: true}}
            columns: [{name: day, data_type: int, constraints: [{type: not_null}]}]
        """,
}
"""A project whose `kept` has a row more with each build, and whose other models have its rows."""
PROJECT = """
    name: shop
    version: "1.0"
    profile: shop
    flags: {send_anonymous_usage_stats: false, use_colors: false}
    """
PROFILE = """
    shop:
      target: dev
      outputs: {dev: {type: spark, method: session, host: NA, schema: SCHEMA, threads: 1}}
    """
LASTING = 1_000_000


def write(root: Path, database: str) -> Path:
    """The project in a folder, for a database of its own."""
    files = {**MODELS, "dbt_project.yml": PROJECT, "profiles.yml": PROFILE.replace("SCHEMA", database)}
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(textwrap.dedent(text).lstrip(), "utf-8")
    return root


class Metastore:
    """The metastore of a session; `asked` runs a block while calls of it fail."""

    def __init__(self, spark: Any, folder: Path) -> None:
        classes = compiled(folder)
        spark.sql("show databases").collect()
        jvm, array = spark._jvm, spark.sparkContext._gateway.new_array
        own = jvm.Thread.currentThread().getContextClassLoader()
        urls = array(jvm.java.net.URL, 1)
        urls[0] = jvm.java.io.File(str(classes)).toURI().toURL()
        made = jvm.java.net.URLClassLoader.newInstance(urls, own).loadClass("Outage").getConstructors()[0]
        given = array(jvm.java.lang.Object, 1)
        self.client = spark._jsparkSession.sharedState().externalCatalog().unwrapped().client()
        self.hive = given[0] = self.client.clientLoader().cachedHive()
        self.outage = made.newInstance(given)

    def leave(self) -> None:
        self.outage.leave()

    @contextmanager
    def failing(self, how: str, at: int, length: int) -> Iterator[list[str]]:
        """Within the block call number `at` and those after it fail, `length` of them; gives which, at its end."""
        failed: list[str] = []
        assert self.client.clientLoader().cachedHive().equals(self.hive), "Spark asks another client by now"
        self.outage.begin(how, at, length)
        try:
            yield failed
        finally:
            failed += filter(None, str(self.outage.end()).split("\n"))


def compiled(folder: Path) -> Path:
    """The folder, with the class that stands before the metastore; skips the test where there is no compiler."""
    compiler = shutil.which("javac")
    if compiler is None:
        pytest.skip("the compiler of the stand-in for the metastore, javac, is not installed")
    subprocess.run([compiler, "-nowarn", "-d", str(folder), str(SOURCE)], check=True, capture_output=True)
    return folder


@dataclass
class Swept:
    """What a sweep saw: how many calls failed, in how many builds, which of them failed or were as ever."""

    calls: list[str] = field(default_factory=list)
    failed: int = 0
    healthy: int = 0


def rows(spark: Any, database: str) -> dict[str, Any]:
    """Schema and rows of each relation of a database."""
    found = {}
    for name in sorted(row[1] for row in spark.sql(f"show tables in {database}").collect() if not row[2]):
        spark.catalog.refreshTable(f"{database}.{name}")
        frame = spark.table(f"{database}.{name}")
        found[name] = frame.schema.simpleString(), sorted(map(str, frame.collect()))
    return found


def sweep(
    metastore: Metastore,
    spark: Any,
    database: str,
    build: Callable[[], bool],
    how: str,
    length: int,
    every: int = 1,
    begin: int = 0,
) -> Swept:
    """Builds once for each call, which fails, until a build makes fewer calls.

    `build` says whether it went well, and asserts of one that did not that it says so as it should. Then each relation
    is what it was, or what a healthy build makes of it, and there is no other one.
    """
    from planproof import Guard

    swept, before = Swept(), rows(spark, database)
    for at in range(begin, 2000, every):
        with metastore.failing(how, at, length) as failed:
            is_well = build()
        if not failed:
            assert is_well
            return swept
        where = f"{how}, {length} from call {failed[0]} on"
        recovered = [r.outcome for r in Guard(spark).recover()]
        assert "failed" not in recovered, where
        after = rows(spark, database)
        _unharmed(before, after, where)
        # A call that failed may have been asked again, or its answer left out.
        assert not is_well or after["kept"] != before["kept"], where
        swept.calls += failed[:1]
        swept.failed += not is_well
        swept.healthy += is_well
        before = after
    raise AssertionError("the build never ended")


def _unharmed(before: dict[str, Any], after: dict[str, Any], where: str) -> None:
    assert sorted(before) == sorted(after), where
    schema, days = before["kept"]
    grown = schema, sorted([*days, f"Row(day={len(days) + 1})"])
    assert after["kept"] in (before["kept"], grown), (where, after["kept"])
    for name in ("copy", "seen", "parts"):
        alike = [before[name], (after[name][0], _as(name, days)), (after[name][0], _as(name, grown[1]))]
        assert after[name] in alike, (where, name, after[name])
        assert after[name][0] == before[name][0], (where, name)


def _as(name: str, days: list[str]) -> list[str]:
    """The rows of `kept` as another model has them."""
    return [day.replace("Row(", "Row(v='x', ") if name == "parts" else day for day in days]
