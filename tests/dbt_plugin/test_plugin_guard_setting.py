"""`guard: off` leaves a model to dbt; `guard: watch` publishes it in spite of its findings, and says what would have
stopped it."""

from __future__ import annotations

import json
from typing import Any

import pytest
from quick import keep_quick

pytest.importorskip("dbt.adapters.spark")

BROKEN = """
    {{{{ config(materialized='{}', file_format='parquet', on_schema_change='fail',
        meta={{'planproof': {}}}) }}}}
    select if(id = 2, null, id) as id from range(5)
    """
FILES = {
    "models/off/left.sql": BROKEN.format("table", "{'guard': 'off'}"),
    "models/off/left_with_mistakes.sql": BROKEN.format("table", "{'guard': false, 'fail_onn': 'never'}"),
    "models/watched.sql": BROKEN.format("table", "{'guard': 'watch', 'on_violation': 'quarantine'}"),
    "models/watched_adds.sql": BROKEN.format("incremental", "{'guard': 'watch', 'tests': 'before'}"),
    "models/watched_healthy.sql": """
        {{ config(materialized='table', file_format='parquet', meta={'planproof': {'guard': 'watch'}}) }}
        select id from range(5)
        """,
    "models/mistyped.sql": BROKEN.format("table", "{'guard': 'wach'}"),
    "models/guarded.sql": "{{ config(materialized='table') }} select 1 as id",
    "models/reads_left.sql": "{{ config(materialized='table') }} select id from {{ ref('left') }}",
    "models/reads_watched.sql": "{{ config(materialized='table') }} select id from {{ ref('watched') }}",
}
PROMISED = """
      - name: {}
        config: {{contract: {{enforced: true}}}}
        columns: [{{name: id, data_type: bigint, constraints: [{{type: not_null}}]}}]
    """
CONTRACTED = (
    *("left", "left_with_mistakes", "watched", "watched_adds", "watched_healthy", "reads_left", "reads_watched"),
)


@pytest.fixture(scope="module")
def built(dbt: Any, capfd_module: Any) -> str:
    """What two builds printed, the second one's."""
    dbt.write(FILES)
    dbt.write({"models/contracts.yml": "models:\n" + "".join(PROMISED.format(name).rstrip() for name in CONTRACTED)})
    printed = ""
    for _ in range(2):
        capfd_module.readouterr()
        dbt.run("build")
        printed = capfd_module.readouterr().out
    return printed


@pytest.fixture(scope="module")
def capfd_module() -> Any:
    from _pytest.capture import CaptureFixture, FDCapture

    capture: Any = CaptureFixture(FDCapture, None, _ispytest=True)
    capture._start()
    yield capture
    capture.close()


def test_neither_setting_stops_a_model(dbt: Any, built: str) -> None:
    statuses = dbt.statuses
    assert {name for name, status in statuses.items() if status != "success"} == {
        "mistyped",
        "reads_left",
        "reads_watched",
    }
    assert dbt.rows("left") == dbt.rows("watched") == [(0,), (1,), (3,), (4,), (None,)]
    assert len(dbt.rows("watched_adds")) == 10


@pytest.mark.parametrize("reader", ["reads_left", "reads_watched"])
def test_what_was_not_held_proves_nothing_to_those_that_read_it(dbt: Any, built: str, reader: str) -> None:
    assert "PP505" in dbt.results[reader]["message"]


def test_a_value_that_is_not_known_is_refused_with_the_nearest_one(dbt: Any, built: str) -> None:
    assert "'wach' is not one of on, watch, off; did you mean 'watch'" in dbt.results["mistyped"]["message"]
    assert not dbt.exists("mistyped")


def test_the_closing_line_names_what_was_left_and_what_would_have_been_stopped(dbt: Any, built: str) -> None:
    assert built.splitlines()[-1].partition("planproof: ")[2] == (
        "1 published (1 without a contract), 2 stopped, 1 could not run, "
        "3 watched (2 would have been stopped: watched, watched_adds), "
        "2 left to dbt (2 models: left: guard: off; left_with_mistakes: guard: off); "
        f"report {dbt.root}/target/planproof/report.json"
    )


def test_a_watched_model_warns_of_what_would_have_stopped_it(dbt: Any, built: str) -> None:
    said = built.partition("planproof would have stopped watched: ")[2]
    assert said.startswith("1 violation. It was published all the same: `guard: watch` stops nothing.")
    assert "PP505  violated  id" in said
    assert "would have stopped watched_healthy" not in built


def test_a_term_is_told_once_and_at_its_place(dbt: Any, built: str) -> None:
    """What the stored rows decide is not open any more, whatever the query alone could say of it."""
    [broken] = [f for f in dbt.reports["watched"]["findings"] if f["field"] == "id" and f["code"] in ("PP505", "PP506")]
    assert (broken["code"], broken["verdict"]) == ("PP505", "violated")
    assert broken["origin"]["file"] == "models/watched.sql"
    assert "let the run count its nulls" not in built


def test_the_report_holds_what_was_seen(dbt: Any, built: str) -> None:
    reports = dbt.reports
    assert "left" not in reports
    found = reports["watched"]
    assert (found["outcome"], found["verdict"], found["details"]["guard"]) == ("published", "violated", "watch")
    assert {p["plane"] for p in found["planes"] if p["status"] == "read"} >= {
        "contract",
        "logical",
        "analyzed",
        "files",
    }
    assert reports["watched_healthy"]["verdict"] == "proved"
    remarks = json.loads((dbt.root / "target/planproof/report.json").read_text("utf-8"))["remarks"]
    assert "left was not guarded: guard: off" in remarks


def test_only_what_is_off_is_written_by_dbt(dbt: Any, built: str) -> None:
    """A table that the guard publishes lies in a folder of its own."""
    for name, own in (("left", True), ("watched", False), ("guarded", False)):
        rows = dbt.spark.sql(f"describe extended {dbt.place}.{name}").collect()
        (location,) = [row[1] for row in rows if row[0] == "Location"]
        assert location.endswith(f"/{name}") is own


def test_an_error_of_our_own_is_said_of_a_watched_model_and_stops_nothing(
    dbt: Any, built: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from planproof.publish import kernel

    def broken(*given: Any, **named: Any) -> Any:
        raise ZeroDivisionError("a defect")

    monkeypatch.setattr(kernel, "begin", broken)
    assert dbt.run("run", "--select", "watched_healthy").success
    said = "watched_healthy: internal error in planproof: ZeroDivisionError: a defect"
    assert said in dbt.log
    assert "dbt runs this model as if planproof were absent" in dbt.log


HARMFUL = {
    "another_type": "select cast(id as int) as id from range(5)",
    "no_column": "select 1 as other",
    "no_source": "select id from nowhere",
    "fails": "select id + cast(raise_error('no rows today') as bigint) as id from range(5)",
}
"""Queries whose table nobody can publish; dbt alone drops the old table before it finds out."""
KINDS = ("table", "incremental", "view")
CASES = [*(("contract", name) for name in HARMFUL), ("nothing", "no_source"), ("nothing", "fails")]
HEAD = (
    "{{ config(materialized='KIND', file_format='parquet', on_schema_change='fail', "
    "meta={'planproof': {'guard': 'watch'}}) }}\n"
)


@pytest.fixture(scope="module", params=keep_quick(KINDS, "table"))
def harmed(dbt: Any, request: pytest.FixtureRequest) -> tuple[str, dict[str, str]]:
    """A kind of model, and each one's status, after all were built once and then given a query of `HARMFUL`."""
    kind: str = request.param
    contracts = [PROMISED.format("_".join((kind, *case))).rstrip() for case in CASES if case[0] == "contract"]
    dbt.write({f"models/harm_{kind}/contracts.yml": f"models:{''.join(contracts)}\n"})
    for healthy in (True, False):
        for has, name in CASES:
            query = "select id from range(3)" if healthy else HARMFUL[name]
            dbt.write({f"models/harm_{kind}/{kind}_{has}_{name}.sql": HEAD.replace("KIND", kind) + query})
        dbt.run("run", "--full-refresh", "--select", f"harm_{kind}")
        assert not healthy or set(dbt.statuses.values()) == {"success"}, dbt.results
    return kind, dbt.statuses


@pytest.mark.parametrize(("has", "name"), CASES)
def test_what_nobody_can_publish_leaves_a_watched_table_as_it_was(
    dbt: Any, harmed: tuple[str, dict[str, str]], has: str, name: str
) -> None:
    kind, statuses = harmed
    is_unread = (kind, has, name) == ("view", "nothing", "fails")
    assert statuses[f"{kind}_{has}_{name}"] == ("success" if is_unread else "error")
    if not is_unread:
        assert dbt.rows(f"{kind}_{has}_{name}") == [(0,), (1,), (2,)]


def test_what_dbts_own_contract_ends_is_told_too(dbt: Any, harmed: tuple[str, dict[str, str]]) -> None:
    told = f"planproof would have stopped {harmed[0]}_contract_another_type: 1 violation. Nothing was written"
    assert told in dbt.log


def test_a_contract_that_planproof_cannot_read_is_left_to_dbt_and_the_publish_is_not(dbt: Any) -> None:
    dbt.write(
        {
            "models/unread/unread.sql": """
                {{ config(materialized='table', meta={'planproof': {'guard': 'watch'}}, file_format='parquet') }}
                select 1 as id
                """,
            "models/unread/contracts.yml": """
                models:
                  - name: unread
                    config: {contract: {enforced: true}}
                    columns: [{name: id, data_type: int, constraints: [{type: check}]}]
                """,
        }
    )
    assert dbt.run("run", "--select", "unread").success, dbt.results
    assert "planproof watches unread without its contract: " in dbt.log
    assert (dbt.reports["unread"]["outcome"], dbt.reports["unread"]["details"]["guard"]) == ("published", "watch")
