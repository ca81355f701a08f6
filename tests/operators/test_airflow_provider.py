"""What Airflow sees of the provider before any task runs."""

from __future__ import annotations

import inspect
import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

EXAMPLES = Path(__file__).parents[2] / "dags_examples"

PARSE = """
import json, sys, time
try:
    from airflow.dag_processing.dagbag import DagBag
    bag = DagBag({folder!r}, bundle_name="test")
except ImportError:  # Airflow 2
    from airflow.models.dagbag import DagBag
    bag = DagBag({folder!r}, include_examples=False)
absent = ("pyspark", "py4j", "dbt", "pyarrow")
print(json.dumps({{
    "errors": bag.import_errors,
    "tasks": {{id: sorted(t.task_type for t in dag.tasks) for id, dag in bag.dags.items()}},
    "loaded": [name for name in absent if name in sys.modules],
}}))
"""


def _json(code: str) -> dict:
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert ran.returncode == 0, ran.stderr
    return json.loads(ran.stdout.splitlines()[-1])


def test_the_provider_is_listed_with_its_operators(airflow_home: Path) -> None:
    from airflow.providers_manager import ProvidersManager

    found = ProvidersManager()
    found.initialize_providers_list()
    modules = found.providers["planproof"].data["operators"][0]["python-modules"]
    assert modules == [f"airflow_planproof.operators.{name}" for name in ("audit", "check", "dbt", "run")]
    assert "airflow_planproof.links.PlanproofReportLink" in found.extra_links_class_names


def test_provider_info_needs_nothing() -> None:
    found = _json(
        "import json, sys, airflow_planproof as a; info = a.get_provider_info();"
        "print(json.dumps({'name': info['package-name'], 'loaded': [m for m in"
        " ('airflow', 'pyspark', 'dbt', 'planproof') if m in sys.modules]}))"
    )
    assert found == {"name": "planproof", "loaded": []}


def test_example_dags_parse_without_spark_and_dbt(airflow_home: Path) -> None:
    found = _json(PARSE.format(folder=str(EXAMPLES)))
    assert found["errors"] == {}
    operators = {name for tasks in found["tasks"].values() for name in tasks}
    assert operators >= {
        "PlanproofCheckOperator",
        "PlanproofRunOperator",
        "PlanproofAuditOperator",
        "PlanproofDbtOperator",
        "PlanproofContractSensor",
        "PlanproofDecoratedOperator",
    }
    assert found["loaded"] == []


def test_the_example_in_the_docs_is_a_dag(tmp_path: Path, airflow_home: Path) -> None:
    docs = (EXAMPLES.parent / "docs" / "airflow.md").read_text()
    code = docs.partition("```python\n")[2].partition("```")[0]
    (tmp_path / "shop.py").write_text(code.replace("from airflow.sdk", "from airflow.providers.common.compat.sdk"))
    found = _json(PARSE.format(folder=str(tmp_path)))
    assert found["errors"] == {}
    assert len(found["tasks"]["shop"]) == 6
    assert found["loaded"] == []


def _tasks() -> list[Any]:
    from airflow_planproof import (
        PlanproofAuditOperator,
        PlanproofCheckOperator,
        PlanproofContractSensor,
        PlanproofDbtOperator,
        PlanproofRunOperator,
    )
    from airflow_planproof.decorators.guarded import PlanproofDecoratedOperator

    contract = [("id", "int", True)]
    return [
        PlanproofCheckOperator(task_id="t", project_dir="."),
        PlanproofRunOperator(task_id="t", project_dir="."),
        PlanproofDbtOperator(task_id="t", project_dir="."),
        PlanproofAuditOperator(task_id="t", tables="a", contract=contract),
        PlanproofContractSensor(task_id="t", tables="a", contract=contract),
        PlanproofDecoratedOperator(task_id="t", table="a", contract=contract, python_callable=_tasks),
    ]


def test_each_operator_is_documented_templated_and_linked(airflow_home: Path) -> None:
    """Every argument has its `:param`, every template field is an attribute, and every task has the report's link."""
    of_airflow = {"self", "kwargs", "python_callable", "op_args", "op_kwargs"}
    for task in _tasks():
        own = [cls for cls in type(task).__mro__ if cls.__module__.startswith("airflow_planproof")]
        said = set(re.findall(r":param (\w+):", "".join(cls.__doc__ or "" for cls in own)))
        taken = {name for cls in own for name in inspect.signature(cls.__dict__.get("__init__", len)).parameters}
        assert taken - {"obj"} - of_airflow <= said, type(task)
        assert said <= taken | {"outlets"}, type(task)
        assert all(hasattr(task, name) for name in task.template_fields), type(task)
        assert set(task.template_fields_renderers) <= set(task.template_fields), type(task)
        assert {"env", "compiled_sql", "rewritten_sql"} <= set(task.template_fields), type(task)
        assert [link.name for link in task.operator_extra_links] == ["planproof report"], type(task)


def test_what_dbt_is_called_with(airflow_home: Path) -> None:
    from airflow_planproof import PlanproofDbtOperator

    given = {"project_dir": "~/shop", "profiles_dir": "~/.dbt", "target": "prod", "select": "a b+", "exclude": ["c"]}
    task = PlanproofDbtOperator(task_id="t", command="run --fail-fast", full_refresh="True", vars={"d": 1}, **given)
    home = Path.home()
    assert task.arguments() == [
        *("run", "--fail-fast", "--project-dir", f"{home}/shop", "--profiles-dir", f"{home}/.dbt", "--target", "prod"),
        *("--vars", '{"d": 1}', "--full-refresh", "--select", "a", "--select", "b+", "--exclude", "c"),
    ]


def test_an_extra_that_is_not_used_is_said(
    airflow_home: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    from airflow_planproof.connection import spark_settings

    monkeypatch.setenv("AIRFLOW_CONN_CLUSTER", "spark://yarn/?principal=ada&queue=etl&spark-binary=spark3-submit")
    with caplog.at_level("WARNING"):
        assert spark_settings("cluster") == {"spark.master": "yarn", "spark.yarn.queue": "etl"}
    assert "does not use its extra 'principal'; give Spark's own settings" in caplog.text


def test_a_wrong_setting_is_said_at_parse_time(airflow_home: Path) -> None:
    from airflow_planproof import PlanproofCheckOperator
    from planproof.settings import SettingsError

    with pytest.raises(SettingsError, match=r"task gate\.fail_on: 'violatd' .* did you mean 'violated'"):
        PlanproofCheckOperator(task_id="gate", project_dir=".", fail_on="violatd")


def test_arguments_that_do_not_fit_are_said_at_parse_time(airflow_home: Path) -> None:
    from airflow_planproof import PlanproofAuditOperator, PlanproofCheckOperator

    with pytest.raises(ValueError, match="give project_dir or manifest"):
        PlanproofCheckOperator(task_id="gate")
    with pytest.raises(ValueError, match="paths need a contract"):
        PlanproofAuditOperator(task_id="audit", project_dir=".", paths="/data/x.parquet")
    with pytest.raises(ValueError, match="give the tables or paths"):
        PlanproofAuditOperator(task_id="audit", contract=[("id", "int", False)])


@pytest.mark.parametrize(
    ("uri", "settings"),
    [
        ("spark://spark%3A%2F%2Fhost:7077", {"spark.master": "spark://host:7077"}),
        (
            "spark://yarn/?queue=etl&spark.executor.memory=4g",
            {"spark.master": "yarn", "spark.yarn.queue": "etl", "spark.executor.memory": "4g"},
        ),
    ],
)
def test_a_spark_connection_becomes_settings(
    airflow_home: Path, monkeypatch: pytest.MonkeyPatch, uri: str, settings: dict[str, str]
) -> None:
    from airflow_planproof.connection import spark_settings

    monkeypatch.setenv("AIRFLOW_CONN_CLUSTER", uri)
    assert spark_settings("cluster") == settings
    assert spark_settings(None) == {}


@pytest.mark.parametrize(
    ("uri", "remote"),
    [
        ("spark-connect://ada:pass%3Bword@host", "sc://host:15002/;user_id=ada;token=pass%3Bword"),
        ("spark-connect://host:443/?use_ssl=true&x=1", "sc://host:443/;x=1;use_ssl=true"),
        ("spark-connect://host", "sc://host:15002/"),
    ],
)
def test_a_connect_connection_becomes_a_remote(
    airflow_home: Path, monkeypatch: pytest.MonkeyPatch, uri: str, remote: str
) -> None:
    from airflow_planproof.connection import spark_settings

    monkeypatch.setenv("AIRFLOW_CONN_CLUSTER", uri)
    assert spark_settings("cluster") == {"spark.remote": remote}


@pytest.mark.parametrize(
    ("uri", "settings"),
    [
        ("hiveserver2://host", {"host": "host", "port": "10000", "auth": "NONE"}),
        (
            "hiveserver2://ada:word@host:10001/shop?auth_mechanism=LDAP",
            {
                "host": "host",
                "port": "10001",
                "auth": "LDAP",
                "username": "ada",
                "password": "word",
                "database": "shop",
            },
        ),
        (
            "hiveserver2://host?authMechanism=KERBEROS",
            {"host": "host", "port": "10000", "auth": "KERBEROS", "kerberos_service_name": "hive"},
        ),
    ],
)
def test_a_thrift_connection_becomes_arguments_of_its_client(
    airflow_home: Path, monkeypatch: pytest.MonkeyPatch, uri: str, settings: dict[str, str]
) -> None:
    from airflow_planproof.connection import spark_settings

    monkeypatch.setenv("AIRFLOW_CONN_CLUSTER", uri)
    assert spark_settings("cluster") == {f"thrift.{key}": value for key, value in settings.items()}


@pytest.mark.parametrize(
    ("uri", "key", "value"),
    [("spark-connect://host", "spark.remote", "sc://host:15002/"), ("hiveserver2://host", "thrift.host", "host")],
)
def test_a_run_reaches_the_server_of_its_connection(
    airflow_home: Path, monkeypatch: pytest.MonkeyPatch, uri: str, key: str, value: str
) -> None:
    from airflow_planproof import PlanproofRunOperator

    monkeypatch.setenv("AIRFLOW_CONN_CLUSTER", uri)
    asked = PlanproofRunOperator(task_id="t", project_dir=".", conn_id="cluster", threads=None).request()
    assert (asked.spark[key], asked.purpose, asked.threads) == (value, "run", None)


def test_secrets_are_masked_in_the_report(airflow_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from airflow_planproof import PlanproofAuditOperator
    from airflow_planproof.errors import PlanproofViolation
    from airflow_planproof.xcom import make_plain

    conf = {
        "spark.hadoop.fs.s3a.secret.key": "hunter2-of-s3",
        "spark.executor.memory": "4g-is-no-secret",
        "spark.security.credentials.hive.enabled": "false",
    }
    task = PlanproofAuditOperator(task_id="t", tables="a", contract=[("id", "int", True)], spark_conf=conf)
    monkeypatch.setenv("AIRFLOW_CONN_CLUSTER", "spark-connect://ada:hunter2-of-connect@host")
    task.conn_id = "cluster"
    task.spark_settings()
    said = make_plain({"error": ["hunter2-of-s3 and hunter2-of-connect are wrong", "4g-is-no-secret", "false"]})
    assert said == {"error": ["*** and *** are wrong", "4g-is-no-secret", "false"]}
    # Callbacks of a task may send its message elsewhere than to the log.
    assert str(PlanproofViolation("hunter2-of-s3 is wrong")) == "*** is wrong"


def test_secrets_are_masked_before_the_rendered_fields_are_stored(airflow_home: Path) -> None:
    from airflow_planproof import PlanproofAuditOperator, PlanproofRunOperator
    from airflow_planproof.xcom import make_plain

    given = {
        "spark.hadoop.fs.azure.account.key.a": "hunter2-of-azure",
        "spark.url": "jdbc:postgresql://ada:hunter2-of-a-url@db/m",
        "spark.driver.extraJavaOptions": "-Dx.pwd=hunter2-of-java -Da.b=c-is-no-secret",
        "spark.hadoop.passphrase": "{{ 'hunter2' ~ '-of-jinja' }}",
    }
    place = {"contract": [("id", "int", True)], "spark_conf": given, "env": {"SAS": "hunter2-of-env"}}
    nested = {"a": {"token": "hunter2-of-vars"}, "n": 5}
    for task in (
        PlanproofAuditOperator(task_id="t", tables="a", **place),
        PlanproofRunOperator(task_id="r", project_dir=".", vars=nested),
    ):
        task.render_template_fields({})
        shown = make_plain({name: getattr(task, name) for name in task.template_fields})
        assert "hunter2" not in str(shown)
    assert make_plain("hunter2-of-azure, hunter2-of-vars, c-is-no-secret") == "***, ***, c-is-no-secret"


def test_a_long_report_is_brief_in_xcom_and_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    from airflow_planproof import xcom
    from planproof.report.details import Details
    from planproof.report.model import Report
    from planproof.report.run import RunReport

    monkeypatch.setattr(xcom, "report_url", lambda ti: "here")
    healthy = Report("m", "published", details=Details(plan=[{"node": "x" * 2000}]))
    short = xcom.report_form(RunReport((healthy,)), None)
    assert short["reports"][0]["details"]["plan"]
    assert short["remarks"] == []
    long = xcom.report_form(RunReport((healthy,) * 1000), None, {"more": 1})
    assert len(long["reports"]) == 1000
    assert not long["reports"][0]["details"].get("plan")
    (said,) = long["remarks"]
    assert "MB in XCom" in said
    assert len(str(long)) < xcom.MOST_CHARACTERS
    assert (long["more"], long["url"]) == (1, "here")


@pytest.mark.parametrize(
    ("uri", "reason"),
    [
        ("hive-cli://host", "a Thrift server's connection is of type 'hiveserver2'"),
        ("spark://yarn/?deploy-mode=cluster", "deploy mode 'cluster'"),
        ("postgres://db/x", "is of type 'postgres'"),
    ],
)
def test_a_connection_that_does_not_fit_fails_at_once(
    airflow_home: Path, monkeypatch: pytest.MonkeyPatch, uri: str, reason: str
) -> None:
    from airflow_planproof import PlanproofCannotRun
    from airflow_planproof.connection import spark_settings

    monkeypatch.setenv("AIRFLOW_CONN_CLUSTER", uri)
    with pytest.raises(PlanproofCannotRun, match=reason):
        spark_settings("cluster")
