"""Which nodes the gate looks at. Each node either begins with a state, or dbt writes it and the record says why."""

from __future__ import annotations

from typing import Any

from dbt_planproof import log
from dbt_planproof.absence import WAY_ON, read_command
from dbt_planproof.dbts import Adapter, Node, names_of, read_flags
from dbt_planproof.questions import Stopped
from dbt_planproof.reach import Reach
from dbt_planproof.record import Left, Record
from dbt_planproof.scope import is_logged, is_written, why_stored_elsewhere, why_unguarded, why_unreachable
from dbt_planproof.seeds import EMPTY, Seed
from dbt_planproof.statement_models import convert_plain, convert_stored, drop_contract
from dbt_planproof.states import GuardedNode, NodeState
from planproof.project.nodes import guard_of, has_inherited_quarantine, has_no_rows, model_of
from planproof.project.reads import ProjectError, UnreadableContract
from planproof_engine import RelationName


class Admission:
    """Decides which nodes of one dbt invocation are guarded; the threads of dbt share it."""

    def __init__(self, adapter: Adapter, reach: Reach, record: Record) -> None:
        self.adapter, self.reach, self.record = adapter, reach, record
        self._remarks: set[str] = set()

    def begin(self, node: Node | None) -> NodeState | None:
        """The state of the node that begins; None where dbt writes it and nothing of it is looked at. Raises `Stopped`
        and `ProjectError` where it cannot be told, or the node asks for what cannot be done."""
        if node is None:
            raise ProjectError(f"dbt does not say which node begins; it cannot be guarded. {WAY_ON}")
        if read_command() == "clone":
            self._say_once("planproof does not guard dbt clone: it hands on rows that are stored elsewhere")
        if not is_written(node, read_command()):
            return None
        guard = _guard_of(node)
        if guard == "off":
            self.say_unguarded(node.name, "guard: off", node.resource_type)
        return self._admit(node, guard) if guard != "off" and self._can_ask(node) else None

    def _can_ask(self, node: Node) -> bool:
        """Whether Spark can be asked about the node; where it cannot, that is said."""
        unreached = why_unreachable(self.reach.method)
        if unreached is not None:
            self._record_unguarded(node.name, f"dbt reaches Spark by {self.reach.method}", node.resource_type)
            self._say_once(unreached)
            return False
        why_not = self.reach.find_refusal()
        if why_not is not None:
            self.say_unguarded(node.name, why_not, node.resource_type)
        return why_not is None

    def _admit(self, node: Node, guard: str) -> NodeState | None:
        """The state of a node with `guard: on` or `watch`; None where dbt writes it, and it has no query to check."""
        relation = self.adapter.Relation.create_from(self.adapter.config, node)
        existing = self.adapter.get_relation(relation.database, relation.schema, relation.identifier)
        if existing is not None and existing.information == "":
            # dbt goes on with a table of unknown kind where it cannot be described.
            raise Stopped(
                f"planproof: the catalog lists {relation.schema}.{relation.identifier} and does not say what it is; "
                "nothing was written. Run the model again once the catalog answers"
            )
        reason = why_unguarded(node) or why_stored_elsewhere(existing, node, self._is_full_refresh(node))
        reason = reason or self._find_obstacle(node, str(relation))
        distance = self.reach.measure_distance(node, existing)
        reason = reason or distance
        if reason is not None:
            self.say_unguarded(node.name, reason, node.resource_type)
        if guard == "on":
            _refuse_quarantine(node, reason)
        is_left = node.resource_type != "model" and reason is not None
        if is_left or node.language != "sql" or not (node.resource_type == "seed" or node.compiled_code):
            return None
        try:
            return self._make_state(node, names_of(relation), reason, distance)
        except ProjectError as error:
            if reason is None:
                raise
            log.warn(f"planproof does not check {node.name}: {error}")
            return None

    def _find_obstacle(self, node: Node, name: str) -> str | None:
        """Why a table of the node's format cannot be guarded over this connection, None where it can."""
        if is_logged(node, ("iceberg",)):
            return self.reach.find_iceberg_obstacle(name)
        delta = self.reach.find_delta_obstacle() if is_logged(node, ("delta",)) else None
        return delta or self.reach.find_other_catalog()

    def _make_state(self, node: Node, target: RelationName, reason: str | None, distance: str | None) -> NodeState:
        form = node.to_dict()
        if node.resource_type != "model":
            return self._make_stored_state(node, form, target)
        if has_inherited_quarantine(form):
            no_effect = f"`on_violation: quarantine` has no effect on {node.name}: a view stores no rows"
            self.record.remark(no_effect)
        promises = bool(node.config.contract and node.config.contract.enforced)
        # What a bare `timestamp` in a contract means is a setting of the session.
        conf = self.reach.open_session().conf if promises else None
        described = convert_plain(form) if reason else form
        try:
            model = model_of(described, defaults={"rewrite": "suggest"}, conf=conf)
        except UnreadableContract as error:
            if _guard_of(node) != "watch":
                raise
            log.warn(f"planproof watches {node.name} without its contract: {error}")
            model = model_of(drop_contract(described), defaults={"rewrite": "suggest"})
        return NodeState.of(GuardedNode(model, form, target, (node.compiled_code or "").strip(), reason, distance))

    def _make_stored_state(self, node: Node, form: dict[str, Any], target: RelationName) -> NodeState:
        """A seed or a snapshot that the guard publishes."""
        compiled = (getattr(node, "compiled_code", None) or "").strip()
        model = model_of(convert_stored(form), sql=compiled or EMPTY, defaults={"rewrite": "off"})
        seed = Seed(target) if node.resource_type == "seed" else None
        return NodeState.of(GuardedNode(model, form, target, compiled), seed)

    def _say_once(self, line: str) -> None:
        """A warning that this invocation gives once."""
        if line not in self._remarks:
            self._remarks.add(line)
            log.warn(line)

    def say_unguarded(self, name: str, reason: str, kind: object = "model") -> None:
        """Each node in dbt's log file; on the console the closing line says it of all."""
        if self._record_unguarded(name, reason, kind):
            log.debug(f"planproof does not guard {name}: {reason}; dbt runs it as it is")

    def _record_unguarded(self, name: str, reason: str, kind: object) -> bool:
        """Notes in the record that a node was left to dbt; False where it is noted already."""
        return self.record.leave(name, Left(str(kind), reason))

    def _is_full_refresh(self, node: Node) -> bool:
        own = node.config.full_refresh
        return bool(getattr(read_flags(), "FULL_REFRESH", False) if own is None else own)


def _guard_of(node: Node) -> str:
    return guard_of({"name": node.name, "resource_type": node.resource_type, "config": {"meta": node.config.meta}})


def _read_own(node: Node, key: str) -> Any:
    """The node's value of one setting. Its other settings, which may be the ones that fail, are not read."""
    own = (node.config.meta or {}).get("planproof")
    return own.get(key) if isinstance(own, dict) else None


def lets_own_errors_pass(node: Node) -> bool:
    """Whether an error of planproof's leaves the node to dbt."""
    return bool(_read_own(node, "on_internal_error") == "pass" or _read_own(node, "guard") == "watch")


def _refuse_quarantine(node: Node, reason: str | None) -> None:
    """Raises `Stopped` for a node that asks for what only a publish of the guard's can do, and that dbt writes."""
    is_asked = reason is not None and _read_own(node, "on_violation") == "quarantine"
    if is_asked and not has_no_rows({"name": node.name, "config": {"materialized": node.config.materialized}}):
        raise Stopped(
            f"planproof: meta.planproof.on_violation: quarantine cannot be kept for {node.name}: dbt writes it itself, "
            f"as {reason}. Set `on_violation: stop` on it"
        )
