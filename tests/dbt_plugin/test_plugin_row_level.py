"""Formats that take MERGE, which dbt writes itself: guarded it does what it does bare, but for what breaks a contract.

None of their connectors is at hand; a small one of the tests' own, compiled where there is a JDK, goes by their names.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.conformance
HERE = Path(__file__).with_name("row_level")


@pytest.fixture(scope="module")
def classes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pyspark = pytest.importorskip("pyspark")
    pytest.importorskip("dbt.adapters.spark")
    compiler = shutil.which("javac")
    if compiler is None:
        pytest.skip("the connector's compiler, javac, is not installed")
    made = tmp_path_factory.mktemp("classes")
    jars = Path(pyspark.__file__).parent / "jars/*"
    command = [compiler, "-nowarn", "-cp", str(jars), "-d", str(made), str(HERE / "RowLevel.java")]
    subprocess.run(command, check=True, capture_output=True, text=True)
    formats = made / "META-INF/services/org.apache.spark.sql.sources.DataSourceRegister"
    formats.parent.mkdir(parents=True)
    formats.write_text("RowLevel$Delta\nRowLevel$Iceberg\n", "utf-8")
    return made


@pytest.fixture(scope="module")
def told(classes: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[tuple[str, str], Any]:
    """By command and way: dbt's words on each node, the relations, planproof's outcomes."""
    home = tmp_path_factory.mktemp("builds")
    command = [sys.executable, str(HERE / "builds.py"), str(home), str(classes)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=home, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    lines = [json.loads(line[5:]) for line in done.stdout.splitlines() if line.startswith("ROWS ")]
    return {(name, way): rest for name, way, *rest in lines}


def statuses(told: Any, command: str, way: str) -> dict[str, str]:
    return {name: status for name, (status, _) in told[command, way][0].items()}


def values(told: Any, command: str, way: str, relation: str, column: str) -> list[str]:
    return [row[column] for row in told[command, way][1][relation][2]]


def test_what_keeps_its_contract_is_as_without_the_guard(told: Any) -> None:
    for command in ("seeded", "first", "second", "again", "gone", "whole", "cloned", "cloned again"):
        assert statuses(told, command, "guarded") == statuses(told, command, "bare"), command
        assert told[command, "guarded"][1] == told[command, "bare"][1], command
    assert values(told, "again", "guarded", "merged", "name") == ["a", "B", "c"]
    assert len(values(told, "gone", "guarded", "gone", "id")) > len(values(told, "first", "guarded", "gone", "id"))
    assert values(told, "cloned", "guarded", "other.cloned", "id") == ["1", "2"]
    outcomes = told["second", "guarded"][2]
    assert ["merged", "audited", "proved"] in outcomes
    assert ["whole", "audited", "proved"] in outcomes
    assert ["below", "published", "proved"] in outcomes


def test_a_type_that_breaks_the_contract_is_stopped_before_anything_is_merged(told: Any) -> None:
    nodes, relations, outcomes = told["types", "guarded"]
    assert [relations[name] for name in ("merged", "whole")] == [
        told["again", "guarded"][1][name] for name in ("merged", "whole")
    ]
    assert ["PP504" in nodes["merged"][1], "PP502" in nodes["whole"][1]] == [True, True]
    assert [o for o in outcomes if o[0] == "merged"] == [["merged", "rejected", "violated"]]


def test_a_null_is_stopped_where_the_merge_would_store_it(told: Any) -> None:
    assert values(told, "nulls", "bare", "merged", "name") == ["a", "B", "None"]
    nodes, relations, outcomes = told["nulls", "guarded"]
    assert "PP505" in nodes["merged"][1]
    assert relations["merged"] == told["again", "guarded"][1]["merged"]
    assert [o for o in outcomes if o[0] == "merged"] == [["merged", "rejected", "violated"]]
    assert nodes["some"][0] == "success", "its null is in a column that the merge does not update"
    assert relations["some"] == told["nulls", "bare"][1]["some"]
    assert ["some", "audited", "proved"] in outcomes


@pytest.mark.parametrize("name", ["swapped", "hooked"])
def test_nothing_is_deleted_for_rows_that_are_not_inserted(told: Any, name: str) -> None:
    """Delete and insert are two statements: the first waits until the rows of the second are counted."""
    assert values(told, "again", "guarded", name, "name") == ["a", "B", "c"]
    assert values(told, "nulls", "bare", name, "name") == ["a", "B", "None"]
    nodes, relations, outcomes = told["nulls", "guarded"]
    assert "PP505" in nodes[name][1]
    assert relations[name] == told["again", "guarded"][1][name]
    assert [o for o in outcomes if o[0] == name] == [[name, "rejected", "violated"]]


def test_rows_whose_place_was_made_are_not_held_back(told: Any) -> None:
    """Who reads the table between a delete and an insert sees the delete; then the insert is not stopped any more."""
    nodes, relations, outcomes = told["nulls", "guarded"]
    assert nodes["peeked"][0] == "success"
    assert relations["peeked"] == told["nulls", "bare"][1]["peeked"]
    assert ["peeked", "audited", "violated"] in outcomes
