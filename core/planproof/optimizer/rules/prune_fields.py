"""Reads only the fields that lambdas use of an array's structs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from planproof.conf import Conf
from planproof.expr import Call, Expr, GetField, GetFieldOfElements, Lambda, Variable
from planproof.functions.bind import apply
from planproof.functions.registry import Registry
from planproof.functions.signature import Mismatch
from planproof.optimizer.accesses import KEEPS, Accesses, Path, Place, Site, path_over, uses_itself
from planproof.optimizer.condition import NAMES_KEPT, PLAIN_STRINGS, VARIABLES_KEPT, Condition
from planproof.optimizer.retype import derived, fits, substituted
from planproof.plan.nodes import Plan
from planproof.plan.rewrite import map_expressions
from planproof.types import Array, DataType, Decimal, Map, String, Struct

_WORTH, _WORTH_ZIPPED = 3, 4
"""How much more than what is read the elements must hold. A path is read by a loop of its own, and zipping fields again
costs more (`tests/benchmarks/lambdas.py --tried`)."""


CONDITIONS = (
    Condition("through its fields alone", "_fields_alone", True),
    Condition("no flag changes", "_keeps_flags", True),
    VARIABLES_KEPT,
    Condition("the names of the fields differ", "_differ", True),
    NAMES_KEPT,
    PLAIN_STRINGS,
)


def prune_fields(plan: Plan, conf: Conf, registry: Registry) -> Plan:
    """Lambdas over an array of structs get the fields that they read, so that Parquet reads no others.

    >>> from planproof.optimizer.example import rewritten
    >>> rewritten(prune_fields, "aggregate(items, 0D, (a, i) -> a + i.price * i.qty)")
    'aggregate(arrays_zip(items.`qty`, items.`price`), 0D, (a, i) -> a + i.price * i.qty)'
    >>> rewritten(prune_fields, "exists(filter(items, i -> i.qty > 1), i -> i.qty = 7)")
    'exists(filter(items.`qty`, i -> i > 1), i -> i = 7)'

    Only when

    - each lambda uses the element through its fields alone: a NULL element and one of NULL fields look alike then;
    - no flag changes: `arrays_zip` makes every field nullable;
    - nor one of a lambda inside, over an array that is made of fields;
    - the names of the fields differ, ignoring case (else the structs that hold them are taken whole);
    - no struct names a field after it: `struct(i.price)` has a field `price`, `struct(i)` one called `i`;
    - no string has a collation of its own: Spark weighs the strings of the structs, too.

    >>> rewritten(prune_fields, "exists(items, i -> i IS NULL)")
    'exists(items, i -> i IS NULL)'

    It pays where the array is a column of a scan or a path in one, nothing else in the query reads it as a whole, Spark
    does not prune it by itself, and the fields that are read are the smaller part of the struct; where several are
    zipped again, a quarter of it at most, and within another array's lambda only where the zipped array can be bound.
    """
    accesses = Accesses.of(plan, _fields_alone)
    chosen = _chosen(accesses)
    while chosen:
        attempt = _Attempt(accesses, chosen, conf, registry)
        found = map_expressions(plan, attempt.rewritten)
        if not attempt.failed:
            return found
        chosen = {place: paths for place, paths in chosen.items() if place not in attempt.failed}
    return plan


def _fields_alone(body: Expr, element: Variable) -> bool:
    return not uses_itself(body, element)


def _keeps_flags(new: Expr, old: Expr) -> bool:
    return fits(new, old)


def _differ(names: list[str]) -> bool:
    return len(set(names)) == len(names)


def _chosen(accesses: Accesses) -> dict[Place, frozenset[Path]]:
    """The places that are worth it, with all paths that are read of their elements."""
    zipped = [site for site in accesses.sites if site.call is not site.source and len(without_longer(site.paths)) > 1]
    again = {site.place for site in zipped if site.repeated and not site.source.nullable}
    found: dict[Place, frozenset[Path]] = {}
    for site in accesses.sites:
        if accesses.is_whole(site.place) or site.place in found or site.place in again:
            continue
        struct = _element(site.source)
        paths = without_longer(accesses.fields[site.place]) or frozenset((_smallest(struct),))
        worth = _WORTH_ZIPPED if any(z.place == site.place for z in zipped) else _WORTH
        if _weight(struct) >= worth * sum(_weight(_at(struct, path)) for path in paths):
            found[site.place] = paths
    return found


def without_longer(paths: set[Path] | frozenset[Path]) -> frozenset[Path]:
    """The paths without those that another one leads to already."""
    return frozenset(p for p in paths if not any(p[:n] in paths for n in range(1, len(p))))


def _element(array: Expr) -> Struct:
    assert isinstance(array.type, Array)
    assert isinstance(array.type.element, Struct)
    return array.type.element


def _at(struct: DataType, path: Path) -> DataType:
    for ordinal in path:
        assert isinstance(struct, Struct)
        struct = struct.fields[ordinal].type
    return struct


def _weight(data_type: DataType) -> int:
    """About how much of a file the values of a type take, in numbers."""
    if isinstance(data_type, Struct):
        return sum(_weight(f.type) for f in data_type.fields)
    if isinstance(data_type, Array | Map):
        return 3 * sum(_weight(child) for child in data_type.children)
    if isinstance(data_type, Decimal):
        return 1 if data_type.precision <= 18 else 2
    return 2 if isinstance(data_type, String) or data_type.simple in ("binary", "variant") else 1


def _smallest(struct: Struct) -> Path:
    return (min(range(len(struct.fields)), key=lambda at: (_weight(struct.fields[at].type), at)),)


@dataclass(slots=True)
class _Attempt:
    """One try at pruning the chosen places; `failed` are those at which a flag would change or names clash."""

    accesses: Accesses
    chosen: Mapping[Place, frozenset[Path]]
    conf: Conf
    registry: Registry
    failed: set[Place] = field(default_factory=set)
    calls: dict[int, list[Site]] = field(default_factory=dict)
    sources: dict[int, Expr] = field(default_factory=dict)
    variables: dict[int, _Pruned] = field(default_factory=dict)
    padded: set[int] = field(default_factory=set)

    def __post_init__(self) -> None:
        for site in self.accesses.sites:
            if site.place in self.chosen:
                self._prepare(site)

    def _prepare(self, site: Site) -> None:
        read = without_longer(site.paths) or frozenset((min(self.chosen[site.place], key=len),))
        pruned = self._pruned(site.source, read)
        if pruned is None:
            self.failed.add(site.place)
            return
        self.calls.setdefault(id(site.call), []).append(site)
        self.sources[id(site.source)] = pruned.array
        self.variables.update(dict.fromkeys(site.variables, pruned))
        if isinstance(site.call, Call) and site.call.function.name == "zip_with":
            # It pads the shorter array with nulls: its variables are always nullable.
            self.padded.update(v.id for f in site.call.args if isinstance(f, Lambda) for v in f.parameters)

    def _pruned(self, source: Expr, paths: frozenset[Path]) -> _Pruned | None:
        ordered = tuple(sorted(paths))
        for fields in (ordered, tuple(sorted({p[:1] for p in ordered}))):
            arrays = [_field_array(source, path) for path in fields]
            names = [a.name.lower() for a in arrays]
            if len(arrays) == 1:
                return _Pruned(fields, arrays[0])
            if _differ(names):
                function = self.registry.find("arrays_zip")
                assert function is not None
                return _Pruned(fields, apply(function, arrays, self.conf))
        return None

    def rewritten(self, expr: Expr) -> Expr:
        if self.failed:
            return expr
        try:
            return substituted(expr, self._change, self.conf)
        except Mismatch:
            self.failed.update(self.chosen)
            return expr

    def _change(self, expr: Expr) -> Expr | None:
        sites = self.calls.get(id(expr))
        if sites is not None:
            made = self._call(expr)
            if not _keeps_flags(made, expr):
                self.failed.update(s.place for s in sites)
            return made
        if isinstance(expr, Lambda) and any(p.id in self.variables for p in expr.parameters):
            parameters = tuple(self._variable(p) for p in expr.parameters)
            return replace(expr, parameters=parameters, body=substituted(expr.body, self._change, self.conf))
        return self._field(expr) if isinstance(expr, GetField) else None

    def _call(self, call: Expr) -> Expr:
        """The site's call over the pruned array."""
        assert isinstance(call, Call)
        sources = {id(site.source) for site in self.calls[id(call)]}
        return derived(replace(call, args=tuple(self._argument(a, sources) for a in call.args)), self.conf)

    def _argument(self, arg: Expr, sources: set[int]) -> Expr:
        """An argument with its source pruned; another call that holds the same object may stay as it is."""
        if id(arg) in sources:
            return self.sources[id(arg)]
        if isinstance(arg, Call) and arg.function.name in KEEPS:
            first, *rest = arg.args
            args = (self._argument(first, sources), *(substituted(a, self._change, self.conf) for a in rest))
            return derived(replace(arg, args=args), self.conf)
        return substituted(arg, self._change, self.conf)

    def _variable(self, variable: Variable) -> Variable:
        pruned = self.variables.get(variable.id)
        if pruned is None:
            return variable
        array = pruned.array.type
        assert isinstance(array, Array)
        nullable = array.contains_null or variable.id in self.padded
        return replace(variable, type=array.element, nullable=nullable)

    def _field(self, expr: GetField) -> Expr | None:
        """A path over an element, as a path over the pruned element; the shortest part of it that was kept."""
        inner: Expr = expr
        while isinstance(inner, GetField):
            inner = inner.child
        if not isinstance(inner, Variable) or inner.id not in self.variables:
            return None
        pruned, path = self.variables[inner.id], path_over(expr, inner)
        assert path is not None
        made: Expr = replace(self._variable(inner), span=None)
        for ordinal in pruned.within(path):
            made = _step(made, ordinal)
        span = expr.span
        return replace(made, span=span) if isinstance(made, GetField) else made


@dataclass(frozen=True, slots=True)
class _Pruned:
    """The array that stands for the source, and the paths that its elements' fields were."""

    fields: tuple[Path, ...]
    array: Expr

    def within(self, path: Path) -> Path:
        """Where a path over the whole element leads in a pruned one."""
        at = next(n for n, kept in enumerate(self.fields) if path[: len(kept)] == kept)
        rest = path[len(self.fields[at]) :]
        return rest if len(self.fields) == 1 else (at, *rest)


def _field_array(source: Expr, path: Path) -> GetFieldOfElements:
    """`source.a.b`: the field of each element."""
    for ordinal in path:
        source = _step(source, ordinal)
    assert isinstance(source, GetFieldOfElements)
    return source


def _step(expr: Expr, ordinal: int) -> Expr:
    """One field further: of a struct, or of each struct of an array."""
    given = expr.type
    if isinstance(given, Struct):
        found = given.fields[ordinal]
        return GetField(expr, ordinal, found.type, expr.nullable or found.nullable)
    assert isinstance(given, Array)
    assert isinstance(given.element, Struct)
    found = given.element.fields[ordinal]
    return GetFieldOfElements(
        expr, ordinal, found.name, Array(found.type, given.contains_null or found.nullable), expr.nullable
    )
