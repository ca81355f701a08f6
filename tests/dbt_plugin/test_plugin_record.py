"""The report's file: whole at every moment, at once where something was stopped, and complete at the end."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("dbt.adapters.spark")

from dbt_planproof.record import Record
from planproof import Report
from planproof.report.run import RunReport


def models(target: Path) -> list[str]:
    return [r.model for r in RunReport.from_json((target / "planproof/report.json").read_text("utf-8")).reports]


def test_what_was_stopped_is_said_at_once_and_the_rest_at_the_end(tmp_path: Path) -> None:
    record = Record("shop")
    record.add(Report("a", "published"), tmp_path, "build")
    record.add(Report("b", "published"), tmp_path, "build")
    assert models(tmp_path) == ["a"]
    record.add(Report("c", "rejected"), tmp_path, "build")
    assert models(tmp_path) == ["a", "b", "c"]
    record.add(Report("d", "published"), tmp_path, "build")
    assert models(tmp_path) == ["a", "b", "c"]
    record.flush()
    assert models(tmp_path) == ["a", "b", "c", "d"]
    assert [p.name for p in (tmp_path / "planproof").iterdir()] == ["report.json"]
