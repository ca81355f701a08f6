"""A Hive metastore that does not answer, one call at a time: Spark's own client of it fails below everything else.

A build asks it hundreds of times. Calls are of one kind where they are the same call, asked by the same functions; the
first of each kind fails. Three ways, each of one call or of all that follow: `gone` (an error), `absent` (there is no
such object, what Hive's own says of everything when its database is gone, and lists fail), `empty` (lists are empty,
too).
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import textwrap
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from projects import project_files

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
LASTING = 1_000_000
OURS = ("planproof", "dbt_planproof", "airflow_planproof")
DEPTH = 2
PASSING = ("_run",)
"""What only hands a statement on."""


def write(root: Path, database: str) -> Path:
    """The project in a folder, for a database of its own."""
    files = {**MODELS, **project_files(database, "method: session, host: NA", threads=1)}
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(textwrap.dedent(text).lstrip(), "utf-8")
    return root


class Metastore:
    """The metastore of a session; `failing` runs a block while calls of it fail."""

    def __init__(self, spark: Any, folder: Path) -> None:
        classes = compile_class(folder)
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
        self.wire = spark.sparkContext._gateway._gateway_client
        self.log_report = threading.local()
        self.plain, self.wire.send_command = self.wire.send_command, self._send

    def leave(self) -> None:
        self.wire.send_command = self.plain
        self.outage.leave()

    def _send(self, command: str, *more: Any, **named: Any) -> Any:
        """Sends a command to the JVM, whose thread knows then which functions of ours ask."""
        names = () if command.startswith("m") or getattr(self.log_report, "telling", False) else _askers()
        if names and names != getattr(self.log_report, "names", None):
            self.log_report.names, self.log_report.telling = names, True
            try:
                self.outage.asks(" < ".join(names))
            finally:
                self.log_report.telling = False
        return self.plain(command, *more, **named)

    @contextmanager
    def failing(self, how: str, kind: str | None, length: int) -> Iterator[list[str]]:
        """Within the block the first call of this kind fails, and `length` calls in all; gives which, at its end."""
        failed: list[str] = []
        assert self.client.clientLoader().cachedHive().equals(self.hive), "Spark asks another client by now"
        self.outage.begin(how, kind, length)
        try:
            yield failed
        finally:
            failed += filter(None, str(self.outage.end()).split("\n"))

    def kinds(self) -> dict[str, int]:
        """How often each kind of call was asked in the last block."""
        lines = [line.split(" ", 1) for line in str(self.outage.kinds()).splitlines()]
        return {kind: int(times) for times, kind in lines}


def _askers() -> tuple[str, ...]:
    """The innermost functions of planproof's on this thread's stack; where there are none, of dbt's."""
    ours: list[str] = []
    dbts: list[str] = []
    frame = sys._getframe(2)
    while frame is not None and len(ours) < DEPTH:
        path = Path(frame.f_code.co_filename)
        if any(part in OURS for part in path.parts[:-1]) and frame.f_code.co_name not in PASSING:
            ours.append(f"{path.stem}.{frame.f_code.co_name}")
        elif "dbt" in path.parts and len(dbts) < DEPTH:
            dbts.append(f"{path.stem}.{frame.f_code.co_name}")
        frame = frame.f_back  # type: ignore[assignment]
    return tuple(ours or dbts or ["others"])


def compile_class(folder: Path) -> Path:
    """The folder, with the class that stands before the metastore; skips the test where there is no compiler."""
    compiler = shutil.which("javac")
    if compiler is None:
        pytest.skip("the compiler of the stand-in for the metastore, javac, is not installed")
    subprocess.run([compiler, "-nowarn", "-d", str(folder), str(SOURCE)], check=True, capture_output=True)
    return folder


@dataclass
class Swept:
    """What a sweep saw: calls and kinds of calls of a healthy build, those that failed, and how many builds then failed
    or were as ever."""

    asked: int
    kinds: int
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
    only: str = "",
) -> Swept:
    """Builds once for each kind of call that a healthy build asks, or each `every`th from `begin` on, which fails; with
    `only` those kinds in which this pattern is found.

    `build` says whether it went well, and asserts of one that did not that it says so as it should. Then each relation
    is what it was, or what a healthy build makes of it, and there is no other one.
    """
    from planproof import Guard

    with metastore.failing(how, None, 0):
        assert build()
    kinds = metastore.kinds()
    assert kinds, "a build that asks nothing"
    swept, before = Swept(asked=sum(kinds.values()), kinds=len(kinds)), rows(spark, database)
    for kind in [kind for kind in kinds if re.search(only, kind)][begin::every]:
        with metastore.failing(how, kind, length) as failed:
            is_well = build()
        where = f"{how}, {length} from {kind} on"
        assert failed or is_well, where
        recovered = [r.outcome for r in Guard(spark).recover()]
        assert "failed" not in recovered, where
        after = rows(spark, database)
        _assert_unharmed(before, after, where)
        # A call that failed may have been asked again, or its answer left out.
        assert not is_well or after["kept"] != before["kept"], where
        swept.calls += failed[:1]
        swept.failed += not is_well
        swept.healthy += is_well
        before = after
    return swept


def _assert_unharmed(before: dict[str, Any], after: dict[str, Any], where: str) -> None:
    assert sorted(before) == sorted(after), where
    schema, days = before["kept"]
    grown = schema, sorted([*days, f"Row(day={len(days) + 1})"])
    assert after["kept"] in (before["kept"], grown), (where, after["kept"])
    for name in ("copy", "seen", "parts"):
        alike = [
            before[name],
            (after[name][0], _list_rows_as(name, days)),
            (after[name][0], _list_rows_as(name, grown[1])),
        ]
        assert after[name] in alike, (where, name, after[name])
        assert after[name][0] == before[name][0], (where, name)


def _list_rows_as(name: str, days: list[str]) -> list[str]:
    """The rows of `kept` as another model has them."""
    return [day.replace("Row(", "Row(v='x', ") if name == "parts" else day for day in days]
