"""The rows of a publish that break terms of the contract, and what the table that takes them looks like."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from planproof.invariants.count_queries import TERMS, RowTerm
from planproof.publish.transaction import Names, quarantine_of
from planproof_engine import PhysicalField, PhysicalSchema, quote_name, split_name
from planproof_engine.types import STRING, TIMESTAMP, Array

RUN, AT, DATE = "quarantine_run", "quarantine_at", "quarantine_date"
OWN = (PhysicalField(TERMS, Array(STRING, True), True), PhysicalField(AT, TIMESTAMP, True))
PARTITIONS = (DATE, RUN)


class Unquarantinable(Exception):
    """Raised with the reason why rows cannot be quarantined. Nothing is published then."""


@dataclass(frozen=True, slots=True)
class BadRows:
    """The staged rows that break terms. `marked` is a query of all staged rows with the terms that each breaks.

    `names` are those of the second publish, which stages the good rows alone; `counts` are the bad rows by term.
    """

    names: Names
    marked: str
    columns: tuple[str, ...]
    schema: PhysicalSchema
    terms: tuple[RowTerm, ...]
    bad: int
    rows: int
    counts: Mapping[str, int]

    @property
    def good_rows(self) -> str:
        """The query of the rows that keep every term."""
        columns = ", ".join(map(quote_name, self.columns))
        return f"SELECT {columns} FROM (\n{self.marked}\n) AS marked WHERE size({TERMS}) = 0"

    @property
    def source(self) -> str:
        """What follows the columns in a query of the bad rows, whose terms are named in `TERMS`."""
        return f"FROM (\n{self.marked}\n) AS marked WHERE size({TERMS}) > 0"

    @property
    def table(self) -> str:
        return quarantine_of(self.names.target).quoted


def format_name(table: str) -> str:
    """The table's name as people read it: its parts with dots, without quotes."""
    return ".".join(split_name(table))
