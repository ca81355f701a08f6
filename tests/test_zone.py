"""Without a setting the time zone is the machine's, as it is for Spark."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from planproof_engine import zone
from planproof_engine.conf import Conf

ASKED = "from planproof_engine.conf import Conf; print(Conf().time_zone, Conf.of('3.5').time_zone)"


def test_the_default_is_the_machines_zone() -> None:
    names = {
        "Asia/Tokyo": "Asia/Tokyo",
        ":Europe/Berlin": "Europe/Berlin",
        "posix/Asia/Tokyo": "Asia/Tokyo",
        "XST-5": "+05:00",  # No name of a zone, but an offset.
        "XST+3:30": "-03:30",
    }
    for name, said in names.items():
        asked = [sys.executable, "-c", ASKED]
        found = subprocess.run(asked, env={**os.environ, "TZ": name}, capture_output=True, text=True, check=True).stdout
        assert found.split() == [said, said]
    assert Conf(time_zone="Asia/Tokyo").time_zone == "Asia/Tokyo"


def test_without_a_name_in_the_environment_the_systems_link_counts(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    rules = tmp_path / "zoneinfo" / "Asia" / "Tokyo"
    rules.parent.mkdir(parents=True)
    rules.touch()
    link = tmp_path / "localtime"
    link.symlink_to(rules)
    monkeypatch.setattr(zone, "LOCALTIME", link)
    monkeypatch.setenv("TZ", "")
    zone._resolve_zone.cache_clear()
    try:
        assert zone.system_zone() == "Asia/Tokyo"
    finally:
        zone._resolve_zone.cache_clear()
