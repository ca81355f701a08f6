"""Reads Parquet files in a process beside this one: pyarrow ends its process over a damaged file as often as it raises
an error, and a small file can ask for all memory. `agreed_columns` are those on which the footers of several files
agree.
"""

from __future__ import annotations

import os
import pickle
import sys
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, TypeVar

from planproof.interpreter import python_command, python_environment
from planproof_engine import record
from planproof_engine.types import DataType

if TYPE_CHECKING:
    from subprocess import Popen

    from planproof.arrow.footers import Footer

T = TypeVar("T")

GIB = 2**30
_LEAST = 4 * GIB


def _half_of_memory() -> int:
    """What a call may take that names no size: half of the machine's memory, and at least `_LEAST` bytes."""
    try:
        return max(_LEAST, os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 2)
    except (AttributeError, ValueError, OSError):
        return _LEAST


class CannotRead(Exception):
    """Raised where the process came to no answer; the message says why."""


class NoProcess(CannotRead):
    """Raised where there is no such process to be had."""


class _Reader:
    """The process, started when it is first asked. It answers one call after another until one ends it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._process: Popen[bytes] | None = None
        self._is_up = False

    def start(self) -> None:
        """Starts the process, and does not wait until it is up."""
        with self._lock, suppress(NoProcess):
            self._ensure_process()

    def call(
        self, function: Callable[..., Any], arguments: tuple[Any, ...], seconds: float | None, size: int
    ) -> tuple[bool, Any]:
        with self._lock:
            process = self._ensure_process()
            late = _Late(process, seconds)
            try:
                self._await(process)
                _send(process, pickle.dumps((function, arguments, size)))
                return _receive(process)
            except (OSError, EOFError, pickle.UnpicklingError):
                self._process = None
                if late.has_come:
                    process.wait()
                    raise CannotRead(f"it takes more than {seconds:g} seconds to read") from None
                raise _describe_end(process, size) from None
            except BaseException:
                self._process = None
                process.kill()
                raise
            finally:
                late.cancel()

    def _ensure_process(self) -> Popen[bytes]:
        if self._process is None or self._process.poll() is not None:
            try:
                self._process, self._is_up = _start(), False
            except OSError as error:
                raise NoProcess(str(error)) from error
        return self._process

    def _await(self, process: Popen[bytes]) -> None:
        """Its first word says that it is up. Raises `NoProcess` where none comes."""
        if not self._is_up:
            try:
                self._is_up, _ = _receive(process)
            except (OSError, EOFError, pickle.UnpicklingError) as error:
                self._process = None
                raise NoProcess(f"it ended with {process.wait()}") from error


class _Late:
    """Ends a process after so many seconds, if any."""

    def __init__(self, process: Popen[bytes], seconds: float | None) -> None:
        self.has_come = False
        self._process, self._timer = process, threading.Timer(seconds or 0, self._end)
        if seconds is not None:
            self._timer.start()

    def _end(self) -> None:
        self.has_come = True
        self._process.kill()

    def cancel(self) -> None:
        self._timer.cancel()


def _start() -> Popen[bytes]:
    import subprocess  # It takes a while to import, and few projects need it.

    return subprocess.Popen(
        python_command(sys.executable, __name__, "answer"),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=python_environment(os.environ),
    )


def _send(process: Popen[bytes], message: bytes) -> None:
    """Past every buffer: a process that another thread forks meanwhile has a copy of it, which it writes once more as
    it ends."""
    assert process.stdin is not None
    left = memoryview(message)
    while left:
        left = left[os.write(process.stdin.fileno(), left) :]


def _receive(process: Popen[bytes]) -> tuple[bool, Any]:
    assert process.stdout is not None
    found: tuple[bool, Any] = pickle.load(process.stdout)
    return found


def _describe_end(process: Popen[bytes], size: int) -> CannotRead:
    from subprocess import TimeoutExpired

    try:
        code = process.wait(1)
    except TimeoutExpired:
        process.kill()
        code = process.wait()
    return CannotRead(
        f"the process that read it ended with {code}: it is damaged, or needs more than {_format_gib(size)}"
    )


def _format_gib(size: int) -> str:
    return f"{size / GIB:.3g} GiB of memory"


_reader = _Reader()


def _replace_reader() -> None:
    """The process of a parent is not its child's to ask."""
    global _reader
    _reader = _Reader()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_replace_reader)


def prepare() -> None:
    """Starts the process, so that it can answer by the time that it is asked: it takes 0.4 s to come up."""
    _reader.start()


def run_isolated(
    function: Callable[..., T], *arguments: Any, seconds: float | None = None, size: int | None = None
) -> T:
    """What a function of planproof's returns, or raises, in a process that it may end. Function, arguments and answer
    are pickled. Raises `CannotRead` where it ended, took more than `seconds`, or would take more bytes of memory than
    `size`, and `NoProcess` where the host lets no program start."""
    is_raised, found = _reader.call(function, arguments, seconds, size or _half_of_memory())
    if is_raised:
        try:
            raise found
        finally:
            del found  # A frame that holds the error it raises would keep all frames above it, too.
    given: T = found
    return given


def run_isolated_or_here(function: Callable[..., T], *arguments: Any) -> T:
    """The same, in this process where the host lets no program start."""
    try:
        return run_isolated(function, *arguments)
    except NoProcess:
        return function(*arguments)


def answer() -> int:
    """What the process does: it reads calls from standard input until that ends, and writes what becomes of them."""
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # What a library prints is no answer.
    with suppress(ImportError):  # It takes most of the time to come up.
        import planproof.arrow.footers  # noqa: F401
    message = pickle.dumps((True, None))  # It is up.
    while True:
        answers.write(message)
        answers.flush()
        try:
            function, arguments, size = pickle.load(sys.stdin.buffer)
        except EOFError:
            return 0
        _allow(size)
        try:
            message = pickle.dumps((False, function(*arguments)))
        except MemoryError:
            message = pickle.dumps((True, CannotRead(f"it needs more than {_format_gib(size)}")))
        except Exception as error:
            message = _pickle_error(error)


def _pickle_error(error: Exception) -> bytes:
    """The error, or one of its words where it cannot be carried over: the file is none the worse for that."""
    try:
        message = pickle.dumps((True, error))
        pickle.loads(message)
        return message
    except Exception:
        return pickle.dumps((True, RuntimeError(f"{type(error).__name__}: {error}")))


def _allow(size: int) -> None:
    """Lets this process take so many bytes, where the system can bound them. Memory that is reserved counts too: an
    allocator of pyarrow's takes a GiB at once."""
    with suppress(ImportError, ValueError, OSError):
        import resource

        resource.setrlimit(resource.RLIMIT_DATA, (size, resource.getrlimit(resource.RLIMIT_DATA)[1]))


_SECONDS = 60
_BYTES = 2 * GIB
MOST_COLUMNS = 20_000
"""Of one file: each costs some 50 microseconds here, and more where it is planned with."""


@record(frozen=True, slots=True)
class Columns:
    """What the footers of several files say together: the columns of them all, the rows, and which columns hold no null
    in any of these."""

    columns: tuple[tuple[str, DataType], ...]
    rows: int
    without_null: frozenset[str]


def agreed_columns(paths: Sequence[str]) -> Columns | None:
    """The columns of local Parquet files; None where the files do not agree. Raises `CannotRead`, also where pyarrow is
    not installed."""
    return run_isolated(_read_agreed, paths, seconds=_SECONDS, size=_BYTES)


def _read_agreed(paths: Sequence[str]) -> Columns | None:
    try:
        from planproof.arrow.footers import FooterError, Undecodable
    except ImportError as error:
        raise CannotRead(str(error)) from error
    try:
        footers = [_bounded_footer(path) for path in paths]
    except (FooterError, Undecodable) as error:
        raise CannotRead(str(error)) from error
    if not footers or any(footer.schema != footers[0].schema for footer in footers):
        return None
    columns = tuple((f.name, f.type) for f in footers[0].schema.as_nullable())
    without_null = frozenset(name for name, _ in columns if all(footer.nulls.get((name,)) == 0 for footer in footers))
    return Columns(columns, sum(footer.rows for footer in footers), without_null)


def _bounded_footer(path: str) -> Footer:
    from planproof.arrow.footers import footer_of, metadata_of

    metadata = metadata_of(path)
    if metadata.num_columns > MOST_COLUMNS:
        raise CannotRead(f"{path} has {metadata.num_columns:,} columns; at most {MOST_COLUMNS:,} are read")
    return footer_of(path, metadata)
