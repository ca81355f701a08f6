"""Text to tree."""

from __future__ import annotations

from sqlglot import exp

from planproof.conf import Conf
from planproof.origin import AnalysisError, Unknown, place
from planproof.sql.cursor import Cursor
from planproof.sql.queries import QueryGrammar


def parse(text: str, conf: Conf = Conf()) -> exp.Expr:  # noqa: B008  (Conf is frozen)
    """The tree of one query, in the shapes that `planproof.sql` lists.

    Raises `AnalysisError` (PARSE_SYNTAX_ERROR, PARSE_EMPTY_STATEMENT, ...) where Spark's parser rejects the text, and
    `Unknown` for Spark syntax that the tree cannot say.
    """
    try:
        grammar = QueryGrammar(text, conf)
        _not_empty(grammar)
        tree = grammar.query()
        _at_end(grammar)
    except RecursionError:
        raise Unknown("a query nested this deep", place(text, 0)) from None
    return tree


def _not_empty(grammar: Cursor) -> None:
    if grammar.kind == "EOF":
        raise AnalysisError("PARSE_EMPTY_STATEMENT", "Syntax error, unexpected empty statement.", grammar.origin(0))


def _at_end(grammar: Cursor) -> None:
    while grammar.skip(";"):
        pass
    if grammar.kind != "EOF":
        grammar.fail()
