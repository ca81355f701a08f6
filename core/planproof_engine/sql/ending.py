"""A query's text as it can stand inside another one."""

from __future__ import annotations

from planproof_engine.origin import AnalysisError, Unknown
from planproof_engine.sql.tokens import tokenize


def drop_terminators(text: str) -> str:
    """The text without its closing semicolons and what follows them (only comments can).

    >>> drop_terminators("select ';' as a ; -- the end")
    "select ';' as a"
    """
    text = text.strip()
    try:
        tokens = tokenize(text)
    except (AnalysisError, Unknown):  # Spark says what is wrong with it.
        return text.removesuffix(";").rstrip()
    last = tokens.kinds.index("EOF")
    end = last
    while end and tokens.kinds[end - 1] == ";":
        end -= 1
    return text[: tokens.starts[end]].rstrip() if end < last else text
