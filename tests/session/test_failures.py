"""What becomes of the errors of Spark and of py4j."""

from __future__ import annotations

import signal

import pytest
from py4j.protocol import Py4JError

from planproof.session import SparkFailure, versions
from planproof.session.failures import _add_cause, translate_errors


@pytest.mark.parametrize(
    "error",
    [
        ConnectionRefusedError("connection refused"),
        Py4JError(
            "An error occurred. Trace:\npy4j.Py4JException: Target Object ID does not exist for this gateway :o7"
        ),
    ],
    ids=["refused", "another JVM"],
)
def test_a_lost_connection_is_transient(error):
    with pytest.raises(SparkFailure, match="the connection to Spark was lost") as raised, translate_errors():
        raise error
    assert raised.value.transient


def test_what_the_jvm_does_not_know_is_no_lost_connection(spark):
    said = r"lacks what planproof calls: Method noSuchMethod.* does not exist"
    with pytest.raises(SparkFailure, match=said) as raised, translate_errors():
        spark._jsparkSession.noSuchMethod()
    assert raised.value.outside
    with pytest.raises(SparkFailure, match=r"lacks .*numberOfNothing does not exist in the JVM"), translate_errors():
        spark._jvm.org.apache.spark.sql.functions.numberOfNothing()


def test_a_cause_is_said_where_it_says_something_else():
    class Java:
        def __init__(self, message, cause=None):
            self.getMessage, self.getCause = lambda: message, lambda: cause
            self.getClass = lambda: type("Class", (), {"getSimpleName": staticmethod(lambda: "IOException")})

    same = Java("[USER_RAISED_EXCEPTION] 'a is not true' SQLSTATE: P0001")
    assert _add_cause("'a is not true'", Java("Job aborted", same)) == "'a is not true'"
    full = Java("Job aborted", Java("No space left on device"))
    assert _add_cause("Job aborted.", full) == "Job aborted. Its cause: IOException: No space left on device"


def test_a_call_of_connect_that_got_no_answer_is_told_from_an_error_of_the_server() -> None:
    pytest.importorskip("grpc")
    from pyspark.errors.exceptions.connect import SparkConnectGrpcException

    for said, outside in (("status = StatusCode.UNAVAILABLE", True), ("(java.lang.RuntimeException) no", False)):
        with pytest.raises(SparkFailure) as raised, translate_errors():
            raise SparkConnectGrpcException(said)
        assert raised.value.outside is outside, said


def test_an_interrupt_is_one_where_pyspark_s_own_handler_fails() -> None:
    """Before 4.2 it asks Spark over the connection that is in use, and that fails."""

    def failing(number: int, frame: object) -> None:
        raise ConnectionError

    before = signal.signal(signal.SIGINT, failing)
    try:
        versions.pass_on_interrupts()
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
    finally:
        signal.signal(signal.SIGINT, before)
