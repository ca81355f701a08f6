"""What becomes of each statement in each state of a node: a table, without dbt and without Spark."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from dbt_planproof.decide import Check, Forget, MakeView, Publish, SayUnguarded, Weigh, decide
from dbt_planproof.seeds import Seed
from dbt_planproof.statement_models import Source
from dbt_planproof.states import OPEN, ColumnsSeen, GuardedNode, NodeState, Phase, PlanesSeen, Unseen
from planproof.contract import Contract, Model
from planproof_engine.catalog import RelationName
from planproof_engine.sql.heads import read_head

QUERY = "select 1 as id"
CONTRACT = Contract([("id", "int", False)])
ORC = "its file format is orc"


def state(
    materialized: str = "table",
    *,
    contract: bool = True,
    reason: str | None = None,
    kind: str = "model",
    strategy: str = "append",
    file_format: str | None = "parquet",
    **known: Any,
) -> NodeState:
    """The state of a node `s.t` whose query is `QUERY`."""
    promised = CONTRACT if contract else None
    options = {"incremental_strategy": strategy} if materialized == "incremental" else {}
    format = {"file_format": "iceberg"} if strategy == "merge" else {}
    model = Model("s.t", QUERY, contract=promised, materialized=materialized, **options, **format)
    columns = {"id": {"name": "id", "data_type": "int"}}
    form = {"name": "t", "resource_type": kind, "config": {"file_format": file_format}, "columns": columns}
    return replace(NodeState.of(GuardedNode(model, form, RelationName(("s", "t")), QUERY, reason)), **known)


def no_setting(key: str) -> str | None:
    return None


VIEW = f"create or replace temporary view t__dbt_tmp as {QUERY}"
DELTA = read_head(VIEW)
CREATE = f"create table s.t using parquet as {QUERY}"
INSERT = "insert into table s.t select `id` from t__dbt_tmp"
ADD = "alter table s.t add columns (note string)"
DELETE = "delete from s.t where id = 1"
SOURCE = Source("`t__dbt_tmp`")
DROP: Any = object()
INCREMENTAL = state("incremental")
AFTER_VIEW = state("incremental", delta=DELTA)
DBTS = state(reason=ORC)
LOADING = state(kind="seed", contract=False, seed=Seed(RelationName(("s", "t"))))
MADE = read_head("create table s.t (id int) using iceberg")
LOADED = replace(LOADING, seed=Seed(RelationName(("s", "t")), MADE, ("rows",)))
MERGE = (
    "merge into s.t as DBT_INTERNAL_DEST using t__dbt_tmp as DBT_INTERNAL_SOURCE on a = b "
    "when matched then update set * when not matched then insert *"
)

CASES: tuple[tuple[str, NodeState | None, str, str], ...] = (
    ("nothing is known of the node", None, "insert into s.u select 1", "Forget"),
    ("a query changes nothing", None, "select 1", ""),
    ("nor does a grant", None, "grant select on s.t to ada", ""),
    ("a rename by a hook keeps its rows", None, "alter table s.t rename to s.u", "KeepRows Forget"),
    ("the table is published", state(), CREATE, "Publish"),
    ("the contract's wrapping too", state(), f"create table s.t as select id from ({QUERY}) as m", "Publish"),
    ("a view is published", state("view"), f"create or replace view s.t as {QUERY}", "Publish"),
    ("a first run is a table", INCREMENTAL, CREATE, "Publish"),
    (
        "another table is not the node's",
        state(contract=False),
        f"create table s.u as {QUERY}",
        "SayUnguarded RunPutOff Forget",
    ),
    ("nor is another query", state(), "create table s.t as select 2 as id", "RunPutOff Forget"),
    (
        "another format is not understood",
        state(),
        f"create table s.t using orc as {QUERY}",
        "SayUnguarded Check RunPutOff Forget",
    ),
    ("a hook runs, after what was put off", state(), "insert into s.log select 1", "RunPutOff Forget"),
    ("a query of dbt's is dbt's", state(put_off=(DROP,)), "select count(*) from s.t", ""),
    ("a delta is a view, which is checked", INCREMENTAL, VIEW, "Check"),
    ("another view is a hook's", INCREMENTAL, "create or replace temporary view v as select 1", "RunPutOff Forget"),
    ("the delta is published", AFTER_VIEW, INSERT, "Publish"),
    (
        "by the other strategy it is not understood",
        AFTER_VIEW,
        INSERT.replace("into", "overwrite"),
        "SayUnguarded RunPutOff Forget",
    ),
    ("a merge is published", state("incremental", strategy="merge", delta=DELTA), MERGE, "Publish"),
    ("a schema change waits for the delta", AFTER_VIEW, ADD, "Forget Answer"),
    ("without a delta it is a hook's", INCREMENTAL, ADD, "RunPutOff Forget"),
    ("a delete waits for the insert", AFTER_VIEW, DELETE, "Forget Answer"),
    ("a TRUNCATE is a delete", AFTER_VIEW, "truncate table s.t", "Forget Answer"),
    (
        "without a contract nothing is counted",
        state("incremental", contract=False, delta=DELTA),
        DELETE,
        "RunPutOff Forget",
    ),
    ("a hook's delete before the delta is not the node's", INCREMENTAL, DELETE, "RunPutOff Forget"),
    (
        "after a delete the insert is weighed",
        replace(AFTER_VIEW, put_off=(read_head(DELETE),)),
        INSERT,
        "SayUnguarded Weigh RunPutOff Forget",
    ),
    (
        "what was deleted already must be replaced",
        replace(AFTER_VIEW, done=(read_head(DELETE),)),
        INSERT,
        "SayUnguarded RunPutOff Forget",
    ),
    (
        "a delete waits while a table is described",
        replace(AFTER_VIEW, put_off=(read_head(DELETE),)),
        "describe s.t",
        "",
    ),
    (
        "not while rows are read",
        replace(AFTER_VIEW, put_off=(read_head(DELETE),)),
        "select max(id) from s.t",
        "RunPutOff",
    ),
    ("what dbt writes is checked first", DBTS, f"create table s.t using orc as {QUERY}", "Check RunPutOff Forget"),
    ("once", replace(DBTS, seen=PlanesSeen()), f"create table s.t using orc as {QUERY}", "RunPutOff Forget"),
    ("what dbt adds is weighed", replace(DBTS, seen=PlanesSeen()), INSERT, "Weigh RunPutOff Forget"),
    ("dbt's delete waits", DBTS, DELETE, "Forget Answer"),
    ("not after a drop", replace(DBTS, put_off=(DROP,)), DELETE, "RunPutOff Forget"),
    (
        "a rename comes after what was put off",
        DBTS,
        "alter table s.t rename to s.u",
        "RunPutOff KeepRows RunPutOff Forget",
    ),
    ("dbt's term is dbt's", state(), "alter table s.t add constraint c check (id > 0)", "RunPutOff Forget"),
    (
        "a judged term is withheld",
        state(file_format=None, phase=Phase.PUBLISHED),
        "alter table s.t change column id set not null",
        "Answer",
    ),
    (
        "of a table that was asked for as Parquet it is not",
        state(phase=Phase.PUBLISHED),
        "alter table s.t change column id set not null",
        "Forget",
    ),
    (
        "of another table it is not",
        state(file_format=None, phase=Phase.PUBLISHED),
        "alter table s.u change column id set not null",
        "Forget",
    ),
    ("a post-hook is dbt's", state(phase=Phase.PUBLISHED), INSERT, "Forget"),
    ("so is all of a node that passed", state(phase=Phase.PASSED), CREATE, "Forget"),
    ("and of one that was stopped", state(phase=Phase.STOPPED), CREATE, "Forget"),
    ("a seed's table is made later", LOADING, MADE.text, "Answer"),
    (
        "of another format it is dbt's",
        LOADING,
        "create table s.t (id int) using orc",
        "RefuseUnreadable RunPutOff Forget",
    ),
    ("what follows counts on the seed's rows", LOADED, "comment on table s.t is 'x'", "LoadSeed"),
    ("a hook before the rows", LOADING, "select 1", ""),
    (
        "a snapshot's rows are a view of the thread's",
        state("incremental", kind="snapshot", contract=False, strategy="merge"),
        f"create or replace view t__dbt_tmp as {QUERY}",
        "MakeView Answer",
    ),
)


@pytest.mark.parametrize(("before", "sql", "steps"), [case[1:] for case in CASES], ids=[case[0] for case in CASES])
def test_what_becomes_of_a_statement(before: NodeState | None, sql: str, steps: str) -> None:
    action = decide(before, read_head(sql), no_setting)
    assert " ".join(type(step).__name__ for step in action.steps) == steps
    if before is not None and not before.is_open:
        assert action.state == before


def after(before: NodeState, sql: str) -> tuple[NodeState, tuple[Any, ...]]:
    action = decide(before, read_head(sql), no_setting)
    assert action.state is not None
    return action.state, action.steps


def test_what_is_published_is_the_statement_s() -> None:
    _, (step,) = after(state(), f"create table s.t using parquet partitioned by (d) comment 'c' as {QUERY}")
    assert isinstance(step, Publish)
    assert (step.model.sql, step.model.partition_by, step.model.comment) == (QUERY, ("d",), "c")
    _, (step,) = after(AFTER_VIEW, INSERT)
    assert isinstance(step, Publish)
    assert step.model.sql == f"with `t__dbt_tmp` as (\n{QUERY}\n)\nselect `id` from t__dbt_tmp"


def test_a_query_that_was_analyzed_is_published_bare_unless_something_came_between() -> None:
    seen: Any = ColumnsSeen([], object())
    wrapped = f"create table s.t as select id from ( {QUERY} ) as model_subq"
    analyzed = state(seen=seen)
    assert after(analyzed, wrapped)[1][0].model.sql == QUERY
    between, _ = after(analyzed, "insert into s.log select 1")
    assert between.seen == ColumnsSeen([], None)
    assert after(between, wrapped)[1][0].model.sql != QUERY


def test_a_delta_is_remembered_and_its_schema_changes_are_put_off_in_their_order() -> None:
    between, steps = after(INCREMENTAL, VIEW)
    assert (between.delta, steps) == (DELTA, (Check(QUERY),))
    between, _ = after(between, ADD)
    between, _ = after(between, ADD.replace("note", "more"))
    assert [s.text for s in between.held] == [ADD, ADD.replace("note", "more")]
    assert between.phase is Phase.GUARDED
    assert between.drop_first_put_off().held == between.held[1:]
    assert not between.drop_first_put_off().has_deleted


def test_a_delete_that_was_done_is_remembered() -> None:
    waiting, _ = after(AFTER_VIEW, DELETE)
    assert not waiting.has_deleted
    done = waiting.drop_first_put_off()
    assert (done.has_deleted, done.has_altered, done.put_off) == (True, False, ())
    now, _ = after(replace(DBTS, put_off=(DROP,)), DELETE)
    assert now.has_deleted


def test_a_merge_adds_the_columns_that_a_snapshot_asked_for() -> None:
    snapshot = state("incremental", kind="snapshot", contract=False, strategy="merge", delta=DELTA)
    between, _ = after(snapshot, "alter table s.t add columns (dbt_is_deleted string)")
    _, (step,) = after(between, MERGE)
    assert step.model.options["adds"] == ("dbt_is_deleted",)


def test_rows_that_dbt_wrote_in_a_way_of_its_own_are_audited_afterwards() -> None:
    written, steps = after(AFTER_VIEW, "insert into s.other select * from t__dbt_tmp")
    assert written.phase is Phase.WRITTEN
    assert written.is_open
    assert isinstance(steps[0], SayUnguarded)
    again, _ = after(written, f"create table s.t using parquet as {QUERY}")
    assert again.phase is Phase.WRITTEN


def test_what_dbt_writes_itself_stays_dbts() -> None:
    for sql in (CREATE, INSERT, MERGE, ADD, "insert into s.log select 1"):
        assert after(replace(DBTS, seen=PlanesSeen()), sql)[0].phase is Phase.DBTS
    altered, _ = after(DBTS, ADD)
    assert altered.has_altered
    _, steps = after(replace(DBTS, seen=PlanesSeen()), INSERT)
    assert steps[0] == Weigh(SOURCE)


def test_a_statement_of_a_hook_that_may_have_changed_the_table_is_remembered() -> None:
    for sql, hooked in (
        ("truncate table s.T", True),
        ("insert into s.u select 1", False),
        ("analyze table s.t", False),
    ):
        assert after(INCREMENTAL, sql)[0].hooked == (sql if hooked else None)
    assert after(AFTER_VIEW, "insert into s.t values (1)")[0].hooked is None


@pytest.mark.parametrize(
    ("delete", "sql", "waits"),
    [
        (DELETE, f"create or replace temporary view t__dbt_tmp as {QUERY} limit 1", True),
        ("delete from s.t where id in (select id from t__dbt_tmp)", f"{VIEW} limit 1", False),
        (DELETE, "describe s.t", True),
        (DELETE, "select count(*) from s.t", False),
    ],
)
def test_a_delete_waits_while_nothing_reads_its_rows_or_changes_what_it_does(
    delete: str, sql: str, waits: bool
) -> None:
    _, steps = after(replace(AFTER_VIEW, put_off=(read_head(delete),)), sql)
    assert ("RunPutOff" in {type(step).__name__ for step in steps}) is not waits


def test_a_snapshots_view_is_made_without_the_catalog() -> None:
    snapshot = state("incremental", kind="snapshot", contract=False, strategy="merge")
    between, (step, _) = after(snapshot, f"create or replace view t__dbt_tmp as {QUERY}")
    assert isinstance(step, MakeView)
    assert (step.view.relation, between.delta) == (("t__dbt_tmp",), step.view)


def on_delta(before: NodeState) -> NodeState:
    return replace(before, node=replace(before.node, model=replace(before.node.model, file_format="delta")))


def test_a_view_that_dbt_names_by_its_schema_is_dbts_own() -> None:
    """dbt-spark reads a snapshot's view on Delta by that name, and drops it."""
    snapshot = on_delta(state("incremental", kind="snapshot", contract=False))
    between, steps = after(snapshot, f"create or replace view s.t__dbt_tmp as {QUERY}")
    assert (steps, between.delta is not None) == ((), True)


def test_a_delta_table_gets_its_checks_and_no_not_null() -> None:
    published = state(file_format="delta", phase=Phase.PUBLISHED)
    published = replace(
        published, node=replace(published.node, model=replace(published.node.model, file_format="delta"))
    )
    _, steps = after(published, "alter table s.t change column id set not null")
    assert [type(step).__name__ for step in steps] == ["Answer"]
    _, steps = after(published, "alter table s.t add constraint c check (id > 0)")
    assert [type(step).__name__ for step in steps] == ["Forget"]


def test_a_seed_holds_its_table_and_its_batches() -> None:
    made, _ = after(LOADING, MADE.text)
    assert made.seed is not None
    assert made.seed.made == MADE
    held = made.seed.add_batch("insert into s.t values (1), (2)")
    assert held is not None
    assert held[1].endswith("AS SELECT * FROM VALUES (1), (2)")
    assert len(held[0].views) == 1
    assert made.seed.add_batch("insert into s.u values (1)") is None
    assert Seed(RelationName(("s", "t"))).add_batch("insert into s.t values (1)") is None


def test_a_table_without_a_format_is_parquet_where_the_session_says_so() -> None:
    bare = read_head(f"create table s.t as {QUERY}")
    for default, is_published in (("parquet", True), ("orc", False)):
        settings = {"spark.sql.sources.default": default, "spark.sql.legacy.createHiveTableByDefault": "false"}
        action = decide(state(), bare, settings.get)
        assert any(isinstance(step, Publish) for step in action.steps) is is_published


def test_each_statement_that_dbt_runs_and_that_may_write_is_forgotten() -> None:
    for before in (None, state(), DBTS, AFTER_VIEW, LOADED, *(state(phase=phase) for phase in Phase)):
        _, *_, last = (None, *decide(before, read_head("insert into s.log select 1"), no_setting).steps)
        assert last == Forget("insert into s.log select 1")


def test_the_open_phases() -> None:
    assert {phase for phase in Phase if state(phase=phase).is_open} == OPEN
    assert state().seen == Unseen()
    assert state(reason=ORC).is_dbts
