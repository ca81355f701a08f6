"""Two hosts on one metastore server, as far as one machine can play them: each has its own name and its own pids.

Run as `python two_hosts.py HOME ROLE ...`. The server and both hosts stand in a network of their own, which has nothing
but its loopback device. The first host stands still in the middle of three publishes, is seen to be alive, and is
killed then, as a pod is. The second one publishes the same tables. Prints what it saw as one line of JSON.
"""

from __future__ import annotations

import fcntl
import json
import os
import socket
import struct
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

APPEND = {"materialized": "incremental", "incremental_strategy": "append"}
TABLES: dict[str, tuple[dict[str, Any], str]] = {
    # Each with the step in which the first host stands still.
    "moved": ({"sql": "select {n} as id"}, "swap"),
    "renamed": ({"sql": "select {n}L as id"}, "away"),
    "added": ({"sql": "select {n} as id", **APPEND}, "files"),
}
ALONE = ["unshare", "--pid", "--fork", "--kill-child", "--mount-proc", "--uts"]
"""A host: a killed one takes all its processes along."""


def java() -> str:
    home = os.environ.get("JAVA_HOME")
    return f"{home}/bin/java" if home else "java"


def session(home: Path, port: str) -> Any:
    from pyspark.sql import SparkSession

    settings = {
        "spark.ui.enabled": "false",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.memory": "768m",
        "spark.sql.warehouse.dir": f"{home}/warehouse",
        "spark.hadoop.hive.metastore.uris": f"thrift://127.0.0.1:{port}",
        "spark.local.dir": f"{home}/local-{socket.gethostname()}",
    }
    builder = SparkSession.builder.master("local[1]").enableHiveSupport()
    for name, value in settings.items():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("OFF")
    return spark


def publish(spark: Any, table: str, number: int) -> Any:
    from planproof import Guard, Model

    given = {**TABLES[table][0]}
    return Guard(spark).publish(Model(f"default.{table}", given.pop("sql").format(n=number), **given))


def first(home: Path, port: str) -> None:
    """Makes the tables, and stands still in the middle of a publish of each."""
    from planproof.publish.transaction.journal import Journal

    spark = session(home, port)
    for table in TABLES:
        spark.sql(f"create table {table} using parquet as select 1 as id")
    plain, paused = Journal.step, threading.Semaphore(0)

    def standing(self: Journal, name: str, **changes: Any) -> None:
        plain(self, name, **changes)
        if name == TABLES[self.entry.slug][1]:
            paused.release()
            time.sleep(3600)

    Journal.step = standing  # type: ignore[method-assign]

    def stand_still(table: str) -> None:
        print("ended", publish(spark.newSession(), table, 2), flush=True)

    for table in TABLES:
        threading.Thread(target=stand_still, args=(table,), daemon=True).start()
    for _ in TABLES:
        paused.acquire()
    print("paused", flush=True)
    time.sleep(3600)


def second(home: Path, port: str) -> None:
    """Tries to publish beside the living first host, and again once that is told to be dead."""
    from planproof.publish.transaction import lock

    spark = session(home, port)
    alive = {table: publish(spark.newSession(), table, 3) for table in TABLES}
    print(json.dumps({t: [r.outcome, [f.code for f in r.findings], r.details.transient] for t, r in alive.items()}))
    sys.stdout.flush()
    sys.stdin.readline()
    began, free, reports = time.monotonic(), dict[str, float](), dict[str, Any]()
    plain = lock.acquire

    def acquire(*given: Any, **more: Any) -> lock.Lock:
        held = plain(*given, **more)
        free[held.slug] = time.monotonic() - began
        return held

    lock.acquire = acquire

    def until_published(table: str) -> None:
        outcome = "failed"
        while outcome != "published" and time.monotonic() - began < 600:
            reports[table] = publish(spark.newSession(), table, 3)
            outcome = reports[table].outcome

    threads = [threading.Thread(target=until_published, args=(table,)) for table in TABLES]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    left = [str(path) for path in Path(home, "warehouse").glob(".planproof/*/*.json")]
    rows = {t: sorted(row[0] for row in spark.newSession().table(t).collect()) for t in TABLES}
    known = sorted(row[1] for row in spark.sql("show tables").collect())
    said = {t: [r.outcome, r.error, [f.code for f in r.findings]] for t, r in reports.items()}
    print(json.dumps({"free": free, "rows": rows, "said": said, "left": left, "known": known}))


def host(name: str, home: Path, role: str, port: str) -> subprocess.Popen[str]:
    here = [sys.executable, str(Path(__file__)), str(home), "host", name, role, port]
    log = (home / f"{role}.log").open("w")
    pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": log}
    return subprocess.Popen([*ALONE, *here], text=True, cwd=home, **pipes)


def said_by(process: subprocess.Popen[str], beginning: str, log: Path) -> str:
    """The next line that begins so: Spark prints to the same place."""
    assert process.stdout is not None
    for line in process.stdout:
        if line.startswith(beginning):
            return line
    raise AssertionError(log.read_text()[-2000:])


def both(home: Path) -> None:
    with socket.socket() as device:  # The loopback device of a new network is down.
        fcntl.ioctl(device, 0x8914, struct.pack("16sh", b"lo", 1 | 64))
    import pyspark

    jars = Path(pyspark.__file__).parent / "jars"
    port, settings = (
        "9083",
        {
            "javax.jdo.option.ConnectionURL": f"jdbc:derby:;databaseName={home}/metastore;create=true",
            "datanucleus.schema.autoCreateAll": "true",
            "hive.metastore.schema.verification": "false",
            "hive.metastore.warehouse.dir": f"{home}/warehouse",
            "derby.system.home": str(home),
            "hive.async.log.enabled": "false",
        },
    )
    given = [f"-D{name}={value}" for name, value in settings.items()]
    command = [java(), "-Xmx256m", "-cp", f"{jars}/*", *given, "org.apache.hadoop.hive.metastore.HiveMetaStore"]
    server = subprocess.Popen([*command, "-p", port], stdout=(home / "server.log").open("w"), stderr=subprocess.STDOUT)
    try:
        _until_it_listens(server, int(port))
        one = host("one", home, "first", port)
        said_by(one, "paused", home / "first.log")
        two = host("two", home, "second", port)
        alive = json.loads(said_by(two, "{", home / "second.log"))
        one.kill()
        one.wait()
        assert two.stdin is not None
        two.stdin.write("\n")
        two.stdin.flush()
        print(json.dumps({"alive": alive, **json.loads(said_by(two, "{", home / "second.log"))}))
        two.kill()
        two.wait()
    finally:
        server.kill()
        server.wait()


def _until_it_listens(server: subprocess.Popen[Any], port: int) -> None:
    for _ in range(240):
        with socket.socket() as client:
            if client.connect_ex(("127.0.0.1", port)) == 0:
                return
        assert server.poll() is None, "the metastore server has ended"
        time.sleep(0.5)
    raise TimeoutError("the metastore server does not listen")


def main(home: str, role: str, *given: str) -> None:
    if role == "both":
        both(Path(home))
        return
    name, part, port = given
    socket.sethostname(name)
    os.environ |= {"SPARK_LOCAL_IP": "127.0.0.1", "SPARK_LOCAL_HOSTNAME": "localhost"}  # No name server knows the name.
    {"first": first, "second": second}[part](Path(home), port)


if __name__ == "__main__":
    main(*sys.argv[1:])
