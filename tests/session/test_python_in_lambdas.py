"""Python functions in lambdas on real Spark: the rows of the same SQL without Python, what travels, what is refused."""

from __future__ import annotations

import math
import subprocess
import sys
from collections.abc import Callable, Iterator
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from planproof import Function, Guard, Model, Verdict, plan
from planproof.session.python_functions import make_list_function, pickle_by_value
from planproof_engine.functions.nested import Application, Given, Level, ListCall
from planproof_engine.types import DOUBLE

ITEM = "named_struct('price', {}, 'qty', {}, 'sku', {})"
ROWS = f"""
select id, nullif(rate, -1D) as rate, items, items.price as xs, items.qty as ys,
       transform(items, i -> named_struct('rate', i.qty + rate, 'items', slice(items, 1, i.qty))) as orders
from values
  (1L, 10D, array({ITEM.format("1D", "1", "'a'")})),
  (2L, 20D, array({ITEM.format("2D", "2", "null")}, {ITEM.format("null", "1", "'c'")})),
  (3L, 30D, array()),
  (4L, 40D, null),
  (5L, -1D, array(null, {ITEM.format("5D", "2", "'e'")})),
  (6L, 0D, array({ITEM.format("double('NaN')", "1", "''")}, {ITEM.format("-0D", "1", "'é'")}, null))
as t(id, rate, items)
"""


def times(a: Any, b: Any) -> Any:
    return pc.multiply(a, b)


FUNCTIONS = {
    "times": Function(times, "double"),
    "sure": Function(lambda a, b: pc.fill_null(pc.multiply(a, b), 0.0), "double", nullable=False),
    "py": Function(lambda a, b: None if a is None or b is None else a * b, "double", kind="python"),
    "boom": Function(lambda a: 1 // 0, "double"),
    "null_after_all": Function(lambda a: a, "double", nullable=False),
    "text_after_all": Function(lambda a: pc.cast(a, pa.string()), "double"),
    "shouted": Function(lambda s: None if s is None else s.upper() + "!", "string", kind="python"),
    "odd_python": Function(lambda a: "no number", "double", kind="python"),
}

Product = Callable[[str, str], str]
SHAPES: tuple[Callable[[Product], str], ...] = (
    lambda m: f"transform(items, i -> {m('i.price', 'rate')})",
    lambda m: f"transform(items, i -> {m('i.price', 'rate')} + i.qty)",
    lambda m: f"transform(items, (i, n) -> {m('i.price', 'double(n)')} - n)",
    lambda m: f"transform(xs, (x, n) -> {m('rate', '2D')})",
    lambda m: f"transform(xs, x -> {m(m('x', 'rate'), 'x')})",
    lambda m: f"transform(xs, x -> coalesce({m('x', 'rate')}, 0))",
    lambda m: f"filter(xs, x -> {m('x', 'rate')} > 10)",
    lambda m: f"filter(items, (i, n) -> {m('i.price', 'rate')} > n)",
    lambda m: f"exists(xs, x -> {m('x', 'rate')} > 10)",
    lambda m: f"forall(items, i -> {m('i.price', 'rate')} > 10 or i is null)",
    lambda m: f"zip_with(xs, array(1D, null, 3D), (x, y) -> {m('x', 'y')} + y)",
    lambda m: f"transform(orders, o -> transform(o.items, i -> {m('i.price', 'o.rate')} + rate))",
    lambda m: f"transform(orders, o -> size(filter(o.items, i -> {m('i.price', 'o.rate')} > rate)))",
    lambda m: f"transform(filter(xs, x -> {m('x', 'rate')} > 1), x -> {m('x', 'x * 2')} + x)",
    lambda m: f"transform(xs, x -> {m('x', 'rate')} + aggregate(ys, 0, (a, y) -> a + coalesce(y, 0)) + x)",
)

CAPTURED = "transform(orders, (o, n) -> transform(o.items, (i, k) -> {} + o.rate + n))"
"""`n` is of the lambda around the one in which the function is called."""


IN_LAMBDAS = pytest.mark.needs_spark("4.1", "Arrow functions, which Python functions in lambdas run as")


@pytest.fixture(scope="module")
def guard(spark: Any) -> Guard:
    return Guard(spark, functions=FUNCTIONS)


@pytest.fixture
def source(spark: Any) -> Iterator[str]:
    spark.sql(ROWS).repartition(2).createOrReplaceTempView("python_rows")
    yield "python_rows"
    spark.catalog.dropTempView("python_rows")


def query(call: Product, captured: bool) -> str:
    shapes = [shape(call) for shape in SHAPES]
    if captured:
        shapes.append(CAPTURED.format(call("i.price", "double(n + k)")))
    columns = ",\n".join(f"{shape} as c{at}" for at, shape in enumerate(shapes))
    return f"select id,\n{columns}\nfrom python_rows"


def called(name: str) -> Product:
    return lambda a, b: f"{name}({a}, {b})"


@IN_LAMBDAS
@pytest.mark.parametrize("on", [True, False])
@pytest.mark.parametrize("name", ["times", "py"])
def test_the_rows_and_the_schema_are_those_of_sql_alone(
    guard: Guard, spark: Any, source: str, database: str, ansi: Any, name: str, on: bool
) -> None:
    ansi(on)
    captured = not guard.session.conf.before("4.3")
    report = guard.publish(Model(f"{database}.t", query(called(name), captured)))
    assert report.error is None
    assert [f for f in report.findings if f.verdict is not Verdict.PROVED and f.code != "PP210"] == []
    assert report.outcome == "published"
    native = spark.sql(query(lambda a, b: f"({a} * {b})", captured))
    found = spark.table(f"{database}.t")
    assert [f.dataType.simpleString() for f in found.schema] == [f.dataType.simpleString() for f in native.schema]
    assert list(map(repr, found.orderBy("id").collect())) == list(map(repr, native.orderBy("id").collect()))


@IN_LAMBDAS
def test_what_an_older_spark_does_not_evaluate_is_refused_by_name(guard: Guard, source: str, database: str) -> None:
    column = CAPTURED.format("times(i.price, double(n + k))")
    report = guard.publish(Model(f"{database}.t", f"select {column} as c from {source}"))
    if guard.session.conf.before("4.3"):
        assert (report.outcome, [f.code for f in report.findings]) == ("rejected", ["PP223"])
    else:
        assert report.outcome == "published"


@IN_LAMBDAS
def test_a_declared_not_null_reaches_spark_and_is_checked(guard: Guard, source: str) -> None:
    sql = "select transform(xs, x -> sure(x, rate)) a, transform(xs, x -> times(x, rate)) b from python_rows"
    report = guard.check(Model("default.t", sql))
    assert [f.code for f in report.findings if f.code == "PP201"] == []
    logical = plan(sql, guard.memory.catalog(), conf=guard.session.conf, registry=guard.functions.registry)
    flags = [f.type.json["containsNull"] for f in logical.schema]  # type: ignore[index]
    assert flags == [False, True]


BROKEN = {
    "null_after_all": "declared NOT NULL, gave",
    "text_after_all": "declared double, gave string",
    "odd_python": "declared double, gave another value",
}


@IN_LAMBDAS
@pytest.mark.parametrize("name", BROKEN)
def test_a_function_that_breaks_its_declaration_publishes_nothing(
    guard: Guard, spark: Any, source: str, database: str, name: str
) -> None:
    assert guard.publish(Model(f"{database}.t", "select 1 as id")).outcome == "published"
    sql = f"select id, transform(xs, x -> {name}(x)) as y from python_rows"
    report = guard.publish(Model(f"{database}.t", sql))
    (finding,) = [f for f in report.findings if f.verdict is Verdict.VIOLATED]
    assert (report.outcome, finding.code, finding.plane) == ("rejected", "PP224", "batches")
    assert f"the Python function {name} {BROKEN[name]}" in finding.message
    (arrays,) = [e for e in report.invariants if e.invariant == "I3"]
    assert arrays.enforced
    assert arrays.how == "each batch that a Python function gave in a lambda, until PP224"
    assert [tuple(r) for r in spark.table(f"{database}.t").collect()] == [(1,)]
    assert [
        r for r in spark.sql(f"show tables in {database}").collect() if r.tableName != "t" and not r.isTemporary
    ] == []


@IN_LAMBDAS
def test_an_error_of_the_function_is_its_own(guard: Guard, source: str, database: str) -> None:
    report = guard.publish(Model(f"{database}.t", "select transform(xs, x -> boom(x)) as y from python_rows"))
    assert (report.outcome, report.verdict) == ("failed", "unproved")
    assert "ZeroDivisionError" in (report.error or "")
    empty = "select transform(xs, x -> boom(x)) as y from python_rows where id in (3, 4)"
    assert guard.publish(Model(f"{database}.t", empty)).outcome == "published"


@IN_LAMBDAS
@pytest.mark.parametrize(
    ("code", "text", "materialized"),
    [
        ("PP220", "aggregate(xs, 0D, (a, x) -> a + times(a, x))", "table"),
        ("PP221", "transform(xs, x -> case when x > 0 then times(x, x) end)", "table"),
        ("PP222", "transform(xs, x -> times(x, x))", "view"),
    ],
)
def test_what_cannot_run_is_refused_before_spark_is_asked(
    guard: Guard, source: str, database: str, code: str, text: str, materialized: str
) -> None:
    report = guard.publish(Model(f"{database}.t", f"select {text} as y from python_rows", materialized=materialized))
    assert report.outcome == "rejected"
    assert [f.code for f in report.findings if f.verdict is Verdict.VIOLATED] == [code]


@IN_LAMBDAS
def test_functions_stand_in_every_clause_and_are_forgotten_afterwards(guard: Guard, spark: Any, source: str) -> None:
    sql = """
    with a as (select id, transform(items, i -> shouted(i.sku)) as names from python_rows)
    select id, names, times(id, 2D) twice from a
    where exists(names, n -> shouted(n) = 'A!!') or id in
      (select id from python_rows where forall(xs, x -> times(x, rate) > 100))
    order by size(transform(names, n -> shouted(n))), id
    """
    report = guard.check(Model("default.t", sql))
    assert [f for f in report.findings if f.verdict in (Verdict.VIOLATED, Verdict.UNPROVED)] == []
    assert {p.status for p in report.planes if p.plane in ("analyzed", "optimized", "executed")} == {"read"}
    names = [r[0] for r in spark.sql("show user functions").collect()]
    assert not [n for n in names if n.startswith("planproof_")]


def lowered(guard: Guard, sql: str) -> str:
    catalog = guard.memory.catalog()
    logical = plan(sql, catalog, conf=guard.session.conf, registry=guard.functions.registry)
    found = guard.functions.lower(logical, catalog)
    assert found is not None
    _RELEASED.append((guard, found[1]))
    return found[1].sql


@pytest.fixture(autouse=True)
def _released() -> Iterator[None]:
    yield
    while _RELEASED:
        guard, found = _RELEASED.pop()
        guard.functions.release(found)


_RELEASED: list[tuple[Guard, Any]] = []


def python_nodes(frame: Any) -> list[Any]:
    executed = frame._jdf.queryExecution().executedPlan()
    found, pending = [], [executed]
    while pending:
        node = pending.pop()
        kind = node.getClass().getSimpleName()
        if kind == "AdaptiveSparkPlanExec":
            pending.append(node.executedPlan())
        if kind.endswith("QueryStageExec"):
            pending.append(node.plan())
        if kind == "ArrowEvalPythonExec":
            found.append(node)
        pending += [node.children().apply(i) for i in range(node.children().size())]
    return found


def sent(guard: Guard, spark: Any, sql: str) -> tuple[list[str], int]:
    """What the worker is given: its argument types, and how many bytes."""
    frame = spark.sql(lowered(guard, sql))
    frame.collect()
    (node,) = python_nodes(frame)
    (function,) = [node.udfs().apply(i) for i in range(node.udfs().size())]
    children = [function.children().apply(i) for i in range(function.children().size())]
    return [c.dataType().simpleString() for c in children], node.metrics().apply("pythonDataSent").value()


@IN_LAMBDAS
def test_only_the_list_and_what_is_captured_travels(guard: Guard, spark: Any, source: str) -> None:
    wide = "select *, repeat('x', 10000) as blob, transform(items, i -> struct(i.price, repeat('y', 1000) z)) w"
    narrow_sql = "select transform(w, i -> times(i.price, rate)) as y from ({} from python_rows)"
    given, wide_bytes = sent(
        guard, spark, f"select blob, y from (select *, {SHAPES[0](called('times'))} y from ({wide} from python_rows))"
    )
    assert given == ["array<double>", "double"]
    given, narrow_bytes = sent(guard, spark, f"select {SHAPES[0](called('times'))} y from python_rows")
    assert given == ["array<double>", "double"]
    assert wide_bytes == narrow_bytes
    given, field_bytes = sent(guard, spark, narrow_sql.format(wide))
    assert (given, field_bytes) == (["array<double>", "double"], narrow_bytes)


WORKER = """
import pickle, sys
sys.modules["planproof"] = None
evaluated = pickle.load(sys.stdin.buffer)
import pyarrow as pa
print(evaluated(pa.array([[1.0, 2.0], [], None]), pa.array([2.0, 3.0, 4.0])).to_pylist())
"""


@IN_LAMBDAS
@pytest.mark.parametrize("kind", [pytest.param("arrow", marks=pytest.mark.conformance), "python"])
def test_a_worker_needs_no_planproof(kind: str) -> None:
    """The function travels with planproof's own code: a cluster's Python has pyarrow and pyspark only."""
    from pyspark import cloudpickle

    code = (
        "def product(a, b):\n    return a * b"
        if kind == "python"
        else ("import pyarrow.compute as pc\ndef product(a, b):\n    return pc.multiply(a, b)")
    )
    space: dict[str, Any] = {"__name__": "__main__"}
    exec(code, space)  # noqa: S102
    functions = {"product": Function(space["product"], "double", kind=kind)}
    made = Application(0, "product", (Given(0, 1), Given(1, 0)), (DOUBLE, DOUBLE), DOUBLE, True)
    call = ListCall("c", Level(Given(0, 1), (), (made,), (), True))
    with pickle_by_value():
        form = cloudpickle.dumps(make_list_function(call, functions, "UTC"))
    ran = subprocess.run([sys.executable, "-c", WORKER], input=form, capture_output=True, timeout=120)
    assert ran.returncode == 0, ran.stderr.decode()[-2000:]
    assert ran.stdout.decode().strip() == "[[2.0, 4.0], [], None]"


@IN_LAMBDAS
@pytest.mark.parametrize("deterministic", [True, False])
def test_a_plain_function_is_called_once_for_arguments_that_repeat(deterministic: bool) -> None:
    calls = []

    def divided(a: Any, b: Any) -> Any:
        calls.append((a, b))
        return None if a is None else math.copysign(b, a)

    functions = {"divided": Function(divided, "double", kind="python", deterministic=deterministic)}
    made = Application(0, "divided", (Given(0, 1), Given(1, 0)), (DOUBLE, DOUBLE), DOUBLE, True)
    evaluated = make_list_function(ListCall("c", Level(Given(0, 1), (), (made,), (), True)), functions, "UTC")
    lists = [[0.0, None], [-0.0, 0.0], []] * 50
    found = evaluated(pa.array(lists, pa.list_(pa.float64())), pa.array([1.0, 2.0, 3.0] * 50))
    assert repr(found.to_pylist()) == repr([[1.0, None], [-2.0, 2.0], []] * 50)
    assert len(calls) == (4 if deterministic else 200)


@IN_LAMBDAS
def test_pyspark_functions_are_taken_by_their_own_declaration(spark: Any, source: str) -> None:
    pytest.importorskip("pandas")
    from pyspark.sql.functions import udf

    functions = {
        "twice": udf(lambda a: None if a is None else a * 2, "double"),
        "floored": Function(lambda moments: moments.dt.floor("D"), "timestamp", kind="pandas"),
        "product": Function(lambda f: f["price"] * f["qty"], "double", kind="pandas"),
    }
    guard = Guard(spark, functions=functions)
    sql = """select id, transform(xs, x -> twice(x)) a,
      transform(array(timestamp'2024-03-10 23:30:00', null), m -> floored(m)) b, transform(items, i -> product(i)) c
      from python_rows where id < 3 order by id"""
    found = spark.sql(lowered(guard, sql)).collect()
    native = spark.sql("""select id, transform(xs, x -> x * 2) a,
      transform(array(timestamp'2024-03-10 23:30:00', null), m -> date_trunc('day', m)) b,
      transform(items, i -> i.price * i.qty) c from python_rows where id < 3 order by id""").collect()
    assert found == native


@pytest.mark.spark35_smoke
def test_a_spark_without_arrow_functions_refuses_the_function_by_name(
    spark: Any, source: str, database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delattr("pyspark.sql.functions.arrow_udf", raising=False)
    guard = Guard(spark, functions={"half": Function(lambda x: x / 2, "double", kind="python")})
    report = guard.publish(Model(f"{database}.t", "select transform(xs, x -> half(x)) as y from python_rows"))
    assert report.outcome == "rejected"
    (finding,) = [f for f in report.findings if f.verdict is Verdict.VIOLATED]
    assert (finding.code, "a lambda (half) needs pyspark 4.1" in finding.message) == ("PP223", True)
    report = guard.publish(Model(f"{database}.t", "select half(rate) as y from python_rows where id = 1"))
    assert (report.outcome, report.rows) == ("published", 1)
