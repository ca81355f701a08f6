"""The planes of an Iceberg table are those of the plan that wrote it, where Spark shows them."""

from __future__ import annotations

from typing import Any

import pytest

from planproof import Guard, Model, Report
from planproof.session.classic import ClassicSession
from planproof_engine.quoting import quote_parts

QUERIES = {
    "projected": "select id, cast(id as string) as text, named_struct('a', id) as s from range(10)",
    "aggregated": "select id % 3 as k, count(*) as n, collect_list(id) as ids from range(10) group by 1 order by 1",
    "joined": "select a.id, b.id as other from range(10) a left join range(5) b on a.id = b.id",
    "united": "select id, cast(id as string) as text from range(3) union all select 1, null",
    "filtered": "select nullif(id, 3) as odd from range(10) where nullif(id, 3) is not null",
    "empty": "select id, 'a' as text from range(10) where 1 = 0",
    "constant": "select 1 as one, cast(null as decimal(9,2)) as d",
    "limited": "select /*+ repartition(2) */ distinct id, row_number() over (order by id) as n from range(10) limit 3",
}


def planes(report: Report) -> dict[str, Any]:
    return {p.plane: p.schema for p in report.planes if p.plane in ("optimized", "executed")}


def how(report: Report) -> str:
    return next(e.how for e in report.invariants if e.invariant == "I7")


@pytest.mark.parametrize("adaptive", ["true", "false"])
def test_they_are_what_the_query_is_planned_to(iceberg: Any, lake: str, adaptive: str) -> None:
    session, shown = ClassicSession(iceberg), []
    with session.change_settings({"spark.sql.adaptive.enabled": adaptive}):
        for name, sql in QUERIES.items():
            analyzed = session.analyze(sql)
            transaction = session.transactions().replace(f"{lake}.{name}", analyzed)
            written = session.write(f"insert into {transaction.staged} {sql}")
            assert written is not None, name
            behind = written.as_planned(analyzed)
            assert behind in (None, session.add_plans(analyzed)), name
            shown += [name] if behind is not None else []
            transaction.commit()
            transaction.close()
    assert shown == list(QUERIES)


def test_a_table_is_not_planned_again(iceberg: Any, lake: str, monkeypatch: pytest.MonkeyPatch) -> None:
    guard = Guard(iceberg)
    expected = guard.session.add_plans(guard.session.analyze(QUERIES["aggregated"]))
    assert expected.optimized is not None
    assert expected.executed is not None

    def planned(self: Any, found: Any) -> Any:
        raise AssertionError("planned again")

    monkeypatch.setattr(ClassicSession, "add_plans", planned)
    report = guard.publish(Model(f"{lake}.t", QUERIES["aggregated"], file_format="iceberg"))
    assert report.outcome == "published", report.findings
    assert "final plan of the write" in how(report)
    assert planes(report) == {
        plane: tuple((f.name, f.type.simple, f.nullable) for f in schema)
        for plane, schema in (("optimized", expected.optimized), ("executed", expected.executed))
    }


def test_a_column_that_is_cast_on_its_way_in_is_planned_as_the_query_has_it(iceberg: Any, lake: str) -> None:
    """Iceberg has no tinyint: the plan that writes an int is not the query's."""
    sql = "select id, cast(id as tinyint) as small from range(3)"
    session = ClassicSession(iceberg)
    analyzed = session.analyze(sql)
    transaction = session.transactions().replace(quote_parts((*lake.split("."), "t")), analyzed)
    written = session.write(f"insert into {transaction.staged} {sql}")
    transaction.discard()
    transaction.close()
    assert written is not None
    assert [f.type.simple for f in written.executed] == ["bigint", "int"]
    assert written.as_planned(analyzed) is None
    report = Guard(iceberg).publish(Model(f"{lake}.t", sql, file_format="iceberg"))
    assert (report.outcome, [p.status for p in report.planes if p.plane == "executed"]) == ("published", ["read"])
    assert [t for _, t, _ in planes(report)["executed"]] == ["bigint", "tinyint"]
    assert "final plan of the write" not in how(report)
