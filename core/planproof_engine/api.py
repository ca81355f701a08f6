"""The logical plane's two doors: `plan` and `optimize`."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from decimal import DecimalException
from itertools import pairwise
from typing import TYPE_CHECKING, TypeVar

from planproof_engine.analysis.blocks.queries import bind_query, bind_whole
from planproof_engine.analysis.blocks.rules_first import find_constant_error
from planproof_engine.analysis.expressions import Environment
from planproof_engine.analysis.expressions.calls import find_unresolved_routine
from planproof_engine.analysis.growth import Growth, refuse_long_names
from planproof_engine.analysis.hazard_counts import Counting, is_in_subquery, make_counting_query, reads_one
from planproof_engine.analysis.names.places import output_origins
from planproof_engine.analysis.refusals.earlier import (
    find_duplicate_cte,
    find_subquery_in_lambda,
    find_unbound_parameter,
    find_undefined_window,
    find_unreadable_literal,
    find_window_in_aggregate,
    find_window_in_where,
)
from planproof_engine.analysis.refusals.hints import find_miswritten_hint
from planproof_engine.analysis.script.immediate import is_immediate, parse_query
from planproof_engine.analysis.versions import rename_condition
from planproof_engine.budget import OverBudget, bounded, is_bounded
from planproof_engine.catalog import Catalog
from planproof_engine.depth import deeply
from planproof_engine.expr.tree import field_of
from planproof_engine.finding import Finding, Rewrite, Verdict
from planproof_engine.functions.registry import Registry, functions_of
from planproof_engine.ground import Conf, evolve, record
from planproof_engine.hazards import UNDECIDED, Definitions, Suspicion, hazards
from planproof_engine.hazards.suspicion import Fits
from planproof_engine.logical.duplicates import find_bare, find_repeated
from planproof_engine.logical.nodes import Named
from planproof_engine.logical.nodes import Plan as Node
from planproof_engine.origin import AnalysisError, Origin, Unknown, place, shorten_names
from planproof_engine.schema import DuplicateField, LogicalSchema, PhysicalSchema
from planproof_engine.sql.edits import splice, substitute
from planproof_engine.sql.parse import Tree, parse

if TYPE_CHECKING:
    from planproof_engine.optimizer.driver import Fired, RefusedRule
    from planproof_engine.optimizer.render import Edit
    from planproof_engine.optimizer.rules import Rule


T = TypeVar("T")

_OF_DATABRICKS_TOO = (
    "AMBIGUOUS_REFERENCE",
    "FIELD_NOT_FOUND",
    "INCOMPATIBLE_COLUMN_TYPE",
    "MISSING_AGGREGATION",
    "MISSING_GROUP_BY",
    "NUM_COLUMNS_MISMATCH",
    "TABLE_OR_VIEW_NOT_FOUND",
    "UNRESOLVED_COLUMN",
)
"""What Databricks rejects as Spark does: names and shapes. It adds grammar, functions and types to Spark's."""

_NO_FUNCTION = ("UNRESOLVED_ROUTINE", "UNRESOLVABLE_TABLE_VALUED_FUNCTION")


@record(frozen=True, slots=True)
class Check:
    """A hazard that data can decide: `sql` counts, in one row, the rows that show it (None where no count can be cut
    out of the query, and only statistics may tell); `what` says what they show.

    `fits` says of which values of the sources no row does: statistics may tell, and no count is needed. A `cheap` count
    reads one relation, without what the query computes before; `counting` is its query in parts. `reaches` names the
    output columns that hold what is lost, `alone` those that have a NULL for each such value. `in_subquery`: it is a
    cast in a scalar or lateral subquery.
    """

    finding: Finding
    sql: str | None
    what: str
    fits: Fits | None = None
    cheap: bool = True
    counting: Counting | None = None
    reaches: tuple[str, ...] = ()
    alone: tuple[str, ...] = ()
    in_subquery: bool = False


class RegistryMismatch(ValueError):
    """Two plans that were made under different registries of sources or functions cannot be compared."""


@dataclass(frozen=True, slots=True)
class LogicalPlan:
    """The qualified logical plan of one query.

    `origins` places each output column in the text (None for one that a star stands for). `registry` identifies the
    sources and functions under which it was made. `checks` are what could be counted to decide the hazards among the
    `findings`, and arithmetic that may wrap, which is none before it is decided. `print(plan)` shows each node with its
    schema.
    """

    root: Node
    text: str
    conf: Conf
    registry: tuple[int, int]
    origins: tuple[Origin | None, ...] = ()
    findings: tuple[Finding, ...] = ()
    checks: tuple[Check, ...] = ()
    environment: Environment | None = field(default=None, compare=False, repr=False)
    schema: LogicalSchema = field(init=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "schema", self.root.schema)

    @property
    def physical_schema(self) -> PhysicalSchema:
        """The schema that a sink, a batch or a file of this query has: the relation stripped."""
        return self.schema.strip()

    @property
    def projected(self) -> bool:
        """Whether the columns have the order of a SELECT list."""
        return self.root.projected

    @property
    def looked_at(self) -> str:
        """Over how many nodes I1 was decided, in words."""
        nodes, outside = sum(1 for _ in self.root.walk_everywhere()), sum(1 for _ in self.root.walk())
        inner = f", {nodes - outside} of them in subqueries" if nodes > outside else ""
        return f"the output of all {nodes} nodes of the logical plan{inner}"

    def same_schema(self, other: LogicalPlan) -> bool:
        """I6's comparison: ordered for projected plans, as multisets otherwise. Raises `RegistryMismatch`."""
        if self.registry != other.registry:
            raise RegistryMismatch("the plans were made under different registries of sources or functions")
        from planproof_engine.optimizer.driver import has_same_schema

        return has_same_schema(self.root, other.root)

    def __str__(self) -> str:
        from planproof_engine.logical.outline import show

        return deeply(lambda: show(self.root))

    def _repr_html_(self) -> str:
        """What a notebook shows: the text."""
        from html import escape

        return f"<pre>{escape(str(self))}</pre>"


def plan(
    sql: str,
    catalog: Catalog | None = None,
    conf: Conf = Conf(),  # noqa: B008  (Conf is frozen)
    *,
    strict: bool = False,
    registry: Registry | None = None,
    environment: Environment | None = None,
) -> LogicalPlan:
    """The logical plan of one query, as Spark's analyzer would make it, without Spark.

    With `strict` a repeated (relation, name) raises `DuplicateField` at the node that creates it (invariant I1).
    Otherwise a repetition is a finding, and only what Spark rejects is rejected. Raises `AnalysisError`
    where Spark rejects the query and `Unknown` for a construct that planproof does not know; it never guesses.
    """
    if catalog is not None and not isinstance(catalog, Catalog):
        raise TypeError(f"catalog is a {type(catalog).__name__}, not a Catalog: give Catalog({{...}})")
    env = environment or make_environment(sql, catalog, conf, registry)
    try:
        return _run_within_budget(lambda: _plan(sql, evolve(env, widths={}, growth=Growth()), strict))
    except (OverflowError, DecimalException) as error:
        raise Unknown("a number this large") from error
    except ValueError as error:
        # Python converts texts of 4,300 digits at most: what is more takes it too long.
        if not isinstance(error, Unknown) and "integer string conversion" in str(error):
            raise Unknown("a number of this many digits") from error
        raise


def _plan(sql: str, env: Environment, strict: bool) -> LogicalPlan:
    for key, _ in sorted(env.conf.unfollowed):
        # Its value may be what a profile's `env_var` gave.
        raise Unknown(f"the setting {key} with a value other than its default")
    sql = substitute(sql, env.settings)
    try:
        env, tree = parse_query(sql, evolve(env, text=sql))
    except AnalysisError as error:
        raise _translate_error(error, env) from None
    try:
        root = bind_whole(tree, env)
        refuse_long_names(c.name for c in root.output)
    except AnalysisError as error:
        earlier = (
            find_unbound_parameter(tree, env) or find_unreadable_literal(tree, env) or find_miswritten_hint(tree, env)
        )
        earlier = earlier or find_duplicate_cte(tree, env) or find_undefined_window(tree, env)
        earlier = earlier or find_unresolved_routine(tree, error, env) or find_constant_error(tree, error, env)
        earlier = earlier or find_window_in_where(tree, error, env) or find_subquery_in_lambda(tree, error, env)
        earlier = earlier or find_window_in_aggregate(tree, error, env)
        raise _translate_error(earlier or error, env) from None
    if strict:
        _refuse_duplicates(root, env.conf.case_sensitive)
    origins = output_origins(tree, env, len(root.output))
    definitions = Definitions(root)
    suspected = [_place(s, env.text) for s in hazards(definitions, env.conf)]
    said = (s.finding for s in suspected if s.finding.code not in UNDECIDED)
    findings = (*_find_duplicates(definitions.nodes, origins, env.conf.case_sensitive), *said)
    identity = env.catalog.identity, env.registry.identity
    return LogicalPlan(root, sql, env.conf, identity, origins, findings, _make_checks(suspected, tree, sql, env), env)


def _translate_error(error: AnalysisError, env: Environment) -> AnalysisError | Unknown:
    """What Spark answers to a query that it rejects. Databricks may take it for what it adds to Spark."""
    if env.conf.databricks and error.condition.split(".")[0] not in _OF_DATABRICKS_TOO:
        said = error.message.split(" on search path")[0].rstrip(".")
        if error.condition in _NO_FUNCTION:
            name = ".".join(re.findall("`([^`]+)`", said))
            return Unknown(f"the function {name}, which is none of Spark's", error.origin)
        return Unknown(f"whether Databricks takes this: Spark answers {error.condition}, {said}", error.origin)
    return rename_condition(error, env.conf.spark)


def _place(suspicion: Suspicion, sql: str) -> Suspicion:
    if suspicion.span is None or suspicion.span[0] < 0:
        return suspicion
    return evolve(suspicion, finding=evolve(suspicion.finding, origin=place(sql, *suspicion.span)))


def _is_accepted(sql: str, env: Environment) -> bool:
    """Whether a query can be planned on its own."""
    try:
        bind_query(parse(sql, env.conf), evolve(env, text=sql, widths={}, growth=Growth()), None)
    except (AnalysisError, Unknown):
        return False
    return True


def _make_checks(suspected: Sequence[Suspicion], tree: Tree, sql: str, env: Environment) -> tuple[Check, ...]:
    """The counts that can be cut out of the text. EXECUTE IMMEDIATE has another text than the one that is read."""
    if is_immediate(sql):
        return ()
    cut = [
        (s, s.count, make_counting_query(tree, sql, s.count, lambda one: _is_accepted(one, env)))
        for s in suspected
        if s.count is not None
    ]
    return tuple(
        Check(
            s.finding,
            query.sql if query is not None else count.sql,
            count.what,
            count.fits,
            query is not None and reads_one(tree, count.span),
            query,
            count.reaches,
            count.alone,
            count.cast and is_in_subquery(tree, count.span),
        )
        for s, count, query in cut
        if query is not None or count.sql is not None or count.fits is not None or count.reaches
    )


@record(frozen=True, slots=True)
class Rewriting:
    """What the optimizer made of a plan.

    `sql` is the original text with only the rewritten spans replaced: the text itself, byte for byte, where no rule
    fired. `rules` names the rules that fired, in order; `rewrites` shows each rewritten span before and after.
    `dropped` says why a rewriting was not taken, where the new text does not say what the rules meant.
    """

    plan: LogicalPlan
    sql: str
    rules: tuple[str, ...] = ()
    rewrites: tuple[Rewrite, ...] = ()
    findings: tuple[Finding, ...] = ()
    dropped: str | None = None


def optimize(
    plan: LogicalPlan, *, rules: Sequence[Rule] | None = None, registry: Registry | None = None, form: str | None = None
) -> Rewriting:
    """A plan and SQL text with the same result that run faster. A rule that changes the schema (invariant I6) is
    refused by name (PP202).

    The rewritten text is planned anew, and dropped (PP202) unless it gives the rewritten plan, flag for flag. Nothing
    is rewritten where the text has no place for it, or ties what is rewritten to another place.
    `form` says how I6 compares schemas: `ordered`, or `set`, which lets a rule change the order of columns; by default
    `set` only for plans that are not projected. A change of order that SQL text cannot express is dropped without a
    finding. Raises `RegistryMismatch` for a `registry` that is not the plan's, `Unknown` for a plan that is
    nested too deeply, or costs too much.
    """
    from planproof_engine.optimizer.driver import FORMS
    from planproof_engine.optimizer.rules import DISPENSABLE, RULES

    known = plan.environment.registry if plan.environment is not None else functions_of(plan.conf)
    if registry is not None and registry.identity != plan.registry[1]:
        raise RegistryMismatch("the plan was made under another registry of functions")
    if form is not None and form not in FORMS:
        raise ValueError(f"unknown form {form!r} of I6; known: {', '.join(FORMS)}")
    if is_immediate(plan.text):
        return Rewriting(plan, plan.text)
    wanted = RULES if rules is None else rules

    def optimized() -> Rewriting:
        found, fired = _optimize(plan, wanted, known, form)
        if not found.rules and any(rule.__name__ in fired for rule in DISPENSABLE):
            found, _ = _optimize(plan, [r for r in wanted if r not in DISPENSABLE], known, form)
        return found

    return _run_within_budget(optimized)


def _run_within_budget(work: Callable[[], T]) -> T:
    """What `work` returns. Raises `Unknown` where it is nested too deeply or costs more than one model may; where an
    outer block has a budget, that one ends."""
    try:
        with bounded():
            return deeply(work)
    except RecursionError:
        raise Unknown("a query nested this deep") from None
    except OverBudget as over:
        if is_bounded():
            raise
        raise Unknown(f"a query that costs more than the budget for one model allows: {over}") from None


def _optimize(
    plan: LogicalPlan, rules: Sequence[Rule], registry: Registry, form: str | None
) -> tuple[Rewriting, tuple[str, ...]]:
    """What the rules make of the plan, and which of them fired, though nothing may be taken of it."""
    from planproof_engine.optimizer import driver, render

    found = driver.run(plan.root, plan.conf, registry, rules, form)
    findings = tuple(_make_refused_finding(r) for r in found.refused)
    names = tuple(dict.fromkeys(f.rule for f in found.fired))
    if not found.fired:
        return Rewriting(plan, plan.text, (), (), findings), names
    try:
        changes = render.find_edits(plan.root, found.plan, plan.text)
        sql = splice(plan.text, changes)
    except (render.CannotRender, ValueError):
        # Nothing is wrong with the query: it runs as it is written.
        return Rewriting(plan, plan.text, (), (), findings), names
    try:
        reason = _find_misreading(sql, found.plan, plan)
    except (AnalysisError, Unknown) as error:
        # What grouping sets leave out, say, is meant by its text: nothing is wrong with the query here either.
        return Rewriting(plan, plan.text, (), (), findings, f"the text does not read back: {error}"), names
    if reason is not None:
        # The same fields in another order are lawful under the set form; only the text cannot say so.
        swapped = found.plan.schema != plan.schema
        told = findings if swapped else (*findings, _make_dropped_finding(", ".join(names), reason))
        return Rewriting(plan, plan.text, (), (), told, reason), names
    rewrites = tuple(
        Rewrite(makers, plan.text[start:stop], new, True, place(plan.text, start, stop))
        for makers, (start, stop, new) in zip(_list_makers(plan, found.fired, changes), changes)
    )
    return Rewriting(evolve(plan, root=found.plan, text=sql), sql, names, rewrites, findings), names


def _list_steps(plan: LogicalPlan, fired: Sequence[Fired], last: Sequence[Edit]) -> list[tuple[str, Sequence[Edit]]]:
    """The rules that fired, each with all edits of the text that it and those before it make; `last` are all edits.

    What one rule did in a row is one step.
    """
    from planproof_engine.optimizer import render

    steps: list[tuple[str, Sequence[Edit]]] = []
    for step, following in pairwise(fired):
        if step.rule == following.rule:
            continue
        try:
            steps.append((step.rule, render.find_edits(plan.root, step.after, plan.text)))
        except render.CannotRender:
            # What stands between two rules need not have a text.
            steps.append((step.rule, ()))
    return [*steps, (fired[-1].rule, last)]


def _list_makers(plan: LogicalPlan, fired: Sequence[Fired], changes: Sequence[Edit]) -> list[str]:
    """The rules that made each of the edits."""
    if len(changes) == 1:
        return [" + ".join(dict.fromkeys(f.rule for f in fired))]
    steps = _list_steps(plan, fired, changes)
    return [_list_changing(steps, start, stop) for start, stop, _ in changes]


def _list_changing(steps: Sequence[tuple[str, Sequence[Edit]]], start: int, stop: int) -> str:
    """The rules after which something in the span differs."""
    names: dict[str, None] = {}
    before: list[Edit] = []
    for rule, edits in steps:
        after = [e for e in edits if start <= e[0] and e[1] <= stop]
        if after != before:
            names[rule] = None
        before = after
    return " + ".join(names)


def _find_misreading(sql: str, root: Node, plan: LogicalPlan) -> str | None:
    """Why the text is not that of the plan, if so: a name was captured, or a flag would change.

    Raises `AnalysisError` or `Unknown` where it does not bind.
    """
    from planproof_engine.optimizer.equivalence import is_equivalent

    env = plan.environment
    if env is None:
        return None
    again = bind_query(parse(sql, plan.conf), evolve(env, text=sql, growth=Growth()), None)
    if again.schema.strip() == root.schema.strip() and is_equivalent(again, root):
        return None
    return "its text does not read back as the plan that was meant"


def _make_refused_finding(refused: RefusedRule) -> Finding:
    if refused.repeated:
        twice = ", ".join(refused.repeated)
        message = f"the rule {refused.rule} made two columns called {twice} and was refused"
        return Finding(Verdict.WARNING, "PP202", "rewritten", None, "a unique (relation, name)", twice, message)
    message = f"the rule {refused.rule} changed the schema and was refused"
    return Finding(Verdict.WARNING, "PP202", "rewritten", None, str(refused.promised), str(refused.found), message)


def _make_dropped_finding(rules: str, reason: str) -> Finding:
    return Finding(Verdict.WARNING, "PP202", "rewritten", message=f"the rewriting by {rules} was dropped: {reason}")


def make_environment(sql: str, catalog: Catalog | None, conf: Conf, registry: Registry | None = None) -> Environment:
    """What a text is bound in: the catalog, the settings, and the functions of that Spark where none are given."""
    return Environment(sql, catalog or Catalog(), conf, registry or functions_of(conf), bind_query)


def _refuse_duplicates(root: Node, case_sensitive: bool) -> None:
    """Raises at the innermost node that creates a duplicate, subqueries included."""
    nodes = tuple(root.walk_everywhere())
    found = [*find_repeated(nodes, case_sensitive), *find_bare(nodes, case_sensitive)]
    if found:
        node = found[-1].node
        named = "; ".join(", ".join(str(field_of(c)) for c in r.columns) for r in found if r.node is node)
        raise DuplicateField(f"{type(node).__name__} repeats (relation, name): {named}")


def _find_duplicates(nodes: Sequence[Node], origins: tuple[Origin | None, ...], case_sensitive: bool) -> list[Finding]:
    """I1 in its default form, over every node: a repetition is a warning, as Spark accepts it; the same name, and the
    same columns under another relation, are told once, where they are nearest to the result."""
    found: dict[str, Finding] = {}
    told: set[frozenset[int]] = set()
    root = nodes[0]
    places: dict[int, list[int]] = {}
    for at, column in enumerate(root.output):
        places.setdefault(column.id, []).append(at)
    for r in find_repeated(nodes, case_sensitive):
        columns = frozenset(c.id for c in r.columns)
        if columns in told:
            continue
        told.add(columns)
        many = len(r.columns)
        where, origin = f" of {_describe_node(r.node)} within the query", None
        if r.node is root:
            second = sorted(at for each in columns for at in places[each])[1]
            where, origin = "", origins[second] if second < len(origins) else None
        output = "columns" if where else "output columns"
        finding = Finding(
            Verdict.WARNING,
            "PP101",
            "logical",
            r.columns[0].name,
            "a unique (relation, name)",
            f"{many} fields",
            shorten_names(f"{many} {output}{where} are called {r.name}"),
            origin,
        )
        found.setdefault(r.name.lower(), finding)
    return list(found.values())


def _describe_node(node: Node) -> str:
    """What a node is to people: the name of a subquery or CTE, else its kind."""
    return ".".join(node.name) if isinstance(node, Named) else f"a {type(node).__name__}"
