"""What a staged table's log holds, as actions for the log of the table in whose folder it lies."""

from __future__ import annotations

import json
from typing import Any

import pytest

from planproof.publish.delta.actions import UnknownAction, count_for_history, count_rows, read

AT = "file:/lake/my%20db/t"
"""As a log has it, and as Hadoop has it."""
PLACE = "file:/lake/my db/t"


def add(path: str, **more: Any) -> dict[str, Any]:
    return {"add": {"path": path, "partitionValues": {}, "size": 1, "dataChange": True, **more}}


def commit(*actions: dict[str, Any]) -> str:
    return "\n".join(json.dumps(action) for action in ({"commitInfo": {"operation": "WRITE"}}, *actions))


def test_own_files_are_named_from_the_target_and_its_own_as_they_were() -> None:
    found = read(
        [commit(add("p=a%20b/new.parquet"), {"remove": {"path": f"{AT}/p=a%20b/old.parquet"}})], "planproof_1", PLACE
    )
    assert [form["path"] for form in found.files] == ["planproof_1/p=a%20b/new.parquet"]
    assert found.removed == ("p=a%20b/old.parquet",)
    assert found.metadata is None


def test_a_file_that_lies_elsewhere_keeps_its_whole_path() -> None:
    found = read([commit({"remove": {"path": "file:/other/t/old.parquet"}})], "planproof_1", PLACE)
    assert found.removed == ("file:/other/t/old.parquet",)


def test_the_net_of_several_commits_counts() -> None:
    """Delta compacts a table right after a write where it is told to; its commits say that no data changed."""
    compacted = {**add("big.parquet")["add"], "dataChange": False}
    later = commit({"remove": {"path": "a.parquet"}}, {"remove": {"path": "b.parquet"}}, {"add": compacted})
    found = read([commit(add("a.parquet"), add("b.parquet")), later], "planproof_1", PLACE)
    assert [(form["path"], form["dataChange"]) for form in found.files] == [("planproof_1/big.parquet", True)]
    assert found.removed == ()


def test_a_deletion_vector_is_named_from_the_target() -> None:
    """The file that it belongs to is the target's own: its action is replaced by one with the vector."""
    vector = {"storageType": "u", "pathOrInlineDv": "ab^-aqEH.-t@S}K{vb[*k^", "sizeInBytes": 4, "cardinality": 1}
    action = add(f"{AT}/old.parquet", deletionVector=vector)
    found = read([commit(action, {"remove": {"path": f"{AT}/old.parquet"}})], "planproof_1", PLACE)
    (form,) = found.files
    assert (form["path"], found.removed) == ("old.parquet", ("old.parquet",))
    assert form["deletionVector"]["pathOrInlineDv"] == "planproof_1/ab^-aqEH.-t@S}K{vb[*k^"
    inline = {**vector, "storageType": "i", "pathOrInlineDv": "wi5b=000010000siXQKl0rr91000f55c8Xg0@@D72lkbi5=-{L"}
    (kept,) = read([commit(add("a", deletionVector=inline))], "planproof_1", PLACE).files
    assert kept["deletionVector"] == inline


def test_row_ids_are_left_to_the_commit_and_changes_for_readers_come_with_it() -> None:
    cdc = {"cdc": {"path": "_change_data/c.parquet", "partitionValues": {}, "size": 1, "dataChange": False}}
    found = read([commit(add("a.parquet", baseRowId=7, defaultRowCommitVersion=1), cdc)], "planproof_1", PLACE)
    (form,) = found.files
    assert "baseRowId" not in form
    assert "defaultRowCommitVersion" not in form
    assert found.added[1]["cdc"]["path"] == "planproof_1/_change_data/c.parquet"


def test_new_metadata_are_told_and_what_is_unknown_is_refused() -> None:
    found = read([commit({"metaData": {"id": "1"}}, {"protocol": {"minReaderVersion": 1}})], "planproof_1", PLACE)
    assert found.metadata == {"id": "1"}
    with pytest.raises(UnknownAction, match="domainMetadata"):
        read([commit({"domainMetadata": {"domain": "delta.clustering"}})], "planproof_1", PLACE)


@pytest.mark.parametrize(
    "stats", ["", "[]", "x", "null", '{"numRecords": -1}', '{"numRecords": "3"}', '{"numRecords": true}', "[" * 100_000]
)
def test_statistics_that_say_no_number_are_none(stats: str) -> None:
    assert count_rows([{"path": "a", "stats": stats}]) is None


def test_more_deleted_rows_than_there_are_is_no_number() -> None:
    vector = {"storageType": "i", "pathOrInlineDv": "x", "cardinality": 4}
    assert count_rows([{"path": "a", "stats": '{"numRecords": 3}', "deletionVector": vector}]) is None


def merged(matched: str, rows: str = "3") -> str:
    """The commit of a MERGE, as Delta writes it."""
    said = {"operationParameters": {"matchedPredicates": matched}, "operationMetrics": {"numSourceRows": rows}}
    return commit({"commitInfo": {"operation": "MERGE", **said}})


def test_the_clauses_and_counts_of_a_merge_are_read_and_a_count_that_is_no_number_is_left_out() -> None:
    found = read([merged('[{"actionType": "update"}]')], "planproof_1", PLACE).merge
    assert found is not None
    assert found.clauses == (("update",), (), ())
    assert count_for_history(read([merged("[]")], "planproof_1", PLACE)) == {
        "numSourceRows": 3,
        "operationNumSourceRows": 3,
    }
    assert count_for_history(read([merged("[]", "many")], "planproof_1", PLACE))["numSourceRows"] == 0


@pytest.mark.parametrize("matched", ["[", "[{}]", "[1]", "7", '{"a": 1}'])
def test_clauses_that_are_none_are_damage(matched: str) -> None:
    with pytest.raises(UnknownAction, match="is damaged"):
        read([merged(matched)], "planproof_1", PLACE)


@pytest.mark.parametrize("text", ["{", "[]", "{}", '{"add": null}', '{"add": {"path": 1}}', "1", "[" * 100_000])
def test_a_damaged_commit_is_refused_by_name(text: str) -> None:
    with pytest.raises(UnknownAction, match="is damaged"):
        read([text], "planproof_1", "file:/lake/t")


def test_a_value_may_hold_what_unicode_takes_for_the_end_of_a_line() -> None:
    values = {"d": "a\u2028b\x85c\x0bd"}
    text = json.dumps(add("d=1/a.parquet", partitionValues=values), ensure_ascii=False)
    assert read([text], "planproof_1", PLACE).files[0]["partitionValues"] == values
