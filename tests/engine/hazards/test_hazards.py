"""Each hazard once where it bites, and healthy queries that must not trip it."""

from __future__ import annotations

from typing import Any

import pytest

from planproof import Conf, Contract
from planproof.contract import Model
from planproof.judge.draft import Draft
from planproof.judge.planes import examine
from planproof.settings import Settings
from planproof_engine.api import plan
from planproof_engine.catalog import Catalog
from planproof_engine.codes import CODES
from planproof_engine.hazards import HAZARDS, UNDECIDED

SOURCES = {
    "padded": [("code", "char(5)", True), ("short", "char(3)", True), ("n", "int", True)],
    "t": [("a", "int", True), ("b", "int", True), ("c", "string", True)],
    "big": [("id", "bigint", True), ("price", "decimal(12,4)", True), ("code", "string", True), ("x", "double", True)],
    "ids": [("id", "int", True), ("price", "decimal(12,2)", True), ("x", "float", True)],
    "times": [("at", "timestamp", True), ("local_at", "timestamp_ntz", True), ("day", "date", True)],
    "deep": [("wide", "struct<w:struct<n:bigint>>", True), ("ns", "array<bigint>", True)],
    "nested": [("s", "struct<a:int,b:int>", True), ("xs", "array<struct<a:int,b:int>>", True)],
    "turned": [("s", "struct<b:int,a:int>", True), ("xs", "array<struct<b:int,a:int>>", True)],
}
OFF = Conf(ansi=False)

BITES = [
    ("PP120", "select a, b from t union all select b, a from t", True, "a"),
    ("PP120", "select s from nested union all select s from turned", True, "s.a"),
    ("PP120", "select xs from nested union all select xs from turned", False, "xs.element.a"),
    ("PP121", "with x(b, a) as (select a, b from t) select a, b from x", True, "b"),
    ("PP121", "select s.a from (select a, b from t) as s(b, a)", True, "b"),
    ("PP120", "select a from t where (a, b) in (select b, a from t)", True, "a"),
    ("PP121", "select b, a from nested lateral view inline(xs) v as b, a", True, "b"),
    ("PP121", "select explode(map(c, c)) as (value, key) from t", True, "value"),
    ("PP121", "select json_tuple(c, 'net', 'gross') as (gross, net) from t", True, "gross"),
    ("PP122", "select cast(s as struct<b:int,a:int>) s from nested", True, "s.b"),
    ("PP122", "select cast(xs as array<struct<b:int,a:int>>) xs from nested", True, "xs.element.b"),
    ("PP123", "select id, c from big natural join ids cross join t", True, "id"),
    ("PP123", "select t.a from t natural join times", True, None),
    ("PP124", "select big.id from big join ids on big.code = ids.id", True, "code"),
    ("PP124", "select big.id from big join ids on big.code = ids.id", False, "code"),
    ("PP124", "select id from big where code in (select id from ids)", True, "code"),
    ("PP124", "select big.id from big, ids where big.code = ids.id", False, "code"),
    ("PP124", "select id from big where exists (select 1 from ids where ids.id = big.code)", True, "code"),
    ("PP125", "select code from big union all select id from ids", True, "code"),
    ("PP125", "select id from big union all select x from big", True, "id"),
    ("PP126", "select cast(id as int) id from big", False, "id"),
    ("PP126", "select cast(price as tinyint) p from big", False, "p"),
    ("PP126", "select cast(sum(id) as int) n from big", False, "n"),
    ("PP126", "select cast(x as int) n from big", False, "n"),
    ("PP126", "select int(coalesce(id, 0)) n from big", False, "n"),
    ("PP126", "select cast(case when code = 'a' then id end as int) n from big", False, "n"),
    ("PP126", "select cast(max(id) as int) n from big", False, "n"),
    ("PP126", "select cast(round(x * 100) as int) cents from big", False, "cents"),
    ("PP126", "select cast(unix_timestamp(at) * 1000 as int) ms from times", False, "ms"),
    ("PP126", "select cast(wide.w.n as int) n from deep", False, "n"),
    ("PP126", "select cast(ns[0] as int) n from deep", False, "n"),
    ("PP126", "select cast(n as int) n from deep lateral view explode(ns) v as n", False, "n"),
    ("PP126", "select cast(ns as array<int>) ns from deep", False, "ns"),
    ("PP126", "select transform(ns, x -> cast(x as int)) ns from deep", False, "ns"),
    ("PP126", "select cast(lag(id) over (order by x) as int) n from big", False, "n"),
    ("PP126", "select cast(99999999999L as int) n", False, "n"),
    ("PP126", "select cast(x as int) n from (select 99999999999L as x)", False, "n"),
    ("PP126", "select cast(x as int) n from (select 1L as x union all select id from big)", False, "n"),
    ("PP126", "select cast(x as int) n from values (1L), (99999999999L) as v(x)", False, "n"),
    ("PP126", "select cast((select max(id) from big) as int) n", False, "n"),
    ("PP138", "select cast(c as int) n from t", False, "n"),
    ("PP138", "select c::int as n from t", False, "n"),
    ("PP138", "with w as (select cast(c as date) day from t) select day as d from w", False, "d"),
    ("PP138", "select cast(price as decimal(5,2)) p from big", False, "p"),
    ("PP138", "select transform(split(c, ','), x -> cast(x as int)) ns from t", False, "ns"),
    ("PP138", "select s.n from (select struct(a, cast(c as int) as n) as s from t)", False, "n"),
    ("PP136", "select a + b as n from t", False, "n"),
    ("PP136", "select case when a > 1 then a * 100 end as n from t", False, "n"),
    ("PP136", "select sum(a * b) as n from t", False, "n"),
    ("PP136", "select id - 1 as n from big", False, "n"),
    ("PP136", "select max(id) - min(id) as n from big", False, "n"),
    ("PP136", "select a from t where a + b > 3", False, "(a + b)"),
    ("PP136", "select transform(ns, x -> x * 2) as ns from deep", False, "ns"),
    ("PP137", "select n from padded join t on padded.code = t.c", True, "code"),
    ("PP137", "select n from padded where code in (select c from t)", True, "code"),
    ("PP137", "select n from padded where exists (select 1 from t where t.c = padded.code)", True, "code"),
    ("PP137", "with p as (select code as k from padded) select k from p join t on upper(t.c) = k", True, "k"),
    ("PP127", "select cast(a / b as int) q from t", True, "q"),
    ("PP127", "select int(a / b) n from t", False, "n"),
    ("PP127", "with x as (select a / b as q from t) select cast(q as bigint) q from x", False, "q"),
    ("PP128", "select at from times union all select local_at from times", True, "local_at"),
    ("PP128", "select day from times where at > local_at", True, "local_at"),
    ("PP128", "select day from times where local_at between at and at", True, "local_at"),
    ("PP128", "select day from times where at in (select local_at from times)", True, "local_at"),
    ("PP129", "select * from t", True, "a"),
    ("PP129", "with x as (select * from t) select x.*, 1 as one from x", True, "a"),
    ("PP129", "select * from ids union all select * from ids", True, "id"),
    ("PP130", "select cast(c as varchar(3)) c from t", True, "c"),
    ("PP132", "select coalesce(c, 0) c from t", True, "c"),
    ("PP132", "select case when a > 1 then c else -1 end as c from t", True, "c"),
]


@pytest.mark.parametrize(("code", "sql", "ansi", "column"), BITES)
def test_a_hazard_is_a_warning_that_names_its_column(code: str, sql: str, ansi: bool, column: str | None) -> None:
    logical = plan(sql, Catalog(SOURCES), Conf(ansi=ansi))
    suspected = [check.finding for check in logical.checks] if code in UNDECIDED else logical.findings
    found = [f for f in suspected if f.code == code]
    assert [f.verdict.value for f in found] == ["warning"]
    assert found[0].field == column
    assert found[0].promised
    assert found[0].found
    assert CODES[code].next_step


def test_every_hazard_is_tried() -> None:
    assert len({code for code, *_ in BITES}) == len(HAZARDS)


HEALTHY = [
    "select s.a from (select struct(a, cast(c as int) as n) as s from t)",
    "select s.t.a from (select struct(cast(c as int) as n, named_struct('a', a, 'c', c) as t) as s from t)",
    "select max(struct(a, cast(c as int) as n)).a as a from t",
    "select padded.n from padded join padded q using (code)",
    "select p.n from padded p join padded q on p.code = q.short",
    "select n from padded where code = 'a'",
    "select n from padded join t on rtrim(padded.code) = t.c",
    "select count(*) + 1 as n, length(c) * 2 as m from t group by c",
    "select cast(a as bigint) * b as n from t",
    "select cast(99999L as int) as n",
    "select a, b from t union all select a, b from t",
    "with x(p, q) as (select a, b from t) select p, q from x",
    "with x(a, b) as (select a, b from t) select a, b from x",
    "select a as b, b as a from t",
    "select a, b from nested lateral view inline(xs) v as a, b",
    "select p, q from nested lateral view inline(xs) v as p, q",
    "select explode(map(c, c)) as (k, v) from t",
    "select json_tuple(c, 'net', 'gross') as (net, gross) from t",
    "select a from t where (a, b) in (select a, b from t)",
    "select cast(s as struct<a:bigint,b:bigint>) s from nested",
    "select cast(s as struct<p:int,q:int>) s from nested",
    "select p.a from (select a from t) p natural join (select a, b from t) q",
    "select big.id from big join ids on big.id = ids.id",
    "select big.id from big join ids using (id)",
    "select big.id from big join ids on cast(big.code as int) = ids.id",
    "select day from times join (select cast(at as date) d from times) s on s.d = times.day",
    "select id from big union all select id from ids",
    "select price from ids union all select price from big",
    "select c from t union all select null",
    "select 1 as n union all select 2.5",
    "select cast(count(*) as int) n from big",
    "select cast(year(day) as smallint) y, cast(length(c) as tinyint) n from times cross join t",
    "select cast(a as bigint) a, cast(a as string) b from t",
    "select try_cast(id as int) id from big",
    "select a div b as q, a / b as ratio, round(a / b) r from t",
    "select cast(price / 2 as int) half from ids",
    "select at from times where at > day and local_at > timestamp_ntz'2020-01-01 00:00:00'",
    "select cast(local_at as timestamp) at from times union all select at from times",
    "with source as (select * from t), renamed as (select a as id from source) select * from renamed",
    "select count(*) as n from (select * from t) s",
    "select left(c, 3) c from t",
    "select s from nested union all select s from nested",
    "select s from nested union all select cast(named_struct('p', 1, 'q', 2) as struct<p:int,q:int>)",
    "select id from big where code = 7 and x > 1",
    "select coalesce(a, '0') n, coalesce(c, '0') c, if(a > 1, 1, '2') m from t",
    "select round(x) r, cast(x as decimal(12,2)) d from big",
    "select cast(unix_timestamp() as int) n, cast(e as int) m from big lateral view explode(sequence(1L, 5L)) v as e",
    "select at from times where at between timestamp_ntz'2020-01-01 00:00:00' and at",
    "select cast(if(id > 5, 1L, 2L) as int) n, cast(coalesce(cast(code as bigint), 0L) as int) m from big",
    "select a + 1 as n, a * b as product, -a as negated, a % 2 as odd from t",
]


@pytest.mark.parametrize("ansi", [True, False])
@pytest.mark.parametrize("sql", HEALTHY)
def test_healthy_queries_are_not_warned_about(sql: str, ansi: bool) -> None:
    found = plan(sql, Catalog(SOURCES), Conf(ansi=ansi)).findings
    assert [(f.code, f.message) for f in found] == []


def test_under_ansi_a_narrowing_cast_raises_by_itself() -> None:
    assert plan("select cast(id as int) id from big", Catalog(SOURCES), Conf(ansi=True)).findings == ()


@pytest.mark.parametrize(
    ("sql", "wanted"),
    [
        (
            "with x as (select a, b from t), y as (select b, a from big2) select * from x union all select * from y",
            "WITH x as (select a, b from t), y as (select b, a from big2)\nSELECT count_if(NOT",
        ),
        ("select cast(id + 1 as int) from big where x > 0", "from big\nwhere x > 0"),
        ("with w as (select id from big) select cast(id as int) from w", "WITH w as (select id from big)\nSELECT"),
    ],
)
def test_what_is_counted_is_cut_from_the_text(sql: str, wanted: str) -> None:
    catalog = Catalog({**SOURCES, "big2": [("a", "int", True), ("b", "int", True)]})
    [check] = [c for c in plan(sql, catalog, OFF).checks if c.finding.code != "PP136"]
    assert wanted in check.sql


@pytest.mark.parametrize(
    "sql",
    [
        "select a, b from t union all select b, a from t",
        "select aggregate(array(id), 0, (n, i) -> n + cast(n + i as int)) n from big",
        "with recursive r as (select id from big union all select id from r) select cast(id as int) from r",
    ],
)
def test_what_cannot_be_cut_out_or_is_meant_is_not_counted(sql: str) -> None:
    try:
        found = plan(sql, Catalog(SOURCES), OFF)
    except Exception:
        pytest.skip("not a query that planproof knows")
    assert [check.sql for check in found.checks if check.sql is not None] == []


@pytest.mark.parametrize(
    ("sql", "counted"),
    [
        ("select cast(id as int) as n from big", True),
        ("select case when id < 9 then cast(id as int) end as n from big", True),
        ("select transform(array(id), i -> cast(i as int)) as n from big", True),
        ("select transform(array(id), (x, i) -> cast(x as int)) as n from big", True),
        ("select code from big where id > 0 and cast(id as int) > 0", True),
        ("select n from (select cast(id as int) as n from big union select 1)", True),
        ("select code from (select distinct code, cast(id as int) as n from big)", True),
        ("select code from big order by cast(id as int)", True),
        ("select code from big where code in (select string(cast(id as int)) from big)", True),
        ("select code, (select max(cast(ids.id as tinyint)) from ids where ids.id = big.id) as m from big", True),
    ],
)
def test_what_is_computed_in_a_branch_alone_is_not_counted_over_all_rows(sql: str, counted: bool) -> None:
    found = plan(sql, Catalog(SOURCES), OFF)
    assert [f.code for f in found.findings] == ["PP126"]
    assert [c.counting is not None for c in found.checks if c.counting is not None or c.fits is None] == [
        True
    ] * counted


def test_a_zone_that_nobody_set_is_not_named():
    query = "select at from times union all select local_at from times"
    catalog = Catalog(SOURCES)

    def said(conf: Conf) -> str:
        (finding,) = (f for f in plan(query, catalog, conf=conf).findings if f.code == "PP128")
        return finding.message

    unsaid = said(OFF)
    assert "that of the machine that runs Spark" in unsaid
    assert OFF.time_zone not in unsaid
    for conf in (Conf(time_zone="Europe/Berlin"), OFF.with_setting("spark.sql.session.timeZone", "Europe/Berlin")):
        assert said(conf).endswith("in the session's time zone, Europe/Berlin")
    assert OFF.time_zone in said(OFF.with_setting("spark.sql.session.timeZone", OFF.time_zone))


@pytest.mark.parametrize(
    ("sql", "settings", "said"),
    [
        ("select 2147483647 + 1 as n", {}, [("PP136", "violated")]),
        ("select cast(99999999999L as int) as n", {}, [("PP126", "violated")]),
        ("select cast(1e20 as int) as n", {}, [("PP126", "violated")]),
        ("select cast(99999999999.5BD as int) as n, cast(9.5BD as int) as m", {}, [("PP126", "violated")]),
        ("select cast(99999999999L as int) as n from values (1), (2)", {}, [("PP126", "violated")]),
        ("with x as (select 2147483647 + 1 as n) select n from x order by n", {}, [("PP136", "violated")]),
        ("select a from t union all select 2147483647 + 1", {}, [("PP136", "violated")]),
        ("select count(*) as c, 2147483647 + 1 as n from t", {}, [("PP136", "violated")]),
        # A table may have no rows, and then no row holds it.
        ("select cast(99999999999L as int) as n from t", {}, [("PP126", "warning")]),
        ("select 2147483647 + 1 as n from t", {}, [("PP136", "warning")]),
        ("select max(2147483647 + 1) as n from t", {}, [("PP136", "warning")]),
        ("select a from t where a > 2147483647 + 1", {}, [("PP136", "warning")]),
        ("select 2147483647 + 1 as n where rand() > 2", {}, [("PP136", "warning")]),
        ("select cast(99999999999L as int) as n from t where 1 = 0", {}, [("PP126", "warning")]),
        ("select (select 2147483647 + 1) as n from t", {}, [("PP136", "warning")]),
        ("select explode(sequence(1, 2147483647 + 1)) as n from t where 1 = 0", {}, [("PP136", "warning")]),
        # Nobody computes it.
        ("select 2147483647 + 1 as n limit 0", {}, []),
        ("select cast(99999999999L as int) as n from t where false", {}, []),
        ("select a from t union all select cast(99999999999L as int) from t where false", {}, []),
        ("select a from t where exists (select 2147483647 + 1 from t)", {}, []),
        ("select n from (select a, 2147483647 + 1 as d from t) as x(n, d)", {}, []),
        ("select explode(sequence(1, 2147483647 + 1)) as n from t where false", {}, []),
        # NULL + 1 is NULL.
        ("select case when a > 1 then 2147483647 end + 1 as n from t", {}, []),
        ("select nullif(2147483647, a) + 1 as n from t", {}, []),
        ("select nvl2(a, 2147483647, 2147483647) + 1 as n from t", {}, []),
        ("select max(2147483647) + 1 as n, lag(2147483647) over (order by a) + 1 as m from t group by a", {}, []),
        ("select case when a > 1 then 2147483647 + 1 end as n from t", {}, []),
        ("select if(a > 1, cast(99999999999L as int), 0) as n from t", {}, [("PP126", "warning")]),
        ("select 2147483646 + 1 as n, 60 * 60 * 24 * 365 as s", {}, []),
        ("select 2147483647 + 1 as n", {"allow": ("PP136",)}, []),
        ("select 2147483647 + 1 as n", {"overflow": "off"}, []),
        ("select 2147483647 + 1 as n", {"overflow": "warn"}, [("PP136", "warning")]),
    ],
)
def test_a_constant_beyond_its_range_is_decided_by_the_plan(
    sql: str, settings: dict[str, Any], said: list[tuple[str, str]]
) -> None:
    """And is a warning where nothing is promised."""
    promised = Contract([(f.name, f.type, True) for f in plan(sql, Catalog(SOURCES), conf=OFF).physical_schema])
    for contract in (promised, None):
        draft = Draft(Model("s.m", sql, contract=contract), Settings(**settings))
        examine(draft, lambda: plan(sql, Catalog(SOURCES), conf=OFF))
        found = [(f.code, f.verdict.value) for f in draft.findings if f.code in ("PP126", "PP136")]
        assert found == (said if contract is not None else [(code, "warning") for code, _ in said])
        assert contract is not None or not draft.fails
