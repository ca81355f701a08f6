"""Python functions as Spark runs them: registered by name, by themselves or over whole lists."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from planproof.session import versions
from planproof.session.failures import translate_errors
from planproof.session.protocol import SparkFailure
from planproof_engine.functions.nested import Application, ListCall
from planproof_engine.python_functions import Function
from planproof_engine.types import DataType, from_json

_pickling = threading.Lock()


def register(spark: Any, name: str, function: Any) -> Function | None:
    """Registers a Python function, and returns what it declares; None for a table function. Raises `SparkFailure`."""
    if isinstance(function, Function):
        with translate_errors(), pickle_by_value():
            spark.udf.register(name, _row_function(name, function))
        return function
    with translate_errors():
        if type(function).__name__ == "UserDefinedTableFunction":
            spark.udtf.register(name, function)
            return None
        if hasattr(function, "evalType") and hasattr(function, "returnType"):
            spark.udf.register(name, function)
            return _declaration(name, function)
    raise SparkFailure(
        f"the function {name} says no return type; declare it with planproof.Function(...) or with pyspark's udf(...), "
        "pandas_udf(...), arrow_udf(...) or udtf(...)"
    )


def register_lists(spark: Any, call: ListCall, functions: Mapping[str, Function]) -> None:
    """Registers a call over whole lists. Raises `SparkFailure` where this pyspark has no Arrow functions."""
    try:
        from pyspark.sql.functions import arrow_udf
    except ImportError as error:
        names = ", ".join(sorted({a.function for a in call.level.all_applications()}))
        said = f"a Python function in a lambda ({names}) needs pyspark 4.1 or later, for it runs as an Arrow function"
        raise SparkFailure(said) from error
    with translate_errors(), pickle_by_value():
        zone = spark.conf.get("spark.sql.session.timeZone")
        made = arrow_udf(make_list_function(call, functions, zone), spark_type(call.level.type))
        fixed = all(functions[a.function].deterministic for a in call.level.all_applications())
        spark.udf.register(call.name, made if fixed else made.asNondeterministic())


def make_list_function(call: ListCall, functions: Mapping[str, Function], zone: str) -> Callable[..., Any]:
    """What a worker runs for a call: Arrow lists and captured columns in, one Arrow list column out."""
    from planproof.arrow.lists import Batch, evaluate

    level = call.level
    prepared = {a.number: _prepare_function(a, functions[a.function], zone) for a in level.all_applications()}

    def evaluated(*arguments: Any) -> Any:
        return evaluate(level, Batch(arguments, prepared), len(arguments[0]))

    # pyspark takes annotations for a declaration of the function's kind.
    evaluated.__annotations__ = {}
    return evaluated


@contextmanager
def pickle_by_value() -> Iterator[None]:
    """In the block a function is sent with planproof's own code: the workers of a cluster need not have it
    installed."""
    from pyspark import cloudpickle

    package = sys.modules["planproof"]
    with _pickling:
        cloudpickle.register_pickle_by_value(package)
        try:
            yield
        finally:
            cloudpickle.unregister_pickle_by_value(package)


def spark_type(t: DataType) -> Any:
    """pyspark's form of a type, nested flags included."""
    from pyspark.sql.types import StructType

    form = {"type": "struct", "fields": [{"name": "x", "type": t.json, "nullable": True, "metadata": {}}]}
    return StructType.fromJson(form)[0].dataType


def _declaration(name: str, function: Any) -> Function | None:
    """What a pyspark UDF declares; None for a UDF that is not a scalar function."""
    kinds = {"SQL_BATCHED_UDF": "python", "SQL_ARROW_BATCHED_UDF": "python", "SQL_SCALAR_PANDAS_UDF": "pandas"}
    kinds["SQL_SCALAR_ARROW_UDF"] = "arrow"
    numbers = versions.kinds_of_functions()
    found = {getattr(numbers, key, None): kind for key, kind in kinds.items()}
    kind = found.get(function.evalType)
    if kind is None:
        return None
    form = {"type": "struct", "fields": [{"name": "x", "nullable": True, "metadata": {}}]}
    form["fields"][0]["type"] = function.returnType.jsonValue()  # type: ignore[index]
    struct = from_json(form)
    return Function(function.func, struct.fields[0].type, True, kind, bool(function.deterministic))  # type: ignore[attr-defined]


def _row_function(name: str, function: Function) -> Any:
    from pyspark.sql import functions as f

    makers: dict[str, Any] = {"python": f.udf, "pandas": f.pandas_udf, "arrow": getattr(f, "arrow_udf", None)}
    maker = makers[function.kind]
    if maker is None:
        said = "needs pyspark 4.1 or later; kind='pandas' and kind='python' run before"
        raise SparkFailure(f"the Arrow function {name} {said}")
    if function.kind != "python":
        versions.require_arrow()
    call = function.call
    made = maker(call if function.kind == "python" else lambda *columns: call(*columns), spark_type(function.type))
    return made if function.deterministic else made.asNondeterministic()


def _prepare_function(application: Application, function: Function, zone: str) -> tuple[Callable[..., Any], Any]:
    """The function from Arrow arrays to an Arrow array, and the Arrow type that it declares."""
    from planproof.arrow.lists import wrap_series_function

    returns = spark_type(function.type)
    declared = _arrow_type(returns)
    if function.kind == "arrow":
        return function.call, declared
    name = application.function
    if function.kind == "pandas":
        return wrap_series_function(name, function.call, declared, zone), declared
    takes = [spark_type(t) for t in application.takes]
    found = _wrap_values(name, function.call, takes, returns)
    return (_call_once(found) if function.deterministic else found), declared


def _arrow_type(t: Any) -> Any:
    from pyspark.sql.pandas.types import to_arrow_type

    try:
        return to_arrow_type(t, timezone="UTC")
    except TypeError:  # Before pyspark 4.3 UTC is the default.
        return to_arrow_type(t)


def _call_once(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function over arrays, called once for arguments that repeat: Spark may leave out repeated calls as well."""
    from planproof.arrow.lists import find_distinct

    def over_arrays(*arrays: Any) -> Any:
        found = find_distinct(arrays)
        return function(*arrays) if found is None else function(*found[0]).take(found[1])

    return over_arrays


def _wrap_values(name: str, call: Callable[..., Any], takes: list[Any], returns: Any) -> Callable[..., Any]:
    """A function of single values, made into one over arrays. It gets the values that Spark's own conversions give.

    Where Arrow gives the same values, Arrow's are taken: Spark's conversions make a row object for each element.
    """
    from pyspark.sql.types import StructField, StructType

    from planproof.arrow.lists import array_of, check_declared, is_plain, make_table, values_of

    given = [StructType([StructField("_0", t)]) for t in takes]
    given_back = StructType([StructField("_0", returns)])
    declared = _arrow_type(returns)

    def column(array: Any, wanted: Any) -> list[Any]:
        if is_plain(array.type):
            return values_of(array)
        from pyspark.sql.conversion import ArrowTableToRowsConversion

        return [row[0] for row in ArrowTableToRowsConversion.convert(make_table([array], ["_0"]), wanted)]

    def over_arrays(*arrays: Any) -> Any:
        from pyspark.errors import PySparkException
        from pyspark.sql.conversion import LocalDataToArrowConversion

        values = list(map(call, *map(column, arrays, given)))
        with check_declared(name, returns.simpleString(), PySparkException):
            found = array_of(values, declared)
            if found is not None:
                return found
            return LocalDataToArrowConversion.convert([(v,) for v in values], given_back, False).column(0)

    return over_arrays
