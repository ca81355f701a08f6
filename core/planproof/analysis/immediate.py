"""`EXECUTE IMMEDIATE text USING values`: the query in the text. Source: `ResolveExecuteImmediate`."""

from __future__ import annotations

from dataclasses import replace

from sqlglot import exp

from planproof.analysis.binding import bind
from planproof.analysis.constants import text_of
from planproof.analysis.context import Context, Environment
from planproof.analysis.scope import Scope
from planproof.expr import Expr
from planproof.origin import AnalysisError, Unknown
from planproof.sql import commands as c
from planproof.sql.nodes import span
from planproof.sql.parse import parse, parse_statement


def executed(node: exp.Expr, env: Environment) -> tuple[Environment, exp.Expr]:
    """The query's tree, and the environment that holds its text and parameters."""
    if not isinstance(node, c.ExecuteImmediate):
        raise env.unknown(f"the statement {type(node).__name__}", node)
    ctx = Context(env, Scope(()))
    text = text_of(node.args["this"], ctx, "EXECUTE IMMEDIATE of a computed text")
    statement = _statement(text, env)
    if isinstance(statement, c.ExecuteImmediate):
        return executed(statement, replace(env, text=text))
    tree = parse(text, env.conf) if statement is None else statement
    unnamed = sorted(span(p)[0] for p in tree.find_all(exp.Placeholder) if not p.args.get("this"))
    parameters: dict[str, Expr] = {}
    for at, argument in enumerate(node.args.get("expressions") or ()):
        if isinstance(argument, exp.Alias):
            parameters[argument.args["alias"].args["this"].lower()] = bind(argument.args["this"], ctx)
            continue
        value = bind(argument, ctx)
        if at < len(unnamed):
            parameters[f"?{unnamed[at]}"] = value
        elif isinstance(argument, exp.Column):
            parameters[argument.name.lower()] = value
    return replace(env, text=text, parameters=parameters), tree


def _statement(text: str, env: Environment) -> exp.Expr | None:
    """A query, or another EXECUTE IMMEDIATE; None of what is neither. A command's schema is its own: `Unknown`."""
    try:
        return parse(text, env.conf)
    except AnalysisError:
        pass
    try:
        statement = parse_statement(text, env.conf)
    except AnalysisError:
        return None
    if isinstance(statement, c.ExecuteImmediate) and not statement.args.get("into"):
        return statement
    raise Unknown(f"EXECUTE IMMEDIATE of the statement {type(statement).__name__}")
