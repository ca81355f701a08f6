"""I5: the Parquet files of a write have the schema of its plan, and agree with each other."""

from __future__ import annotations

from collections.abc import Sequence, Set

from planproof.arrow.footers import Footer
from planproof.invariants.compare import flag_differences, type_differences
from planproof.report import format_count
from planproof_engine import Finding, Verdict, evolve
from planproof_engine.claim import Path, join_path
from planproof_engine.schema import ByColumn, ColumnNames, PhysicalField, PhysicalSchema, drop_columns, fold_name


def check(
    planned: PhysicalSchema | None,
    footers: Sequence[Footer],
    partition_by: Sequence[str] = (),
    of_format: Sequence[str] = (),
) -> list[Finding]:
    """Each file against `planned` (Spark's optimized schema; None: only against each other). Columns `of_format` may
    stand in a file besides: the table's format keeps something of its own there.

    Partition columns stand in no file. INT96 or microseconds, the physical form of decimals, field ids and files
    without rows are ignored. Milliseconds cut a timestamp and are a break.
    """
    filled = [f for f in footers if f.rows]
    if planned is None:
        return compare_files(filled)
    expected = PhysicalSchema(tuple(drop_columns(planned, partition_by)))
    besides = {*of_format} - {*planned.names}
    return merge_findings(
        [(finding, footer.files) for footer in filled for finding in _compare_file(expected, footer, besides)]
    )


def _compare_file(expected: PhysicalSchema, footer: Footer, besides: Set[str]) -> list[Finding]:
    columns = [f for f in footer.schema if f.name not in besides]
    names, wanted = ([fold_name(f.name) for f in schema] for schema in (columns, expected))
    if names != wanted:
        message = f"{footer.name} has the columns {', '.join(names)}; the plan wrote {', '.join(wanted)}"
        return [Finding(Verdict.VIOLATED, "PP401", "files", None, ", ".join(wanted), ", ".join(names), message)]
    found: list[Finding] = []
    for ours, theirs in zip(expected, columns):
        differences = type_differences(ours.type, theirs.type, (ours.name,))
        found += [_difference_finding(footer, d.path, d.promised, d.found) for d in differences]
        if not differences:
            found += _compare_flags(ours, theirs, footer)
    return found + _find_cut_timestamps(footer) + _compare_described(footer)


def _compare_described(footer: Footer) -> list[Finding]:
    """Whether the schema that Spark keeps in a footer's metadata names the same columns as the file's own, which
    readers use."""
    names = ", ".join(footer.schema.names)
    if footer.described is None or footer.described == footer.schema.names:
        return []
    said = ", ".join(footer.described)
    message = f"{footer.name} holds the columns {names}, and its row.metadata says {said}"
    return [Finding(Verdict.WARNING, "PP401", "files", None, said, names, message)]


def _difference_finding(footer: Footer, path: Path, promised: str | None, found: str | None) -> Finding:
    place = join_path(path)
    message = f"{footer.name}: {place} was planned as {promised or 'nothing'} and is stored as {found or 'nothing'}"
    return Finding(Verdict.VIOLATED, "PP401", "files", place, promised, found, message)


def _compare_flags(planned: PhysicalField, stored: PhysicalField, footer: Footer) -> list[Finding]:
    """Required exactly where the plan says NOT NULL. A loosened flag is decided by facts; a tightened one would make
    the file promise more than the plan."""
    path: Path = (planned.name,)
    flags = [(f.path, f.nullable) for f in flag_differences(planned.type, stored.type, path)]
    if planned.nullable != stored.nullable:
        flags.insert(0, (path, stored.nullable))
    found: list[Finding] = []
    for place, optional in flags:
        finding = _judge_loosened(footer, place) if optional else _tightened_finding(footer, place)
        found += [finding] if finding else []
    return found


def _judge_loosened(footer: Footer, path: Path) -> Finding | None:
    nulls = footer.nulls.get(path)
    if nulls == 0:
        return None
    place = join_path(path)
    verdict = Verdict.WARNING if nulls is None else Verdict.VIOLATED
    counted = "its nulls are not counted" if nulls is None else f"{nulls} nulls are stored"
    message = f"{footer.name}: {place} was planned NOT NULL, the file says optional, and {counted}"
    return Finding(verdict, "PP401", "files", place, "NOT NULL", "optional", message)


def _tightened_finding(footer: Footer, path: Path) -> Finding:
    place = join_path(path)
    message = f"{footer.name}: {place} was planned nullable, and the file says required"
    return Finding(Verdict.WARNING, "PP401", "files", place, "nullable", "required", message)


def _find_cut_timestamps(footer: Footer) -> list[Finding]:
    return [
        _difference_finding(footer, leaf.path, "a timestamp in microseconds", "milliseconds")
        for leaf in footer.leaves
        if leaf.unit == "milliseconds"
    ]


def compare_files(footers: Sequence[Footer]) -> list[Finding]:
    """Compares the files of one table: shared columns have one type, and no file lacks a column that is NOT NULL in
    another one. A file that is older than a nullable column is healthy."""
    seen: dict[str, tuple[Footer, PhysicalField]] = {}
    found: list[tuple[Finding, int]] = []
    for footer in footers:
        has_twins = len(ColumnNames(footer.schema.names)) < len(footer.schema)
        for f in footer.schema:
            first, known = seen.setdefault(fold_name(f.name, has_twins), (footer, f))
            for d in type_differences(known.type, f.type, (known.name,)):
                found.append((_clash_finding(d.path, d.promised, d.found, first, footer), footer.files))
    return merge_findings([*found, *_find_missing_columns(footers)])


def _clash_finding(path: Path, first: str | None, other: str | None, a: Footer, b: Footer) -> Finding:
    place = join_path(path)
    message = f"{place} is {first or 'missing'} in {a.name} and {other or 'missing'} in {b.name}"
    return Finding(Verdict.VIOLATED, "PP402", "files", place, first, other, message)


def _find_missing_columns(footers: Sequence[Footer]) -> list[tuple[Finding, int]]:
    required = ByColumn((f.name, (f, footer)) for footer in footers for f in footer.schema if not f.nullable)
    found: list[tuple[Finding, int]] = []
    for footer in footers:
        names = ColumnNames(footer.schema.names)
        for name, (f, other) in required.items():
            if name not in names:
                message = f"{footer.name} has no {f.name}, which {other.name} stores as NOT NULL"
                place = join_path((f.name,))
                finding = Finding(Verdict.VIOLATED, "PP402", "files", place, str(f), "missing", message)
                found.append((finding, footer.files))
    return found


def merge_findings(findings: Sequence[tuple[Finding, int]]) -> list[Finding]:
    """One finding per place and kind, with the number of files that it stands for."""
    groups: dict[tuple[str, str | None, str | None, str | None], list[tuple[Finding, int]]] = {}
    for f, files in findings:
        groups.setdefault((f.code, f.field, f.promised, f.found), []).append((f, files))
    return [_merge_group(group) for group in groups.values()]


def _merge_group(group: list[tuple[Finding, int]]) -> Finding:
    first = group[0][0]
    others = sum(files for _, files in group) - 1
    if not others:
        return first
    more = f"{first.message} (and in {format_count(others, 'more file')})"
    return evolve(first, message=more)
