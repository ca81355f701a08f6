"""I7: Spark's optimized and executed plans have the analyzed schema.

Position and type are exact, names exact in `optimized` and without case in `executed`. Nullability may tighten. A flag
that the optimizer loosens is decided by facts: Spark 4.3 does this on healthy queries (`uniform`, INTERSECT, a lateral
count, a recursive CTE).
"""

from __future__ import annotations

from planproof.invariants.compare import flag_differences, type_differences
from planproof.invariants.contract import format_rows
from planproof.report import format_count
from planproof.session import SparkPlanes
from planproof_engine import Finding, PhysicalField, PhysicalSchema, Verdict, by_name, fold_name
from planproof_engine.claim import Facts, Path, join_path

CODES = ("PP203", "PP204", "PP302")
"""The codes of what `check` finds."""


def check(planes: SparkPlanes, facts: Facts | None = None) -> list[Finding]:
    """Compares each later plane with the analyzed one. A query that Spark cannot plan is unproved."""
    found: list[Finding] = []
    if planes.unplanned is not None:
        message = f"Spark analyzes this query but cannot plan it: {planes.unplanned}"
        found.append(Finding(Verdict.UNPROVED, "PP302", "optimized", found=planes.unplanned, message=message))
    if planes.optimized is not None:
        found += _compare_shape("optimized", planes.analyzed, planes.optimized)
        found += _judge_loosened(planes.analyzed, planes.optimized, facts)
    if planes.executed is not None:
        found += _compare_shape("executed", planes.analyzed, planes.executed)
    return found


def _compare_shape(plane: str, analyzed: PhysicalSchema, later: PhysicalSchema) -> list[Finding]:
    if len(analyzed) != len(later):
        return [_change_finding(plane, None, f"{len(analyzed)} columns", f"{len(later)} columns")]
    found: list[Finding] = []
    for ours, theirs in zip(analyzed, later):
        minds_case = plane != "executed"
        if fold_name(ours.name, minds_case) != fold_name(theirs.name, minds_case):
            found.append(_change_finding(plane, (ours.name,), f"the name {ours.name}", f"the name {theirs.name}"))
        differences = type_differences(ours.type, theirs.type, (ours.name,))
        found += [_change_finding(plane, d.path, d.promised, d.found) for d in differences]
    return found


def check_written(planned: PhysicalSchema, final: PhysicalSchema) -> list[Finding]:
    """Compares the plan that wrote the rows, as it ran, with the expected schema: the same columns with the same types.
    Partition columns stand last in that plan, so that columns are compared by name."""
    ran = by_name(final)
    found: list[Finding] = []
    for f in planned:
        theirs = ran.get(f.name)
        if theirs is None:
            found.append(_change_finding("executed", (f.name,), f.type.simple, None))
        else:
            differences = type_differences(f.type, theirs.type, (f.name,))
            found += [_change_finding("executed", d.path, d.promised, d.found) for d in differences]
    return found


def _change_finding(plane: str, path: Path | None, promised: str | None, found: str | None) -> Finding:
    place = join_path(path) if path else None
    message = (
        f"{place or 'the result'}: Spark's analyzed plan says {promised or 'nothing'}, its {plane} plan "
        f"{found or 'nothing'}"
    )
    return Finding(Verdict.VIOLATED, "PP203", plane, place, promised, found, message)


def _judge_loosened(analyzed: PhysicalSchema, optimized: PhysicalSchema, facts: Facts | None) -> list[Finding]:
    if len(analyzed) != len(optimized):
        return []
    return [_judge_flag(path, facts) for a, o in zip(analyzed, optimized) for path in _loosened_paths(a, o)]


def _loosened_paths(analyzed: PhysicalField, optimized: PhysicalField) -> list[Path]:
    path: Path = (analyzed.name,)
    nested = [f.path for f in flag_differences(analyzed.type, optimized.type, path) if f.nullable]
    return [path, *nested] if optimized.nullable and not analyzed.nullable else nested


def _judge_flag(path: Path, facts: Facts | None) -> Finding:
    place = join_path(path)
    counted = facts.nulls.get(path) if facts is not None else None
    said = f"{place}: NOT NULL in Spark's analyzed plan, nullable in its optimized plan"
    if facts is None or counted is None:
        return Finding(
            Verdict.WARNING, "PP204", "optimized", place, "NOT NULL", "nullable", f"{said}; no null was counted yet"
        )
    if counted:
        nulls = format_count(counted, "null")
        message = f"{said}, and {nulls} {'was' if counted == 1 else 'were'} counted in {facts.source}"
        return Finding(Verdict.VIOLATED, "PP204", "optimized", place, "NOT NULL", nulls, message)
    evidence = f"0 nulls in {format_rows(facts)}, counted in {facts.source}"
    return Finding(
        Verdict.PROVED,
        "PP204",
        "optimized",
        place,
        "NOT NULL",
        "nullable, without a null",
        f"{said}; {evidence}",
        evidence=evidence,
    )
