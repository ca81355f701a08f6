"""A thousand characters that stand for a plan or a type that no machine holds: that model alone is unproved, by the
name of the budget, and soon."""

from __future__ import annotations

import json
import resource
import threading
import time
import tracemalloc
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from datetime import datetime, timezone
from typing import Any

import pytest

from planproof.limits import Limits
from planproof.project.check import check_project
from planproof.project.infer import infer_project
from planproof.project.manifest import read_project
from planproof.project.reads import ProjectError
from planproof.report.formats import FORMATS, render
from planproof.report.model import Report, Verdict
from planproof.report.run import run_report
from planproof_engine import budget
from planproof_engine.api import plan
from planproof_engine.budget import OverBudget, bounded, is_bounded
from planproof_engine.catalog import Catalog, Relation, relation
from planproof_engine.conf import Conf
from planproof_engine.depth import deeply
from planproof_engine.origin import AnalysisError, Unknown
from planproof_engine.sql.parse import parse
from planproof_engine.types import TypeSyntaxError, from_json, parse_type

pytestmark = pytest.mark.usefixtures("soon")
SECONDS = 5
"""Of the processor, for one attack."""


def doubling(levels: int, body: str) -> str:
    """CTEs each of which reads the one before it twice."""
    ctes = "".join(f", c{i} as ({body.format(p=f'c{i - 1}')})" for i in range(1, levels))
    return f"with c0 as (select 1 as a){ctes} select * from c{levels - 1}"


def columns(count: int) -> str:
    return ", ".join(f"{i} as a{i}" for i in range(count))


def names(count: int) -> str:
    return ", ".join(f"a{i}" for i in range(count))


def sums(count: int) -> str:
    return ", ".join(f"sum(a{i})" for i in range(count))


FORTY, TWENTY = (f"select count(*) as n from (select {columns(count)}) group by" for count in (40, 20))


NODES, COLUMNS, SETS = "100,000 nodes", "2,000,000 columns", "65,536 grouping sets"


PARTS, TYPE, DIGITS = "10,000 parts", "a type of more than", "a number of this many digits"


TOO_LARGE = {
    "a union of the CTE before": (doubling(26, "select * from {p} union all select * from {p}"), NODES),
    "a join of it": (doubling(26, "select x.a from {p} x join {p} y on x.a = y.a"), NODES),
    "subqueries in SELECT": (doubling(26, "select (select max(a) from {p}) + (select min(a) from {p}) as a"), NODES),
    "subqueries in WHERE": (doubling(26, "select a from {p} where a in (select a from {p})"), NODES),
    "correlated ones": (doubling(26, "select a from {p} o where exists (select 1 from {p} i where i.a = o.a)"), NODES),
    "stars of stars": (doubling(26, "select x.*, y.* from {p} x cross join {p} y"), NODES),
    "two stars": (doubling(26, "select *, * from {p}").replace("* from c25", "count(*) as n from c25"), COLUMNS),
    "pipes of stars": ("from (select 1 as a) " + "|> select *, * " * 26, COLUMNS),
    "stars beside stars": (f"with w as (select {columns(500)}) select {', '.join(['*'] * 5000)} from w", COLUMNS),
    "CUBE of 40": (f"{FORTY} cube({names(40)})", SETS),
    "WITH CUBE": (f"{TWENTY} {names(20)} with cube", SETS),
    "CUBEs beside each other": ("select a from (select 1 a, 2 b) group by " + ", ".join(["cube(a, b)"] * 12), SETS),
    "CUBEs in GROUPING SETS": (f"{TWENTY} grouping sets (cube({names(20)}))", SETS),
    "ROLLUPs": ("select a from (select 1 a, 2 b, 3 c) group by " + ", ".join(["rollup(a, b, c)"] * 9), SETS),
    "aliases on the left": ("select 1 as a0" + "".join(f", a{i - 1} + a{i - 1} as a{i}" for i in range(1, 40)), PARTS),
    "1,000 aliases, each of the one before": (
        "select 1 as a0" + "".join(f", a{i - 1} + 1 as a{i}" for i in range(1, 1000)),
        "a SELECT list of more than 200,000 parts",
    ),
    "structs of structs": (doubling(40, "select struct(a as x, a as y) as a from {p}"), TYPE),
    "structs in lambdas": (f"select {'transform(' * 30}array(1){', x -> struct(x as a, x as b))' * 30} as a", TYPE),
    "a deep type": ("select cast(null as " + "array<" * 3000 + "int" + ">" * 3000 + ") as a", TYPE),
    "150 structs in structs": ("select " + "struct(" * 150 + "1" + ")" * 150 + " as a", TYPE),
    "UNPIVOT of 5,000": (f"select * from (select {columns(5000)}) unpivot (v for n in ({names(5000)}))", COLUMNS),
    "6,000 digits": ("select " + "9" * 6000 + " as a", DIGITS),
    "a limit of 6,000 digits": ("select 1 as a limit " + "9" * 6000, DIGITS),
    "a decimal of 6,000 digits": ("select cast(1 as decimal(" + "9" * 6000 + ", 2)) as a", DIGITS),
    "parentheses": ("select " + "(" * 20000 + "1" + ")" * 20000 + " as a", "nested this deep"),
}  # fmt: skip


HELD = {
    "a stack of two billion rows": "select stack(2147483647, 1, null)",
    "80 loops in loops": "select " + "transform(array(1), x -> " * 80 + "x" + ")" * 80 + " as a",
    "55 sums in sums": "select " + "aggregate(array(1), 0, (a, x) -> " * 55 + "a + x" + ")" * 55 + " as a",
    "a chain of sums": doubling(40, "select a + a as a from {p}"),
    "a chain of products": doubling(40, "select a * a as a from {p}"),
    "a chain of greatest": doubling(40, "select greatest(a, a) as a from {p}"),
    "a chain of texts": doubling(40, "select concat(a, a) as a from {p}"),
    "a star of 8,000 columns": f"select * from (select {columns(8000)})",
    "ORDER BY of 4,000 columns": f"select {columns(4000)} order by {names(4000)}",
    "ORDER BY of 4,000 that are not shown": f"select a0 as x from (select {columns(4000)}) order by {names(4000)}",
    "ORDER BY of 2,000 aggregates": f"select a0 from (select {columns(2000)}) group by a0 order by {sums(2000)}",
    "GROUP BY of 4,000": f"select count(*) as n from (select {columns(4000)}) group by {names(4000)}",
    "ROLLUP of 1,000": f"select count(*) as n from (select {columns(1000)}) group by rollup({names(1000)})",
    "USING of 2,000": f"select a0 from (select {columns(2000)}) join (select {columns(2000)}) using ({names(2000)})",
    "a union of 4,000": " union ".join(f"select {i} as a" for i in range(4000)),
    "a concatenation of 10,000": f"select {' || '.join(['a'] * 10_000)} as x from (select 'x' as a)",
    "the fields of a struct of 3,000": f"select s.* from (select struct({columns(3000)}) as s)",
    "text like 20,000 variables": "select '" + "${a:" * 20_000 + "' as a",
    "a CASE of 10,000 branches": "select case "
    + " ".join(f"when a = {i} then {i}" for i in range(10_000))
    + " end as x from (select 1 as a)",
    "3,000 wrong names": f"select {', '.join(f'no_column_of_an_order_{i}' for i in range(3000))} from (select "
    + ", ".join(f"1 as some_column_of_orders_{i}" for i in range(30))
    + ")",
    "7,000 reads of a struct's fields": f"select {', '.join(f's.a{i}' for i in range(7000))} "
    f"from (select struct({columns(7000)}) as s)",
    "a star of 6 columns, 1,500 times": f"select {', '.join(['t.*'] * 1500)} from (select {columns(6)}) t",
    "LIMIT of 2,000 terms": f"select 1 as a limit {' + '.join(['1'] * 2000)}",
    "HAVING of 3,000 terms": "select a, count(*) as n from (select 1 as a, 2 as b) group by a having "
    + " and ".join(f"sum(b) > {i}" for i in range(3000)),
}
"""What looks large and is not: it is judged."""


@pytest.fixture
def checked(dbt_manifest: Any) -> Callable[..., dict[str, Report]]:
    """Checks one model with a text beside a healthy one."""

    def check(sql: str, **given: Any) -> dict[str, Report]:
        models = {"attack": {"sql": sql, **given}, "healthy": {"sql": "select 1 as id"}}
        reports = check_project(read_project(dbt_manifest(models)))
        found = {report.model.rpartition(".")[2]: report for report in reports}
        assert found["healthy"].verdict is Verdict.PROVED
        return found

    return check


@pytest.mark.parametrize("name", TOO_LARGE)
def test_what_grows_is_counted(name: str, checked: Callable[..., dict[str, Report]]) -> None:
    sql, said = TOO_LARGE[name]
    began = time.process_time()
    report = checked(sql)["attack"]
    assert time.process_time() - began < SECONDS
    assert (report.outcome, report.verdict) == ("checked", Verdict.UNPROVED)
    assert said in report.findings[0].message
    assert len(report.findings[0].message) < 1000


@pytest.mark.parametrize("name", HELD)
def test_a_chain_of_columns_is_looked_at_once(name: str, checked: Callable[..., dict[str, Report]]) -> None:
    began = time.process_time()
    report = checked(HELD[name])["attack"]
    assert report.outcome == "checked"
    assert {"PP113", "PP901"}.isdisjoint(f.code for f in report.findings)
    assert time.process_time() - began < SECONDS


def test_a_deep_plan_is_printed_line_by_line() -> None:
    """Each level once copied the text of all below it."""
    shown = plan(" union ".join(f"select {i} as a" for i in range(2000)))
    began = time.process_time()
    assert str(shown).count("SetOperation") == 1999
    assert time.process_time() - began < SECONDS


def test_what_else_is_wrong_is_looked_for_within_bounds() -> None:
    """Of two errors the earlier one is said; to look for it in each of these blocks anew would take minutes."""
    query = "nope"
    for level in range(190):
        query = f"(select {query} + 1 as c{level})"
    with pytest.raises(AnalysisError, match="nope"):
        plan(f"select {query}", Catalog([]))


def test_seconds_end_one_model(checked: Callable[..., dict[str, Report]], monkeypatch: pytest.MonkeyPatch) -> None:
    """What no count bounds: a long list, say."""
    monkeypatch.setattr(bounded.__wrapped__, "__defaults__", (0.5, budget.BYTES))
    report = checked("select " + " + ".join(["1"] * 100_000) + " as a")["attack"]
    assert (report.outcome, report.verdict) == ("checked", Verdict.UNPROVED)
    assert [(f.code, "seconds of the processor" in f.message) for f in report.findings] == [("PP113", True)]


def test_memory_ends_one_model() -> None:
    def filled() -> int:
        with bounded(60, 2**26):
            return len([bytes([1]) * 2**20 for _ in range(1000)])

    with pytest.raises(OverBudget, match="memory"):
        filled()


def test_work_in_a_deep_thread_ends_with_its_budget() -> None:
    """The thread does not go on with what nobody waits for."""

    def endless(calls: int) -> None:
        if calls:
            return endless(calls - 1)
        while True:
            sum(range(1000))

    before, began = threading.active_count(), time.monotonic()
    with pytest.raises(OverBudget), bounded(0.3):
        deeply(lambda: endless(3000))
    while time.monotonic() < began + 5 and threading.active_count() > before:
        time.sleep(0.01)
    assert threading.active_count() == before


def in_a_thread(work: Callable[[], Any]) -> Any:
    """What `work` returns or raises in a thread of its own, as dbt's and the language server's are."""
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(work).result()


def spinning(seconds: float) -> None:
    until = time.thread_time() + seconds
    while time.thread_time() < until:
        sum(range(1000))


def test_another_thread_ends_with_its_budget(
    checked: Callable[..., dict[str, Report]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bounded.__wrapped__, "__defaults__", (0.1, budget.BYTES))
    report = in_a_thread(lambda: checked("select " + " + ".join(["1"] * 300_000) + " as a"))["attack"]
    assert [(f.code, "seconds of the processor" in f.message) for f in report.findings] == [("PP113", True)]


def test_a_plan_without_a_project_ends_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bounded.__wrapped__, "__defaults__", (0.2, budget.BYTES))
    for run in (in_a_thread, lambda work: work()):
        with pytest.raises(Unknown, match="seconds of the processor"):
            run(lambda: plan("select " + " + ".join(["1"] * 300_000) + " as a"))


def test_a_deep_thread_of_another_thread_ends_and_is_counted() -> None:
    def endless(calls: int) -> None:
        if calls:
            return endless(calls - 1)
        while True:
            sum(range(1000))

    def work() -> None:
        with bounded(0.5):
            deeply(lambda: endless(3000))

    with pytest.raises(OverBudget, match="seconds"):
        in_a_thread(work)
    assert [thread.name for thread in threading.enumerate() if "deep" in thread.name] == []


def test_what_other_threads_do_is_not_counted() -> None:
    """Eight models of dbt's are planned at once: each has its own time."""

    def work() -> bool:
        with bounded(0.5):
            spinning(0.15)
        return True

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(lambda _: work(), range(8)))


@pytest.mark.parametrize("run", [in_a_thread, lambda work: work()], ids=["a thread", "the main thread"])
def test_an_answer_that_is_awaited_is_heard_to_its_end(run: Callable[..., Any]) -> None:
    """Spark's connection would give the rest of it to who asks next."""
    heard: list[bool] = []

    def ask(parts: tuple[str, ...]) -> Relation:
        spinning(0.6)
        heard.append(True)
        return relation(".".join(parts), [("a", "int", True)])

    def work() -> None:
        with bounded(0.3):
            plan("select a from r.t", Catalog(source=ask))
            spinning(0.1)
            assert heard == [True]
            spinning(5)

    with pytest.raises(OverBudget):
        run(work)


def test_nothing_is_raised_after_the_work() -> None:
    """A budget that ends with the work, or just after it, ends nothing else."""

    def work() -> None:
        for tenth in range(6):
            with suppress(OverBudget), bounded(0.1):
                spinning(0.02 * tenth + 0.05)
            spinning(0.12)

    in_a_thread(work)
    until = time.monotonic() + 5
    while time.monotonic() < until and any(t.name == "planproof: budget" for t in threading.enumerate()):
        time.sleep(0.05)
    assert "planproof: budget" not in [t.name for t in threading.enumerate()]


@pytest.mark.parametrize("run", [in_a_thread, lambda work: work()], ids=["a thread", "the main thread"])
def test_work_that_leaves_much_to_free_ends_once(run: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """What was raised while its memory was freed, as its block was being left, kept the work from ending: its model's
    error ended the check."""
    monkeypatch.setattr(budget, "_TICK", 0.01)

    def hold() -> None:
        held = [[] for _ in range(2_000_000)]  # type: ignore[var-annotated]
        spinning(60)
        del held

    def work() -> bool:
        try:
            with bounded(0.5):
                hold()
        except OverBudget:
            return not is_bounded()
        return False

    assert run(work)


@pytest.mark.parametrize("pattern", ["(a+)+b", ".*a.*a.*a.*a.*b", "a?" * 40 + "a" * 40, "a{99999999999}", "(a*)*b"])
def test_a_pattern_of_columns_is_matched_soon_or_unknown(pattern: str) -> None:
    """A match ends with no budget in a thread that is not the main one."""
    conf = Conf().with_setting("spark.sql.parser.quotedRegexColumnNames", "true")
    with pytest.raises(Unknown, match="pattern"):
        in_a_thread(
            lambda: plan(f"select `{pattern}` from r.t", Catalog({"r.t": [("a" * 60, "int", True)]}), conf=conf)
        )


@pytest.mark.parametrize("levels", [65, 3000, 100_000])
def test_types_have_so_many_levels(levels: int) -> None:
    with pytest.raises(ValueError, match="levels"):
        parse_type("array<" * levels + "int" + ">" * levels)
    with pytest.raises(ValueError, match="levels"):
        from_json('{"type": "array", "containsNull": true, "elementType": ' * levels + '"int"' + "}" * levels)


@pytest.mark.parametrize(
    "text", ["decimal(" + "9" * 6000 + ")", "varchar(" + "9" * 6000 + ")", "decimal(²)", "x" * 10**6]
)
def test_a_type_that_is_none_is_told_in_a_line(text: str) -> None:
    with pytest.raises(TypeSyntaxError) as refused:
        parse_type(text)
    assert len(str(refused.value)) < 1000


def test_texts_that_were_computed_are_not_kept() -> None:
    """Each part of a long concatenation was: 450 MB of one model, for as long as the process ran."""
    text = " || ".join([f"'{'x' * 900}'"] * 300)
    tracemalloc.start()
    try:
        with suppress(AnalysisError, Unknown):
            plan(f"select 1 as a limit length({text})", Catalog({}))
        assert tracemalloc.get_traced_memory()[0] < 20 * 2**20
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("part", ["x" * 4, r"\x" * 2, "''" * 2, '""' * 2, "``" * 2])
@pytest.mark.parametrize(
    "text", ["'{}'", '"{}"', "`{}`", "--{}\n1", "/*{}*/ 1", "cast(1 as struct<a: int comment '{}'>)"]
)
def test_a_long_text_takes_little_memory(text: str, part: str) -> None:
    """A literal of ten megabytes took more than a gigabyte to read, later one of escapes: 280 bytes for each."""
    sql = f"select {text.format(part * 300_000)} as a"
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with suppress(AnalysisError):
        parse(sql, Conf())
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 60_000


def test_a_name_of_thousands_of_columns_is_told_in_short(checked: Callable[..., dict[str, Report]]) -> None:
    found = checked("select " + ", ".join(["1 as a"] * 2000))["attack"].findings
    assert "1980 others have one name" in next(f.message for f in found if f.code == "PP102")
    assert max(len(f.message) for f in found) < 1000


@pytest.mark.parametrize("between", [" ", pytest.param("\n", marks=pytest.mark.conformance)])
def test_thousands_of_findings_are_soon_told(between: str, checked: Callable[..., dict[str, Report]]) -> None:
    """Each of them quotes its line, and one line may be the whole text."""
    part = "sum(a) over (partition by a order by b rows between {i} preceding and current row) as x{i}"
    sql = f"select {f',{between}'.join(part.format(i=i) for i in range(4000))} from (select 1 as a, 2 as b)"
    report = checked(sql, contract=True, columns={"a": "int"})["attack"]
    assert len(report.findings) > 4000
    for form in FORMATS:
        began = time.process_time()
        text = render(run_report("check", [report], datetime.now(timezone.utc)), form)
        assert time.process_time() - began < SECONDS, form
        assert form == "openlineage" or "x399" in text


def test_a_chain_of_ephemeral_models_is_looked_at_once(dbt_manifest: Any) -> None:
    """Of each was asked anew what stands behind it: half a minute for 5,000."""
    form = {"sql": "select 1 as id", "config": {"materialized": "ephemeral"}}
    models = {f"m{i}": {**form, "parents": [f"m{i - 1}"] if i else ["t"]} for i in range(5000)}
    project = read_project(dbt_manifest({"t": {"sql": "select 1 as id"}, **models}))
    began = time.process_time()
    assert {node.name for model in project.models for node in project.stored_parents(model)} == {"t"}
    assert time.process_time() - began < 1


@pytest.mark.parametrize("kind", ["a chain", "a hub", "a growing chain"])
def test_what_ephemeral_models_stand_for_is_no_product(kind: str, dbt_manifest: Any) -> None:
    """A megabyte that names each parent once had a check of 20 seconds, and 100 MB of a report."""
    inner = {"sql": "select 1 as id", "config": {"materialized": "ephemeral"}}
    sources, many = {f"raw.s{i}": {"id": "int"} for i in range(1500)}, range(1500)
    if kind == "a chain":
        models = {f"e{i}": {**inner, "parents": [f"e{i - 1}"] if i else list(sources)} for i in many}
    elif kind == "a growing chain":
        models = {f"e{i}": {**inner, "parents": [f"raw.s{i}", *([f"e{i - 1}"] if i else [])]} for i in many}
    else:
        models = {"hub": {**inner, "parents": list(sources)}}
        models |= {f"e{i}": {"sql": "select 1 as id", "parents": ["hub"]} for i in many}
    few = {"few": {**inner, "parents": ["raw.s0"]}, "healthy": {"sql": "select id from raw.s0", "parents": ["few"]}}
    project = read_project(dbt_manifest({**models, **few}, sources))
    began = time.process_time()
    found = {report.model.rpartition(".")[2]: report for report in check_project(project)}
    assert time.process_time() - began < SECONDS
    assert (found["healthy"].verdict, list(found["healthy"].details.inputs)) == (Verdict.PROVED, ["raw.s0"])
    last = found["e1499"]
    assert (last.outcome, last.verdict) == ("checked", Verdict.UNPROVED)
    assert [(f.code, "by way of ephemeral models" in f.message) for f in last.findings] == [("PP113", True)]
    assert len(render(run_report("check", list(found.values()), datetime.now(timezone.utc)), "json")) < 2**25
    assert len(project.stored_parents(project.nodes["model.shop.e1499"])) == 1500, "a run waits for all of them"


def test_a_wide_table_is_inferred_soon(dbt_manifest: Any) -> None:
    """Its names were listed once for each of them: twenty minutes for 100,000."""
    columns = {f"c{i}": "int" for i in range(20_000)}
    project = read_project(
        dbt_manifest({"m": {"sql": "select * from raw.t", "parents": ["raw.t"]}}, {"raw.t": columns})
    )
    began = time.process_time()
    [found] = infer_project(project)
    assert time.process_time() - began < 3 * SECONDS
    assert len(found.columns) == 20_000


@pytest.mark.parametrize("within", ["9" * 5000 + "h", "9" * 9 + "d", "36601d"])
def test_an_age_reaches_back_a_hundred_years(within: str, checked: Callable[..., dict[str, Report]]) -> None:
    """The first ended the check of all models, the second a run: no calendar has that day."""
    settings = {"limits": {"fresh": {"column": "a", "within": within}}}
    with pytest.raises(ProjectError, match="not an age such as"):
        checked("select current_timestamp() as a", config={"meta": {"planproof": settings}})
    assert Limits.of({"fresh": {"column": "a", "within": "36600d"}}, "limits").fresh[0].seconds == 36_600 * 86_400


def test_names_of_megabytes_are_not_handed_on(dbt_manifest: Any) -> None:
    """Twenty readers of twenty such columns had a report of two gigabytes."""
    wide = {"sql": "select " + ", ".join(f"1 as `{chr(97 + i) * 10**6}`" for i in range(20))}
    models = {"m": wide, **{f"r{i}": {"sql": "select * from shop.m", "parents": ["m"]} for i in range(20)}}
    began = time.process_time()
    reports = check_project(read_project(dbt_manifest({**models, "healthy": {"sql": "select 1 as id"}})))
    assert time.process_time() - began < SECONDS
    found = {report.model.rpartition(".")[2]: report for report in reports}
    assert found.pop("healthy").verdict is Verdict.PROVED
    assert {report.verdict for report in found.values()} == {Verdict.UNPROVED}
    assert "4,000,000 characters together" in found["m"].findings[0].message
    assert sum(len(json.dumps(report.to_dict(), default=str)) for report in reports) < 2**25
