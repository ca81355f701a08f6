"""Without a setting the time zone is the machine's, as it is for Spark."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from planproof_engine import Catalog, conf, plan, zone
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


def test_a_machine_without_the_older_names_of_zones_refuses_none(monkeypatch: pytest.MonkeyPatch) -> None:
    """As where the system has `tzdata` and not `tzdata-legacy`: Java has them all."""

    def is_known(name: str) -> bool:
        return name in ("UTC", "Europe/Berlin")

    for module in ("conf", "functions.failing"):
        monkeypatch.setattr(f"planproof_engine.{module}.is_region", is_known)
    conf._is_zone.cache_clear()
    try:
        assert Conf(time_zone="US/Eastern").time_zone == "US/Eastern"
        query = "select * from values (from_utc_timestamp(timestamp'2020-01-01 00:00:00', 'Japan'))"
        assert plan(query, Catalog({})).schema.names
    finally:
        conf._is_zone.cache_clear()
