"""Whoever can write below one database's folder can write there what `planproof clean` notes: it believes nothing of
that, unless it would have written it."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

import pytest
from attacked_database import RUN, Scene, make_versions

from planproof import Guard
from planproof.publish.transaction.leave import Departure, move_back

EVERY = pytest.mark.parametrize("every", [False, pytest.param(True, marks=pytest.mark.conformance)])
"""Each attack once; or with every combination of what recovery does not look at before it refuses."""


def test_planproofs_own_folders_are_no_links(leaving: Scene) -> None:
    """`leaving` as a link once had `clean` delete every JSON file of the folder that it led to."""
    scene = leaving
    theirs, state = scene.folder / "configs", Path(scene.home) / ".planproof"
    theirs.mkdir()
    for file in ("a.json", "t.json", "t.run_1.1.json", f"t.{RUN}_1.1.json", f"{scene.database}.t.json"):
        (theirs / file).write_text('{"precious": true}')
    before, files = scene.rows(), sorted(theirs.iterdir())
    for name in ("", "journal", "leaving", "locks", "staged"):
        scene.store.delete(str(state))
        link = state / name if name else state
        link.parent.mkdir(exist_ok=True)
        link.symlink_to(theirs)
        for reports in (
            Guard(scene.spark).recover(force=True),
            move_back(scene.session, scene.store, [scene.home], force=True),
        ):
            assert "PP622" in [f.code for r in reports for f in r.findings], name
        assert scene.rows() == before
        assert sorted(theirs.iterdir()) == files
        assert all(file.read_text() == '{"precious": true}' for file in files)
        link.unlink()


def test_versions_behind_a_link_are_not_swept(leaving: Scene) -> None:
    """A version in which no file lies yet is one that somebody's publish is writing."""
    scene = leaving
    lake = scene.folder / "__planproof"
    written = lake / "t" / "0a1b2c3d.0123456789_1"
    written.mkdir(parents=True, exist_ok=True)
    for link, to in (("__planproof/near", lake / "t"), ("__planproof", lake)):
        made = Path(scene.home) / link
        scene.store.delete(str(made))
        made.parent.mkdir(exist_ok=True)
        made.symlink_to(to)
        reports = move_back(scene.session, scene.store, [scene.home], force=True)
        assert written.is_dir(), link
        assert "PP622" in [f.code for r in reports for f in r.findings], link
        made.unlink()


@EVERY
def test_a_note_of_leaving_moves_no_folder_of_others(every: bool, leaving: Scene) -> None:
    scene = leaving
    before, note = scene.rows(), f"{scene.home}/.planproof/leaving/{scene.database}.t.json"
    names = (f"`{scene.database}`.`t`", f"`{scene.other}`.`victim`", f"`{scene.other}`.`t`")
    places = (
        (str(scene.folder), f"{scene.home}/t"),
        (scene.version, f"{scene.home}/t"),
        (f"{scene.home}/__planproof/t/0a1b2c3d.r_1", str(scene.folder)),
        (f"{scene.home}/__planproof/t/0a1b2c3d.r_1", f"{scene.theirs}/victim"),
        (f"{scene.home}/__planproof/t/../../../{Path(scene.theirs).name}/victim", f"{scene.home}/t"),
    )
    for number, (version, home) in enumerate(places):
        for name in names if every else (names[number % 3],):
            scene.store.write(note, json.dumps(asdict(Departure(name, version, home))))
            for force in (False, True) if every else (True,):
                reports = move_back(scene.session, scene.store, [scene.home], force)
                assert scene.rows() == before, (version, home, name)
            assert "failed" in [r.outcome for r in reports] or not scene.store.exists(note)
            scene.store.delete(note)


def test_a_note_of_leaving_deletes_no_version_of_others(leaving: Scene) -> None:
    """Versions of one mark go together, and a note may name one that is not there, beside those of another table."""
    scene = leaving
    before, note = scene.rows(), f"{scene.home}/.planproof/leaving/{scene.database}.t.json"
    version = f"{scene.version.rpartition('.')[0]}.zz_9"
    for force in (False, True):
        scene.store.write(note, json.dumps(asdict(Departure(f"`{scene.database}`.`t`", version, f"{scene.home}/t"))))
        move_back(scene.session, scene.store, [scene.home], force)
        assert scene.rows() == before


def test_a_note_of_leaving_deletes_no_file_outside_of_the_home(leaving: Scene) -> None:
    """What was copied home is deleted again where its version has lost it: a path may lead out of there."""
    scene = leaving
    before, note = scene.rows(), f"{scene.home}/.planproof/leaving/{scene.database}.t.json"
    home, link = f"{scene.home}/t", Path(scene.home) / "t" / "aside"
    version = Path(scene.home) / "__planproof" / "t" / "0a1b2c3d.zz_9"
    version.mkdir(parents=True, exist_ok=True)
    link.symlink_to(scene.folder / "deep")
    for path in (f"{'../' * 30}{scene.folder}/deep/file", "aside/file"):
        form = asdict(Departure(f"`{scene.database}`.`t`", str(version), home, (path,)))
        scene.store.write(note, json.dumps(form))
        reports = move_back(scene.session, scene.store, [scene.home])
        assert "names what no publish" in str(reports[0].error), reports
        assert scene.rows() == before, path
    link.unlink()
    scene.store.delete(f"{scene.home}/__planproof")


def test_a_note_of_leaving_says_nothing_of_which_files_were_copied(leaving: Scene) -> None:
    """What was copied is deleted again where its version has lost it. So a note could have any file deleted of a table
    that lies elsewhere, or any table's whole folder."""
    scene = leaving
    far, version = scene.folder / "far", Path(scene.home) / "__planproof" / "far" / "0a1b2c3d.zz_9"
    scene.spark.sql(f"create table {scene.database}.far using parquet location '{far}' as select 1 as id")
    version.mkdir(parents=True, exist_ok=True)
    (version / "added.parquet").write_text("of nobody")
    note = f"{scene.home}/.planproof/leaving/{scene.database}.far.json"
    before = {file: file.read_bytes() for file in far.iterdir()}
    for files in (tuple(file.name for file in before), ("",), ()):
        form = asdict(Departure(f"`{scene.database}`.`far`", str(version), str(far), files))
        scene.store.write(note, json.dumps(form))
        move_back(scene.session, scene.store, [scene.home])
        assert {file: file.read_bytes() for file in far.iterdir()} == before, files
    scene.spark.sql(f"drop table {scene.database}.far")
    for gone in (far, version.parent.parent):
        scene.store.delete(str(gone))


def test_a_note_of_leaving_deletes_no_version_of_another_metastores_table(leaving: Scene, tmp_path: Path) -> None:
    scene = leaving
    [file] = make_versions(tmp_path, (f"deadbeef.{RUN}_1",))
    note = f"{scene.home}/.planproof/leaving/{scene.database}.t.json"
    for home in (f"{scene.home}/t", f"{tmp_path}/t"):
        form = asdict(Departure(f"`{scene.database}`.`t`", str(file.parent), home))
        for force in (False, True):
            scene.store.write(note, json.dumps(form))
            move_back(scene.session, scene.store, [scene.home], force)
            assert file.exists(), (home, force)
            scene.store.delete(note)
