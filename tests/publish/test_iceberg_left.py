"""What a killed publish of an Iceberg table left is deleted where it is certain that nobody needs it, nowhere else."""

from __future__ import annotations

import json
import os
import shutil
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from planproof.publish.iceberg.left import LEFT, settle_exchange, take_back
from planproof.publish.notes.note import Note, QuarantinedFiles
from planproof.publish.notes.notebook import (
    SETTLES,
    Notebook,
    Noted,
    folder,
    is_young,
    list_notes,
    settle_earlier,
    taken_mark,
)
from planproof.publish.transaction.owner import Owner
from planproof.publish.transaction.recover import recover
from planproof.publish.transaction.recovery import settle as settle_found
from planproof.session.protocol import SparkFailure
from planproof.session.store import LocalStore
from planproof_engine.catalog import split_name

STORE = LocalStore()


MANIFEST = "0a1b2c3d-0000-4000-8000-0123456789ab-m0.avro"
STRANGER = "ffffffff-0000-4000-8000-0123456789ab-m0.avro"


class Lakes:
    """A session whose Iceberg catalogs name the files or do not, or (None) have no such table. The database lies at
    `root`, its tables in folders of their names; `fenced` are those that were committed to."""

    def __init__(self, names: bool | None, root: Path = Path("/nowhere"), created: str = "first") -> None:
        self.names, self.root, self.fenced, self.created = names, root, list[str](), created

    def transactions(self) -> Any:
        return SimpleNamespace(
            has_files_in=lambda *asked: self.names,
            complete=split_name,
            namespace_location=lambda database: str(self.root),
            table=self.table,
            fence=lambda name, run: self.fenced.append(name),
        )

    def table(self, name: str) -> Any:
        location = str(self.root / split_name(name)[-1])
        return None if self.names is None else SimpleNamespace(location=location, properties={}, created=self.created)

    def rows(self, sql: str) -> list[Any]:
        return []


def left(root: Path, **changes: Any) -> tuple[Note, str]:
    """The note of a publish that is dead, with one data file and one manifest."""
    table = root / "t"
    for name in ("data/planproof_r_1/part=1/0.parquet", f"metadata/{MANIFEST}"):
        (table / name).parent.mkdir(parents=True, exist_ok=True)
        (table / name).write_text("x")
    dead = replace(Owner.here("r_1"), pid=2**22 + 1)
    others = (str(table / f"metadata/{MANIFEST}"),)
    known = ("lake.db.t", "`lake`.`db`.`t`", "t", "change", dead, False, str(table))
    note = replace(Note(*known, folder=str(table / "data/planproof_r_1"), others=others, step="audit"), **changes)
    book = Notebook(STORE, str(root), note)
    book.write()
    book.end()
    return note, book.location


def files(root: Path) -> set[str]:
    return {str(p.relative_to(root)) for p in root.rglob("*") if p.is_file()}


def told(root: Path, names: bool | None, location: str, force: bool = False) -> tuple[str, list[str]]:
    report = settle_found(Noted(LEFT, Lakes(names, root), STORE, location, force))  # type: ignore[arg-type]
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


@pytest.mark.parametrize(
    "case", ["renamed or dropped", "made, and renamed", "renamed and made anew", "commit on its way"]
)
def test_what_may_be_needed_stays_until_it_is_given_up(tmp_path: Path, case: str) -> None:
    names = None if case in ("renamed or dropped", "made, and renamed") else False
    created = "before" if case == "renamed and made anew" else "first"
    _, location = left(tmp_path, is_new=case == "made, and renamed", step="commit", created=created)
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


@pytest.mark.parametrize("hours", [-3, 3])
def test_ages_are_told_by_the_clock_of_the_store(tmp_path: Path, hours: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """It may be hours from this machine's: what was written a moment ago is young, and nothing else is."""
    _, location = left(tmp_path, step="commit")
    now = time.time()
    monkeypatch.setattr("planproof.publish.notes.notebook.time.time", lambda: now + hours * 3600)
    assert is_young(STORE, location)
    os.utime(location, (now - SETTLES - 10,) * 2)
    assert not is_young(STORE, location)


def test_a_table_that_was_never_made_leaves_no_folder(tmp_path: Path) -> None:
    _, location = left(tmp_path, is_new=True)
    assert told(tmp_path, None, location) == ("rejected", ["PP602"])
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("beside", ["", "locks"])
def test_a_recovery_leaves_no_empty_folder_of_notes(tmp_path: Path, beside: str) -> None:
    """A publish that dies right after it has deleted its note leaves the folder, and a namespace cannot be dropped."""
    state = tmp_path / ".planproof"
    (state / "staged").mkdir(parents=True)
    if beside:
        (state / beside).mkdir()
    session: Any = SimpleNamespace()
    recover(session, LocalStore(), [str(tmp_path)])
    assert state.exists() == bool(beside)


def test_a_living_owner_and_a_torn_note_are_left_alone(tmp_path: Path) -> None:
    _, location = left(tmp_path, owner=replace(Owner.here("r_1"), pid=os.getppid(), started=None))
    before = files(tmp_path)
    assert told(tmp_path, False, location) == ("failed", ["PP604"])
    assert settle_earlier(LEFT, Lakes(False, tmp_path), STORE, str(tmp_path), "t") == []  # type: ignore[arg-type]
    Path(location).write_text('{"model": ')
    assert told(tmp_path, False, location) == ("failed", ["PP601"])
    assert settle_earlier(LEFT, Lakes(False, tmp_path), STORE, str(tmp_path), "t") == []  # type: ignore[arg-type]
    assert files(tmp_path) == before


def test_the_next_publish_of_a_table_sweeps_what_it_left_and_no_other_ones(tmp_path: Path) -> None:
    left(tmp_path)
    assert settle_earlier(LEFT, Lakes(False, tmp_path), STORE, str(tmp_path), "other") == []  # type: ignore[arg-type]
    (report,) = settle_earlier(LEFT, Lakes(False, tmp_path), STORE, str(tmp_path), "t")  # type: ignore[arg-type]
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


def change(**changes: Any) -> Callable[[Path, dict[str, Any]], dict[str, Any]]:
    """What a stranger writes into a note; `~` stands for the database's folder."""
    return lambda root, form: {**form, **json.loads(json.dumps(changes).replace("~", str(root)))}


def linked(root: Path, form: dict[str, Any]) -> dict[str, Any]:
    shutil.rmtree(root / "t/data/planproof_r_1")
    (root / "t/data/planproof_r_1").symlink_to(root / "other")
    return form


def behind_a_link(root: Path, form: dict[str, Any]) -> dict[str, Any]:
    shutil.move(root / "t/data", root / "elsewhere")
    (root / "t/data").symlink_to(root / "elsewhere")
    return form


QUARANTINED = {"table": "`lake`.`db`.`t__quarantine`", "run": "r_1", "folder": None, "others": []}
ATTACKS = {
    "a folder of the machine": change(folder="~/other"),
    "the table's own data": change(folder="~/t/data"),
    "another publish's": change(folder="~/t/data/planproof_r_2"),
    "another table's": change(folder="~/other/data/planproof_r_1"),
    "up and down again": change(folder="~/t/data/../../other/data/planproof_r_1"),
    "up and down to the same": change(folder="~/t/data/../data/planproof_r_1"),
    "a link": linked,
    "behind a link": behind_a_link,
    "metadata of another table": change(others=[f"~/other/metadata/{MANIFEST}"]),
    "a state of the table": change(others=["~/t/metadata/v1.metadata.json"]),
    "a file by a path upwards": change(others=[f"~/t/metadata/../../other/metadata/{MANIFEST}"]),
    "another target": change(target="`lake`.`db`.`other`"),
    "a target that is a statement": change(target="t; DROP TABLE u"),
    "another slug": change(slug="other"),
    "another run": change(owner={"host": "h", "pid": 1, "run": "r_2", "started": None, "space": None}),
    "names of other relations": change(staging="`db`.`other`", away="`db`.`view`"),
    "statements for names": change(staging="s PURGE", away="x; DROP TABLE y"),
    "another quarantine": change(quarantine={**QUARANTINED, "table": "`lake`.`db`.`other`"}),
    "another run of the quarantine": change(quarantine={**QUARANTINED, "run": "x' OR true OR '"}),
    "a folder of the quarantine": change(quarantine={**QUARANTINED, "folder": "~/other"}),
    "a table that is to be new, elsewhere": change(is_new=True, location="~/../x", folder="~/../x/data/planproof_r_1"),
    "a branch of the user's": change(branch="main", folder=None, others=[]),
}


@pytest.mark.parametrize("force", [False, True])
@pytest.mark.parametrize("attack", sorted(ATTACKS))
def test_a_note_that_names_what_no_publish_would_is_refused(tmp_path: Path, attack: str, force: bool) -> None:
    root = tmp_path / "db"
    _, location = left(root)
    for name in (
        "other/0.parquet",
        f"other/metadata/{MANIFEST}",
        "other/data/planproof_r_1/0",
        "t/metadata/v1.metadata.json",
    ):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text("theirs")
    form = ATTACKS[attack](root, json.loads(Path(location).read_text()))
    Path(location).write_text(json.dumps(form))
    before = files(root)
    session = Lakes(None if form["is_new"] else False, root)
    report = settle_found(Noted(LEFT, session, STORE, location, force))  # type: ignore[arg-type]
    assert (report.outcome, [f.code for f in report.findings]) == ("failed", ["PP622"]), report
    assert location in str(report.error)
    assert (files(root), session.fenced) == (before, [])


def test_a_note_is_about_tables_of_the_database_in_which_it_lies(tmp_path: Path) -> None:
    _, location = left(tmp_path / "mine")
    before = files(tmp_path)
    session = Lakes(False, tmp_path / "theirs")
    report = settle_found(Noted(LEFT, session, STORE, location, is_chosen=False))  # type: ignore[arg-type]
    assert ([f.code for f in report.findings], files(tmp_path)) == (["PP622"], before)


@pytest.mark.parametrize(
    "text",
    ["", "null", "[]", "7", '{"model": 1}', "[" * 50_000, '{"form": 99}', "\x00", '{"owner": {"host": 1, "pid": "x"}}'],
)
def test_a_note_that_is_none_does_not_keep_the_others(tmp_path: Path, text: str) -> None:
    _, location = left(tmp_path)
    bad = Path(location).with_name("a.x_1.json")
    bad.write_text(text)
    Path(location).with_name("b.x_1.json").mkdir()
    session = Lakes(False, tmp_path)
    said = [settle_found(Noted(LEFT, session, STORE, at)) for at in list_notes(STORE, str(tmp_path))]  # type: ignore[arg-type]
    assert [r.outcome for r in said] == ["failed", "failed", "rejected"], said
    assert bad.exists()
    assert str(bad) in str(said[0].error)


@pytest.mark.parametrize(
    ("key", "value"), [("others", [1]), ("folder", 3), ("is_new", "yes"), ("snapshot", "x"), ("form", 1), ("form", 3)]
)
def test_a_note_of_another_form_is_left(tmp_path: Path, key: str, value: Any) -> None:
    _, location = left(tmp_path)
    Path(location).write_text(json.dumps({**json.loads(Path(location).read_text()), key: value}))
    before = files(tmp_path)
    assert told(tmp_path, False, location) == ("failed", ["PP601"])
    assert files(tmp_path) == before


def test_files_of_a_living_owner_are_deleted_once_its_commit_is_refused(tmp_path: Path) -> None:
    """First the mark that the owner sees, then the commit that makes its own fail, then the files."""
    living = replace(Owner.here("r_1"), pid=os.getppid(), started=None)
    note, location = left(tmp_path, owner=living, step="audit")
    session = Lakes(False, tmp_path)
    seen: list[Any] = []
    tables = session.transactions()
    tables.fence = lambda name, run: seen.append(
        (name, run, Path(taken_mark(location)).exists(), sorted(files(tmp_path / "t")))
    )
    session.transactions = lambda: tables  # type: ignore[method-assign]
    report = settle_found(Noted(LEFT, session, STORE, location, force=True))  # type: ignore[arg-type]
    assert [f.code for f in report.findings] == ["PP602"]
    assert seen == [(note.target, "r_1", True, ["data/planproof_r_1/part=1/0.parquet", f"metadata/{MANIFEST}"])]
    assert files(tmp_path / "t") == set()
    book = Notebook(STORE, str(tmp_path), note)
    book.is_written = True
    assert book.is_evicted()
    assert not book.write(step="commit"), "an evicted owner does not bring its note back"
    book.delete()
    assert not (tmp_path / ".planproof").exists()


def test_files_of_a_living_owner_stay_where_no_table_can_refuse_it(tmp_path: Path) -> None:
    living = replace(Owner.here("r_1"), pid=os.getppid(), started=None)
    _, location = left(tmp_path, owner=living, is_new=True)
    before = files(tmp_path / "t")
    assert told(tmp_path, None, location, force=True) == ("rejected", ["PP609"])
    assert files(tmp_path / "t") == before
    then = time.time() - SETTLES - 10
    os.utime(taken_mark(location), (then, then))
    assert told(tmp_path, None, location, force=True) == ("rejected", ["PP602"])
    assert files(tmp_path / "t") == set()


class Renamed:
    """A session in which the table has taken the view's place, and whose look-ups by Iceberg's client fail."""

    def __init__(self, **there: str) -> None:
        self.there, self.ran = there, list[str]()

    def registered_table(self, name: str) -> Any:
        kind = self.there.get(name)
        if kind == "unknown":
            raise SparkFailure("it lists t all the same", outside=True)
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


def test_rows_that_were_quarantined_are_not_forgotten_where_their_table_cannot_be_loaded() -> None:
    tables, rows = SimpleNamespace(table=lambda name: None), QuarantinedFiles("q", "r_1")
    take_back(Renamed(), tables, STORE, rows)  # type: ignore[arg-type]
    with pytest.raises(SparkFailure, match="cannot be loaded"):
        take_back(Renamed(q="table"), tables, STORE, rows)  # type: ignore[arg-type]
