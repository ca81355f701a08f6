"""Which nodes the guard publishes itself, and what it says of the others."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

pytest.importorskip("dbt.adapters.spark")

from dbt_planproof.scope import is_written, why_stored_elsewhere, why_unguarded


class Config(dict[str, Any]):
    """dbt's node config: keys, and some of them as attributes."""

    @property
    def meta(self) -> Any:
        return self.get("meta")

    @property
    def materialized(self) -> str:
        return str(self.get("materialized", "table"))


def node(kind: str = "model", language: str = "sql", **config: Any) -> Any:
    return SimpleNamespace(
        resource_type=kind, language=language, config=Config(config), name="n", unique_id="model.shop.n"
    )


def relation(**more: Any) -> Any:
    given = {"is_delta": False, "is_iceberg": False, "is_hudi": False, "is_table": True, "information": ""}
    return SimpleNamespace(**{**given, **more})


@pytest.mark.parametrize(
    "config",
    [
        {},
        {"file_format": "parquet"},
        {"materialized": "view"},
        {"materialized": "view", "file_format": "delta"},
        {"materialized": "incremental"},
        {"materialized": "incremental", "incremental_strategy": "insert_overwrite"},
        {"materialized": "incremental", "incremental_strategy": "microbatch"},
        {"file_format": "iceberg"},
        {"materialized": "incremental", "incremental_strategy": "merge", "file_format": "iceberg"},
        {"file_format": "delta"},
        {"materialized": "incremental", "incremental_strategy": "merge", "file_format": "delta"},
    ],
)
def test_what_is_guarded(config: dict[str, Any]) -> None:
    assert why_unguarded(node(**config)) is None


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        (node("seed"), "it is a seed"),
        (node("snapshot"), "it is a snapshot"),
        (node(language="python"), "it is a python model"),
        (node(file_format="hudi"), "its file format is hudi"),
        (node(materialized="my_own"), "it is materialized as my_own"),
        (node(materialized="incremental", incremental_strategy="merge"), "its incremental strategy is merge"),
        (
            node(materialized="incremental", incremental_strategy="merge", file_format="hudi"),
            "its file format is hudi",
        ),
    ],
)
def test_what_dbt_writes_itself(given: Any, reason: str) -> None:
    assert why_unguarded(given) == reason


def test_only_what_the_command_writes_counts() -> None:
    assert is_written(node(), "build")
    assert is_written(node("snapshot"), "snapshot")
    assert not is_written(node(), "compile")
    assert not is_written(node(), "clone")
    assert not is_written(node("test"), "build")
    assert not is_written(node("unit_test"), "build")


def test_a_table_that_exists_in_another_format_is_dbts() -> None:
    delta = why_stored_elsewhere(relation(is_delta=True), node(), False)
    assert delta is not None
    assert "log of its own" in delta
    assert why_stored_elsewhere(relation(is_iceberg=True), node(), False) == delta
    assert why_stored_elsewhere(relation(is_iceberg=True), node(file_format="iceberg"), False) is None
    assert why_stored_elsewhere(relation(is_delta=True), node(file_format="delta"), False) is None
    view = why_stored_elsewhere(relation(is_table=False), node(file_format="delta"), False)
    assert view is not None
    assert "no Delta table" in view
    batch_before = relation(is_delta=None, information=None)
    assert why_stored_elsewhere(batch_before, node(file_format="delta", materialized="incremental"), False) is None
    hive = relation(information="Owner: x\nProvider: hive\n")
    incremental = node(materialized="incremental")
    assert why_stored_elsewhere(hive, incremental, False) == "it adds rows to a table of the format hive"
    assert why_stored_elsewhere(hive, incremental, True) is None
    assert why_stored_elsewhere(hive, node(), False) is None
    assert why_stored_elsewhere(None, incremental, False) is None
    assert why_stored_elsewhere(relation(information="Provider: parquet"), incremental, False) is None


def test_a_table_whose_partitions_the_catalog_does_not_hold_is_dbts() -> None:
    partitioned = "Owner: x\nProvider: parquet\nPartition Columns: [`d`]\n"
    known = relation(information=f"{partitioned}Partition Provider: Catalog\n")
    unknown = relation(information=partitioned)
    incremental = node(materialized="incremental")
    said = why_stored_elsewhere(unknown, incremental, False)
    assert said is not None
    assert "MSCK REPAIR TABLE" in said
    assert why_stored_elsewhere(unknown, incremental, True) is None
    assert why_stored_elsewhere(unknown, node(), False) is None
    assert why_stored_elsewhere(known, incremental, False) is None


@pytest.mark.parametrize(
    ("command", "said", "remarks"),
    [
        ("run", ["planproof does not guard this run: it reaches Spark by session or thrift, not by http"], 2),
        ("clone", ["planproof does not guard dbt clone: it hands on rows that are stored elsewhere"], 0),
        ("compile", [], 0),
    ],
)
def test_a_run_that_is_not_guarded_is_said_once_and_for_each_node(
    command: str, said: list[str], remarks: int, monkeypatch: pytest.MonkeyPatch, tmp_path: Any
) -> None:
    from dbt_planproof import admission, gate, log

    lines: list[str] = []
    monkeypatch.setattr(log, "warn", lines.append)
    monkeypatch.setattr(admission, "read_command", lambda: command)
    config = SimpleNamespace(
        project_name="shop", project_target_path=str(tmp_path), credentials=SimpleNamespace(method="http")
    )
    found = gate.Gate(SimpleNamespace(config=config))
    for name in ("a", "b", "a"):
        found.enter(SimpleNamespace(model=SimpleNamespace(**{**vars(node()), "name": name})))
        found.leave()
    assert lines == said
    assert len(found.record._remarks) == remarks
