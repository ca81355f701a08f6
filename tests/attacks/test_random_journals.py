"""Journals of random content have recovery touch nothing of anybody."""

from __future__ import annotations

import json
import os
import time
from collections import Counter
from dataclasses import asdict
from pathlib import Path
from random import Random
from typing import Any

import pytest
from attacked_database import RUN, Scene

from planproof import Guard
from planproof.publish.transaction.journal import SWAPS
from planproof.publish.transaction.states import STATES

LONG = float(os.environ.get("PLANPROOF_FUZZ_SECONDS", "20"))
STEPS = (*STATES, "")
STRATEGIES = (*SWAPS, "")


def spelled(text: str, random: Random) -> Any:
    """A place or name in another spelling, or with a part of another one."""
    how = random.randrange(9)
    return (
        text,
        f"{text}/",
        f"file:{text}" if text.startswith("/") else text.upper(),
        text.replace("/", "//"),
        f"{text}/../{text.rpartition('/')[2]}",
        text.replace("t", "T", 1),
        f"{text}/..",
        text.replace("_", "%5F", 1),
        None,
    )[how]


def put(form: Any, pool: list[Any], random: Random) -> None:
    """Puts something of the pool in the place of one value of the form."""
    inner = list(form) if isinstance(form, dict) else list(range(len(form)))
    at = random.choice(inner)
    if isinstance(form[at], (dict, list)) and form[at] and random.random() < 0.8:
        put(form[at], pool, random)
        return
    if at in ("step", "strategy"):
        form[at] = random.choice(STEPS if at == "step" else STRATEGIES)
        return
    found = random.choice(pool)
    form[at] = spelled(found, random) if isinstance(found, str) and found and random.random() < 0.5 else found


@pytest.mark.conformance
def test_random_entries_harm_nobody(scene: Scene, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Entries made of what others would have recovery touch: whatever becomes of them, nothing of anybody goes."""
    monkeypatch.chdir(tmp_path)  # Where a relative path would lead.
    plain, before = json.loads(json.dumps(asdict(scene.entry()))), scene.state()
    stage = plain["stage_location"]
    whole = {
        "moves": [{"source": f"{stage}/a", "target": f"{scene.home}/t/a"}],
        "partitions": [{"partition": "d=1", "old": f"{scene.home}/t/d=1", "new": f"{stage}/d=1"}],
        "quarantine": {
            "table": f"`{scene.database}`.`t__quarantine`",
            "partition": f"quarantine_date=2024-01-01/quarantine_run={RUN}_1",
            "location": f"{scene.home}/t__quarantine",
        },
    }
    pool = [scene.home, scene.theirs, f"{scene.home}/near", f"{scene.home}/t", f"{scene.theirs}/victim", stage]
    pool += [str(scene.folder), str(scene.folder / "deep" / "file"), scene.version, "", None, True, 1, [], {}]
    pool += [f"`{db}`.`{name}`" for db in (scene.database, scene.other) for name in ("t", "near", "victim")]
    pool += [value for value in plain.values() if isinstance(value, str)]
    until, number, outcomes = time.monotonic() + LONG, 0, Counter[str]()
    while time.monotonic() < until:
        number += 1
        random = Random(number)
        form = json.loads(json.dumps({**plain, **{k: v for k, v in whole.items() if random.random() < 0.4}}))
        form["step"], form["strategy"] = random.choice(STEPS), random.choice(STRATEGIES)
        for _ in range(random.randrange(1, 4)):
            put(form, pool, random)
        file = f"{scene.home}/.planproof/journal/t.{RUN}_1.1.json"
        scene.store.write(file, json.dumps(form))
        outcomes.update(report.outcome for report in Guard(scene.spark).recover(force=True))
        assert scene.state() == before, (number, form)
        for name in scene.store.names(f"{scene.home}/.planproof/journal"):
            scene.store.delete(f"{scene.home}/.planproof/journal/{name}")
    print(f"{number} entries: {dict(outcomes)}")
