"""A file that grows, is none, or is damaged (YAML, a seed, a source's footers): it is refused or unknown, and soon."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml

from planproof.cli.options import parse_vars
from planproof.project.check import check_project
from planproof.project.compiled import Promises
from planproof.project.contracts import load_file
from planproof.project.manifest import read_project
from planproof.project.reads import ProjectError
from planproof.project.sources import read_frozen, schema_of_source
from planproof.project.yaml_text import load_yaml
from planproof.report.model import Verdict
from planproof_engine import budget
from planproof_engine.budget import bounded

pytestmark = pytest.mark.usefixtures("soon")
SECONDS = 5
"""Of the processor, for one attack."""


def in_a_thread(work: Callable[[], Any]) -> Any:
    """What `work` returns or raises in a thread of its own, as dbt's and the language server's are."""
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(work).result()


LAUGHS = "a: &a [x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"{chr(98 + i)}: &{chr(98 + i)} [{', '.join(['*' + chr(97 + i)] * 9)}]\n" for i in range(9)
)


MERGED = "a: &a {k: 1}\n" + "".join(
    f"{chr(98 + i)}: &{chr(98 + i)} {{<<: [{', '.join(['*' + chr(97 + i)] * 9)}]}}\n" for i in range(9)
)


DEEP = ("[" * 200_000, "{a: " * 100_000, "- " * 100_000)


NO_VALUES = ("a: 2024-99-99", "a: " + "9" * 6000, "\0")


NO_SCALARS = ("!!int ''", "!!float ''", "!!bool x", "!!timestamp x", "1:" * 300 + "1.5", "0x" + "f" * 5000)
"""Of these PyYAML raises what it comes across: an IndexError, a KeyError."""


ENDLESS = ("a: 1" + ":1" * 10**6, "a: !!int {=: 1" + ":1" * 10**6 + "}", "a: 0b" + "1" * 10**6)
"""Each part of a number of base 60 multiplies what stands before it."""


WITHIN_ITSELF = ("&a [*a]", "a: &a {b: *a}", "a: &a x\nb: &a [*a]")


@pytest.mark.parametrize(
    "text", [LAUGHS, MERGED, *DEEP, *NO_VALUES, *(f"a: {text}" for text in NO_SCALARS), *ENDLESS, *WITHIN_ITSELF]
)
def test_yaml_that_grows_is_refused(text: str, tmp_path: Path) -> None:
    """A line of brackets once ended the process, inside of libyaml."""
    with pytest.raises(yaml.YAMLError):
        load_yaml(text)
    (tmp_path / "profiles.yml").write_text(text)
    (tmp_path / "models").mkdir()
    (tmp_path / "models" / "m.yml").write_text(text)
    with pytest.raises(ProjectError, match="neither YAML nor JSON"):
        load_file(tmp_path / "profiles.yml")
    assert Promises(tmp_path)._read_models("models/m.yml") == {}


def test_days_of_yaml_are_read_as_they_are_written() -> None:
    """50,000 of them are read within the budget; and a day in `--vars` was none that dbt could be told of."""
    assert load_yaml("- 2024-01-01T00:00:00.5Z\n" * 50_000) == ["2024-01-01T00:00:00.5Z"] * 50_000
    assert parse_vars("{from: 2024-01-01, to: !!timestamp 2024-01-02}") == {"from": "2024-01-01", "to": "2024-01-02"}


def test_keys_that_are_alike_to_python_end_with_a_budget(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whole numbers that have one hash: each is compared with all that stand before it."""
    monkeypatch.setattr("planproof.project.yaml_text.MOST_SECONDS", 0.3)
    text = "{" + ", ".join(f"{(2**61 - 1) * i}: 1" for i in range(1, 50_000)) + "}"
    for run in (in_a_thread, lambda work: work()):
        with pytest.raises(yaml.YAMLError, match="seconds of the processor"):
            run(lambda: load_yaml(text))


def test_pipes_and_devices_are_no_files(tmp_path: Path, dbt_manifest: Any) -> None:
    for name in ("dbt_project.yml", "planproof_sources.json"):
        os.mkfifo(tmp_path / name)
        with pytest.raises(ProjectError, match="no regular file"):
            load_file(tmp_path / name)
    (tmp_path / "target").mkdir()
    for made in (lambda at: os.mkfifo(at), lambda at: at.symlink_to("/dev/zero")):
        made(tmp_path / "target" / "manifest.json")
        with pytest.raises(ProjectError, match="no regular file"):
            read_project(tmp_path)
        (tmp_path / "target" / "manifest.json").unlink()


@pytest.mark.parametrize(
    "text", [b"," * 30_000_000, b"a" * 30_000_000, b'"a' + b"x\n" * 15_000_000, b'""' * 15_000_000, b"a\x00,\xff\n1,2"]
)
def test_a_seeds_header_is_soon_read_or_unknown(text: bytes, tmp_path: Path, dbt_manifest: Any) -> None:
    """A hundred MB of commas once stood for as many columns, and took a minute."""
    (tmp_path / "codes.csv").write_bytes(text)
    seed = {"original_file_path": "codes.csv", "config": {"column_types": {"a": "int"}}}
    project = replace(read_project(dbt_manifest(seeds={"codes": seed})), directory=tmp_path)
    found = schema_of_source(project, project.nodes["seed.shop.codes"], read_frozen(project))
    assert "states no column_types for its columns;" in str(found)


def test_a_damaged_footer_ends_no_check(tmp_path: Path, dbt_manifest: Any) -> None:
    """pyarrow ends its own process for some of these, and raises an error for others."""
    pa, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    (tmp_path / "data").mkdir()
    file, manifest = tmp_path / "data" / "a.parquet", dbt_manifest(sources={"raw.orders": {}})
    parquet.write_table(pa.table({"hidden": [1, 2], "s": [{"a": 1}, None]}), file)
    sound = file.read_bytes()
    manifest["sources"]["source.shop.raw.orders"]["meta"] = {"external_location": "data"}
    project = replace(read_project(manifest), directory=tmp_path)
    length = int.from_bytes(sound[-8:-4], "little")
    for at in (3, 17, 40):
        mutated = bytearray(sound)
        mutated[len(sound) - 8 - length + at] ^= 0xFF
        file.write_bytes(bytes(mutated))
        schema_of_source(project, project.nodes["source.shop.raw.orders"], read_frozen(project))
    file.write_bytes(sound)
    found = schema_of_source(project, project.nodes["source.shop.raw.orders"], read_frozen(project))
    assert "hidden" in str(found)


@pytest.mark.parametrize("text", ["'" + r"\'" * 20_000, "`a" * 20_001, "struct<" + "'a" * 20_001])
def test_a_type_of_a_source_is_soon_read_or_unknown(text: str, dbt_manifest: Any) -> None:
    """From each quote on it was read to its end: minutes, for a type of 100 KB."""
    model = {"sql": "select a from raw.orders", "parents": ["raw.orders"]}
    began = time.process_time()
    reports = check_project(read_project(dbt_manifest({"m": model}, sources={"raw.orders": {"a": text}})))
    assert time.process_time() - began < SECONDS / 2
    assert "cannot read the type" in str(reports[0].findings)


def test_a_source_costs_what_a_model_may(dbt_manifest: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    # What a process loads once is no model's cost.
    check_project(read_project(dbt_manifest({"fine": {"sql": "select 1 as a"}})))
    monkeypatch.setattr(bounded.__wrapped__, "__defaults__", (0.1, budget.BYTES))
    declared = f"struct<{', '.join(f'a{i}: int' for i in range(400_000))}>"
    model = {"sql": "select 1 as b from raw.orders", "parents": ["raw.orders"]}
    manifest = dbt_manifest({"m": model, "fine": {"sql": "select 1 as a"}}, sources={"raw.orders": {"a": declared}})
    reports = {report.model: report for report in check_project(read_project(manifest))}
    assert "costs more than the budget for one allows" in str(reports["shop.m"].findings)
    assert reports["shop.fine"].verdict is Verdict.PROVED


def test_a_name_of_two_million_backticks_is_read_once(tmp_path: Path, dbt_manifest: Any) -> None:
    """The part of a name was copied for each backtick in it."""
    columns = [{"name": "id", "type": "int"}]
    file = tmp_path / "frozen.json"
    file.write_text(json.dumps({"sources": {"`" * 2_000_001: {"columns": columns}}}))
    began = time.process_time()
    read_frozen(read_project(dbt_manifest({})), file)
    assert time.process_time() - began < SECONDS
