"""When Python looks for garbage: a large manifest becomes millions of objects, none of them garbage."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

_keeping: list[bool] = []
"""Whether frozen objects are to stay so, once it is known."""


def _is_keeping() -> bool:
    """Whether this process keeps frozen objects. Counting them takes as long as there are many: that is done once."""
    if not _keeping:
        _keeping.append(gc.get_freeze_count() > 0)
    return _keeping[0]


@contextmanager
def freeze_new_objects() -> Iterator[None]:
    """What is made in the block is kept for long: collections do not look at it, until the next such block begins."""
    gc.unfreeze()
    yield
    gc.collect()
    gc.freeze()
    _keeping[:] = [True]


@contextmanager
def pause_collections() -> Iterator[None]:
    """No collections in the block: while a manifest is read, they take half of the time. Objects that were made in the
    block count as old."""
    was = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if not _is_keeping():
            # What is unfrozen is old: the next collection, which looks at what is young, would look at all of it.
            gc.freeze()
            gc.unfreeze()
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


@contextmanager
def freeze_old_objects() -> Iterator[None]:
    """Objects that exist when the block begins are not collected in it, unless other code has frozen objects."""
    own = not _is_keeping()
    if own:
        gc.freeze()
        _keeping[:] = [True]
    try:
        yield
    finally:
        if own:
            _keeping[:] = [False]
            gc.unfreeze()


def skip_cleanup() -> None:
    """For a process that ends now: what it holds is not taken apart first. Of a large manifest that takes longer than
    reading its JSON. What is registered to run at the exit still does."""
    gc.freeze()
