"""ORDER BY and its kin, LIMIT and OFFSET.

Source: `ResolveReferencesInSort`, `ResolveOrdinalInOrderByAndGroupBy`, `ColumnResolutionHelper`, `CheckAnalysis`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TypeGuard

from planproof_engine.analysis.blocks.aggregated import Aggregated, make_missing_output_error
from planproof_engine.analysis.blocks.groupby import aliases_of
from planproof_engine.analysis.blocks.limits import add_limit
from planproof_engine.analysis.blocks.rules_first import find_misplaced_generators, raise_first
from planproof_engine.analysis.blocks.select import Block
from planproof_engine.analysis.expressions import Aliases, Context, Environment, Scope, bind, make_unresolved_error
from planproof_engine.analysis.expressions.literals import is_position
from planproof_engine.analysis.expressions.modifiers import stays_volatile
from planproof_engine.analysis.expressions.timewindows import add_time_window_below, find_time_windows
from planproof_engine.analysis.expressions.windows import sort_keys
from planproof_engine.analysis.refusals import checks
from planproof_engine.analysis.refusals.earlier import CHECKED, is_checked, list_names
from planproof_engine.analysis.refusals.orderable import refuse_sort_key
from planproof_engine.analysis.script.flags import loosen_output
from planproof_engine.expr import Call, Category, Column, Expr, Sort, column_of
from planproof_engine.expr.pretty import outer_references, pretty
from planproof_engine.ground import AnalysisError, Unknown, evolve
from planproof_engine.logical.nodes import Ordered, Plan
from planproof_engine.sql import nodes as q
from planproof_engine.sql.names import name_parts

_SORTS = ("ORDER BY", "SORT BY")


def bind_organization(
    node: q.Query, plan: Plan, block: Block | None, env: Environment, outer: Scope | None, shown: Scope | None = None
) -> Plan:
    """ORDER BY and its kin, then LIMIT and OFFSET. `shown` is what can be named over the plan, if not its output."""
    clauses = (
        ("ORDER BY", node.order),
        ("SORT BY", node.sort),
        ("CLUSTER BY", node.cluster),
        ("DISTRIBUTE BY", node.distribute),
    )
    for word, clause in clauses:
        if clause is not None:
            plan = _Clause(word, clause, plan, block, env, outer, shown).bind()
    if node.offset is not None:
        plan = add_limit("offset", node.offset.count, plan, env, outer)
    return plan if node.limit is None else add_limit("limit", node.limit.count, plan, env, outer)


@dataclass(slots=True)
class _Clause:
    """One such clause: its keys mean the output first, then (of a SELECT) its input."""

    word: str
    node: q.Ordering
    plan: Plan
    block: Block | None
    env: Environment
    outer: Scope | None
    shown: Scope | None = None
    time_windows: Mapping[Expr, Expr] = field(default_factory=dict)
    _scopes: dict[bool, Scope] = field(default_factory=dict)
    _named: Aliases | None = None

    @property
    def output(self) -> tuple[Column, ...]:
        """The columns that `*` would give."""
        return self.plan.output if self.shown is None else self.shown.columns

    def bind(self) -> Plan:
        """The sorted plan. What is wrong with the keys' names and types comes before what is with their subqueries, and
        a `grouping(..)`, which Spark moves into the Aggregate, before what is wrong with that."""
        late = self.env.late if self.env.late is not None else []
        noted = len(late)
        try:
            return self._bind()
        except AnalysisError as error:
            if is_checked(error):
                del late[noted:]
                self._raise_earlier(error)
            if error.condition == "UNSUPPORTED_GROUPING_EXPRESSION":
                late[:] = [e for e in late if not e.condition.startswith("MISSING_AGGREGATION")]
            raise

    def _raise_earlier(self, error: AnalysisError) -> None:
        """Raises what Spark refuses of the keys before `error`: a generator, by a rule, and in `CheckAnalysis` types
        before a window function without an OVER."""
        ctx = self._make_output_context() if self.block is None else self.block.ctx
        found = (e for key in self.node.keys for e in find_misplaced_generators(key, ctx))
        raise_first(found, error, CHECKED)
        if error.condition == "WINDOW_FUNCTION_WITHOUT_OVER_CLAUSE" and not self.env.lenient:
            env = evolve(self.env, lenient=True, late=[])
            block = self.block and evolve(self.block, ctx=evolve(self.block.ctx, env=env))
            _Clause(self.word, self.node, self.plan, block, env, self.outer, self.shown).bind()

    def _bind(self) -> Plan:
        self._add_time_windows()
        # Spark reaches no Aggregate that HAVING extended. One that only these keys extend is within reach.
        out_of_reach = self.block is not None and self.block.over is not None and self.block.over.extended
        ordinals: list[q.Literal] = []
        nodes: list[q.Node] = []
        for node in self.node.keys:
            inner = node.key if isinstance(node, q.Ordered) else node
            if self._is_ordinal(inner):
                ordinals.append(inner)
            elif len(self.node.keys) == 1 and self._is_all(inner):
                self._refuse_unordered(inner)
            else:
                nodes.append(node)
        positions = [self._bind_position(o, self.output) for o in ordinals if self.env.conf.ordinals_first]
        try:
            keys = self._bind_keys(nodes, out_of_reach)
        except AnalysisError as error:
            if is_checked(error):  # A rule looks at positions, whatever the other keys are.
                for ordinal in ordinals:
                    self._bind_position(ordinal, self.output)
            raise
        positions += [
            self._bind_position(o, self._add_missing(keys)) for o in ordinals if not self.env.conf.ordinals_first
        ]
        self._check(keys, out_of_reach)
        self._refuse_volatile([*positions, *keys])
        reached = len(self._add_missing(keys)) > len(self.output)
        return Ordered((*positions, *keys), loosen_output(self.plan, self.env) if reached else self.plan)

    def _bind_keys(self, nodes: list[q.Node], out_of_reach: bool) -> list[Sort]:
        """The keys. What is wrong with another one comes before a `grouping(..)` of no grouping sets."""
        keys: list[Sort] = []
        late: AnalysisError | None = None
        for node in nodes:
            try:
                keys.append(self._bind_sure_key(node, out_of_reach))
            except AnalysisError as error:
                if error.condition != "UNSUPPORTED_GROUPING_EXPRESSION" or self.env.conf.before("4.0"):
                    raise
                late = late or error
        if late is not None:
            raise late
        return keys

    def _add_time_windows(self) -> None:
        """A time window among the keys becomes a column of the output, twice in CLUSTER BY, which is a sort over a
        `RepartitionByExpression`. Where only the block's input has what the window is of, it stays out of the output.
        """
        for _ in range(2 if self.word == "CLUSTER BY" else 1):
            try:
                self.plan, ctx = add_time_window_below(
                    self.node.keys, self.node, self.plan, self._make_output_context()
                )
            except AnalysisError:
                if self.block is None or self.block.over is not None or self.block.distinct:
                    raise
                self.time_windows = find_time_windows(self.node.keys, self.node, self.block.ctx)
                return
            self.time_windows = ctx.time_windows
            self._scopes.clear()
        if ctx.time_windows and self.shown is not None:
            raise Unknown("a time window in ORDER BY of a pipe")

    def _make_output_context(self, suggests: bool = True) -> Context:
        if suggests not in self._scopes:
            hidden = self.shown.hidden if self.shown is not None else ()
            # The query around is asked last: after the input, where the block has one that can be asked.
            outer = self.outer if self.block is None or self.block.distinct else None
            self._scopes[suggests] = Scope(self.output, hidden, outer, self.env.conf.case_sensitive, suggests=suggests)
        return Context(self.env, self._scopes[suggests], clause=self.word, time_windows=self.time_windows)

    def _is_all(self, node: q.Node) -> bool:
        names = name_parts(node) if self.word == "ORDER BY" else ()
        return len(names) == 1 and names[0].lower() == "all" and not any(c.name == names[0] for c in self.output)

    def _refuse_unordered(self, node: q.Node) -> None:
        """ORDER BY ALL sorts by each column of the output."""
        for column in self.output:
            refuse_sort_key(column, node, self.env)

    def _is_ordinal(self, node: q.Node) -> TypeGuard[q.Literal]:
        sorts = (*_SORTS, "CLUSTER BY") if self.env.conf.before("4.1") else _SORTS
        if not self.env.conf.order_by_ordinal or self.word not in sorts:
            return False
        return is_position(node)

    def _add_missing(self, keys: list[Sort]) -> tuple[Column, ...]:
        """The output, and behind it the columns of the input that keys use."""
        columns = {c.id: c for c in self.output}
        for key in keys:
            columns.update((e.id, e) for e in key.walk() if isinstance(e, Column) and e.id not in columns)
        return tuple(columns.values()) if len(columns) > len(self.output) else self.output

    def _bind_position(self, node: q.Literal, output: tuple[Column, ...]) -> Sort:
        at = int(node.text)
        if 1 <= at <= len(output):
            refuse_sort_key(output[at - 1], node, self.env)
            return Sort(output[at - 1], True, True)
        text = f"ORDER BY position {at} is not in select list (valid range is [1, {len(output)}])."
        raise self.env.make_error("ORDER_BY_POS_OUT_OF_RANGE", text, node)

    def _bind_sure_key(self, node: q.Node, out_of_reach: bool) -> Sort:
        """Binds the key. A name that means several columns counts as not found here, as in Spark."""
        self._refuse_unresolvable(node)
        block = self.block
        if self.env.variables and block is not None and not block.distinct:
            # A name is no session variable where the input of the block has it.
            bare = evolve(block, ctx=evolve(block.ctx, env=evolve(block.ctx.env, variables={})))
            with suppress(AnalysisError):
                return evolve(self, block=bare, env=evolve(self.env, variables={}))._bind_key(node, out_of_reach)
        try:
            return self._bind_key(node, out_of_reach)
        except AnalysisError as error:
            if error.condition in _LEFT_UNRESOLVED and next(node.find_all(q.Column), None) is not None:
                raise self._make_fieldless_error(node) from None
            if error.condition != "AMBIGUOUS_REFERENCE":
                raise
            ctx = self._make_output_context()
            names = (n for n in node.find_all(q.Column, q.Dot) if name_parts(n))
            several = next((n for n in names if len(ctx.scope.find_matches(name_parts(n))[0]) > 1), None)
            if several is not None and self.word not in _SORTS:
                raise
            if several is None and self.block is not None:
                given = self.block.ctx.scope
                several = next(
                    (n for n in node.find_all(q.Column) if len(given.find_matches(name_parts(n))[0]) > 1), None
                )
            if several is None:
                raise
            raise make_unresolved_error(name_parts(several), ctx, several) from None

    def _make_fieldless_error(self, node: q.Node) -> AnalysisError | Unknown:
        """The error for a name with a field that nothing has: it stays as it is, and counts as not found."""
        ctx = self._make_output_context()
        over = ctx if self.block is None else evolve(self.block.ctx, clause=self.word)
        named = [n for n in node.find_all(q.Dot, q.Column) if name_parts(n)]
        wrong = next((n for n in named if _lacks_field(n, ctx) and _lacks_field(n, over)), named[0])
        return make_unresolved_error(name_parts(wrong), ctx, wrong)

    def _refuse_unresolvable(self, node: q.Node) -> None:
        """Refuses any name over a HAVING over generators."""
        named = next(node.find_all(q.Column), None)
        if named is not None and self.block is not None and self.block.over is not None and self.block.over.generated:
            ctx = self._make_output_context()
            if ctx.lacks("HAVING over generators"):
                ctx = evolve(ctx, scope=Scope(()))
            raise make_unresolved_error(name_parts(named), ctx, named)

    def _bind_key(self, node: q.Node, out_of_reach: bool) -> Sort:
        block = self.block
        ctx = self._make_output_context(
            suggests=block is None or block.distinct
        )  # What the output lacks, the input may have.
        if block is not None:
            ctx = evolve(ctx, windows=self._list_windows(block))
        missing: AnalysisError | None = None
        try:
            key = sort_keys([node], ctx)[0]
        except AnalysisError as error:
            if block is None or block.distinct or not error.condition.startswith(_INPUT_MAY_KNOW):
                raise
            below = self._drop_windows(block) if error.condition == "AMBIGUOUS_REFERENCE" else None
            if below is not None:
                return sort_keys([node], evolve(ctx, scope=below))[0]
            if error.condition == "AMBIGUOUS_REFERENCE" and not self._is_clear_in_input(node, block):
                raise
            missing = error
        else:
            if block is None or block.over is None or block.distinct or not checks.content(key) & checks.AGGREGATE:
                return key
            if not out_of_reach:
                block.over.refuse_computed(key, self.node, block.ctx)
        try:
            return self._bind_over_input(node, block, out_of_reach)
        except AnalysisError as error:
            if missing is not None:
                self._raise_missing(missing, error, node)
            raise

    def _list_windows(self, block: Block) -> dict[str, q.Window]:
        """What a WINDOW clause behind this one defines: one before it belongs to the SELECT alone
        (`AstBuilder.withQuerySpecification`)."""
        return {name: window for name, window in block.ctx.windows.items() if window.span[0] >= self.node.span[0]}

    def _raise_missing(self, missing: AnalysisError, error: AnalysisError, node: q.Node) -> None:
        """Raises that the output lacks a name, where that comes before what is wrong over the input.

        Whatever else is wrong with a subquery, its names are resolved first, and not over the input. A field that a
        column of the input lacks leaves the name unresolved (`resolveExprsAndAddMissingAttrs`).
        """
        if error.condition == "FIELD_NOT_FOUND":
            sort_keys([node], self._make_output_context())
        if self.block is None or not node.holds(q.Query):
            return
        if self.block.over is None:
            self._refuse_unknown_names([node], self._list_written_columns(node))
        elif error.condition.startswith(_OF_SUBQUERIES):
            self._refuse_unknown_names([node], ())
            raise missing from None

    def _list_written_columns(self, node: q.Node) -> tuple[Column, ...]:
        """The columns of the input that the key names outside of its subqueries: the output then gets them, too."""
        scope = self.block.ctx.scope if self.block is not None else Scope(())
        found = (scope.find_matches(name_parts(named))[0] for named in list_names(node))
        return tuple(columns[0] for columns in found if len(columns) == 1)

    def _refuse_unknown_names(self, nodes: Sequence[q.Node], added: tuple[Column, ...]) -> None:
        """Raises that a subquery of the keys names what neither the output has nor these columns."""
        ctx = self._make_output_context()
        ids = {c.id for c in ctx.scope.columns}
        columns = (*ctx.scope.columns, *(c for c in added if c.id not in ids))
        try:
            sort_keys(nodes, evolve(ctx, scope=evolve(ctx.scope, columns=columns)))
        except AnalysisError as error:
            if error.condition.startswith("UNRESOLVED_COLUMN"):
                raise

    def _drop_windows(self, block: Block) -> Scope | None:
        """The output without windows whose names other items have: a sort finds those below the windows. None where it
        has no such window."""
        windows = {column_of(i).id for i in block.items if checks.holds_window(i)} if self.word in _SORTS else ()
        shown = self._make_output_context().scope
        counts = Counter(shown.key(c.name) for c in shown.columns)
        below = tuple(c for c in shown.columns if c.id not in windows or counts[shown.key(c.name)] == 1)
        return evolve(shown, columns=below) if len(below) < len(shown.columns) else None

    def _is_clear_in_input(self, node: q.Node, block: Block) -> bool:
        """Whether each name that means several items means one column of the input, which a sort finds."""
        sets = block.over is not None and block.over.of_sets
        if self.word not in _SORTS or (sets and block.ctx.lacks("sorting grouping sets by what is not shown")):
            return False
        shown = self._make_output_context().scope
        names = [name_parts(n) for n in node.find_all(q.Column, q.Dot)]
        several = [parts for parts in names if parts and len(shown.find_matches(parts)[0]) > 1]
        return all(len(block.ctx.scope.find_matches(parts)[0]) == 1 for parts in several)

    def _bind_over_input(self, node: q.Node, block: Block, out_of_reach: bool) -> Sort:
        """A key over the block's input, where its items do not have the name."""
        over = block.over
        if self._named is None:
            self._named = aliases_of(block.items, block.ctx) if over is None else over.names(block.ctx)
        output = None if over is None or out_of_reach else self._make_output_context().scope
        windows = self._list_windows(block)
        ctx = evolve(block.ctx, clause=self.word, aliases=self._named, time_windows=self.time_windows, shown=output)
        ctx = evolve(ctx, windows=windows)
        try:
            key = sort_keys([node], ctx)[0]
        except AnalysisError:
            if over is not None and out_of_reach:
                self._refuse_out_of_reach(node, block, over)
            raise
        if over is None:
            return key
        spread = self.word not in _SORTS
        if not out_of_reach and not spread:
            over.refuse_behind_grouping(key.child, self.node, block.ctx)
            return evolve(key, child=over.resolve(key.child, node, self.node, block.ctx))
        # The Aggregate's other expressions are out of reach: only what is grouped by is not.
        shown = frozenset(c.id for c in self.plan.output)
        if over.of_sets:
            over.refuse_expanded(key.child, shown, node, ctx)
        unseen = over.of_sets and ctx.lacks("sorting grouping sets by what is not shown")
        for column in key.child.walk():
            if isinstance(column, Column) and column.id not in shown and (unseen or column not in over.keys):
                raise make_missing_output_error(column, block.items, node, block.ctx)
        if over.of_sets:
            over.refuse_computed_grouping(key.child, node, ctx)
        return key

    def _refuse_out_of_reach(self, node: q.Node, block: Block, over: Aggregated) -> None:
        """Names are looked up before anything else is checked."""
        shown = {c.id for c in self.plan.output}
        for named in node.find_all(q.Column):
            found, _ = block.ctx.scope.find_matches(name_parts(named))
            if len(found) == 1 and found[0].id not in shown and found[0] not in over.keys:
                raise make_missing_output_error(found[0], block.items, node, block.ctx)

    def _check(self, keys: list[Sort], out_of_reach: bool) -> None:
        """A sort takes no aggregate or window, no generator, and few subqueries (`CheckAnalysis`)."""
        found = checks.contents(keys)
        if not found:
            return
        checks.refuse_generator(found, self.word, self.node, self.env)
        if found & checks.OUTER:
            checks.refuse_outer([k.child for k in keys], self.word, self.node, self.env)
        if found & checks.SUBQUERY:
            self._refuse_subqueries(keys)
        shown = next((k for k in keys if self._is_refused(k, out_of_reach)), None)
        if shown is not None:
            text = f'A query operator contains one or more unsupported expressions: "{pretty(shown.child)}".'
            raise self.env.make_error("UNSUPPORTED_EXPR_FOR_OPERATOR", text, self.node)

    def _refuse_volatile(self, keys: list[Sort]) -> None:
        late = next(filter(stays_volatile, keys), None)
        if late is not None:
            text = (
                f'The operator expects a deterministic expression, but the actual expression is "{pretty(late.child)}".'
            )
            raise self.env.make_error("INVALID_NON_DETERMINISTIC_EXPRESSIONS", text, self.node)

    def _is_refused(self, key: Sort, out_of_reach: bool) -> bool:
        """Whether the key computes what only the block itself could."""
        block = self.block
        if block is None or block.over is None or self.word not in _SORTS:
            return bool(checks.content(key) & (checks.AGGREGATE | checks.WINDOW))
        within = checks.content_beside_grouping(key.child)  # Every sort over the Aggregate can reach `grouping(..)`.
        return bool(within & checks.WINDOW) or bool(within & checks.AGGREGATE and (out_of_reach or block.distinct))

    def _refuse_subqueries(self, keys: list[Sort]) -> None:
        over = self.block.over if self.block is not None else None
        grouped = over.keys if over is not None else ()
        for key in keys:
            for e in key.walk():
                if e in grouped or (over and isinstance(e, Call) and e.function.category is Category.AGGREGATE):
                    break  # The Aggregate below computes it (`ResolveAggregateFunctions`).
                self._refuse_unseen(e, keys)
                if (refused := checks.why_refused(e)) is not None:
                    condition = f"UNSUPPORTED_SUBQUERY_EXPRESSION_CATEGORY.{refused[0]}"
                    raise self.env.make_error(condition, f"{refused[1]} cannot be used in {self.word}.", self.node)

    def _refuse_unseen(self, expr: Expr, keys: list[Sort]) -> None:
        """A subquery of a sort reaches what the query shows and what the keys name beside it, and not its input."""
        if self.block is None or self.block.over is not None or not isinstance(expr, checks.Subquery):
            return
        shown = {c.id for c in self._add_missing(keys)}
        unseen = next((o.column for o in outer_references(expr.plan) if o.column.id not in shown), None)
        if unseen is not None:
            self._refuse_unknown_names(self.node.keys, self._add_missing(keys))
            raise make_unresolved_error((*unseen.qualifier, unseen.name), self._make_output_context(), self.node)


def _lacks_field(node: q.Node, ctx: Context) -> bool:
    try:
        bind(node, ctx)
    except AnalysisError as error:
        return len(name_parts(node)) > 1 or error.condition in _LEFT_UNRESOLVED
    except Unknown:
        pass
    return False


_OF_SUBQUERIES = ("MISSING_ATTRIBUTES", "UNSUPPORTED_SUBQUERY_EXPRESSION_CATEGORY")

_LEFT_UNRESOLVED = ("FIELD_NOT_FOUND", "INVALID_EXTRACT_BASE_FIELD_TYPE")
"""What `resolveExprsAndAddMissingAttrs` catches."""

_INPUT_MAY_KNOW = (
    "UNRESOLVED_COLUMN",
    "UNRESOLVED_MAP_KEY",
    "AMBIGUOUS_REFERENCE",
    "MISSING",
    "UNSUPPORTED_GROUPING",
    "FIELD_NOT_FOUND",
    "INVALID_EXTRACT",
)
