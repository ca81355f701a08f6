"""Which fields of the arrays of structs in its sources a query reads, so that the others need not be read from disk.

Of `exists(filter(items, i -> i.qty > 1), i -> i.tax = 0)` these are `qty` and `tax`. Spark itself would read all fields
of `items`, for it does not prune through a lambda. The words:

- An *array ref* (`ArrayRef`) names an array: the id of a scan's column and the ordinals of the fields from it down to
  the array. `t.order.items` is `(id of t.order, (2,))` where `items` is the third field.
- A *site* is a call that reads elements of one array through their fields alone, as the `exists` above.
- An array is *read whole* where something uses elements as they are: `to_json(items)`. Nothing is pruned there.
- A column may be *made* of the elements that a query keeps: `filter(items, ..) AS li`, or `explode(items) AS i`. It is
  an array ref of its own, and what reads its fields reads those fields of `items`.

`Accesses.of` walks a plan once to learn which columns are which arrays, and once more to note what is read.
`rules/prune_fields.py` then rewrites the sites that are worth it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain

from planproof_engine import expr as x
from planproof_engine import types as dt
from planproof_engine.expr import Elements
from planproof_engine.ground import evolve, record
from planproof_engine.logical import nodes as p
from planproof_engine.optimizer import is_costly, laws
from planproof_engine.optimizer.element_paths import Ordinals, drop_longer, find_paths

ArrayRef = tuple[int, Ordinals]

VALUES = -1
"""The ordinal in an array ref that stands for the values of a map."""

_PLAIN = (p.Scan, p.Project, p.Filter, p.Join, p.Aggregate, p.Named, p.Ordered, p.Limit, p.Generate, p.OneRow)


@record(frozen=True, slots=True)
class Site:
    """One call that reads elements of the array `source`, and of these the fields `paths` alone.

    `ref` says which array that is. `variables` are the ids of the lambda variables that stand for elements. `followed`:
    Spark prunes there by itself. `repeated`: the call stands in another call's lambda, and runs many times per row.
    `makes`: the array ref of the column that the call's value becomes. `unnamed`: `arrays_zip` takes no field names
    from its arguments there.
    """

    call: x.Expr
    source: x.Expr
    ref: ArrayRef
    paths: frozenset[Ordinals]
    variables: frozenset[int]
    followed: bool = False
    repeated: bool = False
    makes: ArrayRef | None = None
    unnamed: bool = False


@record(frozen=True, slots=True)
class Place:
    """Where an expression stands.

    Spark computes what `nullif` needs twice in a projection of its own below the node (`laws.find_early_operand`), and
    does not prune through that projection. By their identities, `computed_before` are the expressions that it computes
    there, `beside` those of this node that need the projection, and `above` those of nodes below that need one.

    `depth` counts the lambdas around it. `apart`: Spark prunes under no lambda here. `over_groups`: the node is HAVING
    or ORDER BY over an Aggregate; `unnamed`: the expression stands in an aggregate function there.
    """

    computed_before: frozenset[int] = frozenset()
    beside: frozenset[int] = frozenset()
    above: frozenset[int] = frozenset()
    depth: int = 0
    apart: bool = False
    over_groups: bool = False
    unnamed: bool = False

    @classmethod
    def of(cls, node: p.Plan, above: frozenset[int], depth: int) -> Place:
        """The place of a node's own expressions."""
        tops = (expr for expr in _list_tops(node) if type(expr) is not x.Column)
        before = {id(expr): [id(e) for e in _find_early_operands(node, expr)] for expr in tops}
        computed = frozenset(chain.from_iterable(before.values()))
        beside = frozenset(top for top, found in before.items() if found)
        return cls(computed, beside, above, depth, _is_apart(node), _is_over_groups(node))

    @property
    def needing(self) -> frozenset[int]:
        """The expressions for whose sake a projection of Spark's stands below what is read here."""
        return self.above | self.beside if self.computed_before else self.above


@record(frozen=True, slots=True)
class Made:
    """A column that holds elements of another array; `site` is the call that makes it.

    `each`: it holds one element per row, as after `explode`. `outer`: as after `explode_outer`, which gives a null
    element for an empty array.
    """

    ref: ArrayRef
    site: Site
    each: bool = False
    outer: bool = False


@dataclass(slots=True)
class Accesses:
    """What a plan reads of each array.

    What was learned, by column id or array ref:

    - `refs`: the array that a column is; `elements`: the array of which a column holds one element per row;
    - `made`: the columns that the query makes of elements;
    - `whole`: the arrays that something reads whole; `fields`: which fields are read of the others;
    - `sites`: the calls to rewrite, all over arrays of a scan; `over`: the sites over a made column;
    - `hindered`: the arrays that are read above a projection (`Place`), with the expressions that need it.

    `fields_alone` answers whether a lambda's body uses an element through its fields alone.
    """

    fields_alone: Callable[[x.Expr, x.Variable], bool]
    refs: dict[int, ArrayRef] = field(default_factory=dict)
    made: dict[ArrayRef, Made] = field(default_factory=dict)
    elements: dict[int, ArrayRef] = field(default_factory=dict)
    whole: set[ArrayRef] = field(default_factory=set)
    fields: dict[ArrayRef, set[Ordinals]] = field(default_factory=dict)
    sites: list[Site] = field(default_factory=list)
    over: dict[ArrayRef, list[Site]] = field(default_factory=dict)
    hindered: dict[ArrayRef, frozenset[int]] = field(default_factory=dict)

    @staticmethod
    def of(root: p.Plan, fields_alone: Callable[[x.Expr, x.Variable], bool]) -> Accesses:
        found = Accesses(fields_alone)
        found._note_plan(root, depth=0)
        found._hand_on()
        return found

    def is_whole(self, ref: ArrayRef, despite: bool = False) -> bool:
        """Whether Spark reads the array, or a struct around it, whole. With `despite` hindered arrays do not count."""
        column, path = ref
        read = self.whole if despite else self.whole | self.hindered.keys()
        return any((column, path[:length]) in read for length in range(len(path) + 1))

    def find_ref(self, expr: x.Expr) -> ArrayRef | None:
        """The array that a column or a path of fields is; None for any other expression."""
        if isinstance(expr, x.Column):
            return self.refs.get(expr.id)
        if isinstance(expr, x.GetField):
            found = self.find_ref(expr.child)
            return None if found is None else (found[0], (*found[1], expr.ordinal))
        if isinstance(expr, x.Call) and expr.function.name == "map_values":
            found = self.find_ref(expr.args[0])
            return None if found is None else (found[0], (*found[1], VALUES))
        return None

    def _note_plan(self, root: p.Plan, depth: int) -> None:
        """Notes what a plan reads that stands in so many lambdas."""
        nodes = list(root.walk())[::-1]
        # Every column is learned before anything is read: a lateral subquery reads columns of the plan beside it.
        for node in nodes:
            self._learn(node, depth)
        needing: dict[int, frozenset[int]] = {}
        for node in nodes:
            at = Place.of(node, frozenset().union(*(needing[id(child)] for child in node.children)), depth)
            needing[id(node)] = at.needing
            self._read(node, at)
        self._note_whole(root.output)

    def _learn(self, node: p.Plan, depth: int) -> None:
        """Notes which arrays the columns are that the node gives out."""
        if isinstance(node, p.Scan) and not node.recursive:
            self.refs.update({c.id: (c.id, ()) for c in node.output})
        elif isinstance(node, p.Named):
            for known in filter(None, (self.refs, self.elements)):
                known.update({o.id: known[c.id] for c, o in zip(node.child.output, node.output) if c.id in known})
        elif isinstance(node, p.Project):
            for item in node.items:
                if isinstance(item, x.Alias):
                    self._learn_item(item.id, item.child, depth)
        elif isinstance(node, p.Generate) and node.call.function.traits.elements is Elements.EACH:
            self._make(node.generated[-1].id, node.call.args[0], depth, each=True, outer=node.outer)

    def _learn_item(self, column: int, value: x.Expr, depth: int) -> None:
        found = self.find_ref(value)
        if found is not None:
            self.refs[column] = found
        elif isinstance(value, x.Column) and value.id in self.elements:
            self.elements[column] = self.elements[value.id]
        elif keeps_elements(value):
            self._make(column, value, depth)

    def _make(self, column: int, value: x.Expr, depth: int, each: bool = False, outer: bool = False) -> None:
        """Notes the column as an array of its own, where its value keeps elements of another array."""
        site = self._find_site(value, value, [], (), Place(depth=depth))
        if site is None:
            return
        ref = (column, ())
        self.made[ref] = Made(ref, evolve(site, makes=ref), each, outer)
        (self.elements if each else self.refs)[column] = ref

    def _read(self, node: p.Plan, at: Place) -> None:
        """Notes what the node's expressions read. A SELECT item that only hands an array on reads nothing yet."""
        if not isinstance(node, _PLAIN):
            for child in node.children:
                self._note_whole(child.output)
        if isinstance(node, p.Join):
            self._note_whole(c for c in _find_padded(node) if c.id in self.elements)
        for expr in node.expressions:
            made = self.made.get(_own_ref(node, expr))
            if made is not None:
                self._note(made.site, at)
                self._visit_beside(made.site.call, {id(made.site.source)}, at)
            elif not isinstance(node, p.Project) or self.find_array(x.drop_alias(expr)) is None:
                self.visit(expr, at)

    def find_array(self, expr: x.Expr) -> ArrayRef | None:
        """The array that the expression is, or of which it is one element."""
        return (
            self.elements.get(expr.id)
            if isinstance(expr, x.Column) and expr.id in self.elements
            else self.find_ref(expr)
        )

    def _note_whole(self, columns: Iterable[x.Column]) -> None:
        self.whole.update(found for c in columns if (found := self.find_array(c)) is not None)

    def visit(self, expr: x.Expr, at: Place) -> None:
        """Notes what the expression reads."""
        if type(expr) is x.Column:
            self._note_whole((expr,))
        elif id(expr) in at.computed_before:
            self.visit(expr, evolve(at, computed_before=frozenset()))
        elif isinstance(expr, x.Lambda):
            self._visit_children(expr, evolve(at, depth=at.depth + 1))
        elif isinstance(expr, x.Outer):
            self._note_whole((expr.column,))
        elif isinstance(expr, x.Subquery):
            self._note_plan(expr.plan, at.depth)
            self._visit_children(expr, at)
        elif x.is_aggregate(expr):
            self._visit_children(expr, evolve(at, apart=True, unnamed=at.over_groups))
        elif not self._visit_sites(expr, at):
            found = self.find_array(expr)
            if found is not None:
                self.whole.add(found)
            else:
                self._visit_children(expr, at)

    def _visit_children(self, expr: x.Expr, at: Place) -> None:
        for child in expr.children:
            self.visit(child, at)

    def _visit_sites(self, expr: x.Expr, at: Place) -> bool:
        """Notes the sites of the expression, and visits its other parts; False where it is no site."""
        found = list(self._find_sites(expr, at))
        if not found:
            return False
        for site in found:
            self._note(site, at)
            if site.ref not in self.made and not site.followed:
                self.sites.append(site)
        self._visit_beside(expr, {id(s.source) for s in found}, at)
        return True

    def _note(self, site: Site, at: Place) -> None:
        self.fields.setdefault(site.ref, set()).update(site.paths)
        if at.needing:
            self._hinder(site.ref, at.needing)
        if site.ref in self.made:
            self.over.setdefault(site.ref, []).append(site)

    def _hinder(self, ref: ArrayRef, needing: frozenset[int]) -> None:
        self.hindered[ref] = self.hindered.get(ref, frozenset()) | needing

    def _hand_on(self) -> None:
        """Fields that are read of a made column are read of the array that it is made of.

        A CTE that is used twice stands in the plan twice. Its copies share one text and must be pruned alike.
        """
        copies: dict[object, list[Made]] = {}
        for made in self.made.values():
            copies.setdefault(getattr(made.site.call, "span", None) or made.ref, []).append(made)
        is_new = True
        while is_new:
            is_new = sum(map(self._merge_reads, copies.values())) > 0
        for made in self.made.values():
            known = copies[getattr(made.site.call, "span", None) or made.ref]
            if made.site.ref not in self.made and any(map(self._is_worth_it, known)):
                self.sites.append(evolve(made.site, paths=frozenset(self.fields[made.ref] | made.site.paths)))

    def _merge_reads(self, copies: list[Made]) -> bool:
        """Hands on what is read of any copy; whether that told something new."""
        read = frozenset().union(*(self.fields.get(made.ref, ()) for made in copies))
        # Under a plain `explode` of which one field is read Spark prunes by itself.
        plain = all(m.site.call is m.site.source and m.site.ref not in self.made for m in copies)
        followed = plain and len(drop_longer(read)) < 2
        whole = followed or any(self.is_whole(made.ref, despite=True) for made in copies)
        needing = frozenset().union(*(self.hindered.get(made.ref, ()) for made in copies))
        is_new = False
        for ref in (ref for made in copies for ref in (made.ref, made.site.ref)):
            before = len(self.fields.get(ref, ())), len(self.hindered.get(ref, ())), ref in self.whole
            self.fields.setdefault(ref, set()).update(read)
            if needing:
                self._hinder(ref, needing)
            if whole:
                self.whole.add(ref)
            is_new |= before != (len(self.fields[ref]), len(self.hindered.get(ref, ())), ref in self.whole)
        return is_new

    def _is_worth_it(self, made: Made) -> bool:
        """Whether pruning the made column pays. Where only one path or `transform` reads it, Spark prunes itself."""
        read = self.over.get(made.ref, [])
        if made.each or len(read) > 1:
            return True
        return any(self._is_worth_it(self.made[s.makes]) if s.makes is not None else not s.followed for s in read)

    def _visit_beside(self, expr: x.Expr, sources: set[int], at: Place) -> None:
        """Visits the parts of a site beside its array: indexes, lambda bodies, accumulators."""
        if id(expr) in sources:
            return
        for child in expr.children:
            if id(child) in sources:
                continue
            inside = isinstance(child, (x.Call, x.GetField, x.GetFieldOfElements)) and _holds(child, sources)
            (self._visit_beside(child, sources, at)) if inside else self.visit(child, at)

    def _find_sites(self, expr: x.Expr, at: Place) -> Iterator[Site]:
        if isinstance(expr, (x.GetField, x.GetFieldOfElements)):
            found = self._find_path_site(expr, at)
            if found is not None:
                yield found
        elif isinstance(expr, x.Call) and _looks_at_none(expr):
            found = self._find_site(expr, expr.args[0], [], (), at)
            if found is not None:
                yield found
        elif isinstance(expr, x.Call) and not keeps_elements(expr):
            yield from self._find_lambda_sites(expr, at)

    def _find_lambda_sites(self, call: x.Call, at: Place) -> Iterator[Site]:
        loop = call.function.traits.loop
        for argument, function, parameter in () if loop is None else loop.elements:
            body = call.args[function]
            assert isinstance(body, x.Lambda)
            if len(body.parameters) > parameter:
                found = self._find_site(call, call.args[argument], [(body, body.parameters[parameter])], (), at)
                if found is not None:
                    followed = call.function.name == "transform" and _is_pruned_by_spark(call.args[argument])
                    yield evolve(found, followed=followed and not at.apart)

    def _find_path_site(self, expr: x.GetField | x.GetFieldOfElements, at: Place) -> Site | None:
        """`array.field`, `array[0].field`, `map['k'].field` and longer paths, over an array or what filters it."""
        path: list[int] = []
        inner: x.Expr = expr
        while isinstance(inner, (x.GetField, x.GetFieldOfElements)) and self.find_ref(inner) is None:
            path.insert(0, inner.ordinal)
            inner = inner.child
        if isinstance(inner, x.Column) and inner.id in self.elements:
            return Site(expr, inner, self.elements[inner.id], frozenset((tuple(path),)), frozenset(), followed=True)
        loose = False
        if isinstance(expr, x.GetField):
            if not isinstance(inner, x.Call) or inner.function.traits.elements is not Elements.ITEM:
                return None
            loose, inner = not _are_constant(inner.args[1:]), inner.args[0]
        found = self.find_ref(inner) if path and isinstance(inner.type, dt.Map) else None
        if loose and (found is not None or at.depth):
            # In a lambda, the fields of all elements would be taken for each.
            return None
        if found is not None:
            # Spark prunes the values of a map under a lookup by itself.
            paths = frozenset((tuple(path),))
            return Site(expr, inner, (found[0], (*found[1], VALUES)), paths, frozenset(), followed=True)
        return self._find_site(expr, inner, [], tuple(path), at, loose) if path else None

    def _find_site(
        self,
        call: x.Expr,
        array: x.Expr,
        read: list[tuple[x.Lambda, x.Variable]],
        path: Ordinals,
        at: Place,
        loose: bool = False,
    ) -> Site | None:
        """The site of a call that reads `array`, perhaps through `filter` or `slice`; None where it is no site.

        `read` are the lambdas that get elements, with the variable that stands for one; `path` the fields that the
        call itself reads. `loose`: an index is no constant, and Spark does not prune under the path.
        """
        while isinstance(array, x.Call) and keeps_elements(array):
            body = array.args[1] if len(array.args) > 1 else None
            if isinstance(body, x.Lambda):
                read = [*read, (body, body.parameters[0])]
            else:
                loose = loose or not _are_constant(array.args[1:])
            array = array.args[0]
        ref = self.find_ref(array)
        if ref is None or not isinstance(array.type, dt.Array) or not isinstance(array.type.element, dt.Struct):
            return None
        paths = {path} if path else set()
        for function, variable in read:
            if not self.fields_alone(function.body, variable):
                return None
            paths |= find_paths(function.body, variable)
        variables = frozenset(v.id for _, v in read)
        # Under a path Spark prunes by itself, through filters and slices as well.
        followed = bool(path) and not loose and not (read and at.apart)
        return Site(call, array, ref, frozenset(paths), variables, followed, at.depth > 0, unnamed=at.unnamed)


def _is_apart(node: p.Plan) -> bool:
    """Whether Spark prunes under no lambda of the node: it is a generator, a sort, or stands above a join.

    A Filter is not: Spark moves its conditions below the join.
    """
    if isinstance(node, (p.Generate, p.Ordered)):
        return True
    if not isinstance(node, (p.Project, p.Aggregate)):
        return False
    below: p.Plan = node.child
    while isinstance(below, (p.Project, p.Filter, p.Named)):
        below = below.child
    return isinstance(below, p.Join)


def _is_over_groups(node: p.Plan) -> bool:
    while isinstance(node, (p.Filter, p.Ordered)):
        node = node.child
        if isinstance(node, p.Aggregate):
            return True
    return False


def _own_ref(node: p.Plan, expr: x.Expr) -> ArrayRef:
    """The array ref that an expression of the node has as a column of its own."""
    column = node.generated[-1].id if isinstance(node, p.Generate) else expr.id if isinstance(expr, x.Alias) else -1
    return column, ()


def _find_padded(join: p.Join) -> tuple[x.Column, ...]:
    """The columns that hold a null where the join finds no row: their elements no longer have the flags of the
    array's."""
    left = join.left.output if join.kind in (p.RIGHT, p.FULL) else ()
    return left + (join.right.output if join.kind in (p.LEFT, p.FULL) else ())


def _list_tops(node: p.Plan) -> tuple[x.Expr, ...]:
    """The expressions that may need a projection below. What an Aggregate makes of its groups stands above it."""
    return node.groups if isinstance(node, p.Aggregate) else node.expressions


def _find_early_operands(node: p.Plan, expr: x.Expr) -> Iterator[x.Expr]:
    """The operands of `expr` that Spark computes in a projection below the node. Above such a projection it prunes
    nothing. Operands of filters and joins that are cheap are left out: Spark moves them further down."""
    operands = (call.args[0] for call in laws.find_early_calls(expr))
    return (o for o in operands if isinstance(node, p.Project) or any(map(is_costly, o.walk())))


def keeps_elements(expr: x.Expr) -> bool:
    """Whether the call gives back elements of its first argument, and looks at them through its lambda alone."""
    return isinstance(expr, x.Call) and expr.function.traits.elements is Elements.KEEPS


def _looks_at_none(call: x.Call) -> bool:
    return call.function.traits.elements is Elements.COUNT or call.function.name in ("isnull", "isnotnull")


def _is_pruned_by_spark(array: x.Expr) -> bool:
    """Whether Spark prunes under a transform of this by itself: of a path, or of what keeps elements of one."""
    while isinstance(array, x.Call) and keeps_elements(array):
        if array.function.name == "slice" and not _are_constant(array.args[1:]):
            return False
        array = array.args[0]
    return not isinstance(array, x.Call) or array.function.name == "map_values"


def _are_constant(exprs: Sequence[x.Expr]) -> bool:
    return not any(e.holds(x.Column, x.Outer, x.Variable, x.Lambda, x.ScalarSubquery) for e in exprs)


def _holds(expr: x.Expr, sources: set[int]) -> bool:
    return any(id(e) in sources for e in expr.walk())
