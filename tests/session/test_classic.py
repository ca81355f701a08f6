"""The session protocol on a real classic Spark session."""

from __future__ import annotations

import sys
from dataclasses import replace

import pytest

import planproof.session
from planproof.session import SparkFailure
from planproof.session.iceberg.catalogs import Catalogs
from planproof_engine.conf import _ABSENT, SETTINGS, SPARKS, Conf, spark_version
from planproof_engine.origin import AnalysisError
from planproof_engine.quoting import quote_name
from planproof_engine.types import LONG, STRING, Array, Struct, Varchar


def test_open_returns_a_planproof_session_as_it_is(session):
    assert planproof.session.open(session) is session


@pytest.mark.parametrize("name", ["`a``b`", "`..`", "`../x`"])
def test_a_name_that_no_catalog_can_have_is_a_databases(session, name):
    with pytest.raises(AnalysisError, match="cannot be found"):
        session.database_location(name)


@pytest.mark.parametrize("first", ["a`b", "..", "../x"])
def test_a_name_that_no_catalog_can_have_is_a_namespace_s(spark, first):
    assert Catalogs(spark).complete(f"{quote_name(first)}.t") == ("spark_catalog", first, "t")


def test_open_refuses_what_is_no_session():
    with pytest.raises(SparkFailure, match="neither a SparkSession nor a planproof session"):
        planproof.session.open(object())


def test_spark_s_log_leaves_out_what_only_the_guard_s_folders_cause(spark):
    planproof.session.open(spark)
    planproof.session.open(spark)
    log4j = spark.sparkContext._jvm.org.apache.logging.log4j
    kept_out = log4j.LogManager.getContext(False).getConfiguration().getRootLogger().getFilter()
    assert kept_out.getClass().getSimpleName() == "RegexFilter", "one filter, however often a session is opened"

    def of(text):
        said = log4j.message.SimpleMessage(text)
        return kept_out.filter(log4j.core.impl.Log4jLogEvent.newBuilder().setMessage(said).build()).toString()

    own = "file:/w/shop.db/__planproof_orders_1"
    assert of(f"All paths were ignored:\n  {own}") == "DENY"
    assert of(f"File {own} does not exist; Force to delete it.") == "DENY"
    assert of(f"Failed to delete {own}") == "DENY"
    assert of("Failed to delete file:/w/shop.db/orders") == "NEUTRAL"
    assert of(f"Task failed while writing rows to {own}") == "NEUTRAL"


@pytest.mark.parametrize("key", SETTINGS)
def test_a_setting_of_conf_stands_in_the_spelling_of_the_sparks_that_have_it(spark, key):
    version, since = spark_version(spark.version), _ABSENT.get(SETTINGS[key], SPARKS)[0]
    assert spark.conf.isModifiable(key) == (SPARKS.index(version) >= SPARKS.index(since))


def test_conf_follows_the_session(session, spark, ansi):
    zone = {"spark.sql.session.timeZone": "America/Los_Angeles"}
    assert session.conf == replace(Conf.of(spark.version, zone), ansi=True)
    ansi(False)
    assert session.conf == replace(Conf.of(spark.version, zone), ansi=False)


@pytest.mark.spark35_smoke
def test_what_nobody_set_is_as_this_spark_says(session, spark):
    for key in SETTINGS:
        if spark.conf.isModifiable(key) and key != "spark.sql.session.timeZone":
            spark.conf.unset(key)
    # SET answers by another way than the one that a session asks.
    said = {key: spark.sql(f"SET {key}").collect()[0][1] for key in SETTINGS}
    assert session.conf == Conf.of(spark.version, {k: v for k, v in said.items() if v != "<undefined>"})
    assert session.conf == Conf.of(spark.version, {"spark.sql.session.timeZone": "America/Los_Angeles"})
    assert session.conf.ansi == (not spark.version.startswith("3."))


def test_settings_are_restored_and_unset_again(session, spark):
    spark.conf.set("spark.sql.caseSensitive", "true")
    contains = spark._jsparkSession.sessionState().conf().contains
    assert not contains("spark.sql.groupByAliases")
    with session.change_settings({"spark.sql.caseSensitive": "false", "spark.sql.groupByAliases": "false"}):
        assert not session.conf.case_sensitive
        assert not session.conf.group_by_aliases
    assert session.conf.case_sensitive
    assert not contains("spark.sql.groupByAliases")


def test_settings_that_cannot_be_set_leave_the_others_as_they_were(session):
    before = session.conf
    with (
        pytest.raises((SparkFailure, AnalysisError), match="warehouse"),
        session.change_settings({"spark.sql.ansi.enabled": "false", "spark.sql.warehouse.dir": "/x"}),
    ):
        pass
    assert session.conf == before


def test_settings_are_restored_after_an_error(session):
    with pytest.raises(RuntimeError), session.change_settings({"spark.sql.ansi.enabled": "false"}):
        raise RuntimeError
    assert session.conf.ansi


def test_planes_have_flags_and_duplicates(session):
    planes = session.planes("select r.id, r.id, id + 1 as n, array(id, null) as xs from range(3) as r")
    assert [str(f) for f in planes.analyzed] == [
        "id bigint NOT NULL",
        "id bigint NOT NULL",
        "n bigint NOT NULL",
        "xs array<bigint> NOT NULL",
    ]
    assert planes.analyzed[3].type == Array(LONG, True)
    assert planes.optimized == planes.executed == planes.analyzed
    assert not planes.python_fed
    assert planes.unplanned is None


def test_what_is_set_between_two_looks_is_seen(session, spark):
    before = session.conf
    assert session.conf is before, "nothing was set, and nothing is asked again"
    with session.change_settings({"spark.sql.caseSensitive": "true", "spark.sql.session.timeZone": "Asia/Tokyo"}):
        assert (session.conf.case_sensitive, session.conf.time_zone) == (True, "Asia/Tokyo")
    assert session.conf == before


def test_a_table_that_changed_is_read_anew(session, spark, database):
    name = f"{database}.t"
    spark.sql(f"create table {name} using parquet tblproperties ('a -> b' = 'c, d', 'e' = '') as select 1 as id")
    first = session.table(name)
    assert session.table(name) is first
    assert {k: first.properties[k] for k in ("a -> b", "e")} == {"a -> b": "c, d", "e": ""}
    assert (first.comment, first.text) == (None, None)
    spark.sql(f"comment on table {name} is 'None'")
    spark.sql(f"alter table {name} add columns (s string)")
    again = session.table(name)
    assert (again.schema.names, again.comment) == (("id", "s"), "None")
    spark.sql(f"drop table {name}")
    assert session.table(name) is None
    spark.sql(f"create view {name} as select 2L as id")
    assert (session.table(name).kind, session.table(name).text) == ("view", "select 2L as id")


def test_the_optimizer_tightens_a_flag_and_the_analyzer_does_not(session):
    planes = session.planes("select id, if(true, 1, null) as k from range(5)")
    assert [f.nullable for f in planes.analyzed] == [False, True]
    assert [f.nullable for f in planes.optimized] == [False, False]


def test_declared_lengths_stand_beside_the_strings_that_a_query_sees(session, spark, database):
    spark.sql(f"create table `{database}`.t (a varchar(4), s struct<x: char(2), y: int>) using parquet")
    planes = session.planes(f"select a, s, upper(a) u from `{database}`.t")
    assert [f.type.simple for f in planes.analyzed] == ["string", "struct<x:string,y:int>", "string"]
    assert [f.type.simple for f in planes.declared] == ["varchar(4)", "struct<x:char(2),y:int>", "string"]


@pytest.mark.needs_spark("4.0", "collations")
def test_collations_are_types(session):
    planes = session.planes(
        "select 'a' collate utf8_lcase as c, array('x' collate unicode_ci) as xs, map('k', named_struct('f', "
        "'x' collate utf8_lcase)) as m, 'x' as s"
    )
    assert [f.type.simple for f in planes.analyzed] == [
        "string collate UTF8_LCASE",
        "array<string collate UNICODE_CI>",
        "map<string,struct<f:string collate UTF8_LCASE>>",
        "string",
    ]
    assert planes.declared == planes.analyzed


@pytest.mark.needs_spark("4.2", "UTF8_BINARY as another type than what has no collation")
def test_the_usual_collation_is_a_type_where_it_is_written(session):
    planes = session.planes("select 'x' collate utf8_binary as b, 'x' as s")
    assert [f.type.simple for f in planes.analyzed] == ["string collate UTF8_BINARY", "string"]
    assert planes.declared == planes.analyzed


def test_python_functions_and_python_data_are_told(session, spark):
    from pyspark.sql.types import IntegerType, StructField, StructType

    spark.udf.register("plus_one", lambda x: x + 1, "int")
    assert session.planes("select plus_one(1) as a").python_fed
    spark.createDataFrame([(1,)], StructType([StructField("a", IntegerType(), False)])).createOrReplaceTempView("fed")
    try:
        assert session.planes("select a from fed").python_fed
    finally:
        spark.catalog.dropTempView("fed")


@pytest.mark.parametrize(
    ("sql", "condition", "line", "column"),
    [
        ("select id,\n  nosuch\nfrom range(3)", "UNRESOLVED_COLUMN.WITH_SUGGESTION", 2, 3),
        ("with q as (select 1 as a)\nselect a,\n  nope from q", "UNRESOLVED_COLUMN.WITH_SUGGESTION", 3, 3),
        ("select *\nfrom nosuch.t", "TABLE_OR_VIEW_NOT_FOUND", 2, 6),
        ("select 1\nfrom range(2) x y", "PARSE_SYNTAX_ERROR", 2, 17),
        ("select 'é😀', nope from range(2)", "UNRESOLVED_COLUMN.WITH_SUGGESTION", 1, 14),
        ("", "PARSE_EMPTY_STATEMENT", 1, 1),
    ],
)
def test_rejections_carry_condition_and_place(session, capfd, sql, condition, line, column):
    with pytest.raises(AnalysisError) as raised:
        session.planes(sql)
    error = raised.value
    assert (error.condition, error.origin.line, error.origin.column) == (condition, line, column)
    assert "SQLSTATE" not in error.message
    assert "Project" not in error.message
    assert "SQLQueryContextLogger" not in capfd.readouterr().err


def test_an_internal_error_of_the_analyzer_is_a_rejection(session):
    with pytest.raises(AnalysisError) as raised:
        session.planes("select x -> x + 1")
    # Spark 3.5 has no condition for it.
    assert raised.value.condition in ("INTERNAL_ERROR", "AnalysisException")


def test_an_error_inside_a_view_has_no_place_in_the_query(session, spark, database):
    spark.sql(f"create table `{database}`.t (a int) using parquet")
    spark.sql(f"create view `{database}`.v as select a from `{database}`.t")
    spark.sql(f"drop table `{database}`.t")
    with pytest.raises(AnalysisError, match=f"in view spark_catalog.{database}.v") as raised:
        session.planes(f"select * from `{database}`.v")
    assert raised.value.origin is None
    assert session.table(f"`{database}`.v").schema.names == ("a",)


@pytest.mark.parametrize(
    "command",
    [
        "drop table `{0}`.kept",
        "insert into `{0}`.kept select 2",
        "from range(3) insert into `{0}`.kept select id",
        "create table `{0}`.made using parquet as select 1 as a",
        pytest.param("begin drop table `{0}`.kept; end", marks=pytest.mark.needs_spark("4.1", "scripts by default")),
        "set spark.sql.ansi.enabled=false",
    ],
)
def test_planes_never_run_a_command(session, spark, database, command):
    spark.sql(f"create table `{database}`.kept using parquet as select 1L as a")
    with pytest.raises(AnalysisError) as raised:
        session.planes(command.format(database))
    assert raised.value.condition == "NOT_A_QUERY"
    assert session.rows(f"select a from `{database}`.kept") == [(1,)]
    assert session.table(f"{database}.made") is None
    assert session.conf.ansi


def test_a_query_that_cannot_be_planned_is_still_analyzed(session):
    planes = session.planes("select 1 / 0 as a")
    assert planes.analyzed.names == ("a",)
    assert planes.optimized is None
    assert planes.executed is None
    assert planes.unplanned.startswith("[DIVIDE_BY_ZERO] Division by zero.")


def test_a_failing_run_is_a_failure_and_no_rejection(session, capfd):
    with pytest.raises(SparkFailure) as raised:
        session.rows("select cast(a as int) from values ('x') as t(a)")
    assert raised.value.condition == "CAST_INVALID_INPUT"
    assert not raised.value.transient
    assert "SQLQueryContextLogger" not in capfd.readouterr().err


def test_functions_are_registered_with_a_type_or_not_at_all(session, spark):
    from pyspark.sql.functions import udf, udtf

    class Twice:
        def eval(self, x: int):
            yield (x,)
            yield (x,)

    session.register("add_one", udf(lambda x: x + 1, "int"))
    session.register("twice", udtf(Twice, returnType="x: int"))
    assert session.rows("select add_one(x) from twice(1)") == [(2,), (2,)]
    with pytest.raises(SparkFailure, match="the function untyped says no return type"):
        session.register("untyped", lambda x: x)


@pytest.mark.parametrize(
    ("sql", "condition"),
    [
        ("select * from parquet.`{dir}/gone`", "PATH_NOT_FOUND"),
        ("select * from parquet.`{dir}/empty`", "UNABLE_TO_INFER_SCHEMA"),
        ("select * from parquet.`{dir}/damaged.parquet`", None),
        ("select * from parquet.`nosuch://host/x`", None),
    ],
)
def test_what_lies_outside_of_the_query_is_no_rejection(session, tmp_path, sql, condition):
    (tmp_path / "empty").mkdir()
    (tmp_path / "damaged.parquet").write_bytes(b"PAR1 no footer PAR1")
    with pytest.raises(SparkFailure) as raised:
        session.planes(sql.format(dir=tmp_path))
    assert raised.value.transient
    assert condition in (None, raised.value.condition)


@pytest.mark.parametrize("sql", ["select nope", "select * from no_such_table", "select 1 +", "select abs('a', 2)"])
def test_what_the_text_says_is_a_rejection(session, sql):
    with pytest.raises(AnalysisError):
        session.planes(sql)


@pytest.mark.needs_spark("4.0", "Python data sources")
def test_a_python_data_source_is_python_fed(session, spark):
    from pyspark.sql.datasource import DataSource

    class Numbers(DataSource):
        @classmethod
        def name(cls):
            return "planproof_numbers"

        def schema(self):
            return "n bigint"

    spark.dataSource.register(Numbers)
    spark.read.format("planproof_numbers").load().createOrReplaceTempView("numbers")
    assert session.planes("select n from numbers").python_fed
    assert session.planes("select 1 as a where exists (select n from numbers)").python_fed
    assert not session.planes("select id from range(2)").python_fed


def test_rows(session):
    assert session.rows("select id, id = 1 from range(2)") == [(0, False), (1, True)]


def test_a_stored_table(session, spark, database, tmp_path):
    where = tmp_path / "with space & %41"
    spark.sql(
        f"create table `{database}`.`1_t` (a int not null, b varchar(4), p string) using parquet "
        f"partitioned by (p) location 'file:{where}' comment 'hello' tblproperties ('k' = 'v')"
    )
    spark.sql(f"insert into `{database}`.`1_t` values (1, 'x', 'a b'), (2, 'y', 'c')")
    found = session.table(f"{database}.`1_t`")
    assert [str(f) for f in found.schema] == ["a int", "b varchar(4)", "p string"]
    assert found.schema[1].type == Varchar(4)
    assert (found.kind, found.format, found.partition_by, found.managed) == ("table", "parquet", ("p",), False)
    assert (found.properties["k"], found.comment) == ("v", "hello")
    assert session.local_path(found.location) == str(where)
    files = session.files(found.location)
    assert len(files) == 2
    assert all(f.startswith(f"{where}/p=") and f.endswith(".parquet") for f in files)


def test_views_keep_their_flags(session, spark, database):
    spark.sql(f"create view `{database}`.v as select id, cast(null as int) n from range(3)")
    found = session.table(f"{database}.v")
    assert (found.kind, found.location, found.format) == ("view", None, None)
    assert [f.nullable for f in found.schema] == [False, True]
    spark.sql("create or replace temporary view tv as select struct(1 as a) s")
    try:
        found = session.table("tv")
        assert found.kind == "temporary view"
        assert isinstance(found.schema[0].type, Struct)
    finally:
        spark.catalog.dropTempView("tv")


@pytest.mark.parametrize("name", ["nosuch", "nosuch.t", "spark_catalog.default.nosuch", "a.b.c"])
def test_a_table_that_is_not_there_is_none(session, name):
    assert session.table(name) is None


def test_a_table_of_another_catalog(session, spark, tmp_path):
    catalog = "spark.sql.catalog.elsewhere"
    with session.change_settings(
        {
            catalog: "org.apache.spark.sql.execution.datasources.v2.jdbc.JDBCTableCatalog",
            f"{catalog}.url": f"jdbc:derby:memory:{tmp_path.name};create=true",
            f"{catalog}.driver": "org.apache.derby.jdbc.EmbeddedDriver",
        }
    ):
        spark.sql("create schema if not exists elsewhere.APP")
        spark.sql("create table elsewhere.APP.t (a int, b string)")
        found = session.table("elsewhere.APP.t")
        assert (found.schema[0].name, found.schema[0].type.simple) == ("a", "int")
        assert found.kind == "table"
        assert session.table("elsewhere.APP.nosuch") is None


def test_namespace_follows_use(session, spark, database):
    assert session.namespace == ("spark_catalog", "default")
    spark.sql(f"use `{database}`")
    assert session.namespace == ("spark_catalog", database)


def test_hidden_files_are_left_out_and_partition_folders_are_not(session, tmp_path):
    for name in ("_SUCCESS", ".x.crc", "_temporary/0/a.parquet", ".stage/b.parquet", "_p=1/c.parquet", "d.parquet"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    assert session.files(tmp_path.as_uri()) == [str(tmp_path / "_p=1/c.parquet"), str(tmp_path / "d.parquet")]
    with pytest.raises(SparkFailure, match="s3://bucket"):
        session.files("s3://bucket/x")


def test_strings_are_the_types_that_queries_see(spark, database, session):
    from planproof.session.sources import live_catalog

    spark.sql(f"create table `{database}`.t (a varchar(4), p int) using parquet partitioned by (p)")
    spark.sql(f"use `{database}`")
    catalog = live_catalog(session)
    relation = catalog.find(("t",))
    assert relation.schema[0].type == Varchar(4)
    assert relation.schema[0].relation == "t"
    assert planproof.plan("select a from t", catalog).physical_schema[0].type == STRING
    assert relation.kind == "table"
    assert catalog.find((database, "t")).schema == relation.schema
    assert catalog.find(("nosuch",)) is None


def test_flags_of_a_view_are_evidence_and_those_of_a_temporary_view_are_not(spark, database, session):
    from planproof.session.sources import live_catalog

    spark.sql(f"create view `{database}`.v as select id from range(3)")
    spark.sql("create or replace temporary view tv as select id from range(3)")
    try:
        catalog = live_catalog(session)
        kept, temporary = catalog.find((database, "v")).schema[0], catalog.find(("tv",)).schema[0]
        assert (kept.nullable, kept.evidence) == (False, "the source's flag")
        assert (temporary.nullable, temporary.evidence) == (False, None)
    finally:
        spark.catalog.dropTempView("tv")


def test_what_a_profile_says_of_the_jvm_does_not_stand_in_the_way_of_what_was_before(session, spark):
    before = spark.conf.get("spark.sql.shuffle.partitions")
    with session.preserve_settings():
        given = {"spark.driver.memory": "3g", "spark.sql.shuffle.partitions": "7"}
        type(spark).builder.config(map=given).getOrCreate()
        assert spark.conf.get("spark.sql.shuffle.partitions") == "7"
    assert spark.conf.get("spark.sql.shuffle.partitions") == before


def test_a_setting_that_two_threads_hold_is_put_back_by_the_last(session, spark):
    for key, before in (("spark.sql.planproof.unset", None), ("spark.sql.shuffle.partitions", "2")):
        assert spark.conf.get(key, None) == before
        first, second = session.change_settings({key: "7"}), session.change_settings({key: "7"})
        first.__enter__()
        second.__enter__()
        first.__exit__(None, None, None)
        assert spark.conf.get(key) == "7", "the other one still counts on it"
        second.__exit__(None, None, None)
        assert spark.conf.get(key, None) == before


def test_a_python_without_what_pyspark_imports_is_said_to_be_one(session, monkeypatch):
    # Python 3.12 has no distutils, which pyspark 3.5 imports.
    monkeypatch.setitem(sys.modules, "pyspark.sql.pandas.utils", None)
    with pytest.raises(SparkFailure, match="cannot hand over Arrow data on Python"):
        session.register("halved", planproof.Function(lambda x: x / 2, "double", kind="pandas"))
    assert session.register("halved", planproof.Function(lambda x: x / 2, "double", kind="python")) is not None
    session.unregister("halved")


def test_the_places_of_many_relations_are_told_at_once(session, spark, tmp_path):
    database = f"places_{abs(hash(tmp_path)) % 10**8}"
    spark.sql(f"create database {database} location '{tmp_path}'")
    try:
        spark.sql(f"create table {database}.plain using parquet as select 1 as id")
        spark.sql(f"create table {database}.far using parquet location '{tmp_path}/else where' as select 1 as id")
        spark.sql(f"create table {database}.parts using parquet partitioned by (d) as select 1 as id, 2 as d")
        spark.sql(f"create view {database}.seen as select * from {database}.plain")
        told = session.places(database)
        assert set(told) == {"plain", "far", "parts", "seen"}
        for name, place in told.items():
            found = session.registered_table(f"{database}.{name}")
            assert (place.location, place.is_partitioned) == (found.location, bool(found.partition_by)), name
        with pytest.raises(AnalysisError):
            session.places(f"{database}_absent")
    finally:
        spark.sql(f"drop database {database} cascade")
