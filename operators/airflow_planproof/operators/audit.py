"""The scheduled audit: what is stored now against what was promised, and what changed since the last audit."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

from airflow_planproof.drift import Last, add_drift
from airflow_planproof.operators.project import PROJECT_FIELDS, PlanproofProjectOperator
from airflow_planproof.operators.spark import PlanproofSparkOperator

if TYPE_CHECKING:
    from airflow.providers.common.compat.sdk import Context

    from planproof.contract import Contract
    from planproof.project.request import Request
    from planproof.report import Report

ContractForm = Any
"""`planproof.Contract`; `[(column, type, nullable), ...]`; or a mapping as in a contract file."""


class PlanproofAuditOperator(PlanproofProjectOperator, PlanproofSparkOperator):
    """Audits stored tables, or directories of Parquet files, against their contracts; nothing is written.

    With `contract`, every one of `tables` and `paths` is held against it. Without it the contracts are the dbt
    project's: of the models named in `tables`, else of every selected model that has one.

    :param tables: dotted names of tables, or of models of the project.
    :param paths: files or directories of Parquet files.
    :param contract: `planproof.Contract`; `[(column, type, nullable), ...]`; or a mapping with `columns:
        [{name, type, nullable}]` and `constraints`, as in a contract file.
    :param older: the folder of an older manifest.json, for `state:` and `result:` in the selection.
    :param state: a file that keeps what was seen, for the drift since the last audit. By default the last audit is the
        one in the XCom of this task's last run.

    Drift (columns that came, went or changed; how many rows more or fewer) stands in the report under `drift` and in
    the log. It fails nothing: what the contract does not promise may change.

    The other arguments are those of `PlanproofProjectOperator` and `PlanproofSparkOperator`.
    """

    template_fields: Sequence[str] = (
        "tables",
        "paths",
        "older",
        "state",
        *PROJECT_FIELDS,
        *PlanproofSparkOperator.template_fields,
    )

    def __init__(
        self,
        *,
        tables: str | Sequence[str] = (),
        paths: str | Sequence[str] = (),
        contract: Contract | Mapping[str, Any] | Iterable[tuple[str, Any, bool]] | None = None,
        older: str | None = None,
        state: str | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        if contract is None and self.project_dir is None and self.manifest is None:
            raise ValueError(f"task {self.task_id}: give contract, or project_dir or manifest")
        if contract is not None and not tables and not paths:
            raise ValueError(f"task {self.task_id}: give the tables or paths that the contract is about")
        if contract is None and paths:
            raise ValueError(f"task {self.task_id}: paths need a contract; a dbt project promises tables")
        self.tables = tables
        self.paths = paths
        self.contract = contract
        self.older = older
        self.state = state

    def conclude(
        self, context: Context, reports: Sequence[Report], started: datetime, remarks: Sequence[str] = ()
    ) -> dict[str, Any]:
        if not self.state and not self.do_xcom_push:
            return super().conclude(context, reports, started, remarks)
        last = Last(context["ti"], self.state)
        seen, drifted = last.read(), []
        for report in reports:
            report, found = add_drift(report, seen)
            drifted.append(report)
            remarks = [*remarks, *(f"{report.model}: {line}" for line in found)]
        last.write(drifted)
        return super().conclude(context, drifted, started, remarks)

    def request(self) -> Request:
        from planproof.project.contracts import contract_form
        from planproof.project.request import Request

        contract = read_inline_contract(self.contract, f"contract of task {self.task_id}") if self.contract else None
        settings = self.spark_settings()
        if self.project_dir is None and not self.tables and self.paths:
            # Files need no metastore, and an embedded one would be made in the worker's current directory.
            settings = {"spark.sql.catalogImplementation": "in-memory", **settings}
        return Request(
            "audit",
            **self.list_project_fields(),
            state=self.older or None,
            spark=settings,
            names=(*_names(self.tables), *_names(self.paths)),
            contract=contract_form(contract) if contract is not None else None,
        )


def read_inline_contract(given: ContractForm, where: str) -> Contract:
    """The contract that a DAG file wrote down. Raises `ProjectError` and `ContractError`."""
    from planproof.contract import Contract
    from planproof.project.contracts import parse_contract

    if isinstance(given, Contract):
        return given
    return parse_contract(given, where) if isinstance(given, Mapping) else Contract(given)


def _names(given: str | Sequence[str]) -> tuple[str, ...]:
    return (given,) if isinstance(given, str) and given else tuple(given)
