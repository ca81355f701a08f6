"""The report page on Airflow 3: a FastAPI app behind the UI's login, with the rights of a task's XCom."""

from __future__ import annotations

import json
from typing import Any

from airflow.api_fastapi.auth.managers.models.resource_details import DagAccessEntity
from airflow.api_fastapi.core_api.security import requires_access_dag
from airflow.models.xcom import XComModel
from airflow.sdk.execution_time.xcom import resolve_xcom_backend
from airflow.utils.session import create_session
from fastapi import Depends, FastAPI, HTTPException
from fastapi.responses import HTMLResponse
from sqlalchemy import select

from airflow_planproof.xcom import HEADERS, KEY, NOTHING, OTHER, render


def create_app() -> FastAPI:
    """One page: `/report/{dag_id}/{run_id}/{task_id}`. 401 for an anonymous request, 403 without the right to read the
    DAG's XComs, 404 where there is no report."""
    app = FastAPI(title="planproof reports", docs_url=None, redoc_url=None, openapi_url=None)

    @app.get(
        "/report/{dag_id}/{run_id}/{task_id}",
        response_class=HTMLResponse,
        dependencies=[Depends(requires_access_dag("GET", DagAccessEntity.XCOM))],
    )
    def report(dag_id: str, run_id: str, task_id: str, map_index: int = -1) -> HTMLResponse:
        form = read_stored(dag_id, run_id, task_id, map_index)
        if form is None:
            raise HTTPException(404, NOTHING)
        page = render(form)
        if page is None:
            raise HTTPException(404, OTHER)
        return HTMLResponse(page, headers=HEADERS)

    return app


def read_stored(dag_id: str, run_id: str, task_id: str, map_index: int) -> Any:
    """The report in a task instance's XCom, or None."""
    wanted = select(XComModel).where(
        XComModel.dag_id == dag_id,
        XComModel.run_id == run_id,
        XComModel.task_id == task_id,
        XComModel.map_index == map_index,
        XComModel.key == KEY,
    )
    with create_session() as session:
        row = session.scalars(wanted).first()
        if row is None:
            return None
        found = XComModel.deserialize_value(row)
        return _resolve(row, found) if isinstance(found, str) else found


def _resolve(row: XComModel, text: str) -> Any:
    """What a text stands for: JSON, or the place where a custom XCom backend keeps the value."""
    try:
        return json.loads(text)
    except ValueError:
        return resolve_xcom_backend().deserialize_value(row)  # type: ignore[no-untyped-call]
