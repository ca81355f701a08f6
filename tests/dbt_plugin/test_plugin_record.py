"""The report's file: whole at every moment, at once where something was stopped, and complete at the end."""

from __future__ import annotations

from pathlib import Path

import pytest
from projects import Dbt

pytest.importorskip("dbt.adapters.spark")

from dbt_planproof.record import Left, Record
from planproof import Report
from planproof.report.details import Details
from planproof.report.run import RunReport
from planproof_engine.finding import Finding, Verdict


def models(target: Path) -> list[str]:
    return [r.model for r in RunReport.from_json((target / "planproof/report.json").read_text("utf-8")).reports]


def test_what_was_stopped_is_said_at_once_and_the_rest_at_the_end(tmp_path: Path) -> None:
    record = Record(tmp_path, "build", "shop")
    record.add(Report("a", "published"))
    record.add(Report("b", "published"))
    assert models(tmp_path) == ["a"]
    record.add(Report("c", "rejected"))
    assert models(tmp_path) == ["a", "b", "c"]
    record.add(Report("d", "published"))
    assert models(tmp_path) == ["a", "b", "c"]
    record.flush()
    assert models(tmp_path) == ["a", "b", "c", "d"]
    assert [p.name for p in (tmp_path / "planproof").iterdir()] == ["report.json"]


def test_who_started_dbt_gets_a_file_that_no_other_dbt_writes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    own = tmp_path / "own.json"
    monkeypatch.setenv("PLANPROOF_REPORT", str(own))
    mine = Record(tmp_path, "build", "shop")
    mine.add(Report("a", "violated"))
    monkeypatch.delenv("PLANPROOF_REPORT")
    others = Record(tmp_path, "build", "shop")
    others.add(Report("b", "published"))
    assert models(tmp_path) == ["b"]
    assert [r.model for r in RunReport.from_json(own.read_text("utf-8")).reports] == ["a"]


def report(name: str, outcome: str, *findings: Finding, contract: bool = True) -> Report:
    return Report(name, outcome, findings, details=Details(contract=contract))


def test_the_closing_line_counts_each_node_once_and_names_what_dbt_wrote_itself(tmp_path: Path) -> None:
    proved = Finding(Verdict.PROVED, "PP506", "logical", "id")
    counted = Finding(Verdict.PROVED, "PP505", "files", "id")
    record = Record(tmp_path, "build", "shop")
    assert record.close() is None
    for one in (
        report("a", "published", proved),
        report("b", "published", proved, counted),
        report("c", "published", Finding(Verdict.VIOLATED, "PP505", "files", "id")),
        report("d", "published", contract=False),
        report("e", "rejected", Finding(Verdict.VIOLATED, "PP504", "analyzed", "id")),
        report("a", "published", proved),
    ):
        record.add(one)
    for name, kind, reason in (
        ("s", "seed", "it is a seed"),
        ("t", "seed", "it is a seed"),
        ("m", "model", "its file format is orc"),
        ("m", "model", "its file format is orc"),
    ):
        record.leave(name, Left(kind, reason))
    path = tmp_path / "planproof/report.json"
    assert record.close() == (
        "planproof: 4 published (1 contract proved, 1 counted, 1 violated, 1 without a contract), 1 stopped, "
        f"3 left to dbt (2 seeds, 1 model: m: its file format is orc); report {path}"
    )


GOOD = "{{ config(materialized='table', file_format='parquet') }} select 1 as id"
FAILS = "{% if execute %}{{ exceptions.raise_compiler_error('no such day') }}{% endif %} select 1 as id"


def outcomes(dbt: Dbt) -> dict[str, str]:
    return {name: report["outcome"] for name, report in dbt.reports.items()}


def test_a_node_that_was_left_to_dbt_and_failed_there_could_not_run(dbt: Dbt) -> None:
    snapshot = (
        "{% snapshot s %}{{ config(strategy='check', unique_key='id', check_cols='all', file_format='parquet') }}"
    )
    dbt.write({"models/a.sql": GOOD, "snapshots/s.sql": snapshot + " select 1 as id {% endsnapshot %}"})
    assert not dbt.run("build").success
    (dbt.root / "snapshots/s.sql").unlink()
    assert outcomes(dbt) == {"a": "published", "s": "failed"}
    assert "Invalid file format: parquet" in dbt.reports["s"]["error"]
    assert "planproof: 1 published (1 without a contract), 1 could not run; report " in dbt.log


def test_a_node_that_dbt_fails_before_its_statement_stands_in_the_report(dbt: Dbt) -> None:
    dbt.write({"models/a.sql": GOOD, "models/b.sql": GOOD})
    assert dbt.run("build").success
    assert outcomes(dbt) == {"a": "published", "b": "published"}
    dbt.write({"models/b.sql": FAILS, "models/c.sql": "select * from {{ ref('b') }}"})
    assert not dbt.run("build").success
    assert outcomes(dbt) == {"a": "published", "b": "failed"}
    assert "no such day" in dbt.reports["b"]["error"]
    assert "planproof: 1 published (1 without a contract), 1 could not run; report " in dbt.log


def test_no_report_of_an_earlier_build_outlives_one_that_ends_before_its_models(dbt: Dbt) -> None:
    dbt.write({"models/a.sql": GOOD, "models/b.sql": GOOD, "models/c.sql": GOOD})
    assert dbt.run("build").success
    for command in (["compile"], ["ls"], ["parse"], ["test"]):
        assert dbt.run(*command).success
    assert dbt.run("build", "--select", "a", guarded=False).success
    assert len(outcomes(dbt)) == 3, "what writes no model, and who switched the guard off, leave it"
    dbt.write({"models/b.sql": "select * from {{ ref('not_there') }}"})
    assert not dbt.run("build").success
    assert not (dbt.root / "target/planproof/report.json").exists(), "an empty one has the verdict `proved`"
    assert "planproof: nothing was published" in dbt.log.splitlines()[-2]


@pytest.mark.parametrize("linked", ["report.json", ""])
def test_the_report_of_an_earlier_run_is_removed_and_no_file_of_others(tmp_path: Path, linked: str) -> None:
    """A pull request may have brought a link in its place, or in that of planproof's folder."""
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "report.json").write_text("{}")
    link = tmp_path / "target" / "planproof" / linked
    link.parent.mkdir(parents=True)
    link.symlink_to(tmp_path / "outside" / linked)
    Record(tmp_path / "target", "build", "shop").begin()
    assert (tmp_path / "outside" / "report.json").read_text() == "{}"
    assert link.is_symlink() != bool(linked)
