"""Hive's metastore as a server of its own: what is published there, beside a writer, and when the server goes."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

pytestmark = pytest.mark.faults
SCRIPT = Path(__file__).with_name("on_a_metastore_server.py")
ALONE = ["unshare", "--net", "--pid", "--fork", "--kill-child", "--mount-proc"]


def test_tables_of_a_metastore_server(tmp_path: Path, lake_settings: Callable[[Path], dict[str, str]]) -> None:
    if shutil.which("unshare") is None or subprocess.run([*ALONE, "true"], capture_output=True, check=False).returncode:
        pytest.skip("this machine lets nobody make namespaces")
    (tmp_path / "settings.json").write_text(json.dumps(lake_settings(tmp_path)))
    command = [*ALONE, sys.executable, str(SCRIPT), str(tmp_path)]
    run = subprocess.run(command, capture_output=True, text=True, timeout=1200, check=False, cwd=tmp_path)
    assert run.returncode == 0, run.stderr[-3000:]
    found = json.loads(run.stdout.strip().splitlines()[-1])
    assert found["kinds"] == {
        "first": ["published", None, [[1, "a"], [2, "b"]]],
        "replaced": ["published", None, [[1, "c"]]],
        "appended": ["published", None, [[1, "c"], [2, "d"]]],
        "merged": ["published", None, [[1, "c"], [2, "e"], [3, "e"]]],
        "retyped": ["published", None, [["x", 1]]],
    }
    assert found["beside"] == {"outcomes": ["published"] * 6, "is_whole": True}
    cut = found["cut"]
    assert (cut["outcome"], cut["is_transient"], cut["rows"]) == ("failed", True, [[1, "a"], [2, "b"]])
    assert cut["again"] == ["published", None, [[9, "z"]]]
    # For an hour the server may still carry the commit out that it was asked for.
    assert [Path(note).name.partition(".")[0] for note in found["left"]] == ["cut"]
