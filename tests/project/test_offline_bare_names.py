"""Names that mean a function unless a column has them (`user`, `current_date`), over columns that are not all known."""

from __future__ import annotations

import json

import pytest
from offline_reports import ID, found

from planproof_engine.finding import Verdict

UNDECLARED = {"raw.events": {}}
WIDER = {"raw.events": {"id": "bigint"}}


@pytest.mark.parametrize(
    "sql",
    [
        "select user['userId'] as user_id from raw.events",
        "select `user`['userId'] as user_id from raw.events",
        "select user:a.b as b from raw.events",
        "select id from raw.events order by user['userId']",
        "select id from raw.events where current_date['day'] = 1",
        "with e as (select * from raw.events) select user['userId'] as user_id from e",
        "with e as (select user['userId'] as user_id from raw.events) select user_id from e",
    ],
)
@pytest.mark.parametrize("columns", [{}, {"id": "bigint"}])
def test_a_bare_name_may_be_a_column_that_is_not_known(check, sql, columns):
    report = check({"mart": {"sql": sql, "parents": ["raw.events"]}}, {"raw.events": columns})["mart"]
    assert found(report) == [("PP111", None)]


@pytest.mark.parametrize("sql", ["select user()['a'] as a from raw.events", "select user['a'] as a"])
def test_a_call_and_a_bare_name_of_a_query_without_from_mean_the_function(check, sql):
    report = check({"mart": {"sql": sql, "parents": ["raw.events"]}}, UNDECLARED)["mart"]
    assert found(report) == [("PP110", None)]


@pytest.mark.parametrize(
    ("item", "verdicts"),
    [
        ("user", {Verdict.UNPROVED}),
        ("concat(current_user, 'x')", {Verdict.UNPROVED}),
        ("user()", {Verdict.PROVED}),
        ("'me'", {Verdict.PROVED}),
    ],
)
def test_nothing_is_proved_of_what_a_column_of_that_name_may_take(check, item, verdicts):
    who = {"data_type": "string", "constraints": [{"type": "not_null"}]}
    model = {
        "sql": f"select id, {item} as who from raw.events",
        "parents": ["raw.events"],
        "contract": True,
        "columns": {"id": ID, "who": who},
    }
    report = check({"mart": model}, WIDER)["mart"]
    of_who = [f for f in report.findings if f.field == "who"]
    assert {f.verdict for f in of_who} == verdicts
    if Verdict.UNPROVED in verdicts:
        assert all("raw.events may have more columns than the manifest declares" in f.message for f in of_who)


@pytest.mark.parametrize(
    ("sql", "verdict", "codes"),
    [
        ("select user as who from raw.events", Verdict.PROVED, {"PP505"}),
        ("select user['x'] as who from raw.events", Verdict.VIOLATED, {"PP110"}),
    ],
)
def test_a_bare_name_is_the_function_where_all_columns_are_known(check, tmp_path, sql, verdict, codes):
    frozen = tmp_path / "planproof_sources.json"
    frozen.write_text(json.dumps({"sources": {"raw.events": {"columns": [{"name": "id", "type": "bigint"}]}}}))
    who = {"data_type": "string", "constraints": [{"type": "not_null"}]}
    model = {"sql": sql, "parents": ["raw.events"], "contract": True, "columns": {"who": who}}
    report = check({"mart": model}, WIDER, frozen=frozen)["mart"]
    assert report.verdict is verdict
    assert {f.code for f in report.of(verdict)} >= codes
