"""Every code that a finding can carry: one table, `codes.json`, whose numbers are never reused.

1xx logical plan and hazards, 2xx planning and rewriting, 3xx run, 4xx files, 5xx contract, 6xx publishing, 9xx ours.
"""

from __future__ import annotations

import json
from pathlib import Path

from planproof_engine.records import record


@record(frozen=True, slots=True)
class Code:
    """A kind of finding: what it means, and the one next step that a reader should take."""

    id: str
    title: str
    meaning: str
    next_step: str


def _read_table() -> dict[str, Code]:
    # By its path: importlib.resources takes longer to load than all that is read here.
    form = json.loads(Path(__file__).with_name("codes.json").read_text("utf-8"))
    return {code: Code(code, **texts) for code, texts in form.items()}


CODES = _read_table()
