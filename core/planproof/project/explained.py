"""One model's plan, as `planproof explain` shows it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from planproof.project import Project, ProjectError, ProjectNode, read_frozen
from planproof.project.offline import OfflineCheck
from planproof.project.profile import DBT_CONF
from planproof_engine import AnalysisError, Conf, Unknown, deeply, record
from planproof_engine.plans import Expr, References
from planproof_engine.schema import LogicalField

if TYPE_CHECKING:
    from planproof_engine import LogicalPlan


@record(frozen=True, slots=True)
class Explained:
    """A model's plan. `changed` is what changed since dbt compiled it, None where nothing is known to have."""

    plan: LogicalPlan
    changed: str | None = None

    @property
    def reasons(self) -> list[str]:
        """Of each column, why it is never null, or what may make it so."""
        made = {item.column.id: item.made_of for item in deeply(lambda: References(self.plan.root)).items}
        return [_explain_field(made.get(c.id, c), f) for c, f in zip(self.plan.root.output, self.plan.schema)]


def _explain_field(made: Expr, field: LogicalField) -> str:
    if not field.nullable:
        return made.evidence or "Spark derives that it is NOT NULL"
    return field.evidence or field.doubt or "nothing rules out a null"


def explain_model(project: Project, node: ProjectNode, conf: Conf | None = None) -> Explained:
    """The model's logical plan over its planned ancestors. Raises `Unknown`, and `ProjectError` if it is rejected."""
    if node.sql is None:
        raise ProjectError(f"{node.label}: not compiled; run `dbt compile`")
    check = OfflineCheck(project, conf or DBT_CONF, read_frozen(project))
    ancestors = project.ancestors([node.unique_id])
    for key, other in project.nodes.items():
        if key in ancestors:
            check.visit(other)
    try:
        plan = check.plan(node)
        return Explained(plan, check.files.find_change(node) or check.stale.get(node.unique_id))
    except AnalysisError as error:
        raise ProjectError(f"{node.label}: {check.describe_refusal(node, error)}") from error
    except Unknown as unknown:
        missing = [key for key in project.nodes if key in ancestors and key in check.unread]
        named = [key for key in missing if project.nodes[key].relation in unknown.construct]
        first = next((key for key in missing if key in project.ancestors(named)), None)
        if first is None:
            raise
        said = f"{unknown.construct}; it begins with {project.nodes[first].relation}: {check.unread[first]}"
        raise Unknown(said, unknown.origin) from None
