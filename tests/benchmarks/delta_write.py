"""What a guarded publish costs on Delta beside the bare statement that writes the same rows: wall clock and CPU.

    .venv-delta-3.5/bin/python tests/benchmarks/delta_write.py [--rows 2000000] [--pairs 9] [--only merge]

The statements of iceberg_write.py, in the session's own catalog.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

from iceberg_write import measure


def _session(home: Path) -> Any:
    from pyspark.sql import SparkSession

    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    jars = ",".join(map(str, (Path(sys.prefix) / "jars").glob("delta-*.jar")))
    if not jars:
        sys.exit("Delta's jars are not in this environment: .ci/delta 3.5 makes .venv-delta-3.5, which has them")
    builder = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false").config("spark.jars", jars)
    builder = builder.config("spark.ui.showConsoleProgress", "false")
    builder = builder.config("spark.driver.memory", "1500m").config("spark.sql.shuffle.partitions", "2")
    builder = builder.config("spark.sql.extensions", "io.delta.sql.DeltaSparkSessionExtension")
    catalog = "org.apache.spark.sql.delta.catalog.DeltaCatalog"
    builder = builder.config("spark.sql.catalog.spark_catalog", catalog)
    builder = builder.config("spark.databricks.delta.snapshotPartitions", "2")
    spark = builder.config("spark.sql.warehouse.dir", (home / "lake").as_uri()).getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    spark.sql("create database shop")
    return spark


if __name__ == "__main__":
    measure(__doc__ or "", _session, "delta", "shop")
