"""What stops a publish before its audit, and what only after it."""

from __future__ import annotations

import pytest

from planproof.contract import Model
from planproof.judge.draft import Draft
from planproof.settings import Settings
from planproof_engine.finding import Finding, Verdict

OPEN = Finding(Verdict.UNPROVED, "PP506", "analyzed", "id")
LOOSENED = Finding(Verdict.WARNING, "PP204", "optimized", "id")


@pytest.mark.parametrize("finding", [OPEN, LOOSENED])
def test_what_the_audit_decides_stops_nothing_before_it(finding: Finding) -> None:
    draft = Draft(Model("s.t", "select 1 as id"), Settings(fail_on="warning"))
    draft.add([finding])
    assert draft.fails
    assert not draft.fails_already


@pytest.mark.parametrize(
    "finding",
    [Finding(Verdict.VIOLATED, "PP504", "analyzed"), Finding(Verdict.UNPROVED, "PP111", "logical")],
)
def test_what_no_audit_decides_stops_at_once(finding: Finding) -> None:
    draft = Draft(Model("s.t", "select 1 as id"), Settings(fail_on="unproved"))
    draft.add([finding])
    assert draft.fails
    assert draft.fails_already


@pytest.mark.parametrize("code", ["PP102", "PP103", "PP301", "PP401"])
@pytest.mark.parametrize("settings", [Settings(allow=("PP102", "PP103", "PP301", "PP401")), Settings(fail_on="never")])
def test_nothing_can_allow_what_harms_the_table(code: str, settings: Settings) -> None:
    draft = Draft(Model("s.t", "select 1 as id"), settings)
    draft.add([Finding(Verdict.VIOLATED, code, "files", message="damaged")])
    assert draft.fails
    assert draft.fails_already


def test_what_only_disappoints_can_be_allowed() -> None:
    draft = Draft(Model("s.t", "select 1 as id"), Settings(allow=("PP504",)))
    draft.add([Finding(Verdict.VIOLATED, "PP504", "analyzed")])
    assert not draft.fails
