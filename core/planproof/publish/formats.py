"""How tables of each format are published. CONTRIBUTING.md says what another format needs.

A Parquet table is swapped in steps, under a lock and with a journal (`swaps`). An Iceberg table is committed by Iceberg
itself (`iceberg`), a Delta table by Delta (`delta`): there is no journal.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from planproof.contract import Model
from planproof.publish.delta import DeltaLake
from planproof.publish.delta import left as delta
from planproof.publish.delta.statements import left as delta_statements
from planproof.publish.iceberg import Iceberg
from planproof.publish.iceberg import left as iceberg
from planproof.publish.notes import Left
from planproof.publish.parquet import Parquet
from planproof.publish.protocol import Format
from planproof.publish.transaction import Refused
from planproof.session import Session

FORMATS: Mapping[str, Callable[[Session, Model], Format[Any]]] = {
    "parquet": lambda session, model: Parquet(session),
    "iceberg": Iceberg.over,
    "delta": DeltaLake.over,
}
"""Each raises `Refused` for a session, or a model, that it cannot serve."""
LEFT: Mapping[str, Left] = {**iceberg.LEFT, **delta.LEFT, **delta_statements.LEFT}
"""What a killed publish of a format without a journal leaves."""


def format_of(session: Session, model: Model) -> Format[Any]:
    """The format in which the model is published; a view has none of its own. Raises `Refused`."""
    found = FORMATS.get("parquet" if model.materialized == "view" else model.file_format)
    if found is None:
        known = ", ".join(FORMATS)
        raise Refused(f"{model.name} is stored as {model.file_format}; planproof publishes {known} tables, and views")
    return found(session, model)
