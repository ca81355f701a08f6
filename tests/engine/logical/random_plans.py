"""Random plans: hypothesis strategies over the node types of plans and expressions.

A node is made the way analysis makes it: functions are applied with Spark's coercions, set operations cast their sides,
a lambda's variables get their types from its function. What does not fit falls back to a column, so that every draw
gives a plan.
"""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from hypothesis import strategies as st

from planproof import Catalog, Conf
from planproof_engine.analysis.blocks.aggregated import Keys
from planproof_engine.analysis.blocks.evidence import find_left_out_keys, make_keys_nullable
from planproof_engine.analysis.blocks.queries import bind_query
from planproof_engine.analysis.blocks.setops import build_set_operation
from planproof_engine.analysis.context import Environment
from planproof_engine.analysis.names.fields import Fields
from planproof_engine.expr import nodes as x
from planproof_engine.expr.function import Category, LambdaOf, Mismatch, Signature, kind_of
from planproof_engine.expr.nodes import column_of, fresh_id
from planproof_engine.functions.bind import apply, cast, check_cast, coerce_arguments
from planproof_engine.functions.registry import builtin
from planproof_engine.logical import nodes as p
from planproof_engine.origin import AnalysisError, Unknown
from planproof_engine.sql import nodes as q
from planproof_engine.types import BOOLEAN, INT, STRING, Array, DataType, Struct, is_numeric, parse_type
from planproof_engine.types.kinds import accepts, is_orderable

_PATH = Path(__file__).parents[1] / "functions" / "specimens.py"
_SPEC = importlib.util.spec_from_file_location("specimens_of_plans", _PATH)
assert _SPEC is not None
assert _SPEC.loader is not None
specimens = importlib.util.module_from_spec(_SPEC)
sys.modules["specimens_of_plans"] = specimens
_SPEC.loader.exec_module(specimens)

Draw = Callable[[st.SearchStrategy[Any]], Any]

TYPES = {name: t for name, t in specimens.TYPES.items() if name not in ("void", "lcase", "variant")}
FIELDS = [
    (f"{name}{'' if nullable else '_nn'}", t, nullable) for name, t in TYPES.items() for nullable in (True, False)
]
WIDTH = 6
RELATIONS = {f"specimens{at}": FIELDS[at : at + WIDTH] for at in range(0, len(FIELDS), WIDTH)}
"""Small relations that together have a column of every type, nullable and not."""
LITERALS = tuple(s.expr for s in specimens.SPECIMENS.values() if s.is_literal)

_NO_CALL = frozenset(
    (
        *("window", "session_window", "window_time", "grouping", "grouping_id", "percentile_cont", "percentile_disc"),
        *("java_method", "reflect", "try_reflect", "raise_error", "assert_true", "struct", "mode", "listagg"),
        *("string_agg", "rand", "random", "randn", "uuid", "randstr", "uniform", "shuffle", "input_file_name"),
        *("monotonically_increasing_id", "input_file_block_start", "input_file_block_length", "spark_partition_id"),
    )
)
"""Functions that mean more than a call, whose effect is no value, or that Spark refuses in most places."""

_BY_CATEGORY: dict[Category, list[Signature]] = {}
for _name, _function in builtin().functions.items():
    if _name not in _NO_CALL and _name not in builtin().internal:
        _BY_CATEGORY.setdefault(_function.category, []).append(_function)
SCALARS = _BY_CATEGORY[Category.SCALAR]
AGGREGATES = _BY_CATEGORY[Category.AGGREGATE]
WINDOWS = [f for f in _BY_CATEGORY[Category.WINDOW] if f.name not in ("lag", "lead")]
GENERATORS = [f for f in _BY_CATEGORY[Category.GENERATOR] if f.name not in ("sql_keywords", "variant_explode")]
HIGHER = [f for f in SCALARS if any(isinstance(i, LambdaOf) for i in f.inputs)]
_ARITHMETIC = ("+", "-", "*", "/")


def catalog() -> Catalog:
    return Catalog(RELATIONS)


@dataclass(frozen=True, slots=True)
class Scope:
    """What an expression under construction may read."""

    conf: Conf
    columns: tuple[x.Column, ...]
    outer: tuple[x.Column, ...] = ()
    variables: tuple[x.Variable, ...] = ()
    subqueries: bool = False

    @property
    def leaves(self) -> list[x.Expr]:
        return [*self.variables, *self.variables, *self.columns, *(x.Outer(c) for c in self.outer)]


def _one(draw: Draw, options: Sequence[Any]) -> Any:
    return draw(st.sampled_from(options))


def _chance(draw: Draw, one_in: int) -> bool:
    return draw(st.integers(1, one_in)) == 1


def leaf(draw: Draw, scope: Scope, fits: Callable[[DataType], bool] = lambda t: True) -> x.Expr:
    """A column, a variable or a literal; one that fits where there is one."""
    literals = [e for e in LITERALS if fits(e.type)]
    fitting = [e for e in scope.leaves if fits(e.type)]
    if literals and (not fitting or _chance(draw, 6)):
        return _one(draw, literals)
    return _one(draw, fitting or scope.leaves or LITERALS)


def expression(draw: Draw, scope: Scope, depth: int, fits: Callable[[DataType], bool] = lambda t: True) -> x.Expr:
    if depth == 0 or _chance(draw, 4):
        return leaf(draw, scope, fits)
    makers = [_scalar, _scalar, _scalar, _cast, _higher, _field, predicate]
    if scope.subqueries and not scope.variables:
        makers += [_scalar_subquery, _exists, _in_subquery]
    made = _one(draw, makers)(draw, scope, depth - 1)
    return made if fits(made.type) else leaf(draw, scope, fits)


def _applied(function: Signature, args: Sequence[x.Expr], conf: Conf) -> x.Expr | None:
    if function.name in _ARITHMETIC and not all(is_numeric(a.type) for a in args):
        return None
    if function.name == "in" and len(args) < 2:
        return None
    try:
        return apply(function, args, conf)
    except (Mismatch, Unknown):
        return None


def _arguments(draw: Draw, function: Signature, scope: Scope, depth: int) -> list[x.Expr]:
    least, most = function.arity()
    count = draw(st.integers(least, min(most if most is not None else least + 2, least + 2)))
    good = specimens.BASES.get(function.name, ())
    found: list[x.Expr] = []
    for at, place in enumerate(function.list_inputs(count)):
        kind = kind_of(place)
        proven = specimens.SPECIMENS[good[at]].expr if at < len(good) else None
        if isinstance(proven, x.Literal):
            found.append(proven)
        else:
            fits = (lambda t, kind=kind: accepts(kind, t)) if kind is not None else (lambda t: True)
            found.append(expression(draw, scope, depth, fits))
    return found


def _scalar(draw: Draw, scope: Scope, depth: int) -> x.Expr:
    function = _one(draw, SCALARS)
    if function in HIGHER:
        return _higher(draw, scope, depth)
    made = _applied(function, _arguments(draw, function, scope, depth), scope.conf)
    return made if made is not None else leaf(draw, scope)


def _cast(draw: Draw, scope: Scope, depth: int) -> x.Expr:
    child, target = expression(draw, scope, depth), _one(draw, list(TYPES.values()))
    mode = "try" if _chance(draw, 3) else "ansi" if scope.conf.ansi else "legacy"
    plain = parse_type(target.simple)
    if check_cast(child.type, plain, mode) is not None:
        return child
    return cast(child, plain, scope.conf, mode=mode, written=True)


def _field(draw: Draw, scope: Scope, depth: int) -> x.Expr:
    """A field of a struct, or of each struct of an array."""
    child = expression(draw, scope, depth, lambda t: _struct_of(t) is not None)
    struct = _struct_of(child.type)
    if struct is None or not struct.fields:
        return child
    return Fields(scope.conf, builtin()).extract(child, _one(draw, struct.names))


def _struct_of(t: DataType) -> Struct | None:
    found = t.element if isinstance(t, Array) else t
    names = {f.name.lower() for f in found.fields} if isinstance(found, Struct) else set()
    return found if isinstance(found, Struct) and len(names) == len(found.fields) else None


def _higher(draw: Draw, scope: Scope, depth: int) -> x.Expr:
    """A function over lambdas; each lambda's body sees its own variables and those around it."""
    function = _one(draw, HIGHER)
    # Spark takes no subquery anywhere within such a function.
    scope = replace(scope, subqueries=False)
    bound: list[x.Expr] = []
    for at, place in enumerate(function.inputs):
        if not isinstance(place, LambdaOf):
            kind = kind_of(place)
            bound.append(expression(draw, scope, depth, lambda t, kind=kind: kind is None or accepts(kind, t)))
            continue
        try:
            bound = coerce_arguments(function, bound, scope.conf) if at == 1 else bound
            assert function.variables is not None
            types = function.variables(bound, at)
        except (Mismatch, Unknown, IndexError):
            return leaf(draw, scope)
        count = _one(draw, [n for n in place.takes if n <= len(types)] or [len(types)])
        variables = tuple(x.Variable(fresh_id(), f"v{i}", t, n) for i, (t, n) in enumerate(types[:count]))
        inner = replace(scope, variables=(*scope.variables, *variables), subqueries=False)
        make = predicate if function.name in ("filter", "exists", "forall", "any") else expression
        bound.append(x.Lambda(variables, make(draw, inner, depth)))
    made = _applied(function, bound, scope.conf)
    return made if made is not None else leaf(draw, scope)


def _call(name: str, args: Sequence[x.Expr], conf: Conf) -> x.Expr | None:
    function = builtin().find(name)
    assert function is not None
    return _applied(function, args, conf)


def predicate(draw: Draw, scope: Scope, depth: int) -> x.Expr:
    """A condition."""
    kind = _one(draw, ["compare", "compare", "null", "both", "not", "in", "leaf"])
    if depth > 0 and kind in ("both", "not"):
        operands = [predicate(draw, scope, depth - 1) for _ in range(2 if kind == "both" else 1)]
        made = _call(_one(draw, ["and", "or"]) if kind == "both" else "not", operands, scope.conf)
    elif kind in ("compare", "in"):
        left = expression(draw, scope, max(depth - 1, 0), is_orderable)
        right = expression(draw, scope, max(depth - 1, 0), lambda t: t == left.type)
        names = ["in"] if kind == "in" else ["=", "<", "<=>", ">="]
        made = _call(_one(draw, names), [left, right], scope.conf)
    elif kind == "null":
        made = _call(_one(draw, ["isnull", "isnotnull"]), [expression(draw, scope, max(depth - 1, 0))], scope.conf)
    else:
        made = leaf(draw, scope, lambda t: t == BOOLEAN)
    return made if made is not None and made.type == BOOLEAN else x.Literal(True, BOOLEAN, "true")


def _correlated(draw: Draw, scope: Scope) -> p.Plan:
    """A scan, with a filter that may name a column of the query around."""
    child = source(draw)
    inner, outer = leaf(draw, Scope(scope.conf, child.output)), None
    same = [c for c in scope.columns if c.type == inner.type and is_orderable(c.type)]
    if same and isinstance(inner, x.Column) and _chance(draw, 2):
        outer = x.Outer(_one(draw, same))
    condition = _call("=", [inner, outer], scope.conf) if outer is not None else None
    return p.Filter(condition, child) if condition is not None else child


def _scalar_subquery(draw: Draw, scope: Scope, depth: int) -> x.Expr:
    child = _correlated(draw, scope)
    item = _aggregate_call(draw, Scope(scope.conf, child.output), 0)
    plan = p.Aggregate((), (x.Alias(item, "only", fresh_id()),), child)
    return x.ScalarSubquery(plan, item.type)


def _exists(draw: Draw, scope: Scope, depth: int) -> x.Expr:
    return x.Exists(_correlated(draw, scope))


def _in_subquery(draw: Draw, scope: Scope, depth: int) -> x.Expr:
    child = _correlated(draw, scope)
    column = leaf(draw, Scope(scope.conf, child.output), is_orderable)
    value = leaf(draw, scope, lambda t: t == column.type)
    if not isinstance(column, x.Column) or value.type != column.type or not is_orderable(column.type):
        return leaf(draw, scope)
    return x.InSubquery((value,), p.Project((column,), child), value.nullable or column.nullable)


def source(draw: Draw) -> p.Plan:
    """A scan, or an inline table."""
    if _chance(draw, 8):
        return _inline(draw)
    name = _one(draw, list(RELATIONS))
    return p.Scan(name, tuple(x.Column(fresh_id(), n, t, nullable, (name,)) for n, t, nullable in RELATIONS[name]))


def _inline(draw: Draw) -> p.Plan:
    kinds = [(INT, [1, 2, None]), (STRING, ["a", "b", None])]
    columns, rows = [], draw(st.integers(1, 3))
    for _at in range(draw(st.integers(1, 3))):
        t, options = _one(draw, kinds)
        columns.append([_constant(_one(draw, options), t) for _ in range(rows)])
    flags = [any(e.nullable for e in c) for c in columns]
    types = [next((e.type for e in c if not e.nullable), None) for c in columns]
    kept = [(c, t, f) for c, t, f in zip(columns, types, flags) if t is not None]
    if not kept:
        return p.Values(((_constant(1, INT),),), (x.Column(fresh_id(), "col1", INT, False, ("inline",)),))
    output = tuple(x.Column(fresh_id(), f"col{i}", t, f, ("inline",)) for i, (_, t, f) in enumerate(kept))
    return p.Values(tuple(zip(*(c for c, _, _ in kept))), output)


def _constant(value: Any, t: DataType) -> x.Literal:
    return x.Literal(value, t, str(value)) if value is not None else x.Literal(None, parse_type("void"), "NULL")


def plan(draw: Draw, conf: Conf, depth: int) -> p.Plan:
    if depth == 0:
        return source(draw)
    return _one(draw, _MAKERS)(draw, conf, depth - 1)


def _named_items(draw: Draw, items: Sequence[x.Expr]) -> tuple[x.Expr, ...]:
    names = ("a", "b", "c", "A", "d e", "id")
    return tuple(i if isinstance(i, x.Column) else x.Alias(i, _one(draw, names), fresh_id()) for i in items)


def project(draw: Draw, conf: Conf, depth: int) -> p.Plan:
    child = plan(draw, conf, depth)
    scope = Scope(conf, child.output, subqueries=True)
    items = [expression(draw, scope, 2) for _ in range(draw(st.integers(1, 4)))]
    return p.Project(_named_items(draw, items), child)


def filtered(draw: Draw, conf: Conf, depth: int) -> p.Plan:
    child = plan(draw, conf, depth)
    return p.Filter(predicate(draw, Scope(conf, child.output, subqueries=True), 2), child)


def join(draw: Draw, conf: Conf, depth: int) -> p.Plan:
    left, right = plan(draw, conf, depth), plan(draw, conf, max(depth - 1, 0))
    kind = _one(draw, [p.INNER, p.CROSS, p.LEFT, p.RIGHT, p.FULL, p.LEFT_SEMI, p.LEFT_ANTI])
    if kind == p.CROSS:
        return p.Join(left, right, kind)
    return p.Join(left, right, kind, predicate(draw, Scope(conf, left.output + right.output), 1))


def lateral(draw: Draw, conf: Conf, depth: int) -> p.Plan:
    """A join whose right side is computed for each row of the left."""
    left = plan(draw, conf, depth)
    items = [expression(draw, Scope(conf, (), left.output), 1) for _ in range(draw(st.integers(1, 2)))]
    named = tuple(x.Alias(i, f"l{n}", fresh_id()) for n, i in enumerate(items))
    return p.Join(left, p.Project(named, p.OneRow()), _one(draw, [p.INNER, p.LEFT]))


def _aggregate_call(draw: Draw, scope: Scope, depth: int) -> x.Expr:
    function = _one(draw, AGGREGATES)
    made = _applied(function, _arguments(draw, function, scope, depth), scope.conf)
    if not isinstance(made, x.Call):
        made = _call("count", [leaf(draw, scope)], scope.conf)
    assert isinstance(made, x.Call)
    if _chance(draw, 6):
        return replace(made, filter=predicate(draw, scope, 1))
    return made


def aggregate(draw: Draw, conf: Conf, depth: int) -> p.Plan:
    child = plan(draw, conf, depth)
    scope = Scope(conf, child.output)
    groups = tuple(
        dict.fromkeys(
            g
            for g in (expression(draw, scope, 1, is_orderable) for _ in range(draw(st.integers(0, 2))))
            if is_orderable(g.type) and not isinstance(g, x.Literal)
        )
    )
    items = [*groups, *(_aggregate_call(draw, scope, 1) for _ in range(draw(st.integers(1, 3))))]
    if groups and _chance(draw, 3):
        everything = tuple(range(len(groups)))
        sets = tuple(dict.fromkeys((everything, everything[:1], ())))
        keys = Keys(groups)
        absent = find_left_out_keys(groups, sets, keys)
        nulled = tuple(make_keys_nullable(i, absent, keys, conf) for i in _named_items(draw, items))
        return p.Aggregate(groups, nulled, child, sets)
    made: p.Plan = p.Aggregate(groups, _named_items(draw, items), child)
    if _chance(draw, 3):
        condition = _call("isnotnull", [_aggregate_call(draw, scope, 0)], conf)
        assert condition is not None
        made = p.Filter(condition, made)
    return made


def window(draw: Draw, conf: Conf, depth: int) -> p.Plan:
    child = plan(draw, conf, depth)
    scope = Scope(conf, child.output)
    partition = tuple(leaf(draw, scope, is_orderable) for _ in range(draw(st.integers(0, 1))))
    key = leaf(draw, scope, is_orderable)
    if not is_orderable(key.type) or not all(is_orderable(e.type) for e in partition):
        return child
    call: x.Expr | None
    if _chance(draw, 2):
        function = _one(draw, WINDOWS)
        call = _applied(function, _arguments(draw, function, scope, 0), conf)
    else:
        call = _call(_one(draw, ["sum", "max", "count", "first", "collect_list", "avg"]), [leaf(draw, scope)], conf)
    if not isinstance(call, x.Call):
        return child
    frame = f"{_one(draw, ['ROWS', 'RANGE'])} BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW"
    made = x.Window(call, partition, (x.Sort(key, True, True),), frame)
    return p.Project((*child.output, x.Alias(made, "w", fresh_id())), child)


def set_operation(draw: Draw, conf: Conf, depth: int) -> p.Plan:
    left, right = plan(draw, conf, depth), plan(draw, conf, max(depth - 1, 0))
    width = min(len(left.output), len(right.output))
    sides = [p.Project(side.output[:width], side) for side in (left, right)]
    kind, keeps = _one(draw, ["union", "intersect", "except"]), draw(st.booleans())
    env = Environment("", catalog(), conf, builtin(), bind_query)
    try:
        return build_set_operation(kind, sides[0], sides[1], keeps, env, q.Select())
    except AnalysisError:
        return left


def ordered(draw: Draw, conf: Conf, depth: int) -> p.Plan:
    child = plan(draw, conf, depth)
    key = leaf(draw, Scope(conf, child.output), is_orderable)
    if not is_orderable(key.type):
        return child
    return p.Ordered((x.Sort(key, draw(st.booleans()), draw(st.booleans())),), child)


def limited(draw: Draw, conf: Conf, depth: int) -> p.Plan:
    what = _one(draw, ["limit", "offset"])
    return p.Limit(what, plan(draw, conf, depth), (x.Literal(3, INT, "3"),))


def distinct(draw: Draw, conf: Conf, depth: int) -> p.Plan:
    child = plan(draw, conf, depth)
    return p.Distinct(child) if all(is_orderable(c.type) for c in child.output) else child


def named(draw: Draw, conf: Conf, depth: int) -> p.Plan:
    child = plan(draw, conf, depth)
    ids = {c.id: fresh_id() for c in child.output}
    output = tuple(replace(c, id=ids[c.id], name=f"n{i}", qualifier=("q",)) for i, c in enumerate(child.output))
    return p.Named(("q",), child, output) if len(ids) == len(output) else child


def generate(draw: Draw, conf: Conf, depth: int) -> p.Plan:
    child = plan(draw, conf, depth)
    function = _one(draw, GENERATORS)
    call = _applied(function, _arguments(draw, function, Scope(conf, child.output), 0), conf)
    if not isinstance(call, x.Call) or function.columns is None:
        return child
    outer = call.shown.endswith("_outer") or _chance(draw, 3)
    made = function.columns(call.args, conf)
    columns = tuple(
        x.Column(fresh_id(), f"g{i}", t, nullable or outer, ("g",)) for i, (_, t, nullable) in enumerate(made)
    )
    return p.Generate(call, outer, columns, child) if columns else child


def pivot(draw: Draw, conf: Conf, depth: int) -> p.Plan:
    child = plan(draw, conf, depth)
    keys = [c for c in child.output if c.type in (INT, STRING)]
    if not keys:
        return child
    key = _one(draw, keys)
    others = [c for c in child.output if c.id != key.id]
    value = _call("max", [_one(draw, [c for c in others if is_orderable(c.type)] or [key])], conf)
    if value is None or any(not is_orderable(c.type) for c in others):
        return child
    read = {e.id for e in value.walk() if isinstance(e, x.Column)} | {key.id}
    groups = tuple(column_of(c) for c in child.output if c.id not in read)
    constants = [x.Literal(v, INT, str(v)) if key.type == INT else x.Literal(f"k{v}", STRING, f"k{v}") for v in (1, 2)]
    made = tuple(x.Column(fresh_id(), f"p{i}", value.type, True) for i, _ in enumerate(constants))
    return p.Pivot(groups, (value,), (key,), tuple(constants), child, (*groups, *made))


def script(draw: Draw, conf: Conf, depth: int) -> p.Plan:
    """SELECT TRANSFORM: Spark knows only what the query declares."""
    types = draw(st.lists(st.sampled_from((INT, STRING, *TYPES.values())), min_size=1, max_size=3))
    plain = [parse_type(t.simple) for t in types]
    made = tuple(x.Column(fresh_id(), f"s{i}", t, True) for i, t in enumerate(plain))
    return p.Script("cat", plan(draw, conf, depth), made)


def recursion(draw: Draw, conf: Conf, depth: int) -> p.Plan:
    """A recursive CTE whose step computes each column anew, at most at the anchor's type."""
    anchor = plan(draw, conf, depth)
    ids = {c.id: fresh_id() for c in anchor.output}
    if len(ids) < len(anchor.output):
        return anchor
    shown = tuple(replace(c, id=fresh_id(), nullable=True, known=None, qualifier=("r",)) for c in anchor.output)
    itself = p.Scan("r", shown, recursive=True)
    inner = tuple(replace(c, id=fresh_id()) for c in shown)
    scope = Scope(conf, inner)
    items = tuple(
        x.Alias(leaf(draw, scope, lambda t, kept=c.type: t == kept), c.name, fresh_id()) if _chance(draw, 2) else c
        for c in inner
    )
    items = tuple(i if i.type == c.type else c for i, c in zip(items, inner))
    step = p.Project(items, p.Filter(predicate(draw, scope, 1), p.Named(("r",), itself, inner)))
    env = Environment("", catalog(), conf, builtin(), bind_query)
    both = build_set_operation("union", anchor, step, True, env, q.Select())
    output = tuple(replace(c, id=fresh_id(), nullable=b.nullable) for c, b in zip(shown, both.output))
    return p.Recursion(itself, both, output)


_MAKERS = [
    *(project, project, project, filtered, join, lateral, aggregate, aggregate, window, set_operation),
    *(ordered, limited, distinct, named, generate, pivot, script, recursion),
]


@st.composite
def plans(draw: Draw, conf: Conf, max_depth: int = 3) -> p.Plan:
    """A plan of up to `max_depth` nodes above its sources; its root is a projection of all its columns."""
    return plan(draw, conf, draw(st.integers(1, max_depth)))
