"""What the author promised: the contract of a model, and the model itself."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from planproof.settings import Settings
from planproof_engine import ColumnNames, PhysicalField, PhysicalSchema, record
from planproof_engine.types import DataType, from_json, parse_type

CONSTRAINTS = ("not_null", "unique", "primary_key", "foreign_key", "check")
MATERIALIZATIONS = ("table", "view", "incremental", "ephemeral", "seed")
STRATEGIES = ("append", "insert_overwrite", "merge")
LOGGED_FORMATS = ("iceberg", "delta")
"""Formats whose own log commits a change at once, rows, columns and all."""
FILE_FORMATS = ("parquet", *LOGGED_FORMATS)
"""What tables are published in, as `publish/formats.py` does it."""


class ContractError(ValueError):
    """A contract or model that cannot be read; the message names the column and the next step."""


@record(frozen=True, slots=True)
class Constraint:
    """A declared constraint. `expression` is the check's SQL, or the foreign key's target `relation (columns)`. A null
    satisfies a check, as in SQL, unless `takes_null` is False: a CHECK of Delta's own takes it for broken."""

    kind: str
    columns: tuple[str, ...] = ()
    expression: str | None = None
    name: str | None = None
    takes_null: bool = True

    def __post_init__(self) -> None:
        if self.kind not in CONSTRAINTS:
            raise ContractError(f"unknown constraint {self.kind!r}; known: {', '.join(CONSTRAINTS)}")
        if self.kind == "check" and not self.expression:
            raise ContractError("a check constraint needs an expression")

    def __str__(self) -> str:
        inside = self.expression if self.kind == "check" else ", ".join(self.columns)
        return f"{self.kind}({inside})"

    @property
    def condition(self) -> str:
        """SQL that is false for the rows that break a check."""
        text = self.expression or ""
        return text if self.takes_null else f"coalesce((\n{text}\n), false)"


@dataclass(frozen=True, slots=True, init=False)
class Contract:
    """Promised columns in order, `[(name, type, nullable), ...]`, and constraints.

    A type is a `DataType`, a DDL text with nested `NOT NULL`, or Spark's type JSON (text or decoded). A bare
    `timestamp` is the one with a zone, as Spark prints types, whatever `spark.sql.timestampType` says. A constraint is
    a `Constraint` or a mapping with its fields. `not_null` constraints become the columns' flags. `unknown` describes,
    in words, constraints of kinds that only the database knows: nothing checks them. Raises `ContractError`.
    """

    schema: PhysicalSchema
    constraints: tuple[Constraint, ...]
    places: Mapping[str, str]
    unknown: tuple[str, ...]

    def __init__(
        self,
        columns: Iterable[tuple[str, Any, bool]],
        constraints: Iterable[Constraint | Mapping[str, Any]] = (),
        places: Mapping[str, str] | None = None,
        unknown: Iterable[str] = (),
    ) -> None:
        declared = tuple(c if isinstance(c, Constraint) else _parse_constraint(c) for c in constraints)
        not_null = ColumnNames(n for c in declared if c.kind in ("not_null", "primary_key") for n in c.columns)
        fields = tuple(
            PhysicalField(name, _parse_type(name, data_type), bool(nullable) and name not in not_null)
            for name, data_type, nullable in columns
        )
        known = ColumnNames(f.name for f in fields)
        for constraint in declared:
            for name in constraint.columns:
                if name not in known:
                    raise ContractError(f"{constraint} names {name!r}, which is not a column of the contract")
        object.__setattr__(self, "schema", PhysicalSchema(fields))
        object.__setattr__(self, "constraints", tuple(c for c in declared if c.kind != "not_null"))
        object.__setattr__(self, "places", dict(places or {}))
        object.__setattr__(self, "unknown", tuple(unknown))

    @property
    def fingerprint(self) -> str:
        """A short hash of the columns, in order, and of the constraints. It changes exactly when the promise
        changes."""
        columns = [[f.name, f.type.json, f.nullable] for f in self.schema]
        return fingerprint([columns, sorted([c.kind, list(c.columns), c.expression or ""] for c in self.constraints)])


def fingerprint(form: Any) -> str:
    """A short hash of a form in JSON's types."""
    return hashlib.sha256(json.dumps(form, sort_keys=True).encode()).hexdigest()[:16]


def _parse_type(name: str, given: Any) -> DataType:
    try:
        if isinstance(given, DataType):
            return given
        if isinstance(given, str) and given.lstrip()[:1] not in ("{", '"'):
            return parse_type(given)
        return from_json(given)
    except (ValueError, KeyError) as error:
        raise ContractError(f"column {name!r}: {error}") from error


def _parse_constraint(given: Any) -> Constraint:
    if not isinstance(given, Mapping):
        kind = given if given in CONSTRAINTS else CONSTRAINTS[0]
        raise ContractError(
            f"a constraint is {given!r}: give a mapping with its kind and columns, such as "
            f"{{'kind': {kind!r}, 'columns': ['id']}}"
        )
    kind = str(given.get("kind") or given.get("type") or "")
    columns = given.get("columns") or ()
    if not isinstance(columns, (list, tuple)) or not all(map(_is_text, columns)):
        raise ContractError(f"the columns of the constraint {kind!r} are {columns!r}: give a list of names")
    for key in ("expression", "name"):
        if not isinstance(given.get(key), (str, type(None))):
            raise ContractError(f"`{key}` of the constraint {kind!r} is {given[key]!r}, not a text")
    return Constraint(kind, tuple(columns), given.get("expression"), given.get("name"))


def _is_text(value: object) -> bool:
    return isinstance(value, str)


def _is_mapping(value: object) -> bool:
    return isinstance(value, Mapping)


def _is_count(value: object) -> bool:
    return re.fullmatch(r"\d{0,9}", str(value)) is not None


_OPTIONS: Mapping[str, tuple[Callable[[object], bool], str]] = {
    "location_root": (_is_text, "a text"),
    "options": (_is_mapping, "a mapping"),
    "tblproperties": (_is_mapping, "a mapping"),
    "buckets": (_is_count, "a number of buckets"),
}
"""What these options of a table are made of, where they stand in its CREATE TABLE."""


@dataclass(frozen=True, slots=True)
class Model:
    """One compiled model: its target's dotted name, its SQL, and how it is to be stored.

    `file` and `line_offset` place findings in the author's file. `options` are the table's options (file format,
    location_root, buckets, table properties) as dbt names them.
    """

    name: str
    sql: str
    contract: Contract | None = None
    materialized: str = "table"
    incremental_strategy: str = "append"
    partition_by: tuple[str, ...] | list[str] = ()
    settings: Settings = field(default_factory=Settings)
    file: str | None = None
    unique_id: str | None = None
    file_format: str = "parquet"
    options: Mapping[str, Any] = field(default_factory=dict)
    comment: str | None = None

    def __post_init__(self) -> None:
        if self.materialized not in MATERIALIZATIONS:
            raise ContractError(
                f"{self.name}: unknown materialization {self.materialized!r}; known: {', '.join(MATERIALIZATIONS)}"
            )
        if self.materialized == "incremental" and self.incremental_strategy not in STRATEGIES:
            raise ContractError(
                f"{self.name}: unknown incremental strategy {self.incremental_strategy!r}; "
                f"known: {', '.join(STRATEGIES)}"
            )
        if (
            self.materialized == "incremental"
            and self.incremental_strategy == "merge"
            and self.file_format == "parquet"
        ):
            raise ContractError(f"{self.name}: Parquet tables cannot be merged into; a file_format like iceberg can")
        self._refuse_odd_options()
        object.__setattr__(self, "partition_by", tuple(self.partition_by))

    def _refuse_odd_options(self) -> None:
        """What dbt does not look at (an empty value, buckets of no column, most options of a view) stops nothing."""
        for key, (is_right, form) in _OPTIONS.items():
            value = self.options.get(key)
            is_read = key == "tblproperties" or self.materialized not in ("view", "ephemeral")
            is_read = is_read and (key != "buckets" or bool(self.options.get("clustered_by")))
            if value and is_read and not is_right(value):
                raise ContractError(f"{self.name}: `{key}` is {str(value)[:80]!r}, not {form}")


def quarantine_refusal(name: str, materialized: str, strategy: str, file_format: str) -> str | None:
    """Why rows of such a model cannot be quarantined, whatever they hold; None where they can, or nothing is stored."""
    if materialized == "ephemeral":
        return None
    if materialized == "view":
        return f"a view stores no rows. Set `on_violation: stop` on {name}, and `quarantine` on the tables that read it"
    if materialized not in ("table", "incremental"):
        return f"it is materialized as {materialized}, which planproof does not publish"
    if materialized == "incremental" and strategy not in ("append", "insert_overwrite", "microbatch"):
        return f"with {strategy} rows are not told apart before they are stored; append and insert_overwrite can"
    if file_format not in FILE_FORMATS:
        return f"it is stored as {file_format}, and only Parquet's, Iceberg's and Delta's tables can"
    return None
