"""The task's rendered fields in Airflow's UI, once more after it ran: Airflow 3 does so by itself."""

from __future__ import annotations

from typing import Any

from airflow.providers.common.compat.version_compat import AIRFLOW_V_3_0_PLUS


def render_again(ti: Any) -> None:
    """Stores the template fields of a task instance's task as they are now."""
    if AIRFLOW_V_3_0_PLUS:
        return
    from airflow.models.renderedtifields import RenderedTaskInstanceFields
    from airflow.utils.session import create_session

    with create_session() as session:
        session.merge(RenderedTaskInstanceFields(ti, render_templates=False))
