"""Generic tests of dbt's and of dbt_utils', known by their compiled SQL: a test that a project overrides has another
text.

The texts are those of dbt's macros `default__test_not_null`, `_unique`, `_accepted_values` and `_relationships`, and
of dbt_utils' of the same names as the kinds here. `get_where_subquery` writes a test's `where`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from planproof_engine import RelationName

_NAME = r"(?:[A-Za-z_][A-Za-z0-9_]*|`[^`\s]+`)"
_LITERAL = r"'[^'\\]*'"
_PARTS = {
    "COLUMN": rf"(?P<column>{_NAME})",
    "COLUMNS": rf"(?P<columns>{_NAME}(?:\s*,\s*{_NAME})*)",
    "SAME": "(?P=column)",
    "SAMES": "(?P=columns)",
    "MODEL": rf"(?:(?P<model>{_NAME}\.{_NAME})|"
    rf"\(select \* from (?P<filtered>{_NAME}\.{_NAME}) where (?P<where>.+?)\)\s*dbt_subquery)",
    "FIELD": rf"(?P<field>{_NAME})",
    "OTHER": rf"(?P<other>{_NAME}\.{_NAME})",
    "VALUES": rf"(?P<values>{_LITERAL}(?:\s*,\s*{_LITERAL})*)",
    "LEAST": r"(?P<least>>=?\s*-?\d+)",
    "MOST": r"(?P<most><=?\s*-?\d+)",
    "SHARE_LEAST": r"(?P<least>\d+(?:\.\d+)?)",
    "SHARE_MOST": r"(?P<most>\d+(?:\.\d+)?)",
    "ENDLINE": r"[^\S\n]*\n",
}
_RANGE = (
    "with meet_condition as( select * from MODEL ), validation_errors as ( select * from meet_condition where "
    "-- never true, defaults to an empty result set. Exists to ensure any combo of the `or` clauses below succeeds "
    "ENDLINE 1 = 2 {} ) select * from validation_errors"
)
_PERMITTED = "-- records with a value {} are permitted. The `not` flips this to find records that don't meet the rule."
_FROM = f"{_PERMITTED.format('>= min_value')} ENDLINE or not COLUMN LEAST"
_TO = f"{_PERMITTED.format('<= max_value')} ENDLINE or not {{}} MOST"
_TEXTS = (
    ("not_null", "select COLUMN from MODEL where SAME is null"),
    (
        "unique",
        "select SAME_FIRST as unique_field , count(*) as n_records from MODEL where SAME is not null "
        "group by SAME having count(*) > 1",
    ),
    (
        "accepted_values",
        "with all_values as ( select SAME_FIRST as value_field , count(*) as n_records from MODEL "
        "group by SAME ) select * from all_values where value_field not in ( VALUES )",
    ),
    (
        "relationships",
        "with child as ( select SAME_FIRST as from_field from MODEL where SAME is not null ) , "
        "parent as ( select FIELD as to_field from OTHER ) select from_field from child "
        "left join parent on child.from_field = parent.to_field where parent.to_field is null",
    ),
    (
        "unique_combination_of_columns",
        "with validation_errors as ( select COLUMNS from MODEL group by SAMES having count(*) > 1 ) "
        "select * from validation_errors",
    ),
    ("accepted_range", _RANGE.format(f"{_FROM} {_TO.format('SAME')}")),
    ("accepted_range", _RANGE.format(_FROM)),
    ("accepted_range", _RANGE.format(_TO.format("COLUMN"))),
    (
        "not_constant",
        "select count(distinct COLUMN ) as filler_column from MODEL having count(distinct SAME ) = 1",
    ),
    (
        "at_least_one",
        "select * from ( with pruned_rows as ( select COLUMN from MODEL where SAME is not null limit 1 ) "
        "select count( SAME ) as filler_column from pruned_rows having count( SAME ) = 0 ) validation_errors",
    ),
    (
        "not_null_proportion",
        "with validation as ( select sum(case when COLUMN is null then 0 else 1 end) / cast(count(*) as "
        "decimal(28,6)) as not_null_proportion from MODEL ), validation_errors as ( select not_null_proportion "
        "from validation where not_null_proportion < SHARE_LEAST or not_null_proportion > SHARE_MOST ) "
        "select * from validation_errors",
    ),
    (
        "not_empty_string",
        "with all_values as ( select trim( COLUMN ) as SAME from MODEL ), errors as ( select * from all_values "
        "where SAME = '' ) select * from errors",
    ),
    (
        "not_accepted_values",
        "with all_values as ( select distinct SAME_FIRST as value_field from MODEL ), validation_errors as ( "
        "select value_field from all_values where value_field in ( VALUES ) ) select * from validation_errors",
    ),
)
_OF_ALL_ROWS = frozenset(("not_constant", "at_least_one", "not_null_proportion"))
"""Tests whose result for some of the rows does not follow from the result for all rows, nor the other way round."""
_NO_COLUMNS = frozenset(("null", "true", "false"))
_LIMIT = re.compile(r"\s*(!=|<>|>=|<=|==|=|>|<)\s*(\d+)\s*")


@dataclass(frozen=True, slots=True)
class Question:
    """What one of dbt's own tests asks: of a column of a relation, and what it is held against.

    `kind` is the test's name. `values` are those that are accepted, or are not; `other` and `field` where a value must
    be; `least` and `most` are bounds as they are written (`>=1`, or a share). Without a `column` all `columns` count
    together. `where`: the rows that are asked, all where it is empty.
    """

    kind: str
    relation: RelationName
    column: str
    values: tuple[str, ...] = ()
    other: RelationName | None = None
    field: str = ""
    columns: tuple[str, ...] = ()
    least: str = ""
    most: str = ""
    where: str = ""


def _compile_pattern(text: str) -> re.Pattern[str]:
    pieces = [_match_word(word) for word in text.replace("SAME_FIRST", "COLUMN").split()]
    return re.compile(r"\s*" + r"\s*".join(pieces) + r"\s*", re.ASCII | re.DOTALL)


def _match_word(word: str) -> str:
    """A word stands alone; what is glued to it in the text (`(`, `,`) is glued here."""
    if word == "ENDLINE":
        return _PARTS[word]
    inner = "".join(_PARTS.get(part) or re.escape(part) for part in re.split(r"\b([A-Z_]+)\b", word))
    before = r"(?<![\w`])" if re.match(r"[\w`]", word) else ""
    after = r"(?![\w`])" if re.search(r"[\w`]$", word) else ""
    return f"{before}{inner}{after}"


_PATTERNS = [(kind, _compile_pattern(text)) for kind, text in _TEXTS]


def parse_question(sql: str) -> Question | None:
    """What a compiled test asks, where it is one of dbt's own and says nothing else.

    >>> found = parse_question("select id from shop.orders where id is null")
    >>> found.kind, found.relation.parts, found.column
    ('not_null', ('shop', 'orders'), 'id')
    """
    for kind, pattern in _PATTERNS:
        found = pattern.fullmatch(sql)
        if found is not None:
            return _make_question(kind, {key: text or "" for key, text in found.groupdict().items()})
    return None


def _make_question(kind: str, groups: Mapping[str, str]) -> Question | None:
    columns = tuple(_unquote(name) for name in re.findall(_NAME, groups.get("columns", "")))
    column, field = groups.get("column", ""), groups.get("field", "")
    where = groups["where"]
    if any(name.lower() in _NO_COLUMNS for name in (column, field, *columns)):
        return None
    if where and (kind in _OF_ALL_ROWS or "--" in where or "/*" in where):
        return None
    return Question(
        kind,
        RelationName.parse(groups["model"] or groups["filtered"]),
        _unquote(column),
        tuple(text[1:-1] for text in re.findall(_LITERAL, groups.get("values", ""))),
        RelationName.parse(groups["other"]) if groups.get("other") else None,
        _unquote(field),
        columns,
        "".join(groups.get("least", "").split()),
        "".join(groups.get("most", "").split()),
        where,
    )


def _unquote(name: str) -> str:
    return name.strip("`")


@dataclass(frozen=True, slots=True)
class Thresholds:
    """When a test's count of failures warns and fails: `warn_if` and `error_if` of its config, a comparison each."""

    warn_if: tuple[str, int]
    error_if: tuple[str, int]

    @classmethod
    def of(cls, config: Mapping[str, Any]) -> Thresholds | None:
        """None where the failures are counted or compared in another way than by a whole number, or not all of them."""
        if config.get("limit") is not None or config.get("fail_calc") != "count(*)":
            return None
        read = [_LIMIT.fullmatch(str(config.get(key))) for key in ("warn_if", "error_if")]
        if read[0] is None or read[1] is None:
            return None
        return cls((read[0][1], int(read[0][2])), (read[1][1], int(read[1][2])))

    def warns(self, failures: int) -> bool:
        return _is_true(failures, *self.warn_if)

    def fails(self, failures: int) -> bool:
        return _is_true(failures, *self.error_if)


def _is_true(failures: int, operator: str, limit: int) -> bool:
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
