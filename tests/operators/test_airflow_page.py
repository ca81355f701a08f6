"""The report page as Airflow's API server serves it: who may see it, and what is on it. No Spark."""

from __future__ import annotations

import importlib.util
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("airflow")

CHECK = """
from airflow.providers.common.compat.sdk import DAG
from airflow_planproof import PlanproofCheckOperator

with DAG("tested", schedule=None, start_date=datetime.datetime(2026, 1, 1)) as dag:
    PlanproofCheckOperator(task_id="check", manifest=MANIFEST)
"""


@pytest.fixture
def checked(run_dag: Callable[..., Any], dbt_manifest: Callable[..., Any], tmp_path: Path) -> Any:
    """A finished DAG run whose check found a broken contract in a model with a hostile column name."""
    column = "<script>alert(1)</script>"
    models = {
        "a": {
            "sql": f"select 1 as id, 2 as `{column}`",
            "contract": True,
            "columns": {"id": "int", column: "string"},
        }
    }
    file = tmp_path / "manifest.json"
    file.write_text(json.dumps(dbt_manifest(models)))
    return run_dag(CHECK, MANIFEST=str(file))


@pytest.fixture(scope="module")
def get(airflow_home: Path) -> Callable[..., Any]:
    """`get(path, role)`: the server's answer to somebody of that role, to an anonymous request where it is None."""
    try:
        from airflow.api_fastapi.app import create_app
    except ImportError:
        return _airflow_2()
    from airflow.api_fastapi.app import get_auth_manager
    from airflow.api_fastapi.auth.managers.simple.user import SimpleAuthManagerUser
    from fastapi.testclient import TestClient

    client = TestClient(create_app(apps="core"))

    def ask(path: str, role: str | None) -> Any:
        if role is None:
            return client.get(path)
        user = SimpleAuthManagerUser(username="ada", role=None if role == "Public" else role.lower())
        return client.get(path, headers={"Authorization": f"Bearer {get_auth_manager().generate_jwt(user)}"})

    return ask


def _airflow_2() -> Callable[..., Any]:
    from airflow.www.app import create_app

    app = create_app(testing=True)
    app.config["WTF_CSRF_ENABLED"] = False
    users = app.appbuilder.sm
    with app.app_context():
        for role in ("Viewer", "Public"):
            users.add_user(role, role, role, f"{role}@example.org", users.find_role(role), password="secret")

    clients: dict[str | None, Any] = {}  # Logins are limited to a few per minute.

    def ask(path: str, role: str | None) -> Any:
        if role not in clients:
            clients[role] = app.test_client()
            if role is not None:
                clients[role].post("/login/", data={"username": role, "password": "secret"})
        return clients[role].get(path)

    return ask


def test_the_page_shows_the_report_to_those_who_may_see_it(checked: Any, get: Callable[..., Any]) -> None:
    assert checked.states == {"check": "failed"}, checked.failures
    url = checked.xcoms["check"]["planproof_report"]["url"]
    path = "/planproof/" + url.partition("/planproof/")[2]

    anonymous = get(path, None)
    assert anonymous.status_code == 401
    assert "shop.a" not in anonymous.text
    assert get(path, "Public").status_code == 403

    page = get(path, "Viewer")
    assert page.status_code == 200
    assert page.headers["content-security-policy"].startswith("default-src 'none'")
    assert "shop.a" in page.text
    assert '<figure class="plan">' in page.text
    assert "<script" not in page.text
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in page.text

    for other in (path.replace("/check", "/other"), f"{path}?map_index=3"):
        assert get(other, "Viewer").status_code == 404


def test_the_link_is_the_page(checked: Any) -> None:
    from airflow_planproof.links import PlanproofReportLink, report_url

    url = checked.xcoms["check"]["planproof_report_url"]
    assert url == checked.xcoms["check"]["planproof_report"]["url"]
    assert PlanproofReportLink().xcom_key == "planproof_report_url"
    assert f"report: {url}" in checked.failures

    class Key:
        dag_id, run_id, task_id, map_index = "a dag", "manual__2026-01-01T00:00:00+00:00", "g.t/x", 2

    assert report_url(Key()).endswith(
        "/planproof/report/a%20dag/manual__2026-01-01T00%3A00%3A00%2B00%3A00/g.t%2Fx?map_index=2"
    )


MAPPED = """
from airflow.providers.common.compat.sdk import DAG
from airflow_planproof import PlanproofCheckOperator

again = {"retries": 3, "retry_delay": datetime.timedelta(0)}
with DAG("tested", schedule=None, start_date=datetime.datetime(2026, 1, 1), default_args=again) as dag:
    PlanproofCheckOperator.partial(task_id="check", manifest=MANIFEST).expand(select=["a", "b"])
"""


def test_a_mapped_task_reports_for_each_index(
    run_dag: Callable[..., Any], dbt_manifest: Callable[..., Any], get: Callable[..., Any], tmp_path: Path
) -> None:
    models = {
        "a": {"sql": "select 1 as id", "contract": True, "columns": {"id": "int"}},
        "b": {"sql": "select 1 as id", "contract": True, "columns": {"id": "string"}},
    }
    file = tmp_path / "manifest.json"
    file.write_text(json.dumps(dbt_manifest(models)))
    ran = run_dag(MAPPED, MANIFEST=str(file))
    assert ran.state == "failed", ran.failures
    path = "/planproof/" + ran.xcoms["check"]["planproof_report"]["url"].partition("/planproof/")[2].partition("?")[0]
    for index, shown, other in ((0, "shop.a", "shop.b"), (1, "shop.b", "shop.a")):
        page = get(f"{path}?map_index={index}", "Viewer")
        assert page.status_code == 200
        assert shown in page.text
        assert other not in page.text
    assert get(path, "Viewer").status_code == 404


COMPARED = """
from airflow.providers.common.compat.sdk import DAG
from airflow_planproof import PlanproofCheckOperator

again = {"retries": 3, "retry_delay": datetime.timedelta(0)}
with DAG("tested", schedule=None, start_date=datetime.datetime(2026, 1, 1), default_args=again) as dag:
    PlanproofCheckOperator(task_id="same", manifest=OLD, base_manifest=OLD)
    PlanproofCheckOperator(task_id="narrower", manifest=NEW, base_manifest=OLD)
    PlanproofCheckOperator(task_id="advice", manifest=NEW, base_manifest=OLD, fail_on="never")
"""


def test_a_breaking_change_fails_the_check(
    run_dag: Callable[..., Any], dbt_manifest: Callable[..., Any], tmp_path: Path
) -> None:
    files = {}
    for name, query in (("OLD", "select 1L as id, 2 as gone"), ("NEW", "select 1 as id")):
        models = {"a": {"sql": query}, "b": {"sql": "select id + 1 as next from shop.a", "parents": ["a"]}}
        files[name] = str(tmp_path / f"{name}.json")
        Path(files[name]).write_text(json.dumps(dbt_manifest(models)))
    ran = run_dag(COMPARED, **files)
    assert ran.states == {"same": "success", "narrower": "failed", "advice": "success"}, ran.failures
    assert ran.tries["narrower"] == 1
    assert "breaking: shop.a.gone: column removed" in ran.failures
    assert "reaches shop.b.next" in ran.failures
    changes = ran.xcoms["narrower"]["planproof_report"]["changes"]
    assert {(c["column"], c["effect"]) for c in changes if c["relation"] == "shop.a"} == {
        ("gone", "breaking"),
        ("id", "breaking"),
    }
    assert ran.xcoms["same"]["return_value"]["changes"] == []
    assert ran.xcoms["advice"]["return_value"]["changes"] == changes


PUSHED = """
from airflow.providers.common.compat.sdk import DAG, task

with DAG("tested", schedule=None, start_date=datetime.datetime(2026, 1, 1)) as dag:
    @task
    def push(value, ti=None):
        ti.xcom_push(key="planproof_report", value=value)

    push.expand(value=VALUES)
"""


def test_what_is_no_report_is_not_shown(run_dag: Callable[..., Any], get: Callable[..., Any]) -> None:
    hostile = "<script>alert(1)</script>"
    report = {"format": 1, "command": "", "project": "", "started": "", "seconds": 0, "versions": {}, "remarks": []}
    values = [hostile, {"format": 99}, [1], {**report, "reports": [hostile]}, {**report, "reports": {"a": 1}}, None]
    ran = run_dag(PUSHED, VALUES=values)
    assert ran.state == "success", ran.failures
    run_id = ran.run_id.replace("+", "%2B")
    for index in range(len(values)):
        page = get(f"/planproof/report/tested/{run_id}/push?map_index={index}", "Viewer")
        assert page.status_code == 404, values[index]
        assert "<script" not in page.text
    for path in ("..%2f..%2fetc%2fpasswd", "..%2Frun%2Fpush", "%00", f"{hostile}"):
        page = get(f"/planproof/report/tested/{run_id}/{path}", "Viewer")
        assert page.status_code in (400, 403, 404), path
        assert "<script>alert" not in page.text


@pytest.mark.skipif(importlib.util.find_spec("airflow.sdk") is None, reason="Airflow 2 resolves backends by itself")
def test_a_report_that_a_custom_backend_keeps_is_shown(
    checked: Any, get: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from airflow.models.xcom import XComModel
    from airflow.settings import Session
    from sqlalchemy import update

    file = tmp_path / "xcoms" / "report.json"
    file.parent.mkdir()
    file.write_text(json.dumps(checked.xcoms["check"]["planproof_report"]))
    monkeypatch.setenv(
        "AIRFLOW__CORE__XCOM_BACKEND", "airflow.providers.common.io.xcom.backend.XComObjectStorageBackend"
    )
    monkeypatch.setenv("AIRFLOW__COMMON_IO__XCOM_OBJECTSTORAGE_PATH", file.parent.as_uri())
    with Session() as db:
        kept = (XComModel.run_id == checked.run_id, XComModel.key == "planproof_report")
        db.execute(update(XComModel).where(*kept).values(value=file.as_uri()))
        db.commit()
    path = "/planproof/" + checked.xcoms["check"]["planproof_report"]["url"].partition("/planproof/")[2]
    page = get(path, "Viewer")
    assert page.status_code == 200
    assert "shop.a" in page.text


def test_what_was_compiled_is_shown_as_rendered_field(checked: Any) -> None:
    from airflow.models.renderedtifields import RenderedTaskInstanceFields
    from airflow.settings import Session
    from sqlalchemy import select

    with Session() as db:
        wanted = select(RenderedTaskInstanceFields).where(RenderedTaskInstanceFields.task_id == "check")
        shown = [row.rendered_fields["compiled_sql"] for row in db.scalars(wanted)]
    assert any("-- shop.a\nselect 1 as id" in text for text in shown)
