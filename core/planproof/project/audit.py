"""What is stored now against what was promised: which tables and paths, with which contract."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import field
from functools import partial
from pathlib import Path
from typing import Any

from planproof.contract import Contract
from planproof.project import Project, ProjectNode, contract_of, settings_of
from planproof.project.compiled import Promises
from planproof.project.reads import ProjectError, UnreadableContract
from planproof.project.selection import select_models, split_guarded
from planproof.report import Details, Report
from planproof.session import Session
from planproof.settings import Settings
from planproof_engine import Conf, evolve, record


@record(frozen=True, slots=True)
class Promise:
    """A table's name or a path, its contract, and what of it counts. `details` go into the report; `placed` adds where
    the YAML promises what is broken."""

    name: str
    contract: Contract | UnreadableContract
    settings: Settings = field(default_factory=Settings)
    details: Details = field(default_factory=Details)
    placed: Callable[[Report], Report] = lambda report: report


def select_promises(
    project: Project,
    names: Sequence[str] = (),
    select: Iterable[str] = (),
    exclude: Iterable[str] = (),
    overrides: Mapping[str, Any] | None = None,
    conf: Conf | None = None,
    selector: str | None = None,
    state: str | Path | None = None,
) -> list[Promise]:
    """The contracts of the models called `names`, else of every selected model that has one.

    One with `guard: off` counts only where it is named. `conf` says what a bare `timestamp` in a contract means. Raises
    `ProjectError` for a name without a contract, and where nothing is left.
    """
    nodes = [_find_node(project, name) for name in names]
    if not names:
        chosen = select_models(project, select, exclude, selector, state)
        if not chosen and project.models:
            return []  # Nothing changed or happened, where that was asked.
        nodes = [node for node in split_guarded(chosen, overrides)[0] if node.materialized != "ephemeral"]
    found = [(node, _read_contract(node, conf)) for node in nodes]
    bare = [node.name for node, contract in found if contract is None]
    if names and bare:
        raise ProjectError(f"{', '.join(bare)}: no enforced contract in the project; give one beside the name")
    lines = Promises(project.directory)
    made = [_make_promise(node, contract, overrides, lines) for node, contract in found if contract is not None]
    if not made:
        raise ProjectError("none of the selected models has an enforced contract; give one beside the table's name")
    return made


def audit_all(
    session: Session, wanted: Iterable[Promise], finished: Callable[[Report], None] | None = None, at: str | None = None
) -> list[Report]:
    """One report per promise; what could not be read is a report too. `at`: a snapshot, tag or branch of them all."""
    reports = []
    for promise in wanted:
        report = _audit_promise(session, promise, at)
        reports.append(report)
        if finished is not None:
            finished(report)
    return reports


def _find_node(project: Project, name: str) -> ProjectNode:
    node = project.find_by_relation(name)
    if node is None:
        raise ProjectError(f"{name}: the project has no such model; give a contract for other tables and paths")
    return node


def _read_contract(node: ProjectNode, conf: Conf | None) -> Contract | UnreadableContract | None:
    """The contract; or why it cannot be read, which is told when it is audited."""
    try:
        return contract_of(node.raw, conf)
    except UnreadableContract as error:
        return error


def _make_promise(
    node: ProjectNode, contract: Contract | UnreadableContract, overrides: Mapping[str, Any] | None, lines: Promises
) -> Promise:
    details = Details(unique_id=node.unique_id, name=node.name, file=node.file, materialized=node.materialized)
    placed = partial(lines.place_findings, node=node.raw)
    return Promise(node.relation, contract, settings_of(node.raw, overrides=overrides), details, placed)


def _audit_promise(session: Session, promise: Promise, at: str | None = None) -> Report:
    from planproof.guard import Guard

    started = time.perf_counter()
    try:
        if isinstance(promise.contract, UnreadableContract):
            raise promise.contract
        report = Guard(session, settings=promise.settings).audit(promise.name, promise.contract, at=at)
    except Exception as error:  # One table that cannot be read must not hide the others' reports.
        report = Report(promise.name, "failed", error=str(error) or type(error).__name__)
    seconds = report.seconds if report.seconds is not None else round(time.perf_counter() - started, 3)
    details = evolve(report.details, **promise.details.to_dict(), fail_on=promise.settings.fail_on, contract=True)
    if isinstance(promise.contract, Contract):
        details = evolve(details, contract_hash=promise.contract.fingerprint)
    return promise.placed(evolve(report, seconds=seconds, details=details))
