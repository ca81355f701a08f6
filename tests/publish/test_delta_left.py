"""What a killed publish of a Delta table left is deleted where its log says that nobody needs it, nowhere else."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from planproof.publish.delta.left import LEFT, list_left
from planproof.publish.notes.note import Note
from planproof.publish.notes.notebook import Notebook, Noted, taken_mark
from planproof.publish.transaction.owner import Owner
from planproof.publish.transaction.recovery import settle
from planproof.session.store import LocalStore
from planproof_engine.catalog import split_name

STORE = LocalStore()
RUN, FOLDER = "r_1", "planproof_r_1"


class Lake:
    """A session whose own catalog is Delta's. The tables `known` lie at `root`, in folders of their names; `named` are
    the folders that a table's current version names."""

    def __init__(self, root: Path, *known: str, named: str = "") -> None:
        self.root, self.known, self.named = root, known, named
        self.fenced, self.made, self.said = list[str](), list[str](), list[str]()
        self.is_there = True

    def delta(self) -> Any:
        return self

    def database_location(self, name: str) -> str:
        return str(self.root)

    def registered_table(self, name: str) -> Any:
        table = split_name(name)[-1]
        location = str(self.root / table)
        return SimpleNamespace(kind="table", format="delta", location=location) if table in self.known else None

    def rows(self, sql: str) -> list[Any]:
        self.said.append(sql)
        return [(1,)]

    def place(self, name: str) -> str:
        return str(self.root / split_name(name)[-1])

    def state(self, location: str) -> Any:
        return SimpleNamespace(
            version=max((int(p.stem) for p in Path(location, "_delta_log").glob("*.json")), default=-1)
        )

    def has_files_in(self, state: Any, folder: str) -> bool:
        return folder == self.named

    def fence(self, location: str, mark: str) -> None:
        self.fenced.append(f"{location} {mark}")

    def register(self, name: str, location: str, managed: bool) -> None:
        self.made.append(f"{name} {location} {managed}")


def logged(table: Path, *marks: str | None) -> None:
    """A log of so many commits; a mark names the folder of the publish that made it."""
    (table / "_delta_log").mkdir(parents=True, exist_ok=True)
    for version, said in enumerate(marks):
        info = {"commitInfo": {"tags": {"planproof": said} if said else {}}}
        (table / f"_delta_log/{version:020}.json").write_text(json.dumps(info, separators=(",", ":")))


def left(root: Path, **changes: Any) -> str:
    """The note of a publish that is dead, with one data file and the log of its staged table."""
    for name in ("0.parquet", "_delta_log/00000000000000000000.json"):
        (root / "t" / FOLDER / name).parent.mkdir(parents=True, exist_ok=True)
        (root / "t" / FOLDER / name).write_text("x")
    dead = replace(Owner.here(RUN), pid=2**22 + 1)
    known = ("db.t", "`db`.`t`", "t", "change", dead, False, str(root / "t"), str(root / "t" / FOLDER))
    book = Notebook(STORE, str(root), replace(Note(*known, format="delta", base=0), **changes))
    book.write()
    book.end()
    return book.location


def files(root: Path) -> set[str]:
    return {str(p.relative_to(root)) for p in root.rglob("*") if p.is_file()}


def told(lake: Lake, location: str, force: bool = False) -> list[str]:
    return [f.code for f in settle(Noted(LEFT, lake, STORE, location, force)).findings]  # type: ignore[arg-type]


def test_what_no_commit_names_is_deleted(tmp_path: Path) -> None:
    logged(tmp_path / "t", None, None)
    theirs = files(tmp_path)
    assert told(Lake(tmp_path, "t"), left(tmp_path)) == ["PP602"]
    assert files(tmp_path) == theirs
    assert not (tmp_path / ".planproof").exists()


@pytest.mark.parametrize("by", ["a commit", "the table"])
def test_what_is_the_tables_stays(tmp_path: Path, by: str) -> None:
    logged(tmp_path / "t", None, None, FOLDER if by == "a commit" else None)
    theirs = {*files(tmp_path), f"t/{FOLDER}/0.parquet"}
    lake = Lake(tmp_path, "t", named=FOLDER if by == "the table" else "")
    assert told(lake, left(tmp_path)) == ["PP603"]
    assert files(tmp_path) == theirs


def test_a_table_that_was_committed_and_has_no_name_gets_it(tmp_path: Path) -> None:
    logged(tmp_path / "t", FOLDER)
    lake = Lake(tmp_path)
    assert told(lake, left(tmp_path, is_new=True, base=-1)) == ["PP603"]
    assert lake.made == [f"`db`.`t` {tmp_path / 't'} True"]


def test_a_table_that_was_never_made_leaves_no_folder(tmp_path: Path) -> None:
    assert told(Lake(tmp_path), left(tmp_path, is_new=True, base=-1)) == ["PP602"]
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("case", ["commits are gone", "the table is gone"])
def test_what_may_be_needed_stays_until_it_is_given_up(tmp_path: Path, case: str) -> None:
    logged(tmp_path / "t", None, None, None)
    (tmp_path / "t/_delta_log/00000000000000000001.json").unlink()
    location, lake = left(tmp_path), Lake(tmp_path, *(["t"] if case == "commits are gone" else []))
    before = files(tmp_path)
    for _ in range(2):
        assert told(lake, location) == ["PP609"]
        assert files(tmp_path) == before
    assert told(lake, location, force=True) == ["PP609"]
    assert files(tmp_path) == {name for name in before if not name.startswith(".planproof")}


def test_a_log_that_says_a_great_version_is_not_counted_to(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    logged(tmp_path / "t", None)
    (tmp_path / "t/_delta_log/00000000000000099999.json").write_text("{}")
    read, asked = LocalStore.read, list[str]()
    monkeypatch.setattr(LocalStore, "read", lambda self, location: asked.append(location) or read(self, location))
    assert told(Lake(tmp_path, "t"), left(tmp_path)) == ["PP609"]
    assert len(asked) < 50


def test_a_living_owner_is_fenced_before_its_rows_are_deleted(tmp_path: Path) -> None:
    logged(tmp_path / "t", None)
    location = left(tmp_path, owner=replace(Owner.here(RUN), pid=os.getppid(), started=None))
    lake, before = Lake(tmp_path, "t"), files(tmp_path)
    assert told(lake, location) == ["PP604"]
    assert (files(tmp_path), lake.fenced) == (before, [])
    assert told(lake, location, force=True) == ["PP602"]
    assert lake.fenced == [f"{tmp_path / 't'} {FOLDER}"]
    assert not Path(taken_mark(location)).exists()


def test_who_may_still_make_its_table_keeps_its_files(tmp_path: Path) -> None:
    alive = replace(Owner.here(RUN), pid=os.getppid(), started=None)
    location = left(tmp_path, owner=alive, is_new=True, base=-1)
    before = files(tmp_path)
    assert told(Lake(tmp_path), location, force=True) == ["PP609"]
    assert files(tmp_path) == {*before, str(Path(taken_mark(location)).relative_to(tmp_path))}


@pytest.mark.parametrize("is_committed", [False, True])
def test_bad_rows_are_taken_back(tmp_path: Path, is_committed: bool) -> None:
    logged(tmp_path / "t", None)
    logged(tmp_path / "t__quarantine", None, FOLDER if is_committed else None)
    staged = tmp_path / "t__quarantine" / FOLDER
    logged(staged, None)
    (staged / "bad.parquet").write_text("x")
    noted = {"table": "`db`.`t__quarantine`", "run": RUN, "folder": str(staged), "base": 0}
    location = left(tmp_path)
    Path(location).write_text(json.dumps({**json.loads(Path(location).read_text()), "quarantine": noted}))
    lake = Lake(tmp_path, "t", "t__quarantine")
    assert told(lake, location) == ["PP602"]
    assert lake.said[-1] == f"DELETE FROM `db`.`t__quarantine` WHERE quarantine_run = '{RUN}'"
    # Older versions of the quarantine still name what was committed.
    assert (staged.exists(), (staged / "_delta_log").exists()) == (is_committed, False)


def change(**changes: Any) -> Callable[[Path, dict[str, Any]], dict[str, Any]]:
    """What a stranger writes into a note; `~` stands for the database's folder."""
    return lambda root, form: {**form, **json.loads(json.dumps(changes).replace("~", str(root)))}


def linked(root: Path, form: dict[str, Any]) -> dict[str, Any]:
    (root / "t" / FOLDER).rename(root / "t" / "away")
    (root / "t" / FOLDER).symlink_to(root / "other")
    return form


QUARANTINED = {"table": "`db`.`t__quarantine`", "run": RUN, "folder": None, "base": 0}
ATTACKS = {
    "a folder of the machine": change(folder="~/other"),
    "the table's own data": change(folder="~/t"),
    "another publish's": change(folder="~/t/planproof_r_2"),
    "another table's": change(location="~/other", folder=f"~/other/{FOLDER}"),
    "up and down again": change(folder=f"~/t/../other/{FOLDER}"),
    "a link": linked,
    "another target": change(target="`db`.`other`"),
    "another run": change(owner={"host": "h", "pid": 1, "run": "r_2", "started": None, "space": None}),
    "no version": change(base=None),
    "a manifest": change(others=["~/other/0.parquet"]),
    "names of other relations": change(staging="`db`.`other`", away="`db`.`view`"),
    "another quarantine": change(quarantine={**QUARANTINED, "table": "`db`.`other`"}),
    "another run of the quarantine": change(quarantine={**QUARANTINED, "run": "x' OR true OR '"}),
    "a folder of the quarantine": change(quarantine={**QUARANTINED, "folder": "~/other"}),
    "a table that is to be new, elsewhere": change(is_new=True, base=-1, location="~/../x", folder=f"~/../x/{FOLDER}"),
    "no format of ours": change(format="hudi"),
}


@pytest.mark.parametrize("force", [False, True])
@pytest.mark.parametrize("attack", sorted(ATTACKS))
def test_a_note_that_names_what_no_publish_would_is_refused(tmp_path: Path, attack: str, force: bool) -> None:
    root = tmp_path / "db"
    logged(root / "t", None)
    location = left(root)
    for name in ("other/0.parquet", f"other/{FOLDER}/0"):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text("theirs")
    form = ATTACKS[attack](root, json.loads(Path(location).read_text()))
    Path(location).write_text(json.dumps(form))
    lake, before = Lake(root, *([] if form["is_new"] else ["t", "t__quarantine"])), files(root)
    assert told(lake, location, force) == ["PP622"]
    assert (files(root), lake.fenced, lake.made, lake.said) == (before, [], [], [])


@pytest.mark.parametrize("is_told", ["by the model", "by the folder"])
def test_a_first_run_at_a_place_that_the_model_names_is_swept(tmp_path: Path, is_told: str) -> None:
    root, lake = tmp_path / "db", Lake(tmp_path / "db")
    elsewhere = tmp_path / "lake/t"
    (elsewhere / FOLDER).mkdir(parents=True)
    given = {"is_new": True, "base": -1, "location": str(elsewhere), "folder": str(elsewhere / FOLDER)}
    location = left(root, **given)
    assert told(lake, location) == ["PP622"]
    if is_told == "by the folder":
        STORE.write(str(elsewhere / FOLDER / "_delta_log/_planproof"), f"{location}.not")
        assert told(lake, location) == ["PP622"]
        STORE.write(str(elsewhere / FOLDER / "_delta_log/_planproof"), location)
    by = LEFT if is_told == "by the folder" else list_left(str(elsewhere))
    report = settle(Noted(by, lake, STORE, location))  # type: ignore[arg-type]
    assert ([f.code for f in report.findings], elsewhere.exists()) == (["PP602"], False)
