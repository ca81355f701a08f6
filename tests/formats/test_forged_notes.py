"""Whoever can write below one database's folder can write notes there: recovery, leaving and the next publish follow
none that names what no publish of that table would have named."""

from __future__ import annotations

import hashlib
import json
import shutil
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest
from under_test import BAD, BAD_ROWS, CONTRACT, QUARANTINING, Place

from planproof import Guard
from planproof.publish.notes.note import Note, QuarantinedFiles
from planproof.publish.notes.notebook import Notebook
from planproof.publish.transaction.leave import move_back
from planproof.publish.transaction.names import Names, parent
from planproof.session import open as opened
from planproof.session.store import store_of
from planproof_engine.catalog import RelationName

Make = Callable[[str, str], Place]
RUN = "0123456789_1"
LOGGED = pytest.mark.parametrize("name", ["delta", "iceberg"])


def noted_by(publish: Callable[[], Any]) -> Note:
    """The last note that a publish writes."""
    found: list[Note] = []
    plain = Notebook.write

    def write(notebook: Notebook, **changes: Any) -> bool:
        is_written = plain(notebook, **changes)
        found.append(notebook.note)
        return is_written

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Notebook, "write", write)
        assert publish().outcome == "published"
    return found[-1]


class Scene:
    """A table `t` with two versions, a `near` one, another database with tables of the same names, and a folder that is
    nobody's."""

    def __init__(self, place: Make, name: str, folder: Path) -> None:
        self.there, self.other = place(name, "replace"), place(name, "replace")
        self.folder = folder
        (folder / "deep").mkdir(parents=True)
        (folder / "deep" / "file").write_text("precious")
        for there in (self.there, self.other):
            there.other.sql(f"create table {there.database}.near using {name} as select 7 as id")
        self.committed = noted_by(self.there.publish)
        self.victim = noted_by(self.other.publish)

    def dead(self, note: Note, run: str = RUN) -> Note:
        """The note of a run that was never committed, of a process that is gone."""
        found = Note.from_json(json.dumps(asdict(note)).replace(note.owner.run, run))
        if run == RUN:
            found = replace(found, others=(), step="stage")
        return replace(found, owner=replace(found.owner, pid=2**22 + 5, started="1"))

    def file(self, run: str) -> Path:
        return self.there.home() / ".planproof/staged" / f"t.{run}.json"

    def write(self, note: Note, text: str | None = None, run: str | None = None) -> Path:
        file = self.file(run or note.owner.run)
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text or json.dumps(asdict(note)))
        return file

    def state(self) -> dict[str, Any]:
        """All files but notes, and the catalog's names: a table with a log is made of these."""
        found: dict[str, Any] = {}
        for there in (self.there, self.other):
            shown = there.spark.sql(f"show tables in {there.database}").collect()
            found[there.database] = sorted(row["tableName"] for row in shown)
        for home in (self.there.home(), self.other.home(), self.folder):
            for file in home.rglob("*"):
                if file.is_file() and ".planproof" not in file.parts:
                    found[str(file)] = hashlib.sha256(file.read_bytes()).hexdigest()
        return found

    def changed(self, before: dict[str, Any]) -> set[str]:
        """What is another since."""
        now = self.state()
        return {each for each in before.keys() | now.keys() if before.get(each) != now.get(each)}

    def settled(self) -> Iterator[list[Any]]:
        """What each of those who read notes says: recovery, both ways, and `clean`."""
        for force in (False, True):
            yield Guard(self.there.spark).recover(force=force)
        session = opened(self.there.spark)
        move_back(session, store_of(session), [str(self.there.home())], force=True)
        yield Guard(self.there.spark).recover()


@pytest.fixture
def scene(request: pytest.FixtureRequest, place: Make, tmp_path: Path) -> Iterator[Scene]:
    made = Scene(place, request.getfixturevalue("name"), tmp_path / "nobodys")
    yield made
    for there in (made.there, made.other):
        shutil.rmtree(there.home() / ".planproof", ignore_errors=True)  # To some catalogs it is a namespace.


def forged(scene: Scene) -> dict[str, Note]:
    note, nobodys, of_delta = scene.dead(scene.committed), str(scene.folder), scene.there.format.name == "delta"
    assert note.folder is not None
    database, other, data = scene.there.database, scene.other.database, parent(note.folder)
    quoted = ".".join(f"`{part}`" for part in other.split("."))
    own = ".".join(f"`{part}`" for part in database.split("."))
    bad = QuarantinedFiles(f"{own}.`t__quarantine`", RUN, note.folder, (), 0 if of_delta else None)
    theirs = sorted(scene.other.home().glob("t/**/*.avro" if not of_delta else "t/**/*.json"))
    metadata = sorted(scene.there.home().glob("t/metadata/*.json" if not of_delta else "t/_delta_log/*.json"))
    found = {
        "a folder of nobody's": replace(note, folder=nobodys),
        "another table's folder": replace(note, folder=f"{scene.other.home()}/t"),
        "a near table's folder": replace(note, folder=f"{scene.there.home()}/near"),
        "the table's own folder": replace(note, folder=data),
        "the database": replace(note, folder=str(scene.there.home())),
        "a way out": replace(note, folder=f"{note.folder}/../../../../../../../../..{nobodys}"),
        "a way up": replace(note, folder=f"{note.folder}/.."),
        "the folder of another run": replace(note, folder=f"{data}/planproof_{scene.committed.owner.run}"),
        "a manifest of nobody's": replace(note, others=(f"{nobodys}/deep/file",)),
        "a manifest of another table": replace(note, others=tuple(map(str, theirs))),
        "what the table is made of": replace(note, others=tuple(map(str, metadata))),
        "a new table of nobody's": replace(note, is_new=True, location=nobodys, folder=nobodys),
        "a new table in a folder of nobody's": replace(
            note, is_new=True, target=f"{own}.`t`", location=nobodys, folder=f"{nobodys}/deep"
        ),
        "a target of another database": replace(note, target=scene.victim.target, location=scene.victim.location),
        "another target": replace(note, target=f"{own}.`near`"),
        "a table dropped as staging": replace(note, staging=f"{own}.`near`", away=f"{own}.`x`", is_new=True),
        "another database's dropped as staging": replace(note, staging=f"{quoted}.`t`", away=f"{quoted}.`near`"),
        "another table as quarantine": replace(note, quarantine=replace(bad, table=f"{own}.`near`")),
        "another run's quarantine": replace(note, quarantine=replace(bad, run="abcdef_1")),
        "a main branch": replace(note, branch="main", folder=None, others=()),
        "a branch that is SQL": replace(note, branch=f"x`; drop table {other}.t; --", folder=None, others=()),
        "a run that is a path": replace(note, owner=replace(note.owner, run="../../x_1")),
        "no format": replace(note, format="parquet"),
        "another format": replace(note, format="iceberg" if of_delta else "delta"),
    }
    if of_delta:
        found["no base"] = replace(note, base=None)
    return found


@LOGGED
def test_forged_notes_are_refused_by_name_and_a_true_one_beside_them_is_settled(name: str, scene: Scene) -> None:
    before, attacks = scene.state(), forged(scene)
    runs = [f"01234567{number:02}_1" for number, _ in enumerate(attacks)]
    for run, note in zip(runs, attacks.values()):
        scene.write(note, json.dumps(asdict(note)).replace(RUN, run), run)
    for number, reports in enumerate(scene.settled()):
        for run, what in zip(runs, attacks):
            found = [report for report in reports if f"t.{run}.json" in str(report.to_dict())]
            codes = {f.code for report in found for f in report.findings}
            if not found and (number or what == "another format"):  # Given up, or left as it lies.
                continue
            assert codes & {"PP622", "PP601"} or {r.outcome for r in found} == {"failed"}, (what, found)
        assert scene.changed(before) == set()
    for run in runs:
        scene.file(run).unlink(missing_ok=True)  # Given up by force.
    true = scene.dead(scene.committed)
    staged = Path(str(true.folder).removeprefix("file:"))
    (staged / "_delta_log").mkdir(parents=True)
    (staged / "a.parquet").write_text("staged")
    scene.write(true)
    scene.write(replace(forged(scene)["the database"], owner=replace(true.owner, run="1123456789_1")))
    outcomes = sorted(report.outcome for report in Guard(scene.there.spark).recover())
    assert outcomes == ["failed", "rejected"], "each note fails alone"
    assert scene.changed(before) == set()


@LOGGED
def test_what_is_no_note_keeps_no_other_from_being_settled(name: str, scene: Scene) -> None:
    before, true = scene.state(), scene.dead(scene.committed)
    scene.write(true)
    texts = ("", "{", "[]", "[" * 5000, '{"form": 1}', '{"form": 2}', "\0", '{"form": 2, "base": 1e999}', "9" * 5000)
    for number, text in enumerate(texts):
        scene.write(true, text, f"112345678{number}_1")
    reports = Guard(scene.there.spark).recover(force=True)
    assert sorted(report.outcome for report in reports) == [*["failed"] * len(texts), "rejected"], reports
    assert scene.changed(before) == set()


@LOGGED
def test_a_link_in_the_place_of_what_was_staged_leads_nowhere(name: str, scene: Scene) -> None:
    before, true = scene.state(), scene.dead(scene.committed)
    folder = Path(str(true.folder).removeprefix("file:"))
    folder.symlink_to(scene.folder)
    scene.write(true)
    for reports in scene.settled():
        assert "failed" in [report.outcome for report in reports]
        assert scene.changed(before) == set()
    folder.unlink()


@LOGGED
def test_the_note_of_a_committed_publish_undoes_nothing(name: str, scene: Scene) -> None:
    """Nor one that says that it began on a later version, nor one of a run whose rows others have replaced since: its
    files are what an older version is read from."""
    claims = [scene.dead(scene.committed, scene.committed.owner.run)]
    if scene.committed.base is not None:
        claims += [replace(claims[0], base=base) for base in (-1, scene.committed.base + 1, 10**6)]
    for is_replaced in (False, True):
        if is_replaced:
            scene.there.other.sql(f"insert overwrite {scene.there.t} select 3 as id, 'c' as s")
        before = scene.state()
        for claim in claims:
            for note in (claim, *([replace(claim, is_new=True)] if claim is claims[-1] else [])):
                scene.write(note)
                Guard(scene.there.spark).recover(force=True)
                assert scene.changed(before) == set(), (is_replaced, note)


@LOGGED
def test_the_bad_rows_of_a_committed_publish_stay(name: str, scene: Scene) -> None:
    """They are evidence: a note that says that their publish was not committed is not followed."""
    broken = {"sql": BAD, "contract": CONTRACT, "settings": QUARANTINING}
    committed = noted_by(lambda: scene.there.publish(**broken))
    assert committed.quarantine is not None
    kept = f"{scene.there.t}__quarantine"
    claims = [scene.dead(committed, committed.owner.run)]
    if committed.base is not None:
        claims += [replace(claims[0], base=committed.base + 1)]
        claims += [replace(one, quarantine=replace(one.quarantine, base=-1)) for one in claims]
    scene.there.publish()
    scene.there.other.sql(f"insert overwrite {scene.there.t} select 3 as id, 'c' as s")
    if name == "iceberg":
        catalog, _, table = scene.there.t.partition(".")
        expired = f"table => '{table}', older_than => TIMESTAMP '2099-01-01 00:00:00', retain_last => 1"
        scene.there.other.sql(f"call {catalog}.system.expire_snapshots({expired})")
    before = scene.state()
    for claim in claims:
        scene.write(claim)
        Guard(scene.there.spark).recover(force=True)
        assert scene.changed(before) == set(), claim
    assert scene.there.rows(kept, "id, s") == BAD_ROWS


@LOGGED
def test_a_note_whose_table_is_not_there_names_no_folder_of_others(name: str, scene: Scene) -> None:
    """Nothing of the catalog says where its files lie: neither of the table, nor of one that takes a view's place, nor
    of the quarantine that a committed publish is said to have had."""
    before, nobodys, number = scene.state(), str(scene.folder), 0
    near = f"{scene.there.home()}/near"
    own = ".".join(f"`{part}`" for part in scene.there.database.split("."))
    empty = scene.folder / "empty"
    empty.mkdir()
    for target in ("gone", "t"):
        for is_new in (False, True):
            for folder in (nobodys, near):
                for created in (None, "another"):
                    number += 1
                    run = f"21234567{number:02}_1"
                    dead = scene.dead(scene.committed, run)
                    note = replace(
                        dead, target=f"{own}.`{target}`", slug=target, is_new=is_new, folder=folder, location=str(empty)
                    )
                    names = Names(RelationName.parse(note.target), *run.split("_"))
                    note = replace(note, created=created, staging=names.staging.quoted, away=names.away.quoted)
                    for step in ("stage", "exchange"):
                        file = scene.write(replace(note, step=step))
                        file.rename(file.with_name(f"{target}.{run}.json"))
                        for reports in scene.settled():
                            assert scene.changed(before) == set(), (note, reports)
                            assert empty.is_dir(), (note, reports)
    shutil.rmtree(scene.there.home() / ".planproof")
    committed = scene.dead(scene.committed, scene.committed.owner.run)
    for folder in (nobodys, near):
        bad_rows = QuarantinedFiles(f"{own}.`t__quarantine`", committed.owner.run, folder, (), 0)
        scene.write(replace(committed, quarantine=bad_rows))
        for reports in scene.settled():
            assert scene.changed(before) == set(), (folder, reports)


@pytest.mark.parametrize("name", ["delta"])
def test_a_note_calls_no_server_of_others(name: str, scene: Scene) -> None:
    """What a note names is looked at once it is believed: Hadoop asks a name node that does not answer for minutes."""
    called: list[Any] = []
    own = ".".join(f"`{part}`" for part in scene.there.database.split("."))
    with socket.create_server(("127.0.0.1", 0)) as server:

        def answer() -> None:
            with suppress(OSError):
                while True:
                    connection, caller = server.accept()
                    called.append(caller)
                    connection.close()

        threading.Thread(target=answer, daemon=True).start()
        lake = f"hdfs://127.0.0.1:{server.getsockname()[1]}/lake"
        note = replace(scene.dead(scene.committed), target=f"{own}.`gone`", slug="gone", is_new=True, location=lake)
        file = scene.write(replace(note, folder=f"{lake}/planproof_{RUN}"))
        file.rename(file.with_name(f"gone.{RUN}.json"))
        [report] = Guard(scene.there.spark).recover()
        assert ([finding.code for finding in report.findings], called) == (["PP622"], [])
