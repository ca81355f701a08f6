"""The extension in editors/vscode in VS Code's own extension host: code-server, with a headless Chromium as its window.

CODE_SERVER names a folder in whose node_modules code-server and vscode-languageclient lie (`npm install`). The package
`tests/lsp/vscode` is a second extension there, which asks VS Code for what somebody sees.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from browser import EXECUTABLE, Browser
from edited_project import MART

pytest.importorskip("pygls")

ROOT = Path(__file__).parents[2]
INSTALLED = Path(os.environ.get("CODE_SERVER", "nowhere")) / "node_modules"
pytestmark = pytest.mark.skipif(
    EXECUTABLE is None or not (INSTALLED / "code-server").is_dir(), reason="CODE_SERVER names no code-server"
)


@contextmanager
def served(project: Path, folder: Path, command: str) -> Iterator[str]:
    """A VS Code with both extensions, and the address of its window with the project."""
    extensions, user = folder / "extensions", folder / "user"
    shutil.copytree(ROOT / "editors" / "vscode", extensions / "planproof.planproof-0.1.0")
    shutil.copytree(Path(__file__).with_name("vscode"), extensions / "tests.driver-0.0.1")
    (extensions / "node_modules").symlink_to(INSTALLED)
    (user / "User").mkdir(parents=True)
    settings = {"security.workspace.trust.enabled": False, "planproof.command": command}
    (user / "User" / "settings.json").write_text(json.dumps(settings))
    seen = {"SEEN": str(folder / "seen.json"), "EDITED": str(project / "models" / "mart.sql")}
    words = ["node", str(INSTALLED / "code-server"), "--auth", "none", "--bind-addr", "127.0.0.1:0"]
    options = ["--disable-telemetry", "--disable-update-check", "--config", str(folder / "config.yaml")]
    homes = ["--user-data-dir", str(user), "--extensions-dir", str(extensions)]
    cache = {"PLANPROOF_CACHE_DIR": str(folder / "cache"), "XDG_DATA_HOME": str(folder / "data")}
    log = (folder / "log").open("w+")
    server = subprocess.Popen(
        [*words, *options, *homes],
        env={**os.environ, **seen, **cache},
        stdout=log,
        stderr=subprocess.STDOUT,
    )
    try:
        end = time.monotonic() + 60
        while "HTTP server listening on " not in (said := (folder / "log").read_text()):
            assert server.poll() is None, said
            assert time.monotonic() < end, said
            time.sleep(0.1)
        yield said.partition("HTTP server listening on ")[2].split()[0].rstrip("/") + f"/?folder={project}"
    finally:
        server.terminate()
        server.wait(20)
        log.close()


def test_a_model_is_written_in_vs_code(project: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = tmp_path_factory.mktemp("vscode")
    with served(project, folder, str(Path(sys.executable).with_name("planproof"))) as address, Browser() as browser:
        browser.open(address, 60)
        end = time.monotonic() + 90
        while not (folder / "seen.json").exists():
            assert time.monotonic() < end, (folder / "log").read_text()
            time.sleep(0.2)
        browser.picture(folder / "window.png")
    seen = json.loads((folder / "seen.json").read_text())
    assert "error" not in seen, seen
    last = MART.split("\n").index("select order_id, twice")
    assert seen["findings"] == [{"code": "PP506", "severity": "WARN", "line": last, "text": "twice"}]
    assert "amount: decimal(12,2)" in seen["hover"]
    assert "may be null" in seen["hover"]
    assert seen["stored"] == {"file": "stg.sql", "from": "cast(amount as decimal(12, 2)) as amount,"}
    assert seen["made"]["file"] == "mart.sql"
    assert seen["made"]["from"].startswith("amount * 2 as twice")
    assert seen["ref"]["file"] == "stg.sql"
    assert sorted(seen["hints"]) == [
        [3, ": bigint"],
        [3, ": decimal(14,2)"],
        [last, ": bigint"],
        [last, ": decimal(14,2)"],
    ]
    assert seen["edited"][last] == "select order_id, coalesce(twice, 0) as twice"
    assert [(found["code"], found["text"]) for found in seen["mistyped"]] == [("PP110", "amuont")]
    assert seen["saved"] is False


def test_where_no_planproof_is_the_way_on_is_named(project: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = tmp_path_factory.mktemp("vscode")
    with served(project, folder, "no-such-planproof") as address, Browser() as browser:
        browser.open(address, 60)
        end = time.monotonic() + 90
        while "no-such-planproof could not be started" not in (said := str(browser.value("document.body.innerText"))):
            assert time.monotonic() < end, said
            time.sleep(0.2)
    assert "planproof.command" in said
