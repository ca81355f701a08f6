"""Planes 1 to 6 of a model: nothing is written, nothing is run."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, NamedTuple

from planproof.catalog import Catalog
from planproof.claims import spark
from planproof.claims.model import Facts, dotted
from planproof.conf import Conf
from planproof.contract import Model
from planproof.hazards import concerns
from planproof.invariants import contract as contract_terms
from planproof.invariants import physical, planning, sink
from planproof.optimizer.lowering import CannotLower
from planproof.origin import AnalysisError, Origin, Unknown, place
from planproof.plan.outline import plan_details
from planproof.publish.draft import Draft
from planproof.publish.functions import Functions
from planproof.report.model import Finding, Rewrite, Verdict
from planproof.schema import PhysicalSchema
from planproof.session.protocol import Session, SparkPlanes

_UNKNOWN_FUNCTIONS = ("UNRESOLVED_ROUTINE", "UNRESOLVABLE_TABLE_VALUED_FUNCTION")
Locate = Callable[[str], Origin | None]


class Examined(NamedTuple):
    """What the later steps need: Spark's planes, why columns hold no null, where they are written, and what to run.

    `derived` is what the logical plan adds to the evidence, `runs` are the planes of the text to run, which may be a
    rewritten one. `checks` are the counts that decide hazards.
    """

    planes: SparkPlanes
    evidence: Mapping[str, str]
    derived: Mapping[str, str]
    locate: Locate
    sql: str
    runs: SparkPlanes
    checks: tuple[Any, ...] = ()

    @property
    def promised(self) -> PhysicalSchema:
        """The schema that the contract is judged on: Spark's analyzed one, with char and varchar lengths."""
        return self.planes.declared or self.planes.analyzed


def examine(
    draft: Draft,
    session: Session,
    catalog: Catalog,
    functions: Functions,
    conf: Conf,
    ahead: bool = True,
    analyzed: SparkPlanes | None = None,
) -> Examined | None:
    """Reads the planes and compares them; None where Spark rejects the query. `conf` are the settings in force.

    Without `ahead` the query is analyzed and not planned: `examine_plans` looks at the plan that wrote it. `analyzed`
    is the model's query, where it was analyzed already.
    """
    model = draft.model
    _read_contract(draft)
    plan, refusal = _logical(draft, catalog, functions, conf)
    try:
        text = _runnable(draft, plan, catalog, functions)
    except CannotLower as reason:
        draft.add([_cannot_run(draft, reason)])
        return None
    planes = _spark(draft, session, text.sql, analyzed if text.sql == model.sql else None)
    if planes is None:
        return None
    if refusal is not None:
        draft.add([replace(_overruled(refusal), origin=_in(draft, refusal.origin))])
    agreed = plan is not None and _agree(draft, plan, planes)
    sql, runs = _rewritten(draft, session, text, planes) if agreed else (_unrewritten(draft, plan, text), planes)
    derived = _evidence(plan) if agreed and not planes.python_fed else {}
    evidence, checks = {**derived, **spark.evidence(planes)}, plan.checks if plan is not None else ()
    examined = Examined(planes, evidence, derived, _locator(model, plan), sql, runs, checks)
    if ahead:
        examined = examine_plans(draft, session, examined, session.planned(planes))
    _sink(draft, examined, conf)
    judge(draft, examined, None, "analyzed")
    return examined


def examine_plans(draft: Draft, session: Session, examined: Examined, planes: SparkPlanes) -> Examined:
    """The same with the planes after the analyzed one, which `planes` has of the text that ran."""
    later = replace(examined.planes, optimized=planes.optimized, executed=planes.executed, unplanned=planes.unplanned)
    _physical(draft, later, session.capabilities.reason)
    return examined._replace(planes=later, evidence={**examined.derived, **spark.evidence(later)})


def judge(draft: Draft, examined: Examined, facts: Facts | None, plane: str) -> None:
    """Judges the contract, in place of any earlier judgement."""
    contract = draft.model.contract
    if contract is None:
        return
    findings = contract_terms.check(
        contract, examined.promised, examined.evidence, facts, draft.settings, plane, examined.locate
    )
    draft.replace("PP50", findings)


def _read_contract(draft: Draft) -> None:
    if draft.model.contract is None:
        draft.absent("contract", "the model has no contract")
    else:
        draft.read("contract", draft.model.contract.schema)


def _logical(
    draft: Draft, catalog: Catalog, functions: Functions, conf: Conf
) -> tuple[Any | None, AnalysisError | None]:
    """Our own plan of the query, or None with what was said about it."""
    try:
        plan = _plan()(draft.model.sql, catalog, conf=conf, registry=functions.registry)
    except Unknown as unknown:
        reason = f"planproof does not know {unknown.construct}"
        draft.add([Finding(Verdict.WARNING, "PP111", "logical", message=reason, origin=_in(draft, unknown.origin))])
    except AnalysisError as error:
        reason, refusal = f"[{error.condition}] {error.message}", error
        draft.unreadable("logical", reason)
        draft.not_enforced("I1", reason)
        return None, refusal
    except Exception as error:
        reason = _ours(draft, "logical", error)
    else:
        draft.read("logical", plan.physical_schema)
        draft.details |= plan_details(plan)
        model = draft.model
        found = (f for f in plan.findings if concerns(f, model.materialized, model.contract is not None))
        draft.add(replace(f, origin=_in(draft, f.origin)) for f in found)
        draft.enforced("I1", "every node of the logical plan")
        return plan, None
    draft.unreadable("logical", reason)
    draft.not_enforced("I1", f"no logical plan: {reason}")
    return None, None


def _ours(draft: Draft, plane: str, error: Exception) -> str:
    """Our own failure on a plane of ours: Spark's planes still judge the model, unless `planning: strict`."""
    if draft.settings.planning == "strict":
        raise error
    draft.details["traceback"] = traceback.format_exc()
    said = f"internal error in planproof: {type(error).__name__}: {error}"
    message = f"{said}; Spark's planes are used"
    draft.add([Finding(Verdict.WARNING, "PP901", plane, found=type(error).__name__, message=message)])
    return said


def _plan() -> Callable[..., Any]:
    try:
        from planproof.api import plan
    except ImportError as error:
        raise Unknown(f"how to plan a query here ({error})") from error
    found: Callable[..., Any] = plan
    return found


def _overruled(error: AnalysisError) -> Finding:
    """Spark accepts what the logical plane rejects. A function may be known to the session alone: that is no clash."""
    if error.condition.startswith(_UNKNOWN_FUNCTIONS):
        message = f"a function that is known to this Spark session only: {error.message}"
        return Finding(Verdict.WARNING, "PP111", "logical", message=message)
    message = f"the logical plane rejects a query that Spark accepts: {error.message}; Spark's answer is used"
    return Finding(Verdict.WARNING, "PP201", "logical", found=error.condition, message=message)


class Text(NamedTuple):
    """What Spark is given to run, with our plan of it: the model's text, or the lowered one."""

    sql: str
    plan: Any


def _runnable(draft: Draft, plan: Any | None, catalog: Catalog, functions: Functions) -> Text:
    """The model's text, but for Python functions in lambdas, which Spark refuses. Raises `CannotLower`."""
    if plan is not None and draft.model.materialized == "view" and functions.stand_in_lambdas(plan):
        raise CannotLower("PP222", "the model is a view, and its lambdas call a Python function", None)
    found = functions.lowered(plan, catalog) if plan is not None else None
    if found is None:
        return Text(draft.model.sql, plan)
    again, draft.lowered = found
    return Text(draft.lowered.sql, again)


def _cannot_run(draft: Draft, reason: CannotLower) -> Finding:
    for plane in ("analyzed", "optimized", "executed"):
        draft.unreadable(plane, "Spark refuses Python functions in lambdas")
    origin = _in(draft, place(draft.model.sql, *reason.span)) if reason.span else None
    return Finding(Verdict.VIOLATED, reason.code, "logical", message=reason.message, origin=origin)


def _spark(draft: Draft, session: Session, sql: str, analyzed: SparkPlanes | None) -> SparkPlanes | None:
    try:
        planes = analyzed or session.analyzed(sql)
    except AnalysisError as error:
        for plane in ("analyzed", "optimized", "executed"):
            draft.unreadable(plane, "Spark rejects the query")
        draft.add(
            [
                Finding(
                    Verdict.VIOLATED,
                    "PP110",
                    "analyzed",
                    found=error.condition,
                    message=f"Spark rejects the query: [{error.condition}] {error.message}",
                    # A place in another text than the model's would point at the wrong column.
                    origin=_in(draft, error.origin) if sql == draft.model.sql else None,
                )
            ]
        )
        return None
    draft.read("analyzed", planes.analyzed)
    return planes


def _agree(draft: Draft, plan: Any, planes: SparkPlanes) -> bool:
    """I4: the logical plan, stripped, is Spark's analyzed schema."""
    strict = draft.settings.planning == "strict"
    findings = planning.check(plan.physical_schema, planes.analyzed, strict)
    draft.add(findings)
    draft.enforced("I4", "logical plan against Spark's analyzed plan, nested flags included")
    return not findings


def _unrewritten(draft: Draft, plan: Any | None, text: Text) -> str:
    why = "no logical plan" if plan is None else "the logical plan disagrees with Spark's"
    draft.absent("rewritten", f"{why}; the compiled text runs as written")
    draft.not_enforced("I6", "nothing was rewritten")
    if plan is None:
        draft.not_enforced("I4", "no logical plan to compare with")
    draft.not_enforced("I3", "no logical plan, or it is not trusted")
    return text.sql


def _rewritten(draft: Draft, session: Session, text: Text, planes: SparkPlanes) -> tuple[str, SparkPlanes]:
    """The text to run and its planes: rewritten, where rules fired and Spark gives the result the same schema."""
    sql = text.sql
    draft.enforced("I3", "Spark's analyzer gives every column the type and flag that the functions report (I4)")
    if draft.settings.rewrite == "off":
        draft.absent("rewritten", "rewrite: off")
        draft.not_enforced("I6", "rewrite: off")
        return sql, planes
    try:
        from planproof.api import optimize

        rewriting = optimize(text.plan)
    except (ImportError, Unknown) as reason:
        _not_rewritten(draft, str(reason))
        return sql, planes
    except Exception as error:
        _not_rewritten(draft, _ours(draft, "rewritten", error))
        return sql, planes
    draft.enforced("I6", "after every rule of the optimizer")
    if rewriting.sql == sql:
        draft.absent("rewritten", "no rule fired; the compiled text runs byte for byte")
        return sql, planes
    runs = _analyzed_alike(session, rewriting.sql, planes)
    if isinstance(runs, str):
        dropped = runs
        draft.absent("rewritten", dropped)
        draft.add([Finding(Verdict.WARNING, "PP202", "rewritten", found=", ".join(rewriting.rules), message=dropped)])
        draft.rewrites = _marked(rewriting.rewrites, False)
        return sql, planes
    draft.read("rewritten", rewriting.plan.physical_schema)
    applied = draft.settings.rewrite == "on"
    draft.rewrites = _marked(rewriting.rewrites, applied)
    if not applied:
        draft.add(_suggestion(r) for r in rewriting.rewrites)
    return (str(rewriting.sql), runs) if applied else (sql, planes)


def _not_rewritten(draft: Draft, reason: str) -> None:
    draft.unreadable("rewritten", reason)
    draft.not_enforced("I6", reason)


def _analyzed_alike(session: Session, sql: str, planes: SparkPlanes) -> SparkPlanes | str:
    """The rewritten text's planes; why it must not run, where Spark does not analyze it to the same schema."""
    try:
        found = session.analyzed(sql)
    except AnalysisError as error:
        return f"Spark rejects the rewritten text: {error}"
    if found.analyzed != planes.analyzed:
        return f"Spark analyzes the rewritten text to {found.analyzed}, the compiled one to {planes.analyzed}"
    return found


def _marked(rewrites: tuple[Rewrite, ...], applied: bool) -> tuple[Rewrite, ...]:
    return tuple(replace(r, applied=applied) for r in rewrites)


def _suggestion(rewrite: Rewrite) -> Finding:
    return Finding(
        Verdict.PROVED,
        "PP210",
        "rewritten",
        promised=rewrite.before,
        found=rewrite.after,
        message=f"{rewrite.rule} would rewrite this to the same result",
        origin=rewrite.origin,
        evidence="I6 and Spark's analyzed schema of the rewritten text",
    )


def _physical(draft: Draft, planes: SparkPlanes, unreadable: str) -> None:
    """I7: Spark's optimized and executed planes against its analyzed one."""
    for plane, schema in (("optimized", planes.optimized), ("executed", planes.executed)):
        if schema is None:
            draft.unreadable(plane, planes.unplanned or unreadable or "this kind of session does not show it")
        else:
            draft.read(plane, schema)
    draft.replace(physical.CODES, physical.check(planes, None))
    if planes.optimized is None and planes.executed is None:
        draft.not_enforced("I7", planes.unplanned or "this kind of session shows no later plan")
    else:
        draft.enforced("I7", "optimized and executed plans against the analyzed one")


def judge_loosened(draft: Draft, planes: SparkPlanes, facts: Facts | None) -> None:
    """Flags that Spark's optimizer loosened are decided by what was counted."""
    draft.replace("PP204", [f for f in physical.check(planes, facts) if f.code == "PP204"])


def _sink(draft: Draft, examined: Examined, conf: Conf) -> None:
    """D1: physical names need not be unique, but a Parquet file and a view cannot hold two of one name."""
    model = draft.model
    format = "view" if model.materialized == "view" else model.file_format
    findings = sink.check(examined.planes.analyzed, format, conf.case_sensitive)
    draft.add(_placed(findings, examined.locate))
    draft.enforced("D1", f"names of the analyzed plane; a {format} with duplicates is refused before it runs")


def _evidence(plan: Any) -> dict[str, str]:
    return {dotted((f.name,)): f.evidence for f in plan.schema if f.evidence}


def _locator(model: Model, plan: Any | None) -> Locate:
    """Where an output column is written in the model's file."""
    if plan is None:
        return lambda column: None
    origins: dict[str, Origin] = {}
    for field, origin in zip(plan.schema, plan.origins):
        if origin is not None:
            origins.setdefault(field.name.lower(), origin.within(model.file) if model.file else origin)
    return lambda column: origins.get(column.split(".")[0].lower()) or origins.get(column.lower())


def _in(draft: Draft, origin: Origin | None) -> Origin | None:
    return origin.within(draft.model.file) if origin and draft.model.file else origin


def _placed(findings: list[Finding], locate: Locate) -> list[Finding]:
    return [f if f.origin or not f.field else replace(f, origin=locate(f.field)) for f in findings]
