"""Seeds where dbt's Python does not run: the rows of a CSV file in the types that dbt-spark gives them, for the guard.

The types are dbt's (`dbt_common.clients.agate_helper`, the casts of agate 1.9, dbt-spark's `convert_*_type`): a column
of `column_types` is read as text and cast by Spark; any other has the first type that takes all of its values. Where
dbt takes a value that Spark would not hold as it stands, such as one beyond bigint, the seed is refused by name.
"""

from __future__ import annotations

import csv
import os
import re
import uuid
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal, InvalidOperation, Overflow
from io import StringIO
from pathlib import Path

from planproof.project import Project, ProjectNode
from planproof.project.nodes import read_mapping
from planproof.project.reads import ProjectError, is_file, package_folder, read_within
from planproof.publish.transaction.names import refuse_unspeakable
from planproof.session import Session, SparkFailure
from planproof_engine import quote_literal, quote_name
from planproof_engine.types import TypeSyntaxError, parse_type

BATCH = 10_000
"""So many rows are one statement, as in dbt."""
_NULLS = ("", "null")
_CURRENCIES = ["؋", "$", "ƒ", "៛", "¥", "₡", "₱", "£", "€", "¢", "﷼", "₪", "₩", "₭", "₮", "₦", "฿", "₤", "₫"]
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d([.,]\d{1,6})?)?")
_LIKE_TIME = re.compile(r"[-+\dW]+T[\d:.,Z+-]+")
_UNSTORED = re.compile(r"\s*(var)?char\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Seed:
    """A seed's columns, each with its Spark type as a DDL text, and its rows: texts that Spark casts to these types,
    None for NULL."""

    names: tuple[str, ...]
    types: tuple[str, ...]
    rows: tuple[tuple[str | None, ...], ...]


def read_seed(project: Project, node: ProjectNode) -> Seed:
    """The seed of a node, from its file. Raises `ProjectError`, which names the file and what to do."""
    config = node.raw.get("config") or {}
    stated = {str(name): str(given) for name, given in read_mapping(config, "column_types", node.label).items()}
    delimiter = str(config.get("delimiter") or ",")
    try:
        for name, given in stated.items():
            _check_type(name, given)
        return parse_seed(_read_text(project, node), stated, delimiter)
    except (OSError, ValueError, csv.Error, TypeError) as error:
        raise ProjectError(f"{node.file}: {error}") from error


def has_file(project: Project, node: ProjectNode) -> bool:
    """Whether the seed's file lies where its project says: a manifest may have been carried elsewhere alone."""
    home = _home_folder(project, node)
    return home is not None and node.file is not None and is_file(home / node.file)


def find_seed_obstacle(project: Project, node: ProjectNode) -> str | None:
    """Why the seed of a node is left to dbt, where a run publishes seeds; None where it is published."""
    try:
        unsupported = node.find_obstacle()
        if unsupported is None:
            read_seed(project, node)
        return unsupported
    except ProjectError as error:
        return str(error)


def find_seeds(project: Project, nodes: Iterable[ProjectNode]) -> list[ProjectNode]:
    """The seeds whose files lie there, of a project that dbt 2 compiled: dbt 1 loads its own."""
    return [n for n in nodes if project.is_of_dbt_2 and n.kind == "seed" and has_file(project, n)]


def parse_seed(text: str, stated: dict[str, str], delimiter: str = ",") -> Seed:
    """The seed of a CSV text; `stated` are the types of `column_types`. Raises ValueError, `csv.Error` for what is no
    CSV, and TypeError for a delimiter that is none.

    >>> parse_seed("id,at\\n1,2026-01-02\\n2,\\n", {})
    Seed(names=('id', 'at'), types=('bigint', 'date'), rows=(('1', '2026-01-02'), ('2', None)))
    """
    reader = csv.reader(StringIO(text), delimiter=delimiter)
    names = tuple(next(reader, ()))
    if not all(names) or len(set(names)) < len(names) or not names:
        raise ValueError(f"its first line does not name every column, each once: {', '.join(map(repr, names))}")
    rows = [tuple(row) for row in reader]
    long = next((at for at, row in enumerate(rows, 1) if len(row) > len(names)), None)
    if long is not None:
        raise ValueError(f"row {long} has {len(rows[long - 1])} values, and there are {len(names)} columns")
    # A short row, such as an empty line, is filled with NULL, as in dbt.
    columns = [[row[at] if at < len(row) else None for row in rows] for at in range(len(names))]
    typed = [
        (stated[name], list(map(_drop_null, column))) if name in stated else _infer_column(name, column)
        for name, column in zip(names, columns, strict=True)
    ]
    return Seed(names, tuple(kind for kind, _ in typed), tuple(zip(*(values for _, values in typed), strict=True)))


@contextmanager
def load_seed(session: Session, seed: Seed) -> Iterator[str]:
    """A query for the seed's rows, which lie in temporary views as long as the block lasts. Raises `SparkFailure`, and
    `Refused` where the session's settings do not let a text be spelled."""
    texts = (_escape(value) for row in seed.rows for value in row if value is not None)
    refuse_unspeakable(session, texts, "the seed, as it is spelled for Spark,")
    typed = ", ".join(
        f"CAST({quote_name(name)} AS {kind}) AS {quote_name(name)}"
        for name, kind in zip(seed.names, seed.types, strict=True)
    )
    named = ", ".join(f"CAST(col{at} AS STRING) AS {quote_name(name)}" for at, name in enumerate(seed.names, 1))
    nulls = ", ".join(f"CAST(NULL AS STRING) AS {quote_name(name)}" for name in seed.names)
    views: list[str] = []
    try:
        for at in range(0, len(seed.rows), BATCH):
            views.append(quote_name(f"planproof_seed_{uuid.uuid4().hex}"))
            values = ", ".join(f"({_format_row(row)})" for row in seed.rows[at : at + BATCH])
            session.rows(f"CREATE TEMPORARY VIEW {views[-1]} AS SELECT {named} FROM VALUES {values}")
        yield " UNION ALL ".join(f"SELECT {typed} FROM {source}" for source in views) or (
            f"SELECT {typed} FROM (SELECT {nulls} FROM range(0))"
        )
    finally:
        for view in views:
            with suppress(SparkFailure):  # What became of the seed is known by now.
                session.rows(f"DROP VIEW IF EXISTS {view}")


def _read_text(project: Project, node: ProjectNode) -> str:
    home = _home_folder(project, node)
    if home is None or node.file is None:
        raise ValueError("the project's folder is not known; give --project-dir")
    return read_within(home, node.file).decode("utf-8-sig")


def _home_folder(project: Project, node: ProjectNode) -> Path | None:
    """The folder from which the seed's path counts; a package's is the package's."""
    if project.directory is None:
        return None
    below = package_folder(node.package) if node.package != project.name else None
    installed = below is not None and os.path.isdir(project.directory / below)
    return project.directory / str(below) if installed else project.directory


def _check_type(name: str, given: str) -> None:
    try:
        parse_type(given)
    except TypeSyntaxError as error:
        raise ValueError(f"column_types: {name!r}: {error}") from error
    if _UNSTORED.match(given):
        raise ValueError(
            f"column_types: {name!r} is {given}: the rows of a seed are published from a query, and Spark gives "
            "no column of a query that type; state string"
        )


def _drop_null(value: str | None) -> str | None:
    return None if value is None or value.strip().lower() in _NULLS else value


def _infer_column(name: str, values: Sequence[str | None]) -> tuple[str, list[str | None]]:
    """The type of a column and its values as Spark is to cast them. Raises ValueError."""
    nullable = list(map(_drop_null, values))
    present = {value for value in nullable if value is not None}
    if not present:
        return "bigint", nullable
    for fits in (_parse_numbers, _parse_dates, _parse_times, _parse_iso_times, _parse_booleans):
        try:
            kind, shown = fits(name, present)
        except _Unfit:
            continue
        return kind, [None if value is None else shown[value] for value in nullable]
    return "string", nullable


class _Unfit(Exception):
    """A value is none of the type."""


Typed = tuple[str, dict[str, str]]
"""A type, and each text as it is spelled in it."""


def _parse_numbers(name: str, values: set[str]) -> Typed:
    numbers = {value: _parse_number(value) for value in values}
    if not all(number.is_finite() for number in numbers.values()):
        raise ValueError(f"the column {name!r} holds NaN or Infinity; state its type in column_types")
    if any(number.normalize().as_tuple().exponent < 0 for number in numbers.values()):  # type: ignore[operator]
        return "double", {value: str(number) for value, number in numbers.items()}
    # The exponent is looked at first: a short text may stand for a number of a million digits.
    if not all(number.adjusted() < 19 and -(2**63) <= number < 2**63 for number in numbers.values()):
        raise ValueError(
            f"the column {name!r} holds a number beyond bigint; state its type in column_types, such as double"
        )
    return "bigint", {value: str(int(number)) for value, number in numbers.items()}


def _parse_number(value: str) -> Decimal:
    """As `agate.Number`, in the locale en_US: signs of percent and currencies, and commas, are left out."""
    digits = value.strip().strip("%")
    sign = -1 if digits.startswith("-") else 1
    digits = digits.removeprefix("-")
    for symbol in _CURRENCIES:
        digits = digits.strip(symbol)
    try:
        return Decimal(digits.replace(",", "")) * sign
    except InvalidOperation:
        raise _Unfit from None
    except Overflow:  # More than a decimal holds.
        return Decimal("Infinity")


def _parse_dates(name: str, values: set[str]) -> Typed:
    return "date", {value: _parse_time(value, "%Y-%m-%d").date().isoformat() for value in values}


def _parse_times(name: str, values: set[str]) -> Typed:
    return "timestamp", {value: _parse_time(value, "%Y-%m-%d %H:%M:%S").isoformat(" ") for value in values}


def _parse_iso_times(name: str, values: set[str]) -> Typed:
    """dbt takes each form of ISO 8601, and forgets a zone; here a form that is not the usual one is refused."""
    if not all(_LIKE_TIME.fullmatch(value.strip()) for value in values):
        raise _Unfit
    odd = sorted(value for value in values if not _TIME.fullmatch(value.strip()))
    if odd:
        raise ValueError(
            f"the column {name!r} holds {odd[0]!r}: dbt would read it as a time and drop its zone; state timestamp "
            "or string in column_types"
        )
    return "timestamp", {value: value.strip().replace(",", ".") for value in values}


def _parse_booleans(name: str, values: set[str]) -> Typed:
    shown = {value: value.replace(",", "").strip().lower() for value in values}
    if not set(shown.values()) <= {"true", "false"}:
        raise _Unfit
    return "boolean", shown


def _parse_time(value: str, form: str) -> datetime:
    try:
        return datetime.strptime(value.strip(), form)
    except ValueError:
        raise _Unfit from None


def _format_row(row: Sequence[str | None]) -> str:
    return ", ".join("NULL" if value is None else _escape(quote_literal(value)) for value in row)


def _escape(text: str) -> str:
    """`${` would be a variable of Spark's, in a literal too."""
    return text.replace("${", "$\\{")
