"""I2, I4, I5, I7, the sink and the catalog: each rule broken once on real plans and files, and healthy cases."""

from __future__ import annotations

from dataclasses import replace

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from planproof.arrow.footers import read_footers
from planproof.claims import batches, files
from planproof.invariants import file_schemas, physical, planning, registered, sink
from planproof.judge.planes import find_evidence
from planproof.project.check import check_project
from planproof.project.manifest import read_project
from planproof.session import SparkFailure
from planproof_engine.claim import Facts
from planproof_engine.finding import Verdict
from planproof_engine.origin import AnalysisError
from planproof_engine.schema import PhysicalField, PhysicalSchema
from planproof_engine.types import (
    DATE,
    DOUBLE,
    FLOAT,
    INT,
    LONG,
    STRING,
    TIMESTAMP_NTZ,
    Array,
    DataType,
    Decimal,
    Struct,
    StructField,
)

V, U, P, W = Verdict.VIOLATED, Verdict.UNPROVED, Verdict.PROVED, Verdict.WARNING


def schema(*fields: tuple[str, DataType, bool] | PhysicalField) -> PhysicalSchema:
    return PhysicalSchema(tuple(f if isinstance(f, PhysicalField) else PhysicalField(*f) for f in fields))


def codes(findings):
    return [(f.code, f.verdict, f.field) for f in findings]


# --- I4 --------------------------------------------------------------------------------------------------------------

LOGICAL = schema(("a", INT, False), ("xs", Array(Struct((StructField("q", INT, False),)), False), True))


def test_equal_plans_agree():
    assert planning.check(LOGICAL, LOGICAL) == []


@pytest.mark.parametrize(
    ("analyzed", "field"),
    [
        (schema(LOGICAL[0]), None),
        (schema(("A", INT, False), LOGICAL[1]), "a"),
        (schema(("a", LONG, False), LOGICAL[1]), "a"),
        (schema(("a", INT, True), LOGICAL[1]), "a"),
        (schema(LOGICAL[0], ("xs", Array(Struct((StructField("q", INT, True),)), False), True)), "xs.element.q"),
        (schema(LOGICAL[0], ("xs", Array(Struct((StructField("q", INT, False),)), True), True)), "xs.element"),
    ],
)
def test_plans_that_disagree_warn_or_violate(analyzed, field):
    assert codes(planning.check(LOGICAL, analyzed)) == [("PP201", W, field)]
    assert codes(planning.check(LOGICAL, analyzed, strict=True)) == [("PP201", V, field)]


# --- I7 --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "sql",
    [
        "select id, id from range(3)",
        "select if(true, 1, null) as tightened",
        "select array(named_struct('q', id)) xs, cast(id as decimal(9,2)) d from range(3) order by id limit 2",
        "select a.id, b.id from range(3) a left join range(2) b on a.id = b.id",
    ],
)
def test_sparks_healthy_plans(session, sql):
    assert physical.check(session.planes(sql)) == []


def test_a_later_plan_of_another_shape_is_a_break(session):
    planes = session.planes("select 1 as a, 'x' as b")
    narrow = PhysicalSchema(planes.analyzed.fields[:1])
    wide = schema(("a", LONG, False), ("b", STRING, False))
    renamed = schema(("A", INT, False), ("b", STRING, False))
    assert codes(physical.check(replace(planes, optimized=narrow))) == [("PP203", V, None)]
    assert codes(physical.check(replace(planes, executed=wide))) == [("PP203", V, "a")]
    assert codes(physical.check(replace(planes, optimized=renamed))) == [("PP203", V, "a")]
    assert physical.check(replace(planes, executed=renamed)) == []


LOOSENED = "select uniform(1, 10, 0) as u from range(3)"


def test_a_loosened_flag_is_decided_by_facts(session):
    planes = session.planes(LOOSENED)
    assert [planes.analyzed[0].nullable, planes.optimized[0].nullable] == [False, True]
    assert codes(physical.check(planes)) == [("PP204", W, "u")]
    assert codes(physical.check(planes, Facts(3, {("u",): 0}))) == [("PP204", P, "u")]
    assert codes(physical.check(planes, Facts(3, {("u",): 1}))) == [("PP204", V, "u")]
    assert find_evidence(planes) == {}


def test_a_nested_loosened_flag_is_found(session):
    planes = session.planes("select array(1) as xs")
    loose = schema(("xs", Array(INT, True), False))
    assert codes(physical.check(replace(planes, optimized=loose))) == [("PP204", W, "xs.element")]


def test_a_query_that_cannot_be_planned_is_unproved(session):
    [finding] = physical.check(session.planes("select 1 / 0 as a"))
    assert (finding.code, finding.verdict) == ("PP302", U)
    assert "DIVIDE_BY_ZERO" in finding.message


# --- D1 --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("sql", "code", "field"),
    [
        ("select 1 as id, 2 as ID", "PP102", "id"),
        ("select t1.id, t2.id from range(2) t1 join range(2) t2 on t1.id = t2.id", "PP102", "id"),
        ("select array(named_struct('a', 1, 'A', 2)) xs", "PP102", "xs.element.a"),
        ("select make_interval(1) i", "PP103", "i"),
        ("select array(struct()) xs", "PP103", "xs.element"),
    ],
)
def test_what_parquet_refuses_is_refused_before(session, spark, database, sql, code, field):
    [finding] = sink.check(session.planes(sql).analyzed)
    assert (finding.code, finding.verdict, finding.field) == (code, V, field)
    with pytest.raises((AnalysisError, SparkFailure)):
        session.rows(f"create table `{database}`.t using parquet as {sql}")


@pytest.mark.parametrize(
    ("materialized", "format", "verdicts"),
    [
        ("table", "delta", [V]),
        ("incremental", "delta", [W]),
        ("incremental", "iceberg", [W]),
        ("incremental", "parquet", []),
    ],
)
def test_a_null_without_a_type_is_told_before_a_first_run(dbt_manifest, materialized, format, verdicts):
    model = {"sql": "select 1 as a, null as v", "config": {"materialized": materialized, "file_format": format}}
    [report] = check_project(read_project(dbt_manifest({"m": model})))
    assert [(f.code, f.verdict, f.field) for f in report.findings] == [("PP103", verdict, "v") for verdict in verdicts]


@pytest.mark.parametrize(
    "sql",
    [
        "select 1 as `customer.id`, 2 as customer_id, 3 as ``, 4 as `a b,;{}()=`",
        "select cast(null as void) v, array() e, map() m, interval '1' day d, parse_json('1') j, map(1, 2) n",
        "select named_struct('id', 1) a, named_struct('id', 1) b, array(named_struct('a', 1, 'b', 2)) xs",
    ],
)
def test_what_parquet_stores_is_not_refused(session, spark, tmp_path, sql):
    assert sink.check(session.planes(sql).analyzed) == []
    spark.sql(sql).write.parquet(str(tmp_path / "t"))


def test_case_sensitive_names_are_two_names(session):
    planes = session.planes("select 1 as id, 2 as ID")
    assert sink.check(planes.analyzed, case_sensitive=True) == []
    assert codes(sink.check(planes.analyzed, "view")) == [("PP102", V, "id")]


def test_a_dotted_name_stays_through_write_and_reload(session, spark, tmp_path):
    spark.sql("select 1 as `customer.id`").write.parquet(str(tmp_path / "t"))
    claim, _ = files.read(session.files(str(tmp_path / "t")))
    assert claim.schema.names == ("customer.id",)


# --- I5 --------------------------------------------------------------------------------------------------------------

WRITTEN = """select id, if(id = 1, null, id) n, cast(id as decimal(9,2)) d, timestamp'2020-01-01 00:00:00' ts,
  timestamp_ntz'2020-01-01 00:00:00' ntz, array(named_struct('q', id, 'm', map('k', if(id > 1, null, 1)))) xs,
  cast(id % 2 as string) p, interval '1' day iv from range(4)"""


@pytest.fixture
def written(spark, session, database):
    """A partitioned table as CTAS leaves it: the plan, the footers, the table."""
    spark.sql(f"create table `{database}`.t using parquet partitioned by (p) as {WRITTEN}")
    table = session.table(f"{database}.t")
    return session.planes(WRITTEN), read_footers(session.files(table.location)), table


def test_files_of_a_ctas_have_their_plans_schema(written):
    planes, footers, table = written
    assert len(footers) >= 2
    assert file_schemas.check(planes.optimized, footers, table.partition_by) == []
    assert file_schemas.check(None, footers) == []
    assert registered.check(table.schema, planes.declared, table.partition_by) == []
    assert registered.check(table.schema, footers[0].schema, table.partition_by) == []


def test_files_of_an_insert_have_their_plans_schema(spark, session, database):
    spark.sql(f"create table `{database}`.t (a bigint, b varchar(5), c array<int>) using parquet")
    sql = "select id as a, cast(id as string) as b, array(1) as c from range(3)"
    spark.sql(f"insert into `{database}`.t {sql}")
    table = session.table(f"{database}.t")
    findings = file_schemas.check(session.planes(sql).optimized, read_footers(session.files(table.location)))
    assert not [f for f in findings if f.verdict is V]


def test_an_empty_result_breaks_nothing(spark, session, database):
    spark.sql(f"create table `{database}`.t using parquet as select id from range(3) where id > 9")
    claim, footers = files.read(session.files(session.table(f"{database}.t").location))
    assert claim.facts.rows == 0
    assert file_schemas.check(schema(("other", INT, False)), footers) == []


@pytest.mark.parametrize(
    ("change", "field"),
    [
        (lambda f: ("n", INT, True) if f.name == "n" else f, "n"),
        (lambda f: ("d", Decimal(10, 2), False) if f.name == "d" else f, "d"),
        (lambda f: ("ts", TIMESTAMP_NTZ, False) if f.name == "ts" else f, "ts"),
        (lambda f: ("nn", LONG, True) if f.name == "n" else f, None),
    ],
)
def test_files_that_differ_from_the_plan(written, change, field):
    planes, footers, table = written
    planned = schema(*(change(f) for f in planes.optimized))
    [finding] = file_schemas.check(planned, footers, table.partition_by)
    assert (finding.code, finding.verdict, finding.field) == ("PP401", V, field)
    assert f"{len(footers) - 1} more file" in finding.message


def test_flags_of_files(written):
    planes, footers, table = written
    planned = {f.name: f for f in planes.optimized}
    planned["n"] = PhysicalField("n", LONG, False)
    planned["id"] = PhysicalField("id", LONG, True)
    found = file_schemas.check(PhysicalSchema(tuple(planned.values())), footers, table.partition_by)
    # `n` is optional in every file, and one of them stores a null; `id` is required, more than was planned.
    assert {(f.field, f.verdict, f.found) for f in found} == {("n", V, "optional"), ("id", W, "required")}


def test_milliseconds_are_a_break(spark, session, tmp_path):
    sql = "select timestamp'2020-01-01 00:00:00' ts"
    with session.change_settings({"spark.sql.parquet.outputTimestampType": "TIMESTAMP_MILLIS"}):
        spark.sql(sql).write.parquet(str(tmp_path / "t"))
    with session.change_settings({"spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS"}):
        spark.sql(sql).write.parquet(str(tmp_path / "u"))
    planned = session.planes(sql).optimized
    assert codes(file_schemas.check(planned, read_footers(session.files(str(tmp_path / "t"))))) == [("PP401", V, "ts")]
    assert file_schemas.check(planned, read_footers(session.files(str(tmp_path / "u")))) == []


def test_files_that_differ_from_each_other(spark, session, tmp_path):
    for sql in ["select 1 as a, 2 as b", "select 1L as a, 2 as b"]:
        spark.sql(sql).write.mode("append").parquet(str(tmp_path / "t"))
    assert codes(file_schemas.check(None, read_footers(session.files(str(tmp_path / "t"))))) == [("PP402", V, "a")]


def test_an_older_file_may_lack_a_nullable_column_only(spark, session, tmp_path):
    for sql in ["select 1 as a", "select 1 as a, cast(null as int) as later"]:
        spark.sql(sql).write.mode("append").parquet(str(tmp_path / "t"))
    assert file_schemas.check(None, read_footers(session.files(str(tmp_path / "t")))) == []
    spark.sql("select 1 as a, 1 as sure").write.mode("append").parquet(str(tmp_path / "t"))
    assert codes(file_schemas.check(None, read_footers(session.files(str(tmp_path / "t"))))) == [("PP402", V, "sure")]


# --- the catalog -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("table", "written_", "expected"),
    [
        (schema(("a", INT, True)), schema(("A", INT, False)), []),
        (schema(("a", STRING, True)), schema(("a", INT, True)), [("PP403", V, "a")]),
        (schema(("a", INT, True)), schema(("a", LONG, True)), [("PP403", V, "a")]),
        (schema(("a", LONG, True)), schema(("a", INT, True)), [("PP403", W, "a")]),
        (schema(("a", Decimal(12, 2), True)), schema(("a", Decimal(9, 2), True)), [("PP403", W, "a")]),
        (schema(("a", Decimal(9, 2), True)), schema(("a", Decimal(9, 3), True)), [("PP403", V, "a")]),
        (schema(("a", DOUBLE, True)), schema(("a", FLOAT, True)), [("PP403", W, "a")]),
        (schema(("a", TIMESTAMP_NTZ, True)), schema(("a", DATE, True)), [("PP403", W, "a")]),
        (schema(("a", INT, True), ("b", INT, True)), schema(("a", INT, True)), [("PP403", W, "b")]),
        (schema(("a", INT, True)), schema(("a", INT, True), ("b", INT, True)), [("PP403", W, "b")]),
        (schema(("b", INT, True), ("a", INT, True)), schema(("a", INT, True), ("b", INT, True)), [("PP403", W, None)]),
    ],
)
def test_the_catalog_against_what_is_stored(table, written_, expected):
    assert codes(registered.check(table, written_)) == expected


def test_widening_is_what_spark_reads(spark, tmp_path):
    spark.sql("select 1 as i, cast(1.5 as decimal(9,2)) d, 1.0f f, date'2020-01-01' da").write.parquet(
        str(tmp_path / "t")
    )
    wider = "i bigint, d decimal(12,2), f double, da timestamp_ntz"
    assert spark.read.schema(wider).parquet(str(tmp_path / "t")).count() == 1
    spark.read.schema(wider).parquet(str(tmp_path / "t")).collect()


def test_partition_columns_stand_last():
    planned = schema(("p", STRING, True), ("a", INT, True))
    assert registered.check(schema(("a", INT, True), ("p", STRING, True)), planned, ["p"]) == []
    assert codes(registered.check(planned, planned, ["p"])) == [("PP403", V, None)]
    assert codes(registered.check(schema(("a", INT, True), ("p", INT, True)), planned, ["p"])) == [("PP403", V, "p")]


# --- I2 --------------------------------------------------------------------------------------------------------------


def test_row_groups_of_staged_files_are_healthy(written, session):
    paths = session.files(written[2].location)
    _, footers = files.read(paths)
    for mode in ("sample", "all"):
        claim, found = batches.read(paths, mode, footers)
        assert found == []
        whole = mode == "all" or sum(f.row_groups for f in footers) <= 2
        assert (claim.looked_at, claim.schema.names) == ("all" if whole else "sample", footers[0].schema.names), mode


def test_a_sample_says_what_it_did_not_look_at(tmp_path):
    paths = [str(tmp_path / f"{name}.parquet") for name in "abc"]
    for path in paths:
        pq.write_table(pa.table({"a": ["x" * 50] * 100}), path, compression="none", use_dictionary=False)
    data = bytearray((tmp_path / "c.parquet").read_bytes())
    data[4:40] = b"\xff" * 36
    (tmp_path / "c.parquet").write_bytes(bytes(data))
    _, footers = files.read(paths)
    claim, found = batches.read(paths, "sample", footers)
    assert (found, claim.looked_at) == ([], "sample")
    assert claim.what == "200 of 300 rows, in 2 of 3 row groups and 2 of 3 files"
    claim, found = batches.read(paths, "all", footers)
    assert (codes(found), claim.looked_at) == ([("PP301", V, None)], "part")
    pq.write_table(pa.table({"a": range(2 * batches.ROWS)}), paths[0])
    claim, found = batches.read(paths[:1], "sample", files.read(paths[:1])[1])
    assert claim.what == "8,192 of 16,384 rows, in 1 of 1 row group and 1 of 1 file", "the beginning of a row group"


def test_a_file_that_cannot_be_decoded_is_a_violation(tmp_path):
    pq.write_table(pa.table({"a": ["x" * 50] * 100}), tmp_path / "t.parquet", compression="none", use_dictionary=False)
    data = bytearray((tmp_path / "t.parquet").read_bytes())
    data[4:40] = b"\xff" * 36
    (tmp_path / "t.parquet").write_bytes(bytes(data))
    path = str(tmp_path / "t.parquet")
    claim, found = batches.read([path], "sample", files.read([path])[1])
    assert (claim, codes(found)) == (None, [("PP301", V, None)])


def test_nulls_under_a_flag_are_named():
    t = pa.table([pa.array([1, None])], schema=pa.schema([pa.field("a", pa.int32(), nullable=False)]))
    from planproof.invariants.batches import check

    [finding] = check(t, "the result")
    assert (finding.field, finding.promised, finding.found) == ("a", "NOT NULL", "1 null")


def test_a_description_beside_the_file_that_names_other_columns_is_said(tmp_path):
    path = tmp_path / "a.parquet"
    form = '{"type":"struct","fields":[{"name":"b","type":"long","nullable":true,"metadata":{}}]}'
    table = pa.table({"a": pa.array([1])}).replace_schema_metadata({"org.apache.spark.sql.parquet.row.metadata": form})
    pq.write_table(table, path)
    [finding] = file_schemas.check(schema(("a", LONG, True)), read_footers([str(path)]))
    assert (finding.code, finding.verdict, finding.promised, finding.found) == ("PP401", W, "b", "a")
    form = form.replace('"b"', '"a"')
    pq.write_table(table.replace_schema_metadata({"org.apache.spark.sql.parquet.row.metadata": form}), path)
    assert file_schemas.check(schema(("a", LONG, True)), read_footers([str(path)])) == []


@pytest.mark.parametrize(
    ("registered_", "listed", "fields"),
    [
        (schema(("id", INT, True)), schema(("id", INT, True)), []),
        (schema(("Id", INT, True)), schema(("id", INT, True)), []),
        (schema(("id", INT, True)), schema(("id", INT, True), ("extra", STRING, True)), ["extra"]),
        (schema(("id", INT, True), ("b", STRING, True)), schema(("id", LONG, True)), ["id", "b"]),
        (schema(("a", TIMESTAMP_NTZ, True)), schema(("col", Array(STRING, True), True)), []),
        (
            schema(("a", TIMESTAMP_NTZ, True), ("p", INT, True)),
            schema(("col", Array(STRING, True), True), ("p", INT, True)),
            [],
        ),
        (schema(("a", INT, True)), schema(), []),
        (schema(("col", INT, True)), schema(("col", STRING, True)), ["col"]),
    ],
)
def test_what_another_tool_did_to_a_table_is_said(registered_, listed, fields):
    found = registered.check_metastore(registered_, listed)
    assert [(f.verdict.value, f.code, f.field) for f in found] == [("warning", "PP403", name) for name in fields]
