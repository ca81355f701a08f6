"""Text to tree."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TypeVar

from planproof_engine.depth import deeply
from planproof_engine.ground import AnalysisError, Conf, Unknown, place
from planproof_engine.sql import nodes as q
from planproof_engine.sql.clauses import named_expression, sort_items
from planproof_engine.sql.cursor import Cursor, Rules
from planproof_engine.sql.expressions import expression, value
from planproof_engine.sql.queries import query, query_primary
from planproof_engine.sql.statements import parse_setting, statement

Read = TypeVar("Read", bound=q.Node)

Tree = q.Query
"""What `parse` gives: the outermost node of a query."""

_DEFAULT = Conf()

RULES = Rules(expression, value, named_expression, sort_items, query, query_primary)
"""Spark's cursor: a cursor over a text of its own is made with them."""


def parse(text: str, conf: Conf = _DEFAULT) -> q.Query:
    """The tree of one query, in the shapes that `planproof_engine.sql` lists.

    Raises `AnalysisError` (PARSE_SYNTAX_ERROR, PARSE_EMPTY_STATEMENT, ...) where Spark's parser rejects the text, and
    `Unknown` for Spark syntax that the tree cannot say.

    >>> parse("SELECT a FROM t")
    Select(items=[Column(parts=[Identifier(text='a')])], from_=From(relation=Table(parts=[Identifier(text='t')])))
    """
    return _parse_whole(text, conf, query)


def parse_statement(text: str, conf: Conf = _DEFAULT) -> q.Node:
    """The tree of one statement: a query, or a node of `planproof_engine.sql.commands`. Raises as `parse` does.

    >>> parse_statement("SET spark.sql.ansi.enabled = false")
    SetConf(key='spark.sql.ansi.enabled', value='false')
    """
    known = parse_setting(text)
    return _parse_whole(text, conf, statement) if known is None else known


def _parse_whole(text: str, conf: Conf, read: Callable[[Cursor], Read]) -> Read:
    try:
        return deeply(lambda: _read(text, conf, read))
    except RecursionError:
        raise Unknown("a query nested this deep", place(text, 0)) from None


def _read(text: str, conf: Conf, read: Callable[[Cursor], Read]) -> Read:
    cursor = Cursor(text, conf, RULES)
    if "${" in text:
        _refuse_substitution(cursor)
    if cursor.kind == "EOF":
        raise AnalysisError("PARSE_EMPTY_STATEMENT", "Syntax error, unexpected empty statement.", place(text, 0))
    while True:
        try:
            return _read_all(cursor, read)
        except AnalysisError as error:
            try:
                cursor.read_anew(0, error)
            except AnalysisError as last:
                raise cursor.find_hyphened_name(last) or last from None


_WORD = re.compile(r"\S+")


def _refuse_substitution(cursor: Cursor) -> None:
    """Spark puts a setting in the place of `${name}` before it reads the text, within strings too."""
    for at, stop in zip(cursor.starts, cursor.stops):
        for word in _WORD.finditer(cursor.text, at, stop):
            start = cursor.text.find("${", *word.span())
            end = cursor.text.find("}", start + 3, word.end()) if start >= 0 else -1
            if end >= 0:
                raise Unknown("a ${...} variable", place(cursor.text, start, end + 1))


def _read_all(cursor: Cursor, read: Callable[[Cursor], Read]) -> Read:
    tree = read(cursor)
    while cursor.skip(";"):
        pass
    if cursor.kind != "EOF":
        cursor.fail()
    cursor.finish()
    return tree
