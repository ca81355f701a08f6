"""Parquet files over which pyarrow ends its process: the one that reads them ends, and says of which file."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from damaged import ending_footer

from planproof.arrow.isolated import CannotRead, isolated

footers = pytest.importorskip("planproof.arrow.footers")


@pytest.fixture
def damaged(tmp_path: Path) -> list[str]:
    """Files, the second of which ends who reads it."""
    sound, bad = ending_footer(tmp_path / "damaged.parquet")
    paths = [tmp_path / f"{name}.parquet" for name in "abcde"]
    for path in paths:
        path.write_bytes(bad if path.stem == "b" else sound)
    return [str(path) for path in paths]


def test_the_next_call_is_answered_by_another_process() -> None:
    first = isolated(os.getpid)
    assert isolated(os.getpid) == first != os.getpid()
    with pytest.raises(CannotRead, match="ended with -6"):
        isolated(os.abort)
    assert isolated(os.getpid) not in (first, os.getpid())


def test_an_error_is_raised_here() -> None:
    with pytest.raises(ZeroDivisionError):
        isolated(divmod, 1, 0)
    assert isolated(divmod, 7, 2) == (3, 1)


def test_it_is_ended_when_it_takes_too_long() -> None:
    with pytest.raises(CannotRead):
        isolated(time.sleep, 60, seconds=0.5)
    assert isolated(divmod, 7, 2) == (3, 1)


def test_threads_take_turns() -> None:
    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(lambda n: isolated(divmod, n, 7), range(100))) == [divmod(n, 7) for n in range(100)]


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
