"""When Python looks for garbage: a large manifest becomes millions of objects, none of them garbage."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def pause_collections() -> Iterator[None]:
    """No collections in the block: while a manifest is read, they take half of the time."""
    was = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was:
            gc.enable()


@contextmanager
def reduce_collections() -> Iterator[None]:
    """Few in the block."""
    before = gc.get_threshold()
    gc.set_threshold(50_000, 20, 100)
    try:
        yield
    finally:
        gc.set_threshold(*before)


def skip_cleanup() -> None:
    """For a process that ends now: what it holds is not taken apart first. Of a large manifest that takes longer than
    reading its JSON. What is registered to run at the exit still does."""
    gc.freeze()
