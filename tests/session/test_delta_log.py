"""Delta's log as files: what is read of it, and which commits go with which, without Spark."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from planproof.session.delta.by_sql import DeltaBySql
from planproof.session.delta.log import DeltaLog
from planproof.session.delta.protocol import NewVersion
from planproof.session.protocol import Moved, SparkFailure
from planproof.session.store import LocalStore

SCHEMA = json.dumps({"type": "struct", "fields": [{"name": "id", "type": "long", "nullable": True, "metadata": {}}]})
METADATA = {"id": "a", "schemaString": SCHEMA, "partitionColumns": ["p"], "configuration": {"k": "v"}}
PROTOCOL = {"minReaderVersion": 1, "minWriterVersion": 2}
MADE = [{"protocol": PROTOCOL}, {"metaData": METADATA}]


def add(path: str, p: str = "1", **more: Any) -> dict[str, Any]:
    return {"add": {"path": path, "partitionValues": {"p": p}, "size": 3, "dataChange": True, **more}}


def remove(path: str, p: str = "1") -> dict[str, Any]:
    return {"remove": {"path": path, "partitionValues": {"p": p}, "dataChange": True}}


class Server:
    """A session that answers each statement with `answer`, and keeps what it was asked."""

    def __init__(self, answer: list[tuple[Any, ...]] | None = None) -> None:
        self.answer, self.asked = answer, list[str]()

    def rows(self, sql: str) -> list[tuple[Any, ...]]:
        self.asked.append(sql)
        if self.answer is None:
            raise SparkFailure("no server")
        return self.answer

    def change_settings(self, changes: dict[str, str]) -> Any:
        raise SparkFailure("no server")


@pytest.fixture
def table(tmp_path: Path) -> Path:
    (tmp_path / "_delta_log").mkdir()
    return tmp_path


def write(table: Path, version: int, actions: list[Any]) -> Path:
    file = table / "_delta_log" / f"{version:020}.json"
    file.write_text("".join(json.dumps(action) + "\n" for action in actions))
    return file


def tables(server: Server | None = None) -> DeltaBySql:
    return DeltaBySql(server or Server(), LocalStore())  # type: ignore[arg-type]


def log(table: Path, server: Server | None = None) -> DeltaLog:
    return DeltaLog(server or Server(), LocalStore(), str(table), {})  # type: ignore[arg-type]


def test_a_table_is_what_its_commits_make_of_it(table: Path) -> None:
    assert log(table).replay().state(str(table)).version == -1
    write(table, 0, [*MADE, add("a"), add("b", "2")])
    write(table, 1, [remove("a"), add("c"), {"txn": {"appId": "x", "version": 1}}])
    now, before = log(table).replay(), log(table).replay(0)
    assert (now.version, [path for path, _ in now.files or {}], now.transactions) == (1, ["b", "c"], {"x"})
    assert [path for path, _ in before.files or {}] == ["a", "b"]
    state = now.state(str(table))
    assert (state.schema.names, state.partition_by, state.properties) == (("id",), ("p",), {"k": "v"})


def test_a_checkpoint_stands_for_the_commits_before_it(table: Path) -> None:
    server = Server([(json.dumps(METADATA), None, None), (None, json.dumps(PROTOCOL), None)])
    write(table, 3, [add("d")])
    (table / "_delta_log" / f"{2:020}.checkpoint.parquet").touch()
    (table / "_delta_log" / f"{3:020}.checkpoint.{1:010}.{2:010}.parquet").touch()  # Its second part is missing.
    read = log(table, server)
    for _ in range(2):
        found = read.replay()
        assert (found.version, found.metadata, found.files) == (3, METADATA, None)
    assert len(server.asked) == 1
    with pytest.raises(SparkFailure, match="is not in the log"):
        read.replay(1)


@pytest.mark.parametrize(
    "damaged",
    [
        ["no JSON"],
        ["[]"],
        ["{}"],
        ['{"add": {}}'],
        ['{"metaData": 1}', '{"protocol": 1}'],
        [json.dumps({"metaData": {**METADATA, "schemaString": "1"}}), json.dumps({"protocol": PROTOCOL})],
        [json.dumps({"metaData": {**METADATA, "partitionColumns": [1]}}), json.dumps({"protocol": PROTOCOL})],
        [json.dumps({"metaData": {**METADATA, "configuration": [1]}}), json.dumps({"protocol": PROTOCOL})],
        [json.dumps({"metaData": METADATA}), json.dumps({"protocol": {"writerFeatures": 7}})],
        ["[" * 100_000],
        [],
    ],
)
def test_a_damaged_log_is_a_failure(table: Path, damaged: list[str]) -> None:
    (table / "_delta_log" / f"{0:020}.json").write_text("\n".join(damaged))
    with pytest.raises(SparkFailure):
        tables().state(str(table))


def test_a_gap_and_a_version_of_any_number_are_failures(table: Path) -> None:
    write(table, 0, MADE)
    write(table, 10**19, [add("x")])
    with pytest.raises(SparkFailure, match="version 1 is not in the log"):
        tables().state(str(table))


def commit(table: Path, **more: Any) -> int:
    given = {"added": [add("ours")], "removed": (), "metadata": None, "reads": False, "exact": False, "counts": {}}
    base = more.pop("base", None) or tables().state(str(table), 0)
    return tables().commit(NewVersion("append", base, base.version, **{**given, **more}), "t", "planproof_1")


APPEND: dict[str, Any] = {}
EXACT = {"exact": True}
READS = {"reads": True}
PARTS = {"overwrites": True, "reads": True}


@pytest.mark.parametrize(
    ("theirs", "given", "goes"),
    [
        ([add("x")], APPEND, True),
        ([remove("a")], APPEND, True),
        ([{"commitInfo": {}}], EXACT, True),
        ([add("x")], EXACT, False),
        ([add("x")], READS, False),
        ([{"commitInfo": {}}], READS, True),
        ([add("x", "2")], PARTS, True),
        ([add("x")], PARTS, False),
        ([remove("a")], PARTS, False),
        ([{"metaData": METADATA}], APPEND, False),
        ([{"protocol": PROTOCOL}], APPEND, False),
        ([{"domainMetadata": {}}], APPEND, False),
        ([{"txn": {"appId": "other"}}], APPEND, True),
        ([{"txn": {"appId": "planproof.planproof_1"}}], APPEND, False),
    ],
)
def test_which_commits_go_with_those_of_others(
    table: Path, theirs: list[Any], given: dict[str, Any], goes: bool
) -> None:
    write(table, 0, [*MADE, add("a"), add("b", "2")])
    file = write(table, 1, theirs)
    if goes:
        assert commit(table, **given) == 2
        assert '"planproof":"planproof_1"' in (table / "_delta_log" / f"{2:020}.json").read_text()
    else:
        with pytest.raises(Moved):
            commit(table, **given)
        assert sorted(path.name for path in file.parent.iterdir()) == [f"{0:020}.json", file.name]


def test_files_give_way_by_partition_by_name_or_all(table: Path) -> None:
    write(table, 0, [*MADE, add("a"), add("b", "2")])
    for version, given, gone in ((1, PARTS, ["a"]), (2, {"removed": ["b"]}, ["b"]), (3, {"removed": None}, ["ours"])):
        now = tables().state(str(table))
        assert commit(table, base=now, added=[add("ours")] if version < 3 else [add("last")], **given) == version
        said = [json.loads(line) for line in (table / "_delta_log" / f"{version:020}.json").read_text().splitlines()]
        assert [action["remove"]["path"] for action in said if "remove" in action] == gone
    with pytest.raises(SparkFailure, match="are not those of the table's version"):
        commit(table, base=tables().state(str(table)), removed=["nowhere"])


def test_nothing_is_committed_where_the_table_went_or_is_another(table: Path) -> None:
    write(table, 0, MADE)
    base = tables().state(str(table))
    write(table, 0, [{"protocol": PROTOCOL}, {"metaData": {**METADATA, "id": "b"}}])
    with pytest.raises(Moved, match="another table's"):
        commit(table, base=base)
    (table / "_delta_log" / f"{0:020}.json").unlink()
    with pytest.raises((Moved, SparkFailure)):
        commit(table, base=base)
    assert list((table / "_delta_log").iterdir()) == []


def test_a_fence_stops_its_run_alone(table: Path) -> None:
    write(table, 0, MADE)
    base = tables().state(str(table))
    tables().fence(str(table), "planproof_1")
    with pytest.raises(Moved):
        commit(table, base=base)
    tables().fence(str(table), "planproof_2")
    assert tables().state(str(table)).version == 2
