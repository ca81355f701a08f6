"""Delta's tables over Thrift and Spark Connect, by SQL and nothing else: a commit is a file of the log."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from delta_tables import ADDED, BAD, GOOD, MERGED, contract, insert_from_outside, list_left
from projects import ThriftDbt, project_files

from planproof import Guard, Model, Report
from planproof.session.connect import ConnectSession
from planproof.session.delta.by_sql import DeltaBySql
from planproof.session.protocol import Session
from planproof.session.store import store_of
from planproof.session.thrift import ThriftSession
from planproof.settings import Settings

NEW = "select id, 'new' as v from range(3, 5)"
OVER = {"materialized": "incremental", "incremental_strategy": "insert_overwrite"}
_numbers = itertools.count(1)


_CONNECT = pytest.param("connect", marks=pytest.mark.needs_spark("4.0", "a Connect server in pip's package"))


@pytest.fixture(scope="module", params=["thrift", _CONNECT])
def session(request: pytest.FixtureRequest) -> Iterator[Session]:
    # The product leaves Delta to dbt here: these sessions are given what it does not use yet.
    patch = pytest.MonkeyPatch()
    for kind in (ThriftSession, ConnectSession):
        patch.setattr(kind, "delta", lambda self: DeltaBySql(self, store_of(self)))
    server, made = request.getfixturevalue(request.param), None
    if request.param == "thrift":
        hive = pytest.importorskip("pyhive.hive")
        host, _, port = server.partition(":")
        made = ThriftSession(hive.connect(host, int(port)))
    found = made or ConnectSession(server)
    found.rows("create database if not exists shop")
    yield found
    if made is not None:
        made.stop()
    patch.undo()


@pytest.fixture
def name() -> str:
    return f"shop.t{next(_numbers)}"


def publish(session: Session, name: str, sql: str, settings: Settings | None = None, **more: Any) -> Report:
    given = {"contract": contract(), "file_format": "delta", **more}
    return Guard(session, settings=settings).publish(Model(name, sql, **given))


def rows(session: Session, name: str) -> list[tuple[Any, ...]]:
    return sorted(session.rows(f"select * from {name}"), key=str)


def folder(session: Session, name: str) -> Path:
    return Path(str(session.rows(f"describe detail {name}")[0][4]).removeprefix("file:"))


def versions(session: Session, name: str) -> int:
    return len(session.rows(f"describe history {name}"))


def test_a_table_is_made_replaced_added_to_and_merged(session: Session, name: str) -> None:
    assert publish(session, name, BAD).outcome == "rejected"
    assert session.registered_table(name) is None
    given = {"partition_by": ("v",), "comment": "it's", "options": {"tblproperties": {"a.b": "c"}}}
    made = publish(session, name, GOOD, **given)
    assert (made.outcome, made.rows) == ("published", 3), made.findings
    detail = {str(row[0]): str(row[1]) for row in session.rows(f"describe extended {name}")}
    assert (detail["Type"], detail["Provider"], detail["Comment"]) == ("MANAGED", "delta", "it's")
    assert session.rows(f"show tblproperties {name} ('a.b')")[0][1] == "c"
    assert publish(session, name, GOOD).outcome == "published"
    assert str(session.rows(f"describe detail {name}")[0][7]) == "[]"  # The partitions are the model's.
    for given, sql, held in (
        (ADDED, NEW, [(0, "0"), (1, "1"), (2, "2"), (3, "new"), (4, "new")]),
        (MERGED, "select id, 'merged' as v from range(4, 6)", [(3, "new"), (4, "merged"), (5, "merged")]),
        (OVER, NEW, [(3, "new"), (4, "new")]),
    ):
        before = versions(session, name)
        assert publish(session, name, BAD, **given).outcome == "rejected"
        assert versions(session, name) == before
        report = publish(session, name, sql, **given)
        assert (report.outcome, rows(session, name)[-len(held) :]) == ("published", held), report.findings
        assert versions(session, name) == before + 1
    at = folder(session, name)
    assert list_left(at) == []
    session.rows(f"drop table {name}")
    assert not at.exists()


def test_a_table_of_a_place_of_its_own(session: Session, name: str, tmp_path: Path) -> None:
    given = {"options": {"location_root": str(tmp_path)}}
    for _ in range(2):
        report = publish(session, name, GOOD, **given)
        assert (report.outcome, len(rows(session, name))) == ("published", 3), report.findings
    assert (folder(session, name).parent, versions(session, name)) == (tmp_path, 2)


def test_delta_writes_checkpoints_and_they_are_read(session: Session, name: str) -> None:
    assert publish(session, name, GOOD).outcome == "published"
    at = folder(session, name) / "_delta_log"
    for number in range(11):
        sql = f"select {number}L as id, 'more' as v"
        assert publish(session, name, sql, **(MERGED if number % 4 else ADDED)).outcome == "published"
    assert sorted(path.name for path in at.glob("*.checkpoint.parquet")) == [f"{10:020}.checkpoint.parquet"]
    for path in at.glob("*.json"):  # As Delta does with what is older than the log's retention.
        if path.stem.isdigit() and int(path.stem) < 10:
            path.unlink()
    expected = len(rows(session, name))
    assert publish(session, name, "select 100L as id, 'last' as v", **MERGED).outcome == "published"
    assert len(rows(session, name)) == expected + 1
    assert publish(session, name, NEW).outcome == "published"
    assert rows(session, name) == [(3, "new"), (4, "new")]


Act = Callable[[], object]


@pytest.fixture
def before_commit(monkeypatch: pytest.MonkeyPatch) -> Callable[[Act], list[int]]:
    """Has others act once, right before the first file of a commit is written."""

    def prepare(act: Act) -> list[int]:
        calls: list[int] = []
        append = DeltaBySql._append

        def late(self: DeltaBySql, *given: Any) -> int:
            if not calls:
                act()
            calls.append(1)
            return append(self, *given)

        monkeypatch.setattr(DeltaBySql, "_append", late)
        return calls

    return prepare


@pytest.mark.parametrize(
    ("given", "times", "told", "held"),
    [
        (ADDED, 1, [], [(3, "new"), (4, "new"), (9, "theirs")]),
        (MERGED, 2, [], [(3, "new"), (4, "new"), (9, "theirs")]),
        (OVER, 2, [None], [(3, "new"), (4, "new")]),
        ({}, 2, [None], [(3, "new"), (4, "new")]),
    ],
    ids=["append", "merge", "overwrite", "replace"],
)
def test_beside_another_writer(
    session: Session,
    name: str,
    before_commit: Callable[[Act], list[int]],
    given: dict[str, Any],
    times: int,
    told: list[Any],
    held: list[Any],
) -> None:
    assert publish(session, name, "select 0L as id, 'first' as v").outcome == "published"
    theirs = pa.table({"id": pa.array([9], pa.int64()), "v": ["theirs"]})
    calls = before_commit(lambda: insert_from_outside(folder(session, name), theirs))
    report = publish(session, name, NEW, **given)
    assert (report.outcome, len(calls)) == ("published", times), report.findings
    assert [f.found for f in report.findings if f.code == "PP621"] == told
    assert rows(session, name)[-len(held) :] == held


@pytest.mark.parametrize("anew", [False, True])
def test_a_table_that_is_dropped_or_made_anew_meanwhile(
    session: Session, name: str, before_commit: Callable[[Act], list[int]], anew: bool
) -> None:
    assert publish(session, name, GOOD).outcome == "published"
    at = folder(session, name)

    def others() -> None:
        session.rows(f"drop table {name}")
        if anew:
            session.rows(f"create table {name} (x int) using delta")

    before_commit(others)
    report = publish(session, name, NEW, **ADDED)
    assert report.outcome != "published"
    if anew:
        assert rows(session, name) == []
    else:
        assert (session.registered_table(name), list(at.glob("_delta_log/*.json"))) == (None, [])


def test_what_it_cannot_commit_to_is_refused_by_name(session: Session, name: str) -> None:
    session.rows(
        f"create table {name} (id bigint, v string) using delta tblproperties ('delta.enableDeletionVectors' = 'true')"
    )
    before = versions(session, name)
    for given in (ADDED, {}):
        report = publish(session, name, GOOD, **given)
        assert report.outcome == "failed", report.findings
        assert "has table features: deletionVectors" in str(report.findings), report.findings
    assert versions(session, name) == before
    other = f"{name}_new"
    mapped = {"options": {"tblproperties": {"delta.columnMapping.mode": "name"}}}
    assert publish(session, other, GOOD, **mapped).outcome != "published"
    assert session.registered_table(other) is None


def test_terms_of_the_table_and_bad_rows(session: Session, name: str) -> None:
    session.rows(f"create table {name} (id bigint not null, v string) using delta")
    session.rows(f"alter table {name} add constraint small check (id is null or id < 100)")
    assert publish(session, name, GOOD, **ADDED).outcome == "published"
    broken = publish(session, name, "select 200L as id, 'x' as v", **ADDED)
    assert (broken.outcome, "a term of its own" in str(broken.findings)) == ("failed", True), broken.findings
    report = publish(session, name, BAD, Settings(on_violation="quarantine"), **ADDED)
    assert report.outcome == "published", report.findings
    assert (len(rows(session, name)), len(rows(session, f"{name}__quarantine"))) == (5, 1)


_PROJECT = {
    "models/orders.sql": """
        {{ config(materialized='table', contract={'enforced': true}) }}
        select {{ var('id') }} as id, cast(id as int) as amount from range(3)
        """,
    "models/added.sql": """
        {{ config(materialized='incremental', incremental_strategy='append', on_schema_change='append_new_columns') }}
        select cast({{ var('n') }} as int) as n {% if var('n') > 1 %}, 'x' as more {% endif %}
        """,
    "models/merged.sql": """
        {{ config(materialized='incremental', incremental_strategy='merge', unique_key='id') }}
        select id, amount * {{ var('n') }} as amount from {{ ref('orders') }}
        """,
    "models/seen.sql": "{{ config(materialized='view') }} select count(*) as n from {{ ref('orders') }}",
    "models/schema.yml": """
        models:
          - name: orders
            columns:
              - {name: id, data_type: bigint, constraints: [{type: not_null}]}
              - {name: amount, data_type: int}
        """,
    "snapshots/kept.sql": """
        {% snapshot kept %}
        {{ config(unique_key='id', strategy='check', check_cols=['amount'], target_schema=schema) }}
        select id, amount from {{ ref('merged') }}
        {% endsnapshot %}
        """,
    "seeds/rates.csv": "code,rate\na,1\nb,2\n",
}


def test_dbt_build(thrift: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ThriftSession, "delta", lambda self: DeltaBySql(self, store_of(self)))
    from pyhive import hive

    host, port = thrift.split(":")
    dbt = ThriftDbt(tmp_path / "project", hive.connect(host, int(port)))
    files = project_files(dbt.schema, f"method: thrift, host: {host}, port: {port}, user: dbt, poll_interval: 0")
    formats = "".join(f"    {kind}: {{+file_format: delta}}\n" for kind in ("models", "seeds", "snapshots"))
    dbt.write({**files, "dbt_project.yml": files["dbt_project.yml"].rstrip(" ") + formats, **_PROJECT})

    def build(n: int, id: str = "id") -> bool:
        return bool(dbt.run("build", "--vars", json.dumps({"n": n, "id": id})).success)

    names = ("orders", "added", "merged", "seen", "kept", "rates")
    for n in (1, 2):
        assert build(n), dbt.log[-3000:]
        assert {name: r["outcome"] for name, r in dbt.reports.items()} == dict.fromkeys(names, "published")
    assert (dbt.rows("added"), dbt.rows("merged")) == ([(1, None), (2, "x")], [(0, 0), (1, 2), (2, 4)])
    assert (len(dbt.rows("kept")), dbt.rows("rates"), dbt.rows("seen")) == (5, [("a", 1), ("b", 2)], [(3,)])
    assert not build(3, "if(id = 1, null, id)")
    assert (dbt.statuses["orders"], dbt.statuses["merged"]) == ("error", "skipped")
    assert dbt.rows("orders") == [(0, 0), (1, 1), (2, 2)]
