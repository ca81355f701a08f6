"""Keeps what Jinja made of a text for the next time that dbt has it parsed.

Each small project of the tests has dbt parse its own macros and dbt-spark's and planproof's anew, which is two thirds
of the time of `dbt parse` there. dbt only reads what the parser gives it: to render a text it is compiled, as ever.
"""

from __future__ import annotations

import sys
from typing import Any


def keep() -> None:
    """From now on Jinja parses each text once for dbt, where dbt is loaded by now."""
    module: Any = sys.modules.get("dbt_common.clients.jinja")
    environment = getattr(module, "MacroFuzzEnvironment", None)
    if environment is None or hasattr(environment.parse, "texts"):
        return
    parse = environment.parse
    texts: dict[tuple[str, ...], Any] = {}

    def kept(self: Any, source: str, *named: str) -> Any:
        key = (*sorted(self.extensions), source, *named)
        if key not in texts:
            texts[key] = parse(self, source, *named)
        return texts[key]

    kept.texts = texts  # type: ignore[attr-defined]
    environment.parse = kept
