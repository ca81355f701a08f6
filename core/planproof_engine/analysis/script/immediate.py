"""`EXECUTE IMMEDIATE text USING values`: the query in the text. Source: `ResolveExecuteImmediate`."""

from __future__ import annotations

import re

from planproof_engine import types as dt
from planproof_engine.analysis.expressions import Context, Environment, Scope, bind
from planproof_engine.analysis.expressions.constants import fold, literal_sql, text_of
from planproof_engine.expr import Alias, Call, Cast, Expr, Literal, SessionVariable, fresh_id
from planproof_engine.functions.bind import cast
from planproof_engine.functions.names import OF_PARAMETERS
from planproof_engine.ground import AnalysisError, Unknown, evolve
from planproof_engine.sql import commands as c
from planproof_engine.sql import nodes as q
from planproof_engine.sql.edits import replace_markers
from planproof_engine.sql.parse import parse, parse_statement

_IMMEDIATE = re.compile(r"\s*EXECUTE\s+IMMEDIATE\b", re.IGNORECASE)


def is_immediate(text: str) -> bool:
    """Whether the text is an EXECUTE IMMEDIATE, whose query stands in a text of its own."""
    return _IMMEDIATE.match(text) is not None


def parse_query(sql: str, env: Environment) -> tuple[Environment, q.Query]:
    """The query's tree; for EXECUTE IMMEDIATE that of the query in its text, with its parameters in the environment."""
    if not is_immediate(sql):
        return env, parse(sql, env.conf)
    statement = parse_statement(sql, env.conf)
    if isinstance(statement, c.ExecuteImmediate) and statement.into:
        raise env.make_unknown("EXECUTE IMMEDIATE .. INTO", statement)
    return execute(statement, env)


def execute(node: q.Node, env: Environment) -> tuple[Environment, q.Query]:
    """The query's tree, and the environment that holds its text and parameters."""
    if not isinstance(node, c.ExecuteImmediate):
        raise env.make_unknown(f"the statement {type(node).__name__}", node)
    ctx = Context(env, Scope(()))
    text = text_of(node.text, ctx, "EXECUTE IMMEDIATE of a computed text")
    given = _bind_arguments(node, ctx)
    statement = _parse_statement(text, env)
    if statement is None:
        # A marker may stand for a name or a part of a literal. The text with its markers has no tree then.
        text = replace_markers(text, {name: _spell(value) for name, value in given if name}, env.conf)
        statement = _parse_statement(text, env)
    if isinstance(statement, c.ExecuteImmediate):
        if env.conf.before("4.1"):
            text = "Nested EXECUTE IMMEDIATE commands are not allowed."
            raise env.make_error("NESTED_EXECUTE_IMMEDIATE", text, node)
        return execute(statement, evolve(env, text=text))
    tree = parse(text, env.conf) if statement is None else statement
    return evolve(env, text=text, parameters=_match_parameters(tree, given, node, env)), tree


Arguments = list[tuple[str | None, Expr]]


def _bind_arguments(node: c.ExecuteImmediate, ctx: Context) -> Arguments:
    """The values of USING with their names; a variable without an alias gives its own."""
    found: Arguments = []
    for argument in node.arguments:
        alias = argument.alias.text if isinstance(argument, q.Alias) else None
        value = argument.operand if isinstance(argument, q.Alias) else argument
        if isinstance(value, q.Subquery):
            text = "A query parameter contains unsupported expression. Parameters can either be variables or literals."
            raise ctx.env.make_error("UNSUPPORTED_EXPR_FOR_PARAMETER", text, argument)
        if alias is not None and any(alias.lower() == other for other, _ in found):
            text = (
                f"The USING clause of this EXECUTE IMMEDIATE command contained multiple arguments with same alias "
                f"(`{alias}`), which is invalid."
            )
            raise ctx.env.make_error("EXEC_IMMEDIATE_DUPLICATE_ARGUMENT_ALIASES", text, argument)
        name = argument.parts[-1].text if isinstance(argument, q.Column) else alias
        bound = _write_value(bind(value, ctx), ctx)
        if ctx.conf.before("4.1"):
            _refuse_computed(bound, alias or f"_{len(found) + 1}", argument, ctx)
            bound = bound if alias is None else Alias(bound, alias, fresh_id())
        found.append((None if name is None else name.lower(), bound))
    return found


def _refuse_computed(value: Expr, name: str, node: q.Node, ctx: Context) -> None:
    """Refuses what is no literal, variable or constructor of these (`BindParameters.checkArgs` before Spark 4.1, which
    keeps the argument's alias in the expression)."""
    for e in value.walk():
        if not isinstance(e, (Literal, SessionVariable)) and not (
            isinstance(e, Call) and e.function.name in OF_PARAMETERS
        ):
            text = f"The argument {name} of `sql()` is invalid: it is no literal and no collection of literals."
            raise ctx.env.make_error("INVALID_SQL_ARG", text, node)


def _write_value(value: Expr, ctx: Context) -> Expr:
    """The value as Spark writes it into the text, since 4.1 that of a cast too: a float has no literal of its own
    there."""
    if isinstance(value, Cast) and not ctx.conf.before("4.1"):
        found = fold(value)
        if not isinstance(found, Literal):
            raise Unknown("EXECUTE IMMEDIATE with a computed value")
        value = value if found.value is None else found
    if not isinstance(value, Literal) or value.type != dt.FLOAT or value.value is None:
        return value
    return evolve(cast(Literal(value.text, dt.STRING, value.text), dt.FLOAT, ctx.conf, written=True), nullable=True)


def _match_parameters(tree: q.Node, given: Arguments, node: q.Node, env: Environment) -> dict[str, Expr]:
    """The values by the markers that stand for them. Either all markers have names, or none has."""
    markers = list(tree.find_all(q.Placeholder))
    unnamed = sorted(m.span[0] for m in markers if not m.name)
    if unnamed and len(unnamed) < len(markers):
        text = "Parameterized query must either use positional, or named parameters, but not both."
        raise env.make_error("INVALID_QUERY_MIXED_QUERY_PARAMETERS", text, node)
    if unnamed:
        return {f"?{at}": value for at, (_, value) in zip(unnamed, given)}
    if markers and any(name is None for name, _ in given):
        text = "Using name parameterized queries requires all parameters to be named."
        raise env.make_error("ALL_PARAMETERS_MUST_BE_NAMED", text, node)
    return {name: value for name, value in given if name is not None}


def _spell(value: Expr) -> str | None:
    found = fold(value)
    return literal_sql(found) if isinstance(found, Literal) else None


def _parse_statement(text: str, env: Environment) -> q.Query | c.ExecuteImmediate | None:
    """The text's query or EXECUTE IMMEDIATE; None for any other text. Raises `Unknown` for a command, whose result has
    a schema of its own."""
    try:
        return parse(text, env.conf)
    except AnalysisError:
        pass
    try:
        statement = parse_statement(text, env.conf)
    except AnalysisError:
        return None
    if isinstance(statement, c.ExecuteImmediate) and not statement.into:
        return statement
    raise Unknown(f"EXECUTE IMMEDIATE of the statement {type(statement).__name__}")
