"""Parquet files over which pyarrow ends its process, or asks for all of its memory: the process that reads them ends,
and the file is named."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from damaged import ending_footer

from planproof import Guard, Model, Verdict
from planproof.arrow.isolated import GIB, CannotRead, run_isolated
from planproof.project.check import check_project
from planproof.project.manifest import read_project
from planproof.publish.audit.hazards import _Footers
from planproof.publish.data_tests.decided import Relations, Stored, count
from planproof.publish.data_tests.known import Question
from planproof.session import open as opened
from planproof_engine.catalog import RelationName
from planproof_engine.schema import PhysicalField, PhysicalSchema
from planproof_engine.types import LONG

footers = pytest.importorskip("planproof.arrow.footers")
pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
BOUNDED = pytest.mark.skipif(sys.platform != "linux", reason="only Linux bounds the memory of a process")


@pytest.fixture
def damaged(tmp_path: Path) -> list[str]:
    """Files, the second of which ends who reads it."""
    sound, bad = ending_footer(tmp_path / "damaged.parquet")
    paths = [tmp_path / f"{name}.parquet" for name in "abcde"]
    for path in paths:
        path.write_bytes(bad if path.stem == "b" else sound)
    return [str(path) for path in paths]


def test_the_next_call_is_answered_by_another_process() -> None:
    first = run_isolated(os.getpid)
    assert run_isolated(os.getpid) == first != os.getpid()
    with pytest.raises(CannotRead, match="ended with -6"):
        run_isolated(os.abort)
    assert run_isolated(os.getpid) not in (first, os.getpid())


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no pipes of a name here")
def test_a_pipe_that_took_a_files_place_since_it_was_listed_is_not_waited_for(tmp_path: Path) -> None:
    path = str(tmp_path / "a.parquet")
    os.mkfifo(path)
    program = "import sys; from planproof.arrow import footers as f; f.__dict__[sys.argv[1]](sys.argv[2])"
    groups = "import sys; from planproof.arrow import footers as f; list(f.read_row_groups([sys.argv[2]]))"
    for text in (program, groups):
        ran = subprocess.run([sys.executable, "-c", text, "metadata_of", path], capture_output=True, timeout=60)
        assert b"no regular file" in ran.stderr


def test_an_error_is_raised_here() -> None:
    with pytest.raises(ZeroDivisionError):
        run_isolated(divmod, 1, 0)
    assert run_isolated(divmod, 7, 2) == (3, 1)


OF_TWO = """
class OfTwo(Exception):
    def __init__(self, one, two):
        super().__init__(one)
"""
KNOWN = "import math; math.OfTwo = OfTwo; OfTwo.__module__ = 'math'"


@pytest.mark.parametrize("known", ["", KNOWN], ids=["of nobody", "of a module"])
def test_an_error_that_cannot_be_carried_over_is_no_damage(known: str) -> None:
    first = run_isolated(os.getpid)
    with pytest.raises(RuntimeError, match="OfTwo: said"):
        run_isolated(exec, f"{OF_TWO}\n{known}\nraise OfTwo('said', 2)", {})
    with pytest.raises(TypeError, match="pickle"):
        run_isolated(open, os.devnull)
    assert run_isolated(os.getpid) == first


def test_a_process_that_is_forked_meanwhile_says_nothing() -> None:
    """What is on its way to the reader is in no buffer of which a fork would have a copy."""
    code = (
        "import os, threading; from planproof.arrow.isolated import run_isolated\n"
        "run_isolated(divmod, 7, 2); ended = []\n"
        "def ask():\n"
        "    while not ended: assert run_isolated(divmod, 7, 2) == (3, 1)\n"
        "thread = threading.Thread(target=ask); thread.start()\n"
        "for _ in range(15):\n"
        "    child = os.fork()\n"
        "    if not child: raise SystemExit\n"
        "    os.waitpid(child, 0)\n"
        "ended.append(1); thread.join(); print(run_isolated(divmod, 9, 2))\n"
    )
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert (told.stdout, told.stderr) == ("(4, 1)\n", "")


def test_it_is_ended_when_it_takes_too_long() -> None:
    with pytest.raises(CannotRead):
        run_isolated(time.sleep, 60, seconds=0.5)
    assert run_isolated(divmod, 7, 2) == (3, 1)


@BOUNDED
def test_it_takes_no_more_memory_than_it_may() -> None:
    first = run_isolated(os.getpid)
    with pytest.raises(CannotRead, match="more than 1 GiB of memory"):
        run_isolated(bytearray, 2**31, size=GIB)
    assert run_isolated(os.getpid) == first


@BOUNDED
def test_a_small_file_of_much_text_is_not_decoded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each of its rows holds the same MiB of text."""
    from planproof.claims import batches, files

    path = tmp_path / "a.parquet"
    text = pa.DictionaryArray.from_arrays(pa.array([0] * 8192, pa.int32()), ["x" * 2**20])
    pq.write_table(pa.table({"t": text}), path, store_schema=False)
    assert path.stat().st_size < 2**18
    monkeypatch.setattr("planproof.arrow.isolated._half_of_memory", lambda: 2 * GIB)
    _, found = files.read([str(path)])
    with pytest.raises(footers.Undecodable):
        batches.read([str(path)], "all", found)


def test_a_file_of_many_columns_is_one_model_s_matter(tmp_path: Path, dbt_manifest: Any) -> None:
    (tmp_path / "data").mkdir()
    columns = {f"c{n}": pa.array([n % 2], pa.int8()) for n in range(20_001)}
    pq.write_table(pa.table(columns), tmp_path / "data" / "a.parquet")
    models = {"wide": {"sql": "select c1 from raw.t", "parents": ["raw.t"]}, "healthy": {"sql": "select 1 as id"}}
    manifest = dbt_manifest(models, {"raw.t": {}})
    manifest["sources"]["source.shop.raw.t"]["meta"] = {"external_location": "data"}
    reports = check_project(replace(read_project(manifest), directory=tmp_path))
    found = {report.model.rpartition(".")[2]: report for report in reports}
    assert found["healthy"].verdict is Verdict.PROVED
    assert found["wide"].verdict is Verdict.UNPROVED
    assert "has 20,001 columns; at most 20,000 are read" in str(found["wide"].findings)


def test_threads_take_turns() -> None:
    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(lambda n: run_isolated(divmod, n, 7), range(100))) == [divmod(n, 7) for n in range(100)]


def test_a_file_that_ends_its_reader_is_named(damaged: list[str]) -> None:
    from planproof.claims import files

    with pytest.raises(footers.Undecodable, match=r"b\.parquet: no footer that pyarrow reads"):
        files.read(damaged)
    claim, _ = files.read([path for path in damaged if "b.parquet" not in path])
    assert claim.facts.rows == 8


def test_without_such_a_process_they_are_read_here(damaged: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Where a host lets no program start, a table is audited all the same."""
    from planproof.claims import batches, files

    def refuse(*given: object, **more: object) -> Callable[..., None]:
        raise OSError("no process")

    monkeypatch.setattr("planproof.arrow.isolated._reader._process", None)
    monkeypatch.setattr("subprocess.Popen", refuse)
    _, found = files.read(damaged[:1])
    assert batches.read(damaged[:1], "all", found)[1] == []


def test_neither_a_hazard_nor_a_data_test_is_decided_by_such_a_file(damaged: list[str]) -> None:
    name = RelationName.parse("shop.t")
    schema = PhysicalSchema((PhysicalField("hidden", LONG, True),))
    table = SimpleNamespace(is_plain_parquet=True, location="/shop/t", partition_by=(), name="t", kind="table")
    session: Any = SimpleNamespace(
        conf=SimpleNamespace(case_sensitive=False), files=lambda folder: damaged, table=lambda name: table
    )
    for kind, failures in (("not_null", 0), ("unique", 2), ("not_constant", 0), ("at_least_one", 0)):
        for paths, known in ((damaged[:1], failures if kind != "unique" else 0), (damaged, None)):
            own: Any = {name: (Stored(tuple(paths), schema), None)}
            found = count(Question(kind, name, "hidden"), Relations(session, SimpleNamespace(), own))
            assert (found.failures if found is not None else None) == known, kind
    draft: Any = SimpleNamespace(sources={}, settings=SimpleNamespace(changes="off"))
    assert _Footers(draft, session)._find_range("shop.t", "hidden") is None
    damaged[:] = damaged[:1]
    assert _Footers(draft, session)._find_range("shop.t", "hidden") == (1, 2)


def test_a_run_adds_rows_beside_such_a_file(damaged: list[str], spark: Any, database: str) -> None:
    guard, name = Guard(spark), f"{database}.t"
    guard.publish(Model(name, "select 1L as id"))
    location = opened(spark).table(name).location
    shutil.copy(damaged[1], f"{location.removeprefix('file:')}/part-00009-damaged.snappy.parquet")
    more = Model(name, "select 2L as id", materialized="incremental", incremental_strategy="append")
    report = guard.publish(more)
    assert report.outcome == "published", report
    assert "the process that read it ended" in report.details.change.before.unread


def test_a_name_that_is_no_text_is_a_damaged_footer(tmp_path: Path) -> None:
    from planproof.arrow.isolated import agreed_columns
    from planproof.claims import files

    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"hidden": [1, 2]}), path, store_schema=False)
    path.write_bytes(path.read_bytes().replace(b"hidden", b"\xf0idden"))
    for read in (agreed_columns, files.read):
        with pytest.raises((CannotRead, footers.FooterError), match=r"a\.parquet: no readable Parquet footer"):
            read([str(path)])
    name, schema = RelationName.parse("shop.t"), PhysicalSchema((PhysicalField("hidden", LONG, True),))
    table = SimpleNamespace(is_plain_parquet=True, location="/shop/t", partition_by=(), name="t", kind="table")
    conf = SimpleNamespace(case_sensitive=False)
    session: Any = SimpleNamespace(conf=conf, files=lambda folder: [str(path)], table=lambda name: table)
    own: Any = {name: (Stored((str(path),), schema), None)}
    assert count(Question("not_null", name, "hidden"), Relations(session, SimpleNamespace(), own)) is None
    draft: Any = SimpleNamespace(sources={}, settings=SimpleNamespace(changes="off"))
    assert _Footers(draft, session)._find_range("shop.t", "hidden") is None


@pytest.mark.parametrize("text", ["[" * 100_000, "[]", "{}", '{"snapshots": [1]}', '{"table-uuid": 1, "snapshots": 5}'])
def test_json_of_a_table_is_none_or_told(text: str, tmp_path: Path) -> None:
    """A state that is none of Iceberg's, a property, and what a server says of a table."""
    from planproof.publish.iceberg.required import OWN, _list_own
    from planproof.session.delta.statements import _parse
    from planproof.session.iceberg.placing import _read_state
    from planproof.session.protocol import SparkFailure

    class AskedIceberg(Exception):
        pass

    def ask(*given: object) -> None:
        raise AskedIceberg

    (tmp_path / "v1.metadata.json").write_text(text)
    catalogs: Any = SimpleNamespace(static=ask)
    with pytest.raises(AskedIceberg):
        _read_state(catalogs, None, f"{tmp_path}/v1.metadata.json")
    job: Any = SimpleNamespace(target=SimpleNamespace(properties={OWN: text}))
    assert _list_own(job) == set()
    with suppress(SparkFailure):
        assert _parse(text, list) == []
