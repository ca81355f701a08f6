"""Each rule names the class or file of Spark that it follows, and Spark has it: a name that is looked up is found."""

from __future__ import annotations

import re
import zipfile
from pathlib import Path

import pyspark
import pytest

import planproof_engine

ENGINE = Path(planproof_engine.__file__).parent
CLAIM = re.compile(r"Source: (.*?)(?:\"\"\"|\n\s*\n)", re.DOTALL)
NAMED = re.compile(r"`(\w+\.scala|[A-Z]\w+)")
FILE = re.compile(rb"\w+\.scala")


@pytest.mark.skipif(not pyspark.__version__.startswith("4.3"), reason="the rules are named as Spark 4.3 names them")
def test_spark_has_each_source_that_a_rule_names() -> None:
    there = set[str]()
    for jar in (Path(pyspark.__file__).parent / "jars").glob("spark-[cs][aq][tl]*.jar"):  # catalyst, sql, sql-api
        with zipfile.ZipFile(jar) as classes:
            for name in classes.namelist():
                if not name.startswith("org/apache/spark/sql/") or not name.endswith(".class"):
                    continue
                there.update(re.split(r"[/$]", name.removesuffix(".class")))
                if "$" not in name:  # a nested class stands in the file of the outer one
                    there.update(file.decode() for file in FILE.findall(classes.read(name)))
    named = {
        (str(module.relative_to(ENGINE)), name)
        for module in ENGINE.rglob("*.py")
        for claim in CLAIM.findall(module.read_text())
        for name in NAMED.findall(claim)
    }
    assert len(named) > 100
    assert {(module, name) for module, name in named if name not in there} == set()
