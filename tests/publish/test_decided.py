"""What plans and files decide of data tests is what Spark counts, over relations that break each of them and that do
not; and nothing is decided of a relation that is not what was published."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from planproof import Contract, Guard, Model
from planproof.publish.data_tests.decided import Failures, Relations, Stored, count, find_stored_below
from planproof.publish.data_tests.known import parse_question
from planproof.session.files import data_files
from planproof.settings import Settings
from planproof_engine.schema import PhysicalSchema

# One of the texts is spelt otherwise where it is a folder's name.
ROWS = """
select if(id < 99, id, null) as id, n, s, day, amount, part from values
  (1L, 1, 'a', date'2026-01-01', 1.50, 1), (2L, 1, 'a', date'2026-01-01', 2.50, 1), (3L, 7, 'b%2F c', null, null, 1),
  (4L, null, ' ', date'2026-01-02', 2.50, 2), (5L, -3, null, date'2026-01-02', 0.00, 2)
  as v(id, n, s, day, amount, part)
"""
MODELS = {
    "plain": Model("plain", ROWS),
    "parted": Model("parted", ROWS, partition_by=["part"]),
    "by_text": Model("by_text", f"select id, n, day, amount, s from ({ROWS})", partition_by=["s"]),
    "repeated": Model("repeated", f"({ROWS}) union all ({ROWS})"),
    "nothing": Model("nothing", f"{ROWS} where id > 9"),
    "grouped": Model(
        "grouped",
        "select n, s, count(*) as id, max(day) as day, cast(null as int) as amount from {db}.plain group by n, s",
    ),
    "some": Model("some", "select id, n, s, day, amount from {db}.plain where n is not null", materialized="view"),
    "first": Model(
        "first",
        "select id, n, s, day, amount from (select *, row_number() over (partition by id order by n) as nth"
        " from {db}.repeated) where nth = 1",
        materialized="view",
    ),
    "renamed": Model("renamed", "select n as id, id as n, s, day, amount from {db}.some", materialized="view"),
    "padded": Model(
        "padded",
        "select a.id, b.n, b.s, b.day, b.amount from {db}.plain a left join {db}.some b on a.id = b.id",
        materialized="view",
    ),
}
COLUMNS = ("id", "n", "s", "day", "amount")


def combos(model: str, columns: str) -> str:
    return (
        f"with validation_errors as ( select {columns} from {model} group by {columns} having count(*) > 1 ) "
        "select * from validation_errors"
    )


def proportion(model: str, column: str, least: str) -> str:
    return (
        f"with validation as ( select sum(case when {column} is null then 0 else 1 end) / cast(count(*) as "
        f"decimal(28,6)) as not_null_proportion from {model} ), validation_errors as ( select not_null_proportion "
        f"from validation where not_null_proportion < {least} or not_null_proportion > 1 ) "
        "select * from validation_errors"
    )


def within(model: str, column: str, least: str, most: str) -> str:
    return (
        f"with meet_condition as( select * from {model} ), validation_errors as ( select * from meet_condition where "
        "-- never true, defaults to an empty result set. "
        "Exists to ensure any combo of the `or` clauses below succeeds\n 1 = 2 "
        "-- records with a value >= min_value are permitted. "
        f"The `not` flips this to find records that don't meet the rule.\n or not {column} {least} "
        "-- records with a value <= max_value are permitted. "
        f"The `not` flips this to find records that don't meet the rule.\n or not {column} {most} ) "
        "select * from validation_errors"
    )


def asked(db: str, name: str) -> Iterator[str]:
    """dbt's and dbt_utils' tests of a relation, as they are compiled; with a `where`, too."""
    whole = f"{db}.{name}"
    for model, column in itertools.product((whole, f"(select * from {whole} where n > 0) dbt_subquery"), COLUMNS):
        yield f"select {column} from {model} where {column} is null"
        yield (
            f"select {column} as unique_field, count(*) as n_records from {model} where {column} is not null "
            f"group by {column} having count(*) > 1"
        )
    for model in (whole, f"(select * from {whole} where id < 3) dbt_subquery"):
        for values in ("'a'", "'a', 'b%2F c', ' '"):
            yield (
                f"with all_values as ( select s as value_field, count(*) as n_records from {model} group by s ) "
                f"select * from all_values where value_field not in ( {values} )"
            )
            yield (
                f"with all_values as ( select distinct s as value_field from {model} ), validation_errors as ( select "
                f"value_field from all_values where value_field in ( {values} ) ) select * from validation_errors"
            )
        yield (
            f"with all_values as ( select trim(s) as s from {model} ), "
            "errors as ( select * from all_values where s = '' ) select * from errors"
        )
        for columns in ("id, n", "n, day", "n, s"):
            yield combos(model, columns)
        for least, most in ((">= -3", "<= 7"), ("> -3", "< 8"), (">= 5", "<= 1")):
            yield within(model, "n", least, most)
        for other, field in (("plain", "id"), ("some", "id"), ("renamed", "n"), ("first", "id"), ("nothing", "id")):
            for column in ("id", "n"):
                yield (
                    f"with child as ( select {column} as from_field from {model} where {column} is not null ), "
                    f"parent as ( select {field} as to_field from {db}.{other} ) select from_field from child "
                    "left join parent on child.from_field = parent.to_field where parent.to_field is null"
                )
    for column in COLUMNS:
        yield f"select count(distinct {column}) as filler_column from {whole} having count(distinct {column}) = 1"
        yield (
            f"select * from ( with pruned_rows as ( select {column} from {whole} where {column} is not null limit 1 ) "
            f"select count({column}) as filler_column from pruned_rows having count({column}) = 0 ) validation_errors"
        )
        for least in ("0.2", "0.79", "0.81", "1"):
            yield proportion(whole, column, least)


@pytest.fixture(scope="module")
def published(spark: Any) -> Iterator[tuple[str, Guard]]:
    db = "decided_tests"
    spark.sql(f"create database {db}")
    guard = Guard(spark, settings=Settings(tests="answered"))
    for name, model in MODELS.items():
        sql, options = model.sql.format(db=db), {"partition_by": model.partition_by, "materialized": model.materialized}
        report = guard.publish(Model(f"{db}.{name}", sql, **options))
        assert report.outcome == "published", report.to_text()
    yield db, guard
    spark.sql(f"drop database {db} cascade")


def found(sql: str, guard: Guard) -> Failures | None:
    known = parse_question(sql)
    assert known is not None, sql
    return count(known, Relations(guard.session, guard.memory.plans))


def wrong(decided: list[tuple[str, Failures]], spark: Any) -> list[tuple[str, Failures, int]]:
    """The decisions that are not Spark's, each with its number."""
    each = (f"select {at} as at, count(*) as n from ({sql}\n) t" for at, (sql, _) in enumerate(decided))
    counts = {row.at: row.n for row in spark.sql(" union all ".join(each)).collect()}
    return [(sql, known, counts[at]) for at, (sql, known) in enumerate(decided) if counts[at] != known.failures]


@pytest.mark.conformance
@pytest.mark.parametrize("name", MODELS)
def test_a_decision_is_what_spark_counts(name: str, published: tuple[str, Guard], spark: Any) -> None:
    db, guard = published
    texts = list(dict.fromkeys(asked(db, name)))
    decided = [(sql, known) for sql in texts if (known := found(sql, guard)) is not None]
    assert wrong(decided, spark) == []
    assert len(decided) >= 8, (len(decided), len(texts))


ROWS_OF, FOOTERS_OF = "counted: rows of N files", "counted: footers of N files"
GROUNDS = {
    ("plain", "unique", "id"): ROWS_OF,
    ("parted", "not_null", "id"): FOOTERS_OF,
    ("parted", "unique", "part"): None,
    ("by_text", "unique", "id"): ROWS_OF,
    ("by_text", "not_null", "s"): None,
    ("grouped", "unique", "n"): ROWS_OF,
    ("some", "not_null", "n"): "proved: a filter on n",
    ("some", "unique", "id"): f"proved: the values of decided_tests.plain.id, {ROWS_OF}",
    ("renamed", "not_null", "n"): "proved: the values of decided_tests.some.id, the values of decided_tests.plain.id, "
    + FOOTERS_OF,
    ("first", "unique", "id"): "proved: the first row of each id",
    ("first", "not_null", "id"): f"proved: the values of decided_tests.repeated.id, {FOOTERS_OF}",
    ("padded", "not_null", "n"): None,
    ("padded", "unique", "n"): None,
    ("repeated", "unique", "id"): ROWS_OF,
    ("nothing", "not_null", "id"): FOOTERS_OF,
}


def text(db: str, name: str, kind: str, column: str) -> str:
    if kind == "not_null":
        return f"select {column} from {db}.{name} where {column} is null"
    return (
        f"select {column} as unique_field, count(*) as n_records from {db}.{name} where {column} is not null "
        f"group by {column} having count(*) > 1"
    )


def ground(known: Failures | None) -> str | None:
    return None if known is None else re.sub(r"\d+ files?", "N files", known.ground)


def test_each_decision_says_its_ground(published: tuple[str, Guard], spark: Any) -> None:
    db, guard = published
    said = {key: found(text(db, *key), guard) for key in GROUNDS}
    assert {key: ground(known) for key, known in said.items()} == GROUNDS
    assert wrong([(text(db, *key), known) for key, known in said.items() if known is not None], spark) == []
    assert ground(found(combos(f"{db}.grouped", "s, n"), guard)) == "proved: group by n, s"


def test_a_key_that_the_contract_promised_was_counted_already(published: tuple[str, Guard]) -> None:
    db, guard = published
    terms = Contract([("id", "bigint", True), ("s", "string", True)], [{"kind": "unique", "columns": ["id"]}])
    report = guard.publish(Model(f"{db}.promised", f"select id, s from {db}.plain", contract=terms))
    assert report.outcome == "published", report.to_text()
    known = found(text(db, "promised", "unique", "id"), guard)
    assert known == Failures(0, "proved: the contract's key id, counted before the publish")
    # Two rows without a key may agree in all columns.
    together = found(combos(f"{db}.promised", "id, s"), guard)
    assert ground(together) == ROWS_OF


def test_what_others_wrote_since_is_not_what_was_published(published: tuple[str, Guard], spark: Any) -> None:
    db, guard = published
    guard.publish(Model(f"{db}.changing", f"select id, count(*) as n from {db}.plain group by id"))
    guard.publish(Model(f"{db}.shown", f"select distinct id from {db}.repeated", materialized="view"))
    unique, shown = text(db, "changing", "unique", "id"), text(db, "shown", "unique", "id")
    assert found(unique, guard) == Failures(0, "proved: group by id")
    assert found(shown, guard) == Failures(0, "proved: distinct id")
    spark.sql(f"insert into {db}.changing values (1, 1)")
    spark.sql(f"alter view {db}.shown as select id from {db}.repeated")
    changed = found(unique, guard)
    assert changed is not None
    assert (changed.failures, changed.ground.split(":")[0]) == (1, "counted")
    assert found(shown, guard) is None


def test_a_folder_that_is_not_there_is_no_table_without_rows(tmp_path: Path) -> None:
    session: Any = SimpleNamespace(files=data_files)
    (tmp_path / "there").mkdir()
    there, missing = f"file:{tmp_path}/there", f"file:{tmp_path}/missing"
    assert find_stored_below(session, [there], PhysicalSchema()) == Stored((), PhysicalSchema())
    for locations in ([missing], [there, missing], [there, "s3a://bucket/t"]):
        assert find_stored_below(session, locations, PhysicalSchema()) is None


def test_a_where_that_may_fail_or_does_more_is_left_to_spark(published: tuple[str, Guard]) -> None:
    db, guard = published
    known = {}
    for where in (
        "n > 0",
        "rand() < 0.5",
        "n / 0 > 1",
        "assert_true(n > 0) is null",
        "nowhere > 0",
        "n > 0 limit 1",
        "n > 0 group by 1",
        "exists (select 1)",
        "n > 0 -- and more",
    ):
        sql = f"select id from (select * from {db}.plain where {where}) dbt_subquery where id is null"
        asked = parse_question(sql)
        known[where] = asked is not None and count(asked, Relations(guard.session, guard.memory.plans)) is not None
    assert {where for where, decided in known.items() if decided} == {"n > 0", "rand() < 0.5"} | (
        set() if guard.session.conf.ansi else {"n / 0 > 1"}
    )
