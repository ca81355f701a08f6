"""The page of each code: its failing example shows it, the mended one does not, and docs/codes is what is generated."""

from __future__ import annotations

from pathlib import Path

import pytest
from code_pages import FOLDER, render_pages

from planproof.cli.code_examples import EXAMPLES, SOURCES, Case
from planproof.project.request import Request
from planproof_engine.codes import CODES


@pytest.fixture(scope="module")
def found(dbt_manifest, tmp_path_factory):
    """The findings of every example that are no proof, by code and by which of the two it is; one check per mode."""
    import json

    reports = {}
    for ansi in (False, True):
        models = {
            f"{code}_{which}".lower(): model(case)
            for code, example in EXAMPLES.items()
            for which, case in (("failing", example.failing), ("fixed", example.fixed))
            if case.ansi is ansi
        }
        path = tmp_path_factory.mktemp("codes") / "manifest.json"
        path.write_text(json.dumps(dbt_manifest(models, sources=SOURCES)))
        request = Request("check", manifest=str(path), spark={"spark.sql.ansi.enabled": str(ansi).lower()})
        for report in request.reports(None):
            reports[report.model.split(".")[-1]] = [f for f in report.findings if f.verdict.value != "proved"]
    return reports


def model(case: Case) -> dict:
    columns = {
        name: {"data_type": kind.lstrip("!"), "constraints": [{"type": "not_null"}] if kind.startswith("!") else []}
        for name, kind in case.columns
    }
    own = {"config": {"meta": {"planproof": dict(case.settings)}}} if case.settings else {}
    return {"sql": case.sql, "parents": list(SOURCES), "columns": columns, "contract": bool(columns), **own}


@pytest.mark.parametrize("code", EXAMPLES)
def test_the_failing_example_shows_its_code_and_the_mended_one_does_not(found, code):
    assert code in {f.code for f in found[f"{code}_failing".lower()]}, found[f"{code}_failing".lower()]
    left = [f for f in found[f"{code}_fixed".lower()] if f.code == code or f.verdict.value == "violated"]
    assert left == []


def test_the_pages_are_what_the_tool_writes():
    written = {path.name: path.read_text(encoding="utf-8") for path in Path(FOLDER).iterdir()}
    assert written == render_pages(), "run `python tools/code_pages.py`"
    assert set(EXAMPLES) <= set(CODES)
