"""The Airflow plugin that serves report pages; Airflow finds it by its entry point."""

from __future__ import annotations

from typing import Any

from airflow.providers.common.compat.sdk import AirflowPlugin
from airflow.providers.common.compat.version_compat import AIRFLOW_V_3_0_PLUS

from airflow_planproof.links import PREFIX


class LazyApp:
    """The FastAPI app, made at its first request: the scheduler and every worker load this module too."""

    def __init__(self) -> None:
        self._app: Any = None

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if self._app is None:
            from airflow_planproof.page import create_app

            self._app = create_app()
        await self._app(scope, receive, send)


class PlanproofPlugin(AirflowPlugin):
    """Report pages under `/planproof`, of the UI's own origin and behind its login."""

    name = "planproof"
    if AIRFLOW_V_3_0_PLUS:
        fastapi_apps = [{"app": LazyApp(), "url_prefix": PREFIX, "name": "planproof reports"}]
    else:
        from airflow_planproof.page2 import blueprint

        flask_blueprints = [blueprint]
