"""Faults run on demand (`make faults`): they start and kill Spark many times, and mount small file systems."""

from __future__ import annotations

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--steps", default="", help="at which steps publishes are killed, with commas; by default at all")
    parser.addoption("--random", type=int, default=20, help="how many publishes are killed at a random moment")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if "faults" in (config.option.markexpr or ""):
        return
    skip = pytest.mark.skip(reason="run by `make faults`")
    for item in items:
        if item.get_closest_marker("faults"):
            item.add_marker(skip)
