"""What binding an expression needs to know: where it stands, what its names can mean, which settings are in force."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from typing import Any

from planproof_engine.analysis.growth import Growth, Size
from planproof_engine.analysis.names.fields import Fields
from planproof_engine.analysis.names.scope import LambdaScope, Scope
from planproof_engine.analysis.versions import list_lacking
from planproof_engine.catalog import Catalog, split_name
from planproof_engine.expr import Alias, Column, Expr, Mismatch, Outer, Span
from planproof_engine.functions.registry import Registry
from planproof_engine.ground import AnalysisError, Conf, Origin, Unknown, evolve, place, record
from planproof_engine.logical.nodes import Plan
from planproof_engine.sql import nodes as q

QueryBinder = Callable[[q.Query, "Environment", "Scope | None"], Plan]


@record(frozen=True, slots=True)
class Cte:
    """A common table expression in scope: its plan, or (for a recursive one under analysis) its anchor's columns.

    A CTE that Spark rejects gives its error where a query refers to it: Spark checks it there. `late` is what is wrong
    with one that is resolved. `size` counts its plan's nodes and their columns.
    """

    name: str
    plan: Plan
    rejection: AnalysisError | None = None
    late: AnalysisError | None = None
    size: Size = (1, 0)


@record(frozen=True, slots=True)
class Environment:
    """What the query blocks of a statement share while they are analyzed, and the CTEs that are visible here.

    `parameters` holds the values of parameter markers, by name; a marker without a name has the key `?` and its offset.
        `functions` and `views` hold the `Routine`s and `View`s that a script declared, by name.
    `broken` says why some of these views cannot be read: condition and message. `tables` says how the tables that the
        script made are stored.
    `widths` counts the columns of each select item that gave none or several (a star, say), by the `id` of its node.
    `growth` is how large the plan is so far.
    `preferred` are CTEs that no WITH inside shadows (`spark.sql.legacy.ctePrecedencePolicy`).
    `taken` are names that no CTE may have under that setting, and `taken_below` those in subqueries of expressions.
    `probing`: only what is wrong is looked for, beside an error that is known.
    `lenient`: what Spark checks last of a block is let pass. `fields` finds parts of values by their names.
    `settings` are all that the session set, by name, where that is known: a text may name any (`${name}`).
    `unread` takes the columns of the query right around that CTEs use which nothing reads.
    `late` takes what `CheckAnalysis` refuses of a plan that is resolved (`refuse_late`); None: that is raised at once.
    """

    text: str
    catalog: Catalog
    conf: Conf
    registry: Registry
    bind_query: QueryBinder
    ctes: dict[str, Cte] = field(default_factory=dict)
    variables: dict[str, Expr] = field(default_factory=dict)
    parameters: dict[str, Expr] = field(default_factory=dict)
    functions: dict[str, Any] = field(default_factory=dict)
    views: dict[str, Any] = field(default_factory=dict)
    broken: dict[str, tuple[str, str]] = field(default_factory=dict)
    tables: dict[str, Any] = field(default_factory=dict)
    preferred: dict[str, Cte] = field(default_factory=dict)
    widths: dict[int, int] = field(default_factory=dict)
    growth: Growth = field(default_factory=Growth)
    taken: frozenset[str] = frozenset()
    taken_below: frozenset[str] = frozenset()
    probing: bool = False
    lenient: bool = False
    settings: dict[str, str] | None = None
    late: list[AnalysisError] | None = None
    unread: list[Outer] = field(default_factory=list)
    fields: Fields = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "fields", Fields(self.conf, self.registry))

    def refuse_late(self, condition: str, message: str, node: q.Node) -> None:
        """Refuses a plan whose names and types are all known: Spark's rules go on above it, and what one of them
        refuses there comes first (`CheckAnalysis` runs after all rules, and looks at the lowest plan first)."""
        error = self.make_error(condition, message, node)
        if self.late is None or (self.probing and not self.lenient):
            raise error
        self.late.append(error)

    def lacks(self, thing: str) -> bool:
        """Whether the session's Spark is too old for the construct (`planproof_engine.analysis.versions`)."""
        return thing in list_lacking(self.conf.spark)

    def is_of_kind(self, relation: str, kind: str) -> bool:
        """Whether the relation is known, and a table, say."""
        found = self.catalog.find(split_name(relation))
        return found is not None and found.kind == kind

    def origin(self, node: q.Node) -> Origin | None:
        start, stop = node.span
        return place(self.text, start, stop) if start >= 0 else None

    def error_origin(self, node: q.Node) -> Origin | None:
        """Where Spark places an error of `node`: that of a predicate (`x IN (..)`) at the word behind its operand."""
        if not isinstance(node, q.Predicate):
            return self.origin(node)
        start, stop = node.span
        at = node.operand.span[1]
        while 0 <= at < stop and self.text[at] in " \t\r\n)":
            at += 1
        return place(self.text, at, stop) if start >= 0 and at < stop else self.origin(node)

    def make_scope(
        self, columns: Sequence[Column] = (), outer: Scope | None = None, hidden: tuple[Column, ...] = ()
    ) -> Scope:
        """What these columns can be named by, compared as the session compares names."""
        return Scope(tuple(columns), hidden, outer, self.conf.case_sensitive)

    def with_ctes(self, ctes: dict[str, Cte]) -> Environment:
        return evolve(self, ctes={**self.ctes, **ctes, **self.preferred})

    def within_cte(self, ctes: dict[str, Cte]) -> Environment:
        """The context for a CTE's own query. Under LEGACY precedence the CTEs before it win over those inside it.

        Under EXCEPTION no CTE inside may have a name of one before it. Source:
        `CTESubstitution.assertNoNameConflictsInCTE`.
        """
        inner = self.with_ctes(ctes)
        policy = self.conf.cte_precedence.upper()
        if policy == "LEGACY":
            return evolve(inner, preferred={**self.preferred, **ctes})
        if policy == "EXCEPTION":
            return evolve(inner, taken=self.taken | frozenset(ctes), taken_below=frozenset())
        return inner

    def over_ctes(self, ctes: dict[str, Cte]) -> Environment:
        """The query that a WITH clause precedes."""
        inner = self.with_ctes(ctes)
        exception = self.conf.cte_precedence.upper() == "EXCEPTION"
        return evolve(inner, taken_below=self.taken | frozenset(ctes)) if exception else inner

    def within_expression(self) -> Environment:
        """A subquery of an expression."""
        return self if self.taken == self.taken_below else evolve(self, taken=self.taken_below)

    def make_unknown(self, construct: str, node: q.Node) -> Unknown:
        return Unknown(construct, self.origin(node))

    def make_error(self, condition: str, message: str, node: q.Node, by_rule: bool | None = None) -> AnalysisError:
        error = AnalysisError(condition, message, self.error_origin(node))
        error.by_rule = by_rule
        return error

    def make_error_at(self, condition: str, message: str, at: Span | None, node: q.Node) -> AnalysisError:
        """The error at a place in the text; at `node` where the place is not known."""
        origin = place(self.text, *at) if at is not None else self.origin(node)
        return AnalysisError(condition, message, origin)

    def make_mismatch_error(self, found: Mismatch, node: q.Node) -> AnalysisError:
        """Spark's error for arguments that do not fit the function called at `node`."""
        message, (start, stop) = found.message, node.span
        if found.full_condition.startswith("DATATYPE_MISMATCH") and 0 <= start < stop:
            shown = textwrap.shorten(self.text[start:stop], 80, placeholder="...")
            message = f'Cannot resolve "{shown}" due to data type mismatch: {message}'
        return AnalysisError(found.full_condition, message, self.error_origin(node))


class Aliases(dict[str, list[Alias]]):
    """The select items that an expression may refer to, by name. `used`: an expression did refer to one."""

    used = False


@record(frozen=True, slots=True)
class Context:
    """Where one expression is bound.

    `aliases` are the select items to the left (lateral column aliases); in HAVING and ORDER BY all of them.
    `clause` is where it stands, for messages. `windows` are the named windows of the block; `grouping` the grouping
    expressions that `grouping()` may name; `time_windows` the columns that stand for `window(..)`. `shown`: the
    expression stands over an Aggregate and names the Aggregate's input; a name found in this scope means its output.
    `aliases_first`: an alias to the left hides a column, and not the reverse.
    """

    env: Environment
    scope: Scope
    lambdas: LambdaScope | None = None
    aliases: Aliases | None = None
    windows: dict[str, q.Window] = field(default_factory=dict)
    clause: str = "SELECT"
    grouping: tuple[Expr, ...] | None = None
    time_windows: Mapping[Expr, Expr] = field(default_factory=dict)
    shown: Scope | None = None
    aliases_first: bool = False

    @property
    def conf(self) -> Conf:
        return self.env.conf

    def lacks(self, thing: str) -> bool:
        return self.env.lacks(thing)

    def over(self, columns: Sequence[Column]) -> Context:
        """The context in which names mean these columns alone."""
        return evolve(self, scope=self.env.make_scope(columns))

    def key(self, name: str) -> str:
        return self.scope.key(name)
