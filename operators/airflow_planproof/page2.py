"""The report page on Airflow 2: a Flask blueprint behind the UI's login, with the rights of a task's XCom."""

from __future__ import annotations

from typing import Any

from airflow.auth.managers.models.resource_details import DagAccessEntity, DagDetails
from airflow.www.extensions.init_auth_manager import get_auth_manager
from flask import Blueprint, Response, abort, request

from airflow_planproof.links import PREFIX

blueprint = Blueprint("planproof", __name__, url_prefix=PREFIX)


@blueprint.route("/report/<dag_id>/<path:run_id>/<task_id>")
def report(dag_id: str, run_id: str, task_id: str) -> Response:
    """401 for an anonymous request, 403 without the right to read the DAG's XComs, 404 where there is no report."""
    from airflow_planproof.xcom import HEADERS, NOTHING, OTHER, render

    rights = get_auth_manager()
    if not rights.is_logged_in():
        abort(401)
    if not rights.is_authorized_dag(method="GET", access_entity=DagAccessEntity.XCOM, details=DagDetails(id=dag_id)):
        abort(403)
    form = _read_stored(dag_id, run_id, task_id, request.args.get("map_index", -1, type=int))
    if form is None:
        abort(404, NOTHING)
    page = render(form)
    if page is None:
        abort(404, OTHER)
    return Response(page, mimetype="text/html", headers=HEADERS)


def _read_stored(dag_id: str, run_id: str, task_id: str, map_index: int) -> Any:
    from airflow.models.xcom import XCom

    from airflow_planproof.xcom import KEY

    return XCom.get_one(dag_id=dag_id, run_id=run_id, task_id=task_id, map_index=map_index, key=KEY)
