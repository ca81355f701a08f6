"""Contracts for models that have none, from their logical plans; nothing that was not derived is promised.

What is inferred here is written by `project.properties`.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from functools import cached_property
from pathlib import Path, PurePosixPath

from planproof.invariants import contract as terms
from planproof.judge.allowed import allow
from planproof.project import Project, ProjectError, ProjectNode, load_own, read_frozen
from planproof.project.nodes import contract_of, documented_columns, patch_of, settings_of
from planproof.project.offline import OfflineCheck
from planproof.project.profile import DBT_CONF
from planproof.project.selection import select_models, split_compiled
from planproof.project.stale import Files
from planproof.regular import real_path
from planproof_engine import AnalysisError, Conf, OverBudget, Unknown, Verdict, bounded, record
from planproof_engine.schema import ColumnNames, LogicalField, PhysicalSchema
from planproof_engine.types import VOID, DataType, TypeSyntaxError, as_nullable, parse_type, quote_if_needed

CONTRACTED_INCREMENTAL = ("append_new_columns", "fail")
"""What dbt demands of `on_schema_change` where an incremental model has a contract."""


@record(frozen=True, slots=True)
class InferredColumn:
    """`not_null` says why the column holds no null; None where nothing proves it, or nobody asked. `quote`: the name
    is none that dbt may write without quotes."""

    name: str
    data_type: str
    not_null: str | None = None
    quote: bool = False


@record(frozen=True, slots=True)
class Inferred:
    """What a model's contract can promise; `reason` says why there is nothing to write, and the rest is empty then."""

    node: ProjectNode
    columns: tuple[InferredColumn, ...] = ()
    reason: str | None = None


def infer_project(
    project: Project,
    select: Iterable[str] = (),
    exclude: Iterable[str] = (),
    conf: Conf | None = None,
    *,
    frozen: str | Path | None = None,
    tighten: bool = False,
    selector: str | None = None,
    state: str | Path | None = None,
) -> list[Inferred]:
    """What each selected model's contract can promise, in DAG order.

    Models that have a contract are left out, unless `tighten` asks for NOT NULL where the plan proves it. Raises
    `ProjectError` where the project cannot be read, or no selected model is compiled.
    """
    conf = conf or DBT_CONF
    chosen = select_models(project, select, exclude, selector, state)
    if all(node.sql is None for node in chosen):
        split_compiled(chosen)
    wanted = {node.unique_id for node in chosen}
    needed = wanted | project.ancestors(wanted)
    check = OfflineCheck(project, conf, read_frozen(project, frozen), {})
    check.files = Files(project, of_yaml=False)  # Contracts are written into the YAML as it is now.
    found = []
    for key, node in project.nodes.items():
        if key not in needed:
            continue
        check.visit(node)
        if key in wanted and node.materialized != "ephemeral" and (tighten or not _has_contract(node)):
            changed = check.stale.get(key)
            found.append(
                infer_node(check, project, node, conf, tighten)
                if changed is None
                else Inferred(node, reason=f"{changed} since dbt compiled it; run `dbt compile`")
            )
    return found


def _has_contract(node: ProjectNode) -> bool:
    config = node.raw.get("config") or {}
    return bool((config.get("contract") or {}).get("enforced"))


def infer_node(check: OfflineCheck, project: Project, node: ProjectNode, conf: Conf, tighten: bool) -> Inferred:
    """What one model's contract can promise; `check` has visited what the model reads."""
    try:
        with bounded():
            return _infer_node(check, project, node, conf, tighten)
    except OverBudget as over:
        return Inferred(node, reason=f"it costs more than the budget for one model allows: {over}")


def _infer_node(check: OfflineCheck, project: Project, node: ProjectNode, conf: Conf, tighten: bool) -> Inferred:
    reason = _refusal(project, node)
    if reason is not None:
        return Inferred(node, reason=reason)
    try:
        plan = check.plan_again(node)
        columns = tuple(_infer_column(f, conf, tighten) for f in plan.schema)
    except Unknown as unknown:
        return Inferred(node, reason=f"its schema is not known offline: {unknown.construct}")
    except AnalysisError as error:
        return Inferred(node, reason=check.describe_refusal(node, error))
    names = ColumnNames(c.name for c in columns)
    if len(names) < len(columns):
        return Inferred(node, reason="it produces two columns of one name")
    # A description is enough to spoil it: dbt builds no model whose contract has a column without a type.
    spare = [name for name in documented_columns(node.raw) if name not in names]
    if spare:
        return Inferred(node, reason=f"its YAML names {', '.join(spare)}, which it does not produce")
    broken = _find_broken(node, columns, plan.physical_schema, conf)
    return Inferred(node, reason=f"its YAML says otherwise: {broken}") if broken else Inferred(node, columns)


def _find_broken(node: ProjectNode, columns: Iterable[InferredColumn], found: PhysicalSchema, conf: Conf) -> str | None:
    """What of the author's own types and names the model breaks, once a contract makes promises of them."""
    raw, forms = node.raw, {str(c.get("name") or key): c for key, c in (node.raw.get("columns") or {}).items()}
    written = ColumnNames(forms)
    for column in columns:
        name = written.find_spelling(column.name) if column.name in written else column.name
        form = forms.get(name) or {"name": name}
        forms[name] = form if form.get("data_type") else {**form, "data_type": column.data_type}
    promised = {**raw, "columns": forms, "config": {**(raw.get("config") or {}), "contract": {"enforced": True}}}
    try:
        contract = contract_of(promised, conf)
    except ProjectError as error:
        return str(error)
    assert contract is not None
    settings = settings_of(raw)
    findings = terms.check(contract, found, {}, None, settings, "contract", lambda column: None)
    judged = (allow(f, settings) for f in findings)
    return next((f.message for f in judged if f.verdict is Verdict.VIOLATED), None)


def _refusal(project: Project, node: ProjectNode) -> str | None:
    if node.sql is None and not node.is_python:
        return "not compiled; run `dbt compile`"  # A build leaves those out that it skipped.
    config = node.raw.get("config") or {}
    if node.is_python:
        return "a Python model, whose schema only its run shows"
    if node.package != project.name:
        return f"of the package {node.package}, whose files are not this project's"
    if node.raw.get("version") is not None:
        return "it has versions; give each its own columns by hand"
    if node.materialized == "incremental" and config.get("on_schema_change") not in CONTRACTED_INCREMENTAL:
        return "dbt takes a contract of an incremental model only with on_schema_change: append_new_columns or fail"
    return None


def _infer_column(field: LogicalField, conf: Conf, tighten: bool) -> InferredColumn:
    if field.type == VOID:
        raise Unknown(f"the type of {field.name}, which is always NULL; cast it")
    if "`" in field.name:
        raise Unknown(f"how dbt quotes the name {field.name}; give the column another")
    spelled, quote = format_type(field.type, conf), quote_if_needed(field.name) != field.name
    return InferredColumn(field.name, spelled, field.evidence if tighten else None, quote)


def format_type(data_type: DataType, conf: Conf) -> str:
    """A type as a contract spells it, read back as the same type under `conf`. Raises `Unknown`."""
    wanted = as_nullable(data_type)
    ntz = conf.timestamp_type == "TIMESTAMP_NTZ"
    for text in (wanted.simple, re.sub(r"\btimestamp\b", "timestamp_ltz", wanted.simple), wanted.sql):
        try:
            if parse_type(text, timestamp_ntz=ntz) == wanted:
                return text
        except TypeSyntaxError:
            continue
    raise Unknown(f"how a contract spells the type {wanted.simple}")


def model_paths(home: Path) -> list[str]:
    """The folders of the project's models, as its dbt_project.yml names them."""
    try:
        form = load_own(home / "dbt_project.yml")
    except ProjectError:
        form = None
    given = form.get("model-paths") if isinstance(form, Mapping) else None
    return [str(path) for path in given] if isinstance(given, list) else ["models"]


def find_property_file(project: Project, node: ProjectNode, into: Path | None = None) -> Path:
    """The YAML file that describes the model; else `into`; else the one that describes its folder. Raises
    `ProjectError` for a file outside the project."""
    return _PropertyFiles(project).find(node, into)


class _PropertyFiles:
    """Which YAML file describes a model; what the project's folders say is read once for all of them."""

    def __init__(self, project: Project) -> None:
        """Raises `ProjectError`."""
        if project.directory is None:
            raise ProjectError("a manifest alone has no files to write to; give the project's directory")
        self._project, self._home = project, real_path(project.directory)
        self._of_folders: dict[PurePosixPath, str] = {}

    @cached_property
    def _below(self) -> set[Path]:
        paths = {real_path(self._home / name) for name in model_paths(self._home) if "\0" not in name}
        return {path for path in paths if path != self._home and path.is_relative_to(self._home)}

    @cached_property
    def _beside(self) -> Mapping[PurePosixPath, list[tuple[ProjectNode, PurePosixPath]]]:
        """The models of each folder."""
        found: dict[PurePosixPath, list[tuple[ProjectNode, PurePosixPath]]] = {}
        for node in self._project.models:
            if node.file:
                path = PurePosixPath(node.file)
                found.setdefault(path.parent, []).append((node, path))
        return found

    def find(self, node: ProjectNode, into: Path | None = None) -> Path:
        """Raises `ProjectError` for a file outside the project."""
        patch, home = patch_of(node.raw)[1], self._home
        if not patch and not node.file:
            raise ProjectError(f"{node.label}: the manifest does not say which file it stands in")
        try:
            own = (home / str(node.file)).with_suffix(".yml")
            beside = own if own.exists() else home / self._find_folder_file(str(node.file))
            file = real_path(home / patch if patch else into or beside)
            file.exists()
        except (OSError, ValueError) as error:  # A name that no file has.
            raise ProjectError(f"{node.label}: its path is not valid: {error}") from error
        is_below = not self._below.isdisjoint((file, *file.parents)) and not _is_hidden(file, home)
        if not is_below or file.suffix not in (".yml", ".yaml"):
            raise ProjectError(
                f"{node.label}: {file} is no YAML file of the project in {home}, below its model paths; write the "
                "contract there by hand"
            )
        return file

    def _find_folder_file(self, file: str) -> str:
        """Where a model goes that has neither a description nor a file of its name: to the file that describes most
        models of its folder and bears the name of none of them, else to one that is called after the folder, such as
        models/marts/_marts.yml."""
        folder = PurePosixPath(file).parent
        if folder not in self._of_folders:
            beside = self._beside.get(folder, [])
            names = {path.stem for _, path in beside}
            patches = Counter(patch for node, _ in beside if (patch := patch_of(node.raw)[1]))
            places = ((PurePosixPath(patch), patch) for patch, _ in patches.most_common())
            own = (patch for place, patch in places if place.parent == folder and place.stem not in names)
            self._of_folders[folder] = next(own, str(folder / f"_{folder.name}.yml"))
        return self._of_folders[folder]


def _is_hidden(file: Path, home: Path) -> bool:
    """Whether it lies in a folder such as `.github`, whose YAML is no project's: dbt_project.yml may name any."""
    return any(part.startswith(".") for part in file.relative_to(home).parts)


def group_by_file(
    project: Project, inferred: Iterable[Inferred], into: Path | None = None
) -> Mapping[Path, list[Inferred]]:
    """What there is to write, by the file to write it to. `into` takes the models that no file describes yet."""
    files: dict[Path, list[Inferred]] = {}
    wanted = [one for one in inferred if one.reason is None]
    if not wanted:
        return files
    places = _PropertyFiles(project)
    for one in wanted:
        files.setdefault(places.find(one.node, into), []).append(one)
    return files
