"""The language server in a real editor: Neovim, started with the init.lua that editors/neovim shows."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest
from edited_project import MART

pytest.importorskip("pygls")

ROOT = Path(__file__).parents[2]
SHOWN = ROOT / "editors" / "neovim"


@cache
def neovim() -> str:
    """A Neovim of 0.11 or later; skips where there is none."""
    for path in (os.environ.get("NVIM"), shutil.which("nvim"), str(ROOT / ".venv-neovim" / "bin" / "nvim")):
        if path is not None and Path(path).exists():
            asked = "lua if vim.fn.has('nvim-0.11') == 0 then vim.cmd.cquit() end"
            if subprocess.run([path, "--clean", "--headless", f"+{asked}", "+qa"], check=False).returncode == 0:
                return path
    pytest.skip("no Neovim of 0.11 or later: `make test-editor` fetches one")


def edited(file: Path) -> dict:
    """What neovim.lua saw of the file."""
    folder = file.parent.parent
    seen = folder / "seen.json"
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    homes = {f"XDG_{kind}_HOME": str(folder / "nvim") for kind in ("CONFIG", "DATA", "STATE", "CACHE")}
    environment = {"PATH": path, "SEEN": str(seen), "PLANPROOF_CACHE_DIR": str(folder / "cache"), **homes}
    words = [neovim(), "--headless", "--clean", "-u", str(SHOWN / "init.lua"), str(file)]
    drive = f"+luafile {Path(__file__).with_name('neovim.lua')}"
    # Started elsewhere: the editor finds the project from the file.
    ended = subprocess.run(
        [*words, drive], cwd="/", env={**os.environ, **environment}, capture_output=True, text=True, timeout=300
    )
    assert seen.exists(), ended.stderr
    found = json.loads(seen.read_text())
    assert "error" not in found, found
    return found


def test_a_model_is_written_in_neovim(project) -> None:
    seen = edited(project / "models" / "mart.sql")
    assert Path(seen["root"]) == project
    last = MART.split("\n").index("select order_id, twice")
    assert seen["findings"] == [{"code": "PP506", "severity": "WARN", "line": last, "text": "twice"}]
    assert "amount: decimal(12,2)" in seen["hover"]
    assert any("may be null" in line for line in seen["hover"])
    assert seen["stored"] == {
        "file": "stg.sql",
        "line": "    cast(amount as decimal(12, 2)) as amount,",
        "from": "cast(amount as decimal(12, 2)) as amount,",
    }
    assert seen["made"]["file"] == "mart.sql"
    assert seen["made"]["from"].startswith("amount * 2 as twice")
    assert seen["ref"]["file"] == "stg.sql"
    assert sorted((hint["line"], hint["label"]) for hint in seen["hints"]) == [
        (3, ": bigint"),
        (3, ": decimal(14,2)"),
        (last, ": bigint"),
        (last, ": decimal(14,2)"),
    ]
    assert seen["edited"][last] == "select order_id, coalesce(twice, 0) as twice"
    assert [(found["code"], found["text"]) for found in seen["mistyped"]] == [("PP110", "amuont")]
