"""Hazards decided by data: by the footers of the model's sources, else by a count over them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from planproof.arrow.isolated import CannotRead, run_isolated_or_here
from planproof.arrow.profiles import EMPTY, read_number_range
from planproof.judge.allowed import downgrade_unpromised
from planproof.judge.draft import Draft
from planproof.judge.planes import Examined
from planproof.report.details import BrokenRows
from planproof.session import Session, SparkFailure, decode_uri, local
from planproof_engine import AnalysisError, Check, ColumnNames, Facts, Finding, Verdict, deeply, quote_parts, split_name
from planproof_engine.hazards import LOST as LOSSY
from planproof_engine.hazards import NARROWED as NARROWING
from planproof_engine.hazards import UNDECIDED, Fits, find_swapped, judge_certain, list_ends, make_warning
from planproof_engine.hazards import WRAPPED as ARITHMETIC
from planproof_engine.texts import drop_terminators, join_counts

FOOTERS = 200
"""Of a source with more files than these a count is as cheap as a look at all footers."""
_QUERY_COLUMN = "view.query.out.col."
"""The keys under which Spark keeps the names that a view's own query gives (CatalogTable.VIEW_QUERY_OUTPUT_PREFIX)."""
WRAPS = (NARROWING, ARITHMETIC, LOSSY)
"""What `overflow` is about."""


def decide_hazards(draft: Draft, session: Session, examined: Examined, facts: Facts | None = None) -> None:
    """Decides whether a hazard came true: violated where it did and something is promised, proved where it did not.

    A hazard that the settings allow is not counted; one that cannot be counted stays a warning. Arithmetic and a cast
    by themselves are no hazard: a finding is added for them only when they are decided. `facts` tell of the new rows.
    """
    footers, overflow = _Footers(draft, session), draft.settings.overflow
    wanted = [c for c in examined.checks if c.finding.code not in draft.settings.allow]
    wanted = [c for c in wanted if c.finding.code not in WRAPS or overflow not in ("warn", "off")]
    wanted = [c for c in wanted if _is_asked(draft, c)]
    decided = deeply(
        lambda: [(check, _prove_by_nulls(check, facts) or _decide_by_footers(check, footers)) for check in wanted]
    )
    counted = _decide_by_counts(session, [c for c, found in decided if found is None and _is_counted(draft, c)])
    for check, found in decided:
        found = found or counted.get(id(check)) or _report_uncounted(check, overflow)
        at = _find_warning(draft, check)
        if found is None:
            continue
        came_true = found.verdict is Verdict.VIOLATED
        found = _report_promised(draft, check, found)
        if found.verdict is Verdict.VIOLATED and check.finding.code in WRAPS and _is_left_out(draft, session, check):
            came_true = False
            why = "the result is the same with other values in their place"
            found = replace(check.finding, verdict=Verdict.PROVED, message=f"{found.message}; {why}", evidence=why)
        if came_true:
            _show(draft, check, found)
        if at is not None:
            draft.findings[at] = replace(found, origin=draft.findings[at].origin)
        elif check.finding.code in UNDECIDED:
            _add_decided(draft, found)


def _is_asked(draft: Draft, check: Check) -> bool:
    """A cast that loses a value breaks what a contract promises; without a contract it is looked at on demand."""
    if check.finding.code == LOSSY:
        return _is_promised(draft, check) or draft.settings.overflow == "count"
    return check.finding.code == ARITHMETIC or _find_warning(draft, check) is not None


def _is_promised(draft: Draft, check: Check) -> bool:
    """Whether the contract names a column that holds what is lost."""
    contract = draft.model.contract
    return contract is not None and not ColumnNames(contract.schema.names).isdisjoint(check.reaches)


def _report_promised(draft: Draft, check: Check, found: Finding) -> Finding:
    is_promised = draft.model.contract is not None and (check.finding.code != LOSSY or _is_promised(draft, check))
    return found if is_promised else downgrade_unpromised(found)


def _is_left_out(draft: Draft, session: Session, check: Check) -> bool:
    """Whether no value that is lost reaches the result: it stays what it is with the least value of the type, or the
    greatest, in place of each. Where it holds one of these itself (MAX), that says nothing."""
    origin, counting, kind = check.finding.origin, check.counting, check.finding.found or ""
    ends = list_ends(kind)
    if counting is None or not ends or origin is None or origin.start is None:
        return False
    sql = drop_terminators(draft.model.sql)
    start, stop = origin.start, origin.stop
    others = (
        f"{sql[:start]}if({counting.at_value}, CAST('{e}' AS {kind}), {sql[start:stop]}){sql[stop:]}" for e in ends
    )
    columns = ", ".join(quote_parts((name,)) for name in check.reaches) or "*"
    row = f"to_json(struct({columns}))"
    held = "0" if kind == "boolean" else f"count_if(contains({row}, '{ends[0]}') OR contains({row}, '{ends[1]}'))"
    value = f"{held}, count(*), sum(CAST(xxhash64({row}) AS DECIMAL(38, 0)))"
    try:
        found = {tuple(session.rows(f"SELECT {value} FROM (\n{text}\n) AS counted")[0]) for text in (sql, *others)}
    except (AnalysisError, SparkFailure):
        return False
    return len(found) == 1 and found.pop()[0] == 0


def _show(draft: Draft, check: Check, found: Finding) -> None:
    """Adds the query that shows the rows in which a value was lost."""
    if check.counting is not None:
        rows = BrokenRows(found.code, found.promised, found.field, check.counting.showing)
        draft.set_details(broken=(*(draft.details.broken or ()), rows))


def _prove_by_nulls(check: Check, facts: Facts | None) -> Finding | None:
    """Proved where each value that is lost would be a NULL in a column, and the new rows have none there."""
    name = next((c for c in check.alone if facts is not None and facts.nulls.get((c,)) == 0), None)
    if name is None or facts is None:
        return None
    why = f"no value is lost: {name} has no NULL, by {facts.source}"
    return replace(check.finding, verdict=Verdict.PROVED, message=f"{check.finding.message}; {why}", evidence=why)


def _find_warning(draft: Draft, check: Check) -> int | None:
    """Where the hazard's warning stands in the draft."""
    return next((i for i, f in enumerate(draft.findings) if _is_warning_of(f, check.finding)), None)


def _is_counted(draft: Draft, check: Check) -> bool:
    """By default only what is cheap to count is, and nothing of a view without a contract: no count could stop it, it
    computes no row, and its sources may be large."""
    if check.sql is None or draft.settings.overflow == "count":
        return check.sql is not None
    if draft.model.materialized == "view" and draft.model.contract is None:
        return False
    return check.finding.code != ARITHMETIC or check.cheap


def _report_uncounted(check: Check, overflow: str) -> Finding | None:
    """With `overflow: count` arithmetic, and a cast, that cannot be decided are unproved; a cast in a subquery always
    is."""
    if check.finding.code not in UNDECIDED or not (overflow == "count" or check.in_subquery):
        return None
    message = f"{check.finding.message}; planproof has no query that counts such values here"
    return replace(check.finding, verdict=Verdict.UNPROVED, message=message)


def _add_decided(draft: Draft, found: Finding) -> None:
    """Adds the finding on arithmetic that is decided."""
    known = {(f.code, f.field, f.message) for f in draft.findings}
    if (found.code, found.field, found.message) not in known:
        origin, file = found.origin, draft.model.file
        draft.add([replace(found, origin=origin.within(file) if origin is not None and file else origin)])


def _decide_by_footers(check: Check, footers: _Footers) -> Finding | None:
    known, fits = check.finding, check.fits
    if fits is None:
        return None
    evidence = footers.explain_harmless(fits)
    if evidence is not None:
        message = f"{known.message}; {evidence}"
        return replace(known, verdict=Verdict.PROVED, message=message, evidence=evidence)
    return judge_certain(known, fits)


def _decide_by_counts(session: Session, checks: Sequence[Check]) -> dict[int, Finding]:
    """The findings that counting decides, by the identity of their checks. One query makes all counts over the same
    rows."""
    groups: dict[object, list[Check]] = {}
    for check in checks:
        of = check.counting
        key = (of.before, of.block, of.rows) if of is not None else id(check)
        groups.setdefault(key, []).append(check)
    found: dict[int, Finding] = {}
    for group in groups.values():
        numbers = _count_each(session, group)
        # Where Spark cannot count one of them, the others are counted one by one.
        numbers = numbers or [n for check in group for n in (_count_each(session, [check]) or [None])]
        for check, number in zip(group, numbers):
            if number is not None:
                found[id(check)] = _decide(check.finding, number, check.what)
    return found


def _count_each(session: Session, checks: Sequence[Check]) -> list[int | None]:
    """One number for each check; an empty list where Spark cannot count."""
    first = checks[0]
    counts = [check.counting for check in checks if check.counting is not None]
    sql = join_counts(counts) if counts else first.sql
    try:
        return [int(number or 0) for number in session.rows(sql or "")[0]]
    except (AnalysisError, SparkFailure):
        return []


def find_swapped_views(draft: Draft) -> list[Finding]:
    """Views among the sources whose column list puts the query's columns under each other's names (PP121)."""
    found = []
    for table in draft.sources.values():
        given = [table.properties.get(f"{_QUERY_COLUMN}{i}") for i in range(len(table.schema))]
        names = [name for name in given if name is not None]
        wanted = table.schema.names
        pairs = list(find_swapped(wanted, names)) if table.kind == "view" and len(names) == len(wanted) else []
        if pairs:
            said = ", ".join(f"{names[at]} under {wanted[at]}" for at, _ in pairs)
            first = wanted[pairs[0][0]]
            message = f"the column list of the view {table.name}, which is read here, goes by position and puts {said}"
            found.append(make_warning("PP121", first, first, names[pairs[0][0]], message, "catalog"))
    return found


class _Footers:
    """What the footers of a model's sources say of their columns; each is read once."""

    def __init__(self, draft: Draft, session: Session) -> None:
        self._draft, self._session = draft, session
        self._known: dict[tuple[str, str], tuple[tuple[int, int], str] | None] = {}

    def explain_harmless(self, fits: Fits) -> str | None:
        """Why no row shows a hazard; None where they do not tell."""
        if not fits.holds(self._find_range):
            return None
        told = [found[1] for key in dict.fromkeys(fits.value.columns()) if (found := self._known.get(key)) is not None]
        return "; ".join(told) or "every value fits, by its type"

    def _find_range(self, relation: str, column: str) -> tuple[int, int] | None:
        key = relation, column
        if key not in self._known:
            self._known[key] = self._read(relation, column)
        found = self._known[key]
        return None if found is None else found[0]

    def _read(self, relation: str, column: str) -> tuple[tuple[int, int], str] | None:
        try:
            name = quote_parts(split_name(relation))
            table = self._draft.sources.get(name) or self._session.table(name)
            location = decode_uri(table.location) if table and table.is_plain_parquet and table.location else None
            if table is None or location is None or table.partition_by or local(location) is None:
                return None
            paths: Sequence[str] = self._session.files(local(location) or location)
            found = run_isolated_or_here(read_number_range, paths, column) if len(paths) <= FOOTERS else None
        except (AnalysisError, SparkFailure, CannotRead, ValueError):  # Names in a footer that are no text.
            return None
        if found is None:
            return None
        values = "it has no value" if found == EMPTY else "every value fits"
        if found != EMPTY and self._draft.settings.changes == "values":  # They are data.
            values = f"its values lie between {found[0]} and {found[1]}"
        said = f"{values}, by the footers of {table.name} ({len(paths)} file{'' if len(paths) == 1 else 's'})"
        return (0, 0) if found == EMPTY else found, said


def _is_warning_of(finding: Finding, hazard: Finding) -> bool:
    return finding.verdict is Verdict.WARNING and (finding.code, finding.message) == (hazard.code, hazard.message)


def _decide(finding: Finding, number: int, what: str) -> Finding:
    if number:
        said = f"{finding.message}; counted: {number} {what if number != 1 else make_singular(what)}"
        return replace(finding, verdict=Verdict.VIOLATED, plane="files", message=said)
    why = f"0 {what}, counted over the model's sources"
    message = f"{finding.message}; {why}"
    return replace(finding, verdict=Verdict.PROVED, plane="files", message=message, evidence=why)


def make_singular(what: str) -> str:
    """
    >>> make_singular("rows hold another value"), make_singular("values are lost")
    ('row holds another value', 'value is lost')
    """
    noun, verb, *rest = what.split()
    return " ".join([noun.removesuffix("s"), "is" if verb == "are" else f"{verb}s", *rest])
