"""A metastore that fails at each call of a guarded build, one at a time: no table is created, replaced or emptied.

Through `dbt build` and `planproof run`, which compiles with dbt; the operator has a test of its own.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("dbt.adapters.spark")

from click.testing import CliRunner
from outages import LASTING, MODELS, Swept, sweep, write

from planproof.cli.group import cli

pytestmark = pytest.mark.hive

WAYS = [("gone", 1), ("absent", 1), ("empty", 1), ("gone", LASTING), ("absent", LASTING)]


@pytest.fixture(scope="module")
def project(dbt: Any) -> Any:
    dbt.write(MODELS)
    for _ in range(2):
        assert dbt.run("build").success, dbt.results
    return dbt


def built(project: Any) -> bool:
    result = project.run("build")
    if not result.success and result.result is not None:
        # What lies outside of the model is never said of it.
        said = [str(r.message) for r in result.result.results if r.message]
        assert not any("violat" in message or "internal error" in message for message in said), said
    return bool(result.success)


def ran(root: Path) -> bool:
    result = CliRunner().invoke(cli, ["run", "--project-dir", str(root), "--profiles-dir", str(root)])
    assert result.exit_code in (0, 2), result.output
    assert "internal error" not in result.output
    return result.exit_code == 0


def told(door: str, how: str, length: int, swept: Swept) -> None:
    asked = f"{len(swept.calls)} of {swept.kinds} kinds of {swept.asked} calls"
    print(f"{door}, {how} {length}: {asked}: {swept.failed} builds failed, {swept.healthy} did not")


@pytest.mark.conformance
@pytest.mark.parametrize(("how", "length"), WAYS)
def test_each_call_of_dbt_build(project: Any, spark: Any, metastore: Any, how: str, length: int) -> None:
    swept = sweep(metastore, spark, project.place, lambda: built(project), how, length)
    told("dbt build", how, length, swept)
    assert swept.failed


@pytest.mark.conformance
@pytest.mark.parametrize(("how", "length"), WAYS)
def test_each_call_of_planproof_run(
    tmp_path: Path, spark: Any, database: str, metastore: Any, how: str, length: int
) -> None:
    root = write(tmp_path, database)
    for _ in range(2):
        assert ran(root)
    swept = sweep(metastore, spark, database, lambda: ran(root), how, length)
    told("planproof run", how, length, swept)
    assert swept.failed


def test_some_calls_of_dbt_build(project: Any, spark: Any, metastore: Any) -> None:
    """A staged table whose drop is taken for done. The sweeps have every other call, too."""
    only = "^dropTable own"
    swept = sweep(metastore, spark, project.place, lambda: built(project), "absent", 1, only=only)
    told("dbt build", "absent", 1, swept)
    assert {call.split()[0] for call in swept.calls} == {"dropTable"}
