"""I4: Spark's analyzed schema is the logical schema, stripped: names, types, flags, nested ones too."""

from __future__ import annotations

from planproof.invariants.compare import flag_differences, type_differences
from planproof_engine import Finding, PhysicalField, PhysicalSchema, Verdict
from planproof_engine.claim import Path, join_path


def check(logical: PhysicalSchema, analyzed: PhysicalSchema, strict: bool = False) -> list[Finding]:
    """One finding for each place where our plan and Spark's analyzer differ: a warning, or violated where `strict`."""
    verdict = Verdict.VIOLATED if strict else Verdict.WARNING
    if len(logical) != len(analyzed):
        return [_finding(verdict, None, f"{len(logical)} columns", f"{len(analyzed)} columns")]
    found: list[Finding] = []
    for ours, theirs in zip(logical, analyzed):
        found += _compare_field(verdict, ours, theirs)
    return found


def _compare_field(verdict: Verdict, ours: PhysicalField, theirs: PhysicalField) -> list[Finding]:
    path: Path = (ours.name,)
    if ours.name != theirs.name:
        return [_finding(verdict, path, f"the name {ours.name}", f"the name {theirs.name}")]
    found = [_finding(verdict, d.path, d.promised, d.found) for d in type_differences(ours.type, theirs.type, path)]
    if found:
        return found
    if ours.nullable != theirs.nullable:
        found.append(_finding(verdict, path, _format_flag(ours.nullable), _format_flag(theirs.nullable)))
    for flag in flag_differences(ours.type, theirs.type, path):
        found.append(_finding(verdict, flag.path, _format_flag(not flag.nullable), _format_flag(flag.nullable)))
    return found


def _format_flag(nullable: bool) -> str:
    return "nullable" if nullable else "NOT NULL"


def _finding(verdict: Verdict, path: Path | None, ours: str | None, theirs: str | None) -> Finding:
    field = join_path(path) if path else None
    message = f"{field or 'the result'}: planproof derived {ours or 'nothing'}, Spark's analyzer {theirs or 'nothing'}"
    return Finding(verdict, "PP201", "logical", field, promised=ours, found=theirs, message=message)
