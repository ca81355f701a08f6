"""Generates the TPC-H Parquet files that the demo project reads as its sources.

    python dags_examples/demo_data.py DIRECTORY [SCALE]

writes `DIRECTORY/tpch/<table>.parquet`; files of the same scale that are there already are kept.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import sysconfig
import uuid
from pathlib import Path

SCALE = 0.02
TABLES = ("customer", "orders", "lineitem", "part", "nation", "region")


def generate(home: Path, scale: float = SCALE) -> Path:
    """Makes sure that `home/tpch` holds the six tables at `scale` (1.0 is about 6 million line items); returns it.

    Raises `FileNotFoundError` where tpchgen-cli is not installed, `subprocess.CalledProcessError` where it fails.
    """
    data = home / "tpch"
    wanted = {"scale": scale, "tables": list(TABLES)}
    stamp = data / "generated.json"
    if stamp.is_file() and json.loads(stamp.read_text()) == wanted:
        return data
    home.mkdir(parents=True, exist_ok=True)
    fresh = home / f"tpch.{uuid.uuid4().hex}"
    try:
        what = ["parquet", "--scale-factor", str(scale), "--tables", ",".join(TABLES)]
        where = ["--output-dir", str(fresh), "--quiet"]
        subprocess.run([_tpchgen(), *what, *where], check=True, stdin=subprocess.DEVNULL)
        (fresh / stamp.name).write_text(json.dumps(wanted))
        # The files appear under their name all at once: an interrupted run leaves no half of them.
        shutil.rmtree(data, ignore_errors=True)
        fresh.rename(data)
    finally:
        shutil.rmtree(fresh, ignore_errors=True)
    return data


def _tpchgen() -> str:
    name = "tpchgen-cli"
    found = shutil.which(name, path=sysconfig.get_path("scripts")) or shutil.which(name)
    if found is None:
        raise FileNotFoundError(f"{name} is not installed; `make install` or `pip install {name}` installs it")
    return found


if __name__ == "__main__":
    print(generate(Path(sys.argv[1]).resolve(), *(float(a) for a in sys.argv[2:3])))
