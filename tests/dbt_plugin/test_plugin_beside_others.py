"""What other sessions do to the tables of a `dbt run`, and what dbt and the report say of it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("dbt.adapters.spark")

from planproof import Guard
from planproof.publish.kernel import Publish
from planproof.publish.transaction import lock, owner

APPENDED = (
    "{{ config(materialized='incremental', incremental_strategy='append', file_format='parquet') }} select 2 as id"
)
MADE = "create table {t} using parquet as select 1 as id"
OTHERS: dict[str, tuple[str, list[str], str, list[tuple[int]] | None]] = {
    # The method of `Publish` before which it happens, what happens, dbt's status, and the rows in the end.
    "dropped_while_staged": ("_audit", ["drop table {t}"], "error", None),
    "made_anew_before_the_swap": ("_commit", ["drop table {t}", MADE.replace("1", "9")], "error", [(9,)]),
    "added_to_before_the_swap": ("_commit", ["insert into {t} values (9)"], "success", [(1,), (2,), (9,)]),
    "dropped_after_the_swap": ("_tell_of_others", ["drop table {t}"], "success", None),
    "recovered_while_staged": ("_audit", [], "error", [(1,)]),
    "recovered_after_the_swap": ("_tell_of_others", [], "success", [(1,), (2,)]),
}


def test_dbt_and_the_report_agree_on_what_became_of_the_rows(dbt: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    other = dbt.spark.newSession()
    for name in OTHERS:
        dbt.write({f"models/{name}.sql": APPENDED})
        dbt.spark.sql(MADE.format(t=f"{dbt.place}.{name}"))

    def before(method: str) -> Callable[..., Any]:
        plain = getattr(Publish, method)

        def run(self: Any) -> Any:
            moment, statements, _, _ = OTHERS[self.job.names.target.last]
            if moment == method:
                for statement in statements:
                    other.sql(statement.format(t=self.job.model.name))
                if not statements:
                    Guard(other).recover(force=True)
            return plain(self)

        return run

    with monkeypatch.context() as patch:
        for method in ("_audit", "_commit", "_tell_of_others"):
            patch.setattr(Publish, method, before(method))
        # One thread: a forced recovery takes each table of the database over.
        dbt.run("run", "--threads", "1")
    assert dbt.statuses == {name: status for name, (_, _, status, _) in OTHERS.items()}
    for name, (_, _, status, rows) in OTHERS.items():
        assert (dbt.reports[name]["outcome"] == "published") == (status == "success"), name
        assert (dbt.rows(name) if dbt.exists(name) else None) == rows, name


def test_who_was_told_to_wait_is_run_by_dbt_retry(dbt: Any) -> None:
    root = dbt.spark.catalog.getDatabase(dbt.place).locationUri.removeprefix("file:")
    dbt.write({"models/awaited.sql": APPENDED})
    dbt.spark.sql(MADE.format(t=f"{dbt.place}.awaited"))
    held = Path(lock.path(root, "awaited", 1))
    held.parent.mkdir(parents=True, exist_ok=True)
    owner.begin("night")
    try:
        held.write_text(json.dumps(owner.Owner.here("night").form()), "utf-8")
        assert not dbt.run("run", "--select", "awaited").success
    finally:
        owner.note_end("night")
    assert "PP604" in dbt.results["awaited"]["message"]
    assert dbt.rows("awaited") == [(1,)]
    assert dbt.run("retry").success, dbt.results
    assert dbt.rows("awaited") == [(1,), (2,)]
