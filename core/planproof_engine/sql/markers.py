"""Named parameter markers in a text, as Spark substitutes them: before it is parsed. Source: `ParameterHandler`."""

from __future__ import annotations

from collections.abc import Mapping

from planproof_engine.conf import Conf
from planproof_engine.sql.keywords import WORDS
from planproof_engine.sql.splice import splice
from planproof_engine.sql.tokens import Tokens, tokens_of


def replace_markers(text: str, values: Mapping[str, str | None], conf: Conf) -> str:
    """The text with each `:name` replaced by the SQL of its value, where that is given; names are in lower case.

    >>> replace_markers("SELECT :a, v:a", {"a": "'x'"}, Conf())
    "SELECT 'x', v:a"
    """
    tokens = tokens_of(text, conf)
    changes = []
    for at, kind in enumerate(tokens.kinds):
        if kind != ":" or tokens.kinds[at + 1] not in WORDS or _is_path(tokens, at):
            continue
        start, stop = tokens.starts[at], tokens.stops[at + 1]
        value = values.get(text[tokens.starts[at + 1] : stop].lower())
        if value is not None:
            changes.append((start, stop, value))
    return splice(text, changes)


def _is_path(tokens: Tokens, at: int) -> bool:
    """Whether the colon reads a variant's field: it then touches what it reads."""
    before = tokens.kinds[at - 1] if at else ""
    return tokens.stops[at - 1] == tokens.starts[at] and (before in WORDS or before in (")", "]"))
