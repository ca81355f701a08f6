"""What a check says of the project as a whole: by which rules it was checked, and which schemas are not known."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING

from planproof.project.manifest import Project, ProjectNode
from planproof.project.nodes import declared_columns, has_inherited_quarantine
from planproof.project.sources import Frozen, Known
from planproof.report.folding import list_names
from planproof.report.model import Report
from planproof.report.parts import format_count, is_stopped
from planproof_engine.conf import RELEASES, SPARKS
from planproof_engine.schema import ByColumn
from planproof_engine.types import as_nullable, drop_lengths, parse_type

if TYPE_CHECKING:
    from planproof.project.offline import OfflineCheck


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
            f"checked for Databricks by the rules of Spark {version} ({why}), tested against Spark "
            f"{RELEASES[version]}; what Databricks adds is unknown, by name"
        )
    return f"checked by the rules of Spark {version} ({why}), tested against Spark {RELEASES[version]}"


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
    for source in project.sources:
        known = frozen.find(source.relation)
        if known is None:
            continue
        changed = list(_describe_drift(source, known, timestamp_ntz))
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
