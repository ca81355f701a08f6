"""`planproof derive`: a schema, an error or an unknown for each case of a file."""

from __future__ import annotations

import json
import re
import subprocess
import sys

import pytest

from planproof_engine import derive

CASES = [
    {
        "id": "a",
        "setup": ["SET spark.sql.ansi.enabled=false"],
        "query": "select x, '1' + 1 as y from t",
        "relations": {"t": [["x", "array<struct<a:int>>", False]]},
        "ansi": True,
    },
    {"id": "b", "query": "select nope from t", "relations": {"t": [["x", "int", True]]}},
    {"id": "c", "query": "select x from t version as of 3", "relations": {"t": [["x", "int", True]]}},
    {"id": "d", "query": "select 1", "relations": {"t": [["x", "no such type", True]]}},
    {"id": "e"},
    {"id": "f", "query": "select 1 as one", "relations": 7},
    {"id": "g", "query": f"select {'(' * 50_000}1{')' * 50_000}"},
    {"id": "h", "sql": "select 1 as one"},
]


def answers(text):
    return {form["id"]: form for form in map(json.loads, text.splitlines())}


def test_derive_answers_every_case(invoke):
    lines = "\n".join([*map(json.dumps, CASES), "", "{no json", "[]"])
    found = invoke("derive", "-", input=lines)
    assert found.exit_code == 0
    said = answers(found.stdout)
    x, y = said["a"]["schema"]
    assert x.pop("relation").split(".")[-1] == "t"
    assert x == {
        "name": "x",
        "type": "array<struct<a:int>>",
        "type_json": {
            "type": "array",
            "elementType": {
                "type": "struct",
                "fields": [{"name": "a", "type": "integer", "nullable": True, "metadata": {}}],
            },
            "containsNull": True,
        },
        "nullable": False,
    }
    assert (y["type"], y["type_json"], y["relation"]) == ("double", "double", None)
    assert said["b"]["error"].startswith("UNRESOLVED_COLUMN")
    assert (said["b"]["line"], said["b"]["column"]) == (1, 8)
    assert all(set(said[case]) == {"id", "unknown"} for case in "cdefgh")
    assert said["h"]["unknown"] == "line 8 has no `query`"
    assert len(found.stdout.splitlines()) == len(CASES) + 2


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"query": 5}, "`query`"),
        ({"relations": [1]}, "`relations`"),
        ({"relations": {"t": 5}}, "`relations`"),
        ({"relations": {"t": [["a", "int"]]}}, "`relations`"),
        ({"relations": {"t": [["a", "int", "yes"]]}}, "`relations`"),
        ({"setup": 5}, "`setup`"),
        ({"setup": [5]}, "`setup`"),
    ],
)
def test_a_case_of_another_form_is_named_with_its_line(invoke, given, said):
    found = invoke("derive", "-", input=json.dumps({"id": "a", "query": "select 1", **given}))
    answer = answers(found.stdout)["a"]["unknown"]
    assert answer.startswith("line 1 ")
    assert said in answer


@pytest.mark.parametrize("line", ["null", "[]", "{}", '{"id": 1, "sql": "select 1"}', "{no json"])
def test_a_file_without_a_case_could_not_run(invoke, line):
    found = invoke("derive", "-", input=f"{line}\n{line}\n")
    assert found.exit_code == 2
    assert "no line is a case: line 1 " in found.stderr
    assert len(found.stdout.splitlines()) == 2
    assert invoke("derive", "-", input="").exit_code == 0


def test_a_file_without_a_case_leaves_nothing_beside_its_answers(invoke, tmp_path):
    found = invoke("derive", "-", "-o", str(tmp_path / "answers.jsonl"), input="x\n")
    assert (found.exit_code, list(tmp_path.iterdir())) == (2, [])
    assert "Error: no line is a case" in found.stderr


def test_a_line_that_could_fill_the_memory_is_no_case(invoke):
    """64 MB of empty lists took 1.7 GB."""
    found = invoke("derive", "-", input='{"query": "select 1", "id": [' + "[]," * 2**24)
    assert found.exit_code == 2
    assert "line 1 has more than 16,777,216 bytes" in found.stderr


def test_a_reproducer_has_types_as_json(invoke):
    nested = {"type": "array", "elementType": "integer", "containsNull": False}
    case = {"id": "a", "query": "select * from t", "relations": {"t": [["xs", nested, True]]}}
    found = invoke("derive", "-", input=json.dumps(case))
    assert answers(found.stdout)["a"]["schema"][0]["type_json"] == nested


@pytest.mark.parametrize("case", [None, [], 5, "select 1", {}, {"id": 7}, {"id": 7, "query": None}])
def test_what_is_no_case_is_told(case):
    answer = derive(case)
    assert set(answer) == {"id", "unknown"}
    assert re.match("the case (is no object|has no `query`|has a `query` that is no text)", answer["unknown"])


@pytest.mark.parametrize(("spark", "spelled"), [("4.0", "string collate UTF8_LCASE"), ("4.3", "string")])
def test_a_collation_stands_in_a_type_s_json_as_each_spark_writes_it(invoke, spark, spelled):
    """Since 4.3 Spark keeps it in the metadata of the field around, before that of a struct's field alone; asked of
    4.0.5, 4.1.4, 4.2.1 and 4.3.0."""
    text = "'a' collate utf8_lcase"
    query = f"select map({text}, array(named_struct('f', {text}))) m"
    found = invoke("derive", "-", input=json.dumps({"id": "a", "query": query, "spark": spark}))
    [field] = answers(found.stdout)["a"]["schema"]
    lcase = "string collate UTF8_LCASE"
    assert field["type"] == f"map<{lcase},array<struct<f:{lcase}>>>"
    assert field["type_json"]["keyType"] == spelled
    assert field["type_json"]["valueType"]["elementType"]["fields"][0]["type"] == "string"


def test_derive_works_where_neither_java_nor_pyspark_is_installed(tmp_path):
    (tmp_path / "cases.jsonl").write_text(json.dumps(CASES[0]) + "\n")
    script = (
        "import sys\n"
        "for name in ('pyspark', 'py4j', 'pyarrow', 'dbt', 'airflow'): sys.modules[name] = None\n"
        "from planproof.cli import main\n"
        "sys.argv = ['planproof', 'derive', 'cases.jsonl', '-o', 'out/answers.jsonl']\n"
        "main()"
    )
    subprocess.run([sys.executable, "-c", script], check=True, cwd=tmp_path, timeout=60, env={"PATH": "/nowhere"})
    assert answers((tmp_path / "out" / "answers.jsonl").read_text())["a"]["schema"][0]["name"] == "x"
