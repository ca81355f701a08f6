"""pyspark's daemon, which has loaded what its workers need before it forks them.

Spark starts a worker for each task beside others, and another one after each that failed. pandas alone takes a worker
1.7 s to load, pyarrow and pyspark another second.
"""

from __future__ import annotations

from contextlib import suppress

import pyspark.worker  # noqa: F401
from pyspark.daemon import manager

with suppress(ImportError):
    import pandas  # noqa: F401
    import pyarrow  # noqa: F401

if __name__ == "__main__":
    manager()
