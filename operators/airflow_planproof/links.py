"""The address of a task's report page, and the link to it in Airflow's UI."""

from __future__ import annotations

from typing import Any, ClassVar
from urllib.parse import quote, urlencode

from airflow.providers.common.compat.sdk import BaseOperatorLink, conf
from airflow.providers.common.compat.version_compat import AIRFLOW_V_3_0_PLUS

PREFIX = "/planproof"


def report_url(key: Any) -> str:
    """The report page of a task instance, or of its key: anything with dag_id, run_id, task_id and map_index.

    Absolute where Airflow knows its own address (`[api] base_url`, `[webserver] base_url` on Airflow 2), else a path of
    the same origin.
    """
    address = conf.get("api" if AIRFLOW_V_3_0_PLUS else "webserver", "base_url", fallback="")
    place = "/".join(quote(str(part), safe="") for part in (key.dag_id, key.run_id, key.task_id))
    mapped = getattr(key, "map_index", -1)
    query = f"?{urlencode({'map_index': mapped})}" if mapped is not None and mapped >= 0 else ""
    return f"{str(address or '').rstrip('/')}{PREFIX}/report/{place}{query}"


class PlanproofReportLink(BaseOperatorLink):
    """Opens the report of a task: verdicts, planes, the plan's picture."""

    name = "planproof report"
    key: ClassVar[str] = "planproof_report_url"

    @property
    def xcom_key(self) -> str:
        """Where Airflow 3 keeps the link."""
        return self.key

    def get_link(self, operator: Any, *, ti_key: Any) -> str:
        return report_url(ti_key)
