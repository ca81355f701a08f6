"""Sources that are not what the project declares: where one is, it is the cause, and the models that break follow."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from planproof.project.manifest import Project, ProjectNode
from planproof.project.nodes import declared_columns
from planproof.project.sources import Frozen, Known
from planproof.report.folding import list_names
from planproof.report.model import Report
from planproof.report.parts import format_count, is_stopped
from planproof_engine.schema import ByColumn
from planproof_engine.types import as_nullable, drop_lengths, parse_type


def remarks_on_drift(
    project: Project, frozen: Frozen, reports: Mapping[str, Report], timestamp_ntz: bool = False
) -> Iterator[str]:
    """A remark for each source whose columns in the freeze file are not the declared ones, where models that read it
    were stopped. `reports` are by unique id. A declaration that fits, or that nobody made, is no news."""
    for source in project.sources:
        known = frozen.find(source.relation)
        if known is None:
            continue
        changed = list(_describe_changes(source, known, timestamp_ntz))
        below = project.descendants([source.unique_id]) if changed else ()
        broken = [report.model for key, report in reports.items() if key in below and is_stopped(report)]
        if broken:
            reads = (
                "1 model that reads it is"
                if len(broken) == 1
                else f"{format_count(len(broken), 'model')} that read it are"
            )
            yield (
                f"the source {source.relation} is not what {source.file or 'the manifest'} declares ({known.origin}: "
                f"{'; '.join(changed)}); {reads} stopped: {list_names(broken)}"
            )


def _describe_changes(source: ProjectNode, known: Known, timestamp_ntz: bool) -> Iterable[str]:
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
