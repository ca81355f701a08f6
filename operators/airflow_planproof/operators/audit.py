"""The scheduled audit: what is stored now against what was promised."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from airflow_planproof.operators.place import place_of, words
from airflow_planproof.operators.spark import PlanproofSparkOperator

if TYPE_CHECKING:
    from planproof.contract import Contract
    from planproof.project.audit import Promise
    from planproof.project.place import Place
    from planproof.report import Report
    from planproof.session import Session


class PlanproofAuditOperator(PlanproofSparkOperator):
    """Audits stored tables, or directories of Parquet files, against their contracts; nothing is written.

    With `contract`, every one of `tables` and `paths` is held against it. Without it the contracts are the dbt
    project's: of the models named in `tables`, else of every selected model that has one.

    :param tables: dotted names of tables, or of models of the project.
    :param paths: files or directories of Parquet files.
    :param contract: `planproof.Contract`; `[(column, type, nullable), ...]`; or a mapping with `columns:
        [{name, type, nullable}]` and `constraints`, as in a contract file.
    :param project_dir: the dbt project; its `target/manifest.json` is read.
    :param manifest: a manifest.json in place of the project's own.
    :param profiles_dir: where profiles.yml is; by default where dbt looks for it.
    :param target: the profile's target.
    :param select: models, as for `planproof audit --select`.
    :param exclude: models to leave out.

    The other arguments are those of `PlanproofSparkOperator` and `PlanproofOperator`.
    """

    template_fields: Sequence[str] = (
        "tables",
        "paths",
        "project_dir",
        "manifest",
        "profiles_dir",
        "target",
        "select",
        "exclude",
        *PlanproofSparkOperator.template_fields,
    )

    def __init__(
        self,
        *,
        tables: str | Sequence[str] = (),
        paths: str | Sequence[str] = (),
        contract: Contract | Mapping[str, Any] | Iterable[tuple[str, Any, bool]] | None = None,
        project_dir: str | None = None,
        manifest: str | None = None,
        profiles_dir: str | None = None,
        target: str | None = None,
        select: str | Sequence[str] = (),
        exclude: str | Sequence[str] = (),
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        if contract is None and project_dir is None and manifest is None:
            raise ValueError(f"task {self.task_id}: give contract, or project_dir or manifest")
        if contract is not None and not tables and not paths:
            raise ValueError(f"task {self.task_id}: give the tables or paths that the contract is about")
        if contract is None and paths:
            raise ValueError(f"task {self.task_id}: paths need a contract; a dbt project promises tables")
        self.tables = tables
        self.paths = paths
        self.contract = contract
        self.project_dir = project_dir
        self.manifest = manifest
        self.profiles_dir = profiles_dir
        self.target = target
        self.select = select
        self.exclude = exclude

    def place(self) -> Place:
        return place_of(self)

    def spark_defaults(self) -> Mapping[str, str]:
        # Files need no metastore, and an embedded one would be made in the worker's current directory.
        only_files = self.project_dir is None and not self.tables and bool(self.paths)
        return {"spark.sql.catalogImplementation": "in-memory"} if only_files else {}

    def work(self, session: Session, told: Callable[[Report], None]) -> list[Report]:
        from planproof.project.audit import audit_all

        return audit_all(session, self.promises(), told)

    def promises(self) -> list[Promise]:
        """What is audited against which contract. Raises `ProjectError` and `ContractError`."""
        from planproof.project.audit import Promise, promises
        from planproof.settings import Settings

        tables = _names(self.tables)
        if self.contract is None:
            place = place_of(self)
            chosen = words(self.select), words(self.exclude)
            return promises(place.project(), tables, *chosen, self.settings, place.conf())
        contract = inline_contract(self.contract, f"contract of task {self.task_id}")
        settings = Settings.of(self.settings)
        return [Promise(name, contract, settings) for name in (*tables, *_names(self.paths))]


def inline_contract(given: Contract | Mapping[str, Any] | Iterable[tuple[str, Any, bool]], where: str) -> Contract:
    """The contract that a DAG file wrote down. Raises `ProjectError` and `ContractError`."""
    from planproof.contract import Contract
    from planproof.project.contracts import contract_from

    if isinstance(given, Contract):
        return given
    return contract_from(given, where) if isinstance(given, Mapping) else Contract(given)


def _names(given: str | Sequence[str]) -> tuple[str, ...]:
    return (given,) if isinstance(given, str) and given else tuple(given)
