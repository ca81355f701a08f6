"""Parquet files with a footer over which pyarrow ends its process."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from planproof.arrow.footers import FooterError, read_footers
from planproof.arrow.isolated import CannotRead, run_isolated


def ending_footer(at: Path, sound: bytes | None = None) -> tuple[bytes, bytes]:
    """A sound file, and the same file with one byte of its footer changed: whoever reads it ends. Skips where this
    pyarrow raises an error over each."""
    if sound is None:
        pq.write_table(pa.table({"hidden": [1, 2], "s": [{"a": [1]}, None], "t": ["x", "y"]}), at)
        sound = at.read_bytes()
    start = len(sound) - 8 - int.from_bytes(sound[-8:-4], "little")
    for place in range(start, len(sound) - 8):
        bad = bytearray(sound)
        bad[place] = 0
        at.write_bytes(bytes(bad))
        try:
            run_isolated(read_footers, [str(at)])
        except CannotRead:
            return sound, bytes(bad)
        except FooterError:
            continue
    pytest.skip("this pyarrow raises an error over each footer that is damaged by a zero")
