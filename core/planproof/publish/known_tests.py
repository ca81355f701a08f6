"""dbt's own generic tests, known by their compiled SQL: a test that a project overrides has another text.

The texts are those of dbt's macros `default__test_not_null`, `_unique`, `_accepted_values` and `_relationships`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from planproof.catalog import split_name

_NAME = r"(?:[A-Za-z_][A-Za-z0-9_]*|`[^`\s]+`)"
_LITERAL = r"'[^'\\]*'"
_PARTS = {
    "COLUMN": rf"(?P<column>{_NAME})",
    "SAME": "(?P=column)",
    "MODEL": rf"(?P<model>{_NAME}\.{_NAME})",
    "FIELD": rf"(?P<field>{_NAME})",
    "OTHER": rf"(?P<other>{_NAME}\.{_NAME})",
    "VALUES": rf"(?P<values>{_LITERAL}(?:\s*,\s*{_LITERAL})*)",
    "(": r"\(",
    ")": r"\)",
    ",": ",",
    "count(*)": r"count\(\*\)",
}
_TEXTS = {
    "not_null": "select COLUMN from MODEL where SAME is null",
    "unique": "select SAME_FIRST as unique_field , count(*) as n_records from MODEL where SAME is not null "
    "group by SAME having count(*) > 1",
    "accepted_values": "with all_values as ( select SAME_FIRST as value_field , count(*) as n_records from MODEL "
    "group by SAME ) select * from all_values where value_field not in ( VALUES )",
    "relationships": "with child as ( select SAME_FIRST as from_field from MODEL where SAME is not null ) , "
    "parent as ( select FIELD as to_field from OTHER ) select from_field from child "
    "left join parent on child.from_field = parent.to_field where parent.to_field is null",
}
_NO_COLUMNS = frozenset(("null", "true", "false"))
_LIMIT = re.compile(r"\s*(!=|<>|>=|<=|==|=|>|<)\s*(\d+)\s*")


@dataclass(frozen=True, slots=True)
class Question:
    """What one of dbt's own tests asks: of a column of a relation (database, table), and what it is held against.

    `kind` is dbt's name of the test. `values` are those that are accepted; `other` and `field` where a value must be.
    """

    kind: str
    relation: tuple[str, ...]
    column: str
    values: tuple[str, ...] = ()
    other: tuple[str, ...] = ()
    field: str = ""


def _pattern(text: str) -> re.Pattern[str]:
    words = [word.replace("SAME_FIRST", "COLUMN") for word in text.split()]
    pieces = [_PARTS.get(word) or re.escape(word) for word in words]
    glued = [piece if word in ("(", ")", ",") else rf"(?<![\w`]){piece}(?![\w`])" for word, piece in zip(words, pieces)]
    return re.compile(r"\s*" + r"\s*".join(glued) + r"\s*", re.ASCII)


_PATTERNS = {kind: _pattern(text) for kind, text in _TEXTS.items()}


def question(sql: str) -> Question | None:
    """What a compiled test asks, where it is one of dbt's own and says nothing else.

    >>> question("select id from shop.orders where id is null")
    Question(kind='not_null', relation=('shop', 'orders'), column='id', values=(), other=(), field='')
    """
    for kind, pattern in _PATTERNS.items():
        found = pattern.fullmatch(sql)
        if found is None:
            continue
        groups = found.groupdict()
        column, field = _plain(groups["column"]), _plain(groups.get("field") or "")
        if groups["column"].lower() in _NO_COLUMNS or (groups.get("field") or "").lower() in _NO_COLUMNS:
            return None
        values = tuple(text[1:-1] for text in re.findall(_LITERAL, groups.get("values") or ""))
        other = split_name(groups["other"]) if groups.get("other") else ()
        return Question(kind, _relation(groups["model"]), column, values, tuple(p.lower() for p in other), field)
    return None


def _relation(name: str) -> tuple[str, ...]:
    return tuple(part.lower() for part in split_name(name))


def _plain(name: str) -> str:
    return name.strip("`")


@dataclass(frozen=True, slots=True)
class Limits:
    """When a test's count of failures warns and fails: `warn_if` and `error_if` of its config, a comparison each."""

    warn_if: tuple[str, int]
    error_if: tuple[str, int]

    @classmethod
    def of(cls, config: Mapping[str, Any]) -> Limits | None:
        """None where the failures are counted or compared in another way than by a whole number, or not all of them."""
        if config.get("limit") is not None or config.get("fail_calc") != "count(*)":
            return None
        read = [_LIMIT.fullmatch(str(config.get(key))) for key in ("warn_if", "error_if")]
        if read[0] is None or read[1] is None:
            return None
        return cls((read[0][1], int(read[0][2])), (read[1][1], int(read[1][2])))

    def warns(self, failures: int) -> bool:
        return _holds(failures, *self.warn_if)

    def fails(self, failures: int) -> bool:
        return _holds(failures, *self.error_if)


def _holds(failures: int, operator: str, limit: int) -> bool:
    return {
        "!=": failures != limit,
        "<>": failures != limit,
        ">=": failures >= limit,
        "<=": failures <= limit,
        "=": failures == limit,
        "==": failures == limit,
        ">": failures > limit,
        "<": failures < limit,
    }[operator]
