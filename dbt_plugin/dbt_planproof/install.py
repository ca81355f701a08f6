"""Swaps dbt's Spark adapter for the guarded one, where the versions are ones that were tested."""

from __future__ import annotations

import os
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from dbt_planproof import log

TESTED = {"dbt-core": ("1.10", "1.11"), "dbt-spark": ("1.10", "1.11")}
"""Releases (major.minor) with which the tests have passed."""

_plain: list[tuple[Any, Any]] = []


def switched_off() -> bool:
    """True where the environment says `PLANPROOF=off` (also `0`, `false`, `no`)."""
    return os.environ.get("PLANPROOF", "").strip().lower() in ("off", "0", "false", "no")


def untested() -> str | None:
    """What is installed beyond the tested releases, as a sentence; None where all are tested."""
    beyond = []
    for package, releases in TESTED.items():
        try:
            found = version(package)
        except PackageNotFoundError:
            found = "missing"
        if ".".join(found.split(".")[:2]) not in releases:
            beyond.append(f"{package} {found} (tested: {', '.join(releases)})")
    return "; ".join(beyond) or None


def install() -> bool:
    """Puts the guarded adapter in place; False, with one warning, where it does not fit this installation."""
    reason = untested()
    if reason:
        remove()
        log.warn_once(f"planproof does not guard this run: {reason}")
        return False
    import dbt.adapters.spark as spark

    if not any(plugin is spark.Plugin for plugin, _ in _plain):
        from dbt_planproof.adapter import guarded

        plain = spark.Plugin.adapter
        spark.Plugin.adapter = guarded(plain)
        _plain.append((spark.Plugin, plain))
    return True


def remove() -> None:
    """Gives dbt its own adapter back."""
    while _plain:
        plugin, plain = _plain.pop()
        plugin.adapter = plain
