"""What `planproof run` shows while it works: live on a terminal, a line for each step elsewhere."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from planproof.cli.run import _RunProgress
from planproof.project import read_project
from planproof.report.details import Details
from planproof.report.model import Report
from planproof_engine.finding import Finding, Verdict


@pytest.mark.parametrize("terminal", [False, True])
def test_each_step_is_told_as_dbt_tells_it(dbt_manifest, terminal: bool) -> None:
    err = Console(file=io.StringIO(), force_terminal=terminal, width=100, color_system=None)
    out = Console(file=io.StringIO(), width=100)
    table = {"materialized": "table"}
    project = read_project(
        dbt_manifest({"orders": {"sql": "select 1 as id", "config": table}, "late": {"sql": "select 2 as id"}})
    )
    models = sorted((n for n in project.nodes.values() if n.kind == "model"), key=lambda n: n.name, reverse=True)
    live = []
    with err.status("reading the project") as status:
        shown = _RunProgress(status, err, out)
        live.append(str(status.status))
        shown.on_spark_start()
        live.append(str(status.status))
        shown.on_compile()
        live.append(str(status.status))
        shown.on_selection(models)
        for node, outcome in zip(models, ("published", "rejected")):
            shown.on_model_begin(node)
            live.append(str(status.status))
            found = (Finding(Verdict.VIOLATED, "PP504", "analyzed", "id"),) if outcome == "rejected" else ()
            details = Details(materialized=node.materialized, contract=False)
            shown.on_model_end(Report(node.relation, outcome, found, rows=1200, seconds=0.31, details=details))
    steps = [
        "Spark starts",
        "dbt compiles the project",
        "1 of 2 START table shop.orders",
        f"2 of 2 START {models[1].materialized} shop.late",
    ]
    told = err.file.getvalue()  # type: ignore[attr-defined]
    if terminal:
        assert live == ["reading the project", *steps]
        assert "\n1 of 2" not in told, "it moves in one line"
    else:
        assert told.splitlines() == steps
    first, second = out.file.getvalue().splitlines()  # type: ignore[attr-defined]
    assert " ".join(first.split()) == "1 of 2 ✓ shop.orders table 1,200 rows 0.3 s published, no contract"
    assert second.startswith("2 of 2  ✗ shop.late")
    assert second.endswith("rejected, 1 violated")
