"""What the guard counts on in dbt, broken on purpose, one thing at a time: no run writes without a guard."""

from __future__ import annotations

import importlib
import inspect
import re
import shutil
import subprocess
import sys
from dataclasses import fields
from enum import EnumMeta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from quick import keep_quick

pytest.importorskip("dbt.adapters.spark")

from dbt.adapters.factory import FACTORY

from dbt_planproof import absence, install, relied

BROKEN = """
    {{ config(materialized='table', file_format='parquet', meta={'planproof': {'tests': var('tests', 'after')}}) }}
    select {% if var('bad', false) %} 'x' {% else %} 1 {% endif %} as id
    """
CONTRACT = """
    models:
      - name: kept
        config: {contract: {enforced: true}}
        columns: [{name: id, data_type: int}]
    """
STOPPED = "planproof cannot guard this run, and stops it before anything is written"


@pytest.fixture(scope="module")
def project(dbt: Any) -> Any:
    """A project whose table `kept` stands, and whose next build would break its contract."""
    dbt.write({"models/kept.sql": BROKEN, "models/kept.yml": CONTRACT})
    assert dbt.run("run").success, dbt.results
    return dbt


def run(project: Any, *more: str) -> Any:
    return project.run("run", "--vars", "{bad: true}", *more)


def without(owner: Any, name: str, patch: pytest.MonkeyPatch) -> None:
    """Takes an attribute, or a dataclass's field, away from a class or module."""
    if isinstance(owner, EnumMeta):
        # Members of an enum cannot be taken away, and dbt's own events need them: only the look finds another class.
        whole, other = relied._find_named, type(owner.__name__, (), {})
        patch.setattr(
            relied, "_find_named", lambda module, name: other if name == owner.__name__ else whole(module, name)
        )
        return
    if hasattr(owner, "__dataclass_fields__") and name in owner.__dataclass_fields__:
        patch.delitem(owner.__dataclass_fields__, name)
    for found in (owner, *getattr(owner, "__mro__", ())):
        if name in vars(found):
            patch.delattr(found, name)


def broken(reliance: Any, patch: pytest.MonkeyPatch, folder: Path) -> None:
    """Makes this dbt lack the last thing that an entry of the table names."""
    if isinstance(reliance, relied.Macro):
        rewritten(reliance, patch, folder)
    elif isinstance(reliance, relied.Swapped):
        patch.setattr(FACTORY, "get_adapter_class_by_name", lambda name: object)
    elif isinstance(reliance, relied.Takes):
        owner = getattr(importlib.import_module(reliance.module), reliance.owner)
        patch.setattr(owner, reliance.method, lambda self, another: None)
    elif isinstance(reliance, relied.Calls):
        owner = getattr(importlib.import_module(reliance.module), reliance.owner)
        for name, method in inspect.getmembers(owner, inspect.isfunction):
            if reliance.names[-1] in method.__code__.co_names:
                patch.setattr(owner, name, lambda *given, **named: None)
    else:
        owner = importlib.import_module(reliance.module)
        if reliance.name == "fire_event":
            # dbt's own messages go by it, the one that says what is missing, too: only the look finds nothing.
            whole = relied._find_named
            found = lambda module, name: None if name == "fire_event" else whole(module, name)  # noqa: E731
            patch.setattr(relied, "_find_named", found)
        elif reliance.name == "get_flags":
            patch.setattr(owner, "get_flags", lambda: SimpleNamespace(VARS={}, PROJECT_DIR="."))
        elif reliance.attributes:
            without(getattr(owner, reliance.name), reliance.attributes[-1], patch)
        else:
            without(owner, reliance.name, patch)


def rewritten(macro: Any, patch: pytest.MonkeyPatch, folder: Path) -> None:
    """dbt reads the macro's package from a copy, in which the macro's last piece has another text."""
    root = Path(FACTORY.packages[macro.package])
    copy = folder / root.name
    shutil.copytree(root, copy)
    text = relied._read_macro(macro.package, macro.name)
    words = macro.pieces[-1].split()
    piece = re.search(r"\s*".join(map(re.escape, words)), text)
    for path in copy.glob("macros/**/*.sql"):
        path.write_text(path.read_text("utf-8").replace(text, text.replace(piece.group(), "another text")), "utf-8")
    patch.setitem(FACTORY.packages, macro.package, copy)
    if macro.package == "dbt_spark":
        patch.setattr("dbt.adapters.spark.Plugin.include_path", str(copy))


def test_this_dbt_has_all_that_is_relied_upon(project: Any) -> None:
    import dbt.adapters.spark as plain

    assert plain.Plugin.adapter.planproof_gated
    assert len({str(reliance) for reliance in relied.RELIANCES}) == len(relied.RELIANCES)


def first_of_each_kind(reliances: Any) -> list[Any]:
    """One thing of each kind: those of a kind are looked for in the same way."""
    return list({type(reliance): reliance for reliance in reversed(reliances)}.values())


@pytest.mark.parametrize(
    "reliance",
    keep_quick(relied.RELIANCES, *first_of_each_kind(relied.RELIANCES)),
    ids=lambda reliance: str(reliance)[:70],
)
def test_each_thing_that_is_missing_stops_the_run_before_it_writes(
    project: Any, reliance: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    before = project.state("kept")
    with monkeypatch.context() as patch:
        broken(reliance, patch, tmp_path)
        ended = run(project)
    assert not ended.success
    assert project.state("kept") == before
    said = str(ended.exception)
    assert STOPPED in said
    assert str(reliance) in said
    assert "PLANPROOF=off" in said
    assert "on_unguarded: pass" in said


def renamed(reliance: Any, patch: pytest.MonkeyPatch, folder: Path) -> None:
    """Makes the look find another method in the place of one that dbt itself calls meanwhile; breaks the rest. What the
    last invocation put in the place of dbt's methods is taken away before."""
    install.remove()
    module = importlib.import_module(reliance.module)
    if isinstance(reliance, relied.Takes):
        owner = getattr(module, reliance.owner)
        plain = getattr(owner, reliance.method)
        patch.setattr(owner, reliance.method, lambda self, *given, **named: plain(self, *given, **named))
    elif reliance.name == "get_flags":
        known = {name: value for name, value in vars(module.get_flags()).items() if name != "STORE_FAILURES"}
        patch.setattr(module, "get_flags", lambda: SimpleNamespace(**known))
    else:
        broken(reliance, patch, folder)


@pytest.mark.parametrize(
    "reliance",
    keep_quick(relied.OF_TESTS, *first_of_each_kind(relied.OF_TESTS)),
    ids=lambda reliance: str(reliance)[:70],
)
def test_tests_before_the_publish_are_not_skipped_where_dbt_lacks_a_thing_for_them(
    project: Any, reliance: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    before = project.state("kept")
    with monkeypatch.context() as patch:
        renamed(reliance, patch, tmp_path)
        ended = project.run("run", "--vars", "{tests: before}")
    assert not ended.success
    assert project.state("kept") == before
    said = str(ended.exception or project.results["kept"]["message"])
    assert str(reliance) in said, said
    assert "set `tests: after`" in said


def test_a_command_that_writes_nothing_goes_on_with_a_warning(project: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(relied, "RELIANCES", (relied.Name("dbt.nowhere", "Nothing", "a test"),))
    assert project.run("compile").success
    assert (
        "planproof does not guard this run:\n  - dbt.nowhere.Nothing (a test); found: nothing of that name"
        in project.log
    )
    assert not run(project).success


def test_a_project_may_let_it_pass(project: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    import dbt.adapters.spark as plain

    monkeypatch.setattr(relied, "RELIANCES", (relied.Name("dbt.nowhere", "Nothing", "a test"),))
    project.write({"models/free.sql": "select 1 as id"})
    unsaid = (project.root / "dbt_project.yml").read_text("utf-8")
    for said, ends in (("{on_unguarded: pass}", True), ("{on_unguarded: maybe}", False)):
        project.write({"dbt_project.yml": f"{unsaid}vars: {{planproof: {said}}}\n"})
        assert project.run("run", "--select", "free").success is ends
        assert not hasattr(plain.Plugin.adapter, "planproof_gated")
    project.write({"dbt_project.yml": unsaid})
    assert project.run("run", "--select", "free", "--vars", "{planproof: {on_unguarded: pass}}").success
    (project.root / "models/free.sql").unlink()


def test_releases_beside_the_tested_ones_are_guarded_and_named(
    project: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    before = project.state("kept")
    for tested, age in ((("0.1",), "newer"), (("99.1",), "older")):
        monkeypatch.setattr(install, "TESTED", {"dbt-core": tested})
        assert not run(project).success
        assert "PP504" in project.results["kept"]["message"]
        assert project.state("kept") == before
        assert f", {age} than the tested {tested[0]}" in capsys.readouterr().out


def test_own_modules_that_cannot_be_loaded_stop_what_writes(project: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    before = project.state("kept")
    for module in ("dbt_planproof.install", "dbt_planproof.adapter", "dbt_planproof.gate"):
        with monkeypatch.context() as patch:
            for name in ("install", "adapter", "gate"):
                patch.delattr(f"dbt_planproof.{name}", raising=False)
                patch.delitem(sys.modules, f"dbt_planproof.{name}", raising=False)
            patch.setitem(sys.modules, module, None)
            ended = run(project)
            assert not ended.success
            assert STOPPED in str(ended.exception)
            assert project.run("compile").success
    assert project.state("kept") == before


def test_without_dbts_plugin_interface_nothing_is_written_unguarded() -> None:
    code = "import sys; sys.modules['dbt.plugins'] = None; import dbt_planproof; print(dbt_planproof.plugins)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 1
    assert "dbt's interface for plugins is not there" in done.stderr
    switched = subprocess.run(
        [sys.executable, "-c", f"import os; os.environ['PLANPROOF'] = 'off'; {code}"], capture_output=True, text=True
    )
    assert switched.stdout.strip() == "[]"


def test_an_adapter_made_of_dbt_sparks_is_named(project: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(install, "read_profile_type", lambda: "databricks")
    monkeypatch.setitem(FACTORY.plugins, "databricks", SimpleNamespace(dependencies=["spark"]))
    said: list[str] = []
    monkeypatch.setattr(absence, "warn", said.append)
    install.choose_adapter()
    assert said == ["planproof does not guard this run: it guards dbt's adapter spark, and the profile's is databricks"]
    said.clear()
    monkeypatch.setitem(FACTORY.plugins, "databricks", SimpleNamespace(dependencies=[]))
    install.choose_adapter()
    assert said == []


def test_a_project_can_demand_the_guard(
    project: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    unsaid = (project.root / "dbt_project.yml").read_text("utf-8")
    project.write({"dbt_project.yml": unsaid + 'on-run-start: "{{ adapter.planproof_guards() }}"\n'})
    try:
        assert project.run("run").success, project.results
        before = project.state("kept")
        with monkeypatch.context() as patch:
            patch.setattr("dbt_planproof.plugin.PlanproofPlugin.initialize", lambda plugin: install.remove())
            assert not project.run("run", "--vars", "{bad: true}").success
        with monkeypatch.context() as patch:
            patch.setattr("dbt_planproof.reach.Reach.method", "http")
            assert not project.run("run", "--vars", "{bad: true}").success
            assert "it reaches Spark by session or thrift, not by http" in capsys.readouterr().out
        assert project.state("kept") == before
        assert project.run("run", guarded=False).success, project.results
        assert "planproof does not guard this run: PLANPROOF=off switches it off" in capsys.readouterr().out
        assert project.run("run").success, project.results
    finally:
        project.write({"dbt_project.yml": unsaid})


def test_a_node_that_dbt_does_not_name_is_stopped(project: Any) -> None:
    from dbt_planproof.gate import Gate, Stopped

    gate = Gate(SimpleNamespace(config=SimpleNamespace(project_name="shop")))
    with pytest.raises(Stopped, match="dbt does not say which node begins"):
        gate.enter(SimpleNamespace())


def test_fields_of_the_table_are_the_ones_that_dataclasses_have() -> None:
    from dbt.contracts.graph.nodes import ModelNode

    named = next(r for r in relied.RELIANCES if isinstance(r, relied.Name) and r.name == "ModelNode")
    assert {*named.attributes} - {f.name for f in fields(ModelNode)} == {"to_dict"}
