"""The class by which tests have a classic session reach Delta's tables: Delta's own way, or with DELTA_BY=sql SQL
alone, which no session of the product uses yet."""

from __future__ import annotations

import os
from typing import Any

from planproof.session.classic import ClassicSession
from planproof.session.delta.by_sql import DeltaBySql
from planproof.session.delta.tables import Delta
from planproof.session.store import store_of

BY_SQL = os.environ.get("DELTA_BY") == "sql"
ROUTE: Any = Delta
if BY_SQL:
    ROUTE = DeltaBySql
    ClassicSession.delta = lambda self: DeltaBySql(self, store_of(self))  # type: ignore[method-assign]
