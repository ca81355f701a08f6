"""Every registered function answers as real Spark did when tests/engine/cases/functions/ was written.

Needs no Spark.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import texts
from cases import Answer, derive, same

from planproof_engine.conf import Conf
from planproof_engine.expr.function import Category
from planproof_engine.functions.registry import builtin

GOLDEN = Path(__file__).parents[1] / "cases" / "functions"


WHERE = texts.catalog()


def _text_missed(case: dict[str, Any]) -> list[str]:
    ours = texts.answered(case["group"], case["text"], WHERE, Conf(ansi=case["ansi"], time_type=True))
    wanted = Answer(tuple(tuple(c) for c in case.get("columns", ())), case.get("error"))
    return (
        []
        if same(ours, wanted) and not ours.unknown
        else [f"{case['text']} ansi={case['ansi']}\n  ours   {ours}\n  wanted {wanted}"]
    )


@pytest.mark.parametrize("path", sorted(GOLDEN.glob("*.jsonl")), ids=lambda p: p.stem)
def test_golden(path: Path) -> None:
    missed = []
    for line in path.read_text().splitlines():
        case = json.loads(line)
        if "text" in case:
            missed += _text_missed(case)
            continue
        name, args = case["function"], tuple(case["args"])
        function = builtin().find(name)
        assert function is not None, f"{name} is no longer registered"
        ours = derive(name, function, args, Conf(ansi=case["ansi"], time_type=True))
        wanted = Answer(tuple(tuple(c) for c in case.get("columns", ())), case.get("error"))
        if function.category is Category.WINDOW and ours.columns and wanted.columns:
            agreed = ours.columns[0][1:] == wanted.columns[0][1:]
        else:
            agreed = same(ours, wanted) and not ours.unknown
        if not agreed:
            missed.append(f"{name}({', '.join(args)}) ansi={case['ansi']}\n  ours   {ours}\n  wanted {wanted}")
    assert not missed, "\n".join(missed[:20])
