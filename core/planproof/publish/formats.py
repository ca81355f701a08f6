"""Which formats there are: the one place that knows them by their names. Another format is another line here.

A Parquet table is swapped in steps, under a lock and with a journal (`swaps`). An Iceberg table is committed by Iceberg
itself (`iceberg`): there is no journal.
"""

from __future__ import annotations

from typing import Any

from planproof.contract import Model
from planproof.publish.iceberg import Iceberg
from planproof.publish.parquet import Parquet
from planproof.publish.protocol import Format
from planproof.session.protocol import Session


def format_of(session: Session, model: Model) -> Format[Any]:
    """The format in which the model is published; a view has none of its own. Raises `Refused`."""
    if model.file_format == "iceberg" and model.materialized != "view":
        return Iceberg.over(session, model)
    return Parquet(session)
