"""What a check says of the project as a whole: by which rules it was checked, and which schemas are not known."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from planproof.project.manifest import ProjectNode
from planproof.project.nodes import has_inherited_quarantine
from planproof.report.folding import list_names
from planproof_engine.conf import RELEASES, SPARKS

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
    return (
        f"the {what} not known ({shown}); `planproof freeze`, run once with Spark, writes {it} down for all later "
        "checks"
    )
