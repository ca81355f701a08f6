"""`planproof audit`: what is stored now against what was promised."""

from __future__ import annotations

import time
from dataclasses import replace
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import click

from planproof.cli import options, output
from planproof.cli.spark import open_session
from planproof.contract import Contract
from planproof.project import Project, ProjectError, ProjectNode, contract_of, selected
from planproof.project.contracts import read_contract
from planproof.project.nodes import settings_of
from planproof.report.model import Report
from planproof.report.run import run_report

Target = tuple[str, Contract, dict[str, Any]]


@click.command()
@click.argument("names", nargs=-1)
@options.place
@options.selection
@options.outcome
@click.option(
    "--contract",
    "contract_file",
    type=click.Path(dir_okay=False, path_type=Path),
    help="A YAML or JSON file with `columns: [{name, type, nullable}]`, in place of the project's contracts.",
)
def audit(
    names: tuple[str, ...],
    project_dir: Path,
    manifest: Path | None,
    profiles_dir: Path | None,
    target: str | None,
    select: tuple[str, ...],
    exclude: tuple[str, ...],
    fail_on: str | None,
    as_json: bool,
    html: Path | None,
    contract_file: Path | None,
) -> None:
    """Audits stored tables, or directories of Parquet files, against their contracts.

    NAMES are models, tables, or paths (with a slash). Without any, every selected model with a contract is audited.
    """
    started = datetime.now(timezone.utc)
    place = options.Place(project_dir, manifest, profiles_dir, target)
    targets, name = _targets(names, contract_file, place, select, exclude, fail_on)
    session = open_session(place)
    from planproof.guard import Guard

    guard = Guard(session)
    reports = [_audited(guard, *found) for found in targets]
    report = run_report("audit", reports, started, project=name)
    output.finish(report, as_json=as_json, html=html, fail_on=fail_on)


def _targets(
    names: tuple[str, ...],
    contract_file: Path | None,
    place: options.Place,
    select: tuple[str, ...],
    exclude: tuple[str, ...],
    fail_on: str | None,
) -> tuple[list[Target], str]:
    """What is to be audited against which contract. Raises `ProjectError`."""
    if contract_file is not None:
        if not names:
            raise click.UsageError("--contract needs the NAMES of the tables or paths that it is about")
        contract = read_contract(contract_file)
        return [(name, contract, {"fail_on": fail_on or "violated"}) for name in names], ""
    project = place.project()
    nodes = [_named(project, name) for name in names] or [
        node for node in selected(project, select, exclude) if node.materialized != "ephemeral"
    ]
    found = [(node, contract_of(node.raw)) for node in nodes]
    bare = [node.name for node, contract in found if contract is None]
    if names and bare:
        raise ProjectError(f"{', '.join(bare)}: no enforced contract in the project; give one with --contract FILE")
    targets = [(node.relation, contract, _details(node, fail_on)) for node, contract in found if contract is not None]
    if not targets:
        raise ProjectError("none of the selected models has an enforced contract; give one with --contract FILE")
    return targets, project.name


def _named(project: Project, name: str) -> ProjectNode:
    node = project.by_relation(name)
    if node is None:
        raise ProjectError(f"{name}: the project has no such model; for other tables and paths give --contract FILE")
    return node


def _details(node: ProjectNode, fail_on: str | None) -> dict[str, Any]:
    settings = settings_of(node.raw, overrides=options.settings(fail_on))
    return {
        "unique_id": node.unique_id,
        "name": node.name,
        "materialized": node.materialized,
        "fail_on": settings.fail_on,
        "contract": True,
    }


def _audited(guard: Any, name: str, contract: Contract, details: dict[str, Any]) -> Report:
    started = time.perf_counter()
    try:
        report: Report = guard.audit(name, contract)
    except Exception as error:  # One table that cannot be read must not hide the others' reports.
        report = Report(name, "failed", error=str(error) or type(error).__name__)
    seconds = report.seconds if report.seconds is not None else round(time.perf_counter() - started, 3)
    return replace(report, seconds=seconds, details={**report.details, **details})
