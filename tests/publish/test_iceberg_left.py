"""What a killed publish of an Iceberg table left is deleted where it is certain that nobody needs it, nowhere else."""

from __future__ import annotations

import os
import time
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from planproof.publish.iceberg.left import (
    SETTLES,
    Aside,
    Note,
    Notebook,
    earlier,
    folder,
    settle_exchange,
    sweep,
    take_back,
)
from planproof.publish.transaction.owner import Owner
from planproof.session.protocol import SparkFailure
from planproof.session.store import LocalStore

STORE = LocalStore()


class Lakes:
    """A session whose Iceberg catalogs name the files or do not, or (None) have no such table."""

    def __init__(self, names: bool | None) -> None:
        self.names = names

    def transactions(self) -> Any:
        return SimpleNamespace(names_any=lambda *asked: self.names)


def left(root: Path, **changes: Any) -> tuple[Note, str]:
    """The note of a publish that is dead, with one data file and one manifest."""
    table = root / "t"
    for name in ("data/planproof_r_1/part=1/0.parquet", "metadata/m.avro"):
        (table / name).parent.mkdir(parents=True, exist_ok=True)
        (table / name).write_text("x")
    dead = replace(Owner.here("r_1"), pid=2**22 + 1)
    others = (str(table / "metadata/m.avro"),)
    known = ("lake.db.t", "`lake`.`db`.`t`", "t", "change", dead, False, str(table))
    note = replace(Note(*known, folder=str(table / "data/planproof_r_1"), others=others, step="audit"), **changes)
    book = Notebook(STORE, str(root), note)
    book.write()
    book.end()
    return note, book.location


def files(root: Path) -> set[str]:
    return {str(p.relative_to(root)) for p in root.rglob("*") if p.is_file()}


def told(root: Path, names: bool | None, location: str, force: bool = False) -> tuple[str, list[str]]:
    report = sweep(Lakes(names), STORE, location, force)  # type: ignore[arg-type]
    return report.outcome, [f.code for f in report.findings]


def test_what_no_snapshot_names_is_deleted(tmp_path: Path) -> None:
    note, location = left(tmp_path)
    (tmp_path / "t/data/0.parquet").write_text("another's")
    assert Note.from_json(Path(location).read_text()) == note
    assert told(tmp_path, False, location) == ("rejected", ["PP602"])
    assert files(tmp_path) == {"t/data/0.parquet"}
    assert not (tmp_path / ".planproof").exists()


def test_what_a_snapshot_names_stays(tmp_path: Path) -> None:
    _, location = left(tmp_path, step="commit")
    before = files(tmp_path / "t")
    assert told(tmp_path, True, location) == ("published", ["PP603"])
    assert files(tmp_path) == {f"t/{name}" for name in before}


@pytest.mark.parametrize("case", ["renamed or dropped", "made, and renamed", "commit on its way"])
def test_what_may_be_needed_stays_until_it_is_given_up(tmp_path: Path, case: str) -> None:
    names = False if case == "commit on its way" else None
    _, location = left(tmp_path, is_new=case == "made, and renamed", step="commit")
    if case == "made, and renamed":
        (tmp_path / "t/metadata/00000-a.metadata.json").write_text("{}")
    before = files(tmp_path)
    for _ in range(2):
        assert told(tmp_path, names, location) == ("rejected", ["PP609"])
        assert files(tmp_path) == before
    outcome, codes = told(tmp_path, names, location, force=True)
    if case == "commit on its way":
        assert (outcome, codes, files(tmp_path)) == ("rejected", ["PP602"], set())
    else:
        assert (outcome, codes) == ("rejected", ["PP609"])
        assert {f"t/{name}" for name in files(tmp_path / "t")} == files(tmp_path)


def test_a_commit_of_long_ago_is_not_on_its_way(tmp_path: Path) -> None:
    _, location = left(tmp_path, step="commit")
    then = time.time() - SETTLES - 10
    os.utime(location, (then, then))
    assert told(tmp_path, False, location) == ("rejected", ["PP602"])


def test_a_table_that_was_never_made_leaves_no_folder(tmp_path: Path) -> None:
    _, location = left(tmp_path, is_new=True)
    assert told(tmp_path, None, location) == ("rejected", ["PP602"])
    assert list(tmp_path.iterdir()) == []


def test_a_living_owner_and_a_torn_note_are_left_alone(tmp_path: Path) -> None:
    _, location = left(tmp_path, owner=replace(Owner.here("r_1"), pid=os.getppid(), started=None))
    before = files(tmp_path)
    assert told(tmp_path, False, location) == ("failed", ["PP604"])
    assert earlier(Lakes(False), STORE, str(tmp_path), "t") == []  # type: ignore[arg-type]
    Path(location).write_text('{"model": ')
    assert told(tmp_path, False, location) == ("failed", ["PP601"])
    assert earlier(Lakes(False), STORE, str(tmp_path), "t") == []  # type: ignore[arg-type]
    assert files(tmp_path) == before


def test_the_next_publish_of_a_table_sweeps_what_it_left_and_no_other_ones(tmp_path: Path) -> None:
    left(tmp_path)
    assert earlier(Lakes(False), STORE, str(tmp_path), "other") == []  # type: ignore[arg-type]
    (report,) = earlier(Lakes(False), STORE, str(tmp_path), "t")  # type: ignore[arg-type]
    assert [f.code for f in report.findings] == ["PP602"]
    assert (files(tmp_path), STORE.names(folder(str(tmp_path)))) == (set(), [])


def test_a_note_that_cannot_be_brought_up_to_date_is_deleted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By an old one, files would be swept at once of which the catalog may still carry out the commit."""
    note, location = left(tmp_path)

    def failing(location: str, text: str, lasting: bool = True) -> None:
        raise SparkFailure("the disk is full")

    book = Notebook(STORE, str(tmp_path), note)
    assert book.write(step="audit")
    monkeypatch.setattr(STORE, "write", failing)
    assert not book.write(step="commit")
    assert not Path(location).exists()
    assert book.note.step == "commit"


class Renamed:
    """A session in which the table has taken the view's place, and whose look-ups by Iceberg's client fail."""

    def __init__(self, **there: str) -> None:
        self.there, self.ran = there, list[str]()

    def registered(self, name: str) -> Any:
        kind = self.there.get(name)
        if kind == "unknown":
            raise SparkFailure("it lists t all the same", transient=True)
        return kind and SimpleNamespace(kind=kind)

    def rows(self, sql: str) -> list[Any]:
        self.ran.append(sql)
        return []


EXCHANGE = {"staging": "s", "away": "away", "step": "exchange", "target": "t"}


@pytest.mark.parametrize(
    ("there", "ending", "ran"),
    [
        ({"t": "table", "away": "view"}, "finished", ["DROP VIEW away"]),
        ({"t": "view", "s": "table"}, "undone", ["DROP TABLE s PURGE"]),
        ({"s": "table", "away": "view"}, "finished", ["ALTER TABLE s RENAME TO t", "DROP VIEW away"]),
        ({"away": "view"}, "undone", ["ALTER VIEW away RENAME TO t"]),
    ],
)
def test_a_change_of_places_goes_on_or_back(tmp_path: Path, there: Any, ending: str, ran: list[str]) -> None:
    note, _ = left(tmp_path, **EXCHANGE)
    session = Renamed(**there)
    assert (settle_exchange(session, note), session.ran) == (ending, ran)  # type: ignore[arg-type]


@pytest.mark.parametrize("name", ["t", "s", "away"])
def test_nothing_changes_places_by_a_catalog_that_is_not_believed(tmp_path: Path, name: str) -> None:
    note, _ = left(tmp_path, **EXCHANGE)
    session = Renamed(**{"t": "table", "away": "view", name: "unknown"})
    with pytest.raises(SparkFailure, match="all the same"):
        settle_exchange(session, note)  # type: ignore[arg-type]
    assert session.ran == []


def test_rows_that_were_set_aside_are_not_forgotten_where_their_table_cannot_be_loaded() -> None:
    tables, aside = SimpleNamespace(table=lambda name: None), Aside("q", "r_1")
    take_back(Renamed(), tables, STORE, aside)  # type: ignore[arg-type]
    with pytest.raises(SparkFailure, match="cannot be loaded"):
        take_back(Renamed(q="table"), tables, STORE, aside)  # type: ignore[arg-type]
