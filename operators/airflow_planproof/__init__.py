"""planproof for Airflow: operators that check, run and audit dbt models on Spark.

Nothing is imported from Airflow, Spark or dbt until an operator is named: Airflow loads this module to learn what the
provider offers, and a DAG file loads it at every parse.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from airflow_planproof.cosmos import guarded
    from airflow_planproof.errors import PlanproofCannotRun, PlanproofRunFailed, PlanproofViolation
    from airflow_planproof.operators.audit import PlanproofAuditOperator
    from airflow_planproof.operators.check import PlanproofCheckOperator
    from airflow_planproof.operators.dbt import PlanproofDbtOperator
    from airflow_planproof.operators.run import PlanproofRunOperator
    from airflow_planproof.sensors.contract import PlanproofContractSensor

__all__ = [
    "PlanproofAuditOperator",
    "PlanproofCannotRun",
    "PlanproofCheckOperator",
    "PlanproofContractSensor",
    "PlanproofDbtOperator",
    "PlanproofRunFailed",
    "PlanproofRunOperator",
    "PlanproofViolation",
    "get_provider_info",
    "guarded",
]

_HOMES = {
    "PlanproofAuditOperator": "airflow_planproof.operators.audit",
    "PlanproofCannotRun": "airflow_planproof.errors",
    "PlanproofCheckOperator": "airflow_planproof.operators.check",
    "PlanproofContractSensor": "airflow_planproof.sensors.contract",
    "PlanproofDbtOperator": "airflow_planproof.operators.dbt",
    "PlanproofRunFailed": "airflow_planproof.errors",
    "PlanproofRunOperator": "airflow_planproof.operators.run",
    "PlanproofViolation": "airflow_planproof.errors",
    "guarded": "airflow_planproof.cosmos",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(_HOMES[name]), name)


def get_provider_info() -> dict[str, Any]:
    """What Airflow lists about this provider; the shape is Airflow's provider_info.schema.json."""
    return {
        "package-name": "planproof",
        "name": "planproof",
        "description": "Proves the schema of dbt models on Spark and publishes a table only when its contract holds.",
        "integrations": [{"integration-name": "planproof", "tags": ["software"]}],
        "operators": [{"integration-name": "planproof", "python-modules": _modules(".operators.")}],
        "sensors": [{"integration-name": "planproof", "python-modules": _modules(".sensors.")}],
        "extra-links": ["airflow_planproof.links.PlanproofReportLink"],
        "task-decorators": [{"name": "planproof", "class-name": "airflow_planproof.decorators.guarded.planproof_task"}],
    }


def _modules(room: str) -> list[str]:
    return sorted({home for home in _HOMES.values() if room in home})
