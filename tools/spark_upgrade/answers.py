"""What a new Spark answers: to the golden cases, and in the sweeps beside planproof; as lines of Markdown."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from spark_upgrade import sparks
from spark_upgrade.facts import Facts

_SHOWN = 3
"""Differing answers that are printed of one function or file."""

_SWEPT = (0, 1)
"""How a sweep ends: with 1 where it found a difference."""


def list_lines(spark: str, facts: Facts, families: Sequence[str]) -> list[str]:
    """Asks a Spark at hand the golden cases, then the sweep's calls of some families (none named: all)."""
    golden = sparks.ask(spark, Path(__file__).parent / "asking_golden.py")
    found = ["## Golden cases", "", *list_golden_lines(golden), "", "## Sweeps", ""]
    chosen = ["--family", *families] if families else []
    for title, script, args in (
        ("versions.py: what planproof accepts, beside this Spark", "versions.py", ["--show", str(_SHOWN), *chosen]),
        ("sweep.py: planproof as for the newest Spark, beside this one", "sweep.py", ["--show", str(_SHOWN), *chosen]),
    ):
        printed = sparks.run_script(spark, sparks.ROOT / "tests" / "engine" / "functions" / script, args, ends=_SWEPT)
        found += [f"### {title}", "", "```", *printed.splitlines(), "```", ""]
    return found


def list_golden_lines(answer: dict[str, Any]) -> list[str]:
    """The golden cases that a Spark answers otherwise, by function or file."""
    by_name: dict[str, list[dict[str, Any]]] = {}
    for case in answer["other"]:
        by_name.setdefault(case["name"], []).append(case)
    asked, other = answer["asked"], len(answer["other"])
    version, of = answer["version"], len(by_name)
    found = [f"Of {asked} golden cases Spark {version} answers {other} otherwise, of {of} functions and files.", ""]
    for name, cases in sorted(by_name.items()):
        found.append(f"- `{name}`: {len(cases)}")
        for case in cases[:_SHOWN]:
            mode = "ansi" if case["ansi"] else "legacy"
            found.append(
                f"    - `{' '.join(case['text'].split())}` [{mode}]: `{case['golden']}` became `{case['spark']}`"
            )
    return found
