"""The facts that are checked in of the Spark that the tests run on are what that Spark says."""

from __future__ import annotations

import json
import sys

import pytest

from spark_upgrade import facts, sparks

pytestmark = pytest.mark.conformance


def test_a_spark_says_what_is_checked_in_of_it() -> None:
    pyspark = pytest.importorskip("pyspark")
    path = facts.FOLDER / f"{pyspark.__version__}.json"
    assert sparks.form(sys.executable) == json.loads(path.read_text())
