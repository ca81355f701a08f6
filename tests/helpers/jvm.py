"""How the tests start JVMs. Spark's classes are kept as an archive that each JVM maps: `python tests/helpers/jvm.py`.

Spark loads thousands of classes before its first query is answered, and a run of the tests starts several JVMs.
From the archive (class data sharing, https://docs.oracle.com/en/java/javase/17/vm/class-data-sharing.html) they come
parsed and laid out. It lies in the environment whose pyspark it was made of. A JVM for which it was not made, as the
JDK or a jar is another one, does without it by itself.
"""

from __future__ import annotations

import os
import subprocess
import sys
from importlib import metadata
from pathlib import Path
from tempfile import TemporaryDirectory

_OPTIONS = (
    # A run is over before code compiled with all optimizations would pay, and the threads that compile and collect take
    # the two cores from the tests. The code cache that comes with this choice is too small: code would be thrown away.
    "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -XX:ReservedCodeCacheSize=256m -XX:MetaspaceSize=256m"
    # The classes are those of Spark's packages, 31,000 of them.
    " -XX:+UnlockDiagnosticVMOptions -XX:-BytecodeVerificationRemote"
    # Hadoop starts a `chmod` for each file and folder.
    " -Djdk.lang.Process.launchMechanism=VFORK"
)

ARCHIVE = Path(sys.prefix) / "spark-classes.jsa"
MADE_FOR = ARCHIVE.with_suffix(".txt")

SETTINGS = {
    "spark.master": "local[2]",
    "spark.ui.enabled": "false",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.sql.shuffle.partitions": "2",
    "spark.sql.catalogImplementation": "hive",
    "spark.hadoop.javax.jdo.option.ConnectionURL": "jdbc:derby:memory:classes;create=true",
    "spark.hadoop.datanucleus.schema.autoCreateAll": "true",
    "spark.hadoop.hive.metastore.schema.verification": "false",
}
STATEMENTS = (
    "create database d",
    "create table d.a using parquet as select id, cast(id as decimal(10, 2)) x, named_struct('y', id) s from range(9)",
    "create table d.b (id bigint, at timestamp, p string) using parquet partitioned by (p) comment 'b'",
    "insert overwrite d.b partition (p) select id, timestamp'2024-01-01', string(id) from d.a",
    "insert into d.b partition (p = 'q') select id, null from d.a",
    "create or replace view d.v as select a.id, b.p, transform(array(x), e -> e + 1) t from d.a join d.b using (id)",
    "select p, count(distinct id), max(t) from d.v group by p having count(*) > 0 order by 1",
    "select p, row_number() over (partition by p order by id) from d.v",
    "select * from d.a where id in (select id from d.b where p > '3') union all select * from d.a limit 5",
    "select to_json(s), date_add(current_date(), 1), regexp_replace(string(x), '0', '1') from d.a where x > 0.5",
    "alter table d.b add columns (c int)",
    "alter table d.b rename to d.c",
    "show table extended in d like '*'",
    "describe extended d.c",
    "show partitions d.c",
    "alter table d.c drop partition (p = 'q')",
    "drop database d cascade",
)


def options() -> str:
    """The options of every JVM of the tests, with the archive where there is one."""
    # What a JVM has to say of an archive that is not its own would stand among what a test reads.
    return f"{_OPTIONS} -XX:SharedArchiveFile={ARCHIVE} -Xlog:disable -Xlog:all=error" if ARCHIVE.exists() else _OPTIONS


def _find_wanted() -> str:
    home = os.environ.get("JAVA_HOME")
    java = str(Path(home) / "bin" / "java") if home else "java"
    said = subprocess.run([java, "-version"], check=True, capture_output=True, text=True).stderr
    return "\n".join((said, metadata.version("pyspark"), _OPTIONS, *STATEMENTS))


def make() -> None:
    """Makes the archive, unless the one that is there is of this JDK, this pyspark and these options."""
    wanted = _find_wanted()
    if ARCHIVE.exists() and MADE_FOR.exists() and MADE_FOR.read_text() == wanted:
        return
    print("environment: keeping Spark's classes for the tests' JVMs", flush=True)
    ARCHIVE.unlink(missing_ok=True)
    with TemporaryDirectory() as folder:
        made = Path(folder) / ARCHIVE.name
        run = {**os.environ, "PYSPARK_PYTHON": sys.executable}
        run["SPARK_SUBMIT_OPTS"] = f"{_OPTIONS} -XX:ArchiveClassesAtExit={made} -Xlog:disable"
        said = subprocess.run(
            [sys.executable, __file__, "--load"], cwd=folder, env=run, capture_output=True, text=True, timeout=300
        )
        if said.returncode or not made.exists():
            print(f"environment: the tests' JVMs do without an archive\n{said.stderr[-2000:]}")
            return
        ARCHIVE.write_bytes(made.read_bytes())
    MADE_FOR.write_text(wanted)


def load() -> None:
    """Has a Spark load what the tests use of it, and waits for its JVM's end, at which the JVM writes the archive."""
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

    builder = SparkSession.builder
    for key, value in SETTINGS.items():
        builder = builder.config(key, value)
    spark = builder.getOrCreate()
    for statement in STATEMENTS:
        spark.sql(statement).collect()
    spark.createDataFrame([(1, "a")], "a int, b string").mapInArrow(lambda rows: rows, "a int, b string").collect()
    spark.range(3).toArrow()
    jvm = SparkContext._gateway.proc  # type: ignore[union-attr]
    spark.stop()
    SparkContext._gateway.shutdown()  # type: ignore[union-attr]
    jvm.stdin.close()
    jvm.wait(120)


if __name__ == "__main__":
    load() if "--load" in sys.argv else make()
