"""Judges planes 1 to 6 of a model. Nothing is written, and nothing is run.

The same functions judge with a Spark at hand and without. Without one the planes end at the rewritten one, the logical
plane stands for the analyzed one, and what only Spark could decide is unproved.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from planproof.invariants import contract as contract_terms
from planproof.invariants import physical, planning, sink
from planproof.judge.allowed import downgrade_unpromised
from planproof.judge.doubts import Doubts, doubt_term
from planproof.judge.draft import Draft, Judged
from planproof.judge.reproducer import rewrite
from planproof.session import Session, SparkPlanes
from planproof_engine import Catalog, Conf, Finding, OverBudget, Verdict, bounded, deeply, is_bounded, split_name
from planproof_engine.claim import Claim, Facts, join_path, nested_fields
from planproof_engine.hazards import NARROWED, UNDECIDED, concerns, judge_certain
from planproof_engine.origin import AnalysisError, Origin, Unknown, place
from planproof_engine.schema import PhysicalSchema, fold_name

if TYPE_CHECKING:
    from planproof_engine import LogicalPlan
    from planproof_engine.python_functions import CannotLower, Lowered

_UNKNOWN_FUNCTIONS = ("UNRESOLVED_ROUTINE", "ROUTINE_NOT_FOUND", "UNRESOLVABLE_TABLE_VALUED_FUNCTION")
_LATER = ("analyzed", "optimized", "executed")
_SINKS = ("table", "incremental", "view")
ARRAYS_UNSEEN = "no function's arrays were checked in this run; planproof's own tests check its functions against Spark"
_SHORT = 40
"""The longest select item, in characters, that a message quotes."""
Locate = Callable[[str], Origin | None]


class Lowering(Protocol):
    """What makes Python functions in lambdas runnable (`publish.functions`)."""

    def has_functions_in_lambdas(self, logical: LogicalPlan) -> bool: ...
    def lower(self, logical: LogicalPlan, catalog: Catalog) -> tuple[LogicalPlan, Lowered] | None: ...


class Spark(NamedTuple):
    """A way to Spark's planes. `catalog` and `functions` are the ones with which our own plan is made.

    `conf` are the session's settings. Without `ahead` the query is analyzed and not planned: `examine_plans` looks at
    the plan that wrote it. `analyzed` is the model's query, where it was analyzed already.
    """

    session: Session
    conf: Conf
    catalog: Catalog
    functions: Lowering
    ahead: bool = True
    analyzed: SparkPlanes | None = None


class Examined(NamedTuple):
    """What the later steps need: Spark's planes, the evidence for columns, where columns are written in the text, and
    what to run.

    `derived` is the evidence that the logical plan adds, `doubts` says from where it expects nulls, and `runs` are the
    planes of the text to run, which may be a rewritten one. `checks` are the counts that decide hazards. `plan` is our
    own one, where Spark's has the same schema and no Python feeds it.
    """

    planes: SparkPlanes
    evidence: Mapping[str, str]
    derived: Mapping[str, str]
    locate: Locate
    sql: str
    runs: SparkPlanes
    checks: tuple[Any, ...] = ()
    doubts: Mapping[str, str] = {}
    plan: LogicalPlan | None = None

    @property
    def promised(self) -> PhysicalSchema:
        """The schema that the contract is judged on: Spark's analyzed one, with char and varchar lengths."""
        return self.planes.declared or self.planes.analyzed


class Judgement(NamedTuple):
    """Our own plan of the query, and Spark's planes. Each is None where there is none: Spark was not asked, or the
    query was rejected."""

    plan: LogicalPlan | None
    examined: Examined | None = None


def examine(
    draft: Draft,
    plan: Callable[[], LogicalPlan],
    at: Spark | None = None,
    doubts: Doubts = Doubts(),  # noqa: B008  (immutable)
) -> Judgement:
    """Reads the planes that can be read and compares them.

    `plan` makes our own plan of the query; it may raise `Unknown` and `AnalysisError`. Any other failure of it is a
    warning where Spark's planes are read. It is raised where nothing else could judge the query, and under `planning:
    strict`.
    """
    _read_contract(draft)
    draft.mark_not_enforced("I3", ARRAYS_UNSEEN)
    made, refusal = _read_logical(draft, plan, doubts, alone=at is None)
    if at is None:
        _judge_without_spark(draft, made, doubts)
        return Judgement(made)
    return Judgement(made, _judge_with_spark(draft, made, refusal, at))


def examine_plans(draft: Draft, session: Session, examined: Examined, planes: SparkPlanes) -> Examined:
    """The same, with the planes after the analyzed one taken from `planes`: those of the text that ran."""
    later = replace(examined.planes, optimized=planes.optimized, executed=planes.executed, unplanned=planes.unplanned)
    _compare_physical(draft, later, session.capabilities.reason)
    return examined._replace(planes=later, evidence={**examined.derived, **find_evidence(later)})


def judge(draft: Draft, examined: Examined, facts: Facts | None, plane: str) -> None:
    """Judges the contract; an earlier judgement of it is replaced."""
    contract = draft.model.contract
    if contract is None:
        return
    findings = contract_terms.check(
        contract, examined.promised, examined.evidence, facts, draft.settings, plane, examined.locate, examined.doubts
    )
    draft.replace(contract_terms.TERMS, findings)


def judge_loosened(draft: Draft, planes: SparkPlanes, facts: Facts | None) -> None:
    """Flags that Spark's optimizer loosened are decided by what was counted."""
    draft.replace("PP204", [f for f in physical.check(planes, facts) if f.code == "PP204"])


# --- plane 1 --------------------------------------------------------------------------------------------------------


def _read_contract(draft: Draft) -> None:
    contract = draft.model.contract
    if contract is None:
        draft.mark_absent("contract", "the model has no contract")
        return
    draft.read(Claim("contract", contract.schema))
    if contract.constraints:
        draft.set_details(uncounted=tuple(map(str, contract.constraints)))
    draft.add(_uncounted_finding(custom) for custom in contract.unknown)


def _uncounted_finding(custom: str) -> Finding:
    message = f"the constraint {custom!r} is of a kind that only the database knows; it is not checked"
    return Finding(Verdict.WARNING, "PP508", "contract", promised=custom, message=message)


# --- plane 2 --------------------------------------------------------------------------------------------------------


def _read_logical(
    draft: Draft, plan: Callable[[], LogicalPlan], doubts: Doubts, *, alone: bool
) -> tuple[LogicalPlan | None, AnalysisError | None]:
    """Our own plan of the query. Else None and, where that is the reason, the refusal that Spark would give."""
    try:
        with bounded():
            made = plan()
            _add_plan(draft, made)
        return made, None
    except OverBudget as over:
        if is_bounded():
            raise
        reason, refusal = draft.add_too_large(over, Verdict.WARNING), None
    except (Unknown, RecursionError) as error:
        construct, origin = _unknown_part(error)
        reason, refusal = f"planproof does not know {construct}", None
        verdict = Verdict.UNPROVED if alone else Verdict.WARNING
        draft.add([Finding(verdict, "PP111", "logical", message=reason, origin=_place_origin(draft, origin))])
    except AnalysisError as error:
        # A copy: the error that was raised keeps this frame alive, which would keep the error.
        reason, refusal = f"[{error.condition}] {error.message}", error.at(error.origin)
        if alone:
            draft.add([_foreseen_finding(error, doubts.rejected(error))])
    except Exception as error:
        if alone:
            raise
        reason, refusal = draft.add_own_error("logical", error), None
    draft.mark_unreadable("logical", reason)
    draft.mark_absent("rewritten", "no logical plan")
    for invariant in ("I1", "I4", "I6"):
        draft.mark_not_enforced(invariant, f"no logical plan: {reason}")
    return None, refusal


def _unknown_part(error: Unknown | RecursionError) -> tuple[str, Origin | None]:
    return (error.construct, error.origin) if isinstance(error, Unknown) else ("a query nested this deep", None)


def _add_plan(draft: Draft, plan: LogicalPlan) -> None:
    model = draft.model
    draft.read(Claim("logical", plan.physical_schema))
    if not draft.is_brief:
        from planproof_engine.plans import plan_details

        draft.set_details(**plan_details(plan))
    if any(check.finding.code in (NARROWED, *UNDECIDED) for check in plan.checks):
        draft.set_details(lenient=True)
    overflow = draft.settings.overflow
    suspected = [f for f in plan.findings if f.code != NARROWED or overflow != "off"]
    if overflow == "warn":
        suspected += [check.finding for check in plan.checks if check.finding.code in UNDECIDED]
    elif overflow != "off":
        has_contract = model.contract is not None
        suspected = deeply(lambda: _add_constant_hazards(plan, suspected, draft.settings.allow, has_contract))
    found = (f for f in suspected if concerns(f, model.materialized, model.contract is not None))
    strict = draft.settings.planning == "strict"
    draft.add(replace(_make_strict(f) if strict else f, origin=_place_origin(draft, f.origin)) for f in found)
    draft.mark_enforced("I1", plan.looked_at)


def _add_constant_hazards(
    plan: LogicalPlan, suspected: list[Finding], allowed: Collection[str], has_contract: bool
) -> list[Finding]:
    """Adds the hazards. Arithmetic of constants that comes true is violated at once, where a contract stands: no row
    could decide otherwise."""
    found = {id(f): f for f in suspected}
    for check in plan.checks:
        if check.fits is not None and check.fits.is_beyond and check.finding.code not in allowed:
            surely = judge_certain(check.finding, check.fits) or check.finding
            found[id(check.finding)] = surely if has_contract else downgrade_unpromised(surely)
    return list(found.values())


def _make_strict(finding: Finding) -> Finding:
    """`planning: strict` demands I1 as the specification does, of every node."""
    return replace(finding, verdict=Verdict.VIOLATED) if finding.code == "PP101" else finding


def _foreseen_finding(error: AnalysisError, doubt: str | None) -> Finding:
    """Without Spark: violated, for Spark would reject the query too; unproved where Spark may know more than is known
    here."""
    said = f"[{error.condition}] {error.message}"
    if doubt is None:
        return Finding(Verdict.VIOLATED, "PP110", "logical", found=error.condition, message=said, origin=error.origin)
    said = f"{said.rstrip('.')}; {doubt}"
    return Finding(Verdict.UNPROVED, "PP111", "logical", found=error.condition, message=said, origin=error.origin)


def _overruled_finding(error: AnalysisError) -> Finding:
    """Spark accepts what the logical plane rejects: a disagreement, unless a function is known to the session alone."""
    if error.condition.startswith(_UNKNOWN_FUNCTIONS):
        message = f"a function that is known to this Spark session only: {error.message}"
        return Finding(Verdict.WARNING, "PP111", "logical", message=message)
    message = f"the logical plane rejects a query that Spark accepts: {error.message}; Spark's answer is used"
    return Finding(Verdict.WARNING, "PP201", "logical", found=error.condition, message=message)


# --- without Spark --------------------------------------------------------------------------------------------------


def _judge_without_spark(draft: Draft, plan: LogicalPlan | None, doubted: Doubts) -> None:
    """Judges planes 1 to 3. The logical plane stands for the one that would be stored."""
    if plan is None:
        return
    rewrite(draft, plan, None)
    schema, locate = plan.physical_schema, _locator(draft.model, plan)
    _check_sink(draft, schema, "logical", locate, plan.conf, _item_texts(plan))
    if draft.model.contract is None:
        return
    evidence, doubts = _evidence(plan), _doubts(plan)
    found = list(
        contract_terms.check(draft.model.contract, schema, evidence, None, draft.settings, "logical", locate, doubts)
    )
    incomplete = doubted.incomplete(plan)
    draft.add(found if incomplete is None else [doubt_term(f, incomplete) for f in found])


# --- with Spark -----------------------------------------------------------------------------------------------------


class Text(NamedTuple):
    """The text that Spark is to run, with our plan of it: the model's text, or the one with Python functions
    lowered."""

    sql: str
    plan: LogicalPlan | None


def _judge_with_spark(
    draft: Draft, plan: LogicalPlan | None, refusal: AnalysisError | None, at: Spark
) -> Examined | None:
    from planproof_engine.python_functions import CannotLower

    model = draft.model
    try:
        text = _lower_functions(draft, plan, at)
    except CannotLower as reason:
        draft.add([_refuse_lambdas(draft, reason)])
        return None
    planes = _analyze(draft, at, text.sql)
    if planes is None:
        return None
    if refusal is not None:
        draft.add([replace(_overruled_finding(refusal), origin=_place_origin(draft, refusal.origin))])
    agreed = plan is not None and text.plan is not None and _compare_analyzed(draft, plan, planes)
    if agreed and text.plan is not None:
        sql, runs = _rewrite(draft, text.plan, at.session, planes)
    else:
        sql, runs = _keep_text(draft, plan, text), planes
    trusted = plan if agreed and not planes.python_fed else None
    derived = _evidence(trusted) if trusted is not None else {}
    doubts = _doubts(plan) if plan is not None and agreed else {}
    evidence, checks = {**derived, **find_evidence(planes)}, plan.checks if plan is not None else ()
    examined = Examined(planes, evidence, derived, _locator(model, plan), sql, runs, checks, doubts, trusted)
    if at.ahead:
        examined = examine_plans(draft, at.session, examined, at.session.add_plans(planes))
    _check_sink(draft, planes.analyzed, "analyzed", examined.locate, at.conf, _item_texts(plan))
    judge(draft, examined, None, "analyzed")
    return examined


def _lower_functions(draft: Draft, plan: LogicalPlan | None, at: Spark) -> Text:
    """The model's text with Python functions in lambdas lowered, for Spark refuses them. Raises `CannotLower`."""
    from planproof_engine.python_functions import CannotLower

    if plan is not None and draft.model.materialized == "view" and at.functions.has_functions_in_lambdas(plan):
        raise CannotLower("PP222", "the model is a view, and its lambdas call a Python function", None)
    found = at.functions.lower(plan, at.catalog) if plan is not None else None
    if found is None:
        return Text(draft.model.sql, plan)
    again, draft.lowered = found
    return Text(draft.lowered.sql, again)


def _refuse_lambdas(draft: Draft, reason: CannotLower) -> Finding:
    for plane in _LATER:
        draft.mark_unreadable(plane, "Spark refuses Python functions in lambdas")
    origin = _place_origin(draft, place(draft.model.sql, *reason.span)) if reason.span else None
    return Finding(Verdict.VIOLATED, reason.code, "logical", message=reason.message, origin=origin)


def _analyze(draft: Draft, at: Spark, sql: str) -> SparkPlanes | None:
    try:
        planes = at.analyzed if sql == draft.model.sql and at.analyzed is not None else at.session.analyze(sql)
    except AnalysisError as error:
        for plane in _LATER:
            draft.mark_unreadable(plane, "Spark rejects the query")
        draft.add(
            [
                Finding(
                    Verdict.VIOLATED,
                    "PP110",
                    "analyzed",
                    found=error.condition,
                    message=f"Spark rejects the query: [{error.condition}] {error.message}",
                    # A place in the lowered text would point at the wrong column of the model's text.
                    origin=_place_origin(draft, error.origin) if sql == draft.model.sql else None,
                )
            ]
        )
        return None
    draft.read(Claim("analyzed", planes.analyzed))
    return planes


def _compare_analyzed(draft: Draft, plan: LogicalPlan, planes: SparkPlanes) -> bool:
    """I4: the logical plan, stripped, is Spark's analyzed schema."""
    strict = draft.settings.planning == "strict"
    findings = planning.check(plan.physical_schema, planes.analyzed, strict)
    if findings:
        from planproof.judge.reproducer import maker, reproducer

        draft.set_details(reproducer=reproducer(plan, planes.analyzed))
        draft.add(_add_maker(f, maker(plan, split_name(f.field)[0] if f.field else None)) for f in findings)
    draft.mark_enforced("I4", "logical plan against Spark's analyzed plan, nested flags included")
    return not findings


def _add_maker(finding: Finding, maker: str | None) -> Finding:
    named = f" ({maker} makes it)" if maker else ""
    return replace(finding, message=f"{finding.message}{named}; the report's details hold a reproducer")


def _rewrite(draft: Draft, plan: LogicalPlan, session: Session, planes: SparkPlanes) -> tuple[str, SparkPlanes]:
    """The text to run and its planes. It is the rewritten one where rules fired and Spark gives its result the same
    schema."""
    runs = [planes]

    def refusal(sql: str) -> str | None:
        try:
            runs.append(session.analyze(sql))
        except AnalysisError as error:
            return f"Spark rejects the rewritten text: {error}"
        if runs[-1].analyzed != planes.analyzed:
            return f"Spark analyzes the rewritten text to {runs[-1].analyzed}, the compiled one to {planes.analyzed}"
        return None

    sql = rewrite(draft, plan, refusal)
    return sql, planes if sql == plan.text else runs[-1]


def _keep_text(draft: Draft, plan: LogicalPlan | None, text: Text) -> str:
    why = "no logical plan" if plan is None else "the logical plan disagrees with Spark's"
    draft.mark_absent("rewritten", f"{why}; the compiled text runs as written")
    draft.mark_not_enforced("I6", "nothing was rewritten")
    if plan is None:
        draft.mark_not_enforced("I4", "no logical plan to compare with")
    return text.sql


def _compare_physical(draft: Draft, planes: SparkPlanes, unreadable: str) -> None:
    """I7: Spark's optimized and executed planes against its analyzed one."""
    for plane, schema in (("optimized", planes.optimized), ("executed", planes.executed)):
        if schema is None:
            draft.mark_unreadable(plane, planes.unplanned or unreadable or "this kind of session does not show it")
        else:
            draft.read(Claim(plane, schema))
    draft.replace(physical.CODES, physical.check(planes, None))
    seen = [name for name, schema in (("optimized", planes.optimized), ("executed", planes.executed)) if schema]
    if not seen:
        draft.mark_not_enforced("I7", planes.unplanned or "this kind of session shows no later plan")
    else:
        draft.mark_enforced("I7", f"the {' and the '.join(seen)} plan against the analyzed one")


# --- what both share ------------------------------------------------------------------------------------------------


def _item_texts(plan: LogicalPlan | None) -> list[str | None]:
    """The text of each output column's select item; None where it is not known, or too long for a message."""
    texts = [o and plan.text[o.start : o.stop] for o in plan.origins] if plan is not None else []
    return [text if text and len(text) <= _SHORT and "\n" not in text else None for text in texts]


def _check_sink(
    draft: Draft, schema: PhysicalSchema, plane: str, locate: Locate, conf: Conf, items: Sequence[str | None]
) -> None:
    """D1: physical names need not be unique, but a Parquet file and a view cannot hold two of one name."""
    model = draft.model
    if model.materialized not in _SINKS:
        draft.mark_not_enforced("D1", f"a model materialized as {model.materialized} stores nothing")
        return
    format = "view" if model.materialized == "view" else model.file_format
    findings = sink.check(schema, format, conf.case_sensitive, items, model.materialized == "incremental")
    # A publish knows whether it is a first run: it needs no warning.
    told = [f for f in findings if plane == "logical" or f.verdict is not Verdict.WARNING]
    draft.add(_place_finding(replace(f, plane=plane), locate) for f in told)
    draft.mark_enforced("D1", f"names and types of the {plane} plane; a {format} that cannot hold them is refused")


def find_evidence(planes: SparkPlanes) -> dict[str, str]:
    """Why places of the result hold no null, by dotted path: Spark's own flags, nested ones too.

    A flag that a Python function or Python data may have claimed is no evidence, nor one that the optimizer loosened.
    """
    if planes.python_fed:
        return {}
    if planes.optimized is None:
        return _flag_evidence(planes.analyzed, "NOT NULL in Spark's analyzed plan")
    return _flag_evidence(planes.optimized, "NOT NULL in Spark's optimized plan")


def _flag_evidence(schema: PhysicalSchema, why: str) -> dict[str, str]:
    return {join_path(field.path): why for field in nested_fields(schema) if field.promises}


def _evidence(plan: LogicalPlan) -> dict[str, str]:
    return {join_path((f.name,)): f.evidence for f in plan.schema if f.evidence}


def _doubts(plan: LogicalPlan) -> dict[str, str]:
    return {f.name: f.doubt for f in plan.schema if f.doubt}


def _locator(model: Judged, plan: LogicalPlan | None) -> Locate:
    """Where an output column is written in the model's file."""
    if plan is None:
        return lambda column: None
    origins: dict[str, Origin] = {}
    for field, origin in zip(plan.schema, plan.origins):
        if origin is not None:
            origins.setdefault(fold_name(field.name), origin.within(model.file) if model.file else origin)
    return lambda column: origins.get(fold_name(split_name(column)[0])) or origins.get(fold_name(column))


def _place_origin(draft: Draft, origin: Origin | None) -> Origin | None:
    return origin.within(draft.model.file) if origin and draft.model.file else origin


def _place_finding(finding: Finding, locate: Locate) -> Finding:
    return finding if finding.origin or not finding.field else replace(finding, origin=locate(finding.field))
