"""The offline check: every selected model against planes 1 to 3, with schemas and evidence propagated through `ref()`.

Nothing here reaches Spark. What cannot be read offline is unproved and named, never guessed. A relation that is missing
from the catalog is no error of the query: a hook or another job may make it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from weakref import proxy

from planproof import own_errors
from planproof.contract import Contract
from planproof.judge.doubts import Doubts, Incomplete
from planproof.judge.draft import Draft
from planproof.judge.planes import examine
from planproof.own_errors import describe
from planproof.project import Project, ProjectNode, settings_of
from planproof.project import sources as schemas
from planproof.project.behind import OverReach
from planproof.project.branches import find_reading_call
from planproof.project.compiled import relocate
from planproof.project.increments import find_first_plan, judge_increments
from planproof.project.lookup import NotedCatalog, parts_of, stored_nodes
from planproof.project.profile import DBT_CONF
from planproof.project.read_back import stored_contract, stored_output
from planproof.project.reads import ProjectError, UnreadableContract
from planproof.project.stale import Files
from planproof.project.state import State, Visit, Wanted, convert_to_json
from planproof.project.subject import Subject, excuse_ephemeral, report_failed, report_too_large, report_unreadable
from planproof.project.undeclared import Supposition, find_growth, join_alternatives
from planproof.report import Report
from planproof_engine import AnalysisError, OverBudget, Unknown, bounded, evolve
from planproof_engine.catalog import Relation, join_name, relation, split_name
from planproof_engine.conf import RUNTIMES, SPARKS, Conf, holds
from planproof_engine.finding import NOT_COMPILED, OF_ITSELF, OUTDATED, PRINTED, Finding, Verdict
from planproof_engine.types import drop_lengths

if TYPE_CHECKING:
    from planproof_engine import LogicalPlan

OFFLINE = "the offline check reads planes 1 to 3"

# Spark rejects these where a name is missing now; a hook, a macro or another job may make it before the model runs.
_NO_RELATION = ("TABLE_OR_VIEW_NOT_FOUND", "REQUIRES_SINGLE_PART_NAMESPACE")
_MISSING = (*_NO_RELATION, "UNRESOLVED_ROUTINE", "UNRESOLVED_TABLE_VALUED_FUNCTION", "UNRESOLVED_VARIABLE")
# What another column of a source may mend: it is missing, or those of a star are too few or at another position.
_OF_COLUMNS = (
    *("UNRESOLVED_COLUMN", "UNRESOLVED_USING_COLUMN_FOR_JOIN", "UNRESOLVED_MAP_KEY", "FIELD_NOT_FOUND"),
    *("NUM_COLUMNS_MISMATCH", "INCOMPATIBLE_COLUMN_TYPE"),
)
_SET = re.compile(r"\s*set\s+(?:session\s+)?([\w.]+)\s*=(.*)", re.I | re.S)
# The `*` that dbt_utils.star and union_relations print where there is no column, or no relation yet; a run prints none.
_SAID = r"only output during\s+dbt compile\b[^*]*\*/"
_COMPILE_ONLY = re.compile(rf"\*\s*/\*[^*]*{_SAID}|{_SAID}\s*\*")


def _is_missing_parent(error: AnalysisError, parent: ProjectNode) -> bool:
    """Whether the error is that the parent's relation is not there."""
    name = split_name(parent.relation)[-1].lower()
    return (
        error.condition in _NO_RELATION and re.search(rf"`{re.escape(name)}`(?!\.)", error.message.lower()) is not None
    )


def _doubt_older_text(report: Report, changed: str | None) -> Report:
    """Nothing is proved or violated of a model whose files changed since dbt compiled it, or those of one it reads."""
    if changed is None:
        return report
    message = f"{changed} since dbt compiled it"
    doubted = [
        evolve(f, verdict=Verdict.UNPROVED, message=f"{OUTDATED}{f.message}")
        for f in report.findings
        if f.verdict is Verdict.VIOLATED
    ]
    rest = [f for f in report.findings if f.verdict not in (Verdict.PROVED, Verdict.VIOLATED)]
    return evolve(report, findings=(Finding(Verdict.UNPROVED, "PP112", "logical", message=message), *doubted, *rest))


@dataclass
class OfflineCheck:
    """The state of one check: the catalog grows by every node that was visited. `is_brief`: its reports lack plans and
    lineage."""

    project: Project
    conf: Conf
    frozen: schemas.Frozen
    overrides: Mapping[str, Any] = field(default_factory=dict)
    is_brief: bool = False
    catalog: NotedCatalog = field(init=False)
    unread: dict[str, str] = field(default_factory=dict)
    origins: dict[str, str] = field(default_factory=dict)
    incomplete: dict[str, Incomplete] = field(default_factory=dict)
    inputs: dict[str, Mapping[str, str]] = field(default_factory=dict)
    reports: dict[str, Report | None] = field(default_factory=dict)
    stale: dict[str, str] = field(default_factory=dict)
    opened: dict[str, str] = field(default_factory=dict)
    files: Files = field(init=False)
    stored: Mapping[tuple[str, ...], ProjectNode] = field(init=False)
    names: tuple[str, ...] = field(init=False)
    _is_alone: bool = field(init=False, default=False)
    _changed: str | None = field(init=False, default=None)
    _judging: str = field(init=False, default="")

    def __post_init__(self) -> None:
        # The sources were frozen with the Spark that is to run the models.
        spark = self.overrides.get("spark") or (self.frozen.spark if self.conf.spark == SPARKS[-1] else None)
        if self.project.adapter == "databricks":
            spark = spark or f"databricks-{max(RUNTIMES)}"
            # What dbt-spark sets in every session, dbt-databricks leaves to the runtime.
            self.conf = evolve(Conf() if self.conf == DBT_CONF else self.conf, databricks=True)
        self.conf = self.conf.on(str(spark)) if spark else self.conf
        self.files = Files(self.project)
        self.stored = stored_nodes(self.project)
        frozen = (join_name(parts) for parts in self.frozen.relations if parts not in self.stored)
        self.names = (*dict.fromkeys(node.relation for node in self.stored.values()), *frozen)
        # The catalog asks the check that holds it: weakly, so that a service is rid of both when a check ends.
        here: OfflineCheck = proxy(self)
        self.catalog = NotedCatalog(lambda parts: here._find_asked(parts), lambda: here._other_names())

    def visit(self, node: ProjectNode) -> Report | None:
        """Registers the node's stored schema for those that read it; for a model, its report. A node is visited once:
        in its turn, or earlier where a text names it that does not depend on it."""
        key = node.unique_id
        if key not in self.reports:
            self.reports[key] = None
            try:
                self.reports[key] = self._visit_node(node)
            except BaseException:
                del self.reports[key]  # Who asked could not go on: it is judged in its turn.
                raise
        return self.reports[key]

    def judge_alone(self, node: ProjectNode, left: Mapping[str, State], changed: str | None = None) -> Visit:
        """Judges one node by what others `left`, by unique id, and forgets what it saw before.

        `left` holds at least `project.judged_parents`; `changed` says what of a model did since dbt compiled it. Raises
        `Wanted` for a node that the text reads besides, and `Unportable`.
        """
        self.forget()
        self.take(left)
        key = node.unique_id
        self._is_alone, self._changed, self.reports[key] = True, changed, None
        try:
            report = self._visit_node(node)
        except Wanted as wanted:
            # All at once: a text of a thousand such names would be judged a thousand times.
            raise Wanted(*dict.fromkeys([*wanted.unique_ids, *self._list_unvisited(node)])) from None
        finally:
            self._is_alone = False
        asked = tuple(self.catalog.asked)
        return Visit(report, self.state_of(node), asked, self.names if self.catalog.was_listed else ())

    def forget(self) -> None:
        """Forgets what was seen of every node."""
        for noted in (self.unread, self.origins, self.incomplete, self.stale, self.inputs, self.reports):
            noted.clear()
        self.catalog.forget()

    def take(self, left: Mapping[str, State]) -> None:
        """Has what other nodes left as if they had been visited here."""
        for key, state in left.items():
            self.reports[key] = None
            for said, noted in ((state.unread, self.unread), (state.origin, self.origins)):
                if said is not None:
                    noted[key] = said
            if state.stale is not None:
                self.stale[key] = state.stale
            if state.unknown is not None:
                self.incomplete[key] = state.unknown
            known = state.known
            if known is not None:
                self._add(*known)

    def state_of(self, node: ProjectNode) -> State:
        """What a node that was visited leaves for those that read it. Raises `Unportable`."""
        key = node.unique_id
        found = (
            convert_to_json(self.catalog.find_registered(node.relation)) if node.materialized != "ephemeral" else None
        )
        incomplete = self.incomplete.get(key)
        return State(
            found,
            self.unread.get(key),
            self.origins.get(key),
            None if incomplete is None else json.dumps(incomplete),
            self.stale.get(key),
        )

    def _list_unvisited(self, node: ProjectNode) -> Iterator[str]:
        """The nodes that a text reads and nobody visited."""
        from planproof_engine.texts import list_read_names

        with suppress(OverBudget), bounded():
            for parts in sorted(list_read_names(node.sql or "", self.conf)):
                found = self.resolve(parts)
                if isinstance(found, ProjectNode) and found.unique_id not in self.reports:
                    yield found.unique_id

    def resolve(self, parts: tuple[str, ...]) -> ProjectNode | schemas.Known | None:
        """The node or the frozen relation that a text means which names `parts`."""
        wanted = parts_of(parts)
        # A name alone is one of the database in which dbt's session begins.
        node = self.stored.get(wanted) or (self.stored.get(("default", *wanted)) if len(wanted) == 1 else None)
        return node or (self.frozen.relations.get(wanted) if len(wanted) > 1 else None)

    def _other_names(self) -> tuple[str, ...]:
        return tuple(name for name in self.names if name != self._judging)

    def _find_asked(self, parts: tuple[str, ...]) -> Relation | None:
        """A relation that a text names and no visited node made: another node's, or one of the freeze file."""
        found = self.resolve(parts)
        if isinstance(found, ProjectNode):
            own = split_name(found.relation)
            if found.unique_id in self.reports and parts_of(own) == parts_of(parts):
                return None
            if self._is_alone and found.unique_id not in self.reports:
                raise Wanted(found.unique_id)
            self.visit(found)
            relation = self.catalog.find(own)
            return None if relation is None else evolve(relation, name=join_name(parts))
        return None if found is None else self._make_relation(join_name(parts), found)

    def _visit_node(self, node: ProjectNode) -> Report | None:
        if node.kind == "model":
            return self._check_model(node)
        known: schemas.Known | schemas.Unread
        try:
            known = schemas.schema_of_source(
                self.project, node, self.frozen, self.conf.timestamp_type == "TIMESTAMP_NTZ"
            )
        except ProjectError as error:  # It is the matter of those that read it.
            known = schemas.Unread(str(error))
        except Exception as error:
            known = schemas.Unread(f"the {node.kind} {node.relation}: {describe(error)}")
        if isinstance(known, schemas.Unread):
            self.unread[node.unique_id] = known.reason
        else:
            self._register(node, known)
        return None

    def plan(self, node: ProjectNode) -> LogicalPlan:
        """The model's logical plan over what is known. Raises `Unknown` and `AnalysisError`."""
        from planproof_engine import plan

        if node.is_python:
            raise Unknown("the schema of a Python model, which only its run shows")
        if node.sql is None:
            raise Unknown("a model that is not compiled; run `dbt compile`")
        if _COMPILE_ONLY.search(node.sql or ""):
            raise Unknown(f"{PRINTED[1]}: `dbt compile` alone gets a `*`, where no table stands yet")
        with self.catalog.note_lookups() as read:
            try:
                return plan(node.sql or "", self.catalog, conf=self._read_conf(node))
            except AnalysisError as error:
                # A parent that only a macro names, and the text does not read, need not be known.
                for parent in self._read_by(node, read):
                    if parent.unique_id in self.unread and _is_missing_parent(error, parent):
                        reason = self.unread[parent.unique_id]
                        raise Unknown(f"the schema of {parent.relation}: {reason}", error.origin) from None
                raise
            finally:
                self._inherit(node, read)

    def plan_again(self, node: ProjectNode) -> LogicalPlan:
        """The plan of a model that was visited; what is said of it holds on. Raises `Unknown` and `AnalysisError`."""
        found = self.plan(node)
        self._conclude(node, found)
        return found

    def _read_by(self, node: ProjectNode, read: Iterable[tuple[str, ...]]) -> list[ProjectNode]:
        """The parents that the manifest lists, and the nodes whose names were looked up."""
        named = [self.stored[parts] for parts in read if parts in self.stored]
        parents = {parent.unique_id: parent for parent in (*self.project.judged_parents(node), *named)}
        return [parent for key, parent in parents.items() if key != node.unique_id]

    def _inherit(self, node: ProjectNode, read: Mapping[tuple[str, ...], Relation | None]) -> None:
        """What is said of the relations that a text reads holds for the model, too."""
        parents = self._read_by(node, read)
        sources = [self.incomplete[p.unique_id].source for p in parents if p.unique_id in self.incomplete]
        if sources:
            self.incomplete[node.unique_id] = Incomplete(join_alternatives(sources))
        for parent in parents:
            if parent.unique_id in self.stale and node.unique_id not in self.stale:
                said = self.stale[parent.unique_id]
                self.stale[node.unique_id] = (
                    said if said.startswith("it reads ") else f"it reads {parent.relation}: {said}"
                )
        known = {p.relation: self.origins.get(p.unique_id) or self.unread.get(p.unique_id, "") for p in parents}
        frozen = {
            relation.name: self.frozen.file or ""
            for parts, relation in read.items()
            if relation is not None and parts not in self.stored
        }
        self.inputs[node.unique_id] = {**known, **frozen}

    # --- one model --------------------------------------------------------------------------------------------------

    def _check_model(self, node: ProjectNode) -> Report:
        """One model's failure is ours and must not hide the others' reports. Raises `ProjectError`."""
        try:
            with bounded():
                return self._judge_model(node)
        except UnreadableContract as error:
            self.unread[node.unique_id] = "its contract cannot be read"
            return report_unreadable(self._make_draft(node, Subject.of_name(node)), error)
        except ProjectError:
            raise
        except OverBudget as over:
            self.unread[node.unique_id] = "planning it costs more than planproof spends on one model"
            return report_too_large(self._make_draft(node, Subject.of_name(node)), over)
        except Exception as error:
            self.unread[node.unique_id] = own_errors.ON_MODEL
            return report_failed(self._make_draft(node, Subject.of_name(node)), error)

    def _judge_model(self, node: ProjectNode) -> Report:
        if node.unique_id in self.project.overreaching:
            raise OverReach
        changed = self._changed if self._is_alone else self.files.find_change(node)
        if changed is not None:
            self.stale[node.unique_id] = changed
        self._judging = node.relation
        draft = self._make_draft(node, Subject.of(node, self.conf))
        self._inherit(node, {})
        self._read(node, draft)
        draft.set_details(inputs=self.inputs[node.unique_id])
        report = draft.report("checked")
        if node.materialized == "ephemeral":
            report = excuse_ephemeral(report)
        return _doubt_older_text(
            relocate(report, node.raw, self.project.directory, self.opened), self.stale.get(node.unique_id)
        )

    def _make_draft(self, node: ProjectNode, subject: Subject) -> Draft:
        settings = settings_of(node.raw, overrides=self.overrides)
        draft = Draft(subject, settings, beyond=OFFLINE, is_brief=self.is_brief)
        draft.set_details(
            unique_id=node.unique_id,
            name=node.name,
            file=node.file,
            materialized=node.materialized,
            fail_on=settings.fail_on,
            contract=subject.contract is not None,
        )
        return draft

    def _read(self, node: ProjectNode, draft: Draft) -> None:
        contract = draft.model.contract
        if not node.is_python and node.materialized == "incremental":
            # A compile against an existing table reads the table itself (`{{ this }}`).
            stored = self.frozen.find(node.relation)
            if stored is not None:
                self._register(node, stored)
            elif contract is not None:
                self._register(node, stored_contract(node, contract, "its own contract"))
            else:
                first = find_first_plan(self.project, node, lambda text: self._plan_text(node, text))
                if first is not None:
                    self._register(node, stored_output(node, first.schema, None))
        doubts = Doubts(lambda error: self._find_doubt(node, error), lambda plan: self._open(node, plan))
        judged = examine(draft, lambda: self.plan(node), doubts=doubts)
        self._conclude(node, judged.plan)
        if judged.plan is None:
            self._register_contract(node, contract)
        elif node.materialized != "ephemeral":
            self._register(node, stored_output(node, judged.plan.schema, contract))
            if node.materialized == "incremental":
                draft.add(
                    judge_increments(self.project, node, draft.settings.append_only, lambda t: self._plan_text(node, t))
                )

    def _plan_text(self, node: ProjectNode, text: str) -> LogicalPlan:
        """The plan of another text of the model, over what is known. Raises `Unknown` and `AnalysisError`."""
        from planproof_engine import plan

        with self.catalog.note_lookups():
            return plan(text, self.catalog, conf=self._read_conf(node))

    def _find_doubt(self, node: ProjectNode, error: AnalysisError) -> str | None:
        """Why Spark may accept the query although it is rejected here."""
        if error.condition.split(".")[0] in _MISSING:
            if node.materialized == "incremental" and node.name.lower() in error.message.lower():
                return f"{OF_ITSELF}; give it a contract, or compile with --full-refresh"
            return "a hook, a macro or another job may provide it"
        if node.hooks() or (node.raw.get("config") or {}).get("sql_header"):
            return "its hooks may change what the query means"
        reader = find_reading_call(self.project, node)
        if reader is not None:
            return f"its template calls {reader}, {PRINTED[0]}"
        incomplete = self.incomplete.get(node.unique_id)
        if incomplete is None:
            return None
        if error.condition.split(".")[0] in _OF_COLUMNS:
            return incomplete.said
        source = self._make_supposition(node).find_mending_source(error)
        return None if source is None else Incomplete(source).said

    def describe_refusal(self, node: ProjectNode, error: AnalysisError) -> str:
        """In words, that the query is rejected here: by Spark, too, unless there is a doubt."""
        doubt = self._find_doubt(node, error)
        if doubt is None:
            return f"Spark would reject it: {error}"
        return f"its schema is not known offline: {error.message.rstrip('.')}; {doubt}"

    def _conclude(self, node: ProjectNode, plan: LogicalPlan | None) -> None:
        """What is not known of the model's own columns, for those that read it."""
        key, why = node.unique_id, find_growth(node) or self._describe_printed(node)
        found = self._open(node, plan) if plan is not None else self.incomplete.get(key)
        if why is not None:
            self.incomplete[key] = Incomplete(why, columns=() if found is None else found.columns)
        elif found is not None:
            self.incomplete[key] = found
        elif node.materialized != "incremental":
            # Who reads the model can name its columns alone, whatever more the source has. An incremental table may
            # hold those of an older text, too.
            self.incomplete.pop(key, None)

    def _open(self, node: ProjectNode, plan: LogicalPlan) -> Incomplete | None:
        """What may be other in the plan's columns, as a source may have more columns than are known."""
        printed = self._describe_printed(node)
        if printed is not None:
            return Incomplete(printed)
        if node.unique_id not in self.incomplete:
            return None
        return self._make_supposition(node).find_change(plan.schema)

    def _describe_printed(self, node: ProjectNode) -> str | None:
        """The relation as one that a later compile may give other columns."""
        reader = find_reading_call(self.project, node)
        return None if reader is None else f"{node.relation}, for which {reader} printed what dbt found,"

    def _make_supposition(self, node: ProjectNode) -> Supposition:
        def find(parts: tuple[str, ...]) -> Relation | None:
            with self.catalog.note_lookups():  # What is looked up here was read before.
                return self.catalog.find(parts)

        return Supposition(node.sql or "", self._read_conf(node), find, self._find_incomplete)

    def _find_incomplete(self, found: Relation) -> Incomplete | None:
        name = parts_of(found.parts)
        owner = self.stored.get(name)
        if owner is not None:
            return self.incomplete.get(owner.unique_id)
        # Of a relation that is no single node's (a seed that a source names, too) nobody says that it is complete.
        return None if name in self.frozen.relations else Incomplete(f"the source {found.name}")

    def _read_conf(self, node: ProjectNode) -> Conf:
        """The settings under which the model runs: hooks and headers may SET some. Raises `Unknown`."""
        header = str((node.raw.get("config") or {}).get("sql_header") or "")
        own = settings_of(node.raw, overrides=self.overrides).spark
        conf = self.conf.on(own) if own else self.conf
        for text in (*self.project.operations, *node.hooks(), *header.split(";")):
            match = _SET.match(text)
            if match is None or not holds(match[1]):
                continue
            if "{{" in match[2] or "{%" in match[2]:
                raise Unknown(f"the value of {match[1]}, which a hook sets from a template")
            value = match[2].strip().removesuffix(";").strip()
            conf = conf.with_setting(match[1], value.strip("'\""))
        return conf

    # --- what children see ------------------------------------------------------------------------------------------

    def _register(self, node: ProjectNode, known: schemas.Known) -> None:
        if not known.complete:
            self.incomplete[node.unique_id] = Incomplete(f"the {node.kind} {node.relation}")
        self.unread.pop(node.unique_id, None)
        self.origins[node.unique_id] = known.origin
        self._add(node.relation, known)

    def _add(self, name: str, known: schemas.Known) -> None:
        self.catalog.put(self._make_relation(name, known))

    def _make_relation(self, name: str, known: schemas.Known) -> Relation:
        # A query sees char and varchar as strings, unless the session keeps them.
        kept = self.conf.preserve_char_varchar
        columns = [(name, t if kept else drop_lengths(t), nullable) for name, t, nullable in known.columns]
        return relation(name, columns, kind=known.kind, evidence=known.evidence)

    def _register_contract(self, node: ProjectNode, contract: Contract | None) -> None:
        """The contract's schema in place of one that could not be read; the children's reports name it."""
        if node.materialized == "ephemeral":
            return
        if contract is not None:
            return self._register(node, stored_contract(node, contract, "its contract stands for it: not read offline"))
        is_text = node.is_python or node.sql is not None
        why = "not read offline" if is_text else NOT_COMPILED
        self.unread[node.unique_id] = f"{why}, and without a contract"
        self.catalog.drop(node.relation)
