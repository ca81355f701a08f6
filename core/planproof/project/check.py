"""What `planproof check` does: which models it judges, in which order, and what it remembers of earlier checks."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from planproof.project.cache import Cache
from planproof.project.finished import Earlier
from planproof.project.lookup import merge_state
from planproof.project.manifest import Project
from planproof.project.offline import OfflineCheck
from planproof.project.profile import DBT_CONF
from planproof.project.promised import Promises
from planproof.project.remarks import describe_rules, remark_on_quarantine, remark_on_schemas, remarks_on_drift
from planproof.project.schedule import Schedule
from planproof.project.selection import describe_left_to_dbt, remark_on, select_models, split_compiled, split_guarded
from planproof.project.sources import read_frozen
from planproof.report.model import Report
from planproof_engine.conf import Conf


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
