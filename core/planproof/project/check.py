"""What `planproof check` does: which models it judges, in which order, what it remembers of earlier checks, and what it
says of the project as a whole: by which rules it was checked, and which schemas are not known.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from planproof.project import Cache, Frozen, Known, Project, ProjectNode, read_frozen
from planproof.project.compiled import Promises
from planproof.project.finished import Earlier
from planproof.project.lookup import merge_state
from planproof.project.nodes import declared_columns, has_inherited_quarantine
from planproof.project.offline import OfflineCheck
from planproof.project.profile import DBT_CONF
from planproof.project.schedule import Schedule
from planproof.project.selection import describe_left_to_dbt, remark_on, select_models, split_compiled, split_guarded
from planproof.report import Report
from planproof.report.folding import list_names
from planproof.report.parts import format_count, is_stopped
from planproof.report.run import HOW
from planproof_engine import ByColumn
from planproof_engine.conf import RELEASES, SPARKS, Conf
from planproof_engine.types import as_nullable, drop_lengths, parse_type


def describe_rules(check: OfflineCheck) -> str:
    """By which Spark's rules the models were checked, who said so, and the release that tests compare them with."""
    version = check.conf.spark
    if check.overrides.get("spark"):
        why = "as asked"
    elif check.frozen.spark == version:
        why = f"named in {check.frozen.file}"
    elif check.conf.databricks:
        why = "that of the newest runtime that is known"
    else:
        why = "the newest that is known" if version == SPARKS[-1] else "as asked"
    if check.conf.databricks:
        return (
            f"{HOW[1]} {version} ({why}), tested against Spark "
            f"{RELEASES[version]}; what Databricks adds is unknown, by name"
        )
    return f"{HOW[0]} {version} ({why}), tested against Spark {RELEASES[version]}"


def remark_on_quarantine(nodes: Iterable[ProjectNode]) -> str | None:
    """That a folder's `on_violation: quarantine` has no effect on what stores no rows; None where there is none."""
    names = [node.name for node in nodes if node.kind == "model" and has_inherited_quarantine(node.raw)]
    if not names:
        return None
    return f"`on_violation: quarantine` has no effect on {list_names(names)}: a view stores no rows"


def remark_on_schemas(check: OfflineCheck) -> str | None:
    """The one step that would make the missing schemas of sources and seeds known; None where none is missing."""
    of_no_model = (n for n in check.project.nodes.values() if n.kind in ("source", "seed"))
    missing = [node.relation for node in of_no_model if node.unique_id in check.unread]
    if not missing:
        return None
    it = "them" if len(missing) > 1 else "it"
    what = f"schemas of {len(missing)} sources and seeds are" if len(missing) > 1 else "schema of 1 source or seed is"
    shown = ", ".join(missing[:3]) + (f" and {len(missing) - 3} more" if len(missing) > 3 else "")
    if check.frozen.file is not None:
        return (
            f"the {what} not known ({shown}), and {check.frozen.file} does not hold {it}; once Spark knows {it} "
            "(`dbt seed` loads a seed), run `planproof freeze` again"
        )
    if check.conf.databricks:
        return (
            f"the {what} not known ({shown}): declare the data_type of every column. `planproof freeze` reads no "
            "target of type databricks; `--conf spark.remote=sc://HOST:PORT` names another Spark with the same tables"
        )
    return f"the {what} not known ({shown}); `planproof freeze`, run once with Spark, saves {it} for later checks"


def remarks_on_drift(
    project: Project, frozen: Frozen, reports: Mapping[str, Report], timestamp_ntz: bool = False
) -> Iterator[str]:
    """A remark for each source whose columns in the freeze file are not the declared ones, where models that read it
    were stopped. `reports` are by unique id. A declaration that fits, or that nobody made, is no news."""
    stopped = {key: report.model for key, report in reports.items() if is_stopped(report)}
    below = _find_below(project, stopped) if stopped else {}
    for source in project.sources:
        known = frozen.find(source.relation)
        if known is None:
            continue
        found = below.get(source.unique_id, 0)
        changed = list(_describe_drift(source, known, timestamp_ntz)) if found else []
        if changed:
            broken = [model for at, model in enumerate(stopped.values()) if found >> at & 1]
            reads = (
                "1 model that reads it is"
                if len(broken) == 1
                else f"{format_count(len(broken), 'model')} that read it are"
            )
            yield (
                f"the source {source.relation} is not what {source.file or 'the manifest'} declares ({known.origin}: "
                f"{'; '.join(changed)}); {reads} stopped: {list_names(broken)}"
            )


def _find_below(project: Project, wanted: Iterable[str]) -> dict[str, int]:
    """For each node, which of the wanted ones are it or downstream of it: one bit for each, in their order."""
    found = {key: 1 << at for at, key in enumerate(wanted)}
    for key in reversed(list(project.nodes)):  # Children before their parents.
        for child in project.children[key]:
            found[key] = found.get(key, 0) | found.get(child, 0)
    return found


def _describe_drift(source: ProjectNode, known: Known, timestamp_ntz: bool) -> Iterable[str]:
    found = ByColumn((name, data_type) for name, data_type, _ in known.columns)
    for name, declared, _ in declared_columns(source.raw):
        if name not in found:
            yield f"{name} is gone"
            continue
        stored = as_nullable(drop_lengths(found[name]))
        try:
            wanted = as_nullable(drop_lengths(parse_type(declared, timestamp_ntz=timestamp_ntz)))
        except ValueError:
            continue
        if wanted != stored:
            yield f"{name} is {stored.simple}, declared {wanted.simple}"


def check_project(
    project: Project,
    select: Iterable[str] = (),
    exclude: Iterable[str] = (),
    conf: Conf | None = None,
    *,
    frozen: str | Path | None = None,
    overrides: Mapping[str, Any] | None = None,
    selector: str | None = None,
    state: str | Path | None = None,
    on_remark: Callable[[str], None] | None = None,
    cache: Cache | None = None,
    jobs: int = 1,
    earlier: Earlier | None = None,
    is_brief: bool = False,
) -> list[Report]:
    """One report per selected model, what it reads before it. What it reads besides is planned, not reported.

    `conf` is the session's settings (ANSI off unless given), `frozen` a freeze file in place of the project's own,
    `overrides` settings that go before the models' own. `on_remark` gets each remark on all of
    them. `cache` knows reports of earlier checks, `jobs` processes share the work where this one can be forked: neither
    changes a report. Those of a check that `is_brief` lack plans and lineage; those that `earlier` knows also
    lack the text of healthy models. Raises `ProjectError` where the project cannot be read, or a model that `select` or
    `selector` names is not compiled; without them, where none is: the rest is judged, and a remark names those. Another
    names the models with `guard: off`, which have no report.
    """
    project = project if state is None else merge_state(project, state)
    # An ephemeral model is part of those that read it; a run compiles none that nobody reads.
    select = tuple([select] if isinstance(select, str) else select)
    guarded, off = split_guarded(select_models(project, select, exclude, selector, state), overrides)
    chosen, left = split_compiled(guarded, bool(select or selector))
    check = OfflineCheck(project, conf or DBT_CONF, read_frozen(project, frozen), overrides or {}, is_brief=is_brief)
    wanted = {node.unique_id for node in chosen}
    needed = wanted | project.ancestors(wanted)
    found = Schedule(check, needed, cache, jobs, earlier).reports()
    drift = remarks_on_drift(project, check.frozen, found, check.conf.timestamp_type == "TIMESTAMP_NTZ")
    schemas, no_effect = remark_on_schemas(check), remark_on_quarantine(guarded)
    for remark in (*drift, *describe_left_to_dbt(off), *remark_on(left), describe_rules(check), schemas, no_effect):
        if on_remark is not None and remark is not None:
            on_remark(remark)
    # Lines of YAML are not kept with a model: an edit above it in the file moves them.
    promises = Promises(project.directory)
    return [promises.place_findings(report, project.nodes[key].raw) for key, report in found.items() if key in wanted]
