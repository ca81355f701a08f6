"""Contracts against planes: each term broken once, and healthy ones that must not trip."""

from __future__ import annotations

import pytest

from planproof.claims import files
from planproof.contract import Contract
from planproof.invariants.contract import check, conclude, judge_counted_nulls
from planproof.judge.allowed import allow
from planproof.judge.planes import find_evidence
from planproof.report.parts import next_steps
from planproof.settings import ENFORCEABLE, Settings
from planproof_engine.claim import Facts
from planproof_engine.finding import Verdict
from planproof_engine.origin import Origin
from planproof_engine.schema import PhysicalField, PhysicalSchema
from planproof_engine.types import parse_type

V, U, P, W = Verdict.VIOLATED, Verdict.UNPROVED, Verdict.PROVED, Verdict.WARNING


def schema(*columns: tuple[str, str] | tuple[str, str, bool]) -> PhysicalSchema:
    return PhysicalSchema(tuple(PhysicalField(c[0], parse_type(c[1]), c[2] if len(c) > 2 else True) for c in columns))


def judge(contract: Contract, found: PhysicalSchema, known=None, facts=None, settings=None):
    return check(contract, found, known or {}, facts, settings or Settings(), "analyzed", lambda column: None)


def summary(findings):
    return [(f.code, f.verdict, f.field, f.promised, f.found) for f in findings]


ITEMS = "array<struct<sku:string,qty:int,tags:map<string,int>>>"


@pytest.mark.parametrize(
    ("promised", "found"),
    [
        ([("a", "int"), ("b", "string")], [("a", "int"), ("b", "string")]),
        ([("items", ITEMS)], [("items", ITEMS)]),
        # A spelling is no type, and nobody promised that a column is nullable.
        ([("a", "dec(10, 2)"), ("b", "INTEGER")], [("a", "decimal(10,2)", False), ("b", "int", False)]),
        ([("x y", "struct<`a b`: int>")], [("x y", "struct<`a b`: int>")]),
        # A bare timestamp has a zone, as where Spark prints types.
        ([("at", "timestamp")], [("at", "timestamp_ltz")]),
    ],
)
def test_a_contract_that_holds_has_no_open_finding(promised, found):
    contract = Contract([(name, data_type, True) for name, data_type in promised])
    assert judge(contract, schema(*found)) == []


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        ([("a", "int")], [("PP501", V, "b", "b string", "nothing")]),
        ([("a", "int"), ("B", "string")], [("PP501", V, "b", "b string", "B")]),
        ([("a", "int"), ("b ", "string")], [("PP501", V, "b", "b string", "b ")]),
        ([("\u0430", "int"), ("b", "string")], [("PP501", V, "a", "a int", "\u0430")]),
        (
            [("a", "int"), ("b", "string"), ("c", "date")],
            [("PP502", V, "c", "nothing", "c date")],
        ),
        ([("a", "int"), ("b", "string"), ("a", "int")], [("PP502", V, "a", "nothing", "a int")]),
        ([("b", "string"), ("a", "int")], [("PP503", V, "a", "a, b", "b, a")]),
        (
            [("b", "string"), ("z", "int"), ("a", "int")],
            [
                ("PP502", V, "z", "nothing", "z int"),
                ("PP503", V, "a", "a, b", "b, a"),
            ],
        ),
        ([("a", "bigint"), ("b", "string")], [("PP504", V, "a", "int", "bigint")]),
    ],
)
def test_columns(found, expected):
    assert summary(judge(Contract([("a", "int", True), ("b", "string", True)]), schema(*found))) == expected


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        ("array<struct<sku:string,qty:bigint,tags:map<string,int>>>", ("items.element.qty", "int", "bigint")),
        ("array<struct<sku:string,qty:int,tags:map<string,date>>>", ("items.element.tags.value", "int", "date")),
        ("array<struct<sku:string,qty:int,tags:map<int,int>>>", ("items.element.tags.key", "string", "int")),
        ("array<struct<sku:string,tags:map<string,int>>>", ("items.element.qty", "int", "nothing")),
        (
            "array<struct<sku:string,qty:int,tags:map<string,int>,x:int>>",
            ("items.element.x", "nothing", "int"),
        ),
        (
            "array<struct<qty:int,sku:string,tags:map<string,int>>>",
            (
                "items.element",
                "struct fields in the order sku, qty, tags",
                "struct fields in the order qty, sku, tags",
            ),
        ),
        ("map<string,int>", ("items", ITEMS, "map<string,int>")),
    ],
)
def test_a_nested_type_is_reported_at_its_deepest_place(found, expected):
    [finding] = judge(Contract([("items", ITEMS, True)]), schema(("items", found)))
    assert (finding.code, finding.verdict) == ("PP504", V)
    assert (finding.field, finding.promised, finding.found) == expected


def test_decimals_are_exact():
    [finding] = judge(Contract([("a", "decimal(12,2)", True)]), schema(("a", "decimal(13,2)")))
    assert finding.message == "a: promised decimal(12,2), found decimal(13,2)"


def test_not_null_by_evidence_then_by_facts_else_unproved():
    contract = Contract([("a", "int", False)])
    found = schema(("a", "int"))
    [by_evidence] = judge(contract, found, {"a": "the filter a > 0"})
    assert (by_evidence.verdict, by_evidence.evidence) == (P, "the filter a > 0")
    [by_facts] = judge(contract, found, facts=Facts(7, {("a",): 0}, 2, "the footers of 2 files"))
    assert (by_facts.verdict, by_facts.evidence) == (P, "0 nulls in 7 rows, counted in the footers of 2 files")
    [broken] = judge(contract, found, facts=Facts(7, {("a",): 3}, 2, "the footers of 2 files"))
    assert (broken.code, broken.verdict, broken.found) == ("PP505", V, "3 nulls")
    [open_] = judge(contract, found, facts=Facts(7, {}, 2, "the footers of 2 files"))
    assert (open_.code, open_.verdict) == ("PP506", U)


def test_a_counted_null_overrules_evidence():
    [finding] = judge(
        Contract([("a", "int", False)]), schema(("a", "int")), {"a": "somebody said so"}, Facts(7, {("a",): 1})
    )
    assert (finding.code, finding.verdict) == ("PP505", V)


def test_a_flag_alone_proves_nothing():
    [finding] = judge(Contract([("a", "int", False)]), schema(("a", "int", False)))
    assert (finding.code, finding.verdict) == ("PP506", U)


def test_no_row_holds_no_null_and_no_long_value():
    contract = Contract([("a", "varchar(3)", False)])
    assert {f.verdict for f in judge(contract, schema(("a", "string")), facts=Facts(0))} == {P}


def test_nested_not_null_is_judged_place_by_place():
    contract = Contract([("items", "array<struct<sku:string NOT NULL,qty:int> NOT NULL>", False)])
    found = schema(("items", "array<struct<sku:string,qty:int>>"))
    known = {"items": "a flag", "items.element": "a flag"}
    assert [(f.code, f.verdict, f.field) for f in judge(contract, found, known)] == [
        ("PP505", P, "items"),
        ("PP505", P, "items.element"),
        ("PP506", U, "items.element.sku"),
    ]


def test_a_maps_key_is_never_null_and_never_judged():
    found = schema(("m", "map<string,int>"))
    assert judge(Contract([("m", "map<string NOT NULL,int>", True)]), found) == []


@pytest.mark.parametrize(
    ("promised", "found", "expected"),
    [
        ("varchar(5)", "string", ("PP500", U)),
        ("varchar(5)", "varchar(6)", ("PP500", U)),
        ("varchar(5)", "varchar(5)", ("PP500", P)),
        ("char(5)", "varchar(4)", ("PP500", P)),
        ("varchar(5)", "int", ("PP504", V)),
    ],
)
def test_promised_lengths(promised, found, expected):
    [finding] = judge(Contract([("a", promised, True)]), schema(("a", found)))
    assert (finding.code, finding.verdict) == expected


def test_lengths_by_count():
    contract, found = Contract([("s", "struct<a:varchar(2)>", True)]), schema(("s", "struct<a:string>"))
    [held] = judge(contract, found, facts=Facts(4, too_long={("s", "a"): 0}))
    [broken] = judge(contract, found, facts=Facts(4, too_long={("s", "a"): 2}))
    assert (held.verdict, broken.verdict, broken.found) == (P, V, "2 longer values")


def test_a_string_promise_takes_a_varchar():
    assert judge(Contract([("a", "string", True)]), schema(("a", "varchar(3)"))) == []


@pytest.mark.parametrize(
    ("left_out", "found"),
    [
        ("types", [("a", "bigint"), ("b", "string")]),
        ("extra_columns", [("a", "int"), ("b", "string"), ("c", "int")]),
        ("order", [("b", "string"), ("a", "int")]),
    ],
)
def test_what_is_not_enforced_is_not_judged(left_out, found):
    contract = Contract([("a", "int", True), ("b", "string", True)])
    assert len(judge(contract, schema(*found))) == 1
    enforced = Settings(enforce=tuple(e for e in ENFORCEABLE if e != left_out))
    assert judge(contract, schema(*found), settings=enforced) == []


def test_nullability_can_be_left_out():
    contract = Contract([("a", "int", False)])
    enforced = Settings(enforce=("types", "order", "extra_columns"))
    assert judge(contract, schema(("a", "int")), facts=Facts(1, {("a",): 1}), settings=enforced) == []


def test_an_allowed_code_is_a_warning():
    [broken] = judge(Contract([("a", "int", True)]), schema(("a", "date")))
    finding = allow(broken, Settings(allow=("PP504",)))
    assert (broken.verdict, finding.code, finding.verdict) == (V, "PP504", W)
    assert finding.message == f"{broken.message} (allowed by the settings)"


def test_findings_are_placed_by_their_column():
    asked = []

    def locate(column: str) -> Origin:
        asked.append(column)
        return Origin(3, 5)

    contract = Contract([("x.y", "struct<a:int>", True)])
    [finding] = check(contract, schema(("x.y", "struct<a:date>")), {}, None, Settings(), "logical", locate)
    assert (finding.field, finding.origin, finding.plane, asked) == ("`x.y`.a", Origin(3, 5), "logical", ["x.y"])


def test_conclude_turns_open_terms_into_violations_unless_allowed():
    open_ = judge(Contract([("a", "int", False), ("b", "varchar(3)", True)]), schema(("a", "int"), ("b", "string")))
    assert {f.verdict for f in open_} == {U}
    assert {f.verdict for f in conclude(open_, Settings())} == {V}
    assert conclude(open_, Settings(unproved="allow")) == open_


# --- on real Spark ---------------------------------------------------------------------------------------------------


def test_a_healthy_model_is_proved_by_sparks_flags(session):
    planes = session.planes("select id, array(named_struct('sku', cast(id as string), 'qty', 1)) items from range(3)")
    contract = Contract(
        [("id", "bigint", False), ("items", "array<struct<sku:string NOT NULL,qty:int NOT NULL> NOT NULL>", False)]
    )
    findings = judge(contract, planes.declared, find_evidence(planes))
    assert len(findings) == 5
    assert {f.verdict for f in findings} == {P}


def test_flags_under_python_are_no_evidence(session, spark):
    spark.udf.register("claim", lambda x: [x], "array<int>")
    planes = session.planes("select coalesce(claim(1), array(1)) xs")
    assert not planes.analyzed[0].nullable
    assert find_evidence(planes) == {}


def test_footers_decide_what_flags_do_not(session, spark, tmp_path):
    sql = "select if(id < 0, null, id) as ok, if(id = 0, null, id) as bad from range(3)"
    spark.sql(sql).write.parquet(str(tmp_path / "t"))
    claim, _ = files.read(session.files(str(tmp_path / "t")))
    planes = session.planes(sql)
    contract = Contract([("ok", "bigint", False), ("bad", "bigint", False)])
    assert {f.verdict for f in judge(contract, planes.declared, find_evidence(planes))} == {U}
    assert [(f.field, f.verdict) for f in judge(contract, planes.declared, find_evidence(planes), claim.facts)] == [
        ("ok", P),
        ("bad", V),
    ]


def test_a_varchar_column_keeps_its_length_through_a_query(session, spark, database):
    spark.sql(f"create table `{database}`.t (a varchar(4)) using parquet")
    planes = session.planes(f"select a, upper(a) b from `{database}`.t")
    contract = Contract([("a", "varchar(4)", True), ("b", "varchar(4)", True)])
    assert [(f.field, f.verdict) for f in judge(contract, planes.declared)] == [("a", P), ("b", U)]


def test_one_null_is_singular():
    from planproof.invariants.contract import judge_counted_length, judge_counted_nulls
    from planproof_engine.claim import Facts

    one = judge_counted_nulls("a", 1, Facts(rows=1, source="a count"))
    assert (one.found, one.message) == ("1 null", "a: promised NOT NULL, and 1 null was counted in 1 row (a count)")
    assert judge_counted_nulls("a", 2, Facts(rows=3)).found == "2 nulls"
    assert judge_counted_length("a", "char(1)", 1, Facts(rows=2)).found == "1 longer value"


def test_evidence_of_a_nested_field_is_none_for_a_column_with_a_dot():
    from planproof.contract import Contract
    from planproof.invariants.contract import check
    from planproof.settings import Settings
    from planproof_engine.claim import find_place as find

    contract = Contract([("a", "struct<b: int NOT NULL>", True), ("a.b", "int", False)])
    found = check(contract, contract.schema, {"a.b": "a flag"}, None, Settings(), "analyzed", lambda column: None)
    assert {f.field: f.verdict.value for f in found} == {"a.b": "proved", "`a.b`": "unproved"}
    found = find(Contract([("a.b", "int", True), ("a", "struct<b: int>", True)]).schema, "a.b")
    assert found is not None
    assert found.path == ("a", "b")


@pytest.mark.parametrize(
    ("found", "guess"),
    [
        ([("a", "int"), ("units_sold", "bigint")], "renamed? units -> units_sold, same type"),
        ([("a", "int"), ("unit", "bigint"), ("unitz", "string")], "renamed? units -> unit, same type"),
        ([("a", "int"), ("unit_count", "bigint")], "renamed? units -> unit_count, same type"),
        ([("a", "int"), ("unit_count", "string")], None),
        ([("a", "int"), ("other", "bigint")], None),
    ],
)
def test_a_renamed_column_is_guessed_by_its_type_and_its_name(found, guess):
    contract = Contract([("a", "int", True), ("units", "bigint", True)])
    findings = check(contract, schema(*found), {}, None, Settings(), "logical", lambda _: None)
    (missing,) = [f for f in findings if f.code == "PP501"]
    assert (guess in missing.message) if guess else ("renamed" not in missing.message)
    assert missing.renamed == (found[1][0] if guess else None)
    asking = next(codes for step, codes in next_steps(findings).items() if step == missing.next_step)
    assert asking == (["PP501", "PP502"] if guess else ["PP501"])
    if guess:
        assert missing.next_step.startswith(f"Write {found[1][0]} as units in the SELECT, or rename units to")


def test_a_column_that_two_missing_ones_resemble_is_no_guess_for_either():
    contract = Contract([("unit_a", "bigint", True), ("unit_b", "bigint", True)])
    found = check(contract, schema(("unit", "bigint")), {}, None, Settings(), "logical", lambda _: None)
    assert [(f.code, f.renamed) for f in found] == [("PP501", None), ("PP501", None), ("PP502", None)]


def test_counts_are_told_as_people_write_them() -> None:
    one, many = (
        judge_counted_nulls("id", nulls, Facts(rows, source="files")) for nulls, rows in ((1, 1), (1000, 20000))
    )
    assert (one.found, many.found) == ("1 null", "1,000 nulls")
    assert "1 null was counted in 1 row " in one.message
    assert "1,000 nulls were counted in 20,000 rows " in many.message
