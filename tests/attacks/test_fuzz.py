"""Input that nobody would write: each reader gives a value or one of the errors that it declares, and soon.

`make test` plays each for a few seconds, `make conformance` for as many as $PLANPROOF_FUZZ_SECONDS says.
"""

from __future__ import annotations

import gc
import json
import os
import resource
import time
from collections.abc import Callable
from contextlib import suppress
from copy import deepcopy
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from planproof.project.check import check_project
from planproof.project.diff import compare_projects
from planproof.project.explained import explain_model
from planproof.project.manifest import read_project
from planproof.project.profile import render_value
from planproof.project.reads import ProjectError
from planproof.project.sources import read_frozen
from planproof.project.yaml_text import load_yaml
from planproof.publish.delta.actions import UnknownAction, count_rows
from planproof.publish.delta.actions import read as read_commits
from planproof.publish.notes.note import Note
from planproof.publish.transaction.journal import Entry
from planproof.publish.transaction.owner import Owner
from planproof.settings import Settings, SettingsError
from planproof_engine.api import optimize, plan
from planproof_engine.catalog import Catalog
from planproof_engine.conf import Conf
from planproof_engine.origin import AnalysisError, Unknown
from planproof_engine.types import from_json, parse_type

MOST_SECONDS = 5
MOST_MEGABYTES = 1024
LONG = float(os.environ.get("PLANPROOF_FUZZ_SECONDS", "20"))

# --- what is thrown --------------------------------------------------------------------------------------------------

SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.text(max_size=20),
    st.sampled_from(["", "int", "..", "\0", "a\nb", "{{ x }}", "9" * 5000, "`", "'", "\ud800", "١", "array<"]),
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=6,
)
SPOKEN = """
select from where group by having order limit offset with as union all except intersect join left full cross natural
using on lateral view explode inline stack case when then else end cast try_cast int string decimal(38,10)
array<int> struct<a:int> map<string,int> interval '1' day year timestamp date null true false not and or in between
like rlike is distinct exists any values table pivot unpivot tablesample over partition rows range preceding
unbounded current row cube rollup grouping sets qualify window recursive transform filter aggregate x -> y ( ) ( ) [
] , , . * + - / % < > = <=> <> || :: ; ? :a |> @ # $ { } a b t r.t r.u `a b` `` 'x' 'x\\'' "y" 1 0 1.5 1e400 1L 1BD
9223372036854775808 x'ab' /* */ -- /*+ broadcast(t) */ count(*) sum(a) max(b) a.b.c t.* * struct(a,b) array(1,2)
map(1,2) named_struct('a',1) coalesce(a,b) if(a,b,b) date_add(a,1) from_json(b,'a int') sequence(1,a)
element_at(c,1) c[0] d.e identifier('t') set explain describe create view temporary insert into execute immediate
declare begin
"""
WORDS = SPOKEN.split()
JINJA = "{{ }} {% %} env_var ( ) 'HOME' | int if for ~ a"
TOKENS = st.lists(st.sampled_from(WORDS), min_size=1, max_size=40).map(" ".join)
HEALTHY = (
    "with x as (select a, b, c from r.t where a > 1) select x.a, sum(u.n) as s from x left join r.u u on x.a = u.a "
    "group by x.a having sum(u.n) > 1 order by 1 limit 3",
    "select transform(c, (e, i) -> e.f + i) as fs, d['k'] as k, row_number() over (partition by a order by b) as rn "
    "from r.t lateral view outer explode(c) v as w",
    "select case when a in (select a from r.u) then 1 else null end as f, cast(b as decimal(10, 2)) as d from r.t "
    "union all select 1, 2.5",
)


@st.composite
def cut(draw: Callable[..., Any], texts: tuple[str, ...] = HEALTHY) -> str:
    """A healthy text of which words are dropped, doubled, moved or replaced."""
    words = draw(st.sampled_from(texts)).split(" ")
    for _ in range(draw(st.integers(1, 4))):
        at, how = draw(st.integers(0, len(words) - 1)), draw(st.integers(0, 3))
        if how == 0 and len(words) > 1:
            del words[at]
        elif how == 1:
            words.insert(at, words[draw(st.integers(0, len(words) - 1))])
        elif how == 2:
            words[at] = draw(st.sampled_from(WORDS))
        else:
            words[at] = words[at][: draw(st.integers(0, len(words[at])))]
    return " ".join(words)


def places(form: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Every place within a form of JSON's."""
    inner = form.items() if isinstance(form, dict) else enumerate(form) if isinstance(form, list) else ()
    return [path, *(place for key, value in inner for place in places(value, (*path, key)))]


@st.composite
def changed(draw: Callable[..., Any], form: Any) -> Any:
    """A form of which some values are others."""
    found = deepcopy(form)
    for _ in range(draw(st.integers(1, 3))):
        within = [place for place in places(found) if place]
        if not within:  # All of it was dropped.
            break
        path = draw(st.sampled_from(within))
        at = found
        for key in path[:-1]:
            at = at[key]
        if draw(st.booleans()) and isinstance(at, dict):
            del at[path[-1]]
        else:
            at[path[-1]] = draw(VALUES)
    return found


# --- at whom ---------------------------------------------------------------------------------------------------------

CATALOG = Catalog(
    {
        "r.t": [
            ("a", "int", True),
            ("b", "string", False),
            ("c", "array<struct<f:int>>", True),
            ("d", "map<string,int>", True),
        ],
        "r.u": [("a", "bigint", True), ("n", "decimal(20,4)", True)],
    }
)
ENTRY = json.loads(
    Entry(
        *("m", "`d`.`t`", "`d`.`s`", "`d`.`o`", "append", "run", 1, Owner("host", 1, "run"), "t", "/w", "/w/t", "/w/s"),
        external=False,
    ).to_json()
)
ENTRY |= {
    "prior": {"kind": "table", "managed": True, "location": "/w/t", "partitioned": False},
    "moves": [{"source": "/w/s/a", "target": "/w/t/a"}],
    "partitions": [{"partition": "d=1", "old": None, "new": "/w/s/d=1"}],
    "columns": [["a", "int"]],
    "quarantine": {"table": "`d`.`q`", "partition": "p=1", "location": "/w/q"},
    "content": [["a", 1]],
}
NOTE = json.loads(
    Note(
        "m", "`c`.`d`.`t`", "t", "append", Owner("host", 1, "run_1"), False, "/w/t", "/w/t/data", ("/w/t/m.avro",)
    ).to_json()
)
NOTE["quarantine"] = {"table": "`c`.`d`.`q`", "run": "run_1", "folder": None, "others": []}
SETTINGS = {
    "fail_on": "violated",
    "enforce": ["types"],
    "allow": ["PP120"],
    "limits": {
        "rows": {"min": 1, "change": "-20%..+50%"},
        "nulls": {"a": "1%"},
        "fresh": {"column": "a", "within": "2h"},
    },
    "quarantine": {"limit": "1%"},
    "tests": "after",
    "spark": "4.3",
}
STRING = {"__CHAR_VARCHAR_TYPE_STRING": "char(3)"}
ITEMS = {"type": "array", "elementType": "integer", "containsNull": True}
TYPE = {"type": "struct", "fields": [{"name": "a", "type": ITEMS, "nullable": True, "metadata": STRING}]}
TYPES = (
    "array<struct<a: int NOT NULL, `b c` map<string,decimal(10,2)>>>",
    "struct<a:char(3),b:interval day to second>",
)
YAML = "models:\n- name: m\n  columns: &c\n  - {name: a, data_type: int}\n- name: n\n  columns: *c\n"
TERMS = [{"type": "not_null"}, {"type": "check", "expression": "a > 0"}]
MODEL_FILE = {
    "models": [
        {
            "name": "m",
            "config": {"contract": {"enforced": True}},
            "columns": [{"name": "a", "data_type": "int", "constraints": TERMS, "data_tests": ["not_null"]}],
            "constraints": [{"type": "unique", "columns": ["a"]}],
        }
    ]
}
COMMIT = [
    {"commitInfo": {"operation": "WRITE", "tags": {"planproof": "planproof_run_1"}}},
    {"metaData": {"id": "x", "schemaString": "{}", "partitionColumns": ["d"]}},
    {
        "add": {
            "path": "d=1/part-0.parquet",
            "partitionValues": {"d": "1"},
            "size": 1,
            "stats": '{"numRecords": 3}',
            "deletionVector": {"storageType": "u", "pathOrInlineDv": "ab" + "x" * 20, "offset": 1, "cardinality": 1},
        }
    },
    {"remove": {"path": "file:/lake/t/part-1.parquet"}},
    {"cdc": {"path": "_change_data/a.parquet", "size": 1}},
]
COLUMN = {"name": "a", "type": "int", "nullable": True, "id": 1}
FROZEN = {"version": 1, "spark": "4.3", "sources": {"r.t": {"kind": "table", "columns": [COLUMN]}}}


def _sql(text: str) -> None:
    for ansi in (True, False):
        optimize(plan(text, CATALOG, Conf(ansi=ansi)))


def _type(form: Any) -> None:
    parse_type(form) if isinstance(form, str) else from_json(form)


def _commit(text: str) -> None:
    rows = count_rows(read_commits([text], "planproof_run_1", "file:/lake/t").files)
    assert rows is None or rows >= 0


def _profile(text: str) -> None:
    render_value(text, "profiles.yml")


@dataclass(frozen=True)
class Fuzzer:
    """What is thrown at whom, and the errors that may come of it."""

    thrown: st.SearchStrategy[Any]
    at: Callable[[Any], Any]
    declared: tuple[type[Exception], ...]


FUZZERS = {
    "sql": Fuzzer(TOKENS | cut(), _sql, (AnalysisError, Unknown)),
    "types": Fuzzer(changed(TYPE) | cut(TYPES) | st.text(max_size=30), _type, (ValueError,)),
    "settings": Fuzzer(changed(SETTINGS), lambda form: Settings.of(form, "here"), (SettingsError,)),
    "yaml": Fuzzer(cut((YAML,)) | st.text(max_size=60), load_yaml, (yaml.YAMLError,)),
    "profiles": Fuzzer(
        st.lists(st.sampled_from(JINJA.split())).map(" ".join),
        _profile,
        (ProjectError,),
    ),
    "journals": Fuzzer(changed(ENTRY).map(json.dumps) | st.text(max_size=30), Entry.from_json, (ValueError,)),
    "delta commits": Fuzzer(
        changed(COMMIT).map(lambda form: "\n".join(map(json.dumps, form if isinstance(form, list) else [form])))
        | st.text(max_size=30),
        _commit,
        (UnknownAction,),
    ),
    "notes": Fuzzer(changed(NOTE).map(json.dumps) | st.text(max_size=30), Note.from_json, (ValueError,)),
}  # fmt: skip
ON_DISK = ("manifests", "freeze files", "model files", "footers")


@pytest.fixture
def fuzzers(tmp_path: Path, dbt_manifest: Any) -> dict[str, Fuzzer]:
    """All of them, those that read files too."""
    columns = {
        "a": {"data_type": "int", "constraints": [{"type": "not_null"}, {"type": "check", "expression": "a > 0"}]}
    }
    manifest = dbt_manifest(
        {
            "m": {
                "sql": "select a from r.t",
                "parents": ["r.t"],
                "columns": columns,
                "contract": True,
                "patch_path": "shop://m.yml",
            },
            "n": {"sql": HEALTHY[0], "parents": ["m"], "config": {"meta": {"planproof": SETTINGS}}},
        },
        {"r.t": {"a": "int", "b": "string"}},
        {"s": {"config": {"column_types": {"a": "int"}}}},
        **{
            "test.shop.not_null_m_a": {
                "resource_type": "test",
                "unique_id": "test.shop.not_null_m_a",
                "test_metadata": {"name": "not_null", "kwargs": {"column_name": "a"}},
                "config": {"where": None, "severity": "error"},
                "depends_on": {"nodes": ["model.shop.m"], "macros": ["macro.dbt.test_not_null"]},
            },
            "operation.shop.shop-on-run-start-0": {
                "resource_type": "operation",
                "unique_id": "operation.shop.shop-on-run-start-0",
                "raw_code": "set spark.sql.ansi.enabled = true",
                "tags": ["on-run-start"],
                "index": 0,
            },
        },
    )
    manifest["macros"] = {"macro.shop.x": {"macro_sql": "{% macro x() %}1{% endmacro %}", "depends_on": {"macros": []}}}
    manifest["exposures"] = {"exposure.shop.e": {"name": "e", "depends_on": {"nodes": ["model.shop.n"]}}}
    project = replace(read_project(manifest), directory=tmp_path)

    def read_whole(form: Any) -> None:
        project = read_project(form)
        check_project(project)
        compare_projects(project, project)
        for node in project.models:
            with suppress(ProjectError, Unknown):
                explain_model(project, node)

    def frozen(form: Any) -> None:
        (tmp_path / "planproof_sources.json").write_text(json.dumps(form))
        try:
            read_frozen(project)
        finally:
            (tmp_path / "planproof_sources.json").unlink()

    def model_file(text: str) -> None:
        (tmp_path / "m.yml").write_text(text, errors="replace")
        check_project(project)

    return {
        **FUZZERS,
        "manifests": Fuzzer(changed(manifest), read_whole, (ProjectError, Unknown)),
        "freeze files": Fuzzer(changed(FROZEN), frozen, (ProjectError,)),
        "model files": Fuzzer(
            cut((YAML,)) | st.text(max_size=60) | changed(MODEL_FILE).map(json.dumps), model_file, ()
        ),
        "footers": _footers(tmp_path),
    }


def _footers(tmp_path: Path) -> Fuzzer:
    pa, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    from planproof.arrow.isolated import CannotRead, agreed_columns

    file = tmp_path / "a.parquet"
    parquet.write_table(pa.table({"a": [1, None], "s": [{"x": [1]}, None], "t": ["x", "y"]}), file)
    sound = file.read_bytes()
    start = len(sound) - 8 - int.from_bytes(sound[-8:-4], "little")

    def read(changes: list[tuple[int, int]]) -> None:
        mutated = bytearray(sound)
        for at, bits in changes:
            mutated[start + at % (len(sound) - start)] ^= bits
        file.write_bytes(bytes(mutated))
        agreed_columns([str(file)])

    changes = st.lists(st.tuples(st.integers(0, 10**6), st.integers(1, 255)), min_size=1, max_size=4)
    return Fuzzer(changes, read, (CannotRead,))


def played(fuzzer: Fuzzer, examples: int) -> int:
    """How often it was thrown."""
    count = 0

    @settings(
        max_examples=examples, deadline=None, database=None, suppress_health_check=list(HealthCheck), print_blob=False
    )
    @given(fuzzer.thrown)
    def play(thrown: Any) -> None:
        nonlocal count
        count += 1
        began = time.process_time()
        with suppress(*fuzzer.declared):
            fuzzer.at(thrown)
        assert time.process_time() - began < MOST_SECONDS

    play()
    return count


EXAMPLES = {"sql": 60, "manifests": 25, "footers": 3}


@pytest.mark.parametrize("name", [*FUZZERS, *ON_DISK])
def test_what_nobody_would_write_is_read_or_refused(name: str, fuzzers: dict[str, Fuzzer]) -> None:
    played(fuzzers[name], EXAMPLES.get(name, 100))


@pytest.mark.conformance
@pytest.mark.parametrize("name", [*FUZZERS, *ON_DISK])
def test_for_longer(name: str, fuzzers: dict[str, Fuzzer]) -> None:
    until, count = time.monotonic() + LONG, 0
    while time.monotonic() < until:
        count += played(fuzzers[name], 20 if name == "footers" else 500)
        gc.collect()  # A check freezes what is older: a process that checks once has no use for what failed before.
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    print(f"{name}: {count} times, at most {memory} MB")
    assert memory < MOST_MEGABYTES
