"""The contract against a plane: width, order, exact names, parsed types, NOT NULL, lengths."""

from __future__ import annotations

import difflib
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType

from planproof.contract import Contract
from planproof.invariants.compare import Difference, type_differences
from planproof.report import format_count
from planproof.settings import Settings
from planproof_engine import ColumnNames, Finding, Origin, PhysicalField, PhysicalSchema, Verdict, fold_name, split_name
from planproof_engine.claim import Facts, Path, join_path, nested_fields
from planproof_engine.types import Char, DataType, Varchar

Locate = Callable[[str], Origin | None]

TERMS = ("PP500", "PP501", "PP502", "PP503", "PP504", "PP505", "PP506")
"""The codes of what `check` finds."""
COUNTABLE = ("PP500", "PP506", "PP508")
"""The codes of declared terms that a run can decide by counting."""


def check(
    contract: Contract,
    schema: PhysicalSchema,
    evidence: Mapping[str, str],
    facts: Facts | None,
    settings: Settings,
    plane: str,
    locate: Locate,
    doubts: Mapping[str, str] = MappingProxyType({}),
) -> list[Finding]:
    """Judges each term of the contract on a plane.

    `schema` may carry char and varchar lengths. `evidence` says, by dotted path, why a field holds no null; a flag of
    `schema` alone proves nothing. `facts` were counted over all rows. `locate` gives the place of a column in the
    model, by the column's name. `doubts` says where the column's nulls may come from. Terms that `settings.enforce`
    leaves out are not judged. What `settings.allow` lets through is decided where findings are collected
    (`judge.allowed`).
    """
    found = [*_compare_columns(contract.schema, schema, settings)]
    for promised, given in _match_columns(contract.schema, schema):
        clashes = type_differences(promised.type, given.type, (promised.name,))
        if "types" in settings.enforce:
            found += [_type_finding(d) for d in clashes]
            found += _judge_lengths(promised, given, clashes, facts)
        if "nullability" in settings.enforce:
            found += _judge_nullability(promised, given, evidence, facts, doubts)
    return [_place_finding(f, plane, locate) for f in found]


def conclude(findings: Iterable[Finding], settings: Settings) -> list[Finding]:
    """After the audit: a declared term that is still unproved counts as violated, as it could have been counted;
    with `unproved: allow` it stays unproved."""
    if settings.unproved == "allow":
        return list(findings)
    return [
        replace(f, verdict=Verdict.VIOLATED) if f.code in COUNTABLE and f.verdict is Verdict.UNPROVED else f
        for f in findings
    ]


def _match_columns(promised: PhysicalSchema, found: PhysicalSchema) -> Iterator[tuple[PhysicalField, PhysicalField]]:
    """The pairs of columns with equal names. Of several columns of one name the first one counts."""
    first = {f.name: f for f in reversed(found.fields)}
    return ((f, first[f.name]) for f in promised if f.name in first)


def _compare_columns(promised: PhysicalSchema, found: PhysicalSchema, settings: Settings) -> Iterator[Finding]:
    known, there = set(promised.names), set(found.names)
    others = [name for name in found.names if name not in known]
    near = {f.name: _find_near_name(f.name, others) for f in promised if f.name not in there}
    misspelled = set(near.values()) - {None}
    renamed = _guess_renamings([f for f in promised if f.name in near and near[f.name] is None], promised, found)
    for f in promised:
        if f.name in near:
            yield _missing_finding(f, near[f.name], found, renamed.get(f.name))
    former = {new: old for old, new in renamed.items()}
    spare = _list_spare(promised, found)
    if "extra_columns" in settings.enforce:
        for f in spare:
            if f.name not in misspelled:
                message = f"the model produces {f.name} ({f.type.simple}), which the contract does not name"
                was = join_path((former[f.name],)) if f.name in former else None
                yield Finding(
                    Verdict.VIOLATED, "PP502", "", join_path((f.name,)), "nothing", str(f), message, renamed=was
                )
    if "order" in settings.enforce:
        yield from _compare_order(promised, found, spare)


def _find_near_name(name: str, others: Sequence[str]) -> str | None:
    """The one of the other names that a person would take for this one."""
    known = ColumnNames(others)
    return known.find_spelling(name) if name in known else next((o for o in others if _is_look_alike(o, name)), None)


def _is_look_alike(a: str, b: str) -> bool:
    """Whether two names differ only in what nobody sees: blanks at an end, the composition of accents, letters of
    another alphabet.

    >>> _is_look_alike("id ", "id"), _is_look_alike("\\u0430mount", "amount"), _is_look_alike("ids", "id")
    (True, True, False)
    """
    one, other = (unicodedata.normalize("NFKC", name).strip().casefold() for name in (a, b))
    different = [pair for pair in zip(one, other) if pair[0] != pair[1]]
    return len(one) == len(other) and all(x.isascii() != y.isascii() for x, y in different)


def _guess_renamings(
    missing: Sequence[PhysicalField], promised: PhysicalSchema, found: PhysicalSchema
) -> Mapping[str, str]:
    """By the name of a missing column: the found column that it was probably renamed to. That one has the same type, is
    not promised, has the most similar name, and is not as similar to another missing column. Messages call it a
    guess."""
    known = set(promised.names)
    spare = [f for f in found if f.name not in known]
    guesses = {m.name: _find_most_similar(m.name, [f.name for f in spare if f.type == m.type]) for m in missing}
    times = Counter(guesses.values())
    return {old: new for old, new in guesses.items() if new is not None and times[new] == 1}


def _find_most_similar(name: str, others: Sequence[str]) -> str | None:
    wanted, known = fold_name(name), ColumnNames(others)
    inside = [other for other in known if wanted in other or other in wanted]
    close = difflib.get_close_matches(wanted, list(known), n=1)
    akin = [other for other in known if _is_part(other, wanted)]
    found = inside if len(inside) == 1 else close or (akin if len(akin) == 1 else [])
    return known.find_spelling(found[0]) if found else None


def _is_part(one: str, other: str) -> bool:
    """Whether all words of one name stand in the other one. Singular and plural count as the same word.

    >>> _is_part("unit_count", "units"), _is_part("order_tax", "order_amount")
    (True, False)
    """
    a, b = ({word.rstrip("s") for word in name.split("_")} - {"", "id"} for name in (one, other))
    return bool(a and b) and (a <= b or b <= a)


def _missing_finding(promised: PhysicalField, near: str | None, found: PhysicalSchema, renamed: str | None) -> Finding:
    there = f"the model produces {', '.join(found.names) or 'no column'}"
    if near is not None:
        unseen = "" if fold_name(near) == fold_name(promised.name) else f" ({near!a}, not {promised.name!a})"
        there = f"the model spells it {near}{unseen}, and names are compared exactly"
    elif renamed is not None:
        there += f"; renamed? {promised.name} -> {renamed}, same type"
    message = f"the contract promises {promised.name} ({promised.type.simple}); {there}"
    given = join_path((renamed,)) if renamed is not None else None
    return Finding(
        Verdict.VIOLATED,
        "PP501",
        "",
        join_path((promised.name,)),
        str(promised),
        near or "nothing",
        message,
        renamed=given,
    )


def _list_spare(promised: PhysicalSchema, found: PhysicalSchema) -> list[PhysicalField]:
    """The found columns beyond the promised ones, second columns of one name included."""
    left = list(promised.names)
    spare = []
    for f in found:
        if f.name in left:
            left.remove(f.name)
        else:
            spare.append(f)
    return spare


def _compare_order(promised: PhysicalSchema, found: PhysicalSchema, spare: list[PhysicalField]) -> Iterator[Finding]:
    extra = [f.name for f in spare]
    given: list[str] = []
    for name in reversed(found.names):
        if name in extra:
            extra.remove(name)
        else:
            given.insert(0, name)
    wanted = [name for name in promised.names if name in given]
    if wanted != given:
        first = next(w for w, g in zip(wanted, given) if w != g)
        message = f"the contract's order is {', '.join(wanted)}; the model's is {', '.join(given)}"
        yield Finding(Verdict.VIOLATED, "PP503", "", join_path((first,)), ", ".join(wanted), ", ".join(given), message)


def _type_finding(difference: Difference) -> Finding:
    path = join_path(difference.path)
    promised, found = difference.promised or "nothing", difference.found or "nothing"
    message = f"{path}: promised {promised}, found {found}"
    return Finding(Verdict.VIOLATED, "PP504", "", path, promised, found, message)


def _judge_lengths(
    promised: PhysicalField, found: PhysicalField, clashes: list[Difference], facts: Facts | None
) -> Iterator[Finding]:
    """char(n) and varchar(n): Spark computes with strings, so that only a declared length or a count proves it."""
    given = {p.path: p.type for p in nested_fields(PhysicalSchema((found,)))}
    clashing = {d.path for d in clashes}
    for field in nested_fields(PhysicalSchema((promised,))):
        if isinstance(field.type, (Char, Varchar)) and field.path in given and field.path not in clashing:
            yield _judge_length(field.path, field.type, given[field.path], facts)


def _judge_length(path: Path, promised: Char | Varchar, found: DataType, facts: Facts | None) -> Finding:
    field = join_path(path)
    if isinstance(found, (Char, Varchar)) and found.length <= promised.length:
        why = f"Spark knows it as {found.simple}"
        return Finding(
            Verdict.PROVED, "PP500", "", field, promised.simple, found.simple, f"{field}: {why}", evidence=why
        )
    counted = _find_count(facts, facts.too_long, path) if facts is not None else None
    if facts is None or counted is None:
        message = f"{field}: promised {promised.simple}, found {found.simple}; no value's length was counted yet"
        return Finding(Verdict.UNPROVED, "PP500", "", field, promised.simple, found.simple, message)
    return judge_counted_length(field, promised.simple, counted, facts)


def judge_counted_length(field: str, promised: str, counted: int, facts: Facts) -> Finding:
    """The verdict on a promised length from a count of longer values."""
    if counted:
        longer = format_count(counted, "longer value")
        message = f"{field}: promised {promised}, and {longer} in {format_rows(facts)}, counted in {facts.source}"
        return Finding(Verdict.VIOLATED, "PP500", "", field, promised, longer, message)
    why = f"0 longer values in {format_rows(facts)}, counted in {facts.source}"
    return Finding(Verdict.PROVED, "PP500", "", field, promised, promised, f"{field}: {why}", evidence=why)


def _judge_nullability(
    promised: PhysicalField,
    found: PhysicalField,
    evidence: Mapping[str, str],
    facts: Facts | None,
    doubts: Mapping[str, str],
) -> Iterator[Finding]:
    given = {p.path: p.nullable for p in nested_fields(PhysicalSchema((found,)))}
    for field in nested_fields(PhysicalSchema((promised,))):
        if field.promises and field.path in given:
            yield _judge_not_null(field.path, given[field.path], evidence, facts, doubts)


def _judge_not_null(
    path: Path, nullable: bool, evidence: Mapping[str, str], facts: Facts | None, doubts: Mapping[str, str]
) -> Finding:
    field = join_path(path)
    why = evidence.get(field)
    counted = _find_count(facts, facts.nulls, path) if facts is not None else None
    if facts is not None and counted is not None and (counted or not why):
        # A count overrules evidence: the promise is about the data.
        return judge_counted_nulls(field, counted, facts)
    if why:
        message = f"{field} holds no null: {why}"
        return Finding(Verdict.PROVED, "PP505", "", field, "NOT NULL", "NOT NULL", message, evidence=why)
    flag = "nullable" if nullable else "NOT NULL by a flag that nothing supports"
    doubt = doubts.get(path[0])
    message = f"{field}: promised NOT NULL, found {flag}; {doubt or 'nothing proves it yet'}"
    return Finding(Verdict.UNPROVED, "PP506", "", field, "NOT NULL", flag, message)


def _find_count(facts: Facts, counts: Mapping[Path, int], path: Path) -> int | None:
    return 0 if facts.rows == 0 else counts.get(path)


def judge_counted_nulls(field: str, counted: int, facts: Facts) -> Finding:
    """The verdict on a promised NOT NULL from a count of nulls."""
    if counted:
        nulls, were = format_count(counted, "null"), "was" if counted == 1 else "were"
        message = f"{field}: promised NOT NULL, and {nulls} {were} counted in {format_rows(facts)} ({facts.source})"
        return Finding(Verdict.VIOLATED, "PP505", "", field, "NOT NULL", nulls, message)
    why = f"0 nulls in {format_rows(facts)}, counted in {facts.source}"
    return Finding(Verdict.PROVED, "PP505", "", field, "NOT NULL", "0 nulls", f"{field}: {why}", evidence=why)


def format_rows(facts: Facts) -> str:
    """`3 rows`; `all rows` where their number is not known."""
    return format_count(facts.rows, "row") if facts.rows is not None else "all rows"


def _place_finding(finding: Finding, plane: str, locate: Locate) -> Finding:
    column = split_name(finding.field)[0] if finding.field else None
    return replace(finding, plane=plane, origin=locate(column) if column else None)
