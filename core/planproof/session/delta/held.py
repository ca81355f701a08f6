"""Rows that Delta writes in a transaction which it holds open: its write without its commit."""

from __future__ import annotations

import json
from functools import cached_property
from typing import Any

from planproof.session.delta.protocol import LogState
from planproof.session.failures import silence_pyspark, translate_errors
from planproof.session.schemas import declared_schema


class Held:
    """`planproof.session.delta.protocol.HeldWrite`. `opened` is Delta's transaction, `written` are the actions that are
    to be committed in it, and `actions` their texts, with that of a new table's metadata."""

    def __init__(self, location: str, opened: Any, written: Any, actions: str, operation: Any, no_tags: Any) -> None:
        self.actions = actions
        self._location, self._opened, self._written = location, opened, written
        self._operation, self._no_tags = operation, no_tags
        self._is_open = False

    @cached_property
    def state(self) -> LogState:
        with translate_errors():
            metadata = self._opened.metadata()
            forms = [json.loads(str(part.json())) for part in (metadata, self._opened.protocol())]
            schema = declared_schema(str(metadata.schema().json()))
            return LogState(self._location, 0, schema, forms[0]["metaData"], forms[1]["protocol"])

    def open(self) -> None:
        if self._is_open:
            return
        with translate_errors(), silence_pyspark():
            self._opened.commit(self._written, self._operation, self._no_tags)
        self._is_open = True
