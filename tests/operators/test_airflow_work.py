"""Spark work beside the main thread: results, errors, cancels."""

from __future__ import annotations

import threading
import time

import pytest

pytest.importorskip("airflow")

from airflow_planproof.work import SparkWork, WorkCancelled


def test_result_and_error_come_back() -> None:
    assert SparkWork(lambda work: threading.current_thread().name == work.tag).run()

    def broken(work: SparkWork[None]) -> None:
        raise OSError("disk")

    with pytest.raises(OSError, match="disk"):
        SparkWork(broken).run()


def test_a_cancel_stops_between_two_steps() -> None:
    steps: list[int] = []

    def long(work: SparkWork[None]) -> None:
        for step in range(1000):
            work.check()
            steps.append(step)
            time.sleep(0.02)

    work = SparkWork(long)
    threading.Timer(0.2, work.cancel).start()
    with pytest.raises(WorkCancelled):
        work.run()
    assert 0 < len(steps) < 1000


def test_a_cancel_waits_for_work_whose_spark_stops_by_itself() -> None:
    """The signal that ends a task reaches the JVM too: Spark refuses the cancel, and the work ends a little later."""

    class Stopping:
        stopped = threading.Event()

        def tag(self, tag: str) -> None: ...

        def cancel(self, tag: str) -> None:
            self.stopped.set()
            raise RuntimeError("Cannot call methods on a stopped SparkContext")

    def waiting(work: SparkWork[None]) -> None:
        session = Stopping()
        work.watch(session)
        session.stopped.wait(60)
        raise RuntimeError("Job 1 cancelled because SparkContext was shut down")

    work = SparkWork(waiting)
    ended: list[bool] = []
    canceller = threading.Timer(0.2, lambda: ended.append(work.cancel()))
    canceller.start()
    with pytest.raises(WorkCancelled):
        work.run()
    canceller.join()
    assert ended == [True]


def test_a_cancel_reaches_the_running_job(spark, session) -> None:
    def endless(work: SparkWork[list]) -> list:
        work.watch(session)
        return session.rows("select sum(hash(a.id, b.id)) from range(3000000) a cross join range(3000000) b")

    work: SparkWork[list] = SparkWork(endless)
    ended: list[bool] = []

    def cancel() -> None:
        while not spark.sparkContext.statusTracker().getActiveJobsIds():
            time.sleep(0.05)
        ended.append(work.cancel(60))

    thread = threading.Thread(target=cancel)
    thread.start()
    with pytest.raises(WorkCancelled):
        work.run()
    thread.join()
    assert ended == [True]
    assert not spark.sparkContext.statusTracker().getActiveJobsIds()
    assert session.rows("select 1") == [(1,)]


def test_jobs_of_other_threads_are_left_alone(spark, session) -> None:
    work: SparkWork[None] = SparkWork(lambda work: work.watch(session))
    work.run()
    found: list[list] = []
    other = threading.Thread(target=lambda: found.append(session.rows("select count(*) from range(20000000)")))
    other.start()
    session.cancel(work.tag)
    other.join()
    assert found == [[(20000000,)]]
