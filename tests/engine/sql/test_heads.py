"""The statements that dbt-spark's macros render, and texts that must not be mistaken for them."""

from __future__ import annotations

import pytest

from planproof_engine.sql.heads import Query, Statement
from planproof_engine.sql.heads import read_head as read


def test_a_table_with_every_clause() -> None:
    found = read(
        """
        create table s.t
      using parquet
      options (compression "zstd" , a.b "1" )
      tblproperties ('owner' = 'Ada\\'s' , 'as' = 'as' )
      partitioned by (day,`as`)
      clustered by (id) into 8 buckets
      location '/data/as/t'
      comment 'made as asked; (see docs) -- not a comment'
      as
      -- the query
      with a as (select 1 as id) select * from a;"""
    )
    assert found.kind == "table"
    assert found.relation == ("s", "t")
    assert found.query == "-- the query\n      with a as (select 1 as id) select * from a;", "as it is written"
    assert found.clauses == {
        "using": "parquet",
        "options": {"compression": "zstd", "a.b": "1"},
        "tblproperties": {"owner": "Ada's", "as": "as"},
        "partition_by": ("day", "as"),
        "clustered_by": (("id",), 8),
        "location": "/data/as/t",
        "comment": "made as asked; (see docs) -- not a comment",
    }


def test_a_replaced_table_with_transforms() -> None:
    found = read("create or replace table s.t using iceberg partitioned by (days(at), bucket(4, `id`), r) as select 1")
    assert found == Statement(
        "table",
        ("s", "t"),
        "select 1",
        {"replace": True, "using": "iceberg", "transforms": ("days(at)", "bucket(4, `id`)", "r")},
    )


def test_texts_say_what_spark_reads() -> None:
    found = read(r"create table s.t comment 'it\'s C:\new \u0041 \101 100\%' using parquet as select 1")
    assert found.clauses["comment"] == "it's C:\new A A 100\\%"


def test_views_and_their_columns() -> None:
    found = read("create or replace view `s`.`my``view` (`id` comment 'the number', b)\ncomment 'x' as\nselect 1, 2")
    assert found == Statement(
        "view", ("s", "my`view"), "select 1, 2", {"columns": (("id", "the number"), ("b", None)), "comment": "x"}
    )
    assert read("create or replace temporary view t__dbt_tmp as select 1").kind == "temp_view"


def test_inserts() -> None:
    assert read("insert into table s.t\n select `a`, `b` from x").clauses == {"overwrite": False}
    found = read("insert overwrite table s.t partition (d) select a, d from x")
    assert found.clauses == {"overwrite": True, "partition_by": ("d",)}
    assert found.query == "select a, d from x"


def test_a_table_without_a_query() -> None:
    found = read("create table s.t (id int, `a b` decimal(10,2))\n using iceberg partitioned by (id);")
    assert (found.kind, found.relation, found.query) == ("empty_table", ("s", "t"), "")
    assert found.clauses == {
        "columns": (("id", "int"), ("a b", "decimal(10,2)")),
        "using": "iceberg",
        "partition_by": ("id",),
    }


@pytest.mark.parametrize(
    ("sql", "query", "columns"),
    [
        ("insert into s.t select a from x", "select a from x", ()),
        ("insert into s.t (`a`, b)\n(\nselect a, b from x\n)", "select a, b from x\n)", ("a", "b")),
        ("insert into table s.t (a) select a from x", "select a from x", ("a",)),
        ("insert into s.t replace where (d) >= '1' select a, d from x", "select a, d from x", ()),
    ],
)
def test_inserts_of_named_columns_or_in_place_of_named_rows(sql: str, query: str, columns: tuple[str, ...]) -> None:
    assert read(sql) == Statement("insert_some", ("s", "t"), query, {"columns": columns})


def test_deletes() -> None:
    assert read("delete from s.t where id in (select id from x)") == Statement(
        "delete", ("s", "t"), "where id in (select id from x)"
    )
    for every in ("delete from s.t", "truncate table s.t"):
        assert read(every) == Statement("delete", ("s", "t"))


@pytest.mark.parametrize(
    "sql",
    [
        "",
        "   -- nothing",
        "create table if not exists s.t as select 1",
        "create table s.t (id int) using parquet as select 1 as id",
        "create table s.t partitioned by (days(d(1))) as select 1",
        "create table s.t sorted by (a) as select 1",
        "create view s.v as select 1",
        "insert into table s.t values (1)",
        "insert into s.t by name select 1 as a",
        "insert into s.t replace where a in (select 1) select 1",
        "insert overwrite table s.t partition (d = 1) select 1",
        "drop table s.t",
        "alter table s.t partition (d = 1) rename to partition (d = 2)",
        "merge into s.t using x on true when matched then delete",
        "create table s.t comment 'never closed as select 1",
    ],
)
def test_other_statements_are_left_alone(sql: str) -> None:
    assert read(sql) == Statement("other")


@pytest.mark.parametrize("sql", ["select 1", "/* dbt */ SHOW tables in s", "-- x\ndescribe extended s.t", "set a = 1"])
def test_reading_statements(sql: str) -> None:
    assert read(sql).kind == "read"


@pytest.mark.parametrize(
    ("text", "columns"),
    [
        ("alter table s.t add columns `a` int", (("a", "int"),)),
        (
            "alter table s.t\n\n add columns\n  `a b` struct<x:int,y:decimal(10,2)>,\n `c` array<string>",
            (("a b", "struct<x:int,y:decimal(10,2)>"), ("c", "array<string>")),
        ),
        ("ALTER TABLE s.t ADD COLUMNS (a int, b map<string, int>);", (("a", "int"), ("b", "map<string, int>"))),
    ],
)
def test_added_columns_are_read_with_their_types(text: str, columns: tuple[tuple[str, str], ...]) -> None:
    found = read(text)
    assert (found.kind, found.relation, found.clauses["columns"]) == ("add_columns", ("s", "t"), columns)


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("alter table s.t alter column `id` type bigint;", "retype_column"),
        ("alter table s.t change column `id` set not null ;", "constrain"),
        ("alter table s.t rename to s.u", "rename"),
        ("alter table s.t rename column a to b", "other"),
        ("alter table s.t change column id comment 'x'", "other"),
        ("alter table s.t add constraint c1 check (id > 0);", "constrain"),
        ("alter table s.t add columns (a int", "other"),
        ("alter table s.t add columns a", "other"),
        ("alter table s.t add columns a int) drop table x", "other"),
        ("alter table s.t set tblproperties ('a' = 'b')", "other"),
    ],
)
def test_what_alters_a_table(text: str, kind: str) -> None:
    assert read(text).kind == kind


MERGE = """
    merge into s.t as DBT_INTERNAL_DEST
      using `t__dbt_tmp` as DBT_INTERNAL_SOURCE
      on DBT_INTERNAL_SOURCE.id = DBT_INTERNAL_DEST.id{on}
      when matched then update set
         {columns}
      {more} when not matched then insert *
    """


def test_a_merge_that_stores_all_of_its_source() -> None:
    whole = read(MERGE.format(on=" and DBT_INTERNAL_DEST.d > case when 1 = 1 then 1 end", columns="*", more=""))
    assert (whole.kind, whole.relation, whole.clauses) == ("merge", ("s", "t"), {"source": ("t__dbt_tmp",)})
    some = MERGE.format(on="", columns="at = DBT_INTERNAL_SOURCE.at", more="")
    gone = MERGE.format(on="", columns="*", more="when not matched by source then delete")
    first = MERGE.format(on="\n when matched and DBT_INTERNAL_SOURCE.gone then delete", columns="*", more="")
    assert [read(text).kind for text in (some, gone, first)] == ["merge_some"] * 3
    assert read(some).query.startswith(
        "ON DBT_INTERNAL_SOURCE.id = DBT_INTERNAL_DEST.id\n      when matched then update"
    )


def test_a_query_that_the_lexer_cannot_read_still_has_a_head() -> None:
    found = read("create table s.t as select '${hiveconf:a}', $tag$x$tag$ as b")
    assert (found.kind, found.query) == ("table", "select '${hiveconf:a}', $tag$x$tag$ as b")
    assert read("merge into s.t as DBT_INTERNAL_DEST using x as DBT_INTERNAL_SOURCE on true $x$").kind == "other"


MODEL = Query("-- all\nselect id, 'a (select 1) b' as s from t;")


@pytest.mark.parametrize(
    ("text", "within"),
    [
        ("select id, 'a (select 1) b' as s from t", True),
        ("select  id,'a (select 1) b' as s\nfrom t -- the end\n;", True),
        ("select id, s from (\n-- all\nselect id, 'a (select 1) b' as s from t\n) as model_subq", True),
        ("with m as (select id, 'a (select 1) b' as s from t) select * from m", True),
        ("insert into x select id, 'a (select 1) b' as s from t", True),
        ("select id, 'a (select 1) b' as s from t where id > 1", False),
        ("select id, 'a (select 1) b' as s from t2", False),
        ("select '(select id, ''a (select 1) b'' as s from t)'", False),
        ("select 1 -- (select id, 'a (select 1) b' as s from t)", False),
    ],
)
def test_a_query_is_found_where_it_is_a_query(text: str, within: bool) -> None:
    assert MODEL.is_in(text) is within


def test_a_statement_is_parsed_once_for_all_that_is_asked_of_it() -> None:
    text = "/* dbt */ create table s.T using parquet as\n-- all\n(select 1 as `a b`); "
    found = read(text)
    assert (found.text, found.words[:4]) == (text, ["create", "table", "s", "."])
    assert found.query_words == ["(", "select", "1", "as", "`a b`", ")", ";"]
    assert {"t", "a b"} <= found.names
    assert Query("select 1 as `a b`").is_in(found.words)
    assert read("merge into s.t as DBT_INTERNAL_DEST using x as DBT_INTERNAL_SOURCE on a = b").query_words[-1] == "b"
    assert read("no statement $x").words == ["no", "statement", "$x"]


def test_a_short_query_is_not_found_inside_of_another() -> None:
    """By its text alone `select 1` stands in both, and in the literal of the last."""
    query = Query("select 1")
    assert not query.is_in("select 1 as id")
    assert not query.is_in("select 10")
    assert not query.is_in("select 'select 1' as id")
    assert query.is_in("select * from (select 1)")
    assert not Query("").is_in("select 1")


def test_a_query_that_ends_with_a_semicolon_stands_in_parentheses() -> None:
    assert Query("select 1;").is_in("select * from (\nselect 1;\n) as t where false limit 0")


def test_names_are_read_without_literals_and_comments() -> None:
    assert read("INSERT into `a``b`.C select 'd' -- e").names == {"insert", "into", "a`b", ".", "c", "select", "'d'"}


def test_a_query_beyond_the_lexer_is_compared_by_words() -> None:
    query = Query("select $tag$ a ) b $tag$ as x")
    assert query.is_in("select  $tag$ a ) b $tag$ as x")
    assert query.is_in("select x from (\n select $tag$ a ) b $tag$ as x\n ) as model_subq")
    assert not query.is_in("select $tag$ a ) c $tag$ as x")
