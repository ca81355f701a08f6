"""The operators' selection is the command line's: select, exclude, selector, state."""

from __future__ import annotations

import pytest

pytest.importorskip("airflow")

from airflow_planproof import PlanproofAuditOperator, PlanproofCheckOperator, PlanproofRunOperator


@pytest.mark.parametrize(
    ("operator", "state"),
    [(PlanproofCheckOperator, "state"), (PlanproofRunOperator, "state"), (PlanproofAuditOperator, "older")],
)
def test_a_selection_reaches_the_request_and_may_be_a_template(operator, state):
    given = {"select": "state:modified+ tag:x", "exclude": ["old"], "selector": "nightly", state: "prod"}
    task = operator(task_id="t", project_dir="/p", **given)
    request = task.request()
    assert (request.select, request.exclude) == (("state:modified+", "tag:x"), ("old",))
    assert (request.selector, request.state) == ("nightly", "prod")
    assert {"select", "exclude", "selector", state} <= set(operator.template_fields)
    plain = operator(task_id="t", project_dir="/p").request()
    assert (plain.selector, plain.state) == (None, None)
