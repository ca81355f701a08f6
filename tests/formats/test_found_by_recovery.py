"""A publish was killed, somebody changed what it left, and recovery finds that: each case at the one call where it
matters. test_killed_publish.py plays others at every call."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from killed import Killed
from under_test import Place

from planproof import Guard, Report
from planproof.publish.swaps.location import Location
from planproof.publish.swaps.partitions import Partitions
from planproof.publish.swaps.rename import Rename
from planproof.publish.transaction import owner
from planproof.session import open as opened
from planproof.session.store import decode_uri, store_of

Make = Callable[[str, str], Place]


def kill(there: Place, strategy: type[Any], method: str, at: int = 0, **model: Any) -> None:
    """A publish dies right before number `at` of the calls of a strategy's method."""
    plain, seen = getattr(strategy, method), list[str]()

    def die(self: Any, *given: Any) -> Any:
        seen.append(method)
        if len(seen) > at:
            raise Killed
        return plain(self, *given)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(strategy, method, die)
        with pytest.raises(Killed):
            there.publish(Guard(there.spark.newSession()), **model)
    owner._running.clear()


def recover(there: Place) -> Report:
    [report] = Guard(there.other).recover()
    return report


def message(report: Report) -> str:
    return " ".join(finding.message or "" for finding in report.findings)


def folder(there: Place) -> str:
    table = opened(there.spark.newSession()).registered_table(there.t)
    assert table is not None
    return decode_uri(table.location or "")


def delete(there: Place, folder: str, count: int | None = None) -> None:
    """Deletes some of the data files in a folder, or all."""
    store = store_of(opened(there.spark))
    for name in list(store.contents(folder))[:count]:
        store.delete(f"{folder}/{name}")


def test_a_staged_folder_that_somebody_deleted_is_not_finished(place: Make) -> None:
    there = place("parquet", "location")
    kill(there, Location, "finish")
    delete(there, folder(there))
    assert recover(there).outcome == "rejected", "not `finished`: none of its files is there"
    assert there.rows() == there.case.old


@pytest.mark.parametrize(("count", "outcome"), [(1, "published"), (None, "rejected")])
def test_where_no_old_row_is_left_the_new_ones_that_are_stay(count: int | None, outcome: str, place: Make) -> None:
    there = place("parquet", "location")
    before = folder(there)
    kill(there, Location, "finish", sql="select cast(id as int) as id, 'b' as s from range(0, 4, 1, 2)")
    delete(there, before)
    delete(there, folder(there), count)
    report = recover(there)
    assert report.outcome == outcome, report
    assert len(there.rows() or []) == (2 if count else 0)
    said = "1 of the 2 files that were audited are not there any more"
    assert (said in message(report)) == (outcome == "published"), message(report)


def test_a_partition_that_somebody_drops_after_the_commit_brings_no_old_rows_back(place: Make) -> None:
    there = place("parquet", "partitions")
    kill(there, Partitions, "finish")
    there.carry_out(["alter table {t} drop partition (d = 'x')"])
    report = recover(there)
    assert (report.outcome, there.rows()) == ("published", [(2, "y"), (4, "z")]), report


@pytest.mark.parametrize(
    ("statement", "rows"),
    [
        ("insert into {t} values (9, 'x')", [(1, "x"), (2, "y"), (9, "x")]),
        ("insert overwrite {t} partition (d = 'x') values (9)", [(2, "y"), (9, "x")]),
        ("select 1", [(1, "x"), (2, "y")]),
    ],
)
def test_rows_in_a_partition_of_a_swap_that_stopped_half_way_are_kept(
    statement: str, rows: list[Any], place: Make
) -> None:
    there = place("parquet", "partitions")
    kill(there, Partitions, "_point", 1)
    there.carry_out(["refresh table {t}", statement])
    report = recover(there)
    assert (report.outcome, there.rows()) == ("rejected", rows), report
    assert Guard(there.other).recover() == []


def test_rows_in_a_new_partition_of_a_swap_that_stopped_half_way_are_kept(place: Make) -> None:
    there = place("parquet", "partitions")
    kill(there, Partitions, "_point", 1, sql="select * from values (4, 'm'), (3, 'x') as v(id, d)")
    assert there.rows() == [(1, "x"), (2, "y"), (4, "m")]
    there.carry_out(["refresh table {t}", "insert into {t} values (9, 'm')"])
    recover(there)
    assert there.rows() == [(1, "x"), (2, "y"), (9, "m")]


def test_a_first_table_that_was_renamed_is_left_at_its_place(place: Make, tmp_path: Path) -> None:
    there = place("parquet", "first")
    kill(there, Rename, "finish", options={"location_root": str(tmp_path)})
    there.carry_out(["alter table {t} rename to {t}_moved"])
    report = recover(there)
    assert [f.code for f in report.findings] == ["PP609"], report
    assert there.rows(f"{there.t}_moved") == there.case.new
    assert Guard(there.other).recover() == []


def test_a_table_that_was_renamed_with_its_new_files_is_left_and_the_old_one_is_named(
    place: Make, tmp_path: Path
) -> None:
    there = place("parquet", "rename")
    there.carry_out(["drop table {t}"])
    there.other.sql(f"create table {there.t} using parquet location '{tmp_path}/t' as select 1 as id, 'a' as s")
    kill(there, Rename, "finish", options={"location_root": str(tmp_path)})
    there.carry_out(["alter table {t} rename to {t}_moved"])
    report = recover(there)
    assert (report.outcome, [f.code for f in report.findings]) == ("rejected", ["PP609"]), report
    assert "what stood there before waits as" in message(report)
    assert there.rows(f"{there.t}_moved") == [(2, "b")]
    assert Guard(there.other).recover() == []
