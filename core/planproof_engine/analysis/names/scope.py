"""What a name can mean: the columns of a query block, the lambda variables around an expression, the enclosing query.

Source: `AttributeSeq.resolve`, `ResolveLambdaVariables`, `ColumnResolutionHelper`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from planproof_engine.conf import Conf
from planproof_engine.expr import (
    Alias,
    Call,
    Column,
    Expr,
    GetField,
    GetFieldOfElements,
    Literal,
    Outer,
    Variable,
    fresh_id,
)
from planproof_engine.expr.function import Mismatch
from planproof_engine.expr.pretty import pretty
from planproof_engine.functions.bind import apply, cast_unless_same, check_cast
from planproof_engine.functions.registry import Registry
from planproof_engine.origin import AnalysisError, Origin, Unknown
from planproof_engine.records import evolve, record
from planproof_engine.types import STRING, VARIANT, VOID, Array, DataType, Map, Struct, is_string
from planproof_engine.types.nodes import quote_if_needed


@dataclass(slots=True)
class Scope:
    """The columns that expressions of one query block may name.

    `hidden` are columns that a name reaches only where no other column has it (the other side's keys of a USING join,
    what a generator of the same SELECT makes, the items under HAVING, the input under QUALIFY). `outer` is the scope of
    the enclosing query; a column found there is correlated. `aggregated` says that the enclosing query's aggregates can
    be named from a subquery (in HAVING). `suggests`: an error may be shown, which then names similar columns.
    """

    columns: tuple[Column, ...]
    hidden: tuple[Column, ...] = ()
    outer: Scope | None = None
    case_sensitive: bool = False
    aggregated: bool = False
    suggests: bool = True
    _by_name: dict[str, list[Column]] = field(init=False)
    _hidden_by_name: dict[str, list[Column]] = field(init=False)
    _alone: Scope | None = field(init=False, default=None)

    def __post_init__(self) -> None:
        self._by_name = self._index_by_name(self.columns)
        self._hidden_by_name = self._index_by_name(self.hidden)

    def _index_by_name(self, columns: Iterable[Column]) -> dict[str, list[Column]]:
        found: dict[str, list[Column]] = {}
        for column in columns:
            name = column.name if self.case_sensitive else column.name.lower()
            if name in found:
                found[name].append(column)
            else:
                found[name] = [column]
        return found

    def key(self, name: str) -> str:
        return name if self.case_sensitive else name.lower()

    def find_first(self, name: str) -> Column | None:
        """The first column of the name, of whatever relation."""
        return next(iter(self._by_name.get(self.key(name), ())), None)

    def drop_outer(self) -> Scope:
        """The scope without the query around it."""
        if self.outer is None:
            return self
        if self._alone is None:
            self._alone = Scope(self.columns, self.hidden, None, self.case_sensitive, self.aggregated)
        return self._alone

    def find_matches(self, parts: Sequence[str]) -> tuple[list[Column], tuple[str, ...]]:
        """The columns that `parts` may name, and the parts left over as nested fields."""
        found = self._find_matches(parts, self._by_name)
        return found if found[0] else self._find_matches(parts, self._hidden_by_name)

    def _find_matches(
        self, parts: Sequence[str], index: dict[str, list[Column]]
    ) -> tuple[list[Column], tuple[str, ...]]:
        # The longest qualifier wins: catalog.schema.table.column, then down to a bare column.
        for width in range(min(3, len(parts) - 1), 0, -1):
            wanted = [self.key(p) for p in parts[:width]]
            found = [
                c
                for c in index.get(self.key(parts[width]), ())
                if len(c.qualifier) >= width and [self.key(q) for q in c.qualifier[-width:]] == wanted
            ]
            if found:
                return _drop_repeated(found), tuple(parts[width + 1 :])
        return _drop_repeated(index.get(self.key(parts[0]), ())), tuple(parts[1:])

    def find_qualified(self, parts: Sequence[str]) -> tuple[Column, ...]:
        """The columns of `parts.*`: those whose qualifier ends in `parts`, hidden ones included."""
        wanted = tuple(self.key(p) for p in parts)
        return tuple(
            c
            for c in (*self.hidden, *self.columns)
            if len(c.qualifier) >= len(wanted) and tuple(self.key(q) for q in c.qualifier[-len(wanted) :]) == wanted
        )

    def list_candidates(self, parts: Sequence[str]) -> list[str]:
        """The names of the columns, the most similar ones first, as Spark suggests them."""
        spelled = [(*c.qualifier, c.name) for c in self.columns] if self.suggests else []
        shared = next((n for n in (1, 2) if len(parts) <= n and len({s[:-n] for s in spelled}) == 1), 0)
        named = {".".join(f"`{p}`" for p in s[-shared:]): s[-1] for s in spelled}
        edits = _measure_edits(".".join(parts))
        return sorted(named, key=lambda text: (edits(text), named[text]))[:5]


def _measure_edits(wanted: str) -> Callable[[str], int]:
    """How many letters must be added, dropped or changed to turn a text into `wanted` (Levenshtein).

    Myers, "A fast bit-vector algorithm for approximate string matching": one number holds a column of the table, by two
    bits for each letter of `wanted`. A query of thousands of wrong names is compared with each column of its tables.
    """
    ones, top = (1 << len(wanted)) - 1, 1 << len(wanted) >> 1
    places: dict[str, int] = {}
    for at, letter in enumerate(wanted):
        places[letter] = places.get(letter, 0) | 1 << at

    def measure(text: str) -> int:
        if not wanted:
            return len(text)
        more, less, edits = ones, 0, len(wanted)
        for letter in text:
            same = places.get(letter, 0)
            both = same | less
            same = (((same & more) + more) ^ more) | same
            up, down = less | ~(same | more), more & same
            edits += bool(up & top) - bool(down & top)
            up, down = up << 1 | 1, down << 1
            more, less = (down | ~(both | up)) & ones, up & both
        return edits

    return measure


def _drop_repeated(columns: Sequence[Column]) -> list[Column]:
    return list(dict.fromkeys(columns)) if len(columns) > 1 else [*columns]


def make_empty_scope(outer: Scope | None, conf: Conf) -> Scope:
    """A scope without columns, inside of `outer`."""
    return Scope((), (), outer, conf.case_sensitive)


@record(frozen=True, slots=True)
class LambdaScope:
    """The parameters of one lambda, and of the lambdas around it. They shadow columns and outer parameters."""

    variables: dict[str, Variable]
    outer: LambdaScope | None = None

    def find(self, key: str) -> Variable | None:
        found = self.variables.get(key)
        return found if found is not None or self.outer is None else self.outer.find(key)


def resolve(
    parts: Sequence[str], scope: Scope, conf: Conf, registry: Registry, origin: Origin | None = None
) -> tuple[Expr, Column] | None:
    """What a dotted name means in the scope or in the query around it: the expression, and the column that it reads.

    Spark looks into the query right around, and no further. None where nothing has the name; raises `AnalysisError`
    where several columns have it, or a field does not exist.
    """
    found, rest = scope.find_matches(parts)
    if len(found) > 1:
        raise make_ambiguous_error(parts, found, origin)
    if found:
        column, written = found[0], parts[len(parts) - len(rest) - 1]
        if column.name != written:
            column = evolve(column, name=written)
        return extract_fields(column, rest, conf, registry, origin), column
    if scope.outer is None:
        return None
    try:
        correlated = resolve(parts, scope.outer.drop_outer(), conf, registry, origin)
    except AnalysisError:
        return None  # Whatever is wrong with the name there, Spark says that it found none (`resolveOuterReferences`).
    if correlated is None:
        return None
    return mark_outer(correlated[0]), correlated[1]


def mark_outer(expr: Expr) -> Expr:
    """The expression with its columns marked as the enclosing query's."""
    if isinstance(expr, Column):
        return Outer(expr)
    if isinstance(expr, (GetField, GetFieldOfElements)):
        return evolve(expr, child=mark_outer(expr.child))
    if isinstance(expr, Call):
        return evolve(expr, args=tuple(mark_outer(a) for a in expr.args))
    return expr


def make_ambiguous_error(parts: Sequence[str], found: Sequence[Column], origin: Origin | None = None) -> AnalysisError:
    """The error for a name that several columns have, all of them listed."""
    name = ".".join(f"`{p}`" for p in parts)
    options = ", ".join(sorted(".".join(f"`{q}`" for q in (*c.qualifier, c.name)) for c in found))
    return AnalysisError("AMBIGUOUS_REFERENCE", f"Reference {name} is ambiguous, could be: [{options}].", origin)


def extract_fields(
    expr: Expr, names: Sequence[str], conf: Conf, registry: Registry, origin: Origin | None = None
) -> Expr:
    """`expr.a.b`, through structs, arrays of structs and maps (`ExtractValue`)."""
    for name in names:
        expr = extract(expr, name, conf, registry, origin)
        if isinstance(expr, Alias):
            expr = expr.child  # A path has the name of its last part.
    return expr


def extract(expr: Expr, name: str, conf: Conf, registry: Registry, origin: Origin | None = None) -> Expr:
    """`expr.name`: a struct's field, the field of each element, or a map's value. Raises `AnalysisError`."""
    given = expr.type
    if isinstance(given, Struct):
        at = ordinal(given, name, conf, origin)
        found = given.fields[at]
        return GetField(expr, at, found.type, expr.nullable or found.nullable, name)
    if isinstance(given, Array) and isinstance(given.element, Struct):
        at = ordinal(given.element, name, conf, origin)
        found = given.element.fields[at]
        # `GetArrayStructFields.containsNull`: a null struct or a null field makes a null element.
        data_type = Array(found.type, given.contains_null or found.nullable)
        return GetFieldOfElements(expr, at, found.name, data_type, expr.nullable)
    if isinstance(given, Map):
        return extract_item(expr, _make_key(name, given, conf, origin), conf, registry, origin)
    if isinstance(given, Array):
        return extract_item(expr, _make_text(name), conf, registry, origin)
    if given == VOID and not conf.before("4.1"):
        return _extract_from_null(expr, _make_text(name), conf)
    raise AnalysisError(
        "INVALID_EXTRACT_BASE_FIELD_TYPE",
        f'Can\'t extract a value from "{quote_if_needed(name)}". Need a complex type [STRUCT, ARRAY, MAP] '
        f'but got "{given.sql}".',
        origin,
    )


def _extract_from_null(expr: Expr, key: Expr, conf: Conf) -> Expr:
    """A part of NULL is NULL in Spark 4.2 (`ExtractValue.applyOrNull`), under the name of the part. Spark 4.0 rejects
    it; of 4.1 it is not known."""
    if conf.before("4.2"):
        raise Unknown("a part of NULL")
    return Alias(Literal(None, VOID, "NULL"), f"{pretty(expr)}[{pretty(key)}]", fresh_id(), explicit=False)


def _make_key(name: str, given: Map, conf: Conf, origin: Origin | None) -> Expr:
    """The name as a key of the map: since 4.0 Spark casts it to the keys' type, whatever casts are implicit."""
    if conf.before("4.0"):
        return _make_text(name)
    refused = check_cast(STRING, given.key, "ansi" if conf.ansi else "legacy")
    if refused is not None:
        raise AnalysisError(refused.full_condition, refused.message, origin)
    return cast_unless_same(_make_text(name), given.key, conf)


def _make_text(name: str) -> Expr:
    return Literal(name, STRING, name)


def _has_names(given: DataType) -> bool:
    """Whether its parts are named: a struct, or an array of some."""
    return isinstance(given.element if isinstance(given, Array) else given, Struct)


def extract_item(expr: Expr, key: Expr, conf: Conf, registry: Registry, origin: Origin | None = None) -> Expr:
    """`expr[key]` of an array, a map or a struct."""
    given: DataType = expr.type
    text = key.value if isinstance(key, Literal) and is_string(key.type) else None
    if text is not None and _has_names(given):
        return extract(expr, text, conf, registry, origin)
    if text is not None and isinstance(given, Map) and not is_string(given.key):
        key = _make_key(text, given, conf, origin)
    if isinstance(given, Struct):
        raise AnalysisError("INVALID_EXTRACT_FIELD_TYPE", "The field name must be a non-null string literal.", origin)
    name = "getarrayitem" if isinstance(given, Array) else "getmapvalue" if isinstance(given, Map) else None
    function = registry.find(name) if name else None
    if function is None or given == VARIANT:
        if given == VOID and not conf.before("4.1"):
            return _extract_from_null(expr, key, conf)
        raise AnalysisError(
            "INVALID_EXTRACT_BASE_FIELD_TYPE",
            f'Can\'t extract a value from "{given.sql}". Need a complex type [STRUCT, ARRAY, MAP].',
            origin,
        )
    try:
        return apply(function, (expr, key), conf)
    except Mismatch as mismatch:
        raise AnalysisError(mismatch.full_condition, mismatch.message, origin) from None


_Places = Mapping[str, Sequence[int]]
_last: list[tuple[Struct, bool, _Places]] = []
"""The struct that was looked into last. A query that reads all fields of one of thousands looks at them once."""


def _find_places(struct: Struct, case_sensitive: bool) -> _Places:
    """The places of a struct's fields, by their names."""
    for known, sensitive, places in _last[-1:]:
        if known is struct and sensitive is case_sensitive:
            return places
    found: dict[str, list[int]] = {}
    for at, name in enumerate(struct.names):
        found.setdefault(name if case_sensitive else name.lower(), []).append(at)
    _last[:] = [(struct, case_sensitive, found)]
    return found


def ordinal(struct: Struct, name: str, conf: Conf, origin: Origin | None = None) -> int:
    """The place of the struct's field of that name. Raises `AnalysisError` for none, or for several."""
    wanted = name if conf.case_sensitive else name.lower()
    found = _find_places(struct, conf.case_sensitive).get(wanted, ())
    if len(found) == 1:
        return found[0]
    if found:
        raise AnalysisError("AMBIGUOUS_REFERENCE_TO_FIELDS", f"Ambiguous reference to the field `{name}`.", origin)
    fields = ", ".join(f"`{f}`" for f in struct.names)
    raise AnalysisError("FIELD_NOT_FOUND", f"No such struct field `{name}` in {fields}.", origin)


_FIRST_NAME = re.compile(r"`(?:[^`]|``)*`|\w+")


def place_variable(variable: Variable, span: tuple[int, int], text: str) -> Variable:
    """The variable with the place of its name: the first part of the dotted name at `span`."""
    name = _FIRST_NAME.match(text, span[0]) if span[0] >= 0 else None
    return variable if name is None else evolve(variable, span=name.span())
