"""Reads only the fields that lambdas use of an array's structs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from planproof_engine import types as dt
from planproof_engine.expr import Call, Column, Expr, GetField, GetFieldOfElements, Lambda, Variable, get_field
from planproof_engine.expr.function import Mismatch
from planproof_engine.functions.bind import apply
from planproof_engine.functions.registry import Registry
from planproof_engine.ground import Conf, evolve, record
from planproof_engine.logical.nodes import Plan, Scan
from planproof_engine.logical.rewrite import map_expressions
from planproof_engine.optimizer.accesses import Accesses, ArrayRef, Site, keeps_elements
from planproof_engine.optimizer.element_paths import Ordinals, drop_longer, find_path, uses_itself
from planproof_engine.optimizer.laws import weigh_type
from planproof_engine.optimizer.retype import fits, retype, substitute

_WORTH, _WORTH_ZIPPED = 3, 4
"""How much more than what is read the elements must hold. A path is read by a loop of its own, and zipping fields again
costs more (`tests/benchmarks/lambdas.py --tried`)."""


def prune_fields(plan: Plan, conf: Conf, registry: Registry) -> Plan:
    """Lambdas over an array of structs get the fields that they read, so that Parquet reads no others.

    >>> from one_rule import rewrite_example
    >>> rewrite_example(prune_fields, "aggregate(items, 0D, (a, i) -> a + i.price * i.qty)")
    'aggregate(arrays_zip(items.`qty`, items.`price`), 0D, (a, i) -> a + i.price * i.qty)'
    >>> rewrite_example(prune_fields, "exists(filter(items, i -> i.qty > 1), i -> i.qty = 7)")
    'exists(filter(items.`qty`, i -> i > 1), i -> i = 7)'

    Only when

    - each lambda uses the element through its fields alone: a NULL element and one of NULL fields look alike then;
    - no flag changes: `arrays_zip` makes every field nullable;
    - nor one of a lambda inside, over an array that is made of fields;
    - the names of the fields differ, ignoring case (else the structs that hold them are taken whole);
    - no struct names a field after it: `struct(i.price)` has a field `price`, `struct(i)` one called `i`;
    - no string has a collation of its own: Spark weighs the strings of the structs, too.

    >>> rewrite_example(prune_fields, "exists(items, i -> i IS NULL)")
    'exists(items, i -> i IS NULL)'

    It pays where the array is a column of a scan or a path in one, nothing else in the query reads it as a whole, Spark
    does not prune it by itself, and the fields that are read are the smaller part of the struct; where several are
    zipped again, a quarter of it at most, and within another array's lambda only where the zipped array can be bound.
    """
    if not _scans_structs(plan):
        return plan
    accesses = accesses_of(plan)
    chosen = select_prunable(accesses)
    while chosen:
        attempt = _Attempt(accesses, chosen, conf, registry)
        found = map_expressions(plan, attempt.rewrite)
        if not attempt.failed:
            return found
        chosen = {ref: paths for ref, paths in chosen.items() if ref not in attempt.failed}
    return plan


def _scans_structs(plan: Plan) -> bool:
    """Whether a scan has an array of structs, or a map of them, at any depth."""
    types = {id(c.type): c.type for node in plan.walk_everywhere() if isinstance(node, Scan) for c in node.output}
    nested = (t for found in types.values() for t in dt.walk(found) if isinstance(t, (dt.Array, dt.Map)))
    return any(isinstance(child, dt.Struct) for t in nested for child in t.children)


def accesses_of(plan: Plan) -> Accesses:
    """What the plan reads of arrays."""
    return Accesses.of(plan, _uses_fields_alone)


def _uses_fields_alone(body: Expr, element: Variable) -> bool:
    return not uses_itself(body, element)


def _differ(names: list[str]) -> bool:
    return len(set(names)) == len(names)


def select_prunable(accesses: Accesses, despite: bool = False) -> dict[ArrayRef, frozenset[Ordinals]]:
    """The refs that are worth it, with all paths that are read of their elements; `despite` what hinders Spark from
    pruning them."""
    zipped = [site for site in accesses.sites if len(drop_longer(site.paths)) > 1]
    again = {site.ref for site in zipped if site.repeated and not site.source.nullable}
    found: dict[ArrayRef, frozenset[Ordinals]] = {}
    for site in accesses.sites:
        if accesses.is_whole(site.ref, despite) or site.ref in found or site.ref in again:
            continue
        struct = _find_element(site.source)
        paths = drop_longer(accesses.fields[site.ref]) or frozenset((_find_smallest(struct),))
        worth = _WORTH_ZIPPED if any(z.ref == site.ref for z in zipped) else _WORTH
        if weigh_type(struct) >= worth * sum(weigh_type(_find_type(struct, path)) for path in paths):
            found[site.ref] = paths
    return found


def _find_element(array: Expr) -> dt.Struct:
    assert isinstance(array.type, dt.Array)
    assert isinstance(array.type.element, dt.Struct)
    return array.type.element


def _find_type(struct: dt.DataType, path: Ordinals) -> dt.DataType:
    for ordinal in path:
        assert isinstance(struct, dt.Struct)
        struct = struct.fields[ordinal].type
    return struct


def _find_smallest(struct: dt.Struct) -> Ordinals:
    return (min(range(len(struct.fields)), key=lambda at: (weigh_type(struct.fields[at].type), at)),)


@dataclass(slots=True)
class _Attempt:
    """One try at pruning the chosen refs; `failed` are those at which a flag would change or names clash."""

    accesses: Accesses
    chosen: Mapping[ArrayRef, frozenset[Ordinals]]
    conf: Conf
    registry: Registry
    failed: set[ArrayRef] = field(default_factory=set)
    calls: dict[int, list[tuple[Site, _Pruned]]] = field(default_factory=dict)
    variables: dict[int, _Pruned] = field(default_factory=dict)
    padded: set[int] = field(default_factory=set)
    made: dict[ArrayRef, _Pruned] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for site in self.accesses.sites:
            if site.ref in self.chosen:
                self._prepare(site)
        for ref, made in self.accesses.made.items():
            if made.site.ref in self.made:
                self.made[ref] = self.made[made.site.ref]
            if ref in self.made:
                for site in self.accesses.over.get(ref, []):
                    self._note(site, evolve(self.made[ref], array=self._rewrite_column(site.source)))

    def _rewrite_column(self, column: Expr) -> Expr:
        """The column with the type that its ref has now."""
        if not isinstance(column, Column):
            return column
        ref = self.accesses.find_array(column)
        if ref is None or ref not in self.made:
            return column
        pruned = self.made[ref]
        array, made = pruned.array.type, self.accesses.made[ref]
        assert isinstance(array, dt.Array)
        if not made.each:
            return evolve(column, type=array)
        return evolve(column, type=array.element, nullable=array.contains_null or made.outer)

    def _prepare(self, site: Site) -> None:
        read = drop_longer(site.paths) or frozenset((min(self.chosen[site.ref], key=len),))
        pruned = self._prune(site, read)
        if pruned is None:
            self.failed.add(site.ref)
            return
        if site.makes is not None:
            self.made[site.makes] = pruned
        self._note(site, pruned)

    def _note(self, site: Site, pruned: _Pruned) -> None:
        self.calls.setdefault(id(site.call), []).append((site, pruned))
        self.variables.update(dict.fromkeys(site.variables, pruned))
        if isinstance(site.call, Call) and site.call.function.name == "zip_with":
            # It pads the shorter array with nulls: its variables are always nullable.
            self.padded.update(v.id for f in site.call.args if isinstance(f, Lambda) for v in f.parameters)

    def _prune(self, site: Site, paths: frozenset[Ordinals]) -> _Pruned | None:
        ordered = tuple(sorted(paths))
        for fields in (ordered, tuple(sorted({p[:1] for p in ordered}))):
            arrays = [_make_field_array(site.source, path) for path in fields]
            names = [a.name.lower() for a in arrays]
            if len(arrays) == 1:
                return _Pruned(site.ref, fields, arrays[0])
            if _differ(names):
                function = self.registry.find("arrays_zip")
                assert function is not None
                zipped = apply(function, arrays, self.conf)
                return _Pruned(site.ref, fields, _drop_names(zipped) if site.unnamed else zipped)
        return None

    def rewrite(self, expr: Expr) -> Expr:
        if self.failed:
            return expr
        try:
            return substitute(expr, self._change, self.conf)
        except Mismatch:
            self.failed.update(self.chosen)
            return expr

    def _change(self, expr: Expr) -> Expr | None:
        sites = self.calls.get(id(expr))
        if sites is not None:
            arrays = {id(site.source): pruned.array for site, pruned in sites}
            is_path = isinstance(expr, (GetField, GetFieldOfElements)) and id(expr) not in arrays
            made = self._rewrite_path(expr, sites[0][1], arrays) if is_path else self._rewrite_call(expr, arrays)
            if sites[0][0].makes is None and not fits(made, expr):
                self.failed.update(pruned.ref for _, pruned in sites)
            return made
        if isinstance(expr, Column):
            made = self._rewrite_column(expr)
            return None if made is expr else made
        if isinstance(expr, Lambda) and any(p.id in self.variables for p in expr.parameters):
            parameters = tuple(self._rewrite_variable(p) for p in expr.parameters)
            return evolve(expr, parameters=parameters, body=substitute(expr.body, self._change, self.conf))
        return self._rewrite_field(expr) if isinstance(expr, GetField) else None

    def _rewrite_path(self, path: Expr, pruned: _Pruned, arrays: Mapping[int, Expr]) -> Expr:
        """A path over what holds pruned elements: a column, or what keeps or takes one of them."""
        ordinals: list[int] = []
        inner = path
        while isinstance(inner, (GetField, GetFieldOfElements)):
            ordinals.insert(0, inner.ordinal)
            inner = inner.child
        made = self._rewrite_call(inner, arrays)
        for ordinal in pruned.find_path(tuple(ordinals)):
            made = get_field(made, ordinal)
        if isinstance(path, (GetField, GetFieldOfElements)) and isinstance(made, (GetField, GetFieldOfElements)):
            return evolve(made, span=path.span)
        return made

    def _rewrite_call(self, call: Expr, arrays: Mapping[int, Expr]) -> Expr:
        """A call over pruned arrays: `arrays` says what stands for each source, by identity."""
        if id(call) in arrays:
            return arrays[id(call)]
        assert isinstance(call, Call)
        return retype(evolve(call, args=tuple(self._rewrite_argument(a, arrays) for a in call.args)), self.conf)

    def _rewrite_argument(self, arg: Expr, arrays: Mapping[int, Expr]) -> Expr:
        """An argument with its source pruned; another call that holds the same object may stay as it is."""
        if id(arg) in arrays or (keeps_elements(arg)):
            return self._rewrite_call(arg, arrays)
        return substitute(arg, self._change, self.conf)

    def _rewrite_variable(self, variable: Variable) -> Variable:
        pruned = self.variables.get(variable.id)
        if pruned is None:
            return variable
        array = pruned.array.type
        assert isinstance(array, dt.Array)
        nullable = array.contains_null or variable.id in self.padded
        return evolve(variable, type=array.element, nullable=nullable)

    def _rewrite_field(self, expr: GetField) -> Expr | None:
        """A path over an element, as a path over the pruned element; the shortest part of it that was kept."""
        inner: Expr = expr
        while isinstance(inner, GetField):
            inner = inner.child
        if not isinstance(inner, Variable) or inner.id not in self.variables:
            return None
        pruned, path = self.variables[inner.id], find_path(expr, inner)
        assert path is not None
        made: Expr = evolve(self._rewrite_variable(inner), span=None)
        for ordinal in pruned.find_path(path):
            made = get_field(made, ordinal)
        span = expr.span
        return evolve(made, span=span) if isinstance(made, GetField) else made


@record(frozen=True, slots=True)
class _Pruned:
    """The array that stands for the source, and the paths over elements of `ref` that its elements' fields were."""

    ref: ArrayRef
    fields: tuple[Ordinals, ...]
    array: Expr

    def find_path(self, path: Ordinals) -> Ordinals:
        """Where a path over the whole element leads in a pruned one."""
        at = next(n for n, kept in enumerate(self.fields) if path[: len(kept)] == kept)
        rest = path[len(self.fields[at]) :]
        return rest if len(self.fields) == 1 else (at, *rest)


def _drop_names(zipped: Expr) -> Expr:
    """arrays_zip as HAVING and ORDER BY read it over an Aggregate: fields are called by their places."""
    assert isinstance(zipped, Call)
    assert isinstance(zipped.type, dt.Array)
    assert isinstance(zipped.type.element, dt.Struct)
    fields = tuple(evolve(f, name=str(at)) for at, f in enumerate(zipped.type.element.fields))
    return evolve(zipped, type=evolve(zipped.type, element=dt.Struct(fields)))


def _make_field_array(source: Expr, path: Ordinals) -> GetFieldOfElements:
    """`source.a.b`: the field of each element."""
    for ordinal in path:
        source = get_field(source, ordinal)
    assert isinstance(source, GetFieldOfElements)
    return source
