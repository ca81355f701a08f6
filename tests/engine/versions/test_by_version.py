"""Older Sparks answer the golden cases of functions as they did when tests/engine/cases/versions/ was written."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from by_version import agree, golden, key, ours, said, written

from planproof_engine.conf import SPARKS

_OLDER = SPARKS[:-1]
_KNOWN = Path(__file__).with_name("known_differences.txt")
_EACH = 20
"""Of the cases that a version answers as Spark 4.3 does, every twentieth is asked again."""


def known(version: str) -> set[str]:
    """The functions and texts that differ for a reason, which stands behind `  #`."""
    listed = (line.split("  #")[0].split(" ", 1) for line in _KNOWN.read_text().splitlines() if line[0] != "#")
    return {name for of, name in listed if of == version}


@pytest.mark.parametrize("version", _OLDER)
def test_golden_cases_are_answered_as_by_that_spark(version: str) -> None:
    answers = {key(case): said(case) for case in map(json.loads, written(version).read_text().splitlines())}
    asked = set()
    differing: dict[str, list[str]] = {}
    for at, case in enumerate(golden(version)):
        if key(case) in answers:
            asked.add(key(case))
        elif at % _EACH:
            continue
        wanted, mine = answers.get(key(case), said(case)), ours(case, version)
        if not agree(case, mine, wanted) or (mine.unknown and wanted.columns):
            name = case.get("function") or case["text"]
            differing.setdefault(name, []).append(f"{key(case)}\n  ours   {mine}\n  wanted {wanted}")
    assert asked == answers.keys()
    unexpected = [text for name, found in differing.items() if name not in known(version) for text in found]
    assert not unexpected, "\n".join(unexpected[:20])
    healed = known(version) - differing.keys()
    assert not healed, f"listed in {_KNOWN.name}, but they no longer differ: {sorted(healed)}"
