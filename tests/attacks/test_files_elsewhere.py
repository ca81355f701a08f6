"""What a manifest names is read inside of the project alone: no link, no device, no path that leads out of it."""

from __future__ import annotations

import asyncio
import errno
import json
import os
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from click.testing import CliRunner

from planproof.cli.group import cli
from planproof.cli.output import Wanted, write, write_forms
from planproof.cli.run import RECORD
from planproof.lsp import workspace
from planproof.project.infer import find_property_file
from planproof.project.location import ProjectLocation
from planproof.project.manifest import read_project
from planproof.project.reads import ProjectError, read_within
from planproof.project.seeds import find_seeds, read_seed
from planproof.project.sources import read_frozen, schema_of_source
from planproof.project.stale import Files
from planproof.regular import read_regular, write_anew
from planproof.report.model import Report
from planproof.session.protocol import SparkFailure
from planproof.session.store import LocalStore

SECRET = "TOKEN=hunter2,other"


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A project's folder with links that lead out of it, beside a file that is nobody's business."""
    (tmp_path / "secret.csv").write_text(SECRET)
    home = tmp_path / "project"
    (home / "seeds").mkdir(parents=True)
    (home / "seeds" / "fine.csv").write_text("a,b\n1,2\n")
    (home / "seeds" / "inner.csv").symlink_to(home / "seeds" / "fine.csv")
    (home / "seeds" / "link.csv").symlink_to(tmp_path / "secret.csv")
    (home / "linked").symlink_to(tmp_path)
    os.mkfifo(home / "seeds" / "pipe.csv")
    return home


OUTSIDE = [
    "../secret.csv",
    "seeds/../../secret.csv",
    "{tmp}/secret.csv",
    "seeds/link.csv",
    "linked/secret.csv",
    "/proc/self/environ",
    "/dev/zero",
    "/dev/stdin",
    "seeds/pipe.csv",
    "seeds",
    "nul\0l",
]


@pytest.mark.parametrize("name", OUTSIDE)
def test_a_file_that_lies_elsewhere_is_not_read(name: str, home: Path) -> None:
    with pytest.raises((OSError, ValueError)):
        read_within(home, name.replace("{tmp}", str(home.parent)))


@pytest.mark.parametrize("name", ["seeds/fine.csv", "seeds/../seeds/fine.csv", "seeds/inner.csv"])
def test_a_file_of_the_project_is_read(name: str, home: Path) -> None:
    assert read_within(home, name) == b"a,b\n1,2\n"


@pytest.mark.parametrize("part", ["seeds/deep/fine.csv", "seeds/deep", "seeds"])
def test_what_became_a_link_after_it_was_looked_at_is_not_followed(
    part: str, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for folder in (home, home.parent):
        (folder / "seeds" / "deep").mkdir(parents=True)
        (folder / "seeds" / "deep" / "fine.csv").write_text("a,b" if folder == home else SECRET)
    plain, changed = os.stat, list[bool]()

    def looked(path: Any, **given: Any) -> os.stat_result:
        found = plain(path, **given)
        if path == str(home / "seeds/deep/fine.csv") and not changed:
            changed.append(True)
            (home / part).rename(home / "moved")
            (home / part).symlink_to(home.parent / part)
        return found

    monkeypatch.setattr("planproof.project.reads.os.stat", looked)
    with pytest.raises(OSError, match=r"symbolic links|Not a directory"):
        read_within(home, "seeds/deep/fine.csv")
    assert (home / part).is_symlink()


def test_what_was_opened_is_what_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A large file is read in more than one turn."""
    file, plain = tmp_path / "large", os.read
    file.write_bytes(b"a" * 10**6)
    (tmp_path / "other").write_bytes(b"b" * 10**6)

    def read(opened: int, size: int) -> bytes:
        file.unlink(missing_ok=True)
        file.symlink_to(tmp_path / "other")
        return plain(opened, size)

    monkeypatch.setattr("planproof.regular.os.read", read)
    assert read_regular(file, 2**28) == b"a" * 10**6


@pytest.mark.parametrize("name", OUTSIDE)
def test_a_seeds_header_tells_nothing_of_other_files(name: str, home: Path, dbt_manifest: Any) -> None:
    named = name.replace("{tmp}", str(home.parent))
    for root in (str(home), str(home.parent), "/", "/proc/self"):
        seed = {"root_path": root, "original_file_path": named, "config": {"column_types": {"a": "int"}}}
        project = replace(read_project(dbt_manifest(seeds={"codes": seed})), directory=home)
        found = schema_of_source(project, project.nodes["seed.shop.codes"], read_frozen(project))
        assert "TOKEN" not in str(found)
        assert "hunter2" not in str(found)


@pytest.mark.parametrize("package", ["../..", "../../", "x/../../..", "{tmp}", "x" * 300, "..", ".", "a\0b"])
@pytest.mark.parametrize("version", ["1.11.16", "2.0.0"])
def test_a_package_is_installed_below_dbt_packages_alone(
    package: str, version: str, home: Path, dbt_manifest: Any
) -> None:
    """Else the rows of a seed that a run publishes would be those of any file."""
    (home / "dbt_packages").mkdir()
    named = package.replace("{tmp}", str(home.parent))
    seed = {"package_name": named, "original_file_path": "secret.csv", "config": {"column_types": {}}}
    manifest = dbt_manifest({"m": {"sql": "select 1", **seed, "config": {}}}, seeds={"codes": seed})
    manifest["metadata"]["dbt_version"] = version
    project = replace(read_project(manifest), directory=home)
    codes = project.nodes["seed.shop.codes"]
    assert find_seeds(project, [codes]) == []
    with pytest.raises(ProjectError):
        read_seed(project, codes)
    assert Files(project).find_change(project.nodes["model.shop.m"]) is None


@pytest.mark.parametrize("patch", ["../other.yml", "linked/other.yml", "{tmp}/other.yml"])
def test_yaml_that_lies_elsewhere_is_not_compared(patch: str, home: Path, dbt_manifest: Any) -> None:
    (home.parent / "other.yml").write_text("models: [{name: m, columns: [{name: hunter2}]}]")
    (home / "models").mkdir()
    (home / "models" / "m.sql").write_text("select 1 as a")
    path = f"shop://{patch}".replace("{tmp}", str(home.parent))
    manifest = dbt_manifest({"m": {"sql": "select 1 as a", "raw_code": "select 1 as a", "patch_path": path}})
    project = replace(read_project(manifest), directory=home)
    assert Files(project).find_change(project.nodes["model.shop.m"]) is None


def test_yaml_that_is_swapped_for_a_link_is_not_read(
    home: Path, dbt_manifest: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After it was found to lie in the project, and before it is read."""
    (home.parent / "other.yml").write_text("models: [{name: m, columns: [{name: hunter2}]}]")
    (home / "models").mkdir()
    (home / "models" / "m.sql").write_text("select 1 as a")
    inner = home / "models" / "m.yml"
    inner.write_text("models: [{name: m}]")
    node = {"sql": "select 1 as a", "raw_code": "select 1 as a", "patch_path": "shop://models/m.yml"}
    project = replace(read_project(dbt_manifest({"m": node})), directory=home)
    plain = Files._find_newer_yaml
    for made in (lambda: inner.symlink_to(home.parent / "other.yml"), lambda: os.mkfifo(inner)):

        def swapped(files: Files, name: str, directory: Path, made: Any = made) -> Path | None:
            found = plain(files, name, directory)
            inner.unlink()
            made()
            return found

        with monkeypatch.context() as patched:
            patched.setattr(Files, "_find_newer_yaml", swapped)
            found = Files(project).find_change(project.nodes["model.shop.m"])
        assert "hunter2" not in str(found)
        inner.unlink()
        inner.write_text("models: [{name: m}]")


def test_the_parquet_files_of_an_external_location_lie_in_the_project(home: Path, dbt_manifest: Any) -> None:
    pa, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    for folder in (home / "data", home.parent / "data"):
        folder.mkdir()
        parquet.write_table(pa.table({"hidden": [1]}), folder / "a.parquet")
    manifest = dbt_manifest(sources={"raw.orders": {}})
    for location, is_read in (("data", True), ("../data", False), ("linked/data", False), ("/", False)):
        manifest["sources"]["source.shop.raw.orders"]["meta"] = {"external_location": location}
        project = replace(read_project(manifest), directory=home)
        found = schema_of_source(project, project.nodes["source.shop.raw.orders"], read_frozen(project))
        assert ("hidden" in str(found)) == is_read, location
    manifest["sources"]["source.shop.raw.orders"]["meta"] = {"external_location": "data\0"}
    project = replace(read_project(manifest), directory=home)
    assert "hidden" not in str(schema_of_source(project, project.nodes["source.shop.raw.orders"], read_frozen(project)))
    # A link within the folder, and a pipe.
    manifest["sources"]["source.shop.raw.orders"]["meta"] = {"external_location": "data"}
    project = replace(read_project(manifest), directory=home)
    for made in (lambda at: at.symlink_to(home.parent / "data" / "a.parquet"), os.mkfifo):
        made(home / "data" / "b.parquet")
        found = schema_of_source(project, project.nodes["source.shop.raw.orders"], read_frozen(project))
        assert "hidden" not in str(found)
        (home / "data" / "b.parquet").unlink()


WRITERS = [
    ["check", "--no-cache", "--format", "sarif", "-o", "{to}/kept"],
    ["check", "--no-cache", "--html", "{to}/kept"],
    ["check", "--no-cache", "--write-baseline", "{to}/kept"],
    ["diff", "target/manifest.json", "target/manifest.json", "--html", "{to}/kept"],
    ["derive", "cases.jsonl", "-o", "{to}/kept"],
]
LINKS = [
    "linked",
    "linked/new",
    "dangling",
    "linked/../outside",
    "inner/linked",
    "{home}/linked",
    "{home}/inner/linked/new",
]


@pytest.fixture
def written_to(home: Path, dbt_manifest: Any, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The project, to be written to by commands, with links that lead to a folder beside it."""
    outside = home.parent / "outside"
    for folder in (outside, home / "inner", home / "target"):
        folder.mkdir()
    (home / "linked").unlink()
    for link in (home / "linked", home / "inner" / "linked"):
        link.symlink_to(outside)
    (home / "dangling").symlink_to(home.parent / "made")
    (home / "within").symlink_to(home / "inner")
    (outside / "kept").write_text("precious")
    (home / "dbt_project.yml").write_text("name: shop\nprofile: shop\n")
    (home / "cases.jsonl").write_text('{"id": 1, "query": "select 1 as a"}\n')
    (home / "target/manifest.json").write_text(json.dumps(dbt_manifest(models={"m": {"sql": "select 1 as id"}})))
    monkeypatch.chdir(home)
    return home


@pytest.mark.parametrize("words", WRITERS)
def test_no_command_writes_through_a_link_out_of_the_project(words: list[str], written_to: Path) -> None:
    for link in LINKS:
        to = link.replace("{home}", str(written_to))
        said = CliRunner().invoke(cli, [word.replace("{to}", to) for word in words])
        assert (said.exit_code, "leads out of" in said.output) == (2, True), (link, said.output)
    assert (written_to.parent / "outside/kept").read_text() == "precious"
    assert not list((written_to.parent / "outside").glob("*/")), "no folder was made"
    assert not (written_to.parent / "made").exists()


@pytest.mark.parametrize("words", WRITERS)
def test_where_no_link_leads_out_a_command_writes(words: list[str], written_to: Path) -> None:
    outside = written_to.parent / "outside"
    (written_to / "over").mkdir()
    (written_to / "over/kept").symlink_to(outside / "kept")
    (written_to.parent / "own").symlink_to(outside)
    for to in ("new/folder", "within", "over", "../elsewhere", str(written_to.parent / "own" / "deep")):
        said = CliRunner().invoke(cli, [word.replace("{to}", to) for word in words])
        assert said.exit_code in (0, 1), said.output
        assert Path(to, "kept").is_file()
        assert not Path(to, "kept").is_symlink()
    assert (outside / "kept").read_text() == "precious"


def test_what_lies_in_dev_is_written_to() -> None:
    """Root would put a file in the place of the device."""
    read, to = os.pipe()
    write(Path(f"/dev/fd/{to}"), "said")
    os.close(to)
    with os.fdopen(read) as told:
        assert told.read() == "said"


@pytest.mark.parametrize("words", [["freeze"], ["infer", "--into", "models/linked/m.yml"], ["infer"]])
def test_what_a_command_names_itself_is_not_written_elsewhere(
    words: list[str], written_to: Path, dbt_manifest: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    (written_to / "models").mkdir()
    (written_to / "models/linked").symlink_to(written_to.parent / "outside")
    (written_to.parent / "outside/m.yml").write_text("precious")
    model = {"sql": "select 1 as id", "original_file_path": "models/linked/m.sql"}
    (written_to / "target/manifest.json").write_text(json.dumps(dbt_manifest(models={"m": model})))
    said = CliRunner().invoke(cli, words)
    assert said.exit_code in (0, 2), said.output
    assert sorted(path.name for path in (written_to.parent / "outside").iterdir()) == ["kept", "m.yml"]
    assert (written_to.parent / "outside/m.yml").read_text() == "precious"


@pytest.mark.parametrize("is_linked", ["target", "planproof"])
def test_what_a_run_writes_follows_dbts_own_link_alone(is_linked: str, tmp_path: Path) -> None:
    """dbt writes to a target folder that is a link, and so does its user; nobody links what is planproof's in it."""
    record_of = pytest.importorskip("dbt_planproof.record").Record
    (tmp_path / "outside").mkdir()
    target = tmp_path / "shop" / "target"
    link = target if is_linked == "target" else target / "planproof"
    link.parent.mkdir(parents=True)
    link.symlink_to(tmp_path / "outside")
    record = record_of(target, "run", "shop")
    record.add(Report("shop.m", "published"))
    record.flush()
    asked = SimpleNamespace(to_lines=lambda brief: ["{}"])
    with suppress(ProjectError):
        write_forms(asked, Wanted(), record=target / RECORD)
    assert bool(list((tmp_path / "outside").rglob("*.json"))) == (is_linked == "target")


def test_a_report_is_written_over_no_other_file(tmp_path: Path) -> None:
    """Names of drafts can be foreseen, and a pull request can bring links."""
    (tmp_path / "precious").write_text("precious")
    report = tmp_path / "planproof.sarif"
    report.symlink_to(tmp_path / "precious")
    (tmp_path / f".planproof.sarif.{os.getpid()}.tmp").symlink_to(tmp_path / "precious")
    write(report, "said")
    assert report.read_text() == "said"
    assert (tmp_path / "precious").read_text() == "precious"


@pytest.mark.parametrize(
    "patch", ["shop://../other.yml", "shop://.github/workflows/ci.yml", "shop://dbt_project.yml", "shop://linked/x.yml"]
)
def test_infer_writes_below_the_model_paths_alone(patch: str, home: Path, dbt_manifest: Any) -> None:
    manifest = dbt_manifest(models={"m": {"sql": "select 1 as id", "patch_path": patch}})
    project = replace(read_project(manifest), directory=home)
    with pytest.raises(ProjectError, match="model paths"):
        find_property_file(project, project.nodes["model.shop.m"])


def test_a_hidden_folder_is_no_model_path(home: Path, dbt_manifest: Any) -> None:
    """dbt_project.yml is of others, too."""
    (home / "dbt_project.yml").write_text("model-paths: [.github/workflows, models]\n")
    for patch in (".github/workflows/ci.yml", "models/.ci/ci.yml"):
        manifest = dbt_manifest(models={"m": {"sql": "select 1 as id", "patch_path": f"shop://{patch}"}})
        project = replace(read_project(manifest), directory=home)
        with pytest.raises(ProjectError, match="model paths"):
            find_property_file(project, project.nodes["model.shop.m"])


def test_links_in_a_circle_are_no_place(home: Path, dbt_manifest: Any) -> None:
    (home / "models").symlink_to(home / "models")
    (home / "dbt_project.yml").write_text('{"model-paths": ["models", "a\\0b"]}')
    project = replace(read_project(dbt_manifest(models={"m": {"sql": "select 1 as id"}})), directory=home)
    with suppress(ProjectError):
        find_property_file(project, project.nodes["model.shop.m"])
    with pytest.raises(OSError, match=r"symbolic links|File exists"):
        write_anew(home / "models" / "report.html", ["said"], home)


def test_infer_writes_where_the_projects_models_are(home: Path, dbt_manifest: Any) -> None:
    (home / "dbt_project.yml").write_text("model-paths: [marts, '..']\n")
    manifest = dbt_manifest(models={"m": {"sql": "select 1 as id", "patch_path": "shop://marts/m.yml"}})
    project = replace(read_project(manifest), directory=home)
    assert find_property_file(project, project.nodes["model.shop.m"]) == home / "marts/m.yml"
    manifest["nodes"]["model.shop.m"]["patch_path"] = "shop://models/m.yml"
    project = replace(read_project(manifest), directory=home)
    with pytest.raises(ProjectError, match="model paths"):
        find_property_file(project, project.nodes["model.shop.m"])


def test_dbts_report_is_written_over_no_other_file(tmp_path: Path) -> None:
    record_of = pytest.importorskip("dbt_planproof.record").Record
    (tmp_path / "precious").write_text("precious")
    folder = tmp_path / "target" / "planproof"
    folder.mkdir(parents=True)
    for name in ("report.json", f"report.{os.getpid()}.tmp", f".report.json.{os.getpid()}.tmp"):
        (folder / name).symlink_to(tmp_path / "precious")
    record = record_of(tmp_path / "target", "run", "shop")
    record.add(Report("shop.m", "published"))
    record.flush()
    assert "shop.m" in (folder / "report.json").read_text()
    assert (tmp_path / "precious").read_text() == "precious"


@pytest.mark.parametrize("call", ["copy", "move"])
def test_a_copy_is_written_through_no_link(call: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The name of a copy that is under way can be foreseen by who may write to a table's folder."""

    def refused(*given: Any) -> None:
        raise OSError(errno.EXDEV, "another device")

    (tmp_path / "precious").write_text("precious")
    (tmp_path / "staged").write_text("rows")
    for name in ("t.parquet", ".t.parquet.tmp") if call == "copy" else (".t.parquet.tmp",):
        (tmp_path / name).symlink_to(tmp_path / "precious")
    monkeypatch.setattr("planproof.session.store.os.link", refused)
    monkeypatch.setattr("planproof.session.store.os.rename", refused)
    getattr(LocalStore(), call)(f"file://{tmp_path}/staged", f"file://{tmp_path}/t.parquet")
    assert (tmp_path / "precious").read_text() == "precious"
    assert (tmp_path / "t.parquet").read_text() == "rows"
    assert not (tmp_path / "t.parquet").is_symlink()


@pytest.mark.parametrize("made", [os.mkfifo, lambda at: at.symlink_to("/dev/zero")])
def test_a_state_of_iceberg_is_a_regular_file(made: Any, tmp_path: Path) -> None:
    placing = pytest.importorskip("planproof.session.iceberg.placing")
    made(tmp_path / "v2.metadata.json")
    with pytest.raises(SparkFailure, match="no regular file"):
        placing._read_state(None, None, f"file://{tmp_path}/v2.metadata.json")


@pytest.mark.parametrize("made", [os.mkfifo, lambda at: at.symlink_to("/dev/zero")])
def test_what_dbt_wrote_is_a_regular_file(made: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A link of the repository leads dbt's manifest to a device."""
    cli_main = pytest.importorskip("dbt.cli.main")
    invoke = pytest.importorskip("dbt_planproof.compiler")
    written = tmp_path / workspace.TARGET / "manifest.json"
    written.parent.mkdir(parents=True)
    made(written)

    async def compiled(*given: Any) -> tuple[str, int]:
        return "", 0

    monkeypatch.setattr(workspace, "_run", compiled)
    with pytest.raises(workspace.CannotCompile, match="no regular file"):
        asyncio.run(workspace.compile_files(ProjectLocation(tmp_path), ["models/m.sql"]))
    info = SimpleNamespace(name="ArtifactWritten", invocation_id="1")
    data = SimpleNamespace(artifact_type="WritableManifest", artifact_path=str(written))

    class Runner:
        def __init__(self, callbacks: Any) -> None:
            self.note = callbacks[0]

        def invoke(self, args: Any) -> Any:
            self.note(SimpleNamespace(info=info, data=data))

    monkeypatch.setattr(cli_main, "dbtRunner", Runner)
    with pytest.raises(PermissionError, match="no regular file"):
        invoke._compile([], None)
