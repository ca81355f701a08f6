"""What `import planproof` gives, as people meet it at a prompt, in a notebook and under mypy."""

from __future__ import annotations

import subprocess
import sys
from importlib import metadata
from pathlib import Path

import pytest

import planproof
from planproof import Catalog, Conf, Contract
from planproof.contract import ContractError
from planproof.report.model import Report
from planproof.report.run import RunReport
from planproof_engine.finding import Finding, Verdict


def test_the_version_is_the_packages() -> None:
    assert planproof.__version__ == metadata.version("planproof")


def test_reports_and_plans_show_themselves() -> None:
    report = Report("shop.<b>", "checked", (Finding(Verdict.VIOLATED, "PP502", "logical", "x", "a", "<i>"),))
    assert str(report) == report.to_text()
    assert "shop.&lt;b&gt;" in report._repr_html_()
    assert "<b>" not in report._repr_html_()
    assert str(RunReport((report,))) == report.to_text()
    assert "<b>" not in RunReport((report,))._repr_html_()
    plan = planproof.plan("select id < 1 as x from s.t", Catalog({"s.t": [("id", "int", True)]}))
    assert "&lt;" in plan._repr_html_()
    assert plan._repr_html_().startswith("<pre>")


def test_constructors_say_what_is_wrong() -> None:
    with pytest.raises(ValueError, match=r"Spark '9.9' is not known; planproof knows 3.5"):
        Conf(spark="9.9")
    with pytest.raises(ValueError, match=r"'Mars/X' is no time zone; give a region such as 'Europe/Berlin'"):
        Conf(time_zone="Mars/X")
    with pytest.raises(ContractError, match=r"a constraint is 'unique': give a mapping.*'kind': 'unique', 'columns'"):
        Contract([("id", "bigint", False)], constraints=["unique"])
    with pytest.raises(TypeError, match=r"catalog is a dict, not a Catalog: give Catalog\(\{...\}\)"):
        planproof.plan("select 1", {"s.t": [("id", "int", True)]})


@pytest.mark.parametrize("zone", ["UTC", "+01:00", "GMT+8", "Europe/Berlin", "Etc/GMT+3", "PST", "Z"])
def test_zones_that_spark_knows(zone) -> None:
    assert Conf(time_zone=zone).time_zone == zone


def test_a_zone_that_a_session_has_set_is_sparks_to_say() -> None:
    conf = Conf().with_setting("spark.sql.session.timeZone", "Mars/X")
    assert conf.with_setting("spark.sql.ansi.enabled", "false").on("3.5").time_zone == "Mars/X"


def test_mypy_finds_a_wrong_name(tmp_path) -> None:
    """With the settings, and so the cache, of `make lint`: mypy reads what it knows of planproof's own modules."""
    pytest.importorskip("mypy")
    (used := tmp_path / "used.py").write_text(
        "import planproof\nplanproof.Gard\nplanproof.Conf(anzi=True)\nplanproof.Guard\n"
    )
    root = Path(__file__).parents[1]
    found = subprocess.run([sys.executable, "-m", "mypy", str(used)], capture_output=True, text=True, cwd=root)
    assert [line.split(":")[1] for line in found.stdout.splitlines() if ": error:" in line] == ["2", "3"], found.stdout
