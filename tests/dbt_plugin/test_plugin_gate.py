"""What the gate does with settings, with threads, and with what is not its own to write."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NamedTuple

import pyspark
import pytest
from projects import NUMBER, publish_once

pytest.importorskip("dbt.adapters.spark")

pytestmark = pytest.mark.hive


PARTITIONED = """
    {{{{ config(materialized='incremental', file_format='parquet', incremental_strategy='insert_overwrite',
        partition_by={}, clustered_by='`the id`', buckets=2) }}}}
    select {{{{ var('step', 1) }}}} as `the id`, 'x' as `the day`, id as hour from range(2)
    """


@pytest.mark.conformance
def test_partitions_are_named_as_dbt_writes_them_in_a_list(dbt: Any) -> None:
    dbt.write({"models/by_hour_too.sql": PARTITIONED.format("['`the day`', 'hour']")})
    for step in (1, 2):
        assert dbt.run("run", "--select", "by_hour_too", "--vars", f"step: {step}").success, dbt.results
    assert dbt.rows("by_hour_too") == [(2, "x", 0), (2, "x", 1)]
    assert dbt.reports["by_hour_too"]["strategy"] == "partitions"


ID = "columns: [{name: id, data_type: TYPE, constraints: [{type: not_null}]}]"
PROMISED = "config: {contract: {enforced: true}}, " + ID
UNKNOWN = """
    {{{{ config(materialized='{}', file_format='parquet', meta={{'planproof': {}}},
        pre_hook='create table if not exists {{{{ this }}}} using parquet as select 7 as id') }}}} select 1 as id
    """
OF_FIVE = """
    {{{{ config(materialized='table', file_format='parquet', meta={{'planproof': {{'fail_on': '{}'}}}}) }}}}
    select if(id = 3, null, id) as id from range(5)
    """
MODELS = {
    "unknown": UNKNOWN.format("incremental", "{}"),
    "unknown_view": UNKNOWN.format("view", "{}"),
    "unknown_passing": UNKNOWN.format("incremental", "{'on_internal_error': 'pass'}"),
    "mistaken": NUMBER.format(settings="{'fail_onn': 'never'}", value=3),
    "promised": OF_FIVE.format("violated"),
    "promised_never": OF_FIVE.format("never"),
    **{f"many_{i}": NUMBER.format(settings="{}", value=f"'{i}'" if i % 2 else f"{i}L") for i in range(8)},
    "spoiled": """
        {{ config(materialized='table', file_format='parquet',
                  post_hook="insert into {{ this }} values (cast(null as bigint))") }}
        select id from range(3) where id is not null
        """,
    "above": "{{ config(materialized='view') }} select id from {{ ref('spoiled') }}",
    "emptied": """
        {{ config(materialized='incremental', file_format='parquet', on_schema_change='fail',
            pre_hook="{% if is_incremental() %} truncate table {{ this }} {% endif %}") }}
        select cast({{ ['1', '2', 'if(rand() < 2, null, 0)'][var('step', 1) - 1] }} as bigint) as id
        """,
    "widened": """
        {{ config(materialized='incremental', file_format='parquet', on_schema_change='append_new_columns') }}
        select id {% if is_incremental() %}, 'new' as note {% endif %} from range(2)
        """,
    "by_hour": PARTITIONED.format("'`the day`, hour'"),
    "orc_promise": """
        {{ config(materialized='table', file_format='orc') }}
        select {{ ['v', 'cast(v as string)', 'if(v = 1, null, v)'][var('step', 1) - 1] }} as id
        from values (1), (2) as t(v)
        """,
    "checked": """
        {{ config(materialized='table') }}
        select explode(array({{ ['1', '2, null', '2, -2'][var('step', 1) - 1] }})) as id
        """,
}
"""Models that three builds make; `var('step')` is the number of the build."""
LATER = ({"emptied", "widened", "by_hour", "orc_promise", "checked"}, {"emptied", "orc_promise", "checked"})
"""Those of the second build, and of the third."""
CONTRACTS = f"""
    models:
      - {{name: promised, {PROMISED.replace("TYPE", "bigint")}}}
      - {{name: promised_never, {PROMISED.replace("TYPE", "bigint")}}}
      - {{name: spoiled, {PROMISED.replace("TYPE", "bigint")}}}
      - {{name: above, {PROMISED.replace("TYPE", "bigint")}}}
      - {{name: emptied, {PROMISED.replace("TYPE", "bigint")}}}
      - {{name: orc_promise, {PROMISED.replace("TYPE", "int")}}}
      - name: checked
        constraints: [{{type: check, expression: id > 0, name: positive}}]
        config: {{contract: {{enforced: true}}}}
        {ID.replace("TYPE", "int")}
    """
MANY = "  - {{name: many_{}, config: {{contract: {{enforced: true}}}}, columns: [{{name: id, data_type: bigint}}]}}"


class Build(NamedTuple):
    """What one build said and left: dbt's results, planproof's reports and the rows, by the model's name."""

    results: dict[str, Any]
    reports: dict[str, Any]
    rows: dict[str, list[tuple[Any, ...]] | None]
    log: str


@pytest.fixture(scope="module")
def builds(dbt: Any) -> list[Build]:
    """Three builds of the models, of which some fail on purpose."""
    dbt.write({f"models/steps/{name}.sql": text for name, text in MODELS.items()})
    many = "\n".join(["models:", *(MANY.format(i) for i in range(8))])
    dbt.write({"models/steps/contracts.yml": CONTRACTS, "models/steps/many.yml": many})
    found = []
    for step, names in enumerate((MODELS.keys(), *LATER), 1):
        run = dbt.run("run", "--threads", "2", "--select", *sorted(names), "--vars", f"step: {step}")
        assert not run.success
        looked_at = [name for name in names if not name.startswith("many_")]
        rows = {name: dbt.rows(name) if dbt.exists(name) else None for name in looked_at}
        found.append(Build(dbt.results, dbt.reports, rows, dbt.log))
    return found


@pytest.mark.parametrize("name", ["unknown", "unknown_view", "unknown_passing"])
def test_a_table_that_dbt_does_not_know_is_not_replaced(name: str, builds: list[Build]) -> None:
    """dbt reads which relations there are once, when it starts: its CREATE TABLE would fail, and so does the guard."""
    assert builds[0].results[name]["status"] == "error"
    assert "not known when this run began" in builds[0].results[name]["message"]
    assert builds[0].rows[name] == [(7,)]


def test_an_unknown_setting_fails_its_model_with_a_suggestion(builds: list[Build]) -> None:
    assert builds[0].results["mistaken"]["status"] == "error"
    assert "unknown key 'fail_onn'; did you mean 'fail_on'?" in builds[0].results["mistaken"]["message"]


def test_fail_on_never_publishes_and_still_reports(builds: list[Build]) -> None:
    results, reports, rows, _ = builds[0]
    assert results["promised"]["status"] == "error"
    assert rows["promised"] is None
    assert results["promised_never"]["status"] == "success", results["promised_never"]
    assert reports["promised_never"]["verdict"] == "violated"
    assert len(rows["promised_never"] or ()) == 5


def test_threads_do_not_mix_their_models(builds: list[Build]) -> None:
    results, reports, _, _ = builds[0]
    for i in range(8):
        assert results[f"many_{i}"]["status"] == ("error" if i % 2 else "success")
        found = reports[f"many_{i}"]
        assert found["outcome"] == ("rejected" if i % 2 else "published")
        assert f"many_{i}" in found["model"]
        assert str(i) in found["sql"]


def test_what_a_hook_wrote_is_not_taken_as_proved(builds: list[Build]) -> None:
    results, _, rows, _ = builds[0]
    assert (results["spoiled"]["status"], results["above"]["status"]) == ("success", "error")
    assert "PP505" in results["above"]["message"]
    assert rows["above"] is None


def test_what_a_hook_did_before_a_rejected_delta_is_said(dbt: Any, builds: list[Build]) -> None:
    """The hook's rows are gone before the publish begins: the table is not as it was."""
    assert [build.results["emptied"]["status"] for build in builds] == ["success", "success", "error"]
    assert [build.rows["emptied"] for build in builds] == [[(1,)], [(2,)], []]
    said = builds[2].results["emptied"]["message"].replace("`", "")
    assert f"Nothing was published: the table is as a hook left it before (truncate table {dbt.place}" in said


def test_a_new_column_is_added_where_dbt_is_told_to(builds: list[Build]) -> None:
    assert [build.results["widened"]["status"] for build in builds[:2]] == ["success"] * 2
    assert builds[1].rows["widened"] == [(0, "new"), (0, None), (1, "new"), (1, None)]
    assert builds[1].reports["widened"]["strategy"] == "append"


def test_partitions_are_named_as_dbt_writes_them(builds: list[Build]) -> None:
    assert [build.results["by_hour"]["status"] for build in builds[:2]] == ["success"] * 2
    assert builds[1].rows["by_hour"] == [(2, "x", 0), (2, "x", 1)]
    assert builds[1].reports["by_hour"]["strategy"] == "partitions"


def test_a_contract_of_another_format_is_checked_before_and_audited_after(builds: list[Build]) -> None:
    """What no data can mend is stopped before dbt drops the table; what was written is counted, and said."""
    assert [build.results["orc_promise"]["status"] for build in builds] == ["success", "error", "success"]
    found = [(build.reports["orc_promise"]["outcome"], build.reports["orc_promise"]["verdict"]) for build in builds]
    assert found == [("audited", "proved"), ("rejected", "violated"), ("audited", "violated")]
    assert "PP504" in builds[1].results["orc_promise"]["message"]
    assert builds[1].rows["orc_promise"] == [(1,), (2,)]
    assert "PP505 violated" in builds[2].log[len(builds[1].log) :]


def test_constraints_of_a_table_without_a_format_are_counted(builds: list[Build]) -> None:
    assert [build.results["checked"]["status"] for build in builds] == ["success", "error", "error"]
    assert [build.rows["checked"] for build in builds] == [[(1,)]] * 3


def remarks(dbt: Any) -> list[str]:
    return json.loads((dbt.root / "target/planproof/report.json").read_text("utf-8"))["remarks"]


def test_what_is_not_gated_passes_as_it_is_and_is_said(dbt: Any, capfd: Any) -> None:
    dbt.write(
        {
            "models/as_orc.sql": "{{ config(materialized='table', file_format='orc') }} select 1 as id",
            "models/by_hand.sql": """
                {{ config(materialized='incremental', file_format='json') }} select 1 as id
                """,
            "seeds/grown.csv": "id\n1\n",
        }
    )
    dbt.write({"models/gated.sql": "{{ config(materialized='table') }} select 1 as id"})
    for _ in range(2):
        capfd.readouterr()
        assert dbt.run("build", "--select", "as_orc", "by_hand", "grown", "gated").success, dbt.results
    out = capfd.readouterr().out
    said = [line.partition("  ")[2] for line in out.splitlines() if "planproof" in line]
    assert said == [
        "planproof: 1 published (1 without a contract), 3 left to dbt (1 seed, 2 models: as_orc: its file format is "
        f"orc; by_hand: its file format is json); report {dbt.root}/target/planproof/report.json"
    ]
    assert out.splitlines()[-1].endswith(said[0])
    assert dbt.rows("as_orc") == [(1,)]
    assert dbt.rows("by_hand") == [(1,), (1,)]
    assert sorted(remarks(dbt)) == [
        "as_orc was not guarded: its file format is orc",
        "by_hand was not guarded: its file format is json",
        "grown was not guarded: it is a seed",
    ]
    assert "planproof does not guard as_orc: its file format is orc; dbt runs it as it is" in dbt.log


@pytest.mark.conformance
def test_microbatch_replaces_its_batches_and_keeps_the_others(dbt: Any) -> None:
    dbt.write(
        {
            "models/events.sql": """
                {{ config(materialized='table', file_format='parquet', event_time='at') }}
                select * from values (1, timestamp'2024-01-01 05:00:00'), (2, timestamp'2024-01-02 05:00:00'),
                  ({{ var('third', 3) }}, timestamp'2024-01-03 05:00:00') as t(id, at)
                """,
            "models/daily.sql": """
                {{ config(materialized='incremental', incremental_strategy='microbatch', file_format='parquet',
                          event_time='at', batch_size='day', begin='2024-01-01', partition_by='day') }}
                select {% if var('broken', false) %} null {% else %} id {% endif %} as id, at, date(at) as day
                from {{ ref('events') }}
                """,
        }
    )
    window = ("--event-time-start", "2024-01-01", "--event-time-end", "2024-01-04")
    assert dbt.run("run", "--select", "events", "daily", *window).success, dbt.results
    assert [row[0] for row in dbt.rows("daily")] == [1, 2, 3]
    assert dbt.reports["daily"]["strategy"] == "partitions"
    late = ("--event-time-start", "2024-01-03", "--event-time-end", "2024-01-04")
    given = ("--vars", json.dumps({"third": 4}))
    assert dbt.run("run", "--select", "events", "daily", *late, *given).success, dbt.results
    assert [row[0] for row in dbt.rows("daily")] == [1, 2, 4]


@pytest.mark.conformance
def test_a_project_that_overrides_how_tables_are_made_still_builds(dbt: Any) -> None:
    """A statement that is not understood is run as it is, and the drop that it counts on happens first."""
    dbt.write(
        {
            "macros/own.sql": """
                {% macro spark__create_table_as(temporary, relation, compiled_code, language='sql') -%}
                  {%- if temporary -%}
                    {{ create_temporary_view(relation, compiled_code) }}
                  {%- else -%}
                    create table if not exists {{ relation }} using parquet as {{ compiled_code }}
                  {%- endif -%}
                {%- endmacro %}
                """,
            "models/own_way.sql": "{{ config(materialized='table', file_format='parquet') }} select 1 as id",
        }
    )
    for value in (1, 2):
        text = "{{{{ config(materialized='table', file_format='parquet') }}}} select {} as id"
        dbt.write({"models/own_way.sql": text.format(value)})
        assert dbt.run("run", "--select", "own_way").success, dbt.results
        assert dbt.rows("own_way") == [(value,)]
    assert "planproof does not guard own_way" in dbt.log
    (dbt.root / "macros/own.sql").unlink()


def test_a_materialization_that_drops_and_makes_nothing_drops(dbt: Any) -> None:
    publish_once(dbt)
    dbt.write(
        {
            "macros/retire.sql": """
                {% materialization table, adapter='spark' %}
                  {% do adapter.drop_relation(this.incorporate(type='table')) %}
                  {% call statement('main') %} select 1 {% endcall %}
                  {{ return({'relations': []}) }}
                {% endmaterialization %}
                """
        }
    )
    try:
        assert dbt.run("run", "--select", "number").success, dbt.results
    finally:
        (dbt.root / "macros/retire.sql").unlink()
    assert not dbt.exists("number")


def test_another_catalog_is_left_to_dbt(dbt: Any, spark: Any) -> None:
    """Where a catalog of a connector's own is the current one, a name of two parts is a relation of it."""
    jars = Path(pyspark.__file__).parent / "jars"
    # Derby 10.16, which comes with Spark since 4.0, has it in a jar and a package of their own.
    package = "iapi.jdbc" if list(jars.glob("derbyshared-*.jar")) else "jdbc"
    jdbc = {
        "": "org.apache.spark.sql.execution.datasources.v2.jdbc.JDBCTableCatalog",
        ".url": "jdbc:derby:memory:elsewhere;create=true",
        ".driver": f"org.apache.derby.{package}.AutoloadedDriver",
    }
    for key, value in jdbc.items():
        spark.conf.set(f"spark.sql.catalog.elsewhere{key}", value)
    yaml = """
        models:
          - name: away
            config: {contract: {enforced: true}}
            columns: [{name: id, data_type: int}]
        """
    dbt.write({"models/away.sql": "{{ config(materialized='table') }} select 1 as id", "models/away.yml": yaml})
    spark.sql("use elsewhere")
    try:
        for guarded in (False, True):
            assert dbt.run("run", "--select", "away", guarded=guarded).success, dbt.results
            assert [tuple(row) for row in spark.table(f"{dbt.schema}.away").collect()] == [(1,)]
    finally:
        spark.sql("use spark_catalog")
    assert remarks(dbt) == ["away was not guarded: its catalog is elsewhere, not spark_catalog"]
    assert not dbt.exists("away")


def test_rows_that_a_project_inserts_in_its_own_way_are_audited_afterwards(dbt: Any) -> None:
    dbt.write(
        {
            "macros/own.sql": """
                {% macro get_insert_into_sql(source_relation, target_relation) %}
                insert into {{ target_relation }} (id) select id from {{ source_relation }}
                {% endmacro %}
                """,
            "models/own_rows.sql": """
                {{ config(materialized='incremental', file_format='parquet', on_schema_change='fail') }}
                select {% if is_incremental() %} cast(null as int) {% else %} 1 {% endif %} as id
                """,
            "models/own_rows.yml": """
                models:
                  - name: own_rows
                    config: {contract: {enforced: true}}
                    columns: [{name: id, data_type: int, constraints: [{type: not_null}]}]
                """,
        }
    )
    try:
        outcomes = []
        for _ in range(2):
            assert dbt.run("run", "--select", "own_rows").success, dbt.results
            outcomes.append((dbt.reports["own_rows"]["outcome"], dbt.reports["own_rows"]["verdict"]))
    finally:
        (dbt.root / "macros/own.sql").unlink()
    assert outcomes == [("published", "proved"), ("audited", "violated")]
    assert "planproof does not guard own_rows: the statement in which dbt writes it" in dbt.log


def test_a_bare_timestamp_in_a_contract_is_what_the_session_says(dbt: Any, spark: Any) -> None:
    dbt.write(
        {
            "models/moments.sql": """
                {{ config(materialized='table', file_format='parquet') }} select timestamp_ntz'2024-01-01' as at
                """,
            "models/moments.yml": """
                models:
                  - name: moments
                    config: {contract: {enforced: true}}
                    columns: [{name: at, data_type: timestamp}]
                """,
        }
    )
    before = spark.conf.get("spark.sql.timestampType")
    spark.conf.set("spark.sql.timestampType", "TIMESTAMP_NTZ")
    try:
        assert dbt.run("run", "--select", "moments").success, dbt.results
    finally:
        spark.conf.set("spark.sql.timestampType", before)


def test_constraints_that_dbt_would_give_a_delta_table_are_counted_in_place_of_that(dbt: Any) -> None:
    constrained = """
        models:
          - name: no_format
            config: {contract: {enforced: true}}
            constraints: [{type: check, expression: id > 0, name: positive}]
            columns: [{name: id, data_type: int, constraints: [{type: not_null}]}]
        """
    dbt.write(
        {"models/no_format.sql": "{{ config(materialized='table') }} select 1 as id", "models/no.yml": constrained}
    )
    assert not dbt.run("run", "--select", "no_format", guarded=False).success, "dbt alone takes the table for Delta's"
    asked = dbt.log.count("cast(null as int)")
    assert dbt.run("run", "--select", "no_format").success, dbt.results
    assert dbt.rows("no_format") == [(1,)]
    assert asked == dbt.log.count("cast(null as int)") > 0, "what the contract's types are was not asked again"


@pytest.mark.conformance
def test_rows_for_a_table_of_another_format_are_left_to_dbt_with_a_word(dbt: Any, spark: Any) -> None:
    dbt.write(
        {
            "models/in_hive.sql": "{{ config(materialized='incremental', file_format='parquet') }} select 2 as id",
        }
    )
    spark.sql(f"create table {dbt.schema}.in_hive (id int) stored as parquet")
    spark.sql(f"insert into {dbt.schema}.in_hive values (1)")
    assert dbt.run("run", "--select", "in_hive").success, dbt.results
    assert dbt.rows("in_hive") == [(1,), (2,)]
    assert "planproof does not guard in_hive: it adds rows to a table of the format hive" in dbt.log
    assert dbt.run("run", "--select", "in_hive", "--full-refresh").success, dbt.results
    assert dbt.rows("in_hive") == [(2,)]
    assert dbt.reports["in_hive"]["outcome"] == "published"


def test_the_record_is_the_one_that_planproof_run_writes(dbt: Any) -> None:
    from planproof.report.run import RunReport

    publish_once(dbt)
    record = RunReport.from_json((dbt.root / "target/planproof/report.json").read_text("utf-8"))
    assert (record.command, record.project, [r.outcome for r in record.reports]) == ("dbt run", "shop", ["published"])


def test_what_was_published_although_it_is_violated_is_said() -> None:
    from dbt_planproof.message import list_remarks
    from planproof.report.model import Report
    from planproof_engine.finding import Finding, Verdict

    found = Finding(Verdict.WARNING, "PP402", "catalog"), Finding(Verdict.VIOLATED, "PP505", "files", message="1 null")
    assert list_remarks(Report("s.t", "published", found)) == [
        "planproof: s.t: PP505 violated: 1 null (and 1 more in planproof/report.json)"
    ]


def test_a_delta_may_begin_with_a_comment_and_end_with_a_semicolon() -> None:
    from dbt_planproof.statement_models import make_delta_model
    from planproof import Model
    from planproof_engine.sql.heads import read_head as read

    delta = read("create or replace temporary view t__dbt_tmp as\n-- a; b\nselect 1 as id; -- the end")
    insert = read("insert into table s.t\nselect `id` from t__dbt_tmp")
    found = make_delta_model(Model("s.t", "", materialized="incremental"), insert, delta)
    assert found is not None
    assert found.sql == "with `t__dbt_tmp` as (\n-- a; b\nselect 1 as id\n)\nselect `id` from t__dbt_tmp"
