"""PP201 keeps a case that `planproof derive` reads, and says what made the field."""

from __future__ import annotations

import json

import pytest

from planproof import Catalog, Conf, plan
from planproof.judge.reproducer import maker, reproducer
from planproof_engine.cases import derive
from planproof_engine.types import Array, Map, parse_type

CATALOG = Catalog(
    {
        "s.t": [
            ("id", "bigint", False),
            ("xs", Array(parse_type("struct<a:int NOT NULL>"), False), False),
            ("m", Map(parse_type("string"), parse_type("int"), False), True),
        ],
        "s.u": [("id", "bigint", True), ("at", "timestamp_ntz", True)],
    }
)


@pytest.mark.parametrize(
    ("query", "conf"),
    [
        ("select transform(xs, x -> x.a) as y, map_values(m) as v from s.t", Conf()),
        ("select t.id, u.at, timestamp'2026-01-01 00:00:00' as n from s.t join s.u on t.id = u.id", Conf(ansi=False)),
        ("select id as a, id as A, size(xs) from s.t", Conf(case_sensitive=True, timestamp_type="TIMESTAMP_NTZ")),
        (
            "select timestamp'2026-01-01 00:00:00' as n, xs[0].a from s.t",
            Conf.of("3.5", {"spark.sql.session.timeZone": "UTC"}),
        ),
        # The value, which a name shows, depends on the zone, and the zone's default on the machine.
        ("select timestamp'2026-01-01 00:00:00Z', cast(timestamp'2026-01-01 00:00:00Z' as string)", Conf()),
    ],
)
def test_the_case_derives_the_schema_that_was_derived(query: str, conf: Conf) -> None:
    """Flags of nested types and settings are part of it: without them it would show another query."""
    found = plan(query, CATALOG, conf=conf)
    case = json.loads(reproducer(found, found.physical_schema))
    assert case["derived"] == case["analyzed"] == [str(f) for f in found.physical_schema]
    answer = derive(case)
    assert "schema" in answer, answer
    said = [(f["name"], f["type_json"], f["nullable"]) for f in answer["schema"]]
    assert said == [(f.name, f.type.json, f.nullable) for f in found.physical_schema]


def test_what_made_a_field_is_named() -> None:
    found = plan("select coalesce(u.id, 0L) as a, t.id, t.id + 1 as b from s.t left join s.u on t.id = u.id", CATALOG)
    assert maker(found, "a") == "the function coalesce"
    assert maker(found, "b") == "the function +"
    assert maker(found, "id") == "the node Scan"
    assert maker(found, None) is None
