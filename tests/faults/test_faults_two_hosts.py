"""A host that is killed in the middle of a publish: the other one, which sees neither its pids nor its end, takes the
table over once the lease is over."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.faults
SCRIPT = Path(__file__).with_name("two_hosts.py")
ALONE = ["unshare", "--net", "--pid", "--fork", "--kill-child", "--mount-proc"]


def test_a_killed_hosts_tables_are_free_within_two_minutes(tmp_path: Path) -> None:
    pytest.importorskip("pyspark")
    if shutil.which("unshare") is None or subprocess.run([*ALONE, "true"], capture_output=True, check=False).returncode:
        pytest.skip("this machine lets nobody make namespaces")
    run = subprocess.run(
        [*ALONE, sys.executable, str(SCRIPT), str(tmp_path), "both"],
        capture_output=True,
        text=True,
        timeout=1200,
        check=False,
    )
    assert run.returncode == 0, run.stderr[-3000:]
    found = json.loads(run.stdout.strip().splitlines()[-1])
    for table, (outcome, codes, is_transient) in found["alive"].items():
        assert (outcome, codes, is_transient) == ("failed", ["PP604"], True), table
    for table, (outcome, error, codes) in found["said"].items():
        assert (outcome, codes) == ("published", ["PP602"]), (table, error)
    assert sorted(found["free"]) == ["added", "moved", "renamed"]
    assert max(found["free"].values()) < 120, found["free"]
    assert found["rows"] == {"moved": [3], "renamed": [3], "added": [1, 3]}
    assert (found["left"], found["known"]) == ([], ["added", "moved", "renamed"])
