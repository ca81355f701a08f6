"""Processes beside this one that judge models: forked, so that they know the project, and told what parents left."""

from __future__ import annotations

import os
import pickle
import sys
import threading
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, NamedTuple

from planproof.project.remembered import JudgedNode
from planproof.project.state import State, Wanted

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

    from planproof.project.offline import OfflineCheck


class Question(NamedTuple):
    """A node to judge: its unique id, what others left, and what of it changed since dbt compiled it."""

    key: str
    left: Mapping[str, State]
    changed: str | None


Lot = list[Question]
Answer = JudgedNode | Wanted | BaseException | None


def can_fork() -> bool:
    """Whether a copy of this process can go on: on Linux, and with no thread beside this one, of C's neither."""
    if sys.platform != "linux" or threading.active_count() > 1:
        return False
    try:
        return len(os.listdir("/proc/self/task")) == 1
    except OSError:
        return False


def count_cores() -> int:
    """How many processes can run at once, as this one may."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class Workers:
    """`count` processes. Each gets a lot of models, and no other one before it answered."""

    def __init__(self, check: OfflineCheck, count: int) -> None:
        import multiprocessing

        self._has: dict[Connection, Lot] = {}
        self.idle: list[Connection] = []
        self._lost: Lot = []
        self._started = []
        context = multiprocessing.get_context("fork")
        for _ in range(count):
            ours, theirs = context.Pipe()
            started = context.Process(target=_work, args=(check, theirs, [ours, *self.idle]), daemon=True)
            started.start()
            theirs.close()
            self._started.append(started)
            self.idle.append(ours)

    @property
    def busy(self) -> bool:
        return bool(self._has or self._lost)

    @property
    def alive(self) -> bool:
        return bool(self.idle or self.busy)

    def send(self, lot: Lot) -> None:
        one = self.idle.pop()
        try:
            one.send(lot)
        except OSError:
            one.close()
            self._lost += lot
            return
        self._has[one] = lot

    def receive_answers(self) -> Iterator[tuple[str, Answer]]:
        """What was judged since, once something was; None for a model whose process is gone."""
        from multiprocessing.connection import Connection, wait

        for connection in wait(list(self._has)) if self._has and not self._lost else ():
            assert isinstance(connection, Connection)
            lot = self._has.pop(connection)
            try:
                found = connection.recv()
            except (EOFError, OSError):
                connection.close()
                self._lost += lot
                continue
            self.idle.append(connection)
            yield from found
        lost, self._lost = self._lost, []
        yield from ((question.key, None) for question in lost)

    def stop(self) -> None:
        for connection in (*self.idle, *self._has):
            connection.close()
        for one in self._started:
            one.terminate()
            one.join()


def _work(check: OfflineCheck, connection: Connection, others: list[Connection]) -> None:
    for other in others:
        other.close()
    try:
        while True:
            lot: Lot = connection.recv()
            connection.send([(question.key, _answer(check, question)) for question in lot])
    except (EOFError, OSError, KeyboardInterrupt):
        return


def judge_node(check: OfflineCheck, question: Question) -> JudgedNode:
    """The judgement of a node. Raises what `OfflineCheck.judge_alone` does."""
    node = check.project.nodes[question.key]
    return JudgedNode.of(node, check.judge_alone(node, question.left, question.changed), is_brief=check.is_brief)


def _answer(check: OfflineCheck, question: Question) -> Answer:
    try:
        return judge_node(check, question)
    except Wanted as wanted:
        return wanted
    except Exception as error:  # It is raised again by the one who asked.
        return _make_portable(error)


def _make_portable(error: Exception) -> Exception:
    try:
        pickle.loads(pickle.dumps(error))
    except Exception:
        return RuntimeError(f"{type(error).__name__}: {error}")
    return error
