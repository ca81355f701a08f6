"""Rows that Delta writes in a transaction which it holds open: its write without its commit."""

from __future__ import annotations

import json
from functools import cached_property
from typing import Any

from planproof.session.delta.protocol import LogState
from planproof.session.failures import silence_pyspark, translate_errors
from planproof.session.java import items
from planproof.session.schemas import declared_schema


class Held:
    """`planproof.session.delta.protocol.HeldWrite`. `opened` is Delta's transaction, `written` are the actions that are
    to be committed in it; `is_new`: they make a table, and are not another one's."""

    def __init__(self, location: str, opened: Any, written: Any, operation: Any, no_tags: Any, is_new: bool) -> None:
        self._location, self._opened, self._written = location, opened, written
        self._operation, self._no_tags, self._is_new = operation, no_tags, is_new
        self._is_open = False

    @cached_property
    def state(self) -> LogState:
        with translate_errors():
            metadata = self._opened.metadata()
            forms = [json.loads(str(part.json())) for part in (metadata, self._opened.protocol())]
            schema = declared_schema(str(metadata.schema().json()))
            return LogState(self._location, 0, schema, forms[0]["metaData"], forms[1]["protocol"])

    @cached_property
    def actions(self) -> str:
        with translate_errors():
            named = [self._opened.metadata()] if self._is_new else []
            return "\n".join(str(action.json()) for action in [*named, *items(self._written)])

    def open(self) -> None:
        if self._is_open:
            return
        with translate_errors(), silence_pyspark():
            self._opened.commit(self._written, self._operation, self._no_tags)
        self._is_open = True
