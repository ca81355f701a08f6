"""How a query reads the arrays of structs that its sources hold: whole, or some fields of their elements.

A place is a scan's column and the fields from it down to an array: `(column id, ordinals)`. A site is a call that reads
an array's elements through their fields alone, such as `exists(filter(items, i -> i.qty > 1), i -> i.tax = 0)`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace

from planproof.expr import (
    Alias,
    Call,
    Column,
    Exists,
    Expr,
    GetField,
    GetFieldOfElements,
    InSubquery,
    Lambda,
    Outer,
    ScalarSubquery,
    Variable,
)
from planproof.functions.signature import Category
from planproof.optimizer import laws
from planproof.plan import nodes as p
from planproof.types import Array, Map, Struct

Path = tuple[int, ...]
Place = tuple[int, Path]

VALUES = -1
"""In a place: the values of a map."""

ELEMENT_OF: dict[str, tuple[tuple[int, int, int], ...]] = {
    "transform": ((0, 1, 0),),
    "filter": ((0, 1, 0),),
    "exists": ((0, 1, 0),),
    "forall": ((0, 1, 0),),
    "aggregate": ((0, 2, 1),),
    "zip_with": ((0, 2, 0), (1, 2, 1)),
}
"""Which parameter of which lambda is an element of which argument: (argument, lambda, parameter)."""
KEEPS = frozenset(("filter", "slice", "reverse"))
"""Functions that give back elements of their first argument, and look at them through their lambda alone."""
_ONE_ELEMENT = frozenset(("getarrayitem", "getmapvalue", "get", "element_at", "try_element_at"))
_COUNTS = frozenset(("size", "cardinality", "array_size"))
_PLAIN = (p.Scan, p.Project, p.Filter, p.Join, p.Aggregate, p.Named, p.Ordered, p.Limit, p.Generate, p.OneRow)


@dataclass(frozen=True, slots=True)
class Site:
    """One call that reads elements of the array `source` through the fields `paths` alone.

    `variables` are the ids of the lambda variables that stand for elements. Where Spark prunes the call by itself,
    `call` is the `source`: nothing is to be rewritten there. `repeated`: it stands in another call's lambda.
    """

    call: Expr
    source: Expr
    place: Place
    paths: frozenset[Path]
    variables: frozenset[int]
    repeated: bool = False


@dataclass(slots=True)
class Accesses:
    """What a plan reads of each place; `whole` are the places that something reads as they are.

    `fields_alone` says whether a lambda's body uses an element through its fields alone. `parted` are the nodes above
    or at a projection that Spark makes of its own (`_computed_before`); `above` and `computed_before` are of the node
    that is read.
    """

    fields_alone: Callable[[Expr, Variable], bool]
    places: dict[int, Place] = field(default_factory=dict)
    whole: set[Place] = field(default_factory=set)
    fields: dict[Place, set[Path]] = field(default_factory=dict)
    sites: list[Site] = field(default_factory=list)
    depth: int = 0
    parted: set[int] = field(default_factory=set)
    computed_before: frozenset[int] = frozenset()
    above: bool = False

    @staticmethod
    def of(root: p.Plan, fields_alone: Callable[[Expr, Variable], bool]) -> Accesses:
        found = Accesses(fields_alone)
        found._plan(root)
        return found

    def is_whole(self, place: Place) -> bool:
        """Whether something reads the place, or what it lies in, as a whole."""
        column, path = place
        return any((column, path[:length]) in self.whole for length in range(len(path) + 1))

    def place(self, expr: Expr) -> Place | None:
        """Where a path leads; None for any other expression."""
        if isinstance(expr, Column):
            return self.places.get(expr.id)
        if isinstance(expr, GetField):
            found = self.place(expr.child)
            return None if found is None else (found[0], (*found[1], expr.ordinal))
        if isinstance(expr, Call) and expr.function.name == "map_values":
            found = self.place(expr.args[0])
            return None if found is None else (found[0], (*found[1], VALUES))
        return None

    def _plan(self, root: p.Plan) -> None:
        nodes = list(root.walk())[::-1]
        # All places first: a lateral subquery reads columns of the plan beside it.
        for node in nodes:
            self._learn(node)
        for node in nodes:
            self._read(node)
        self._used_whole(root.output)

    def _learn(self, node: p.Plan) -> None:
        """The places of the columns that the node makes."""
        if isinstance(node, p.Scan) and not node.recursive:
            self.places.update({c.id: (c.id, ()) for c in node.output})
        elif isinstance(node, p.Named):
            known = {o.id: self.places[c.id] for c, o in zip(node.child.output, node.output) if c.id in self.places}
            self.places.update(known)
        elif isinstance(node, p.Project):
            for item in node.items:
                found = self.place(item.child) if isinstance(item, Alias) else None
                if isinstance(item, Alias) and found is not None:
                    self.places[item.id] = found

    def _read(self, node: p.Plan) -> None:
        """What the node's expressions read. A SELECT item that hands a place on reads nothing yet."""
        if not isinstance(node, _PLAIN):
            for child in node.children:
                self._used_whole(child.output)
        self.computed_before = frozenset(id(e) for expr in node.expressions for e in _computed_before(expr))
        self.above = any(id(child) in self.parted for child in node.children)
        if self.above or self.computed_before:
            self.parted.add(id(node))
        for expr in node.expressions:
            handed_on = isinstance(node, p.Project) and self.place(expr.child if isinstance(expr, Alias) else expr)
            if not handed_on:
                self.visit(expr)

    def _used_whole(self, columns: Iterable[Column]) -> None:
        self.whole.update(self.places[c.id] for c in columns if c.id in self.places)

    def visit(self, expr: Expr) -> None:
        """Notes what the expression reads."""
        if id(expr) in self.computed_before:
            others, self.computed_before = self.computed_before, frozenset()
            self.visit(expr)
            self.computed_before = others
        elif isinstance(expr, Lambda):
            self.depth += 1
            self._children(expr)
            self.depth -= 1
        elif isinstance(expr, Outer):
            self._used_whole((expr.column,))
        elif isinstance(expr, ScalarSubquery | Exists | InSubquery):
            around = self.above, self.computed_before
            self._plan(expr.plan)
            self.above, self.computed_before = around
            self._children(expr)
        elif not self._visit_sites(expr):
            found = self.place(expr)
            if found is not None:
                self.whole.add(found)
            else:
                self._children(expr)

    def _children(self, expr: Expr) -> None:
        for child in expr.children:
            self.visit(child)

    def _visit_sites(self, expr: Expr) -> bool:
        """Notes the sites that the expression is, and goes on to what lies between; False where it is none."""
        found = list(self._sites(expr))
        if not found:
            return False
        for site in found:
            self.fields.setdefault(site.place, set()).update(site.paths)
            if self.above or self.computed_before:
                self.whole.add(site.place)
            if site.call is not site.source:
                self.sites.append(site)
        self._beside(expr, {id(s.source) for s in found})
        return True

    def _beside(self, expr: Expr, sources: set[int]) -> None:
        """Visits what stands around the sources of sites: indexes, bodies, accumulators."""
        for child in expr.children:
            if id(child) in sources:
                continue
            inside = isinstance(child, Call | GetField | GetFieldOfElements) and _holds(child, sources)
            (self._beside(child, sources)) if inside else self.visit(child)

    def _sites(self, expr: Expr) -> Iterator[Site]:
        if isinstance(expr, GetField | GetFieldOfElements):
            found = self._path_site(expr)
            if found is not None:
                yield found
        elif isinstance(expr, Call) and expr.function.name in _COUNTS | {"isnull", "isnotnull"}:
            found = self._site(expr, expr.args[0], [], ())
            if found is not None:
                yield found
        elif isinstance(expr, Call) and expr.function.name in ELEMENT_OF and expr.function.name not in KEEPS:
            yield from self._lambda_sites(expr)

    def _lambda_sites(self, call: Call) -> Iterator[Site]:
        for argument, function, parameter in ELEMENT_OF[call.function.name]:
            body = call.args[function]
            assert isinstance(body, Lambda)
            if len(body.parameters) > parameter:
                found = self._site(call, call.args[argument], [(body, body.parameters[parameter])], ())
                if found is not None and call.function.name == "transform" and _spark_follows(call.args[argument]):
                    found = replace(found, call=found.source)
                if found is not None:
                    yield found

    def _path_site(self, expr: GetField | GetFieldOfElements) -> Site | None:
        """`array.field`, `array[0].field`, `map['k'].field` and longer paths, over an array or what filters it."""
        path: list[int] = []
        inner: Expr = expr
        while isinstance(inner, GetField | GetFieldOfElements) and self.place(inner) is None:
            path.insert(0, inner.ordinal)
            inner = inner.child
        if isinstance(expr, GetField):
            if not isinstance(inner, Call) or inner.function.name not in _ONE_ELEMENT:
                return None
            inner = inner.args[0]
        found = self.place(inner) if path and isinstance(inner.type, Map) else None
        if found is not None:
            # Spark prunes the values of a map under a lookup by itself.
            return Site(inner, inner, (found[0], (*found[1], VALUES)), frozenset((tuple(path),)), frozenset())
        return self._site(expr, inner, [], tuple(path)) if path else None

    def _site(self, call: Expr, array: Expr, read: list[tuple[Lambda, Variable]], path: Path) -> Site | None:
        """The site that reads `array`, through the functions that keep its elements down to a place."""
        while isinstance(array, Call) and array.function.name in KEEPS:
            body = array.args[1] if len(array.args) > 1 else None
            if isinstance(body, Lambda):
                read = [*read, (body, body.parameters[0])]
            array = array.args[0]
        place = self.place(array)
        if place is None or not isinstance(array.type, Array) or not isinstance(array.type.element, Struct):
            return None
        paths = {path} if path else set()
        for function, variable in read:
            if not self.fields_alone(function.body, variable):
                return None
            paths |= element_paths(function.body, variable)
        variables = frozenset(v.id for _, v in read)
        # Under a path Spark prunes by itself, through filters and slices as well.
        return Site(array if path else call, array, place, frozenset(paths), variables, self.depth > 0)


_TWICE = ("nullif", "between")


def _computed_before(expr: Expr) -> Iterator[Expr]:
    """What Spark computes in a projection of its own, as it needs the value twice (`RewriteWithExpression`): it prunes
    nothing under what is computed above that."""
    pending = [expr]
    while pending:
        found = pending.pop()
        if isinstance(found, Call) and found.function.name in _TWICE and _grows(found.args[0]):
            yield found.args[0]
        elif not isinstance(found, Lambda):
            pending.extend(found.children)


def _grows(expr: Expr) -> bool:
    aggregated = any(isinstance(e, Call) and e.function.category is Category.AGGREGATE for e in expr.walk())
    return laws.costly(expr) and not aggregated


def _spark_follows(array: Expr) -> bool:
    """Whether Spark prunes under a transform of this by itself: of a path, or of what keeps elements of one."""
    while isinstance(array, Call) and array.function.name in KEEPS:
        array = array.args[0]
    return not isinstance(array, Call) or array.function.name == "map_values"


def _holds(expr: Expr, sources: set[int]) -> bool:
    return any(id(e) in sources for e in expr.walk())


def _top(body: Expr, variable: Variable) -> Iterator[tuple[Expr, Path | None]]:
    """The uses of the variable: the longest paths over it, and it itself (without a path)."""
    pending = [body]
    while pending:
        expr = pending.pop()
        path = path_over(expr, variable)
        if path is not None or expr == variable:
            yield expr, path
        else:
            pending.extend(expr.children)


def uses_itself(body: Expr, variable: Variable) -> bool:
    """Whether the body uses the variable otherwise than through its fields."""
    return any(path is None for _, path in _top(body, variable))


def element_paths(body: Expr, variable: Variable) -> set[Path]:
    """The fields of the variable that the body reads."""
    return {path for _, path in _top(body, variable) if path is not None}


def path_over(expr: Expr, variable: Variable) -> Path | None:
    """The ordinals from the variable to the expression, where it is a path over it."""
    path: list[int] = []
    while isinstance(expr, GetField):
        path.insert(0, expr.ordinal)
        expr = expr.child
    return tuple(path) if path and expr == variable else None
