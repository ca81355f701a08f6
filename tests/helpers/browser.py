"""Headless Chromium over its debugging pipe: enough to open a page as somebody, and to read it."""

from __future__ import annotations

import base64
import json
import os
import shutil
import subprocess
import tempfile
import time
from pathlib import Path
from types import TracebackType
from typing import Any

EXECUTABLE = next(
    (path for name in ("chromium", "chromium-browser", "google-chrome") if (path := shutil.which(name))), None
)


class Browser:
    """One tab, with cookies of its own."""

    def __init__(self) -> None:
        assert EXECUTABLE is not None
        self._profile = tempfile.mkdtemp(prefix="planproof-chromium-")
        to_child, self._out = os.pipe()
        self._in, from_child = os.pipe()
        flags = ["--headless", "--no-sandbox", "--disable-gpu", "--remote-debugging-pipe", "--disable-dev-shm-usage"]

        def wire() -> None:
            # Chromium reads commands from 3 and writes answers to 4.
            read, write = os.dup(to_child), os.dup(from_child)
            os.dup2(read, 3)
            os.dup2(write, 4)

        self._chromium = subprocess.Popen(
            [EXECUTABLE, *flags, f"--user-data-dir={self._profile}", "--window-size=1300,1400", "about:blank"],
            preexec_fn=wire,
            close_fds=False,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(to_child)
        os.close(from_child)
        self._number, self._rest, self._session = 0, b"", None
        target = self._ask("Target.createTarget", url="about:blank")["targetId"]
        self._session = self._ask("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        self._ask("Network.enable")

    def __enter__(self) -> Browser:
        return self

    def __exit__(self, kind: type | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._chromium.kill()
        self._chromium.wait()
        shutil.rmtree(self._profile, ignore_errors=True)

    def cookie(self, url: str, name: str, value: str) -> None:
        self._ask("Network.setCookie", url=url, name=name, value=value)

    def open(self, url: str, seconds: float = 30) -> str:
        """The page's text once it is loaded."""
        self._ask("Page.navigate", url=url)
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            if self.value("document.readyState") == "complete" and self.value("location.href") != "about:blank":
                return str(self.value("document.body.innerText"))
            time.sleep(0.1)
        raise TimeoutError(f"{url} did not load within {seconds} s")

    def value(self, script: str) -> Any:
        return self._ask("Runtime.evaluate", expression=script, returnByValue=True)["result"].get("value")

    def resize(self, width: int, height: int) -> None:
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 500}
        self._ask("Emulation.setDeviceMetricsOverride", **size)

    def prefer(self, scheme: str) -> None:
        """`light` or `dark`, as the reader's system would say."""
        features = [{"name": "prefers-color-scheme", "value": scheme}]
        self._ask("Emulation.setEmulatedMedia", features=features)

    def medium(self, medium: str) -> None:
        """`print`, or `screen`."""
        self._ask("Emulation.setEmulatedMedia", media=medium)

    def press(self, key: str, text: str = "") -> None:
        """A key by its name, such as `Tab`; `text` is what it types."""
        codes = {"Tab": 9, "Enter": 13}
        code = {"key": key, "code": key, "windowsVirtualKeyCode": codes.get(key, ord(key[0].upper()))}
        self._ask("Input.dispatchKeyEvent", type="keyDown", text=text, **code)
        self._ask("Input.dispatchKeyEvent", type="keyUp", **code)

    def list_spoken(self) -> list[tuple[str, str]]:
        """What a screen reader gets of the page: roles and names, in order."""
        nodes = self._ask("Accessibility.getFullAXTree")["nodes"]
        told = [(n["role"]["value"], n.get("name", {}).get("value", "")) for n in nodes if not n.get("ignored")]
        return [(str(role), str(name)) for role, name in told]

    def picture(self, file: Path) -> None:
        """The whole page. What a reader has not scrolled to yet is drawn, too."""
        drawn = "document.head.append(Object.assign(document.createElement('style'), {id: 'drawn', textContent: "
        self.value(f"{drawn}'* {{ content-visibility: visible !important }}'}}))")
        file.write_bytes(base64.b64decode(self._ask("Page.captureScreenshot", captureBeyondViewport=True)["data"]))
        self.value("document.getElementById('drawn').remove()")

    def _ask(self, method: str, **params: Any) -> dict[str, Any]:
        self._number += 1
        session = {"sessionId": self._session} if self._session else {}
        asked = {"id": self._number, "method": method, "params": params, **session}
        os.write(self._out, json.dumps(asked).encode() + b"\0")
        while True:
            answer = json.loads(self._line())
            if answer.get("id") == self._number:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']}")
                found: dict[str, Any] = answer["result"]
                return found

    def _line(self) -> bytes:
        while b"\0" not in self._rest:
            more = os.read(self._in, 1 << 16)
            if not more:
                raise RuntimeError("Chromium ended")
            self._rest += more
        line, _, self._rest = self._rest.partition(b"\0")
        return line
