"""Artifacts of dbt 2: nulls where dbt 1 has empty mappings, texts in files, paths of other machines; and odd ones."""

from __future__ import annotations

import copy
import hashlib
import json
import shutil
from collections.abc import Iterator
from itertools import cycle, islice
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from planproof.cli.group import cli
from planproof.project import ProjectError, read_project
from planproof.project.audit import select_promises
from planproof.project.check import check_project
from planproof.project.diff import compare_projects
from planproof.project.freeze import list_unmade
from planproof.project.infer import infer_project
from planproof.report.run import RunReport

TEMPLATES = {
    "stg": "{{ config(materialized='view') }}\nselect id, amount\n"
    "from {{ source('raw', 'orders') }}\nwhere id is not null\n",
    "mart": "\n\nselect id,\n  cast(amount as {{ 'string' }}) as amount\nfrom {{ ref('stg') }}\n",
}
COMPILED = {
    "stg": "\nselect id, amount\nfrom `raw`.`orders`\nwhere id is not null\n",
    "mart": "\n\nselect id,\n  cast(amount as string) as amount\nfrom `shop`.`stg`\n",
}
PLACES = {
    "in the manifest": None,
    "as dbt 2 says": "target/compiled/shop/models/{name}.sql",
    "as its betas say": "target/compiled/models/{name}.sql",
    "of another machine": "/home/runner/work/shop/target/compiled/shop/models/{name}.sql",
    "of Windows": "C:\\work\\shop\\target\\compiled\\shop\\models\\{name}.sql",
    "nowhere": "",
}


def normalized(text: str) -> str:
    return "".join(text.split()).lower()


@pytest.fixture
def fusion(tmp_path: Path, dbt_manifest: Any) -> Any:
    """A project as dbt 2 leaves it; `place` is one of PLACES, `version` that of the manifest's schema."""

    def write(place: str = "as dbt 2 says", version: int = 20) -> Path:
        columns = {"id": {"data_type": "bigint", "constraints": [{"type": "not_null"}]}, "amount": "decimal(10,2)"}
        models = {
            "stg": {"parents": ["raw.orders"], "config": {"materialized": "view"}},
            "mart": {"parents": ["stg"], "contract": True, "columns": columns},
        }
        manifest = dbt_manifest(models, {"raw.orders": {"id": "bigint", "amount": "decimal(10,2)"}})
        manifest["metadata"] |= {
            "dbt_schema_version": f"https://schemas.getdbt.com/dbt/manifest/v{version}.json",
            "dbt_version": "2.0.0-beta.49" if version == 20 else "2.1.3",
            "adapter_type": "databricks",
            "env": None,
            "project_id": None,
        }
        manifest["macros"] = None if version == 20 else {}
        (tmp_path / "models").mkdir()
        for key, node in manifest["nodes"].items():
            name = key.rpartition(".")[2]
            config = dict.fromkeys(("tags", "meta", "pre_hook", "post_hook", "grants", "persist_docs"))
            node.update(raw_code="--placeholder--", compiled_code=None, patch_path="models/schema.yml", compiled=True)
            node["config"] = {**config, **node["config"], "contract": None}
            node["contract"] = {"alias_types": False, "enforced": name == "mart"}
            node["unrendered_config"] = None
            text = TEMPLATES[name]
            hashed = text.strip() if version == 20 else normalized(text)
            node["checksum"] = {"name": "SHA256", "checksum": hashlib.sha256(hashed.encode()).hexdigest()}
            (tmp_path / "models" / f"{name}.sql").write_text(text)
            if PLACES[place] is None:
                node["compiled_code"] = COMPILED[name]
                continue
            node["compiled_path"] = str(PLACES[place]).format(name=name) or None
            folder = "compiled/models" if "betas" in place else "compiled/shop/models"
            (tmp_path / "target" / folder).mkdir(parents=True, exist_ok=True)
            (tmp_path / "target" / folder / f"{name}.sql").write_text(COMPILED[name])
        for source in manifest["sources"].values():
            source.update(tags=None, config={"enabled": True}, external=None, meta=None)
        (tmp_path / "dbt_project.yml").write_text("name: shop\nprofile: shop\n")
        (tmp_path / "target").mkdir(exist_ok=True)
        (tmp_path / "target" / "manifest.json").write_text(json.dumps(manifest))
        return tmp_path

    return write


@pytest.mark.parametrize("version", [12, 20])
@pytest.mark.parametrize("place", PLACES)
def test_check_finds_the_texts_and_names_the_line_of_the_template(fusion: Any, place: str, version: int) -> None:
    where = fusion(place, version)
    done = CliRunner().invoke(cli, ["check", "--project-dir", str(where), "--json"])
    assert done.exit_code == 1, done.output
    stg, mart = RunReport.from_json(done.stdout).reports
    assert (stg.verdict.value, mart.verdict.value) == ("proved", "violated")
    found = {f.code: f for f in mart.findings}
    assert set(found) == {"PP504", "PP505"}
    origin = found["PP504"].origin
    assert origin is not None
    assert (origin.file, origin.line) == ("models/mart.sql", 4)
    assert found["PP505"].verdict.value == "proved"


def test_a_file_that_changed_since_is_seen(fusion: Any) -> None:
    where = fusion(version=12)
    (where / "models" / "stg.sql").write_text(TEMPLATES["stg"].upper() + "\n\n")
    assert all("PP112" not in str(report.findings) for report in check_project(read_project(where)))
    (where / "models" / "stg.sql").write_text(TEMPLATES["stg"] + "and amount > 0")
    reports = check_project(read_project(where))
    assert [[f.message.split(" since")[0] for f in r.findings if f.code == "PP112"] for r in reports] == [
        ["models/stg.sql changed"],
        ["it reads shop.stg: models/stg.sql changed"],
    ]


def test_the_other_commands(fusion: Any) -> None:
    where = fusion()

    def invoke(*args: str) -> Any:
        done = CliRunner().invoke(cli, [*args])
        assert "Traceback" not in done.output
        return done

    assert "filter" in invoke("explain", "stg", "--plan", "--project-dir", str(where)).stdout.lower()
    inferred = invoke("infer", "--project-dir", str(where), "--dry-run")
    assert inferred.exit_code == 0, inferred.output
    assert "would write" in inferred.stdout
    assert "models/schema.yml" in inferred.stdout
    manifest = str(where / "target" / "manifest.json")
    same = invoke("diff", manifest, str(where), "--fail-on", "change")
    assert (same.exit_code, same.stdout) == (0, "0 breaking, 0 safe\n")
    project = read_project(where)
    assert [node.relation for node in list_unmade(project)] == ["raw.orders"]
    assert [promise.name for promise in select_promises(project)] == ["shop.mart"]


def test_nothing_outside_of_the_project_is_read(fusion: Any, tmp_path_factory: pytest.TempPathFactory) -> None:
    where, other = fusion(), tmp_path_factory.mktemp("other")
    (other / "secret.sql").write_text("select 1 as secret")
    (where / "target" / "compiled" / "link.sql").symlink_to(other / "secret.sql")
    file = where / "target" / "manifest.json"
    manifest = json.loads(file.read_text())
    for path in (
        str(other / "secret.sql"),
        f"../{other.name}/secret.sql",
        "target/compiled/link.sql",
        "a\0b",
        "x" * 5000,
    ):
        node = manifest["nodes"]["model.shop.stg"]
        node.update(compiled_path=path, original_file_path=path)
        assert read_project_of(file, manifest).nodes["model.shop.stg"].sql is None


def read_project_of(file: Path, manifest: Any) -> Any:
    file.write_text(json.dumps(manifest))
    return read_project(file)


def places(form: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    if path:
        yield path
    for key, value in form.items() if isinstance(form, dict) else enumerate(form) if isinstance(form, list) else ():
        yield from places(value, (*path, key))


ODD = (None, 5, "odd", [5], {"odd": 5})


@pytest.mark.parametrize("each", [1, pytest.param(len(ODD), marks=pytest.mark.conformance)])
def test_odd_types_anywhere_are_an_error_that_names_its_place(fusion: Any, each: int) -> None:
    """Each value of a manifest is replaced by values of other types, by `each` of them in turn: every command says what
    is wrong, or works."""
    where = fusion("in the manifest", 12)
    manifest = json.loads((where / "target" / "manifest.json").read_text())
    node = manifest["nodes"]["model.shop.mart"]
    node["config"] |= {"pre_hook": [{"sql": "set x = 1"}], "persist_docs": {"columns": True}, "partition_by": ["id"]}
    node["config"] |= {"meta": {"planproof": {"rewrite": "off"}}, "sql_header": "set y = 1", "tags": ["a"]}
    node |= {"constraints": [{"type": "unique", "columns": ["id"]}], "extra_ctes": [{"id": "x", "sql": "y"}]}
    node["depends_on"]["macros"] = ["macro.shop.m"]
    manifest["macros"] = {"macro.shop.m": {"name": "m", "package_name": "shop", "macro_sql": "x", "depends_on": {}}}
    old = read_project(copy.deepcopy(manifest))
    tried = refused = 0
    for number, path in enumerate(places(manifest)):
        for odd in islice(cycle(ODD), number, number + each):
            changed = copy.deepcopy(manifest)
            holder = changed
            for key in path[:-1]:
                holder = holder[key]
            holder[path[-1]] = odd
            tried += 1
            said = outcome(old, changed)
            if said is not None:
                assert "internal error" not in said, f"{path} = {odd!r}: {said}"
                refused += 1
    assert tried > 80 * each
    assert refused > 10 * each


def outcome(old: Any, manifest: Any) -> str | None:
    """What the commands say of a manifest that cannot be read; None where they work."""
    try:
        project = read_project(manifest)
        errors = [report.error for report in check_project(project) if report.error]
        infer_project(project)
        compare_projects(old, project)
    except ProjectError as error:
        return str(error)
    except Exception as error:
        return f"internal error: {type(error).__name__}: {error}"
    return errors[0] if errors else None


def test_a_pull_request_is_checked_by_the_names_that_dbt_2_lists(fusion: Any) -> None:
    """The recipe of docs/pull-requests.md: what changed since main's artifacts, which dbt 2 itself names."""
    where = fusion(version=12)
    shutil.copytree(where / "target", where / "state")

    def check(*args: str) -> Any:
        return CliRunner().invoke(cli, ["check", "--project-dir", str(where), *args, "--json"])

    assert check("--select", "mart").exit_code == 1
    text = COMPILED["mart"].replace("cast(amount as string) as amount", "amount")
    (where / "target" / "compiled" / "shop" / "models" / "mart.sql").write_text(text)
    done = check("--select", "mart")
    (report,) = RunReport.from_json(done.stdout).reports
    assert (done.exit_code, report.details.name) == (0, "mart")
    asked = check("--select", "state:modified+", "--state", str(where / "state"))
    assert asked.exit_code == 2
    assert "let the dbt that wrote it name the models: `dbt ls --output name`" in asked.output
