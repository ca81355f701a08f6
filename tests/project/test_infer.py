"""Contracts that are inferred: what is promised, what is left out, and what of the YAML stays as it was written."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import yaml
from click.testing import CliRunner

from planproof.cli.group import cli
from planproof.project.infer import Inferred, InferredColumn, find_property_file, format_type, infer_project
from planproof.project.manifest import read_project
from planproof.project.reads import ProjectError
from planproof_engine.conf import Conf
from planproof_engine.types import parse_type

pytest.importorskip("ruamel.yaml")

from planproof.project.properties import add_contracts

SOURCES = {"shop.orders": {"id": "bigint", "at": "timestamp", "items": "array<struct<sku:string,qty:int>>"}}
SQL = "select id, at, transform(items, i -> i.qty) as quantities from shop.orders where id is not null"


@pytest.fixture
def project(tmp_path: Path, dbt_manifest: Any) -> Any:
    def write(models: dict[str, Any], files: dict[str, str] | None = None) -> Path:
        (tmp_path / "target").mkdir()
        (tmp_path / "models").mkdir()
        (tmp_path / "dbt_project.yml").write_text("name: shop\nprofile: shop\n")
        (tmp_path / "target/manifest.json").write_text(json.dumps(dbt_manifest(models, sources=SOURCES)))
        for name, text in (files or {}).items():
            (tmp_path / name).write_text(text)
        return tmp_path

    return write


def infer(where: Path, *args: str) -> Any:
    return CliRunner().invoke(cli, ["infer", "--project-dir", str(where), *args])


def test_a_model_without_yaml_goes_to_the_file_of_its_folder(project: Any) -> None:
    where = project({"marts": {"sql": SQL, "parents": ["shop.orders"]}})
    done = infer(where)
    assert done.exit_code == 0, done.output
    assert yaml.safe_load((where / "models/_models.yml").read_text()) == {
        "version": 2,
        "models": [
            {
                "name": "marts",
                "config": {"contract": {"enforced": True}},
                "columns": [
                    {"name": "id", "data_type": "bigint"},
                    {"name": "at", "data_type": "timestamp"},
                    {"name": "quantities", "data_type": "array<int>"},
                ],
            }
        ],
    }
    assert "marts: at timestamp" in done.output


AUTHOR = """\
version: 2

# The team's marts
models:
  - name: other   # left alone
    description: 'quoted'
  - name: marts
    description: "What we sell"   # a remark
    columns:
      # the key
      - name: ID
        description: the number
        data_tests: [unique]
      - name: quantities
        data_type: array<int>  # as we said
    meta: {owner: Ada}
"""


def test_comments_order_and_the_authors_words_stay(project: Any) -> None:
    model = {"sql": SQL, "parents": ["shop.orders"], "patch_path": "shop://models/all.yml"}
    where = project({"marts": model}, {"models/all.yml": AUTHOR})
    assert infer(where).exit_code == 0
    text = (where / "models/all.yml").read_text()
    added = [line for line in text.splitlines() if line not in AUTHOR.splitlines()]
    assert [line.strip() for line in added] == [
        "data_type: bigint",
        "- name: at",
        "data_type: timestamp",
        "config:",
        "contract:",
        "enforced: true",
    ]
    kept = [line for line in text.splitlines() if line in AUTHOR.splitlines()]
    assert kept == [line for line in AUTHOR.splitlines() if line in kept]
    assert len(kept) == len(AUTHOR.splitlines())
    assert "not_null" not in text


def test_tightening_promises_what_the_plan_proves(project: Any) -> None:
    contracted = {
        "sql": SQL,
        "parents": ["shop.orders"],
        "contract": True,
        "columns": {"id": "bigint", "at": "timestamp", "quantities": "array<int>"},
        "patch_path": "shop://models/all.yml",
    }
    yml = "models:\n  - name: marts\n    columns:\n" + "".join(
        f"      - {{name: {n}, data_type: {t!r}}}\n"
        for n, t in contracted["columns"].items()  # type: ignore[attr-defined]
    )
    where = project({"marts": contracted}, {"models/all.yml": yml})
    assert "nothing to write" in infer(where).output
    assert infer(where, "--tighten", "--dry-run").exit_code == 0
    assert (where / "models/all.yml").read_text() == yml
    assert infer(where, "--tighten").exit_code == 0
    columns = yaml.safe_load((where / "models/all.yml").read_text())["models"][0]["columns"]
    assert [c["name"] for c in columns if c.get("constraints") == [{"type": "not_null"}]] == ["id"]


def test_what_is_not_known_is_left_out_with_the_reason(project: Any) -> None:
    where = project(
        {
            "missing": {"sql": "select * from elsewhere.t"},
            "void": {"sql": "select null as x"},
            "twice": {"sql": "select 1 as a, 2 as A"},
            "more": {"sql": "select 1 as a", "columns": {"a": "int", "gone": "int"}},
            "described": {"sql": "select 1 as a", "columns": {"a": "int", "old": {"description": "no more"}}},
            "other": {"sql": "select 1 as a", "columns": {"a": "varchar(3)"}},
            "foreign": {"sql": "select 'x' as a, 1 as b", "columns": {"a": "text"}},
            "growing": {"sql": "select 1 as a", "config": {"materialized": "incremental"}},
            "inline": {"sql": "select 1 as a", "config": {"materialized": "ephemeral"}},
        }
    )
    done = json.loads(infer(where, "--json").output)
    assert done["files"] == {}
    assert set(done["left"]) == {"missing", "void", "twice", "more", "described", "other", "foreign", "growing"}
    assert "always NULL" in done["left"]["void"]
    assert "gone" in done["left"]["more"]
    assert "old" in done["left"]["described"]
    assert "a: promised string, found int" in done["left"]["other"]
    assert "text" in done["left"]["foreign"]
    assert not list((where / "models").iterdir())


def test_a_manifest_without_texts_is_told_as_one(project: Any) -> None:
    """`dbt seed` writes a manifest, too."""
    where = project({"marts": {}, "inlined": {"config": {"materialized": "ephemeral"}}})
    done = infer(where)
    assert (done.exit_code, done.stdout) == (2, "")
    assert "not compiled: model.shop.marts; run `dbt compile`" in done.stderr


def test_a_model_that_a_build_skipped_is_left_out(project: Any) -> None:
    done = infer(project({"marts": {"sql": "select 1 as id"}, "skipped": {}}))
    assert (done.exit_code, "  marts: id int\n" in done.stdout) == (0, True)
    assert "left out skipped: not compiled; run `dbt compile`" in done.output


def test_the_inferred_contract_holds(project: Any, dbt_manifest: Any) -> None:
    where = project({"marts": {"sql": SQL, "parents": ["shop.orders"]}})
    [one] = infer_project(read_project(where), tighten=True)
    columns = {c.name: {"data_type": c.data_type} for c in one.columns}
    again = dbt_manifest(
        {"marts": {"sql": SQL, "parents": ["shop.orders"], "contract": True, "columns": columns}}, sources=SOURCES
    )
    (where / "target/manifest.json").write_text(json.dumps(again))
    assert CliRunner().invoke(cli, ["check", "--project-dir", str(where)]).exit_code == 0


@pytest.mark.parametrize("given", ["timestamp_ltz", "timestamp_ntz", "array<timestamp_ltz>", "struct<`a b`:int>"])
@pytest.mark.parametrize("mode", ["TIMESTAMP_LTZ", "TIMESTAMP_NTZ"])
def test_a_type_is_spelled_so_that_it_is_read_back(given: str, mode: str) -> None:
    wanted = parse_type(given)
    assert parse_type(format_type(wanted, Conf(timestamp_type=mode)), timestamp_ntz=mode == "TIMESTAMP_NTZ") == wanted


@pytest.mark.parametrize("path", ["shop://../outside.yml", "shop:///etc/passwd", "shop://models/a.sql"])
def test_no_file_outside_the_project_is_written(project: Any, path: str) -> None:
    where = project({"marts": {"sql": "select 1 as a", "patch_path": path}})
    [node] = read_project(where).models
    with pytest.raises(ProjectError, match="is no YAML file of the project"):
        find_property_file(read_project(where), node)


@pytest.mark.parametrize(
    "text", ["- a\n", "models: {a: 1}\n", "models: [\n", "models: [{name: marts, columns: {a: 1}}]\n"]
)
def test_a_file_that_is_not_dbts_is_an_error(project: Any, text: str) -> None:
    where = project({"marts": {"sql": "select 1 as a"}}, {"models/marts.yml": text})
    done = infer(where)
    assert done.exit_code == 2
    assert "marts.yml" in done.output
    assert (where / "models/marts.yml").read_text() == text


def test_an_empty_file_is_filled(tmp_path: Path) -> None:
    (tmp_path / "x.yml").write_text("# nothing yet\n")
    text, said = add_contracts(tmp_path / "x.yml", [])
    assert (yaml.safe_load(text)["models"], said) == ([], [])


def test_names_that_need_quotes_get_them(project: Any) -> None:
    yml = "models:\n  - name: marts\n    columns:\n      - name: a b\n        description: two\n"
    model = {"sql": "select 1 as `no`, 2 as `a b`, 3 as `c-d`, 4 as `: [`", "patch_path": "shop://models/all.yml"}
    where = project({"marts": model, "odd": {"sql": "select 1 as `a``b`"}}, {"models/all.yml": yml})
    assert "left out odd: " in infer(where).output
    assert yaml.safe_load((where / "models/all.yml").read_text())["models"][0]["columns"] == [
        {"name": "a b", "description": "two", "data_type": "int", "quote": True},
        {"name": "no", "data_type": "int"},
        {"name": "c-d", "data_type": "int", "quote": True},
        {"name": ": [", "data_type": "int", "quote": True},
    ]


SHARED = """
models:
  - name: a
    columns:
      - &id
        name: id  # of both
        description: The key
  - name: b
    columns:
      - *id
"""


def test_columns_that_an_anchor_shares_get_one_type_or_none(project: Any) -> None:
    models = {n: {"sql": "select 1 as id", "patch_path": "shop://models/all.yml"} for n in "ab"}
    where = project(models, {"models/all.yml": SHARED})
    assert infer(where).exit_code == 0
    for model in yaml.safe_load((where / "models/all.yml").read_text())["models"]:
        assert model["columns"] == [{"name": "id", "description": "The key", "data_type": "int"}]


@pytest.mark.parametrize("text", [SHARED, SHARED.replace("- *id", "- {<<: *id, quote: false}")])
def test_columns_that_an_anchor_shares_and_that_differ_are_an_error(project: Any, text: str) -> None:
    models = {
        n: {"sql": f"select {v} as id", "patch_path": "shop://models/all.yml"} for n, v in (("a", 1), ("b", "'x'"))
    }
    where = project(models, {"models/all.yml": text})
    done = infer(where)
    assert done.exit_code == 2
    assert "b would get what another model is promised" in done.output
    assert (where / "models/all.yml").read_text() == text


BLANKS = """\
version: 2

models:
  - name: a
    description: "As `dbt init` writes one"
    columns:
      - name: id
        data_tests:
          - unique
          - not_null

      # about n
      - name: n   # its own remark
        tags: [x, y]  # theirs

  # b is odd
  - name: b
    columns:
      - {name: id}

seeds:
  - name: codes
"""


def test_blank_lines_and_comments_stay_before_what_follows_them(tmp_path: Path) -> None:
    file = tmp_path / "schema.yml"
    file.write_text(BLANKS)
    columns = (InferredColumn("id", "int"), InferredColumn("n", "bigint", "why"))
    inferred = [
        Inferred(SimpleNamespace(name="a"), columns),  # type: ignore[arg-type]
        Inferred(SimpleNamespace(name="b"), columns),  # type: ignore[arg-type]
    ]
    text, _ = add_contracts(file, inferred)
    enforced = "    config:\n      contract:\n        enforced: true\n"
    never_null = "        constraints:\n          - type: not_null\n"
    added = BLANKS.replace("          - not_null\n", "          - not_null\n        data_type: int\n")
    added = added.replace("  # theirs\n", f"  # theirs\n        data_type: bigint\n{never_null}{enforced}")
    new = f"      - name: n\n        data_type: bigint\n{never_null}{enforced}"
    added = added.replace("      - {name: id}\n", f"      - {{name: id, data_type: int}}\n{new}")
    assert text == added


STYLES = {
    "sequences at the margin": "version:   2\nmodels:\n- name:  marts\n  description:   'x'\n  columns:\n  - name: id\n"
    "    description: >\n      folded\n      text\n- name: other\n  columns: [ {name: a},  {name: b} ]\n",
    "deep": "---\nmodels:\n    - name: marts   # ours\n      columns:\n          - name:   id\n\n\n"
    "          - name: at\n    - name:    other\n      meta:   {a:   1}\n",
    "no break at the end": "version: 2\nmodels:\n   -   name: other\n       description:  'x'\n   -   name: marts",
    "a text without an end, which stays the last": "models:\n  - name: marts\n    description: >\n      a\n      b\n"
    "  - name: other\n    description: >\n      With a blank \n      of a line.",
    "other breaks": "version: 2\r\nmodels:\r\n- name: other\r\n- name:   marts\r\n\r\nsources:   []\r\n",
}


@pytest.mark.parametrize("style", STYLES)
def test_no_line_is_touched_that_does_not_change(tmp_path: Path, style: str) -> None:
    file = tmp_path / "schema.yml"
    file.write_bytes(STYLES[style].encode())
    columns = (InferredColumn("id", "bigint", "x"), InferredColumn("at", "timestamp"))
    node: Any = SimpleNamespace(name="marts")
    text, _said = add_contracts(file, [Inferred(node, columns)])
    found, own = text.split("\n"), STYLES[style].split("\n")
    rest = iter(found)
    assert all(line in rest for line in own if line), text
    assert ("\r\n" in text) is ("\r\n" in STYLES[style])
    before, after = yaml.safe_load(STYLES[style]), yaml.safe_load(text)
    [marts] = [m for m in after["models"] if m["name"] == "marts"]
    assert {c["name"]: c["data_type"] for c in marts["columns"]} == {"id": "bigint", "at": "timestamp"}
    assert [m for m in after["models"] if m["name"] != "marts"] == [m for m in before["models"] if m["name"] != "marts"]
    file.write_bytes(text.encode())
    assert add_contracts(file, [Inferred(node, columns)]) == (text, [])


@pytest.mark.parametrize("kind", [">", "|", ">-", "|+"])
def test_a_block_of_text_that_ends_the_file_without_a_break_is_left_as_it_stands(tmp_path: Path, kind: str) -> None:
    own = (
        "models:\n  - name: marts\n    columns:\n      - name: id\n        description: >\n          Two\n"
        f"          lines.\n      - name: at\n        description: {kind}\n"
        "          With a blank \n          of a line."
    )
    file = tmp_path / "schema.yml"
    file.write_text(own)
    node: Any = SimpleNamespace(name="marts")
    text, _ = add_contracts(file, [Inferred(node, (InferredColumn("id", "bigint"), InferredColumn("at", "date")))])
    rest = iter(text.split("\n"))
    assert all(line in rest for line in own.split("\n")), text
    [marts] = yaml.safe_load(text)["models"]
    assert [c["description"].strip() for c in marts["columns"]] == [
        c["description"].strip() for c in yaml.safe_load(own)["models"][0]["columns"]
    ]


def test_another_order_than_the_querys_is_said(tmp_path: Path) -> None:
    file = tmp_path / "schema.yml"
    file.write_text("models:\n  - name: marts\n    columns:\n      - name: at\n      - name: ID\n")
    node: Any = SimpleNamespace(name="marts")
    columns = (InferredColumn("id", "bigint"), InferredColumn("at", "timestamp"))
    _, said = add_contracts(file, [Inferred(node, columns)])
    assert [line for line in said if "order" in line] == [
        "marts: the YAML lists its columns in another order than the query, and the next build stores them in that "
        "order: at, id; to keep the table's order, list them as id, at"
    ]
    _, said = add_contracts(file, [Inferred(node, columns[::-1])])
    assert not [line for line in said if "order" in line]


def of_one_folder(project: Any, **patches: str) -> Path:
    models = {
        name: {
            "sql": "select 1 as id",
            "original_file_path": f"models/staging/{name}.sql",
            **({"patch_path": f"shop://models/{patches[name]}"} if name in patches else {}),
        }
        for name in ("a", "b", "c")
    }
    where: Path = project(models)
    (where / "models/staging").mkdir()
    return where


def written(where: Path) -> dict[str, list[str]]:
    files = sorted((where / "models").rglob("*.yml"))
    return {
        str(file.relative_to(where / "models")): [m["name"] for m in yaml.safe_load(file.read_text())["models"]]
        for file in files
    }


def test_models_of_a_folder_share_a_file(project: Any) -> None:
    where = of_one_folder(project)
    assert infer(where).exit_code == 0
    assert written(where) == {"staging/_staging.yml": ["a", "b", "c"]}


def test_the_file_that_describes_a_folder_takes_its_other_models_too(project: Any) -> None:
    where = of_one_folder(project, b="staging/schema.yml")
    (where / "models/staging/schema.yml").write_text("version: 2\nmodels:\n  - name: b\n")
    assert infer(where).exit_code == 0
    assert written(where) == {"staging/schema.yml": ["b", "a", "c"]}


def test_the_file_of_one_model_takes_no_other(project: Any) -> None:
    where = of_one_folder(project, b="staging/b.yml")
    (where / "models/staging/b.yml").write_text("version: 2\nmodels:\n  - name: b\n")
    assert infer(where).exit_code == 0
    assert written(where) == {"staging/_staging.yml": ["a", "c"], "staging/b.yml": ["b"]}


def test_a_file_may_be_named_and_stays_inside_of_the_project(project: Any, monkeypatch: Any, tmp_path: Path) -> None:
    where = of_one_folder(project, b="staging/schema.yml")
    (where / "models/staging/schema.yml").write_text("version: 2\nmodels:\n  - name: b\n")
    monkeypatch.chdir(where / "models")
    done = CliRunner().invoke(cli, ["infer", "--into", "contracts.yml"])
    assert done.exit_code == 0, done.output
    assert written(where) == {"contracts.yml": ["a", "c"], "staging/schema.yml": ["b"]}
    assert {line for line in done.output.splitlines() if line.startswith("wrote")} == {
        "wrote contracts.yml",
        "wrote staging/schema.yml",
    }
    done = CliRunner().invoke(cli, ["infer", "--into", "/elsewhere/contracts.yml", "--tighten"])
    assert done.exit_code == 2
    assert "/elsewhere/contracts.yml is no YAML file of the project" in done.stderr
