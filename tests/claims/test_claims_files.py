"""Facts over several files of real Spark."""

from __future__ import annotations

from typing import Any

from planproof.claims import files
from planproof_engine.claim import Facts, join_path, nested_fields
from planproof_engine.claim import find_place as find
from planproof_engine.schema import PhysicalSchema


def test_facts_sum_over_files_and_keep_only_what_every_file_knows(spark, session, tmp_path):
    folder = str(tmp_path / "t")
    for sql in [
        "select 1L as a, array(1) as xs",
        "select cast(null as bigint) as a, array(1, 2) as xs",
        "select cast(null as bigint) as a, if(rand() < 2, null, array(1)) as xs",
    ]:
        spark.sql(sql).write.mode("append").parquet(folder)
    claim, footers = files.read(session.files(folder))
    assert (claim.plane, len(footers), claim.facts.rows, claim.facts.files) == ("files", 3, 3, 3)
    assert claim.facts.nulls["a",] == 2
    # The third file's null list hides behind an absent leaf: nobody knows, and nobody says 0.
    assert ("xs",) not in claim.facts.nulls


def test_no_files_no_rows():
    claim, footers = files.read([])
    assert (claim.schema, footers, claim.facts) == (PhysicalSchema(), [], Facts(0, {}, 0, "the footers of 0 files"))


def test_a_file_without_rows_decides_nothing_and_hides_nothing(spark, session, tmp_path):
    folder = str(tmp_path / "t")
    spark.sql("select cast(null as bigint) as a from range(1) where id > 5").write.parquet(folder)
    spark.sql("select if(id = 1, null, id) as a from range(3)").write.mode("append").parquet(folder)
    claim, _ = files.read(session.files(folder))
    assert (claim.facts.rows, claim.facts.nulls) == (3, {("a",): 1})


def test_places_are_found_by_their_spelling(session):
    schema = session.planes("select array(named_struct('a.b', 1)) as `x y`, map('k', 1) as element").analyzed
    paths = [p.path for p in nested_fields(schema)]
    assert paths == [
        ("x y",),
        ("x y", "element"),
        ("x y", "element", "a.b"),
        ("element",),
        ("element", "key"),
        ("element", "value"),
    ]
    assert all(find(schema, join_path(path)).path == path for path in paths)
    assert find(schema, "x y").path == ("x y",)
    assert find(schema, "nosuch") is None
    assert [p.path for p in nested_fields(schema) if p.is_key] == [("element", "key")]


def test_files_that_only_spark_reaches_say_the_same(spark: Any, tmp_path: Any) -> None:
    from planproof.session.classic import ClassicSession

    class Far(ClassicSession):
        """Has Spark's own client list and read what lies on this machine."""

        def local_path(self, uri: str) -> str | None:
            return None

    folder = tmp_path / "many"
    spark.range(40).selectExpr("id", "cast(id as string) as s").repartition(20).write.parquet(str(folder))
    far, near = Far(spark), ClassicSession(spark)
    listed = far.files(folder.as_uri())
    assert len(listed) == len(near.files(str(folder))) == 20
    (claim, footers), (own, _) = files.read(listed, far), files.read(near.files(str(folder)), near)
    assert (claim.schema, claim.facts) == (own.schema, own.facts)
    assert (claim.facts.rows, sum(f.files for f in footers)) == (40, 20)
