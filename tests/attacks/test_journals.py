"""Whoever can write below one database's folder can write journals there: recovery believes nothing of what they name,
unless a publish would have named it."""

from __future__ import annotations

import json
import os
from dataclasses import asdict, fields, replace
from pathlib import Path
from typing import Any

import pytest
from attacked_database import RUN, Scene, make_versions

from planproof import Guard, Model
from planproof.publish.transaction.journal import (
    Entry,
    Move,
    PartitionSwap,
    Prior,
    QuarantinePartition,
    list_publishes,
    read,
)
from planproof.publish.transaction.leave import move_back
from planproof.publish.transaction.names import is_bound, mark_of
from planproof.publish.transaction.owner import Owner
from planproof.session.classic import ClassicSession
from planproof_engine.catalog import RelationName


def forged(scene: Scene, entry: Entry) -> dict[str, Entry]:
    """Entries each of which would have something deleted, dropped, moved, pointed to or run."""
    nobodys, victim = str(scene.folder), f"{scene.theirs}/victim"
    prior = entry.prior
    assert prior is not None
    inner = entry.stage_location
    quarantine = f"`{scene.database}`.`t__quarantine`"
    day = f"quarantine_date=2024-01-01/quarantine_run={RUN}_1"
    return {
        "a folder as staging": replace(entry, step="stage", stage_location=nobodys),
        "another table as staging": replace(entry, step="stage", stage_location=victim),
        "a version of another table": replace(entry, step="stage", stage_location=scene.version),
        "a way out of the staging": replace(entry, step="stage", stage_location=f"{inner}/../../../../{nobodys}"),
        "the database as staging": replace(entry, step="stage", stage_location=scene.home),
        "a table dropped as staging": replace(entry, step="stage", staging=f"`{scene.other}`.`victim`"),
        "a near table dropped as staging": replace(entry, step="stage", staging=f"`{scene.database}`.`near`"),
        "a table dropped as the old one": replace(
            entry, strategy="rename", step="clean", away=f"`{scene.other}`.`victim`"
        ),
        "a target of another database": replace(entry, target=f"`{scene.other}`.`t`", step="swap"),
        "a file moved from elsewhere": replace(
            entry, strategy="append", step="files", moves=(Move(f"{nobodys}/deep/file", f"{scene.home}/t/file"),)
        ),
        "a file deleted elsewhere": replace(
            entry, strategy="append", step="files", moves=(Move(f"{inner}/file", f"{nobodys}/deep/file"),)
        ),
        "a file of another name": replace(
            entry, strategy="append", step="files", moves=(Move(f"{inner}/a", f"{scene.home}/t/b"),)
        ),
        "a partition pointed elsewhere": replace(
            entry, strategy="partitions", step="partitions", partitions=(PartitionSwap("d=1", victim, f"{inner}/d=1"),)
        ),
        "a near table as an old partition": replace(
            entry,
            strategy="partitions",
            step="clean",
            partitions=(PartitionSwap("d=1", f"{scene.home}/near", f"{inner}/d=1"),),
        ),
        "a version of another table as an old partition": replace(
            entry,
            strategy="partitions",
            step="clean",
            partitions=(PartitionSwap("d=1", f"{scene.version}/d=1", f"{inner}/d=1"),),
        ),
        "a folder as the old table": replace(
            entry, strategy="rename", step="swap", prior=Prior("table", True, nobodys, False)
        ),
        "another table as the old table": replace(
            entry, strategy="rename", step="swap", prior=Prior("table", True, f"{scene.home}/near", False)
        ),
        "a folder as the place": replace(entry, strategy="rename", step="place", place=nobodys),
        "a folder as the default one": replace(entry, step="swap", native=nobodys),
        "a quarantine elsewhere": replace(
            entry, step="stage", quarantine=QuarantinePartition(quarantine, day, nobodys)
        ),
        "another table as quarantine": replace(
            entry, step="stage", quarantine=QuarantinePartition(f"`{scene.other}`.`victim`", day, f"{victim}/{day}")
        ),
        "a run that is a path": replace(entry, run="../../x"),
        "another root": replace(entry, root=scene.theirs),
        "another slug": replace(entry, slug="victim"),
    }


NAMES = [
    "a folder as staging",
    "another table as staging",
    "a version of another table",
    "a way out of the staging",
    "the database as staging",
    "a table dropped as staging",
    "a near table dropped as staging",
    "a table dropped as the old one",
    "a target of another database",
    "a file moved from elsewhere",
    "a file deleted elsewhere",
    "a file of another name",
    "a partition pointed elsewhere",
    "a near table as an old partition",
    "a version of another table as an old partition",
    "a folder as the old table",
    "another table as the old table",
    "a folder as the place",
    "a folder as the default one",
    "a quarantine elsewhere",
    "another table as quarantine",
    "a run that is a path",
    "another root",
    "another slug",
]


def run_of(number: int) -> str:
    """Each of several entries is one of another run."""
    return f"{RUN[:-2]}{number:02}"


EVERY = pytest.mark.parametrize("every", [False, pytest.param(True, marks=pytest.mark.conformance)])
"""Each attack once; or with every combination of what recovery does not look at before it refuses."""


def test_forged_entries_are_refused_by_name_and_a_true_one_beside_them_is_settled(scene: Scene) -> None:
    entry = scene.entry()
    before = scene.state()
    attacks = forged(scene, entry)
    assert list(attacks) == NAMES
    scene.write(next(iter(attacks.values())))
    again = Guard(scene.spark).publish(Model(f"{scene.database}.t", "select 1 as id"))
    assert again.outcome == "failed", "nobody knows what the table is half way through"
    emptied(scene)
    for number, attack in enumerate(attacks.values()):
        scene.write_text(json.dumps(asdict(attack)).replace(RUN, run_of(number)), f"t.{run_of(number)}_1.1.json")
    for force in (False, True):
        reports = Guard(scene.spark).recover(force=force)
        assert [r.outcome for r in reports] == ["failed"] * len(NAMES)
        for number, name in enumerate(NAMES):
            codes = [f.code for r in reports if f"t.{run_of(number)}_1." in str(r.findings) for f in r.findings]
            assert codes in (["PP622"], ["PP601"]), name
        assert scene.state() == before
    emptied(scene)
    scene.write(replace(entry, step="stage"))
    scene.write(replace(attacks["a folder as staging"], slug="near"), "near.x_1.1.json")
    outcomes = sorted(r.outcome for r in Guard(scene.spark).recover())
    assert outcomes == ["failed", "rejected"], "each entry fails alone"
    assert scene.state() == before


def test_a_view_gets_no_statement_from_a_file(scene: Scene) -> None:
    scene.spark.sql(f"create view {scene.database}.v as select 1 as id")
    entry = replace(
        scene.entry(),
        model=f"{scene.database}.v",
        target=f"`{scene.database}`.`v`",
        slug="v",
        staging=f"`{scene.database}`.`__planproof_v_{RUN}_1`",
        away=f"`{scene.database}`.`__planproof_v_{RUN}_1_old`",
        native=f"{scene.home}/v",
        stage_location=f"file:{scene.home}/__planproof/v/0a1b2c3d.{RUN}_1",
        strategy="view",
        step="swap",
        prior=Prior("view", False, None, False),
        content=None,
    )
    form = {**asdict(entry), "statement": f"drop table {scene.other}.victim"}
    before = scene.state()
    scene.store.write(f"{scene.home}/.planproof/journal/v.{RUN}_1.1.json", json.dumps(form))
    [report] = Guard(scene.spark).recover()
    assert (report.outcome, scene.state()) == ("rejected", before)
    scene.spark.sql(f"drop view {scene.database}.v")


def test_what_is_no_entry_keeps_no_other_from_being_settled(scene: Scene) -> None:
    entry = replace(scene.entry(), step="stage")
    for text in ("", "{", "[]", "[" * 5000, '{"form": 2}', '{"form": 3}', "\0", '{"form": 2, "run": 1e999}'):
        scene.write(entry)
        scene.store.write(f"{scene.home}/.planproof/journal/near.{RUN}_1.1.json", text)
        assert sorted(r.outcome for r in Guard(scene.spark).recover()) == ["failed", "rejected"], text
        assert read(scene.store, scene.home, f"t.{RUN}_1") is None


def test_a_link_in_the_place_of_a_version_leads_nowhere(scene: Scene) -> None:
    entry = replace(scene.entry(), step="stage")
    before = scene.state()
    place = Path(entry.stage_location.removeprefix("file:"))
    for where, to in ((place, scene.folder), (place.parent, scene.folder), (place.parent, Path(scene.version).parent)):
        where.parent.mkdir(parents=True, exist_ok=True)
        if where.is_dir() and not where.is_symlink():
            where.rename(f"{where}.moved")
        where.symlink_to(to)
        scene.write(entry)
        for force in (False, True):
            Guard(scene.spark).recover(force=force)
            assert scene.state() == before
        where.unlink()
        for publish in list_publishes(scene.store, scene.home):
            scene.store.delete(f"{scene.home}/.planproof/journal/{publish}.1.json")


def test_the_catalog_is_not_asked_for_each_file_that_is_gone(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    """An entry of a hundred thousand moves, of files of nobody, had recovery ask for minutes."""
    entry = scene.entry()
    table, stage = f"{scene.database}.parts", entry.stage_location.replace("/t/", "/parts/")
    scene.spark.sql(f"create table {table} using parquet partitioned by (d) as select 1 as id, 1 as d")
    moves = tuple(Move(f"{stage}/{i}.parquet", f"{scene.home}/parts/d=1/{i}.parquet") for i in range(300))
    of_parts = json.loads(json.dumps(asdict(entry)).replace("`t`", "`parts`").replace("_t_", "_parts_"))
    changes = {"slug": "parts", "strategy": "append", "step": "files", "moves": moves, "stage_location": stage}
    changes |= {"model": table, "native": f"{scene.home}/parts", "prior": None, "content": None}
    scene.write(replace(Entry.from_json(json.dumps(of_parts)), **changes))
    before, asked, plain = scene.rows(), list[str](), ClassicSession.registered_table

    def ask(session: ClassicSession, name: str) -> Any:
        asked.append(name)
        return plain(session, name)

    monkeypatch.setattr(ClassicSession, "registered_table", ask)
    [report] = Guard(scene.spark).recover(force=True)
    assert (report.outcome, len(asked) < 50) == ("rejected", True), (report.error, len(asked))
    monkeypatch.undo()
    assert scene.rows() == before
    scene.spark.sql(f"drop table {table}")


def emptied(scene: Scene) -> None:
    """Nothing is left half way."""
    for publish in list_publishes(scene.store, scene.home):
        scene.store.delete(f"{scene.home}/.planproof/journal/{publish}.1.json")


@EVERY
def test_a_file_behind_a_link_is_neither_moved_nor_deleted(every: bool, scene: Scene) -> None:
    """The links lie below the table's own folder, where the paths are spelt as a publish would spell them."""
    entry = scene.entry()
    scene.store.delete(entry.stage_location)
    stage = entry.stage_location.removeprefix("file:")
    links = {
        f"{scene.home}/t/deep": (scene.folder / "deep", "deep/file"),
        f"{scene.home}/t/up": (scene.folder, "up/deep/file"),
    }
    for link, (to, name) in links.items():
        Path(link).symlink_to(to)
        for move in (
            Move(f"{stage}/{name}", f"{scene.home}/t/{name}"),
            Move(f"{stage}/{name}", f"file://{scene.home}/t/{name}"),
            Move(f"{scene.home}/t/{name}", f"{scene.home}/t/file"),
        ):
            for step in ("files", "undo"):
                before = scene.state()
                scene.write(replace(entry, strategy="append", step=step, moves=(move,)))
                for force in (False, True) if every else (True,):
                    [report] = Guard(scene.spark).recover(force=force)
                    assert (report.outcome, scene.state()) == ("failed", before), (link, move, step)
                emptied(scene)
        Path(link).unlink()


@pytest.mark.parametrize("managed", [False, True])
def test_empty_folders_elsewhere_are_not_deleted(managed: bool, scene: Scene) -> None:
    """Where an external table lay is not verified: an entry may say any place of it."""
    entry, empty = scene.entry(), scene.folder / "empty"
    empty.mkdir(exist_ok=True)
    scene.spark.sql(f"drop table `{scene.database}`.`t`")
    moves = (Move(f"{entry.stage_location}/file", f"{scene.home}/t/file"),)
    prior = Prior("table", managed, str(scene.folder), False)
    scene.write(replace(entry, strategy="append", step="files", moves=moves, prior=prior))
    [report] = Guard(scene.spark).recover(force=True)
    assert report.outcome == ("failed" if managed else "rejected"), report.error
    assert empty.is_dir()


@pytest.mark.parametrize("step", ["swap", "clean"])
def test_no_note_is_written_where_an_entry_says_that_a_table_lay(step: str, scene: Scene) -> None:
    """Recovery finishes the entry: the table lies where the publish was to put it."""
    entry, table = replace(scene.entry(), content=None), f"`{scene.database}`.`t`"
    scene.spark.sql(f"alter table {table} set location '{entry.stage_location}'")
    scene.store.write(f"{entry.stage_location}/part.parquet", "rows")
    before = sorted(scene.folder.rglob("*"))
    scene.write(replace(entry, strategy="location", step=step, prior=Prior("table", False, str(scene.folder), False)))
    [report] = Guard(scene.spark).recover(force=True)
    assert [f.code for f in report.findings] == ["PP603"], report.findings
    assert sorted(scene.folder.rglob("*")) == before
    scene.spark.sql(f"alter table {table} set location '{scene.home}/t'")
    scene.store.delete(entry.stage_location)


def test_a_table_whose_folder_became_a_link_is_left_alone(scene: Scene) -> None:
    entry, table = scene.entry(), Path(scene.home) / "t"
    table.rename(f"{table}.moved")
    table.symlink_to(scene.folder / "deep")
    before = (scene.folder / "deep" / "file").read_text()
    moves = (Move(f"{entry.stage_location}/file", f"{scene.home}/t/file"),)
    scene.write(replace(entry, strategy="append", step="files", moves=moves))
    for force in (False, True):
        [report] = Guard(scene.spark).recover(force=force)
        assert [f.code for f in report.findings] == ["PP622"]
        assert (scene.folder / "deep" / "file").read_text() == before
    table.unlink()
    Path(f"{table}.moved").rename(table)


@pytest.mark.parametrize("name", ["", "journal", "locks"])
def test_a_publish_writes_nothing_behind_a_link(name: str, scene: Scene) -> None:
    theirs, state = scene.folder / f"of_{name}", Path(scene.home) / ".planproof"
    theirs.mkdir()
    before = scene.rows()
    scene.store.delete(str(state))
    link = state / name if name else state
    link.parent.mkdir(exist_ok=True)
    link.symlink_to(theirs)
    report = Guard(scene.spark).publish(Model(f"{scene.database}.t", "select 9 as id"))
    link.unlink()
    assert (report.outcome, "is a link" in str(report.error)) == ("failed", True), report.error
    assert ([*theirs.iterdir()], scene.rows()) == ([], before)


def test_a_pipe_a_device_or_torn_bytes_keep_no_entry_from_being_settled(scene: Scene) -> None:
    scene.write(replace(scene.entry(), step="stage"))
    journal = Path(scene.home) / ".planproof" / "journal"
    os.mkfifo(journal / f"a.{RUN}_1.1.json")
    (journal / f"b.{RUN}_1.1.json").symlink_to("/dev/zero")
    (journal / f"c.{RUN}_1.1.json").write_bytes(b"\xff\xfe{}")
    (journal / f"d.{RUN}_1.1.json").mkdir()
    assert sorted(r.outcome for r in Guard(scene.spark).recover()) == ["failed"] * 4 + ["rejected"]


def test_a_lock_that_cannot_be_read_is_its_own_tables_matter(scene: Scene) -> None:
    """It once ended the recovery of every database."""
    locks = Path(scene.home) / ".planproof" / "locks"
    locks.mkdir(parents=True)
    os.mkfifo(locks / "a.json")
    (locks / "b.json").write_bytes(b"\xff\xfe{}")
    (locks / "c.1.json").mkdir()
    with (locks / "near.json").open("wb") as huge:
        huge.truncate(2**28 + 1)
    for force in (False, True):
        scene.write(replace(scene.entry(), step="stage"))
        scene.write(replace(scene.entry(), slug="near"), f"near.{RUN}_1.1.json")
        reports = {report.outcome: str(report.error) for report in Guard(scene.spark).recover(force=force)}
        assert reports.keys() == {"rejected", "failed"}
        assert "near.json has 268,435,457 bytes" in reports["failed"]
    move_back(scene.session, scene.store, [scene.home], force=True)


@pytest.mark.parametrize(
    "field",
    [f.name for f in fields(Entry) if f.name not in ("form",)],
)
def test_an_entry_of_other_types_is_none(field: str, scene_entry: Entry) -> None:
    for value in (5, {"a": 1}, [1], [[1, 2]], [{"source": 1, "target": 2}], True, 1e999):
        form = json.loads(scene_entry.to_json())
        if type(value) is type(form[field]) and not isinstance(value, list):
            continue
        with pytest.raises(ValueError, match=r".+"):
            Entry.from_json(json.dumps({**form, field: value}))


@pytest.fixture(scope="module")
def scene_entry() -> Entry:
    owner = Owner("host", 1, RUN)
    names = ("m", "`d`.`t`", "`d`.`s`", "`d`.`o`", "rename", RUN)
    return Entry(*names, 1, owner, "t", "/w", "/w/t", "/w/s", False)


@EVERY
def test_an_old_table_is_no_folder_of_others(every: bool, scene: Scene) -> None:
    """The table that stands aside is this publish's; where its data lie, the entry alone says."""
    entry = replace(scene.entry(), strategy="rename", content=None)
    scene.spark.sql(f"create table {entry.away} using parquet as select 1 as id")
    before, versions = scene.state(), entry.stage_location.rpartition("/")[0]
    Path(versions.removeprefix("file:")).mkdir(parents=True, exist_ok=True)
    for number, place in enumerate(
        (
            scene.version,
            f"{scene.version.rpartition('.')[0]}.zz_9",
            f"{versions}/../../near",
            f"{versions}/../../../{Path(scene.theirs).name}/victim",
            f"{versions}/{'../' * 40}{str(scene.folder).lstrip('/')}",
            f"{scene.folder}/__planproof/t/x",
        )
    ):
        Path(f"{scene.folder}/__planproof/t/x").mkdir(parents=True, exist_ok=True)
        steps = ("clean", "swap", "undo")
        for managed in (False, True):
            for step in steps if every else (steps[(number + managed) % 3],):
                scene.write(replace(entry, step=step, prior=Prior("table", managed, place, False)))
                reports = Guard(scene.spark).recover(force=True)
                assert [f.code for r in reports for f in r.findings] == ["PP622"], (place, managed, step)
                assert Path(f"{scene.folder}/__planproof/t/x").is_dir()
                emptied(scene)
        assert scene.state() == before, place
    scene.spark.sql(f"drop table {entry.away}")


@EVERY
@pytest.mark.parametrize("mark", ["deadbeef", "deadbeefdeadbeef"])
def test_versions_of_another_metastores_table_are_not_deleted(
    every: bool, mark: str, scene: Scene, tmp_path: Path
) -> None:
    """It has the same name, and the rights to delete it are those of who recovers: a lake that dev and prod share."""
    entry = scene.entry()
    staged, older = make_versions(tmp_path, (f"{mark}.{RUN}_1", f"{mark}.abc_1"))
    lies = Prior("table", False, str(older.parent), False)
    swap = PartitionSwap("d=1", f"{older.parent}/d=1", f"{entry.stage_location}/d=1")
    attacks = [
        replace(entry, stage_location=str(staged.parent), strategy=strategy, step=step, external=external)
        for strategy, step in (("location", "stage"), ("rename", "undo"), ("append", "swap"), ("rename", "place"))
        for external in (False, True)
    ]
    attacks += [
        replace(entry, strategy="location", step="clean", prior=lies, content=None),
        replace(entry, strategy="rename", step="clean", prior=lies, content=None),
        replace(entry, strategy="partitions", step="clean", partitions=(swap,), content=None),
    ]
    for number, attack in enumerate(attacks):
        for force in (False, True) if every else ((number + len(mark) // 16) % 2 == 0,):
            scene.write(attack)
            reports = Guard(scene.spark).recover(force=force)
            assert [f.code for r in reports for f in r.findings] == ["PP622"], (attack, force)
            assert all(file.exists() for file in (staged, older)), (attack, force)
            emptied(scene)


def test_what_a_killed_publish_staged_elsewhere_is_its_own(scene: Scene, tmp_path: Path) -> None:
    """A first publish below a `location_root`, of which no catalog knows: the mark of its version tells."""
    found: list[Entry] = []

    def commit(room: object, publication: Any) -> None:
        found.append(publication.entry)
        raise RuntimeError("far enough")

    model = Model(f"{scene.database}.new", "select 9 as id", options={"location_root": str(tmp_path)})
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("planproof.publish.formats.Parquet.commit", commit)
        Guard(scene.spark).publish(model)
    staged = Path(found[0].stage_location.removeprefix("file:"))
    assert is_bound(str(mark_of(str(staged))), found[0].root, RelationName.parse(found[0].target))
    Guard(scene.spark).recover(force=True)
    entry = replace(found[0], owner=replace(found[0].owner, pid=2**22 + 5, started="1"), step="stage")
    staged.mkdir(parents=True, exist_ok=True)
    (staged / "part.parquet").write_text("mine")
    scene.write(entry)
    [report] = Guard(scene.spark).recover()
    assert (report.outcome, staged.exists()) == ("rejected", False), report.error
